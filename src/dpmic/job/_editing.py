"""Changes to the text of a job file that leave its other lines and its comments as they are."""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from dpmic.errors import ParameterError
from dpmic.job._entries import PLACE, key_of, path_of, quoted

Place = tuple[str, str]
"""A table and a key in it."""


def edited(text: str, changes: Mapping[Place, Any]) -> str:
    r"""Return the text of a job file with some entries changed.

    Parameters
    ----------
    text : str
        The job file.
    changes : mapping
        New values by table and key; None puts a ``#`` before an entry.

    Raises
    ------
    ParameterError
        If the text writes an entry in a way that cannot be changed line by line.

    Examples
    --------
    >>> text = '[privacy]\nperson = "?"   # who\n# epsilon = 1.0\n'
    >>> print(edited(text, {("privacy", "person"): "patient", ("privacy", "epsilon"): 0.5}))
    [privacy]
    person = "patient"   # who
    epsilon = 0.5
    """
    wanted = tomllib.loads(text)
    lines = text.splitlines()
    for (table, key), value in changes.items():
        entries = wanted.setdefault(table, {})
        if not isinstance(entries, dict):
            raise _unchangeable()
        if value is None:
            entries.pop(key, None)
        else:
            entries[key] = value
        lines = _changed(lines, table, key, value)
    changed = "\n".join(lines) + "\n"
    try:
        done = tomllib.loads(changed)
    except ValueError:
        done = {}
    if _filled(done) != _filled(wanted):
        raise _unchangeable()
    return changed


def _unchangeable() -> ParameterError:
    reason = "it writes an entry in a way that cannot be changed here"
    return ParameterError("this job file", reason, "change its text yourself")


def as_toml(value: Any) -> str:
    """Write a value as TOML has it.

    Examples
    --------
    >>> as_toml({"bounds": [0, 1.5]}), as_toml(["a", True])
    ('{ bounds = [0, 1.5] }', '["a", true]')
    """
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key_of(key)} = {as_toml(own)}' for key, own in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.date):
        return value.isoformat()
    return quoted(value) if isinstance(value, str) else repr(value)


def _filled(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables that hold anything."""
    return {table: entries for table, entries in content.items() if entries}


def _changed(lines: list[str], table: str, key: str, value: Any) -> list[str]:
    """Return the lines with one entry changed, taken from behind its ``#``, added or put there."""
    end, behind = None, None
    for at, (within, own, stop) in _entries(lines):
        if within != table:
            continue
        if own == key:
            if value is None:
                return [*lines[:at], *(f"# {line}" for line in lines[at:stop]), *lines[stop:]]
            return [*lines[:at], _line(lines[at], key, value), *lines[stop:]]
        if own == f"# {key}":
            behind = at
        elif not (own or "").startswith("#"):
            end = stop
    if value is None:
        return lines
    if behind is not None:
        shown = lines[behind].removeprefix("#").removeprefix(" ")
        return [
            *lines[:behind],
            _line(shown, key, value, len(lines[behind]) - len(shown)),
            *lines[behind + 1 :],
        ]
    entry = f"{key_of(key)} = {as_toml(value)}"
    if end is None:
        return [*lines, "", f"[{key_of(table)}]", entry]
    return [*lines[:end], entry, *lines[end:]]


def _entries(lines: list[str]) -> Iterator[tuple[int, tuple[str, str | None, int]]]:
    """Yield where tables and entries begin: the table, the key (None: its head), and the end.

    The key of an entry behind a ``#`` begins with one.
    """
    table, at = "", 0
    while at < len(lines):
        hidden = lines[at].startswith("#")
        shown = lines[at].removeprefix("#").removeprefix(" ") if hidden else lines[at]
        found, stop = PLACE.match(shown), at + 1
        path = () if found is None else path_of(found["key"])
        if path and found is not None and found["table"] and not hidden:
            table = path[0] if len(path) == 1 else ""
            yield at, (table, None, stop)
        elif path and found is not None and not found["table"] and len(path) == 1:
            if not hidden:
                stop = _end(lines, at)
            yield at, (table, f"# {path[0]}" if hidden else path[0], stop)
        at = stop


def _end(lines: list[str], at: int) -> int:
    """Return where an entry ends that begins at a line; lists may take several."""
    for stop in range(at + 1, len(lines) + 1):
        try:
            tomllib.loads("\n".join(lines[at:stop]))
        except ValueError:
            continue
        return stop
    return at + 1


def _line(line: str, key: str, value: Any, moved: int = 0) -> str:
    """Return a line with another value, and the comment that it had, where that stood.

    It stood further to the right where the line began behind a ``#``.
    """
    found = PLACE.match(line)
    before = found[0] if found else f"{key_of(key)} ="
    entry = f"{before} {as_toml(value)}"
    for at, letter in enumerate(line):
        if letter != "#":
            continue
        try:
            tomllib.loads(line[:at])
        except ValueError:
            continue
        place = at + moved
        return f"{entry.ljust(place)}{'' if len(entry) < place else '  '}{line[at:]}"
    return entry
