"""One contract for every private call: prepared from public facts, refused for nothing, run once.

Further attacks on errors: test_refusals.py. What is particular to a call: its own file.
"""

import dataclasses
import functools
import json
import math
import pickle
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pandas as pd
import private_calls
import pytest
from private_calls import (
    BOX,
    CALLS,
    KINDS,
    MECHANISMS,
    NO_LONGER,
    QUERIES,
    RNG,
    SECRET,
    TABLE,
    N,
    committed,
    leaks,
)
from project import ROOT

import dpmic
from dpmic import _kernels
from dpmic.privacy import _guards, noise
from dpmic.privacy.query import Query, padded

FRAME = TABLE.drop(columns="who")
ADDED = noise.Laplace, noise.LaplaceVector, noise.Cube, noise.Gaussian, noise.Geometric
LESS_NOISE_NOW = {"matrix", "matrix with delta", "screen of all"}
"""Stored with Laplace noise: several values have cube noise now, under the keys they had."""
STORED = json.loads((ROOT / "tests/golden/ledger_keys.json").read_text())


@pytest.fixture
def ledger(tmp_path):
    return dpmic.Ledger(tmp_path / "people.ledger", epsilon=20.0)


# What is prepared is what runs


def caught(monkeypatch, ask, **options):
    """Return the query that a call prepares, which is not run."""
    found = []
    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(Query, "run", lambda self: found.append(self))
        ask(TABLE.assign(age=np.nan), **options)  # no value is looked at
    (query,) = found
    return query


def test_a_query_says_what_will_be_published(monkeypatch, ledger):
    """Its n, its unit, its cost and its key are known before a value is read."""
    for name, ask in QUERIES.items():
        options = {"ledger": ledger, "dataset": name}
        query, stored = caught(monkeypatch, ask, **options), STORED[name]
        result = query.result.from_json(stored["answer"])
        assert query.key == stored["question"], name
        assert query.n == result.n, name
        assert query.epsilon == pytest.approx(result.epsilon, rel=1e-8), name
        if name not in LESS_NOISE_NOW:
            assert (query.epsilon, query.delta) == (result.epsilon, getattr(result, "delta", 0.0))
        assert (query.unit.person, query.unit.rows) == (result.person, result.rows_per_person)
        assert query.stored() is None
        if hasattr(result, "half_width") and name not in LESS_NOISE_NOW:
            within = f"within {result.half_width:.2g} of the exact score"
            if result.half_width >= 1:
                within = "anywhere from 0 to 1"
            assert query.noise_in_words.startswith(within)
        for word in (query.publishes, f"n={query.n}", "epsilon="):
            assert word in repr(query)
        assert "NaN" not in repr(vars(query)), name  # the values of a column
        with pytest.raises(dataclasses.FrozenInstanceError):
            query.person = "another"
        with pytest.raises(TypeError, match="a query refers to private data"):
            pickle.dumps(query)
    assert ledger.history() == []


def test_the_order_of_steps(monkeypatch, ledger):
    """Ask, check, read, charge, compute, then draw and store under the lock."""
    steps = []

    def noted(kind, step):
        real = getattr(kind, step)
        return lambda *args, **names: steps.append(step) or real(*args, **names)

    for kind in KINDS:
        for step in ("read", "compute", "publish"):
            monkeypatch.setattr(kind, step, noted(kind, step))
    for step in ("find", "check", "spend", "draw_once"):
        monkeypatch.setattr(dpmic.Ledger, step, noted(dpmic.Ledger, step))
    for name, ask in CALLS.items():
        steps.clear()
        ask(FRAME, ledger=ledger, dataset=name)
        expected = ["find", "check", "read", "spend", "compute", "draw_once", "publish"]
        assert steps == [*expected, "find"], name  # read back after the commit
        steps.clear()
        ask(FRAME, ledger=ledger, dataset=name)
        assert steps == ["find"], name
        steps.clear()
        ask(FRAME)
        assert steps == ["read", "compute", "publish"], name
    for name, mechanism in MECHANISMS.items():
        steps.clear()
        mechanism.release("age", "dose", data=FRAME)
        assert steps == ["read", "compute", "publish"], name


def test_without_a_ledger_nothing_is_written_and_read_back(monkeypatch):
    """What is returned is what was drawn, and it survives JSON all the same."""

    def never(*_, **__):
        raise AssertionError("no JSON is needed")

    found = []
    with monkeypatch.context() as patch:
        patch.setattr("dpmic.results.Published.to_json", never)
        patch.setattr("dpmic.results.Published.from_json", never)
        found += [ask(FRAME, dataset="visits") for ask in CALLS.values()]
        found += [one.release("age", "dose", data=FRAME) for one in MECHANISMS.values()]
    for published in found:
        assert type(published).from_json(published.to_json()) == published
        assert published.replayed is None
    assert [one.dataset for one in found] == ["visits"] * len(CALLS) + [None] * len(MECHANISMS)


def test_the_charge_is_committed_before_anything_is_drawn(monkeypatch, ledger):
    seen = []
    for kind in (*ADDED, noise.TopK):
        method = "choose" if kind is noise.TopK else "add"
        real = getattr(kind, method)
        monkeypatch.setattr(
            kind, method, lambda *a, f=real: (seen.append(committed(ledger.path)), f(*a))[1]
        )
    for charges, (name, ask) in enumerate(CALLS.items(), start=1):
        seen.clear()
        ask(FRAME, ledger=ledger, dataset=name)
        assert set(seen) == {charges}, name


# What is refused costs nothing, and says nothing


REFUSED = {
    "epsilon = 0": {"epsilon": 0},
    "epsilon = 11: above 10": {"epsilon": 11},
    "epsilon = 1e-10: such a small privacy loss": {"epsilon": 1e-10},
    "rows_per_person = 0": {"rows_per_person": 0},
    "rows_per_person = 1.5": {"rows_per_person": 1.5},
    "person = 'nobody': there is no such column": {"person": "nobody"},
    "dataset = ' '": {"dataset": " "},
    "name = a bytes of length 1": {"name": b"a"},
    "so the data needs a name": {"dataset": None},
    "it is not a Ledger": {"ledger": 3},
}


@pytest.mark.parametrize("name", CALLS)
def test_what_is_refused_costs_nothing(ledger, name):
    for words, options in REFUSED.items():
        if name == "test" and "rows_per_person" in options:
            continue  # several rows of a person would void its p-value
        with pytest.raises(dpmic.DpmicError, match=words):
            CALLS[name](FRAME, **{"ledger": ledger, "dataset": "visits", **options})
    assert ledger.history() == []


@pytest.mark.parametrize("name", CALLS)
def test_values_outside_the_domain_are_refused_without_a_word_about_them(ledger, name):
    for bad in (np.nan, np.inf, -np.inf):
        frame = FRAME.assign(age=[*FRAME["age"][:-2], SECRET, bad])
        with pytest.raises(dpmic.InputError, match="column age: it has missing values") as refused:
            CALLS[name](frame, ledger=ledger, dataset="visits")
        error = refused.value
        assert error.__context__ is error.__cause__ is None
        assert not leaks(error)
        text = str(error).replace("infin", "").replace("float64", "")
        assert not any(word in text for word in ("nan", "inf ", "1 of", str(N - 1)))
    assert ledger.history() == []


@pytest.mark.parametrize("name", CALLS)
def test_too_little_budget_is_refused_before_data_is_read(tmp_path, name):
    small = dpmic.Ledger(tmp_path / "small.ledger", epsilon=0.5)
    with pytest.raises(dpmic.BudgetError, match="has spent 0 of 0.5"):
        CALLS[name](FRAME.assign(age=np.nan), ledger=small, dataset="visits")
    assert small.history() == []


@pytest.mark.parametrize("name", CALLS)
def test_a_large_epsilon_must_be_meant(name):
    published = CALLS[name](FRAME, epsilon=20.0, allow_large_epsilon=True)
    assert published.epsilon == pytest.approx(20)


@pytest.mark.parametrize("name", [name for name in CALLS if name not in ("test", "bounds")])
def test_noise_that_hides_everything_must_be_meant(ledger, name):
    kept = {"ledger": ledger, "dataset": "visits", "epsilon": 0.01}
    with pytest.raises(dpmic.ParameterError, match="allow_noisy=True"):
        CALLS[name](FRAME.assign(age=np.nan), **kept)
    assert ledger.history() == []
    assert CALLS[name](FRAME, **kept, allow_noisy=True).epsilon == pytest.approx(0.01)


# Failures after the charge


@pytest.mark.parametrize("name", CALLS)
def test_a_charged_query_without_an_answer_is_free(ledger, name, monkeypatch):
    """As after a crash between the charge and the answer."""
    kept = {"ledger": ledger, "dataset": "visits", "epsilon": 9.0}
    with monkeypatch.context() as patch:
        patch.setattr(
            dpmic.Ledger, "draw_once", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        with pytest.raises(KeyboardInterrupt):
            CALLS[name](FRAME, **kept)
    ledger.spend("another", ledger.remaining, dataset="visits")
    assert CALLS[name](FRAME, **kept).n == N
    assert len(ledger.history()) == 2


@pytest.mark.parametrize("name", [*CALLS, *MECHANISMS])
@pytest.mark.parametrize("broken", ["publish", "to_json", "draw_once"])
def test_a_failure_inside_shows_no_score(ledger, monkeypatch, name, broken):
    """Whatever breaks after the score is known, nothing that the error reaches holds it."""
    kept = {"ledger": ledger, "dataset": "visits"}
    if name in MECHANISMS:
        if broken != "publish":
            return  # which need no ledger
        kept = {}
    ask = CALLS.get(name) or (lambda data: MECHANISMS[name].release("age", "dose", data=data))
    published = ask(FRAME)

    def failing(self, *exact, **__):
        raise RuntimeError("broken")

    for kind in KINDS:
        monkeypatch.setattr(kind, "compute", lambda *_: [SECRET])
        monkeypatch.setattr(kind, "publish", lambda *_: published)
        if broken == "publish":
            monkeypatch.setattr(kind, "publish", failing)
    if broken == "to_json":
        monkeypatch.setattr(type(published), "to_json", failing)
    if broken == "draw_once":
        monkeypatch.setattr(dpmic.Ledger, "draw_once", failing)
    with pytest.raises(RuntimeError) as found:
        ask(FRAME, **kept)
    assert not leaks(found.value)
    assert len(ledger.history()) == bool(kept)


def test_the_search_for_the_score_can_succeed():
    """The same search finds a score that an unshielded failure leaves in a frame."""

    def careless():
        score = SECRET
        raise RuntimeError(f"failed with {score > 0}")

    with pytest.raises(RuntimeError) as found:
        careless()
    assert leaks(found.value)


# What is said


def test_the_reminder_of_bounds_is_said_once(monkeypatch):
    """Unconditionally, by the first call that takes bounds, and at the caller's line."""
    with_bounds = [name for name in CALLS if name not in ("mice-laplace", "test", "bounds")]
    for first in with_bounds:
        monkeypatch.setattr(_guards, "_reminded", False)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for name in (first, *with_bounds):
                CALLS[name](FRAME)
        (reminder,) = said
        assert reminder.category is dpmic.BoundsReminder
        assert reminder.filename == private_calls.__file__


def test_a_job_has_its_bounds_from_people_who_were_asked(monkeypatch):
    """Nobody is reminded where they come from; whoever releases afterwards still is."""
    monkeypatch.setattr(_guards, "_reminded", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with _guards.without_reminder():
            CALLS["auto"](FRAME)
    with pytest.warns(dpmic.BoundsReminder):
        CALLS["auto"](FRAME)


def test_a_warning_that_is_an_error_stays_one(monkeypatch):
    """A retry must not publish silently what the first call refused to publish."""
    monkeypatch.setattr(_guards, "_warned", set())
    monkeypatch.setattr(_guards, "_reminded", False)
    for name, kind in (("bounds", dpmic.NoiseWarning), ("auto", dpmic.BoundsReminder)):
        few = {"epsilon": 0.1} if name == "bounds" else {}
        for _ in range(2):
            with warnings.catch_warnings():
                warnings.simplefilter("error", kind)
                with pytest.raises(kind):
                    CALLS[name](FRAME[:40], **few)


@pytest.mark.parametrize("name", ["test", "mice-laplace"])
def test_a_column_with_gaps_gets_a_remedy_that_works(name):
    """These calls drop no record, and take no text."""
    gaps = FRAME.assign(age=[math.nan, *FRAME.age[1:]])
    with pytest.raises(dpmic.InputError) as refused:
        CALLS[name](gaps)
    remedy = "pass missing='scatter' with bounds=..., or missing={'age': ...} for missing values"
    assert refused.value.remedy.startswith(f"{remedy} (text cannot be tested)")
    assert "correct records one by one at their source" in refused.value.remedy
    CALLS[name](gaps, missing={"age": 30})
    CALLS[name](gaps, missing="scatter", bounds={"age": (0, 120), "dose": (0, 9000)})


def test_every_warning_is_said_once(monkeypatch):
    monkeypatch.setattr(_guards, "_warned", set())
    few = FRAME[:40]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        CALLS["bounds"](few, epsilon=0.1, name="old")
    kinds = [warning.category for warning in said]
    assert kinds == [DeprecationWarning, dpmic.NoiseWarning]
    with warnings.catch_warnings():
        warnings.simplefilter("error", dpmic.NoiseWarning)
        CALLS["bounds"](few, epsilon=0.1)


# What a ledger holds


def test_ledgers_of_the_versions_before_are_read(tmp_path):
    """Byte by byte the keys and the charges of golden/ledger_keys.json, and its answers."""
    assert STORED.keys() == QUERIES.keys() | NO_LONGER
    ledger = dpmic.Ledger(tmp_path / "old.ledger", epsilon=100.0, delta=1e-3)
    for name, entry in STORED.items():
        ledger.spend(entry["question"], entry["epsilon"], entry["delta"], dataset=name)
        ledger.draw_once(entry["question"], lambda entry=entry: entry["answer"], dataset=name)
    balance = ledger.spent, ledger.spent_delta
    unread = TABLE.assign(age=np.nan)
    for name, ask in QUERIES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            published = ask(unread, ledger=ledger, dataset=name)
        assert published.replayed is not None, name
        assert published == type(published).from_json(STORED[name]["answer"]), name
    for name in NO_LONGER:
        (entry,) = (entry for entry in ledger.history() if entry.dataset == name)
        assert entry.answer == STORED[name]["answer"]  # it counts, and is never given again
    assert (ledger.spent, ledger.spent_delta) == balance


def test_what_is_stored_is_as_long_as_before(ledger):
    """Its length depends on what was asked, never on what was drawn.

    Besides what was drawn before, screenings say which noise they have.
    """
    for name in CALLS:
        QUERIES[name](FRAME, ledger=ledger, dataset=name)
    for entry in ledger.history():
        before = len(STORED[entry.dataset]["answer"])
        before += len(', "noise": "laplace"') * (entry.dataset == "screen")
        assert len(entry.answer) == before or entry.dataset in LESS_NOISE_NOW, entry.dataset


@pytest.mark.parametrize("name", CALLS)
def test_what_is_stored_has_one_length(name):
    """A disk that is nearly full must not prefer short answers, such as a clipped 0."""
    options = {"epsilon": 0.02} | ({} if name in ("test", "bounds") else {"allow_noisy": True})
    options |= {"draws": 96} if name == "test" else {}
    plain, stored = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while len(plain) < 20 or (len(set(plain)) == 1 and len(plain) < 400):
            drawn = CALLS[name](FRAME, **options)
            plain.append(len(drawn.to_json()))
            stored.append(len(padded(drawn)))
    assert len(set(plain)) > 1
    assert len(set(stored)) == 1


# Which data an answer belongs to


@pytest.mark.parametrize("name", CALLS)
def test_an_answer_is_never_given_for_another_dataset(ledger, name):
    call, kept = CALLS[name], {"ledger": ledger}
    first = call(FRAME, dataset="visits 2024", **kept)
    other = call(FRAME, dataset="visits 2025", **kept)
    again = call(FRAME, dataset="visits 2024", **kept)
    assert (first.replayed, other.replayed) == (None, None)
    assert again.replayed == ledger.history()[0].answered_at
    assert again == first
    told = f"stored answer of {again.drawn_on}"
    assert told in repr(again)
    assert told in again._repr_html_()
    assert "stored answer" not in repr(first) + first._repr_html_()
    assert [result.dataset for result in (first, other)] == ["visits 2024", "visits 2025"]
    assert [entry.dataset for entry in ledger.history()] == ["visits 2024", "visits 2025"]
    assert type(first).from_json(again.to_json()).replayed == again.replayed


@pytest.mark.parametrize("name", CALLS)
def test_a_ledger_needs_a_dataset(ledger, name):
    with pytest.raises(dpmic.ParameterError, match="so the data needs a name; pass dataset="):
        CALLS[name](FRAME, ledger=ledger)
    assert ledger.spent == 0
    assert CALLS[name](FRAME, dataset="visits").dataset == "visits"  # without a ledger, too


@pytest.mark.parametrize("name", CALLS)
def test_a_ledger_may_be_a_path(ledger, name):
    for path in (ledger.path, str(ledger.path)):
        CALLS[name](FRAME, ledger=path, dataset="visits")
    assert len(ledger.history()) == 1
    with pytest.raises(dpmic.LedgerError, match="no such ledger; check the path, or create it"):
        CALLS[name](FRAME, ledger=str(ledger.path) + "x", dataset="visits")


@pytest.mark.parametrize("name", CALLS)
def test_a_name_is_deprecated_and_still_tells_questions_apart(ledger, name):
    for words in ("one", "two"):
        with pytest.warns(DeprecationWarning, match="pass dataset=... to name the data") as said:
            CALLS[name](FRAME, ledger=ledger, dataset="visits", name=words)
        assert said[0].filename == private_calls.__file__
    assert len(ledger.history()) == 2


def test_an_answer_of_the_version_before_is_read(ledger):
    """Results that know neither dataset nor replay, as ledgers and files hold them."""
    published = dpmic.release("age", "dose", data=FRAME, epsilon=1.0, bounds=BOX)
    fields = published.to_dict()
    del fields["dataset"], fields["replayed"]
    assert dpmic.Release.from_dict(fields) == published


# The state of the process


@pytest.mark.parametrize("name", CALLS)
def test_the_programs_own_arithmetic_decides_nothing(ledger, name):
    """An error of numpy's would depend on the data, or give a free second draw."""
    for data, dataset in ((FRAME, "usual"), (FRAME * 1e-310, "tiny"), (-FRAME, "negative")):
        with np.errstate(all="raise"), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", dpmic.BoundsReminder)
            CALLS[name](data, ledger=ledger, dataset=dataset)
    assert all(entry.answered for entry in ledger.history())


def run(program):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True
    )


@pytest.mark.slow
def test_a_copy_without_metadata_publishes_and_prints(tmp_path):
    """Whatever is missing, nothing fails after the budget is spent."""
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    dpmic.Ledger(tmp_path / "people.ledger", epsilon=1.0)
    done = run(f"""
        import importlib.metadata as metadata, os, sys
        known = metadata.version
        def version(name):
            if name == "dpmic":
                raise metadata.PackageNotFoundError(name)
            return known(name)
        metadata.version = version
        os.chdir({str(tmp_path)!r})
        sys.argv = ["dpmic", "release", "people.csv", "age", "dose", "--epsilon", "1"]
        sys.argv += ["--bounds", "age=0:1", "--bounds", "dose=0:1", "--one-row-per-person", "--yes"]
        sys.argv += ["--ledger", "people.ledger", "--dataset", "2026", "--report", "r.html"]
        from dpmic.cli import main
        main()
    """)
    assert done.returncode == 0, done.stderr
    assert "differentially private" in done.stdout
    assert "dpmic unknown" in (tmp_path / "r.html").read_text()


@pytest.fixture
def searches(monkeypatch):
    """Note whether each search may leave out what cannot win."""
    asked = []

    def noting(kernel, fast, *given):
        asked.append(fast or given[-1])
        return kernel(*given)

    for name, fast in {"equi": False, "entries": False, "largest": True}.items():
        kernel = getattr(_kernels, name)
        monkeypatch.setattr(_kernels, name, functools.partial(noting, kernel, fast))
    return asked


@pytest.mark.parametrize(
    "name", ["micr-laplace", "mice-laplace", "micr-geometric", "matrix", "screen"]
)
def test_no_private_search_prunes(name, searches):
    """Its time would tell of the data."""
    QUERIES[name](FRAME)
    assert not any(searches)
    assert searches or name == "micr-geometric"  # which looks at tables of counts


def test_pruning_would_be_noted(searches):
    dpmic.mice(*FRAME[["age", "dose"]].to_numpy().T)
    dpmic.pairwise(FRAME, workers=1)
    assert searches
    assert all(searches)


# Whose rows count


@pytest.mark.parametrize("name", ["auto", "micr-laplace", "screen", "matrix"])
def test_a_person_has_no_more_rows_than_agreed(name):
    """One person has 13 rows where 5 are agreed on: the first 5 count, and the promise says so.

    How many rows people have is private: n is how many people there are.
    """
    many = pd.concat([FRAME, pd.concat([FRAME[:1]] * 12)], ignore_index=True)
    many["who"] = [f"p{i}" for i in range(N)] + ["p0"] * 12
    options = {"person": "who", "rows_per_person": 5, "allow_noisy": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        published = CALLS[name](many, **options)
    assert published.n == published.parameters["promised"] == N
    assert (published.rows_per_person, published.person) == (5, "who")
    words = "replacing all records of one person (who; only the first 5 of each count) changes"
    assert words in published.guarantee


@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_first_rows_of_each_person(most):
    from dpmic.data import first_rows

    who = RNG.integers(0, 40, 300)
    kept = first_rows(who, None, 300, most)
    expected = pd.DataFrame({"who": who}).groupby("who").head(most).index.tolist()
    assert kept.tolist() == expected


@pytest.mark.parametrize("name", [name for name in CALLS if name != "screen"])
def test_an_answer_is_never_given_for_another_unit(ledger, name):
    """The same question by household and by patient are two, and arrays of them have no names."""
    who = pd.DataFrame({"house": np.arange(N) // 2, "patient": np.arange(N)[::-1] // 2, 3: 0, 4: 0})
    who[3], who[4] = who["house"], who["patient"]
    both = FRAME.join(who)
    kept = {"ledger": ledger, "dataset": "visits"}
    if name not in ("test", "bounds"):
        kept["allow_noisy"] = True
    labels = ("house", "patient") if name == "matrix" else ("house", "patient", 3, 4)
    found = [CALLS[name](both, person=label, **kept) for label in labels]
    assert [result.person for result in found] == [str(label) for label in labels]
    assert len(ledger.history()) == len(labels)
    assert not any(result.replayed for result in found)


def test_arrays_of_identifiers_have_no_name_to_keep_an_answer_under(ledger):
    series = {"x": FRAME["age"], "y": FRAME["dose"], "epsilon": 1.0, "bounds": ((0, 1), (0, 1))}
    kept = {"ledger": ledger, "dataset": "visits"}
    with pytest.raises(dpmic.ParameterError, match="arrays have none; pass a frame"):
        dpmic.release(**series, person=np.arange(N), **kept)
    named = pd.Series(np.arange(N), name="patient")
    assert dpmic.release(**series, person=named, **kept).person == "patient"
    assert len(ledger.history()) == 1
