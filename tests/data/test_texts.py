"""What is a record of a text, and what of its first line is told: by every reader alike."""

import io
import itertools
import json
import re
import sys

import numpy as np
import pyarrow.dataset
import pytest
from project import ROOT
from sweeps import sweep

import dpmic
from dpmic import cli
from dpmic.data import _reader, load, stream

READERS = ("library", "dataset", "command", "stdin")
MARKS = {"csv": ",", "tsv": "\t"}


@pytest.fixture(params=list(itertools.product(READERS, MARKS)), ids="-".join)
def read(request, tmp_path, monkeypatch):
    """Return what reads columns of a text, whose commas are what the kind of text has."""
    reader, ending = request.param

    def listed(batches):
        return [row for batch in batches for row in batch.data.to_pylist()]

    def rows(written, *columns):
        path = tmp_path / f"t.{ending}"
        path.write_bytes(written.replace(",", MARKS[ending]).encode())
        if reader in ("command", "stdin"):
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
            table = load("-" if reader == "stdin" else str(path), columns)
            return [tuple(row.values()) for row in table.select(columns).to_pylist()]
        source = path
        if reader == "dataset":
            parse = pyarrow.csv.ParseOptions(delimiter=MARKS[ending])
            form = pyarrow.dataset.CsvFileFormat(parse)
            source = pyarrow.dataset.dataset(path, format=form)
        (found,) = stream(source).fold(columns, listed)
        assert stream(source).count() == len(found)
        return [tuple(row.values()) for row in found]

    return rows


@sweep(
    ("lines", "values"),
    [
        (["x", "1", "", "2", ""], [1, None, 2]),
        (["x", "1", "", "2"], [1, None, 2]),
        (["x", "", "1", ""], [None, 1]),
        (["x", "", "", "1"], [None, None, 1]),
        (["x", "1", "", ""], [1, None]),
        (["x", "1", "", "", ""], [1, None, None]),
        (["x", "", ""], [None]),
        (["", "", "x", "1", "", "2", ""], [1, None, 2]),
        (["x", '""', "1", "NA", "  ", ""], [None, 1, None, None]),
    ],
)
@sweep("end", ["\n", "\r\n"])
def test_an_empty_line_of_one_column_is_a_record_without_a_value(read, lines, values, end):
    assert read(end.join(lines), "x") == [(value,) for value in values]


def test_empty_lines_between_blocks(read, monkeypatch):
    """Wherever a block of bytes ends."""
    for size in range(7, 20):
        monkeypatch.setattr(_reader, "BLOCK", size)
        found = read("x\n" + "1\n\n\n22\n" * 9, "x")
        assert found == [(1,), (None,), (None,), (22,)] * 9


def test_a_one_column_text_keeps_its_n(monkeypatch, tmp_path, capsys):
    """n is public: one record without a value must not become a table of one record less."""
    lines = [str(value) for value in range(50)]
    path = tmp_path / "t.csv"
    asked = ["bounds", str(path), "x", "--epsilon", "1", "--one-row-per-person", "--yes", "--json"]
    monkeypatch.setattr(sys, "argv", ["dpmic", *asked])
    for gap in (True, False):
        path.write_text("\n".join(["x", *lines, *[""] * gap, *lines]) + "\n")
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        out, err = capsys.readouterr()
        if gap:
            assert stopped.value.code == 2
            assert "column x: it has missing values" in err
        else:
            assert json.loads(out)["n"] == 100


# The first line may be a record

WORDS = "xerxes,diabetes\n" + "bob,asthma\neve,well\n" * 5
TEXTS = {
    "words": WORDS,
    "twice": "well,well\nill,well\n" + "ill,ill\n" * 9,
    "semicolons": WORDS.replace(",", ";"),
    "one": "xerxes\nbob\n" + "eve\n" * 9,
    "numbers": "34,xerxes\n35,bob\n",
    "near": "ages,pays,xerxes\n" + "bob,eve,well\n" * 9,
    "quoted": '"xerxes\ndiabetes",well\n"bob\nasthma",ill\n',
}
BOUNDS = {"age": (0, 1), "pay": (0, 1)}
COMMON = ["--epsilon", "1", "--one-row-per-person", "--yes"]
ENDS = ["--bounds", "age=0:1", "--bounds", "pay=0:1"]
COMMANDS = {
    "release": (["age", "pay"], ENDS),
    "test": (["age", "pay"], ["--draws", "19"]),
    "bounds": (["age"], []),
    "screen": ([], [*ENDS, "--top", "1"]),
}


def told(message, text):
    return [word for word in re.findall(r"\w{2,}", text) if re.search(rf"\b{word}\b", message)]


@sweep("text", TEXTS.values(), ids=TEXTS)
@sweep("ending", ["csv", "tsv", "stdin"])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_private_command_tells_the_first_line(
    monkeypatch, tmp_path, capsys, text, ending, command
):
    written = text.replace(",", "\t") if ending == "tsv" else text
    (tmp_path / f"t.{ending}").write_text(written)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(written.encode())))
    names, more = COMMANDS[command]
    file = "-" if ending == "stdin" else f"t.{ending}"
    monkeypatch.setattr(sys, "argv", ["dpmic", command, file, *names, *COMMON, *more, "--debug"])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    message = capsys.readouterr().err
    last = message.splitlines()[-1]
    assert not told(last, text), last
    said = ("must be a header, and was read as", "found one column", "has several lines")
    assert any(words in last for words in said), last


CALLS = {
    "release": lambda path: dpmic.release("age", "pay", data=path, epsilon=1, bounds=BOUNDS),
    "screen": lambda path: dpmic.screen(path, epsilon=1, bounds=BOUNDS, top=1),
    "sequence": lambda path: dpmic.screen(path, epsilon=1, bounds=[(0, 1)] * 2, top=1),
    "matrix": lambda path: dpmic.release_pairwise(path, epsilon=1, bounds=BOUNDS),
    "target": lambda path: dpmic.release_pairwise(path, epsilon=1, bounds=BOUNDS, target="z"),
}


@sweep("text", TEXTS.values(), ids=TEXTS)
@sweep("ending", ["csv", "tsv"])
@sweep("call", CALLS)
def test_no_private_function_tells_the_first_line(tmp_path, text, ending, call):
    path = tmp_path / f"t.{ending}"
    path.write_text(text.replace(",", "\t") if ending == "tsv" else text)
    with pytest.raises(dpmic.errors.DpmicError) as refused:
        CALLS[call](path)
    assert not told(str(refused.value), text), refused.value


def test_without_privacy_the_names_are_listed(monkeypatch, tmp_path, capsys):
    (tmp_path / "t.csv").write_text("weight,height\n1,2\n")
    monkeypatch.setattr(sys, "argv", ["dpmic", "score", str(tmp_path / "t.csv"), "a", "weight"])
    with pytest.raises(SystemExit):
        cli.main()
    assert "the columns are 'weight', 'height'" in capsys.readouterr().err


# What is advised


def test_nobody_is_advised_to_fill_with_a_constant():
    """It makes independent columns look dependent, where both are missing together."""
    places = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    for path in places:
        assert not re.search(r"fillna|fill_null|fill_nan", path.read_text("utf-8")), path


def test_why_nobody_is():
    rng = np.random.default_rng(3)
    x, y = rng.uniform(1, 2, (2, 2000))
    lost = rng.random(2000) < 0.5  # of records that answered neither question
    box = ((0, 2), (0, 2))
    assert dpmic.micr(x, y, bounds=box).mic < 0.1
    assert dpmic.micr(np.where(lost, 0, x), np.where(lost, 0, y), bounds=box).mic > 0.7


def test_blocks_end_where_records_do(tmp_path, monkeypatch):
    """Whatever the size of a block: lines in quotation marks are no records."""
    lines = [f'{i},{i % 7},"line one\n7,7,""line"" two"\n' for i in range(200)]
    path = tmp_path / "notes.csv"
    path.write_text("x,y,note\n" + "".join(lines))
    for block in (64, 100, 1000, 2**20):
        monkeypatch.setattr(_reader, "BLOCK", block)
        assert load(str(path), ["x", "y"]).to_pydict()["x"] == list(range(200))
    path.write_text('x,y,note\n1,1,an 8" pipe\n' + "".join(lines) + '1,1,a 6" pipe\n')
    for block in (64, 100, 1000, 2**20):
        monkeypatch.setattr(_reader, "BLOCK", block)
        with pytest.raises(dpmic.InputError, match="quotation mark"):
            load(str(path), ["x", "y"])


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_the_first_line_alone_says_how_values_are_separated(tmp_path, monkeypatch, newline):
    text = newline.join(["x\ty\tnote", "1\t2\ty, z", "3\t4\t;", ""])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert load("-", ["x", "y"]).to_pydict() == {"x": [1, 3], "y": [2, 4]}
    one = tmp_path / "one.csv"
    one.write_bytes(newline.join(["a", "1", "2", ""]).encode())
    assert load(str(one), ["a"]).num_rows == 2
