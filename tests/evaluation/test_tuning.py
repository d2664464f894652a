"""Every score stands beside the choice that made it, and the choice that is taken is right."""

import numpy as np
import pytest

import dpmic
from dpmic._validate import Limits
from dpmic.evaluation import tuning
from dpmic.evaluation.jobs import Run
from dpmic.evaluation.relationships import noisy
from dpmic.evaluation.scoring import SQUARE, Choice, Perturbed, matrix, micr, ranked
from dpmic.evaluation.simulation import clipped_laplace
from dpmic.evaluation.tuning import Sizes, cheapest, laplace_wsums, mic_stars, perturbed, scores
from dpmic.statistics.population import mic_star

UNIT = ((0.0, 1.0), (0.0, 1.0))
TRIED = Sizes(micr=((6.0, 1.0), (12.0, 5.0), (8.0, 2.0)), mice=((12.0, 2.0), (7.0, 1.0)))
N, ITERATIONS = 60, 3


@pytest.fixture(scope="module")
def three():
    return [noisy(12, 0.9), noisy(5, 0.4), noisy(20, 0.6)]


class Direct:
    """Does every task at once, with its place in the list as its seed."""

    def results(self, stage, tasks):
        self.keys = [task.key for task in tasks]
        return [
            task.function(np.random.default_rng(place), *task.arguments)
            for place, task in enumerate(tasks)
        ]


def samples(distribution, place):
    """The samples that a task draws, and what it draws for ties in between."""
    rng = np.random.default_rng(place)
    for _ in range(ITERATIONS):
        x, y = distribution.sample(N, rng)
        yield x, y
        rng.permutation(N), rng.permutation(N)


def largest(score, lmax):
    """The largest entry of a matrix with at most lmax parts on both axes."""
    entries = score.matrix
    return max(
        entries[k - 2, l - 2]
        for k in range(2, entries.shape[0] + 2)
        for l in range(2, entries.shape[1] + 2)
        if max(k, l) <= lmax and not np.isnan(entries[k - 2, l - 2])
    )


class TestScores:
    def test_shapes(self, three):
        by_range, by_mass = scores(Direct(), three, N, ITERATIONS, TRIED)
        assert list(by_range) == [Choice(6, 1), Choice(12, 5), Choice(8, 2)]
        lmaxes = {12.0: (2, 3, 4, 5, 6), 7.0: (2, 3)}
        assert list(by_mass) == [Choice(B, c, l) for B, c in TRIED.mice for l in lmaxes[B]]
        for found in (*by_range.values(), *by_mass.values()):
            assert found.shape == (3, ITERATIONS)
            assert np.all((found >= 0) & (found <= 1))

    def test_every_score_is_that_of_its_sample_and_choice(self, three):
        by_range, by_mass = scores(Direct(), three, N, ITERATIONS, TRIED)
        for place, distribution in enumerate(three):
            for iteration, (x, y) in enumerate(samples(distribution, place)):
                for choice, found in by_range.items():
                    score = dpmic.micr(x, y, bounds=UNIT, B=choice.B, c=choice.c)
                    assert found[place, iteration] == score.mic
                for choice, found in by_mass.items():
                    score = dpmic.mice(x, y, B=choice.B, c=choice.c)
                    assert found[place, iteration] == largest(score, choice.lmax)

    def test_different_entries_differ(self, three):
        """So that a mixed-up order would be seen."""
        for found in scores(Direct(), three, N, ITERATIONS, TRIED):
            stacked = np.stack(list(found.values()))
            assert np.unique(stacked.mean(axis=(1, 2))).size == len(found)
            assert np.unique(stacked.mean(axis=(0, 2))).size == 3

    def test_workers_and_order_do_not_matter(self, three, tmp_path):
        """A distribution's scores are its own, whatever else is scored."""
        one = scores(Run(tmp_path / "one", seed=4), three, N, 2, TRIED)
        two = scores(Run(tmp_path / "two", seed=4, workers=2), three[::-1], N, 2, TRIED)
        other = scores(Run(tmp_path / "one", seed=5), three, N, 2, TRIED)
        for mine, turned, seeded in zip(one, two, other, strict=True):
            for choice in mine:
                np.testing.assert_array_equal(mine[choice], turned[choice][::-1])
            assert not all(np.array_equal(mine[choice], seeded[choice]) for choice in mine)

    def test_what_is_asked_is_in_the_key(self, three):
        asked = []
        for n, iterations, sizes in [
            (N, 2, TRIED),
            (N + 1, 2, TRIED),
            (N, 1, TRIED),
            (N, 2, Sizes(TRIED.micr[:2], TRIED.mice)),
            (N, 2, Sizes(TRIED.micr, TRIED.mice[:1])),
        ]:
            direct = Direct()
            scores(direct, three[:1], n, iterations, sizes)
            asked += direct.keys
        assert len(set(asked)) == 5


class TestColumns:
    @pytest.mark.parametrize(("B", "c"), [(6.0, 1.0), (20.0, 3.0), (37.5, 2.0), (40.0, 5.0)])
    def test_one_matrix_serves_every_lmax(self, B, c, three, rng):
        axes = ranked(three[2].sample(150, rng), rng)
        lmaxes = tuning._columns(B)
        found = tuning._by_lmax(axes, B, c)
        assert len(found) == len(lmaxes) > 1
        for lmax, best in zip(lmaxes, found, strict=True):
            assert best == np.nanmax(matrix(axes, Limits(B, c, "reshef", lmax)))
            assert best == np.nanmax(matrix(axes, Choice(B, c, lmax).limits))

    def test_no_more_columns_than_cells_allow(self):
        for B in (4, 5, 6, 9, 40, 400):
            lmaxes = tuning._columns(B)
            assert lmaxes[0] == 2
            assert all(2 * l <= B for l in lmaxes)


class TestRanked:
    def test_ties_are_in_an_order_of_their_own(self, rng):
        """Two constant columns look independent, which equal orders would not."""
        axes = ranked((np.zeros(400), np.zeros(400)), rng)
        assert np.nanmax(matrix(axes, Limits(4, 2, "reshef"))) < 0.1

    def test_without_ties_it_is_mice(self, three, rng):
        x, y = three[0].sample(200, rng)
        found = matrix(ranked((x, y), rng), Limits(20, 5, "reshef"))
        np.testing.assert_array_equal(found, dpmic.mice(x, y, B=20, c=5).matrix)


def test_micr_is_the_public_one(three, rng):
    x, y = three[1].sample(200, rng)
    assert micr((x, y), SQUARE, Choice(30, 3)) == dpmic.micr(x, y, bounds=UNIT, B=30, c=3).mic


class TestSizes:
    def test_upto(self):
        """2 n^0.7 is 50 for n = 100; c = 5 up to 150 is tried whatever n."""
        cells = (6, 20, 50, 51, 150, 151)
        sizes = Sizes.upto(100, cells=cells, fineness=(1, 15))
        small = {(6.0, 1.0), (20.0, 1.0), (50.0, 1.0), (6.0, 15.0), (20.0, 15.0), (50.0, 15.0)}
        assert set(sizes.mice) == small
        assert set(sizes.micr) == small | {(float(B), 5.0) for B in (6, 20, 50, 51, 150)}

    def test_small_n(self):
        assert set(Sizes.upto(5, cells=(4, 20, 21), fineness=(2,)).mice) == {
            (4.0, 2.0),
            (20.0, 2.0),
        }

    def test_nothing_twice(self):
        sizes = Sizes.upto(10_000, cells=(6, 20, 150), fineness=(5, 1))
        assert len(set(sizes.micr)) == len(sizes.micr) == 6


@pytest.mark.slow
def test_mic_stars(three, tmp_path):
    run = Run(tmp_path)
    found = mic_stars(run, three[:2])
    assert found.tolist() == [mic_star(q) for q in three[:2]]
    assert mic_stars(run, three[1::-1]).tolist() == found.tolist()[::-1]


class TestPerturbed:
    tried = (
        Perturbed("micr-geom", 1.0, 6, 1),
        Perturbed("noisy-table", 1.0, 3),
        Perturbed("micr-geom", 0.1, 12, 2),
    )

    def test_every_value_is_that_of_its_mechanism(self, three):
        found = perturbed(Direct(), three, N, ITERATIONS, self.tried)
        assert list(found) == list(self.tried)
        for place, distribution in enumerate(three):
            rng = np.random.default_rng(place)
            for iteration in range(ITERATIONS):
                points = distribution.sample(N, rng)
                for kind in self.tried:
                    assert found[kind].shape == (3, ITERATIONS)
                    expected = kind.values(points, UNIT, 1, rng)
                    assert found[kind][place, iteration] == expected[0]

    def test_one_and_two_workers(self, three, tmp_path):
        one = perturbed(Run(tmp_path / "one"), three, N, 2, list(self.tried))
        two = perturbed(Run(tmp_path / "two", workers=2), three, N, 2, self.tried)
        for kind in self.tried:
            np.testing.assert_array_equal(one[kind], two[kind])


TARGETS = np.array([0.1, 0.5, 0.9])  # with the weights 0.3, 0.4, 0.3
SCORED = {
    Choice(6, 1): np.array([[0.1, 0.3], [0.6, 0.6], [0.9, 0.7]]),
    Choice(12, 2): np.array([[0.0, 0.0], [0.5, 0.1], [1.0, 1.0]]),
}


class TestLaplaceWsums:
    def test_without_noise(self):
        """By hand: mean errors 0.1, 0.1, 0.1 and 0.1, 0.2, 0.1."""
        found = laplace_wsums(SCORED, TARGETS, dict.fromkeys(SCORED, 0.0))
        assert found[Choice(6, 1)] == pytest.approx(0.1)
        assert found[Choice(12, 2)] == pytest.approx(0.3 * 0.1 + 0.4 * 0.2 + 0.3 * 0.1)

    def test_each_choice_has_its_own_noise(self, rng):
        scales = {Choice(6, 1): 0.05, Choice(12, 2): 0.6}
        found = laplace_wsums(SCORED, TARGETS, scales)
        for choice, scores_of in SCORED.items():
            draws = clipped_laplace(np.tile(scores_of, (50_000, 1, 1)), scales[choice], rng)
            errors = np.abs(draws - TARGETS[:, None]).mean(axis=(0, 2))
            assert found[choice] == pytest.approx(errors @ [0.3, 0.4, 0.3], abs=0.003)


class TestCheapest:
    def test_the_fastest_within_one_percent(self):
        wsums = {
            Choice(100, 15): 0.1000,
            Choice(100, 5): 0.1009,
            Choice(60, 5): 0.1011,
            Choice(150, 5): 0.1005,
        }
        assert cheapest(wsums) == Choice(100, 5)

    def test_the_best_where_none_is_close(self):
        assert cheapest({Choice(100, 15): 0.1, Choice(4, 1): 0.2}) == Choice(100, 15)

    def test_the_order_of_what_is_given_does_not_matter(self):
        wsums = {Choice(B, c): 0.1 + 0.0001 * c for B in (40, 20, 80) for c in (5, 2, 9)}
        assert cheapest(wsums) == Choice(20, 2)
        assert cheapest(dict(reversed(wsums.items()))) == Choice(20, 2)

    def test_equally_fast_ones_in_any_order(self):
        wsums = {Choice(40, 5, 4): 0.1009, Choice(40, 5, 8): 0.1000, Choice(40, 5, 12): 0.1005}
        assert cheapest(dict(reversed(wsums.items()))) == cheapest(wsums)
