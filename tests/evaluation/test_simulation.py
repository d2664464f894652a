"""The seeded simulations have the distribution of the real mechanisms, and release nothing."""

import ast
import math
from pathlib import Path

import naive
import numpy as np
import pytest
from published import PublishedMICrGeom
from scipy import stats
from sweeps import sweep

import dpmic
from dpmic import _kernels
from dpmic._validate import Limits
from dpmic.data import find
from dpmic.evaluation import simulation
from dpmic.evaluation.scoring import Choice, Perturbed
from dpmic.evaluation.simulation import (
    clipped_laplace,
    histogram_matrix,
    noisy_table,
    published_deviation,
    published_geometric,
    published_grids,
)
from dpmic.privacy import MICeLaplace, MICrGeometric, MICrLaplace
from dpmic.privacy._guards import private_pair
from dpmic.statistics.search import Search

UNIT = ((0.0, 1.0), (0.0, 1.0))
NEVER = 1e-6
"""The real noise has no seed: so rarely may a right one be refused."""


def differ(first, second):
    """The p-value that two samples with atoms at 0 and 1 are of one distribution.

    Rounded, so that equal values of different sums are equal.
    """
    first, second = np.round(first, 9), np.round(second, 9)
    between = [sample[(sample > 0) & (sample < 1)] for sample in (first, second)]
    found = [stats.ks_2samp(first, second).pvalue, stats.ks_2samp(*between).pvalue]
    for atom in (0.0, 1.0):
        hits = [[np.sum(s == atom), np.sum(s != atom)] for s in (first, second)]
        found.append(stats.fisher_exact(hits).pvalue)
    return min(found)


def real_draws(mechanism, x, y, count):
    """The values of releases of one dataset; its score is the same every time."""
    source = find(x, y)
    setting = mechanism.setting(len(x))
    score = mechanism.score(private_pair(source), setting)
    assert mechanism.score(private_pair(source), setting) == score
    drawn = [mechanism.publish(score, source, setting).value for _ in range(count)]
    return np.array(drawn), score, setting.noise.scale


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [
        MICrLaplace(1.0, UNIT, B=6, c=2),
        MICrLaplace(0.3, UNIT, B=12, c=1),
        MICeLaplace(1.0, B=6, c=2),
        MICeLaplace(3.0, B=12, c=2, lmax=2),
    ],
    ids=lambda m: f"{m.name}, {m.epsilon}",
)
def test_clipped_laplace_is_what_is_released(mechanism, rng):
    x = np.linspace(0, 1, 40)
    y = (4 * (x - 0.45) ** 2).clip(0, 1)
    drawn, score, scale = real_draws(mechanism, x, y, 5000)
    assert 0 < np.mean((drawn == 0) | (drawn == 1)) < 1
    simulated = clipped_laplace(np.full(100_000, score), scale, rng)
    assert differ(drawn, simulated) > NEVER
    for wrong in (0.7, 1.4):  # so the test can fail
        assert differ(drawn, clipped_laplace(np.full(100_000, score), wrong * scale, rng)) < NEVER
    shifted = clipped_laplace(np.full(100_000, score + 0.2 * scale), scale, rng)
    assert differ(drawn, shifted) < NEVER


@pytest.mark.slow
def test_the_release_itself(rng):
    """Not only its last step: score, noise and clip in one call."""
    x = np.linspace(0, 1, 25)
    mechanism = MICrLaplace(1.0, UNIT, B=6, c=1, allow_noisy=True)
    drawn = np.array([dpmic.release(x, x, mechanism=mechanism).value for _ in range(1000)])
    score = dpmic.micr(x, x, bounds=UNIT, B=6, c=1).mic
    scale = mechanism.setting(25).noise.scale
    assert differ(drawn, clipped_laplace(np.full(50_000, score), scale, rng)) > NEVER


def test_clipped_laplace_keeps_shapes_and_is_seeded():
    scores = np.linspace(0, 1, 12).reshape(3, 4)
    found = clipped_laplace(scores, 0.5, np.random.default_rng(3))
    assert type(found) is np.ndarray
    assert found.shape == (3, 4)
    assert found.min() >= 0
    assert found.max() <= 1
    np.testing.assert_array_equal(found, clipped_laplace(scores, 0.5, np.random.default_rng(3)))
    assert not np.array_equal(found, clipped_laplace(scores, 0.5, np.random.default_rng(4)))
    np.testing.assert_allclose(clipped_laplace(scores, 1e-12, np.random.default_rng(3)), scores)


def truncated_geometric(epsilon, n, f):
    """The probabilities of 0 .. n as the paper prints them."""
    rho = math.exp(-epsilon)
    inner = [(1 - rho) / (1 + rho) * rho ** abs(f - i) for i in range(1, n)]
    return np.array([rho**f / (1 + rho), *inner, rho ** (n - f) / (1 + rho)])


@sweep("epsilon", [0.1, 1.0, 3.0])
@sweep("counts", [[[0, 3], [12, 5]], [[20, 0], [0, 0]], [[1, 2], [3, 0]]])
def test_noisy_counts_are_truncated_geometric(epsilon, counts, rng):
    """For half of epsilon, since replacing a record changes two counts."""
    counts, runs = np.array(counts), 20_000
    n = int(counts.sum())
    noisy = simulation._noisy(counts, epsilon, runs, rng)
    assert noisy.shape == (runs, 2, 2)
    assert noisy.dtype == np.int32

    def pvalue(cell, loss):
        expected = runs * truncated_geometric(loss, n, int(counts[cell]))
        observed = np.bincount(noisy[:, *cell], minlength=n + 1)
        assert observed.size == n + 1
        common = expected >= 5
        rest = (observed[~common].sum() + 1, expected[~common].sum() + 1)
        return stats.chisquare([*observed[common], rest[0]], [*expected[common], rest[1]]).pvalue

    for cell in np.ndindex(2, 2):
        assert pvalue(cell, epsilon / 2) > 1e-5
    assert min(pvalue(cell, epsilon / 2 * 1.25) for cell in np.ndindex(2, 2)) < 1e-5


def test_noise_is_independent_from_cell_to_cell(rng):
    noisy = simulation._noisy(np.full((2, 3), 50), 1.0, 20_000, rng).reshape(-1, 6)
    correlation = np.corrcoef(noisy.T)
    assert np.abs(correlation - np.eye(6)).max() < 0.04


class TestPublishedGeometric:
    """MICr-Geom against the simulation in tests/published.py, which shares nothing with it."""

    setting = Limits(6, 1, "reshef")

    @pytest.mark.slow
    @pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
    @pytest.mark.parametrize("moved", [0, 1, 9])
    def test_on_corners(self, epsilon, moved, rng):
        x = np.full(25, 0.05)
        x[:moved] = 0.95
        found = published_geometric(Search.by_range(x, x, UNIT, self.setting), epsilon, 20_000, rng)
        expected = PublishedMICrGeom(epsilon, 5).draws(x, x, 20_000)
        assert differ(found, expected) > 1e-4
        wrong = PublishedMICrGeom(1.2 * epsilon, 5).draws(x, x, 20_000)
        assert differ(found, wrong) < 1e-4

    def test_on_any_points(self, rng):
        x, y = rng.random((2, 30))
        found = published_geometric(Search.by_range(x, y, UNIT, self.setting), 1.0, 20_000, rng)
        assert differ(found, PublishedMICrGeom(1.0, 7).draws(x, y, 20_000)) > 1e-4

    def test_without_noise_it_is_micr(self, rng):
        x = rng.random(300)
        y = np.sin(7 * x) + rng.normal(0, 0.2, 300)
        bounds = ((0.0, 1.0), (-1.0, 1.0))
        for B, c in [(6, 1), (20, 2), (40, 5)]:
            found = published_geometric(
                Search.by_range(x, y, bounds, Limits(B, c, "reshef")), 1e4, 3, rng
            )
            exact = dpmic.micr(x, y, bounds=bounds, B=B, c=c).mic
            np.testing.assert_allclose(found, exact, atol=1e-12)

    def test_how_far_an_entry_moves(self, rng, monkeypatch):
        """With B = 6 and c = 1 each master has one entry: the information of the whole table."""
        drawn, noise = [], simulation._noisy

        def recorded(counts, *rest):
            drawn.append((counts, noise(counts, *rest)))
            return drawn[-1][1]

        monkeypatch.setattr(simulation, "_noisy", recorded)
        x, y = rng.random((2, 30))
        found = published_deviation(Search.by_range(x, y, UNIT, self.setting), 1.0, 50, rng)
        assert len(drawn) == published_grids(6)
        for run, moved in enumerate(found):
            expected = [
                abs(naive.information(noisy[run]) - naive.information(counts))
                for counts, noisy in drawn
            ]
            assert moved == pytest.approx(max(expected), abs=1e-12)

    @pytest.mark.parametrize(("B", "c"), [(6, 1), (20, 2), (40, 5)])
    def test_no_score_moves_further_than_an_entry(self, B, c, rng):
        x = rng.random(200)
        y = x**2
        limits = Limits(B, c, "reshef")
        values, most = (
            simulate(Search.by_range(x, y, UNIT, limits), 0.5, 50, np.random.default_rng(3))
            for simulate in (published_geometric, published_deviation)
        )
        moved = np.abs(values - dpmic.micr(x, y, bounds=UNIT, B=B, c=c).mic)
        assert (moved <= most + 1e-12).all()
        assert 0 < moved.mean() <= most.mean() < 1
        assert published_deviation(Search.by_range(x, y, UNIT, limits), 1e4, 3, rng).max() < 1e-12

    def test_the_number_of_grids(self):
        for B in (4, 6, 12, 40, 150):
            lengths = [l for l in range(2, B + 1) if 2 * l <= B]
            assert published_grids(B) == 2 * len(lengths)

    def test_seeded(self, rng):
        x, y = rng.random((2, 30))
        first, second, third = (
            published_geometric(
                Search.by_range(x, y, UNIT, self.setting), 1.0, 5, np.random.default_rng(seed)
            )
            for seed in (1, 1, 2)
        )
        assert type(first) is np.ndarray
        np.testing.assert_array_equal(first, second)
        assert not np.array_equal(first, third)


def counted(points, bounds, parts):
    """Counts [x, y], one record at a time."""
    table = np.zeros((parts, parts), int)
    for pair in zip(*points, strict=True):
        place = []
        for value, (low, high) in zip(pair, bounds, strict=True):
            place.append(min(max(math.floor((value - low) / (high - low) * parts), 0), parts - 1))
        table[tuple(place)] += 1
    return table


class TestNoisyTable:
    @pytest.mark.parametrize("parts", [2, 3, 8])
    def test_without_noise_it_is_the_information_of_the_table(self, parts, rng):
        x = rng.normal(0.5, 0.4, 500)  # some lie outside
        y = x**2 + rng.normal(0, 0.1, 500)
        bounds = ((0.0, 1.0), (-0.2, 1.3))
        found = noisy_table((x, y), bounds, parts, 1e6, 4, rng)
        expected = naive.information(counted((x, y), bounds, parts)) / math.log2(parts)
        np.testing.assert_allclose(found, np.full(4, expected), atol=1e-12)

    def test_with_noise_it_is_the_information_of_a_noisy_table(self, rng):
        x, y = rng.random((2, 60))
        found = noisy_table((x, y), UNIT, 3, 0.8, 4000, rng)
        table, stop = counted((x, y), UNIT, 3), 1 - math.exp(-0.4)

        def draws(stop, count=4000):
            noise = rng.geometric(stop, (count, 3, 3)) - rng.geometric(stop, (count, 3, 3))
            noisy = np.clip(table + noise, 0, 60)
            return np.array([naive.information(one) / math.log2(3) for one in noisy])

        assert differ(found, draws(stop)) > 1e-4
        assert differ(found, draws(1 - math.exp(-0.8))) < 1e-4

    def test_a_table_emptied_by_noise_has_no_information(self, rng):
        found = noisy_table((np.array([0.2, 0.9]), np.array([0.9, 0.2])), UNIT, 2, 0.01, 2000, rng)
        assert type(found) is np.ndarray
        assert found.min() == 0
        assert found.max() == pytest.approx(1)


class TestHistogram:
    @pytest.mark.slow
    def test_it_is_what_is_released(self, rng):
        """And with a quarter of the noise it would not be; half is too near for 800 draws."""
        x = rng.random(300)
        y = (x + rng.normal(0, 0.1, 300)).clip(0, 1)
        mechanism = MICrGeometric(1.0, UNIT, m=6, B=12)
        real = [mechanism.release(x, y).value for _ in range(800)]

        def seeded(epsilon):
            made = (histogram_matrix((x, y), UNIT, (6, 12), epsilon, rng) for _ in range(800))
            return np.array([np.nanmax(matrix) for matrix in made])

        assert stats.ks_2samp(real, seeded(1.0)).pvalue > NEVER
        assert stats.ks_2samp(real, seeded(4.0)).pvalue < NEVER


class TestPerturbed:
    """The dataclass asks for what its name says."""

    def test_geometric(self, rng):
        x, y = rng.random((2, 40))
        kind = Perturbed("micr-geom", 0.7, 12, 2)
        found = kind.values((x, y), UNIT, 5, np.random.default_rng(1))
        expected = published_geometric(
            Search.by_range(x, y, UNIT, Choice(12, 2).limits), 0.7, 5, np.random.default_rng(1)
        )
        np.testing.assert_array_equal(found, expected)

    def test_table(self, rng):
        x, y = rng.random((2, 40))
        found = Perturbed("noisy-table", 0.7, 4).values((x, y), UNIT, 5, np.random.default_rng(1))
        expected = noisy_table((x, y), UNIT, 4, 0.7, 5, np.random.default_rng(1))
        np.testing.assert_array_equal(found, expected)


class TestInformations:
    """The kernel that scores many noisy tables."""

    xlogx = np.array([0.0, *(m * math.log2(m) for m in range(1, 5000))])

    @pytest.mark.slow
    @pytest.mark.parametrize(("columns", "rows", "k_max"), [(2, 2, 2), (5, 3, 3), (4, 9, 4)])
    def test_is_the_information_of_each_table(self, columns, rows, k_max, rng):
        tables = rng.poisson(rng.choice([0.1, 1.0, 20.0], (40, 1, 1)), (40, columns, rows))
        tables = tables.astype(np.int32)
        tables[3] = tables[17] = 0
        found = _kernels.reference.informations(tables, k_max, self.xlogx)
        assert found.shape == (40, k_max + 1)
        for table, bits in zip(tables, found, strict=True):
            if table.any():
                expected = _kernels.reference.information(table, k_max, self.xlogx)
                np.testing.assert_array_equal(bits, expected)
            else:
                assert not bits.any()

    def test_against_every_partition(self, rng):
        tables = rng.poisson(2.0, (20, 3, 5)).astype(np.int32)
        found = _kernels.reference.informations(tables, 3, self.xlogx)
        for table, bits in zip(tables, found, strict=True):
            columns, rows = np.nonzero(table)
            repeated = table[columns, rows]
            fixed, parts = (np.repeat(place, repeated).tolist() for place in (columns, rows))
            for k in (2, 3):
                expected = naive.best_information(fixed, (parts, 5), k)
                assert bits[k] == pytest.approx(expected, abs=1e-12)

    def test_no_tables(self):
        empty = np.zeros((0, 2, 2), np.int32)
        assert _kernels.reference.informations(empty, 2, self.xlogx).shape == (0, 3)


SOURCE = Path(dpmic.__file__).parent
EVALUATION = sorted((SOURCE / "evaluation").glob("*.py"))


def mentioned(path):
    """Every name, attribute and imported module in a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (alias.name for alias in node.names)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@sweep("path", EVALUATION, ids=lambda path: path.name)
def test_no_evaluation_makes_a_release(path):
    assert not {"Release", "release", "publish"} & set(mentioned(path))


@pytest.mark.parametrize("folder", ["privacy", "results", "parameters"])
def test_nothing_private_can_reach_the_simulation(folder):
    for path in (SOURCE / folder).rglob("*.py"):
        assert not [name for name in mentioned(path) if name.startswith("dpmic.evaluation")], path


def test_the_check_sees_both_ways_of_importing(tmp_path):
    for text in ("from dpmic import evaluation", "import dpmic.evaluation.simulation as s"):
        path = tmp_path / "guilty.py"
        path.write_text(text)
        assert any(name.startswith("dpmic.evaluation") for name in mentioned(path))
