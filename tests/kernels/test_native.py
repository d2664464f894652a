"""The compiled kernels return what the plain ones do, bit for bit, thousands of times."""

import itertools
import math

import kernel_cases as cases
import numpy as np
import pytest
from sweeps import sweep

from dpmic._kernels import reference
from dpmic._kernels.reference.partitions import part_of
from dpmic._validate import Limits
from dpmic.statistics.grids import MassAxis, steps
from dpmic.statistics.records import CutAxes, RankedAxes
from dpmic.statistics.search import ALONE, TIE, xlogx_table
from dpmic.statistics.significance import RefinedAxis

native = pytest.importorskip(
    "dpmic._kernels._native", reason="the compiled kernels were not built: see CONTRIBUTING.md"
)

FAST = [False, True]  # whether the time of a search may depend on the data


def check(name, *given):
    """Call both kernels, compare what they return, and return it."""
    expected = getattr(reference, name)(*given)
    cases.same(getattr(native, name)(*given), expected)
    return expected


def test_every_kernel_is_there():
    """Only the function that makes the table of f is numpy's."""
    missing = [name for name in reference.__all__ if not callable(getattr(native, name, None))]
    assert missing == ["f"]


# --- Partitions ------------------------------------------------------------------------------


def test_ranks():
    for _, table, axes in cases.ranked_pairs(0, 1000):
        check("ranks", table[0])
        check("between", np.sort(table[1]))
        atoms, order, ends, sizes = native.rank_rows(table)
        cases.same((atoms, order, sizes), (axes.atoms, axes.order, axes.sizes))
        for own, expected, size in zip(ends, axes.ends, sizes, strict=True):
            cases.same(own[: size + 1], expected[: size + 1])  # what follows has no meaning


def test_orders():
    for rng, table, _ in cases.ranked_pairs(0, 500):
        check("rank_rows", table)
        check("ranks", np.append(table[0], [0.0, -0.0, np.inf, -np.inf, 5e-324, -1e308]))
        check("rank_rows", 1 + rng.integers(0, 99, table.shape) * 2.0**-52)  # their keys are equal
    near = 1 + rng.permutation(3000) * 2.0**-52
    check("rank_rows", near[None])
    check("rank_rows", np.concatenate((near, rng.random(500)))[None])


@pytest.mark.parametrize("slack", [0, 1])
def test_equipartitions(slack):
    for rng, _, axes in cases.ranked_pairs(1, 500):
        ends = axes.ends[0, : axes.sizes[0] + 1].copy()
        check("equipartition", ends, int(rng.integers(1, 2 * ends.size + 3)), slack)
        sizes = rng.integers(1, 30, rng.integers(1, 6))
        check("equipartitions", ends, sizes, slack, False)
        sizes[rng.random(sizes.size) < 0.2] = 2**31
        check("equipartitions", ends, sizes, slack, True)


def test_equipartitions_of_heavy_atoms(rng):
    for _ in range(1000):
        weights = rng.integers(1, 10 ** rng.integers(1, 7), rng.integers(1, 60))
        ends, slack = np.concatenate(([0], np.cumsum(weights))), int(rng.integers(0, 2))
        check("equipartition", ends, int(rng.integers(1, 70)), slack)


# --- Counting --------------------------------------------------------------------------------


def test_counts_and_clumps():
    for rng, _, axes in cases.ranked_pairs(2, 1000):
        slack = int(rng.integers(0, 2))
        fixed, free = (
            reference.equipartition(axes.ends[v, : axes.sizes[v] + 1], rng.integers(1, 40), slack)
            for v in (0, 1)
        )
        x, y = axes.atoms
        check("count", x, y, fixed, free)
        more = int(rng.integers(0, 3))  # atoms without records
        check("clumps", y, x, fixed, int(axes.sizes[1]) + more)
        parts, cells = part_of(fixed)[x], part_of(free)[y]
        check("tabulate", parts, cells, fixed.size - 1 + more, free.size)


def test_refinements():
    for rng, _, axes in cases.ranked_pairs(3, 1000):
        ends, sizes = axes.ends[0, : axes.sizes[0] + 1], rng.integers(1, 30, rng.integers(1, 9))
        edges, offsets = reference.equipartitions(ends, sizes, 1, True)
        starts = np.unique([0, *rng.integers(0, sizes.size + 1, 3), sizes.size])
        check("refine", edges, offsets, starts, axes.atoms[0])


def test_places(rng):
    """Whatever the guide says, also where a bucket is infinite or not a number."""
    for _ in range(1000):
        cuts = np.sort(rng.standard_cauchy(rng.integers(0, 20)).round(int(rng.integers(0, 4))))
        near = [np.nextafter(cuts, side) for side in (-np.inf, np.inf)]
        extreme = [0.0, -0.0, 1.7e308, -1.7e308, 5e-324]
        values = np.concatenate((cuts, *near, rng.standard_cauchy(20), extreme))
        guide = rng.integers(0, cuts.size + 1, rng.integers(1, 40)).astype(np.int32)
        low, scale = float(rng.normal()), float(rng.choice([0.0, 1.0, 7.3, 1e300, np.inf]))
        check("place", values, cuts, guide, low, scale)


def test_tallies(rng):
    for _ in range(300):
        tables, atoms = int(rng.integers(1, 9)), rng.integers(1, 30, 2)
        x, y = (rng.integers(0, own, 100).astype(np.int32) for own in atoms)
        first, second = (rng.integers(0, 10, (own, tables)).astype(np.int32) for own in atoms)
        first += 20 * np.arange(tables, dtype=np.int32)
        counts = rng.integers(0, 5, 20 * tables)
        expected = counts.copy()
        assert native.tally(x, y, first, second, counts) is None
        reference.tally(x, y, first, second, expected)
        cases.same(counts, expected)


@pytest.mark.parametrize("source", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_shuffles(source):
    """The same permutations, and the generators are left alike."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, width, height = int(rng.integers(1, 200)), *rng.integers(1, 30, 2).tolist()
        x, y = rng.integers(0, width, n), rng.integers(0, height, n)
        found = []
        for kernels in (native, reference):
            generator = np.random.Generator(getattr(np.random, source)(seed))
            order, tables = y.astype(np.int32), np.full((5, width, height), 7)
            with generator.bit_generator.lock:
                assert kernels.shuffle(generator, x.astype(np.int32), order, tables[:4]) is None
            assert (tables[4] == 7).all()
            found.append((order, tables, generator.random(5)))
        cases.same(*found)


# --- The search ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_information_of_a_table(seed):
    xlogx = xlogx_table(cases.MOST)
    for counts, k_max in cases.tables(seed, 500):
        check("information", counts, k_max, xlogx)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(4))
def test_information_of_many_tables(seed):
    xlogx = xlogx_table(cases.MOST)
    for counts, k_max in cases.tables(10 + seed, 5000):
        check("information", counts, k_max, xlogx)
        check("trace", counts, k_max, xlogx)


def test_trace_of_a_table():
    """The same edges, the first of equally good ones."""
    xlogx = xlogx_table(cases.MOST)
    for counts, k in cases.tables(90, 300):
        check("trace", counts, k, xlogx)
    for seed in range(500):  # few records: many are equally good
        rng = np.random.default_rng(seed)
        counts = rng.integers(0, 2, rng.integers(1, 20, 2)).astype(np.int32)
        counts[0, 0] += 1
        check("trace", counts, int(rng.integers(1, 8)), xlogx)


def test_informations_of_tables(rng):
    """Also of none, of empty ones, and in any order in memory."""
    xlogx = xlogx_table(5000)
    for _ in range(200):
        size, k_max = int(rng.integers(0, 20)), int(rng.integers(2, 6))
        means = rng.choice([0.02, 0.3, 1.0, 20.0], (size, 1, 1))
        tables = rng.poisson(means, (size, *rng.integers(1, 10, 2))).astype(np.int32)
        check("informations", tables, k_max, xlogx)
        check("informations", tables.swapaxes(1, 2), k_max, xlogx)


# --- Matrices --------------------------------------------------------------------------------


def check_search(asked, *, fast):
    """Compare all kernels of a search, and return its largest entry."""
    (left, right), tail = cases.cut(asked)
    bits = reference.entries(left, right, ALONE, *tail, fast)
    cases.same(native.entries(left, right, ALONE, *tail, fast), bits)
    if isinstance(asked.by_x.fixed, MassAxis):
        check("equi", *cases.ranked(asked), fast)
    return check_largest(asked, bits)


def check_largest(asked, bits):
    """Compare the kernel that looks for the largest entry with all of them, and return it."""
    (left, right), (starts, rows, xlogx) = cases.cut(asked)
    logs = cases.logs(asked.steps.layout)
    (score,) = native.largest(left, right, ALONE, starts, rows, logs, xlogx)
    most = np.clip((bits[..., 2:] / logs[2:]).max(), 0.0, 1.0)
    assert score == most
    return most


@pytest.mark.parametrize("fast", FAST)
@pytest.mark.parametrize("kind", cases.AXES)
def test_searches(kind, fast):
    for asked in cases.searches(10 * cases.AXES.index(kind) + fast, 240, kind, (2, 200)):
        check_search(asked, fast=fast)


@pytest.mark.full
@pytest.mark.parametrize("fast", FAST)
@pytest.mark.parametrize("kind", cases.AXES)
def test_many_searches(kind, fast):
    for asked in cases.searches(100 + 10 * cases.AXES.index(kind) + fast, 1500, kind):
        check_search(asked, fast=fast)


@pytest.mark.slow
@pytest.mark.parametrize("fast", FAST)
def test_many_records(fast):
    rng = np.random.default_rng(50)
    for master, kind in itertools.product(cases.MASTERS, cases.AXES):
        x, y = cases.columns_of(rng, 2000)
        wanted = Limits(2000**0.6, float(rng.choice([1, 5, 15])), master)
        check_search(cases.search(x, y, wanted, kind, rng), fast=fast)


def hard_searches(seed, count):
    """Relations on which more than 2 rows win, and near-ties between numbers of rows."""
    rng = np.random.default_rng(60 + seed)
    for i in range(count):
        n = int(rng.integers(40, 400))
        wanted = cases.limits(rng, n, (9, 64))
        yield cases.search(*cases.related(rng, n), wanted, cases.AXES[i % 3], rng)


def check_hard(seed, count):
    """Compare searches of which parts may be left out; return how many of them are hard."""
    more_rows = near_ties = 0
    for asked in hard_searches(seed, count):
        (left, right), tail = cases.cut(asked)
        bits = reference.entries(left, right, ALONE, *tail, True)
        cases.same(native.entries(left, right, ALONE, *tail, True), bits)
        most = check_largest(asked, bits)
        few = min(bits[..., 2].max(), 1.0)
        more_rows += most > few
        near_ties += 0 < abs(most - few) < 1e-2
    return more_rows, near_ties


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_searches_where_pruning_is_hard(seed):
    more_rows, _ = check_hard(seed, 90)
    assert more_rows > 5


@pytest.mark.full
@pytest.mark.parametrize("seed", range(3, 7))
def test_many_searches_where_pruning_is_hard(seed):
    more_rows, near_ties = check_hard(seed, 1500)
    assert more_rows > 100
    assert near_ties > 10


def test_where_the_number_of_rows_changes():
    """Three steps, the middle one growing: at first 2 rows win, in the end 3."""
    winners = set()
    for middle in range(0, 81):
        y = np.repeat([0.0, 1.0, 2.0], [120 - middle // 2, middle, 120 - middle + middle // 2])
        asked = cases.search(np.arange(y.size), y, Limits(26.0, 5.0, "reshef"))
        (left, right), tail = cases.cut(asked)
        bits = native.entries(left, right, ALONE, *tail, False)
        cases.same(native.entries(left, right, ALONE, *tail, True), bits)
        winners.add(bool(check_largest(asked, bits) > bits[..., 2].max()))
    assert winners == {False, True}


@sweep("n", range(4, 100, 3))
def test_a_line(n):
    """Every entry is nearly 1, and in float64 some a little more than others."""
    for wanted in (Limits(n**0.6 + 4, 15.0, "reshef"), Limits(n / 2 + 4, 2.0, "paper")):
        asked = cases.search(np.arange(n), np.arange(n), wanted)
        check_search(asked, fast=True)


@pytest.mark.parametrize("fast", FAST)
@sweep("seed", range(20))
def test_several_pairs_at_once(seed, fast):
    """In any order, repeatedly, and of two different stacks of variables."""
    rng = np.random.default_rng(100 + seed)
    n = int(rng.integers(4, 120))
    wanted = cases.limits(rng, n)
    plan = steps(wanted).layout
    kind = cases.AXES[seed % 3] if math.isfinite(wanted.c) else "grouped"
    asked = [
        cases.search(*cases.columns_of(rng, n), wanted, kind, rng)
        for _ in range(int(rng.integers(1, 5)))
    ]
    left, right = [s.by_x.fixed for s in asked], [s.by_y.fixed for s in asked]
    right = [*right[::-1], left[0]]
    pairs = np.column_stack([rng.integers(0, len(v), 9) for v in (left, right)])
    stacks = CutAxes.of(left, plan), CutAxes.of(right, plan)
    xlogx, logs = xlogx_table(n), cases.logs(plan)
    for some in (pairs, pairs[:0], pairs[::2]):
        check("entries", *stacks, some, plan.starts, plan.rows, xlogx, fast)
        check("largest", *stacks, some, plan.starts, plan.rows, logs, xlogx)


@pytest.mark.parametrize("occupied", [False, True])
def test_clumps_of_pairs(occupied, rng):
    for i in range(150):
        n, more_rows = cases.size_of(rng, (2, 200)), bool(i % 2)
        plan = cases.clumped_search(rng, n, more_rows).steps
        table = np.stack([*cases.columns_of(rng, n), *cases.columns_of(rng, n)])
        pairs = rng.integers(0, 4, (int(rng.integers(0, 4)), 2))
        tail = plan.table, plan.logs, xlogx_table(n), occupied
        check("clumped", RankedAxes.ranked(table), pairs, *tail)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(4))
def test_clumps_of_many_pairs(seed):
    rng = np.random.default_rng(400 + seed)
    for _ in range(2000):
        asked = cases.clumped_search(rng, cases.size_of(rng, (2, 500)), bool(seed % 2))
        axes = RankedAxes.of((asked.by_x.fixed, asked.by_y.fixed))
        tail = asked.steps.table, asked.steps.logs, xlogx_table(asked.n), seed > 1
        check("clumped", axes, np.array([[0, 1]]), *tail)


def test_tables_of_permutations(rng):
    for _ in range(150):
        n, B = cases.size_of(rng, (4, 300)), float(rng.choice([4, 9, 16, 25]))
        wanted = Limits(B, float(rng.choice([1, 2.5, 5])), str(rng.choice(cases.MASTERS)))
        x, y = (RefinedAxis.of(MassAxis.grouped(own), wanted) for own in cases.columns_of(rng, n))
        tables = np.empty((3, x.margin.size, y.margin.size), np.int64)
        reference.shuffle(rng, x.parts, y.parts.copy(), tables)
        plan = x.plan.layout
        check("tabled", tables, x.partitions, y.partitions, plan.starts, plan.rows, xlogx_table(n))


def test_the_best_grid(rng):
    for _ in range(1000):
        size = int(rng.integers(1, 8))
        matrix = rng.choice([np.nan, 0.1, 0.5, 0.5 - TIE / 2, 0.5 - 2 * TIE, 0.9], (size, size))
        matrix[0, 0] = rng.choice([0.0, 0.5, 0.9])
        check("smallest_best", matrix, TIE)


# --- Capped information ----------------------------------------------------------------------


def capped_tables(rng, count):
    """Tables cumulated, with partitions, f and critics."""
    for counts, partitions, f, critics in cases.capped_tables(rng, count):
        yield (check("cumulate", counts), *partitions), f, critics


def test_two_rows(rng):
    for partitions, f, critics in capped_tables(rng, 400):
        thresholds, unit = partitions[0].shape[1] - 1, f[1]
        limits = np.full(thresholds, np.inf)
        tail = *f, critics.two, critics.cap, critics.hard
        best, _ = check("two_rows", *partitions, limits, *tail)
        limits = np.floor(rng.random(thresholds) * max(best.max(), 1.0) / unit) * unit
        check("two_rows", *partitions, limits, *tail)


def test_three_rows(rng):
    for partitions, f, critics in capped_tables(rng, 200):
        cells = partitions[0].shape[1] - 1
        every = np.array([*itertools.combinations(range(cells), 2)]).reshape(-1, 2).T
        if every.size:
            pairs = every[:, rng.permutation(every.shape[1])[:40]]
            tail = *f, critics.three, critics.cap_of_three, critics.hard_of_three
            check("three_rows", *partitions, pairs, *tail)


def test_tables_are_cumulated_in_any_order_in_memory(rng):
    counts = rng.integers(0, 9, (7, 12)).astype(np.int32)
    for own in (counts, counts.T, counts[:-1], counts[:, ::2]):
        check("cumulate", own)
