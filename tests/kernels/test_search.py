"""Searches, by whatever kernels there are: the floats of the plain ones, step by step."""

import math

import kernel_cases as cases
import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from sweeps import sweep

from dpmic._validate import Limits
from dpmic.statistics import search as module
from dpmic.statistics.grids import MassAxis, steps
from dpmic.statistics.records import RankedAxes
from dpmic.statistics.search import Search, clumped_entries


def merged(asked):
    """Return the matrix by the plain kernel."""
    return np.fmax(*cases.stepwise(asked))


@pytest.mark.parametrize("kind", cases.AXES)
def test_both_orientations_of_masses_and_ranges(kind):
    for asked in cases.searches(200, 60, kind, (4, 150)):
        expected = cases.stepwise(asked)
        for fast in (False, True):
            cases.same(np.stack(asked._both(fast=fast)), expected)


@pytest.mark.parametrize("kind", cases.AXES)
def test_many_records(kind):
    rng = np.random.default_rng(50)
    for master in cases.MASTERS:
        x, y = cases.columns_of(rng, 2000)
        wanted = Limits(2000**0.6, float(rng.choice([1, 5, 15])), master)
        asked = cases.search(x, y, wanted, kind, rng)
        cases.same(asked.matrix(), merged(asked))


@pytest.mark.parametrize("more_rows", [False, True])
def test_both_orientations_with_clumps(more_rows):
    rng = np.random.default_rng(300)
    for _ in range(60):
        asked = cases.clumped_search(rng, cases.size_of(rng, (4, 150)), more_rows)
        cases.same(np.stack(asked._both(fast=False)), cases.stepwise(asked))


def test_pairs_in_any_order_and_repeatedly():
    rng = np.random.default_rng(600)
    plan = steps(Limits(20.0, 5.0, "minepy"), more_rows=True)
    table = np.stack([*cases.columns_of(rng, 90), *cases.columns_of(rng, 90)])
    pairs = rng.integers(0, 4, (12, 2))
    axes = RankedAxes.ranked(table)
    together = clumped_entries(axes, pairs, plan, occupied=True)
    for i, pair in enumerate(pairs):
        alone = clumped_entries(
            RankedAxes.ranked(table[pair]), np.array([[0, 1]]), plan, occupied=True
        )
        cases.same(together[:, i], alone[:, 0])
    assert clumped_entries(axes, pairs[:0], plan, occupied=True).shape[1] == 0


@sweep("n", range(4, 100, 5))
def test_a_line(n):
    """Every entry is nearly 1, and in float64 some a little more than others."""
    for wanted in (Limits(n**0.6 + 4, 15.0, "reshef"), Limits(n / 2 + 4, 2.0, "paper")):
        asked = cases.search(np.arange(n), np.arange(n), wanted)
        cases.same(asked.matrix(), merged(asked))


@given(xy=strategies.pairs(max_n=150), seed=st.integers(0, 2**32 - 1))
def test_increasing_maps_change_nothing(xy, seed):
    """Any values in the same order do."""
    rng = np.random.default_rng(seed)
    wanted = cases.limits(rng, xy[0].size)
    mapped = []
    for values in xy:
        distinct, place = np.unique(values, return_inverse=True)
        gaps = 1e-3 + rng.random(distinct.size) * 10 ** rng.uniform(-3, 3)
        mapped.append((np.cumsum(gaps) - 5)[place])
    one, other = cases.search(*xy, wanted), cases.search(*mapped, wanted)
    cases.same(one.matrix(), other.matrix())


@pytest.mark.parametrize("kind", cases.AXES)
def test_layouts_for_bounded_memory(kind, monkeypatch):
    """However few groups of steps are held at a time, and however many steps a group has."""
    calls, information = [], module._information

    def noted(*given, fast):
        calls.append(given)
        information(*given, fast=fast)

    for asked in cases.searches(80, 60, kind, (40, 200)):
        matrix, groups = asked.matrix(), len(asked.steps.layout.masters)
        for at_once in (1, 2, 3):
            calls.clear()
            with monkeypatch.context() as small:
                small.setattr(module, "_information", noted)
                small.setattr(module, "AT_ONCE", at_once * asked.n + asked.n - 1)
                cases.same(asked.matrix(), matrix)
            alone = 1 if kind == "range" else 0  # masses have a kernel from ranks to entries
            fits = len(asked.steps) <= at_once
            assert len(calls) == (alone if fits else math.ceil(groups / at_once))


def test_one_search_takes_one_call(monkeypatch):
    """Records by mass go from ranks to entries without partitions of their own."""
    monkeypatch.delattr(module, "_information")
    rng = np.random.default_rng(800)
    x, y = (MassAxis.grouped(rng.random(50)) for _ in range(2))
    assert Search.of(x, y, steps(Limits(10.0, 5.0, "reshef"))).matrix().shape == (4, 4)
