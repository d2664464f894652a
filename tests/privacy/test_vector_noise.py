"""Noise for several scores, and the choice of the largest, as OpenDP proves and draws them."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats
from sweeps import sweep

from dpmic.privacy import noise

SIZES = [1, 5, 190]


@sweep("size", SIZES)
@sweep("epsilon", [1e-3, 0.1, 1.0, 10.0])
def test_vector_laplace_is_tight_and_never_above(size, epsilon):
    change = size * 0.0114
    found = noise.calibrate_vector(change, epsilon, size)
    assert found.epsilon == noise._vector_laplace(found.scale, size).map(d_in=change) <= epsilon
    assert found.scale == pytest.approx(change / epsilon, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (3.0, 1e-3), (1e-4, 1e-9)]
)
def test_gaussian_is_tight_and_never_above(size, epsilon, delta):
    from opendp import combinators

    change = math.sqrt(size) * 0.0114

    def proved(scale):
        private = combinators.make_zCDP_to_approxDP(noise._vector_gaussian(scale, size))
        return private.map(d_in=change).epsilon(delta)

    found = noise.calibrate_gaussian(change, epsilon, delta, size)
    assert proved(found.scale) <= epsilon == found.epsilon
    assert proved(found.scale * 0.999) > epsilon


@pytest.mark.parametrize(("k", "size"), [(1, 3), (5, 45), (44, 45), (10, 1000)])
def test_the_choice_costs_twice_k_delta(k, size):
    found = noise.calibrate_top_k(0.0114, 0.5, k, size)
    assert found.epsilon == noise._top_k(found.scale, k, size).map(d_in=0.0114) <= 0.5
    assert found.scale == pytest.approx(2 * k * 0.0114 / 0.5, rel=1e-6)


def test_positions_are_different_and_mostly_the_largest():
    scores = [0.1, 0.9, 0.3, 0.8, 0.2, 0.0]
    for _ in range(200):
        chosen = noise.TopK(0.2, math.nan, 4, 6).choose(scores)
        assert len(set(chosen)) == 4
        assert set(chosen) <= set(range(6))
    assert set(noise.TopK(1e-3, math.nan, 2, 6).choose(scores)) == {1, 3}


def flip(scores, scale):
    """Probabilities of permute-and-flip: the first that accepts, in a uniform order."""
    accept = [math.exp((score - max(scores)) / scale) for score in scores]
    chances = [0.0] * len(scores)
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1 / len(orders)
        for i in order:
            chances[i] += left * accept[i]
            left *= 1 - accept[i]
    return chances


@pytest.mark.slow
def test_the_choice_is_permute_and_flip_peeled():
    """Also the order of the positions is that of the draws, each from what is left."""
    scores, scale, runs = [0.3, 0.0, 0.2, 0.35], 0.2, 20_000
    drawn = Counter(tuple(noise.TopK(scale, math.nan, 2, 4).choose(scores)) for _ in range(runs))
    expected = {}
    for i, first in enumerate(flip(scores, scale)):
        rest = [j for j in range(4) if j != i]
        for j, second in zip(rest, flip([scores[j] for j in rest], scale), strict=True):
            expected[i, j] = first * second
    observed = np.array([drawn[pair] for pair in expected])
    assert stats.chisquare(observed, np.array([*expected.values()]) * runs).pvalue > 1e-6
    wrong = np.array([*expected.values()]) ** 0.9  # as if the scale were a tenth larger
    assert stats.chisquare(observed, wrong / wrong.sum() * runs).pvalue < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("added", "fitted"),
    [
        (noise.LaplaceVector(0.1, math.nan, 4), stats.laplace),
        (noise.Gaussian(0.1, math.nan, math.nan, 4), stats.norm),
    ],
    ids=["laplace", "gaussian"],
)
def test_goodness_of_fit(added, fitted):
    """Passes at the true scale, fails a tenth off; entries are independent and on the grid."""
    values = [0.25, 0.0, 1.0, 0.5]
    sample = np.array([added.add(values) for _ in range(4_000)]) - values
    assert stats.kstest(sample.ravel(), fitted(scale=0.1).cdf).pvalue > 1e-6
    for wrong in (0.09, 0.11):
        folded = lambda x, s=wrong: 2 * fitted(scale=s).cdf(x) - 1  # noqa: E731
        assert stats.kstest(np.abs(sample).ravel(), folded).pvalue < 1e-3
    assert np.all(sample / noise.GRANULARITY % 1 == 0)
    correlations = np.corrcoef(sample.T)[np.triu_indices(4, 1)]
    assert np.max(np.abs(correlations)) < 0.1


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_opendp_never_sees_what_is_not_finite(value):
    for call in (
        noise.LaplaceVector(1.0, math.nan, 2).add,
        noise.Gaussian(1.0, math.nan, math.nan, 2).add,
        noise.TopK(1.0, math.nan, 1, 2).choose,
    ):
        with pytest.raises(ArithmeticError, match="nothing was released"):
            call([0.5, value])
