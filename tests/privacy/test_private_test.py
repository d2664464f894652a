"""The private test of independence: its level, its sensitivity, its privacy and its manners."""

import itertools
import json
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from project import SURE
from scipy import stats
from sweeps import sweep

import dpmic
from dpmic.data import pair
from dpmic.privacy import independence as testing
from dpmic.privacy import noise
from dpmic.privacy.independence import RankTables

RNG = np.random.default_rng(5)
X = RNG.random(400)
Y = np.abs(X - 0.5) + RNG.normal(0, 0.02, 400)
FRAME = pd.DataFrame({"age": X, "dose": Y, "who": np.repeat(np.arange(100), 4)})


def ask(**options):
    return dpmic.release_test(
        "age", "dose", **{"data": FRAME, "epsilon": 1.0, "draws": 99, **options}
    )


# Sensitivity


def moves(order, record):
    """Every order that replacing one record can lead to."""
    others = [other for other in order if other != record]
    return [[*others[:to], record, *others[to:]] for to in range(len(order))]


def ranks(order):
    found = np.empty(len(order), np.int64)
    found[list(order)] = np.arange(len(order))
    return found


def largest_change(n, parts, orders):
    tables, worst = RankTables(n, parts), 0.0
    for order in orders:
        before = tables.statistic(np.arange(n), ranks(order))
        for record in range(n):
            for x, y in itertools.product(moves(range(n), record), moves(order, record)):
                worst = max(worst, abs(tables.statistic(ranks(x), ranks(y)) - before))
    return worst / tables.sensitivity


@pytest.mark.slow
def test_no_replaced_record_changes_the_score_by_more():
    """Over all permutations of 5; the bound of two parts is attained."""
    for parts in (2, 3):
        assert largest_change(5, parts, itertools.permutations(range(5))) <= 1
    some = [RNG.permutation(8).tolist() for _ in range(5)]
    assert largest_change(8, 2, [list(range(8)), *some]) == pytest.approx(1)


@pytest.mark.full
@pytest.mark.parametrize(("n", "parts"), [(6, 2), (6, 3), (6, 4), (6, 5), (6, 6)])
def test_all_permutations_of_six(n, parts):
    share = largest_change(n, parts, itertools.permutations(range(n)))
    assert share <= 1
    if parts <= 4:  # with one record in each part the statistic is a constant
        assert share > 0.3
    if parts == 2:
        assert share == pytest.approx(1)


def climb(n, parts, trials, rng):
    """Look for two neighbours that are far apart."""
    tables = RankTables(n, parts)
    one = rng.random((2, n))
    other = one.copy()
    other[:, 0] = rng.random(2)

    def gap(a, b):
        scores = [tables.statistic(*(np.argsort(np.argsort(v)) for v in d)) for d in (a, b)]
        return abs(scores[0] - scores[1])

    widest = gap(one, other)
    for _ in range(trials):
        a, b = one.copy(), other.copy()
        axis, record, value = rng.integers(2), rng.integers(n), rng.random()
        b[axis, record] = value
        if record:
            a[axis, record] = value
        if gap(a, b) >= widest:
            one, other, widest = a, b, gap(a, b)
    return widest / tables.sensitivity, one, other


@sweep(("n", "parts"), [(9, 2), (20, 2), (30, 3), (60, 12), (61, 12)])
def test_hill_climbs_stay_below(n, parts):
    share, _, _ = climb(n, parts, 800, np.random.default_rng(n))
    assert 0.35 < share <= 1


def test_the_statistic_is_cramers_v():
    """Where parts are equal: against scipy's chi-square of both tables."""
    x, y = RNG.permutation(120), RNG.permutation(120)
    for parts in (2, 3, 12):
        squares = []
        for a, b in ((x, y), (y, x)):
            table = np.zeros((parts, 2))
            np.add.at(table, (a * parts // 120, b * 2 // 120), 1)
            squares.append(stats.chi2_contingency(table, correction=False).statistic / 120)
        expected = math.sqrt(sum(squares) / 2)
        assert RankTables(120, parts).statistic(x, y) == pytest.approx(expected, rel=1e-12)
    assert RankTables(120, 12).statistic(x, x) == pytest.approx(1)


def test_tables_depend_on_n_and_epsilon_alone():
    sizes = {(100, 1): 2, (1000, 0.1): 2, (1000, 0.2): 3, (1000, 1): 12, (100, 10): 3}
    assert {key: RankTables.planned(*key).parts for key in sizes} == sizes


# Level


@pytest.mark.slow
@pytest.mark.parametrize("parts", [2, 3, 12])
def test_null_draws_are_the_mechanism_on_constant_columns(parts):
    """All ties: random tie-breaking makes independent uniform permutations of them."""
    tables, constant = RankTables(60, parts), pair(np.zeros(60), np.ones(60))
    null = list(tables.independent(3000))
    scores = [tables.score(constant) for _ in range(3000)]
    # The exact p-value of so many fails now and then, with a warning.
    assert stats.ks_2samp(null, scores, method="asymp").pvalue > 1e-6
    other = np.array(null) * 1.1
    assert stats.ks_2samp(null, other, method="asymp").pvalue < 1e-6  # the comparison can fail


NULLS = {
    "continuous": lambda: (RNG.standard_cauchy(100), RNG.random(100)),
    "tied": lambda: (RNG.poisson(1.0, 100), RNG.random(100) < 0.2),
}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "epsilon"), [("continuous", 1.0), ("tied", 0.1)])
def test_the_level_is_exact(kind, epsilon):
    """p is uniform on k / 20 for independent columns, whatever ties and noise there are."""
    runs = 200
    values = [dpmic.release_test(*NULLS[kind](), epsilon=epsilon, draws=19).pvalue
              for _ in range(runs)]  # fmt: skip
    counts = np.bincount(np.round(np.array(values) * 20).astype(int), minlength=21)[1:]
    assert stats.chisquare(counts).pvalue > 1e-6
    assert stats.binomtest(counts[0], runs, 0.05).pvalue > 1e-6


@pytest.mark.full
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize(("n", "runs"), [(1000, 1500), (10_000, 400)])
def test_the_level_is_exact_for_more_records(n, runs, epsilon):
    values = []
    for _ in range(runs):
        x, y = np.floor(RNG.standard_cauchy(n)), RNG.random(n)
        values.append(dpmic.release_test(x, y, epsilon=epsilon, draws=99).pvalue)
    for alpha in (0.01, 0.05, 0.5):
        rejected = int(np.sum(np.array(values) <= alpha))
        assert stats.binomtest(rejected, runs, alpha).pvalue > 1e-6, (alpha, rejected)


@pytest.mark.slow
def test_what_depends_is_found():
    """A V-shape, which has no linear correlation; n and epsilon for twelve parts."""
    x = RNG.uniform(-1, 1, 2000)
    found = [dpmic.release_test(x, np.abs(x), epsilon=1.0, draws=99).pvalue for _ in range(20)]
    assert found == [0.01] * 20


# Privacy


class Published:
    """The test as a sampler; with a share of its noise, if told so."""

    name = "rank-tables"

    def __init__(self, epsilon, parts, share=1.0):
        self.epsilon, self.parts, self.share = epsilon, parts, share

    def draws(self, x, y, runs):
        tables = RankTables(x.size, self.parts)
        scale = noise.calibrate(tables.sensitivity, self.epsilon).scale
        added, columns = noise.Laplace(scale * self.share, math.nan), pair(x, y)
        scores = [tables.score(columns)] * runs  # no ties, so no random order
        return np.array([added.add(score) for score in scores])


def neighbours(n, parts):
    share, one, other = climb(n, parts, 1000, np.random.default_rng(3))
    return share, ((one[0], one[1]), (other[0], other[1]))


def test_a_quick_audit():
    share, pair = neighbours(12, 2)
    assert share == pytest.approx(1)
    bound = dpmic.audit(Published(1.0, 2), neighbours=pair, runs=1500, confidence=SURE)
    assert not bound.disproved


@pytest.mark.full
def test_the_test_stays_below_its_epsilon():
    share, pair = neighbours(12, 2)
    bound = dpmic.audit(Published(1.0, 2), neighbours=pair, runs=100_000, confidence=SURE)
    assert 0.85 * share < bound.lower <= 1.0
    weak = dpmic.audit(Published(1.0, 2, share=0.8), neighbours=pair, runs=100_000)
    assert weak.disproved


# What it says


def test_everything_that_is_public_is_stated():
    result = ask()
    assert (result.n, result.names, result.draws) == (400, ("age", "dose"), 99)
    assert result.parameters["table"] == "2 x 12 ranks"
    assert result.sensitivity == RankTables(400, 12).sensitivity
    assert result.scale == pytest.approx(result.sensitivity, rel=1e-8)
    assert 0.99999 < result.epsilon <= 1
    assert 0.01 <= result.pvalue <= 1
    assert (result.pvalue * 100) == pytest.approx(round(result.pvalue * 100))
    for words in ("epsilon = 1:", "replacing one record", "n = 400", "2 x 12 ranks",
                  f"with probability at most {result.pvalue:.6g},"):  # fmt: skip
        assert words in result.guarantee


def together(share=0.3, n=4000):
    """Two unrelated columns that lack values in the same records."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.exponential(1, n), "dose": rng.exponential(1, n)})
    frame[rng.random(n) < share] = math.nan
    return frame


@sweep("rule", ["scatter", "fill"])
def test_filled_in_columns_are_not_the_original_ones(rule):
    """Filling in relates unrelated columns that lack values together, so nothing is claimed."""
    missing = "scatter" if rule == "scatter" else {"age": 100, "dose": 50}
    options = {"missing": missing, "bounds": {"age": (0, 100), "dose": (0, 50)}, "draws": 19}
    result = ask(data=together(), **options)
    assert result.pvalue == 0.05
    assert result.filled
    assert result.headline().startswith("The test does not show whether age and dose are related")
    assert "evidence" not in result._repr_html_()
    assert (
        "If age and dose were independent after missing values were filled in, a p-value of 0.05 "
        "or less would occur with probability at most 0.05" in result.guarantee
    )
    assert "make unrelated columns look related" in result.guarantee
    assert "x bounds = [0, 100], y bounds = [0, 50]" in result.guarantee
    assert result.facts()[0].meaning == "for the columns after filling in"
    assert "p = 0.05 after filling in" in repr(result)
    page = dpmic.report.page(result)
    assert "evidence of a relation" not in page
    assert "Values that are missing in the same records look like a relation" in page
    assert not ask().filled
    assert ask().headline().startswith("There is")


def test_stored_answers_of_filled_in_columns_claim_nothing_either(tmp_path):
    """An earlier version stored no bounds; its answers are found, and read as they should be."""
    ledger = dpmic.Ledger(tmp_path / "people.ledger", epsilon=2)
    options = {"missing": "scatter", "bounds": {"age": (0, 100), "dose": (0, 100)}, "draws": 19}
    result = ask(data=together(), ledger=ledger, dataset="people", **options)
    key = json.loads(ledger.history()[0].question)
    assert key["bounds"] == [[0, 100], [0, 100]]
    assert set(key) - {"epsilon", "person", "name", "columns", "n"} == {
        "mechanism", "draws", "missing", "bounds",
    }  # fmt: skip
    assert ask(data=together(), ledger=ledger, dataset="people", **options) == result
    fields = result.to_dict()
    fields["parameters"] = {"table": "2 x 12 ranks", "draws": 99, "missing": "scatter"}
    before = dpmic.IndependenceRelease.from_dict(fields)
    assert before.headline() == result.headline()
    assert "after missing values were filled in" in before.guarantee


def test_round_trips_and_html():
    frame = FRAME.rename(columns={"age": "<b>age</b>"})
    result = dpmic.release_test("<b>age</b>", "dose", data=frame, epsilon=1, draws=19)
    assert "<b>" not in result._repr_html_()
    assert dpmic.IndependenceRelease.from_json(result.to_json()) == result
    assert pickle.loads(pickle.dumps(result)) == result
    assert hash(pickle.loads(pickle.dumps(result))) == hash(result)
    with pytest.raises(dpmic.InputError, match="not complete"):
        dpmic.IndependenceRelease.from_dict({**result.to_dict(), "pvalue": 0})


def test_people_and_ledger(tmp_path, monkeypatch):
    ledger = dpmic.Ledger(tmp_path / "people.ledger", epsilon=1.5)
    result = ask(person="who", ledger=ledger, dataset="people")
    assert (result.n, result.person) == (100, "who")
    assert ask(person="who", ledger=ledger, dataset="people") == result
    assert ledger.spent == pytest.approx(1)
    assert ledger.spent <= 1
    with pytest.raises(dpmic.BudgetError):
        ask(ledger=ledger, dataset="people")
    monkeypatch.setattr(
        dpmic.Ledger, "draw_once", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        ask(ledger=ledger, dataset="people", epsilon=0.5)
    assert ledger.remaining == pytest.approx(0, abs=1e-6)


def test_null_draws_do_not_hold_the_ledger(tmp_path, monkeypatch):
    ledger = dpmic.Ledger(tmp_path / "people.ledger", epsilon=1)
    inside, draw_once, independent = [False], dpmic.Ledger.draw_once, RankTables.independent

    def marked(*arguments, **names):
        inside[0] = True
        return draw_once(*arguments, **names)

    def watched(self, draws):
        assert not inside[0]
        return independent(self, draws)

    monkeypatch.setattr(dpmic.Ledger, "draw_once", marked)
    monkeypatch.setattr(RankTables, "independent", watched)
    ask(ledger=ledger, dataset="people")
    assert inside[0]


def test_nothing_shows_the_score(monkeypatch):
    exact, real = [], RankTables.score
    monkeypatch.setattr(RankTables, "score", lambda *a: exact.append(real(*a)) or exact[-1])
    result = ask(epsilon=0.5)
    needles = [f"{exact[0]:.10f}"[1:], repr(exact[0])]
    for text in (repr(result), result.to_json(), result.guarantee, result._repr_html_()):
        assert not any(needle in text for needle in needles)
    assert np.float64(exact[0]).tobytes() not in pickle.dumps(result)


@sweep(
    ("options", "words"),
    [
        ({"epsilon": 0}, "epsilon = 0"),
        ({"epsilon": 11}, "above 10 it protects almost nothing"),
        ({"epsilon": 1e-10}, "such a small privacy loss"),
        ({"draws": 10}, "draws = 10"),
        ({"draws": 1.5}, "draws = 1.5"),
        ({"ledger": 3, "dataset": "people"}, "it is not a Ledger"),
        ({"data": FRAME.head(7)}, "n = 7: the test needs at least 8 records"),
        ({"data": FRAME.assign(dose=math.nan)}, "column dose: it has missing values"),
        ({"data": FRAME.assign(dose="a")}, "dose has dtype"),
    ],
)
def test_bad_input(options, words):
    with pytest.raises(dpmic.DpmicError, match=words):
        ask(**options)


def test_dropping_is_refused_without_speaking_of_a_mechanism():
    with pytest.raises(dpmic.ParameterError) as refused:
        dpmic.release_test("age", "dose", data=FRAME, epsilon=1, missing="drop")
    assert "use dpmic.release with bounds from domain knowledge" in refused.value.remedy
    assert "leave out the mechanism" not in str(refused.value)


def test_rows_of_one_person_are_not_independent():
    """Why there is no rows_per_person: repeated rows make independent columns look related."""
    with pytest.raises(TypeError, match="rows_per_person"):
        ask(rows_per_person=2)
    tables = RankTables(400, 2)
    null = np.quantile(list(tables.independent(300)), 0.95)
    x, y = (np.repeat(RNG.random((300, 20)), 20, axis=1) for _ in range(2))
    seen = [tables.statistic(np.argsort(np.argsort(a, kind="stable")),
                             np.argsort(np.argsort(b, kind="stable")))
            for a, b in zip(x, y, strict=True)]  # fmt: skip
    assert np.mean(np.array(seen) > null) > 0.3


def test_the_least_number_of_draws_reaches_a_twentieth():
    assert 1 / (testing.LEAST_DRAWS + 1) == 0.05


def test_the_bound_for_three_parts_is_attained():
    """n = 12: record 3 moves to the last rank of x and the first of y."""
    tables = RankTables(12, 3)
    y = np.array([9, 8, 3, 11, 0, 1, 4, 5, 7, 6, 10, 2])

    def moved(ranks, record, to):
        order = [r for r in np.argsort(ranks) if r != record]
        order.insert(to, record)
        return np.argsort(order)

    x = np.arange(12)
    change = abs(tables.statistic(x, y) - tables.statistic(moved(x, 3, 11), moved(y, 3, 0)))
    assert change == pytest.approx(2 * math.sqrt(18) / 12, rel=1e-12)
    assert change <= tables.sensitivity
