"""Score functions for scikit-learn's ``SelectKBest``, ``SelectFdr`` and their relatives.

They take arrays and return one score for each column of X, those called ``tic`` p-values too;
scikit-learn itself is not imported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate
from dpmic._validate import Categories
from dpmic.all_pairs.significance import Null, PermutationPlan
from dpmic.all_pairs.work import Side, Work
from dpmic.data import LEAST_RECORDS, Missing, Source, Variable, find_all, read_all, read_variables
from dpmic.errors import InputError, safe_repr
from dpmic.results import Pairing
from dpmic.statistics.family import Method

__all__ = ["mic_classif", "mic_regression", "tic_classif", "tic_regression"]

Floats = NDArray[np.float64]
T = TypeVar("T")
Generator = np.random.Generator | int | None
ROW = (list, tuple, np.ndarray)


def mic_regression(
    X: Any,
    y: Any,
    *,
    alpha: float = 0.6,
    B: float | None = None,
    c: float = 15,
    missing: Missing = "raise",
) -> Floats:
    """Score each column of X by its dependence with a number y: MICe, as :func:`dpmic.mice`.

    Parameters
    ----------
    X : array-like of shape (n, columns)
        A numpy array, a list of rows, or a pandas, polars or pyarrow table, of finite numbers,
        dates, ordered categories, and nominal columns: text, booleans, other categories.
    y : array-like of shape (n,) or (n, 1)
        Finite numbers, at least 4.
    alpha : float
        The exponent in B = max(n ** alpha, 4), in (0, 1].
    B : float, optional
        The most cells a grid may have, at least 4; overrides ``alpha``.
    c : float
        The master factor: how much finer the master is than the grid, at least 1.
    missing : {"raise", "drop"}
        Refuse missing values, or score each column on the records where it and y are there; fewer
        than four score NaN. (scikit-learn's selectors refuse them in any case.)

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
    return _scores(*_numbers(X, y, missing), Method("mice", alpha, B, c))


def mic_classif(
    X: Any,
    y: Any,
    *,
    alpha: float = 0.6,
    B: float | None = None,
    c: float = 15,
    missing: Missing = "raise",
) -> Floats:
    """Score each column of X by its dependence with the class y: MICe of a nominal column.

    Every class is one fixed row; classes have no order. A column of numbers is cut into k parts,
    for all k >= 2 with k * classes <= B: into parts of equal mass where k is at least the number
    of classes, and else into those that tell most about the class. The score is the largest
    I(k) / log2 min(k, classes), where I(k) is the mutual information in bits.

    Parameters
    ----------
    X : array-like of shape (n, columns)
        As for :func:`mic_regression`.
    y : array-like of shape (n,) or (n, 1)
        Class labels: text, integers, booleans or categories, of two classes or more, and
        of no more than half as many classes as records.
    alpha, B, c, missing
        As for :func:`mic_regression`; B is at least 2 * classes.

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
    array([0.94, 0.03])
    """
    return _scores(*_labelled(X, y, missing), Method("mice", alpha, B, c))


def tic_regression(
    X: Any,
    y: Any,
    *,
    permutations: int = 10_000,
    rng: Generator = None,
    missing: Missing = "raise",
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
    missing : {"raise", "drop"}
        As for :func:`mic_regression`.

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
    plan = PermutationPlan.of(permutations, rng, pooled=True)
    return _tests(*_numbers(X, y, missing), plan)


def tic_classif(
    X: Any,
    y: Any,
    *,
    permutations: int = 10_000,
    rng: Generator = None,
    missing: Missing = "raise",
) -> tuple[Floats, Floats]:
    """Test each column of X for independence of the class y.

    The statistic is the sum of I(k) / log2 min(k, classes) over all k of :func:`mic_classif`, with
    B = max(9, 2 * classes) and c = 5. It is compared with the same of random permutations, as
    :func:`dpmic.independence_test` does.

    Parameters
    ----------
    X, y
        As for :func:`mic_classif`.
    permutations, rng, missing
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
    array([0.001, 0.433])
    """
    plan = PermutationPlan.of(permutations, rng, pooled=True)
    return _tests(*_labelled(X, y, missing), plan)


def _scores(
    names: tuple[str, ...], columns: tuple[Variable, ...], target: Variable, method: Method
) -> Floats:
    """Score every column with the target."""
    one, other = Side(names, columns, (None,) * len(columns)), Side(("y",), (target,), (None,))
    return Work(method, one, other, Pairing(len(columns), 1)).scores()


def _tests(
    names: tuple[str, ...], columns: tuple[Variable, ...], target: Variable, plan: PermutationPlan
) -> tuple[Floats, Floats]:
    """Test every column with the target; equal nulls share their permutations."""
    null = Null(plan)
    found = []
    for own in columns:
        there = ~(np.isnan(own.values) | np.isnan(target.values))
        few = np.count_nonzero(there) < LEAST_RECORDS
        pair = None if few else plan.refined_pair(own.at(there), target.at(there))
        found.append((np.nan, np.nan) if pair is None else null.compare(*pair, 0))
    scores, pvalues = np.transpose(found)
    return scores, pvalues


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


def _numbers(
    X: Any, y: Any, missing: Missing
) -> tuple[tuple[str, ...], tuple[Variable, ...], Variable]:
    """Read the columns of X, with their names, and a target of numbers."""
    found, target = _find(X), Source((_single(y),), ("y",), named=True)
    columns = _read(found, missing)
    (values,) = _explained(lambda: read_all(target, missing=missing))
    _check_lengths(columns, values.size)
    return found.names, columns, Variable(values)


def _labelled(
    X: Any, y: Any, missing: Missing
) -> tuple[tuple[str, ...], tuple[Variable, ...], Variable]:
    """Read the columns of X, with their names, and a target of classes."""
    target = _classes(y, missing)
    found = _find(X)
    columns = _read(found, missing)
    _check_lengths(columns, target.values.size)
    return found.names, columns, target


def _check_lengths(columns: tuple[Variable, ...], size: int) -> None:
    n = columns[0].values.size
    if n != size:
        raise InputError(
            "X, y",
            f"their lengths differ, {n} and {size}",
            "pass one row of X for each value of y",
        )


def _read(source: Source, missing: Missing) -> tuple[Variable, ...]:
    """Read columns of one length, of at least four records."""
    _validate.choice(missing, "missing", Missing)
    columns = _explained(lambda: read_variables(source, missing=missing))
    n = columns[0].values.size
    if n < LEAST_RECORDS:
        raise InputError(
            f"X has {n} rows", f"a score needs at least {LEAST_RECORDS} records", "pass more data"
        )
    return columns


def _explained(read: Callable[[], T]) -> T:
    """Read columns; errors about gaps name what scikit-learn has for them, too."""
    try:
        return read()
    except InputError as error:
        if "missing=" not in error.remedy:
            raise
        remedy = (
            "replace such values (SimpleImputer fills missing ones) or leave their records out, "
            'or pass missing="drop"'
        )
        raise InputError(error.value, error.reason, remedy) from None


def _classes(y: Any, missing: Missing) -> Variable:
    """Return the classes as a nominal column: two or more, and half as many as records at most."""
    labels = _labels(y)
    first: dict[Any, int] = {}
    try:
        for i, label in enumerate(labels):
            first.setdefault(label, i)
    except TypeError:  # no name can be changed: lists, arrays
        raise _several(f"y[{i}] has type {type(label).__name__}") from None
    absent = {label for label in first if _is_absent(label)}
    for label, i in first.items():
        if label not in absent:
            _check_label(label, i)
        elif missing == "raise":
            raise InputError(f"y[{i}]", "the label is missing", 'leave it out: missing="drop"')
    numbers = {label: code for code, label in enumerate(x for x in first if x not in absent)}
    codes = np.array([numbers.get(label, np.nan) for label in labels], np.float64)
    if len(numbers) < 2:
        raise InputError(
            f"y has {len(numbers)} class" + ("" if numbers else "es"),
            "a score tells how well classes can be told apart",
            "pass two classes or more; for cross-validation, StratifiedKFold",
        )
    present = int(np.count_nonzero(~np.isnan(codes)))
    if 2 * len(numbers) > present:
        raise InputError(
            f"y has {len(numbers)} classes in {present} records",
            "with fewer than two records for each class every column tells them apart",
            "pass mic_regression for numbers on a scale, or merge classes",
        )
    return Variable(codes, Categories(tuple(map(str, numbers))))


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


def _is_absent(label: Any) -> bool:
    # No NaN equals itself.
    return label is None or type(label).__name__ in ("NAType", "NaTType") or label != label


def _check_label(label: Any, i: int) -> None:
    """Refuse what names no class."""
    kind = type(label).__name__
    if isinstance(label, tuple):
        raise _several(f"y[{i}] has type {kind}")
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
