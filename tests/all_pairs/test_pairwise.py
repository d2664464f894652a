"""Whole tables: every number is that of its pair alone, however the work is cut and shared."""

import gc
import itertools
import math
import sys
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from sweeps import sweep

import dpmic
from dpmic import _progress
from dpmic.all_pairs import work as module
from dpmic.all_pairs._checkpoint import Checkpoint
from dpmic.all_pairs.devices import Cpu
from dpmic.all_pairs.work import Work
from dpmic.statistics.family import Method

LEVELS = ["low", "middle", "high"]
INF = math.inf
STATISTICS = ("mice", "micr", "mic")


def columns(n, seed=5):
    """Numbers of all kinds: noise, a relationship, ties, a constant, switches and categories."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=n)
    return {
        "noise": noise,
        "square": noise**2,
        "tied": rng.integers(0, 4, n),
        "constant": np.full(n, 7),
        "switch": rng.random(n) < 0.3,
        "tail": rng.standard_cauchy(n),
        "level": rng.integers(0, 3, n),
    }


def matrix(n, seed=5):
    return np.column_stack([values.astype(float) for values in columns(n, seed).values()])


def as_pandas(n):
    frame = pd.DataFrame(columns(n))
    codes = pd.Categorical.from_codes(frame["level"], categories=LEVELS, ordered=True)
    return frame.assign(level=codes)


def as_polars(n):
    given = columns(n)
    words = [LEVELS[code] for code in given.pop("level")]
    return pl.DataFrame({**given, "level": pl.Series(words, dtype=pl.Enum(LEVELS))})


def as_pyarrow(n):
    given = columns(n)
    codes = pa.array(given.pop("level"), pa.int32())
    level = pa.DictionaryArray.from_arrays(codes, pa.array(LEVELS), ordered=True)
    return pa.table({**given, "level": level})


BOUNDS = [(-2, 2), (0, 3), (0, 3), (0, 9), (0, 1), (-5, 5), (0, 2)]


def bounded(statistic, bounds=BOUNDS):
    return {"bounds": bounds} if statistic == "micr" else {}


def alone(values, i, j, statistic="mice", others=None, **options):
    """Score one pair by the function for two variables."""
    if statistic == "micr":
        options["bounds"] = (BOUNDS[i], BOUNDS[j])
    right = values if others is None else others
    return getattr(dpmic, statistic)(values[:, i], right[:, j], **options)


def assert_as_alone(result, values, statistic, **options):
    places = list(itertools.combinations(range(values.shape[1]), 2))
    scores = [alone(values, i, j, statistic, **options) for i, j in places]
    assert result.mic.tolist() == [score.mic for score in scores]  # the same floats
    if result.tic is not None:
        assert result.tic == pytest.approx([score.tic() for score in scores], rel=1e-12, abs=1e-12)
    first = scores[0]
    assert result.statistic == statistic
    stated = {name: result.parameters[name] for name in ("B", "c", "master")}
    assert stated == {"B": first.B, "c": first.c, "master": first.master}


# Every number is that of its pair alone


@sweep("statistic", STATISTICS)
@sweep("n", [4, 5, 37, 300])
def test_every_pair_of_a_matrix(n, statistic):
    values = matrix(n)
    result = dpmic.pairwise(values, statistic=statistic, **bounded(statistic))
    assert_as_alone(result, values, statistic)
    assert result.names == tuple("0123456")
    assert (result.others, result.tic, result.records, result.n) == (None, None, None, n)


@sweep("statistic", STATISTICS)
@sweep("made", [as_pandas, as_polars, as_pyarrow])
def test_every_kind_of_table(made, statistic):
    values, frame = matrix(60), made(60)
    if statistic == "mic" and made is as_polars:
        frame = frame.with_columns(pl.col("level").to_physical())
    result = dpmic.pairwise(frame, statistic=statistic, **bounded(statistic))
    if statistic == "mice":  # booleans and Enums are nominal
        scores = [dpmic.mice(x, y, data=frame).mic for x, y in result.pairs]
        assert result.mic.tolist() == scores
    else:
        assert_as_alone(result, values, statistic)
    assert result.names == tuple(columns(60))
    assert result.value("square", "noise") == result.mic[0]
    backend = made.__name__.removeprefix("as_")
    assert type(result.to_frame(backend)).__module__.startswith(backend)


def test_the_columns_of_a_frame_are_scored_as_mice_reads_them():
    frame = as_pandas(50)
    result = dpmic.pairwise(frame)
    for (x, y), mic in zip(result.pairs, result.mic, strict=True):
        assert dpmic.mice(x, y, data=frame).mic == mic


@sweep(
    ("statistic", "options"),
    [
        ("mice", {"alpha": 0.8}),
        ("mice", {"B": 9, "c": 5}),
        ("mice", {"B": 4, "c": 1}),
        ("mice", {"c": INF}),
        ("mice", {"master": "paper"}),
        ("mice", {"master": "paper", "c": 2.5, "B": 40.5}),
        ("micr", {"alpha": 0.8}),
        ("micr", {"B": 60, "c": 5}),
        ("micr", {"c": INF}),
        ("micr", {"master": "paper"}),
        ("mic", {"alpha": 0.8}),
        ("mic", {"B": 9, "c": 5}),
        ("mic", {"c": INF}),
    ],
    ids=str,
)
@pytest.mark.parametrize("n", [5, 80])
def test_options(n, statistic, options):
    values = matrix(n)
    for tic in (False, True):
        result = dpmic.pairwise(
            values, statistic=statistic, tic=tic, **options, **bounded(statistic)
        )
        assert_as_alone(result, values, statistic, **options)
        assert (result.tic is not None) == tic


def test_mic_has_a_master_of_its_own():
    values = matrix(40)
    assert dpmic.pairwise(values, statistic="mic").parameters["master"] == "minepy"
    with pytest.raises(dpmic.ParameterError, match="mic has its own master"):
        dpmic.pairwise(values, statistic="mic", master="paper")


@pytest.mark.parametrize("statistic", STATISTICS)
def test_the_total_leaves_the_largest_as_it_is(statistic):
    values = matrix(150, seed=8)
    plain, total = (
        dpmic.pairwise(values, statistic=statistic, tic=tic, **bounded(statistic))
        for tic in (False, np.True_)
    )
    assert plain.mic.tolist() == total.mic.tolist()
    assert plain.tic is None
    assert np.all(total.tic >= total.mic)


@given(data=st.data())
@settings(max_examples=60)
def test_any_small_table(data):
    n, m = data.draw(st.integers(4, 25)), data.draw(st.integers(2, 5))
    numbers = data.draw(
        st.sampled_from([st.integers(0, 2), st.integers(-50, 50), st.floats(-2, 2)])
    )
    values = np.array(data.draw(st.lists(numbers, min_size=n * m, max_size=n * m)), float)
    values = values.reshape(n, m)
    statistic = data.draw(st.sampled_from(STATISTICS))
    options = {
        "B": data.draw(st.sampled_from([None, 4, 7.5, 30])),
        "c": data.draw(st.sampled_from([1, 3, 15, INF])),
    }
    tic = data.draw(st.booleans())
    bounds = bounded(statistic, BOUNDS[:m])
    result = dpmic.pairwise(values, statistic=statistic, tic=tic, workers=1, **bounds, **options)
    assert_as_alone(result, values, statistic, **options)


def test_the_table_is_left_as_it_was():
    values = matrix(30)
    values[3, 0] = np.nan
    before = values.copy()
    values.setflags(write=False)
    dpmic.pairwise(values, missing="drop")
    assert np.array_equal(values, before, equal_nan=True)


def test_strides_and_types_do_not_matter():
    values = matrix(64)
    expected = dpmic.pairwise(values).mic.tolist()
    wide = np.zeros((128, 14))
    wide[::2, ::2] = values
    for same in (np.asfortranarray(values), wide[::2, ::2]):
        assert dpmic.pairwise(same).mic.tolist() == expected
    whole = np.random.default_rng(2).integers(0, 50, (64, 3))
    assert dpmic.pairwise(whole).mic.tolist() == dpmic.pairwise(whole.astype(float)).mic.tolist()


# However the work is cut and shared


def tile(monkeypatch, width):
    """Let tiles be ``width`` columns wide; 0 cuts columns pair by pair."""
    monkeypatch.setattr(Cpu, "tile", lambda *_: width)


@pytest.mark.slow
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("width", [0, 1, 2, 3, 6])
def test_the_size_of_tiles_does_not_matter(monkeypatch, width, statistic):
    values, options = matrix(50), {"statistic": statistic, "tic": True, **bounded(statistic)}
    left = options.get("bounds")
    both = {**options, "bounds": (left, left[:5])} if left else options
    whole, across = dpmic.pairwise(values, **options), dpmic.cross(values, values[:, :5], **both)
    tile(monkeypatch, width)
    for seconds in (1e-9, 3e-4, 10.0):
        monkeypatch.setattr(module, "SECONDS", seconds)
        for workers in (1, 2):
            assert dpmic.pairwise(values, workers=workers, **options) == whole
            assert dpmic.cross(values, values[:, :5], workers=workers, **both) == across


@sweep("workers", [1, 2, 4, None])
@sweep("tic", [False, True])
def test_the_number_of_workers_does_not_matter(monkeypatch, workers, tic):
    values = np.random.default_rng(4).normal(size=(90, 23))
    values[:, 3], values[::7, 5] = values[:, 2] ** 2, np.nan
    monkeypatch.setattr(module, "SECONDS", 1e-3)
    expected = dpmic.pairwise(values, missing="drop", tic=tic, workers=1)
    tile(monkeypatch, 5)
    assert dpmic.pairwise(values, missing="drop", tic=tic, workers=workers) == expected


def test_pieces_are_done_once_each(monkeypatch):
    """Every pair is in one piece, whatever tiles and gaps there are."""
    seen = []
    found = Work._found

    def noted(self, i, j, *numbers):
        seen.extend(zip(i.tolist(), j.tolist(), strict=True))
        return found(self, i, j, *numbers)

    monkeypatch.setattr(Work, "_found", noted)
    monkeypatch.setattr(module, "SECONDS", 2e-4)
    tile(monkeypatch, 3)
    values = np.random.default_rng(4).normal(size=(40, 8))
    values[0, [1, 6]] = np.nan
    dpmic.pairwise(values, missing="drop", workers=2)
    assert sorted(seen) == list(itertools.combinations(range(8), 2))
    seen.clear()
    dpmic.cross(values, values[:, :4], missing="drop", workers=2)
    assert sorted(seen) == list(itertools.product(range(8), range(4)))


def test_threads_may_ask_at_once():
    tables = [np.random.default_rng(seed).normal(size=(120, 12)) for seed in range(4)]
    expected = [dpmic.pairwise(values, workers=1) for values in tables]
    found = {}

    def ask(place):
        found[place] = [dpmic.pairwise(tables[place], workers=2) for _ in range(3)]

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {place: [one] * 3 for place, one in enumerate(expected)}


def test_no_bar_without_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "PATIENCE", -1.0)
    dpmic.pairwise(matrix(30))
    assert capsys.readouterr().err == ""


def test_nobody_need_be_there_to_watch(monkeypatch):
    """A program without a console has no stderr at all."""
    expected = dpmic.pairwise(matrix(30))
    monkeypatch.setattr(_progress, "PATIENCE", -1.0)
    monkeypatch.setattr(sys, "stderr", None)
    assert dpmic.pairwise(matrix(30)) == expected


# Missing values


@pytest.fixture
def gaps():
    values = matrix(60, seed=3)
    values[::3, 0] = np.nan
    values[:57, 2] = np.nan  # three records
    values[:56, 4] = np.nan  # four
    values[:, 6] = np.nan  # none
    return values


@sweep("workers", [1, 2])
@sweep("statistic", STATISTICS)
def test_each_pair_drops_its_own_records(gaps, statistic, workers):
    options = {"statistic": statistic, "missing": "drop", "tic": True, "workers": workers}
    result = dpmic.pairwise(gaps, **options, **bounded(statistic))
    assert result.n == 60
    scored = 0
    for k, (i, j) in enumerate(itertools.combinations(range(7), 2)):
        both = int(np.sum(~np.isnan(gaps[:, i] + gaps[:, j])))
        assert result.records[k] == both
        if both < 4:
            assert np.isnan([result.mic[k], result.tic[k]]).all()
            with pytest.raises(dpmic.InputError, match="complete"):
                alone(gaps, i, j, statistic, missing="drop")
            continue
        score = alone(gaps, i, j, statistic, missing="drop")
        assert (result.mic[k], result.records[k]) == (score.mic, score.n)
        assert result.tic[k] == pytest.approx(score.tic(), rel=1e-12, abs=1e-12)
        scored += 1
    assert scored == 9
    assert np.isnan(result.mic).sum() == 12


def test_missing_values_of_every_kind_of_table(gaps):
    expected = dpmic.pairwise(gaps[:, :6], missing="drop")
    names = list("abcdef")
    frame = pd.DataFrame(gaps[:, :6], columns=names)
    holes = {name: [None if np.isnan(v) else v for v in frame[name]] for name in names}
    for table in (frame, frame.convert_dtypes(), pl.DataFrame(holes), pa.table(holes)):
        result = dpmic.pairwise(table, missing="drop")
        assert np.array_equal(result.mic, expected.mic, equal_nan=True)
        assert np.array_equal(result.records, expected.records)


def test_complete_tables_may_be_told_to_drop():
    values = matrix(40)
    plain, dropped = dpmic.pairwise(values), dpmic.pairwise(values, missing="drop")
    assert plain.mic.tolist() == dropped.mic.tolist()
    assert plain.records is None
    assert dropped.records.tolist() == [40] * 21


def test_cross_drops_too(gaps):
    across = dpmic.cross(gaps[:, :3], gaps[:, 3:], missing="drop")
    whole = dpmic.pairwise(gaps, missing="drop")
    assert np.array_equal(across.matrix, whole.matrix[:3, 3:], equal_nan=True)
    assert across.records.tolist()[:4] == [40, 3, 40, 0]


def test_nothing_left_at_all():
    result = dpmic.pairwise(np.full((9, 3), np.nan), missing="drop", tic=True, workers=2)
    assert np.isnan(result.mic).all()
    assert np.isnan(result.tic).all()
    assert result.records.tolist() == [0, 0, 0]


# Two tables


@pytest.mark.parametrize("statistic", STATISTICS)
def test_each_column_with_each_of_another_table(statistic):
    left, right = matrix(45), matrix(45, seed=9)[:, :3]
    bounds = bounded(statistic, (BOUNDS, BOUNDS[:3]))
    result = dpmic.cross(left, right, statistic=statistic, tic=True, **bounds)
    assert result.matrix.shape == (7, 3)
    assert (result.names, result.others) == (tuple("0123456"), tuple("012"))
    for i, j in itertools.product(range(7), range(3)):
        score = alone(left, i, j, statistic, others=right)
        assert result.matrix[i, j] == result.value(str(i), str(j)) == score.mic
        assert result.tic[3 * i + j] == pytest.approx(score.tic(), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_table_with_itself(statistic):
    values = matrix(45)
    across = dpmic.cross(values, values, statistic=statistic, **bounded(statistic, [BOUNDS] * 2))
    whole = dpmic.pairwise(values, statistic=statistic, **bounded(statistic))
    apart = ~np.eye(7, dtype=bool)
    assert across.matrix[apart].tolist() == whole.matrix[apart].tolist()
    assert across.matrix[0, 0] == alone(values, 0, 0, statistic).mic


def test_one_column_each_and_tables_of_different_kinds():
    left, right = matrix(30)[:, :1], matrix(30)[:, 1:2]
    assert dpmic.cross(left, right).matrix.tolist() == [[alone(matrix(30), 0, 1).mic]]
    mixed = dpmic.cross(as_pandas(30), as_pyarrow(30))
    assert mixed.names == mixed.others == tuple(columns(30))  # names may overlap
    ranks = as_polars(30).with_columns(pl.col("level").to_physical())
    assert mixed.mic.tolist() == dpmic.cross(ranks, as_pandas(30)).mic.tolist()


def test_series_with_another_index_are_matched_by_position():
    left = as_pandas(30)
    right = left.set_index(np.arange(30)[::-1])
    assert dpmic.cross(left, right).mic.tolist() == dpmic.cross(left, left).mic.tolist()


# Bounds


def test_bounds_by_name_choose_columns():
    frame = as_pandas(50)
    bounds = {"tail": (-5, 5), "noise": (-2, 2), "tied": (0, 3)}
    result = dpmic.pairwise(frame, statistic="micr", bounds=bounds)
    assert result.names == ("noise", "tied", "tail")  # as in the table
    for (x, y), mic in zip(result.pairs, result.mic, strict=True):
        assert dpmic.micr(x, y, data=frame, bounds=(bounds[x], bounds[y])).mic == mic
    assert result.parameters["bounds"] == [[[-2.0, 2.0], [0.0, 3.0], [-5.0, 5.0]]]


def test_columns_without_bounds_may_hold_anything():
    frame = as_pandas(50).assign(name="somebody", far=INF)
    result = dpmic.pairwise(frame, statistic="micr", bounds={"noise": (-2, 2), "tied": (0, 3)})
    assert result.names == ("noise", "tied")


def test_bounds_in_order_are_those_by_name():
    values = matrix(50)
    by_name = dpmic.pairwise(values, statistic="micr", bounds=dict(enumerate(BOUNDS)))
    for bounds in (BOUNDS, tuple(BOUNDS), np.array(BOUNDS)):
        assert dpmic.pairwise(values, statistic="micr", bounds=bounds) == by_name


def test_two_tables_have_bounds_of_their_own():
    frame, values = as_pandas(50), matrix(50)
    bounds = ({"square": (0, 3), "noise": (-2, 2)}, BOUNDS)
    result = dpmic.cross(frame, values, statistic="micr", bounds=bounds)
    assert result.names == ("noise", "square")
    assert result.matrix.shape == (2, 7)
    whole = dpmic.cross(values, values, statistic="micr", bounds=(BOUNDS, BOUNDS))
    assert result.matrix.tolist() == whole.matrix[:2].tolist()


def micr(table=None, **options):
    return dpmic.pairwise(matrix(20) if table is None else table, statistic="micr", **options)


def across(**options):
    return dpmic.cross(matrix(20), matrix(20), statistic="micr", **options)


# What is refused, before anything is computed or written


@pytest.fixture
def untouched(monkeypatch, tmp_path):
    """Fail where work begins or a file appears."""

    def reached(*_):
        raise AssertionError("work has begun")

    monkeypatch.setattr(Work, "pieces", reached)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


TABLES = {
    "one column": (matrix(20)[:, :1], "1 column: a pair needs two columns"),
    "one named column": (pd.DataFrame({"a": [1, 2, 3, 4]}), "1 column: a pair needs two"),
    "no columns": (matrix(20)[:, :0], "one column per variable"),
    "no columns by name": (pd.DataFrame(index=range(5)), "it has no columns"),
    "no rows": (matrix(20)[:0], "it is empty"),
    "three rows": (matrix(20)[:3], "the table has 3 rows"),
    "one axis": (np.arange(9.0), "pass an array with two dimensions"),
    "lists": ([[1, 2], [3, 4]], "the table has type list"),
    "nothing": (None, "this is not a frame"),
    "text and numbers": (
        as_pandas(9).assign(name=pd.Series(["a"] * 8 + [1], dtype=object)),
        "name .*: its values can be anything",
    ),
    "texts": (
        pd.DataFrame({"a": range(101), "name": [f"p{i}" for i in range(101)]}),
        "column 'name': it has 101 different texts, .* at most 100; leave it out, or merge",
    ),
    "infinite": (as_pandas(9).assign(far=INF), "far.*infinite values"),
    "missing": (as_pandas(9).assign(gap=np.nan), "gap: 9 of 9 values are missing"),
    "twice": (pd.DataFrame(matrix(9)[:, :2], columns=["a", "a"]), "2 columns have this name"),
    "twice as text": (pd.DataFrame(matrix(9)[:, :2], columns=[1, "1"]), "2 columns have this"),
}


@sweep("table", TABLES)
def test_tables_that_are_refused(untouched, table):
    values, message = TABLES[table]
    with pytest.raises(dpmic.InputError, match=message):
        dpmic.pairwise(values, out="scores.parquet")
    if "one" not in table.split()[:1]:
        for left, right in ((values, matrix(9)), (matrix(9), values)):
            with pytest.raises(dpmic.InputError, match=message):
                dpmic.cross(left, right, out="scores.parquet")


OPTIONS = {
    "workers": [
        (0, "too small"),
        (-1, "too small"),
        (1.5, "integer"),
        (True, "integer"),
        ("2", "integer"),
    ],
    "tic": [("yes", "True or False"), (1, "True or False"), (None, "True or False")],
    "statistic": [
        ("mi", "'mice' or 'micr' or 'mic'"),
        (None, "no such choice"),
        ([], "no such choice"),
    ],
    "missing": [("keep", "'raise' or 'drop'"), (None, "no such choice")],
    "master": [("minepy", "'reshef' or 'paper'"), (3, "no such choice")],
    "alpha": [(0, "lie in"), (1.1, "lie in"), ("a", "real number"), (math.nan, "real number")],
    "B": [(3, "2 x 2"), (1e9, "cells"), ("a", "real number")],
    "c": [(0, "c >= 1"), (math.nan, "real number")],
    "bounds": [(BOUNDS, "mice needs none"), ((BOUNDS, BOUNDS), "mice needs none")],
    "out": [
        ("no/scores.parquet", "there is no folder"),
        ("scores.csv", "parquet"),
        (".", "Parquet"),
        (3, "not a path"),
        (True, "not a path"),
    ],
}


@sweep(
    ("option", "value", "message"),
    [(option, *case) for option, cases in OPTIONS.items() for case in cases],
    ids=str,
)
def test_options_that_are_refused(untouched, option, value, message):
    given = {"out": "scores.parquet", option: value}
    with pytest.raises(dpmic.ParameterError, match=f"(?s){option}.*{message}"):
        dpmic.pairwise(matrix(20), **given)
    if option == "bounds":
        given["bounds"] = (BOUNDS, BOUNDS)
    with pytest.raises(dpmic.ParameterError, match=f"(?s){option}.*{message}"):
        dpmic.cross(matrix(20), matrix(20), **given)


@sweep(
    ("asked", "bounds", "error", "message"),
    [
        (micr, None, dpmic.ParameterError, "micr draws its grids between bounds"),
        (micr, (0, 1), dpmic.ParameterError, "this is one interval"),
        (micr, BOUNDS[:6], dpmic.ParameterError, "bounds of 6 columns: the table has 7"),
        (micr, 3, dpmic.ParameterError, "needs bounds"),
        (micr, [*BOUNDS[:6], (2, 2)], dpmic.ParameterError, "bounds of 6"),
        (micr, [*BOUNDS[:6], (0, INF)], dpmic.ParameterError, "bounds of 6"),
        (micr, [*BOUNDS[:6], None], dpmic.ParameterError, "bounds of 6"),
        (micr, {"0": (0, 1)}, dpmic.InputError, "1 column"),
        (micr, {}, dpmic.InputError, "0 columns"),
        (micr, {"0": (0, 1), "age": (0, 1)}, dpmic.InputError, "'age': there is no such column"),
        (across, None, dpmic.ParameterError, "micr draws its grids between bounds"),
        (across, BOUNDS, dpmic.ParameterError, "each of the two tables"),
        (across, dict(enumerate(BOUNDS)), dpmic.ParameterError, "each of the two tables"),
        (across, (BOUNDS, None), dpmic.ParameterError, "micr draws its grids between bounds"),
        (across, (BOUNDS, BOUNDS[:2]), dpmic.ParameterError, "bounds of 2 columns"),
        (across, (BOUNDS, {"age": (0, 1)}), dpmic.InputError, "there is no such column"),
        (across, ({}, BOUNDS), dpmic.DpmicError, "column"),
        (across, (BOUNDS, {}), dpmic.DpmicError, "column"),
    ],
)
def test_bounds_that_are_refused(untouched, asked, bounds, error, message):
    with pytest.raises(error, match=message):
        asked(bounds=bounds, out="scores.parquet")


def test_tables_of_different_length_are_refused(untouched):
    with pytest.raises(dpmic.InputError, match="the left table has 20 rows and the right one 19"):
        dpmic.cross(matrix(20), matrix(19), out="scores.parquet")


def test_what_would_take_hours_is_refused(untouched):
    with pytest.raises(dpmic.ParameterError, match="c = inf with n = 4001"):
        dpmic.pairwise(np.zeros((4_001, 2)), c=INF)


# Files


@pytest.fixture
def out(tmp_path):
    return tmp_path / "scores.parquet"


def nothing_computed(monkeypatch):
    def reached(*_):
        raise AssertionError("this was computed already")

    for name in ("_together", "_one_by_one", "_alone"):
        monkeypatch.setattr(Work, name, reached)
    monkeypatch.setattr(Method, "axis", reached)


def assert_only(path):
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_the_file_holds_the_result(monkeypatch, gaps, out, statistic, workers):
    options = {"statistic": statistic, "tic": True, "missing": "drop", **bounded(statistic)}
    plain = dpmic.pairwise(gaps, **options)
    result = dpmic.pairwise(gaps, **options, workers=workers, out=out)
    assert result == plain
    assert_only(out)
    stored, frame = pl.read_parquet(out), result.to_frame("polars")
    assert stored.columns == frame.columns == ["x", "y", "mic", "tic", "records"]
    assert stored.cast({"x": pl.String, "y": pl.String}).equals(frame, null_equal=True)
    before = out.read_bytes(), out.stat().st_mtime_ns
    nothing_computed(monkeypatch)
    assert dpmic.pairwise(gaps, **options, out=str(out)) == plain
    assert (out.read_bytes(), out.stat().st_mtime_ns) == before


def test_the_file_of_two_tables(monkeypatch, out):
    left, right = as_pandas(40), matrix(40, seed=9)[:, :3]
    result = dpmic.cross(left, right, out=out)
    rows = parquet.read_table(out).to_pydict()
    assert list(zip(rows["x"], rows["y"], strict=True)) == list(result.pairs)
    assert rows["mic"] == result.mic.tolist()
    nothing_computed(monkeypatch)
    assert dpmic.cross(as_pyarrow(40), right, out=out) == result
    with pytest.raises(dpmic.ParameterError, match="other values"):  # an Enum is nominal
        dpmic.cross(as_polars(40), right, out=out)


def broken_off(monkeypatch, error, after):
    """Let work end with an error after so many pieces; how many pairs were done is returned."""
    done, taken, found, add = [], threading.Event(), Work._found, Checkpoint.add

    def _found(self, i, j, *numbers):
        if 0 <= after <= len(done):
            assert taken.wait(60)  # for what other threads have done
            raise error
        done.append(i.size)
        return found(self, i, j, *numbers)

    def _add(self, *given):
        add(self, *given)
        taken.set()

    monkeypatch.setattr(Work, "_found", _found)
    monkeypatch.setattr(Checkpoint, "add", _add)
    return done


@pytest.mark.parametrize(
    ("workers", "error"), [(1, KeyboardInterrupt), (1, MemoryError), (2, MemoryError)]
)
@pytest.mark.parametrize("width", [0, 4, 100])
def test_work_is_taken_up_where_it_ended(monkeypatch, gaps, out, workers, error, width):
    options = {"missing": "drop", "tic": True, "workers": workers}
    plain = dpmic.pairwise(gaps, **options)
    monkeypatch.setattr(module, "SECONDS", 3e-3)
    tile(monkeypatch, width)
    with monkeypatch.context() as first:
        broken_off(first, error, after=4)
        with pytest.raises(error):
            dpmic.pairwise(gaps, **options, out=out)
    folder = out.with_name("scores.parquet.parts")
    kept = sum(parquet.read_table(part).num_rows for part in folder.glob("*.parquet"))
    assert 0 < kept < 21
    assert not out.exists()
    rest = broken_off(monkeypatch, None, after=-1)
    assert dpmic.pairwise(gaps, **options, out=out) == plain
    assert sum(rest) == 21 - kept
    assert_only(out)


def test_two_tables_are_taken_up_too(monkeypatch, out):
    left, right = matrix(50), matrix(50, seed=9)
    plain = dpmic.cross(left, right)
    monkeypatch.setattr(module, "SECONDS", 1e-9)
    for after in (5, 11, 20):
        with monkeypatch.context() as once:
            broken_off(once, MemoryError, after)
            with pytest.raises(MemoryError):
                dpmic.cross(left, right, out=out, workers=1)
    rest = broken_off(monkeypatch, None, after=-1)
    assert dpmic.cross(left, right, out=out) == plain
    assert sum(rest) == 49 - 36
    assert_only(out)


OTHERS = {
    "values": lambda v: dpmic.pairwise(v * 2, out="scores.parquet"),
    "columns": lambda v: dpmic.pairwise(
        pd.DataFrame(v, columns=list("abcdefg")), out="scores.parquet"
    ),
    "columns of": lambda v: dpmic.cross(v[:, :3], v[:, 3:], out="scores.parquet"),
    "statistic": lambda v: dpmic.pairwise(v, statistic="mic", out="scores.parquet"),
    "B": lambda v: dpmic.pairwise(v, alpha=0.7, out="scores.parquet"),
    "c": lambda v: dpmic.pairwise(v, c=5, out="scores.parquet"),
    "master": lambda v: dpmic.pairwise(v, master="paper", out="scores.parquet"),
    "tic": lambda v: dpmic.pairwise(v, tic=True, out="scores.parquet"),
    "missing": lambda v: dpmic.pairwise(v, missing="drop", out="scores.parquet"),
    "n": lambda v: dpmic.pairwise(v[:-1], out="scores.parquet"),
    "bounds": lambda v: micr(v, bounds=BOUNDS, out="scores.parquet"),
}


@sweep("finished", [True, False])
@sweep("what", OTHERS)
def test_a_file_of_anything_else_is_left_alone(monkeypatch, tmp_path, what, finished):
    monkeypatch.chdir(tmp_path)
    values = matrix(40)
    if finished:
        dpmic.pairwise(values, out="scores.parquet")
    else:
        with monkeypatch.context() as once:
            once.setattr(module, "SECONDS", 1e-9)
            broken_off(once, MemoryError, after=3)
            with pytest.raises(MemoryError):
                dpmic.pairwise(values, out="scores.parquet")
    held = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet") if path.is_file()}
    assert held
    nothing_computed(monkeypatch)
    monkeypatch.setattr(Work, "pieces", None)
    with pytest.raises(dpmic.ParameterError, match=f"was made with .*{what}"):
        OTHERS[what](values)
    assert held == {p: p.read_bytes() for p in tmp_path.rglob("*.parquet") if p.is_file()}
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"scores.parquet" if finished else "scores.parquet.parts"}


def test_other_bounds_are_other_scores(out):
    values = matrix(40)
    micr(values, bounds=BOUNDS, out=out)
    with pytest.raises(dpmic.ParameterError, match="bounds"):
        micr(values, bounds=[*BOUNDS[:6], (0, 3)], out=out)


def test_the_same_grid_of_whole_columns_may_be_another_of_those_with_gaps(gaps, out):
    """Alpha sets B from the records of each pair, so B alone does not tell what was asked."""
    by_alpha = dpmic.pairwise(gaps, missing="drop", out=out)
    options = {"missing": "drop", "B": by_alpha.parameters["B"]}
    fixed = dpmic.pairwise(gaps, **options)
    assert not np.array_equal(fixed.mic, by_alpha.mic, equal_nan=True)
    with pytest.raises(dpmic.ParameterError, match="was made with"):
        dpmic.pairwise(gaps, **options, out=out)


def test_how_work_is_shared_is_no_part_of_what_it_is(monkeypatch, out):
    values = matrix(40)
    result = dpmic.pairwise(values, out=out, workers=2)
    nothing_computed(monkeypatch)
    monkeypatch.setattr(module, "SECONDS", 1e-9)
    assert dpmic.pairwise(np.asfortranarray(values), out=out, workers=1) == result


# An interrupt


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_says_no_more_than_that(monkeypatch, workers):
    """What joblib was doing when columns were cut is no business of the person."""

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_cuttable", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        dpmic.pairwise(matrix(40), workers=workers)
    assert caught.value.__context__ is None


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), dpmic.ParameterError("out", "full", "free")]
)
def test_nothing_but_the_failure_is_told(monkeypatch, out, error, workers):
    """Where it comes between two pieces, joblib would warn of those that nobody takes."""

    def failing(*_):
        time.sleep(0.1)
        raise error

    monkeypatch.setattr(module, "SECONDS", 1e-9)
    monkeypatch.setattr(Checkpoint, "add", failing)
    with pytest.raises(type(error)):
        dpmic.pairwise(np.zeros((40, 90)), out=out, workers=workers)
    gc.collect()
