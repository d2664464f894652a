"""The table of cases of docs/decisions/0018-one-reader.md, over every source."""

import io
import re
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

from dpmic.data import ENGINES, find, first_rows, load, open_file, read_all, stream
from dpmic.errors import InputError

NAN = float("nan")


def same(found, expected):
    """Compare columns of numbers, of which some are missing."""
    np.testing.assert_array_equal(np.column_stack(found), np.array(expected, float))


def columns_of(rows, names):
    """Read columns of a stream by the rules that columns in memory are read by."""

    def parts(batches):
        sources = (find(*names, data=batch.data, roles=names) for batch in batches)
        return [read_all(source, missing="drop") for source in sources]

    found = [part for several in rows.fold(names, parts) for part in several]
    return [np.concatenate(each) for each in zip(*found, strict=True)]


# Texts: the same bytes, by every way that a text is read

SEPARATORS = {"csv": ",", "tsv": "\t"}


def by_load(path, names):
    return read_all(find(*names, data=load(str(path), names), roles=names), missing="drop")


def by_stdin(path, names):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
        return by_load("-", names)


def by_private_load(path, names):
    table = load(str(path), names, private=True)
    return read_all(find(*names, data=table, roles=names), missing="drop")


def dataset_of(path):
    """Return a dataset of a text, or None where pyarrow makes none of it."""
    parse = pa.csv.ParseOptions(delimiter=SEPARATORS[path.suffix[1:]])
    form = pa.dataset.CsvFileFormat(parse)
    try:
        return pa.dataset.dataset(path, format=form)
    except pa.ArrowInvalid:
        return None


TEXTS = {
    "command": by_load,
    "private-command": by_private_load,
    "stdin": by_stdin,
    "large-command": lambda path, names: columns_of(open_file(str(path)), names),
    "path": lambda path, names: columns_of(stream(path), names),
    "list": lambda path, names: columns_of(stream([str(path)]), names),
    "folder": lambda path, names: columns_of(stream(path.parent), names),
    "dataset": lambda path, names: columns_of(stream(dataset_of(path)), names),
}

VALUES = {
    "spaces around NA": ("x,y\n NA ,1\n 2 ,3\n", [(NAN, 1), (2, 3)]),
    "quoted NA": ('x,y\n"NA",1\n2,3\n', [(NAN, 1), (2, 3)]),
    "null and NaN": ("x,y\nnull,1\nNaN,2\n#N/A,3\n4,4\n", [(NAN, 1), (NAN, 2), (NAN, 3), (4, 4)]),
    "blank cells": ("x,y\n,1\n  ,2\n3,\n", [(NAN, 1), (NAN, 2), (3, NAN)]),
    "record of gaps": ("x,y\n1,2\n,\n ,\n", [(1, 2), (NAN, NAN), (NAN, NAN)]),
    "only gaps": ("x,y\n,1\nNA,2\n", [(NAN, 1), (NAN, 2)]),
    "empty lines": ("\nx,y\n\n1,2\n\n\n3,4\n\n", [(1, 2), (3, 4)]),
    "no final newline": ("x,y\n1,2\n3,4", [(1, 2), (3, 4)]),
    "byte order mark": ("\ufeffx,y\n1,2\n", [(1, 2)]),
    "CRLF": ("x,y\r\n1,2\r\n3,4\r\n", [(1, 2), (3, 4)]),
    "CR": ("x,y\r1,2\r3,4\r", [(1, 2), (3, 4)]),
    "quoted values": ('"x","y"\n"1","2"\n" 3 ",4\n', [(1, 2), (3, 4)]),
    "quoted newline": ('x,note,y\n1,"a\nb",2\n3,"say ""hi"", then",4\n', [(1, 2), (3, 4)]),
    "booleans": ("x,y\ntrue,1\nFALSE,2\n,3\nTrue,4\n", [(1, 1), (0, 2), (NAN, 3), (1, 4)]),
    "floats": ("x,y\n1e3,+1\n-.5,0001\n", [(1000, 1), (-0.5, 1)]),
    "2**53": (f"x,y\n{2**53},1\n-{2**53},2\n1e20,3\n", [(2**53, 1), (-(2**53), 2), (1e20, 3)]),
    "repeated name, not wanted": ("z,z,x,y\n1,2,3,4\n", [(3, 4)]),
    "numbers among the names": ("x,2020,y\n1,2,3\n", [(1, 3)]),
    "name without text": (",x,y\n0,1,2\n", [(1, 2)]),
    "text that is not wanted": ("name,x,y\nAnn,1,2\n", [(1, 2)]),
}

REFUSED = {
    "first line of numbers": ("1,2\n3,4\n", "has no names; write a header above it"),
    "first line of values": ("1,,true\n3,4,true\n", "has no names; write a header above it"),
    "repeated name, wanted": ("x,x,y\n1,2,3\n", "'x': 2 columns have this name"),
    "absent name": ("x,z\n1,2\n", "'y': there is no such column"),
    "unclosed quotation mark": ('x,y\n1,2\n"3,4\n', "a quotation mark is not closed"),
    "quotation mark in a value": ('x,y\n5",2\n', "a quotation mark is not closed"),
    "two marks in values": ('z,x,y\n8" pipe,1,2\n6" pipe,3,4\n', "a quotation mark is not closed"),
    "two unclosed marks": ('z,x,y\n"a,1,2\nb,3,4\n"c,5,6\n', "a quotation mark is not closed"),
    "a mark in a value and an unclosed one": (
        'z,x,y\na"b,1,2\nb,3,4\n"c,5,6\n',
        "a quotation mark is not closed",
    ),
    "text behind a closing mark": ('z,x,y\n"a"b,1,2\n', "a quotation mark is not closed"),
    "thousands": ('x,y\n"1,234,567",2\n1,3\n', "not a number"),
    "text": ("x,y\nAnn,1\n2,3\n", "not a number"),
    "date": ("x,y\n1,1\n2020-01-31,2\n", "not a number"),
    "boolean among numbers": ("x,y\n1,1\ntrue,2\n", "not a number"),
    "integers beyond 2**53": (f"x,y\n{2**53 + 1},1\n", "integers that float64 would round"),
    "long integers": (f"x,y\n{'9' * 400},1\n", "integers that float64 would round"),
    "infinite": ("x,y\ninf,1\n", "infinite values cannot be scored"),
    "too few values": ("x,y,z\n1,2,3\n1,2\n", "more or fewer values than the header has names"),
    "too many values": ("x,y\n1,2\n1,2,3\n", "more or fewer values than the header has names"),
    "nothing": ("", "it is empty"),
    "empty lines alone": ("\n\n", "it is empty"),
}


@pytest.fixture
def written(tmp_path):
    def write(text, ending):
        path = tmp_path / f"t.{ending}"
        separated = text
        if ending == "tsv":  # but for commas inside of quotation marks
            parts = text.split('"')
            separated = '"'.join(p if i % 2 else p.replace(",", "\t") for i, p in enumerate(parts))
        path.write_bytes(separated.encode())
        return path

    return write


@pytest.mark.parametrize("reader", TEXTS)
@pytest.mark.parametrize("ending", SEPARATORS)
def test_values_of_texts(written, reader, ending):
    for case, (text, expected) in VALUES.items():
        path = written(text, ending)
        if reader == "dataset" and dataset_of(path) is None:
            continue
        try:
            same(TEXTS[reader](path, ("x", "y")), expected)
        except (InputError, AssertionError) as error:
            raise AssertionError(f"{case}: {error}") from error


@pytest.mark.parametrize("reader", TEXTS)
@pytest.mark.parametrize("ending", SEPARATORS)
def test_refusals_of_texts(written, reader, ending):
    for case, (text, words) in REFUSED.items():
        path = written(text, ending)
        if reader == "dataset" and dataset_of(path) is None:
            continue
        with pytest.raises(InputError) as refused:
            TEXTS[reader](path, ("x", "y"))
        assert words in str(refused.value), f"{case}: {refused.value}"


@pytest.mark.parametrize("case", REFUSED)
def test_private_refusals_hold_nothing_of_the_text(written, case):
    """Neither a value, nor a count or a position, nor a name from the first line."""
    text, words = REFUSED[case]
    if case == "infinite":
        return  # refused by whoever reads the column
    path = written(text, "csv")
    with pytest.raises(InputError) as refused:
        load(str(path), ("x", "y"), private=True)
    message = str(refused.value)
    assert words in message
    kept = re.sub(r"t\.csv|float64|2 columns have|read as \d columns?|'[xy]'", "", message)
    assert not re.search(r"\d", kept.replace(str(path.parent), "")), message
    assert not any(word in message for word in ("Ann", "true", "'z'"))
    assert refused.value.__context__ is None


def test_several_files_are_read_alike(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("y,z,x\r\n4,0, NA \r\n")
    same(columns_of(stream(tmp_path), ("x", "y")), [(1, 2), (NAN, 4)])
    (tmp_path / "b.csv").write_text("y,x\n4,true\n")
    with pytest.raises(InputError, match=r"b\.csv, column 'x', row 1: 'true' is not a number"):
        columns_of(stream(tmp_path), ("x", "y"))
    (tmp_path / "b.csv").write_text("y\n4\n")
    with pytest.raises(InputError, match=r"b\.csv, column 'x'.*lacks"):
        columns_of(stream(tmp_path), ("x", "y"))


def test_what_a_dataset_says_of_its_texts(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a note\n1;'2;5';größe\n3;'4\\'';-\n", "utf-8")
    form = pa.dataset.CsvFileFormat(
        pa.csv.ParseOptions(delimiter=";", quote_char="'", escape_char="\\"),
        default_fragment_scan_options=pa.dataset.CsvFragmentScanOptions(
            pa.csv.ConvertOptions(null_values=["-"], strings_can_be_null=True),
            pa.csv.ReadOptions(column_names=["x", "y", "z"], skip_rows=1),
        ),
    )
    rows = stream(pa.dataset.dataset(path, format=form))
    assert (rows.names, rows.count()) == (("x", "y", "z"), 2)
    same(columns_of(rows, ("x",)), [(1,), (3,)])
    with pytest.raises(InputError, match=r"'z', row 1: 'größe' is|text is not a number"):
        columns_of(rows, ("x", "z"))


# Declared types: the same values in every frame, file and engine


def parquet(table, folder):
    pa.parquet.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


def feather(table, folder):
    pa.feather.write_feather(table, str(folder / "t.feather"))
    return folder / "t.feather"


def duckdb(table, _folder):
    engine = pytest.importorskip("duckdb")
    return engine.connect().from_arrow(table)


MEMORY = {
    "pandas": lambda table, _: table.to_pandas(),
    "pandas-arrow": lambda table, _: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda table, _: pl.from_arrow(table),
    "pyarrow": lambda table, _: table,
}
STREAMS = {
    "iterator": lambda table, _: (batch for batch in table.to_batches(max_chunksize=2)),
    "reader": lambda table, _: table.to_reader(max_chunksize=2),
    "parquet": parquet,
    "feather": feather,
    "dataset": lambda table, folder: pa.dataset.dataset(parquet(table, folder)),
    "filtered": lambda table, folder: pa.dataset.dataset(parquet(table, folder)).filter(
        pa.dataset.field("y") > 0
    ),
    "polars-lazy": lambda table, _: pl.from_arrow(table).lazy(),
    "duckdb": duckdb,
}
SLOW = [pytest.param(name, marks=pytest.mark.full) for name in ("dask", "spark")]
UNORDERED = {"polars-lazy", "dask", "spark"}  # they promise no order of rows


def by_last(columns):
    """Sort rows by their last column."""
    order = np.argsort(columns[-1])
    return [column[order] for column in columns]


@pytest.fixture(params=[*MEMORY, *STREAMS, *SLOW, "load-parquet", "load-feather"])
def read(request, tmp_path):
    """Return what reads columns x and y of a table, however it is handed over."""
    kind = request.param

    def columns(table, names=("x", "y")):
        found = in_any_order(table, names)
        return by_last(found) if kind in UNORDERED else found

    def in_any_order(table, names):
        if kind in MEMORY:
            data = MEMORY[kind](table, tmp_path)
            return read_all(find(*names, data=data, roles=names), missing="drop")
        if kind in STREAMS:
            return columns_of(stream(STREAMS[kind](table, tmp_path)), names)
        if kind == "dask":
            frame = pytest.importorskip("dask.dataframe")
            return columns_of(stream(frame.from_pandas(table.to_pandas(), npartitions=2)), names)
        if kind == "spark":
            session = request.getfixturevalue("spark")
            return columns_of(stream(session.createDataFrame(table)), names)
        path = {"load-parquet": parquet, "load-feather": feather}[kind](table, tmp_path)
        return by_load(path, names)

    return columns


Y = pa.array([1.0, 2.0, 3.0])


def test_values_of_declared_types(read):
    for values, expected in (
        (pa.array([1, None, 3]), [1, NAN, 3]),
        (pa.array([1.5, NAN, 3]), [1.5, NAN, 3]),
        (pa.array([2**53, 0, -(2**53)]), [2**53, 0, -(2**53)]),
    ):
        same(read(pa.table({"x": values, "y": Y})), list(zip(expected, [1, 2, 3], strict=True)))
    booleans = read(pa.table({"x": pa.array([True, False, True]), "y": Y}))
    same(booleans, [(1, 1), (0, 2), (1, 3)])


def test_refusals_of_declared_types(read):
    for values, words in (
        (pa.array([1, 2**53 + 1, 3]), "rounded"),
        (pa.array([1.0, float("inf"), 3.0]), "infinite"),
        (pa.array(["1", "2", "3"]), "text is not a number|its values can be anything"),
    ):
        with pytest.raises(InputError, match=words):
            read(pa.table({"x": values, "y": Y}))


def test_names_that_are_not_there(read):
    table = pa.table({"weight": Y, "y": Y})
    with pytest.raises(InputError, match=r"there is no such column; did you mean 'weight'"):
        read(table, ("wieght", "y"))
    with pytest.raises(InputError, match=r"the columns are 'weight', 'y'"):
        read(table, ("zzz", "y"))


# Arrays have no names and no text


def test_arrays():
    gap = [1.0, None, 3.0]
    for make in (list, tuple, lambda v: np.array(v, float), pd.Series, pl.Series, pa.array):
        same(read_all(find(make(gap), [1, 2, 3]), missing="drop"), [(1, 1), (NAN, 2), (3, 3)])
    for make in (list, tuple, np.array, pl.Series, pa.array):
        with pytest.raises(InputError, match="text is not a number"):
            read_all(find(make(["1", "2", "3"]), [1, 2, 3]))


# People are told apart alike


@pytest.mark.parametrize("kind", ["list", *MEMORY, "csv", "parquet"])
def test_people_are_told_apart_alike(kind, tmp_path):
    """By their text without spaces around it; whoever is called NA is nobody."""
    who = ["Ann", " Ann", "Bob", "07", "7", "Bob "]
    table = pa.table({"who": who, "x": [float(i) for i in range(6)]})

    def kept(table):
        if kind == "list":
            names, data = table["who"].to_pylist(), None
        elif kind in MEMORY:
            names, data = "who", MEMORY[kind](table, tmp_path)
        else:
            path = tmp_path / f"t.{kind}"
            write = pa.csv.write_csv if kind == "csv" else pa.parquet.write_table
            write(table, path)
            names, data = "who", load(str(path), ["x"], labels=["who"])
        return first_rows(names, data, table.num_rows).tolist()

    assert kept(table) == [0, 2, 3, 4]
    for nobody in ("", " ", "NA", " null ", "-", " - ", "?"):
        with pytest.raises(InputError, match="a row does not say whose it is"):
            kept(pa.table({"who": [*who[:5], nobody], "x": table["x"]}))


def test_every_engine_is_here():
    """One that is added to the package is added to these tables."""
    assert {engine.__name__ for engine in ENGINES} == {
        *("DuckDBRows", "PolarsRows", "SparkRows", "DaskRows", "Batches")
    }
