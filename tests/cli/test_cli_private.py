"""Commands that spend: whom they protect, what they show, what they ask, what they lose."""

import io
import json
import re
import sys
from pathlib import Path

import commands
import numpy as np
import pytest
from sweeps import sweep

import dpmic
from dpmic.cli import _application
from dpmic.parameters import expected
from dpmic.parameters.expected import Surface
from dpmic.privacy import _guards

RELEASE = ("release", "people.csv", "a", "b", "--epsilon", "1", *commands.BOUNDS)
SCREEN = ("screen", "people.csv", "--bounds-file", "bounds.toml", "--epsilon", "1")
TEST = ("test", "people.csv", "a", "c", "--epsilon", "1", "--draws", "19")
RANGE = ("bounds", "people.csv", "a", "--epsilon", "1")
PRIVATE = {
    "release": RELEASE,
    "screen": (*SCREEN, "--top", "2"),
    "all": (*SCREEN, "--all"),
    "test": TEST,
    "bounds": RANGE,
}
SURE = ("--one-row-per-person", "--yes")
KEPT = ("--ledger", "p.ledger", "--dataset", "2026")


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    commands.folder(monkeypatch, tmp_path)
    return commands.runner(monkeypatch, capsys)


@pytest.fixture
def answering(monkeypatch, run):
    """Sit at a terminal and answer."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def call(answers, *arguments):
        monkeypatch.setattr("dpmic.cli._spending._asking", lambda: True)
        monkeypatch.setattr(sys, "stdin", Terminal(answers))
        return run(*arguments)

    return call


def budget(run, total="3"):
    run("ledger", "create", "p.ledger", "--epsilon", total)
    return dpmic.Ledger("p.ledger")


@pytest.mark.parametrize("command", PRIVATE)
def test_three_forms(run, command):
    run("ledger", "create", "p.ledger", "--epsilon", "3")
    given = (*PRIVATE[command], *SURE, *KEPT)
    code, out, _ = run(*given)
    assert code == 0
    assert "differentially private with epsilon = 1" in out
    content = json.loads(run(*given, "--json")[1])
    assert content["n"] == commands.N
    head, *rows = run(*given, "--csv")[1].splitlines()
    assert len(rows) == {"screen": 2, "all": 3}.get(command, 1)
    assert "," in head
    assert dpmic.Ledger("p.ledger").spent == pytest.approx(1)  # asked once, shown three times


@pytest.mark.parametrize("command", ["release", "screen", "all", "test"])
def test_private_reports(run, tmp_path, command):
    run("ledger", "create", "p.ledger", "--epsilon", "3")
    code, _, err = run(*PRIVATE[command], *SURE, *KEPT, "--report", "r.html")
    page = (tmp_path / "r.html").read_text()
    assert code == 0
    assert "the report is in" in err
    assert "differentially private" in page
    assert "--one-row-per-person" in page


def exact():
    """What nobody may see: scores, sorted values, and the ends of the columns."""
    pairs = {"ab": (commands.A, commands.B), "ac": (commands.A, commands.C)}
    pairs["bc"] = (commands.B, commands.C)
    ends = {"a": (-1, 1), "b": (0, 1), "c": (0, 1)}
    for (x, y), columns in pairs.items():
        for B in (None, *range(4, 200, 2)):
            yield dpmic.micr(*columns, bounds=(ends[x], ends[y]), B=B).mic
        yield dpmic.mice(*columns).mic
    for values in (commands.A, commands.B, commands.C):
        yield from (values.min(), values.max(), np.median(values))


@pytest.mark.slow
@pytest.mark.parametrize("command", PRIVATE)
def test_nothing_without_noise_is_printed(run, tmp_path, command):
    """In 12 decimals: noise meets 9 of one of these hundred numbers once in 100,000 runs."""
    numbers = [f"{value:.12f}" for value in exact() if 0 < abs(value) < 1]
    options = [] if command == "bounds" else ["--report", "r.html"]
    code, out, err = run(*PRIVATE[command], *SURE, "--json", *options)
    assert code == 0
    seen = out + err + ((tmp_path / "r.html").read_text() if options else "")
    texts = re.findall(r"-?\d+\.\d{6,}(?:e-?\d+)?", seen)
    printed = {f"{float(text):.12f}" for text in texts}
    assert len(printed) > 1 or command == "bounds"  # whose ends are round numbers
    assert not printed & set(numbers)


@sweep("command", PRIVATE)
def test_the_unit_and_the_consent_are_never_assumed(run, command):
    code, out, err = run(*PRIVATE[command], "--yes")
    assert (code, out) == (2, "")
    assert "the privacy unit: the options do not say how many rows one person can have; pass" in err
    code, out, err = run(*PRIVATE[command], "--one-row-per-person")
    assert (code, out) == (2, "")
    assert "your consent: there is no terminal to ask for it; add --yes" in err


def test_the_unit_reaches_the_release(run):
    published = json.loads(run(*RELEASE, "--yes", "--person", "id", "--json")[1])
    assert (published["n"], published["person"]) == (commands.N // 2, "id")
    published = json.loads(run(*RELEASE, "--yes", "--rows-per-person", "2", "--json")[1])
    assert (published["n"], published["rows_per_person"]) == (commands.N, 2)


def test_people_by_text_and_by_number(run, tmp_path):
    """Spaces around a name, of digits or not, tell nobody apart."""
    rows = [f"{i // 2}{' ' * (i % 2)},{i},{i}" for i in range(40)]
    (tmp_path / "n.csv").write_text("who,a,b\n" + "\n".join(rows) + "\n")
    (tmp_path / "t.csv").write_text(
        "who,a,b\n" + "\n".join(f"p{i // 2} ,{i},{i}" for i in range(40)) + "\n"
    )
    bounds = ("--bounds", "a=0:40", "--bounds", "b=0:40", "--person", "who", "--yes", "--json")
    bounds += ("--allow-noisy",)
    for file in ("n.csv", "t.csv"):
        _, out, _ = run("release", file, "a", "b", "--epsilon", "1", *bounds)
        assert json.loads(out)["n"] == 20


def test_a_person_who_is_called_like_a_missing_value_is_named_as_such(run, tmp_path):
    lines = [f"{i},{i},{i}" for i in range(100)]
    (tmp_path / "n.csv").write_text("who,a,b\n" + "\n".join(lines) + "\n")
    given = ("release", "n.csv", "a", "b", "--bounds", "a=0:99", "--bounds", "b=0:99", "--yes")
    code, _, err = run(*given, "--epsilon", "5", "--person", "who", "--na", "50")
    assert code == 2
    assert "column who: a row does not say whose it is" in err
    assert "no person may be called - or the like or, in a file, like the missing" in err
    assert "like the missing values (--na ...)" in err


def test_the_plan_is_shown_and_no_means_no(run, answering, monkeypatch):
    monkeypatch.setattr(_guards, "_reminded", False)
    ledger = budget(run)
    code, out, err = answering("n\n", *RELEASE, "--one-row-per-person", *KEPT, "--json")
    assert (code, out) == (1, "")
    shown = " ".join(err.split())
    assert "costs epsilon = 1 " in shown
    assert "epsilon 3 of 3 left, 2 after this" in shown
    assert "expected error" in shown
    assert "from the value in the whole population, on average" in shown
    assert "noise within 0.0" in shown
    assert re.search(r"in 95% of cases, 0\.0\d+ or more above it in 10% of cases", shown)
    assert "protects a person, who has one row (not checked, dpmic takes your word;" in shown
    assert shown.index("note: choose bounds") < shown.index("[y/N]")  # afterwards is too late
    assert err.endswith("dpmic: nothing was spent\n")
    assert ledger.spent == 0


@pytest.mark.parametrize(("given", "promise"), [((), "0.8, the default"), (("0.9",), "0.9")])
def test_the_plan_of_dropped_records_names_the_promise(run, answering, given, promise):
    option = ("--complete", *given) if given else ()
    _, _, err = answering("n\n", *RELEASE, "--one-row-per-person", "--missing", "drop", *option)
    shown = " ".join(err.split())
    assert f"have both, at least {1600 + 200 * len(given):,} (--complete {promise})" in shown
    assert "A promise above the truth lowers scores, and no message says so" in shown


@pytest.mark.parametrize("command", ["screen", "all"])
def test_the_plan_of_a_table_says_what_it_will_be_worth(run, answering, monkeypatch, command):
    flat = [
        {"n": n, "epsilon": e, **dict.fromkeys(expected.QUANTITIES, 0.0123)}
        for n in (10, 10_000)
        for e in (0.001, 10)
    ]
    names = ("capped-laplace", "micr-laplace")
    monkeypatch.setattr(expected, "surfaces", lambda: dict.fromkeys(names, Surface.of(flat)))
    shown = [
        " ".join(answering("n\n", *PRIVATE[command], "--one-row-per-person", *more)[2].split())
        for more in ((), ("--axes", "linear"))
    ]
    error = "expected error 0.012 from the value in the whole population, on average; at most "
    error += "0.012 in 90% of cases"
    assert error in shown[0]
    chance = "a pair that scores 0.5 is selected with probability "
    assert (chance in shown[0]) == (command == "screen")
    assert "expected error" not in shown[1]  # simulated for the default axes
    assert chance not in shown[1]


@pytest.mark.parametrize("command", PRIVATE)
def test_yes_spends_once(run, answering, command):
    ledger = budget(run)
    given = (*PRIVATE[command], "--one-row-per-person", *KEPT, "--json")
    code, first, err = answering("y\n", *given)
    assert code == 0
    assert "[y/N]" in err
    assert ledger.spent == pytest.approx(1)
    again = json.loads(answering("y\n", *given)[1])
    assert again.pop("replayed") is not None
    assert again == {k: v for k, v in json.loads(first).items() if k != "replayed"}
    assert ledger.spent == pytest.approx(1)


@pytest.mark.parametrize("command", PRIVATE)
def test_a_stored_answer_needs_no_consent(run, answering, command):
    """Nothing is spent, so nobody is asked, and --yes is not needed."""
    ledger = budget(run)
    given = (*PRIVATE[command], "--one-row-per-person", *KEPT, "--json")
    code, out, err = run(*given)
    assert (code, out, ledger.spent) == (2, "", 0)
    assert "your consent: there is no terminal to ask for it; add --yes" in err
    first = json.loads(run(*given, "--yes")[1])
    for ask in (run, lambda *words: answering("", *words)):
        code, out, err = ask(*given)
        assert code == 0
        assert "; nothing was spent" in err
        assert "[y/N]" not in err
        assert {**json.loads(out), "replayed": None} == first
    assert ledger.spent == pytest.approx(1)


def test_what_was_charged_is_finished_at_no_cost(run, monkeypatch):
    """As after a crash between the charge and the answer; something is drawn, so it is asked."""
    ledger = budget(run, "1")
    given = (*RELEASE, "--one-row-per-person", *KEPT)
    with monkeypatch.context() as patch:
        patch.setattr(
            dpmic.Ledger, "draw_once", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        code, _, err = run(*given, "--yes")
    assert code == 130
    assert "the same command finishes for free" in err
    assert "there is no terminal to ask for it" in run(*given)[2]
    assert run(*given, "--yes")[0] == 0
    assert len(ledger.history()) == 1


def test_what_is_shown_is_what_runs(run, answering, monkeypatch):
    """One query: prepared once, shown, and run."""
    from dpmic.privacy.query import Query

    shown, real = [], Query.run
    monkeypatch.setattr(
        "dpmic.cli._spending._shown", lambda query, *_: shown.append(query) or [("what", "x")]
    )
    monkeypatch.setattr(Query, "run", lambda self: shown.append(self) or real(self))
    for command in PRIVATE.values():
        assert answering("y\n", *command, "--one-row-per-person")[0] == 0
        one, other = shown
        assert one is other
        shown.clear()


def test_private_commands_share_their_options():
    shared = {"one_row", "person", "ledger", "dataset", "name", "allow_large_epsilon", "yes"}
    for name in ("release", "screen", "bounds", "test"):
        options = {option.name for option in _application.command().commands[name].params}
        assert shared | {"as_json", "as_csv"} <= options, name
        assert ("rows" in options) == (name != "test")


@pytest.mark.parametrize(
    ("answers", "unit"),
    [
        ("1\ny\n", (commands.N, None, 1)),
        ("2\nid\ny\n", (commands.N // 2, "id", 1)),
        ("3\n2\ny\n", (commands.N, None, 2)),
    ],
)
def test_the_unit_is_asked_for(answering, tmp_path, answers, unit):
    code, out, err = answering(answers, *RELEASE, "--json", "--report", "r.html")
    content = json.loads(out)
    assert code == 0
    assert "Whose privacy is protected?" in err
    assert (content["n"], content["person"], content["rows_per_person"]) == unit
    options = {1: "--person id" if unit[1] else "--one-row-per-person", 2: "--rows-per-person 2"}
    assert options[unit[2]] in (tmp_path / "r.html").read_text()  # what repeats it


@pytest.mark.parametrize("answers", ["", "4\n", "3\nmany\n", "2\nnobody\n", "1\n"])
def test_other_answers_spend_nothing(run, answering, answers):
    ledger = budget(run)
    code, out, err = answering(answers, *RELEASE, *KEPT)
    assert code in (1, 2)
    assert out == ""
    assert "dpmic: " in err.splitlines()[-1]
    assert ledger.spent == 0


def test_a_budget_that_is_spent_refuses(run, answering):
    ledger = budget(run, "1.5")
    kept = (*KEPT, "--json", *SURE)
    _, first, _ = run(*RELEASE, *kept)
    code, out, err = run(*SCREEN, "--top", "1", *kept)
    assert (code, out) == (1, "")
    assert "has spent 1 of 1.5; pass at most 0.5" in err
    assert answering("", *SCREEN, "--top", "1", *kept[:5], SURE[0])[0] == 1  # not even asked
    assert json.loads(run(*RELEASE, *kept)[1])["value"] == json.loads(first)["value"]
    assert ledger.spent == pytest.approx(1)


def test_outputs_are_checked_before_anything_is_spent(run, tmp_path):
    ledger = budget(run)
    (tmp_path / "r.html").write_text("kept")
    for path in ("r.html", "no/r.html", "."):
        code, out, _ = run(*RELEASE, *SURE, *KEPT, "--report", path)
        assert (code, out, ledger.spent) == (2, "", 0)


def test_a_failed_output_loses_nothing(run, monkeypatch, tmp_path):
    ledger = budget(run)
    given = (*RELEASE, *SURE, *KEPT, "--json")

    def full(*_, **__):
        raise dpmic.ParameterError("r.html", "the disk is full", "choose another")

    with monkeypatch.context() as patch:
        patch.setattr("dpmic.report.save", full)
        code, printed, err = run(*given, "--report", "r.html")
    assert code == 2
    assert "the ledger keeps this release: the same command shows it again at no cost" in err
    assert json.loads(printed)["epsilon"] == pytest.approx(1)  # the other output got it
    code, again, _ = run(*given, "--report", "r.html")
    assert code == 0
    assert json.loads(again)["value"] == json.loads(printed)["value"]
    assert ledger.spent == pytest.approx(1)


@sweep(
    ("arguments", "words"),
    [
        ([*RELEASE[:6], *SURE], "--bounds: column a has none"),
        ([*RELEASE, *SURE, "--mechanism", "mice-laplace"], "mice-laplace does not use bounds"),
        ([*RELEASE, *SURE, "--person", "id"], "it is given more than once"),
        ([*RELEASE, "--yes", "--person", "a"], "--person a: this column is also scored"),
        ([*RELEASE, "--yes", "--person", "nobody"], "column 'nobody': there is no such column"),
        ([*RELEASE, *SURE, "--ledger", "no.ledger"], "dpmic ledger create no.ledger --epsilon 3"),
        (
            [*SCREEN, *SURE, "--top", "2", "--epsilon", "0.01"],
            "or --allow-noisy to publish anyway",
        ),
        ([*SCREEN, *SURE], "--top, --all: exactly one of the two is needed"),
        ([*SCREEN, *SURE, "--all", "--top", "1"], "--top, --all: exactly one of the two is needed"),
        ([*SCREEN, *SURE, "--all", "--split", "0.5"], "with --all nothing is selected"),
        ([*SCREEN, *SURE, "--top", "1", "--delta", "1e-6"], "--delta: a selection needs none"),
        ([*SCREEN, *SURE, "--top", "9"], "there are only 3 pairs"),
        (
            ["screen", "people.csv", "--epsilon", "1", "--top", "1", *SURE],
            "no column has bounds or categories; add",
        ),
        ([*TEST, *SURE, "--seed", "1"], "--seed: a private test does not take it"),
        ([*TEST, *SURE, "--missing", "drop"], "--missing drop: a private test does not take it"),
    ],
)
def test_what_is_refused_before_data_is_read(run, arguments, words):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert len([line for line in err.splitlines() if "note:" not in line]) == 1


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\nsecret-7731,3\n",
        "a,b\n1,2\n1,2,secret-7731\n",
        "a,b\n" + "1,2\n" * 9 + ",7731\n",
        "a,b\n" + "77317731773177317731,1\n" * 4,
        "a,b\n" + "1,2\n" * 9 + "1,inf\n",
    ],
)
def test_refusals_hold_no_value_count_or_position(run, tmp_path, text):
    (tmp_path / "bad.csv").write_text(text)
    code, out, err = run("release", "bad.csv", *RELEASE[2:], *SURE, "--allow-noisy", "--debug")
    assert (code, out) == (2, "")
    message = err.splitlines()[-1]
    assert "7731" not in err
    assert not re.search(r"\d", re.sub(r"float64|UTF-8", "", message))


def test_warnings_are_notes(run, monkeypatch):
    monkeypatch.setattr(_guards, "_reminded", False)
    monkeypatch.setattr(_guards, "_warned", set())
    _, _, err = run(*RELEASE, *SURE)
    assert "dpmic: note: choose bounds from domain knowledge" in err
    _, _, err = run(*RANGE[:-1], "0.01", *SURE)
    assert err.count("dpmic: note: n = 2000 at epsilon = 0.01 is too little for a good range") == 1
    _, _, err = run(*RELEASE, *SURE, "--name", "old")
    assert err.count("note: --name ... is deprecated; pass --dataset ... to name the data") == 1
    assert "Warning" not in err


def test_a_word_that_is_taken_is_said(run):
    """Without a column of identifiers nobody can check how many rows a person has."""
    _, _, err = run(*RELEASE, "--rows-per-person", "5", "--yes")
    assert "protects a person, with at most 5 rows (not checked, dpmic takes your word" in err
    _, _, err = run(*RELEASE, "--person", "id", "--yes")
    assert "takes your word" not in err


def test_more_rows_of_a_person_than_agreed_are_not_used(run, tmp_path):
    """One person has 1,301 of 3,000 rows; five may be used."""
    rows = [f"{0 if i < 1300 else i},{i % 50},{i % 50}" for i in range(3000)]
    (tmp_path / "v.csv").write_text("who,a,b\n" + "\n".join(rows) + "\n")
    given = ("release", "v.csv", "a", "b", "--bounds", "a=0:50", "--bounds", "b=0:50", "--yes")
    given += ("--epsilon", "5", "--rows-per-person", "5", "--json")
    published = json.loads(run(*given, "--person", "who")[1])
    assert published["n"] == 1701  # people: how many rows they have is private
    assert (published["person"], published["rows_per_person"]) == ("who", 5)
    assert json.loads(run(*given)[1])["n"] == 3000


def test_a_useless_screening_is_refused_before_consent(answering, run):
    ledger = budget(run)
    given = (*SCREEN, "--top", "2", "--epsilon", "0.01", SURE[0], "--ledger", "p.ledger")
    given += ("--dataset", "2026")
    code, out, err = answering("y\n", *given)
    assert (code, out) == (2, "")
    assert "the noise is too large for 2,000 records: a value would be within 0." in err
    assert "[y/N]" not in err
    assert ledger.spent == 0
    code, _, err = answering("y\n", *given, "--allow-noisy")
    assert code == 0
    assert "or more above it in 10% of cases" in " ".join(err.split())


def test_a_ledger_needs_a_dataset(run):
    ledger = budget(run)
    for command in PRIVATE.values():
        code, out, err = run(*command, *SURE, "--ledger", "p.ledger")
        assert (code, out) == (2, "")
        assert "pass --dataset 'visits 2024', and a new name for corrected" in err
    assert ledger.spent == 0


def test_another_file_never_gets_the_first_ones_number(run, tmp_path):
    """Two years' files with the same columns and n, one ledger, the same call."""
    ledger = budget(run)
    (tmp_path / "y2024.csv").write_text((tmp_path / "people.csv").read_text())
    (tmp_path / "y2025.csv").write_text(
        "a,b\n" + "".join(f"{v},0.5\n" for v in commands.A.tolist())
    )
    given = (*RELEASE[2:], *SURE, "--ledger", "p.ledger", "--json", "--dataset")
    first = json.loads(run("release", "y2024.csv", *given, "visits 2024")[1])
    second = json.loads(run("release", "y2025.csv", *given, "visits 2025")[1])
    assert first["value"] > 0.5 > second["value"]
    assert (first["replayed"], second["replayed"]) == (None, None)
    assert ledger.spent == pytest.approx(2)
    _, _, err = run(
        "release", "y2024.csv", *given[:-2], "--dataset", "visits 2024", "--report", "r.html"
    )
    drawn = ledger.history()[0].answered_at[:16].replace("T", " ") + " UTC"
    assert f"note: the ledger already has this answer about 'visits 2024', from {drawn};" in err
    page = (tmp_path / "r.html").read_text()
    assert f"stored answer of {drawn} for the dataset visits 2024, and" in page
    assert ledger.spent == pytest.approx(2)


ESTIMATE = ("estimate", "estimate_low", "estimate_high")


@pytest.mark.parametrize("command", ["release", "screen", "all"])
def test_the_estimate_is_shown_where_it_is_asked_for(run, command):
    """With its own interval, in the table, in CSV and in the report; unasked nowhere."""
    budget(run)
    given = (*PRIVATE[command], *SURE, *KEPT)
    plain, csv = run(*given, "--report", "plain.html")[1], run(*given, "--csv")[1]
    assert "95%; covers the privacy noise, not sampling error" in re.sub(r"\s+", " ", plain)
    assert "estimate" not in plain + csv
    asked, numbers = (run(*given, "--estimate", *more)[1] for more in ((), ("--csv",)))
    assert "covers the privacy noise and sampling error" in re.sub(r"\s+", " ", asked)
    heads, first, *_ = (line.split(",") for line in numbers.splitlines())
    assert tuple(name for name in heads if name not in csv.splitlines()[0].split(",")) == ESTIMATE
    estimate, low, high = (float(first[heads.index(name)]) for name in ESTIMATE)
    assert low <= estimate <= high
    assert f"{estimate:.4f}" in asked
    run(*given, "--estimate", "--report", "asked.html")
    pages = [Path(f"{name}.html").read_text(encoding="utf-8") for name in ("plain", "asked")]
    assert ["estimate of MIC*" in page for page in pages] == [False, True]


@sweep("command", ["release", "screen"])
def test_groups_have_no_estimate_and_nothing_is_spent(run, command):
    run("ledger", "create", "people.ledger", "--epsilon", "3")
    columns = ("a", "b") if command == "release" else ("--top", "1")
    given = (
        command,
        "people.csv",
        *columns,
        *commands.BOUNDS,
        "--by",
        "c",
        "--at-least",
        "200",
        "--yes",
    )
    given += ("--epsilon", "1", "--one-row-per-person", "--categories", "c=x,y", "--estimate")
    code, out, err = run(
        *given, "--ledger", "people.ledger", "--dataset", "d", "--report", "r.html"
    )
    assert (code, out) == (2, "")
    assert "--estimate: it was not measured for groups" in err
    assert dpmic.Ledger("people.ledger").spent == 0


def test_an_estimate_that_is_not_known_costs_no_result(run):
    """Its grids were never simulated, which is found out after the release: it is shown anyway."""
    given = (*RELEASE, *SURE, "--B", "16", "--estimate")
    code, out, _ = run(*given)
    assert code == 0
    assert "not known" in out
    head, row = (line.split(",") for line in run(*given, "--csv")[1].splitlines())
    assert [row[head.index(name)] for name in ESTIMATE] == ["", "", ""]


def test_a_noisy_histogram_says_that_its_value_is_biased(run):
    code, out, _ = run(*RELEASE, *SURE, "--mechanism", "micr-geometric")
    assert code == 0
    assert "biased by the noise" in out
    assert "noise interval" not in out
