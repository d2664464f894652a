import math

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmic import _kernels
from dpmic._validate import Limits
from dpmic.statistics import grids
from dpmic.statistics.maps import Map


@pytest.mark.parametrize("slack", [0, 1])
@given(st.lists(st.integers(1, 30), min_size=1, max_size=40), st.integers(1, 45))
def test_equipartition_is_the_written_rule(slack, weights, size):
    ends = np.concatenate(([0], np.cumsum(weights)))
    edges = _kernels.equipartition(ends, size, slack)
    parts = _kernels.reference.partitions.part_of(edges)
    assert parts.tolist() == naive.equipartition(weights, size, slack)


@pytest.mark.parametrize("slack", [0, 1])
def test_equipartition_without_ties_is_nearly_equal(slack):
    for n in (10, 23, 1000):
        for size in range(2, n + 1):
            edges = _kernels.equipartition(np.arange(n + 1), size, slack)
            weights = np.diff(edges)
            assert weights.size == size
            assert weights.max() - weights.min() <= 1


def test_masters_refine_equipartitions_without_ties():
    """So a noiseless line finds its own columns among the rows and scores their whole entropy."""
    for n in (10, 23, 1000):
        for size in range(2, 8):
            edges = _kernels.equipartition(np.arange(n + 1), size, 1)
            master = _kernels.equipartition(np.arange(n + 1), 15 * size, 1)
            assert set(edges.tolist()) <= set(master.tolist()) or n < 15 * size


def test_a_heavy_atom_leaves_the_other_parts_to_the_rest():
    """60 zeros and 40 different values in 4 parts: the zeros, and three parts of the others."""
    ends = np.concatenate(([0], np.arange(60, 101)))
    edges = _kernels.equipartition(ends, 4, 1)
    assert np.diff(ends[edges]).tolist() == [60, 13, 14, 13]


@given(st.integers(4, 400), st.sampled_from(["reshef", "paper", "minepy"]), st.booleans())
def test_steps_reach_every_grid_within_the_limit_once(cells, master, more_rows):
    plan = grids.steps(Limits(cells + 0.7, 15, master), more_rows=more_rows)
    found = {(k, step.columns) for step in plan for k in range(2, step.rows + 1)}
    assert found == {
        (k, l)
        for k in range(2, cells // 2 + 1)
        for l in range(2, cells // k + 1)
        if more_rows or k <= l
    }
    assert all(step.master == naive.master_size(step.columns, cells, 15, master) for step in plan)


def test_a_value_on_a_cut_belongs_to_the_cell_above():
    axis = grids.RangeAxis.of(
        np.array([-5.0, 0.0, 0.24, 0.25, 0.5, 0.75, 1.0, 9.0]), Map(0.0, 1.0), frozenset({2, 4})
    )
    quarters = _kernels.reference.partitions.part_of(axis.columns(4))[axis.atoms]
    halves = _kernels.reference.partitions.part_of(axis.columns(2))[axis.atoms]
    assert quarters.tolist() == [0, 0, 0, 1, 2, 3, 3, 3]
    assert halves.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("interval", [(0.0, 1.0), (-1e-3, 7.3), (1e15, 1e15 + 1e7), (-1e308, 0.0)])
def test_equal_fractions_are_one_cut(interval):
    """1/2 of two parts is 2/4 of four and 5/10 of ten: refinements stay small and nested."""
    for size in range(2, 120):
        own = grids.range_cuts(interval, size)
        twice = grids.range_cuts(interval, 2 * size)
        assert np.array_equal(own, twice[1::2])
        assert np.all(np.diff(own) > 0)
        assert interval[0] < own[0]
        assert own[-1] < interval[1]


@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_the_bin_of_a_record_depends_on_that_record_alone(seed, n):
    values = np.random.default_rng(seed).normal(size=n)
    sizes = frozenset({2, 3, 7, 30})
    together = grids.RangeAxis.of(values, Map(-1.0, 2.0), sizes).atoms
    alone = [
        grids.RangeAxis.of(values[i : i + 1], Map(-1.0, 2.0), sizes).atoms[0] for i in range(n)
    ]
    assert together.tolist() == alone


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=30, unique=True)
)
def test_mass_cuts_separate_neighbouring_values(values):
    """Even next to each other, or so large that their sum overflows."""
    ordered = np.sort(np.array([v + 0.0 for v in values]))
    axis = grids.MassAxis.grouped(ordered)
    distinct = np.unique(ordered)
    cuts = axis.cuts(np.arange(distinct.size + 1))
    assert np.array_equal(np.searchsorted(cuts, distinct, side="right"), np.arange(distinct.size))


def test_neighbouring_floats_are_separated():
    values = np.array([1.0, math.nextafter(1.0, 2.0), 1e308, 1.7e308])
    cuts = grids.MassAxis.grouped(values).cuts(np.arange(5))
    assert np.array_equal(np.searchsorted(cuts, values, side="right"), [0, 1, 2, 3])


def test_equal_values_follow_their_priorities():
    values, priorities = np.array([2.0, 1.0, 1.0, 2.0]), np.array([1, 3, 2, 0])
    assert grids.MassAxis.ranked(values, priorities).atoms.tolist() == [3, 1, 0, 2]
