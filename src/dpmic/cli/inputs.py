"""What commands are given: tables in files, columns by name, bounds."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpmic._progress import reading
from dpmic.errors import InputError, ParameterError, safe_repr

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Ends", "bounds", "bounds_of_pair", "names", "read"]

Ends = tuple[float, float]


def read(
    file: str, columns: Sequence[str] | None, *, person: str | None = None, private: bool = False
) -> pyarrow.Table:
    """Read columns of numbers, all by default, and the one that names people."""
    from dpmic import files

    labels = () if person is None else (person,)
    if person is not None and columns is not None and person in columns:
        raise ParameterError(
            f"--person {person}", "this column is a variable, too", "name a column of identifiers"
        )
    if private and columns is not None and len(set(columns)) < len(columns):
        raise ParameterError(
            f"column {safe_repr(columns[0])}", "it is named twice", "name two columns that differ"
        )
    remedy = "leave the column out" if columns else "name the columns of numbers: --columns A,B,..."
    asked = files.Asked(columns, labels, private, remedy)
    reader = files.read
    if private:  # whose errors hold nothing of what was read
        from dpmic.privacy import domain

        reader = domain.private(files.read)
    with reading() as tell:
        return reader(file, asked, tell)


def names(written: Sequence[str] | None) -> list[str] | None:
    """Return the names in options such as ``a,b``; a name with a comma stands in quotes."""
    if not written:
        return None
    listed = [name.strip() for line in csv.reader(written) for name in line]
    if len(set(listed)) < len(listed):
        raise ParameterError("--columns", "a column is named twice", "name each once")
    return listed


def bounds(written: Sequence[str] | None, file: Path | None) -> dict[str, Ends]:
    """Return the intervals of ``NAME=LOW:HIGH`` and of a TOML file; the former come first."""
    known: dict[str, Ends] = {}
    for text in written or ():
        name, _, interval = text.rpartition("=")
        low, _, high = interval.partition(":")
        if not name:
            raise ParameterError(f"--bounds {text}", "NAME= is missing", "write --bounds age=0:120")
        try:
            ends = float(low), float(high)
        except ValueError:
            raise ParameterError(
                f"--bounds {text}", "two numbers are needed", "write --bounds age=0:120"
            ) from None
        if name in known:
            raise ParameterError(
                f"--bounds {name}", "this column has bounds already", "give them once"
            )
        known[name] = ends
    return {**({} if file is None else _from_toml(file)), **known}


def bounds_of_pair(
    written: Sequence[str] | None, file: Path | None, x: str, y: str
) -> dict[str, Ends]:
    """Return the intervals of two columns; others are refused, but in a file ignored."""
    for name in bounds(written, None):
        if name not in (x, y):
            raise ParameterError(
                f"--bounds {name}", "that column is not scored", f"give those of {x} and {y}"
            )
    known = bounds(written, file)
    for name in (x, y):
        if name not in known:
            raise ParameterError(
                "--bounds", f"{name} has none", f"add --bounds {name}=LOW:HIGH, from what it means"
            )
    return {name: known[name] for name in (x, y)}


def _from_toml(file: Path) -> dict[str, Ends]:
    import tomllib

    try:
        content = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(
            str(file), error.strerror or "it cannot be read", "check the name and the folder"
        ) from None
    except ValueError as error:  # of TOML, or of its characters
        raise InputError(str(file), f"it is no TOML ({error})", "correct it") from None
    table = content.get("bounds")
    if not isinstance(table, Mapping) or not table:
        raise InputError(str(file), "it has no table [bounds]", "write [bounds] above the columns")
    return {name: _ends(file, name, ends) for name, ends in table.items()}


def _ends(file: Path, name: str, ends: Any) -> Ends:
    pair = isinstance(ends, list) and len(ends) == 2
    if not pair or not all(type(end) in (int, float) for end in ends):
        raise InputError(
            f"{file}: {name} = {safe_repr(ends)}",
            "two numbers are needed",
            f"write {name} = [0, 120]",
        )
    try:
        return float(ends[0]), float(ends[1])
    except OverflowError:  # of a whole number, which is too long to be shown
        raise ParameterError(
            f"{file}: {name}", "two numbers are needed", f"write {name} = [0, 120]"
        ) from None
