"""Files, scores, and what is said of bad input."""

import json

import commands
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet
from sweeps import sweep

import dpmic

X = np.linspace(0, 1, 40)
TABLE = pa.table({"a": X, "b": X**2, "t": ["x"] * 40, "gap": [None, *X[1:]]})
EXPECTED = dpmic.mice(X, X**2)


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    csv.write_csv(TABLE, "t.csv")
    return commands.runner(monkeypatch, capsys)


def test_a_table_for_people(run):
    code, out, err = run("score", "t.csv", "a", "b")
    assert (code, err) == (0, "")
    assert "a and b" in out
    assert f"{EXPECTED.mic:.4f}" in out


@sweep("ending", ["csv", "tsv", "parquet", "feather", "arrow"])
def test_formats_give_the_same_score(run, ending):
    writers = {
        "csv": csv.write_csv,
        "tsv": lambda t, p: csv.write_csv(t, p, csv.WriteOptions(delimiter="\t")),
        "parquet": parquet.write_table,
    }
    writers.get(ending, feather.write_feather)(TABLE, f"in.{ending}")
    code, out, _ = run("score", f"in.{ending}", "a", "b", "--json")
    assert code == 0
    assert dpmic.Score.from_dict(json.loads(out)) == EXPECTED


def test_csv_for_programs(run):
    code, out, _ = run("score", "t.csv", "a", "b", "--csv")
    head, line, rest = out.split("\n")
    numbers = dict(zip(head.split(","), line.split(","), strict=True))
    assert (code, rest) == (0, "")
    assert float(numbers["mic"]) == EXPECTED.mic
    assert (numbers["x"], numbers["n"]) == ("a", "40")


def test_options_reach_the_statistic(run):
    options = ["--B", "12", "--c", "3", "--missing", "drop", "--json"]
    _, out, _ = run("score", "t.csv", "gap", "b", "--statistic", "mic", *options)
    assert dpmic.Score.from_json(out) == dpmic.mic(X[1:], X[1:] ** 2, B=12, c=3)
    _, out, _ = run(
        *("score", "t.csv", "a", "b", "--statistic", "micr", "--alpha", "0.5", "--json"),
        *("--bounds", "a=0:1", "--bounds", "b=-1:1"),
    )
    assert dpmic.Score.from_json(out) == dpmic.micr(X, X**2, bounds=((0, 1), (-1, 1)), alpha=0.5)


def test_bounds_from_a_file_and_an_option_that_comes_first(run, tmp_path):
    (tmp_path / "b.toml").write_text("[bounds]\na = [0, 1]\nb = [0, 1]\nother = [0, 5]\n")
    micr = ("score", "t.csv", "a", "b", "--statistic", "micr", "--json", "--bounds-file", "b.toml")
    _, out, _ = run(*micr)
    assert dpmic.Score.from_json(out).bounds == ((0, 1), (0, 1))
    _, out, _ = run(*micr, "--bounds", "b=-1:1")
    assert dpmic.Score.from_json(out).bounds == ((0, 1), (-1, 1))


MICR = ["t.csv", "a", "b", "--statistic", "micr"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no.csv", "a", "b"], "no.csv: there is no such file"),
        (["folder.csv", "a", "b"], "folder.csv: there is no file in this folder"),
        (["t.xls", "a", "b"], "its ending '.xls' is unknown; open it in the program"),
        (
            ["latin.csv", "a", "b", "--encoding", "utf-8"],
            "its text is not UTF-8; save it as UTF-8, or name its encoding: pass --encoding cp1252",
        ),
        (["utf16.csv", "a", "b", "--encoding", "utf-8"], "it is not a text file: it contains"),
        (
            ["semicolon.csv", "a", "b", "--sep", ","],
            "found one column, but it seems to be separated by ';'",
        ),
        (["tabs.csv", "a", "b", "--sep", ","], "separated by tabs; pass --sep '\\t'"),
        (
            ["commas.tsv", "a", "b", "--sep", "tab"],
            "found one column, but it seems to be separated by ','",
        ),
        (["long.csv", "a", "b"], "column 'a': it has integers that float64 would round"),
        (
            ["ragged.csv", "a", "b"],
            "row 2: a record has more or fewer values than the header has names: "
            "3 instead of 2; check its",
        ),
        (
            ["mixed.csv", "a", "b"],
            "column 'a', row 3: 'n.b.' is not a number; if it means",
        ),
        (["late.csv", "a", "b"], "column 'a', row 300001: 'oops' is not a number"),
        (
            ["dates.csv", "a", "b"],
            "row 3: 'soon' is not a date; if it means",
        ),
        (["quotes.csv", "a", "b"], "quotes.csv, row 1: a quotation mark"),
        ([*MICR, "--bounds", "zzz=0:1"], "--bounds zzz: no column of this name is scored as"),
        (
            [*MICR, "--bounds", "aa=0:1"],
            "no column of this name is scored as numbers; did you mean",
        ),
        ([*MICR, "--bounds", "a=0,5:1"], "write --bounds age=0:120, with a decimal point"),
        ([*MICR, "--bounds", "a=0:1", "--bounds", "a=0:2"], "this column has bounds already"),
        ([*MICR, "--bounds-file", "no.toml"], "no.toml: there is no such file; check"),
        ([*MICR, "--bounds-file", "bad.toml"], "bad.toml: it is not valid TOML ("),
        ([*MICR, "--bounds-file", "empty.csv"], "empty.csv: it has no table [bounds]"),
        ([*MICR, "--bounds-file", "text.toml"], "text.toml: a = 'x': two numbers are needed"),
        (["t.csv", "a", "c"], "column 'c': there is no such column; the columns are 'a', 'b'"),
        (["t.csv", "a", "gaps"], "column 'gaps': there is no such column; did you mean 'gap'"),
        (["t.csv", "a", "gap", "--missing", "raise"], "missing"),
        (["t.csv", "a", "b", "--alpha", "3"], "alpha = 3"),
        (
            ["t.csv", "a", "b", "--bounds", "a=0:1"],
            "mice does not use bounds; leave them out, or pass --statistic micr",
        ),
        (MICR, "a has none; add --bounds a=LOW:HIGH"),
        (
            [*MICR, "--bounds", "a=0"],
            "--bounds a=0: two numbers or dates are needed; write --bounds age=0:120",
        ),
        (["empty.csv", "a", "b"], "empty.csv: it is empty"),
        (["header.csv", "a", "b"], "header.csv: it has no rows"),
        (["nothing.parquet", "a", "b"], "nothing.parquet: it has no rows"),
        (["bad.parquet", "a", "b"], "bad.parquet: it is not a complete and valid .parquet file"),
        (["bad.arrow", "a", "b"], "bad.arrow: it is text, but its name ends in .arrow"),
        (["double.csv", "a", "b"], "column 'a': 2 columns have this name"),
        (["t.csv", "a", "b", "--json", "--csv"], "--json --csv: there is only one output"),
        (
            ["t.csv", "a", "b", "--report", "there.html"],
            "there.html: this file exists, and it is not a page of dpmic; choose",
        ),
        (["t.csv", "a", "b", "--report", "no/r.html"], "there is no folder"),
    ],
)
def test_errors_are_one_line_and_exit_code_two(run, tmp_path, arguments, words):
    texts = {
        "empty.csv": "",
        "header.csv": "a,b",
        "bad.parquet": "PAR1\x15...",
        "bad.arrow": "not arrow",
        "bad.toml": "[bounds",
        "text.toml": "[bounds]\na = 'x'\n",
        "t.xls": "a,b\n",
        "semicolon.csv": "a;b\n1;2\n",
        "tabs.csv": "a\tb\n1\t2\n",
        "commas.tsv": "a,b\n1,2\n",
        "ragged.csv": "a,b\n1,2\n1,2,3\n",
        "mixed.csv": "a,b\n1,2\n,3\nn.b.,4\n5,5\n",
        "dates.csv": "a,b\n" + "2026-01-01,2\n" * 2 + "soon,3\n",
        "quotes.csv": 'a,b\n"1,2\n3,4\n',
        "long.csv": "a,b\n" + "".join(f"{2**64 + i},{i}\n" for i in range(9)),
        "double.csv": "a,a,b\n1,2,3\n",
        "there.html": "kept",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    if "late.csv" in arguments:  # far beyond the first block
        (tmp_path / "late.csv").write_text("a,b\n" + "1234.5,6789.5\n" * 300_000 + "oops,1\n")
    (tmp_path / "latin.csv").write_bytes("größe,b\n1,2\n".encode("latin-1"))
    (tmp_path / "utf16.csv").write_bytes("a,b\n1,2\n".encode("utf-16"))
    (tmp_path / "folder.csv").mkdir()
    parquet.write_table(TABLE.slice(0, 0), "nothing.parquet")
    code, out, err = run("score", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("dpmic: ")
    assert words in err
    assert err.count("\n") == 1
    assert (tmp_path / "there.html").read_text() == "kept"


def test_texts_as_they_are_found_in_the_wild(run, tmp_path):
    """A mark at the beginning, blank lines, spaces, true and false, other columns."""
    rows = "".join(f' {x} ,{"true" if x > 0.5 else "False"},"a\nb",;\n' for x in X)
    text = "\ufeff\na,flag,note,note\r\n" + rows
    (tmp_path / "wild.csv").write_bytes(text.encode())
    _, out, _ = run("score", "wild.csv", "a", "flag", "--json")
    assert dpmic.Score.from_json(out) == dpmic.mice(X, X > 0.5)


def test_a_wide_file_is_read_for_two_columns(run, tmp_path):
    head = ",".join(f"c{i}" for i in range(20_000))
    line = ",".join(["7.25"] * 19_999)
    (tmp_path / "wide.csv").write_text(head + "\n" + "".join(f"{i},{line}\n" for i in range(60)))
    code, out, _ = run("score", "wide.csv", "c0", "c19999", "--json")
    assert code == 0
    assert dpmic.Score.from_json(out).n == 60


def test_names_are_not_markup(run, tmp_path):
    names = ("weight [kg]", "height [/cm]")
    header = ",".join(names) + ",note\n"
    rows = "".join(f'{i},{i * i},"two\nlines"\n' for i in range(30_000))
    (tmp_path / "names.csv").write_text(header + rows)
    code, out, _ = run("score", "names.csv", *names)
    assert code == 0
    assert "weight [kg] and height [/cm]" in out


def test_usage_errors_have_exit_code_two(run):
    for arguments, words in (
        (["score", "t.csv", "a"], "Missing argument 'Y'; see dpmic score --help."),
        (["score", "t.csv", "a", "b", "--statistic", "pearson"], "'pearson' is not one of"),
        (["scor"], "No such command 'scor'. Did you mean 'score', 'screen'? See dpmic --help.\n"),
        (["score", "--nonsense"], "No such option"),
    ):
        code, out, err = run(*arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("dpmic: ")
        assert words in err


def test_a_report_is_written_and_only_replaced_when_asked(run, tmp_path):
    score = ("score", "t.csv", "a", "b", "--report", "r.html")
    code, out, err = run(*score)
    first = (tmp_path / "r.html").read_text()
    assert code == 0
    assert f"the report is in {tmp_path.resolve() / 'r.html'}" in err
    assert f"{EXPECTED.mic:.4f}" in out
    assert "dpmic score t.csv a b</code>" in first
    assert run(*score)[0] == 2
    assert run(*score, "--overwrite")[0] == 0
    assert list(tmp_path.glob("*.tmp")) == list(tmp_path.glob(".*.tmp")) == []


def test_version(run):
    code, out, _ = run("--version")
    assert (code, out) == (0, f"dpmic {dpmic.__version__}\n")
