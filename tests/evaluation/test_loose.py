"""Bounds wider than the data: shapes keep ranks, bounds are stated, and ours holds."""

import numpy as np
import pytest
from scipy import stats
from sweeps import sweep

from dpmic.cli import demo
from dpmic.evaluation import collections, loose, tuning
from dpmic.evaluation.collections import Collection, Column
from dpmic.evaluation.jobs import Run
from dpmic.evaluation.loose import NOT_COUNTS, SHAPES
from dpmic.evaluation.relationships import noisy


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "STAR_GRID", (20, 30))
    return Run(tmp_path / "cache", seed=5)


class TestShapes:
    @sweep("name", SHAPES)
    def test_they_keep_ranks_and_lie_within_their_bounds(self, name):
        x = np.linspace(0, 1, 999)[1:-1]
        low, high = SHAPES[name].interval
        found = SHAPES[name].map(x)
        assert low <= found.min() < found.max() <= high
        assert stats.rankdata(found) == pytest.approx(stats.rankdata(x))

    @sweep("name", sorted(SHAPES.keys() - {"fitting"}))
    def test_most_of_the_bounds_is_empty(self, name):
        low, high = SHAPES[name].interval
        found = SHAPES[name].map(np.linspace(0, 1, 999)[1:-1])
        middle = np.quantile(found, 0.75) - np.quantile(found, 0.25)
        assert middle < (high - low) / 10


@pytest.mark.slow
def test_linear_axes_see_nothing_and_ours_do(run):
    few = (noisy(12, 0.9), noisy(13, 0.9))
    rows = loose.synthetic(run, few, 400, (1.0,), 1)
    at = {(row["shape"], row["mechanism"]): row["wsum"] for row in rows}
    assert {shape for shape, _ in at} == set(SHAPES)
    for shape in SHAPES.keys() - {"fitting"}:
        assert at[shape, "ours-wide"] < at[shape, "ours"] / 2
    assert abs(at["fitting", "ours-wide"] - at["fitting", "ours"]) < 0.15


class TestStatedBounds:
    def test_those_of_the_survey_are_the_demos(self):
        assert dict(loose.FAIR) == demo.BOUNDS

    def test_every_statistic_has_one_kind(self):
        try:
            table = loose.baseball()
        except Exception as error:
            pytest.skip(str(error))
        names = {column.name for column in table.columns}
        assert set(NOT_COUNTS) <= names
        assert {c.interval for c in table.columns} == {loose.COUNT, *NOT_COUNTS.values()}
        for column in table.columns:  # nearly all values lie inside
            low, high = column.interval
            assert np.mean((column.values >= low) & (column.values <= high)) > 0.95, column.name

    def test_only_the_bounds_change(self, monkeypatch):
        columns = tuple(Column(name, np.arange(5.0), (0.0, 5.0)) for name in ("40", "50"))
        known = Collection("Spellman4381", 5, columns, ((0, 1),))
        monkeypatch.setattr(collections, "spellman4381", lambda: known)
        (pair,) = loose.spellman()
        assert pair.bounds == (loose.LOG_RATIO, loose.LOG_RATIO)
        assert pair.x is columns[0].values


def test_a_summary():
    row = {"collection": "Fair", "n": 9, "mechanism": "ours", "epsilon": 1.0}
    (found,) = loose.summary([row | {"error": error} for error in (0.1, 0.2, 0.6)])
    assert found == row | {
        "pairs": 3,
        "median_error": pytest.approx(0.2),
        "mean_error": pytest.approx(0.3),
    }


def test_scales_of_axes_share_samples_and_add_the_noise_of_a_release(run):
    rows = loose.scales(run, (noisy(12, 0.9), noisy(13, 0.9)), {200: 2})
    at = {(row["mechanism"], row["epsilon"]): row["wsum"] for row in rows}
    assert len(at) == 2 * len(loose.EPSILONS_OF_SCALES)
    for key in ("ours-capped", "ours-any"):
        assert at[key, 0.02] > at[key, 0.1] > at[key, 1.0] > 0
    rng = np.random.default_rng(1)
    linear, scaled = loose._scales(rng, noisy(5, 0.3), 100, 4, (4.0, 6.0))["scores"]
    assert linear.shape == (2, 4)
    assert (scaled >= linear).all()
    assert (scaled > linear).any()
