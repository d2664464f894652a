"""What is said of a file that is not what its name says."""

import gzip
import io

import pyarrow as pa
import pytest
from pyarrow import feather, parquet
from sweeps import sweep

from dpmic.data import Dialect, Uploaded, header, load
from dpmic.data._streams import attempted, damaged
from dpmic.errors import InputError

SECRET = b"Patient,Diagnose\n"
NOISE = bytes(range(256)) * 16


def _written(write):
    sink = io.BytesIO()
    write(pa.table({"Patient": [1, 2]}), sink)
    return sink.getvalue()


KINDS = {
    "Parquet": (_written(parquet.write_table), "rename it to .parquet"),
    "Arrow": (_written(feather.write_feather), "rename it to .arrow"),
    "gzip": (gzip.compress(SECRET), "rename it to .csv.gz"),
    "ZIP": (b"PK\x03\x04" + NOISE, "rename an Excel workbook to .xlsx"),
    "SPSS": (b"$FL2@(#) SPSS" + NOISE, "rename it to .sav"),
    "Stata": (b"<stata_dta><header>" + NOISE, "rename it to .dta"),
    "old or encrypted workbook": (b"\xd0\xcf\x11\xe0" + NOISE, "save it as .xlsx"),
    "PDF": (b"%PDF-1.4\n" + NOISE, "export the table"),
    "picture": (b"\x89PNG\r\n" + NOISE, "check its name"),
    "web page": (b"<!DOCTYPE html>\n<html>", "download the table itself"),
    "JSON": (b'[{"Patient": 1}]', "convert it to .csv"),
    "text": (SECRET, "rename it to .csv"),
}


def _refused(path, private, **options):
    """Return what reading the header, and everything, says; nothing of the content is in it."""
    for call in (lambda: header(path, **options), lambda: load(path, private=private, **options)):
        with pytest.raises(InputError) as no:
            call()
        assert no.value.__context__ is None
        assert not any(word in str(no.value) for word in ("Patient", "Diagnose", "b'", "\\x"))
    return str(no.value)


@sweep("kind", KINDS)
@sweep("ending", [".csv", ".csv.gz", ".csv.zst", ".xlsx", ".sav", ".dta", ".parquet", ".feather"])
@sweep("private", [True, False])
def test_a_file_of_another_kind_says_what_it_is(tmp_path, kind, ending, private):
    content, remedy = KINDS[kind]
    if ending in remedy or (kind, ending) in {("Arrow", ".feather"), ("ZIP", ".xlsx")}:
        return
    path = tmp_path / f"visits{ending}"
    path.write_bytes(content)
    words = _refused(str(path), private)
    assert kind in words
    assert remedy in words
    plain = ending == ".csv"
    assert ("not a text table" if plain else f"its name ends in {ending}") in words
    if ending in (".csv.gz", ".csv.zst"):
        with pytest.raises(InputError, match=kind):
            Uploaded(path.name, content).text(Dialect())


@sweep("ending", [".csv.gz", ".csv.zst", ".xlsx", ".sav", ".dta", ".parquet", ".feather"])
def test_a_file_that_ends_too_early_is_not_complete(tmp_path, ending):
    right = {".csv.gz": b"\x1f\x8b", ".csv.zst": b"\x28\xb5\x2f\xfd", ".xlsx": b"PK\x03\x04"}
    path = tmp_path / f"visits{ending}"
    path.write_bytes(right.get(ending, b"\0\1") + NOISE)
    assert f"it is not a complete and valid {ending} file; copy it" in _refused(str(path), False)
    assert "it cannot be read" in _refused(str(path), True)
    path.write_bytes(b"")
    assert "it is empty; check the name" in _refused(str(path), True)


def test_too_little_memory_is_not_damage():
    def exhausted():
        raise pa.ArrowMemoryError("malloc of size 4321 failed")

    with pytest.raises(InputError, match="there is not enough memory; close other") as no:
        attempted(exhausted, *damaged("visits.parquet", ".parquet"))
    assert "4321" not in str(no.value)


def test_in_a_folder_private_errors_name_no_file(tmp_path):
    for name, content in {"a": gzip.compress(SECRET), "b": SECRET}.items():
        (tmp_path / f"{name}.csv.gz").write_bytes(content)
    with pytest.raises(InputError, match=r"b\.csv\.gz: it is text"):
        load(str(tmp_path))
    with pytest.raises(InputError, match="a file in it is no .csv.gz file") as no:
        load(str(tmp_path), private=True)
    assert "b.csv" not in str(no.value)


def test_names_that_begin_like_another_kind_are_names(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("PAR1,PAR2\n1,2\n")
    assert header(str(path)) == ("PAR1", "PAR2")


def test_the_remedies_for_encodings_end(tmp_path):
    """Following them never leads back to an encoding that was refused."""
    path = tmp_path / "visits.csv"
    for content in (b"D \x82\x81<,\xe9\n1,2\n", b"n\xe4me\x81,x\n1,2\n", *TEXTS):
        path.write_bytes(content)
        for begun in (None, "utf-8", "utf-16", "utf-16-le", "cp1252"):
            tried = [begun]
            while (other := _advised(path, tried[-1])) is not None:
                assert other not in tried
                tried.append(other)


TEXTS = [SECRET.decode().encode(name) for name in ("utf-16", "utf-16-le", "utf-16-be", "utf-32")]


def _advised(path, encoding):
    """Return the encoding that an error advises, or None if there is none."""
    try:
        header(str(path), Dialect(encoding=encoding))
    except InputError as error:
        return error.remedy.partition("encoding='")[2].partition("'")[0] or None
    return None


def test_utf_16_without_a_mark_is_read_as_advised(tmp_path):
    path = tmp_path / "visits.csv"
    for content in TEXTS[:3]:
        path.write_bytes(content)
        encoding = _advised(path, "utf-8")
        assert header(str(path), Dialect(encoding=encoding)) == ("Patient", "Diagnose")


@sweep("encoding", [None, "utf-8", "cp1252", "latin-1"])
def test_garbage_is_not_a_header(tmp_path, encoding):
    path = tmp_path / "visits.csv"
    for content in (b"D \x82<\xfd\x0f,\x04\n", b"a\x01,b\x02\n1,2\n", b"a\0b\n"):
        path.write_bytes(content)
        words = _refused(str(path), True, dialect=Dialect(encoding=encoding))
        assert "it is not a text file" in words
        assert "encoding" not in words
