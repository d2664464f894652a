"""The 189 distributions against a second reading of the paper's appendix, and by simulation."""

from itertools import pairwise
from math import cos, pi, sin

import numpy as np
import pytest
from scipy import stats
from sweeps import sweep

from dpmic.evaluation import relationships
from dpmic.evaluation.relationships import FUNCTIONS, R_SQUARED, family, noisy

NUMBERS = range(1, 22)
SOME = [(1, 0.1), (4, 0.5), (9, 0.9), (13, 0.3), (16, 0.7), (17, 0.2), (21, 0.9)]


def cubic(x):
    return 10 * (x - 0.6) ** 3 + 2 * x * x + (1.5 - 3 * x)


def f9(x):
    return x / 99 if x <= 0.99 else 99 * x - 98


def f17(x):
    if x < 0.491:
        return 0.05
    return 0.95 if x > 0.509 else 50 * (x - 0.5) + 0.5


def f20(x):
    if x <= 0.0528:
        return 18 * x
    return -x / 9 + 1 / 9 if x >= 0.1 else -18 * x + 1.9


def f21(x):
    if x <= 0.0051:
        return 190 * x
    return -x / 99 + 1 / 99 if x >= 0.01 else -198 * x + 1.99


APPENDIX = {  # one number in, one out; F3 and F4 with 2 x - 0.5 for the printed 2 (x - 0.05)
    1: lambda x: 0.2 * sin(12 * x - 6) + 1.1 * (x - 1) + 1,
    2: lambda x: 0.15 * sin(11 * x * pi) + (x + 0.05),
    3: lambda x: 0.1 * sin(48 * x) + 2 * (x - 0.25),
    4: lambda x: 0.2 * sin(48 * x) + 2 * (x - 0.25),
    5: lambda x: 0.4 * cos(7 * x * pi) + 0.5,
    6: lambda x: 0.4 * cos(14 * x * pi) + 0.5,
    7: cubic,
    8: lambda x: 4 * cubic(x) - 1.4,
    9: f9,
    10: lambda x: 2.0**x - 1,
    11: lambda x: 8.0 ** (x - 0.3) - 1,
    12: lambda x: x,
    13: lambda x: 4 * (x - 0.5) ** 2 + 0.1,
    14: lambda x: 0.4 * sin(9 * x * pi) + 0.5,
    15: lambda x: 0.4 * sin(8 * x * pi) + 0.5,
    16: lambda x: 0.4 * sin(16 * x * pi) + 0.5,
    17: f17,
    18: lambda x: 0.4 * cos(5 * x * pi * (1 + x)) + 0.5,
    19: lambda x: 0.4 * sin(6 * x * pi * (1 + x)) + 0.5,
    20: f20,
    21: f21,
}


ALL = [(number, r) for number in NUMBERS for r in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)]


def test_there_are_189(monkeypatch):
    assert len(ALL) == 189
    monkeypatch.setattr(relationships, "noisy", lambda *asked: asked)
    assert family.__wrapped__() == tuple(ALL)


@pytest.mark.full
def test_the_whole_family():
    assert [(q.function, q.r_squared) for q in family()] == ALL
    assert len({q.name for q in family()}) == len(family()) == 189
    assert family()[100] == noisy(*ALL[100])


@sweep("number", NUMBERS)
def test_a_function_is_that_of_the_appendix(number):
    """Beyond [0, 1] too: noise in x leads there."""
    joints = [0.0051, 0.01, 0.0528, 0.1, 0.491, 0.509, 0.99]
    x = np.concatenate((np.linspace(-0.6, 1.6, 2203), joints, np.nextafter(joints, 2)))
    expected = [APPENDIX[number](float(value)) for value in x]
    np.testing.assert_allclose(FUNCTIONS[number - 1](x), expected, rtol=1e-9, atol=1e-12)


@sweep("number", NUMBERS)
def test_points_are_evenly_spaced_along_the_graph(number):
    q = noisy(number, 0.5)
    function = APPENDIX[number]
    x, y = np.array(q.x), np.array(q.y)
    assert x.shape == y.shape == (100,)
    np.testing.assert_allclose(y, [function(float(value)) for value in x], atol=1e-12)
    joints = [j for j in (0.0051, 0.01, 0.0528, 0.1, 0.491, 0.509, 0.99) if x[0] < j < x[-1]]
    jump = {20: 0.0528, 21: 0.0051}.get(number)
    lengths = []
    for start, end in pairwise(x):
        inner = [j for j in joints if start < j < end]
        if jump in inner:  # no point lies between two ends of a jump
            continue
        t = np.union1d(np.linspace(start, end, 60), inner)
        graph = np.array([function(float(value)) for value in t])
        lengths.append(np.hypot(np.diff(t), np.diff(graph)).sum())
    assert len(lengths) >= 98
    np.testing.assert_allclose(lengths, np.mean(lengths), rtol=2e-3)


@sweep("number", NUMBERS)
def test_the_points_reach_as_far_as_the_graph_is_in_the_square(number):
    x, function = noisy(number, 0.5).x, APPENDIX[number]
    within = [t for t in np.linspace(0, 1, 20_001) if 0 <= function(float(t)) <= 1]
    assert x[0] == pytest.approx(within[0], abs=1e-4)
    assert x[-1] == pytest.approx(within[-1], abs=1e-4)


@sweep(("number", "r_squared"), SOME)
def test_sigma_leaves_the_wished_r_squared(number, r_squared, rng):
    q, draws = noisy(number, r_squared), 1_000_000
    which = rng.integers(100, size=draws)
    x, y = np.array(q.x)[which], np.array(q.y)[which]
    noise = rng.normal(0, q.sigma, (2, draws))
    found = np.corrcoef(FUNCTIONS[number - 1](x + noise[0]), y + noise[1])[0, 1] ** 2
    assert found == pytest.approx(r_squared, abs=0.005)


def test_more_noise_leaves_less():
    for number in (2, 12, 20):
        sigmas = [noisy(number, r).sigma for r in R_SQUARED]
        assert sigmas == sorted(sigmas, reverse=True)
        assert sigmas[-1] > 0


@sweep(("number", "r_squared"), SOME)
def test_samples(number, r_squared):
    q = noisy(number, r_squared)
    x, y = q.sample(3000, np.random.default_rng(5))
    assert x.shape == y.shape == (3000,)
    for values in (x, y):
        assert values.min() >= 0
        assert values.max() <= 1
        assert np.unique(values).size == 3000
    again = q.sample(3000, np.random.default_rng(5))
    np.testing.assert_array_equal(again, (x, y))
    assert not np.array_equal(q.sample(3000, np.random.default_rng(6)), (x, y))


def frequencies(x, y, x_cuts, y_cuts):
    edges = [np.concatenate(([-np.inf], cuts, [np.inf])) for cuts in (x_cuts, y_cuts)]
    return np.histogram2d(x, y, edges)[0]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "r_squared"), SOME)
def test_masses_are_the_frequencies_of_a_large_sample(number, r_squared, rng):
    """On cells of comparable weight; masses of a slightly different noise are told apart."""
    q, n = noisy(number, r_squared), 300_000
    x, y = q.sample(n, rng)
    x_cuts, y_cuts = np.quantile(x, np.arange(1, 8) / 8), np.quantile(y, np.arange(1, 7) / 7)
    counts = frequencies(*q.sample(n, rng), x_cuts, y_cuts)

    def pvalue(distribution):
        masses = distribution.masses(x_cuts, y_cuts)
        assert masses.shape == (8, 7)
        assert masses.sum() == pytest.approx(1, abs=1e-12)
        assert masses.min() >= 0
        counted = masses * n >= 5
        observed = np.append(counts[counted], counts[~counted].sum() + 1)
        expected = np.append(masses[counted] * n, masses[~counted].sum() * n + 1)
        return stats.chisquare(observed, expected).pvalue

    assert pvalue(q) > 1e-4
    other = relationships.NoisyFunction(q.name, q.r_squared, q.x, q.y, q.sigma * 1.1)
    assert pvalue(other) < 1e-4


@pytest.mark.slow
def test_the_mass_of_one_cell_in_full(rng):
    """Of the mixture divided by what of it lies in the square, with scipy's normal law."""
    q = noisy(4, 0.4)  # some of its centres lie outside the square

    def mass(x0, x1, y0, y1):
        total = 0.0
        for x, y in zip(q.x, q.y, strict=True):
            law_x, law_y = stats.norm(x, q.sigma), stats.norm(y, q.sigma)
            total += (law_x.cdf(x1) - law_x.cdf(x0)) * (law_y.cdf(y1) - law_y.cdf(y0))
        return total

    found = q.masses([0.3, 0.45], [0.2, 0.9])
    assert min(q.y) < 0
    assert found[1, 1] == pytest.approx(mass(0.3, 0.45, 0.2, 0.9) / mass(0, 1, 0, 1), rel=1e-9)
    assert found[2, 0] == pytest.approx(mass(0.45, 1, 0, 0.2) / mass(0, 1, 0, 1), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "r_squared"), SOME)
@pytest.mark.parametrize("size", [2, 7, 360])
def test_parts_of_equal_mass(number, r_squared, size):
    q = noisy(number, r_squared)
    x_cuts, y_cuts = q.mass_cuts("x", size), q.mass_cuts("y", size)
    for cuts in (x_cuts, y_cuts):
        assert cuts.shape == (size - 1,)
        assert np.all(np.diff(cuts) > 0)
        assert 0 < cuts[0] <= cuts[-1] < 1
    np.testing.assert_allclose(q.masses(x_cuts, []).ravel(), 1 / size, atol=1e-9)
    np.testing.assert_allclose(q.masses([], y_cuts).ravel(), 1 / size, atol=1e-9)


@pytest.mark.parametrize("axis", ["x", "y"])
def test_a_cut_does_not_depend_on_the_others(axis):
    """Bit for bit, as a matrix product's does: on its place, the threads and the library."""
    q = noisy(13, 0.7)
    fine = q.mass_cuts(axis, 360)
    for size in (3, 12, 180):
        np.testing.assert_array_equal(q.mass_cuts(axis, size), fine[360 // size - 1 :: 360 // size])


def test_cuts_outside_the_square_cut_nothing_off():
    q = noisy(12, 0.5)
    inside = q.masses([0.5], [])
    np.testing.assert_allclose(q.masses([-0.3, 0.5, 1.5], [])[1:3], inside, atol=1e-12)
