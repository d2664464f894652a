"""Score functions for scikit-learn's ``SelectKBest``, ``SelectFdr`` and their relatives.

They take arrays and return one score for each column of X, those called ``tic`` p-values too;
scikit-learn itself is not imported.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic import _kernels, _validate
from dpmic.all_pairs import significance
from dpmic.all_pairs.significance import (
    MASTER_FACTOR,
    MOST_CELLS,
    Null,
    PermutationPlan,
    Pools,
)
from dpmic.all_pairs.work import Side, Work
from dpmic.data import LEAST_RECORDS, Source, find_all, read_all
from dpmic.errors import InputError, ParameterError, safe_repr
from dpmic.results import Pairing
from dpmic.statistics.family import Method, refuse_large_unconstrained
from dpmic.statistics.grids import MassAxis
from dpmic.statistics.search import xlogx_table
from dpmic.statistics.significance import AT_ONCE, permuted

__all__ = ["mic_classif", "mic_regression", "tic_classif", "tic_regression"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Counts = NDArray[np.int64]
Generator = np.random.Generator | int | None
ROW = (list, tuple, np.ndarray)


def mic_regression(
    X: Any, y: Any, *, alpha: float = 0.6, B: float | None = None, c: float = 15
) -> Floats:
    """Score each column of X by its dependence with a number y: MICe, as :func:`dpmic.mice`.

    Parameters
    ----------
    X : array-like of shape (n, columns)
        A numpy array, a list of rows, or a pandas, polars or pyarrow table, of finite numbers,
        booleans and ordered categories.
    y : array-like of shape (n,) or (n, 1)
        Finite numbers, at least 4.
    alpha : float
        The exponent in B = max(n ** alpha, 4), in (0, 1].
    B : float, optional
        The most cells a grid may have, at least 4; overrides ``alpha``.
    c : float
        The master factor: how much finer the master is than the grid, at least 1.

    Returns
    -------
    numpy.ndarray of shape (columns,)
        Scores in [0, 1]; 0 where the column or y is constant.

    Examples
    --------
    >>> import numpy as np
    >>> from dpmic.feature_selection import mic_regression
    >>> X = np.random.default_rng(7).uniform(-1, 1, (500, 2))
    >>> mic_regression(X, X[:, 0] ** 2).round(2)
    array([0.98, 0.04])
    """
    names, columns, target = _numbers(X, y)
    one, other = Side(names, columns, (None,) * len(columns)), Side(("y",), (target,), (None,))
    return Work(Method("mice", alpha, B, c), one, other, Pairing(len(columns), 1)).scores()


def mic_classif(
    X: Any, y: Any, *, alpha: float = 0.6, B: float | None = None, c: float = 15
) -> Floats:
    """Score each column of X by its dependence with the class y.

    Every class is one fixed row; classes have no order. The column is cut into k parts that
    tell most about the class, out of a master of c times the largest k parts of equal mass. The
    score is the largest I(k) / log2 min(k, classes) over all k >= 2 with k * classes <= B,
    where I(k) is the mutual information in bits.

    Parameters
    ----------
    X : array-like of shape (n, columns)
        As for :func:`mic_regression`.
    y : array-like of shape (n,) or (n, 1)
        Class labels: text, integers, booleans or categories, of two classes or more, and
        of no more than half as many classes as records.
    alpha : float
        The exponent in B = max(n ** alpha, 2 * classes), in (0, 1].
    B : float, optional
        The most cells a grid may have, at least 2 * classes; overrides ``alpha``.
    c : float
        The master factor: how much finer the master is than the largest grid, at least 1.

    Returns
    -------
    numpy.ndarray of shape (columns,)
        Scores in [0, 1]; 0 where the column is constant. Classes of different sizes leave 1
        out of reach, for all columns alike.

    Examples
    --------
    >>> import numpy as np
    >>> from dpmic.feature_selection import mic_classif
    >>> X = np.random.default_rng(7).uniform(-1, 1, (500, 2))
    >>> mic_classif(X, np.where(abs(X[:, 0]) < 0.5, "inside", "outside")).round(2)
    array([1. , 0.14])
    """
    columns, codes, classes = _labelled(X, y)
    most = _most_parts(codes.size, classes, alpha=alpha, B=B)
    master = _master(codes.size, most, c)
    pairs = (ClassPair.of(values, codes, most, master) for values in columns)
    return np.array([np.clip(pair.scores().max(), 0.0, 1.0) for pair in pairs])


def tic_regression(
    X: Any, y: Any, *, permutations: int = 10_000, rng: Generator = None
) -> tuple[Floats, Floats]:
    """Test each column of X for independence of a number y, as :func:`dpmic.independence_test`.

    For ``SelectFpr``, ``SelectFdr`` and ``SelectFwe``, which need p-values. Columns with the same
    ties, so all without any, share their permutations.

    Parameters
    ----------
    X, y
        As for :func:`mic_regression`.
    permutations : int
        How many each column is compared with; no p-value is below 1 / (permutations + 1).
    rng : numpy.random.Generator or int, optional
        Source of the permutations; with an integer every fit gives the same.

    Returns
    -------
    scores, pvalues : numpy.ndarray of shape (columns,)
        TICe with B = 9 and c = 5, and how often chance gives as much: 0 and 1 where the column or
        y is constant.

    Examples
    --------
    >>> import numpy as np
    >>> from dpmic.feature_selection import tic_regression
    >>> X = np.random.default_rng(7).uniform(-1, 1, (500, 2))
    >>> scores, pvalues = tic_regression(X, X[:, 0] ** 2, permutations=999, rng=0)
    >>> pvalues.round(3)
    array([0.001, 0.474])
    """
    null = Null(PermutationPlan.of(permutations, rng, pooled=True))
    _, columns, target = _numbers(X, y)
    other = significance.refined(target)
    found = [null.compare(significance.refined(values), other, 0) for values in columns]
    scores, pvalues = np.transpose(found)
    return scores, pvalues


def tic_classif(
    X: Any, y: Any, *, permutations: int = 10_000, rng: Generator = None
) -> tuple[Floats, Floats]:
    """Test each column of X for independence of the class y.

    The statistic is the sum of I(k) / log2 min(k, classes) over all k of :func:`mic_classif`, with
    B = max(9, 2 * classes) and c = 5. It is compared with the same of random permutations.

    Parameters
    ----------
    X, y
        As for :func:`mic_classif`.
    permutations, rng
        As for :func:`tic_regression`.

    Returns
    -------
    scores, pvalues : numpy.ndarray of shape (columns,)
        The statistic, and how often chance gives as much: 0 and 1 where the column is constant.

    Examples
    --------
    >>> import numpy as np
    >>> from dpmic.feature_selection import tic_classif
    >>> X = np.random.default_rng(7).uniform(-1, 1, (500, 2))
    >>> y = abs(X[:, 0]) < 0.5
    >>> scores, pvalues = tic_classif(X, y, permutations=999, rng=0)
    >>> pvalues.round(3)
    array([0.001, 0.805])
    """
    pools = Pools(PermutationPlan.of(permutations, rng, pooled=True))
    columns, codes, classes = _labelled(X, y)
    most = max(MOST_CELLS // classes, 2)
    pairs = [ClassPair.of(values, codes, most, MASTER_FACTOR * most) for values in columns]
    scores = np.array([pair.scores().sum() for pair in pairs])
    each = zip(pairs, scores, strict=True)
    return scores, np.array([pools.pool(p.pattern, p.null).pvalue(score) for p, score in each])


@dataclass(frozen=True, eq=False)
class ClassPair:
    """The class of each record, and its part of a master that at most ``most`` parts are made of.

    Every class is a fixed row, without an order.
    """

    classes: Codes
    parts: Codes
    most: int

    @classmethod
    def of(cls, values: Floats, classes: Codes, most: int, master: float) -> ClassPair:
        """Cut a column into a master of at most so many parts of equal mass."""
        axis = MassAxis.grouped(values)
        parts = np.searchsorted(axis.master(master), axis.atoms, side="right") - 1
        return cls(classes, parts.astype(np.int32), most)

    def scores(self) -> Floats:
        """Return I(k) / log2 min(k, classes) for k = 2 up to the most, I(k) the largest in bits."""
        shape = tuple(size.size for size in self._margins)
        places = np.ravel_multi_index((self.classes, self.parts), shape)
        table = np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape)
        # Sums are taken class by class; in this order no names and no order of records matter.
        return self._bits(table[np.lexsort(table.T)]) / self._logs

    @property
    def pattern(self) -> bytes:
        """All that the null of the total depends on: how many records each class and part has."""
        return repr((self.most, *(size.tolist() for size in self._margins))).encode()

    def null(self, permutations: int, generator: np.random.Generator) -> Floats:
        """Return the sum of the scores of random permutations; the pattern decides the draws."""
        classes, parts = (
            np.repeat(np.arange(size.size, dtype=np.int32), size) for size in self._margins
        )
        most = max(AT_ONCE // (self._margins[0].size * self._margins[1].size), 1)
        drawn = permuted(classes, parts, permutations, generator, most)
        bits = np.array([self._bits(table) for tables in drawn for table in tables])
        totals: Floats = (bits / self._logs).sum(axis=1)
        return totals

    @cached_property
    def _margins(self) -> tuple[Counts, Counts]:
        """The sizes of the classes, which have no order, and of the parts."""
        return np.sort(np.bincount(self.classes)), np.bincount(self.parts)

    @cached_property
    def _logs(self) -> Floats:
        logs: Floats = np.log2(np.minimum(np.arange(2, self.most + 1), self._margins[0].size))
        return logs

    def _bits(self, table: NDArray[Any]) -> Floats:
        """Return I(k) of a table of counts [class, part]."""
        counts, xlogx = np.ascontiguousarray(table, np.int32), xlogx_table(self.parts.size)
        found: Floats = _kernels.tiled.information(counts, self.most, xlogx)[2:]
        return found


def _most_parts(n: int, classes: int, *, alpha: object, B: object) -> int:
    """Return the largest k with k * classes <= B, where an unset B allows for k = 2."""
    cells = _validate.cells(n, alpha, B)
    if B is not None and cells < 2 * classes:
        raise ParameterError(
            f"B = {safe_repr(B)}",
            f"the smallest grid has 2 parts for each of {classes} classes",
            f"pass B of at least {2 * classes}, or leave it out",
        )
    return max(math.floor(cells) // classes, 2)


def _master(n: int, parts: int, c: object) -> float:
    """Return how many parts of equal mass a column is cut into before the search."""
    factor = _validate.master_factor(c)
    refuse_large_unconstrained(n, factor)
    if math.isfinite(factor) and min(factor * parts, n) > _validate.MAX_MASTER:
        raise ParameterError(
            f"c = {factor:g} with grids of {parts} parts",
            f"a master would have more than {_validate.MAX_MASTER} parts",
            "pass a smaller c, B or alpha",
        )
    return factor * parts


def _find(X: Any) -> Source:
    """Find the columns of a table; those of an array are called X[:, 0], X[:, 1] and so on."""
    if hasattr(X, "toarray"):
        raise InputError(
            f"X has type {type(X).__name__}",
            "the zeros of a sparse matrix take part in the ranking too",
            "call .toarray() if it fits into memory",
        )
    if isinstance(X, list | tuple):
        found = Source(_transposed(X, "X"), (), False)
    elif len(getattr(X, "shape", (0, 0))) == 1:
        raise _flat(f"X has shape ({len(X)},)")
    else:
        found = find_all(X)
    if found.named:
        return found
    return replace(found, names=tuple(f"X[:, {i}]" for i in range(len(found.columns))))


def _transposed(rows: list[Any] | tuple[Any, ...], name: str) -> tuple[list[Any], ...]:
    """Return the columns of a list of rows."""
    if not all(isinstance(row, ROW) for row in rows):
        raise _flat(f"{name} is a {type(rows).__name__} of {len(rows)}")
    try:
        columns = tuple(map(list, zip(*rows, strict=True)))
    except (TypeError, ValueError):  # an array without axes; rows of different lengths
        raise InputError(
            f"the rows of {name}",
            "their lengths differ",
            "pass one value of each column in every row",
        ) from None
    if not columns:
        raise InputError(name, "it is empty", "pass a row for each record")
    return columns


def _flat(what: str) -> InputError:
    return InputError(
        what,
        "a table has a row for each record and a column for each variable",
        "for a single column pass numpy.reshape(X, (-1, 1))",
    )


def _numbers(X: Any, y: Any) -> tuple[tuple[str, ...], tuple[Floats, ...], Floats]:
    """Read the columns of X, with their names, and a target of numbers."""
    found = _find(X)
    both = replace(found, columns=(*found.columns, _single(y)), names=(*found.names, "y"))
    *columns, target = _read(both)
    return found.names, tuple(columns), target


def _labelled(X: Any, y: Any) -> tuple[list[Floats], Codes, int]:
    """Read the columns of X, each record's class, numbered from 0 on, and how many there are."""
    codes, classes = _classes(y)
    columns = _read(_find(X))
    if columns[0].size != codes.size:
        raise InputError(
            "X, y",
            f"their lengths differ, {columns[0].size} and {codes.size}",
            "pass one row of X for each label",
        )
    return columns, codes, classes


def _read(source: Source) -> list[Floats]:
    """Read complete columns of one length, of at least four records."""
    try:
        columns = read_all(source)
    except InputError as error:
        if "missing=" not in error.remedy:
            raise
        # An option that a score function does not have.
        remedy = "replace such values (SimpleImputer fills missing ones) or leave their records out"
        raise InputError(error.value, error.reason, remedy) from None
    if columns[0].size < LEAST_RECORDS:
        raise InputError(
            f"X has {columns[0].size} rows",
            f"a score needs at least {LEAST_RECORDS} records",
            "pass more data",
        )
    return list(columns)


def _classes(y: Any) -> tuple[Codes, int]:
    """Return each record's class, numbered from 0 on, and how many classes there are."""
    labels = _labels(y)
    first: dict[Any, int] = {}
    try:
        for i, label in enumerate(labels):
            first.setdefault(label, i)
    except TypeError:  # no name can be changed: lists, arrays
        raise _several(f"y[{i}] has type {type(label).__name__}") from None
    for label, i in first.items():
        _check_label(label, i)
    numbers = {label: code for code, label in enumerate(first)}
    codes = np.array([numbers[label] for label in labels], np.int32)
    if len(numbers) < 2:
        raise InputError(
            f"y has {len(numbers)} class" + ("" if numbers else "es"),
            "a score tells how well classes can be told apart",
            "pass two classes or more; for cross-validation, StratifiedKFold",
        )
    if 2 * len(numbers) > codes.size:
        raise InputError(
            f"y has {len(numbers)} classes in {codes.size} records",
            "with fewer than two records for each class every column tells them apart",
            "pass mic_regression for numbers on a scale, or merge classes",
        )
    return codes, len(numbers)


def _labels(y: Any) -> list[Any]:
    """Return labels of any engine as a list."""
    y = _single(y)
    if isinstance(y, list | tuple | range):
        return list(y)
    # pyarrow; numpy and pandas, whose to_list warned for some years; polars
    for name in ("to_pylist", "tolist", "to_list"):
        if hasattr(y, name):
            return list(getattr(y, name)())
    raise InputError(
        f"y has type {type(y).__name__}",
        "it has one label per record, in order",
        "pass a list, an array or a series",
    )


def _check_label(label: Any, i: int) -> None:
    """Refuse what names no class."""
    kind = type(label).__name__
    if isinstance(label, tuple):
        raise _several(f"y[{i}] has type {kind}")
    if label is None or kind in ("NAType", "NaTType") or label != label:  # no NaN equals itself
        raise InputError(f"y[{i}]", "the label is missing", "leave such records out")
    if isinstance(label, float | np.floating) and not float(label).is_integer():
        raise InputError(
            f"y[{i}] = {label}",
            "this is a number on a scale, not a class",
            "pass mic_regression, or the classes as text",
        )


def _single(y: Any) -> Any:
    """Return the target; a table of one column, such as frame[["y"]], is that column."""
    if isinstance(y, str):
        raise InputError(
            f"y = {safe_repr(y)}", "this is not a column", "pass the values, such as frame[y]"
        )
    axes = len(getattr(y, "shape", (0,)))
    columns: tuple[Any, ...] = (y,)
    if isinstance(y, list | tuple) and y and all(isinstance(row, ROW) for row in y):
        columns = _transposed(y, "y")
    elif axes == 2:
        columns = find_all(y).columns
    elif axes != 1:
        raise _several(f"y has {axes} axes")
    if len(columns) != 1:
        raise _several(f"y has {len(columns)} columns")
    return columns[0]


def _several(what: str) -> InputError:
    return InputError(what, "each record has one value of y", "pass one column")
