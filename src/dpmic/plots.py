"""Results to figures. Sees results, and for a scatter the points it is handed; computes nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from dpmic._format import format_ceil
from dpmic.errors import DependencyError
from dpmic.results.release import BIASED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dpmic import results
    from dpmic.data import Pair

LONGEST = 28
"""Characters of a column's name that a figure has room for."""

BARS = 50

READABLE = 12
"""Up to so many columns, cells have room for their numbers."""

CELL, ROOM, PITCH, LARGEST = 0.42, 0.34, 0.2, 12.0
"""Inches of a cell, of one for a number, from name to name, and of all cells at most."""

STATISTICS = {"mice": "MICe", "micr": "MICr", "mic": "MIC"}


def scatter(score: results.Score, points: Pair, ax: Axes | None) -> Axes:
    """Draw points and the cuts of a score's best grid."""
    ax = ax or _new_axes()
    across, up = score.grid.lines()
    ax.plot(*points.spread(), ".", color="tab:blue", markersize=4, alpha=0.6)
    for cut in across:
        ax.axvline(cut, color="0.35", linewidth=0.8)
    for cut in up:
        ax.axhline(cut, color="0.35", linewidth=0.8)
    for axis, known in zip((ax.xaxis, ax.yaxis), points.categories, strict=True):
        if known is not None:
            axis.set_ticks(range(len(known)), [_literal(label) for label in known.labels])
    ax.set(xlabel=_literal(points.names[0]), ylabel=_literal(points.names[1]))
    ax.set_title(f"MIC = {score.mic:.3f} ({score.statistic}, n = {score.n})")
    return ax


def null(test: results.IndependenceTest, ax: Axes | None) -> Axes:
    """Draw a histogram of the permutations' statistic, and a line at the observed one."""
    ax = ax or _new_axes()
    ax.hist(test.null, BARS, color="tab:blue", alpha=0.35, label="permuted")
    ax.axvline(test.statistic, color="tab:red", label="observed")
    ax.set(xlabel="TICe", ylabel="permutations")
    chance = format_ceil(test.pvalue, 3)
    ax.set_title(f"p = {chance} (n = {test.n}, {test.permutations:,} permutations)")
    ax.legend()
    return ax


def release(published: results.Release, ax: Axes | None) -> Axes:
    """Draw a published value with its noise interval on [0, 1]."""
    ax = ax or _new_axes(6.4, 1.7)
    low, high = published.interval(0.95)
    ax.plot([low, high], [0, 0], color="tab:blue", linewidth=6, alpha=0.3, solid_capstyle="butt")
    ax.plot([published.value], [0], "o", color="tab:blue")
    ax.set_xlim(0, 1)
    ax.set_yticks([])
    ax.set_xlabel(f"{published.statistic.upper()}, with the 95% interval of its noise")
    names = " and ".join(map(_literal, published.names))
    ax.set_title(f"{names}, epsilon = {format_ceil(published.epsilon)}")
    return ax


def heat_map(published: results.HistogramRelease, ax: Axes | None) -> Axes:
    """Draw the consistent counts in units of the data."""
    ax = ax or _new_axes()
    from matplotlib.ticker import MaxNLocator  # after _new_axes, which says how to install it

    cells = ax.pcolormesh(
        published.x_edges, published.y_edges, published.histogram, cmap="Blues", vmin=0
    )
    cast("Figure", ax.get_figure()).colorbar(
        cells, ax=ax, label="records, with noise", ticks=MaxNLocator(integer=True)
    )
    ax.set(xlabel=_literal(published.names[0]), ylabel=_literal(published.names[1]))
    cost = f"epsilon = {format_ceil(published.epsilon)}"
    ax.set_title(f"MIC of the noisy counts = {published.value:.3f}, {BIASED}\n{cost}")
    return ax


def matrix(result: results.Pairwise, ax: Axes | None) -> Axes:
    """Draw a heat map of all pairs of one table, or of two."""
    others = result.names if result.others is None else result.others
    label = STATISTICS.get(result.statistic, result.statistic)
    ax = _draw_matrix(result.matrix, result.names, others, label, ax)
    ax.set_title(f"{result.mic.size} pairs, n = {result.n}")
    return ax


def private_matrix(published: results.PairwiseRelease, ax: Axes | None) -> Axes:
    """Draw a heat map of all pairs, or bars for the pairs of one column."""
    cost = f"epsilon = {format_ceil(published.epsilon)}"
    if published.delta:
        cost += f", delta = {format_ceil(published.delta)}"
    if published.target is not None:
        rows = zip(published.pairs, published.values, published.interval(0.95), strict=True)
        pairs, values, ends = zip(*sorted(rows, key=lambda row: -row[1]), strict=True)
        ax = _bars([_literal(y) for _, y in pairs], values, ends, ax)
        ax.set_title(f"{_literal(published.target)} with others, {cost}")
        return ax
    ax = _draw_matrix(published.matrix, published.names, published.names, "MIC, with noise", ax)
    within = f"95% of the noise lies within {published.half_width:.2g}"
    ax.set_title(f"{len(published.values)} pairs, {cost}\n{within}")
    return ax


def screening(found: results.Screening, ax: Axes | None) -> Axes:
    """Draw the values of a screening, the largest on top, with the intervals of their noise."""
    labels = [f"{_literal(first)}, {_literal(second)}" for first, second in found.pairs]
    if found.target is not None:
        labels = [_literal(second) for _, second in found.pairs]
    ax = _bars(labels, found.values, found.interval(0.95), ax)
    what = f"{len(found.pairs)} of {found.candidates} pairs"
    if found.target is not None:
        what += f" with {_literal(found.target)}"
    ax.set_title(f"{what}, epsilon = {format_ceil(found.epsilon)}")
    return ax


def plan(planned: results.Plan, ax: Axes | None) -> Axes:
    """Draw one line for each mechanism on log axes, and mark what was asked or found."""
    ax = ax or _new_axes()
    against = "n" if planned.sought == "n" else "epsilon"
    for row in planned.rows:
        if not row.curve:
            continue
        (line,) = ax.plot(*zip(*row.curve, strict=True), label=row.mechanism)
        place, error = getattr(row, against), getattr(row, planned.of)
        if place is not None and error is not None:
            ax.plot([place], [error], "o", color=line.get_color())
    ax.axhline(planned.guess, color="0.5", linestyle="--", label="always 0.5")
    if planned.error is not None:
        ax.axhline(planned.error, color="0.5", linestyle=":", label=f"target: {planned.error:g}")
    _decades(ax)
    ax.set(xlabel=against, ylabel=f"expected error of the {planned.of}", title=planned.given)
    ax.legend()
    return ax


def _decades(ax: Axes) -> None:
    """Set both axes to logarithms, with numbers that are read as they stand."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set(xscale="log", yscale="log")
    for axis, subs in ((ax.xaxis, (1.0,)), (ax.yaxis, (1.0, 2.0, 5.0))):
        axis.set_major_locator(LogLocator(subs=subs))
        axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.10g}"))
        axis.set_minor_formatter(NullFormatter())


def _draw_matrix(
    values: NDArray[np.float64],
    rows: Sequence[str],
    columns: Sequence[str],
    label: str,
    ax: Axes | None,
) -> Axes:
    """Draw a matrix of values from 0 to 1, with gray for what is not there."""
    square = rows == columns
    if ax is None:
        width, height = (min(CELL * len(names), LARGEST) + 2.4 for names in (columns, rows))
        ax = _new_axes(max(width, 4.8) + 1, max(height, 4.8 if square else 3.2))
    ax.set_facecolor("0.85")
    image = ax.imshow(values, vmin=0, vmax=1, cmap="Blues", aspect="equal" if square else "auto")
    cast("Figure", ax.get_figure()).colorbar(image, ax=ax, label=label, shrink=0.8)
    width, height = ax.bbox.width / ax.figure.dpi, ax.bbox.height / ax.figure.dpi
    if square:
        width = height = min(width, height)
    places, names = _readable(columns, width)
    ax.set_xticks(places, names, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(*_readable(rows, height))
    if max(values.shape) <= READABLE and width >= ROOM * len(columns):
        _write_numbers(values, ax)
    return ax


def _readable(names: Sequence[str], inches: float) -> tuple[list[int], list[str]]:
    """Return so many of the names, with their places, as can be read side by side."""
    places = range(0, len(names), max(1, math.ceil(len(names) * PITCH / inches)))
    return list(places), [_literal(names[place]) for place in places]


def _write_numbers(values: NDArray[np.float64], ax: Axes) -> None:
    """Write each value into its cell."""
    for row, column in np.argwhere(~np.isnan(values)).tolist():
        value = values[row, column]
        colour = "white" if value > 0.6 else "black"
        ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour, size=8)


def _bars(
    labels: Sequence[str],
    values: Sequence[float],
    intervals: Sequence[tuple[float, float]],
    ax: Axes | None,
) -> Axes:
    """Draw horizontal bars, the first on top, each with an interval."""
    ax = ax or _new_axes(6.4, 1.4 + 0.32 * len(labels))
    places = range(len(labels))
    ax.barh(places, values, height=0.7, color="tab:blue", alpha=0.35)
    for place, value, (low, high) in zip(places, values, intervals, strict=True):
        ax.plot([low, high], [place, place], color="tab:blue", linewidth=1.5)
        ax.plot([value], [place], "o", color="tab:blue", markersize=4)
    ax.set_yticks(list(places), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_xlim(0, 1)
    ax.set_xlabel("MIC, with the 95% interval of its noise")
    return ax


def _literal(name: str) -> str:
    """Shorten a column's name, and keep matplotlib from reading it as mathematics."""
    if len(name) > LONGEST:
        name = f"{name[: LONGEST - 1]}\u2026"
    return name.replace("$", r"\$")


def _new_axes(*inches: float) -> Axes:
    """Return the axes of a new figure, or say how to install matplotlib.

    One whose width and height are given has room for long names.
    """
    try:
        from matplotlib import pyplot
    except ImportError:
        raise DependencyError(
            "matplotlib", "figures need it and it is not installed", "pip install 'dpmic[plots]'"
        ) from None
    sized: dict[str, Any] = {"figsize": inches, "layout": "constrained"} if inches else {}
    axes: Axes = pyplot.subplots(**sized)[1]
    return axes
