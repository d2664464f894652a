"""Figures as SVG in the page: bars, a budget, heat maps, points and histograms on two axes.

Widths are shares of the page's width and letters keep their size, so that a phone shows the same
figure narrower, and not smaller. Colours are the style sheet's. What lies on two axes is drawn in
a square of 1000 by 1000 that is stretched to the page; letters and the width of lines are not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpmic._format import calendar, format_value
from dpmic.data import Pair, Variable
from dpmic.report.markup import shorten, text
from dpmic.results import HistogramRelease, IndependenceTest, Score
from dpmic.results.pairwise import strongest
from dpmic.results.relation import ceiling

ROW, AXIS, BAND, HEADING = 42, 26, 22, 28
"""Pixels of a bar with its label, of the numbers beneath, of the band's label above, and of a
heading."""

LABEL = 40
"""Characters of a bar's label that fit beside its value on a phone."""

BINS = 50

HEIGHT = 380
"""Pixels of the drawing."""

MOST_POINTS = 4000
"""More points hide each other, and make the file large."""

MOST_LINES = 15
"""More lines on an axis would bury the points: the medians between them are drawn instead."""

CROWDED = 0.05
"""An axis is spaced by rank where the middle half of the values takes less of its length."""

SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")

AXIS_NAME, NARROW = 40, 8
"""Characters of an axis's name, and of numbers that fit beside the y axis's usual margin."""

MOST_NAMED, CATEGORY = 8, 12
"""Categories that are named along an axis, and characters of such a name."""

MOST_COLUMNS = 40
"""Rows and columns of a heat map that can still be read."""

ENOUGH = 10 * MOST_COLUMNS**2
"""Entries looked at to find them."""

READABLE, ROOMY, CELL = 12, 38, 20
"""Up to so many columns cells have room for their numbers: pixels of such a cell, and of others."""

NAME, LETTER = 20, 6.9
"""Characters of a name, and pixels of a character."""

TURNS = (0.62, 0.8)
"""Where white letters give way to black on the dark page, and black to white on the light one."""

LEAST_SPAN = 1e-290
"""Below it, and where it overflows, an axis has no round numbers inside: its ends are written."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A value from 0 to 1 with the interval of its noise, and a second mark if there is one.

    A ``heading`` stands above the first of several bars that have the same.
    """

    names: tuple[str, ...]
    value: float
    ends: tuple[float, float]
    mark: float | None = None
    heading: str = ""


def figure(drawing: str, caption: str) -> str:
    """Return a drawing with the sentence that explains it."""
    return f"<figure>{drawing}<figcaption>{text(caption)}</figcaption></figure>"


def bars(rows: Sequence[Bar], title: str, described: str, by_chance: float | None = None) -> str:
    """Draw bars from 0 to 1, the first on top; a band shows what unrelated columns score."""
    height = 0 if by_chance is None else BAND
    drawn = "" if by_chance is None else _by_chance(by_chance, height)
    heading = ""
    for row in rows:
        if row.heading != heading:
            heading = row.heading
            height += HEADING
            drawn += f"<text class='value' x='0' y='{height - 6}'>{_named((heading,))}</text>"
        drawn += _bar(row, height, by_chance)
        height += ROW
    ends = {0: "start", 10: "end"}
    numbers = "".join(
        f"<text class='tick' x='{10 * i}%' y='{height + 17}' "
        f"text-anchor='{ends.get(i, 'middle')}'>{i / 10:g}</text>"
        for i in range(0, 11, 2)
    )
    return (
        f"<svg class='bars' role='img' aria-labelledby='bars-title bars-described' width='100%' "
        f"height='{height + AXIS}'><title id='bars-title'>{text(title)}</title>"
        f"<desc id='bars-described'>{text(described)}</desc>{drawn}{numbers}</svg>"
    )


def _by_chance(most: float, below: int) -> str:
    """Draw the label of the band above the bars."""
    words = f"unrelated columns score up to {ceiling(most)}"
    place = f"x='{100 * most:.2f}%' dx='5'" if most < 0.4 else "x='0'"
    return (
        f"<rect class='chance' y='{below - 18}' width='{100 * most:.2f}%' height='18'/>"
        f"<text class='tick' {place} y='{below - 5}'>{words}</text>"
    )


def meter(share: float, title: str) -> str:
    """Draw which share is used."""
    width = 100 * min(max(share, 0.0), 1.0)
    return (
        "<svg class='meter' role='img' aria-labelledby='meter-title' width='100%' height='14'>"
        f"<title id='meter-title'>{text(title)}</title>"
        "<rect class='track' width='100%' height='14' rx='7'/>"
        f"<rect class='used' width='{width:.2f}%' height='14' rx='7'/></svg>"
    )


def _bar(row: Bar, top: int, by_chance: float | None) -> str:
    """Draw one bar: the label and the value above, the interval and a mark on it."""
    low, high = (100 * end for end in row.ends)
    value, middle = 100 * row.value, top + 30
    lane = "".join(
        f"<line class='grid' x1='{10 * i}%' x2='{10 * i}%' y1='{middle - 9}' y2='{middle + 9}'/>"
        for i in range(0, 11, 2)
    )
    if by_chance is not None:
        lane += (
            f"<rect class='chance' y='{middle - 9}' width='{100 * by_chance:.2f}%' height='18'/>"
        )
    caps = "".join(
        f"<line class='noise' x1='{end:.2f}%' x2='{end:.2f}%' y1='{middle - 5}' y2='{middle + 5}'/>"
        for end in (low, high)
    )
    mark = ""
    if row.mark is not None:
        mark = (
            f"<svg class='mark' x='{100 * row.mark:.2f}%' y='{middle}'>"
            "<path d='M0-6L5 0 0 6-5 0z'/></svg>"
        )
    return (
        f"<text x='0' y='{top + 16}'>{_named(row.names)}</text>"
        f"<text class='value' x='100%' y='{top + 16}' text-anchor='end'>{row.value:.2f}</text>"
        f"{lane}<rect class='bar' y='{middle - 6}' width='{value:.2f}%' height='12' rx='2'/>"
        f"<line class='noise' x1='{low:.2f}%' x2='{high:.2f}%' y1='{middle}' y2='{middle}'/>{caps}"
        f"<circle class='dot' cx='{value:.2f}%' cy='{middle}' r='4'/>{mark}"
    )


def _named(names: tuple[str, ...]) -> str:
    """Write names side by side; a long one takes what others leave, and is whole in a tooltip."""
    least = LABEL // len(names)
    total = sum(map(len, names))
    cut = [shorten(name, max(least, LABEL - total + len(name))) for name in names]
    complete, label = " \u00b7 ".join(names), " \u00b7 ".join(cut)
    tooltip = "" if label == complete else f"<title>{text(complete)}</title>"
    return f"{tooltip}{text(label)}"


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A matrix of values from 0 to 1, NaN where there is none, with its names."""

    values: NDArray[np.float64]
    rows: tuple[str, ...]
    columns: tuple[str, ...]


def strongest_part(matrix: HeatMap) -> HeatMap:
    """Return the part of a large matrix with the strongest pairs, in its own order."""
    shape = matrix.values.shape
    if max(shape) <= MOST_COLUMNS:
        return matrix
    places = strongest(matrix.values.ravel(), ENOUGH)
    rows, columns = np.unravel_index(places, shape)
    if matrix.rows == matrix.columns:
        rows = columns = np.stack([rows, columns], axis=1).ravel()
    kept = _first(rows, shape[0]), _first(columns, shape[1])
    names = tuple(matrix.rows[i] for i in kept[0]), tuple(matrix.columns[i] for i in kept[1])
    return HeatMap(matrix.values[np.ix_(*kept)], *names)


def heat_map(matrix: HeatMap, title: str) -> str:
    """Draw a matrix, in full colour where values are large; the table of pairs has the numbers."""
    m, width = matrix.values.shape
    numbered = max(m, width) <= READABLE
    cell = ROOMY if numbered else CELL
    left, top = _room(matrix.rows), _room(matrix.columns)
    size = f"{left + cell * width:g} {top + cell * m:g}"
    sides = "width='{}' height='{}'".format(*size.split())
    cells = "".join(
        _cell(matrix, (row, column), (left + cell * column, top + cell * row), cell)
        for row in range(m)
        for column in range(width)
    )
    described = f"{m} rows and {width} columns. The table of pairs holds the numbers."
    return (
        f"<div class='scroll' role='region' tabindex='0' aria-label='{text(title)}'>"
        f"<svg class='heat' role='img' aria-labelledby='heat-title heat-described' {sides} "
        f"viewBox='0 0 {size}'><title id='heat-title'>{text(title)}</title>"
        f"<desc id='heat-described'>{text(described)}</desc>{cells}"
        f"{_names(matrix, left, top, cell)}</svg></div>{_legend()}"
    )


def _first(places: NDArray[np.intp], size: int) -> list[int]:
    """Return the first few different places, sorted; any few where nothing was scored."""
    return sorted(list(dict.fromkeys(places.tolist()))[:MOST_COLUMNS]) or list(
        range(min(size, MOST_COLUMNS))
    )


def _room(names: Sequence[str]) -> int:
    return math.ceil(LETTER * max(min(len(name), NAME) for name in names)) + 10


def _cell(matrix: HeatMap, at: tuple[int, int], corner: tuple[float, float], cell: int) -> str:
    value = float(matrix.values[at])
    x, y = corner
    box = f"x='{x:g}' y='{y:g}' width='{cell - 1}' height='{cell - 1}'"
    if math.isnan(value):
        return f"<rect class='none' {box}/>"
    names = f"{matrix.rows[at[0]]}, {matrix.columns[at[1]]}"
    drawn = (
        f"<rect {box} fill-opacity='{value:.3g}'><title>{text(names)}: {value:.4f}</title></rect>"
    )
    if cell < ROOMY:
        return drawn
    band = sum(value > turn for turn in TURNS)
    middle = f"x='{x + cell / 2 - 0.5:g}' y='{y + cell / 2 + 4:g}'"
    return f"{drawn}<text class='band{band}' {middle}>{value:.2f}</text>"


def _names(matrix: HeatMap, left: float, top: float, cell: int) -> str:
    rows = "".join(
        f"<text class='tick' x='{left - 6:g}' y='{top + cell * (i + 0.5) + 4:g}' "
        f"text-anchor='end'>{text(shorten(name, NAME))}</text>"
        for i, name in enumerate(matrix.rows)
    )
    columns = "".join(
        f"<text class='tick' transform='translate({left + cell * (i + 0.5) + 4:g} {top - 6:g}) "
        f"rotate(-90)'>{text(shorten(name, NAME))}</text>"
        for i, name in enumerate(matrix.columns)
    )
    return rows + columns


def _legend() -> str:
    steps = "".join(
        f"<rect x='{14 + 14 * i}' width='14' height='12' fill-opacity='{i / 10:g}'/>"
        for i in range(11)
    )
    return (
        "<svg class='heat legend' width='270' height='14' aria-hidden='true'>"
        f"<text class='tick' x='0' y='11'>0</text>{steps}"
        "<rect class='edge' x='14' y='.5' width='154' height='11'/>"
        "<text class='tick' x='173' y='11'>1</text><rect class='none' x='196' width='14' "
        "height='12'/><text class='tick' x='215' y='11'>none</text></svg>"
    )


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of numbers or dates with its name, or names of categories at 0, 1 and so on."""

    name: str
    low: float
    high: float
    categories: tuple[str, ...] = ()
    dates: bool = False
    ordered: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, name: str, own: Variable) -> Axis:
        """Return the axis of the values that a variable has, by rank if most are in a corner."""
        if own.categories is not None:
            return cls(name, -0.5, len(own.categories) - 0.5, own.categories.labels)
        ordered = np.sort(own.values)
        low, high = map(float, ordered[[0, -1]])
        lower, upper = ordered[[ordered.size // 4, 3 * ordered.size // 4]] / 2
        crowded = not own.dates and 0 < upper - lower < CROWDED * (high / 2 - low / 2)
        return cls(name, low, high, dates=own.dates, ordered=ordered if crowded else None)

    def share(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far along the axis values lie, from 0 to 1."""
        if self.ordered is not None:
            below, up_to = (np.searchsorted(self.ordered, values, side) for side in SIDES)
            return (below + up_to) / (2 * self.ordered.size)
        half = self.high / 2 - self.low / 2  # the difference may be beyond the largest float
        if half <= 0:
            return np.full(values.shape, 0.5)
        return (values / 2 - self.low / 2) / half

    def ticks(self) -> list[float]:
        """Return about five round numbers within the range; of ranks, near the quartiles.

        Examples
        --------
        >>> Axis("age", 17.5, 42.0).ticks()
        [20.0, 25.0, 30.0, 35.0, 40.0]
        """
        if self.ordered is not None:
            places = np.linspace(0, self.ordered.size - 1, 5).astype(np.intp)
            values = dict.fromkeys(self.ordered[places].tolist())
            rounded = (dict.fromkeys(float(f"{v:.{d}g}") for v in values) for d in range(2, 7))
            return list(next((own for own in rounded if len(own) == len(values)), values))
        span = self.high - self.low
        if not LEAST_SPAN < span < math.inf:
            return [self.low] if self.low == self.high else [self.low, self.high]
        power = 10.0 ** math.floor(math.log10(span / 5))
        step = next(m * power for m in (1, 2, 5, 10) if m * power >= span / 5)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [place * step for place in range(first, last + 1)]

    @property
    def title(self) -> str:
        """The name of the axis, and how it is spaced if not evenly."""
        name = shorten(self.name, AXIS_NAME)
        return name if self.ordered is None else f"{name}, spaced by rank"

    def labels(self) -> list[tuple[float, str]]:
        """Return the ticks' places from 0 to 1, and their texts."""
        if self.categories:
            every = -(-len(self.categories) // MOST_NAMED)
            kept = enumerate(self.categories[::every])
            marks = [(float(i * every), shorten(label, CATEGORY)) for i, label in kept]
        elif self.dates:
            marks = calendar(self.low, self.high)
        else:
            marks = [(tick, _number(tick)) for tick in self.ticks()]
        places = self.share(np.array([place for place, _ in marks])).tolist()
        return list(zip(places, (words for _, words in marks), strict=True))


def _number(value: float) -> str:
    """Write a number of an axis.

    Examples
    --------
    >>> _number(20000.0), _number(1950.0), _number(0.1 + 0.2), _number(1.5e12), _number(0.0)
    ('20,000', '1950', '0.3', '1.5e+12', '0')
    """
    if value == 0 or 1e-4 <= abs(value) < 1e7:
        return format_value(value, 10)
    return f"{value:.4g}"


def _plane(across: Axis, up: Axis, drawn: str, key: str, title: str, described: str) -> str:
    """Return a frame with round numbers along its axes, around what was drawn."""
    ids = f"{key}-title {key}-described"
    wide = " wide" if max(len(words) for _, words in up.labels()) > NARROW else ""
    return (
        f"<svg class='plane{wide}' role='img' aria-labelledby='{ids}' height='{HEIGHT}'>"
        f"<title id='{key}-title'>{text(title)}</title>"
        f"<desc id='{key}-described'>{text(described)}</desc>"
        f"<svg class='{key}' width='100%' height='100%' viewBox='0 0 1000 1000' "
        f"preserveAspectRatio='none'>{drawn}</svg>"
        f"<rect class='frame' width='100%' height='100%'/>{_across(across)}{_up(up)}</svg>"
    )


def scatter(score: Score, points: Pair) -> str:
    """Return the figure of points and the cuts of a score's best grid."""
    kept = _thinned(points)
    across, up = map(Axis.of, points.names, points.variables)
    xs, ys = points.spread()
    places = zip(
        (1000 * across.share(xs[kept])).round(1).tolist(),
        (1000 - 1000 * up.share(ys[kept])).round(1).tolist(),
        strict=True,
    )
    dots = "".join(f"M{x:g} {y:g}h0" for x, y in places)
    x_cuts, y_cuts = map(np.array, score.grid.lines())
    cuts = medians = ""
    if x_cuts.size <= MOST_LINES:
        cuts += "".join(f"M{x:.1f} 0v1000" for x in 1000 * across.share(x_cuts))
    elif not up.categories:
        medians += _medians(x_cuts, (xs, across), (ys, up), "M{0:.1f} {2:.1f}H{1:.1f}")
    if y_cuts.size <= MOST_LINES:
        cuts += "".join(f"M0 {y:.1f}h1000" for y in 1000 - 1000 * up.share(y_cuts))
    elif not across.categories:
        medians += _medians(y_cuts, (ys, up), (xs, across), "M{2:.1f} {0:.1f}V{1:.1f}")
    first, second = points.names
    described = (
        f"{kept.size:,} points of {first} across and {second} up, and the best grid of "
        f"{score.grid.k} rows and {score.grid.l} columns."
    )
    drawn = f"<path class='points' d='{dots}'/><path class='cuts' d='{cuts}'/>"
    drawn += f"<path class='medians' d='{medians}'/>" if medians else ""
    drawing = _plane(across, up, drawn, "scatter", f"{first} and {second}", described)
    return figure(drawing, _seen(score, points, (across, up), medians=bool(medians)))


def _seen(score: Score, points: Pair, axes: Sequence[Axis], *, medians: bool) -> str:
    """Say what a figure of points shows."""
    size = f"{score.grid.k} rows by {score.grid.l} columns"
    said = f"Each dot is a record; lines are the best grid, {size}."
    if max(map(len, score.grid.lines())) > MOST_LINES:
        short = ": short lines show the median within each part" if medians else ""
        said = f"Each dot is a record. The best grid has {size}, more than can be drawn{short}."
    if any(axis.ordered is not None for axis in axes):
        said += " An axis spaced by rank gives every record the same room."
    if points.x.size > MOST_POINTS:
        said += f" {MOST_POINTS:,} of {points.x.size:,} records are drawn, taken at random."
    return said


def _medians(
    cuts: NDArray[np.float64],
    along: tuple[NDArray[np.float64], Axis],
    other: tuple[NDArray[np.float64], Axis],
    stroke: str,
) -> str:
    """Draw the median of one column within each part of the other."""
    (values, axis), (others, scale) = along, other
    parts = np.searchsorted(cuts, values, side="right")
    edges = np.concatenate([[axis.low], cuts, [axis.high]])
    # The vertical axis of the drawing runs downwards.
    places = 1000 * axis.share(edges)
    drawn = []
    for part in np.unique(parts).tolist():
        middle = 1000 * float(scale.share(np.median(others[parts == part], keepdims=True))[0])
        ends = places[part : part + 2]
        if stroke.endswith("V{1:.1f}"):
            ends = 1000 - ends
        else:
            middle = 1000 - middle
        drawn.append(stroke.format(*ends, middle))
    return "".join(drawn)


def histogram(published: HistogramRelease) -> str:
    """Draw the consistent counts in units of the data, in full colour where there are many."""
    first, second = published.names
    x_dates, y_dates = published.dates
    across = Axis(first, published.x_edges[0], published.x_edges[-1], dates=x_dates)
    up = Axis(second, published.y_edges[0], published.y_edges[-1], dates=y_dates)
    x = (1000 * across.share(np.array(published.x_edges))).round(1).tolist()
    y = (1000 - 1000 * up.share(np.array(published.y_edges))).round(1).tolist()
    most = max(map(max, published.histogram))
    drawn = "".join(
        f"<rect x='{x[i]:g}' y='{y[j + 1]:g}' width='{x[i + 1] - x[i]:.5g}' "
        f"height='{y[j] - y[j + 1]:.5g}' fill-opacity='{count / most:.3g}'>"
        f"<title>{count:,}</title></rect>"
        for j, row in enumerate(published.histogram)
        for i, count in enumerate(row)
        if count
    )
    described = (
        f"{published.m} by {published.m} cells, the fullest with {most:,} records. All counts have "
        "noise; the table beneath holds them."
    )
    return _plane(across, up, drawn, "cells", f"Counts of {first} and {second}", described)


def null(test: IndependenceTest) -> str:
    """Draw a histogram of the permutations' statistic, and a line at the observed one."""
    low = min(float(test.null.min()), test.statistic)
    high = max(float(test.null.max()), test.statistic)
    across = Axis("TICe", low, high)
    counts, edges = np.histogram(test.null, BINS)
    up = Axis("permutations", 0.0, float(counts.max()))
    sides = 1000 * across.share(edges)
    heights = 1000 * up.share(counts.astype(np.float64))
    drawn = "".join(
        f"<rect class='bar' x='{left:.1f}' y='{1000 - tall:.1f}' "
        f"width='{max(right - left, 1):.1f}' height='{tall:.1f}'/>"
        for left, right, tall in zip(sides, sides[1:], heights, strict=False)
        if tall
    )
    place = 1000 * float(across.share(np.array([test.statistic]))[0])
    line = f"<path class='observed' d='M{place:.1f} 0V1000'/>"
    title = "The statistic of the permutations, and the observed one"
    described = (
        f"A histogram of {test.permutations:,} permutations from {test.null.min():.4g} to "
        f"{test.null.max():.4g}, and a line at the observed {test.statistic:.4g}."
    )
    return _plane(across, up, drawn + line, "null", title, described)


def _thinned(points: Pair) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return which points are drawn: all, or a part by a fixed draw, so that pages repeat."""
    if points.x.size <= MOST_POINTS:
        return np.arange(points.x.size)
    # Taking every tenth, say, would distort a periodic table.
    drawn = np.random.default_rng(0).choice(points.x.size, MOST_POINTS, replace=False)
    return np.sort(drawn)


def _across(axis: Axis) -> str:
    ticks = "".join(
        f"<text class='tick' x='{100 * place:.2f}%' y='100%' dy='17' "
        f"text-anchor='{_anchor(place)}'>{text(words)}</text>"
        for place, words in axis.labels()
    )
    place = "x='50%' y='100%' dy='36' text-anchor='middle'"
    return f"{ticks}<text class='axis' {place}>{text(axis.title)}</text>"


def _up(axis: Axis) -> str:
    ticks = "".join(
        f"<text class='tick' x='-6' y='{100 - 100 * place:.2f}%' dy='4' "
        f"text-anchor='end'>{text(words)}</text>"
        for place, words in axis.labels()
    )
    return f"{ticks}<text class='axis' x='0' y='-8'>{text(axis.title)}</text>"


def _anchor(place: float) -> str:
    """Keep the outermost numbers within the frame."""
    if place > 0.95:
        return "end"
    return "start" if place < 0.05 else "middle"
