"""The same rows through every engine: identical tables, and the same refusals.

``pytest tests/data/engines --engine spark`` runs this with one engine.
"""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from engine_sources import cut
from engine_works import fail, refuse, rows, shapes, tally

import dpmic
from dpmic.data import Batch, stream
from dpmic.errors import InputError, RefusedValueError, UnreadableError

N = 2000
BOUNDS = {"pay": (0, 100), "visits": (0, 12), "owns": (0, 1)}
SPLITS = {
    "one": [N],
    "ragged": [700, 1, 1299],
    "empty": [0, 1200, 0, 800, 0],
    "many": [N // 8] * 8,
}
STRANGE = ["a b", "a.b", 'q"uote', "tick`s", "*", "^a", "größe"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(8)
    pay = np.round(rng.uniform(0, 100, N), 3)
    return pa.table(
        {
            "name": [f"person {i}" for i in range(N)],
            "pay": pay,
            "visits": rng.integers(0, 13, N),
            "owns": pay + rng.normal(0, 30, N) > 50,
            "spare": np.full(N, np.nan),
        }
    )


def counted(source, bounds=BOUNDS):
    return dpmic.CountTable.of(source, bounds, B=40, c=5)


@pytest.fixture(scope="module")
def expected(table):
    whole = dpmic.CountTable(BOUNDS, B=40, c=5)
    whole.update(table)
    return whole


@pytest.mark.parametrize("sizes", SPLITS.values(), ids=SPLITS)
def test_tables_are_identical(engine, table, expected, sizes):
    found = counted(engine.source(cut(table, sizes)))
    assert found == expected
    assert found.to_bytes() == expected.to_bytes()
    assert found.n == N


def test_scores_are_identical(engine, table):
    options = {"bounds": ((0, 100), (0, 12)), "B": 40, "c": 5}
    source = engine.source(cut(table, SPLITS["ragged"]))
    score = dpmic.micr("pay", "visits", data=source, **options)
    assert score.mic == dpmic.micr("pay", "visits", data=table, **options).mic
    assert score.n == N


def test_columns_and_rows_are_known_without_reading(engine, table):
    source = stream(engine.source(cut(table, SPLITS["empty"])))
    assert source.names == tuple(table.column_names)
    assert source.once == engine.once
    if engine.once:
        with pytest.raises(InputError, match="only once"):
            source.count()
    else:
        assert source.count() == N


def test_work_sees_the_wanted_columns_and_no_empty_batch(engine, table):
    source = stream(engine.source(cut(table.select(["name", "pay"]), SPLITS["empty"])))
    (seen,) = source.fold(["pay"], shapes)
    assert sum(n for n, _ in seen) == N
    assert all(n > 0 and names == ("pay",) for n, names in seen)


def test_rows_are_read_again_unless_once(engine, table):
    source = stream(engine.source(cut(table, SPLITS["ragged"])))
    assert sum(source.fold(["pay"], rows)) == N
    if engine.once:
        with pytest.raises(InputError, match="only once"):
            list(source.fold(["pay"], rows))
    else:
        assert sum(source.fold(["visits"], rows)) == N


def test_names_of_any_kind(engine, table):
    strange = pa.table(dict.fromkeys(STRANGE, table["visits"]))
    bounds = dict.fromkeys(STRANGE[::-1], (0, 12))
    whole = dpmic.CountTable(bounds, B=40, c=5)
    whole.update(strange)
    assert counted(engine.source(cut(strange, SPLITS["ragged"])), bounds) == whole


def test_a_missing_column_is_named(engine, table):
    source = engine.source(cut(table, SPLITS["one"]))
    with pytest.raises(InputError, match="'wage'.*no such column"):
        counted(source, {"pay": (0, 1), "wage": (0, 1)})


def test_text_is_refused(engine, table):
    source = engine.source(cut(table, SPLITS["one"]))
    with pytest.raises(InputError, match="name.*not a number"):
        counted(source, {"pay": (0, 100), "name": (0, 1)})


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_late_value_is_refused_by_column_and_file(engine, table, wrong):
    values = table["pay"].to_numpy().copy()
    values[-3] = wrong
    broken = table.set_column(1, "pay", pa.array(values))
    with pytest.raises(RefusedValueError) as refused:
        counted(engine.source(cut(broken, SPLITS["many"])))
    assert refused.value.column == "pay"
    if type(engine).__name__ in ("Parquet", "Csv"):
        assert str(engine.folder / "7.") in str(refused.value)


def test_our_errors_come_home_as_they_are(engine, table):
    source = stream(engine.source(cut(table, SPLITS["ragged"])))
    with pytest.raises(RefusedValueError) as refused:
        list(source.fold(["pay"], refuse))
    assert type(refused.value) is RefusedValueError
    assert refused.value.args == ("x[7] = inf", "it is too large", "leave it out", "x")
    assert refused.value.column == "x"
    assert refused.value.__context__ is None


def test_a_failure_of_the_engine_names_it(engine):
    source = stream(engine.failing())
    with pytest.raises(UnreadableError) as failed:
        list(source.fold(["x"], rows))
    assert engine.words in failed.value.value
    assert "\n" not in str(failed.value)
    assert failed.value.__context__ is None


def test_a_fault_of_the_work_is_not_hidden(engine, table):
    """As it is where the work runs here; of an engine's process, in its words."""
    source = stream(engine.source(cut(table, SPLITS["ragged"])))
    with pytest.raises((RuntimeError, UnreadableError), match="the secret is 42"):
        list(source.fold(["pay"], fail))


def test_any_order_of_the_parts_gives_the_same(engine, table, expected):
    parts = cut(table, SPLITS["ragged"])
    for order in itertools.islice(itertools.permutations(parts), 1, 3):
        assert counted(engine.source(order)) == expected


def test_a_table_can_be_updated_by_another_source(engine, table, expected):
    first, second = table.slice(0, 900), table.slice(900)
    saved = dpmic.CountTable.from_bytes(tally(BOUNDS, frames_of(first)).to_bytes())
    assert saved + counted(engine.source([second])) == expected


def frames_of(table):
    return iter([Batch(table, None)])
