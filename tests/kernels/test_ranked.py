"""From ranks to entries in one call: the very floats of the simple kernel, step by step."""

import numpy as np
import pytest
import test_tiled
from sweeps import sweep

from dpmic import _kernels
from dpmic._validate import Limits
from dpmic.statistics.grids import MassAxis, steps
from dpmic.statistics.records import RankedAxes
from dpmic.statistics.search import TIE, ClumpedSearch, Search, clumped_entries, xlogx_table


def apart(asked, *, occupied=False):
    """Return the entries of both orientations by the simple kernel, from a table for each step."""
    size, xlogx = len(asked.steps), xlogx_table(asked.n)
    found = np.full((2, size, size), np.nan)
    for orientation, records in enumerate((asked.by_x, asked.by_y)):
        for i, step in enumerate(asked.steps):
            counts = records.count(step).table
            bits = _kernels.segmentation.information(counts, step.rows, xlogx)[2:]
            columns = max(counts.shape[0], 2) if occupied else step.columns
            parts = np.minimum(np.arange(2, step.rows + 1), columns)
            found[orientation, : step.rows - 1, i] = np.clip(bits / np.log2(parts), 0, 1)
    return found[0], found[1].T


def clumped(rng, n, more_rows):
    """A search of 2011 with any c, also below 1."""
    B = max(n**0.6, 4.0) if rng.random() < 0.5 else rng.uniform(4, 30)
    c = min(float(rng.choice([0.3, 1, 1.5, 5, 15, np.inf])), n)
    x, y = (MassAxis.grouped(own, slack=0) for own in test_tiled.columns_of(rng, n))
    return ClumpedSearch.of(x, y, steps(Limits(float(B), c, "minepy"), more_rows=more_rows))


@sweep("seed", range(40))
def test_both_orientations_of_masses(seed):
    kind = ("grouped", "ranked")[seed % 2]
    for asked in test_tiled.searches(200 + seed, 5, kind, (4, 150)):
        for fast, simple in zip(asked._both(), apart(asked), strict=True):
            assert np.array_equal(fast, simple, equal_nan=True)


@sweep("seed", range(40))
def test_both_orientations_with_clumps(seed):
    rng = np.random.default_rng(300 + seed)
    for _ in range(5):
        asked = clumped(rng, int(np.exp(rng.uniform(*np.log((4, 150))))), bool(seed % 2))
        axes = RankedAxes.of((asked.by_x.fixed, asked.by_y.fixed))
        for occupied in (False, True):
            fast = clumped_entries(axes, np.array([[0, 1]]), asked.steps, occupied=occupied)
            simple = apart(asked, occupied=occupied)
            assert np.array_equal(fast[:, 0], simple, equal_nan=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_both_orientations_many_times(seed):
    rng = np.random.default_rng(400 + seed)
    for _ in range(1000):
        asked = clumped(rng, int(np.exp(rng.uniform(*np.log((4, 400))))), bool(seed))
        assert np.array_equal(asked._both(), apart(asked), equal_nan=True)
    for asked in test_tiled.searches(500 + seed, 1000, "grouped"):
        assert np.array_equal(asked._both(), apart(asked), equal_nan=True)


def test_pairs_in_any_order_and_repeatedly():
    rng = np.random.default_rng(600)
    plan = steps(Limits(20.0, 5.0, "minepy"), more_rows=True)
    table = np.stack([*test_tiled.columns_of(rng, 90), *test_tiled.columns_of(rng, 90)])
    pairs = rng.integers(0, 4, (12, 2))
    axes = RankedAxes.ranked(table)
    together = clumped_entries(axes, pairs, plan, occupied=True)
    for i, pair in enumerate(pairs):
        alone = clumped_entries(
            RankedAxes.ranked(table[pair]), np.array([[0, 1]]), plan, occupied=True
        )
        assert np.array_equal(together[:, i], alone[:, 0], equal_nan=True)
    assert clumped_entries(axes, pairs[:0], plan, occupied=True).shape[1] == 0


def test_ranks_of_rows_are_those_of_columns():
    """Also where values are infinite or differ in the sign of zero."""
    rng = np.random.default_rng(700)
    table = rng.integers(-3, 4, (20, 31)) / np.array([0.5, 1, 2, 4])[rng.integers(0, 4, (20, 31))]
    table[table == 0] *= -1
    axes = RankedAxes.ranked(table)
    for row, values in enumerate(table):
        distinct, place = np.unique(values, return_inverse=True)
        assert np.array_equal(axes.atoms[row], place)
        assert axes.sizes[row] == distinct.size
        ends = axes.ends[row, : distinct.size + 1]
        assert np.array_equal(np.diff(ends), np.bincount(place))
        axis = MassAxis.grouped(values)
        assert np.array_equal(axis.atoms, place)
        assert np.array_equal(axis.ends, ends)
    infinite = np.array([[np.inf, 0, -np.inf, np.inf, -np.inf, 1.0]])
    assert RankedAxes.ranked(infinite).atoms.tolist() == [[3, 1, 0, 3, 0, 2]]


def test_cuts_lie_between_neighbours():
    next_up = np.nextafter(1.0, 2)
    values = np.array([-1e308, 1.0, next_up, next_up, 1e308, 1.5e308])
    cuts = _kernels.partitions.between(values)
    assert cuts[:3].tolist() == [-1e308, -1e308 / 2 + 0.5, next_up]
    assert np.isnan(cuts[3])
    assert cuts[5] == 1.25e308


def test_the_best_grid_has_the_fewest_cells():
    nan = np.nan
    matrix = np.array([[0.2, 0.9, 0.9], [0.9, 0.1, nan], [0.95, nan, nan]])
    assert _kernels.ranked.smallest_best(matrix, TIE) == (4, 2)
    matrix[2, 0] = 0.9 - TIE / 2
    assert _kernels.ranked.smallest_best(matrix, TIE) == (2, 3)  # of as many cells, fewer rows
    assert _kernels.ranked.smallest_best(np.zeros((3, 3)), TIE) == (2, 2)


def test_one_search_takes_one_call(monkeypatch):
    """Records by mass go from ranks to entries without partitions of their own."""
    monkeypatch.delattr(_kernels.tiled, "entries")
    rng = np.random.default_rng(800)
    x, y = (MassAxis.grouped(rng.random(50)) for _ in range(2))
    assert Search.of(x, y, steps(Limits(10.0, 5.0, "reshef"))).matrix().shape == (4, 4)
