"""What every private call has in common: a dataset, the state of the process, whose rows count."""

import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pandas as pd
import pytest

import dpmic

RNG = np.random.default_rng(11)
N = 1200
AGE = RNG.uniform(0, 1, N)
FRAME = pd.DataFrame({"age": AGE, "dose": AGE**2, "ward": RNG.integers(0, 9, N) / 8})
BOX = {"age": (0, 1), "dose": (0, 1), "ward": (0, 1)}
CALLS = {
    "micr-laplace": lambda data, **o: dpmic.release(
        "age", "dose", data=data, epsilon=1.0, bounds=BOX, **o
    ),
    "mice-laplace": lambda data, **o: dpmic.release(
        "age", "dose", data=data, epsilon=5.0, mechanism="mice-laplace", **o
    ),
    "micr-geometric": lambda data, **o: dpmic.release(
        "age", "dose", data=data, epsilon=1.0, bounds=BOX, mechanism="micr-geometric", **o
    ),
    "screen": lambda data, **o: dpmic.screen(data, bounds=BOX, epsilon=3.0, top=1, **o),
    "matrix": lambda data, **o: dpmic.release_pairwise(data, bounds=BOX, epsilon=3.0, **o),
    "test": lambda data, **o: dpmic.release_test(
        "age", "dose", data=data, epsilon=1.0, draws=19, **o
    ),
    "bounds": lambda data, **o: dpmic.estimate_bounds("age", data=data, epsilon=1.0, **o),
}


@pytest.fixture
def ledger(tmp_path):
    return dpmic.Ledger(tmp_path / "people.ledger", epsilon=20.0)


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
    told = f"(stored answer of {again.drawn_on})"
    assert told in repr(again)
    assert told in again._repr_html_()
    assert "stored answer" not in repr(first) + first._repr_html_()
    assert [result.dataset for result in (first, other)] == ["visits 2024", "visits 2025"]
    assert [entry.dataset for entry in ledger.history()] == ["visits 2024", "visits 2025"]
    assert type(first).from_json(again.to_json()).replayed == again.replayed


@pytest.mark.parametrize("name", CALLS)
def test_a_ledger_needs_a_dataset(ledger, name):
    with pytest.raises(dpmic.ParameterError, match="which data each belongs to; pass dataset="):
        CALLS[name](FRAME, ledger=ledger)
    assert ledger.spent == 0
    assert CALLS[name](FRAME, dataset="visits").dataset == "visits"  # without a ledger, too


@pytest.mark.parametrize("name", CALLS)
def test_a_ledger_may_be_a_path(ledger, name):
    for path in (ledger.path, str(ledger.path)):
        CALLS[name](FRAME, ledger=path, dataset="visits")
    assert len(ledger.history()) == 1
    with pytest.raises(dpmic.LedgerError, match="no such ledger; make it once for the group"):
        CALLS[name](FRAME, ledger=str(ledger.path) + "x", dataset="visits")


@pytest.mark.parametrize("name", CALLS)
def test_a_name_is_deprecated_and_still_tells_questions_apart(ledger, name):
    for words in ("one", "two"):
        with pytest.warns(DeprecationWarning, match="pass dataset=... to name the data") as said:
            CALLS[name](FRAME, ledger=ledger, dataset="visits", name=words)
        assert said[0].filename == __file__
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


@pytest.mark.parametrize("name", ["micr-laplace", "mice-laplace", "screen", "matrix"])
def test_kernels_are_there_before_the_budget_is_spent(ledger, name, monkeypatch):
    from dpmic import _kernels

    def missing(*_, **__):
        raise ImportError("no compiler")

    monkeypatch.setattr(_kernels.tiled, "entries", missing)
    with pytest.raises(ImportError):
        CALLS[name](FRAME, ledger=ledger, dataset="visits")
    assert ledger.history() == []


# Whose rows count


@pytest.mark.parametrize("name", [name for name in CALLS if name != "test"])
def test_a_person_has_no_more_rows_than_agreed(name):
    """One person has 13 rows where 5 are agreed on: the first 5 count, and the promise says so."""
    many = pd.concat([FRAME, pd.concat([FRAME[:1]] * 12)], ignore_index=True)
    many["who"] = [f"p{i}" for i in range(N)] + ["p0"] * 12
    options = {"person": "who", "rows_per_person": 5, "allow_noisy": True}
    if name == "bounds":
        del options["allow_noisy"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        published = CALLS[name](many, **options)
    assert published.n == N + 4
    assert (published.rows_per_person, published.person) == (5, "who")
    words = "all of one person's records (by who; of each only the first 5 are used) are replaced"
    assert words in published.guarantee


@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_first_rows_of_each_person(most):
    from dpmic.frames import first_rows

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
