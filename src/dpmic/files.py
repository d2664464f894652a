"""Tables in files, by way of pyarrow."""

from __future__ import annotations

import sys
from collections.abc import Callable
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

    source: Any = BytesIO(sys.stdin.buffer.read()) if path == "-" else path
    ending = ".csv" if path == "-" else Path(path).suffix.lower()
    reader = _READERS.get(ending)
    if reader is None:
        known = ", ".join(sorted(_READERS))
        raise InputError(path, f"the ending {ending!r} is not known", f"use one of {known}")
    if path != "-" and not Path(path).is_file():
        raise InputError(path, "there is no such file", "check the name and the folder")
    try:
        table = reader(source)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        first_line = str(error).strip().partition("\n")[0].rstrip(".")
        raise InputError(path, first_line, f"check that it is a valid {ending} file") from None
    if table.num_rows == 0:
        raise InputError(path, "it has no rows", "check that it holds more than a header")
    return table


def _read_csv(source: Any, delimiter: str = ",") -> pyarrow.Table:
    from pyarrow import csv

    return csv.read_csv(source, parse_options=csv.ParseOptions(delimiter=delimiter))


def _read_tsv(source: Any) -> pyarrow.Table:
    return _read_csv(source, "\t")


def _read_parquet(source: Any) -> pyarrow.Table:
    from pyarrow import parquet

    return parquet.read_table(source)


def _read_feather(source: Any) -> pyarrow.Table:
    from pyarrow import feather

    return feather.read_table(source)


_READERS: dict[str, Callable[[Any], pyarrow.Table]] = {
    ".csv": _read_csv,
    ".tsv": _read_tsv,
    ".parquet": _read_parquet,
    ".feather": _read_feather,
    ".arrow": _read_feather,
}
