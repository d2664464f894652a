"""Whole tables whose rows come in parts: the same scores as in memory."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dpmic

BOUNDS = {"a": (-2, 2), "b": (-1, 4), "c": (-2, 2), "d": (0, 1)}
GRIDS = {"B": 24, "c": 5}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    a = rng.normal(size=500)
    columns = {"a": a, "b": a**2, "c": rng.integers(-2, 3, 500), "d": rng.uniform(size=500)}
    return pa.table({"e": ["text"] * 500, **columns})


def known(data, **options):
    return dpmic.pairwise(data, statistic="micr", bounds=BOUNDS, **{**GRIDS, **options})


def test_scores_are_those_in_memory(data, tmp_path):
    path = tmp_path / "data.parquet"
    pa.parquet.write_table(data, path)
    for total in (False, True):
        expected = known(data, tic=total).to_dict()
        table = dpmic.CountTable.of(path, BOUNDS, **GRIDS)
        for found in (
            known(path, tic=total),
            known(data.to_batches(max_chunksize=33), tic=total),
            dpmic.pairwise(table, statistic="micr", tic=total),
            known(table, tic=total, workers=2),
        ):
            assert found.to_dict() == expected


def test_default_grids_are_those_of_the_number_of_records(data, tmp_path):
    path = tmp_path / "data.parquet"
    pa.parquet.write_table(data, path)
    options = {"B": None, "c": 2, "alpha": 0.5}
    assert known(path, **options).to_dict() == known(data, **options).to_dict()
    with pytest.raises(dpmic.ParameterError, match="only once"):
        known((batch for batch in data.to_batches()), B=None)


def test_some_of_a_tables_columns(data):
    table = dpmic.CountTable.of(data, BOUNDS, **GRIDS)
    some = {"d": (0, 1), "a": (-2, 2)}
    found = dpmic.pairwise(table, statistic="micr", bounds=some)
    assert found.names == ("a", "d")
    assert found.mic[0] == known(data).value("a", "d")


def test_scores_are_kept_and_taken_up(data, tmp_path):
    out = tmp_path / "scores.parquet"
    table = dpmic.CountTable.of(data, BOUNDS, **GRIDS)
    first = dpmic.pairwise(table, statistic="micr", out=out)
    assert dpmic.pairwise(table, statistic="micr", out=out).to_dict() == first.to_dict()
    with pytest.raises(dpmic.DpmicError):
        dpmic.pairwise(table + table, statistic="micr", out=out)


def test_what_needs_all_records_is_refused(data):
    table = dpmic.CountTable.of(data, BOUNDS, **GRIDS)
    for options in (
        {"statistic": "mice"},
        {"statistic": "mic"},
        {"statistic": "micr", "pvalues": True},
    ):
        with pytest.raises(dpmic.ParameterError, match="needs all records"):
            dpmic.pairwise(table, **options)
    with pytest.raises(dpmic.ParameterError, match="missing"):
        dpmic.pairwise(table, statistic="micr", missing="drop")
    with pytest.raises(dpmic.ParameterError, match="bounds"):
        dpmic.pairwise(iter(data.to_batches()), statistic="micr", B=20)
    with pytest.raises(dpmic.InputError, match="frame"):
        dpmic.cross(table, table)
    some = dpmic.CountTable.of(data, BOUNDS, **GRIDS, target="a")
    with pytest.raises(dpmic.InputError, match="not counted"):
        dpmic.pairwise(some, statistic="micr")
