"""Private bounds: their statement, their privacy, and what they answer where there is little."""

import dataclasses
import math
import pickle
from decimal import Inexact, localcontext

import numpy as np
import pandas as pd
import pytest
from project import SURE
from scipy import stats
from sweeps import sweep

import dpmic
from dpmic import _validate
from dpmic.privacy import bounds, noise
from dpmic.privacy.bounds import (
    CELLS,
    LOG_CUTS,
    WIDEST,
    RangePlan,
    _noises,
    cell_cuts,
    counted,
    crude_range,
    hidden,
    rounded,
)

RNG = np.random.default_rng(8)
FRAME = pd.DataFrame({"pay": RNG.lognormal(10, 0.5, 800), "who": np.repeat(np.arange(200), 4)})

COLUMNS = {
    "normal": lambda n: RNG.normal(size=n),
    "lognormal": lambda n: RNG.lognormal(size=n),
    "cauchy": lambda n: RNG.standard_cauchy(n),
    "small": lambda n: RNG.random(n) * 1e-6,
    "integers": lambda n: RNG.poisson(3, n).astype(float),
    "constant": lambda n: np.full(n, 5.0),
    "outliers": lambda n: np.where(RNG.random(n) < 0.002, 1e9, RNG.normal(50, 10, n)),
    "negative": lambda n: -RNG.lognormal(3, 0.5, n),
    "zeros": lambda n: np.zeros(n),
    "extreme": lambda n: RNG.choice([-1.7e308, 5e-324, 1.7e308], n),
}


def ask(**options):
    return dpmic.estimate_bounds("pay", **{"data": FRAME, "epsilon": 1.0, **options})


def outside(values, estimate):
    return int(np.sum((values < estimate.low) | (values > estimate.high)))


# What it says


@sweep("column", COLUMNS)
@sweep("n", [1, 25, 1000])
def test_every_answer_is_usable_as_bounds(column, n):
    for epsilon in (0.1, 1.0, 10.0):
        estimate = dpmic.estimate_bounds(COLUMNS[column](n), epsilon=epsilon)
        assert _validate.interval(estimate.interval, "x") == estimate.interval
        assert 0 <= estimate.outside <= n
        assert 0.99999 * epsilon < estimate.epsilon <= epsilon


@sweep(
    ("column", "widest", "most"),
    [
        ("normal", 1.6, 0.02),
        ("lognormal", 1.6, 0.02),
        ("cauchy", 4.0, 0.04),
        ("small", 1.5, 0.02),
        ("integers", 1.8, 0.02),
        ("outliers", 4.0, 0.02),
        ("negative", 2.0, 0.02),
    ],
)
def test_ranges_are_tight(column, widest, most):
    """n = 10,000 at epsilon 1, as the guide says: beside the central 98% of the records."""
    widths, lost = [], []
    for _ in range(9):
        values = COLUMNS[column](10_000)
        estimate = dpmic.estimate_bounds(values, epsilon=1.0)
        low, high = np.quantile(values, (0.01, 0.99))
        widths.append((estimate.high - estimate.low) / (high - low))
        lost.append(outside(values, estimate) / 10_000)
    assert 0.8 < np.median(widths) < widest
    assert np.median(lost) < most


def test_a_constant_column_has_a_narrow_range():
    for value in (5.0, -3e-7, 1e12):
        found = [dpmic.estimate_bounds(np.full(3000, value), epsilon=1.0) for _ in range(51)]
        assert all(estimate.low <= value <= estimate.high for estimate in found)
        width = np.median([estimate.high - estimate.low for estimate in found])
        assert width < abs(value)


def test_too_little_data_gives_the_widest_range():
    estimates = [dpmic.estimate_bounds(RNG.normal(size=25), epsilon=0.1) for _ in range(20)]
    nothing = [estimate for estimate in estimates if not estimate.found]
    assert len(nothing) >= 15
    assert all(estimate.interval == WIDEST for estimate in nothing)
    assert "the widest range" in nothing[0]._repr_html_()


def test_the_range_serves_a_release():
    """Of nine ranges most are good; one in some hundreds is far too wide."""
    values = []
    for _ in range(9):
        pay = ask(epsilon=2.0)
        bounds = pay.interval, (2 * pay.low, 2 * pay.high)
        values.append(dpmic.release(FRAME.pay, FRAME.pay * 2, epsilon=2.0, bounds=bounds).value)
    assert np.median(values) > 0.5


def test_everything_that_is_public_is_stated():
    estimate = ask(coverage=0.9, failure=0.2)
    assert (estimate.n, estimate.name, estimate.failure) == (800, "pay", 0.2)
    for words in ("epsilon = 1:", "replacing one record", "n = 800", "coverage = 0.9",
                  "locate: 0.4", "With probability at least 0.8, at most "):  # fmt: skip
        assert words in estimate.guarantee
    assert math.fsum(bounds.SPLIT.values()) == 1
    several = ask(rows_per_person=3)
    assert "replacing all records of one person, at most 3, changes" in several.guarantee


def test_round_trips_and_html():
    estimate = dpmic.estimate_bounds("<i>", data=FRAME.rename(columns={"pay": "<i>"}), epsilon=1)
    assert dpmic.BoundsEstimate.from_json(estimate.to_json()) == estimate
    assert pickle.loads(pickle.dumps(estimate)) == estimate
    assert hash(pickle.loads(pickle.dumps(estimate))) == hash(estimate)
    assert "<i>" not in estimate._repr_html_()
    for wrong in ({"low": math.inf}, {"high": estimate.low}, {"outside": 801}, {"failure": 1.0}):
        with pytest.raises(dpmic.DpmicError):
            dpmic.BoundsEstimate.from_dict({**estimate.to_dict(), **wrong})


@sweep(
    ("outside", "said"),
    [
        (40, "Nearly all values of pay lie between {}: most likely no more than 40 of 800 are"),
        (41, "Most likely at least 759 of the 800 values of pay lie between {}; the others may"),
        (800, "How many values of pay lie between {} is hidden by the privacy noise."),
    ],
)
def test_nearly_all_is_said_only_where_few_may_lie_outside(outside, said):
    estimate = dpmic.estimate_bounds("pay", data=FRAME, epsilon=5.0)
    assert estimate.found
    other = dataclasses.replace(estimate, outside=outside)
    assert said.format(f"{other.low:.12g} and {other.high:.12g}") in other.headline()
    shown = [(fact.label, fact.text, fact.meaning) for fact in other.facts()]
    assert ("outside", str(outside), "at most this many records lie outside (95%)") in shown


# The statement


@sweep("scale", [0.3, 1.0, 5.0, 200.0])
@sweep("failure", [0.001, 0.05, 0.3, 0.9])
def test_what_noise_may_hide(scale, failure):
    """The least q with P(noise < -q) at most the failure, by summing the distribution."""
    a = math.exp(-1 / scale)
    below = [a ** (q + 1) / (1 + a) for q in range(5000)]
    assert hidden(scale, failure) == next(q for q, p in enumerate(below) if p <= failure)
    mass = (1 - a) / (1 + a) * sum(a**z for z in range(4, 20_000))
    assert mass == pytest.approx(below[3], rel=1e-9)


def failures(column, n, epsilon, failure, runs):
    missed = 0
    for _ in range(runs):
        values = COLUMNS[column](n)
        estimate = dpmic.estimate_bounds(values, epsilon=epsilon, failure=failure)
        missed += outside(values, estimate) > estimate.outside
    return missed


@pytest.mark.slow
def test_the_failure_probability_in_short():
    missed = failures("cauchy", 300, 1.0, 0.2, 250)
    assert stats.binomtest(missed, 250, 0.2, "greater").pvalue > 1e-6
    assert missed > 15  # the statement is not idle: it fails about as often as it says


@pytest.mark.full
@pytest.mark.parametrize("column", ["normal", "cauchy", "integers", "constant", "outliers"])
@pytest.mark.parametrize(("n", "epsilon"), [(25, 1.0), (1000, 0.1), (1000, 1.0)])
def test_the_failure_probability(column, n, epsilon):
    missed = failures(column, n, epsilon, 0.05, 2000)
    assert stats.binomtest(missed, 2000, 0.05, "greater").pvalue > 1e-6


# Privacy


def test_a_replaced_record_changes_two_cells_by_one():
    for _ in range(50):
        values = RNG.choice([-1e300, -3.0, 0.0, 1e-30, 2.0, 700.0, 1e25], 40)
        other = values.copy()
        other[7] = RNG.choice([-5.0, 0.0, 9.0, -1e-200, 1.7e308])
        for cuts in (
            LOG_CUTS,
            cell_cuts(np.linspace(-4, 1024, 33)),
            cell_cuts(np.linspace(*WIDEST, 33)),
        ):
            one, two = (np.array(counted(v, cuts)) for v in (values, other))
            assert one.sum() == two.sum() == 40
            assert np.abs(one - two).sum() <= 2


def test_the_split_adds_up():
    for epsilon, rows in ((1.0, 1), (0.1, 1), (1.0, 7)):
        noises = _noises(epsilon, rows)
        for step, change in (("locate", 2), ("refine", 2), ("count", 1)):
            proved = noise._counts_laplace(noises[step].scale).map(d_in=change * rows)
            assert proved == noises[step].epsilon <= epsilon * bounds.SPLIT[step]
            assert noises[step].scale == pytest.approx(
                change * rows / (epsilon * bounds.SPLIT[step]), rel=1e-6
            )
        plan = RangePlan(10, 0.99, 0.05, **noises)
        assert 0.99999 * epsilon < plan.epsilon <= epsilon


def test_counts_get_geometric_noise():
    """Goodness of fit to the two-sided geometric distribution; 10% more or less is caught."""
    scale, size = 5.0, 40_000
    drawn = np.array(noise.Geometric(scale, math.nan).add([3] * size)) - 3
    for factor, fits in ((1.0, True), (0.9, False), (1.1, False)):
        a = math.exp(-1 / (scale * factor))
        expected = [(1 - a) / (1 + a) * a ** abs(z) for z in range(-15, 16)]
        seen = [np.sum(drawn == z) for z in range(-15, 16)]
        seen.append(size - sum(seen))
        expected.append(1 - sum(expected))
        p = stats.chisquare(seen, np.array(expected) * size).pvalue
        assert (p > 1e-6) == fits


class Published:
    """What leaves, as one number: a count of one plan, or the width of the whole answer."""

    name = "bounds"

    def __init__(self, epsilon, shown, share=1.0):
        self.epsilon, self.shown = epsilon, shown
        noises = _noises(epsilon, 1)
        self.noises = {
            step: noise.Geometric(added.scale * share, added.epsilon)
            for step, added in noises.items()
        }

    def draws(self, x, _, runs):
        plan = RangePlan(x.size, 0.99, 0.05, **self.noises)
        return np.array([self._shown(plan, x) for _ in range(runs)])

    def _shown(self, plan, x):
        if self.shown == "counts":
            # the two cells that the moved record changes; noise in others would only take time
            cells = counted(x, LOG_CUTS)
            near, far = self.noises["locate"].add([cells[CELL_OF_ONE], cells[CELL_OF_FAR]])
            return min(near - 20, -far)  # large where both cells speak for all records being 1
        low, high, _, _ = plan.draw(x)
        return high - low


CELL_OF_ONE, CELL_OF_FAR = (int(np.searchsorted(LOG_CUTS, v, side="right")) for v in (1.0, 1e15))
ALL_ONE = np.ones(20), np.ones(20)
ONE_FAR = np.r_[1e15, np.ones(19)], np.ones(20)


def test_a_quick_audit():
    sampler = Published(1.0, "counts")
    sampler.epsilon = 0.4  # the share of the first plan
    neighbours = (ALL_ONE, ONE_FAR)
    assert not dpmic.audit(sampler, neighbours=neighbours, runs=1500, confidence=SURE).disproved


@pytest.mark.full
@pytest.mark.parametrize("shown", ["counts", "width"])
def test_the_plans_stay_below_their_epsilon(shown):
    """Also with little noise, where the answer tells most."""
    sampler = Published(2.0, shown)
    # The whole release is slower than its counts, which carry the proof.
    runs = 200_000 if shown == "counts" else 25_000
    neighbours = (ALL_ONE, ONE_FAR)
    bound = dpmic.audit(sampler, neighbours=neighbours, runs=runs, confidence=SURE)
    assert not bound.disproved, bound
    if shown == "counts":
        of_the_first_plan = 0.8  # a quarter less noise must show
        assert 0.85 * of_the_first_plan < bound.lower <= of_the_first_plan
        weak = Published(2.0, shown, share=0.75)
        weak.epsilon = of_the_first_plan
        assert dpmic.audit(weak, neighbours=neighbours, runs=100_000).disproved


def test_people_and_ledger(tmp_path):
    ledger = dpmic.Ledger(tmp_path / "people.ledger", epsilon=1.5)
    estimate = ask(person="who", ledger=ledger, dataset="people")
    assert (estimate.n, estimate.person) == (200, "who")
    assert ask(person="who", ledger=ledger, dataset="people") == estimate
    assert 0.99999 < ledger.spent <= 1
    with pytest.raises(dpmic.BudgetError):
        ask(ledger=ledger, dataset="people")


def test_no_exception_depends_on_values():
    """Any finite column gives an answer, also where all noise is at its worst."""
    for column in COLUMNS.values():
        for n in (1, 2, 300):
            plan = RangePlan(n, 0.99, 0.05, **_noises(5.0, 1))
            low, high, lost, _ = plan.draw(np.asarray(column(n), np.float64))
            assert low < high
            assert 0 <= lost <= n


# The steps


def crude(**heavy):
    counts = [0] * (LOG_CUTS.size + 1)
    for value in heavy.values():
        counts[int(np.searchsorted(LOG_CUTS, value, side="right"))] = 10_000
    return crude_range(counts, 5.0)


def test_the_crude_range():
    assert crude(a=5.0) == (4.0, 16.0)
    assert crude(a=-5.0) == (-16.0, -4.0)
    assert crude(a=-5.0, b=5.0) == (-16.0, 16.0)
    assert crude(a=0.0) == (-(4.0**-32), 4.0**-32)
    assert crude(a=0.0, b=5.0) == (0.0, 16.0)
    assert crude(a=-5.0, b=0.0) == (-16.0, 0.0)
    assert crude(a=0.1, b=5.0) == (0.0, 16.0)  # as good as from 0
    assert crude(a=1.7e308) == (4.0**32, WIDEST[1]) or crude(a=1.7e308) == (0.0, WIDEST[1])
    assert crude_range([0] * (LOG_CUTS.size + 1), 5.0) is None


def test_rounding_is_outwards_and_plain():
    assert rounded((0.123456, 0.987654)) == (0.12, 0.99)
    assert rounded((1952.3, 2041.7)) == (1952.0, 2042.0)
    assert rounded((-81234.5, 0.0)) == (-82000.0, 0.0)
    for _ in range(200):
        low, high = sorted(RNG.normal(size=2) * 10.0 ** RNG.integers(-300, 300))
        wide = rounded((low, high))
        assert wide[0] <= low
        assert high <= wide[1]
        assert wide[1] - wide[0] <= 1.11 * (high - low)


def test_cells_keep_both_ends():
    cuts = cell_cuts(np.linspace(0.0, 16.0, CELLS + 1))
    counts = counted(np.array([0.0, 16.0, -1.0, 17.0]), cuts)
    assert (len(counts), counts[0], counts[1], counts[CELLS], counts[-1]) == (CELLS + 2, 1, 1, 1, 1)


@sweep(
    ("options", "words"),
    [
        ({"epsilon": 0}, "epsilon = 0"),
        ({"epsilon": 11}, "above 10 it protects almost nothing"),
        ({"epsilon": 1e-10}, "such a small privacy loss"),
        ({"coverage": 0}, "coverage = 0"),
        ({"coverage": 1.1}, "coverage = 1.1"),
        ({"failure": 0}, "failure = 0"),
        ({"failure": 1}, "failure = 1"),
        ({"rows_per_person": 0}, "rows_per_person = 0"),
        ({"ledger": 3, "dataset": "people"}, "it is not a Ledger"),
        ({"data": FRAME.assign(pay=math.nan)}, "column pay: it has missing values"),
        ({"data": FRAME.assign(pay="a")}, "pay has dtype"),
        ({"data": FRAME.head(0)}, "it is empty"),
        ({"data": FRAME.drop(columns="pay")}, "there is no such column"),
    ],
)
def test_bad_input(options, words):
    with pytest.raises(dpmic.DpmicError, match=words):
        ask(**options)


def test_a_column_with_gaps_gets_a_remedy():
    gaps = FRAME.assign(pay=FRAME.pay.where(FRAME.index % 9 > 0))
    with pytest.raises(dpmic.InputError) as refused:
        ask(data=gaps)
    assert "choose its range from domain knowledge" in refused.value.remedy
    assert refused.value.remedy.endswith("Do not drop the records first: n is published")


def test_a_program_with_a_decimal_context_of_its_own_changes_nothing():
    """Rounding runs between a draw and its storage: a failure there would tell of the draw."""
    with localcontext() as context:
        context.prec = 2
        context.traps[Inexact] = True
        for _ in range(20):
            dpmic.estimate_bounds(RNG.normal(123.456, 7, 400), epsilon=1.0)


def test_round_ends_stay():
    assert rounded((0.0, 1.0)) == (0.0, 1.0)
    found = [dpmic.estimate_bounds(RNG.random(20_000), epsilon=5.0).high for _ in range(5)]
    assert np.median(found) == 1.0


def test_an_empty_cell_stands_out_as_rarely_as_the_proof_says():
    """Exactly, for the least count that stands out among all cells."""
    for scale in (0.2, 0.57, 2.0, 5.0, 50.0):
        cells = LOG_CUTS.size + 1
        q = hidden(scale, 0.01 / cells)
        a = math.exp(-1 / scale)
        assert cells * a ** (q + 1) / (1 + a) <= 0.01
