"""Score functions for scikit-learn's ``SelectKBest``, ``SelectFdr`` and their relatives.

Each takes arrays and returns one score per column of X; those named ``tic`` also return
p-values. scikit-learn itself is not imported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate
from dpmic._format import plural
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
    """Score how strongly each column of X depends on a numeric target y.

    The score is MICe, as in :func:`dpmic.mice`: it finds any relation, not only a linear one.
    Use it with ``SelectKBest(mic_regression, k=10)``.

    Parameters
    ----------
    X : array-like of shape (n, columns)
        A numpy array, a list of rows, or a pandas, polars or pyarrow table. Columns may be
        numbers, dates, ordered categories or nominal (text, booleans, other categories).
    y : array-like of shape (n,) or (n, 1)
        The target: at least 4 finite numbers.
    alpha : float
        The exponent in B = max(n ** alpha, 4), in (0, 1].
    B : float, optional
        The most cells a grid may have, at least 4; overrides ``alpha``.
    c : float
        The master factor: how much finer the master is than the grid, at least 1.
    missing : {"raise", "drop"}
        Refuse missing values, or score each column on the records in which neither it nor y is
        missing; with fewer than four such records the score is NaN. scikit-learn's selectors
        refuse missing values in any case.

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
    """Score how strongly each column of X depends on a class label y.

    The score is MICe with a nominal target: classes have no order, and every class is one fixed
    row of the grid. A numeric column is cut into k parts, for all k >= 2 with k * classes <= B.
    If k is at least the number of classes, the parts have equal mass; else they are the k parts
    with the most information about the class. The score is the largest
    I(k) / log2 min(k, classes), where I(k) is the mutual information in bits.

    Parameters
    ----------
    X : array-like of shape (n, columns)
        As for :func:`mic_regression`.
    y : array-like of shape (n,) or (n, 1)
        Class labels: text, integers, booleans or categories. There must be at least two classes,
        and at least twice as many records as classes.
    alpha, B, c, missing
        As for :func:`mic_regression`; B is at least 2 * classes.

    Returns
    -------
    numpy.ndarray of shape (columns,)
        Scores in [0, 1]; 0 if the column is constant. If classes differ in size, no column can
        reach 1; this affects all columns alike.

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
    """Test whether each column of X depends on a numeric target y.

    The test is that of :func:`dpmic.independence_test`. Use it with ``SelectFpr``, ``SelectFdr``
    and ``SelectFwe``, which need p-values. Columns with the same pattern of ties share their
    permutations; columns without ties all share one set.

    Parameters
    ----------
    X, y
        As for :func:`mic_regression`.
    permutations : int
        Permutations per column; no p-value is below 1 / (permutations + 1).
    rng : numpy.random.Generator or int, optional
        Source of the permutations; an integer makes every fit the same.
    missing : {"raise", "drop"}
        As for :func:`mic_regression`.

    Returns
    -------
    scores, pvalues : numpy.ndarray of shape (columns,)
        TICe with B = 9 and c = 5, and its p-value: 0 and 1 if the column or y is constant.

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
    """Test whether each column of X depends on a class label y.

    The statistic is the sum of I(k) / log2 min(k, classes) over all k of :func:`mic_classif`, with
    B = max(9, 2 * classes) and c = 5. As in :func:`dpmic.independence_test`, it is compared with
    the same statistic of random permutations.

    Parameters
    ----------
    X, y
        As for :func:`mic_classif`.
    permutations, rng, missing
        As for :func:`tic_regression`.

    Returns
    -------
    scores, pvalues : numpy.ndarray of shape (columns,)
        The statistic and its p-value: 0 and 1 if the column is constant.

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
    """Score every column against the target."""
    one, other = Side(names, columns, (None,) * len(columns)), Side(("y",), (target,), (None,))
    return Work(method, one, other, Pairing(len(columns), 1)).scores()


def _tests(
    names: tuple[str, ...], columns: tuple[Variable, ...], target: Variable, plan: PermutationPlan
) -> tuple[Floats, Floats]:
    """Test every column against the target; equal nulls share their permutations."""
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
    """Find the columns of a table; columns of an array are named X[:, 0], X[:, 1], ..."""
    if hasattr(X, "toarray"):
        raise InputError(
            f"X has type {type(X).__name__}",
            "the zeros of a sparse matrix have ranks too",
            "call .toarray() if it fits in memory",
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
        raise _flat(f"{name} is a {type(rows).__name__} of length {len(rows)}")
    try:
        columns = tuple(map(list, zip(*rows, strict=True)))
    except (TypeError, ValueError):  # an array without dimensions; rows of different lengths
        raise InputError(
            f"the rows of {name}",
            "they differ in length",
            "pass one value per column in every row",
        ) from None
    if not columns:
        raise InputError(name, "it is empty", "pass one row per record")
    return columns


def _flat(what: str) -> InputError:
    return InputError(
        what,
        "a table has one row per record and one column per variable",
        "for a single column pass numpy.reshape(X, (-1, 1))",
    )


def _numbers(
    X: Any, y: Any, missing: Missing
) -> tuple[tuple[str, ...], tuple[Variable, ...], Variable]:
    """Read the columns of X, with their names, and a numeric target."""
    found, target = _find(X), Source((_single(y),), ("y",), named=True)
    columns = _read(found, missing)
    (values,) = _explained(lambda: read_all(target, missing=missing))
    _check_lengths(columns, values.size)
    return found.names, columns, Variable(values)


def _labelled(
    X: Any, y: Any, missing: Missing
) -> tuple[tuple[str, ...], tuple[Variable, ...], Variable]:
    """Read the columns of X, with their names, and class labels."""
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
            f"they differ in length: {n} and {size}",
            "pass one row of X for each value of y",
        )


def _read(source: Source, missing: Missing) -> tuple[Variable, ...]:
    """Read columns of equal length, with at least four records."""
    _validate.choice(missing, "missing", Missing)
    columns = _explained(lambda: read_variables(source, missing=missing))
    n = columns[0].values.size
    if n < LEAST_RECORDS:
        raise InputError(
            f"X has {plural(n, 'row')}",
            f"a score needs at least {LEAST_RECORDS} records",
            "pass more data",
        )
    return columns


def _explained(read: Callable[[], T]) -> T:
    """Read columns; if values are missing, the error also names scikit-learn's remedy."""
    try:
        return read()
    except InputError as error:
        if "missing=" not in error.remedy:
            raise
        remedy = (
            "replace such values (SimpleImputer fills missing ones), leave out their records, "
            'or pass missing="drop"'
        )
        raise InputError(error.value, error.reason, remedy) from None


def _classes(y: Any, missing: Missing) -> Variable:
    """Return class labels as a nominal column: at least 2 classes, and 2 records per class."""
    labels = _labels(y)
    first: dict[Any, int] = {}
    try:
        for i, label in enumerate(labels):
            first.setdefault(label, i)
    except TypeError:  # not hashable: a list or an array
        raise _several(f"y[{i}] has type {type(label).__name__}") from None
    absent = {label for label in first if _is_absent(label)}
    for label, i in first.items():
        if label not in absent:
            _check_label(label, i)
        elif missing == "raise":
            raise InputError(
                f"y[{i}]", "the label is missing", 'pass missing="drop" to leave it out'
            )
    numbers = {label: code for code, label in enumerate(x for x in first if x not in absent)}
    codes = np.array([numbers.get(label, np.nan) for label in labels], np.float64)
    if len(numbers) < 2:
        raise InputError(
            f"y has {len(numbers)} class" + ("" if numbers else "es"),
            "the score measures how well a column separates classes",
            "pass at least two classes; in cross-validation, use StratifiedKFold",
        )
    present = int(np.count_nonzero(~np.isnan(codes)))
    if 2 * len(numbers) > present:
        raise InputError(
            f"y has {len(numbers)} classes in {present} records",
            "with fewer than two records per class, every column separates the classes",
            "call mic_regression for numbers on a scale, or merge classes",
        )
    return Variable(codes, Categories(tuple(map(str, numbers))))


def _labels(y: Any) -> list[Any]:
    """Return the labels as a list, whatever array or series they come in."""
    y = _single(y)
    if isinstance(y, list | tuple | range):
        return list(y)
    # pyarrow has to_pylist; numpy and pandas have tolist; polars has to_list.
    for name in ("to_pylist", "tolist", "to_list"):
        if hasattr(y, name):
            return list(getattr(y, name)())
    raise InputError(
        f"y has type {type(y).__name__}",
        "y needs one label per record, in order",
        "pass a list, an array or a series",
    )


def _is_absent(label: Any) -> bool:
    # NaN is the only value that does not equal itself.
    return label is None or type(label).__name__ in ("NAType", "NaTType") or label != label


def _check_label(label: Any, i: int) -> None:
    """Refuse a label that does not name a class."""
    kind = type(label).__name__
    if isinstance(label, tuple):
        raise _several(f"y[{i}] has type {kind}")
    if isinstance(label, float | np.floating) and not float(label).is_integer():
        raise InputError(
            f"y[{i}] = {label}",
            "a fraction is a number on a scale, not a class",
            "call mic_regression, or pass the classes as text",
        )


def _single(y: Any) -> Any:
    """Return the target as a column; a one-column table, such as frame[["y"]], is fine."""
    if isinstance(y, str):
        raise InputError(
            f"y = {safe_repr(y)}", "a name is not a column", "pass the values, such as frame[y]"
        )
    axes = len(getattr(y, "shape", (0,)))
    columns: tuple[Any, ...] = (y,)
    if isinstance(y, list | tuple) and y and all(isinstance(row, ROW) for row in y):
        columns = _transposed(y, "y")
    elif axes == 2:
        columns = find_all(y).columns
    elif axes != 1:
        raise _several(f"y has {axes} dimensions")
    if len(columns) != 1:
        raise _several(f"y has {len(columns)} columns")
    return columns[0]


def _several(what: str) -> InputError:
    return InputError(what, "y has one value per record", "pass one column")
