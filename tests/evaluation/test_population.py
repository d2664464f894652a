"""MIC* against closed forms, brute force and samples."""

import math
from dataclasses import dataclass
from itertools import combinations, pairwise

import naive
import numpy as np
import pytest
from sweeps import sweep

import dpmic
from dpmic._validate import Limits
from dpmic.errors import ParameterError
from dpmic.evaluation.relationships import noisy
from dpmic.statistics import population
from dpmic.statistics.population import mic_star, range_matrix

UNIT = ((0.0, 1.0), (0.0, 1.0))


@dataclass(frozen=True)
class Blocks:
    """Uniform on each of equally large rectangles of the unit square, with given weights."""

    weights: np.ndarray  # [column, row]

    def masses(self, x_cuts, y_cuts):
        columns, rows = (
            self._shares(cuts, size)
            for cuts, size in zip((x_cuts, y_cuts), self.weights.shape, strict=True)
        )
        return columns @ (self.weights / self.weights.sum()) @ rows.T

    @staticmethod
    def _shares(cuts, size):
        """How much of each block lies in each part."""
        edges = np.concatenate(([0.0], cuts, [1.0]))
        blocks = np.arange(size + 1) / size
        low = np.maximum(edges[:-1, None], blocks[:-1])
        return np.clip(np.minimum(edges[1:, None], blocks[1:]) - low, 0, None) * size

    def mass_cuts(self, axis, size):
        marginal = self.weights.sum(axis=1 if axis == "x" else 0)
        below = np.concatenate(([0.0], np.cumsum(marginal) / marginal.sum()))
        blocks = np.arange(marginal.size + 1) / marginal.size
        return np.interp(np.arange(1, size) / size, below, blocks)

    def sample(self, n, rng):
        flat = rng.choice(self.weights.size, n, p=self.weights.ravel() / self.weights.sum())
        columns, rows = self.weights.shape
        return (flat // rows + rng.random(n)) / columns, (flat % rows + rng.random(n)) / rows


@dataclass(frozen=True)
class Curve:
    """All mass on y = x ** power, x uniform: a noiseless increasing relationship."""

    power: float

    def masses(self, x_cuts, y_cuts):
        x = np.concatenate(([0.0], x_cuts, [1.0]))
        y = np.concatenate(([0.0], np.asarray(y_cuts) ** (1 / self.power), [1.0]))
        low = np.maximum(x[:-1, None], y[:-1])
        return np.clip(np.minimum(x[1:, None], y[1:]) - low, 0, None)

    def mass_cuts(self, axis, size):
        even = np.arange(1, size) / size
        return even if axis == "x" else even**self.power


@dataclass(frozen=True)
class Turned:
    """The same distribution with x and y exchanged."""

    other: object

    def masses(self, x_cuts, y_cuts):
        return self.other.masses(y_cuts, x_cuts).T

    def mass_cuts(self, axis, size):
        return self.other.mass_cuts("y" if axis == "x" else "x", size)


def h2(p):
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p)


@pytest.fixture
def bounded(monkeypatch):
    """An endless search fails instead of hanging."""
    growing = population._growing

    def counted(masses):
        for tried, bits in enumerate(growing(masses)):
            assert tried < 5000, "the search does not end"
            yield bits

    monkeypatch.setattr(population, "_growing", counted)


class TestClosedForms:
    @pytest.mark.usefixtures("bounded")
    @pytest.mark.parametrize("master", [2, 5, 6, 40])
    def test_independence(self, master, rng):
        uniform = Blocks(np.ones((1, 1)))
        product = Blocks(np.outer(rng.random(4), rng.random(5)))
        for columns in (*range(2, 12), 60):
            for distribution in (uniform, product):
                found = mic_star(distribution, master=master, columns=columns)
                assert found == pytest.approx(0, abs=1e-12)

    @pytest.mark.parametrize("m", [2, 3, 4, 5])
    def test_blocks_on_the_diagonal(self, m):
        blocks = Blocks(np.eye(m))
        assert mic_star(blocks, master=4 * m, columns=6 * m) == pytest.approx(1, abs=1e-12)
        anti = Blocks(np.eye(m)[::-1])
        assert mic_star(anti, master=4 * m, columns=6 * m) == pytest.approx(1, abs=1e-12)

    @pytest.mark.parametrize("p", [0.01, 0.1, 0.3, 0.49])
    def test_a_binary_symmetric_channel(self, p):
        channel = Blocks(np.array([[1 - p, p], [p, 1 - p]]))
        assert mic_star(channel, master=20, columns=30) == pytest.approx(1 - h2(p), abs=1e-12)

    def test_an_uneven_channel(self):
        """With unequal halves the information is the same on every grid that has both cuts."""
        weights = np.array([[5.0, 1.0], [1.0, 3.0]])
        expected = naive.information(weights)
        found = mic_star(Blocks(weights), master=50, columns=50)
        assert found == pytest.approx(expected, abs=1e-9)

    @pytest.mark.parametrize("power", [1.0, 2.0, 0.3])
    def test_a_noiseless_increasing_relationship(self, power):
        assert mic_star(Curve(power), master=26, columns=36) == pytest.approx(1, abs=1e-12)
        odd = mic_star(Curve(power), master=25, columns=35)
        assert 0.95 < odd < 1

    @pytest.mark.slow
    def test_the_grid_of_the_paper_is_the_default(self):
        channel = Blocks(np.array([[0.8, 0.2], [0.2, 0.8]]))
        assert mic_star(channel) == pytest.approx(1 - h2(0.2), abs=1e-12)
        q = noisy(5, 0.7)
        assert mic_star(q) == mic_star(q, master=260, columns=360)


class TestConvergence:
    @pytest.mark.slow
    @pytest.mark.parametrize(("number", "r_squared"), [(1, 0.3), (13, 0.6)])
    def test_finer_grids_add_less_and_less(self, number, r_squared):
        """A grid that refines another is never worse; from the paper's on nothing changes."""
        q = noisy(number, r_squared)
        found = [mic_star(q, master=13 * 2**i, columns=18 * 2**i) for i in range(5)]
        gains = np.diff(found)
        assert np.all(gains >= -1e-12)
        assert np.all(gains[1:] <= gains[:-1])
        assert gains[-1] < 0.002
        assert abs(mic_star(q) - found[-1]) < 0.002

    @pytest.mark.full
    @pytest.mark.parametrize("number", [2, 6, 9, 16, 21])
    def test_twice_the_papers_grid(self, number):
        q = noisy(number, 0.8)
        assert 0 <= mic_star(q, master=520, columns=720) - mic_star(q) < 0.003

    def test_samples_converge_to_it(self, rng):
        q = noisy(13, 0.7)
        score = dpmic.mice(*q.sample(50_000, rng), B=200, c=5)
        assert score.mic == pytest.approx(mic_star(q), abs=0.02)

    def test_samples_of_blocks_converge_to_it(self, rng):
        blocks = Blocks(np.array([[4.0, 1, 0], [0, 2, 2], [1, 0, 5]]))
        score = dpmic.mice(*blocks.sample(50_000, rng), B=100, c=5)
        assert score.mic == pytest.approx(mic_star(blocks), abs=0.02)


def normalised(table):
    return naive.information(table) / math.log2(min(table.shape))


def merged(masses, k):
    """Every table of k rows made of neighbouring rows of a table [column, row]."""
    rows = masses.shape[1]
    for cuts in combinations(range(1, rows), k - 1):
        parts = [masses[:, a:b].sum(axis=1) for a, b in pairwise((0, *cuts, rows))]
        yield np.array(parts)


def exhaustive(distribution, master, columns):
    """MIC* on tiny grids: the information of every partition over log2 of its parts."""
    best = 0.0
    for turned in (distribution, Turned(distribution)):
        masses = turned.masses(turned.mass_cuts("x", columns), turned.mass_cuts("y", master))
        for k in range(2, master + 1):
            bits = max(naive.information(table) for table in merged(masses, k))
            best = max(best, bits / math.log2(k))
    return best


@sweep("shape", [(2, 3), (3, 3), (5, 4), (7, 7)])
@sweep("sharpness", [0.1, 1.0])
def test_against_every_partition(shape, sharpness, rng):
    for _ in range(3):
        blocks = Blocks(rng.dirichlet(np.full(np.prod(shape), sharpness)).reshape(shape))
        for master, columns in [(2, 2), (3, 5), (5, 4), (7, 9), (8, 3)]:
            found = mic_star(blocks, master=master, columns=columns)
            assert found == pytest.approx(exhaustive(blocks, master, columns), abs=1e-10)


def test_more_than_two_parts_can_be_best(rng):
    """So a search that stops too early would be seen."""
    thirds = Blocks(np.eye(3) + 0.02)
    found = mic_star(thirds, master=9, columns=9)
    two_rows = max(naive.information(t) for t in merged(thirds.masses(*[[1 / 3, 2 / 3]] * 2), 2))
    assert found > two_rows + 0.05
    assert found == pytest.approx(exhaustive(thirds, 9, 9), abs=1e-10)


def test_x_and_y_may_be_exchanged():
    for q in (noisy(2, 0.4), noisy(20, 0.8), Blocks(np.array([[3.0, 1, 0], [0, 1, 2]]))):
        found = mic_star(q, master=40, columns=60)
        assert mic_star(Turned(q), master=40, columns=60) == pytest.approx(found, abs=1e-12)


def test_both_orientations_are_searched():
    """A parabola: cutting y into two says all of it, cutting x into two says nothing."""
    q = noisy(13, 0.9)
    by_x = population._boundary(q.masses(q.mass_cuts("x", 60), q.mass_cuts("y", 40)))
    by_y = population._boundary(q.masses(q.mass_cuts("x", 40), q.mass_cuts("y", 60)).T)
    assert abs(by_x - by_y) > 0.05
    assert mic_star(q, master=40, columns=60) == max(by_x, by_y)


@pytest.mark.parametrize("wrong", [{"master": 1}, {"columns": 0}, {"master": 2.5}])
def test_grids_have_two_parts_at_least(wrong):
    with pytest.raises(ParameterError):
        mic_star(noisy(12, 0.5), **wrong)


def every_range_grid(distribution, B, c):
    """The range-equicharacteristic matrix from its definition: {(rows, columns): entry}."""
    found = {}
    for turned in (False, True):
        own = Turned(distribution) if turned else distribution
        for l in range(2, B // 2 + 1):
            master = c * min(l, B // l)
            even = [np.arange(1, size) / size for size in (l, master)]
            masses = own.masses(*even)
            for k in range(2, min(l, B // l) + 1):
                entry = max(normalised(table) for table in merged(masses, k))
                place = (l, k) if turned else (k, l)
                found[place] = max(found.get(place, 0.0), entry)
    return found


@sweep("c", [1, 2])
@sweep("B", [4, 6, 9, 12])
def test_range_matrix_against_every_grid(B, c, rng):
    distributions = [Blocks(rng.dirichlet(np.full(30, 0.3)).reshape(5, 6)) for _ in range(3)]
    for distribution in (*distributions, noisy(1, 0.6), noisy(20, 0.9)):
        found = range_matrix(distribution, UNIT, Limits(B, c, "reshef"))
        expected = every_range_grid(distribution, B, c)
        assert found.shape == (B // 2 - 1, B // 2 - 1)
        assert np.count_nonzero(~np.isnan(found)) == len(expected)
        for (k, l), entry in expected.items():
            assert found[k - 2, l - 2] == pytest.approx(entry, abs=1e-10), (k, l)


def test_a_range_matrix_within_other_bounds():
    """Mass outside the bounds falls into the outermost cells."""
    q, bounds = noisy(12, 0.7), ((0.2, 0.8), (0.1, 1.0))
    found = range_matrix(q, bounds, Limits(4, 1, "reshef"))
    assert found[0, 0] == pytest.approx(normalised(q.masses([0.5], [0.55])), abs=1e-10)


def test_a_range_matrix_within_wider_bounds():
    q, bounds = noisy(12, 0.7), ((-1.0, 3.0), (0.0, 1.0))  # thirds of x at 1/3 and 5/3
    found = range_matrix(q, bounds, Limits(6, 1, "reshef"))
    assert found[0, 0] == pytest.approx(0, abs=1e-10)
    assert found[0, 1] == pytest.approx(normalised(q.masses([1 / 3], [0.5])), abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "r_squared"), [(1, 0.5), (9, 0.8), (15, 0.9)])
def test_range_matrices_stay_below_mic_star(number, r_squared):
    q = noisy(number, r_squared)
    star = mic_star(q)
    best = [np.nanmax(range_matrix(q, UNIT, Limits(B, 4, "reshef"))) for B in (4, 16, 64, 150)]
    assert max(best) <= star + 0.002
    assert best[0] < best[-1]
    assert abs(best[-1] - star) < abs(best[0] - star)


def test_samples_converge_to_the_range_matrix(rng):
    q = noisy(7, 0.6)
    found = dpmic.micr(*q.sample(200_000, rng), bounds=UNIT, B=20, c=2).matrix
    expected = range_matrix(q, UNIT, Limits(20, 2, "reshef"))
    np.testing.assert_allclose(found, expected, atol=0.006)
    assert np.nanmax(np.abs(found - expected)) > 0
