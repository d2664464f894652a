"""Workbooks of Excel, and files of SPSS, Stata and SAS."""

import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sweeps import sweep

import dpmic
from dpmic.data import Dialect, _opening, _proprietary, first_rows, header, load, open_file, stream
from dpmic.errors import DependencyError, InputError, UnreadableError

pytest.importorskip("python_calamine", reason="needs the extra files")
pyreadstat = pytest.importorskip("pyreadstat", reason="needs the extra files")

DIRTY = Path(__file__).parent / "dirty"
TWO_SHEETS = str(DIRTY / "excel_two_sheets.xlsx")
VISITS = Dialect(sheet="visits")
NAN = float("nan")

# Workbooks

SCHEMAS = "http://schemas.openxmlformats.org/"
MAIN = f'xmlns="{SCHEMAS}spreadsheetml/2006/main"'
RELATED = f"{SCHEMAS}officeDocument/2006/relationships"
CONTENT = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
LINKS = f'<Relationships xmlns="{SCHEMAS}package/2006/relationships">'


def cell(value):
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
    return "<c/>" if value is None else f"<c><v>{value!r}</v></c>"


def workbook(path, **sheets):
    """Write sheets of text and numbers; one whose name begins with ``hidden`` is."""
    with zipfile.ZipFile(path, "w") as file:
        types = f'<Types xmlns="{SCHEMAS}package/2006/content-types">'
        types += f'<Override PartName="/xl/workbook.xml" ContentType="{CONTENT}"/></Types>'
        file.writestr("[Content_Types].xml", types)
        link = f'<Relationship Id="r1" Type="{RELATED}/officeDocument" Target="xl/workbook.xml"/>'
        file.writestr("_rels/.rels", f"{LINKS}{link}</Relationships>")
        listed, links = "", LINKS
        for i, (name, rows) in enumerate(sheets.items(), 1):
            state = 'state="hidden"' if name.startswith("hidden") else ""
            listed += f'<sheet name="{name}" sheetId="{i}" {state} r:id="r{i}"/>'
            links += (
                f'<Relationship Id="r{i}" Type="{RELATED}/worksheet" Target="worksheets/s{i}.xml"/>'
            )
            cells = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
            file.writestr(
                f"xl/worksheets/s{i}.xml",
                f"<worksheet {MAIN}><sheetData>{cells}</sheetData></worksheet>",
            )
        book = f'<workbook {MAIN} xmlns:r="{RELATED}"><sheets>{listed}</sheets></workbook>'
        file.writestr("xl/workbook.xml", book)
        file.writestr("xl/_rels/workbook.xml.rels", f"{links}</Relationships>")
    return str(path)


def test_cells_are_read_as_a_text_is():
    """An error is missing, a number that was typed as text is one, and so are booleans."""
    table = load(TWO_SHEETS, ["age", "stay", "late"], dialect=VISITS)
    assert table["age"].to_pylist() == [34, 51, None, 67, 8, 45, 72, 29]
    assert table["stay"].to_pylist() == [1.5, 2.25, 0.5, 12, None, 3.75, 1, 7.5]
    assert table["late"].to_pylist() == [0] * 4 + [1] * 4
    words = load(TWO_SHEETS, ["age"], labels=["when"], dialect=VISITS)["when"].to_pylist()
    assert words[:2] == ["2026-01-01", "2026-01-02"]


def test_a_header_is_read_again_only_if_the_workbook_was_changed(tmp_path, monkeypatch):
    opened, open_workbook = [], _opening.workbook

    def noting(path):
        opened.append(path)
        return open_workbook(path)

    monkeypatch.setattr(_opening, "workbook", noting)
    path = workbook(tmp_path / "t.xlsx", one=[["a", "b"], [1, 2]])
    assert [header(path), header(path)] == [("a", "b")] * 2
    assert len(opened) == 1
    workbook(tmp_path / "t.xlsx", one=[["longer", "b"], [1, 2]])
    assert header(path) == ("longer", "b")


def test_numbers_are_exact(tmp_path):
    values = [0.1, 1 / 3, 1e300, -2.5e-8, 2.0**53, 7.0, 12345678901234567.0]
    path = workbook(tmp_path / "t.xlsx", one=[["x"], *([value] for value in values)])
    for told in (Dialect(), Dialect(decimal=",")):
        assert load(path, ["x"], dialect=told)["x"].to_pylist() == values


def test_people_are_told_apart_in_sheets(tmp_path):
    rows = [["who", "x"], [7.0, 1.0], ["7", 2.0], ["07", 3.0], [" Ann", 4.0], ["Ann", 5.0]]
    table = load(workbook(tmp_path / "t.xlsx", one=rows), ["x"], labels=["who"])
    assert table["who"].to_pylist() == ["7", "7", "07", "Ann", "Ann"]
    assert first_rows("who", table, 5).tolist() == [0, 2, 3]


def test_a_row_without_values_is_a_record(tmp_path):
    """But above the header it is none."""
    rows = [[None, None], ["x", "y"], [1.0, 2.0], [None, None], [3.0, 4.0]]
    path = workbook(tmp_path / "t.xlsx", one=rows)
    for private in (True, False):
        assert load(path, ["x"], private=private)["x"].to_pylist() == [1, None, 3]
    assert stream(path).count() == 3


def test_decimal_commas_in_cells_of_text(tmp_path):
    path = workbook(tmp_path / "t.xlsx", one=[["x", "y"], ["1,5", 1.0], [2.5, 2.0], ["-9", 3.0]])
    told = Dialect(decimal=",", na=["-9"])
    assert load(path, ["x"], dialect=told)["x"].to_pylist() == [1.5, 2.5, None]
    with pytest.raises(InputError, match=r"column 'x', row 1: '1,5' is not a num"):
        load(path, ["x"])


def test_the_only_sheet_that_is_visible_is_meant(tmp_path):
    rows = [["x"], [1.0]]
    hidden = workbook(tmp_path / "h.xlsx", hidden=[["z"], [3.0]], one=rows)
    assert header(hidden) == ("x",)
    assert header(hidden, Dialect(sheet="hidden")) == ("z",)
    two = workbook(tmp_path / "t.xlsx", one=rows, Ann=[["z"]])
    with pytest.raises(InputError, match=r"several sheets: 'one', 'Ann'; .*Dialect\(sheet='one'\)"):
        load(two)
    with pytest.raises(InputError, match="it has several sheets; say which") as private:
        header(two)
    assert "Ann" not in str(private.value)
    with pytest.raises(InputError, match="it has no sheet 'zwei'; check its name.$"):
        header(two, Dialect(sheet="zwei"))


def test_a_sheet_without_a_header(tmp_path):
    path = workbook(tmp_path / "t.xlsx", one=[[34.0, 4711.5], [35.0, 1.0]])
    with pytest.raises(InputError, match=r"its first line, \('34', '4711.5'\), has no names"):
        load(path)
    with pytest.raises(InputError, match="its first line has no names"):
        load(path, private=True)


def test_workbooks_are_read_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(_proprietary, "ROWS", 7)
    rows = [["x", "y"], *([float(i), 2.0 * i] for i in range(30))]
    path = workbook(tmp_path / "t.xlsx", one=rows)
    (sizes,) = stream(path).fold(["y"], lambda parts: [len(part.data) for part in parts])
    assert sizes == [7, 7, 7, 7, 2]
    rows[20][0] = "oops"
    path = workbook(tmp_path / "t.xlsx", one=rows)
    with pytest.raises(InputError, match="column 'x', row 20: 'oops' is not a nu"):
        load(path)


# Files of statistics packages

WRITERS = {"sav": "write_sav", "dta": "write_dta", "xpt": "write_xport"}


@pytest.fixture
def write(tmp_path):
    def written(kind, name="t", **columns):
        path = tmp_path / f"{name}.{kind}"
        getattr(pyreadstat, WRITERS[kind])(pd.DataFrame(columns), str(path))
        return str(path)

    return written


@sweep("kind", WRITERS)
@sweep("rows", [0, 1, 6, 7, 8, 14, 20])
def test_every_row_is_read_whatever_the_parts(write, monkeypatch, kind, rows):
    monkeypatch.setattr(_proprietary, "ROWS", 7)
    x = np.arange(rows) + 0.25
    path = write(kind, x=x, y=x[::-1], word=["a"] * rows)
    if not rows:
        with pytest.raises(InputError, match="it has no rows"):
            load(path, ["x"])
        return
    table = load(path, ["y", "x"])
    assert table.column_names == ["x", "y"]
    np.testing.assert_array_equal(table["x"].to_numpy(), x)
    assert stream(path).count() == rows


@sweep("kind", WRITERS)
def test_values_that_are_missing(write, monkeypatch, kind):
    """A part without any value does not decide what a column is."""
    monkeypatch.setattr(_proprietary, "ROWS", 4)
    table = load(write(kind, x=[NAN] * 6 + [1.5, 2.0], y=np.arange(8.0)))
    assert table["x"].to_pylist() == [None] * 6 + [1.5, 2]


def test_what_spss_calls_missing_is(tmp_path):
    path = str(tmp_path / "t.sav")
    frame = pd.DataFrame({"x": [1.0, 99, 3, 98, 5], "y": np.arange(5.0)})
    pyreadstat.write_sav(frame, path, missing_ranges={"x": [{"lo": 98, "hi": 99}]})
    assert load(path)["x"].to_pylist() == [1, None, 3, None, 5]


@sweep("kind", WRITERS)
def test_declared_types_stay(write, kind):
    path = write(kind, x=np.arange(5.0), word=["1", "2", "3", "4", "5"])
    table = load(path, ["x"], labels=["word"])
    assert table["word"].to_pylist() == ["1", "2", "3", "4", "5"]
    with pytest.raises(InputError, match="text is not a number"):
        dpmic.micr("x", "word", data=path, bounds=((0, 5), (0, 5)), B=4)


def test_several_files_have_the_columns_of_the_first(write, tmp_path):
    write("sav", "a", x=[1.0], y=[2.0])
    write("sav", "b", y=[3.0], x=[4.0])
    rows = stream(tmp_path)
    (found,) = rows.fold(["x"], lambda parts: [part.data["x"].to_pylist() for part in parts])
    assert (found, rows.count(), rows.names) == ([[1], [4]], 2, ("x", "y"))
    write("sav", "b", y=[3.0])
    with pytest.raises(InputError, match=r"b\.sav, column 'x': this file lacks the column"):
        list(rows.fold(["x"], list))


def test_broken_files_are_named_and_privately_not_quoted(tmp_path):
    for ending in ("sav", "dta", "xpt", "sas7bdat"):
        path = tmp_path / f"t.{ending}"
        path.write_bytes(b"\0secret" * 100)
        with pytest.raises(UnreadableError, match=rf"t\.{ending}: .*complete and valid \.{ending}"):
            load(str(path), ["x"])
        with pytest.raises(InputError, match="it cannot be read; check that it is a valid file"):
            load(str(path), ["x"], private=True)


@sweep(
    ("name", "package"),
    [
        ("excel.xlsx", "python_calamine"),
        ("spss.sav", "pyreadstat"),
        ("stata.dta", "pyreadstat"),
        ("sas.xpt", "pyreadstat"),
        ("sas.sas7bdat", "pyreadstat"),
    ],
)
@sweep("private", [True, False])
def test_the_extra_is_named_where_it_is_missing(monkeypatch, name, package, private):
    monkeypatch.setitem(sys.modules, package, None)
    words = rf"{package.replace('_', '-')}, which is not installed; pip install 'dpmic\[files\]'"
    with pytest.raises(DependencyError, match=words):
        load(str(DIRTY / name), ["age"], private=private)


def test_progress_is_told(write):
    told = []
    rows = open_file(write("sav", x=np.arange(9.0)), tell=lambda *done: told.append(done))
    list(rows.fold(["x"], list))
    assert told == [(9, 9)]
