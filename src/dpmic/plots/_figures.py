"""Figures of points, of tests, of values with intervals, and of plans."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpmic._format import format_pvalue
from dpmic.plots._style import (
    BLUE,
    COLOURS,
    INK,
    LINE,
    MUTED,
    PALE,
    STATISTICS,
    TEXT,
    VERMILION,
    cost,
    head,
    literal,
    mark_dates,
    new_axes,
    shades,
    style,
)
from dpmic.results.relation import ceiling, the_strongest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpmic import results
    from dpmic.data import Pair

MOST_LINES = 15
"""Lines of a grid that leave the points visible; parts of a finer grid are merged into bands."""

MOST_POINTS = 5_000
"""More points than this are counted in hexagons."""

REPEATED, LARGEST_DOT = 4, 260
"""Points that are repeated so often on average become one dot: its area, in points, is theirs."""

NARROW = 0.02
"""Intervals that are narrower than this are written with three decimals."""

BINS = 50

Floats = NDArray[np.float64]


@style()
def scatter(score: results.Score, points: Pair, ax: Axes | None) -> Axes:
    """Draw points and the best grid of a score."""
    ax = ax or new_axes()
    _draw_points(points, ax)
    banded = _draw_grid(score.grid.lines(), points, ax)
    for axis, own in zip((ax.xaxis, ax.yaxis), points.variables, strict=True):
        if own.categories is not None:
            labels = own.categories.labels
            axis.set_ticks(range(len(labels)), list(map(literal, labels)))
        elif own.dates:
            mark_dates(axis, own.values.min(), own.values.max())
    x, y = map(literal, points.names)
    ax.set(xlabel=x, ylabel=y)
    scored = f"{STATISTICS[score.statistic]} = {score.mic:.3f}, n = {score.n:,}"
    head(ax, f"{x} and {y}", f"{scored}, grid of {score.grid.k} x {score.grid.l}{banded}")
    return ax


def _draw_points(points: Pair, ax: Axes) -> None:
    """Draw each point; of many how dense they are, and of equal ones how many there are."""
    fewest = max(np.unique(own).size for own in (points.x, points.y))
    if fewest * REPEATED <= points.x.size:
        pairs = np.column_stack((points.x, points.y))
        there, counts = np.unique(pairs, axis=0, return_counts=True)
        if len(there) * REPEATED <= points.x.size:
            sizes = LARGEST_DOT * counts / counts.max()
            ax.scatter(there[:, 0], there[:, 1], sizes, color=BLUE, alpha=0.65, linewidth=0)
            return
    x, y = points.spread()
    if x.size > MOST_POINTS:
        ax.hexbin(x, y, gridsize=45, bins="log", mincnt=1, cmap=shades(1, 4), linewidths=0.1)
        return
    few = 1 - x.size / MOST_POINTS
    size, alpha = 5 + 4 * few**4, 0.35 + 0.3 * few**4
    ax.plot(x, y, ".", color=BLUE, markersize=size, alpha=alpha, mew=0, rasterized=x.size > 1000)


def _draw_grid(cuts: tuple[tuple[float, ...], tuple[float, ...]], points: Pair, ax: Axes) -> str:
    """Draw the cuts of a grid, or bands if there are too many; returns a note on the bands."""
    lines = (ax.axvline, ax.axhline)
    banded = int(len(cuts[1]) > len(cuts[0])) if sum(map(len, cuts)) > MOST_LINES else None
    for axis in (0, 1):
        if axis != banded and len(cuts[axis]) <= MOST_LINES:
            for cut in cuts[axis]:
                lines[axis](cut, color=INK, linewidth=0.8)
    if banded is None:
        return ""
    across, up = (points.x, points.y)[:: -1 if banded else 1]
    edges = _merged(across, np.array(cuts[banded]))
    if points.categories[1 - banded] is None:
        _draw_bands(across, up, edges, ax, upright=not banded)
        return f"\nblack: median and quartiles in {edges.size - 1} bands"
    for edge in edges[1:-1]:
        lines[banded](edge, color=INK, linewidth=0.8)
    return f", {edges.size - 2} of its lines drawn"


def _draw_bands(across: Floats, up: Floats, edges: Floats, ax: Axes, *, upright: bool) -> None:
    """Draw the quartiles of one column within bands of the other."""
    from matplotlib.patheffects import withStroke

    band = np.searchsorted(edges[1:-1], across, side="right")
    held = [i for i in range(edges.size - 1) if np.any(band == i)]
    low, middle, high = np.array([np.quantile(up[band == i], (0.25, 0.5, 0.75)) for i in held]).T
    ends = [np.quantile(across[band == i], (0.05, 0.5, 0.95)) for i in held]
    left, centre, right = np.array(ends).T  # where most records are: beyond may be lone ones
    along, beside = (ax.hlines, ax.vlines) if upright else (ax.vlines, ax.hlines)
    halo = [withStroke(linewidth=4, foreground="white", alpha=0.8)]
    beside(centre, low, high, color=INK, linewidth=1, path_effects=halo, zorder=3)
    along(middle, left, right, color=INK, linewidth=2.2, path_effects=halo, zorder=3)


def _merged(values: Floats, cuts: Floats) -> Floats:
    """Return the edges of at most ``MOST_LINES`` bands, with about as many records in each."""
    shares = np.searchsorted(np.sort(values), cuts) / values.size
    wanted = np.arange(1, MOST_LINES) / MOST_LINES
    kept = np.unique(np.abs(shares - wanted[:, None]).argmin(axis=1))
    return np.concatenate(([values.min()], cuts[kept], [values.max()]))


@style()
def null(test: results.IndependenceTest, ax: Axes | None) -> Axes:
    """Draw a histogram of the permutations' statistic, and a line at the observed one."""
    ax = ax or new_axes(6.4, 3.6)
    ax.hist(test.null, BINS, color=PALE, edgecolor=LINE, linewidth=0.4)
    ax.axvline(test.statistic, color=VERMILION, linewidth=2)
    low, high = ax.get_xlim()
    right = test.statistic > (low + high) / 2
    ax.annotate(
        "observed",
        (test.statistic, 1),
        (-6 if right else 6, -4),
        xycoords=ax.get_xaxis_transform(),
        textcoords="offset points",
        ha="right" if right else "left",
        va="top",
        color=VERMILION,
        weight="bold",
    )
    ax.set(xlabel="TICe", ylabel="permutations")
    below = f"grey: {test.permutations:,} random permutations, n = {test.n:,}"
    head(ax, format_pvalue(test.pvalue), below)
    return ax


@style()
def release(published: results.Release, ax: Axes | None) -> Axes:
    """Draw a published value with its noise interval on [0, 1]."""
    ax = ax or new_axes(6.4, 2.1)
    row = Bar("", published.value, published.interval(0.95))
    draw_bars([row], by_chance(published), published.statistic.upper(), ax)
    head(ax, " and ".join(map(literal, published.names)), cost(published))
    return ax


@style()
def screening(found: results.Screening, ax: Axes | None) -> Axes:
    """Draw the values of a screening, the largest on top, with the intervals of their noise."""
    alone = found.target is not None
    rows = [
        Bar(literal(y) if alone else f"{literal(x)}, {literal(y)}", value, ends)
        for (x, y), value, ends in zip(found.pairs, found.values, found.interval(0.95), strict=True)
    ]
    ax = draw_bars(rows, by_chance(found), "MIC", ax)
    what = the_strongest(len(found.pairs), found.candidates)
    if found.target is not None:
        what += f" with {literal(found.target)}"
    head(ax, what, cost(found))
    return ax


class Bar(NamedTuple):
    """A published value with its name and its noise interval."""

    name: str
    value: float
    ends: tuple[float, float]


def by_chance(published: results.Release | results.Screening | results.PairwiseRelease) -> float:
    """Return the most that unrelated columns score; 0 where it is not known."""
    return published.unrelated.most if published.unrelated else 0.0


def draw_bars(rows: Sequence[Bar], chance: float, label: str, ax: Axes | None) -> Axes:
    """Draw values from 0 to 1 with intervals, the first on top, and write them beside."""
    ax = ax or new_axes(6.8, 1.8 + 0.3 * len(rows))
    note = f"{label}, with the 95% interval of its noise"
    digits = 3 if min(high - low for _, _, (low, high) in rows) < NARROW else 2
    if chance:
        from matplotlib.patches import Rectangle

        drawn: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "color": PALE}
        ax.add_patch(Rectangle((0, 0), chance, 1, linewidth=0, **drawn))
        note += f"\ngrey: unrelated columns score up to {ceiling(chance)}"
    for place, (_, value, (low, high)) in enumerate(rows):
        ax.plot([0, value], [place, place], color=LINE, linewidth=0.8)
        ax.plot(
            [low, high], [place, place], color=BLUE, linewidth=11, alpha=0.35, solid_capstyle="butt"
        )
        ax.plot([value], [place], "o", color=BLUE, markersize=5)
        ax.text(1.05, place, f"{value:.{digits}f}", va="center", weight="bold")
        interval = f"{low:.{digits}f} to {high:.{digits}f}"
        ax.text(1.18, place, interval, va="center", color=MUTED)
    named = [place for place, row in enumerate(rows) if row.name]
    ax.set_yticks(named, [rows[place].name for place in named])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(0, 1.5)
    ax.set_xticks(np.linspace(0, 1, 6))
    ax.spines["left"].set_visible(False)
    ax.spines["bottom"].set_bounds(0, 1)
    ax.set_xlabel(note, loc="left")
    return ax


@style()
def plan(planned: results.Plan, ax: Axes | None) -> Axes:
    """Draw one line for each mechanism on log axes, and mark what was asked or found."""
    ax = ax or new_axes(7.2, 4.4)
    against = "n" if planned.sought == "n" else "epsilon"
    ends: list[tuple[float, str, str]] = []
    curves = [row for row in planned.rows if row.curve]
    for row, colour in zip(curves, COLOURS * len(curves), strict=False):
        ax.plot(*zip(*row.curve, strict=True), color=colour, label=row.mechanism, linewidth=1.8)
        place, error = getattr(row, against), getattr(row, planned.of)
        if place is not None and error is not None:
            ax.plot([place], [error], "o", color=colour, markeredgecolor="white", markersize=8)
        ends.append((row.curve[-1][1], row.mechanism, colour))
    ax.axhline(planned.guess, color=LINE, linestyle="--", label="always 0.5")
    ends.append((planned.guess, "always guessing 0.5", MUTED))
    if planned.error is not None:
        target = f"target: {planned.error:g}"
        ax.axhline(planned.error, color=LINE, linestyle=":", label=target)
        ends.append((planned.error, target, MUTED))
    _decades(ax)
    ax.margins(x=0)
    ax.set(xlabel=against, ylabel=f"expected error of the {planned.of}")
    _label_ends(ax, ends)
    head(ax, planned.title, "the expected distance from MIC*; nothing was spent")
    return ax


def _decades(ax: Axes) -> None:
    """Set both axes to logarithms, with numbers that are read as they stand."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set(xscale="log", yscale="log")
    for axis, subs in ((ax.xaxis, (1.0,)), (ax.yaxis, (1.0, 2.0, 5.0))):
        axis.set_major_locator(LogLocator(subs=subs))
        axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.10g}"))
        axis.set_minor_formatter(NullFormatter())


def _label_ends(ax: Axes, ends: Sequence[tuple[float, str, str]]) -> None:
    """Write a label to the right of each line, at its last height."""
    low, high = np.log(ax.get_ylim())
    ends = sorted(ends, reverse=True)
    heights = [(math.log(end) - low) / (high - low) for end, _, _ in ends]
    gap = 1.35 * TEXT / 72 / (ax.bbox.height / ax.figure.dpi)
    for height, (_, label, colour) in zip(_apart(heights, gap), ends, strict=True):
        ax.annotate(
            label,
            (1, height),
            (6, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            va="center",
            color=colour,
        )


def _apart(heights: Sequence[float], gap: float) -> list[float]:
    """Move falling heights down, and where there is no more room up, until they are apart.

    Examples
    --------
    >>> _apart([0.9, 0.5, 0.5], 0.25), _apart([0.125, 0.125], 0.25)
    ([0.9, 0.5, 0.25], [0.25, 0.0])
    """
    falling = list(itertools.accumulate(heights, lambda above, own: min(own, above - gap)))
    rising = itertools.accumulate(
        reversed(falling), lambda below, own: max(own, below + gap), initial=-gap
    )
    return list(rising)[:0:-1]
