"""Commands on the files of ``tests/data/dirty``: what is said of them, and what is refused."""

import json
import re

import commands
import pytest
from project import ROOT
from sweeps import sweep

import dpmic
from dpmic.cli import _application, _inputs

DIRTY = ROOT / "tests" / "data" / "dirty"

REFUSED = {
    "empty.csv": ("it is empty", "it is empty"),
    "header.csv": ("it has no rows", "it has no rows"),
    "ragged.csv": ("row 4: a record has more or fewer", "a record has more or"),
    "binary.csv": ("it is not a text file", "it is not a text file"),
    "truncated.csv.gz": ("not a complete and valid .csv.gz file", "it cannot be read"),
    "truncated.csv.zst": ("not a complete and valid .csv.zst file", "it cannot be read"),
    "thousands.csv": (
        "'stay': '1,234' could mean 1.234 or 1234; pass --decimal ','",
        "--decimal ','",
    ),
    "two_decimals.csv": ("'stay': it has decimal commas, but column 'age' has", "--decimal ','"),
    "two_separators.csv": ("its columns could be separated by ',' and ';'", "pass --sep ';'"),
    "unclosed.csv": ("row 2: a quotation mark is not", "a quotation mark is not"),
    "not_a_number.csv": ("'age', row 6: 'forty-five'", "column 'age': it has"),
    "excel_two_sheets.xlsx": ("sheets: 'notes', 'visits'; say which: pass --sheet", "--sheet NAME"),
    "excel_empty.xlsx": ("the sheet is empty; check which sheet", "the sheet is empty"),
    "excel_truncated.xlsx": ("not a complete and valid .xlsx file", "it cannot be read"),
    "spss_truncated.sav": ("not a complete and valid .sav file", "it cannot be read"),
}
SPENDING = ("--epsilon", "1", "--one-row-per-person", "--yes", "--allow-noisy")
BOUNDS = ("--bounds", "age=0:120", "--bounds", "stay=0:60")
ACCOUNT = ("--ledger", "people.ledger", "--dataset", "2026")
PRIVATE = {
    "release": ("age", "stay", *BOUNDS),
    "screen": (*BOUNDS, "--top", "1"),
    "bounds": ("stay",),
    "test": ("age", "stay", "--draws", "19"),
}


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    return commands.runner(monkeypatch, capsys)


def test_every_dirty_file_is_tested():
    read = re.findall(
        r'^    "([\w.]+)": "', (DIRTY.parent / "test_dirty_files.py").read_text(), re.M
    )
    assert len(read) > 20
    assert {path.name for path in DIRTY.iterdir()} == {*read, *REFUSED, "README.md"}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_without_privacy(run, tmp_path, name):
    """One line with the file, its row and column; no report, and no table of scores."""
    words, _ = REFUSED[name]
    file = DIRTY / name
    for command in (
        ("score", file, "age", "stay", "--missing", "drop", "--report", "r.html"),
        ("matrix", file, "--columns", "age,stay", "--missing", "drop", "--out", "s.parquet"),
        ("test", file, "age", "stay", "--missing", "drop"),
    ):
        code, out, err = run(*command)
        assert (code, out) == (2, "")
        (line,) = (line for line in err.splitlines() if " as: " not in line)
        assert words in line
        assert name in line or "column" in line
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_with_privacy(run, tmp_path, name):
    """No value, row or count; nothing is spent, and nothing is left behind."""
    run("ledger", "create", "people.ledger", "--epsilon", "3")
    before = {path.name for path in tmp_path.iterdir()}
    for command, own in PRIVATE.items():
        report = () if command == "bounds" else ("--report", "r.html")
        noisy = () if command in ("bounds", "test") else ("--allow-noisy",)
        given = (*own, *SPENDING[:-1], *noisy, *ACCOUNT, *report)
        code, out, err = run(command, DIRTY / name, *given)
        if (command, name) == ("bounds", "not_a_number.csv"):
            continue  # which does not read that column
        assert (code, out) == (2, ""), err
        line = err.splitlines()[-1]
        assert REFUSED[name][1] in line
        kept = line.replace(str(DIRTY / name), "").replace("UTF-16", "").replace("utf-16", "")
        assert not re.search(r"\d|forty|Innere|notes|row ", kept), line
    assert dpmic.Ledger("people.ledger").spent == 0
    assert {path.name for path in tmp_path.iterdir()} == before


def test_options_win(run):
    thousands = ("score", DIRTY / "thousands.csv", "age", "stay", "--json")
    assert run(*thousands, "--decimal", ",")[0] == 0
    assert "'1,234' is not a number" in run(*thousands, "--decimal", ".")[2]
    wrong = run("score", DIRTY / "semicolon.csv", "age", "stay", "--sep", "|")
    assert "seems to be separated by ';'; pass --sep ';'" in wrong[2]
    sheet = ("score", DIRTY / "excel_two_sheets.xlsx", "age", "stay", "--missing", "drop", "--json")
    assert json.loads(run(*sheet, "--sheet", "visits")[1])["n"] == 6
    assert (
        "it has no sheet 'none'; check its name: 'notes', 'visits'"
        in (run(*sheet, "--sheet", "none")[2])
    )
    coded = ("score", DIRTY / "comma.csv", "age", "stay", "--missing", "drop", "--json")
    assert json.loads(run(*coded, "--na", "34,35", "--na", "7.5")[1])["n"] == 4
    assert (
        "sep = ';': .xlsx files have no such option"
        in run("score", DIRTY / "excel.xlsx", "age", "stay", "--sep", ";")[2]
    )
    assert "this is not a decimal mark" in run(*coded, "--decimal", "'")[2]


@sweep("command", ["score", "matrix", "test", "release", "screen", "bounds"])
def test_every_command_that_takes_a_file_has_the_options(command):
    params = _application.command().commands[command].params
    known = {option for param in params for option in param.opts}
    assert {"--sep", "--decimal", "--encoding", "--na", "--sheet"} <= known


def test_commands_say_once_what_was_recognised(run, tmp_path, monkeypatch):
    (tmp_path / "visits.csv").write_bytes(
        ("größe;age;stay\n" + "é;34;1,5\né;51;2,25\né;8;0,5\n" * 9).encode("cp1252")
    )
    words = "dpmic: read visits.csv as: separated by ';', decimal comma, Latin-1 (cp1252)\n"
    assert run("score", "visits.csv", "age", "stay", "--csv")[2] == words
    told = ("--sep", ";", "--decimal", ",", "--encoding", "latin-1")
    assert run("score", "visits.csv", "age", "stay", "--csv", *told)[2] == ""
    monkeypatch.setattr(_inputs, "IN_MEMORY", -1)  # it is counted, and then read
    monkeypatch.setattr(_inputs, "PAIR", 0)
    micr = ("--statistic", "micr", *BOUNDS, "--B", "9")
    assert run("score", "visits.csv", "age", "stay", "--csv", *micr)[2] == words
    given = ("age", "stay", *BOUNDS, *SPENDING, "--decimal", ",", "--encoding", "cp1252")
    code, _, err = run("release", "visits.csv", *given)
    assert code == 0, err
    assert err.count("dpmic: read visits.csv as: separated by ';'\n") == 1
