"""Capped scores plus noise, and which mechanism "auto" is."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from project import SURE
from sweeps import sweep

import dpmic
from dpmic import _validate, sensitivity
from dpmic.parameters import expected, tuned
from dpmic.privacy import CappedLaplace, MICrLaplace
from dpmic.privacy._auto import default_for, resolve
from dpmic.privacy.audit import _worst_case
from dpmic.statistics import sources
from dpmic.statistics.capped import MOST_RECORDS, unit_of

RNG = np.random.default_rng(21)
X = RNG.random(600)
Y = (X - 0.5) ** 2 + RNG.normal(0, 0.02, 600)
FRAME = pd.DataFrame({"age": X, "dose": Y})
BOX = ((0, 100), (-10, 10))


@sweep("cap", _validate.CAPS)
def test_the_sensitivity_is_the_cap_over_n(cap):
    for n in (4, 25, 1000, 10**6, MOST_RECORDS):
        exact = sensitivity.micc(n, cap)
        assert exact >= min((cap + 36 * unit_of(n)) / n, 1)
        assert exact == pytest.approx(min(cap / n, 1), rel=1e-3)
        setting = CappedLaplace(1.0, BOX, cap, allow_noisy=True).setting(n)
        assert setting.sensitivity >= exact
        assert setting.noise.epsilon <= 1


def test_too_many_records_are_left_to_micr():
    with pytest.raises(dpmic.ParameterError, match="micr-laplace"):
        sensitivity.micc(MOST_RECORDS + 1, 5)
    assert sensitivity.MAX_CAPPED_N == MOST_RECORDS


@pytest.mark.slow
def test_the_noise_is_around_what_micc_shows():
    exact = dpmic.micc("age", "dose", data=FRAME, bounds=BOX, cap=4).mic
    mechanism = CappedLaplace(1.0, BOX, cap=4)
    values = [mechanism.release("age", "dose", data=FRAME).value for _ in range(300)]
    scale = mechanism.setting(600).noise.scale
    assert scale == pytest.approx(4 / 600, rel=1e-5)
    assert np.median(values) == pytest.approx(exact, abs=6 * scale / math.sqrt(300))


def test_pairs_of_a_table_are_scored_as_micc_does():
    columns = [X, Y, np.sin(9 * X)]
    intervals = [(0.0, 100.0), (-10.0, 10.0), (-1.0, 1.0)]
    pairs = [(0, 1), (0, 2), (2, 1)]
    for axes in ("linear", "any", "wide"):
        mechanism = CappedLaplace(1.0, BOX, cap=5, axes=axes)
        found = mechanism.scores(columns, intervals, pairs, mechanism.setting(600).limits)
        shown = [
            dpmic.micc(
                columns[i], columns[j], bounds=(intervals[i], intervals[j]), cap=5, axes=axes
            ).mic
            for i, j in pairs
        ]
        assert found == shown


def test_it_is_a_measurement_of_opendp():
    measurement = CappedLaplace(1.0, BOX).to_opendp(600)
    assert 0 <= measurement((X, Y)) <= 1
    assert measurement.map(d_in=1) <= 1
    assert measurement.map(d_in=2) == pytest.approx(2 * measurement.map(d_in=1), rel=1e-6)


def test_bad_options_are_refused():
    for options, words in (
        ({"cap": 3.25}, "cap = 3.25"),
        ({"axes": "log"}, "axes = 'log'"),
        ({"bounds": None}, "bounds"),
        ({"statistic": "mev", "mechanism": "capped-laplace"}, "no such option"),
        ({"axes": "wide", "mechanism": "micr-laplace"}, "would take minutes"),
        ({"B": 20, "cap": 5}, "cap and B: cap belongs to capped-laplace, B to micr-laplace"),
        ({"axes": "wide", "statistic": "tic"}, "axes='wide' and statistic"),
    ):
        given = {"epsilon": 1.0, "bounds": BOX, **options}
        with pytest.raises(dpmic.ParameterError, match=words):
            dpmic.release("age", "dose", data=FRAME, **given)


# Which mechanism it is


def test_the_default_errs_least_or_nearly_so():
    """A table in which MICr is clearly better would change the default and the texts about it."""
    capped, uncapped = (expected.surfaces()[name] for name in ("capped-laplace", "micr-laplace"))
    for n in (25, 1000, 25_000, 50_000, 10**7):
        for epsilon in (1e-6, 0.01, 0.1, 0.2, 1.0, 10.0):
            errors = capped.at(n, epsilon).value, uncapped.at(n, epsilon).value
            assert errors[0] < errors[1] * (1 if n <= 25_000 or epsilon <= 0.2 else 1.09)
            assert expected.best_laplace(n, epsilon) == "capped-laplace"
            assert tuned.lookup_capped(n, epsilon).cap in _validate.CAPS
    assert default_for(MOST_RECORDS + 1, 1.0) == "micr-laplace"
    caps = [tuned.lookup_capped(1000, e).cap for e in (0.01, 0.1, 1.0, 3.0)]
    assert caps == sorted(caps)


def test_the_default_follows_the_table_of_errors(monkeypatch):
    """MICr is the default where its error is less than nine tenths of the capped score's."""
    axis = np.array([25.0, 50_000.0])
    table = {"capped-laplace": np.zeros((4, 2, 2)), "micr-laplace": np.zeros((4, 2, 2))}
    table["micr-laplace"][:, 0] = np.log(0.91)
    table["micr-laplace"][:, 1] = np.log(0.89)
    surfaces = {name: expected.Surface(axis, axis, logs) for name, logs in table.items()}
    monkeypatch.setattr(expected, "surfaces", lambda: surfaces)
    assert [default_for(n, 30.0) for n in (25, 50_000)] == ["capped-laplace", "micr-laplace"]


def test_auto_follows_the_options(monkeypatch):
    source = sources.find("age", "dose", data=FRAME)
    monkeypatch.setattr(expected, "best_laplace", lambda *_: "the smaller")
    for options, name in (
        ({}, "the smaller"),
        ({"axes": "linear"}, "the smaller"),
        ({"axes": "wide"}, "capped-laplace"),
        ({"cap": 5}, "capped-laplace"),
        ({"B": 20}, "micr-laplace"),
        ({"c": 5, "axes": "any"}, "micr-laplace"),
        ({"statistic": "tic"}, "micr-laplace"),
    ):
        assert resolve("auto", options, source, 1.0) == name
    assert resolve("mice-laplace", {}, source, 1.0) == "mice-laplace"


def test_the_choice_looks_at_no_value():
    asked = {"epsilon": 1.0, "bounds": BOX, "allow_noisy": True}
    named = {
        (r.mechanism, str(r.parameters))
        for r in (
            dpmic.release(a, b, **asked)
            for a, b in ((X, Y), (np.zeros(600), Y), (1e9 * X, np.zeros(600)))
        )
    }
    assert len(named) == 1


def test_the_release_says_what_was_used():
    published = dpmic.release("age", "dose", data=FRAME, bounds=BOX, epsilon=0.5)
    default = tuned.lookup_capped(600, 0.5)
    assert published.mechanism == "capped-laplace"
    assert f"cap = {default.cap:g}, axes = any" in published.guarantee
    uncapped = dpmic.release("age", "dose", data=FRAME, bounds=BOX, epsilon=1.0, B=40)
    assert (uncapped.mechanism, uncapped.parameters["axes"]) == ("micr-laplace", "any")
    screened = dpmic.screen(FRAME, bounds={"age": BOX[0], "dose": BOX[1]}, epsilon=1.0, top=1)
    assert screened.mechanism == "capped-laplace"


def test_wide_bounds_keep_the_value():
    """A hundred times too wide: grids of equal width see one cell."""
    narrow, wide = ((0, 1), (0, 0.25)), ((-50, 50), (-25, 25))
    kept = dpmic.micc(X, Y, bounds=wide, axes="wide").mic
    assert kept > 0.7 * dpmic.micc(X, Y, bounds=narrow).mic
    assert dpmic.micc(X, Y, bounds=wide, axes="linear").mic < 0.1


# Attacks


class Weaker:
    """A capped mechanism with a share of its noise."""

    def __init__(self, mechanism, share):
        self.mechanism, self.share = mechanism, share
        self.name, self.epsilon = mechanism.name, mechanism.epsilon

    def draws(self, x, y, runs):
        setting = self.mechanism.setting(x.size)
        noise = dataclasses.replace(setting.noise, scale=setting.noise.scale * self.share)
        score = self.mechanism.scores((x, y), self.mechanism.bounds, [(0, 1)], setting.limits)[0]
        return np.clip([noise.add(score) for _ in range(runs)], 0, 1)


def mechanism(axes="any", cap=None, rows=1):
    return CappedLaplace(
        1.0, ((0, 1), (0, 1)), cap, axes=axes, rows_per_person=rows, allow_noisy=True
    )


@sweep("axes", ["linear", "any", "wide"])
def test_the_attack_moves_the_score_by_the_sensitivity(axes):
    for cap, n in ((3.5, 12), (5.0, 26)):
        attacked = mechanism(axes, cap)
        setting = attacked.setting(n)
        scores = [
            attacked.scores(points, attacked.bounds, [(0, 1)], setting.limits)[0]
            for points in _worst_case(attacked, n)
        ]
        assert abs(scores[0] - scores[1]) == pytest.approx(setting.sensitivity, rel=1e-5)
        assert abs(scores[0] - scores[1]) <= setting.sensitivity


@pytest.mark.slow
def test_a_quick_audit():
    bound = dpmic.audit(mechanism(), n=26, runs=12_000, confidence=SURE)
    assert not bound.disproved
    assert bound.lower > 0.6


@pytest.mark.full
@pytest.mark.parametrize(("axes", "rows"), [("linear", 1), ("any", 1), ("wide", 1), ("any", 3)])
def test_no_audit_disproves_it(axes, rows):
    bound = dpmic.audit(mechanism(axes, rows=rows), n=26, runs=100_000, confidence=SURE)
    assert not bound.disproved, bound
    assert bound.lower > (0.85 if rows == 1 else 0.4), bound


@pytest.mark.full
def test_a_tenth_less_noise_is_caught():
    """And a twentieth less is not always."""
    attacked = mechanism(cap=3.5)
    neighbours = _worst_case(attacked, 26)
    weak = Weaker(attacked, 0.9)
    assert dpmic.audit(weak, neighbours=neighbours, runs=100_000).disproved


@pytest.mark.full
def test_climbing_finds_no_larger_change():
    """From random datasets, every kind of axes."""
    rng = np.random.default_rng(4)
    for axes in ("linear", "any", "wide"):
        attacked = mechanism(axes, 4.0)
        n = 20
        setting = attacked.setting(n)

        def gap(points, moved, attacked=attacked, setting=setting):
            scores = [
                attacked.scores(p, attacked.bounds, [(0, 1)], setting.limits)[0]
                for p in (points, moved)
            ]
            return abs(scores[0] - scores[1])

        lattice = np.linspace(0, 1, 9)
        points = rng.choice(lattice, (2, n))
        moved = points.copy()
        widest = 0.0
        for _ in range(300):
            a, b = points.copy(), moved.copy()
            record, axis = rng.integers(n), rng.integers(2)
            b[axis, record] = rng.choice(lattice)
            if record:
                a[axis, record] = b[axis, record]
            found = gap(a, b)
            assert found <= setting.sensitivity
            if found >= widest:
                points, moved, widest = a, b, found
        assert widest > 0.3 * setting.sensitivity


def test_micr_under_maps_stays_within_its_sensitivity():
    rng = np.random.default_rng(8)
    attacked = MICrLaplace(1.0, ((-5, 5), (0, 1)), B=12, c=2, axes="any", allow_noisy=True)
    setting = attacked.setting(12)
    for _ in range(20):
        points = rng.normal(size=(2, 12)) ** 3
        moved = points.copy()
        moved[:, 0] = rng.normal(size=2) * 9
        scores = [
            attacked.scores(p, attacked.bounds, [(0, 1)], setting.limits)[0]
            for p in (points, moved)
        ]
        assert abs(scores[0] - scores[1]) <= setting.sensitivity
