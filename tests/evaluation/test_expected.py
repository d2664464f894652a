"""The table of expected errors: its noise, its weights, and that it can be made again."""

import json

import numpy as np
import pytest

import dpmic
from dpmic.evaluation import expected, figures, reproduce, tuning
from dpmic.evaluation.expected import EPSILONS, Sampling, measure, strata
from dpmic.evaluation.jobs import Run
from dpmic.evaluation.relationships import family, noisy
from dpmic.evaluation.scoring import SQUARE, Choice
from dpmic.evaluation.tuning import expected_error, weights, wsum
from dpmic.parameters import expected as known_errors
from dpmic.parameters import provenance
from dpmic.parameters.expected import Surface
from dpmic.parameters.tuned import Calibration
from dpmic.privacy import CappedLaplace, MICeLaplace, MICrLaplace


class TestNoise:
    def test_strata_have_the_moments_of_laplace_noise(self):
        parts = strata(200)
        assert parts.size == 200
        assert parts.sum() == pytest.approx(0, abs=1e-9)
        assert np.abs(parts).mean() == pytest.approx(1)
        assert np.quantile(parts, 0.9) == pytest.approx(-np.log(0.2), rel=0.02)

    @pytest.mark.parametrize("scale", [0.001, 0.05, 0.5, 20.0])
    def test_errors_are_those_of_the_closed_form(self, scale):
        release = expected._Default("any", 1.0, Choice(4, 5), scale, Calibration())
        scores = np.linspace(0.02, 0.98, 30)[:, None]
        values = release.outcomes(scores).values
        found = np.abs(values - 0.4).mean(axis=2)
        assert found == pytest.approx(expected_error(scores, 0.4, scale), rel=0.01, abs=1e-4)

    def test_estimates_are_the_calibrations(self):
        release = expected._Default("any", 1.0, Choice(4, 5), 0.1, Calibration(0.1, 0.8, 0.05))
        found = release.outcomes(np.array([[0.3, 0.7]]))
        assert found.estimates == pytest.approx(
            release.calibration.estimate(found.values, 0.1), abs=1e-15
        )

    def test_a_default_release(self):
        for kind in (lambda e: MICrLaplace(e, SQUARE), MICeLaplace):
            release = expected._Default.at(kind, 337, 0.4)
            setting = kind(0.4).setting(337)
            limits = setting.limits
            assert release.choice == Choice(limits.B, limits.c, limits.lmax)
            assert (release.scale, release.calibration) == (
                setting.noise.scale,
                setting.calibration,
            )

    def test_a_default_release_of_a_capped_score(self):
        release = expected._Default.at(lambda e: CappedLaplace(e, SQUARE), 337, 0.4)
        setting = CappedLaplace(0.4, SQUARE).setting(337)
        assert release.choice == setting.limits
        assert (release.scale, release.calibration) == (setting.noise.scale, setting.calibration)

    def test_each_score_is_the_mechanisms(self):
        kinds = (*expected.CAPPED, *expected.MATRICES)
        wanted = [(kind(1.0).name, expected._Default.at(kind, 60, 1.0).choice) for kind in kinds]
        drawn, again = np.random.default_rng(0), np.random.default_rng(0)
        found = expected.sample_scores(drawn, noisy(12, 0.8), 60, 1, wanted)["scores"]
        (capped,), (micr,), _ = found
        x, y = noisy(12, 0.8).sample(60, again)
        assert capped == dpmic.micc(x, y, bounds=SQUARE, cap=wanted[0][1].cap).mic
        choice = wanted[1][1]
        assert micr == dpmic.micr(x, y, bounds=SQUARE, B=choice.B, c=choice.c).mic


class TestWeights:
    def test_the_quantile_counts_weights(self):
        off, shares = np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.45, 0.05])
        assert expected._quantile(off, shares) == 0.2
        assert expected._quantile(off, np.array([0.1, 0.1, 0.8])) == 0.3
        rng = np.random.default_rng(0)
        many = rng.uniform(size=(4, 500))
        assert expected._quantile(many, np.full(4, 0.25)) == pytest.approx(
            np.quantile(many, 0.9), abs=0.002
        )

    def test_a_row(self):
        targets = np.array([0.2, 0.7])
        values = np.array([[[0.2, 0.4], [0.3, 0.3]], [[0.7, 0.7], [0.5, 0.5]]])
        found = expected._errors(expected.Outcomes("any", 1.0, values, values), targets)
        assert found["value"] == pytest.approx(wsum([0.1, 0.1], targets))
        assert found["value_upper"] == pytest.approx(0.2)
        shares = weights(targets)
        assert found["value_se"] == pytest.approx(shares[1] * 0.1, abs=1e-6)  # means 0 and 0.2
        assert found["estimate"] == found["value"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "STAR_GRID", (20, 30))
    return Run(tmp_path / "cache", seed=5)


def few():
    return tuple(noisy(number, r2) for number in (12, 13) for r2 in (0.3, 0.9))


def test_more_records_and_more_epsilon_err_less(run):
    rows = measure(run, Sampling(few(), (0.05, 0.1, 1.0, 10.0), {25: 4, 400: 4}))
    assert len(rows) == 4 * 2 * 4
    at = {(row["mechanism"], row["n"], row["epsilon"]): row["value"] for row in rows}
    assert at["micr-geometric", 400, 10.0] < at["micr-geometric", 400, 0.1]
    for mechanism in ("capped-laplace", "micr-laplace", "mice-laplace"):
        for epsilon in (0.1, 1.0):
            assert at[mechanism, 400, epsilon] < at[mechanism, 25, epsilon]
            assert at[mechanism, 400, 10.0] < at[mechanism, 400, epsilon]
    assert at["micr-laplace", 400, 0.1] < at["mice-laplace", 400, 0.1]
    assert at["capped-laplace", 400, 0.1] < at["micr-laplace", 400, 0.1]
    assert measure(run, Sampling(few(), (0.05, 0.1, 1.0, 10.0), {25: 4, 400: 4})) == rows


def test_guessing(run):
    found = expected.constant(run, few())
    targets = tuning.mic_stars(run, few())
    assert found["mean"] == pytest.approx(wsum(np.abs(targets - 0.5), targets), abs=1e-6)


@pytest.mark.slow
def test_the_package_can_read_what_the_command_writes(run, tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "drawn", lambda *_: iter(()))
    monkeypatch.setattr(reproduce, "family", lambda _: few())
    reproduce.reproduce(("errors",), tmp_path, quick=True, seed=3)
    text = (tmp_path / "errors.json").read_text()
    stored = json.loads(text)
    assert stored["provenance"]["command"] == "dpmic reproduce errors --quick --seed 3"
    assert stored["provenance"]["iterations"] == {"25": 2, "250": 2, "1000": 2}
    assert set(stored) == set(known_errors._stored())
    assert set(stored["provenance"]) == set(provenance("errors"))
    assert text.count('{"mechanism"') == text.count("\n  {") == len(stored["rows"])
    for mechanism in ("capped-laplace", "micr-laplace", "mice-laplace"):
        surface = Surface.of([row for row in stored["rows"] if row["mechanism"] == mechanism])
        assert tuple(surface.epsilon) == EPSILONS
        assert tuple(surface.n) == (25, 250, 1000)
        assert 0 < surface.at(300, 0.7).value < 0.5


@pytest.mark.full
def test_the_packages_table_is_what_the_command_makes(tmp_path):
    """One n of it: a later change to kernels, noise or parameters must remake the table."""
    known = {
        (row["mechanism"], row["epsilon"]): row
        for row in known_errors._stored()["rows"]
        if row["n"] == 25
    }
    iterations = provenance("errors")["iterations"]["25"]
    found = measure(Run(tmp_path, seed=0), Sampling(family(), EPSILONS, {25: iterations}))
    made = {(row["mechanism"], row["epsilon"]): row for row in found}
    for place, stored in known.items():
        row = made[place]
        for name in ("value", "value_upper", "estimate", "estimate_upper"):
            assert row[name] == pytest.approx(stored[name], rel=1e-3)
