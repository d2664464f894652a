"""The default parameters: every entry is sound, and what lies between them is too."""

import math
from dataclasses import asdict, replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sweeps import sweep

from dpmic.evaluation.jobs import Run
from dpmic.evaluation.parameters import SMALLER
from dpmic.evaluation.relationships import family
from dpmic.evaluation.reproduce import FULL, TUNED_EPSILONS
from dpmic.evaluation.scoring import SQUARE, Choice, matrix, micr, ranked
from dpmic.evaluation.tuning import mic_stars, wsum
from dpmic.parameters import provenance, tuned
from dpmic.parameters.tuned import Calibration
from dpmic.privacy import MICeLaplace, MICrLaplace

MECHANISMS = ("micr-laplace", "mice-laplace")
STORED = tuned._stored()
SIZES, EPSILONS = STORED["n"], STORED["epsilon"]
ROWS = {(row["mechanism"], row["n"], row["epsilon"]): row for row in STORED["rows"]}
OURS = {key: row for key, row in ROWS.items() if key[0] in MECHANISMS}
CONSTANT = 0.25  # WSUM of the answer 0.5 to every question

sizes = st.floats(math.log(6), math.log(1e7)).map(lambda v: round(math.exp(v)))
epsilons = st.floats(math.log(1e-4), math.log(10)).map(lambda v: min(math.exp(v), 10.0))
mechanisms = st.sampled_from(MECHANISMS)


def ours(mechanism, epsilon, **options):
    """The mechanism of that name on the unit square."""
    if mechanism == "micr-laplace":
        return MICrLaplace(epsilon, SQUARE, axes="linear", **options)
    return MICeLaplace(epsilon, **options)


class TestTable:
    def test_every_entry_is_there_once(self):
        wanted = product((*MECHANISMS, "noisy-table", "micr-geometric"), SIZES, EPSILONS)
        capped = product(["capped-laplace"], SIZES, (*SMALLER, *EPSILONS))
        assert set(ROWS) == {*wanted, *capped}
        assert len(STORED["rows"]) == len(ROWS)

    def test_axes_are_sorted(self):
        for axis in (SIZES, EPSILONS):
            assert len(axis) >= 2
            assert all(a < b for a, b in pairwise(axis))

    @sweep("key", OURS, ids=str)
    def test_an_entry_is_sound(self, key):
        row = OURS[key]
        assert row["B"] >= 4
        assert row["c"] >= 1
        assert row["c"].is_integer()
        assert row["low"] < row["high"]
        assert row["spread"] >= 0
        if key[0] == "micr-laplace":
            assert row["lmax"] is None
        else:
            assert 2 <= row["lmax"] <= row["B"] / 2

    @sweep("key", OURS, ids=str)
    def test_the_estimate_is_worse_than_neither_the_value_nor_a_constant(self, key):
        """Judged on the distributions that the calibration was not fitted to."""
        row = OURS[key]
        assert 0 < row["wsum_estimate"] <= row["wsum_value"]
        assert row["wsum_estimate"] < CONSTANT

    def test_less_noise_is_never_worse(self):
        """More records or a larger epsilon; simulation leaves ten percent of doubt."""
        for mechanism in MECHANISMS:
            errors = [[ROWS[mechanism, n, e]["wsum_value"] for e in EPSILONS] for n in SIZES]
            table = np.array(errors)
            assert np.all(table[1:] <= 1.1 * table[:-1])
            assert np.all(table[:, 1:] <= 1.1 * table[:, :-1])

    def test_what_made_it_is_told(self):
        """The seed and the iterations are those of the full command."""
        told = provenance("tuned")
        assert told["command"] == f"dpmic reproduce parameters --seed {told['seed']}"
        assert told["seed"] == 0
        assert told["iterations"] == {str(n): FULL.tuned_iterations[n] for n in FULL.tuned_n}
        assert told["distributions"] == 189
        assert told["version"]

    def test_it_is_the_whole_table(self):
        assert (
            tuple(SIZES) == FULL.tuned_n == (25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 50000)
        )
        assert tuple(EPSILONS) == TUNED_EPSILONS == (0.1, 0.3, 1.0, 3.0)

    def test_provenance_can_be_changed_without_harm(self):
        provenance("tuned")["command"] = "other"
        assert provenance("tuned")["command"] != "other"


class TestLookup:
    @sweep("key", OURS, ids=str)
    def test_at_an_entry_it_is_the_entry(self, key):
        row, found = OURS[key], tuned.lookup(*key)
        assert (found.B, found.c, found.lmax) == (row["B"], row["c"], row["lmax"])
        numbers = (found.calibration.low, found.calibration.high, found.calibration.spread)
        assert numbers == (row["low"], row["high"], row["spread"])

    @sweep(("n", "epsilon"), list(product(SIZES, EPSILONS)))
    def test_parts_of_the_noisy_table(self, n, epsilon):
        assert tuned.table_parts(n, epsilon) == ROWS["noisy-table", n, epsilon]["parts"]

    @given(mechanisms, sizes, epsilons)
    def test_between_entries_it_lies_between_them(self, mechanism, n, epsilon):
        found = tuned.lookup(mechanism, n, epsilon)
        around = [
            ROWS[mechanism, a, b] for a, b in product(near(SIZES, n), near(EPSILONS, epsilon))
        ]
        numbers = {"B": found.B, "c": found.c}
        if found.lmax is not None:
            numbers["lmax"] = found.lmax
        if n <= SIZES[-1]:
            numbers |= asdict(found.calibration)
        for name, number in numbers.items():
            known = [row[name] for row in around]
            assert min(known) - 1e-9 <= number <= max(known) + 1e-9, name

    @given(mechanisms, sizes, epsilons)
    def test_it_is_continuous(self, mechanism, n, epsilon):
        """A small step changes a whole number by one at most, and any other by little.

        One record more is a large step where there are few.
        """
        n = min(max(n, 1000), SIZES[-1] - 1)
        here = tuned.lookup(mechanism, n, epsilon)
        for there in (
            tuned.lookup(mechanism, n, epsilon * 1.0001),
            tuned.lookup(mechanism, n, epsilon / 1.0001),
            tuned.lookup(mechanism, n + 1, epsilon),
        ):
            assert abs(here.B - there.B) <= 1
            assert abs(here.c - there.c) <= 1
            assert here.lmax == there.lmax or abs(here.lmax - there.lmax) <= 1
            for name in ("low", "high", "spread"):
                one, other = (getattr(v.calibration, name) for v in (here, there))
                assert one == pytest.approx(other, abs=2e-3)

    def test_half_way_on_logarithmic_scales(self):
        """By hand, for every two neighbours of either axis."""
        for mechanism, epsilon in product(MECHANISMS, EPSILONS):
            for a, b in pairwise(SIZES):
                ends = ROWS[mechanism, a, epsilon], ROWS[mechanism, b, epsilon]
                n = round(math.sqrt(a * b))
                share = math.log(n / a) / math.log(b / a)
                check_between(tuned.lookup(mechanism, n, epsilon), ends, share)
        for mechanism, n in product(MECHANISMS, SIZES):
            for a, b in pairwise(EPSILONS):
                ends = ROWS[mechanism, n, a], ROWS[mechanism, n, b]
                check_between(tuned.lookup(mechanism, n, math.sqrt(a * b)), ends, 0.5)

    @pytest.mark.parametrize("mechanism", MECHANISMS)
    def test_outside_the_nearest_entry_holds(self, mechanism):
        least, most = SIZES[0], SIZES[-1]
        for epsilon in (*EPSILONS, 0.2, 1.7):
            assert tuned.lookup(mechanism, 4, epsilon) == tuned.lookup(mechanism, least, epsilon)
            for n in (most + 1, 10**7):
                last = tuned.lookup(mechanism, most, epsilon)
                expected = replace(last, calibration=Calibration())  # no bias to correct is left
                assert tuned.lookup(mechanism, n, epsilon) == expected
        for n in (*SIZES, 70, 700):
            low, high = (tuned.lookup(mechanism, n, e) for e in (EPSILONS[0], EPSILONS[-1]))
            assert tuned.lookup(mechanism, n, 1e-9) == low
            assert tuned.lookup(mechanism, n, 10.0) == high
            assert tuned.lookup(mechanism, n, 500.0) == high


def near(axis, value):
    """The entries of an axis on both sides of a value."""
    below = [a for a in axis if a <= value] or axis[:1]
    above = [a for a in axis if a >= value] or axis[-1:]
    return below[-1], above[0]


def check_between(found, ends, share):
    def line(name):
        return (1 - share) * ends[0][name] + share * ends[1][name]

    def curve(name):
        return ends[0][name] ** (1 - share) * ends[1][name] ** share

    assert curve("B") - 1 < found.B <= curve("B") + 1e-6
    assert abs(found.c - line("c")) <= 0.5 + 1e-9
    if found.lmax is not None:
        assert curve("lmax") - 1 < found.lmax <= curve("lmax") + 1e-6
    for name in ("low", "high", "spread"):
        assert getattr(found.calibration, name) == pytest.approx(line(name), abs=1e-9)


def check_valid(mechanism, n, epsilon):
    """The mechanism takes what the table says and adds the noise that it must."""
    found = tuned.lookup(mechanism, n, epsilon)
    assert found.B >= 4
    assert found.c >= 1
    assert found.B.is_integer()
    assert found.c.is_integer()
    assert found.calibration.low < found.calibration.high
    assert found.calibration.spread >= 0
    if mechanism == "micr-laplace":
        assert found.lmax is None
    else:
        assert isinstance(found.lmax, int)
        assert 2 <= found.lmax <= found.B / 2
        if n < MICeLaplace.least_n:
            return
    setting = ours(mechanism, epsilon).setting(n)
    limits = setting.limits
    assert (limits.B, limits.c, limits.lmax) == (found.B, found.c, found.lmax)
    assert setting.calibration == found.calibration
    assert 0 < setting.sensitivity <= 1
    assert setting.noise.scale >= setting.sensitivity / epsilon
    estimates = setting.calibration.estimate([0.0, 0.3, 1.0], setting.noise.scale)
    assert np.all((estimates >= 0) & (estimates <= 1))


class TestValidEverywhere:
    @pytest.mark.slow
    @pytest.mark.parametrize("mechanism", MECHANISMS)
    def test_on_a_grid(self, mechanism):
        grid = np.unique(np.geomspace(4, 1e7, 40).round().astype(int)).tolist()
        for n, epsilon in product([*grid, *SIZES], [*np.geomspace(1e-4, 10, 12).tolist(), 1.0]):
            check_valid(mechanism, n, epsilon)

    @given(mechanisms, sizes | st.integers(4, 60), epsilons)
    def test_anywhere(self, mechanism, n, epsilon):
        check_valid(mechanism, n, epsilon)

    @pytest.mark.parametrize("mechanism", MECHANISMS)
    def test_every_n_of_some_thousand(self, mechanism):
        """Rounding both B and lmax down must keep lmax <= B / 2."""
        for n, epsilon in product(range(4, 6000, 3), (0.1, 0.17, 1.0, 2.5)):
            found = tuned.lookup(mechanism, n, epsilon)
            assert found.lmax is None or 2 <= found.lmax <= found.B / 2


class TestMechanisms:
    @given(mechanisms, st.integers(6, 20_000), st.integers(1, 400), epsilons)
    def test_several_rows_for_each_person_mean_as_much_more_noise(
        self, mechanism, n, rows, epsilon
    ):
        setting = ours(mechanism, epsilon, rows_per_person=rows).setting(n)
        found = tuned.lookup(mechanism, n, epsilon / rows)
        limits = setting.limits
        assert (limits.B, limits.c, limits.lmax) == (found.B, found.c, found.lmax)
        assert setting.calibration == found.calibration

    @pytest.mark.parametrize("n", [25, 300, 1000, 5000])
    def test_the_calibration_is_that_of_the_default_grids(self, n):
        for mechanism in MECHANISMS:
            expected = tuned.lookup(mechanism, n, 1.0).calibration
            assert ours(mechanism, 1.0).setting(n).calibration == expected

    @sweep(
        ("mechanism", "options"),
        [
            *((mechanism, {"B": 12}) for mechanism in MECHANISMS),
            *((mechanism, {"c": 5}) for mechanism in MECHANISMS),
            *((mechanism, {"master": "paper"}) for mechanism in MECHANISMS),
            ("mice-laplace", {"lmax": 2}),
        ],
        ids=str,
    )
    def test_of_other_grids_nothing_is_known(self, mechanism, options, monkeypatch):
        known = Calibration(0.1, 0.9, 0.05)
        stored = {"lmax": None if mechanism == "micr-laplace" else 4, "calibration": known}
        monkeypatch.setattr(tuned, "lookup", lambda *_: tuned.Tuned(20.0, 10.0, **stored))
        assert ours(mechanism, 1.0).setting(500).calibration == known
        assert ours(mechanism, 1.0, **options).setting(500).calibration == Calibration()

    @pytest.mark.parametrize("statistic", ["mev", "tic", "mas"])
    def test_of_other_statistics_the_value_is_the_estimate(self, statistic, rng):
        x = rng.random(500)
        released = MICrLaplace(1.0, SQUARE, statistic=statistic).release(x, x**2)
        assert released.estimate == released.value

    def test_grids_of_ones_own(self):
        """What is not given is the table's, but for the columns that go with a given B."""
        found = tuned.lookup("mice-laplace", 1000, 1.0)
        limits = MICeLaplace(1.0, c=3).setting(1000).limits
        assert (limits.B, limits.c, limits.lmax) == (found.B, 3, found.lmax)
        limits = MICeLaplace(1.0, B=31).setting(1000).limits
        assert (limits.B, limits.c, limits.lmax) == (31, found.c, 15)
        limits = MICrLaplace(1.0, SQUARE, B=31).setting(1000).limits
        assert (limits.B, limits.c) == (31, tuned.lookup("micr-laplace", 1000, 1.0).c)


def answers(mechanism, n, distributions, seed):
    """Return values and estimates [distribution, sample, noise] at 400 quantiles of the noise."""
    rng = np.random.default_rng(seed)
    setting = mechanism.setting(n)
    scale, limits = setting.noise.scale, setting.limits

    def score(points):
        if mechanism.name == "micr-laplace":
            return micr(points, SQUARE, Choice(limits.B, limits.c))
        return float(np.nanmax(matrix(ranked(points, rng), limits)))

    scores = [[score(q.sample(n, rng)) for _ in range(2)] for q in distributions]
    shares = (np.arange(400) + 0.5) / 400 - 0.5
    noise = -scale * np.sign(shares) * np.log1p(-2 * np.abs(shares))
    values = np.clip(np.array(scores)[..., None] + noise, 0.0, 1.0)
    return values, setting.calibration.estimate(values, scale)


@pytest.fixture(scope="module")
def even():
    """Some of the distributions that no calibration was fitted to."""
    strengths = (0.1, 0.3, 0.5, 0.7, 0.9)
    return [q for q in family() if q.function % 2 == 0 and q.r_squared in strengths]


@pytest.fixture(scope="module")
def targets(even, tmp_path_factory):
    return mic_stars(Run(tmp_path_factory.mktemp("stars")), even)


@pytest.mark.full
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    ("n", "epsilon"),
    [(10, 1.0), (70, 0.2), (70, 2.0), (700, 0.5), (3000, 0.17), (3000, 2.0), (200_000, 1.0)],
)
def test_between_entries_the_estimate_is_not_worse(mechanism, n, epsilon, even, targets):
    """Neither than the value nor than the constant, where no entry of the table is.

    Almost without noise they are the same but for less than a ten-thousandth.
    """
    value, estimate = (
        float(wsum(np.abs(made - targets[:, None, None]).mean(axis=(1, 2)), targets))
        for made in answers(ours(mechanism, epsilon), n, even, seed=5)
    )
    assert estimate <= value + 1e-4
    assert estimate < CONSTANT
