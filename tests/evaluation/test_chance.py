"""What displays say of unrelated columns is what unrelated columns score."""

import math

import numpy as np
import pytest
from sweeps import sweep

import dpmic
from dpmic.evaluation import chance as measured
from dpmic.parameters import chance, stored, tuned

BOX = ((0, 1), (0, 1))


@sweep("statistic", ["mice", "micr"])
def test_the_table_is_measured_again(statistic):
    """300 new samples: the share above each quantile is what it says, within 4.5 deviations."""
    score, known = measured.STATISTICS[statistic], chance.unrelated(statistic, 250)
    rng = np.random.default_rng(1)
    values = np.array([score(*rng.uniform(size=(2, 250))) for _ in range(300)])
    for share, quantile in ((0.5, known.median), (0.05, known.most)):
        spread = math.sqrt(share * (1 - share) / 300)
        assert np.mean(values > quantile) == pytest.approx(share, abs=4.5 * spread)


def test_a_row_of_the_table_follows_from_its_seed():
    assert measured._row("mice", 25, 4000, 0) in stored("chance")["rows"]


@pytest.mark.slow
def test_default_private_scores_of_unrelated_columns():
    """The stored distribution covers several margins, so at most 5% of each lie above it."""
    for n, epsilon in ((100, 1.0), (1000, 0.1), (1000, 1.0)):
        known = chance.before_noise("capped-laplace", n, epsilon)
        cap = tuned.lookup_capped(n, epsilon).cap
        rng = np.random.default_rng(2)
        values = [
            dpmic.micc(*rng.uniform(size=(2, n)), bounds=BOX, cap=cap).mic for _ in range(300)
        ]
        assert np.mean(np.array(values) > known.most) < 0.05 + 4.5 * math.sqrt(0.05 * 0.95 / 300)
        assert np.mean(np.array(values) > known.median) > 0.5


def test_the_strongest_of_many_unrelated_pairs_scores_no_more():
    rng = np.random.default_rng(3)
    known = chance.unrelated("mice", 100, pairs=45)
    strongest = [dpmic.pairwise(rng.uniform(size=(100, 10))).top(1)[0][2] for _ in range(100)]
    assert np.mean(np.array(strongest) > known.most) < 0.05 + 4.5 * math.sqrt(0.05 * 0.95 / 100)
    assert np.mean(np.array(strongest) > chance.unrelated("mice", 100).most) > 0.5


@sweep("n", [25, 137, 2500, 24_999])
def test_more_records_and_fewer_pairs_score_less_by_chance(n):
    for known in (
        lambda n, m: chance.unrelated("mice", n, pairs=m),
        lambda n, m: chance.before_noise("capped-laplace", n, 1.0, pairs=m),
    ):
        assert known(n, 1).median < known(n, 1).most < known(n, 100).most <= 1
        assert known(2 * n, 1).most <= known(n, 1).most


def test_where_nothing_was_measured_nothing_is_said():
    assert chance.unrelated("mice", 24) is None
    assert chance.unrelated("tic", 100) is None
    assert chance.before_noise("capped-laplace", 10, 1.0) is None
    assert chance.before_noise("another", 100, 1.0) is None
    assert chance.unrelated("mice", 10**6) == chance.unrelated("mice", 25_000)
