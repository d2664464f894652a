"""What one record in a file may do to others and to messages: nothing."""

import io
import json
import re
import sys
from decimal import Decimal

import commands
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet
from sweeps import sweep

import dpmic
from dpmic.data import first_rows, load

PRIVATE = ("--epsilon", "1", "--one-row-per-person", "--yes")
BOUNDS = ("--bounds", "a=0:60", "--bounds", "b=0:60")
UNCLOSED = "a quotation mark is not closed"


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    commands.folder(monkeypatch, tmp_path)
    return commands.runner(monkeypatch, capsys)


def refused(found):
    """Return the one line of a refusal."""
    code, out, err = found
    assert (code, out) == (2, "")
    (line,) = (line for line in err.splitlines() if "note:" not in line and " as: " not in line)
    assert "a fault of dpmic" not in line
    assert len(line) < 450  # notes do not count: some are given once, in whichever test is first
    return line


def release(run, file, *options):
    return run("release", file, "a", "b", *BOUNDS, *(options or PRIVATE))


@pytest.mark.parametrize("rows", [50, 500_000])  # of one block, and of several
@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_a_quotation_mark_that_is_not_closed(run, tmp_path, rows, ending):
    lines = [f"{i % 50},{i % 50},note" for i in range(rows)]
    lines[-40] = '9,9,"oops'
    text = "a,b,note\n" + "\n".join(lines) + "\n"
    (tmp_path / f"q.{ending}").write_text(text.replace(",", "\t" if ending == "tsv" else ","))
    line = refused(run("score", f"q.{ending}", "a", "b"))
    assert f"q.{ending}, row {rows - 39}: {UNCLOSED}, or is inside" in line
    line = refused(release(run, f"q.{ending}"))
    assert UNCLOSED in line
    assert not any(character.isdigit() for character in line)


def test_a_header_that_is_not_closed(run, tmp_path):
    (tmp_path / "q.csv").write_text('a,"b\n34,HIV\n35,well\n')
    assert refused(release(run, "q.csv")).startswith(f"dpmic: q.csv: {UNCLOSED}")


def test_closed_quotation_marks_are_read(run, tmp_path):
    rows = "".join(f'{i},"{i}","say ""{i}"",\nthen go"\n' for i in range(50))
    (tmp_path / "q.csv").write_text('a,"b",note\n' + rows)
    assert json.loads(run("score", "q.csv", "a", "b", "--json")[1])["n"] == 50


def people(path, name="who"):
    """Return which rows are the first of a person."""
    table = load(str(path), ["a"], labels=[name], private=True)
    return first_rows(name, table, table.num_rows).tolist()


@pytest.mark.parametrize(
    ("names", "last"),
    [
        (["7", "07", "7 ", " 7"], ["8", "Ann", "1.5"]),
        ([str(2**53), str(2**53 + 1), str(2**53)], ["1", "0.5", "1e3", "x"]),
        (["1.0", "1", "1.00"], ["2", "2.5", "y"]),
    ],
)
def test_nobody_regroups_others(tmp_path, names, last):
    """Who is the same person among the first rows does not depend on the last."""
    alone = list(dict.fromkeys(name.strip() for name in names))
    for other in last:
        path = tmp_path / "p.csv"
        path.write_text("who,a\n" + "".join(f"{name},1\n" for name in [*names, other]))
        table = load(str(path), ["a"], labels=["who"])
        assert table["who"].to_pylist() == [*(name.strip() for name in names), other]
        assert len(people(path)) == len(alone) + 1


@pytest.mark.parametrize("name", ["", " ", "NA", " NA ", "null", "nan", "-", " ?"])
@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "feather"])
def test_nobody_is_refused(run, tmp_path, name, ending):
    table = pa.table({"who": ["Ann", "Bob", name, "NA-1"], "a": [1, 2, 3, 4], "b": [1, 2, 3, 4]})
    path = f"p.{ending}"
    if ending == "parquet":
        parquet.write_table(table, path)
    elif ending == "feather":
        feather.write_feather(table, path)
    else:
        mark = "\t" if ending == "tsv" else ","
        rows = [mark.join(map(str, row.values())) for row in table.to_pylist()]
        (tmp_path / path).write_text("\n".join([mark.join(table.column_names), *rows]) + "\n")
    line = refused(release(run, path, "--epsilon", "1", "--yes", "--person", "who"))
    assert "column who: a row does not say whose it is" in line


def test_a_dash_is_no_other_category(run, tmp_path):
    """It is a gap, which is refused or dropped, unless the list has it."""
    (tmp_path / "w.csv").write_text("a,w\n" + "1,a\n2,-\n3,b\n" * 400)
    asked = ("release", "w.csv", "a", "w", "--bounds", "a=0:9", "--epsilon", "1", "--categories")
    told = ("--one-row-per-person", "--yes", "--json")
    assert "column w: it has missing values" in refused(run(*asked, "w=a,other", *told))
    code, out, _ = run(*asked, "w=a,-,other", *told)
    assert code == 0
    assert json.loads(out)["parameters"]["y categories"] == ["a", "-", "other"]
    code, out, err = run("score", "w.csv", "a", "w", "--json")
    assert json.loads(out)["n"] == 800
    assert "left out 400 of 1,200 records, which lack a value" in err


def test_a_range_of_dates_is_not_searched(run, tmp_path):
    """The refusal is the same for every text; it spoke of decimal commas alone."""
    (tmp_path / "d.csv").write_text("day\n" + "2024-05-31\n" * 400)
    line = refused(run("bounds", "d.csv", "day", *PRIVATE))
    assert "it has a value that is not a number; if it holds dates, choose their range" in line
    assert "--decimal ',' if they have decimal commas. Nothing was spent" in line


BIG = [2**53, 2**53 + 1, 2**53 + 2, 2**53]


@sweep("ending", ["parquet", "feather"])
@sweep(
    ("values", "expected"),
    [
        (pa.array(BIG, pa.int64()), [0, 1, 2]),
        (pa.array(BIG, pa.uint64()), [0, 1, 2]),
        (pa.array([Decimal(n) for n in BIG], pa.decimal128(20, 1)), [0, 1, 2]),
        (pa.array([7.0, 7.5, 8.0, 7.0]), [0, 1, 2]),
        (pa.array(["7", "07", "7 ", "8"]), [0, 1, 3]),
        (pa.array(["7", "07", "7 ", "8"], pa.large_string()), [0, 1, 3]),
        (pa.array(["7", "07", "7 ", "8"]).dictionary_encode(), [0, 1, 3]),
        (pa.array(BIG).dictionary_encode(), [0, 1, 2]),
    ],
)
def test_declared_types_tell_people_apart(tmp_path, ending, values, expected):
    table = pa.table({"a": [1.0, 2.0, 3.0, 4.0], "who": values})
    path = tmp_path / f"p.{ending}"
    if ending == "parquet":
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, path)
    assert people(path) == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("h.csv", "34;56000;HIV\n35;1000;well\n"),
        ("h.csv", '"34";"HIV"\n"35";"well"\n'),
        ("h.csv", "34,56000,HIV\n35,1000,well\n"),
        ("h.csv", "2026-01-31,HIV\n2026-02-01,well\n"),
        ("h.tsv", "34,HIV\n35,well\n"),
    ],
)
def test_a_missing_header_is_not_told(run, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    line = refused(release(run, name))
    assert (
        "it must be a header, and was read as" in line or "found one column in its header;" in line
    )
    assert not any(value in line for value in ("34", "56000", "HIV", "2026", "'x"))
    assert "HIV" in refused(run("score", name, "a", "b"))  # where nothing is private, it helps


def test_headers_are_told_without_privacy_and_bounded(run, tmp_path):
    (tmp_path / "h.csv").write_text("x1;y\n1;2\n")
    line = refused(run("score", "h.csv", "a", "b", "--sep", ","))
    assert "found one column, but it seems to be separated by ';'" in line
    (tmp_path / "h.csv").write_text("x1,y\n1,2\n")
    assert "the columns are 'x1', 'y'" in refused(run("score", "h.csv", "a", "b"))
    for mark in ";,":
        (tmp_path / "h.csv").write_text("z" * 5000 + f"{mark}y\n1{mark}2\n")
        assert "'a', 'b'" not in refused(run("score", "h.csv", "a", "b"))
        assert "a text of 5000 characters" in refused(run("score", "h.csv", "a", "b"))


@pytest.mark.parametrize(
    "number", ["9" * 5000, "-" + "9" * 17, str(2**53 + 1), "0" * 20 + "9" * 17]
)
def test_integers_of_any_length(run, tmp_path, number):
    (tmp_path / "n.csv").write_text("a,b\n" + "1,2\n" * 9 + f"{number},3\n")
    for found in (run("score", "n.csv", "a", "b"), release(run, "n.csv")):
        assert "column 'a': it has integers that float64 would round" in refused(found)


def test_zeros_before_a_number_round_nothing(tmp_path):
    path = tmp_path / "n.csv"
    path.write_text(f"a\n{'0' * 5000}1\n{'0' * 20}{2**53}\n")
    assert load(str(path))["a"].to_pylist() == [1, 2**53]


def test_bounds_that_are_no_numbers(run, tmp_path):
    (tmp_path / "large.toml").write_text(f"[bounds]\na = [0, {'9' * 400}]\nb = [0, 1]\n")
    given = ("release", "people.csv", "a", "b", *PRIVATE)
    line = refused(run(*given, "--bounds-file", "large.toml"))
    assert "large.toml: a: two numbers are needed; write a = [0, 120]" in line
    for text in ("0:10", "=0:10"):
        line = refused(run(*given, "--bounds", text))
        assert f"--bounds {text}: it has no NAME=; write --bounds age=0:120" in line


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "standard input: it is empty; check what writes to it"),
        ("a,b\n", "standard input: it has no rows"),
        ('a,b\n1,"2\n', f"standard input, row 1: {UNCLOSED}"),
    ],
)
def test_standard_input_has_a_name(run, monkeypatch, text, words):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert words in refused(run("score", "-", "a", "b"))


def test_one_column_is_no_pair(run):
    run("ledger", "create", "p.ledger", "--epsilon", "3")
    kept = (*PRIVATE, "--ledger", "p.ledger", "--dataset", "2026")
    for given in (
        ("release", "people.csv", "a", "a", "--bounds", "a=-1:1"),
        ("release", "people.csv", "a", "a", "--mechanism", "mice-laplace"),
        ("test", "people.csv", "a", "a", "--draws", "19"),
    ):
        assert "column 'a': it is named twice; name two" in refused(run(*given, *kept))
    assert dpmic.Ledger("p.ledger").spent == 0


def test_a_large_file_whose_header_is_not_closed(run, tmp_path):
    """Records must not become names of a job file."""
    rows = "1,SECRET-34,2\n" * 100_000
    (tmp_path / "large.csv").write_text('id,"age,stay\n1,SECRET-33,2\n2,5,"x\n' + rows)
    code, out, err = run("init", "large.csv")
    assert code == 2
    assert "SECRET" not in out + err
    assert not (tmp_path / "large.dpmic.toml").exists()
    (tmp_path / "large.csv").write_text('id,"age,stay\n1,SECRET-33,2\n2,5",x\n' + rows)
    assert run("init", "large.csv")[0] == 2
    assert not (tmp_path / "large.dpmic.toml").exists()


def test_a_category_may_be_called_na(run, tmp_path):
    """NA is missing, unless it is listed."""
    lines = "".join(f"{i % 2 * 50 + 20},{'NA' if i % 2 else 'DE'}\n" for i in range(2000))
    (tmp_path / "c.csv").write_text("age,country\n" + lines)
    given = ("release", "c.csv", "age", "country", "--bounds", "age=0:100", "--epsilon", "5")
    given += ("--one-row-per-person", "--yes", "--json", "--categories")
    found = json.loads(run(*given, "country=DE,NA")[1])
    assert found["value"] > 0.9
    assert run(*given, "country=DE,FR")[0] == 2


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_folder_is_one_table(run, tmp_path, ending):
    """All commands take it; an error of a private one does not say which of its files is wrong."""
    (tmp_path / "table").mkdir()
    for place, part in enumerate((commands.TABLE[:700], commands.TABLE[700:])):
        path = tmp_path / "table" / f"{place}.{ending}"
        parquet.write_table(part, path) if ending == "parquet" else csv.write_csv(part, path)
    both = [run("score", file, "a", "b", "--json")[1] for file in ("table", "people.csv")]
    assert both[0] == both[1]
    code, out, err = run("release", "table", "a", "b", *commands.BOUNDS, *PRIVATE, "--json")
    assert (code, json.loads(out)["n"]) == (0, commands.N), err
    assert run("init", "table")[0] == 0
    assert {"a", "b", "c", "id"} <= set(
        re.findall(r"(?m)^(\w+) += ", (tmp_path / "table.dpmic.toml").read_text())
    )
    (tmp_path / "table" / f"2.{ending}").write_text("a,b\nx")
    private = ("release", "table", "a", "b", *commands.BOUNDS, *PRIVATE)
    assert "2." not in refused(run(*private))
    (tmp_path / "table" / f"2.{ending}").rename(tmp_path / "table" / "readme")
    for strays in ("readme", "notes.xlsx"):
        said = refused(run(*private))
        assert "table: the files in this folder are of several kinds" in said
        assert "keep files of one kind in it" in said
        assert strays not in said
        if strays == "readme":
            (tmp_path / "table" / "readme").rename(tmp_path / "table" / "notes.xlsx")
    (tmp_path / "table" / "notes.xlsx").unlink()
    assert run(*private)[0] == 0


def test_a_private_command_names_no_file_of_a_folder_that_differs(run, tmp_path):
    (tmp_path / "table").mkdir()
    parquet.write_table(commands.TABLE, tmp_path / "table" / "0.parquet")
    lacking = tmp_path / "table" / "1.parquet"
    parquet.write_table(commands.TABLE.drop_columns(["b"]), lacking)
    given = ("table", "a", "b", *commands.BOUNDS, *PRIVATE)
    said = refused(run("release", *given))
    assert "column 'b': a file lacks it" in said
    assert "give every file this column, with the same type" in said
    assert "1.parquet" not in said
    assert "1.parquet" in refused(run("score", "table", "a", "b"))
    lacking.unlink()
    assert run("release", *given)[0] == 0


def test_ranks_take_bounds_to_scatter_in_and_for_nothing_else(run, tmp_path):
    (tmp_path / "gaps.csv").write_text("a,b\n" + "1,2\n,3\n4,5\n" * 400)
    given = (*PRIVATE, "--allow-noisy", "--mechanism", "mice-laplace")
    assert "mice-laplace does not use bounds" in refused(release(run, "gaps.csv", *given))
    code, out, err = release(run, "gaps.csv", *given, "--missing", "scatter", "--json")
    assert code == 0, err
    assert json.loads(out)["parameters"]["x bounds"] == [0, 60]


def test_a_private_test_scatters_between_bounds(run, tmp_path):
    (tmp_path / "gaps.csv").write_text("a,b\n" + "1,2\n,3\n4,5\n" * 40)
    tested = ("test", "gaps.csv", "a", "b", *PRIVATE, "--draws", "19", "--json")
    assert "--fill" in refused(run(*tested))
    assert "--bounds: column a has none" in refused(run(*tested, "--missing", "scatter"))
    assert "only --missing scatter uses them" in refused(run(*tested, *BOUNDS))
    code, out, err = run(*tested, "--missing", "scatter", *BOUNDS)
    assert code == 0, err
    assert json.loads(out)["parameters"]["missing"] == "scatter"
    filled = run(*tested, "--missing", "scatter", *BOUNDS, "--fill", "a=3")
    assert "they exclude each other" in refused(filled)
    for options in (("--missing", "scatter"), BOUNDS):
        assert "only a private test takes it" in refused(
            run("test", "gaps.csv", "a", "b", *options)
        )
    assert (
        json.loads(run("test", "gaps.csv", "a", "b", "--missing", "drop", "--json")[1])["n"] == 80
    )
