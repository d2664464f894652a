"""The search finds the best of what it tried, and says what the print would have given."""

import json

import numpy as np
import pytest

from dpmic._validate import CAPS
from dpmic.evaluation import histograms, parameters, printed
from dpmic.evaluation.jobs import Run
from dpmic.evaluation.parameters import PAPER_CELLS, PARTS, Effort, _Fit, published, tuned
from dpmic.evaluation.relationships import noisy
from dpmic.evaluation.scoring import SQUARE, Choice, Perturbed
from dpmic.evaluation.simulation import histogram_matrix
from dpmic.evaluation.tuning import (
    Sizes,
    capped_scores,
    expected_error,
    mic_stars,
    perturbed,
    scores,
    wsum,
)
from dpmic.parameters.tuned import Calibration
from dpmic.privacy import CappedLaplace, MICeLaplace, MICrLaplace

N, SAMPLES = 25, 2
CELLS = (4.0, 6.0, 8.0, 12.0, 20.0)
LAPLACE = ("micr-laplace", "mice-laplace")


@pytest.fixture(scope="module")
def effort():
    """Two functions of odd and two of even number."""
    return Effort(
        distributions=(noisy(12, 0.9), noisy(13, 0.5), noisy(5, 0.7), noisy(20, 0.3)),
        n=(N,),
        epsilon=(0.1, 3.0),
        cells=CELLS,
        fineness=(2.0, 5.0),
        iterations={N: SAMPLES},
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("search"))


@pytest.fixture(scope="module")
def targets(run, effort):
    return mic_stars(run, effort.distributions)


@pytest.fixture(scope="module")
def scored(run, effort):
    sizes = Sizes.upto(N, cells=CELLS, fineness=effort.fineness)
    return scores(run, effort.distributions, N, SAMPLES, sizes)


@pytest.fixture(scope="module")
def beside_print(run, effort):
    return published(run, effort)


@pytest.fixture(scope="module")
def found(run, effort):
    return tuned(run, effort)


def error(values, targets):
    return float(wsum(np.abs(values - targets[:, None]).mean(axis=1), targets))


@pytest.mark.slow
class TestPublished:
    def test_a_row_for_each_mechanism_and_epsilon(self, beside_print):
        places = [(row["mechanism"], row["n"], row["epsilon"]) for row in beside_print]
        assert sorted(places) == [
            (mechanism, N, epsilon)
            for mechanism in ("micr-geom", "micr-lap")
            for epsilon in (0.1, 1.0)
        ]

    def test_within_the_papers_range(self, beside_print):
        for row in beside_print:
            assert row["B"] in PAPER_CELLS
            assert row["c"] in ((5,) if row["mechanism"] == "micr-lap" else (1, 2))

    def test_the_print_stands_beside_and_is_not_better(self, beside_print):
        for row in beside_print:
            c, B = printed.PARAMETERS[row["mechanism"], row["epsilon"]][N]
            assert (row["printed_c"], row["printed_B"]) == (c, B)
            assert 0 < row["wsum"] <= row["printed_wsum"] < 1

    @pytest.mark.parametrize("epsilon", [1.0, 0.1])
    def test_the_best_of_micr_lap_by_hand(self, beside_print, scored, targets, epsilon):
        scale = (4 * np.log2(N) + 6) / N / epsilon
        sums = {
            choice: float(wsum(expected_error(own, targets[:, None], scale).mean(1), targets))
            for choice, own in scored[0].items()
            if choice.c == 5
        }
        assert len(sums) == len(CELLS)
        (row,) = (
            r for r in beside_print if (r["mechanism"], r["epsilon"]) == ("micr-lap", epsilon)
        )
        assert row["wsum"] == pytest.approx(min(sums.values()))
        assert row["wsum"] == pytest.approx(sums[Choice(row["B"], row["c"])])
        assert row["printed_wsum"] == pytest.approx(sums[Choice(row["printed_B"], 5)])

    def test_the_best_of_micr_geom_by_hand(self, run, effort, beside_print, targets):
        tried = [
            Perturbed("micr-geom", epsilon, B, c)
            for epsilon in (1.0, 0.1)
            for c in (1.0, 2.0)
            for B in PAPER_CELLS
        ]
        values = perturbed(run, effort.distributions, N, SAMPLES, tried)
        for row in beside_print:
            if row["mechanism"] == "micr-geom":
                own = {
                    k: error(v, targets) for k, v in values.items() if k.epsilon == row["epsilon"]
                }
                assert row["wsum"] == pytest.approx(min(own.values()))
                at = Perturbed("micr-geom", row["epsilon"], row["B"], row["c"])
                assert row["wsum"] == pytest.approx(own[at])

    def test_only_the_papers_sizes_are_compared(self, run, effort, beside_print):
        """Any other n is left out; nothing is computed for it."""
        more = Effort(**{**vars(effort), "n": (N, 26, 3000)})
        assert published(run, more) == beside_print

    def test_every_printed_choice_is_among_those_tried(self):
        for (mechanism, _), table in printed.PARAMETERS.items():
            for c, B in table.values():
                assert B in PAPER_CELLS
                assert c in ((5,) if mechanism == "micr-lap" else (1, 2))


@pytest.mark.slow
class TestTuned:
    def test_a_row_for_each_mechanism_and_epsilon(self, found):
        places = [(row["mechanism"], row["n"], row["epsilon"]) for row in found]
        mechanisms = ("mice-laplace", "micr-geometric", "micr-laplace", "noisy-table")
        capped = [("capped-laplace", N, e) for e in (*parameters.SMALLER, 0.1, 3.0)]
        assert sorted(places) == capped + [(m, N, e) for m in mechanisms for e in (0.1, 3.0)]

    def test_columns(self, found):
        ours = ["mechanism", "n", "epsilon", "B", "c", "lmax", "low", "high", "spread"]
        for row in found:
            if row["mechanism"] == "noisy-table":
                assert list(row) == ["mechanism", "n", "epsilon", "parts", "wsum"]
                assert row["parts"] in PARTS
            elif row["mechanism"] == "capped-laplace":
                own = ["mechanism", "n", "epsilon", "cap", "low", "high", "spread"]
                assert list(row) == [*own, "wsum_value", "wsum_estimate"]
                assert row["cap"] in CAPS
            elif row["mechanism"] == "micr-geometric":
                own = ["mechanism", "n", "epsilon", "m", "B", "low", "high", "spread"]
                assert list(row) == [*own, "wsum_value", "wsum_estimate"]
                assert histograms.Cut(row["m"], row["B"]) in histograms.cuts(N)
            else:
                assert list(row) == [*ours, "wsum_value", "wsum_estimate"]
                assert (row["lmax"] is None) == (row["mechanism"] == "micr-laplace")
        assert json.loads(json.dumps(found)) == found

    def test_chosen_with_the_noise_of_a_release(self, found, scored, targets):
        """Within one percent of the best, by hand."""
        for row in found:
            if row["mechanism"] not in LAPLACE:
                continue
            tried = scored[row["mechanism"] == "mice-laplace"]
            sums = {}
            for choice, own in tried.items():
                if choice.lmax is None:
                    mechanism = MICrLaplace(row["epsilon"], SQUARE, B=choice.B, c=choice.c)
                else:
                    options = {"B": choice.B, "c": choice.c, "lmax": choice.lmax}
                    mechanism = MICeLaplace(row["epsilon"], **options)
                scale = mechanism.setting(N).noise.scale
                errors = expected_error(own, targets[:, None], scale).mean(axis=1)
                sums[choice] = float(wsum(errors, targets))
            chosen = Choice(row["B"], row["c"], row["lmax"])
            assert sums[chosen] <= 1.01 * min(sums.values()) + 1e-12
            cheaper = [choice for choice in sums if choice.cost < chosen.cost]
            assert all(sums[choice] > 1.01 * min(sums.values()) for choice in cheaper)

    def test_the_cap_is_the_best_with_the_noise_of_a_release(self, run, effort, found, targets):
        tried = capped_scores(run, effort.distributions, N, SAMPLES)
        for row in found:
            if row["mechanism"] == "capped-laplace":
                sums = {}
                for cap, own in tried.items():
                    scale = CappedLaplace(row["epsilon"], SQUARE, cap).setting(N).noise.scale
                    errors = expected_error(own, targets[:, None], scale).mean(axis=1)
                    sums[cap] = float(wsum(errors, targets))
                assert sums[row["cap"]] == min(sums.values())

    def test_the_baseline_gets_its_best(self, run, effort, found, targets):
        tried = [Perturbed("noisy-table", e, float(p)) for e in effort.epsilon for p in PARTS]
        values = perturbed(run, effort.distributions, N, SAMPLES, tried)
        for row in found:
            if row["mechanism"] == "noisy-table":
                own = {
                    k: error(v, targets) for k, v in values.items() if k.epsilon == row["epsilon"]
                }
                assert row["wsum"] == pytest.approx(min(own.values()), abs=1e-6)
                assert own[Perturbed("noisy-table", row["epsilon"], row["parts"])] == min(
                    own.values()
                )

    def test_the_calibration_is_sound_and_judged_on_the_other_half(self, found, scored, targets):
        even = np.array([True, False, False, True])  # F12, F13, F5, F20
        for row in found:
            if row["mechanism"] not in LAPLACE:
                continue
            assert row["low"] < row["high"]
            assert row["spread"] >= 0
            choice = Choice(row["B"], row["c"], row["lmax"])
            own = scored[row["mechanism"] == "mice-laplace"][choice]
            scale = parameters._scale(row["mechanism"], N, row["epsilon"], choice)
            errors = expected_error(own[even], targets[even][:, None], scale).mean(axis=1)
            assert row["wsum_value"] == pytest.approx(float(wsum(errors, targets[even])), abs=0.003)
            shares = (np.arange(4000) + 0.5) / 4000
            noise = np.where(shares < 0.5, np.log(2 * shares), -np.log(2 - 2 * shares)) * scale
            values = np.clip(own[even][..., None] + noise, 0, 1)
            calibration = Calibration(row["low"], row["high"], row["spread"])
            off = np.abs(calibration.estimate(values, scale) - targets[even][:, None, None])
            expected = float(wsum(off.mean(axis=(1, 2)), targets[even]))
            assert row["wsum_estimate"] == pytest.approx(expected, abs=0.003)

    def test_the_histogram_is_chosen_and_judged_by_hand(self, run, effort, found, targets):
        """The cut by a line fitted to the odd functions; the calibration on the even ones."""
        even = np.array([True, False, False, True])
        made = histograms.simulated(run, effort.distributions, N, effort.epsilon, SAMPLES)
        for row in found:
            if row["mechanism"] != "micr-geometric":
                continue
            own = {cut: v for (at, cut), v in made.items() if at == row["epsilon"]}
            chosen = own[histograms.Cut(row["m"], int(row["B"]))]
            sums = {cut: histograms._corrected(v, targets, ~even) for cut, v in own.items()}
            good = [cut for cut in own if sums[cut] <= 1.01 * min(sums.values())]
            assert error(chosen, targets) == min(error(own[cut], targets) for cut in good)
            assert row["wsum_value"] == pytest.approx(error(chosen[even], targets[even]), abs=1e-6)
            calibration = Calibration(row["low"], row["high"], row["spread"])
            estimates = calibration.estimate(chosen[even], 0.0)
            expected = error(estimates, targets[even])
            assert row["wsum_estimate"] == pytest.approx(expected, abs=1e-6)

    def test_the_same_again(self, tmp_path, effort, found, beside_print, run):
        """From nothing, with two workers, and from what is kept."""
        other = Run(tmp_path, workers=2)
        assert tuned(other, effort) == found
        assert published(other, effort) == beside_print
        assert tuned(run, effort) == found


class TestCuts:
    """Values that a known line turns into MIC*."""

    targets = np.linspace(0.02, 0.98, 49)
    half = np.arange(49) % 2 == 1

    def values(self, low, high, scatter=0.0):
        noise = scatter * np.array([-1, 1, 0])
        return low + (high - low) * self.targets[:, None] + noise

    def test_a_line_is_undone(self):
        assert histograms._corrected(self.values(0.3, 0.5), self.targets, self.half) < 1e-9
        assert histograms._corrected(self.values(0.3, 0.3), self.targets, self.half) > 0.2

    def test_scatter_counts_and_bias_only_among_equals(self):
        """Of two that a line corrects alike the less biased one is taken."""
        found = {
            histograms.Cut(2, 4): self.values(0.0, 1.0, scatter=0.1),
            histograms.Cut(3, 4): self.values(0.3, 0.5, scatter=0.004),
            histograms.Cut(4, 4): self.values(0.2, 0.9, scatter=0.014),
        }
        assert histograms.best_cut(found, self.targets, self.half) == histograms.Cut(4, 4)
        del found[histograms.Cut(4, 4)]
        assert histograms.best_cut(found, self.targets, self.half) == histograms.Cut(3, 4)

    def test_every_cut_has_room_for_its_grids(self):
        for n in (25, 1000, 50_000):
            assert all(4 <= cut.B <= cut.m**2 for cut in histograms.cuts(n))
        assert max(cut.m for cut in histograms.cuts(25)) == 10
        assert max(cut.m for cut in histograms.cuts(50_000)) == 48

    def test_every_size_is_read_off_one_matrix(self):
        """As if each had been searched alone."""
        points = noisy(13, 0.7).sample(200, np.random.default_rng(3))
        read = histograms._by_cells(points, 8, (4, 12, 36, 64), 1.0, np.random.default_rng(4))
        for B, value in zip((4, 12, 36, 64), read, strict=True):
            alone = histogram_matrix(points, SQUARE, (8, B), 1.0, np.random.default_rng(4))
            assert np.nanmax(alone) == value


class TestFit:
    """Scores between 0.2 and 0.8 of MIC* between 0 and 1: the calibration is known."""

    targets = np.linspace(0.02, 0.98, 49)
    half = np.arange(49) % 2 == 1

    def fit(self, scale, low=0.2, high=0.8):
        scores = low + (high - low) * np.repeat(self.targets[:, None], 3, axis=1)
        return _Fit(scores, self.targets, scale)

    def test_it_is_found(self):
        best = self.fit(0.01)._best(self.half)
        assert best.low == pytest.approx(0.2, abs=0.02)
        assert best.high == pytest.approx(0.8, abs=0.02)
        assert best.spread < 0.02

    def test_what_gains_nothing_is_not_kept(self):
        assert self.fit(0.05, 0.0, 1.0)._best(self.half) == Calibration()

    def test_only_the_named_half_is_looked_at(self):
        fit = self.fit(0.02)
        spoilt = _Fit(np.where(self.half[:, None], fit.scores, 0.5), self.targets, 0.02)
        assert spoilt._best(self.half) == fit._best(self.half)
        assert spoilt.row(self.half)["wsum_value"] > fit.row(self.half)["wsum_value"]

    @pytest.mark.parametrize("scale", [0.003, 0.1, 0.7, 8.0])
    def test_quantiles_stand_for_noise(self, scale):
        fit = self.fit(scale)
        exact = expected_error(fit.scores, self.targets[:, None], scale).mean(axis=1)
        expected = float(wsum(exact[self.half], self.targets[self.half]))
        assert fit.error(None, self.half) == pytest.approx(expected, rel=0.005)

    def test_noisy_scores_that_tell_nothing_are_not_fitted(self):
        """Whatever ends would fit them best: the estimate is the constant."""
        rng = np.random.default_rng(1)
        best = _Fit(rng.random((49, 3)), self.targets, 0.0)._best(self.half)
        assert best == parameters.BLIND
        assert np.allclose(best.estimate(rng.random(9), 0.0), 0.5, atol=0.03)
        assert self.fit(0.0)._best(self.half).low == pytest.approx(0.2, abs=0.02)

    def test_an_estimate_is_judged_as_one(self):
        """Without noise the right calibration has no error, and the value has."""
        fit = self.fit(1e-9)
        assert fit.error(Calibration(0.2, 0.8), self.half) < 1e-6
        assert fit.error(None, self.half) > 0.05

    @pytest.mark.parametrize("scale", [0.01, 0.1, 0.5, 5.0])
    def test_both_halves(self, scale):
        row = self.fit(scale).row(self.half)
        assert row["wsum_estimate"] <= row["wsum_value"]
        assert row["wsum_estimate"] <= 0.26
