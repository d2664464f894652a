"""The plain kernels against definitions: brute force, and what each of them promises."""

import itertools

import kernel_cases as cases
import naive
import numpy as np
import pytest
from scipy import stats
from sweeps import sweep

from dpmic import _validate
from dpmic._kernels import reference
from dpmic._kernels.reference import critics
from dpmic._kernels.reference.partitions import part_of
from dpmic._validate import Limits
from dpmic.statistics.capped import critics_of, unit_of
from dpmic.statistics.grids import MassAxis
from dpmic.statistics.search import ALONE, TIE, Search, xlogx_table
from dpmic.statistics.significance import RefinedAxis


def test_the_table_of_f():
    m = np.concatenate((np.arange(5000), 2 ** np.arange(13, 41) + 1))
    assert reference.f(m[:3]).tolist() == [0, 0, 2]
    assert reference.f(m).tolist() == pytest.approx([naive.xlogx(own) for own in m.tolist()])
    assert np.array_equal(reference.f(m)[:5000], xlogx_table(4999))


# --- Partitions ------------------------------------------------------------------------------


def test_ranks_are_those_of_distinct_values():
    for _, table, axes in cases.ranked_pairs(0, 200):
        for row, values in enumerate(table):
            distinct, place = np.unique(values, return_inverse=True)
            atoms, cuts, ends = reference.ranks(values)
            assert np.array_equal(atoms, place)
            assert np.array_equal(atoms, axes.atoms[row])
            assert np.array_equal(np.diff(ends), np.bincount(place))
            assert axes.sizes[row] == distinct.size
            assert np.array_equal(axes.ends[row, : distinct.size + 1], ends)
            assert np.array_equal(np.searchsorted(cuts, values, side="right") - 1, place)


def test_zeros_of_both_signs_are_equal():
    values = np.array([[0.0, -0.0, 1.0, -1.0, -0.0]])
    atoms, _, _, sizes = reference.rank_rows(values)
    assert atoms.tolist() == [[1, 1, 2, 0, 1]]
    assert sizes.tolist() == [3]


def test_cuts_lie_between_neighbours():
    next_up = np.nextafter(1.0, 2)
    values = np.array([-1e308, 1.0, next_up, next_up, 1e308, 1.5e308])
    cuts = reference.between(values)
    assert cuts[:3].tolist() == [-1e308, -1e308 / 2 + 0.5, next_up]
    assert np.isnan(cuts[3])
    assert cuts[5] == 1.25e308
    assert reference.between(np.array([-np.inf, np.inf])).tolist() == [-np.inf, np.inf]


@sweep("slack", [0, 1])
def test_equipartition_is_the_written_rule(slack, rng):
    for _ in range(300):
        weights = rng.integers(1, rng.choice([2, 4, 30]), rng.integers(1, 40))
        ends, size = np.concatenate(([0], np.cumsum(weights))), int(rng.integers(1, 45))
        edges = reference.equipartition(ends, size, slack)
        assert part_of(edges).tolist() == naive.equipartition(weights, size, slack)


def test_equipartitions_are_one_after_the_other(rng):
    ends, sizes = np.array([0, 3, 4, 9, 10, 11]), np.array([2, 3, 5, 9, 2**31])
    edges, offsets = reference.equipartitions(ends, sizes, 1, True)
    for i, size in enumerate(sizes[:2]):
        own = edges[offsets[i] : offsets[i + 1]]
        assert np.array_equal(own, reference.equipartition(ends, size, 1))
    assert np.diff(offsets)[2:].tolist() == [6, 6, 6]
    assert edges[offsets[2] :].tolist() == [*range(6)] * 3


# --- Counting --------------------------------------------------------------------------------


def test_counts_are_those_of_records():
    for rng, _, axes in cases.ranked_pairs(1, 100, (1, 60)):
        sizes = rng.integers(1, 9, 2)
        edges = [
            reference.equipartition(axes.ends[v, : axes.sizes[v] + 1], sizes[v], 1) for v in (0, 1)
        ]
        counts = reference.count(*axes.atoms, *edges)
        columns, rows = (
            np.searchsorted(own, atoms, "right") - 1
            for own, atoms in zip(edges, axes.atoms, strict=True)
        )
        for j, i in itertools.product(range(counts.shape[0]), range(counts.shape[1])):
            assert counts[j, i] == sum((columns == j) & (rows == i))


def test_clumps_are_those_of_the_paper():
    for rng, table, axes in cases.ranked_pairs(2, 200, (1, 40)):
        if not np.isfinite(table).all():
            continue
        fixed = reference.equipartition(axes.ends[0, : axes.sizes[0] + 1], rng.integers(1, 6), 0)
        edges = reference.clumps(axes.atoms[1], axes.atoms[0], fixed, int(axes.sizes[1]))
        parts = part_of(fixed)[axes.atoms[0]].tolist()
        expected, size = naive.clumps(table[1].tolist(), parts, np.inf)
        assert part_of(edges)[axes.atoms[1]].tolist() == expected
        assert edges.size - 1 == size


def test_a_refinement_has_the_edges_of_all(rng):
    edges = np.array([0, 4, 9, 0, 2, 4, 9, 0, 9])
    offsets, starts = np.array([0, 3, 7, 9]), np.array([0, 2, 3])
    parts, sizes, own = reference.refine(edges, offsets, starts, np.arange(9, dtype=np.int32))
    assert sizes.tolist() == [3, 1]
    assert own.tolist() == [0, 2, 3, 0, 1, 2, 3, 0, 1]
    assert parts.tolist() == [[0, 0, 1, 1, 2, 2, 2, 2, 2], [0] * 9]


def test_tallies_add_up(rng):
    x, y = rng.integers(0, 5, (2, 200)).astype(np.int32)
    first = (rng.integers(0, 4, (5, 3)) + 8 * np.arange(3)).astype(np.int32)
    second = rng.integers(0, 4, (5, 3)).astype(np.int32)
    counts, expected = np.ones(24, np.int64), np.ones(24, np.int64)
    reference.tally(x, y, first, second, counts)
    for a, b, t in itertools.product(range(5), range(5), range(3)):
        expected[first[a, t] + second[b, t]] += np.count_nonzero((x == a) & (y == b))
    assert np.array_equal(counts, expected)


def test_shuffles_draw_what_the_generator_draws():
    """One float for each swap, from the last record on."""
    records = np.arange(7, dtype=np.int32)
    generator, twin, order = np.random.default_rng(1), np.random.default_rng(1), records.copy()
    tables = np.full((3, 7, 7), 5)
    with generator.bit_generator.lock:
        reference.shuffle(generator, records, order, tables)
    expected = records.copy()
    for table in tables:
        for i in range(6, -1, -1):
            j = int(twin.random() * (i + 1))
            expected[[i, j]] = expected[[j, i]]
        assert np.array_equal(table.argmax(axis=1), expected)
        assert np.array_equal(table, np.eye(7)[expected])
    assert np.array_equal(order, expected)
    assert generator.random() == twin.random()


def test_any_permutation_is_as_likely():
    rng, records = np.random.default_rng(2), np.arange(4, dtype=np.int32)
    tables = np.empty((6000, 4, 4), np.int64)
    reference.shuffle(rng, records, records.copy(), tables)
    times = np.unique(tables.argmax(axis=2) @ np.array([64, 16, 4, 1]), return_counts=True)[1]
    assert times.size == 24
    assert stats.chisquare(times).pvalue > 0.001


# --- The search ------------------------------------------------------------------------------


def small_tables(seed, count):
    """Tables small enough for brute force, and their records: fixed parts, and the master."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        counts = rng.poisson(rng.choice([0.3, 2.0, 50.0]), rng.integers(1, 10, 2))
        counts[0, 0] += 1
        fixed, parts = (
            np.repeat(i, counts.ravel()).tolist() for i in np.indices(counts.shape).reshape(2, -1)
        )
        yield counts.astype(np.int32), fixed, (parts, counts.shape[1])


def test_information_by_definition():
    for counts, fixed, master in small_tables(40, 200):
        bits = reference.information(counts, 5, xlogx_table(cases.MOST))
        assert bits[:2].tolist() == [0, 0]
        for k in range(2, 6):
            expected = naive.best_information(fixed, master, k)
            assert bits[k] == pytest.approx(expected, abs=1e-12)


def test_a_traced_partition_has_the_information():
    xlogx = xlogx_table(cases.MOST)
    for counts, k in cases.tables(41, 150):
        edges = reference.trace(counts, k, xlogx)
        assert edges[0] == 0
        assert edges[-1] == counts.shape[1]
        assert edges.size - 1 == min(k, counts.shape[1])
        assert (np.diff(edges) > 0).all()
        grid = np.add.reduceat(counts, edges[:-1], axis=1)
        most = reference.information(counts, k, xlogx)[k]
        assert naive.information(grid.tolist()) == pytest.approx(most, abs=1e-9)


def test_of_equally_good_partitions_the_last_row_begins_first():
    xlogx, empty_between = xlogx_table(100), np.array([[4, 0, 0, 0], [0, 0, 0, 4]], np.int32)
    assert reference.trace(empty_between, 2, xlogx).tolist() == [0, 1, 4]
    assert reference.trace(empty_between, 3, xlogx).tolist() == [0, 1, 2, 4]
    assert reference.trace(np.ones((3, 1), np.int32), 4, xlogx).tolist() == [0, 1]


def test_f_may_be_computed():
    """The same floats as with a table, of information and of the best grid."""
    for counts, k in cases.tables(42, 150):
        xlogx, large = reference.f(np.arange(counts.sum() + 1)), counts.astype(np.int64)
        cases.same(reference.information(large, k, None), reference.information(counts, k, xlogx))
        cases.same(reference.trace(large, k, None), reference.trace(counts, k, xlogx))


def test_many_tables_are_searched_one_by_one(rng, monkeypatch):
    xlogx = xlogx_table(5000)
    for at_once in (1, 100, 2**18):
        monkeypatch.setattr("dpmic._kernels.reference.segmentation.AT_ONCE", at_once)
        for shape in ((2, 2), (5, 3), (4, 9), (3, 1), (1, 4)):
            tables = rng.poisson(rng.choice([0.1, 1.0, 20.0], (20, 1, 1)), (20, *shape))
            tables[3] = 0
            found = reference.informations(tables.astype(np.int32), 4, xlogx)
            for table, bits in zip(tables, found, strict=True):
                expected = reference.information(table, 4, xlogx) if table.any() else np.zeros(5)
                cases.same(bits, expected)
    assert reference.informations(np.zeros((0, 2, 2), np.int32), 2, xlogx).shape == (0, 3)


# --- Matrices --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", cases.AXES)
def test_entries_are_those_of_each_step(kind):
    for asked in cases.searches(43, 60, kind, (4, 150)):
        expected = cases.stepwise(asked)
        (left, right), tail = cases.cut(asked)
        bits = reference.entries(left, right, ALONE, *tail, False)
        logs, plan = cases.logs(asked.steps.layout), asked.steps.layout
        found = np.full(expected.shape, np.nan)
        step, rows = plan.entries
        entries = np.clip(bits[:, 0, step, rows] / logs[rows], 0, 1)
        found[:, rows - 2, plan.order[step]] = entries
        found[1] = found[1].T.copy()
        cases.same(found, expected)
        (score,) = reference.largest(left, right, ALONE, *tail[:2], logs, tail[2])
        assert score == np.nanmax(expected)
        if kind != "range":
            cases.same(reference.equi(*cases.ranked(asked), False), expected)


@pytest.mark.parametrize("occupied", [False, True])
def test_clumped_entries_are_those_of_each_step(occupied, rng):
    for i in range(60):
        asked = cases.clumped_search(rng, cases.size_of(rng, (4, 150)), bool(i % 2))
        axes = cases.RankedAxes.of((asked.by_x.fixed, asked.by_y.fixed))
        tail = asked.steps.table, asked.steps.logs, xlogx_table(asked.n), occupied
        found = reference.clumped(axes, np.array([[0, 1], [1, 0]]), *tail)
        cases.same(found[:, 0], cases.stepwise(asked, occupied=occupied))
        cases.same(found[::-1, 1].swapaxes(-1, -2), found[:, 0])


@pytest.mark.parametrize("statistic", ["mice", "micr"])
def test_maximum_by_definition(statistic):
    rng = np.random.default_rng(70)
    box = (-1.0, 1.0), (-0.5, 2.0)
    for _ in range(60):
        x, y = cases.columns_of(rng, int(rng.integers(4, 13)))
        wanted = Limits(float(rng.choice([4, 6, 9, 12])), float(rng.choice([1, 2, 3])), "reshef")
        if statistic == "mice":
            asked, matrix = cases.search(x, y, wanted), naive.mice(x, y, wanted.B, wanted.c)
        else:
            asked = Search.by_range(x, y, box, wanted)
            matrix = naive.micr(x, y, box, wanted.B, wanted.c)
        cuts, (starts, rows, xlogx) = cases.cut(asked)
        (score,) = reference.largest(
            *cuts, ALONE, starts, rows, cases.logs(asked.steps.layout), xlogx
        )
        assert score == pytest.approx(naive.maximum(matrix), abs=1e-12)


def test_tables_of_counts_are_those_of_records(rng):
    """A table on the common refinement of all partitions has the entries of its records."""
    for _ in range(40):
        n, wanted = (
            cases.size_of(rng, (4, 150)),
            Limits(float(rng.choice([4, 9, 16])), 5.0, "paper"),
        )
        x, y = cases.columns_of(rng, n)
        asked, axes = cases.search(x, y, wanted), [MassAxis.grouped(own) for own in (x, y)]
        a, b = (RefinedAxis.of(axis, wanted) for axis in axes)
        counts = reference.tabulate(a.parts, b.parts, a.margin.size, b.margin.size)
        cuts, tail = cases.cut(asked)
        found = reference.tabled(counts[None].astype(np.int64), a.partitions, b.partitions, *tail)
        cases.same(found, reference.entries(*cuts, ALONE, *tail, False))


def test_the_best_grid_has_the_fewest_cells():
    nan = np.nan
    matrix = np.array([[0.2, 0.9, 0.9], [0.9, 0.1, nan], [0.95, nan, nan]])
    assert reference.smallest_best(matrix, TIE) == (4, 2)
    matrix[2, 0] = 0.9 - TIE / 2
    assert reference.smallest_best(matrix, TIE) == (2, 3)  # of as many cells, fewer rows
    assert reference.smallest_best(np.zeros((3, 3)), TIE) == (2, 2)


# --- Capped information ----------------------------------------------------------------------


def capped_tables(rng, count):
    """Tables [part, cell], some sparse, with partition, f, unit and critics of the kernels."""
    for _ in range(count):
        shape = int(rng.integers(2, 7)), int(rng.integers(3, 6))
        counts = rng.integers(0, rng.choice([2, 5, 40]), shape)
        counts[rng.random(shape) < rng.choice([0.0, 0.5, 0.8])] = 0
        counts[0, 0] += 2
        cap, n = float(rng.choice(_validate.CAPS)), int(counts.sum())
        unit = unit_of(n)
        f = np.floor(reference.f(np.arange(n + 1)) / unit + 0.5) * unit
        edges, offsets = np.arange(len(counts) + 1), np.array([0, len(counts) + 1])
        sums = reference.cumulate(counts.astype(np.int32))
        yield counts, cap, (sums, edges, offsets), (f, unit), critics_of(cap, unit)


def test_two_rows_by_definition(rng):
    for counts, cap, parts, f, own in capped_tables(rng, 40):
        limits = np.full(counts.shape[1] - 1, np.inf)
        tail = *f, own.two, own.cap, own.hard
        (best,), (where,) = reference.two_rows(*parts, limits, *tail)
        expected = [
            naive.capped_two(a.tolist(), (counts.sum(axis=1) - a).tolist(), cap)
            for a in counts.cumsum(axis=1)[:, :-1].T
        ]
        assert best == pytest.approx(max(expected), abs=1e-5)
        assert expected[where] == pytest.approx(max(expected), abs=1e-5)
        limits[where] = best / 2
        assert reference.two_rows(*parts, limits, *tail)[0] <= max(best / 2, *limits)


def test_three_rows_by_definition(rng):
    for counts, cap, parts, f, own in capped_tables(rng, 12):
        pairs = np.array(list(itertools.combinations(range(counts.shape[1] - 1), 2))).T
        tail = *f, own.three, own.cap_of_three, own.hard_of_three
        (best,), (where,) = reference.three_rows(*parts, pairs, *tail)
        rows = [
            [part.sum(axis=1).tolist() for part in np.split(counts, pair + 1, axis=1)]
            for pair in pairs.T
        ]
        expected = [naive.capped_three(own, cap) for own in rows]
        assert best == pytest.approx(max(expected), abs=1e-5)
        assert expected[where] == pytest.approx(max(expected), abs=1e-5)


def test_f_in_units_is_looked_up_or_computed(rng):
    n = 3000
    unit = unit_of(n)
    m = rng.integers(0, n + 1, (7, 11))
    table = np.floor(reference.f(np.arange(n + 1)) / unit + 0.5) * unit
    looked_up, computed = (critics.xlogx(m, own, unit) for own in (table, np.empty(0)))
    assert looked_up.shape == computed.shape == m.shape
    assert np.abs(looked_up - computed).max() <= unit
