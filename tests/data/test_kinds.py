"""What a column is: by its type, by what it looks like in a text, and privately by its name."""

import datetime
import enum
import math
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from sweeps import sweep

from dpmic import _validate
from dpmic._validate import Categories
from dpmic.data import (
    Dialect,
    _reader,
    find_all,
    gaps,
    load,
    pair,
    read_variables,
    without_identifiers,
)
from dpmic.data._variables import is_nominal, no_variable, variable
from dpmic.errors import InputError, RefusedValueError

WORDS = ["b", "a", "b", None]


class Colour(enum.Enum):
    red = 1
    blue = 2


# By type

NOMINAL = {
    "list": WORDS,
    "tuple": tuple(WORDS),
    "bytes": [b"b", b"a", b"b", None],
    "numpy": np.array(["b", "a", "b", ""]),
    "numpy bytes": np.array([b"b", b"a", b"b", b""]),
    "numpy object": np.array(WORDS, dtype=object),
    "numpy object with nan": np.array(["b", "a", "b", math.nan], dtype=object),
    "pandas": pd.Series(WORDS),
    "pandas object": pd.Series(WORDS, dtype=object),
    "pandas string": pd.Series(WORDS, dtype="string"),
    "pandas category": pd.Series(pd.Categorical(WORDS, ["z", "b", "a"])),
    "pandas categorical": pd.Categorical(WORDS),
    "pandas arrow": pd.Series(WORDS, dtype=pd.ArrowDtype(pa.string())),
    "polars": pl.Series(WORDS),
    "polars categorical": pl.Series(WORDS, dtype=pl.Categorical),
    "polars enum": pl.Series(WORDS, dtype=pl.Enum(["b", "c", "a"])),
    "pyarrow": pa.array(WORDS),
    "pyarrow large": pa.array(WORDS, pa.large_string()),
    "pyarrow dictionary": pa.array(WORDS).dictionary_encode(),
    "pyarrow chunks": pa.chunked_array([WORDS[:2], WORDS[2:]]),
}


@pytest.mark.parametrize("values", NOMINAL.values(), ids=NOMINAL.keys())
def test_text_is_nominal(values):
    assert is_nominal(values)
    own = variable(values, "ward")
    assert own.categories == Categories(("a", "b"))
    np.testing.assert_array_equal(own.values, [1, 0, 1, np.nan])


@pytest.mark.parametrize(
    "make", [list, np.array, pd.Series, pl.Series, pa.array, lambda v: pd.Series(v, dtype=object)]
)
def test_booleans_are_nominal_with_both_categories(make):
    own = variable(make([True, True, True, True]), "smoker")
    assert own.categories == Categories(("false", "true"))
    assert own.at(np.array([True, False, True, True])).values.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 3],
        [1.5, None],
        [None, None],
        np.arange(3),
        pd.Series(pd.Categorical(["a", "b"], ["b", "a"], ordered=True)),
        pa.DictionaryArray.from_arrays([0, 1], ["a", "b"], ordered=True),
        pa.nulls(3),
        [datetime.date(2024, 1, 1)],
        pd.Series([pd.Timestamp("2024-01-01")]),
    ],
)
def test_numbers_dates_and_ordered_categories_are_not(values):
    assert not is_nominal(values)
    assert variable(values, "x").categories is None


def test_members_of_an_enum_are_categories():
    own = variable([Colour.red, Colour.blue, Colour.red], "colour")
    assert own.categories == Categories(("Colour.blue", "Colour.red"))


def test_only_categories_that_occur_count():
    points = pair(["a", "b", "c", "a", "b", "d"], [1, 2, None, 4, 5, 6], missing="drop")
    assert points.categories == (Categories(("a", "b", "d")), None)
    assert points.x.tolist() == [0, 1, 0, 1, 2]


def test_a_domain_decides_what_a_column_is():
    wards, codes = Categories(("a", "b")), Categories(("2", "1"))
    points = pair(
        ["a", "x", "b", "a", "b"], [1, 2, 1, 1, 2], missing="drop", domains=(wards, codes)
    )
    assert points.x.tolist() == [0, 1, 0, 1]  # x is not listed: missing
    assert points.y.tolist() == [1, 1, 1, 0]
    with pytest.raises(InputError, match="text is not a number; .* or list its categories"):
        pair(["a"] * 5, [1] * 5, domains=((0, 1), (0, 1)))


def test_too_many_categories_are_counted():
    with pytest.raises(InputError, match=r"column 'x': it has 1,000 different texts.* at most 100"):
        pair([f"t{i}" for i in range(1000)], range(1000))


# By what a text looks like

TEXT = """nr,ward,smoker,at,born,mixed,empty,late
1, a ,true,2024-01-01,31.12.1970,A1,,
2,b,FALSE,2024-01-01T12:00,1.2.1970,12,NA,x
3,NA,,2024-01-02T00:00+02:00,,,,y
"""


def test_columns_are_what_they_look_like(tmp_path):
    (tmp_path / "t.csv").write_text(TEXT.replace("12,NA", "B7,NA"))
    table = load(str(tmp_path / "t.csv"), typed=True)
    assert table["nr"].to_pylist() == [1, 2, 3]
    assert table["ward"].to_pylist() == ["a", "b", None]
    assert table["smoker"].to_pylist() == [True, False, None]
    days = read_variables(find_all(table.select(["at", "born"])), missing="drop")
    np.testing.assert_array_equal(days[0].values, [19723, 19723.5, 19723 + 22 / 24])
    np.testing.assert_array_equal(days[1].values, [364, 31, np.nan])
    assert table["empty"].null_count == 3
    assert table["late"].to_pylist() == [None, "x", "y"]


def test_mixtures_are_refused_with_their_row(tmp_path):
    path = tmp_path / "t.csv"
    for values, words in (
        (["A1", "12"], r"column 'v', row 1: 'A1' is not a number"),
        (["12", "13", "many"], r"row 3: 'many' is not a number"),
        (["true", "1"], r"row 1: 'true' is not a number"),
        (["2024-01-01", "2024-13-01"], r"row 2: '2024-13-01' is not a date"),
        (["1970-01-01", "soon"], r"row 2: 'soon' is not a date"),
    ):
        path.write_text("\n".join(["v", *values]) + "\n")
        with pytest.raises(RefusedValueError, match=words) as refused:
            load(str(path), typed=True)
        assert "--nominal 'v'" in refused.value.remedy or "write dates as" in refused.value.remedy
        assert load(str(path), typed=True, labels=["v"])["v"].to_pylist() == values


def test_remedies_fit_the_value_and_work(tmp_path):
    path = tmp_path / "t.csv"
    for values, remedy in (
        (["12", "unbekannt"], "if it means a missing value, pass .*Dialect.na='unbekannt'"),
        (["2024-01-01", "unbekannt"], "if it means a missing value, pass .*na='unbekannt'"),
        (["1", "1.234.567"], "write numbers without separators of thousands, such as 1000.5"),
        (["1 234", "1\u202f234"], "write numbers without separators of thousands"),
        (["1'234,5"], "write numbers without separators of thousands"),
        (["2024-01-01", "01/13/2024"], "write dates as 2024-05-31 or 31.05.2024"),
        (["2024-01-01", "13-Jan-2024"], "write dates as 2024-05-31 or 31.05.2024"),
    ):
        path.write_text("\n".join(["v;w", *(f"{value};1" for value in values)]) + "\n")
        with pytest.raises(RefusedValueError) as refused:
            load(str(path), typed=True)
        assert re.match(remedy, refused.value.remedy), refused.value
        if "na=" in remedy:
            table = load(str(path), typed=True, dialect=Dialect(na="unbekannt"))
            assert table["v"].null_count == 1


@sweep("days", ["2024-01-{:02}", "{:02}/01/2024", "{:02}.01.24", "{:02}-Jan-2024", "{:02} May 24"])
def test_dates_as_text_are_noted(days):
    texts = [days.format(i % 28 + 1) for i in range(60)]
    with pytest.warns(
        UserWarning, match="column 'day': its texts look like dates.*pandas.to_datetime"
    ):
        read_variables(find_all(pa.table({"day": texts, "age": range(60)})))
    assert no_variable(pa.chunked_array([texts]), "day") == ""
    assert no_variable(pa.chunked_array([texts[:28]]), "day").startswith(
        "texts that look like dates: give the"
    )


@sweep("names", ["12-34-5678", "10.0.{}", "0.1.2024", "A1", "31.12.3024", "2024"])
def test_other_texts_are_not_dates(names):
    texts = [names.format(i % 9) for i in range(60)]
    variable(texts, "v")  # a warning would be an error
    assert "dates" not in no_variable(pa.chunked_array([texts[:1] * 3]), "v")


def test_too_many_dates_as_text_are_refused_with_a_remedy_that_works():
    days = [f"{2000 + i // 12}-{i % 12 + 1:02}-01" for i in range(120)]
    assert no_variable(pa.chunked_array([days * 2]), "day").startswith("texts that look like dates")
    with pytest.raises(InputError, match="120 different texts.*; give the column a date type"):
        pair(days, range(120))
    assert pair(np.array(days, "datetime64[D]"), range(120)).categories == (None, None)


def test_true_and_false_among_other_texts_are_texts(tmp_path):
    (tmp_path / "t.csv").write_text("v\ntrue\nunknown\nfalse\n")
    assert load(str(tmp_path / "t.csv"), typed=True)["v"].to_pylist() == [
        "true",
        "unknown",
        "false",
    ]


def test_columns_that_begin_with_gaps_in_several_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(_reader, "BLOCK", 64)
    lines = [",,," for _ in range(30)] + ["1,a,true,2024-01-01"] * 30 + [",,,"] * 30
    (tmp_path / "t.csv").write_text("\n".join(["n,t,b,d", *lines]) + "\n")
    table = load(str(tmp_path / "t.csv"), typed=True)
    assert [str(kind) for kind in table.schema.types] == [
        "double",
        "string",
        "bool",
        "timestamp[us]",
    ]
    assert [column.null_count for column in table.columns] == [60] * 4


def test_without_columns(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c\n1,2,x\n3,y,z\n")
    assert load(str(tmp_path / "t.csv"), typed=True, without=["b"]).column_names == ["a", "c"]
    with pytest.raises(InputError, match="no such column"):
        load(str(tmp_path / "t.csv"), typed=True, without=["d"])


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("2024-02-29", 19782),
        (" 2024-02-29 ", 19782),
        ("2024-02-29 06:00", 19782.25),
        ("2024-02-29T06:00:00Z", 19782.25),
        ("29.02.2024", 19782),
        ("29.2.2024 18:00:00", 19782.75),
        ("30.02.2024", None),
        ("2023-02-29", None),
        ("29/02/2024", None),
        ("29.02.24", None),
        ("2024", None),
        ("2024-02", None),
        ("12:30", None),
        ("a-b-c-d-e-f", None),
    ],
)
def test_dates_as_they_are_written(text, days):
    assert _validate.moment(text) == days


# By name, privately

DAY = datetime.datetime(2024, 1, 1)


def test_named_columns_are_dates_and_labels(tmp_path):
    lines = "ward,day,age\n7,2024-01-01,30\n007,1.1.2024,NA\n"
    (tmp_path / "t.csv").write_text(lines)
    options = {"labels": ["ward"], "dates": ["day"], "private": True}
    table = load(str(tmp_path / "t.csv"), ["ward", "day", "age"], **options)
    assert table["ward"].to_pylist() == ["7", "007"]
    assert table["day"].to_pylist() == [DAY, DAY]
    assert table["age"].to_pylist() == [30, None]
    stored = pa.table({"ward": ["7"], "day": ["2024-01-01"], "age": [30]})
    parquet.write_table(stored, tmp_path / "t.parquet")
    table = load(str(tmp_path / "t.parquet"), ["ward", "day", "age"], **options)
    assert table["day"].to_pylist() == [DAY]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_private_refusal_of_a_date_names_the_column_alone(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    if ending == "csv":
        path.write_text("day,age\n2024-01-01,30\nsecret,31\n")
    else:
        parquet.write_table(pa.table({"day": ["2024-01-01", "secret"], "age": [30, 31]}), path)
    with pytest.raises(RefusedValueError) as refused:
        load(str(path), ["day", "age"], dates=["day"], private=True)
    assert str(refused.value) == (
        "column 'day': it has a value that is not a date; write dates as 2024-05-31 or 31.05.2024."
    )
    # Nothing is inferred: what looks like a date is not one unless that is said.
    with pytest.raises(InputError, match="not a number"):
        pair_of_numbers(path, "day", "age")


def pair_of_numbers(path, x, y):
    return pair(x, y, data=load(str(path), [x, y], private=True), domains=((0, 1), (0, 1)))


# Columns that are not variables


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([5, 6, 7, 8], "consecutive numbers"),
        ([5.0, 6.0, 7.0], "consecutive numbers"),
        ([5, 6, 8], ""),
        ([7, 6, 5], ""),
        ([5, None, 7], ""),
        ([1, 2], ""),
        (["x", "y", "z"], "every text is different"),
        (["x", None, "y", "z"], "every text is different"),
        (["x", "y", "x"], ""),
        ([f"t{i % 101}" for i in range(200)], "101 different texts"),
        ([True, False], ""),
        ([datetime.date(2024, 1, day) for day in (1, 2, 3)], ""),
    ],
)
def test_identifiers(values, reason):
    assert no_variable(pa.chunked_array([values]), "v") == reason


def test_a_table_without_a_pair_says_what_was_left_out():
    table = pa.table({"nr": [1, 2, 3], "name": ["a", "b", "c"], "age": [5, 5, 6]})
    words = (
        r"1 of 3 columns left: .*'nr' \(consecutive numbers\), 'name' \(every text is different\)"
    )
    with pytest.raises(InputError, match=words):
        without_identifiers(table)
    left, listed = without_identifiers(table, kept=[1])
    assert (left.column_names, listed) == (["name", "age"], "'nr' (consecutive numbers)")


def test_gaps_of_a_table():
    for values in ([1.0, None, math.nan], ["a", " NA ", None], ["a", "", " "]):
        assert gaps(pa.chunked_array([values])).tolist() == [False, True, True]
    assert not gaps(pa.chunked_array([[1, 2]])).any()
