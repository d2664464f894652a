"""Inputs of commands: tables, columns, bounds, categories."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpmic._progress import reading
from dpmic.cli._options import Missing, Written
from dpmic.cli._output import note
from dpmic.cli._spending import before_charge
from dpmic.errors import InputError, ParameterError, UnreadableError, did_you_mean, safe_repr

if TYPE_CHECKING:
    import pyarrow

    from dpmic.privacy.query import Terms

End = float | str | date
Ends = tuple[End, End]

UNSAID = Written()

IN_MEMORY = 2**28
"""Columns up to this many bytes are loaded even if counts are enough: that is faster."""

PAIR = 2**23
"""Bytes of the counts of one pair: columns that take less in total are loaded, too."""


def variables(
    file: str,
    columns: Sequence[str] | None,
    written: Written = UNSAID,
    nominal: Sequence[str] | None = None,
    without: Sequence[str] | None = None,
) -> pyarrow.Table:
    """Load columns of any kind, without privacy; by default all but those in ``without``.

    Columns in ``nominal`` are categories even if they hold numbers.
    """
    import pyarrow as pa

    from dpmic.data import load

    labels = nominal or ()
    for name in labels:
        if name in (without or ()) or (columns is not None and name not in columns):
            reason = "this column is not scored"
            raise ParameterError(f"--nominal {name}", reason, "name a column that is scored")
    with reading() as tell:
        table = load(
            file,
            columns,
            dialect=written.dialect,
            labels=labels,
            without=without or (),
            typed=True,
            tell=tell,
            note=note,
        )
    for name in labels:
        texts = table[name].cast(pa.string())
        table = table.set_column(table.column_names.index(name), name, texts)
    return table


def only_variables(table: pyarrow.Table, include: Sequence[str] | None) -> pyarrow.Table:
    """Leave out columns that look like identifiers, with a note; keep included ones."""
    from dpmic.data import position, without_identifiers

    kept = {position(name, tuple(table.column_names), "--include") for name in include or ()}
    left, listed = without_identifiers(table, kept)
    if listed:
        note(f"left out: {listed}; --include NAME keeps a column")
    return left


def complete(
    file: str,
    columns: Sequence[str] | None,
    written: Written,
    nominal: Sequence[str] | None,
    missing: Missing | None,
    *,
    counted: bool = False,
    without: Sequence[str] | None = None,
    include: Sequence[str] | None = None,
) -> tuple[Any, str]:
    """Return the data of a command, and the rule for missing values.

    By default, records with missing values are dropped, with a note. ``counted`` rows are never
    loaded and must have none.
    """
    if counted and columns is not None:
        rows = None if file == "-" else _large(file, len(columns), written, private=False)
        if rows is not None:
            return rows, "raise"
    table = variables(file, columns, written, nominal, without)
    if columns is None:
        table = only_variables(table, names(include, "--include"))
    if missing is not None:
        return table, missing.value
    return table, "drop" if _gaps_noted(table) else "raise"


def _gaps_noted(table: pyarrow.Table) -> bool:
    """Return whether values are missing, and print a note about their records."""
    import numpy as np

    from dpmic.data import gaps

    there = [~gaps(table[name]) for name in dict.fromkeys(table.column_names)]
    lacking = [not own.all() for own in there]
    if not any(lacking):
        return False
    n, some = table.num_rows, int(np.logical_and.reduce(there).sum())
    if len(there) == 2:
        note(f"left out {n - some:,} of {n:,} records, which lack a value")
    else:
        note(
            f"{sum(lacking)} of {len(lacking)} columns {'has' if sum(lacking) == 1 else 'have'} "
            "missing values; each pair uses the records with both values "
            f"({some:,} of {n:,} records are complete)"
        )
    return True


@before_charge()
def private(
    file: str,
    ends: Mapping[str, Any],
    terms: Terms,
    written: Written = UNSAID,
    *,
    counts: bool = True,
) -> Any:
    """Load the columns of a private command. Types follow from the options, never from the data.

    Columns with categories, groups or people are text, columns with dates as bounds are dates,
    all others are numbers. If ``counts`` on fixed grids are enough, a large file of numbers is
    not loaded but read batch by batch.
    """
    from dpmic._validate import moment
    from dpmic.data import load

    labels = terms.labels
    _check([*ends, *(name for name in terms.categories or () if name != terms.by)], terms.person)
    columns = [name for name in ends if name not in labels]
    dates = [name for name in columns if ends[name] and moment(ends[name][0]) is not None]
    if counts and file != "-" and not labels and not dates and terms.gaps.rule == "refuse":
        rows = _large(file, len(columns), written, private=True)
        if rows is not None:
            return rows
    told: dict[str, Any] = {"labels": labels, "private": True}
    if dates:
        told["dates"] = tuple(dates)
    with reading() as tell:
        return _reader(load, private=True)(
            file,
            columns,
            dialect=written.dialect,
            tell=tell,
            note=note,
            **told,
        )


def _large(file: str, columns: int, written: Written, private: bool) -> Any:
    """Return the rows of a file whose columns need too much memory, else None."""
    from dpmic.data import open_file

    most = max(IN_MEMORY, PAIR * columns * (columns - 1) // 2)
    text = file.lower().endswith((".csv", ".tsv", ".txt"))
    # A value takes at least two bytes in a text file, and eight in memory.
    if text and os.path.isfile(file) and 4 * os.path.getsize(file) <= most:
        return None
    try:
        rows = _reader(open_file, private)(file, written.dialect, private=private, note=note)
        with reading() as rows.tell:
            n = _reader(rows.count, private)()
    except UnreadableError:
        return None  # loading it raises the error
    rows.tell = type(rows).tell
    return rows if 8 * n * columns > most else None


def _reader(call: Callable[..., Any], private: bool) -> Callable[..., Any]:
    """Return a call; on the private path, its errors contain no data."""
    if not private:
        return call
    from dpmic.privacy.query import private as guarded

    return guarded(call)


def two(x: str, y: str) -> tuple[str, str]:
    """Return the two columns of a private command, which must differ."""
    if x == y:
        raise ParameterError(
            f"column {safe_repr(x)}", "it is named twice", "name two different columns"
        )
    return x, y


def _check(columns: Sequence[str], person: str | None) -> None:
    if person is not None and person in columns:
        raise ParameterError(
            f"--person {person}", "this column is also scored", "name a column of identifiers"
        )


def names(written: Sequence[str] | None, option: str = "--columns") -> list[str] | None:
    """Return the names in options such as ``a,b``; quote a name that contains a comma."""
    if not written:
        return None
    listed = [name.strip() for line in csv.reader(written) for name in line]
    if len(set(listed)) < len(listed):
        raise ParameterError(option, "a column is named twice", "name each column once")
    return listed


def bounds(written: Sequence[str] | None, file: Path | None) -> dict[str, Ends]:
    """Return the intervals of ``NAME=LOW:HIGH`` and of a TOML file; options override the file."""
    known: dict[str, Ends] = {}
    remedy = "write --bounds age=0:120"
    for text in written or ():
        name, interval = named("--bounds", text, remedy)
        low, _, high = interval.partition(":")
        try:
            ends = _end(low), _end(high)
        except ValueError:
            reason = "two numbers or dates are needed"
            point = ", with a decimal point" if "," in interval else ""
            raise ParameterError(f"--bounds {text}", reason, remedy + point) from None
        if name in known:
            reason = "this column has bounds already"
            raise ParameterError(f"--bounds {name}", reason, "give its bounds once")
        known[name] = ends
    return {**({} if file is None else _from_toml(file)), **known}


def _end(text: str) -> End:
    """Return a number, or the text of a date."""
    from dpmic._validate import moment

    return text.strip() if moment(text) is not None else float(text)


def named(option: str, text: str, remedy: str) -> tuple[str, str]:
    """Return the two sides of ``NAME=VALUE``."""
    name, _, value = text.rpartition("=")
    if not name:
        raise ParameterError(f"{option} {text}", "it has no NAME=", remedy)
    return name, value


def categories(written: Sequence[str] | None) -> dict[str, list[str]] | None:
    """Return the lists of ``NAME=A,B,...``; quote a value that contains a comma."""
    remedy = "write --categories ward=a,b,c"
    known: dict[str, list[str]] = {}
    for text in written or ():
        name, _, listed = text.partition("=")
        if not name or not listed:
            raise ParameterError(f"--categories {text}", "NAME=A,B,... is expected", remedy)
        if name in known:
            raise ParameterError(
                f"--categories {name}", "this column has a list already", "give it once"
            )
        (known[name],) = csv.reader([listed], skipinitialspace=True)
    return known or None


def missing(rule: str, filled: Sequence[str] | None) -> Any:
    """Return the rule for missing values, or the fill values by column."""
    if not filled:
        return rule
    if rule != "refuse":
        raise ParameterError(
            f"--fill, --missing {rule}", "they exclude each other", "pass one of the two"
        )
    remedy = "write --fill cigarettes=0"
    each = (named("--fill", text, remedy) for text in filled)
    return {name: _number(value) for name, value in each}


def at_least(written: Sequence[str] | None) -> Any:
    """Return the promised size of every group, or the sizes by group."""
    remedy = "write --at-least a=300 for each group, or --at-least 300 for all"
    sizes = {}
    for text in written or ():
        group, _, size = text.rpartition("=")
        if not size.strip().isdecimal():
            raise ParameterError(f"--at-least {text}", "this is not a number of people", remedy)
        sizes[group] = int(size)
    if "" in sizes and len(sizes) > 1:
        raise ParameterError("--at-least", "it is given for all groups and for single ones", remedy)
    return sizes.get("", sizes or None)


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def bounds_of(
    written: Sequence[str] | None, file: Path | None, columns: Sequence[str], otherwise: str = ""
) -> dict[str, Ends]:
    """Return the intervals of some columns. Options may name no others; a file may."""
    for name in bounds(written, None):
        if name not in columns:
            raise ParameterError(
                f"--bounds {name}",
                "no column of this name is scored as numbers",
                did_you_mean(name, columns, "columns scored as numbers"),
            )
    return of_columns(columns, bounds(written, file), otherwise)


def of_columns(
    columns: Sequence[str], known: Mapping[str, Ends], otherwise: str = ""
) -> dict[str, Ends]:
    """Return the intervals of some columns; each needs one. ``otherwise`` adds to the remedy."""
    for name in columns:
        if name not in known:
            raise ParameterError(
                "--bounds",
                f"column {name} has none",
                f"add --bounds {name}=LOW:HIGH, its possible range{otherwise}",
            )
    return {name: known[name] for name in columns}


def _from_toml(file: Path) -> dict[str, Ends]:
    import tomllib

    try:
        content = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(str(file), _why(error), "check the name and the folder") from None
    except ValueError as error:  # of TOML, or of its characters
        raise InputError(str(file), f"it is not valid TOML ({error})", "correct it") from None
    table = content.get("bounds")
    if not isinstance(table, Mapping) or not table:
        raise InputError(
            str(file), "it has no table [bounds]", "write [bounds] above the lines of columns"
        )
    return {name: _ends(file, name, ends) for name, ends in table.items()}


def _why(error: OSError) -> str:
    """Return why a file cannot be read."""
    missing = isinstance(error, FileNotFoundError)
    return "there is no such file" if missing else error.strerror or "it cannot be read"


def _ends(file: Path, name: str, ends: Any) -> Ends:
    from dpmic._validate import moment

    pair = isinstance(ends, list) and len(ends) == 2
    if pair and all(moment(end) is not None for end in ends):
        return ends[0], ends[1]
    if not pair or not all(type(end) in (int, float) for end in ends):
        raise InputError(
            f"{file}: {name} = {safe_repr(ends)}",
            "two numbers are needed",
            f"write {name} = [0, 120], with a point in decimals",
        )
    try:
        return float(ends[0]), float(ends[1])
    except OverflowError:  # the integer is too long to show
        raise ParameterError(
            f"{file}: {name}", "two numbers are needed", f"write {name} = [0, 120]"
        ) from None
