"""What is paid for arrives, nothing of somebody's is replaced, and pages tell no local facts."""

import html
import io
import json
import os
import re
import shlex
import subprocess
import sys
from types import SimpleNamespace

import commands
import pyarrow as pa
import pytest
from pyarrow import csv

import dpmic
from dpmic.cli import _output
from dpmic.cli._spending import Consent
from dpmic.privacy import release as releases

DPMIC = [sys.executable, "-m", "dpmic"]
RELEASE = ("release", "people.csv", "a", "b", "--epsilon", "1", *commands.BOUNDS)
SCREEN = ("screen", "people.csv", "--bounds-file", "bounds.toml", "--epsilon", "1", "--top", "1")
SURE = ("--one-row-per-person", "--yes")
LEDGER = ("--ledger", "p.ledger", "--dataset", "2026")


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    commands.folder(monkeypatch, tmp_path)
    return commands.runner(monkeypatch, capsys)


@pytest.fixture
def ledger(run):
    return dpmic.Ledger("p.ledger", epsilon=3.0)


class Terminal(io.StringIO):
    """Where somebody answers, perhaps after doing something else."""

    def __init__(self, answers, meanwhile=lambda: None):
        super().__init__(answers)
        self.meanwhile = meanwhile

    def isatty(self):
        return True

    def readline(self):
        self.meanwhile()
        return super().readline()


@pytest.fixture
def answering(monkeypatch, run):
    def call(terminal, *arguments):
        monkeypatch.setattr("dpmic.cli._spending._asking", lambda: True)
        monkeypatch.setattr(sys, "stdin", terminal)
        return run(*arguments)

    return call


# what a report may replace


@pytest.mark.parametrize("taken", ["people.csv", "bounds.toml", "p.ledger", "./people.csv"])
@pytest.mark.parametrize("kind", [None, os.link, os.symlink])
def test_a_report_never_replaces_what_the_command_uses(run, ledger, tmp_path, taken, kind):
    before = (tmp_path / taken).read_bytes()
    name = taken
    if kind is not None:
        if taken == "p.ledger" and kind is os.link:
            pytest.skip("a ledger has one name")
        name = "other.html"
        kind(tmp_path / taken, name)
    given = (*SCREEN, *SURE, *LEDGER, "--report", name, "--overwrite")
    code, out, err = run(*given)
    assert (code, out) == (2, "")
    assert err == (
        f"dpmic: --report {os.path.normpath(name)}: this command uses that file otherwise; "
        "choose another name.\n"
    )
    assert (tmp_path / taken).read_bytes() == before
    assert ledger.spent == 0


def test_nor_what_it_writes_besides(run):
    code, _, err = run("matrix", "people.csv", "--out", "s.html", "--report", "s.html")
    assert code == 2
    assert "this command uses that file otherwise" in err


@pytest.mark.parametrize("given", [(*SCREEN, *SURE, "--overwrite"), ("demo",)])
def test_a_report_replaces_pages_only(run, tmp_path, given):
    pytest.importorskip("statsmodels")
    (tmp_path / "r.html").write_text("a thesis")
    code, out, err = run(*given, "--report", "r.html")
    assert (code, out) == (2, "")
    assert "r.html: this file exists, and it is not a page of dpmic; choose another name" in err
    assert (tmp_path / "r.html").read_text() == "a thesis"
    for _ in range(2):
        assert run(*given, "--report", "page.html")[0] == 0


def test_a_page_that_exists_is_replaced_if_that_is_meant(run):
    given = ("score", "people.csv", "a", "b", "--report", "r.html")
    assert run(*given)[0] == 0
    code, _, err = run(*given)
    assert code == 2
    assert "this file exists; choose another name, or add --overwrite" in err
    assert run(*given, "--overwrite")[0] == 0


def test_a_file_that_appears_while_somebody_thinks_stays(answering, ledger, tmp_path):
    terminal = Terminal("y\n", lambda: (tmp_path / "r.html").write_text("a thesis"))
    given = (*RELEASE, SURE[0], *LEDGER, "--json")
    code, out, err = answering(terminal, *given, "--report", "r.html")
    assert code == 2
    assert (tmp_path / "r.html").read_text() == "a thesis"
    assert "the ledger keeps this release" in err
    assert json.loads(out)["n"] == commands.N


# outputs that fail


@pytest.mark.skipif(os.name == "nt", reason="a shell's way to close stdout")
@pytest.mark.parametrize("given", [(*RELEASE, *SURE, *LEDGER), ("--help",)])
def test_a_closed_stdout_is_refused_before(run, ledger, given):
    closing = ["sh", "-c", 'exec "$@" >&-', "sh", *DPMIC, *given]
    done = subprocess.run(closing, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "dpmic: standard output: it is closed; let it go somewhere.\n"
    assert ledger.spent == 0


def broken(*_, **__):
    raise ZeroDivisionError("somebody's data")


def full(*_, **__):
    raise dpmic.InputError("standard output", "No space left on device", "write elsewhere")


def closed(*_, **__):
    raise _output.ClosedPipe


@pytest.mark.parametrize(
    ("show", "words"),
    [(broken, "ZeroDivisionError: an output failed"), (full, "No space left on device")],
)
def test_what_cannot_be_printed_is_in_the_report(run, ledger, monkeypatch, tmp_path, show, words):
    monkeypatch.setattr(_output, "show", show)
    code, _, err = run(*RELEASE, *SURE, *LEDGER, "--report", "r.html")
    assert code == 2
    assert "differentially private" in (tmp_path / "r.html").read_text()
    last = err.splitlines()[-1]
    assert words in last
    assert "the ledger keeps this release" in last
    assert "it is in r.html" in last
    code, _, err = run(*RELEASE, *SURE, "--report", "other.html")
    assert "its epsilon is spent, and no ledger stored it; it is in other.html" in err
    assert "somebody's data" not in err


@pytest.mark.parametrize("show", [broken, full, closed])
def test_what_is_nowhere_else_is_printed_on_stderr(run, monkeypatch, show):
    monkeypatch.setattr(_output, "show", show)
    code, out, err = run(*RELEASE, *SURE, "--csv")
    assert (code, out) == (2, "")
    *_, result, line = err.splitlines()
    assert dpmic.Release.from_json(result).n == commands.N
    assert line.endswith("its epsilon is spent, and no ledger stored it; it is printed above.")


@pytest.mark.parametrize("kept", [LEDGER, ("--report", "r.html")])
def test_a_closed_pipe_is_quiet_where_something_keeps_the_result(run, ledger, monkeypatch, kept):
    monkeypatch.setattr(_output, "show", closed)
    code, out, err = run(*RELEASE, *SURE, *kept)
    assert (code, out) == (0, "")
    assert "epsilon is spent" not in err
    assert '"value"' not in err


def test_a_report_that_fails_without_a_ledger(run, monkeypatch):
    monkeypatch.setattr("dpmic.report.page", broken)
    code, out, err = run(*RELEASE, *SURE, "--json", "--report", "r.html")
    assert code == 2
    assert json.loads(out)["n"] == commands.N
    assert err.endswith("its epsilon is spent, and no ledger stored it; it was printed.\n")


def test_two_failures_do_not_hide_each_other(run, monkeypatch):
    monkeypatch.setattr(_output, "show", full)
    monkeypatch.setattr("dpmic.report.page", broken)
    code, _, err = run(*RELEASE, *SURE, "--report", "r.html")
    *_, result, first, second = err.splitlines()
    assert code == 2
    assert dpmic.Release.from_json(result).n == commands.N
    assert first.startswith("dpmic: standard output: No space left on device; its epsilon is spent")
    assert second.startswith("dpmic: ZeroDivisionError: an output failed by a fault of dpmic; its")


def test_nothing_was_spent_where_nothing_is_private(run, monkeypatch):
    monkeypatch.setattr(_output, "show", full)
    _, _, err = run("score", "people.csv", "a", "b")
    assert err.endswith("No space left on device; write elsewhere.\n")
    _, _, err = run("score", "people.csv", "a", "b", "--report", "r.html")
    assert err.endswith("No space left on device; it is in r.html.\n")


# how commands begin and end


@pytest.mark.parametrize("given", [(), ("ledger",), ("--debug",)])
def test_no_words_show_the_help_as_it_is(run, given):
    _, out, err = run(*given)
    _, helped, _ = run(*(word for word in given if word != "--debug"), "--help")
    assert (out + err).strip() == helped.strip()
    assert helped.count("\n") > 5


def test_ctrl_c_says_that_a_ledger_loses_nothing(run, ledger, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(releases.ReleaseQuery, "run", stopped)
        code, _, err = run(*RELEASE, *SURE, *LEDGER)
        sentence = "stopped; if epsilon was charged, the same command finishes for free\n"
        assert (code, err.endswith(f"dpmic: {sentence}")) == (130, True)
        code, _, err = run(*RELEASE, *SURE)
        assert (code, err.endswith("dpmic: stopped\n")) == (130, True)
    monkeypatch.setattr(_output, "show", stopped)
    assert run(*RELEASE, *SURE, *LEDGER)[2].endswith(sentence)


def test_a_fault_warns_of_data_in_tracebacks(run, monkeypatch):
    monkeypatch.setattr("dpmic.cli._inputs.private", broken)
    _, _, err = run(*RELEASE, *SURE)
    assert "--debug prints a traceback, which may contain data: read it before you send it" in err


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("bounds", "people.csv", "a", "--epsilon", "1", "--coverage", "3"), "coverage = 3"),
        (("bounds", "people.csv", "a", "--epsilon", "1", "--failure", "0"), "failure = 0"),
        (("test", "people.csv", "a", "b", "--epsilon", "1", "--dataset", ""), "dataset = ''"),
        (("test", "people.csv", "a", "b", "--epsilon", "1", "--draws", "0"), "draws = 0"),
        ((*RELEASE, "--dataset", ""), "dataset = ''"),
        ((*SCREEN, "--dataset", " "), "dataset = ' '"),
        (("test", "people.csv", "a", "b", "--allow-large-epsilon"), "only a private test takes it"),
    ],
)
def test_nobody_is_asked_to_agree_to_what_cannot_be(answering, given, words):
    unit = SURE[:1] if "--epsilon" in given else ()
    code, out, err = answering(Terminal("y\n"), *given, *unit)
    assert (code, out) == (2, "")
    assert words in err
    assert "[y/N]" not in err


def test_a_stored_answer_is_told_from_a_fresh_one(run, ledger):
    stored = "; nothing was spent. Corrected or other data needs another --dataset name.\n"
    _, first, err = run(*RELEASE, *SURE, *LEDGER, "--json")
    assert stored not in err
    _, second, err = run(*RELEASE, *SURE, *LEDGER, "--json")
    assert err.endswith(stored)
    first, second = json.loads(first), json.loads(second)
    assert (first["replayed"], second["replayed"]) == (None, ledger.history()[0].answered_at)
    assert first["value"] == second["value"]
    assert stored not in run(*RELEASE, *SURE, *LEDGER[:2], "--dataset", "corrected")[2]
    assert stored not in run(*RELEASE, *SURE)[2]
    assert ledger.spent == pytest.approx(2)


# the command on a page


def command_of(path):
    return html.unescape(re.search(r"<code>(dpmic .*?)</code>", path.read_text())[1])


def test_a_pasted_command_asks_the_same_of_the_same_budget(run, ledger, tmp_path):
    (tmp_path / "folder").mkdir()
    os.rename("bounds.toml", "folder/bounds.toml")
    given = ["screen", "people.csv", "--bounds-file=folder/bounds.toml", "--epsilon", "1"]
    given += ["--top", "1", "--one-row-per-person", "--ledger", str(tmp_path / "p.ledger")]
    given += ["--dataset", "visits 2024", "--allow-noisy"]
    shown = ["--report", "r.html", "--overwrite", "--debug", "--json", "-y"]
    code, first, _ = run(*given, *shown)
    assert code == 0
    command = command_of(tmp_path / "r.html")
    assert shlex.split(command) == ["dpmic", *given]
    _, second, _ = run(*shlex.split(command)[1:], "--yes", "--json")
    assert json.loads(second)["values"] == json.loads(first)["values"]
    assert json.loads(second)["replayed"] is not None
    assert ledger.spent == pytest.approx(1)


@pytest.mark.parametrize(
    ("answers", "unit"),
    [
        ("1\ny\n", "--one-row-per-person"),
        ("2\n1\ny\n", "--person 1"),
        ("3\n1\ny\n", "--one-row-per-person"),
    ],
)
def test_answers_become_options_before_the_end_of_options(answering, tmp_path, answers, unit):
    """As units: the value of one may stand in the command already, as the 1 of epsilon here."""
    table = pa.table({"1": range(40), "-a": range(40), "b": range(40)})
    csv.write_csv(table, "t.csv")
    given = ["release", "--epsilon", "1", "--bounds", "-a=0:40", "--bounds", "b=0:40"]
    given += ["--allow-noisy"]
    terminal = Terminal(answers)
    code, _, _ = answering(terminal, *given, "--report", "r.html", "--", "t.csv", "-a", "b")
    assert code == 0
    assert command_of(tmp_path / "r.html") == " ".join(["dpmic", *given, unit, "-- t.csv -a b"])


@pytest.mark.parametrize("value", ["--json", "--report", "--yes", "--debug", "--"])
def test_the_value_of_an_option_may_look_like_another(run, ledger, tmp_path, value):
    given = [*RELEASE, SURE[0], *LEDGER[:2], "--dataset", value]
    code, _, err = run(*given, "-y", "--report=r.html", "--debug")
    assert code == 0, err
    assert shlex.split(command_of(tmp_path / "r.html")) == ["dpmic", *given]
    assert [entry.dataset for entry in ledger.history()] == [value]


def test_what_was_given_is_not_added(run, tmp_path):
    run(*RELEASE, "--yes", "--rows-per-person=1", "--report", "r.html")
    assert command_of(tmp_path / "r.html") == f"dpmic {' '.join(RELEASE)} --rows-per-person=1"


# tables


def test_names_give_a_terminal_no_commands(run):
    twice = [2 * i for i in range(40)]
    csv.write_csv(pa.table({"\x1b[31mred": twice, "b\u202e": twice, "\x1b[2J": range(40)}), "t.csv")
    for given in (["score", "t.csv", "\x1b[31mred", "b\u202e"], ["matrix", "t.csv"]):
        code, out, err = run(*given)
        assert code == 0
        assert "\x1b" not in out + err
        assert "\u202e" not in out
        assert "\\x1b[31mred" in out


def test_fewer_pairs_in_json(run):
    given = ("matrix", "people.csv", "--columns", "a,b,c", "--json")
    whole = dpmic.Pairwise.from_json(run(*given)[1])
    some = json.loads(run(*given, "--top", "1")[1])
    assert some["n"] == commands.N
    ((x, y, mic),) = whole.top(1)
    assert [(pair["x"], pair["y"], pair["mic"]) for pair in some["pairs"]] == [(x, y, mic)]


def test_a_test_shows_chance_and_the_points(run, tmp_path):
    code, _, _ = run("test", "people.csv", "a", "b", "--permutations", "99", "--report", "t.html")
    assert code == 0
    page = (tmp_path / "t.html").read_text()
    assert "TICe of shuffled, unrelated records" in page
    assert "Each dot is a record" in page


def test_a_charge_without_an_answer_is_asked_about():
    """It costs nothing more, but something would be drawn and published."""
    consent = Consent(terms=None, yes=False, answered=())
    entry = SimpleNamespace(answer=None)
    query = SimpleNamespace(stored=lambda: entry, check=lambda: None)
    with pytest.raises(dpmic.ParameterError, match="there is no terminal to ask for it"):
        consent._ask(query, None)
    entry.answer = "{}"
    consent._ask(query, None)
