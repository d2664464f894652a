"""The drop-in's functions, in the module where scripts import them from ``minepy.mine``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmic import _validate
from dpmic._validate import MAX_B, MAX_MASTER, Limits
from dpmic.data import LEAST_RECORDS
from dpmic.errors import InputError, ParameterError, safe_repr
from dpmic.results import MineStatistics
from dpmic.statistics.grids import steps
from dpmic.statistics.records import RankedAxes
from dpmic.statistics.search import AS_ONE, clumped_entries

__all__ = ["MINE", "cstats", "pstats"]

Floats = NDArray[np.float64]
Estimator = Literal["mic_approx", "mic_e"]

NOT_A_TIME = -(2.0**63)
"""What numpy converts a missing date to."""

AT_ONCE = 2**18
"""Matrix entries that are searched in one call: 4 MB, and about a second."""

CALLER = 4
"""The ``stacklevel`` of warnings: all are raised two calls below the user's call."""


class InputTypeError(InputError, TypeError):
    """The data have a type that cannot become float64; minepy raises a TypeError."""


class ParameterTypeError(ParameterError, TypeError):
    """An option is not a number; minepy raises a TypeError."""


class EstimatorError(ParameterError, KeyError):
    """There is no such estimator; minepy raises a KeyError."""


@dataclass(frozen=True, eq=False)
class _Matrix(MineStatistics):
    """A matrix, and its summaries."""

    matrix: Floats


class MINE:
    """Maximal Information-based Nonparametric Exploration.

    Parameters
    ----------
    alpha : float
        Up to 1, an exponent: B = max(n ** alpha, 4). From 4 on, a number of cells:
        B = min(alpha, n); ``inf`` means n.
    c : float
        The clump factor, above 0: at most c * floor(B / l) clumps for l fixed parts. ``inf``
        merges none.
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
        self._alpha = _real(alpha, "alpha")
        if not (0 < self._alpha <= 1 or self._alpha >= 4):
            reason = "alpha must be an exponent in (0, 1] or a number of cells >= 4"
            raise ParameterError(f"alpha = {alpha!r}", reason, "pass alpha=0.6, the usual choice")
        self._c = _real(c, "c")
        if self._c <= 0:
            raise ParameterError(f"c = {c!r}", "c must be above 0", "pass c=15, the usual choice")
        try:
            self._est = _validate.choice(est, "est", Estimator)
        except ParameterError as error:
            raise EstimatorError(error.value, error.reason, error.remedy) from None
        self._score: _Matrix | None = None

    def compute_score(self, x: ArrayLike, y: ArrayLike) -> None:
        """Compute the (equi)characteristic matrix of two arrays of the same length."""
        (matrices,) = self._matrices(_pair(x, y), AS_ONE)
        self._score = _Matrix(matrices[0])

    def computed(self) -> bool:
        """Return whether a score was computed."""
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
        return self._computed().mcn(min(_real(eps, "eps"), 1.0))  # above 1 any grid qualifies

    def mcn_general(self) -> float:
        """Return the Minimum Cell Number with eps = 1 - MIC."""
        return self._computed().mcn_general()

    def gmic(self, p: float = -1) -> float:
        """Return the Generalised Maximal Information Coefficient."""
        return self._computed().gmic(_real(p, "p"))

    def tic(self, norm: bool = False) -> float:
        """Return the Total Information Coefficient; with ``norm``, divided by the entries."""
        return self._computed().tic(normalised=norm)

    def get_score(self) -> list[Floats]:
        """Return the matrix as a list of rows.

        ``M[i][j]`` is for i + 2 parts of y and j + 2 parts of x. That is what minepy returns,
        although its documentation says the opposite.
        """
        return [row[~np.isnan(row)] for row in self._computed().matrix]

    def _computed(self) -> _Matrix:
        if self._score is None:
            raise InputError("MINE", "no score was computed", "call compute_score(x, y) first")
        return self._score

    def _matrices(self, table: Floats, pairs: NDArray[np.int64]) -> Iterator[Floats]:
        """Search pairs of rows of a table with minepy's masters and limits, some at a time."""
        if not len(pairs):
            return iter(())
        approx = self._est == "mic_approx"
        plan = steps(self._limits(table.shape[1]), more_rows=approx)
        size, axes = max(AT_ONCE // len(plan) ** 2, 1), RankedAxes.ranked(table)
        parts = (pairs[first : first + size] for first in range(0, len(pairs), size))
        found = (clumped_entries(axes, part, plan, occupied=True) for part in parts)
        # On the diagonal minepy keeps the last value found, that with x fixed.
        return (
            np.fmax(*own) if approx else np.where(np.isnan(own[0]), own[1], own[0]) for own in found
        )

    def _limits(self, n: int) -> Limits:
        """Return the size of the search of n samples; there are never more than n clumps."""
        B = min(self._alpha, n) if self._alpha >= 4 else max(n**self._alpha, 4.0)
        c = min(self._c, n)
        if n == 0:
            raise InputError("n = 0", "there is nothing to score", "pass at least 4 samples")
        if B < 4:
            reason = f"B = {B:g} cells, and the smallest grid has 4"
            raise InputError(self._given(n), reason, "pass alpha=0.6, or at least 4 samples")
        if B > MAX_B or min(c * B / 2, n) > MAX_MASTER:
            reason = f"a search over more than {MAX_B} cells or {MAX_MASTER} clumps takes hours"
            remedy = "pass a smaller alpha" if B > MAX_B else "pass a smaller alpha or c"
            raise ParameterError(self._given(n), f"B = {B:.6g}, and {reason}", remedy)
        if n < LEAST_RECORDS:
            text = f"n = {n}: a score of fewer than {LEAST_RECORDS} samples is meaningless"
            warnings.warn(text, RuntimeWarning, stacklevel=CALLER)
        return Limits(B, c, "minepy")

    def _given(self, n: int) -> str:
        return f"alpha = {self._alpha:g} and c = {self._c:g} with n = {n}"


def pstats(
    X: ArrayLike, alpha: float = 0.6, c: float = 15, est: Estimator = "mic_approx"
) -> tuple[Floats, Floats]:
    """Return MIC and normalised TIC of every pair of rows of X, in condensed form.

    The pair (i, j), i < j, of m rows is at m * i - i * (i + 1) / 2 - i - 1 + j.
    """
    mine, table = MINE(alpha, c, est), _table(X, "X")
    pairs = np.stack(np.triu_indices(len(table), 1), axis=1)
    return _mic_and_tic(mine._matrices(table, pairs))


def cstats(
    X: ArrayLike, Y: ArrayLike, alpha: float = 0.6, c: float = 15, est: Estimator = "mic_approx"
) -> tuple[Floats, Floats]:
    """Return MIC and normalised TIC of each row of X with each row of Y, as matrices."""
    mine, left, right = MINE(alpha, c, est), _table(X, "X"), _table(Y, "Y")
    if left.shape[1] != right.shape[1]:
        raise InputError(
            "X, Y",
            f"shape mismatch: X has {left.shape[1]} samples and Y has {right.shape[1]}",
            "pass one column per sample, with the same samples in both",
        )
    shape = len(left), len(right)
    i, j = np.indices(shape).reshape(2, -1)
    pairs = np.stack((i, j + len(left)), axis=1)
    mic, tic = _mic_and_tic(mine._matrices(np.concatenate((left, right)), pairs))
    return mic.reshape(shape), tic.reshape(shape)


def _pair(x: Any, y: Any) -> Floats:
    """Read two variables into the rows of a table."""
    a, b = _floats(x, "x", ndim=1), _floats(y, "y", ndim=1)
    if a.size != b.size:
        raise InputError(
            "x, y",
            f"shape mismatch: x has {a.size} values and y has {b.size}",
            "pass arrays of the same length",
        )
    return np.array((a, b))


def _table(table: Any, name: str) -> Floats:
    """Read a table with one row per variable into a new array."""
    # Iterating over a frame gives its columns, but here its rows are the variables.
    rows = table if isinstance(table, list | tuple | np.ndarray) else np.asarray(table)
    return np.array(_floats(rows, name, ndim=2), order="C")


def _nullable(values: Any) -> bool:
    """Return whether values are pandas' nullable numbers."""
    dtype: Any = getattr(values, "dtype", None)
    return hasattr(dtype, "na_value") and dtype.kind in ("i", "u", "f", "b")


def _floats(values: Any, name: str, *, ndim: int) -> Floats:
    """Convert data as minepy does; warn if the result is not what the user meant."""
    if type(values) is np.ndarray and values.dtype == np.float64 and values.ndim == ndim:
        given: Floats = values
        if not np.count_nonzero(np.isnan(given)):  # otherwise look for missing values below
            return given
    try:
        # Older versions of pandas convert nullable numbers with missing values only like this.
        plain = values.to_numpy(np.float64, na_value=np.nan) if _nullable(values) else values
        floats = np.ascontiguousarray(plain, np.float64)
    except TypeError as error:
        remedy = f"drop missing values, and pass dates as np.array({name}, 'datetime64[us]')"
        raise InputTypeError(name, f"it cannot become float64 ({error})", remedy) from None
    except (ValueError, OverflowError) as error:
        remedy = "pass numbers, codes instead of text, and rows of equal length"
        raise InputError(name, f"it cannot become float64 ({error})", remedy) from None
    if floats.ndim != ndim:
        raise _wrong_shape(name, floats.shape, ndim)
    _refuse_missing(values, floats, name)
    for text in _doubts(values, floats):
        warnings.warn(f"{name}: {text}", RuntimeWarning, stacklevel=CALLER)
    return floats


def _refuse_missing(values: Any, floats: Floats, name: str) -> None:
    """Refuse missing values; the remedy shows the code that selects the others."""
    missing: Any = np.isnan(floats)
    present = f"~np.isnan(np.asarray({name}, float))"
    if _nullable(values):
        present = f"~np.asarray({name}.isna())"
    elif np.any(floats == NOT_A_TIME) and _dates(values):
        missing, present = floats == NOT_A_TIME, f"np.asarray({name}, float) > -2.0**63"
    if not missing.any():
        return
    if floats.ndim == 2:
        missing, what = missing.any(axis=0), "samples have missing values"
        remedy = f"drop them first: keep = ({present}).all(axis=0)"
    else:
        what, remedy = "values are missing", f"drop them from x and y first: keep = {present}"
    counted = f"{name}: {int(missing.sum())} of {missing.size} {what}"
    raise InputError(counted, "a missing value has no rank", remedy)


def _dates(values: Any) -> bool:
    """Return whether values are dates; numpy holds those with a time zone as objects."""
    kinds = np.asarray(values).dtype.kind, getattr(getattr(values, "dtype", None), "kind", None)
    return not {"m", "M"}.isdisjoint(kinds)


def _wrong_shape(name: str, shape: tuple[int, ...], ndim: int) -> InputError:
    if ndim == 2:
        reason = "it must have two dimensions: one row per variable, one column per sample"
        remedy = f"pass np.reshape({name}, (1, -1)) for a single variable"
    else:
        reason = "it must have one dimension, with one value per sample"
        remedy = f"pass np.ravel({name})" if max(shape) == math.prod(shape) else "pass one variable"
    return InputError(f"{name} has shape {shape}", reason, remedy)


def _doubts(values: Any, floats: Floats) -> Iterator[str]:
    """Yield reasons why the floats may not be what the user meant."""
    if np.ma.is_masked(values):
        yield "as in minepy, masked values are scored; drop those samples first"
    rows = zip(values, floats, strict=True) if floats.ndim == 2 else [(values, floats)]
    if any(np.any(np.abs(row) > 2**53) and _merged(given, row) for given, row in rows):
        yield "as in minepy, numbers beyond 2**53 are rounded, and some become ties; pass ranks"


def _merged(values: Any, floats: Floats) -> bool:
    """Return whether distinct values become equal as float64."""
    return floats.size > 1 and len(set(values)) > np.unique(floats).size


def _mic_and_tic(matrices: Iterator[Floats]) -> tuple[Floats, Floats]:
    """Return MIC and normalised TIC of each matrix."""
    flat = [own.reshape(len(own), -1) for own in matrices] or [np.empty((0, 1))]
    mic = np.concatenate([np.fmax.reduce(own, axis=1) for own in flat])
    tic = np.concatenate([np.nanmean(own, axis=1) for own in flat])
    return mic, tic


def _real(value: Any, name: str) -> float:
    """Return a number."""
    try:
        number = math.fsum([value])  # float() would also accept text
    except TypeError:
        reason, remedy = f"{name} must be a real number", f"pass a number for {name}"
        raise ParameterTypeError(f"{name} = {safe_repr(value)}", reason, remedy) from None
    if math.isnan(number):
        raise ParameterError(f"{name} = nan", "it is not a number", f"pass a number for {name}")
    return number
