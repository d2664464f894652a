import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import dpmic
from dpmic import cli

X = np.linspace(0, 1, 40)
TABLE = pa.table({"a": X, "b": X**2, "t": ["x"] * 40, "gap": [None, *X[1:]]})
EXPECTED = dpmic.mice(X, X**2)


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Call the command and return its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dpmic", *arguments])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        out, err = capsys.readouterr()
        return stopped.value.code, out, err

    csv.write_csv(TABLE, "t.csv")
    return call


def test_a_table_for_people(run):
    code, out, err = run("score", "t.csv", "a", "b")
    assert (code, err) == (0, "")
    assert "a and b" in out
    assert f"{EXPECTED.mic:.4f}" in out


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "feather", "arrow"])
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


def test_options_reach_the_statistic(run):
    options = ["--B", "12", "--c", "3", "--missing", "drop", "--json"]
    _, out, _ = run("score", "t.csv", "gap", "b", "--statistic", "mic", *options)
    assert dpmic.Score.from_json(out) == dpmic.mic(X[1:], X[1:] ** 2, B=12, c=3)
    _, out, _ = run(
        *("score", "t.csv", "a", "b", "--statistic", "micr", "--alpha", "0.5", "--json"),
        *("--bounds", "a=0:1", "--bounds", "b=-1:1"),
    )
    assert dpmic.Score.from_json(out) == dpmic.micr(X, X**2, bounds=((0, 1), (-1, 1)), alpha=0.5)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no.csv", "a", "b"], "no.csv: there is no such file"),
        (["t.xls", "a", "b"], "the ending '.xls' is not known; use one of .arrow, .csv"),
        (["latin.csv", "a", "b"], "its text is not UTF-8; save it as UTF-8"),
        (["semicolon.csv", "a", "b"], "its header is one column, 'a;b'; separate columns by"),
        (["european.csv", "a", "b"], "its header is one column, 'a;b'; separate columns by"),
        (["long.csv", "a", "b"], "column 'a': it holds whole numbers that float64 would round"),
        (
            ["t.csv", "a", "b", "--statistic", "micr", "--bounds", "zzz=0:1"],
            "--bounds zzz: that column is not scored",
        ),
        (["t.csv", "a", "c"], "y = 'c': there is no such column"),
        (["t.csv", "a", "t"], "text is not a number"),
        (["t.csv", "a", "gap"], "missing"),
        (["t.csv", "a", "b", "--alpha", "3"], "alpha = 3"),
        (["t.csv", "a", "b", "--bounds", "a=0:1"], "mice uses none; pass --statistic micr"),
        (["t.csv", "a", "b", "--statistic", "micr"], "a has none; add --bounds a=LOW:HIGH"),
        (
            ["t.csv", "a", "b", "--statistic", "micr", "--bounds", "a=0"],
            "--bounds a=0: two numbers are needed; write --bounds age=0:120",
        ),
        (["empty.csv", "a", "b"], "empty.csv: Empty CSV file"),
        (["header.csv", "a", "b"], "it has no rows"),
        (["bad.parquet", "a", "b"], "bad.parquet: "),
        (["double.csv", "a", "b"], "2 columns have this name"),
    ],
)
def test_errors_are_one_line_and_exit_code_two(run, tmp_path, arguments, words):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text("a,b\n")
    (tmp_path / "bad.parquet").write_text("not parquet")
    (tmp_path / "t.xls").write_text("a,b\n")
    (tmp_path / "latin.csv").write_bytes("größe,b\n1,2\n".encode("latin-1"))
    (tmp_path / "semicolon.csv").write_text("a;b\n1;2\n")
    (tmp_path / "european.csv").write_text("a;b\n1,5;2,5\n")
    (tmp_path / "long.csv").write_text("a,b\n" + "".join(f"{2**64 + i},{i}\n" for i in range(9)))
    (tmp_path / "double.csv").write_text("a,a,b\n1,2,3\n")
    code, out, err = run("score", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("dpmic: ")
    assert words in err
    assert err.count("\n") == 1


def test_names_are_not_markup(run, tmp_path):
    names = ("weight [kg]", "height [/cm]")
    header = ",".join(names) + ",note\n"
    rows = "".join(f'{i},{i * i},"two\nlines"\n' for i in range(30_000))
    (tmp_path / "names.csv").write_text(header + rows)
    code, out, _ = run("score", "names.csv", *names)
    assert code == 0
    assert "weight [kg] and height [/cm]" in out


def test_usage_errors_have_exit_code_two(run):
    assert run("score", "t.csv", "a")[0] == 2
    assert run("score", "t.csv", "a", "b", "--statistic", "pearson")[0] == 2


def test_version(run):
    code, out, _ = run("--version")
    assert (code, out) == (0, f"dpmic {dpmic.__version__}\n")


def test_help_has_an_example(run):
    for command in ("score", "demo"):
        code, out, _ = run(command, "--help")
        assert code == 0
        assert f"Example: dpmic {command}" in out


def test_demo(run):
    pytest.importorskip("statsmodels")
    code, out, _ = run("demo")
    assert code == 0
    assert "6,366 women" in out
    assert "all 36 pairs" in out
    assert out.index("yrs_married") < out.index("occupation")


def test_the_installed_command_reads_standard_input(tmp_path):
    text = "a,b\n" + "".join(f"{v},{v * v}\n" for v in X)
    done = subprocess.run(
        [sys.executable, "-m", "dpmic", "score", "-", "a", "b", "--json"],
        input=text, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert dpmic.Score.from_json(done.stdout).mic == EXPECTED.mic
