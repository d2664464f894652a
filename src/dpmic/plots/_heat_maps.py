"""Heat maps: scores of all pairs, and the noisy counts of two columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpmic._format import plural
from dpmic.plots._figures import Bar, by_chance, draw_bars
from dpmic.plots._style import (
    INK,
    MUTED,
    PALE,
    SMALL,
    STATISTICS,
    colour_bar,
    cost,
    head,
    literal,
    mark_dates,
    new_axes,
    shades,
    style,
)
from dpmic.results.release import BIASED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpmic import results

READABLE = 12
"""Up to so many columns, cells have room for their numbers."""

SIGNIFICANT = 0.05
"""The false discovery rate at which a heat map shows pairs in colour."""

HIGHEST_FLOOR = 0.9
"""Colours begin here at the latest."""

BEST_ORDER = 200
"""Up to so many columns, the order of a clustering is the best that its tree allows."""

CELL, ROOM, PITCH, LARGEST = 0.42, 0.34, 0.2, 12.0
"""Inches of a cell, of one for a number, from name to name, and of all cells at most."""

Floats = NDArray[np.float64]


@style()
def heat_map(published: results.HistogramRelease, ax: Axes | None) -> Axes:
    """Draw the consistent counts in units of the data."""
    ax = ax or new_axes(6.0, 4.8)
    from matplotlib.ticker import MaxNLocator  # here: it is optional

    cells = ax.pcolormesh(
        published.x_edges, published.y_edges, published.histogram, cmap=shades(), vmin=0
    )
    colour_bar(ax, cells, "records, with noise", ticks=MaxNLocator(integer=True))
    x, y = map(literal, published.names)
    ax.set(xlabel=x, ylabel=y)
    edges = (published.x_edges, published.y_edges)
    for axis, own, dates in zip((ax.xaxis, ax.yaxis), edges, published.dates, strict=True):
        if dates:
            mark_dates(axis, own[0], own[-1])
    head(
        ax,
        f"{x} and {y}",
        f"MIC of the noisy counts = {published.value:.3f}, {BIASED}\n{cost(published)}",
    )
    return ax


@style()
def matrix(result: results.Pairwise, ax: Axes | None) -> Axes:
    """Draw a heat map of all pairs of one table, or of two; grey where it may be chance."""
    others = result.names if result.others is None else result.others
    kept = np.ones(result.mic.shape, bool)
    below = f"{plural(result.mic.size, 'pair')}, n = {result.n:,}"
    if result.pvalues is not None:
        kept = ~(result.qvalues > SIGNIFICANT)
        below += f"; grey: not significant (q > {SIGNIFICANT})"
    colours = result.arranged(kept.astype(np.float64)) > 0
    cells = _Cells(result.matrix, colours, result.names, others)
    floor = result.unrelated.most if result.unrelated else 0.0
    half, label = result.others is None, STATISTICS.get(result.statistic, result.statistic)
    ax = _draw_cells(cells.clustered(symmetric=half), floor, label, half, ax)
    head(ax, f"{label} of all pairs" if half else f"{label} of two tables", below)
    return ax


@style()
def private_matrix(published: results.PairwiseRelease, ax: Axes | None) -> Axes:
    """Draw a heat map of all pairs, or bars for the pairs of one column."""
    if published.target is not None:
        ends = zip(published.pairs, published.values, published.interval(0.95), strict=True)
        rows = [Bar(literal(y), value, own) for (_, y), value, own in ends]
        rows.sort(key=lambda row: -row.value)
        ax = draw_bars(rows, by_chance(published), "MIC", ax)
        head(ax, f"{literal(published.target)} with each column", cost(published))
        return ax
    values, names = published.matrix, published.names
    cells = _Cells(values, ~np.isnan(values), names, names)
    floor = by_chance(published) + published.half_width
    ax = _draw_cells(cells.clustered(symmetric=True), floor, "MIC, with noise", True, ax)
    count = len(published.values)
    named = "the only pair" if count == 1 else f"all {count:,} pairs"
    within = f"95% of the noise lies within {published.half_width:.2g}"
    head(ax, f"MIC of {named}", f"{cost(published)}\n{within}")
    return ax


class _Cells(NamedTuple):
    """A matrix of scores with its names; those that are kept are shown in colour."""

    values: Floats
    kept: NDArray[np.bool_]
    rows: Sequence[str]
    columns: Sequence[str]

    def clustered(self, *, symmetric: bool) -> _Cells:
        """Put related columns next to each other; of a symmetric matrix keep the lower half."""
        scores = np.nan_to_num(self.values)
        if symmetric:
            down = across = _leaves(len(scores), 1 - scores[np.triu_indices_from(scores, 1)])
        else:
            down, across = _leaves(len(scores), scores), _leaves(len(scores.T), scores.T)
        places = np.ix_(down, across)
        rows, columns = [self.rows[i] for i in down], [self.columns[i] for i in across]
        cells = _Cells(self.values[places], self.kept[places], rows, columns)
        return cells._lower() if symmetric else cells

    def _lower(self) -> _Cells:
        """Leave out the diagonal and what is above it."""
        below = np.tri(len(self.rows), k=-1, dtype=bool)
        values, kept = np.where(below, self.values, np.nan), self.kept & below
        return _Cells(values[1:, :-1], kept[1:, :-1], self.rows[1:], self.columns[:-1])


def _leaves(count: int, near: Floats) -> NDArray[np.intp]:
    """Return the order of the leaves of a hierarchical clustering by average linkage.

    ``near`` has a row for each leaf, or is the distance between each two of them.
    """
    if count < 3:
        return np.arange(count)
    from scipy.cluster.hierarchy import leaves_list, linkage

    tree = linkage(near, "average", optimal_ordering=count <= BEST_ORDER)
    leaves: NDArray[np.intp] = leaves_list(tree)
    return leaves


def _draw_cells(cells: _Cells, floor: float, label: str, half: bool, ax: Axes | None) -> Axes:
    """Draw scores in colours that begin at a floor, and in grey those that are not kept."""
    m, l = cells.values.shape
    if ax is None:
        width, height = (min(CELL * own, LARGEST) + 2.4 for own in (l, m))
        ax = new_axes(max(width, 4.8) + 1, max(height, 4.8 if half else 3.2))
    from matplotlib.colors import ListedColormap  # here: it is optional

    floor = min(floor, HIGHEST_FLOOR)
    there = ~np.isnan(cells.values)
    shown = np.where(cells.kept, cells.values, np.nan)
    aspect: Literal["equal", "auto"] = "equal" if half else "auto"
    image = ax.imshow(shown, vmin=floor, vmax=1, cmap=shades(), aspect=aspect)
    if np.any(there & ~cells.kept):
        grey = np.where(there & ~cells.kept, 1.0, np.nan)
        edges = np.arange(l + 1) - 0.5, np.arange(m + 1) - 0.5
        plain = ListedColormap([PALE])
        ax.pcolor(*edges, grey, cmap=plain, hatch="////", edgecolor="white", linewidth=0)
    bar = colour_bar(ax, image, f"{label}; lightest: like unrelated columns" if floor else label)
    ticks = [tick for tick in (0.2, 0.4, 0.6, 0.8, 1.0) if tick > floor + 0.07]
    bar.set_ticks([floor, *ticks], labels=[f"\u2264 {floor:.2f}", *(f"{t:g}" for t in ticks)])
    width, height = ax.bbox.width / ax.figure.dpi, ax.bbox.height / ax.figure.dpi
    if half:
        width = height = min(width, height)
    places, names = _readable(cells.columns, width)
    ax.set_xticks(places, names, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(*_readable(cells.rows, height))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if max(m, l) <= READABLE and width >= ROOM * l:
        _write_numbers(cells, floor, ax)
    return ax


def _write_numbers(cells: _Cells, floor: float, ax: Axes) -> None:
    """Write each value into its cell."""
    for row, column in np.argwhere(~np.isnan(cells.values)).tolist():
        value, kept = cells.values[row, column], cells.kept[row, column]
        dark = kept and value > floor + 0.5 * (1 - floor)
        colour = "white" if dark else INK if kept else MUTED
        ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour, size=SMALL)


def _readable(names: Sequence[str], inches: float) -> tuple[list[int], list[str]]:
    """Return so many of the names, with their places, as can be read side by side."""
    places = range(0, len(names), max(1, math.ceil(len(names) * PITCH / inches)))
    return list(places), [literal(names[place]) for place in places]
