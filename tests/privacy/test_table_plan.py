"""Plans of screenings and matrices: the same noise as theirs, and the chance of a strong pair."""

import itertools
import math

import numpy as np
import pytest
from sweeps import sweep

import dpmic
from dpmic.errors import ParameterError
from dpmic.parameters import chance, expected
from dpmic.parameters.expected import QUANTITIES, Surface
from dpmic.privacy import noise, pairwise, screen
from dpmic.privacy._joint_noise import of_value
from dpmic.privacy.query import Terms
from dpmic.privacy.table_plan import chance_of_selection

N, COLUMNS = 600, 6
TABLE = np.random.default_rng(5).uniform(0, 1, (N, COLUMNS))
BOUNDS = [(0, 1)] * COLUMNS
PAIRS = COLUMNS * (COLUMNS - 1) // 2


def query(epsilon=2.0, rows=1, columns=COLUMNS, **options):
    """A query of a table, prepared and not run."""
    kind = screen if "top" in options else pairwise
    terms = Terms(epsilon=epsilon, rows_per_person=rows, allow_noisy=True)
    return kind.prepare(TABLE[:, :columns], terms, bounds=BOUNDS[:columns], **options)


# The chance


def one_round(scores, scale):
    """Permute-and-flip by its definition: over every order of the candidates."""
    chances, orders = dict.fromkeys(scores, 0.0), list(itertools.permutations(scores))
    best = max(scores.values())
    for order in orders:
        reached = 1 / len(orders)
        for name in order:
            accepted = math.exp((scores[name] - best) / scale)
            chances[name] += reached * accepted
            reached *= 1 - accepted
    return chances


def peeled(scores, scale, top):
    """The probability that candidate 0 is among ``top`` that are taken one by one."""
    if top == 0:
        return 0.0
    chances = one_round(scores, scale)
    others = ((name, chance) for name, chance in chances.items() if name)
    left = ({name: s for name, s in scores.items() if name != out} for out, _ in others)
    failed = (chance for name, chance in chances.items() if name)
    return chances[0] + sum(
        chance * peeled(rest, scale, top - 1) for chance, rest in zip(failed, left, strict=True)
    )


@sweep(
    ("gap", "scale", "candidates", "top"),
    [
        (0.5, 0.3, 4, 1),
        (0.5, 0.3, 4, 2),
        (0.5, 2.0, 5, 3),
        (0.0, 0.3, 5, 2),
        (-0.2, 0.3, 4, 2),
        (0.5, 1e-4, 4, 1),
        (0.1, 0.1, 2, 1),
    ],
)
def test_the_chance_is_that_of_every_order(gap, scale, candidates, top):
    scores = {0: 0.1 + gap, **dict.fromkeys(range(1, candidates), 0.1)}
    found = chance_of_selection(gap, scale, candidates, top)
    assert found == pytest.approx(peeled(scores, scale, top), abs=1e-12)


@pytest.mark.parametrize(
    ("candidates", "top", "scale"), [(36, 5, 0.25), (36, 1, 0.12), (10, 3, 0.6)]
)
def test_the_chance_is_that_of_the_selection(candidates, top, scale):
    """By OpenDP's own draws; noise of another scale would have another chance."""
    runs, gap = 4000, 0.5
    chance = chance_of_selection(gap, scale, candidates, top)
    allowed = 5 * math.sqrt(chance * (1 - chance) / runs)  # exceeded once in a million runs
    for wrong in (0.7, 1.5):
        assert abs(chance_of_selection(gap, scale * wrong, candidates, top) - chance) > allowed
    selection = noise.TopK(scale, math.nan, top, candidates)
    scores = [0.04] * candidates
    scores[3] += gap
    found = sum(3 in selection.choose(scores) for _ in range(runs)) / runs
    assert abs(found - chance) < allowed


def test_extreme_chances():
    assert chance_of_selection(0.5, 1e-9, 1000, 1) == 1.0
    assert chance_of_selection(0.5, 1e9, 100, 30) == pytest.approx(0.3)
    assert 0 <= chance_of_selection(-0.5, 1e-9, 100, 30) < 1e-290
    assert chance_of_selection(0.5, 0.01, 10**7, 10**6) == pytest.approx(1.0)
    assert chance_of_selection(1e-300, 1.0, 10**7, 10**6) == pytest.approx(0.1)


def test_the_chance_rises_with_data_and_with_epsilon():
    for varied in ("n", "epsilon"):
        values = {"n": (200, 400, 800), "epsilon": (0.1, 0.2, 0.4)}[varied]
        asked = [{"n": 500, "epsilon": 0.2, varied: value} for value in values]
        chances = [dpmic.plan(**one, candidates=45, top=5).chance for one in asked]
        assert chances == sorted(set(chances))


# The noise


@sweep("rows", [1, 3])
def test_the_noise_is_the_screenings(rows):
    for top in (1, 4, PAIRS):
        prepared = query(rows=rows, top=top)
        planned = dpmic.plan(N, 2.0, candidates=PAIRS, top=top, rows_per_person=rows)
        same_noise(planned, prepared, prepared.values)
        assert planned.selection_epsilon == prepared.selection_epsilon
        assert (planned.top, planned.delta) == (top, 0.0)
        if prepared.selection is None:
            assert planned.chance == 1.0
            continue
        gap = 0.5 - planned.unrelated
        assert planned.chance == chance_of_selection(gap, prepared.selection.scale, PAIRS, top)


@sweep("delta", [0.0, 1e-6])
def test_the_noise_is_the_matrices(delta):
    prepared = query(epsilon=0.01, delta=delta)
    planned = dpmic.plan(N, 0.01, candidates=PAIRS, delta=delta)
    same_noise(planned, prepared, prepared.noise)
    assert planned.delta == prepared.delta
    assert (planned.top, planned.chance, planned.unrelated) == (None, None, None)
    assert planned.selection_epsilon == 0


def same_noise(planned, prepared, values):
    added = of_value(values)
    assert planned.mechanism == prepared.mechanism.name
    assert planned.parameters == prepared.mechanism.public_grids(prepared.setting.limits)
    assert planned.sensitivity == prepared.setting.sensitivity
    assert planned.values_epsilon == values.epsilon
    assert (planned.noise, planned.mean_noise) == (added.kind, added.mean)
    assert planned.half_width == added.half_width(0.95)


def test_delta_is_spent_where_it_helps():
    assert dpmic.plan(5000, 1.0, candidates=10, delta=1e-6).delta == 0
    many = dpmic.plan(5000, 1.0, candidates=1225, delta=1e-6)
    assert (many.noise, many.delta) == ("gaussian", pytest.approx(1e-6, rel=1e-6))
    assert "delta" in repr(many)


def test_what_would_be_refused_is_said():
    refused = "refused as too noisy"
    for top in (2, None):
        notes = []
        for epsilon in (0.02, 5.0):
            options = {} if top is None else {"top": top}
            planned = dpmic.plan(N, epsilon, candidates=PAIRS, **options)
            notes.append(refused in planned.note)
            call = dpmic.release_pairwise if top is None else dpmic.screen
            if notes[-1]:
                with pytest.raises(ParameterError, match="the noise is too large"):
                    call(TABLE, bounds=BOUNDS, epsilon=epsilon, **options)
            else:
                call(TABLE, bounds=BOUNDS, epsilon=epsilon, **options)
        assert notes == [True, False]


def test_records_are_counted():
    frame = dpmic.plan(TABLE, 1.0, candidates=PAIRS, top=2)
    assert frame == dpmic.plan(N, 1.0, candidates=PAIRS, top=2)


# The error, and what unrelated pairs score


@pytest.fixture
def known(monkeypatch):
    """Errors and scores of both mechanisms, whatever was simulated."""

    def error(n, epsilon, quantity):
        return (1 + QUANTITIES.index(quantity)) / n**0.5 / epsilon**0.3

    rows = [
        {"n": n, "epsilon": e, **{quantity: error(n, e, quantity) for quantity in QUANTITIES}}
        for n in (100, 10_000)
        for e in (0.01, 1.0)
    ]
    surface = Surface.of(rows)
    names = ("capped-laplace", "micr-laplace")
    monkeypatch.setattr(expected, "surfaces", lambda: dict.fromkeys(names, surface))
    known = lambda name, n, epsilon: chance.Unrelated(5 / n**0.5, 1.0)  # noqa: E731
    monkeypatch.setattr(chance, "before_noise", known)
    return error


def test_the_error_is_that_of_a_release_with_as_much_noise(known):
    for asked in ({"top": 3}, {"top": 3, "rows_per_person": 2, "of": "estimate"}, {}):
        planned = dpmic.plan(2500, 0.5, candidates=20, **asked)
        each = planned.sensitivity / planned.mean_noise / planned.rows_per_person
        assert 0.01 < each < 0.5
        of = asked.get("of", "value")
        assert planned.error == pytest.approx(known(2500, each, of))
        assert planned.error_upper == pytest.approx(known(2500, each, f"{of}_upper"))
        assert "simulated" not in planned.note
        assert f"error of a{'n' * (of == 'estimate')} {of}" in repr(planned)


def test_one_pair_errs_as_a_release_does():
    """One candidate is a release: its error, wherever that was simulated, is that of the plan."""
    planned = dpmic.plan(2000, 0.7, candidates=1)
    assert planned.noise == "laplace"
    single = {row.mechanism: row for row in dpmic.plan(2000, 0.7).rows}.get(planned.mechanism)
    if single is None:
        assert (planned.error, planned.error_upper) == (None, None)
        assert f"the error of {planned.mechanism} was not simulated" in planned.note
    else:
        assert planned.error == pytest.approx(single.value, rel=1e-6)
        assert planned.mean_noise == pytest.approx(single.scale, rel=1e-6)


def test_unrelated_pairs_score_above_0(known, monkeypatch):
    few, many = (dpmic.plan(n, 1.0, candidates=20, top=2) for n in (400, 2500))
    assert (few.unrelated, many.unrelated) == (0.25, 0.1)
    monkeypatch.setattr(chance, "before_noise", lambda *_: None)
    without = dpmic.plan(400, 1.0, candidates=20, top=2)
    assert without.unrelated == 0
    assert "the score of unrelated pairs was not simulated; 0 is assumed" in without.note
    assert without.chance > few.chance


@sweep(
    ("asked", "said"),
    [
        ({"n": 50}, "errors are known from n = 100 on"),
        ({"epsilon": 0.011, "top": 5}, "errors with this much noise were not simulated"),
    ],
)
def test_what_was_not_simulated(known, asked, said):
    planned = dpmic.plan(**{"n": 1000, "epsilon": 1.0, "candidates": 20, "top": 2, **asked})
    assert planned.error is None
    assert said in planned.note
    assert "not simulated" in repr(planned)
    assert 0 < planned.chance <= 1


def test_beyond_what_was_simulated_its_end_holds(known):
    planned = dpmic.plan(20_000, 9.0, candidates=20, top=2)
    assert planned.error == pytest.approx(known(10_000, 1.0, "value"))
    assert "simulated up to n = 10,000 and epsilon = 1; shown are the errors there" in planned.note
    noisy = dpmic.plan(101, 0.1, candidates=20, top=10)
    assert "always guessing 0.5 would err less than the values" in noisy.note


# Refusals, and the result


@sweep(
    ("asked", "said"),
    [
        ({"epsilon": None}, "the plan of a table needs n and epsilon; pass both"),
        ({"n": None}, "the plan of a table needs n and epsilon; pass both"),
        ({"error": 0.1}, "pass both, and leave out the target error"),
        ({"candidates": None}, "top = 5: it applies to tables"),
        ({"candidates": None, "top": None, "delta": 1e-6}, "pass candidates=36"),
        ({"candidates": 0}, "candidates = 0"),
        ({"candidates": 10**7 + 1}, "candidates = 10000001"),
        ({"candidates": 4.5}, "integer"),
        ({"candidates": 4}, "there are only 4 pairs; pass at most 4"),
        ({"top": 0}, "top = 0"),
        ({"delta": 1e-6}, "a selection needs no delta"),
        ({"top": None, "delta": 0.01}, "delta must lie between 1e-30 and 0.001"),
        ({"top": None, "delta": 5e-4}, "a delta of 1 / n or more"),
        ({"epsilon": 11}, "allow_large_epsilon=True"),
        ({"rows_per_person": 0}, "pass 1 or more"),
        ({"of": "both"}, "'value' or 'estimate'"),
    ],
    ids=str,
)
def test_refusals(asked, said):
    usual = {"n": 5000, "epsilon": 1.0, "candidates": 36, "top": 5}
    with pytest.raises(ParameterError) as refused:
        dpmic.plan(**{**usual, **asked})
    assert said in str(refused.value)


def test_a_plan_for_people():
    planned = dpmic.plan(n=5000, epsilon=1, candidates=36, top=5, rows_per_person=2)
    said = repr(planned)
    title = "Plan for n = 5,000, epsilon = 1, up to 2 rows for each person: the 5 strongest of 36"
    assert said.startswith(title)
    for words in ("epsilon of selection", "epsilon of values", "mean noise", "Nothing was spent",
                  "a pair that scores 0.5", "95% of it stays within this"):  # fmt: skip
        assert words in said
        assert words in planned._repr_html_()
    assert planned.record()["parameters"].count("=") == len(planned.parameters)
    assert dict.fromkeys(planned.record()) == dict.fromkeys(planned.to_dict())
    matrix = repr(dpmic.plan(n=5000, epsilon=1, candidates=36))
    assert "all 36 pairs" in matrix
    assert "selection" not in matrix


def test_one_pair_is_called_the_only_one():
    asked = query(top=1, columns=2), query(columns=2)
    assert {own.publishes for own in asked} == {"the MIC of the only pair"}
    assert dpmic.plan(500, 1.0, candidates=1, top=1).title.endswith(": the only pair")


def test_nothing_is_certain_that_is_drawn():
    sure = dpmic.plan(10**6, 5.0, candidates=36, top=5)
    assert sure.chance_in_words()[1] == ">0.999"
    assert dpmic.plan(5000, 1.0, candidates=5, top=5).chance_in_words()[1] == "1"
