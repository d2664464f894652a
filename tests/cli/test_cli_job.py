"""A table to a private result with one file: init, check, rehearse, run."""

import io
import json
import re
import sys
import tomllib
from html import unescape

import commands
import pytest

import dpmic
from dpmic.cli import _application
from dpmic.job._entries import KEYS
from dpmic.privacy import _guards

JOB = "people.dpmic.toml"
REPORT, REHEARSAL = "people.html", "people.rehearsal.html"
HEADER = "id,a,b,c\n"
FILLED = {
    'dataset = "?"': 'dataset = "people 2024"',
    'person = "?"': 'person = "id"',
    'rule = "?"': 'rule = "refuse"',
    'id = "?"': 'id = "ignore"',
    'a  = "?"': "a = { bounds = [-1, 1] }",
    'b  = "?"': "b = { bounds = [0, 1] }",
    'c  = "?"': "c = { bounds = [0, 1.0] }",
    "top = 5": "top = 2   # <b> & more",
    "# people = 5000": "people = 1000",
}


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    commands.folder(monkeypatch, tmp_path)
    monkeypatch.setattr(_guards, "_reminded", True)
    return commands.runner(monkeypatch, capsys)


@pytest.fixture
def answering(monkeypatch, run):
    """Sit at a terminal and answer."""

    def call(answers, *arguments):
        monkeypatch.setattr("dpmic.cli._spending._asking", lambda: True)
        monkeypatch.setattr(sys, "stdin", io.StringIO(answers))
        return run(*arguments)

    return call


@pytest.fixture
def job(run, tmp_path):
    """A job file that is filled in, and a ledger."""
    assert run("init", "people.csv")[0] == 0
    run("ledger", "create", "people.ledger", "--epsilon", "3")
    path = tmp_path / JOB
    fill(path, FILLED)
    return path


def fill(path, replaced):
    text = path.read_text()
    for old, new in replaced.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text)


def seal(tmp_path):
    """Leave of the table nothing that could be read but its header."""
    (tmp_path / "people.csv").write_bytes(HEADER.encode() + b"\xff\xfe;;\x00,,,,,,\n" * 99)


def test_from_a_table_to_a_private_result(run, tmp_path):
    code, out, _ = run("init", "people.csv")
    assert (code, out) == (
        0,
        f'Wrote {JOB}. Replace every "?" in it, then run: dpmic check {JOB}\n',
    )
    code, out, err = run("check", JOB)
    assert (code, out) == (2, "")
    assert err.startswith(f"dpmic: {JOB}: 8 entries are missing or wrong; correct them:\n  line ")
    assert len(err.splitlines()) == 9
    assert "data.dataset: it is not filled in; give the data a name for the ledger: dataset" in err
    fill(tmp_path / JOB, FILLED)
    _, _, err = run("check", JOB)
    assert "there is no such ledger; check the name, or create it: " in err
    run(*err.split("create it: dpmic ")[1].rstrip(".\n").split())
    code, out, _ = run("check", JOB)
    assert code == 0
    shown = " ".join(out.split())
    assert "publishes the 2 strongest of 3 pairs, selected privately, with MIC" in shown
    assert "protects a person, by id; the first row of each is used n 1,000 (public)" in shown
    assert "noise within 0.0" in shown
    assert "expected error 0.0" in shown
    assert "ledger epsilon 3 of 3 left, 2 after this" in shown
    code, out, _ = run("rehearse", JOB)
    assert code == 0
    assert out.startswith("Rehearsal on made-up data. ")
    code, out, err = run("run", JOB, "--yes")
    assert code == 0
    assert out.startswith("Private scores of pairs, for epsilon = 1 in total")
    assert (tmp_path / REPORT).exists()
    assert dpmic.Ledger("people.ledger").spent == pytest.approx(1)


# the header alone


def test_no_record_is_read_before_it_runs(run, job, tmp_path):
    seal(tmp_path)
    before = (tmp_path / "people.ledger").read_bytes()
    assert run("init", "people.csv", "--overwrite")[0] == 0
    fill(job, FILLED)
    assert run("rehearse", JOB)[0] == 0
    assert (tmp_path / "people.ledger").read_bytes() == before
    assert run("check", JOB)[0] == 0
    assert dpmic.Ledger("people.ledger").history() == []


def test_a_rehearsal_opens_neither_the_table_nor_the_ledger(run, job, tmp_path):
    (tmp_path / "people.csv").unlink()
    (tmp_path / "people.ledger").write_bytes(b"not a ledger")
    assert run("rehearse", JOB)[0] == 0
    assert (tmp_path / "people.ledger").read_bytes() == b"not a ledger"


# init


def test_init_overwrites_nothing(run, job):
    before = job.read_text()
    code, out, err = run("init", "people.csv")
    assert (code, out) == (2, "")
    assert f"{JOB}: this file exists; choose another name, or pass --overwrite, which" in err
    assert "erases what was filled in." in err
    assert job.read_text() == before
    assert run("init", "people.csv", "--overwrite")[0] == 0
    assert job.read_text() != before
    code, _, err = run("init", "people.csv", "--out", "bounds.toml", "--overwrite")
    assert code == 2
    assert "it is not a job file" in err


def test_a_job_names_its_table_from_its_own_folder(run, tmp_path):
    (tmp_path / "jobs").mkdir()
    assert run("init", "people.csv", "--out", "jobs/first.dpmic.toml")[0] == 0
    assert 'file = "../people.csv"' in (tmp_path / "jobs/first.dpmic.toml").read_text()
    assert 'dataset = "?"' in (tmp_path / "jobs/first.dpmic.toml").read_text()
    fill(tmp_path / "jobs/first.dpmic.toml", FILLED)
    run("ledger", "create", "jobs/first.ledger", "--epsilon", "3")
    assert run("check", "jobs/first.dpmic.toml")[0] == 0


def test_a_record_in_place_of_the_header_is_noted(run, tmp_path):
    (tmp_path / "people.csv").write_text("Ann,34\nBob,51\n")
    code, _, err = run("init", "people.csv", "--overwrite")
    assert code == 0
    assert "the first line is taken for the names" in err
    assert "add a line of names above it" in err
    assert "Ann" not in err
    (tmp_path / "people.csv").write_text("name,age\nAnn,34\nBob,51\n")
    assert run("init", "people.csv", "--overwrite")[2] == ""


@pytest.mark.parametrize("table", ["no.csv", "numbers.csv", "empty.csv"])
def test_a_table_without_a_header_has_no_job(run, tmp_path, table):
    (tmp_path / "numbers.csv").write_text("1,2,3\n4,5,6\n")
    (tmp_path / "empty.csv").write_text("")
    code, out, err = run("init", table)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert not list(tmp_path.glob("*.dpmic.toml"))


# check


@pytest.mark.parametrize("command", ["check", "rehearse", "run"])
def test_a_table_is_not_taken_for_a_job(run, job, tmp_path, command):
    """The table has an error as TOML, which nobody must correct."""
    code, out, err = run(command, "people.csv")
    assert (code, out) == (2, "")
    assert f"people.csv: this is a table, and a job file is expected; pass {JOB}; dpmic init" in err
    assert "TOML" not in err


def test_without_people_there_is_no_plan(run, job):
    fill(job, {"people = 1000": ""})
    code, out, _ = run("check", JOB)
    assert code == 0
    assert "is complete" in out
    assert "or pass --people 5000" in out
    assert "noise  " not in out
    assert out.endswith(f"Next: dpmic rehearse {JOB} --people N, then dpmic run {JOB}\n")
    code, out, _ = run("check", JOB, "--people", "2000")
    assert code == 0
    assert "2,000" in out
    assert out.endswith(f"Next: dpmic rehearse {JOB} --people 2000, then dpmic run {JOB}\n")


def test_check_says_which_columns_take_no_part(run, job):
    assert "Not used" not in run("check", JOB)[1]
    fill(job, {"c = {": 'c = "ignore" # {', "top = 2 ": "top = 1 "})
    assert "\nNot used: 'c'\nNext: " in run("check", JOB)[1]


def test_true_is_in_small_letters(run, job):
    fill(job, {"# allow_noisy = true": "allow_noisy = True"})
    assert "it is not valid TOML" in run("check", JOB)[2]
    assert "write true and false in small letters." in run("check", JOB)[2]


def test_columns_that_share_a_name_are_noted(run, tmp_path):
    (tmp_path / "twice.csv").write_text("secret,b,secret\n1,2,3\n")
    _, _, err = run("init", "twice.csv")
    assert "some columns share a name, and the job ignores them" in err
    assert "secret" not in err


def test_dates_between_numbers_are_refused_with_a_remedy(run, job, tmp_path):
    (tmp_path / "people.csv").write_text(HEADER + "1,0.5,0.5,2024-01-01\n" * 100)
    assert 'pass decimal = ","' in run("run", JOB, "--yes")[2]
    fill(job, {'# decimal = ","': 'decimal = ","', "bounds = [0, 1.0]": "bounds = [0, 1.5]"})
    (tmp_path / "people.csv").write_text(HEADER + '1,"0,5","0,5",2024-01-01\n' * 100)
    err = run("run", JOB, "--yes")[2]
    assert "column 'c': it has a value that is not a number" in err
    assert "write its bounds as dates (YYYY-MM-DD) if it has dates" in err
    assert "decimal" not in err
    assert 'na = ["unknown"] below [data]' in err


def test_several_rows_a_person_are_planned_with_one_of_each(run, job):
    """Nobody knows how many rows there are; fewer have more noise."""
    fill(job, {"# rows_per_person = 5": "rows_per_person = 2"})
    code, out, _ = run("check", JOB)
    shown = " ".join(out.split())
    assert code == 0
    assert "the first 2 rows of each are used" in shown
    assert "n 1,000 (public)" in shown


@pytest.mark.parametrize("case", ["budget", "noise", "people"])
def test_check_refuses_what_would_be_refused(run, job, case):
    replaced, options, code, words = {
        "budget": ({"epsilon = 1 ": "epsilon = 4 "}, (), 1, "pass at most 3"),
        "noise": ({"epsilon = 1 ": "epsilon = 0.01 "}, (), 2, "or allow_noisy = true to publish"),
        "people": ({}, ("--people", "1"), 2, "people = 1: it is too small"),
    }[case]
    fill(job, replaced)
    refused, out, err = run("check", JOB, *options)
    assert (refused, out) == (code, "")
    assert words in err
    assert dpmic.Ledger("people.ledger").spent == 0


def test_a_ledger_that_is_not_named_is_said_in_keys(run, job):
    fill(job, {'ledger = "people.ledger"': ""})
    _, out, _ = run("check", JOB)
    shown = " ".join(out.split())
    assert (
        'this spending is not tracked; to track it, add ledger = "FILE" and dataset = "NAME"'
        in shown
    )


# rehearse


def test_a_rehearsal_says_so_wherever_one_looks(run, job, tmp_path):
    code, out, err = run("rehearse", JOB)
    assert code == 0
    assert out.startswith("Rehearsal on made-up data. ")
    assert "No record was read and nothing was spent" in out
    count = tomllib.loads(job.read_text())["data"]["people"]
    assert f"The noise and the cost are those of the real job for {count:,} people." in out
    assert re.search(r"took \d+\.\d s, without the time to read the real table", out)
    assert "differentially private" not in out
    assert str(tmp_path / REHEARSAL) in err
    page = (tmp_path / REHEARSAL).read_text()
    assert "<title>Rehearsal on made-up data: The strongest 2 of 3 pairs</title>" in page
    assert "<h1>Rehearsal on made-up data: The strongest 2 of 3 pairs</h1>" in page
    assert "<h2 id='promise'>Rehearsal on made-up data</h2>" in page
    assert re.search(rf"For {count:,} \w+, the report shows how large the noise will be", page)
    assert "<dd>rehearsal on made-up data</dd>" in page  # the dataset
    assert "Guarantee" not in page
    assert "differentially private" not in page
    assert "What was spent" not in page
    assert job.read_text() in unescape(page)
    assert not (tmp_path / REPORT).exists()


def test_a_rehearsal_overwrites_nothing(run, job, tmp_path):
    (tmp_path / REHEARSAL).write_text("mine")
    code, out, err = run("rehearse", JOB, "--overwrite")
    assert (code, out) == (2, "")
    assert "it is not a page of dpmic" in err
    assert (tmp_path / REHEARSAL).read_text() == "mine"
    for name in ("people.csv", "people.ledger", JOB):
        code, _, err = run("rehearse", JOB, "--report", name, "--overwrite")
        assert code == 2
        assert "uses that file otherwise" in err


def test_a_rehearsal_asks_how_many_people_there_are(run, job, monkeypatch, answering):
    fill(job, {"people = 1000": ""})
    code, out, err = run("rehearse", JOB)
    assert (code, out) == (2, "")
    assert "pass --people 5000, or write people = 5000 below [data]" in err
    code, out, err = answering("1,200\n", "rehearse", JOB)
    assert code == 0
    assert "About how many people are in the table?" in err
    assert "<dd>1,200</dd>" in (job.parent / REHEARSAL).read_text()
    code, out, err = answering("many\n", "rehearse", JOB, "--overwrite")
    assert (code, out) == (2, "")
    assert "this is not a number" in err


@pytest.mark.parametrize("ask", ["one pair", "all pairs", "test"])
def test_every_question_can_be_rehearsed(run, job, ask):
    own = {"all pairs": ""}.get(ask, 'x = "a"\ny = "b"')
    fill(job, {'ask = "strongest pairs"': f'ask = "{ask}"', "top = 2 ": f"{own} # top = 2 "})
    code, out, err = run("rehearse", JOB)
    assert code == 0, err
    assert out.startswith("Rehearsal on made-up data. ")


# run


def test_the_report_shows_the_job_as_it_is(run, job, tmp_path):
    assert run("run", JOB, "--yes")[0] == 0
    page = (tmp_path / REPORT).read_text()
    assert job.read_text() in unescape(page)
    assert "all of this is as stated in the job file" in page
    assert "<b>" not in page.partition("How it was made")[2]
    assert f"<code>dpmic run {JOB}</code>" in page
    assert "differentially private with epsilon = 1" in page
    assert "ehearsal" not in page.replace("dpmic rehearse", "").replace("check and rehearse", "")
    assert str(tmp_path) not in page  # paths as they were typed


def test_the_same_job_is_answered_again_for_nothing(run, job):
    first = run("run", JOB, "--yes", "--json")[1]
    (job.parent / REPORT).write_text((job.parent / REPORT).read_text() + "<!-- old -->")
    code, second, err = run("run", JOB, "--json")
    assert "<!-- old -->" not in (job.parent / REPORT).read_text()
    assert code == 0
    assert json.loads(first)["values"] == json.loads(second)["values"]
    assert "nothing was spent. Corrected or other data needs another dataset name." in err
    assert dpmic.Ledger("people.ledger").spent == pytest.approx(1)


def test_other_missing_values_are_another_query(run, job):
    """A report must not show a stored answer beside a line that did not make it."""
    run("run", JOB, "--yes")
    fill(job, {"[data]": '[data]\nna = ["-9"]', 'na = ["-9", "99", "unknown"]': "na"})
    (job.parent / REPORT).unlink()
    assert "already has this answer" not in run("run", JOB, "--yes")[2]
    assert dpmic.Ledger("people.ledger").spent == pytest.approx(2)
    assert run("run", JOB)[0] == 0  # the same job again costs nothing
    fill(job, {'na = ["-9"]': 'na = [" -9", "-9"]'})  # nor does what means the same
    assert run("run", JOB, "--overwrite")[0] == 0
    assert dpmic.Ledger("people.ledger").spent == pytest.approx(2)


@pytest.mark.parametrize("line", ['na = ["-9"]', 'encoding = "latin-1"', ""])
def test_check_asks_the_ledger_the_same_as_run(run, job, line):
    fill(job, {"[data]": f"[data]\n{line}"})
    loaded = dpmic.Job.load(job)
    query = loaded.query()
    assert loaded.query(loaded.made_up(query.n)).key == query.key


def test_python_commands_and_jobs_agree_on_how_a_file_is_read(run, job):
    fill(job, {'na = ["-9", "99", "unknown"]': 'na = ["x", "-9"]', "# na": "na"})
    asked = {'"strongest pairs"': '"one pair"', "top = 2": 'x = "a"\ny = "b"'}
    fill(job, asked | {'person = "id"': "one_row_per_person = true"})
    assert run("run", JOB, "--yes")[0] == 0
    same = ("--ledger", "people.ledger", "--dataset", "people 2024", "--na", "-9", "--na", "x")
    private = ("--epsilon", "1", "--one-row-per-person", *same)
    assert run("release", "people.csv", "a", "b", *commands.BOUNDS, *private)[0] == 0
    dialect = dpmic.data.Dialect(na=["-9", "x"])
    budget = {"ledger": "people.ledger", "dataset": "people 2024"}
    bounds = {"epsilon": 1, "bounds": ((-1, 1), (0, 1))}
    rows = dpmic.data.open_file("people.csv", dialect, private=True)
    table = dpmic.data.load("people.csv", dialect=dialect)
    for data in (rows, table, table.select(["b", "a"]).slice(0)):
        assert dpmic.release("a", "b", data=data, **bounds, **budget).replayed is not None
    (entry,) = dpmic.Ledger("people.ledger").history()
    assert json.loads(entry.question)["format"] == {"na": ["-9", "x"]}
    assert dpmic.release("a", "b", data=commands.TABLE, **bounds, **budget).replayed is None


def test_a_stored_answer_is_called_one_in_the_report(run, job):
    run("run", JOB, "--yes")
    assert "stored answer" not in (job.parent / REPORT).read_text()
    run("run", JOB)
    (when,) = (entry.answered_at for entry in dpmic.Ledger("people.ledger").history())
    page = unescape((job.parent / REPORT).read_text())
    sentence = f"stored answer of {when[:10]} {when[11:16]} UTC for the dataset people 2024, and"
    assert page.count(sentence) == 1
    assert "changed data needs a new dataset name." in page


def test_the_plan_is_shown_and_no_means_no(run, job, tmp_path, answering):
    code, out, err = answering("n\n", "run", JOB)
    assert (code, out) == (1, "")
    assert "Plan (nothing is spent yet)" in err
    assert "Whose privacy is protected?" not in err  # the file says it
    assert not (tmp_path / REPORT).exists()
    assert dpmic.Ledger("people.ledger").spent == 0
    assert answering("y\n", "run", JOB)[0] == 0
    assert dpmic.Ledger("people.ledger").spent == pytest.approx(1)


@pytest.mark.parametrize("answer", ["1", "2\nid", "3\n2"])
def test_what_the_file_does_not_say_is_asked_and_reported(run, job, tmp_path, answering, answer):
    fill(job, {'person = "id"': 'person = "?"'})
    code, _, err = answering(f"{answer}\ny\n", "run", JOB)
    assert code == 0, err
    assert "Whose privacy is protected?" in err
    entry = {"1": "one_row_per_person = true", "2": 'person = "id"', "3": "rows_per_person = 2"}
    page = unescape((tmp_path / REPORT).read_text())
    assert f"# Answered when asked: {entry[answer[0]]}" in page
    assert f"<code>dpmic run {JOB}</code>" in page


def test_nobody_can_be_asked(run, job, tmp_path):
    code, out, err = run("run", JOB)
    assert (code, out) == (2, "")
    assert "your consent: there is no terminal to ask for it; add --yes" in err
    fill(job, {'person = "id"': 'person = "?"'})
    code, out, err = run("run", JOB, "--yes")
    assert (code, out) == (2, "")
    assert 'pass one_row_per_person = true, person = "COLUMN" or rows_per_person = N.' in err
    assert not (tmp_path / REPORT).exists()
    assert dpmic.Ledger("people.ledger").spent == 0


@pytest.mark.parametrize("case", ["key", "records", "noise", "report", "column"])
def test_what_is_refused_spends_nothing_and_leaves_no_file(run, job, tmp_path, case):
    replaced, words = {
        "key": ({"epsilon = 1 ": "epsilonn = 1 "}, "did you mean 'epsilon'"),
        "records": ({}, "column 'c': it has a value that is not a number"),
        "noise": ({"epsilon = 1 ": "epsilon = 0.01 "}, "allow_noisy = true to publish anyway"),
        "report": ({'"people.html"': '"people.csv"'}, "this command uses that file otherwise"),
        "column": ({"c = {": "d = {"}, "column 'd' of people.csv: there is no such column"),
    }[case]
    if case == "records":
        (tmp_path / "people.csv").write_text(HEADER + "1,0.5,0.5,secret\n" * 100)
    fill(job, replaced)
    files = sorted(tmp_path.iterdir())
    code, out, err = run("run", JOB, "--yes")
    assert (code, out) == (2, "")
    assert words in err
    assert err.endswith(". Nothing was spent.\n") == (case == "records")
    assert "secret" not in err
    assert sorted(tmp_path.iterdir()) == files
    assert dpmic.Ledger("people.ledger").history() == []


def test_an_estimate_and_ranks(run, job, tmp_path):
    fill(
        job,
        {
            'ask = "strongest pairs"': 'ask = "one pair"',
            "top = 2 ": 'x = "a"\ny = "b"\nmechanism = "mice-laplace"\n# top = 2 ',
            "# estimate = true": "estimate = true",
            "# allow_noisy = true": "allow_noisy = true",
        },
    )
    code, out, _ = run("run", JOB, "--yes", "--json")
    assert code == 0
    assert json.loads(out)["mechanism"] == "mice-laplace"
    assert "estimate of MIC*" in (tmp_path / REPORT).read_text()


def test_every_option_of_a_private_command_has_its_key():
    elsewhere = {"file", "bounds", "bounds_file", "every", "missing"}  # other keys say it
    elsewhere |= {"categories", "fill"}  # of a column
    elsewhere |= {"permutations", "seed", "nominal", "device"}  # of a test that is not private
    elsewhere |= {"as_json", "as_csv", "overwrite", "yes", "name", "help"}  # of the delivery
    same = {"one_row": "one_row_per_person", "rows": "rows_per_person", "cells": "B"}
    same |= {"report": "file"}
    keys = {key for table in KEYS.values() for key in table}
    for name in ("release", "screen", "test"):
        options = {option.name for option in _application.command().commands[name].params}
        wanted = {same.get(option, option) for option in options - elsewhere}
        assert wanted <= keys, wanted - keys


@pytest.mark.parametrize("value", ["", "inf"])
def test_a_gap_spends_nothing_and_says_so(run, job, tmp_path, value, answering):
    rows = "".join(f"{i},0.5,0.5,{value if i == 7 else 0.5}\n" for i in range(1000))
    (tmp_path / "people.csv").write_text(HEADER + rows)
    code, out, err = answering("y\n", "run", JOB)
    assert (code, out) == (2, "")
    assert "[y/N]" in err
    assert err.endswith("or leave the column out. Nothing was spent.\n")
    assert dpmic.Ledger("people.ledger").spent == 0


def test_a_report_of_other_values_is_kept(run, job):
    """It may show another job, or an answer that this ledger does not have."""
    page = job.parent / REPORT
    assert run("run", JOB, "--yes")[0] == 0
    before = page.read_text()
    fill(job, {"epsilon = 1 ": "epsilon = 0.9 "})
    code, _, err = run("run", JOB, "--yes")
    assert code == 2
    assert f"{REPORT}: this file exists; choose another name, or add --overwrite." in err
    fill(job, {"epsilon = 0.9 ": "epsilon = 1 "})
    (job.parent / "people.ledger").unlink()
    run("ledger", "create", "people.ledger", "--epsilon", "3")
    code, _, err = run("run", JOB, "--yes")
    assert code == 2
    assert "this file exists" in err
    assert dpmic.Ledger("people.ledger").spent == 0
    assert page.read_text() == before


def test_a_rehearsal_overwrites_rehearsals_alone(run, job):
    assert run("rehearse", JOB)[0] == 0
    fill(job, {"epsilon = 1 ": "epsilon = 0.9 "})
    assert run("rehearse", JOB)[0] == 0
    assert "epsilon = 0.9" in (job.parent / REHEARSAL).read_text()
    assert run("run", JOB, "--yes")[0] == 0
    code, _, err = run("rehearse", JOB, "--report", REPORT)
    assert code == 2
    assert "this file exists" in err


@pytest.mark.parametrize("given", [(), ("--sep", ";"), ("--decimal", ",")])
def test_decimal_commas_are_mentioned_until_they_are_settled(run, tmp_path, given):
    """The header alone is enough, and all there is."""
    (tmp_path / "german.csv").write_text("alter;dosis\n")
    hint = 'if the numbers have decimal commas, write decimal = "," below [data]'
    settled = "--decimal" in given
    assert (hint in run("init", "german.csv", *given)[2]) != settled
    assert (hint in run("check", "german.dpmic.toml")[2]) != settled


@pytest.mark.parametrize("given", [(), ("--encoding", "cp1252")])
def test_encodings_are_mentioned_until_they_are_settled(run, tmp_path, given):
    (tmp_path / "german.csv").write_text("alter;dosis\n")
    hint = 'if the text is not UTF-8, write encoding = "cp1252" below [data]'
    assert (hint in run("init", "german.csv", *given)[2]) == (not given)
    assert (hint in run("check", "german.dpmic.toml")[2]) == (not given)


def test_a_line_that_names_the_separator_is_not_the_header(run, tmp_path):
    (tmp_path / "s.csv").write_text("sep=;\nid;a;b\n1;2;3\n")
    code, _, err = run("init", "s.csv")
    assert code == 0
    assert "read s.csv as: separated by ';', as its first line says" in err
    names = tomllib.loads((tmp_path / "s.dpmic.toml").read_text())["columns"]
    assert list(names) == ["id", "a", "b"]


def test_commas_are_not_mentioned_for_other_files(run, job):
    assert "decimal commas" not in run("check", JOB)[2]


def test_check_asks_for_the_person_first(run, job):
    """Its column needs no line of its own."""
    fill(job, {'person = "id"': 'person = "ID_"', 'id = "ignore"': 'id = "?"'})
    _, _, err = run("check", JOB)
    first = err.splitlines()[1]
    assert "there is no such column" in first
    assert "the column that identifies people needs no line below [columns]" in first
    fill(job, {'person = "ID_"': 'person = "?"'})
    first = run("check", JOB)[2].splitlines()[1]
    assert "privacy.person" in first
    assert "which needs no line below [columns]" in first


@pytest.mark.parametrize("case", ["drop", "categories"])
def test_an_estimate_that_would_be_a_dash_is_refused(run, job, case):
    fill(job, {"# estimate = true": "estimate = true"})
    assert run("check", JOB)[0] == 0
    other = {
        "drop": {'rule = "refuse"': 'rule = "drop"'},
        "categories": {"c = { bounds = [0, 1.0] }": 'c = { categories = ["0", "1"] }'},
    }[case]
    fill(job, other)
    code, _, err = run("check", JOB)
    assert code == 2
    assert "known only for numbers and dates without missing values; put # before the line" in err


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("a = { bounds = [01.01.2023, 31.12.2024] }", "write dates as 2023-01-01"),
        ("a = { bounds = 0,5 }", "write decimals with a point, such as 0.5"),
        ("a = { bounds = [10,5, 80] }", "decimals need a point, as in 10.5"),
    ],
)
def test_dates_and_decimals_of_other_countries_have_a_remedy(run, job, line, remedy):
    fill(job, {"a = { bounds = [-1, 1] }": line})
    code, _, err = run("check", JOB)
    assert code == 2
    assert remedy in err


@pytest.mark.parametrize("number", ["0,5", "much"])
def test_an_option_that_is_not_a_number(run, number):
    code, _, err = run("plan", "--n", "5000", "--epsilon", number)
    assert code == 2
    assert "'--epsilon': this is not a number; write 0.5, with a point; see dpmic plan" in err
