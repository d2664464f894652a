"""Files as people have them, in ``tests/data/dirty``: all hold the same table."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet
from sweeps import sweep

import dpmic
from dpmic.data import Dialect, header, load, open_file, stream
from dpmic.errors import DpmicError

DIRTY = Path(__file__).parent / "dirty"
NAN = float("nan")
AGE = [34, 51, NAN, 67, 8, 45, 72, 29]
STAY = [1.5, 2.25, 0.5, 12, NAN, 3.75, 1, 7.5]

# Each file, and what is said of it without privacy.
READ = {
    "comma.csv": "",
    "semicolon.csv": "separated by ';'",
    "tab.tsv": "",
    "tab.csv": "separated by tabs",
    "bar.txt": "separated by '|'",
    "decimal_comma.csv": "separated by ';', decimal comma",
    "quoted_decimal_comma.csv": "decimal comma",
    "utf16.csv": "separated by ';', decimal comma, UTF-16",
    "utf16_big_endian.csv": "UTF-16",
    "latin1.csv": "separated by ';', decimal comma, Latin-1 (cp1252)",
    "byte_order_mark.csv": "",
    "windows.csv": "separated by ';', decimal comma",
    "mac.csv": "",
    "missing.csv": "",
    "quoted_newlines.csv": "",
    "mixed_encodings.csv": "",
    "packed.csv.gz": "separated by ';', decimal comma",
    "packed.tsv.gz": "",
    "packed.csv.zst": "",
    "excel.xlsx": "",
    "spss.sav": "",
    "stata.dta": "",
    "sas.xpt": "",
    "sas.sas7bdat": "",
}
COMMAS = {name for name, words in READ.items() if "decimal comma" in words}


def values(batches):
    return [tuple(row.values()) for batch in batches for row in batch.data.to_pylist()]


def same(rows):
    """Compare rows with the table that is in all files; some have more rows of gaps or ages."""
    found = np.array([[NAN if v is None else v for v in row] for row in rows], float)
    np.testing.assert_array_equal(found[:8], np.column_stack([AGE, STAY]))


@pytest.mark.parametrize("name", READ)
def test_files_as_people_have_them(name):
    path, notes = str(DIRTY / name), []
    table = load(path, ["age", "stay"], note=notes.append)
    same(zip(table["age"].to_pylist(), table["stay"].to_pylist(), strict=True))
    words = READ[name]
    assert notes == [f"read {path} as: {words}"] * bool(words)
    for rows in (open_file(path), stream(path, public=True), stream([path], public=True)):
        (found,) = rows.fold(["age", "stay"], values)
        same(found)
        assert rows.count() == len(found)


@pytest.mark.parametrize("name", READ)
def test_privately_with_options(name):
    told = Dialect(decimal="," if name in COMMAS else None)
    table = load(str(DIRTY / name), ["age", "stay"], dialect=told, private=True)
    same(zip(table["age"].to_pylist(), table["stay"].to_pylist(), strict=True))
    if name in COMMAS:
        with pytest.raises(dpmic.InputError, match="column 'stay': .*decimal=','") as refused:
            load(str(DIRTY / name), ["age", "stay"], private=True)
        assert not re.search(r"\d", str(refused.value))


@pytest.mark.parametrize("name", READ)
def test_headers_alone(name):
    names = header(str(DIRTY / name))
    expected = ["patient", "age", "stay", "ward"]
    if name == "sas.sas7bdat":
        expected = ["age", "stay", "patient"]
    assert names == tuple(expected)


@pytest.mark.parametrize("name", [name for name in READ if name != "sas.sas7bdat"])
def test_people_and_words_stay_as_they_are(name):
    table = load(str(DIRTY / name), ["age"], labels=["patient"])
    assert table["patient"].to_pylist()[:8] == [f"P{i}" for i in range(1, 9)]
    if name not in ("mixed_encodings.csv", "quoted_newlines.csv"):
        wards = load(str(DIRTY / name), ["age"], labels=["ward"])["ward"].to_pylist()
        assert (wards[2], wards[7]) == ("Pädiatrie", "Gynäkologie")


# Large inputs


class Endless:
    """A beginning, and then one line of 2 GB, made as it is read."""

    def __init__(self, begin, filler):
        self.begin, self.filler, self.given = begin, filler, 0

    def read(self, size):
        first, self.begin = self.begin, b""
        size = min(size, 2**31 - self.given)
        part = first + self.filler * (size // len(self.filler) + 1)
        self.given += size
        return part[:size]


@sweep(
    ("begin", "filler", "words"),
    [
        (b"", b"a", "its first line is longer than 1 MiB"),
        (b"", b"a,", "its first line is longer than 1 MiB"),
        (b"age,stay\n", b"1", "row 1: a record is longer than 4 MiB"),
        (b"age,stay\n1,2\n", b"1,", "row 2: a record is longer than 4 MiB"),
        (b'age,stay\n1,"', b"1\n", "row 1: a record is longer than 4 MiB"),
        (b"", b"\0", "it is not a text file"),
    ],
)
@sweep("private", [True, False])
def test_a_line_of_two_gigabytes(monkeypatch, begin, filler, words, private):
    """Refused after a few blocks."""
    source = Endless(begin, filler)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=source))
    with pytest.raises(dpmic.InputError) as refused:
        load("-", ["age", "stay"], private=private)
    assert (words.rpartition(": ")[2] if private else words) in str(refused.value)
    assert not private or "row" not in str(refused.value)
    assert source.given < 2**24


@pytest.mark.parametrize("ending", ["csv.gz", "csv.zst"])
def test_a_compressed_text_is_never_held(tmp_path, ending):
    """Of 12 MB, a few blocks of 1 MB are in memory at a time."""
    n, path = 2_000_000, str(tmp_path / f"t.{ending}")
    table = pa.table({"a": np.arange(n) % 100, "b": np.arange(n) % 7})
    with pa.output_stream(path, compression="gzip" if ending == "csv.gz" else "zstd") as sink:
        csv.write_csv(table, sink)
    before, most = pa.total_allocated_bytes(), []

    def held(batches):
        return sum(most.append(pa.total_allocated_bytes() - before) or len(b.data) for b in batches)

    assert sum(open_file(path).fold(["a", "b"], held)) == n
    assert len(most) > 9
    assert max(most) < 2**25


@pytest.mark.parametrize("kind", ["csv.gz", "csv", "parquet"])
def test_folders_of_files(tmp_path, kind):
    for i in range(3):
        table = pa.table({"age": [10.0 * i + 1, 10.0 * i + 2], "stay": [1.0, 2.0]})
        path = str(tmp_path / f"{i}.{kind}")
        if kind == "parquet":
            parquet.write_table(table, path)
        else:
            with pa.output_stream(path) as sink:  # the ending says whether it is compressed
                csv.write_csv(table, sink)
    rows = stream(tmp_path)
    assert (rows.names, rows.count()) == (("age", "stay"), 6)
    (found,) = rows.fold(["age"], values)
    assert found == [(1,), (2,), (11,), (12,), (21,), (22,)]


@sweep("private", [False, True])
@sweep("kind", ["parquet", "feather", "csv"])
def test_one_folder_does_not_change_what_the_names_of_others_mean(tmp_path, kind, private):
    """One record with another code must leave the categories and people of all others alone."""
    read = []
    for last in ("03", "2A"):
        folder = tmp_path / last
        for code in ("01", "02", last):
            (folder / f"code={code}").mkdir(parents=True)
            part, place = pa.table({"age": [1.0, 2.0]}), folder / f"code={code}" / f"0.{kind}"
            write = {"parquet": parquet.write_table, "csv": csv.write_csv}
            write.get(kind, feather.write_feather)(part, place)
        table = load(str(folder), private=private, labels=["code"])
        assert table["code"].to_pylist() == ["01", "01", "02", "02", last, last]
        read.append(load(str(tmp_path / "03"), private=private)["code"].to_pylist())
    assert read == [[1, 1, 2, 2, 3, 3]] * 2
    with pytest.raises(DpmicError) as refused:
        load(str(tmp_path / "2A"), private=private)
    assert ("2A" in str(refused.value)) is not private
    where = "column 'code'" if private else f"{tmp_path / '2A' / 'code=2A' / f'0.{kind}'}, column"
    assert str(refused.value).startswith(where)


def test_dates_in_the_names_of_folders(tmp_path):
    for day in ("2024-01-05", "2024-02-01"):
        (tmp_path / f"day={day}").mkdir()
        parquet.write_table(pa.table({"age": [1.0]}), tmp_path / f"day={day}" / "0.parquet")
    days = load(str(tmp_path), private=True, dates=["day"])["day"].to_pylist()
    assert [str(day.date()) for day in days] == ["2024-01-05", "2024-02-01"]


@sweep("kind", ["parquet", "csv"])
def test_parts_without_any_date(tmp_path, kind):
    """Late gaps, as in the last months of a column that is no longer kept."""
    for part, days in {"a": ["2024-01-05", None], "b": [None, None]}.items():
        (tmp_path / f"ward={part}").mkdir()
        write = parquet.write_table if kind == "parquet" else csv.write_csv
        table = pa.table({"day": pa.array(days, pa.string()), "x": [1, 2]})
        write(table, tmp_path / f"ward={part}" / f"0.{kind}")
    read = load(str(tmp_path), ["day", "x"], dates=["day"], private=True)
    assert read["day"].null_count == 3
    for part in ("2024-01-05", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / "days" / f"day={part}").mkdir(parents=True)
        write(pa.table({"x": [1]}), tmp_path / "days" / f"day={part}" / f"0.{kind}")
    read = load(str(tmp_path / "days"), dates=["day"], private=True)
    assert read["day"].null_count == 1


@sweep("kind", ["parquet", "feather"])
def test_names_of_folders_are_decoded_and_are_not_columns_of_their_files(tmp_path, kind):
    for folder in ("a%20b=c%2Fd", "a%20b=e"):
        (tmp_path / folder).mkdir()
        write = parquet.write_table if kind == "parquet" else feather.write_feather
        write(pa.table({"x": [1.0, 2.0]}), tmp_path / folder / f"0.{kind}")
    assert header(str(tmp_path)) == ("x", "a b")
    read = load(str(tmp_path), labels=["a b"])
    assert read["a b"].to_pylist() == ["c/d", "c/d", "e", "e"]
    assert load(str(tmp_path), ["a b"], typed=True)["a b"].to_pylist() == ["c/d", "c/d", "e", "e"]
    write(pa.table({"x": [1.0], "a b": ["c"]}), tmp_path / "a%20b=e" / f"0.{kind}")
    with pytest.raises(DpmicError, match="lacks the column, or has it twice"):
        load(str(tmp_path), labels=["a b"])
    assert load(str(tmp_path), ["x"])["x"].to_pylist() == [1, 2, 1]


def test_a_file_that_is_named_by_a_value_is_not_named(tmp_path):
    (tmp_path / "patient=Ann").mkdir()
    (tmp_path / "patient=Ann" / "0.parquet").write_bytes(b"age,stay\n1,2\n")
    bounds = {"age": (0, 120), "stay": (0, 60)}
    with pytest.raises(DpmicError) as refused:
        dpmic.release("age", "stay", data=tmp_path, epsilon=1.0, bounds=bounds)
    assert "Ann" not in str(refused.value)


def test_a_header_names_no_file_of_a_folder_that_cannot_be_read(tmp_path):
    (tmp_path / "disease=flu").mkdir()
    for content in (b"none", b"PAR1"):
        (tmp_path / "disease=flu" / "0.parquet").write_bytes(content)
        with pytest.raises(DpmicError) as refused:
            header(str(tmp_path))
        assert "flu" not in str(refused.value)
