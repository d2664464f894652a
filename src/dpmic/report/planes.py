"""Figures on two axes, as SVG in the page: points with their best grid, a histogram of two columns.

What is drawn lies in a square of 1000 by 1000 that is stretched to the page; letters and the width
of lines are not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpmic.data import Pair
from dpmic.report.markup import shorten, text
from dpmic.report.scales import Axis
from dpmic.results import HistogramRelease, Score

__all__ = ["MOST_POINTS", "Mark", "histogram", "plane", "scatter"]

HEIGHT = 380
"""Pixels of the drawing."""

MOST_POINTS = 4000
"""More points hide each other, and make the file large."""

DENSE = 20
"""With more rows or columns than this, lines are drawn faintly, or they hide the points."""

NAME, NARROW = 40, 8
"""Characters of an axis's name, and of numbers that fit beside the y axis's usual margin."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a drawing is called in the page, by its title, and in words."""

    key: str
    title: str
    told: str


def plane(axes: tuple[Axis, Axis], drawn: str, mark: Mark) -> str:
    """Return a frame with round numbers along its axes, around what was drawn."""
    across, up = axes
    ids = f"{mark.key}-title {mark.key}-told"
    wide = " wide" if max(len(words) for _, words in up.labels()) > NARROW else ""
    return (
        f"<svg class='plane{wide}' role='img' aria-labelledby='{ids}' height='{HEIGHT}'>"
        f"<title id='{mark.key}-title'>{text(mark.title)}</title>"
        f"<desc id='{mark.key}-told'>{text(mark.told)}</desc>"
        f"<svg class='{mark.key}' width='100%' height='100%' viewBox='0 0 1000 1000' "
        f"preserveAspectRatio='none'>{drawn}</svg>"
        f"<rect class='frame' width='100%' height='100%'/>{_across(across)}{_up(up)}</svg>"
    )


def scatter(score: Score, points: Pair) -> str:
    """Draw points and the cuts of a score's best grid."""
    kept = _thinned(points)
    axes = tuple(
        Axis(name, float(values.min()), float(values.max()))
        for name, values in zip(points.names, (points.x, points.y), strict=True)
    )
    across, up = axes
    places = zip(
        (1000 * across.share(points.x[kept])).round(1).tolist(),
        (1000 - 1000 * up.share(points.y[kept])).round(1).tolist(),
        strict=True,
    )
    dots = "".join(f"M{x:g} {y:g}h0" for x, y in places)
    cuts = "".join(f"M{x:.1f} 0v1000" for x in 1000 * across.share(np.array(score.grid.x)))
    cuts += "".join(f"M0 {y:.1f}h1000" for y in 1000 - 1000 * up.share(np.array(score.grid.y)))
    dense = " dense" if max(score.grid.k, score.grid.l) > DENSE else ""
    first, second = points.names
    told = (
        f"{kept.size:,} points of {first} across and {second} up, and the best grid of "
        f"{score.grid.k} rows and {score.grid.l} columns."
    )
    drawn = f"<path class='points' d='{dots}'/><path class='cuts{dense}' d='{cuts}'/>"
    return plane((across, up), drawn, Mark("scatter", f"{first} and {second}", told))


def histogram(published: HistogramRelease) -> str:
    """Draw the consistent counts in units of the data, in full colour where there are many."""
    first, second = published.names
    across = Axis(first, published.x_edges[0], published.x_edges[-1])
    up = Axis(second, published.y_edges[0], published.y_edges[-1])
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
    told = (
        f"{published.m} by {published.m} cells, the fullest with {most:,} records. All counts have "
        "noise; the table beneath holds them."
    )
    return plane((across, up), drawn, Mark("cells", f"Counts of {first} and {second}", told))


def _thinned(points: Pair) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return which points are drawn: all, or a part by a fixed draw, so that pages repeat."""
    if points.x.size <= MOST_POINTS:
        return np.arange(points.x.size)
    # Every so manieth would show a periodic table wrongly.
    drawn = np.random.default_rng(0).choice(points.x.size, MOST_POINTS, replace=False)
    return np.sort(drawn)


def _across(axis: Axis) -> str:
    ticks = "".join(
        f"<text class='tick' x='{100 * place:.2f}%' y='100%' dy='17' "
        f"text-anchor='{_anchor(place)}'>{words}</text>"
        for place, words in axis.labels()
    )
    name = text(shorten(axis.name, NAME))
    return f"{ticks}<text class='axis' x='50%' y='100%' dy='36' text-anchor='middle'>{name}</text>"


def _up(axis: Axis) -> str:
    ticks = "".join(
        f"<text class='tick' x='-6' y='{100 - 100 * place:.2f}%' dy='4' "
        f"text-anchor='end'>{words}</text>"
        for place, words in axis.labels()
    )
    return f"{ticks}<text class='axis' x='0' y='-8'>{text(shorten(axis.name, NAME))}</text>"


def _anchor(place: float) -> str:
    """Keep the outermost numbers within the frame."""
    if place > 0.95:
        return "end"
    return "start" if place < 0.05 else "middle"
