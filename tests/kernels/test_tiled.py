"""The fast kernel returns the very floats of the simple one, thousands of times."""

import math

import naive
import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from sweeps import sweep

from dpmic import _kernels
from dpmic._kernels._vectors import LANES, WIDE
from dpmic._validate import Limits
from dpmic.statistics import search as module
from dpmic.statistics.grids import MassAxis, steps
from dpmic.statistics.records import CutAxes
from dpmic.statistics.search import ALONE, Search, xlogx_table

MOST = 10**6  # records in a table
ROUNDING = 1e-11  # of a sum, for each record: a hundredth of the margin that pruning keeps
MASTERS = ("reshef", "paper", "minepy")
AXES = ("grouped", "ranked", "range")


def table(rng):
    """Counts [column, master row]: 1 to 10^6 records, empty rows and columns, huge cells."""
    columns = int(rng.integers(1, 41))
    rows = int(rng.integers(1, 131))
    if rng.random() < 0.5:  # where vectors end
        rows = max(int(rng.choice([LANES, WIDE])) * int(rng.integers(0, 5)), 2)
        rows += int(rng.integers(-1, 2))
    weights = {
        "even": lambda: np.ones((columns, rows)),
        "uneven": lambda: rng.gamma(0.3, size=(columns, rows)),
        "huge cells": lambda: rng.pareto(0.3, (columns, rows)),
        "a line": lambda: _near_a_line(columns, rows) + 1e-4 * rng.random((columns, rows)),
        "levels": lambda: rng.gamma(0.1, size=(columns, 5))[:, np.sort(rng.integers(0, 5, rows))],
    }[rng.choice(["even", "uneven", "huge cells", "a line", "levels"])]()
    weights = weights + 1e-300
    if rng.random() < 0.3:
        weights[rng.random(columns) < 0.3] = 0
        weights[:, rng.random(rows) < 0.3] = 0
        weights[0, 0] += 1e-300
    n = int(10 ** rng.uniform(0, math.log10(MOST)))
    flat = (weights / weights.sum()).ravel()
    return rng.multinomial(n, flat / flat.sum()).reshape(columns, rows).astype(np.int32)


def _near_a_line(columns, rows):
    return np.exp(-((np.linspace(0, 1, columns)[:, None] - np.linspace(0, 1, rows)) ** 2) * 50)


def tables(seed, count):
    """Tables, and the most rows to be found in each: sometimes more than it has."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        counts = table(rng)
        rows = counts.shape[1]
        yield counts, int(rng.integers(2, min(rows, 10) + 4 if rng.random() < 0.9 else rows + 9))


def related(rng, n):
    """Two columns on which grids of many rows win, or nearly tie with those of few."""
    # Of an even number of steps 2 rows get all information: one half each.
    x, levels = rng.random(n), int(rng.choice([3, 5, 7, *range(2, 9)]))
    shares = rng.dirichlet(np.full(levels, 10 ** rng.uniform(0, 5)))
    height = np.searchsorted(np.cumsum(shares)[:-1], x)
    heights = rng.permutation(levels) if rng.random() < 0.5 else np.arange(levels)
    y = {
        "line": lambda: x.copy(),
        "steps": lambda: heights[height] + 1e-3 * rng.random(n),
        "tied steps": lambda: heights[height].astype(float),
        "steps and noise": lambda: heights[height] + rng.choice([0.1, 0.3]) * rng.normal(size=n),
        "checkerboard": lambda: height % 2 + 2 * rng.integers(0, 4, n) + rng.random(n),
        "sine": lambda: np.sin(levels * 3 * x) + rng.choice([0, 0.2]) * rng.normal(size=n),
        "two kinds": lambda: np.where(rng.random(n) < 0.5, x, rng.choice([-x, 0.5 * x])),
        "noise": lambda: rng.random(n),
    }[rng.choice(["line", "steps", "tied steps", "steps and noise", "checkerboard", "sine"] * 2
                 + ["two kinds", "noise"])]()  # fmt: skip
    moved = rng.integers(0, n, int(rng.choice([0, 0, 1, 2, n // 10])))
    y[moved] = rng.permutation(y[moved])
    return (x, y) if rng.random() < 0.5 else (y, x)


def columns_of(rng, n):
    """Two columns with ties, heavy tails, few values, one value, or a relation."""
    x, y = strategies.pair(n, rng) if rng.random() < 0.7 else related(rng, n)
    if rng.random() < 0.1:
        x = x / max(np.abs(x).max(), 1e-3) * 1e300
    return x, y


def limits(rng, n, cells=(4, 30)):
    """How far to search: B like the default or a number of cells, any c."""
    c = rng.choice([1, 1.5, 2, 3.7, 5, 15, math.inf], p=[0.2, 0.1, 0.1, 0.1, 0.2, 0.25, 0.05])
    B = max(n**0.6, 4.0) if rng.random() < 0.5 else rng.uniform(*cells)
    return Limits(float(B), float(c), str(rng.choice(MASTERS)))


def search(x, y, wanted, kind="grouped", rng=None):
    """Return the search of MICe, with ties grouped or in random order, or of MICr."""
    if kind == "range":
        low, high = np.quantile(x, [0.02, 0.9])
        box = ((low, high) if 1e-3 < high - low < 1e6 else (-1.0, 1.0)), (-0.5, 2.0)
        return Search.by_range(x, y, box, wanted)
    if kind == "ranked":
        x_axis, y_axis = (MassAxis.ranked(v, rng.permutation(v.size)) for v in (x, y))
    else:
        x_axis, y_axis = MassAxis.grouped(x), MassAxis.grouped(y)
    return Search.of(x_axis, y_axis, steps(wanted))


def searches(seed, count, kind, sizes=(4, 400)):
    """Random searches of one kind."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(np.exp(rng.uniform(*np.log(sizes))))
        yield search(*columns_of(rng, n), limits(rng, n), kind, rng)


def stepwise(asked):
    """Return the matrix by the simple kernel, each step from its own table of counts."""
    size, xlogx = len(asked.steps), xlogx_table(asked.n)
    found = np.full((2, size, size), np.nan)
    for turn, records in enumerate((asked.by_x, asked.by_y)):
        for i, step in enumerate(asked.steps):
            counts = records.count(step).table
            bits = _kernels.segmentation.information(counts, step.rows, xlogx)[2:]
            parts = np.minimum(np.arange(2, step.rows + 1), step.columns)
            found[turn, : step.rows - 1, i] = np.clip(bits / np.log2(parts), 0, 1)
    return np.fmax(found[0], found[1].T)


def logs(plan):
    """Return what normalises an entry of k rows."""
    return np.log2(np.maximum(np.arange(plan.rows.max() + 1), 1))


def largest(asked):
    """Return the largest entry by the kernel that looks for nothing else."""
    plan = asked.steps.layout
    left, right = (CutAxes.of([own.fixed], plan) for own in (asked.by_x, asked.by_y))
    xlogx = xlogx_table(asked.n)
    (score,) = _kernels.tiled.largest(left, right, ALONE, plan.starts, plan.rows, logs(plan), xlogx)
    return score


@pytest.mark.parametrize("seed", range(4))
def test_information_of_a_table(seed):
    xlogx = xlogx_table(MOST)
    for counts, k_max in tables(seed, 1000):
        simple = _kernels.segmentation.information(counts, k_max, xlogx)
        assert np.array_equal(_kernels.tiled.information(counts, k_max, xlogx), simple)


@pytest.mark.parametrize("seed", range(2))
def test_trace_of_a_table(seed):
    """The same edges as the simple kernel finds, the first of equally good ones."""
    xlogx = xlogx_table(MOST)
    for counts, k in tables(90 + seed, 300):
        edges = _kernels.tiled.trace(counts, k, xlogx)
        assert np.array_equal(edges, _kernels.segmentation.trace(counts, k, xlogx))
    single = _kernels.tiled.trace(np.ones((3, 1), np.int32), 4, xlogx)
    assert single.tolist() == [0, 1]


def test_information_by_definition():
    rng = np.random.default_rng(40)
    for _ in range(300):
        counts = rng.poisson(rng.choice([0.3, 2.0, 50.0]), rng.integers(1, 10, 2))
        counts[0, 0] += 1
        bits = _kernels.tiled.information(counts.astype(np.int32), 5, xlogx_table(MOST))
        fixed, parts = (
            np.repeat(i, counts.ravel()) for i in np.indices(counts.shape).reshape(2, -1)
        )
        master = parts.tolist(), counts.shape[1]
        for k in range(2, 6):
            expected = naive.best_information(fixed.tolist(), master, k)
            assert bits[k] == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", AXES)
def test_matrix_and_its_maximum(kind, seed):
    for asked in searches(10 * AXES.index(kind) + seed, 1000, kind):
        matrix = stepwise(asked)
        assert np.array_equal(asked.matrix(), matrix, equal_nan=True)
        assert largest(asked) == np.nanmax(matrix)


@pytest.mark.parametrize("kind", AXES)
def test_many_records(kind):
    rng = np.random.default_rng(50)
    for master in MASTERS:
        x, y = columns_of(rng, 2000)
        asked = search(x, y, Limits(2000**0.6, float(rng.choice([1, 5, 15])), master), kind, rng)
        matrix = stepwise(asked)
        assert np.array_equal(asked.matrix(), matrix, equal_nan=True)
        assert largest(asked) == np.nanmax(matrix)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_maximum_where_pruning_is_hard(seed):
    """Relations on which more than 2 rows win, and near-ties between numbers of rows."""
    rng = np.random.default_rng(60 + seed)
    more_rows = near_ties = 0
    for _ in range(1000):
        n = int(rng.integers(40, 400))
        asked = search(*related(rng, n), limits(rng, n, (9, 64)), AXES[seed % 3], rng)
        matrix = asked.matrix()
        assert largest(asked) == np.nanmax(matrix)
        few = np.nanmax(np.append(matrix[0], matrix[:, 0]))
        many = np.nanmax(matrix[1:, 1:])
        more_rows += many > few
        near_ties += 0 < abs(many - few) < 1e-3
    assert more_rows > 50
    assert near_ties > 5


def test_maximum_where_the_number_of_rows_changes():
    """Three steps, the middle one growing: at first 2 rows win, in the end 3."""
    winners = set()
    for middle in range(0, 81):
        y = np.repeat([0.0, 1.0, 2.0], [120 - middle // 2, middle, 120 - middle + middle // 2])
        asked = search(np.arange(y.size), y, Limits(26.0, 15.0, "reshef"))
        matrix = asked.matrix()
        assert largest(asked) == np.nanmax(matrix)
        winners.add(bool(np.nanmax(matrix[0]) < np.nanmax(matrix[1:, 1:])))
    assert winners == {False, True}


@sweep("n", range(4, 100))
def test_maximum_of_a_line(n):
    """Every entry is nearly 1, and in float64 some a little more than others."""
    for wanted in (Limits(n**0.6 + 4, 15.0, "reshef"), Limits(n / 2 + 4, 2.0, "paper")):
        asked = search(np.arange(n), np.arange(n), wanted)
        assert largest(asked) == np.nanmax(asked.matrix()) == np.nanmax(stepwise(asked))


@pytest.mark.parametrize("statistic", ["mice", "micr"])
def test_maximum_by_definition(statistic):
    rng = np.random.default_rng(70)
    box = (-1.0, 1.0), (-0.5, 2.0)
    for _ in range(100):
        x, y = columns_of(rng, int(rng.integers(4, 13)))
        B, c, master = float(rng.choice([4, 6, 9, 12])), float(rng.choice([1, 2, 3])), "reshef"
        if statistic == "mice":
            asked, matrix = search(x, y, Limits(B, c, master)), naive.mice(x, y, B, c, master)
        else:
            asked = Search.by_range(x, y, box, Limits(B, c, master))
            matrix = naive.micr(x, y, box, B, c, master)
        assert largest(asked) == pytest.approx(naive.maximum(matrix), abs=1e-12)


@given(xy=strategies.pairs(max_n=150), seed=st.integers(0, 2**32 - 1))
def test_increasing_maps_change_nothing(xy, seed):
    """Any values in the same order do."""
    rng = np.random.default_rng(seed)
    wanted = limits(rng, xy[0].size)
    mapped = []
    for values in xy:
        distinct, place = np.unique(values, return_inverse=True)
        gaps = 1e-3 + rng.random(distinct.size) * 10 ** rng.uniform(-3, 3)
        mapped.append((np.cumsum(gaps) - 5)[place])
    one, other = search(*xy, wanted), search(*mapped, wanted)
    assert np.array_equal(one.matrix(), other.matrix(), equal_nan=True)
    assert largest(one) == largest(other)


@sweep("seed", range(60))
def test_several_pairs_at_once(seed):
    """In any order, repeatedly, and of two different stacks of variables."""
    rng = np.random.default_rng(100 + seed)
    n = int(rng.integers(4, 120))
    wanted = limits(rng, n)
    plan = steps(wanted).layout
    kind = AXES[seed % 3] if math.isfinite(wanted.c) else "grouped"
    asked = [search(*columns_of(rng, n), wanted, kind, rng) for _ in range(int(rng.integers(1, 5)))]
    left, right = [s.by_x.fixed for s in asked], [s.by_y.fixed for s in asked]
    right = [*right[::-1], left[0]]
    pairs = np.column_stack([rng.integers(0, len(v), 9) for v in (left, right)])
    stacks = CutAxes.of(left, plan), CutAxes.of(right, plan)
    tail = plan.starts, plan.rows, xlogx_table(n)
    found = _kernels.tiled.entries(*stacks, pairs, *tail)
    scores = _kernels.tiled.largest(*stacks, pairs, *tail[:2], logs(plan), tail[2])
    for i, (u, v) in enumerate(pairs):
        alone = CutAxes.of([left[u]], plan), CutAxes.of([right[v]], plan)
        assert np.array_equal(found[:, i], _kernels.tiled.entries(*alone, ALONE, *tail)[:, 0])
        one = Search.of(left[u], right[v], steps(wanted))
        assert scores[i] == largest(one) == np.nanmax(stepwise(one))
    assert _kernels.tiled.entries(*stacks, pairs[:0], *tail).shape == (2, 0, *found.shape[2:])


@pytest.mark.parametrize("kind", AXES)
def test_layouts_for_bounded_memory(kind, monkeypatch):
    """However few groups of steps are held at a time, and however many steps a group has."""
    calls, entries, equi = [], _kernels.tiled.entries, _kernels.ranked.equi

    def counted(kernel):
        return lambda *given: calls.append(given) or kernel(*given)

    for asked in searches(80, 60, kind, (40, 200)):
        matrix, groups = asked.matrix(), len(asked.steps.layout.masters)
        for at_once in (1, 2, 3):
            calls.clear()
            with monkeypatch.context() as small:
                small.setattr(_kernels.tiled, "entries", counted(entries))
                small.setattr(_kernels.ranked, "equi", counted(equi))
                small.setattr(module, "AT_ONCE", at_once * asked.n + asked.n - 1)
                assert np.array_equal(asked.matrix(), matrix, equal_nan=True)
            whole = len(asked.steps) <= at_once
            assert len(calls) == (1 if whole else math.ceil(groups / at_once))


def laid(room, counts):
    """Cumulate a table for a search, as `_merge` does: past the last end each row goes on."""
    columns, rows = counts.shape
    ends = np.cumsum(np.vstack([counts, counts.sum(axis=0)]), axis=1)
    room.cumulative[: columns + 1, 0] = 0
    room.cumulative[: columns + 1, 1 : rows + 1] = ends
    room.cumulative[: columns + 1, rows + 1 : rows + WIDE] = ends[:, -1:]


@pytest.mark.parametrize("seed", range(2))
def test_bounds_hold(seed):
    """That of k rows from below is exact for k = 2, and never too small for others."""
    xlogx, room, loose = xlogx_table(MOST), _kernels.tiled.scratch(40, 130, 13), 0
    for counts, k_max in tables(20 + seed, 500):
        columns, rows = counts.shape
        k_max = min(k_max, rows, 13)
        if k_max < 3:
            continue
        backwards = np.ascontiguousarray(counts[:, ::-1])
        for left_over in (room.best, room.tails, room.found):
            left_over[:] = 1e300
        laid(room, backwards)
        _kernels.tiled._bound(room, columns, rows, k_max, xlogx)
        best = _kernels.segmentation.search(backwards, k_max + 1, xlogx)
        rounding = ROUNDING * counts.sum()
        exact = _kernels.segmentation.search(counts, k_max, xlogx)[:, rows]
        assert room.found[2] == exact[2]
        above = room.found[3 : k_max + 1] - exact[3:]
        assert above.min() >= -rounding
        assert rows > LANES or above.max() <= rounding
        assert np.all(room.best[1:k_max, 1:rows] >= best[1:k_max, 1:rows] - rounding)
        whole = _kernels.segmentation.information(counts, rows, xlogx)[rows] * counts.sum()
        constant = xlogx[counts.sum()] - xlogx[counts.sum(axis=1)].sum()
        assert room.found[k_max] <= whole - constant + rounding
        loose += above.max() > rounding
    assert loose > 50  # else nothing shows that the bound is one


@pytest.mark.parametrize("seed", range(2))
def test_what_is_known_may_lie_anywhere(seed):
    """Below the largest entry of a step by a unit in the last place, above it, or far away."""
    xlogx, factors = xlogx_table(MOST), np.log2(np.maximum(np.arange(14), 1))
    room, back = (_kernels.tiled.scratch(40, 130, 13) for _ in range(2))
    rooms = room, back, np.empty(14)
    beyond_two = 0
    for counts, k_max in tables(30 + seed, 250):
        columns, rows = counts.shape
        k_max = min(k_max, rows, 13)
        if rows == 1:
            continue
        bits = _kernels.segmentation.information(counts, k_max, xlogx)
        entries = bits[2:] / factors[2 : k_max + 1]
        most = max(entries.max(), 0.0)
        beyond_two += most > entries[0]
        prefix = np.zeros((columns + 1, rows + 1), np.int32)
        prefix[1:, 1:] = counts.cumsum(axis=0).cumsum(axis=1)
        task = prefix, np.arange(columns + 1, dtype=np.int32), rows, k_max
        near = [np.nextafter(most, 0), most, np.nextafter(most, 2)]
        for gap in (1e-15, 1e-12, 1e-9, 1e-6, 1e-2):
            near += [max(most - gap, 0.0), most + gap]
        for known in (0.0, *near):
            for left_over in (*room[1:], *back[1:]):
                left_over[:] = 1e300
            raised = _kernels.tiled._raised(known, task, rooms, factors, xlogx)
            assert raised == max(known, most)
    assert beyond_two > 20
