"""Noise in the shape of a cube: drawn exactly, of the stated size, and attacked."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from project import SURE
from scipy import stats
from sweeps import sweep

import dpmic
from dpmic.parameters.value_noise import ValueNoise
from dpmic.privacy import noise
from dpmic.privacy._joint_noise import of_value

STEP = noise.GRANULARITY


# Every path of the samplers


class UnknownError(Exception):
    """More random numbers are asked for than were chosen."""


def every_outcome(monkeypatch, draw, least=Fraction(0)):
    """Return the exact probability of each outcome, and what is left of paths below ``least``.

    ``draw`` is run for every sequence of numbers that ``randbelow`` may return.
    """
    chances, left, open_paths = {}, Fraction(0), [((), Fraction(1))]
    while open_paths:
        path, chance = open_paths.pop()
        numbers = iter(path)

        def next_number(below, numbers=numbers):
            for number in numbers:
                return number
            raise UnknownError(below)

        monkeypatch.setattr(noise, "randbelow", next_number)
        try:
            outcome = draw()
        except UnknownError as asked:
            (below,) = asked.args
            if chance < least:
                left += chance
            else:
                open_paths += [((*path, i), chance / below) for i in range(below)]
        else:
            chances[outcome] = chances.get(outcome, Fraction(0)) + chance
    assert sum(chances.values()) + left == 1
    return chances, left


@sweep("share", [(0, 1), (1, 3), (2, 3), (1, 1)])
def test_survival_has_the_probability_of_an_exponential(monkeypatch, share):
    chances, left = every_outcome(
        monkeypatch, lambda: noise._survives(*share), least=Fraction(1, 10**5)
    )
    assert left < 1e-3
    assert float(chances[True]) == pytest.approx(math.exp(-share[0] / share[1]), abs=float(left))


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_geometric_variables_fall_by_one_factor(monkeypatch, steps):
    """Every path, with survival as the test above has it."""
    tree = [1.0]

    def geometric():
        tree[0] = 1.0
        return noise._geometric(steps), tree[0]

    def survives(numerator, denominator):
        alive = bool(noise.randbelow(2))
        chance = math.exp(-numerator / denominator)
        tree[0] *= 2 * (chance if alive else 1 - chance)
        return alive

    monkeypatch.setattr(noise, "_survives", survives)
    chances, _ = every_outcome(monkeypatch, geometric, least=Fraction(1, 20_000))
    found = {}
    for (number, weight), chance in chances.items():
        found[number] = found.get(number, 0.0) + weight * float(chance)
    assert len(found) > 2 * steps
    for number in range(2 * steps):
        ideal = math.exp(-number / steps) * -math.expm1(-1 / steps)
        assert found[number] <= ideal * (1 + 1e-9)
        assert found[number] == pytest.approx(ideal, rel=0.02)  # the rest is in longer paths


@sweep("size", [1, 2, 3])
@sweep("parts", [(0, 0, 0, 0), (1, 0, 0, 2), (0, 3, 1, 0)])
def test_a_radius_is_kept_with_its_probability(monkeypatch, size, parts):
    """Proposals by the number of ways to be a sum, times this, are as (2 r + 1)^size."""

    class RejectedError(Exception):
        pass

    def once():
        proposed = iter(parts[: size + 1])

        def geometric(steps):
            for number in proposed:
                return number
            raise RejectedError

        monkeypatch.setattr(noise, "_geometric", geometric)
        try:
            return noise._cube_radius(10, size)
        except RejectedError:
            return None

    chances, _ = every_outcome(monkeypatch, once)
    r = sum(parts[: size + 1])
    assert chances.keys() <= {r, None}
    ways = math.comb(r + size, size)
    assert ways * chances[r] == Fraction((2 * r + 1) ** size, 2**size * math.factorial(size))


def test_given_its_radius_a_point_is_uniform_in_the_cube(monkeypatch):
    monkeypatch.setattr(noise, "_cube_radius", lambda steps, size: 2)
    drawn, _ = every_outcome(monkeypatch, lambda: tuple(noise.Cube(1, 1.0, 2).add([0.0, STEP])))
    expected = itertools.product(range(-2, 3), range(-1, 4))
    assert drawn == {(i * STEP, j * STEP): Fraction(1, 25) for i, j in expected}


@pytest.mark.parametrize("size", [1, 2, 5])
def test_the_cubes_add_up_to_an_exponential_of_the_norm(size):
    """In rationals: of radii from max abs(z) on, the weights over volumes are q^max / (1 - q)."""
    q, reach = Fraction(3, 4), 60
    weights = [(2 * r + 1) ** size * q**r for r in range(reach)]
    for norm in range(5):
        density = sum(weights[r] / (2 * r + 1) ** size for r in range(norm, reach))
        assert density == (q**norm - q**reach) / (1 - q)


# Calibration and rounding


@sweep("size", [2, 5, 190, 5000])
@sweep("epsilon", [1e-3, 0.1, 1.0, 10.0])
@sweep("change", [1.0, 0.0114, 2e-5])
def test_the_loss_is_tight_and_never_above(size, epsilon, change):
    found = noise.calibrate_cube(change, epsilon, size)
    moved = math.ceil(Fraction(change) / Fraction(STEP))
    assert Fraction(moved, found.steps) <= Fraction(found.epsilon) <= Fraction(epsilon)
    assert found.epsilon == pytest.approx(epsilon, rel=1e-6)
    assert found.epsilon <= epsilon * (1 - 0.99e-9)
    assert found.scale == pytest.approx((size + 1) / 2 * change / epsilon, rel=1e-5)


def test_thirty_charges_of_a_tenth_fit_into_three():
    spent = noise.calibrate_cube(0.0114, 0.1, 45).epsilon
    assert sum(math.ceil(spent * 2**50) for _ in range(30)) <= 3 * 2**50


@sweep("change", [STEP / 3, STEP, 2.5 * STEP, 7 * STEP])
def test_rounded_scores_move_by_at_most_as_many_steps(change):
    moved = math.ceil(Fraction(change) / Fraction(STEP))
    rng = np.random.default_rng(0)
    for start in (*rng.random(200), 0.5, 0.5 * STEP, 1.5 * STEP, 0.0, -0.5 * STEP):
        end = start + change
        if Fraction(end) - Fraction(start) <= Fraction(change):
            assert noise._on_grid(end) - noise._on_grid(start) <= moved


@pytest.mark.parametrize(("value", "place"), [(0.5, 0), (1.5, 1), (2.5, 2), (-0.5, -1), (0.49, 0)])
def test_halves_are_rounded_alike(value, place):
    """Half-even rounding would move 0.5 and 1.5 to 0 and 2: two steps for one."""
    assert noise._on_grid(value * STEP) == place + (value % 1 == 0.5)


# The distribution


def drawn(added, runs):
    """Return vectors of noise, in steps."""
    values = [0.25] * added.size
    return (np.array([added.add(values) for _ in range(runs)]) - 0.25) / STEP


@pytest.mark.slow
@pytest.mark.parametrize(("size", "runs"), [(2, 12_000), (5, 8_000), (45, 800)])
def test_goodness_of_fit(size, runs):
    """The norm is a gamma variable of its scale, and not of one a tenth off; on the grid."""
    added = noise.calibrate_cube(0.01, 1.0, size)
    sample = drawn(added, runs)
    assert np.all(sample % 1 == 0)
    norm = np.abs(sample).max(axis=1)
    assert stats.kstest(norm, stats.gamma(size, scale=added.steps).cdf).pvalue > 1e-6
    for wrong in (0.9, 1.1):
        cdf = stats.gamma(size, scale=added.steps * wrong).cdf
        assert stats.kstest(norm, cdf).pvalue < 1e-3
    places = sample / norm[:, None]
    which = np.argmax(np.abs(places), axis=1)
    observed = np.bincount(2 * which + (places[np.arange(runs), which] > 0), minlength=2 * size)
    assert stats.chisquare(observed).pvalue > 1e-6  # every face alike
    other = places[:, 0][which != 0]
    assert stats.kstest(other, stats.uniform(-1, 2).cdf).pvalue > 1e-6


@pytest.mark.slow
def test_goodness_of_fit_where_steps_are_few():
    """Radii that are often refused, against the exact weights of shells."""
    steps, size, runs = 10, 5, 6_000
    added = noise.Cube(steps, math.nan, size)
    norm = np.abs(drawn(added, runs)).max(axis=1).astype(int)
    radii = np.arange(400)
    shells = (2.0 * radii + 1) ** size - np.maximum(2.0 * radii - 1, 0) ** size
    cuts = np.arange(20, 100, 10)

    def expected(scale):
        weights = shells * np.exp(-radii / scale)
        return np.add.reduceat(weights, np.r_[0, cuts]) / weights.sum() * runs

    observed = np.add.reduceat(np.bincount(norm, minlength=400), np.r_[0, cuts])
    assert stats.chisquare(observed, expected(steps)).pvalue > 1e-6
    for wrong in (9, 11):
        assert stats.chisquare(observed, expected(wrong)).pvalue < 1e-3


@sweep(("size", "mean", "width"), [(1, 1, 3.0), (2, 1.5, 4.1), (5, 3, 7.3), (10, 5.5, 12)])
def test_means_and_widths_in_units_of_sensitivity_over_epsilon(size, mean, width):
    found = of_value(noise.calibrate_cube(0.01, 1.0, size))
    assert found.mean / 0.01 == pytest.approx(mean, rel=1e-6)
    assert found.half_width(0.95) / 0.01 == pytest.approx(width, abs=0.3 if size == 10 else 0.05)


def test_one_value_has_laplace_noise():
    cube, laplace = ValueNoise("cube", 0.3, 1), ValueNoise("laplace", 0.3)
    for level in (0.01, 0.5, 0.95, 1 - 1e-9):
        assert cube.half_width(level) == pytest.approx(laplace.half_width(level), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 5, 45])
def test_quantiles_of_one_value(size):
    added = noise.calibrate_cube(0.01, 1.0, size)
    runs = 4_000 if size < 45 else 1_000
    one = np.abs(drawn(added, runs)[:, 0]) * STEP
    for level in (0.5, 0.9, 0.95):
        inside = np.mean(one <= of_value(added).half_width(level))
        assert inside == pytest.approx(level, abs=5 * math.sqrt(level * (1 - level) / runs))
    capped = np.minimum(one, 0.02)
    expected = float(of_value(added).mean_up_to(0.02))
    assert capped.mean() == pytest.approx(expected, abs=5 * capped.std() / math.sqrt(runs))


@sweep("size", [2, 5, 45, 1000, 100_000])
def test_widths_are_found_for_every_size_and_level(size):
    widths = [ValueNoise("cube", 1.0, size).half_width(level) for level in (1e-6, 0.5, 1 - 1e-12)]
    assert 0 < widths[0] < 1e-5
    assert widths[0] < widths[1] < widths[2] < 40


# What is refused


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_scores_that_are_not_finite(value):
    with pytest.raises(ArithmeticError, match="nothing was released"):
        noise.Cube(10, 1.0, 2).add([0.5, value])


def test_scores_that_were_not_calibrated_for():
    """Noise for two scores is too little for three."""
    with pytest.raises(ArithmeticError, match="expected 2 scores; nothing was released"):
        noise.Cube(10, 1.0, 2).add([0.5, 0.5, 0.5])


# Through the public calls


@pytest.mark.slow
def test_matrices_and_screens_say_and_use_it(monkeypatch):
    used = []
    real = noise.Cube.add
    monkeypatch.setattr(noise.Cube, "add", lambda self, v: used.append(len(v)) or real(self, v))
    x = np.random.default_rng(0).random((3_000, 4))
    asked = {"bounds": [(0, 1)] * 4, "epsilon": 2.0}
    matrix, chosen = dpmic.release_pairwise(x, **asked), dpmic.screen(x, top=3, **asked)
    assert used == [6, 3]
    for result, epsilon in ((matrix, matrix.epsilon), (chosen, chosen.values_epsilon)):
        count = len(result.values)
        assert result.noise == "cube"
        assert "cube noise within" in repr(result)
        assert "one random radius for all values" in result.provenance()["noise"]
        scale = (count + 1) / 2 * result.sensitivity / epsilon
        assert result.scale == pytest.approx(scale, rel=1e-6)
        assert result.half_width == ValueNoise("cube", result.scale, count).half_width(0.95)
        assert type(result).from_json(result.to_json()) == result
        assert all(low <= high for low, high in result.estimate_interval())
    assert dpmic.screen(x, top=1, **asked).noise == "laplace"
    assert used == [6, 3]


def test_screenings_stored_before_have_laplace_noise():
    x = np.random.default_rng(0).random((500, 3))
    found = dpmic.screen(x, bounds=[(0, 1)] * 3, epsilon=10.0, top=2)
    before = {name: value for name, value in found.to_dict().items() if name != "noise"}
    loaded = dpmic.Screening.from_dict(before)
    assert loaded.noise == "laplace"
    assert loaded.half_width == pytest.approx(loaded.scale * math.log(20))
    with pytest.raises(dpmic.InputError, match="not complete"):
        dpmic.Screening.from_dict({**before, "noise": "none"})


# Attacks


class Vector:
    """The log-likelihood ratio of noisy vectors: no other event tells more."""

    name, epsilon, change = "cube", 1.0, 0.01

    def __init__(self, size, share=1.0):
        added = noise.calibrate_cube(self.change, self.epsilon, size)
        self.added = dataclasses.replace(added, steps=int(added.steps * share))
        self.signs = np.where(np.arange(size) % 2, -1.0, 1.0)  # scores move against each other

    @property
    def neighbours(self):
        still = np.full(self.added.size, 0.5)
        return (still, still), (still + self.change * self.signs, still)

    def draws(self, scores, still, runs):
        values = np.array([self.added.add(scores) for _ in range(runs)])
        near, far = values - still, values - still - self.change * self.signs
        return np.abs(near).max(axis=1) - np.abs(far).max(axis=1)


@pytest.mark.slow
def test_a_quick_audit():
    vector = Vector(2)
    found = dpmic.audit(vector, neighbours=vector.neighbours, runs=2_000, confidence=SURE)
    assert not found.disproved


@pytest.mark.full
@pytest.mark.parametrize("size", [2, 5])
def test_vectors_stay_below_their_epsilon(size):
    vector = Vector(size)
    found = dpmic.audit(vector, neighbours=vector.neighbours, runs=100_000, confidence=SURE)
    assert not found.disproved, found
    assert found.lower > 0.85, found


@pytest.mark.full
@pytest.mark.parametrize("size", [2, 5])
def test_weaker_noise_is_caught(size):
    vector = Vector(size, 0.8)
    found = dpmic.audit(vector, neighbours=vector.neighbours, runs=100_000)
    assert found.disproved, found
