"""The values of all pairs, as a heat map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from dpmic._format import format_ceil
from dpmic.plots.axes import literal, new_axes
from dpmic.plots.screenings import bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dpmic.results import Pairwise, PairwiseRelease

__all__ = ["matrix", "scores"]

READABLE = 12
"""Up to so many columns, cells have room for their numbers."""

CELL, ROOM, PITCH, LARGEST = 0.42, 0.34, 0.2, 12.0
"""Inches of a cell, of one for a number, from name to name, and of all cells at most."""

STATISTICS = {"mice": "MICe", "micr": "MICr", "mic": "MIC"}


def matrix(published: PairwiseRelease, ax: Axes | None) -> Axes:
    """Draw a heat map of all pairs, or bars for the pairs of one column."""
    cost = f"epsilon = {format_ceil(published.epsilon)}"
    if published.delta:
        cost += f", delta = {format_ceil(published.delta)}"
    if published.target is not None:
        rows = zip(published.pairs, published.values, published.interval(0.95), strict=True)
        pairs, values, ends = zip(*sorted(rows, key=lambda row: -row[1]), strict=True)
        ax = bars([literal(y) for _, y in pairs], values, ends, ax)
        ax.set_title(f"{literal(published.target)} with others, {cost}")
        return ax
    ax = _heat_map(published.matrix, published.names, published.names, "MIC, with noise", ax)
    within = f"95% of the noise lies within {published.half_width:.2g}"
    ax.set_title(f"{len(published.values)} pairs, {cost}\n{within}")
    return ax


def scores(result: Pairwise, ax: Axes | None) -> Axes:
    """Draw a heat map of all pairs of one table, or of two."""
    others = result.names if result.others is None else result.others
    label = STATISTICS.get(result.statistic, result.statistic)
    ax = _heat_map(result.matrix, result.names, others, label, ax)
    ax.set_title(f"{result.mic.size} pairs, n = {result.n}")
    return ax


def _heat_map(
    values: NDArray[np.float64],
    rows: Sequence[str],
    columns: Sequence[str],
    label: str,
    ax: Axes | None,
) -> Axes:
    """Draw a matrix of values from 0 to 1, with gray for what is not there."""
    square = rows == columns
    if ax is None:
        ax = new_axes()
        width, height = (min(CELL * len(names), LARGEST) + 2.4 for names in (columns, rows))
        least = 4.8 if square else 3.2
        figure = cast("Figure", ax.get_figure())
        figure.set_size_inches(max(width, 4.8) + 1, max(height, least))
        figure.set_layout_engine("constrained")
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
    return list(places), [literal(names[place]) for place in places]


def _write_numbers(values: NDArray[np.float64], ax: Axes) -> None:
    """Write each value into its cell."""
    for row, column in np.argwhere(~np.isnan(values)).tolist():
        value = values[row, column]
        colour = "white" if value > 0.6 else "black"
        ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour, size=8)
