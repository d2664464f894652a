"""Tables in files, by way of pyarrow."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpmic.errors import InputError

if TYPE_CHECKING:
    import pyarrow

__all__ = ["read"]


def read(path: str) -> pyarrow.Table:
    """Read a table; the ending of its name says how, and ``-`` is CSV from standard input."""
    import pyarrow

    ending = ".csv" if path == "-" else Path(path).suffix.lower()
    if path != "-" and not Path(path).is_file():
        raise InputError(path, "there is no such file", "check the name and the folder")
    reader = _READERS.get(ending)
    if reader is None:
        known = ", ".join(sorted(_READERS))
        raise InputError(path, f"the ending {ending!r} is not known", f"use one of {known}")
    try:
        content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        if ending in (".csv", ".tsv"):
            _refuse_other_delimiters(content, path, "," if ending == ".csv" else "\t")
        table = reader(content)
        _ = table.column_names  # decoded only now
    except UnicodeDecodeError:
        raise InputError(path, "its text is not UTF-8", "save it as UTF-8") from None
    except (pyarrow.ArrowException, OSError) as error:
        first_line = str(error).strip().partition("\n")[0].rstrip(".")
        raise InputError(path, first_line, f"check that it is a valid {ending} file") from None
    if table.num_rows == 0:
        raise InputError(path, "it has no rows", "check that it holds more than a header")
    return table


def _refuse_other_delimiters(content: bytes, path: str, delimiter: str) -> None:
    """Refuse a header that other marks than the expected one divide."""
    header = content.partition(b"\n")[0].decode().strip()
    if delimiter not in header and any(mark in header for mark in ";\t|,"):
        raise InputError(
            path,
            f"its header is one column, {header!r}",
            "separate columns by commas in .csv and by tabs in .tsv files",
        )


def _read_csv(content: bytes, delimiter: str = ",") -> pyarrow.Table:
    from pyarrow import csv

    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    table = csv.read_csv(BytesIO(content), parse_options=parse)
    _refuse_long_integers(content, table, parse)
    return table


def _refuse_long_integers(content: bytes, table: pyarrow.Table, parse: Any) -> None:
    """Refuse whole numbers beyond int64, which pyarrow reads as rounded floats."""
    import pyarrow as pa
    from pyarrow import compute, csv

    floats = [f.name for f in table.schema if pa.types.is_floating(f.type)]
    if len(set(table.column_names)) < table.num_columns:
        return  # repeated names are refused by name later
    large = [f for f in floats if (compute.max(compute.abs(table[f])).as_py() or 0) >= 2**63]
    if not large:
        return
    as_text = csv.ConvertOptions(column_types=dict.fromkeys(large, pa.string()))
    again = csv.read_csv(BytesIO(content), parse_options=parse, convert_options=as_text)
    for name in large:
        whole = compute.match_substring_regex(again[name], r"^\s*[+-]?\d{19,}\s*$")
        if compute.any(whole).as_py():
            raise InputError(
                f"column {name!r}",
                "it holds whole numbers that float64 would round",
                "pass their ranks, or write them as floats",
            )


def _read_parquet(content: bytes) -> pyarrow.Table:
    from pyarrow import parquet

    return parquet.read_table(BytesIO(content))


def _read_feather(content: bytes) -> pyarrow.Table:
    from pyarrow import feather

    return feather.read_table(BytesIO(content))


_READERS: dict[str, Callable[[bytes], pyarrow.Table]] = {
    ".csv": _read_csv,
    ".tsv": partial(_read_csv, delimiter="\t"),
    ".parquet": _read_parquet,
    ".feather": _read_feather,
    ".arrow": _read_feather,
}
