"""Read one column, from any engine, as float64 numbers, or say why that is impossible.

Each value is converted exactly or refused. A score of silently rounded, parsed or reordered data
would be a score of other data.
"""

from __future__ import annotations

import datetime
import itertools
import math
import sys
from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from graphlib import TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic._validate import Categories, label, moment
from dpmic.data._arrow import floats, is_float
from dpmic.errors import InputError, RefusedValueError, with_code

LARGEST_EXACT = 2**53  # float64 holds every integer up to this one; beyond it, neighbours merge
LEAST_RECORDS = 4
EPOCH, SECOND = np.datetime64("1970-01-01"), np.timedelta64(1, "s")

OTHER = "other"
"""The category for all values that are not listed."""

MISSING = frozenset(
    {"", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "NULL", "null", "NaN", "nan", "-NaN"}
    | {"-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"}
)
"""Spellings of a missing value; spaces around them do not matter."""

PLACEHOLDERS = frozenset({"-", "--", ".", "?", "<NA>", "n.a."})
"""Further spellings, of which none is a name: missing unless they are listed as categories."""

# Reason and remedy for each refused type of Python, numpy or narwhals, by its name or a parent's.
_REFUSED = (
    (
        {"Categorical", "Enum"},
        "its categories have no order, but bounds need one",
        "list its categories instead of bounds, or pass numbers",
    ),
    (
        {"complex", "complexfloating"},
        "complex numbers have no order",
        "pass the real part, imaginary part or modulus",
    ),
    ({"Decimal"}, "decimals would be rounded", "convert to float64 if rounding is acceptable"),
    ({"floating"}, "long floats would be rounded", 'call .astype("float64") if that is acceptable'),
    (
        {"list", "tuple", "dict", "set", "ndarray", "void", "NestedType"},
        "each record needs one number, not several",
        "pass one field or column at a time",
    ),
    (
        {"str", "bytes", "bytearray", "String", "Binary"},
        "text is not a number",
        "convert it to numbers (dates: pandas.to_datetime), or list its categories",
    ),
    (
        {"date", "time", "timedelta"},
        "dates, times of day and durations do not mix",
        "pass only one of the three in a column",
    ),
    ({"object"}, "its values can be anything", "convert to a numeric dtype, such as float64"),
)


def column(values: Any, name: str, *, categories: bool = True) -> NDArray[np.float64]:
    """Read an array-like or series into a new C-contiguous array, with NaN for missing values.

    Dates become days since 1970, in UTC, with a fraction for the time; times of day and durations
    become seconds. Booleans become 0 and 1, ordered categories their ranks. With
    ``categories=False``, categories are refused if the list may come from the records (pandas,
    pyarrow), because a record's rank would then depend on other records.

    Raises
    ------
    InputError
        If `values` is not a column, is empty, or holds a value that float64 cannot represent
        exactly. The message calls the column `name`.
    """
    if isinstance(values, str):
        raise not_a_column(values, name)
    if isinstance(values, (list, tuple, range)):
        result = _from_sequence(values, name)
    elif isinstance(values, np.ndarray):
        result = _from_numpy(values, name)
    elif is_float(values):
        result = floats(values)
    else:
        result = _from_foreign(values, name, categories)
    if not result.size:
        raise InputError(name, "it is empty", f"pass at least {LEAST_RECORDS} records")
    if np.count_nonzero(np.isinf(result)):  # any() takes twice as long for few records
        infinite = np.flatnonzero(np.isinf(result))
        raise RefusedValueError(
            f"{name}[{infinite[0]}] = {result[infinite[0]]}",
            "infinite values cannot be scored",
            with_code('remove the record, or set the value to nan and pass `missing="drop"`'),
            name,
        )
    return result


def coded(values: Any, name: str, categories: Categories) -> NDArray[np.float64]:
    """Return the position of each value in a public list of categories.

    A value that is not listed becomes "other" if that is a category, and otherwise missing (NaN).
    A missing value or a placeholder such as ``-`` never becomes "other", unless it is listed.

    Examples
    --------
    >>> coded(["b", "c", None, " a"], "ward", Categories(("a", "b")))
    array([ 1., nan, nan,  0.])
    >>> coded(["b", "c", "-", "NA"], "ward", Categories(("a", "b", "other")))
    array([ 1.,  2., nan, nan])
    """
    places = {text: float(i) for i, text in enumerate(categories.labels)}
    other = places.get(OTHER, math.nan)

    def code(value: Any) -> float:
        text = label(value)
        unsaid = is_missing(value) or text in PLACEHOLDERS
        absent = unsaid and text not in places  # "NA" may be listed: Namibia
        return math.nan if absent else places.get(text, other)

    # Cache only text: True, 1 and 1.0 are equal as keys, but are two categories.
    of_text = lru_cache(maxsize=None)(code)
    each = plain_values(values, name)
    codes = (of_text(value) if type(value) is str else code(value) for value in each)
    return np.fromiter(codes, np.float64, len(values))


def declares_dates(values: Any) -> bool | None:
    """Return whether a column's declared type is a date; None if it has no declared type.

    Durations and times of day count as numbers of seconds.
    """
    import narwhals as nw

    kind = getattr(getattr(values, "dtype", None), "kind", None)
    if kind in ("M", "m", "f", "i", "u"):
        return bool(kind == "M")
    series = nw.from_native(values, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return None
    dtype = series.dtype
    if not dtype.is_temporal() and not dtype.is_numeric():
        return None
    return isinstance(dtype, nw.Date | nw.Datetime)


def plain_values(values: Any, name: str) -> Iterable[Hashable]:
    """Yield the values of a column as plain Python objects."""
    import narwhals as nw

    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        values = series.to_list()
    elif hasattr(values, "to_pylist"):  # a pyarrow array: its scalars do not compare as missing
        values = values.to_pylist()
    for value in values:
        if hasattr(value, "as_py"):  # a scalar of pyarrow
            value = value.as_py()
        if not isinstance(value, Hashable) or isinstance(value, tuple):
            raise RefusedValueError(
                f"column {name}", "its values are not names or numbers", "pass one column", name
            )
        yield value


def is_missing(value: Any) -> bool:
    """Return whether a value is missing: a null, a NaN, or a text such as "NA"."""
    if isinstance(value, bytes):
        value = value.decode(errors="surrogateescape")
    if isinstance(value, str):
        return value.strip() in MISSING
    # NaN is the only value that does not equal itself.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def not_a_column(values: Any, name: str) -> InputError:
    """Return the error for values without an order; a text may be the name of a column."""
    if isinstance(values, str):
        reason = "this is a column name, but no frame was given"
        return InputError(repr(values), reason, "pass data=frame")
    return InputError(
        f"{name} has type {type(values).__name__}",
        "a column has one value per record, in order",
        "pass a list, an array or a series",
    )


def _from_sequence(values: Sequence[Any], name: str) -> NDArray[np.float64]:
    """Read a list value by value; numpy would round [2**60, 1.5] and parse text."""
    types = set(map(type, values))
    absent = {t for t in types if t is type(None) or t.__name__ in ("NAType", "NaTType")}
    if any(map(_is_temporal, types - absent)):
        return _from_moments(values, name)
    refused = {t for t in types - absent if not _holds_numbers(t)}
    if refused:
        i, value = next((i, v) for i, v in enumerate(values) if type(v) in refused)
        refusal = _refusal(f"{name}[{i}] has type {type(value).__name__}", type(value))
        raise RefusedValueError(refusal.value, refusal.reason, refusal.remedy, name)
    _check_exact((v for v in values if isinstance(v, (int, np.integer))), name)
    return np.array([np.nan if type(v) in absent else float(v) for v in values], dtype=np.float64)


def _from_moments(values: Iterable[Any], name: str) -> NDArray[np.float64]:
    """Read dates as days, or times of day or durations as seconds, without mixing the three."""
    units: set[str] = set()
    numbers = []
    for i, value in enumerate(values):
        if is_missing(value):
            numbers.append(math.nan)
            continue
        unit, number = _moment(value)
        units.add(unit)
        if not unit or len(units) > 1:
            refusal = _refusal(f"{name}[{i}] has type {type(value).__name__}", type(value))
            raise RefusedValueError(refusal.value, refusal.reason, refusal.remedy, name)
        numbers.append(number)
    return np.array(numbers)


def _moment(value: Any) -> tuple[str, float]:
    """Return the kind of a date or time, and its number; an empty kind for anything else."""
    days = None if isinstance(value, str) else moment(value)
    if days is not None:
        return "date", days
    if isinstance(value, np.timedelta64):
        return "duration", float(value / SECOND)
    if isinstance(value, datetime.timedelta):
        return "duration", value.total_seconds()
    if isinstance(value, datetime.time):
        since = datetime.timedelta(
            hours=value.hour,
            minutes=value.minute,
            seconds=value.second,
            microseconds=value.microsecond,
        )
        return "time", since.total_seconds()
    return "", math.nan


def _from_numpy(values: NDArray[Any], name: str) -> NDArray[np.float64]:
    if isinstance(values, np.ma.MaskedArray):
        raise InputError(
            f"{name} is a masked array",
            "its masked values would be read as numbers",
            with_code('call .astype(float).filled(numpy.nan) and pass `missing="drop"`'),
        )
    if values.ndim != 1:
        raise InputError(
            f"{name} has shape {values.shape}",
            "a column has one dimension",
            "call .ravel()" if values.size == max(values.shape, default=0) else "pass one column",
        )
    kind = values.dtype.kind
    if kind == "M":
        return np.array((values - EPOCH) / np.timedelta64(1, "D"), order="C")
    if kind == "m":
        return np.array(values / SECOND, order="C")
    if kind == "O" and any(map(_is_temporal, set(map(type, values)))):
        return _from_moments(values, name)
    if kind not in "biuf" or values.dtype.itemsize > 8:
        # Show no length of the longest text and no names of fields: they are facts about the data.
        own = values.dtype.type.__name__.rstrip("_") if kind in "SUV" else values.dtype
        raise _refusal(f"{name} has dtype {own}", values.dtype.type)
    if kind in "iu" and values.size:
        _check_exact((values.min(), values.max()), name)
    return np.array(values, dtype=np.float64, order="C")


def _from_foreign(values: Any, name: str, categories: bool) -> NDArray[np.float64]:
    """Read a series of any engine, or anything else that converts to a numpy array."""
    import narwhals as nw

    native = as_series(values)
    if nw.dependencies.is_into_series(native):
        return _from_series(native, name, categories)
    if not hasattr(native, "__array__"):
        raise not_a_column(values, name)
    try:
        array = np.asarray(native)
    except Exception as error:  # third-party code may raise anything
        raise RefusedValueError(
            f"{name} has type {type(values).__name__}",
            f"it cannot be converted to an array ({error})",
            "convert it to a numpy array",
            name,
        ) from error
    return _from_numpy(array, name)


def as_series(values: Any) -> Any:
    """Return a native series if narwhals knows one for these values, else the values."""
    import narwhals as nw

    native = nw.to_native(values, pass_through=True)
    pyarrow, pandas = sys.modules.get("pyarrow"), sys.modules.get("pandas")
    # __array__ of these types loses nulls, exact integers and the order of categories.
    if pyarrow and isinstance(native, pyarrow.Array):
        native = pyarrow.chunked_array([native])
    elif pandas and isinstance(native, (pandas.Index, pandas.api.extensions.ExtensionArray)):
        native = pandas.Series(native)
    if hasattr(getattr(native, "dtype", None), "pyarrow_dtype"):
        native = native.array.__arrow_array__()  # a pandas series with a pyarrow type
    return native


def _from_series(native: Any, name: str, categories: bool) -> NDArray[np.float64]:
    import narwhals as nw

    series = nw.from_native(native, series_only=True)
    dtype = series.dtype
    if dtype.is_integer():
        present = series.drop_nulls()  # check before nulls turn the integers into floats
        _check_exact((present.min(), present.max()) if len(present) else (), name)
    if dtype.is_integer() or dtype.is_float() or dtype == nw.Boolean:
        return _from_numpy(series.cast(nw.Float64).to_numpy(), name)
    if dtype.is_temporal():
        return _from_temporal(series, name)
    if isinstance(dtype, nw.Enum):
        fixed = hasattr(native, "to_physical")  # a polars Enum fixes its list in the type
        _check_categories(fixed or categories, name)
        ranks = _from_foreign(native.to_physical() if fixed else native.cat.codes, name, False)
        return np.where(ranks < 0, np.nan, ranks)  # pandas codes a missing value as -1
    own = native.type if hasattr(native, "type") else native.dtype  # pyarrow calls it type
    if str(own).lower() == "null":
        return np.full(len(series), np.nan)
    if str(own) == "halffloat":  # pyarrow; narwhals knows it since 2.24
        return _from_foreign(native.cast("float32"), name, categories)
    if isinstance(getattr(own, "subtype", own), np.dtype):
        return _from_numpy(np.asarray(native), name)  # pandas sparse, or a dtype numpy refuses too
    if getattr(own, "ordered", False):  # narwhals drops this pyarrow flag
        _check_categories(categories, name)
        return _from_dictionary(native, name)
    # Some versions of narwhals do not know pyarrow's longer decimals.
    kind = Decimal if str(own).startswith("decimal") else type(dtype)
    raise _refusal(f"{name} has dtype {_plain(own)}", kind)


def _plain(dtype: Any) -> str:
    """Name a type without its parts: the names of fields can come from the records."""
    return str(dtype).partition("(")[0].partition("<")[0]


def _from_temporal(series: Any, name: str) -> NDArray[np.float64]:
    """Read dates as days, and durations and times of day as seconds."""
    import narwhals as nw

    if series.dtype == nw.Time:
        return _from_moments(series.to_list(), name)
    if series.dtype == nw.Duration:
        whole, unit = series.dt.total_microseconds(), 1e6
    else:
        whole, unit = series.dt.timestamp("us"), 86_400e6
    return _from_numpy(whole.cast(nw.Float64).to_numpy(), name) / unit


def _from_dictionary(chunks: Any, name: str) -> NDArray[np.float64]:
    """Rank the values of an ordered pyarrow column, whose chunks may have different dictionaries.

    Together the dictionaries must order all categories. Appending unseen ones at the end, as
    pyarrow's own unification does, would invent an order.
    """
    if chunks.type.value_type.num_fields:
        raise _refusal(f"{name} has dtype {_plain(chunks.type)}", list)
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
            f"{name} has dtype {_plain(chunks.type)}",
            "its dictionaries disagree about the order of the categories",
            "use one dictionary without repeats for all chunks",
        ) from None
    parts = [np.empty(0)]
    for chunk, values in zip(chunks.chunks, dictionaries, strict=True):
        codes = _from_foreign(chunk.indices, name, categories=False)
        codes[np.isnan(codes)] = -1  # picks the NaN at the end
        parts.append(np.array([*(ranks.get(v, np.nan) for v in values), np.nan])[codes.astype(int)])
    return np.concatenate(parts)


def _holds_numbers(kind: type) -> bool:
    if issubclass(kind, np.generic):
        dtype = np.dtype(kind)
        return dtype.kind in "biuf" and dtype.itemsize <= 8
    return issubclass(kind, (int, float))


def _is_temporal(kind: type) -> bool:
    if issubclass(kind, np.generic):
        return issubclass(kind, np.datetime64 | np.timedelta64)
    return issubclass(kind, datetime.date | datetime.time | datetime.timedelta)


def _refusal(value: str, kind: type) -> InputError:
    names = {parent.__name__ for parent in kind.__mro__}
    return next(InputError(value, why, remedy) for known, why, remedy in _REFUSED if known & names)


def _check_categories(allowed: bool, name: str) -> None:
    if not allowed:
        raise InputError(
            f"column {name}",
            "the rank of a category would depend on which categories occur in the records",
            "map categories to numbers by a list fixed beforehand, or pass a polars Enum",
        )


def _check_exact(integers: Iterable[Any], name: str) -> None:
    for value in map(int, integers):
        if abs(value) > LARGEST_EXACT:
            raise RefusedValueError(
                f"{name} holds {value}",
                "integers beyond 2**53 would be rounded",
                "pass their ranks, or convert to float64 if rounding is acceptable",
                name,
            )
