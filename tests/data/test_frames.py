"""What columns are accepted, with exact values, and refuses, with its words, in every engine."""

from __future__ import annotations

import array
import datetime
import decimal
import fractions
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sweeps import sweep

from dpmic.data import build, column, find, find_all, first_rows, pair, read_all
from dpmic.errors import InputError, ParameterError

NAN = float("nan")
Y = [1.0, 2.0, 3.0, 4.0, 5.0]
BIG = 2**53

# From a list with None for missing; integers, floats or booleans of one type.
NULLABLE = {int: "Int64", float: "Float64", bool: "boolean"}


def table(data: Any) -> dict[str, Any]:
    """Read every column of a table."""
    found = find_all(data)
    return dict(zip(found.names, read_all(found, missing="drop"), strict=True))


def _kind(values: list[Any]) -> type:
    return next((type(v) for v in values if v is not None), float)


def _pandas_arrow(values: list[Any]) -> pd.Series:
    return pd.Series(pd.array(pa.array(values), dtype=pd.ArrowDtype(pa.array(values).type)))


NULLS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "pandas nullable": lambda v: pd.Series(v, dtype=NULLABLE[_kind(v)]),
    "pandas array": lambda v: pd.array(v, dtype=NULLABLE[_kind(v)]),
    "pandas arrow": _pandas_arrow,
    "polars": lambda v: pl.Series(v),
    "pyarrow array": pa.array,
    "pyarrow chunks": lambda v: pa.chunked_array([v[:2], v[2:]], type=pa.array(v).type),
    "narwhals": lambda v: nw.from_native(pl.Series(v), series_only=True),
}
ENGINES: dict[str, Callable[[list[Any]], Any]] = {
    "numpy": np.array,
    "pandas": pd.Series,
    "pandas index": pd.Index,
    **NULLS,
}
FRAMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "narwhals": lambda d: nw.from_native(pl.DataFrame(d), eager_only=True),
}


def engines(makers: dict[str, Callable[..., Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("make", makers.values(), ids=makers.keys())


def same(result: np.ndarray, expected: list[float]) -> None:
    assert result.dtype == np.float64
    assert result.dtype.isnative
    assert result.flags.c_contiguous
    np.testing.assert_array_equal(result, np.array(expected, dtype=np.float64), strict=True)


def refuses(words: str, call: Callable[..., Any], *args: Any, **options: Any) -> str:
    with pytest.raises(InputError, match=re.escape(words)) as caught:
        call(*args, **options)
    return str(caught.value)


# Acceptance


@engines(ENGINES)
@sweep(
    "values",
    [
        [3, 1, 2, 5, 4],
        [0.1, -0.0, 1e300, -2.5, 5e-324],
        [True, False, True, True, False],
        [BIG, -BIG, 0, BIG - 1, 1],
    ],
    ids=["int", "float", "bool", "boundary"],
)
def test_values_are_exact(make: Callable[..., Any], values: list[Any]) -> None:
    result = pair(make(values), make(Y))
    same(result.x, [float(v) for v in values])
    same(result.y, Y)
    assert result.names == ("x", "y")


@engines(NULLS)
@sweep("values", [[3, None, 2, 5, 4], [0.5, None, 2, 5, 4.0], [True, None] * 3])
def test_nulls_become_nan_or_errors(make: Callable[..., Any], values: list[Any]) -> None:
    same(column(make(values), "a"), [NAN if v is None else float(v) for v in values])
    count = values.count(None)
    message = refuses(f"x: {count} of", pair, make(values), values)
    assert message.endswith('the first in row 2; pass missing="drop", or correct them.')


@engines(ENGINES)
def test_nan_is_missing(make: Callable[..., Any]) -> None:
    values = [1.0, 2.0, 3.0, NAN, 5.0, NAN]
    same(column(make(values), "a"), values)
    refuses("y: 2 of 6 values are missing, the first in row 4", pair, [1] * 6, make(values))


@engines(ENGINES)
def test_drop_is_pairwise(make: Callable[..., Any]) -> None:
    x = make([1.0, NAN, 3.0, 4.0, 5.0, 6.0, 7.0])
    result = pair(x, [7, 6, 5, None, 3, 2, 1], missing="drop")
    same(result.x, [1, 3, 5, 6, 7])
    same(result.y, [7, 5, 3, 2, 1])


def test_pandas_na_and_numpy_scalars_in_lists() -> None:
    values = [pd.NA, None, np.nan, np.float32(0.1), np.int8(-3), np.True_, 2, True, np.float16(2)]
    same(column(values, "a"), [NAN, NAN, NAN, float(np.float32(0.1)), -3, 1, 2, 1, 2])
    same(column(range(4), "a"), [0, 1, 2, 3])


@sweep("dtype", ["b1", "i1", "u1", "i2", "<i4", ">i4", "u8", ">i8", "f2", ">f8"])
def test_numpy_dtypes(dtype: str) -> None:
    values = np.array([1, 0, 1, 1], dtype=dtype)
    same(column(values, "a"), [1, 0, 1, 1])
    same(column(pd.Series(values), "a"), [1, 0, 1, 1])


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_short_floats_widen_exactly(dtype: type) -> None:
    values = np.array([0.1, 1 / 3, 60000, 6e-8], dtype=dtype)
    expected = [float(v) for v in values]
    for native in (values, pd.Series(values), pl.Series(values.astype("f4")), pa.array(values)):
        same(column(native, "a"), expected)


@sweep("dtype", [pl.Int8, pl.Int16, pl.Int32, pl.UInt32, pl.UInt64, pl.Int128, pl.Float32])
def test_polars_dtypes_with_nulls(dtype: Any) -> None:
    same(column(pl.Series([1, None, 3, 100], dtype=dtype), "a"), [1, NAN, 3, 100])
    same(column(pl.Series([1, 2, 3, 100], dtype=dtype), "a"), [1, 2, 3, 100])


@sweep("dtype", ["int8", "int32", "uint64", "float16", "float32", "float64"])
def test_pyarrow_dtypes_with_nulls(dtype: str) -> None:
    values = pa.array([np.dtype(dtype).type(1), None, np.dtype(dtype).type(3)], type=dtype)
    same(column(values, "a"), [1, NAN, 3])
    same(column(values.slice(1), "a"), [NAN, 3])


def test_read_only_strided_and_array_protocol() -> None:
    values = np.arange(10.0)
    values.flags.writeable = False
    same(column(values[::-2], "a"), [9, 7, 5, 3, 1])

    class Holder:
        def __array__(self, dtype: Any = None) -> np.ndarray:  # the old protocol, without copy=
            return values

    result = column(Holder(), "a")
    same(result, list(range(10)))
    assert not np.shares_memory(result, values)


@engines(ENGINES)
def test_same_object_twice_and_no_aliasing(make: Callable[..., Any]) -> None:
    values = make([1.0, 2.0, 3.0, 4.0, 5.0])
    result = pair(values, values)
    result.x[:] = 0
    same(result.y, Y)
    same(column(values, "a"), Y)
    assert result.x.flags.writeable


def test_pair_does_not_alias_numpy_or_pandas_memory() -> None:
    values, series = np.array(Y), pd.Series(Y)
    result = pair(values, series)
    assert not np.shares_memory(result.x, values)
    assert not np.shares_memory(result.y, series.to_numpy())


def test_sparse_pandas() -> None:
    same(column(pd.Series(pd.arrays.SparseArray([0, 1, 0, 2])), "a"), [0, 1, 0, 2])
    same(column(pd.arrays.SparseArray([0.0, NAN, 0.5, 0.0]), "a"), [0, NAN, 0.5, 0])
    refuses("2**53", column, pd.Series(pd.arrays.SparseArray([0, 2**60])), "a")


@pytest.mark.parametrize(
    "values",
    [
        pl.Series([None] * 4),
        pa.nulls(4),
        [None] * 4,
        pd.Series([None] * 4, dtype=pd.ArrowDtype(pa.null())),
    ],
    ids=["polars", "pyarrow", "list", "pandas"],
)
def test_a_column_of_nulls_is_missing(values: Any) -> None:
    same(column(values, "a"), [NAN] * 4)


# Ordered categories

LEVELS = ["low", "mid", "high"]
SEEN = ["high", "low", None, "high", "mid"]
RANKS = [2, 0, NAN, 2, 1]


def dictionary(indices: list[Any], values: list[Any], ordered: bool = True) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, pa.int8()), pa.array(values), None, ordered
    )


ARROW = dictionary([2, 0, None, 2, 1], LEVELS)


@sweep(
    "values",
    [
        pd.Series(pd.Categorical(SEEN, LEVELS, ordered=True)),
        pd.Categorical(SEEN, LEVELS, ordered=True),
        pd.CategoricalIndex(SEEN, LEVELS, ordered=True),
        pl.Series(SEEN, dtype=pl.Enum(LEVELS)),
        ARROW,
        pa.chunked_array([ARROW]),
        pd.Series(pd.array(ARROW, dtype=pd.ArrowDtype(ARROW.type))),
        dictionary([2, 0, 3, 2, 1], [*LEVELS, None]),
        dictionary([3, 0, 1, 3, 2], [0.5, NAN, 1.5, 2.5]),
        nw.from_native(pl.Series(SEEN, dtype=pl.Enum(LEVELS)), series_only=True),
        nw.from_native(pa.chunked_array([ARROW]), series_only=True),
    ],
    ids=[
        "pandas",
        "categorical",
        "index",
        "polars",
        "arrow",
        "chunks",
        "pandas arrow",
        "null in it",
        "nan in it",
        "narwhals",
        "narwhals arrow",
    ],
)
def test_ordered_categories_become_ranks(values: Any) -> None:
    same(column(values, "a"), RANKS)


def test_pandas_ranks_do_not_pass_through_the_category_values() -> None:
    levels = [2**60, 2**60 + 1, 5]  # as floats, the first two would be one
    values = pd.Series(pd.Categorical([5, 2**60 + 1, 2**60, None], levels, ordered=True))
    same(column(values, "a"), [2, 1, 0, NAN])
    bins = pd.Series(pd.cut([1, 9, 5, NAN], [0, 3, 6, 10]))
    same(column(bins, "a"), [0, 2, 1, NAN])


def test_dictionaries_of_chunks_are_unified_when_they_tell_the_order() -> None:
    chunks = [
        dictionary([1, 0], ["mid", "high"]),
        dictionary([0, 1, None], ["low", "mid"]),
        dictionary([0], ["mid"]),
    ]
    values = pa.chunked_array(chunks)
    same(column(values, "a"), [2, 1, 0, 1, NAN, 1])
    same(column(values.slice(1, 4), "a"), [1, 0, 1, NAN])


@pytest.mark.parametrize(
    "dictionaries",
    [
        [["low", "high"], ["high", "low"]],  # a contradiction
        [["low", "high"], ["low", "mid"]],  # nothing between mid and high
        [["low", "high"], ["low", "mid", "high"], ["top"]],
        [["low", "high", "low"]],
    ],
)
def test_dictionaries_without_one_order_are_refused(dictionaries: list[list[str]]) -> None:
    chunks = pa.chunked_array([dictionary([0, 1], [*d, None]) for d in dictionaries])
    refuses("disagree about the order", column, chunks, "a")


@sweep(
    "values",
    [
        pd.Series(pd.Categorical(SEEN, LEVELS)),
        pd.Categorical([1, 2, 3, 4]),
        pl.Series(SEEN, dtype=pl.Categorical),
        dictionary([0, 1], LEVELS, ordered=False),
        pa.chunked_array([dictionary([0, 1], [1.5, 2.5], ordered=False)]),
        pd.Series(pd.array(["a"], dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())))),
    ],
    ids=["pandas", "categorical", "polars", "arrow", "chunks", "pandas arrow"],
)
def test_unordered_categories_are_refused(values: Any) -> None:
    message = refuses("have no order, but bounds need one", column, values, "grade")
    assert message.startswith("grade has dtype ")
    assert message.endswith("list its categories instead of bounds, or pass numbers.")


# Refused types

DAY = datetime.datetime(2020, 1, 1)
TYPES: dict[str, tuple[str, list[Any]]] = {
    "text": (
        "text is not a number",
        [
            ["1", "2"],
            [1.0, b"2"],
            np.array(["1", "2"]),
            np.array([b"1"]),
            pd.Series(["1", None], dtype="string"),
            pd.Series(["1", None], dtype=pd.ArrowDtype(pa.string())),
            pl.Series(["1"]),
            pl.Series([b"1"]),
            pa.array(["1"]),
            pa.array([b"1"]),
            pa.array(["1"], pa.large_string()),
        ],
    ),
    "time": (
        "dates, times of day and durations do not mix; pass only one of the three in a column",
        [[DAY, DAY.time()], [DAY.date(), datetime.timedelta(1)], np.array([DAY, DAY.time()])],
    ),
    "complex": (
        "complex numbers have no order",
        [[1, 2j], [np.complex64(1)], np.array([1j]), pd.Series([1j]), np.array([1], "G")],
    ),
    "decimal": (
        "decimals would be rounded",
        [
            [decimal.Decimal(1)],
            pl.Series([decimal.Decimal("0.1")]),
            pa.array([decimal.Decimal("0.1")]),
            _pandas_arrow([decimal.Decimal("0.1")]),
            pa.nulls(2, pa.decimal256(40, 2)),
        ],
    ),
    "longdouble": (
        'long floats would be rounded; call .astype("float64")',
        [np.array([1], "g"), pd.Series(np.array([1], "g")), [np.longdouble(1)]],
    ),
    "nested": (
        "each record needs one number, not several",
        [
            [[1], [2]],
            [(1, 2)],
            [np.array([1])],
            [{"a": 1}],
            np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
            np.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
            pl.Series([[1], [2]]),
            pl.Series([{"a": 1}]),
            pl.Series([[1]], dtype=pl.Array(pl.Int64, 1)),
            pa.array([[1], [2]]),
            pa.array([{"a": 1}]),
            _pandas_arrow([[1], [2]]),
            pa.DictionaryArray.from_arrays([0], pa.array([[1]]), ordered=True),
        ],
    ),
    "object": (
        "its values can be anything; convert to a numeric dtype",
        [
            np.array([1, 2], dtype=object),
            np.array([None, 1.0]),
            pd.Series([1, 2.0], dtype=object),
            pd.Series([1, None, True], dtype=object),
            pd.Series([None, None], dtype=object),
            pd.Series([[1], [2]]),
            pd.Series([decimal.Decimal(1), 2]),
            pd.Series(pd.period_range("2020", periods=2)),
            pd.Series(pd.interval_range(0, 2)),
            pl.Series([object()], dtype=pl.Object),
            pa.nulls(2, pa.month_day_nano_interval()),
            pa.RunEndEncodedArray.from_arrays([1, 3], [1, 2]),
            [fractions.Fraction(1, 2)],
            [object()],
        ],
    ),
}


@sweep(
    ("words", "values"),
    [(words, v) for words, cases in TYPES.values() for v in cases],
    ids=[f"{kind}-{i}" for kind, (_, cases) in TYPES.items() for i in range(len(cases))],
)
def test_refused_types_name_the_column(words: str, values: Any) -> None:
    message = refuses(words, column, values, "dose")
    assert re.match(r"dose(\[\d+\] has type| has dtype) \S", message)
    assert "\n" not in message


def test_list_refusal_names_the_position() -> None:
    assert refuses("x[2] has type str: text", pair, [1, 2, "3", 4], Y) == (
        "x[2] has type str: text is not a number; convert it to numbers (dates: "
        "pandas.to_datetime), or list its categories."
    )


# Dates and times

NOON = datetime.datetime(2020, 1, 1, 12)
ZONE = datetime.timezone(datetime.timedelta(hours=6))
MOMENTS: dict[str, tuple[float, Any]] = {
    "dates": (18262.0, DAY.date()),
    "datetimes": (18262.5, NOON),
    "durations": (90.0, datetime.timedelta(seconds=90)),
    "times": (5415.25, datetime.time(1, 30, 15, 250_000)),
}
MAKERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "objects": lambda v: np.array(v, dtype=object),
    "pandas": pd.Series,
    "polars": pl.Series,
    "pyarrow": pa.array,
    "pandas arrow": lambda v: pd.Series(pd.array(v, dtype=pd.ArrowDtype(pa.array(v).type))),
}


@engines(MAKERS)
@sweep(("number", "value"), MOMENTS.values(), ids=MOMENTS.keys())
def test_dates_are_days_and_times_are_seconds(make: Any, number: float, value: Any) -> None:
    same(column(make([value, None, value]), "at"), [number, NAN, number])


@sweep(
    ("values", "expected"),
    [
        (np.array(["2020-01-01T12", "NaT"], "M8[h]"), [18262.5, NAN]),
        (np.array(["1969-12-31"], "M8[ns]"), [-1.0]),
        (np.array([1500, "NaT"], "m8[ms]"), [1.5, NAN]),
        (pd.Series([NOON, pd.NaT]), [18262.5, NAN]),
        (pd.DatetimeIndex([NOON]).tz_localize("UTC").tz_convert("Asia/Tokyo"), [18262.5]),
        (pl.Series([NOON.replace(tzinfo=ZONE)]), [18262.25]),
        (pa.array([NOON.replace(tzinfo=ZONE)]), [18262.25]),
        ([NOON.replace(tzinfo=ZONE), DAY.date()], [18262.25, 18262.0]),
        ([pd.Timestamp(NOON), pd.NaT], [18262.5, NAN]),
        ([np.datetime64("2020-01-01"), np.datetime64("NaT")], [18262.0, NAN]),
        (pd.Series([datetime.timedelta(1)]), [86400.0]),
    ],
)
def test_moments_of_many_types(values: Any, expected: list[float]) -> None:
    same(column(values, "at"), expected)


if hasattr(np.dtypes, "StringDType"):

    def test_numpy_string_dtype_is_text() -> None:
        refuses("text is not a number", column, np.array(["1"], np.dtypes.StringDType()), "a")


# Refused values


@engines(ENGINES)
@sweep("sign", [1, -1])
def test_infinities_are_refused_even_when_dropping(make: Callable[..., Any], sign: int) -> None:
    values = make([1.0, NAN, 3.0, sign * np.inf, np.inf, 6.0])
    shown = "inf" if sign > 0 else "-inf"
    words = f"x[3] = {shown}: infinite values cannot be scored"
    refuses(words, pair, values, range(6), missing="drop")
    refuses(words, pair, values, range(6))


@engines(ENGINES)
@sweep("value", [BIG + 1, -BIG - 1, 2**63 - 1, -(2**63)])
def test_integers_that_round_are_refused(make: Callable[..., Any], value: int) -> None:
    refuses(f"x holds {value}: integers beyond 2**53", pair, make([1, 2, 3, value, 5]), Y)


@engines(NULLS)
def test_integers_that_round_are_refused_before_nulls(make: Callable[..., Any]) -> None:
    refuses(f"x holds {BIG + 1}", pair, make([1, None, BIG + 1, 2, 3]), Y, missing="drop")


@sweep(
    "values",
    [
        [2**60, 1.5],
        [10**400, 0.5],
        [np.int64(-(2**63)), None],
        [np.uint64(2**63), 1],
        np.array([2**64 - 1], np.uint64),
        pd.Series([2**64 - 1], dtype="UInt64"),
        pl.Series([2**64 - 1, None], dtype=pl.UInt64),
        pl.Series([2**100, None], dtype=pl.Int128),
        pa.array([2**64 - 1, None], pa.uint64()),
        _pandas_arrow([2**60, None]),
    ],
    ids=lambda v: type(v).__module__,
)
def test_wide_integers_are_refused(values: Any) -> None:
    refuses("integers beyond 2**53 would be rounded", column, values, "a")


def test_large_floats_are_not_integers() -> None:
    same(column([2.0**60, 1, 1e308], "a"), [2.0**60, 1, 1e308])


# Refused shapes


@sweep(
    ("values", "words"),
    [
        (np.ones((5, 1)), "x has shape (5, 1): a column has one dimension; call .ravel()."),
        (np.ones((1, 5)), "call .ravel()."),
        (np.ones((5, 2)), "x has shape (5, 2): a column has one dimension; pass one column."),
        (np.array(3.0), "x has shape ()"),
        (np.float64(3.0), "x has shape ()"),
        (pd.DataFrame({"a": Y, "b": Y}), "x has shape (5, 2)"),
        (pl.DataFrame({"a": Y, "b": Y}), "x has shape (5, 2)"),
        (pa.table({"a": Y, "b": Y}), "x has shape (5, 2)"),
        (np.ma.array(Y, mask=[0, 1, 0, 0, 0]), "x is a masked array"),
        ({1.0, 2.0}, "x has type set: a column has one value per record, in order; pass a list"),
        ({"a": 1}, "x has type dict"),
        ((v for v in Y), "x has type generator"),
        (iter(Y), "x has type list_iterator"),
        (b"12345", "x has type bytes"),
        (3.0, "x has type float"),
        (None, "x has type NoneType"),
        (array.array("d", Y), "x has type array"),
        (pl.LazyFrame({"a": Y}), "x has type LazyFrame"),
        (pl.col("a"), "x has type Expr"),
        (pa.scalar(1), "x has type Int64Scalar"),
        ("age", "'age': this is a column name, but no frame was given; pass data=frame."),
    ],
    ids=lambda v: type(v).__name__,
)
def test_what_is_not_a_column(values: Any, words: str) -> None:
    refuses(words, pair, values, Y)


def test_broken_array_protocol_is_explained() -> None:
    class Device:
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            raise TypeError("move it to the host")

    refuses("x has type Device: it cannot be converted to an array (move it", pair, Device(), Y)


EMPTY: dict[str, Any] = {
    "list": [],
    "numpy": np.array([]),
    "numpy int": np.array([], dtype=np.int64),
    "pandas": pd.Series([], dtype=float),
    "pandas nullable": pd.Series([], dtype="Int64"),
    "pandas ordered": pd.Series(pd.Categorical([], LEVELS, ordered=True)),
    "polars": pl.Series([], dtype=pl.Int64),
    "polars enum": pl.Series([], dtype=pl.Enum(LEVELS)),
    "pyarrow": pa.array([], pa.int64()),
    "pyarrow chunks": pa.chunked_array([], pa.float64()),
    "pyarrow ordered": pa.chunked_array([], ARROW.type),
}


@sweep("values", EMPTY.values(), ids=EMPTY.keys())
def test_empty_is_refused(values: Any) -> None:
    refuses("x: it is empty", pair, values, values)


@engines(ENGINES)
def test_lengths_and_sizes(make: Callable[..., Any]) -> None:
    refuses("x, y: they differ in length: 5 and 4", pair, make(Y), make([1.0, 2.0, 3.0, 4.0]))
    refuses("3 records: a score needs at least 4", pair, make(Y[:3]), Y[:3])
    gaps = make([1.0, NAN, 3.0, NAN, 5.0])
    refuses("3 of 5 records are complete", pair, gaps, Y, missing="drop")
    assert pair(make(Y[:4]), Y[:4]).x.size == 4


@sweep("missing", ["ignore", "Drop", "", None, True])
def test_missing_has_two_options(missing: Any) -> None:
    with pytest.raises(ParameterError, match=re.escape(f"missing = {missing!r}: ")):
        pair(Y, Y, missing=missing)


# Names and frames


def test_series_names() -> None:
    assert pair(pd.Series(Y, name="age"), pl.Series("dose", Y)).names == ("age", "dose")
    assert pair(pd.Series(Y, name=0), pl.Series(Y)).names == ("0", "y")
    assert pair(nw.from_native(pl.Series("n", Y), series_only=True), Y).names == ("n", "y")
    refuses("age: 1 of 5 values", pair, pd.Series([NAN, 1, 2, 3, 4], name="age"), Y)


def test_series_match_by_position() -> None:
    x = pd.Series([1.0, 2.0, 3.0, 4.0], index=[3, 2, 1, 0])
    same(pair(x, pd.Series([1.0, 2.0, 3.0, 4.0])).x, [1, 2, 3, 4])


@engines(FRAMES)
def test_columns_of_frames(make: Callable[..., Any]) -> None:
    frame = make({"age": [1, 2, 3, 4, None], "dose": [0.5, None, 1.5, 2.0, 2.5], "sex": [True] * 5})
    result = pair("age", "sex", data=frame, missing="drop")
    same(result.x, [1, 2, 3, 4])
    same(result.y, [1, 1, 1, 1])
    assert result.names == ("age", "sex")
    refuses("dose: 1 of 5 values is missing, the first in row 2", pair, "sex", "dose", data=frame)
    assert pair("sex", "sex", data=frame).names == ("sex", "sex")
    columns = table(frame)
    assert list(columns) == ["age", "dose", "sex"]
    same(columns["age"], [1, 2, 3, 4, NAN])
    same(columns["dose"], [0.5, NAN, 1.5, 2, 2.5])


@engines(FRAMES)
def test_refused_frame_columns_are_named(make: Callable[..., Any]) -> None:
    frame = make({"age": [1, 2], "name": ["a", "b"], "id": [1, BIG + 1], "far": [1.0, np.inf]})
    refuses("name has dtype", table, frame)
    box = ((0, 1), (0, 1))
    refuses("name has dtype", pair, "age", "name", data=frame, domains=box)
    refuses("id holds", pair, "age", "id", data=frame)
    refuses("far[1] = inf", pair, "age", "far", data=frame)


@engines(FRAMES)
def test_unknown_columns(make: Callable[..., Any]) -> None:
    frame = make({"age": Y, "dose": Y})
    refuses(
        "x = 'agee': there is no such column; did you mean 'age'?", pair, "agee", "dose", data=frame
    )
    refuses(
        "y = 'zzz': there is no such column; the columns are 'age', 'dose'.",
        pair,
        "age",
        "zzz",
        data=frame,
    )
    wide = make({f"c{i}": Y for i in range(12)})
    message = refuses("the columns are 'c0', 'c1',", pair, "zzz", "c0", data=wide)
    assert message.endswith("'c8', 'c9', ....")
    for wrong in (Y, np.array(Y), 3, None, ("age", []), pd.Series(Y), pl.col("age")):
        words = f"y has type {type(wrong).__name__}: with data=, x and y must be column names"
        refuses(words, pair, "age", wrong, data=frame)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2, 3]] * 4, columns=["a", "a", "b"]),
        pa.Table.from_arrays([pa.array([i] * 4) for i in (1, 2, 3)], names=["a", "a", "b"]),
    ],
    ids=["pandas", "pyarrow"],
)
def test_repeated_columns(frame: Any) -> None:
    refuses("column 'a': 2 columns have this name", pair, "b", "a", data=frame)
    refuses("column 'a': 2 columns have this name", table, frame)
    same(pair("b", "b", data=frame).x, [3, 3, 3, 3])


def test_pandas_labels_that_are_not_text() -> None:
    frame = pd.DataFrame({0: Y, 1: Y[::-1], ("a", "b"): Y})
    result = pair(1, ("a", "b"), data=frame)
    same(result.x, Y[::-1])
    assert result.names == ("1", "('a', 'b')")
    assert list(table(frame)) == ["0", "1", "('a', 'b')"]
    refuses("x has type int: with data=, x and y must be column names", pair, 7, 0, data=frame)
    refuses("column '0': 2 columns have this name", table, pd.DataFrame({0: Y, "0": Y}))


@sweep("call", [table, lambda d: pair("a", "b", data=d)], ids=["table", "pair"])
@sweep("data", [np.ones(4), {"a": Y}, [Y, Y], pd.Series(Y), "a.csv"])
def test_what_is_not_a_frame(call: Callable[..., Any], data: Any) -> None:
    if isinstance(data, np.ndarray) and call is table:
        refuses("an array of shape (4,): a table has one row per record", call, data)
        return
    role = "the table" if call is table else "data"
    message = refuses(f"{role} has type {type(data).__name__}: this is not a frame", call, data)
    assert "DataFrame" in message


@pytest.mark.parametrize("wrap", [lambda d: d, nw.from_native], ids=["polars", "narwhals"])
def test_lazy_frames(wrap: Callable[..., Any]) -> None:
    lazy = wrap(pl.LazyFrame({"a": Y, "b": Y}))
    words = "has type LazyFrame: its rows are not computed yet; collect them first: .collect(),"
    refuses(f"the table {words}", table, lazy)
    refuses(f"data {words}", pair, "a", "b", data=lazy)


def test_frames_are_not_changed() -> None:
    frame = pd.DataFrame({"a": pd.array([1, None, 3, 4, 5], dtype="Int64"), "b": Y})
    before = frame.copy(deep=True)
    for values in table(frame).values():
        values[:] = -1
    pd.testing.assert_frame_equal(frame, before)


def test_no_engine_is_imported_for_numpy() -> None:
    code = (
        "import sys; from dpmic.data import pair; pair(range(4), [1, 2, 3, 4]);"
        "assert not {'narwhals', 'pandas', 'polars', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_two_labels_that_read_the_same_are_refused() -> None:
    """A ledger knows columns by their names alone."""
    frame = pd.DataFrame({"x": Y, 1: Y, "1": Y[::-1]})
    refuses("column '1': 2 columns have this name", pair, "x", 1, data=frame)
    refuses("column '1': 2 columns have this name", pair, "x", "1", data=frame)


NAN = float("nan")


@sweep(
    "person",
    [
        [NAN] * 4,
        np.full(4, NAN, np.float32),
        np.full(4, NAN, np.float16),
        np.full(4, NAN, np.longdouble),
        np.full(4, "NaT", "datetime64[D]"),
        [decimal.Decimal("nan") for _ in range(4)],
        [complex(NAN, 0) for _ in range(4)],
        pa.array([NAN] * 4),
        pa.array([None] * 4, pa.int64()),
        pa.chunked_array([[1, None, 2, 3]]),
        pd.Series([1, None, 2, 3], dtype="Int64"),
        pl.Series([1, None, 2, 3]),
        [1, None, 2, 3],
    ],
    ids=range(13),
)
def test_nobody_is_no_person(person: Any) -> None:
    """A missing identifier would make every such row a person of its own, or all of them one."""
    refuses("a row does not say whose it is", first_rows, person, None, 4)


def test_identifiers_are_compared_as_text() -> None:
    """How one column was read must not make two people of one."""
    same = [7, "7", 7.0, b"7", " 7", np.int64(7), decimal.Decimal("7.00")]
    assert first_rows(same, None, 7, 2).tolist() == [0, 1]
    assert first_rows([decimal.Decimal("7.50"), 7.5, "7.5"], None, 3).tolist() == [0]
    long = [decimal.Decimal(10**37), decimal.Decimal(10**37 + 1)]
    assert first_rows(long, None, 2).tolist() == [0, 1]
    assert first_rows([7, "07", "7.0", 7.5], None, 4).tolist() == [0, 1, 2, 3]


@sweep(
    "values",
    [
        pl.Series([{"SECRET": 1}]),
        pl.Series([[{"SECRET": 1}]]),
        pa.array([{"SECRET": 1}]),
        np.array([(1,)], dtype=[("SECRET", "i4")]),
    ],
    ids=range(4),
)
def test_a_refused_type_does_not_name_what_it_holds(values: Any) -> None:
    """The names of a record's fields can come from the record."""
    assert "SECRET" not in refuses("not several", column, values, "dose")


def test_the_number_of_records_is_taken_once() -> None:
    class Shrinking(list[float]):
        asked = 0

        def __len__(self) -> int:
            self.asked += 1
            return 1_000 if self.asked == 1 else 4

    source = find(Shrinking(Y), Y)
    assert source.n == source.n == 1_000


def test_a_matrix_is_a_table_whose_columns_have_positions_for_names() -> None:
    read = table(np.arange(8.0).reshape(4, 2))
    assert list(read) == ["0", "1"]
    assert read["1"].tolist() == [1, 3, 5, 7]


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow", None])
def test_frames_are_built_in_the_wished_engine(backend: Any) -> None:
    built = build({"name": ["a", "b"], "value": (0.5, 1.0)}, backend)
    assert type(built).__module__.startswith(backend or "pandas")
    assert table(built[["value"]] if backend != "pyarrow" else built.select(["value"]))[
        "value"
    ].tolist() == [0.5, 1.0]


def test_unknown_engines_are_refused() -> None:
    with pytest.raises(ParameterError, match="backend = 'duckdb'"):
        build({}, "duckdb")  # type: ignore[arg-type]
