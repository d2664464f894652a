"""Any column of numbers, from any frame, as a float64 array; or a reason why not.

This is the only module that knows narwhals. Every value is either carried over exactly or refused:
a score of silently rounded, parsed or reordered data would be a score of something else.
"""

from __future__ import annotations

import difflib
import itertools
import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dpmic.errors import InputError, ParameterError

__all__ = ["Missing", "Pair", "column", "pair", "table"]

Missing = Literal["raise", "drop"]

LARGEST_EXACT = 2**53  # every integer up to this is a float64; beyond it, neighbours collapse
LEAST_RECORDS = 4

# Reason and remedy for types of Python, numpy and narwhals, by their name or that of a parent.
_REFUSED = (
    (
        {"Categorical"},
        "its categories have no order and a score needs one",
        "make the categories ordered, or pass numbers",
    ),
    (
        {"complex", "complexfloating"},
        "complex numbers have no order",
        "pass the real part, imaginary part or modulus",
    ),
    ({"Decimal"}, "decimals would be rounded", "convert to float64 if rounding is fine"),
    ({"floating"}, "longer floats would be rounded", 'call .astype("float64") if that is fine'),
    (
        {"list", "tuple", "dict", "set", "ndarray", "void", "NestedType"},
        "each record needs one number, not several",
        "pass one field or column at a time",
    ),
    (
        {"str", "bytes", "bytearray", "String", "Binary"},
        "text is not a number",
        "convert to numbers or to ordered categories",
    ),
    (
        {"date", "time", "timedelta", "datetime64", "timedelta64", "TemporalType"},
        "dates and durations are not numbers",
        "convert to numbers, such as days or seconds",
    ),
    ({"object"}, "its values may be anything", "convert to a numeric dtype, such as float64"),
)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two columns of the same records, complete and finite, with their names."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    names: tuple[str, str]


def pair(x: Any, y: Any, *, data: Any = None, missing: Missing = "raise") -> Pair:
    """Read two columns of the same records.

    Parameters
    ----------
    x, y : array-like, series or column label
        Numbers, booleans (as 0 and 1) or ordered categories (as ranks). Series are matched by
        position; their index is ignored. With `data`, the labels of two of its columns.
    data : DataFrame, optional
        Any eager frame that narwhals knows, such as pandas, polars or pyarrow.
    missing : {"raise", "drop"}, optional
        Whether a missing value (NaN, None, null, NA) is an error, or drops its whole record.

    Returns
    -------
    Pair
        New arrays; the inputs are neither changed nor shared.

    Raises
    ------
    InputError
        If a value cannot be carried over exactly, or fewer than four records are left.
    ParameterError
        If `missing` is not one of its two options.

    Examples
    --------
    >>> columns = pair([1, 2, None, 4, 5], [True, False, True, True, False], missing="drop")
    >>> columns.x, columns.y
    (array([1., 2., 4., 5.]), array([1., 0., 1., 0.]))
    """
    if missing not in get_args(Missing):
        raise ParameterError(
            f"missing = {missing!r}", "there is no such option", 'pass "raise" or "drop"'
        )
    if data is None:
        names = _series_name(x, "x"), _series_name(y, "y")
    else:
        frame, labels = _open(data)
        x, y = _pick(labels, x, "x"), _pick(labels, y, "y")
        names, x, y = (str(x), str(y)), frame[x], frame[y]
    a, b = column(x, names[0]), column(y, names[1])
    if a.size != b.size:
        raise InputError(
            f"{names[0]}, {names[1]}",
            f"their lengths differ, {a.size} and {b.size}",
            "pass one value of each per record",
        )
    if missing == "raise":
        _check_complete(a, names[0])
        _check_complete(b, names[1])
    complete = ~(np.isnan(a) | np.isnan(b))
    if complete.sum() < LEAST_RECORDS:
        raise InputError(
            f"{complete.sum()} of {a.size} records are complete",
            f"a score needs at least {LEAST_RECORDS} records",
            "pass more data",
        )
    return Pair(a[complete], b[complete], names)


def table(data: Any) -> dict[str, NDArray[np.float64]]:
    """Read every column of a frame by `column`, under its label as text.

    Raises
    ------
    InputError
        If `data` is not an eager frame, repeats a name, or has a column that `column` refuses.
    """
    frame, labels = _open(data)
    for name, count in Counter(map(str, labels)).items():
        _check_unique(name, count)
    return {str(label): column(frame[label], str(label)) for label in labels}


def column(values: Any, name: str) -> NDArray[np.float64]:
    """Read an array-like or series into a new C-contiguous array, with NaN for missing values.

    Raises
    ------
    InputError
        If `values` is not a column, is empty, or holds anything that float64 cannot carry exactly.
        The message calls it `name`.
    """
    if isinstance(values, str):
        raise InputError(
            repr(values), "this is a column name but no frame was given", "pass data=frame"
        )
    if isinstance(values, (list, tuple, range)):
        result = _from_sequence(values, name)
    elif isinstance(values, np.ndarray):
        result = _from_numpy(values, name)
    else:
        result = _from_foreign(values, name)
    if not result.size:
        raise InputError(name, "it is empty", f"pass at least {LEAST_RECORDS} records")
    infinite = np.flatnonzero(np.isinf(result))
    if infinite.size:
        raise InputError(
            f"{name}[{infinite[0]}] = {result[infinite[0]]}",
            "infinite values cannot be scored",
            'remove the record, or replace the value by nan and pass missing="drop"',
        )
    return result


def _from_sequence(values: Sequence[Any], name: str) -> NDArray[np.float64]:
    """Read a list value by value, because numpy would round [2**60, 1.5] and parse text."""
    types = set(map(type, values))
    absent = {t for t in types if t is type(None) or t.__name__ == "NAType"}
    refused = {t for t in types - absent if not _is_number(t)}
    if refused:
        i, value = next((i, v) for i, v in enumerate(values) if type(v) in refused)
        raise _refusal(f"{name}[{i}] has type {type(value).__name__}", type(value))
    _check_exact((v for v in values if isinstance(v, (int, np.integer))), name)
    return np.array([np.nan if type(v) in absent else float(v) for v in values], dtype=np.float64)


def _from_numpy(values: NDArray[Any], name: str) -> NDArray[np.float64]:
    if isinstance(values, np.ma.MaskedArray):
        raise InputError(
            f"{name} is a masked array",
            "its masked values would be read as numbers",
            'call .astype(float).filled(numpy.nan) and pass missing="drop"',
        )
    if values.ndim != 1:
        raise InputError(
            f"{name} has shape {values.shape}",
            "a column has one dimension",
            "call .ravel()" if values.size == max(values.shape, default=0) else "pass one column",
        )
    if not _is_number(values.dtype.type):
        raise _refusal(f"{name} has dtype {values.dtype}", values.dtype.type)
    if values.dtype.kind in "iu" and values.size:
        _check_exact((values.min(), values.max()), name)
    return np.array(values, dtype=np.float64, order="C")


def _from_foreign(values: Any, name: str) -> NDArray[np.float64]:
    """Read a series of any engine, or whatever else turns itself into an array."""
    import narwhals as nw

    native = nw.to_native(values, pass_through=True)
    pyarrow, pandas = sys.modules.get("pyarrow"), sys.modules.get("pandas")
    # Through __array__ these would lose their nulls, exact integers and category order.
    if pyarrow and isinstance(native, pyarrow.Array):
        native = pyarrow.chunked_array([native])
    elif pandas and isinstance(native, (pandas.Index, pandas.api.extensions.ExtensionArray)):
        native = pandas.Series(native)
    if hasattr(getattr(native, "dtype", None), "pyarrow_dtype"):
        native = native.array.__arrow_array__()  # a pandas series of a pyarrow type
    if nw.dependencies.is_into_series(native):
        return _from_series(native, name)
    if not hasattr(native, "__array__"):
        raise InputError(
            f"{name} has type {type(values).__name__}",
            "a column has one value per record, in order",
            "pass a list, an array or a series",
        )
    try:
        array = np.asarray(native)
    except Exception as error:  # foreign code, with errors of its own
        raise InputError(
            f"{name} has type {type(values).__name__}",
            f"it does not become an array ({error})",
            "convert it to a numpy array",
        ) from error
    return _from_numpy(array, name)


def _from_series(native: Any, name: str) -> NDArray[np.float64]:
    import narwhals as nw

    series = nw.from_native(native, series_only=True)
    dtype = series.dtype
    if dtype.is_integer():
        present = series.drop_nulls()  # checked before nulls turn the integers into floats
        _check_exact((present.min(), present.max()) if len(present) else (), name)
    if dtype.is_integer() or dtype.is_float() or dtype == nw.Boolean:
        return _from_numpy(series.cast(nw.Float64).to_numpy(), name)
    if isinstance(dtype, nw.Enum):
        codes = native.to_physical() if hasattr(native, "to_physical") else native.cat.codes
        ranks = _from_foreign(codes, name)
        return np.where(ranks < 0, np.nan, ranks)  # pandas codes a missing value as -1
    own = native.type if hasattr(native, "type") else native.dtype  # pyarrow says type
    if str(own).lower() == "null":
        return np.full(len(series), np.nan)
    if isinstance(getattr(own, "subtype", own), np.dtype):
        return _from_numpy(np.asarray(native), name)  # pandas: sparse, or what numpy refuses too
    if getattr(own, "ordered", False):  # a flag of pyarrow that narwhals drops
        return _from_dictionary(native, name)
    raise _refusal(f"{name} has dtype {own}", type(dtype))


def _from_dictionary(chunks: Any, name: str) -> NDArray[np.float64]:
    """Rank the values of an ordered pyarrow column, each chunk of which has its own dictionary.

    The dictionaries must together put every category in its place. Appending the unseen ones, as
    pyarrow's own unification does, would invent an order.
    """
    if chunks.type.value_type.num_fields:
        raise _refusal(f"{name} has dtype {chunks.type}", list)
    dictionaries = [chunk.dictionary.to_pylist() for chunk in chunks.chunks]
    order: TopologicalSorter[Any] = TopologicalSorter()
    for values in dictionaries:
        known = [v for v in values if v is not None and v == v]
        if known:
            order.add(known[0])
        for lower, upper in itertools.pairwise(known):
            order.add(upper, lower)
    ranks: dict[Any, float] = {}
    try:
        order.prepare()
        while order.is_active():
            (value,) = order.get_ready()
            ranks[value] = float(len(ranks))
            order.done(value)
    except ValueError:  # a cycle, or no single next category
        raise InputError(
            f"{name} has dtype {chunks.type}",
            "its dictionaries do not agree on one order of the categories",
            "give all chunks one dictionary without repeats",
        ) from None
    parts = [np.empty(0)]
    for chunk, values in zip(chunks.chunks, dictionaries, strict=True):
        codes = _from_foreign(chunk.indices, name)
        codes[np.isnan(codes)] = -1  # the nan at the end
        parts.append(np.array([*(ranks.get(v, np.nan) for v in values), np.nan])[codes.astype(int)])
    return np.concatenate(parts)


def _is_number(kind: type) -> bool:
    if issubclass(kind, np.generic):
        dtype = np.dtype(kind)
        return dtype.kind in "biuf" and dtype.itemsize <= 8
    return issubclass(kind, (int, float))


def _refusal(value: str, kind: type) -> InputError:
    names = {parent.__name__ for parent in kind.__mro__}
    return next(InputError(value, why, remedy) for known, why, remedy in _REFUSED if known & names)


def _check_exact(integers: Iterable[Any], name: str) -> None:
    for value in map(int, integers):
        if abs(value) > LARGEST_EXACT:
            raise InputError(
                f"{name} holds {value}",
                "integers beyond 2**53 would be rounded",
                "pass their ranks, or convert to float64 if rounding is fine",
            )


def _check_complete(values: NDArray[np.float64], name: str) -> None:
    gaps = np.flatnonzero(np.isnan(values))
    if gaps.size:
        raise InputError(
            name,
            f"{gaps.size} of {values.size} values are missing, the first at position {gaps[0]}",
            'pass missing="drop" or fill them',
        )


def _check_unique(name: str, count: int) -> None:
    if count > 1:
        raise InputError(
            f"column {name!r}", f"{count} columns have this name", "rename them or drop all but one"
        )


def _series_name(values: Any, default: str) -> str:
    name = getattr(values, "name", None)
    return str(name) or default if isinstance(name, (str, int, tuple)) else default


def _open(data: Any) -> tuple[Any, list[Hashable]]:
    """Return an eager frame, still native (narwhals refuses repeated labels), and its labels."""
    import narwhals as nw

    frame = nw.to_native(data, pass_through=True)
    if nw.dependencies.is_into_dataframe(frame):
        return frame, list(frame.column_names if hasattr(frame, "column_names") else frame.columns)
    what = f"data has type {type(frame).__name__}"
    if isinstance(nw.from_native(frame, pass_through=True), nw.LazyFrame):
        raise InputError(what, "its rows are not computed yet", "call .collect() first")
    raise InputError(what, "this is not a frame", "pass pandas.DataFrame(data), or arrays x and y")


def _pick(labels: list[Hashable], wanted: Any, role: str) -> Any:
    """Return the one label that equals `wanted`."""
    found = [label for label in labels if isinstance(wanted, type(label)) and label == wanted]
    _check_unique(str(wanted), len(found))
    if found:
        return found[0]
    if not isinstance(wanted, str):
        raise InputError(
            f"{role} has type {type(wanted).__name__}",
            "with data=, x and y must be column names",
            "pass two names, or leave out data=",
        )
    names = [str(label) for label in labels]
    close = difflib.get_close_matches(wanted, names)
    shown = ", ".join(close or names[:10]) + ("" if close or len(names) <= 10 else ", ...")
    remedy = f"did you mean {shown}" if close else f"the columns are {shown}"
    raise InputError(f"{role} = {wanted!r}", "there is no such column", remedy)
