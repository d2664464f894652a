"""Private screening: what it says, what it refuses, and attacks on it."""

import dataclasses
import itertools
import json
import math
import re
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from project import ROOT, SURE
from sweeps import sweep
from tables_of_people import (
    BOUNDS,
    COLUMNS,
    FRAME,
    MICR,
    PEOPLE,
    RNG,
    against,
    assert_nothing_exact,
    assert_round_trips,
    recorded,
    weaker,
)

import dpmic
from dpmic import sensitivity
from dpmic._format import format_ceil
from dpmic.parameters import tuned
from dpmic.privacy import noise
from dpmic.privacy._guards import private_columns
from dpmic.privacy.query import Terms, padded
from dpmic.privacy.screen import SHARES, best_split, expected_error, prepare

UNIT = ((0, 1), (0, 1))


@pytest.fixture
def ledger(tmp_path):
    return dpmic.Ledger(tmp_path / "people.ledger", epsilon=30.0)


def ask(table=FRAME, **options):
    usual = {"bounds": BOUNDS, "epsilon": 10.0, "top": 2, "allow_noisy": True}
    return dpmic.screen(table, **{**usual, **options})


def plan_of(matrix, top, split=0.5, epsilon=2.0, target=None):
    bounds = [(0, 1)] * matrix.shape[1]
    terms = Terms(epsilon=epsilon, allow_noisy=True)
    return prepare(matrix, terms, bounds=bounds, target=target, top=top, split=split, **MICR)


def scores_of(plan, matrix):
    return plan.compute(list(matrix.T))


# What a screening says


def test_the_strongest_pairs_are_found_and_ordered():
    found = Counter(pair for _ in range(10) for pair in ask(top=3, B=30, c=5).pairs)
    strong = set(itertools.combinations(("age", "dose", "pulse"), 2))
    assert {pair for pair, _ in found.most_common(3)} == strong
    published = ask(top=3)
    assert published.values == tuple(sorted(published.values, reverse=True))
    assert published.candidates == 10


def test_everything_that_is_public_is_stated():
    published = ask(epsilon=1.0, **MICR)
    assert published.epsilon <= 1.0
    assert published.epsilon == pytest.approx(1.0, rel=1e-6)
    assert published.epsilon >= published.selection_epsilon + published.values_epsilon
    assert published.selection_epsilon == pytest.approx(published.split, rel=1e-6)
    delta = sensitivity.micr(PEOPLE) + 2 * sensitivity.rounding(PEOPLE, published.parameters["B"])
    assert published.sensitivity == pytest.approx(delta, rel=1e-12)
    assert published.sensitivity >= delta
    assert published.noise == "cube"
    assert published.scale == pytest.approx(1.5 * delta / published.values_epsilon, rel=1e-6)
    assert published.selection_scale == pytest.approx(4 * delta / published.selection_epsilon)
    each = published.values_epsilon / 1.5
    default = tuned.lookup("micr-laplace", PEOPLE, each)
    assert (published.parameters["B"], published.parameters["c"]) == (default.B, default.c)
    expected = default.calibration.estimate(published.values, published.scale)
    assert published.estimates == pytest.approx(tuple(expected), abs=1e-6)


def test_the_guarantee_says_all_that_is_public():
    text = ask(epsilon=0.5, target="age", B=30, c=5).guarantee
    assert text.count(". ") == 1
    for words in ("Selecting these 2 of 4 pairs", "epsilon = 0.5:", "replacing one record",
                  f"n = {PEOPLE}", "age: [0, 1]", "target = age", "top = 2", "B = 30"):  # fmt: skip
        assert words in text, text


def test_all_pairs_need_no_choice():
    published = ask(top=10, epsilon=2.0)
    assert (published.split, published.selection_epsilon) == (0, 0)
    assert published.values_epsilon == published.epsilon == pytest.approx(2.0, rel=1e-6)
    assert "Publishing the MICs of all 10 pairs is, in total," in published.guarantee
    assert {frozenset(pair) for pair in published.pairs} == {
        frozenset(pair) for pair in itertools.combinations(COLUMNS, 2)
    }
    with pytest.raises(dpmic.ParameterError, match="there is nothing to select"):
        ask(top=10, split=0.5)


def test_one_column_against_all_others():
    published = ask(target="age", top=2)
    assert published.candidates == 4
    assert {pair[0] for pair in published.pairs} == {"age"}
    assert {pair[1] for pair in published.pairs} == {"dose", "pulse"}
    assert ask(target="pulse", top=4).candidates == 4


@pytest.mark.slow
def test_values_have_fresh_noise_around_their_scores():
    """Not the noise of the choice, which favours what it has lifted."""
    plan = plan_of(np.zeros((PEOPLE, 4)), top=1)
    scores = [0.40, 0.42, 0.38, 0.1, 0.1, 0.1]
    drawn = [plan.draw(scores) for _ in range(3_000)]
    errors = np.array([value - scores[i] for (i,), (value,) in drawn])
    assert len({i for (i,), _ in drawn}) >= 3
    error = plan.values.scale * math.sqrt(2 / 3_000)  # the standard error of the mean
    assert np.mean(errors) == pytest.approx(0, abs=6 * error)
    assert np.mean(np.abs(errors)) == pytest.approx(plan.values.scale, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_intervals_cover_the_scores_of_chosen_pairs(level):
    matrix = RNG.random((30, 4))
    plan = plan_of(matrix, top=3)
    scores = scores_of(plan, matrix)
    by_name = dict(zip(plan.table.named_pairs, scores, strict=True))
    covered = []
    for _ in range(1000):
        published = plan.publish(scores)
        ends = zip(published.pairs, published.interval(level), strict=True)
        covered += [low <= by_name[pair] <= high for pair, (low, high) in ends]
    assert np.mean(covered) >= level - 6 * math.sqrt(level * (1 - level) / 1000)


def test_round_trips_frames_and_pictures():
    published = ask(top=3)
    assert_round_trips(published)
    for backend in ("pandas", "polars", "pyarrow"):
        frame = published.to_frame(backend)
        assert list(frame["value"]) == pytest.approx(list(published.values)) or backend == "pyarrow"
    table = published.to_frame("pyarrow").to_pydict()
    assert list(table) == ["x", "y", "value", "low", "high"]
    assert list(zip(table["x"], table["y"], strict=True)) == list(published.pairs)
    pytest.importorskip("matplotlib").use("agg")
    ax = published.plot()
    assert [dot.get_xdata()[0] for dot in ax.lines[2::3]] == list(published.values)
    assert [t.get_text() for t in ax.get_yticklabels()] == [f"{x}, {y}" for x, y in published.pairs]
    assert [tuple(line.get_xdata()) for line in ax.lines[1::3]] == list(published.interval(0.95))
    written = [text.get_text() for text in ax.texts]
    digits = 3 if np.ptp(published.interval(0.95), axis=1).min() < 0.02 else 2
    assert written[:6:2] == [f"{value:.{digits}f}" for value in published.values]
    ends = [f"{a:.{digits}f} to {b:.{digits}f}" for a, b in published.interval(0.95)]
    assert written[1:6:2] == ends
    assert all(f"{x}, {y}" in repr(published) for x, y in published.pairs)
    with pytest.raises(dpmic.InputError, match="not complete"):
        dpmic.Screening.from_dict({**published.to_dict(), "values": []})


def test_html_escapes_names():
    frame = FRAME.rename(columns={"age": "<b>age</b>"})
    bounds = {"<b>age</b>": (0, 1), "dose": (0, 1)}
    html = dpmic.screen(frame, bounds=bounds, epsilon=1, top=1)._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;age" in html


# Tables


MATRIX = FRAME[list(COLUMNS)].to_numpy()


@sweep(
    ("table", "bounds"),
    [
        (MATRIX, [(0, 1)] * 5),
        (MATRIX, np.tile([0.0, 1.0], (5, 1))),
        (MATRIX, dict.fromkeys(range(5), (0, 1))),
        (FRAME, BOUNDS),
        (FRAME, dict(reversed(BOUNDS.items()))),
        (pl.from_pandas(FRAME), BOUNDS),
        (pa.Table.from_pandas(FRAME), BOUNDS),
    ],
    ids=["numpy", "numpy bounds", "positions", "pandas", "reversed", "polars", "pyarrow"],
)
def test_any_table_has_the_same_scores(table, bounds):
    """Identifiers and text beside the named columns are ignored; the table's order holds."""
    terms = Terms(epsilon=1.0, allow_noisy=True)
    plan = prepare(table, terms, bounds=bounds, top=3, B=30, c=5, axes="linear")
    scores = plan.compute(private_columns(plan.source))
    expected = [
        dpmic.micr(MATRIX[:, i], MATRIX[:, j], bounds=UNIT, B=30, c=5).mic
        for i, j in itertools.combinations(range(5), 2)
    ]
    assert scores == expected


def test_constant_columns_score_nothing_and_are_screened():
    assert ask(target="ward", top=4, epsilon=1.0).candidates == 4
    scores = scores_of(plan_of(np.zeros((30, 3)), 1), np.zeros((30, 3)))
    assert scores == [0, 0, 0]


def test_one_row_for_each_person():
    published = ask(person="who")
    assert published.n == PEOPLE // 4
    assert "one person's record (who; only their first record counts)" in published.guarantee
    assert ask(pl.from_pandas(FRAME), person="who").n == PEOPLE // 4
    assert ask(MATRIX, bounds=[(0, 1)] * 5, person=FRAME.who.to_numpy()).n == PEOPLE // 4
    assert ask(person=FRAME.who.tolist()).n == PEOPLE // 4


def test_rows_per_person_multiplies_the_noise():
    one, three = ask(split=0.5, cap=4), ask(split=0.5, cap=4, rows_per_person=3)
    assert three.scale / one.scale == pytest.approx(3, rel=1e-6)
    assert three.selection_scale / one.selection_scale == pytest.approx(3, rel=1e-6)
    assert "replacing all records of one person, at most 3, changes" in three.guarantee


# Refusals, before anything is spent

ONE_PAIR = dict(list(BOUNDS.items())[:2])
REPEATED = pd.DataFrame(MATRIX[:, :3], columns=["age", "age", "dose"])


@sweep(
    ("options", "words"),
    [
        ({"top": 11}, "top = 11: there are only 10 pairs; pass at most 10"),
        ({"top": 5, "target": "age"}, "top = 5: there are only 4 pairs"),
        ({"top": 2, "bounds": ONE_PAIR}, "top = 2: there is only one pair; pass 1"),
        ({"top": 0}, "top = 0"),
        ({"top": 1.5}, "top = 1.5"),
        ({"top": True}, "top = True"),
        ({"split": 0}, "split = 0: it is the share"),
        ({"split": 1.0}, "split = 1.0"),
        ({"split": "half"}, "split = 'half'"),
        ({"target": "agee"}, "target 'agee': there is no such column .* did you mean 'age'"),
        ({"target": "note"}, "target 'note': there is no such column with bounds"),
        ({"bounds": {**BOUNDS, "dosis": (0, 1)}}, "bounds of 'dosis': .* did you mean 'dose'"),
        ({"bounds": None}, "bounds = None: every column"),
        ({"bounds": [(0, 1)] * 3}, "bounds of 3 columns: the table has 7"),
        ({"bounds": {**BOUNDS, "age": (1, 0)}}, "bounds of age"),
        ({"bounds": {**BOUNDS, "age": 3}}, "bounds of age = 3"),
        ({"bounds": {"age": (0, 1)}}, "1 column: a pair needs two columns"),
        ({"bounds": {}}, "0 columns: a pair needs two columns"),
        ({"bounds": {1: (0, 1), "1": (0, 1)}, "table": MATRIX}, "mean the same column"),
        ({"table": REPEATED, "bounds": [(0, 1)] * 3}, "2 columns have this name"),
        ({"table": MATRIX[:, :1], "bounds": [(0, 1)]}, "1 column"),
        ({"table": MATRIX[:, 0], "bounds": [(0, 1)]}, "a table has one row per"),
        ({"table": FRAME[:3]}, "n = 3"),
        ({"table": [1, 2]}, "this is not a frame"),
        ({"bounds": {**BOUNDS, "note": (0, 1)}}, "note has dtype"),
        ({"epsilon": 0}, "epsilon = 0"),
        ({"epsilon": 11}, "epsilon = 11: above 10"),
        ({"epsilon": 1e-10}, "epsilon = 1e-10"),
        ({"B": 3}, "B = 3"),
        ({"c": math.inf}, "c = inf"),
        ({"rows_per_person": 0}, "rows_per_person = 0"),
        ({"person": "nobody"}, "person = 'nobody': there is no such column"),
        ({"dataset": ""}, "dataset = ''"),
    ],
)  # fmt: skip
def test_bad_questions_spend_nothing(ledger, options, words):
    with pytest.raises(dpmic.DpmicError, match=words):
        ask(**{"table": FRAME, "ledger": ledger, "dataset": "people", **options})
    assert ledger.spent == 0


def test_a_useless_screening_is_refused_unless_it_is_allowed(ledger):
    """The half width of the 95% interval decides, which is known from what is public."""
    kept = {"ledger": ledger, "dataset": "people"}
    numbers = FRAME[list(COLUMNS)]
    for table in (numbers, numbers * np.nan):  # no value is looked at
        with pytest.raises(dpmic.ParameterError) as refused:
            dpmic.screen(table, bounds=BOUNDS, epsilon=0.3, top=4, **kept)
        assert "the noise is too large for " in str(refused.value)
        assert "or more above it in 10% of cases; pass" in str(refused.value)
        assert "pass a smaller top, more data or a larger epsilon" in str(refused.value)
        assert "allow_noisy=True" in str(refused.value)
    assert ledger.spent == 0
    published = ask(epsilon=0.3, top=4, **kept)
    assert published.half_width > 0.25
    assert ask(epsilon=10.0, top=4, allow_noisy=False).half_width <= 0.25


# The ledger


def test_what_the_ledger_recorded_is_what_is_printed(ledger):
    first = ask(ledger=ledger, dataset="people", epsilon=1.0)
    second = ask(ledger=ledger, dataset="people", epsilon=3.0, target="age")
    assert ask(ledger=ledger, dataset="people", epsilon=1.0) == first
    entries = ledger.history()
    assert [entry.epsilon for entry in entries] == pytest.approx([first.epsilon, second.epsilon])
    for entry, published in zip(entries, (first, second), strict=True):
        assert entry.epsilon >= published.epsilon
        assert f"epsilon = {format_ceil(entry.epsilon)}:" in published.guarantee
        assert dpmic.Screening.from_json(entry.answer) == published
    assert ledger.spent == pytest.approx(first.epsilon + second.epsilon, abs=1e-12)
    assert ledger.spent <= 4.0


@pytest.mark.parametrize(
    "change",
    [
        {"top": 3},
        {"split": 0.4},
        {"target": "age"},
        {"bounds": {**BOUNDS, "age": (0, 2)}},
        {"bounds": dict.fromkeys(COLUMNS[:4], (0, 1))},
        {"B": 20},
        {"person": "who"},
        {"rows_per_person": 2},
        {"dataset": "corrected"},
        {"table": FRAME[:500]},
    ],
)
def test_another_question_costs_again(ledger, change):
    ask(ledger=ledger, dataset="people")
    ask(**{"table": FRAME, "ledger": ledger, "dataset": "people", **change})
    assert len(ledger.history()) == 2


def test_arrays_need_a_name(ledger):
    bounds = [(0, 1)] * 5
    with pytest.raises(dpmic.ParameterError, match="by column names, and arrays have none"):
        ask(MATRIX, bounds=bounds, ledger=ledger, dataset="people")
    assert ledger.spent == 0


# Nothing un-noised leaves


def test_no_output_holds_a_score(ledger, caplog, monkeypatch):
    seen = recorded(monkeypatch, caplog)
    published = ask(ledger=ledger, dataset="people", epsilon=2.0, top=4)
    assert_nothing_exact(published, ledger, seen, caplog)


def test_stored_texts_have_one_length_whatever_was_chosen():
    frame = FRAME.rename(columns={"dose": 'a "quoted", long name é', "age": "a"})
    bounds = {'a "quoted", long name é': (0, 1), "a": (0, 1), "pulse": (0, 1)}
    for target in (None, "a"):
        terms = Terms(epsilon=1.0, allow_noisy=True)
        plan = prepare(frame, terms, bounds=bounds, target=target, top=2)
        pairs = plan.table.named_pairs
        one = plan.publish([0.5] * len(pairs))
        longest = max(len(json.dumps(pair)) for pair in pairs)
        assert one._drawn_length()[1] == 2 * (longest + 50)
        for values in ((0.0, 1.0), (1 / 3, 2.0**-40), (0.1, 0.2)):
            for selected in itertools.permutations(pairs, 2):
                drawn = {"pairs": selected, "values": values, "estimates": values[::-1]}
                other = dataclasses.replace(one, **drawn)
                assert len(padded(other)) == len(padded(one))
                assert dpmic.Screening.from_json(padded(other)) == other


# The split


def test_the_default_split_minimises_the_expected_error():
    change = sensitivity.micr(PEOPLE)
    for top, epsilon in ((1, 1.0), (3, 3.0), (5, 10.0)):
        unit = change / epsilon
        errors = {
            a: expected_error(10, top, 2 * top * unit / a, (top + 1) / 2 * unit / (1 - a))
            for a in SHARES
        }
        assert ask(top=top, epsilon=epsilon, **MICR).split == min(errors, key=errors.get)


def test_the_split_is_adjustable_and_stated():
    published = ask(split=0.25, epsilon=2.0)
    assert published.split == 0.25
    assert published.selection_epsilon == pytest.approx(0.5, rel=1e-6)
    assert published.values_epsilon == pytest.approx(1.5, rel=1e-6)


def simulated_error(candidates, top, choice, scale, runs):
    """What OpenDP's own choice and cube noise of this mean do to evenly spread scores."""
    scores = (np.arange(candidates) + 0.5) / candidates
    selection = noise.TopK(choice, math.nan, top, candidates)
    values = noise.Cube(round(2 * scale / (top + 1) / noise.GRANULARITY), math.nan, top)
    losses, errors = [], []
    for _ in range(runs):
        chosen = scores[selection.choose(scores.tolist())]
        losses.append(scores[-top:].mean() - chosen.mean())
        errors.append(np.abs(np.clip(values.add(chosen.tolist()), 0, 1) - chosen).mean())
    return float(np.mean(losses) + np.mean(errors))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("candidates", "top", "choice", "scale"),
    [(45, 5, 0.1, 0.05), (45, 5, 1.0, 0.5), (190, 20, 0.3, 0.2), (1000, 10, 0.03, 0.02)],
)
def test_the_expected_error_agrees_with_simulation(candidates, top, choice, scale):
    """Within 0.02; elsewhere it may be up to 0.04 too large (few candidates), never too small."""
    model = expected_error(candidates, top, choice, scale)
    found = simulated_error(candidates, top, choice, scale, 200_000 // candidates)
    assert model == pytest.approx(found, abs=0.02)  # six standard errors at least


@pytest.mark.full
def test_the_default_split_is_nearly_the_best_by_simulation():
    """In the table of the hypothesis no split is better by more than a hundredth of [0, 1]."""
    questions = [
        (10, 1, 0.02, 4000),
        (10, 3, 0.03, 8000),
        (45, 5, 0.01, 2000),
        (190, 5, 0.004, 1000),
    ]
    for candidates, top, unit, runs in questions:  # runs for errors of 0.0016 at most
        chosen = best_split(candidates, top, 1.0, unit)
        mean = (top + 1) / 2 * unit
        errors = {
            a: simulated_error(candidates, top, 2 * top * unit / a, mean / (1 - a), runs)
            for a in (chosen, *np.arange(0.1, 0.95, 0.2))
        }
        assert errors[chosen] <= min(errors.values()) + 0.01


@pytest.mark.slow
def test_the_guide_prints_what_is_computed():
    """Half widths and losses of the guide's table, from n, epsilon and the number of pairs."""
    text = (ROOT / "docs/guides/screening.md").read_text()
    pattern = r"^\| \d+ \((\d+)\) \| (\S+) \| (\S+) \| (\S+) \((\S+)\) \| (\S+) \| (\S+) \|$"
    rows = re.findall(pattern, text, re.MULTILINE)
    assert len(rows) == 12
    for row in rows:
        pairs, epsilon, n, screened, loss, pure, relaxed = (float(v.replace(",", "")) for v in row)
        asked = {"n": int(n), "epsilon": epsilon, "candidates": int(pairs)}
        selected = dpmic.plan(**asked, top=5)
        computed = [
            (screened, selected),
            (pure, dpmic.plan(**asked)),
            (relaxed, dpmic.plan(**asked, delta=1e-6)),
        ]
        for printed, planned in computed:
            assert printed == pytest.approx(planned.half_width, rel=0.06)
        choice = 10 * selected.sensitivity / selected.selection_epsilon
        assert loss == pytest.approx(expected_error(int(pairs), 5, choice, 1e-9), rel=0.1, abs=6e-4)


def test_many_candidates_are_grouped():
    assert expected_error(1000, 10, 0.05, 0.05) == pytest.approx(
        expected_error(1001, 10, 0.05, 0.05), abs=1e-3
    )


# L-infinity


def test_one_row_changes_every_score_by_at_most_delta():
    """All tables of n rows of three bits, and all their neighbours: n = 4, 5, 6."""
    rows = list(itertools.product((0.0, 1.0), repeat=3))
    for n in (4, 5, 6):
        plan = plan_of(np.zeros((n, 3)), 1)
        known = {}
        for chosen in itertools.combinations_with_replacement(range(8), n):
            matrix = np.array([rows[i] for i in chosen])
            known[chosen] = np.array(scores_of(plan, matrix))
        largest = np.zeros(3)
        for chosen, scores in known.items():
            for new in range(8):
                moved = tuple(sorted((*chosen[1:], new)))
                largest = np.maximum(largest, np.abs(known[moved] - scores))
        assert np.all(largest <= plan.setting.sensitivity)
        assert np.all(largest >= sensitivity.micr(n) - 1e-9)  # and attained by each


@pytest.mark.parametrize("seed", range(4))
def test_climbing_finds_no_larger_change(seed):
    """A search over finer tables of four columns, all of one row replaced at once."""
    rng, n, lattice = np.random.default_rng(seed), 12, np.linspace(0, 1, 7)
    plan = plan_of(np.zeros((n, 4)), 1)
    table, widest = rng.choice(lattice, (n, 4)), 0.0
    row = rng.choice(lattice, 4)
    for _ in range(150):
        trial, new = table.copy(), row.copy()
        trial[rng.integers(n), rng.integers(4)] = rng.choice(lattice)
        new[rng.integers(4)] = rng.choice(lattice)
        moved = trial.copy()
        moved[0] = new
        gaps = np.abs(np.subtract(scores_of(plan, trial), scores_of(plan, moved)))
        assert gaps.max() <= plan.setting.sensitivity
        if gaps.sum() >= widest:
            table, row, widest = trial, new, gaps.sum()


def test_neighbours_move_scores_against_each_other():
    """So the scores are not monotonic, and the map's factor 2 is needed."""
    first, second = against(25, 20)
    plan = plan_of(first, 1, target=0)
    gaps = np.subtract(scores_of(plan, first), scores_of(plan, second))
    assert gaps[0] == pytest.approx(plan.setting.sensitivity, rel=1e-6)
    assert gaps[1:] == pytest.approx(-plan.setting.sensitivity, rel=1e-6)


# Attacks


class Screened:
    """The published value of the target's first pair, or -1 where another was chosen.

    With ``value=False`` only the choice of ``top`` is watched. ``share`` weakens the noise.
    """

    name = "screen"

    def __init__(self, *, value, share=1.0, top=1):
        self.value, self.share, self.top = value, share, top
        plan = plan_of(against(25, 20)[0], top, target=0)
        self.epsilon = plan.epsilon if value else plan.selection_epsilon

    def draws(self, matrix, _, runs):
        plan = plan_of(matrix, self.top, target=0)
        scores = scores_of(plan, matrix)
        plan = dataclasses.replace(
            plan,
            selection=dataclasses.replace(plan.selection, scale=plan.selection.scale * self.share),
            values=weaker(plan.values, self.share),
        )
        if self.value:
            drawn = (plan.draw(scores) for _ in range(runs))
            return np.array([value if i == 0 else -1.0 for (i,), (value,) in drawn])
        return np.array([float(0 in plan.selection.choose(scores)) for _ in range(runs)])


NEIGHBOURS = tuple((matrix, None) for matrix in against(25, 20))


@pytest.mark.slow
def test_a_quick_audit():
    for value in (True, False):
        bound = dpmic.audit(
            Screened(value=value), neighbours=NEIGHBOURS, runs=1_500, confidence=SURE
        )
        assert not bound.disproved


@pytest.mark.full
@pytest.mark.parametrize(
    ("value", "top", "least"), [(False, 1, 0.6), (False, 2, 0.15), (True, 1, 1.2)]
)
def test_screens_stay_below_their_epsilon(value, top, least):
    """The event is the selected pair, or that with its value; 1 for the choice, 2 for both."""
    screened = Screened(value=value, top=top)
    bound = dpmic.audit(screened, neighbours=NEIGHBOURS, runs=100_000, confidence=SURE)
    assert not bound.disproved, bound
    assert bound.lower > least, bound


@pytest.mark.full
@pytest.mark.parametrize(
    ("value", "top", "share"), [(False, 1, 0.7), (False, 2, 0.3), (True, 1, 0.7)]
)
def test_weaker_noise_is_caught(value, top, share):
    weak = Screened(value=value, top=top, share=share)
    assert dpmic.audit(weak, neighbours=NEIGHBOURS, runs=100_000).disproved
