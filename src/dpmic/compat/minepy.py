"""A drop-in for minepy 1.2: the same names, defaults, return shapes and numbers.

Change ``from minepy import MINE`` to ``from dpmic.compat.minepy import MINE``. What differs, on
purpose: bad input (NaN, fewer than 4 records, unequal lengths) is an error that says so where
minepy returned NaN or wrote beyond its memory; ``gmic(0)`` is the geometric mean; an unknown
``est`` is a ``ValueError``, not a ``KeyError``.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmic import _validate, frames
from dpmic._validate import Limits
from dpmic.counts.memory import ClumpedRecords
from dpmic.errors import InputError, ParameterError
from dpmic.frames import LEAST_RECORDS
from dpmic.grids import MassAxis, steps
from dpmic.results import Score
from dpmic.statistics.characteristic import Search

__all__ = ["MINE", "cstats", "pstats"]

Floats = NDArray[np.float64]
Estimator = Literal["mic_approx", "mic_e"]


class MINE:
    """Maximal Information-based Nonparametric Exploration.

    Parameters
    ----------
    alpha : float
        In (0, 1]: B = max(n ** alpha, 4). At least 4: B = min(alpha, n).
    c : float
        At most c * floor(B / l) clumps for l fixed parts; above 0.
    est : {"mic_approx", "mic_e"}
        The characteristic matrix of 2011 or the equicharacteristic matrix of 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from dpmic.compat.minepy import MINE
    >>> x = np.linspace(0, 1, 1000)
    >>> mine = MINE(alpha=0.6, c=15, est="mic_approx")
    >>> mine.compute_score(x, np.sin(10 * np.pi * x) + x)
    >>> round(mine.mic(), 6), round(mine.mas(), 6), round(mine.tic(), 4)
    (1.0, 0.726072, 67.6612)
    """

    def __init__(self, alpha: float = 0.6, c: float = 15, est: Estimator = "mic_approx") -> None:
        self._alpha = _alpha(alpha)
        self._c = _validate.real(c, "c")
        if self._c <= 0:
            raise ParameterError(f"c = {c!r}", "c must be above 0", "pass c=15, the usual choice")
        self._est = _validate.choice(est, "est", Estimator)
        self._score: Score | None = None

    def compute_score(self, x: ArrayLike, y: ArrayLike) -> None:
        """Compute the (equi)characteristic matrix of two arrays of the same length."""
        a, b = _column(x, "x"), _column(y, "y")
        if a.size != b.size:
            raise InputError(
                f"x has {a.size} values and y has {b.size}",
                "each record has one of both",
                "pass arrays of the same length",
            )
        self._score = self._compute(_axis(a), _axis(b))

    def computed(self) -> bool:
        """Return whether there is a matrix."""
        return self._score is not None

    def mic(self) -> float:
        """Return the Maximal Information Coefficient."""
        return self._computed().mic

    def mas(self) -> float:
        """Return the Maximum Asymmetry Score."""
        return self._computed().mas

    def mev(self) -> float:
        """Return the Maximum Edge Value."""
        return self._computed().mev

    def mcn(self, eps: float = 0) -> float:
        """Return the Minimum Cell Number, log2 of the cells needed for (1 - eps) MIC."""
        return self._computed().mcn(eps)

    def mcn_general(self) -> float:
        """Return the Minimum Cell Number with eps = 1 - MIC."""
        return self._computed().mcn_general()

    def gmic(self, p: float = -1) -> float:
        """Return the Generalised Maximal Information Coefficient."""
        return self._computed().gmic(p)

    def tic(self, norm: bool = False) -> float:
        """Return the Total Information Coefficient, divided by the entries with ``norm``."""
        return self._computed().tic(normalised=norm)

    def get_score(self) -> list[Floats]:
        """Return the matrix as a list of rows.

        ``M[i][j]`` is for i + 2 parts of y and j + 2 parts of x: that is what minepy returns,
        although its documentation has it the other way round.
        """
        return [row[~np.isnan(row)] for row in self._computed().matrix]

    def _computed(self) -> Score:
        if self._score is None:
            raise InputError(
                "MINE", "no score has been computed yet", "call compute_score(x, y) first"
            )
        return self._score

    def _compute(self, x: MassAxis, y: MassAxis) -> Score:
        """Search two axes with minepy's masters, diagonal and limits."""
        n = x.atoms.size
        B = min(self._alpha, n) if self._alpha >= 4 else max(n**self._alpha, 4.0)
        limits = Limits(_validate.cells(n, None, B), self._c, "minepy")
        _validate.refuse_large_master(limits, atoms=n)
        approx = self._est == "mic_approx"
        kind = _Search if approx else _EquiSearch
        plan = steps(limits, more_rows=approx)
        matrix, grid = kind(ClumpedRecords(x, y), ClumpedRecords(y, x), plan).run()
        statistic = "mic" if approx else "mice"
        return Score(
            statistic=statistic,
            n=n,
            B=limits.B,
            c=limits.c,
            master=limits.master,
            ties="group",
            bounds=None,
            grid=grid,
            matrix=matrix,
        )


class _Search(Search):
    """The search for minepy's characteristic matrix."""

    def parts(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return min(k, columns): minepy does not count the columns that ties leave empty."""
        possible = np.minimum(np.arange(2, columns.size + 2)[:, None], columns)
        return np.maximum(possible, 2)  # a single column has no information to normalise


class _EquiSearch(_Search):
    """The search for minepy's equicharacteristic matrix."""

    def merge(self, by_x: Floats, by_y: Floats) -> Floats:
        """Keep, on the diagonal, what minepy finds last: the value with x fixed."""
        return np.where(np.isnan(by_x), by_y, by_x)


def pstats(
    X: ArrayLike, alpha: float = 0.6, c: float = 15, est: Estimator = "mic_approx"
) -> tuple[Floats, Floats]:
    """Return MIC and normalised TIC of every pair of rows of X, condensed.

    The pair (i, j), i < j, of m rows is at m * i - i * (i + 1) / 2 - i - 1 + j.
    """
    mine, axes = MINE(alpha, c, est), _axes(X, "X")
    if len(axes) < 2:
        raise InputError(f"X has {len(axes)} row", "pairs need two variables", "pass one a row")
    scores = [mine._compute(a, b) for i, a in enumerate(axes) for b in axes[i + 1 :]]
    return _mic_and_tic(scores)


def cstats(
    X: ArrayLike, Y: ArrayLike, alpha: float = 0.6, c: float = 15, est: Estimator = "mic_approx"
) -> tuple[Floats, Floats]:
    """Return MIC and normalised TIC of each row of X with each row of Y, as matrices."""
    mine, left, right = MINE(alpha, c, est), _axes(X, "X"), _axes(Y, "Y")
    if left[0].atoms.size != right[0].atoms.size:
        raise InputError(
            f"X has {left[0].atoms.size} samples and Y has {right[0].atoms.size}",
            "rows are variables and columns are the same samples in both",
            "transpose one of them, or pass the matching samples",
        )
    mic, tic = _mic_and_tic([mine._compute(a, b) for a in left for b in right])
    shape = len(left), len(right)
    return mic.reshape(shape), tic.reshape(shape)


def _axes(table: ArrayLike, name: str) -> list[MassAxis]:
    """Return each row of a two-dimensional table as an axis, ranked once."""
    rows = list(table) if isinstance(table, list | tuple) else table
    if isinstance(rows, np.ndarray) and rows.ndim != 2:
        raise InputError(
            f"{name} has shape {rows.shape}",
            "two dimensions are needed: a row for each variable, a column for each sample",
            f"pass {name}.reshape(1, -1) for a single variable",
        )
    if not isinstance(rows, list | np.ndarray):
        rows = np.asarray(rows)  # a frame: its rows are the variables, as in minepy
    if len(rows) == 0:
        raise InputError(f"{name} has no rows", "each row is a variable", "pass at least one")
    columns = [_column(row, f"{name}[{i}]") for i, row in enumerate(rows)]
    if len({column.size for column in columns}) > 1:
        raise InputError(f"rows of {name}", "their lengths differ", "pass a rectangular table")
    return [_axis(column) for column in columns]


def _column(values: Any, name: str) -> Floats:
    """Read one variable; what minepy scored as NaN or beyond its memory is refused."""
    column = frames.column(values, name)
    missing = int(np.isnan(column).sum())
    if missing:
        raise InputError(name, f"{missing} values are missing", "remove those samples or fill them")
    if column.size < LEAST_RECORDS:
        raise InputError(
            f"{name} has {column.size} values",
            f"a score needs at least {LEAST_RECORDS} records",
            "pass more data",
        )
    return column


def _axis(values: Floats) -> MassAxis:
    """Rank a column, for the equipartition of 2011."""
    return MassAxis.grouped(values, slack=0)


def _mic_and_tic(scores: list[Score]) -> tuple[Floats, Floats]:
    mic = np.array([score.mic for score in scores])
    return mic, np.array([score.tic(normalised=True) for score in scores])


def _alpha(alpha: float) -> float:
    value = _validate.real(alpha, "alpha")
    if not (0 < value <= 1 or value >= 4):
        raise ParameterError(
            f"alpha = {alpha!r}",
            "alpha is an exponent in (0, 1] or a number of cells >= 4",
            "pass alpha=0.6, the usual choice",
        )
    return value
