"""The values of all pairs as a heat map, as SVG in the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmic.report.markup import shorten, text
from dpmic.results.pairwise import strongest

__all__ = ["MOST", "HeatMap", "heat_map", "strongest_part"]

MOST = 40
"""Rows and columns of a heat map that can still be read."""

ENOUGH = 10 * MOST**2
"""Entries looked at to find them."""

READABLE, ROOMY, CELL = 12, 38, 20
"""Up to so many columns cells have room for their numbers: pixels of such a cell, and of others."""

NAME, LETTER = 20, 6.9
"""Characters of a name, and pixels of a character."""

TURNS = (0.62, 0.8)
"""Where white letters give way to black on the dark page, and black to white on the light one."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A matrix of values from 0 to 1, NaN where there is none, with its names."""

    values: NDArray[np.float64]
    rows: tuple[str, ...]
    columns: tuple[str, ...]


def strongest_part(whole: HeatMap) -> HeatMap:
    """Return the part of a large matrix with the strongest pairs, in its own order."""
    shape = whole.values.shape
    if max(shape) <= MOST:
        return whole
    places = strongest(whole.values.ravel(), ENOUGH)
    rows, columns = np.unravel_index(places, shape)
    if whole.rows == whole.columns:
        rows = columns = np.stack([rows, columns], axis=1).ravel()
    kept = _first(rows, shape[0]), _first(columns, shape[1])
    names = tuple(whole.rows[i] for i in kept[0]), tuple(whole.columns[i] for i in kept[1])
    return HeatMap(whole.values[np.ix_(*kept)], *names)


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
    told = f"{m} rows and {width} columns. The table of pairs holds the numbers."
    return (
        f"<div class='scroll' role='region' tabindex='0' aria-label='{text(title)}'>"
        f"<svg class='heat' role='img' aria-labelledby='heat-title heat-told' {sides} "
        f"viewBox='0 0 {size}'><title id='heat-title'>{text(title)}</title>"
        f"<desc id='heat-told'>{text(told)}</desc>{cells}"
        f"{_names(matrix, left, top, cell)}</svg></div>{_legend()}"
    )


def _first(places: NDArray[np.intp], size: int) -> list[int]:
    """Return the first few different places, sorted; any few where nothing was scored."""
    return sorted(list(dict.fromkeys(places.tolist()))[:MOST]) or list(range(min(size, MOST)))


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
