"""How a text is written: what is said, what is recognised, and what is looked at for that."""

import gzip
import io
import sys

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from pyarrow import csv
from sweeps import sweep

import dpmic
from dpmic._validate import Categories
from dpmic.data import (
    Dialect,
    _reader,
    coded,
    find,
    find_all,
    header,
    load,
    open_file,
    stream,
)
from dpmic.errors import InputError, ParameterError

NAN = float("nan")
BOX = {"x": (0.0, 10.0), "y": (0.0, 10.0)}


@pytest.fixture
def write(tmp_path):
    def written(text, name="t.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return str(path)

    return written


def columns(path, dialect=None, **options):
    table = load(path, ["x", "y"], dialect=dialect or Dialect(), **options)
    return [
        [NAN if v is None else v for v in table[name].to_pylist()] for name in table.column_names
    ]


def said(path, *wanted, **options):
    """Return what was recognised, in words."""
    notes = []
    load(path, list(wanted) or ["x", "y"], note=notes.append, **options)
    assert len(notes) <= 1
    return notes[0].partition(" as: ")[2] if notes else ""


# Separators


@sweep("sep", [",", ";", "\t", "|"])
@sweep("name", ["t.csv", "t.tsv", "t.txt", "t.csv.gz"])
@sweep("private", [True, False])
def test_the_header_says_what_separates_values(write, sep, name, private):
    text = f'"a,b;c"{sep}x{sep}y\n";,"{sep}1{sep}2\n|{sep}3{sep}4\n'.replace(
        "|" + sep if sep != "|" else "||", f"0{sep}"
    )
    path = write(gzip.compress(text.encode()) if name.endswith("gz") else text, name)
    assert columns(path, private=private) == [[1, 3], [2, 4]]
    usual = "\t" if name == "t.tsv" else ","
    words = {",": "','", ";": "';'", "\t": "tabs", "|": "'|'"}[sep]
    assert said(path, private=private) == ("" if sep == usual else f"separated by {words}")
    assert header(path) == ("a,b;c", "x", "y")


def test_of_several_marks_in_a_header_the_records_decide(write):
    path = write("x;y;weight, kg\n1;2;3\n4;5;6\n")
    assert columns(path) == [[1, 4], [2, 5]]
    with pytest.raises(
        InputError, match="its columns could be separated by several characters; say which"
    ) as no:
        columns(path, private=True)
    assert "kg" not in str(no.value)
    assert columns(path, Dialect(sep=";"), private=True) == [[1, 4], [2, 5]]
    both = write("x;y,z\n1;2,5\n4;5,5\n")
    with pytest.raises(
        InputError, match="its columns could be separated by ',' and ';'; say which"
    ):
        columns(both)
    with pytest.raises(InputError, match="its columns could be separated"):
        columns(write("x;y,z\n"))  # there is no record to ask


def test_records_never_say_what_separates_values(write):
    """A quoted header of one column, above records with commas in them."""
    path = write('"x"\n"1"\n"2"\n')
    assert load(path, ["x"])["x"].to_pylist() == [1, 2]
    ragged = write('"x"\n1;5\n2;5\n')
    with pytest.raises(InputError, match="it has a value that is not a number"):
        load(ragged, ["x"], private=True)


@sweep("sep", [",", ";", "\t", "|", "^", " "])
@sweep("end", ["\n", "\r\n", "\r"])
@sweep("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_first_line_may_name_the_separator(write, sep, end, encoding):
    """As Excel reads it. No record does, so private code may use it."""
    lines = ["sep=" + sep, f"id{sep}x{sep}y", f"1{sep}2{sep}3", f"4{sep}5{sep}6"]
    path = write(end.join(lines), encoding=encoding)
    words = {",": "','", ";": "';'", "\t": "tabs", "|": "'|'", "^": "'^'", " ": "' '"}[sep]
    words = f"separated by {words}, as its first line says" + ", UTF-16" * (encoding == "utf-16")
    for private in (True, False):
        assert columns(path, private=private) == [[2, 5], [3, 6]]
        assert said(path, private=private) == words
    notes = []
    assert header(path, note=notes.append) == ("id", "x", "y")
    assert notes == [f"read {path} as: {words}"]
    assert dpmic.CountTable.of(path, BOX, B=9, c=5).n == open_file(path).count() == 2


def test_an_option_overrules_the_first_line(write):
    path = write("sep=;\nx,y\n1,2\n3,4\n")
    comma, semicolon = ({"dialect": Dialect(sep=sep)} for sep in ",;")
    assert columns(path, **comma) == columns(path, **comma, private=True) == [[1, 3], [2, 4]]
    assert said(path, **comma) == "separated by ',', although its first line says ';'"
    assert said(write("sep=;\nx;y\n1;2\n"), **semicolon) == ""
    with pytest.raises(InputError, match="found one column"):
        columns(write("sep=;\nx,y\n1,2\n"))


@sweep("line", ["sep=;", "SEP=;", '"sep=;"', '"Sep=;"'])
def test_it_may_be_in_capitals_or_quoted(write, line):
    assert columns(write(f"{line}\nid;x;y\n1;2;3\n"), private=True) == [[2], [3]]


@sweep("line", ["sep=;;", " sep=;", '"sep=;;"', "sep =;", "sep=", "sep=a", "sep=é"])
def test_only_such_a_line_is_taken_for_one(write, line):
    """Others are the header: in private one that is quoted or holds no separator is a name."""
    path = write(f"{line}\nx;y\n1;2\n")
    if ";" in line and '"' not in line:
        assert header(path)[0] == line.split(";")[0]
    else:
        assert header(path) == (line.strip('"'),)


def test_a_first_line_that_the_caller_describes_is_left_alone(write):
    path = write("sep=;\nx;y\n1;2\n3;4\n")
    assert columns(path, Dialect(sep=";", skip=1)) == [[1, 3], [2, 4]]
    named = load(
        write("sep=;\nb\n"), dialect=Dialect(names=("x",), sep=","), labels=["x"], private=True
    )
    assert named["x"].to_pylist() == ["sep=;", "b"]


def test_errors_count_rows_below_the_header_that_follows(write):
    path = write("sep=;\nx;y\n1;2\n3;oops\n")
    with pytest.raises(InputError, match="row 2: 'oops' is not a number"):
        columns(path)


def test_every_file_of_a_folder_may_name_its_separator(tmp_path):
    for name, text in {"a": "sep=;\nx;y\n1;2\n", "b": "x;y\n3;4\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text)
    assert load(str(tmp_path), ["x", "y"])["x"].to_pylist() == [1, 3]


def test_one_column_of_decimal_commas(write):
    path = write("x\n1,5\n2,25\n")
    assert load(path, ["x"])["x"].to_pylist() == [1.5, 2.25]
    assert said(path, "x") == "separated by ';', decimal comma"
    with pytest.raises(InputError, match="more or fewer values than the header has names"):
        load(path, ["x"], private=True)
    told = Dialect(sep=";", decimal=",")
    assert load(path, ["x"], dialect=told, private=True)["x"].to_pylist() == [1.5, 2.25]


@sweep(
    ("sep", "character"),
    [("tab", "\t"), ("\\t", "\t"), (";", ";"), (":", ":"), ("^", "^"), (" ", " ")],
)
def test_separators_that_are_said(write, sep, character):
    path = write(f"x{character}y\n1{character}2\n")
    assert columns(path, Dialect(sep=sep)) == [[1], [2]]


def test_a_wrong_separator_is_refused_with_the_right_one(write):
    path = write("x;y\n1;2\n")
    words = r"found one column, but it seems to be separated by ';'; pass .*sep=';'"
    with pytest.raises(InputError, match=words):
        columns(path, Dialect(sep="|"))
    with pytest.raises(InputError, match="found one column in its header; say what") as private:
        columns(path, Dialect(sep="|"), private=True)
    assert "x;y" not in str(private.value)


# Decimals


def test_decimal_commas_are_recognised(write):
    path = write("x;y\n1,5;2\n-,5;,25\n+3,;1e2\nNA;4\n")
    assert said(path) == "separated by ';', decimal comma"
    np.testing.assert_array_equal(columns(path), [[1.5, -0.5, 3, NAN], [2, 0.25, 100, 4]])
    quoted = write('x,y\n"1,5","2"\n"0,125","3"\n')
    assert columns(quoted) == [[1.5, 0.125], [2, 3]]


@sweep(
    ("text", "words"),
    [
        (
            "x;y\n1,234;1\n2,500;2\n",
            r"column 'x': '1,234' could mean 1\.234 or 1234; pass .*decimal",
        ),
        ("x;y\n1,5;1.5\n2,5;2.5\n", r"column 'x': it has decimal commas, but column 'y' has dec"),
        (
            "x;y\n1.234,5;1\n2,5;1\n",
            r"column 'x', row 1: '1\.234,5' is not a number",
        ),
        ("x;y\n1,5;1\n2.5;1\n", r"column 'x', row 1: '1,5' is not a number; if"),
    ],
)
def test_unclear_decimals_are_refused(write, text, words):
    with pytest.raises(InputError, match=words):
        columns(write(text))


def test_thousands_beside_clear_decimals(write):
    """One column of decimal commas says what the other means; so does one of points."""
    assert columns(write("x;y\n1,234;1,5\n2,500;2,5\n")) == [[1.234, 2.5], [1.5, 2.5]]
    with pytest.raises(InputError, match="'1,234' is not a number"):
        columns(write("x;y\n1,234;1.5\n2,500;2.5\n"))
    assert columns(write("x;y\n0,234;1\n1,500;2\n")) == [[0.234, 1.5], [1, 2]]


def test_columns_that_are_not_wanted_do_not_decide(write):
    path = write("code;x;y\n1,234;1;2\n1,5;3;4\n2.5;5;6\n")
    assert said(path) == "separated by ';'"
    assert columns(path) == [[1, 3, 5], [2, 4, 6]]


def test_decimals_that_are_said(write):
    path = write("x;y\n1,234;1\n2.5;2\n")
    with pytest.raises(InputError, match=r"row 2: '2\.5' is not a number"):
        columns(path, Dialect(decimal=","))
    with pytest.raises(InputError, match=r"row 1: '1,234' is not a number"):
        columns(path, Dialect(decimal="."))
    late = write("x;y\n" + "1;2\n" * 300_000 + "1,5;2\n")
    with pytest.raises(InputError, match=r"row 300001: '1,5' is not a number; if"):
        columns(late)
    assert columns(late, Dialect(decimal=","))[0][-1] == 1.5


def test_integers_beyond_float64_are_refused_beside_decimal_commas(write):
    with pytest.raises(InputError, match="integers that float64 would round"):
        columns(write(f"x;y\n{2**53 + 1};1,5\n"))


# Encodings


@sweep("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@sweep("end", ["\n", "\r\n", "\r"])
def test_encodings_are_recognised(write, encoding, end, monkeypatch):
    text = end.join(["größe;x;y", "Müller €;1;2", *["é;3;4"] * 40, ""])
    path = write(text, encoding=encoding)
    for size in (64, 101, 2**20):
        monkeypatch.setattr(_reader, "BLOCK", size)
        table = load(path, ["x", "größe"], labels=["größe"])
        assert table["größe"].to_pylist() == ["Müller €", *["é"] * 40]
    words = {"utf-16": ", UTF-16", "cp1252": ", Latin-1 (cp1252)"}.get(encoding, "")
    assert said(path) == "separated by ';'" + words


def test_private_encodings_are_marked_or_said(write):
    marked = write("größe;x;y\né;1;2\n", encoding="utf-16")
    assert header(marked) == ("größe", "x", "y")
    latin = write("größe;x;y\né;1;2\n", encoding="cp1252")
    with pytest.raises(InputError, match="its text is not UTF-8; save it .*encoding='cp1252'"):
        header(latin)
    assert header(latin, Dialect(encoding="cp1252")) == ("größe", "x", "y")
    below = write("name;x;y\né;1;2\n", encoding="cp1252")
    assert columns(below, private=True) == [[1], [2]]
    with pytest.raises(InputError, match="its text is not UTF-8") as no:
        load(below, ["x"], labels=["name"], private=True)
    assert "name" not in str(no.value).replace("name its", "")
    assert "row" not in str(no.value)


def test_what_is_in_no_encoding_is_refused_with_its_row(write):
    rows = b"".join(b"n%d;%d;2\n" % (i, i) for i in range(200_000))
    path = write("näme;x;y\n".encode() + rows + b"\xe9;1;2\n")
    words = r"column 'näme', row 200001: its text is not UTF-8; save"
    with pytest.raises(InputError, match=words):
        load(path, ["x"], labels=["näme"])
    assert load(path, ["x"]).num_rows == 200_001  # where it is not wanted, it does not matter
    undefined = write(b"n\xe4me;x;y\na;1;2\n\x81;3;4\n")
    with pytest.raises(InputError, match=r"row 2: its text is not cp1252"):
        load(undefined, ["x"], labels=["näme"], dialect=Dialect(encoding="cp1252"))
    odd = write("x;y\n1;2\n".encode("utf-16") + b"1")
    with pytest.raises(InputError, match="its text is not utf-16"):
        load(odd)


def test_utf_16_without_a_mark_must_be_said(write):
    path = write("x;y\n1;2\n", encoding="utf-16-le")
    with pytest.raises(InputError, match="zero bytes; if it is UTF-16, .*encoding='utf-16-le'"):
        columns(path)
    assert columns(path, Dialect(encoding="utf-16-le")) == [[1], [2]]


# Missing values

GAPS = [
    "",
    " ",
    "NA",
    "N/A",
    "n/a",
    "NULL",
    "null",
    "NaN",
    "-",
    " - ",
    "--",
    ".",
    "?",
    "<NA>",
    "None",
]


@sweep("private", [True, False])
def test_spellings_of_missing_values(write, private):
    for gap in GAPS:
        path = write(f"x,y\n{gap},1\n-2,.5\n")
        np.testing.assert_array_equal(columns(path, private=private), [[NAN, -2], [1, 0.5]])
    flags = write("x,y\n-,1\ntrue,2\nFalse,3\n")
    np.testing.assert_array_equal(columns(flags, private=private), [[NAN, 1, 0], [1, 2, 3]])


def test_a_block_of_dashes_decides_nothing(write, monkeypatch):
    monkeypatch.setattr(_reader, "BLOCK", 64)
    path = write("x,y\n" + "-,1\n" * 60 + "true,2\n" * 60)
    assert np.nansum(columns(path)[0]) == 60


def test_a_list_of_categories_decides_what_a_dash_means(write):
    """Text keeps its words until the list is known: a dash in it is a category."""
    path = write("who,x\n-,1\n.,2\nNone,3\nna,4\n + ,5\n")
    table = load(path, ["x"], labels=["who"], private=True)
    assert table["who"].to_pylist() == ["-", ".", "None", "na", "+"]
    for listed, codes in (
        (("a", "other"), [NAN, NAN, 1, 1, 1]),
        (("+", "-"), [1, NAN, NAN, NAN, 0]),
        (("None", ".", "other"), [NAN, 1, 0, 2, 2]),
    ):
        np.testing.assert_array_equal(coded(table["who"], "who", Categories(listed)), codes)


def test_placeholders_among_texts_are_missing_without_privacy(write):
    path = write("ward,drug,sign,x\na,-,-,1\n?,None,+,2\n - ,b,-,3\nNA,.,?,4\nd,c,+,5\n")
    for labels in ([], ["ward", "sign"]):
        table = load(path, typed=True, labels=labels)
        na = ["NA"] if labels else [None]  # a column that is named is looked at later
        assert table["ward"].to_pylist() == ["a", None, None, *na, "d"]
        assert table["drug"].to_pylist() == [None, "None", "b", None, "c"]
        assert table["sign"].to_pylist() == ["-", "+", "-", None, "+"]  # beside + it is a value


def test_spellings_that_are_said(write):
    path = write("x,y\n-9,1\n 99 ,unknown\n2,3\n")
    for private in (True, False):
        found = columns(path, Dialect(na=["-9", "99", "unknown"]), private=private)
        np.testing.assert_array_equal(found, [[NAN, NAN, 2], [1, NAN, 3]])
    with pytest.raises(InputError, match=r"'unknown' is not a number; .* pass .*na='unknown'"):
        columns(path)


# What may be said at all


@sweep(
    ("wrong", "words"),
    [
        ({"sep": ";;"}, "sep = ';;': the separator is one character"),
        ({"sep": "a"}, "sep = 'a'"),
        ({"sep": "§"}, "sep = '§'"),
        ({"decimal": "'"}, "this is not a decimal mark"),
        ({"encoding": "klingon"}, "encoding = 'klingon': there is no such text encoding"),
        ({"encoding": "base64"}, "there is no such text encoding"),
    ],
)
def test_what_cannot_be_said(wrong, words):
    with pytest.raises(ParameterError, match=words):
        Dialect(**wrong)


def test_what_a_kind_of_file_does_not_have_is_refused(write, tmp_path):
    pa.parquet.write_table(pa.table({"x": [1]}), tmp_path / "t.parquet")
    with pytest.raises(ParameterError, match=r"sep = ';': \.parquet files have no such option"):
        open_file(str(tmp_path / "t.parquet"), Dialect(sep=";"))
    with pytest.raises(ParameterError, match=r"sheet = 'a': \.csv files have no such option"):
        open_file(write("x\n1\n"), Dialect(sheet="a"))


def test_standard_input_is_recognised_too(monkeypatch):
    text = "größe;x;y\né;1,5;2\né;2,5;3\n".encode("cp1252")
    for private in (False, True):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        told = Dialect(decimal=",", encoding="cp1252") if private else Dialect()
        assert columns("-", told, private=private) == [[1.5, 2.5], [2, 3]]


def test_a_folder_is_written_as_its_first_file(tmp_path):
    (tmp_path / "a.csv").write_text("x;y\n1,5;2\n")
    (tmp_path / "b.csv").write_text("y;x\n3;4\n")
    (rows,) = stream(tmp_path, public=True).fold(
        ["x", "y"], lambda parts: [row for part in parts for row in part.data.to_pylist()]
    )
    assert rows == [{"x": 1.5, "y": 2}, {"x": 4, "y": 3}]
    (tmp_path / "b.csv").write_text("y,x\n3,4\n")
    with pytest.raises(InputError, match=r"b\.csv: found one column"):
        list(stream(tmp_path, public=True).fold(["x", "y"], list))


# Privately nothing is looked at but the header

CALLS = {
    "release": lambda data: dpmic.release("x", "y", data=data, epsilon=1, bounds=BOX),
    "screen": lambda data: dpmic.screen(data, epsilon=1, bounds=BOX, top=1),
    "matrix": lambda data: dpmic.release_pairwise(data, epsilon=1, bounds=BOX),
    "plan": lambda data: dpmic.plan(data, epsilon=1),
    "counts": lambda data: dpmic.CountTable.of(data, BOX, B=9, c=5),
}


@pytest.mark.parametrize("call", CALLS)
def test_private_calls_do_not_ask_the_records(write, call):
    """Nor where the caller has opened the file without privacy."""
    commas = write("x;y\n" + "1,5;2,5\n2,5;3,5\n" * 500, "commas.csv")
    marks = write("x;y,z\n" + "1;2\n2;3\n" * 500, "marks.csv")
    for path in (commas, marks):
        for data in (path, open_file(path)):
            if (path, call) == (commas, "plan"):  # it counts rows, and reads no value
                CALLS[call](data)
                continue
            with pytest.raises(InputError):
                CALLS[call](data)
    told = open_file(commas, Dialect(decimal=","))
    CALLS[call](told)


def test_public_calls_ask_the_records(write):
    path = write("x;y\n" + "1,5;2,5\n2,5;3,5\n" * 50)
    pair = tuple(BOX.values())
    assert dpmic.micr("x", "y", data=path, bounds=pair, B=9).n == 100
    assert dpmic.pairwise(path, statistic="micr", bounds=BOX, B=9).n == 100
    assert dpmic.micc("x", "y", data=path, bounds=pair, cap=5).n == 100


def test_rows_that_were_begun_without_privacy_are_refused(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x;y\n1;2\n")))
    rows = open_file("-")
    assert rows.names == ("x", "y")
    with pytest.raises(InputError, match="opened without privacy; open it again with private=Tr"):
        dpmic.release("x", "y", data=rows, epsilon=1, bounds=BOX)


NEIGHBOURS = {
    "decimals": ("1.5;2.5\n", "1,5;2,5\n"),
    "separators": ("1;2\n", "1,5|2,5\n"),
    "encodings": ("1;2\n", "é;2\n"),
    "quotes": ("1;2\n", '"1";"2"\n'),
}


@pytest.mark.parametrize("kind", NEIGHBOURS)
def test_one_record_does_not_change_how_others_are_read(write, kind):
    """A file with one other record in it: the same dialect, hence the same other records."""
    known = set()
    for record in NEIGHBOURS[kind]:
        rows = open_file(write(f"x;y\n{record}" + "3;4\n" * 20, encoding="cp1252"), private=True)
        assert rows.names == ("x", "y")
        known.add(rows._known)
    assert len(known) == 1


@sweep("text", [b"\xff\xfex\x00", b"\xff\xfex\x00;\x00y\x00\n\x00\x00\xd8\x00\xd8\n\x00"])
def test_no_private_refusal_of_an_encoding_holds_what_was_read(write, text):
    with pytest.raises(InputError) as refused:
        load(write(text + b"1"), ["x"], private=True)
    assert refused.value.__context__ is None


# What a query key has to know


FACTS = {
    "na": (Dialect(na=["b ", "a", "", "a"]), {"na": ["a", "b"]}),
    "sheet": (Dialect(sheet="visits"), {"sheet": "visits"}),
    "encoding": (Dialect(encoding="latin1"), {"encoding": "iso8859-1"}),
    "others": (Dialect(names=("x", "y"), skip=1), {"names": ["x", "y"], "skip": 1}),
    "unquoted": (Dialect(quote=None), {"quote": None}),
    "usual": (Dialect(sep=";", decimal=",", encoding="UTF8", na=[""]), {}),
}


@sweep("case", FACTS)
def test_what_decides_which_records_are_read_is_known(write, case):
    dialect, facts = FACTS[case]
    assert dialect.facts == facts
    if case not in ("sheet", "usual"):
        path = write("x,y\n1,2\n3,4\n")
        rows = open_file(path, dialect)
        assert rows.format == rows.privately().format == facts


def test_a_table_remembers_how_it_was_read_and_nothing_older(write, tmp_path):
    table = load(write("x,y\n1,2\n3,4\n"), dialect=Dialect(na=["-9"]))
    assert find_all(table).format == find("x", "y", data=table).format == {"na": ["-9"]}
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    assert find_all(load(str(tmp_path / "t.parquet"))).format == {}
    assert find_all(pa.table({"x": [1], "y": [2]})).format == {}


def test_a_dataset_knows_what_was_stated(write):
    path = write("x,y\n1,2\n3,4\n")
    plain = pa.dataset.dataset(path, format="csv")
    assert stream(plain).format == {}
    own = pa.dataset.CsvFileFormat(convert_options=csv.ConvertOptions(null_values=["3"]))
    assert stream(pa.dataset.dataset(path, format=own)).format == {"na": ["3"]}
