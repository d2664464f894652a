"""What is a stream and what is none, and batches that somebody else makes."""

import subprocess
import sys

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from engine_works import rows
from sweeps import sweep

from dpmic.data import stream
from dpmic.errors import DependencyError, InputError, RefusedValueError


@sweep(
    "data",
    [
        pa.table({"x": [1]}),
        pd.DataFrame({"x": [1]}),
        pl.DataFrame({"x": [1]}),
        nw.from_native(pl.DataFrame({"x": [1]})),
        np.arange(3),
        [1, 2],
        [],
        ["age", "pay"],
        "age",
        None,
        7,
        object(),
    ],
    ids=lambda data: type(data).__name__,
)
def test_what_is_in_memory_is_no_stream(data):
    assert stream(data) is None


def test_lazy_frames_of_narwhals_are_unwrapped():
    source = stream(nw.from_native(pl.LazyFrame({"x": [1, 2]})))
    assert source.names == ("x",)
    assert sum(source.fold(["x"], rows)) == 2


@pytest.mark.parametrize("version", ["1.34.0", "1.36.1", "0.20.31"])
def test_a_polars_that_loses_rows_is_refused(monkeypatch, version):
    """When a query fails, it hands out the batches before and says nothing."""
    monkeypatch.setattr(pl, "__version__", version)
    with pytest.raises(DependencyError, match=rf"polars {version}: .*loses rows.*dpmic\[polars\]"):
        stream(pl.LazyFrame({"x": [1.0]}))


def test_no_engine_is_loaded_to_find_out():
    code = "import sys; from dpmic.data import stream; stream(7); print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in said.stdout.split()}
    assert not loaded & {"pyarrow", "pandas", "polars", "duckdb", "dask", "distributed", "pyspark"}


def test_a_list_of_batches_is_read_again():
    parts = [pa.table({"x": [1, 2]}), pa.record_batch({"x": [3]})]
    source = stream(parts)
    assert not source.once
    assert source.count() == 3
    assert [sum(source.fold(["x"], rows)) for _ in range(2)] == [3, 3]


def test_an_iterator_is_looked_at_when_its_names_are_wanted():
    taken = []

    def batches():
        for i in range(3):
            taken.append(i)
            yield pa.record_batch({"x": [i], "y": [i]})

    source = stream(batches())
    assert (taken, source.once) == ([], True)
    assert source.names == ("x", "y")
    assert taken == [0]
    assert sum(source.fold(["y"], rows)) == 3


@pytest.mark.parametrize(
    ("third", "words"),
    [
        (pa.table({"x": [1.5], "y": [1]}), "its type is double, but int64"),
        (pa.table({"y": [1]}), "lacks the column"),
        (pa.table([[1], [2], [3]], names=["x", "x", "y"]), "more than once"),
    ],
)
def test_a_batch_with_other_columns_or_types_is_named(third, words):
    parts = [pa.table({"x": [1], "y": [1]}), pa.table({"x": [2], "y": [1], "z": [0]}), third]
    with pytest.raises(RefusedValueError, match=rf"batch 3, column 'x'.*{words}") as refused:
        list(stream(iter(parts)).fold(["x"], rows))
    assert refused.value.column == "x"
    assert sum(stream(iter(parts)).fold(["y"], rows)) == 3


def test_iterators_of_something_else_are_refused():
    with pytest.raises(InputError, match="batch 1 has type int"):
        stream(iter([1, 2])).names  # noqa: B018
    with pytest.raises(InputError, match="batch 2 has type DataFrame"):
        list(stream(iter([pa.table({"x": [1]}), pd.DataFrame({"x": [1]})])).fold(["x"], rows))
    with pytest.raises(InputError, match="it is empty"):
        stream(iter(())).names  # noqa: B018


def test_an_error_of_the_maker_of_batches_is_his_own():
    def batches():
        yield pa.table({"x": [1]})
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        list(stream(batches()).fold(["x"], rows))


def test_a_column_that_is_not_there_is_refused_before_anything_is_read():
    source = stream(iter([pa.table({"weight": [1]})]))
    with pytest.raises(InputError, match="'wieght'.*did you mean 'weight'"):
        source.fold(["wieght"], rows)
    assert sum(source.fold(["weight"], rows)) == 1
