"""What kind of file it is, by its first bytes."""

from __future__ import annotations

import re

FIRST = 512
"""The most bytes that are looked at."""

CONTROL = r"[\0-\x08\x0e-\x1a\x1c-\x1f]"
"""Characters that text does not have; an escape may colour a name."""

EXPORT = "export the table from it as .csv"
UNPACK = "unpack it first"
WEB = "a web page", "download the table itself"
JSON = "JSON", "convert it to .csv"
BEGINNINGS: dict[bytes, tuple[str, ...]] = {
    b"PAR1\x15": ("a Parquet file", "rename it to .parquet", ".parquet"),
    b"ARROW1\0": ("an Arrow file", "rename it to .arrow", ".arrow", ".feather"),
    b"FEA1": ("an old Feather file", "save it as .parquet"),
    b"\x1f\x8b": ("compressed with gzip", "rename it to .csv.gz", ".gz"),
    b"\x28\xb5\x2f\xfd": ("compressed with zstd", "rename it to .csv.zst", ".zst"),
    b"BZh91AY": ("compressed with bzip2", UNPACK),
    b"\xfd7zXZ": ("compressed with xz", UNPACK),
    b"7z\xbc\xaf": ("a 7z archive", UNPACK),
    b"Rar!\x1a": ("a RAR archive", UNPACK),
    b"PK\x03\x04": ("a ZIP archive", "rename an Excel workbook to .xlsx, unpack others", ".xlsx"),
    b"\xd0\xcf\x11\xe0": ("an old or encrypted workbook", "save it as .xlsx, without a password"),
    b"$FL2@": ("an SPSS file", "rename it to .sav", ".sav"),
    b"$FL3@": ("an SPSS file", "rename it to .sav", ".sav"),
    b"<stata_dta>": ("a Stata file", "rename it to .dta", ".dta"),
    bytes(12) + b"\xc2\xea\x81\x60": ("a SAS file", "rename it to .sas7bdat", ".sas7bdat"),
    b"HEADER RECORD***": ("a SAS transport file", "rename it to .xpt", ".xpt"),
    b"RDX2\n": ("a file of R", EXPORT),
    b"RDX3\n": ("a file of R", EXPORT),
    b"X\n\0\0": ("a file of R", EXPORT),
    b"\x89HDF": ("an HDF5 file", EXPORT),
    b"\x93NUMPY": ("a numpy array", EXPORT),
    b"SQLite format 3\0": ("an SQLite database", EXPORT),
    b"%PDF-": ("a PDF document", EXPORT),
    b"{\\rtf": ("a text document", EXPORT),
    b"\x89PNG": ("a picture", "check its name"),
    b"\xff\xd8\xff": ("a picture", "check its name"),
    b"GIF89a": ("a picture", "check its name"),
    b"\x7fELF": ("a program", "check its name"),
    b"<!DOCTYPE": WEB,
    b"<!doctype": WEB,
    b"<html": WEB,
    b"[{": JSON,
    b'{"': JSON,
}
"""How files begin, what they are, what to do about each, and the endings that are right for it."""


def refusal(begin: bytes, ending: str = "") -> tuple[str, str] | None:
    """Return why a file cannot be of the kind that its ending says, and a remedy, or None.

    Without an ending it should be plain text. Private code may ask: of the records, none is looked
    at, for text that should be another kind is refused by its first line.

    Examples
    --------
    >>> refusal(b"age,stay", ".xlsx")
    ('it is text, but its name ends in .xlsx', 'rename it to .csv')
    >>> refusal(b"age,stay") is None
    True
    """
    named = f"but its name ends in {ending}" if ending else "not a text table"
    for start, (what, remedy, *right) in BEGINNINGS.items():
        if begin.startswith(start):
            fits = ending.endswith(tuple(right))
            return None if fits else (f"it is {what}, {named}", remedy)
    if not ending:
        return None
    if not begin:
        return "it is empty", "check the name and the folder"
    line = re.split(rb"[\r\n]", begin, maxsplit=1)[0]
    text = not re.search(CONTROL.encode(), line)
    return (f"it is text, {named}", "rename it to .csv") if text else None
