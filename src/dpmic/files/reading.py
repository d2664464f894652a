"""One way to read a file, whatever it is."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from dpmic.errors import InputError
from dpmic.files.asked import Asked, Tell
from dpmic.files.binary import read_arrow, read_parquet
from dpmic.files.text import STDIN, read_text

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Asked", "read"]

TEXTS = {".csv": ",", ".tsv": "\t"}
BINARIES = {".parquet": read_parquet, ".feather": read_arrow, ".arrow": read_arrow}


def read(path: str, asked: Asked | None = None, tell: Tell | None = None) -> pyarrow.Table:
    """Read columns of a table; the ending of its name says how.

    Only the wanted columns are kept, and text is converted block by block, so that the memory
    needed is that of the columns.

    Parameters
    ----------
    path : str
        A CSV, TSV, Parquet, Feather or Arrow file; ``-`` is CSV or TSV on standard input.
    asked : Asked, optional
        Which columns, and whether errors may speak of values. By default all, and they may.
    tell : callable, optional
        Called with how much was read, and of how much if that is known.
    """
    import pyarrow

    wanted, heard = asked or Asked(), tell or _nobody
    kind, name = (None, STDIN) if path == "-" else (_ending(path), path)
    try:
        table = _read(name, kind, wanted, heard)
    except (pyarrow.ArrowException, OSError) as error:
        words = str(error).strip().partition("\n")[0].rstrip(".")
        if isinstance(error, OSError) and error.strerror:
            words = error.strerror
    else:
        if table.num_rows == 0:
            raise InputError(name, "it has no rows", "check that it holds more than a header")
        pyarrow.default_memory_pool().release_unused()  # of the text
        return table
    # Foreign words may hold a value; raised here, no context holds one either.
    reason = "it cannot be read" if wanted.private else words
    raise InputError(name, reason, f"check that it is a valid {kind or '.csv'} file")


def _read(path: str, kind: str | None, asked: Asked, tell: Tell) -> Any:
    if kind is None:
        return read_text(sys.stdin.buffer, path, None, asked, tell, None)
    if kind in BINARIES:
        return BINARIES[kind](path, asked, tell)
    with open(path, "rb") as stream:
        return read_text(stream, path, TEXTS[kind], asked, tell, os.stat(path).st_size)


def _ending(path: str) -> str:
    """Return the ending of a file that is there and of a known kind."""
    if os.path.isdir(path):
        raise InputError(path, "this is a folder", "pass a file in it")
    if not os.path.exists(path):
        raise InputError(path, "there is no such file", "check the name and the folder")
    ending = os.path.splitext(path)[1].lower()
    known = sorted({*TEXTS, *BINARIES})
    if ending not in known:
        raise InputError(
            path, f"the ending {ending!r} is not known", f"use one of {', '.join(known)}"
        )
    return ending


def _nobody(_done: int, _total: int | None) -> None:
    """Hear nothing."""
