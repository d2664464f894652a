"""Weights and WSUM by hand, and expected errors against numerical integrals and draws."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats
from sweeps import sweep

from dpmic.evaluation.simulation import clipped_laplace
from dpmic.evaluation.tuning import expected_error, weights, wsum


class TestWeights:
    def test_by_hand(self):
        """Sorted 0.1, 0.4, 0.5, 0.9 has the midpoints 0.25, 0.45 and 0.7."""
        found = weights([0.5, 0.1, 0.9, 0.4])
        np.testing.assert_allclose(found, [0.25, 0.25, 0.3, 0.2], atol=1e-15)

    def test_one_counts_for_all(self):
        assert weights([0.3]).tolist() == [1.0]

    @pytest.mark.parametrize("size", [2, 10, 189])
    def test_are_shares_of_the_whole(self, size, rng):
        values = rng.random(size)
        found = weights(values)
        assert found.sum() == pytest.approx(1, abs=1e-12)
        assert found.min() > 0

    def test_are_the_share_of_numbers_that_are_nearest(self, rng):
        values = rng.random(12)
        points = (np.arange(200_000) + 0.5) / 200_000
        nearest = np.abs(points[:, None] - values).argmin(axis=1)
        shares = np.bincount(nearest, minlength=12) / points.size
        np.testing.assert_allclose(weights(values), shares, atol=1e-4)

    def test_go_with_their_values(self, rng):
        values, order = rng.random(20), rng.permutation(20)
        np.testing.assert_allclose(weights(values[order]), weights(values)[order], atol=1e-15)

    def test_equal_values_share(self):
        np.testing.assert_allclose(weights([0.5, 0.2, 0.5]).sum(), 1)
        assert weights([0.5, 0.2, 0.5])[1] == pytest.approx(0.35)


class TestWsum:
    def test_by_hand(self):
        targets, errors = [0.5, 0.1, 0.9, 0.4], [0.1, 0.2, 0.3, 0.4]
        expected = 0.25 * 0.1 + 0.25 * 0.2 + 0.3 * 0.3 + 0.2 * 0.4
        assert float(wsum(errors, targets)) == pytest.approx(expected)

    def test_of_the_constant_half(self):
        """The mean of |u - 1/2| for u uniform."""
        targets = (np.arange(500) + 0.5) / 500
        assert float(wsum(np.abs(targets - 0.5), targets)) == pytest.approx(0.25, abs=1e-6)

    def test_of_equal_errors(self, rng):
        assert float(wsum(np.full(9, 0.07), rng.random(9))) == pytest.approx(0.07)

    def test_keeps_other_axes(self, rng):
        targets, errors = rng.random(6), rng.random((6, 4))
        found = wsum(errors, targets)
        assert found.shape == (4,)
        assert found[2] == pytest.approx(float(wsum(errors[:, 2], targets)))


SCALES = [1e-3, 0.05, 0.3, 1.0, 40.0]


def by_integral(score, target, scale):
    """E|V - target| from the density of the noise and the two atoms of the clipped value."""
    law = stats.laplace(score, scale)

    def inner(v):
        return abs(v - target) * law.pdf(v)

    # Pieces short enough that no peak is missed.
    near = [score + scale * step for step in (-30, -8, -2, -0.5, 0, 0.5, 2, 8, 30)]
    edges = sorted({0.0, 1.0, target, *(min(max(edge, 0.0), 1.0) for edge in near)})
    between = sum(integrate.quad(inner, a, b)[0] for a, b in pairwise(edges))
    return between + law.cdf(0) * target + law.sf(1) * (1 - target)


@sweep("scale", SCALES)
@sweep("score", [0.0, 0.02, 0.5, 0.93, 1.0])
@sweep("target", [0.0, 0.3, 0.5, 1.0])
def test_expected_error_against_an_integral(score, target, scale):
    found = float(expected_error(score, target, scale))
    assert found == pytest.approx(by_integral(score, target, scale), abs=1e-8)


@sweep("scale", SCALES)
def test_expected_error_against_draws(scale, rng):
    for score, target in [(0.0, 0.1), (0.4, 0.7), (1.0, 0.6)]:
        drawn = np.abs(clipped_laplace(np.full(400_000, score), scale, rng) - target)
        within = 5 * drawn.std() / np.sqrt(drawn.size)
        assert float(expected_error(score, target, scale)) == pytest.approx(
            drawn.mean(), abs=within
        )


def test_expected_error_of_arrays(rng):
    scores, targets = rng.random((3, 5)), rng.random(3)[:, None]
    found = expected_error(scores, targets, 0.2)
    assert found.shape == (3, 5)
    one = expected_error(scores[1, 3], targets[1, 0], 0.2)
    assert found[1, 3] == pytest.approx(float(one), abs=1e-15)


def test_expected_error_without_noise_and_with_nothing_else(rng):
    scores, targets = rng.random((2, 50))
    np.testing.assert_array_equal(expected_error(scores, targets, 0.0), np.abs(scores - targets))
    np.testing.assert_allclose(
        expected_error(scores, targets, 1e-12), np.abs(scores - targets), atol=1e-11
    )
    # Noise that is all: 0 or 1 by the toss of a coin.
    np.testing.assert_allclose(expected_error(scores, targets, 1e6), 0.5, atol=1e-5)
