"""Figures along one axis, as SVG in the page: bars with intervals, a budget, chance's histogram.

Widths are shares of the page's width and letters keep their size, so that a phone shows the same
figure narrower, and not smaller. Colours are the style sheet's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpmic.report.markup import shorten, text
from dpmic.report.planes import Mark, plane
from dpmic.report.scales import Axis
from dpmic.results import IndependenceTest

__all__ = ["Bar", "bars", "figure", "meter", "null"]

ROW, AXIS = 42, 26
"""Pixels of a bar with its label, and of the numbers beneath."""

LABEL = 40
"""Characters of a bar's label that fit beside its value on a phone."""

BINS = 50


@dataclass(frozen=True, slots=True)
class Bar:
    """A value from 0 to 1 with the interval of its noise, and its estimate if that is shown."""

    names: tuple[str, ...]
    value: float
    ends: tuple[float, float]
    estimate: float | None = None


def figure(drawing: str, caption: str) -> str:
    """Return a drawing with the sentence that explains it."""
    return f"<figure>{drawing}<figcaption>{text(caption)}</figcaption></figure>"


def bars(rows: Sequence[Bar], title: str, told: str) -> str:
    """Draw bars from 0 to 1, the first on top."""
    height = ROW * len(rows)
    grid = "".join(
        f"<line class='grid' x1='{10 * i}%' x2='{10 * i}%' y1='0' y2='{height}'/>"
        for i in range(0, 11, 2)
    )
    ends = {0: "start", 10: "end"}
    numbers = "".join(
        f"<text class='tick' x='{10 * i}%' y='{height + 17}' "
        f"text-anchor='{ends.get(i, 'middle')}'>{i / 10:g}</text>"
        for i in range(0, 11, 2)
    )
    drawn = "".join(_bar(row, ROW * place) for place, row in enumerate(rows))
    return (
        f"<svg class='bars' role='img' aria-labelledby='bars-title bars-told' width='100%' "
        f"height='{height + AXIS}'><title id='bars-title'>{text(title)}</title>"
        f"<desc id='bars-told'>{text(told)}</desc>{grid}{drawn}{numbers}</svg>"
    )


def meter(share: float, title: str) -> str:
    """Draw how much of a whole is used."""
    width = 100 * min(max(share, 0.0), 1.0)
    return (
        "<svg class='meter' role='img' aria-labelledby='meter-title' width='100%' height='14'>"
        f"<title id='meter-title'>{text(title)}</title>"
        "<rect class='track' width='100%' height='14' rx='7'/>"
        f"<rect class='used' width='{width:.2f}%' height='14' rx='7'/></svg>"
    )


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
    told = (
        f"A histogram of {test.permutations:,} permutations from {test.null.min():.4g} to "
        f"{test.null.max():.4g}, and a line at the observed {test.statistic:.4g}."
    )
    return plane((across, up), drawn + line, Mark("null", title, told))


def _bar(row: Bar, top: int) -> str:
    """Draw one bar: the label and the value above, the interval and an estimate on it."""
    low, high = (100 * end for end in row.ends)
    value, middle = 100 * row.value, top + 30
    room = LABEL // len(row.names)
    label = " \u00b7 ".join(shorten(name, room) for name in row.names)
    caps = "".join(
        f"<line class='noise' x1='{end:.2f}%' x2='{end:.2f}%' y1='{middle - 5}' y2='{middle + 5}'/>"
        for end in (low, high)
    )
    diamond = ""
    if row.estimate is not None:
        diamond = (
            f"<svg class='estimate' x='{100 * row.estimate:.2f}%' y='{middle}'>"
            "<path d='M0-6L5 0 0 6-5 0z'/></svg>"
        )
    return (
        f"<text class='label' x='0' y='{top + 16}'>{text(label)}</text>"
        f"<text class='value' x='100%' y='{top + 16}' text-anchor='end'>{row.value:.2f}</text>"
        f"<rect class='bar' x='0' y='{middle - 7}' width='{value:.2f}%' height='14' rx='2'/>"
        f"<line class='noise' x1='{low:.2f}%' x2='{high:.2f}%' y1='{middle}' y2='{middle}'/>{caps}"
        f"<circle class='dot' cx='{value:.2f}%' cy='{middle}' r='4'/>{diamond}"
    )
