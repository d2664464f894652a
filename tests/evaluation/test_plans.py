"""Every contender is run once, as published or as released, and its outputs are its own."""

import math

import numpy as np
import pytest
from sweeps import sweep

import dpmic
from dpmic.evaluation import plans, printed
from dpmic.evaluation.plans import Scored, outputs, plan, plan_for_wide_bounds, rows
from dpmic.evaluation.relationships import noisy
from dpmic.evaluation.scoring import SQUARE, Choice, Perturbed
from dpmic.evaluation.tables import CONTENDERS, named
from dpmic.parameters import tuned
from dpmic.parameters.expected import best_laplace
from dpmic.parameters.tuned import Calibration
from dpmic.privacy import CappedLaplace, MICeLaplace, MICrLaplace
from dpmic.statistics.capped import CapLimits

KEYS = [contender.key for contender in CONTENDERS]
EPSILONS = (1.0, 0.1)
SIZES = (23, 25, 337, 1000, 4381)


def every(n, epsilons):
    """All entries of a plan."""
    return [entry for entries in plan(n, epsilons) for entry in entries]


def at(n, epsilon):
    """The entries of one epsilon by their keys."""
    return {entry.key: entry for entry in every(n, (epsilon,))}


def by_key(entries, points, runs, seed=1, bounds=SQUARE):
    found = outputs(entries, points, bounds, runs, np.random.default_rng(seed))
    return dict(zip(rows(entries), found, strict=True))


@pytest.fixture(scope="module")
def points():
    return noisy(12, 0.8).sample(120, np.random.default_rng(3))


@pytest.fixture(scope="module")
def tied():
    """Few values on both axes, and a dependence between them."""
    rng = np.random.default_rng(4)
    x = rng.integers(5, size=120) / 5
    return x, np.round((x + rng.random(120) / 2) * 4) / 8


class TestPlan:
    @sweep("n", SIZES)
    def test_every_contender_appears_once_for_each_epsilon(self, n):
        entries = every(n, EPSILONS)
        expected = [(key, epsilon) for epsilon in EPSILONS for key in KEYS]
        assert sorted(rows(entries)) == sorted(expected)
        assert len(set(rows(entries))) == len(rows(entries))

    def test_one_epsilon_after_the_other(self):
        assert [epsilon for _, epsilon in rows(plan(25, EPSILONS)[0])] == [1.0] * 11 + [0.1] * 11

    @sweep("n", SIZES)
    @sweep("epsilon", EPSILONS)
    def test_published_noise_is_the_papers(self, n, epsilon):
        entries = at(n, epsilon)
        micr, mice = entries["micr-lap"].source, entries["mice-lap"].source
        assert micr.scale == pytest.approx((4 * math.log2(n) + 6) / n / epsilon, rel=1e-12)
        cells = max(math.floor(n**0.6), 4)
        expected = cells * (2 * math.log2(n) + 4.8) / n / epsilon
        assert mice.scale == pytest.approx(expected, rel=1e-12)

    @sweep("n", SIZES)
    @sweep("epsilon", EPSILONS)
    def test_published_grids_are_the_papers(self, n, epsilon):
        entries = at(n, epsilon)
        c, B = printed.interpolated("micr-lap", n, epsilon)
        assert entries["micr-lap"].source.choice == Choice(B, c)
        assert entries["micr-lap"].source.statistic == "micr"
        c, B = printed.interpolated("micr-geom", n, epsilon)
        assert entries["micr-geom"].source == Perturbed("micr-geom", epsilon, B, c)
        mice = entries["mice-lap"].source
        assert mice.choice == Choice(max(n**0.6, 4), 15)
        assert mice.statistic == "mice, ties grouped"

    @sweep("n", SIZES)
    @sweep("epsilon", EPSILONS)
    def test_ours_are_what_would_be_released(self, n, epsilon):
        entries = at(n, epsilon)
        for key, mechanism in (
            ("ours", MICrLaplace(epsilon, SQUARE, axes="linear")),
            ("ours-mice", MICeLaplace(epsilon)),
        ):
            setting, entry = mechanism.setting(n), entries[key]
            limits = setting.limits
            assert entry.source.choice == Choice(limits.B, limits.c, limits.lmax)
            assert entry.source.choice.limits == limits
            assert entry.source.scale == setting.noise.scale
            assert entry.calibration == setting.calibration
            assert entry.epsilon == epsilon

    @sweep("n", SIZES)
    @sweep("epsilon", EPSILONS)
    def test_capped_is_the_default_on_linear_axes(self, n, epsilon):
        entry, setting = at(n, epsilon)["ours-capped"], CappedLaplace(epsilon, SQUARE).setting(n)
        assert entry.source == Scored("micc, linear", setting.limits, setting.noise.scale)
        assert entry.calibration == setting.calibration
        assert best_laplace(n, epsilon) == "capped-laplace"

    def test_capped_has_random_numbers_of_its_own(self):
        """So that numbers from before it was there can be made again."""
        others, capped = plan(337, EPSILONS)
        assert {entry.key for entry in capped} == {"ours-capped"}
        assert "ours-capped" not in {entry.key for entry in others}

    def test_wide_bounds(self):
        (entries,) = plan_for_wide_bounds(337, EPSILONS)
        keys = ["micr-lap", "ours", "ours-any", "ours-wide"]
        assert rows(entries) == [(key, epsilon) for epsilon in EPSILONS for key in keys]
        capped = at(337, 1.0)["ours-capped"].source
        for entry, axes in zip(entries[2:4], ("any", "wide"), strict=True):
            assert entry.source == Scored(f"micc, {axes}", capped.choice, capped.scale)

    def test_ours_have_less_noise_than_the_published(self):
        for n in SIZES:
            for epsilon in EPSILONS:
                entries = at(n, epsilon)
                assert entries["ours"].source.scale < entries["micr-lap"].source.scale / 2
                assert entries["ours-capped"].source.scale < entries["ours"].source.scale
                assert entries["ours-mice"].source.scale < entries["mice-lap"].source.scale

    def test_floors_baseline_and_constant(self):
        entries = at(337, 0.1)
        for key, like in (("mice", "mice-lap"), ("micr", "ours")):
            floor = entries[key].source
            assert floor.scale == 0
            assert floor.choice == entries[like].source.choice
            assert floor.statistic == entries[like].source.statistic
        assert entries["constant"].source == 0.5
        parts = tuned.table_parts(337, 0.1)
        assert entries["noisy-table"].source == Perturbed("noisy-table", 0.1, parts)

    def test_only_ours_have_an_estimate(self):
        calibrated = {entry.key for entry in every(25, EPSILONS) if entry.calibration is not None}
        assert calibrated == {"ours", "ours-capped", "ours-mice"}
        assert {named(f"{key}-estimate").group for key in calibrated} == {"ours"}

    def test_a_plan_names_all_it_depends_on(self, monkeypatch):
        """Results are kept under its text: another calibration must be another text."""
        here = repr(plan(337, EPSILONS))
        assert repr(plan(337, EPSILONS)) == here
        assert repr(plan(338, EPSILONS)) != here
        assert repr(plan(337, (1.0,))) != here
        known = tuned.lookup("micr-laplace", 337, 1.0)
        other = tuned.Tuned(known.B, known.c, None, Calibration(0.05, 0.9, 0.01))
        before = tuned.lookup
        monkeypatch.setattr(
            tuned, "lookup", lambda name, *at: other if name[:4] == "micr" else before(name, *at)
        )
        assert repr(plan(337, EPSILONS)) != here


class TestOutputs:
    @pytest.mark.parametrize("runs", [1, 7, 45])
    def test_shape_and_range(self, points, runs, rng):
        entries = every(120, EPSILONS)
        found = outputs(entries, points, SQUARE, runs, rng)
        assert found.shape == (26, runs)
        assert np.all((found >= 0) & (found <= 1))

    def test_floors_are_the_public_statistics(self, points):
        x, y = points
        entries = every(120, EPSILONS)
        found = by_key(entries, points, 6)
        for epsilon in EPSILONS:
            choice = at(120, epsilon)["ours"].source.choice
            micr = dpmic.micr(x, y, bounds=SQUARE, B=choice.B, c=choice.c).mic
            assert found["mice", epsilon].tolist() == [dpmic.mice(x, y).mic] * 6
            assert found["micr", epsilon].tolist() == [micr] * 6
            assert found["constant", epsilon].tolist() == [0.5] * 6

    def test_private_ones_vary(self, points):
        found = by_key(every(120, (3.0,)), points, 30)
        still = {"constant", "mice", "micr"}
        for (key, _), values in found.items():
            assert (np.unique(values).size == 1) == (key in still), key

    def test_an_estimate_is_a_function_of_the_value_beside_it(self, points):
        entries = every(120, EPSILONS)
        found = by_key(entries, points, 50)
        for entry in entries:
            if entry.calibration is not None:
                value = found[entry.key, entry.epsilon]
                expected = entry.calibration.estimate(value, entry.source.scale)
                estimate = found[f"{entry.key}-estimate", entry.epsilon]
                np.testing.assert_array_equal(estimate, expected)
                assert np.any(estimate != value)

    def test_noise_has_the_stated_scale_around_the_score(self, points):
        """So that ten percent more or less would be seen."""
        x, y = points
        entry = at(120, 1.0)["ours"]
        found = by_key([entry], points, 40_000)
        source = entry.source
        score = dpmic.micr(x, y, bounds=SQUARE, B=source.choice.B, c=source.choice.c).mic
        off = found["ours", 1.0] - score
        inner = off[np.abs(off) < min(score, 1 - score)]
        bound = min(score, 1 - score) / source.scale
        expected = 1 - bound / math.expm1(bound)  # of an exponential cut off at the bound
        assert np.abs(inner).mean() / source.scale == pytest.approx(expected, rel=0.03)
        assert np.median(off) == pytest.approx(0, abs=0.03 * source.scale)

    def test_the_same_random_numbers_give_the_same_outputs(self, tied):
        entries = every(120, EPSILONS)
        one, two, other = (by_key(entries, tied, 9, seed) for seed in (1, 1, 2))
        for key in one:
            np.testing.assert_array_equal(one[key], two[key])
        assert np.any(one["ours", 1.0] != other["ours", 1.0])

    def test_no_two_rows_share_their_noise(self, points):
        found = by_key(every(120, (10.0, 9.0)), points, 200)
        without = {key for key, _ in found if key.endswith("-estimate")}
        without |= {"constant", "mice", "micr"}
        drawn = [values for (key, _), values in found.items() if key not in without]
        assert len(drawn) == 14
        ranks = np.array([values.argsort().argsort() for values in drawn])
        assert np.abs(np.corrcoef(ranks) - np.eye(14)).max() < 0.4

    def test_bounds_are_those_of_the_data_set(self, points):
        x, y = points
        moved = (1000 * x - 7, y / 50)
        entries = every(120, EPSILONS)
        one = by_key(entries, points, 5)
        two = by_key(entries, moved, 5, bounds=((-7.0, 993.0), (0.0, 0.02)))
        for key in one:
            np.testing.assert_allclose(one[key], two[key], atol=1e-9)


@pytest.mark.parametrize("axes", ["linear", "any", "wide"])
def test_capped_scores_are_the_public_ones(points, axes):
    x, y = points[0] / 50, points[1] / 50
    source = Scored(f"micc, {axes}", CapLimits(4.5), 0.0)
    found = source.scores((x, y), SQUARE, 1, np.random.default_rng(5))
    assert found.tolist() == [dpmic.micc(x, y, bounds=SQUARE, cap=4.5, axes=axes).mic]


class TestTies:
    """A scale of 0 shows the scores themselves."""

    choice = Choice(12.0, 5.0, 4)

    def scores(self, statistic, points, orders=8):
        source = Scored(statistic, self.choice, 0.0)
        return source.scores(points, SQUARE, orders, np.random.default_rng(5))

    def test_tied_values_are_put_in_random_orders(self, tied):
        found = self.scores("mice, ties in random order", tied)
        assert found.shape == (8,)
        assert np.unique(found).size > 1

    def test_one_tied_axis_is_enough(self, points, tied):
        assert np.unique(self.scores("mice, ties in random order", (points[0], tied[1]))).size > 1
        assert np.unique(self.scores("mice, ties in random order", (tied[0], points[1]))).size > 1

    def test_without_ties_there_is_one_score(self, points):
        found = self.scores("mice, ties in random order", points)
        assert found.shape == (1,)
        assert found == self.scores("mice, ties grouped", points)

    @pytest.mark.parametrize("statistic", ["mice, ties grouped", "micr"])
    def test_other_scores_do_not_look_at_the_order(self, statistic, tied):
        found = self.scores(statistic, tied)
        order = np.random.default_rng(6).permutation(120)
        assert found.shape == (1,)
        assert found == self.scores(statistic, (tied[0][order], tied[1][order]))

    def test_every_order_serves_equally_often(self):
        source = Scored("micr", self.choice, 0.0)
        values = source.values(np.array([0.1, 0.2, 0.3]), 9, np.random.default_rng(1))
        assert sorted(values.tolist()) == [0.1] * 3 + [0.2] * 3 + [0.3] * 3

    def test_outputs_try_several_orders_of_one_data_set(self, tied, monkeypatch):
        tried = []
        ranked = plans.scoring.ranked
        monkeypatch.setattr(
            plans.scoring, "ranked", lambda *given: (tried.append(1), ranked(*given))[1]
        )
        entries = [entry for entry in every(120, (1.0,)) if entry.key == "ours-mice"]
        for runs, expected in ((1, 1), (7, 7), (500, plans.ORDERS)):
            tried.clear()
            outputs(entries, tied, SQUARE, runs, np.random.default_rng(1))
            assert len(tried) == expected
