"""The estimate is the median of what a uniform prior and the noise leave."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sweeps import sweep

from dpmic.evaluation.tuning import wsum
from dpmic.parameters.tuned import Calibration

PLAIN = Calibration()
SOME = Calibration(low=0.12, high=0.93, spread=0.03)


def by_numbers(calibration, value, scale, parts=200_001):
    """The median of the truncated density, by adding up its values on a fine grid."""
    score = np.linspace(calibration.low, calibration.high, parts)
    exponent = -np.abs(value - score) / (scale + calibration.spread)
    density = np.exp(exponent - exponent.max())
    below = np.concatenate(([0.0], np.cumsum((density[1:] + density[:-1]) / 2)))
    median = np.interp(below[-1] / 2, below, score)
    return (median - calibration.low) / (calibration.high - calibration.low)


@sweep("calibration", [PLAIN, SOME], ids=["plain", "calibrated"])
@sweep("scale", [0.002, 0.05, 0.3, 1.0, 20.0])
@sweep("value", [0.0, 0.05, 0.12, 0.4, 0.5, 0.77, 0.93, 0.96, 1.0])
def test_is_the_median(calibration, value, scale):
    found = float(calibration.estimate(value, scale))
    assert found == pytest.approx(by_numbers(calibration, value, scale), abs=1e-4)


def test_is_the_median_of_what_could_have_been():
    """Draw scores from the prior, add noise, keep those whose value is the one published."""
    rng = np.random.default_rng(11)
    score = rng.random(4_000_000)
    value = np.clip(score + rng.laplace(0, 0.2, score.size), 0, 1)
    for published in (0.0, 0.15, 0.6, 1.0):
        kept = score[np.abs(value - published) < (0.002 if 0 < published < 1 else 1e-12)]
        assert kept.size > 5000
        expected = np.median(kept)
        assert float(PLAIN.estimate(published, 0.2)) == pytest.approx(expected, abs=0.015)


values = st.floats(0, 1)


@given(values)
def test_without_noise_it_is_the_value(value):
    for scale in (0.0, 1e-12):
        assert float(PLAIN.estimate(value, scale)) == pytest.approx(value, abs=1e-10)
    calibration = Calibration(low=0.2, high=0.9)
    expected = min(max((value - 0.2) / 0.7, 0), 1)
    assert float(calibration.estimate(value, 0.0)) == pytest.approx(expected, abs=1e-10)


@given(values, st.sampled_from([1e4, 1e8, 1e12, 1e16, 1e30]))
def test_with_nothing_but_noise_it_is_one_half(value, scale):
    for calibration in (PLAIN, SOME):
        assert float(calibration.estimate(value, scale)) == pytest.approx(0.5, abs=1e-4)


@given(st.lists(values, min_size=2, max_size=20), st.floats(1e-6, 1e3))
def test_it_grows_with_the_value(published, scale):
    found = PLAIN.estimate(np.sort(published), scale)
    assert np.all(np.diff(found) >= -1e-9)


@given(
    st.floats(0, 1),
    st.floats(1e-9, 1e9) | st.sampled_from([0.0, 1e-12, 1e12]),
    st.floats(0, 0.4),
    st.floats(0.6, 1),
    st.floats(0, 0.3, allow_subnormal=False),
)
def test_it_lies_between_0_and_1(value, scale, low, high, spread):
    found = float(Calibration(low, high, spread).estimate(value, scale))
    assert 0 <= found <= 1


@given(values, st.floats(1e-3, 1e3))
def test_it_is_drawn_towards_the_middle(value, scale):
    found = float(PLAIN.estimate(value, scale))
    assert min(value, 0.5) - 1e-9 <= found <= max(value, 0.5) + 1e-9
    assert float(PLAIN.estimate(1 - value, scale)) == pytest.approx(1 - found, abs=1e-9)


@sweep("scale", [0.0, 1e-300, 1e-12, 1e12, 1e300])
def test_extreme_scales_are_finite_and_silent(scale):
    """Any warning is an error here."""
    with np.errstate(over="warn", invalid="warn", divide="warn"):
        found = PLAIN.estimate(np.array([0.0, 1e-13, 0.3, 1 - 1e-13, 1.0]), scale)
    assert np.all(np.isfinite(found))


def test_shapes():
    assert PLAIN.estimate(0.4, 0.1).shape == ()
    assert PLAIN.estimate([[0.1, 0.2, 0.3]], 0.1).shape == (1, 3)
    assert float(PLAIN.estimate([[0.1, 0.2]], 0.1)[0, 1]) == float(PLAIN.estimate(0.2, 0.1))


def test_spread_is_more_noise():
    spread = Calibration(spread=0.15)
    assert float(spread.estimate(0.9, 0.1)) == float(PLAIN.estimate(0.9, 0.25))


def losses(scale):
    """WSUM of the value, the estimate and the constant 0.5, scores spread evenly."""
    scores = (np.arange(400) + 0.5) / 400
    noise = (
        scale
        * np.sign(np.arange(2000) - 999.5)
        * -np.log1p(-np.abs(np.arange(2000) - 999.5) / 1000)
    )
    value = np.clip(scores[:, None] + noise, 0, 1)  # at the quantiles of the noise
    guesses = (value, PLAIN.estimate(value, scale), np.full_like(value, 0.5))
    return [float(wsum(np.abs(g - scores[:, None]).mean(axis=1), scores)) for g in guesses]


@sweep("scale", [0.001, 0.01, 0.1, 0.24, 0.5, 1.0, 2.0, 10.0, 100.0])
def test_it_is_never_worse_than_the_value_or_a_constant(scale):
    value, estimate, constant = losses(scale)
    assert constant == pytest.approx(0.25, abs=1e-4)
    assert estimate <= min(value, constant) + 1e-9
    if 0.1 <= scale <= 2:
        assert estimate < min(value, constant) - 0.002


def test_no_shift_of_the_estimate_is_better():
    """The median has the least mean absolute error: pulling more, or less, has more."""
    scores, scale = (np.arange(400) + 0.5) / 400, 0.3
    noise = np.random.default_rng(2).laplace(0, scale, (400, 1000))
    value = np.clip(scores[:, None] + noise, 0, 1)

    def loss(pull):
        guess = 0.5 + (PLAIN.estimate(value, scale) - 0.5) * pull
        return np.abs(guess - scores[:, None]).mean()

    best = loss(1.0)
    assert all(loss(pull) > best for pull in (0.85, 0.93, 1.07, 1.15))
    assert math.isfinite(best)
