"""The score of two variables and its best grid."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmic.errors import InputError
from dpmic.results import html
from dpmic.results.mine import MineStatistics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Grid", "Score"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid of k rows on y and l columns on x, by its inner cuts.

    A value lies in cell number (number of cuts <= value): on a cut, in the cell above it. Ties
    can leave fewer than k - 1 or l - 1 cuts; the cells without room are then empty.
    """

    k: int
    l: int
    x: tuple[float, ...]
    y: tuple[float, ...]

    def counts(self, x: ArrayLike, y: ArrayLike) -> NDArray[np.int64]:
        """Count points in the cells: rows follow y upwards, columns follow x to the right."""
        from dpmic.data import pair

        points = pair(x, y)
        row = np.searchsorted(self.y, points.y, side="right")
        column = np.searchsorted(self.x, points.x, side="right")
        table = np.zeros((self.k, self.l), np.int64)
        np.add.at(table, (row, column), 1)
        return table


@dataclass(frozen=True, eq=False)
class Score(MineStatistics):
    """The dependence between two variables: a characteristic matrix and what is read off it.

    ``float(score)`` is the MIC. A score holds no data, only the matrix, the best grid's cuts
    and the parameters that made it.

    Attributes
    ----------
    statistic : str
        ``"mice"``, ``"micr"`` or ``"mic"``.
    n : int
        Records used, after missing ones were dropped.
    B, c : float
        The most cells in a grid, and master parts for each wished part.
    master, ties : str
        How masters are sized and tied values treated.
    bounds : tuple or None
        The rectangle of ``micr``.
    grid : Grid
        The grid of the largest entry.
    matrix : ndarray
        Entry ``[k - 2, l - 2]`` is the best normalised information of k rows on y and l columns
        on x; NaN where k * l exceeds B. Read-only.
    """

    statistic: str
    n: int
    B: float
    c: float
    master: str
    ties: str
    bounds: tuple[tuple[float, float], tuple[float, float]] | None
    grid: Grid
    matrix: Floats

    def __post_init__(self) -> None:
        matrix = np.array(self.matrix, np.float64)
        matrix.setflags(write=False)
        object.__setattr__(self, "matrix", matrix)

    def plot(self, x: Any, y: Any, ax: Axes | None = None, *, data: Any = None) -> Axes:
        """Draw the points and the best grid; returns the matplotlib axes.

        The points are handed in because a score keeps none; records with a missing value are
        left out. Needs matplotlib (``pip install 'dpmic[plots]'``).
        """
        from dpmic.data import pair
        from dpmic.plots.scores import scatter

        points = pair(x, y, data=data, missing="drop")
        if points.x.size != self.n:
            raise InputError(
                f"{points.x.size} points",
                f"this score is of {self.n} records",
                "pass the columns that were scored",
            )
        return scatter(self, points, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists that ``json.dumps`` takes and ``from_dict`` reads."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        rows = [row[~np.isnan(row)].tolist() for row in self.matrix]
        c = "inf" if math.isinf(self.c) else self.c  # JSON has no infinity
        return {**fields, "c": c, "grid": asdict(self.grid), "matrix": rows}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Score:
        """Rebuild a score from ``to_dict`` or from parsed JSON."""
        try:
            rows, grid, bounds = fields["matrix"], fields["grid"], fields["bounds"]
            matrix = np.full((len(rows), len(rows)), np.nan)
            for i, row in enumerate(rows):
                matrix[i, : len(row)] = row
            rebuilt = {
                "c": float(fields["c"]),
                "bounds": None if bounds is None else (tuple(bounds[0]), tuple(bounds[1])),
                "grid": Grid(grid["k"], grid["l"], tuple(grid["x"]), tuple(grid["y"])),
                "matrix": matrix,
            }
            score = cls(**{**fields, **rebuilt})
            score.mic  # noqa: B018 - an empty matrix has none
        except (IndexError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                "this score", f"it is not complete ({error})", "pass what to_dict returned"
            ) from None
        return score

    def to_json(self) -> str:
        """Return the score as one line of JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Score:
        """Rebuild a score from ``to_json``."""
        try:
            fields = json.loads(text)
        except ValueError as error:
            raise InputError("this text", f"it is not JSON ({error})", "pass to_json's") from None
        return cls.from_dict(fields)

    def __float__(self) -> float:
        return self.mic

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Score) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.statistic, self.n, self.B, self.grid, self.matrix.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        # Through __init__, since an unpickled array is writeable again.
        return type(self), tuple(getattr(self, name) for name in self.__dataclass_fields__)

    def __repr__(self) -> str:
        return (
            f"Score({self.statistic}: mic={self.mic:.6g}, n={self.n}, B={self.B:.6g}, "
            f"c={self.c:g}, grid={self.grid.k}x{self.grid.l})"
        )

    def _repr_html_(self) -> str:
        rows = {
            "MIC": f"{self.mic:.4f}",
            "TIC, normalised": f"{self.tic(normalised=True):.4f}",
            "MAS": f"{self.mas:.4f}",
            "MEV": f"{self.mev:.4f}",
            "MCN": f"{self.mcn():.4f}",
            "best grid": f"{self.grid.k} rows, {self.grid.l} columns",
            "records": f"{self.n}",
            "computed with": f"{self.statistic}, B = {self.B:.6g}, c = {self.c:g}, "
            f"master {self.master}, ties {self.ties}",
        }
        return html.table(rows)
