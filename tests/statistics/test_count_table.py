"""A table of counts: the same scores as in memory, whatever the split and the order."""

import hashlib
import pickle
import struct
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweeps import sweep

import dpmic
from dpmic import _kernels
from dpmic._validate import Limits
from dpmic.statistics import count_table, records
from dpmic.statistics.fixed_grids import Locator, cell_layout
from dpmic.statistics.grids import range_cuts
from dpmic.statistics.maps import Map
from dpmic.statistics.search import Search

BOUNDS = {"x": (-1.0, 1.0), "y": (0.0, 4.0), "z": (-2.0, 2.0)}


def draw(rng, n):
    """Numbers of every kind: ties, heavy tails, constants, values on the cuts."""
    kinds = (
        rng.normal(size=n),
        rng.integers(-2, 3, n) / 2,
        rng.standard_cauchy(n),
        np.full(n, rng.normal()),
        rng.integers(-20, 21, n) / 10,
    )
    return kinds[rng.integers(len(kinds))]


def columns(rng, n):
    x = draw(rng, n)
    return {"x": x, "y": np.where(rng.uniform(size=n) < 0.5, x**2, draw(rng, n)), "z": draw(rng, n)}


def made(data, **options):
    table = dpmic.CountTable(BOUNDS, **options)
    table.update(pa.table(data))
    return table


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_scores_are_those_in_memory(seed, monkeypatch):
    """Bit by bit, in both orders, with and without a table of f: 12 x 25 x 4 searches."""
    rng = np.random.default_rng(seed)
    for _ in range(25):
        n = int(rng.integers(4, 300))
        grids = {
            "B": float(rng.choice([4, 5.5, 9, 16, 30, 60])),
            "c": float(rng.choice([1, 1.7, 5, 15])),
            "master": str(rng.choice(["reshef", "paper"])),
        }
        data = columns(rng, n)
        table = made(data, **grids)
        for a, b in (("x", "y"), ("y", "x")):
            box = BOUNDS[a], BOUNDS[b]
            known = dpmic.micr(data[a], data[b], bounds=box, **grids)
            for most in (2**20, 0):
                monkeypatch.setattr(records, "MOST_TABLED", most)
                score = dpmic.micr(a, b, data=table)
                assert np.array_equal(score.matrix, known.matrix, equal_nan=True)
                assert (score.grid, score.n, score.bounds) == (known.grid, n, box)
                assert (score.B, score.c, score.master) == (known.B, known.c, known.master)


def test_scores_of_narrow_intervals_are_those_in_memory():
    """Where float64 cannot tell all cuts apart some atoms are empty."""
    rng = np.random.default_rng(5)
    low = 1e6
    high = low + 30_000 * np.spacing(low)
    x = low + rng.integers(0, 30_000, 500) * np.spacing(low)
    bounds = {"x": (low, high), "y": (0, 1)}
    y = rng.uniform(size=500)
    table = dpmic.CountTable(bounds, B=400, c=2)
    assert table._locators[0].cuts.size < table.grids.family.layout.family.fractions.size
    table.update(pa.table({"x": x, "y": y}))
    known = dpmic.micr(x, y, bounds=tuple(bounds.values()), B=400, c=2)
    assert np.array_equal(dpmic.micr("x", "y", data=table).matrix, known.matrix, equal_nan=True)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_split_in_any_order_is_the_same_table(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n = data.draw(st.integers(0, 200))
    grids = {"B": data.draw(st.sampled_from([4, 20, 33])), "c": data.draw(st.sampled_from([1, 5]))}
    whole = columns(rng, n)
    known = made(whole, **grids)
    order = rng.permutation(n)
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=6)))
    parts = [{k: v[rows] for k, v in whole.items()} for rows in np.split(order, cuts)]

    one_by_one = dpmic.CountTable(BOUNDS, **grids)
    for part in parts:
        one_by_one.update(pa.RecordBatch.from_pydict(part))
    assert one_by_one == known

    tables = [made(part, **grids) for part in parts]
    while len(tables) > 1:  # any tree of additions
        i = data.draw(st.integers(0, len(tables) - 2))
        tables[i : i + 2] = [tables[i] + tables[i + 1]]
    assert tables[0] == known
    assert tables[0].to_bytes() == known.to_bytes()


def test_addition_changes_neither_table():
    rng = np.random.default_rng(1)
    a, b = (made(columns(rng, n), B=16, c=5) for n in (40, 50))
    before = a.to_bytes(), b.to_bytes()
    assert a + b == b + a != a
    assert (a + b).n == sum([a, b]).n == 90
    assert sum([a]) == a
    assert sum([a]) is not a
    assert (a.to_bytes(), b.to_bytes()) == before


@sweep(
    ("other", "named"),
    [
        (dpmic.CountTable({"x": (-1, 1), "y": (0, 4)}, B=16), "columns"),
        (dpmic.CountTable({**BOUNDS, "y": (0, 5)}, B=16), "bounds"),
        (dpmic.CountTable(dict(reversed(BOUNDS.items())), B=16), "columns"),
        (dpmic.CountTable(BOUNDS, B=17), "(B, c, master)"),
        (dpmic.CountTable(BOUNDS, B=16, c=5), "(B, c, master)"),
        (dpmic.CountTable(BOUNDS, B=16, master="paper"), "(B, c, master)"),
        (dpmic.CountTable(BOUNDS, B=16, target="x"), "target"),
    ],
)
def test_other_grids_are_refused(other, named):
    table = dpmic.CountTable(BOUNDS, B=16)
    with pytest.raises(dpmic.InputError, match="different grids") as refused:
        table + other
    assert f"{named} " in str(refused.value)
    assert other != table


def test_what_is_no_table_is_not_added():
    with pytest.raises(TypeError):
        dpmic.CountTable(BOUNDS, B=16) + 1


def test_memory_depends_on_the_grids_alone():
    small, large_one = (
        made(columns(np.random.default_rng(1), n), B=30, c=5) for n in (10, 100_000)
    )
    assert small.nbytes == large_one.nbytes
    assert small.nbytes == 8 * 3 * cell_layout(Limits(30.0, 5.0, "reshef")).starts[-1]


def test_a_table_says_that_it_is_data():
    table = made(columns(np.random.default_rng(1), 30), B=16, c=5)
    assert repr(table) == "CountTable(n = 30, 3 columns, 3 pairs: exact counts, not a release)"
    assert "not a release" in dpmic.CountTable.__doc__


def test_bytes_and_pickles_come_back():
    for target in (None, "y"):
        table = made(columns(np.random.default_rng(1), 30), B=16, c=5, target=target)
        for again in (
            dpmic.CountTable.from_bytes(table.to_bytes()),
            pickle.loads(pickle.dumps(table)),
        ):
            assert again == table
            assert again.grids == table.grids
            again.update(pa.table(columns(np.random.default_rng(2), 5)))
            assert again.n == 35 != table.n


def test_an_interrupted_table_is_not_used(monkeypatch):
    """Some pairs would have the batch, and some not."""
    table = made(columns(np.random.default_rng(1), 30), B=16, c=5)
    counted = []

    def interrupted(*arguments):
        counted.append(arguments)
        if len(counted) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(_kernels, "tally", interrupted)
    with pytest.raises(KeyboardInterrupt):
        table.update(pa.table(columns(np.random.default_rng(2), 30)))
    assert "interrupted" in repr(table)
    for use in (
        lambda: table.n,
        lambda: table.to_bytes(),
        lambda: table + table,
        lambda: dpmic.micr("x", "y", data=table),
        lambda: table.update(pa.table(columns(np.random.default_rng(2), 30))),
    ):
        with pytest.raises(dpmic.InputError, match="interrupted"):
            use()


def test_a_table_is_read_while_it_is_updated():
    """Scores are of the records before a batch or after it, and never of some of it."""
    rng = np.random.default_rng(1)
    table = made(columns(rng, 1000), B=16, c=5)
    more = pa.table(columns(rng, 200_000))
    thread = threading.Thread(target=lambda: [table.update(more) for _ in range(5)])
    thread.start()
    seen = set()
    while thread.is_alive():
        search = Search.of_table(table, "x", "y")
        assert all(search.by_x.count(step).table.sum() == search.n for step in search.steps)
        seen.add(search.n)
    assert all((n - 1000) % 200_000 == 0 for n in seen)


def test_a_table_has_an_end():
    table = made(columns(np.random.default_rng(4), 300), B=16, c=5)
    for _ in range(31):
        table += table
    with pytest.raises(dpmic.InputError, match="at most"):
        table += table
    assert table.n == 300 * 2**31
    assert dpmic.CountTable.from_bytes(table.to_bytes()) == table


def signed(text):
    return text + hashlib.sha256(text).digest()


def test_damaged_bytes_are_refused():
    whole = made(columns(np.random.default_rng(1), 30), B=16, c=5).to_bytes()
    rng = np.random.default_rng(3)
    for _ in range(200):
        place = int(rng.integers(len(whole)))
        changed = bytearray(whole)
        changed[place] ^= 1 << int(rng.integers(8))
        with pytest.raises(dpmic.InputError):
            dpmic.CountTable.from_bytes(bytes(changed))
        with pytest.raises(dpmic.InputError):
            dpmic.CountTable.from_bytes(whole[:place])
    with pytest.raises(dpmic.InputError, match="not bytes"):
        dpmic.CountTable.from_bytes("a text")


def test_another_version_and_other_counts_are_refused():
    table = made(columns(np.random.default_rng(1), 30), B=16, c=5)
    text = table.to_bytes()[: -count_table.DIGEST]
    at = len(count_table.MAGIC)
    newer = text[:at] + struct.pack("<H", 2) + text[at + 2 :]
    with pytest.raises(dpmic.InputError, match="version 2"):
        dpmic.CountTable.from_bytes(signed(newer))
    facts, _ = count_table._unpacked(table.to_bytes())
    counts = table._counts
    wrapped = counts.copy()
    wrapped[0, :3] = 2**63 - 1, 2**63 - 1, 32
    for n, wrong in (
        (31, counts),
        (30, np.where(counts == counts.max(), counts - 1, counts)),
        (30, counts[:-1]),
        (30, wrapped),
    ):
        with pytest.raises(dpmic.InputError, match="not those of"):
            dpmic.CountTable.from_bytes(count_table._packed({**facts, "n": n}, wrong))


@sweep(
    "change",
    [
        {"n": 30.0},
        {"n": -1},
        {"n": 2**41},
        {"columns": ["x"]},
        {"columns": [["x"], "y", "z"]},
        {"bounds": None},
        {"B": "16"},
        {"target": "w"},
    ],
)
def test_headers_that_nobody_wrote_are_refused(change):
    table = made(columns(np.random.default_rng(1), 30), B=16, c=5)
    facts, _ = count_table._unpacked(table.to_bytes())
    for header in ({**facts, **change}, {k: v for k, v in facts.items() if k not in change}, [1]):
        with pytest.raises(dpmic.InputError, match="header"):
            dpmic.CountTable.from_bytes(count_table._packed(header, table._counts))


@sweep(
    ("bounds", "options", "named"),
    [
        ({"x": (0, 1)}, {"B": 16}, "bounds"),
        ([(0, 1), (0, 1)], {"B": 16}, "bounds"),
        ({"x": (0, 1), 2: (0, 1)}, {"B": 16}, "bounds of 2"),
        ({"x": (0, 1), "y": (1, 1)}, {"B": 16}, "bounds of y"),
        (BOUNDS, {"B": None}, "B = None"),
        (BOUNDS, {"B": 3}, "B = 3"),
        (BOUNDS, {"B": 16, "c": np.inf}, "c = inf"),
        (BOUNDS, {"B": 16, "master": "minepy"}, "master"),
        (BOUNDS, {"B": 16, "target": "w"}, "target"),
        ({str(i): (0, 1) for i in range(300)}, {"B": 400}, "44850 pairs"),
    ],
)
def test_bad_grids_are_refused(bounds, options, named):
    with pytest.raises(dpmic.ParameterError, match=f"^{named}"):
        dpmic.CountTable(bounds, **options)


@sweep(
    "batch",
    [
        pa.table({"x": [0.5, 1], "y": [1.0, np.nan], "z": [0, 0]}),
        pa.table({"x": [0.5, 1], "y": [1.0, None], "z": [0, 0]}),
        pa.table({"x": [0.5, 1], "y": [1.0, np.inf], "z": [0, 0]}),
        pa.table({"x": [0.5, 1], "y": ["1", "2"], "z": [0, 0]}),
        pa.table({"x": [0.5, 1], "z": [0, 0]}),
        pd.DataFrame({"x": [0.5, 1], "y": pd.Categorical([1, 2], ordered=True), "z": [0, 0]}),
    ],
)
def test_a_refused_batch_changes_nothing(batch):
    table = made(columns(np.random.default_rng(1), 30), B=16, c=5)
    before = table.to_bytes()
    with pytest.raises(dpmic.InputError, match="y"):
        table.update(batch)
    assert table.to_bytes() == before


def test_batches_of_any_kind_and_without_rows():
    rng = np.random.default_rng(1)
    data = columns(rng, 50)
    known = made(data, B=16, c=5)
    for batch in (pd.DataFrame(data), pa.RecordBatch.from_pydict({"w": data["x"], **data})):
        table = dpmic.CountTable(BOUNDS, B=16, c=5)
        table.update(batch)
        table.update(batch[:0])
        assert table == known


def test_a_target_counts_its_pairs_alone():
    data = columns(np.random.default_rng(1), 200)
    every, some = made(data, B=16, c=5), made(data, B=16, c=5, target="y")
    assert some.nbytes * 3 == every.nbytes * 2
    for pair in (("y", "x"), ("z", "y")):
        assert float(dpmic.micr(*pair, data=some)) == float(dpmic.micr(*pair, data=every))
    with pytest.raises(dpmic.InputError, match="it was not counted"):
        dpmic.micr("x", "z", data=some)
    with pytest.raises(dpmic.InputError, match="it was not counted"):
        dpmic.micr("x", "x", data=every)


def test_other_options_than_the_tables_are_refused():
    table = made(columns(np.random.default_rng(1), 50), B=16, c=5)
    assert dpmic.micr("x", "y", data=table, B=16, c=5, bounds=((-1, 1), (0, 4))).B == 16
    for options in (
        {"B": 20},
        {"B": 16, "c": 6},
        {"master": "paper"},
        {"bounds": ((0, 1), (0, 4))},
    ):
        with pytest.raises(dpmic.InputError, match="other grids"):
            dpmic.micr("x", "y", data=table, **options)
    with pytest.raises(dpmic.InputError, match="did you mean|columns are"):
        dpmic.micr("x", "w", data=table)
    with pytest.raises(dpmic.ParameterError, match="missing"):
        dpmic.micr("x", "y", data=table, missing="drop")


def test_too_few_records_are_refused():
    with pytest.raises(dpmic.InputError, match="at least 4"):
        dpmic.micr("x", "y", data=made({k: [0.0] * 3 for k in BOUNDS}, B=16))


@sweep("interval", [(-1.0, 1.0), (1e6, 1e6 + 1e-5), (-1e308, 5e307), (0, 1e-310)])
@sweep("B", [4, 33, 200])
def test_a_guided_search_is_a_search(interval, B):
    """Also on cuts, next to them, far outside, and where the guide is no help."""
    family = cell_layout(Limits(float(B), 5.0, "reshef")).family
    column = Locator.of(Map(*interval).cuts(family.fractions), interval)
    low, high = interval
    rng = np.random.default_rng(2)
    values = np.concatenate(
        (
            column.cuts,
            np.nextafter(column.cuts, -np.inf),
            np.nextafter(column.cuts, np.inf),
            low + (high - low) * rng.uniform(size=1000),
            [low, high, 0.0, -0.0, 1.7e308, -1.7e308, 5e-324],
        )
    )
    assert np.array_equal(column.atoms(values), np.searchsorted(column.cuts, values, side="right"))
    # A guide of nonsense costs time and nothing else.
    wrong = rng.integers(0, column.cuts.size + 1, column.guide.size).astype(np.int32)
    placed = _kernels.place(values, column.cuts, wrong, column.low, column.scale)
    assert np.array_equal(placed, column.atoms(values))


def test_cuts_are_those_of_each_size():
    family = cell_layout(Limits(60.0, 5.0, "reshef")).family
    column = Locator.of(Map(-3.0, 11.0).cuts(family.fractions), (-3.0, 11.0))
    for size, edges in family.edges.items():
        assert np.array_equal(column.cuts[edges[1:-1] - 1], range_cuts((-3.0, 11.0), size))


def test_counts_beyond_32_bits():
    """A table added to itself 30 times has 2 ** 30 times the records, and the same dependence."""
    table = made(columns(np.random.default_rng(4), 300), B=30, c=5)
    known = dpmic.micr("x", "y", data=table)
    for _ in range(30):
        table += table
    score = dpmic.micr("x", "y", data=table)
    assert score.n == 300 * 2**30
    assert np.nanmax(np.abs(score.matrix - known.matrix)) < 1e-12
    assert dpmic.CountTable.from_bytes(table.to_bytes()) == table


@pytest.mark.parametrize("seed", range(10))
def test_the_search_without_a_table_of_f(seed):
    """The same floats as the reference's, of information and of the best grid."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        shape = rng.integers(1, 12), rng.integers(1, 15)
        counts = rng.integers(0, rng.choice([2, 5, 100]), shape)
        counts[0, 0] += 1
        k = int(rng.integers(2, 6))
        xlogx = _kernels.f(np.arange(counts.sum() + 1))
        small = counts.astype(np.int32)
        reference = _kernels.reference.information(small, k, xlogx)
        assert np.array_equal(_kernels.reference.information(counts, k, None), reference)
        edges = _kernels.reference.trace(small, k, xlogx)
        assert np.array_equal(_kernels.reference.trace(counts, k, None), edges)


def test_a_table_of_f_is_f():
    m = np.concatenate((np.arange(5000), 2 ** np.arange(13, 31) + 1))
    table = _kernels.f(np.arange(5000))
    assert np.array_equal(_kernels.f(m[::-1])[::-1][:5000], table)
    assert table[:3].tolist() == [0, 0, 2]


def test_a_search_needs_both_orientations():
    table = made(columns(np.random.default_rng(1), 200), B=30, c=5)
    search = Search.of_table(table, "x", "y")
    assert search.by_x.count(search.steps[3]).table.sum() == 200
    assert search.by_x.count(search.steps[3]).table.shape == (5, search.steps[3].master)
    assert not np.array_equal(
        search.by_x.count(search.steps[3]).table, search.by_y.count(search.steps[3]).table
    )
