"""The score of two variables: a characteristic matrix, what is read off it, and its best grid."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmic import _validate
from dpmic._validate import Categories, Domain
from dpmic.errors import InputError, ParameterError
from dpmic.parameters import chance
from dpmic.parameters.chance import Unrelated
from dpmic.results._base import INFINITE, MATRIX, Fact, Form, Result, as_metadata, flatten, plain
from dpmic.results.relation import Relation
from dpmic.statistics import summaries

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Ends = tuple[float, float] | tuple[str, ...]


class MineStatistics:
    """For results that have a ``matrix``."""

    if TYPE_CHECKING:  # a field, or a property

        @property
        def matrix(self) -> Floats:
            """The characteristic matrix."""

    @property
    def mic(self) -> float:
        """Maximal Information Coefficient: the largest entry, from 0 to 1."""
        return summaries.mic(self.matrix)

    @property
    def axes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers of rows k and of columns l along the matrix."""
        parts = np.arange(2, self.matrix.shape[0] + 2)
        return parts, parts

    def tic(self, *, normalised: bool = False) -> float:
        """Total Information Coefficient: the sum of the entries, or their mean."""
        return summaries.tic(self.matrix, normalised=normalised)

    @property
    def mas(self) -> float:
        """Maximum Asymmetry Score: how much it matters which variable has more parts.

        NaN where a grid has no counterpart, as with a nominal column.
        """
        return summaries.mas(self.matrix)

    @property
    def mev(self) -> float:
        """Maximum Edge Value: the largest entry with two rows or two columns; NaN for none."""
        return summaries.mev(self.matrix)

    def mcn(self, eps: float = 0.0) -> float:
        """Minimum Cell Number: log2 of the fewest cells that reach (1 - eps) MIC.

        The comparison forgives 1e-4, as minepy's does.
        """
        share = _validate.real(eps, "eps")
        if not 0 <= share <= 1:
            raise ParameterError(f"eps = {eps!r}", "eps is a share of MIC", "pass 0 <= eps <= 1")
        return summaries.mcn(self.matrix, share)

    def mcn_general(self) -> float:
        """Minimum Cell Number at eps = 1 - MIC: fewer cells suffice for a noisy relation."""
        return self.mcn(1 - self.mic)

    def gmic(self, p: float = -1.0) -> float:
        """Generalised mean, of order p, of the best score within each number of cells.

        Each entry is replaced by the largest one with at most as many cells (Luedtke and Tran
        2013); p = 0 is the geometric mean and p = inf the MIC.
        """
        return summaries.gmic(self.matrix, _validate.real(p, "p"))


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid of k rows on y and l columns on x, by its inner cuts or its categories.

    A number lies in cell number (number of cuts <= value): on a cut, in the cell above it. Ties
    can leave fewer than k - 1 or l - 1 cuts; the cells without room are then empty. A nominal
    column has labels instead of cuts, one for each cell.
    """

    k: int
    l: int
    x: tuple[float, ...] | tuple[str, ...]
    y: tuple[float, ...] | tuple[str, ...]

    def counts(self, x: ArrayLike, y: ArrayLike) -> NDArray[np.int64]:
        """Count points in the cells: rows follow increasing y, columns increasing x.

        Values of a nominal column that are none of its categories are left out.
        """
        from dpmic.data import pair

        points = pair(x, y, missing="drop", domains=(_domain(self.x), _domain(self.y)))
        table = np.zeros((self.k, self.l), np.int64)
        np.add.at(table, (_cell(self.y, points.y), _cell(self.x, points.x)), 1)
        return table

    def lines(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return where a figure draws the cuts: half-way between the positions of categories."""
        return _lines(self.x), _lines(self.y)


def is_nominal(parts: tuple[float, ...] | tuple[str, ...]) -> TypeGuard[tuple[str, ...]]:
    """Return whether an axis of a grid has labels in place of cuts."""
    return bool(parts) and isinstance(parts[0], str)


def _lines(parts: tuple[float, ...] | tuple[str, ...]) -> tuple[float, ...]:
    """Return where an axis is cut in a figure."""
    between = range(len(parts) - 1)
    return tuple(i + 0.5 for i in between) if is_nominal(parts) else tuple(map(float, parts))


def _domain(parts: tuple[float, ...] | tuple[str, ...]) -> Domain:
    """Return what a column can be, by the axis of its grid."""
    return Categories(parts) if is_nominal(parts) else (-math.inf, math.inf)


def _cell(parts: tuple[float, ...] | tuple[str, ...], values: Floats) -> NDArray[np.intp]:
    """Return the cell of each value on one axis; a nominal one has positions already."""
    if is_nominal(parts):
        return values.astype(np.intp)
    return np.searchsorted(np.array(parts, np.float64), values, side="right")


def _grid(fields: Any) -> Grid:
    return Grid(fields["k"], fields["l"], tuple(fields["x"]), tuple(fields["y"]))


GRID = as_metadata(Form(lambda grid: grid, plain, _grid))


@dataclass(frozen=True, eq=False, repr=False)
class Score(MineStatistics, Result):
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
        The most cells in a grid, and master parts for each part.
    master, ties : str
        How masters are sized and tied values treated.
    bounds : tuple or None
        The rectangle of ``micr``; of a nominal column its categories.
    grid : Grid
        The grid of the largest entry.
    matrix : ndarray
        Entry ``[k - 2, l - 2]`` is the best normalised information of k rows on y and l columns
        on x; NaN where k * l exceeds B, and where a nominal column has other than k or l
        categories. Read-only.
    """

    statistic: str
    n: int
    B: float
    c: float = field(metadata=INFINITE)
    master: str
    ties: str
    bounds: tuple[Ends, Ends] | None
    grid: Grid = field(metadata=GRID)
    matrix: Floats = field(metadata=MATRIX)

    def plot(self, x: Any, y: Any, ax: Axes | None = None, *, data: Any = None) -> Axes:
        """Draw the points and the best grid; returns the matplotlib axes.

        The points are handed in because a score keeps none; records with a missing value are
        left out. Needs matplotlib (``pip install 'dpmic[plots]'``).
        """
        from dpmic.data import pair
        from dpmic.plots import scatter

        known = (
            Categories(parts) if is_nominal(parts) else None for parts in (self.grid.x, self.grid.y)
        )
        points = pair(x, y, data=data, missing="drop", domains=(next(known), next(known)))
        if points.x.size != self.n:
            raise InputError(
                f"{points.x.size} points",
                f"this score is of {self.n} records",
                "pass the columns that were scored",
            )
        return scatter(self, points, ax)

    @property
    def unrelated(self) -> Unrelated | None:
        """What unrelated columns of numbers score at this n; None where it is not known."""
        if is_nominal(self.grid.x) or is_nominal(self.grid.y) or self.master == "paper":
            return None
        return chance.unrelated(self.statistic, self.n, B=self.B, c=self.c)

    def headline(self, x: str = "x", y: str = "y") -> str:
        """Return the score of columns that are called x and y in a sentence."""
        return Relation((x, y), self.mic, unrelated=self.unrelated).sentence

    def facts(self, x: str = "x", y: str = "y") -> list[Fact]:
        """Return the MINE statistics and the best grid, of columns that are called x and y."""
        total = self.tic(normalised=True)
        return [
            Fact("MIC", f"{self.mic:.4f}", "strength, from 0 to 1"),
            Fact("TIC, normalised", f"{total:.4f}", "mean over all grids"),
            Fact("MAS", _decimals(self.mas), "how far from monotone"),
            Fact("MEV", _decimals(self.mev), "how close to a function"),
            Fact("MCN", f"{self.mcn():.4f}", "log2 of the cells needed"),
            Fact("grid", f"{self.grid.k} x {self.grid.l}", f"rows on {y} x columns on {x}"),
            Fact("n", f"{self.n:,}", "records used"),
        ]

    def provenance(self) -> dict[str, str]:
        """Return how it was computed."""
        fixed = {"B": self.B, "c": self.c, "master": self.master, "ties": self.ties}
        if self.bounds is not None:
            fixed |= dict(zip(("x bounds", "y bounds"), self.bounds, strict=True))
        return {"statistic": self.statistic, "records (n)": f"{self.n:,}", **flatten(fixed)}

    def record(self) -> dict[str, Any]:
        """Return the MINE statistics as one flat row."""
        return {
            "mic": self.mic,
            "tic": self.tic(normalised=True),
            "mas": None if math.isnan(self.mas) else self.mas,
            "mev": None if math.isnan(self.mev) else self.mev,
            "mcn": self.mcn(),
            "n": self.n,
            "statistic": self.statistic,
        }

    def _sound(self) -> bool:
        return self.mic >= 0  # an empty matrix has none, and raises

    def _summary(self) -> str:
        return (
            f"{self.statistic}: mic={self.mic:.6g}, n={self.n}, B={self.B:.6g}, "
            f"c={self.c:g}, grid={self.grid.k}x{self.grid.l}"
        )

    def __float__(self) -> float:
        return self.mic


def _decimals(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"


@dataclass(frozen=True, eq=False, repr=False)
class CappedScore(Result):
    """The dependence between two variables by capped information; ``float(score)`` is it.

    Attributes
    ----------
    n : int
        Records used, after missing ones were dropped.
    cap : float
        The most bits that one record can weigh.
    axes : str
        The scales on which axes were cut: ``"any"``, ``"linear"`` or ``"wide"``.
    bounds : tuple
        The rectangle on which grids were drawn; of a nominal column its categories.
    grid : Grid
        The best grid; two or three parts on one axis.
    mic : float
        From 0 to 1.
    """

    n: int
    cap: float
    axes: str
    bounds: tuple[Ends, Ends]
    grid: Grid = field(metadata=GRID)
    mic: float

    def facts(self, x: str = "x", y: str = "y") -> list[Fact]:
        """Return the score and its grid, of columns that are called x and y."""
        return [
            Fact("MIC, capped", f"{self.mic:.4f}", "strength, from 0 to 1"),
            Fact("grid", f"{self.grid.k} x {self.grid.l}", f"rows on {y} x columns on {x}"),
            Fact("n", f"{self.n:,}", "records used"),
        ]

    def provenance(self) -> dict[str, str]:
        """Return how it was computed."""
        fixed = {"cap": self.cap, "axes": self.axes}
        fixed |= dict(zip(("x bounds", "y bounds"), self.bounds, strict=True))
        return {"statistic": "micc", "records (n)": f"{self.n:,}", **flatten(fixed)}

    def record(self) -> dict[str, Any]:
        """Return the score as one flat row."""
        return {"mic": self.mic, "n": self.n, "statistic": "micc", "cap": self.cap}

    def _sound(self) -> bool:
        return 0 <= self.mic <= 1

    def _summary(self) -> str:
        return f"micc: mic={self.mic:.6g}, n={self.n}, cap={self.cap:g}, axes={self.axes!r}"

    def __float__(self) -> float:
        return self.mic
