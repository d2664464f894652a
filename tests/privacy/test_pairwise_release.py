"""Private matrices: what they say, what they refuse, and attacks on them."""

import dataclasses
import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from project import SURE
from scipy import stats
from sweeps import sweep
from tables_of_people import (
    BOUNDS,
    COLUMNS,
    FRAME,
    MICR,
    PEOPLE,
    assert_nothing_exact,
    assert_round_trips,
    corner,
    recorded,
    weaker,
)

import dpmic
from dpmic import sensitivity
from dpmic._format import format_ceil
from dpmic.parameters import tuned
from dpmic.privacy import noise
from dpmic.privacy._joint_noise import _gaussian, _pure, least_noise, of_value
from dpmic.privacy.pairwise import _delta, prepare
from dpmic.privacy.query import Terms, padded

UNIT = ((0, 1), (0, 1))
MATRIX = FRAME[list(COLUMNS)].to_numpy()


@pytest.fixture
def ledger(tmp_path):
    return dpmic.Ledger(tmp_path / "people.ledger", epsilon=30.0, delta=1e-4)


def ask(table=FRAME, **options):
    usual = {"bounds": BOUNDS, "epsilon": 10.0, "allow_noisy": True}
    return dpmic.release_pairwise(table, **{**usual, **options})


def plan_of(matrix, epsilon=1.0, delta=0.0):
    bounds = [(0, 1)] * matrix.shape[1]
    terms = Terms(epsilon=epsilon, allow_noisy=True)
    return prepare(matrix, terms, bounds=bounds, delta=delta, **MICR)


def scores_of(plan, matrix):
    return plan.compute(list(matrix.T))


# What a release says


def test_the_values_are_around_the_scores():
    published = ask()
    assert published.names == COLUMNS
    assert published.pairs == tuple(itertools.combinations(COLUMNS, 2))
    grids = {name: published.parameters[name] for name in ("cap", "axes")}
    for (x, y), (low, high) in zip(published.pairs, published.interval(1 - 1e-9), strict=True):
        exact = dpmic.micc(FRAME[x], FRAME[y], bounds=UNIT, **grids).mic
        assert low <= exact <= high


def test_everything_that_is_public_is_stated():
    published = ask(epsilon=3.0, **MICR)
    assert (published.n, published.delta, published.noise) == (PEOPLE, 0.0, "cube")
    assert published.epsilon == pytest.approx(3.0, rel=1e-6)
    assert published.epsilon <= 3.0
    delta = sensitivity.micr(PEOPLE) + 2 * sensitivity.rounding(PEOPLE, published.parameters["B"])
    assert published.sensitivity == pytest.approx(delta, rel=1e-12)
    assert published.sensitivity >= delta
    assert published.scale == pytest.approx(11 / 2 * delta / 3, rel=1e-6)
    default = tuned.lookup("micr-laplace", PEOPLE, 3 / 5.5)
    assert (published.parameters["B"], published.parameters["c"]) == (default.B, default.c)
    expected = default.calibration.estimate(published.values, published.scale)
    assert published.estimates == pytest.approx(tuple(expected), abs=1e-6)


def test_the_matrix_is_symmetric_and_its_diagonal_is_not_released():
    published = ask()
    matrix = published.matrix
    assert np.array_equal(matrix, matrix.T, equal_nan=True)
    assert np.array_equal(np.isnan(matrix), np.eye(5, dtype=bool))
    assert matrix[0, 1] == published.value("age", "dose") == published.value("dose", "age")
    assert matrix[0, 1] == published.values[0]
    for pair in (("age", "age"), ("age", "nobody")):
        with pytest.raises(dpmic.InputError, match="this pair was not released"):
            published.value(*pair)


def test_one_column_against_all_others():
    published = ask(target="dose", epsilon=3.0)
    assert published.pairs == tuple(("dose", name) for name in COLUMNS if name != "dose")
    assert published.scale == pytest.approx(2.5 * published.sensitivity / 3, rel=1e-6)
    assert np.isnan(published.matrix[0, 2])
    assert published.matrix[1, 2] == published.value("pulse", "dose")
    assert "target = dose" in published.guarantee


def test_top_is_read_off():
    published = ask()
    top = published.top(3)
    assert [value for *_, value in top] == sorted(published.values, reverse=True)[:3]
    assert all(published.value(x, y) == value for x, y, value in top)
    assert len(published.top(100)) == 10
    with pytest.raises(dpmic.ParameterError, match="k = 0"):
        published.top(0)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_guarantee_says_all_that_is_public(delta):
    published = dpmic.release_pairwise(
        np.zeros((20_000, 12)), bounds=[(0, 1)] * 12, epsilon=1.0, delta=delta, B=10, c=2
    )
    words = ["Publishing the MICs of all 66 pairs is, in total,", "epsilon = 1", "n = 20000"]
    words += ["9: [0, 1]", "at most a factor of e^1 = 2.72"]
    if delta:
        words += ["and delta = 1e-06:", "and, beyond that, by at most 1e-06. Public:"]
    for word in words:
        assert word in published.guarantee, published.guarantee
    assert ("delta" in published.guarantee) == bool(delta)
    assert ("delta" in repr(published)) == bool(delta)
    assert ("delta" in published._repr_html_()) == bool(delta)
    assert published.noise == ("gaussian" if delta else "cube")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cube", "gaussian"])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_intervals_cover_the_scores(kind, level):
    plan = plan_of(np.zeros((4_000, 12)), delta=1e-6 if kind == "gaussian" else 0)
    assert plan.noise.kind == kind
    covered = []
    for _ in range(1_000):  # one value of each: those of one draw share their radius
        low, high = plan.publish([0.5] * 66).interval(level)[0]
        covered.append(low <= 0.5 <= high)
    spread = math.sqrt(level * (1 - level) / len(covered))
    assert np.mean(covered) == pytest.approx(level, abs=5 * spread)


def test_round_trips_frames_and_pictures():
    published = ask()
    assert_round_trips(published)
    assert_round_trips(ask(target="age"))
    table = published.to_frame("pyarrow").to_pydict()
    assert list(table) == ["x", "y", "value", "low", "high"]
    assert list(zip(table["x"], table["y"], strict=True)) == list(published.pairs)
    assert published.to_frame("polars").height == len(published.to_frame("pandas")) == 10
    pytest.importorskip("matplotlib").use("agg")
    ax = published.plot()
    shown = ax.images[0].get_array()
    rows, columns = (
        [t.get_text() for t in own()] for own in (ax.get_yticklabels, ax.get_xticklabels)
    )
    cells = np.argwhere(~np.ma.getmaskarray(shown)).tolist()
    assert len({frozenset((rows[i], columns[j])) for i, j in cells}) == len(cells) == 10
    assert all(shown[i, j] == published.value(rows[i], columns[j]) for i, j in cells)
    assert ax.images[0].get_clim()[0] >= published.half_width
    assert len(ax.texts) == 10 + 1
    one = ask(target="age")
    drawn = one.plot()
    digits = 3 if np.ptp(one.interval(0.95), axis=1).min() < 0.02 else 2
    assert [label.get_text() for label in drawn.get_yticklabels()] == [y for _, y, _ in one.top(4)]
    assert [t.get_text() for t in drawn.texts[:8:2]] == [
        f"{value:.{digits}f}" for *_, value in one.top(4)
    ]
    with pytest.raises(dpmic.InputError, match="not complete"):
        dpmic.PairwiseRelease.from_dict({**published.to_dict(), "names": ["age", "dose"]})


def test_html_escapes_names():
    frame = FRAME.rename(columns={"age": "<b>age</b>"})
    bounds = {"<b>age</b>": (0, 1), "dose": (0, 1)}
    html = dpmic.release_pairwise(frame, bounds=bounds, epsilon=1)._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;age" in html


# Which noise


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3, 10, 28, 190])
@sweep("epsilon", [0.1, 1.0, 10.0])
@sweep("delta", [1e-4, 1e-8])
def test_the_smallest_noise_is_taken(count, epsilon, delta):
    chosen = least_noise(0.01, count, epsilon, delta)
    others = [
        noise.calibrate_vector(0.01 * count, epsilon, count),
        noise.calibrate_cube(0.01, epsilon, count),
        _gaussian(0.01, count, epsilon, delta),
    ]
    assert of_value(chosen).mean <= min(of_value(other).mean for other in others) * 1.011
    assert chosen.epsilon <= epsilon
    assert chosen.delta <= delta
    pure = noise.LaplaceVector if count == 1 else noise.Cube
    assert (chosen.delta == 0) == (type(chosen) is pure)


def test_each_kind_has_its_place():
    questions = (1, 1.0, 0.0), (3, 1.0, 0.0), (28, 1.0, 1e-6), (190, 1.0, 1e-6)
    kinds = {asked: type(least_noise(0.01, *asked)).__name__ for asked in questions}
    assert kinds == {
        (1, 1.0, 0.0): "LaplaceVector",
        (3, 1.0, 0.0): "Cube",
        (28, 1.0, 1e-6): "Cube",  # delta would buy less than a hundredth
        (190, 1.0, 1e-6): "Gaussian",
    }


def test_cube_noise_that_would_take_long_to_draw_is_not_taken():
    """Of steps as small as the grid's, where hardly any proposed radius would be kept."""
    tiny = 50 * noise.GRANULARITY
    assert least_noise(tiny, 150, 1.0).kind == "cube"
    assert least_noise(tiny, 250, 1.0).kind == "laplace"


def test_delta_that_buys_nothing_is_not_spent(ledger):
    published = ask(target="age", epsilon=3.0, delta=1e-6, ledger=ledger, dataset="people")
    assert published.delta == 0
    assert ledger.spent_delta == 0
    assert "delta" not in published.guarantee


# Refusals, before anything is spent


@sweep(
    ("options", "words"),
    [
        ({"delta": -1e-6}, "delta = -1e-06: delta must lie between"),
        ({"delta": 0.1}, "delta = 0.1: delta must lie between 1e-30 and 0.001"),
        ({"delta": 1e-40}, "delta = 1e-40"),
        ({"delta": math.nan}, "delta = nan"),
        ({"delta": "small"}, "delta = 'small'"),
        ({"delta": 1e-3, "table": pd.concat([FRAME] * 2)}, "n = 1200: a delta of 1 / n or"),
        ({"target": "agee"}, "target 'agee': .* did you mean 'age'"),
        ({"bounds": {**BOUNDS, "dosis": (0, 1)}}, "did you mean 'dose'"),
        ({"bounds": None}, "bounds = None"),
        ({"bounds": {"age": (0, 1)}}, "1 column: a pair needs two columns"),
        ({"table": FRAME[["age"]], "bounds": [(0, 1)]}, "1 column"),
        ({"table": pd.DataFrame(MATRIX[:, :2], columns=["age", "age"]), "bounds": [(0, 1)] * 2},
         "2 columns have this name"),
        ({"table": FRAME[:3]}, "n = 3"),
        ({"bounds": {**BOUNDS, "note": (0, 1)}}, "note has dtype"),
        ({"epsilon": 0}, "epsilon = 0"),
        ({"epsilon": 11}, "epsilon = 11: above 10"),
        ({"c": math.inf}, "c = inf"),
        ({"person": "nobody"}, "person = 'nobody'"),
        ({"rows_per_person": 1.5}, "rows_per_person = 1.5"),
    ],
)  # fmt: skip
def test_bad_questions_spend_nothing(ledger, options, words):
    with pytest.raises(dpmic.DpmicError, match=words):
        ask(**{"table": FRAME, "ledger": ledger, "dataset": "people", **options})
    assert ledger.spent == 0
    assert ledger.spent_delta == 0


def test_delta_is_compared_with_n():
    assert _delta(1e-3, 999) == 1e-3
    with pytest.raises(dpmic.ParameterError, match="publishing one record in full"):
        _delta(1e-3, 1000)


def test_a_useless_matrix_is_refused_unless_it_is_allowed(ledger):
    kept = {"ledger": ledger, "dataset": "people", "allow_noisy": False}
    with pytest.raises(dpmic.ParameterError, match="dpmic.screen.*target=") as refused:
        ask(epsilon=0.2, **kept)
    assert "the noise is too large for 600 records: a value would be" in str(refused.value)
    assert "delta" not in str(refused.value)  # it would not help ten pairs
    with pytest.raises(dpmic.ParameterError) as refused:
        ask(epsilon=0.05, target="age", delta=1e-6, **kept)
    assert "target=" not in str(refused.value)
    wide = {"bounds": [(0, 1)] * 12, "epsilon": 0.05}
    with pytest.raises(dpmic.ParameterError, match="a larger epsilon, delta=1e-6"):
        dpmic.release_pairwise(np.zeros((600, 12)), **wide)
    with pytest.raises(dpmic.ParameterError, match="a larger epsilon, or"):
        dpmic.release_pairwise(np.zeros((600, 12)), delta=1e-6, **wide)
    assert ledger.spent == 0
    assert ask(epsilon=0.2).half_width > 0.25
    assert ask(epsilon=10.0, **kept).half_width <= 0.25


def test_whether_noise_is_too_large_looks_at_no_value():
    for table in (np.zeros((600, 5)), MATRIX, MATRIX * np.nan):
        with pytest.raises(
            dpmic.ParameterError, match="within 0.44 of the exact score in 95% of cases"
        ):
            dpmic.release_pairwise(table, bounds=[(0, 1)] * 5, epsilon=0.5, **MICR)


# Tables and people


@pytest.mark.parametrize(
    "table",
    [FRAME, pl.from_pandas(FRAME), pa.Table.from_pandas(FRAME)],
    ids=["pandas", "polars", "pyarrow"],
)
def test_frames(table):
    published = ask(table, person="who", rows_per_person=1)
    assert (published.n, published.names) == (PEOPLE // 4, COLUMNS)
    assert "one person's record (who;" in published.guarantee


def test_matrices_and_several_rows():
    published = dpmic.release_pairwise(
        MATRIX, bounds=[(0, 1)] * 5, epsilon=10, rows_per_person=2, **MICR
    )
    assert published.names == ("0", "1", "2", "3", "4")
    assert published.scale == pytest.approx(1.1 * sensitivity.micr(PEOPLE), rel=1e-6)


# The ledger


def test_what_the_ledger_recorded_is_what_is_printed(ledger):
    wide = pd.DataFrame(np.zeros((5_000, 12)), columns=list("abcdefghijkl"))
    options = {"bounds": [(0, 1)] * 12, "B": 10, "c": 2, "ledger": ledger, "dataset": "wide"}
    published = [
        ask(ledger=ledger, dataset="people"),
        dpmic.release_pairwise(wide, epsilon=1.0, delta=1e-6, **options),
        dpmic.screen(FRAME, bounds=BOUNDS, epsilon=4.0, top=2, ledger=ledger, dataset="people"),
    ]
    assert dpmic.release_pairwise(wide, epsilon=1.0, delta=1e-6, **options) == published[1]
    entries = ledger.history()
    for entry, result in zip(entries, published, strict=True):
        assert f"epsilon = {format_ceil(entry.epsilon)}" in result.guarantee
        assert type(result).from_json(entry.answer) == result
    assert "delta = 1e-06" in published[1].guarantee
    assert ledger.spent == pytest.approx(sum(result.epsilon for result in published), abs=1e-12)
    assert ledger.spent >= math.fsum(result.epsilon for result in published) - 1e-14
    assert ledger.spent_delta == pytest.approx(published[1].delta, rel=1e-8)
    assert ledger.spent <= 15.0


def test_delta_needs_a_ledger_that_has_some(tmp_path):
    pure = dpmic.Ledger(tmp_path / "pure.ledger", epsilon=3.0)
    with pytest.raises(dpmic.BudgetError):
        dpmic.release_pairwise(
            pd.DataFrame(np.full((5_000, 12), np.nan), columns=list("abcdefghijkl")),
            bounds=[(0, 1)] * 12, epsilon=1.0, delta=1e-6,
            ledger=pure, dataset="q",
        )  # fmt: skip
    assert pure.spent == 0


@pytest.mark.parametrize(
    "change", [{"target": "age"}, {"delta": 1e-6}, {"c": 2}, {"epsilon": 9.0}, {"dataset": "again"}]
)
def test_another_question_costs_again(ledger, change):
    ask(ledger=ledger, dataset="people")
    ask(**{"ledger": ledger, "dataset": "people", **change})
    assert len(ledger.history()) == 2


# Nothing un-noised leaves


@pytest.mark.parametrize("target", [None, "age"])
def test_no_output_holds_a_score(ledger, caplog, monkeypatch, target):
    seen = recorded(monkeypatch, caplog)
    published = ask(ledger=ledger, dataset="people", epsilon=3.0, target=target)
    assert_nothing_exact(published, ledger, seen, caplog)


def test_stored_texts_have_one_length():
    one = ask()
    for values in ((0.0,) * 10, (1 / 3,) * 10, (2.0**-40,) * 5 + (1.0,) * 5):
        other = dataclasses.replace(one, values=values, estimates=values[::-1])
        assert len(padded(other)) == len(padded(one))
        assert dpmic.PairwiseRelease.from_json(padded(other)) == other


# Attacks: all records in a corner, one moved to the opposite, so that all scores rise by Delta.


class Entries:
    """The log-likelihood ratio of all published entries: no other event tells more."""

    name = "pairwise"

    def __init__(self, kind, width, share=1.0):
        self.kind, self.width, self.share = kind, width, share
        self.plan = self.made()
        self.epsilon, self.delta = self.plan.noise.epsilon, self.plan.noise.delta

    def made(self):
        plan = plan_of(np.zeros((25, self.width)))
        count = len(plan.table.pairs)
        costs = (1.0,) if self.kind is _pure else (1.0, 1e-4)
        return dataclasses.replace(plan, noise=self.kind(plan.setting.sensitivity, count, *costs))

    def draws(self, matrix, _, runs):
        plan, change = self.plan, self.plan.setting.sensitivity
        scores = scores_of(plan, matrix)
        plan = dataclasses.replace(plan, noise=weaker(plan.noise, self.share))
        values = np.array([plan.draw(scores) for _ in range(runs)])
        if self.kind is _gaussian:
            return values.sum(axis=1)
        return np.abs(values).max(axis=1) - np.abs(values - change).max(axis=1)


def lower_bound(sampler, runs):
    """Return dpmic.audit's bound; with delta, what P <= e^epsilon Q + delta leaves of it.

    Thresholds come from one half of the runs; on the other their bounds hold together with
    probability 99.9999%.
    """
    neighbours = [(matrix, None) for matrix in corner(25, sampler.width)]
    if not sampler.delta:
        return dpmic.audit(sampler, neighbours=neighbours, runs=runs, confidence=SURE).lower
    first, second = (sampler.draws(*points, runs) for points in neighbours)
    best = -math.inf
    half = runs // 2  # chooses the thresholds, the other half bounds them
    thresholds = np.quantile(second[:half], np.linspace(0.5, 0.999, 30))
    first, second, runs = first[half:], second[half:], runs - half
    for threshold in thresholds:
        p = stats.binomtest(int(np.sum(second >= threshold)), runs).proportion_ci(1 - 1e-8).low
        q = stats.binomtest(int(np.sum(first >= threshold)), runs).proportion_ci(1 - 1e-8).high
        if p > sampler.delta:
            best = max(best, math.log((p - sampler.delta) / q))
    return best


def test_the_attack_moves_every_entry_by_delta():
    plan = plan_of(np.zeros((25, 4)))
    first, second = (scores_of(plan, matrix) for matrix in corner(25, 4))
    assert np.subtract(second, first) == pytest.approx(plan.setting.sensitivity, rel=1e-6)
    assert np.all(np.subtract(second, first) <= plan.setting.sensitivity)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [_pure, _gaussian])
def test_a_quick_audit(kind):
    sampler = Entries(kind, 3)
    assert lower_bound(sampler, 1_500) <= sampler.epsilon


# Least bounds that an attack should reach: without them an audit could hold for want of teeth.
ATTACKS = [(_pure, 3, 0.7), (_pure, 4, 0.6), (_gaussian, 7, 0.15)]


@pytest.mark.full
@pytest.mark.parametrize(("kind", "width", "least"), ATTACKS)
def test_matrices_stay_below_their_epsilon(kind, width, least):
    sampler = Entries(kind, width)
    lower = lower_bound(sampler, 100_000)
    assert least < lower <= sampler.epsilon


@pytest.mark.full
@pytest.mark.parametrize(
    ("kind", "width", "share"), [(_pure, 3, 0.8), (_pure, 4, 0.65), (_gaussian, 7, 0.25)]
)
def test_weaker_noise_is_caught(kind, width, share):
    sampler = Entries(kind, width, share)
    assert lower_bound(sampler, 100_000) > sampler.epsilon


def test_the_plan_depends_on_nothing_else():
    """Same n, same options, other data: the same noise."""
    one, other = plan_of(np.zeros((500, 4))), plan_of(np.random.default_rng(1).random((500, 4)))
    assert one.noise == other.noise
    assert one.setting == other.setting
    assert one.key_facts == other.key_facts
