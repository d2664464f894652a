"""The paper's first figure: one data set, a mass and a range equipartition, and their counts."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from dpmic.statistics.grids import Axis, MassAxis, RangeAxis, Step, range_cuts
from dpmic.statistics.maps import Map
from dpmic.statistics.records import Records

POINTS = (
    (0.06, 0.15),
    (0.12, 0.55),
    (0.18, 0.25),
    (0.23, 0.80),
    (0.30, 0.45),
    (0.42, 0.90),
    (0.62, 0.60),
    (0.88, 0.75),
)
"""Eight points, crowded on the left, so that parts of equal mass and of equal width differ.

They are not the paper's, which prints its figure as an image and does not list its points.
"""

UNIT = (0.0, 1.0)
COLUMNS, ROWS = 4, 3


class GridFigure(TypedDict):
    """The data of the figure; the rows of a matrix go from top to bottom, as they are drawn."""

    points: list[tuple[float, float]]
    mass_cuts: list[float]
    range_cuts: list[float]
    row_cuts: list[float]
    mass_counts: list[list[int]]
    range_counts: list[list[int]]


def grid_figure() -> GridFigure:
    """Compute the cuts and the count matrices of the figure.

    Both grids have the same rows and four columns: of equal mass in one, of equal width in the
    other. The last matrix is the second one divided by the number of points.

    Examples
    --------
    >>> figure = grid_figure()
    >>> figure["mass_counts"]
    [[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 0]]
    >>> figure["range_counts"]
    [[1, 1, 0, 1], [1, 1, 1, 0], [2, 0, 0, 0]]
    """
    x, y = np.array(POINTS).T
    mass = MassAxis.grouped(x)
    by_range = _drawn(RangeAxis.of(x, Map(*UNIT), frozenset({COLUMNS})), y)
    return {
        "points": list(POINTS),
        "mass_cuts": mass.cuts(mass.columns(COLUMNS)).tolist(),
        "range_cuts": range_cuts(UNIT, COLUMNS).tolist(),
        "row_cuts": range_cuts(UNIT, ROWS).tolist(),
        "mass_counts": _drawn(mass, y).tolist(),
        "range_counts": by_range.tolist(),
    }


def _drawn(columns: Axis, y: NDArray[np.float64]) -> NDArray[np.int32]:
    """Count the points on a grid, with rows from top to bottom."""
    rows = RangeAxis.of(y, Map(*UNIT), frozenset({ROWS}))
    counted = Records(columns, rows).count(Step(COLUMNS, ROWS, ROWS))
    return counted.table.T[::-1]
