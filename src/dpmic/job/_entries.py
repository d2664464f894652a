"""The entries of a job file: reading them, and noting what is wrong, with line numbers."""

from __future__ import annotations

import ast
import datetime
import json
import math
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, get_args

from dpmic import _validate
from dpmic._validate import Categories, Domain
from dpmic.errors import DpmicError, ParameterError, did_you_mean, safe_repr, spell
from dpmic.privacy.independence import LEAST_DRAWS, MOST_DRAWS
from dpmic.privacy.release import MECHANISMS
from dpmic.statistics.maps import Axes

Check = Callable[[object, str], Any]

TO_FILL_IN = "?"
"""What a template has where the user must fill something in."""

IGNORE = "ignore"
WAYS = 'write { bounds = [0, 120] }, { categories = ["a", "b", "other"] } or "ignore"'
"""The ways to fill in the line of a column."""

OFF = "put # before the line"

MOST_PEOPLE = 10_000_000
"""More made-up rows would take gigabytes, and their noise would be negligible."""

RULES = ("refuse", "drop", "scatter", "fill")
COLUMN_KEYS = ("bounds", "categories", "missing")

GRIDS = ("mechanism", "axes", "cap", "B", "c")
ASKS: Mapping[str, tuple[str, ...]] = {
    "one pair": ("x", "y", *GRIDS),
    "strongest pairs": ("top", "target", "split", *GRIDS),
    "all pairs": ("target", "delta", *GRIDS),
    "test": ("x", "y", "draws"),
}
"""The keys of [question] for each kind of question, besides ``ask``."""

NEEDED = ("x", "y", "top")
"""The keys that are required."""

FUNCTIONS = {
    "dpmic.release": "one pair",
    "dpmic.screen": "strongest pairs",
    "dpmic.release_pairwise": "all pairs",
    "dpmic.release_test": "test",
}
RENAMED = {"missing": "rule"}
WRITTEN = re.compile(r".*Dialect\((.*)\)\)")
PLAIN = re.compile(r"[-+]?\d[\d.e+-]*|N|\.\.\.")
"""Values without quotes: numbers, and placeholders for numbers."""


BARE = re.compile(r"[A-Za-z0-9_-]+")
_PART = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)"""
PLACE = re.compile(rf"\s*(?P<table>\[)?\s*(?P<key>{_PART}(?:\s*\.\s*{_PART})*)\s*(?(table)\]|=)")


class EntryError(ParameterError):
    """An entry of a job file is missing or wrong.

    ``key`` is its table and name, such as ``privacy.epsilon``; ``line`` its line number, or None.
    """

    def __init__(
        self, value: str, reason: str, remedy: str, key: str = "", line: int | None = None
    ) -> None:
        super().__init__(value if line is None else f"line {line}, {value}", reason, remedy)
        self.key = key
        self.line = line
        self.args = (value, reason, remedy, key, line)


def quoted(text: str) -> str:
    r"""Write a text as a TOML string, with invisible characters escaped.

    Examples
    --------
    >>> print(quoted('the "new"\nward'))
    "the \"new\"\nward"
    """
    hidden = {"Cc", "Cf", "Zl", "Zp"}
    return "".join(
        f"\\U{ord(letter):08x}" if unicodedata.category(letter) in hidden else letter
        for letter in json.dumps(text, ensure_ascii=False)
    )


def key_of(name: str) -> str:
    """Write a name as a TOML key.

    Examples
    --------
    >>> key_of("age"), key_of("blood pressure")
    ('age', '"blood pressure"')
    """
    return name if BARE.fullmatch(name) else quoted(name)


def _text(value: object, name: str) -> str:
    shown = f"{name} = {safe_repr(value)}"
    if not isinstance(value, str):
        raise ParameterError(shown, "a text is expected", "put it in quotes")
    if not value.strip():
        raise ParameterError(shown, "it is empty", f"write a text between the quotes, or {OFF}")
    return value


def _texts(value: object, name: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        listed = value if isinstance(value, list) else [value]
        remedy = f"write {name} = [{', '.join(quoted(str(text)) for text in listed)}]"
        raise ParameterError(f"{name} = {safe_repr(value)}", "a list of texts is expected", remedy)
    return value


def _flag(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        remedy = "write it without quotes"
        raise ParameterError(f"{name} = {safe_repr(value)}", "true or false is expected", remedy)
    return value


def _one_of(known: Sequence[str], value: object, name: str) -> str:
    text = _text(value, name)
    if text not in known:
        remedy = did_you_mean(text, known, "choices")
        raise ParameterError(f"{name} = {safe_repr(text)}", "there is no such choice", remedy)
    return text


def _share(value: object, name: str) -> float:
    share = _validate.real(value, name)
    if not 0 < share <= 1:
        reason = "a share lies above 0 and is at most 1"
        raise ParameterError(f"{name} = {share:g}", reason, f"write {name} = 0.8")
    return share


def _sizes(value: object, name: str) -> int | dict[str, int]:
    """Return the promised sizes by group, or one number for all groups."""
    if not isinstance(value, Mapping):
        return _count(value, name)
    return {group: _count(size, f"{name}.{key_of(group)}") for group, size in value.items()}


_count = partial(_validate.integer, least=1)

KEYS: Mapping[str, Mapping[str, Check]] = {
    "data": {
        "file": _text,
        "dataset": _text,
        "people": partial(_validate.integer, least=2, most=MOST_PEOPLE),
        "sep": _text,
        "decimal": _text,
        "encoding": _text,
        "na": _texts,
        "sheet": _text,
    },
    "privacy": {
        "person": _text,
        "one_row_per_person": _flag,
        "rows_per_person": partial(_validate.integer, least=1, most=2**31),
        "epsilon": _validate.real,
        "ledger": _text,
        "allow_large_epsilon": _flag,
        "allow_noisy": _flag,
    },
    "question": {
        "ask": partial(_one_of, list(ASKS)),
        "x": _text,
        "y": _text,
        "top": _count,
        "target": _text,
        "split": _share,
        "delta": lambda value, _: _validate.delta(value),
        "draws": partial(_validate.integer, least=LEAST_DRAWS, most=MOST_DRAWS),
        "mechanism": partial(_one_of, ["auto", *MECHANISMS]),
        "axes": partial(_one_of, get_args(Axes)),
        "cap": lambda value, _: _validate.cap(value),
        "B": lambda value, _: _validate.cells(0, None, value),
        "c": lambda value, _: _validate.master_factor(value),
    },
    "columns": {},
    "missing": {"rule": partial(_one_of, RULES), "complete": _share},
    "groups": {"by": _text, "at_least": _sizes},
    "report": {"file": _text, "estimate": _flag},
}
"""Every table with its keys and their checks."""


@dataclass(frozen=True)
class Column:
    """The entry of a column; ``domain`` is None if the column is not used.

    ``written`` has the bounds or categories as written in the file, ``fill`` the value that
    replaces missing ones.
    """

    domain: Domain | None = None
    written: Any = None
    fill: Any = None
    open: bool = False


@dataclass
class Entries:
    """The entries of a job file, each checked by itself.

    Attributes
    ----------
    tables : dict
        The valid values by table and key; wrong and unfilled entries are absent.
    columns : dict
        The entry of each column.
    lines : dict
        The line numbers of tables, keys and columns.
    open : list
        The entries that are still to be filled in, apart from columns.
    problems : list of EntryError
        The problems found so far.
    """

    tables: dict[str, dict[str, Any]]
    columns: dict[str, Column]
    lines: Mapping[tuple[str, ...], int]
    open: list[tuple[str, str]] = field(default_factory=list)
    problems: list[EntryError] = field(default_factory=list)

    @classmethod
    def read(cls, text: str) -> Entries:
        """Read TOML and check every entry by itself; raise ValueError if it is not TOML."""
        content = tomllib.loads(text)
        found = cls({table: {} for table in KEYS}, {}, _lines(text))
        for table, entries in content.items():
            if table not in KEYS:
                found.wrong((table,), "there is no such table", _home(table))
            elif not isinstance(entries, Mapping):
                found.wrong((table,), "it must be a table", f"write [{table}] on its own line")
            elif table == "columns":
                found._read_columns(entries)
            else:
                found._read_table(table, entries)
        return found

    def get(self, table: str, key: str, default: Any = None) -> Any:
        """Return a value, or the default if there is none."""
        return self.tables[table].get(key, default)

    def wrong(self, place: tuple[str, ...], reason: str, remedy: str, shown: str = "") -> None:
        """Note that an entry is missing or wrong."""
        key = ".".join(map(key_of, place))
        line = self.lines.get(place)
        self.problems.append(EntryError(shown or key, reason, remedy, key, line))

    def place_of(self, problem: DpmicError) -> float:
        """Return where in the file a problem stands, to sort by.

        A missing key stands where its table begins, and a problem of the data where they are named.
        """
        place: tuple[str, ...] = ("data", "file")
        if isinstance(problem, EntryError):
            if problem.line is not None:
                return problem.line
            place = (problem.key.partition(".")[0],)
        return self.lines.get(place, math.inf)

    def _read_table(self, table: str, entries: Mapping[str, Any]) -> None:
        for key, value in entries.items():
            check = KEYS[table].get(key)
            if check is None:
                remedy = _home(key, list(KEYS[table]))
                self.wrong((table, key), "there is no such key", remedy)
            elif value == TO_FILL_IN:
                self.open.append((table, key))
            else:
                try:
                    self.tables[table][key] = check(value, key)
                except ParameterError as error:
                    remedy = for_the_file(error.remedy)
                    self.wrong((table, key), error.reason, remedy, error.value)

    def _read_columns(self, entries: Mapping[str, Any]) -> None:
        for name, entry in entries.items():
            if entry == TO_FILL_IN:
                self.columns[name] = Column(open=True)
            elif entry == IGNORE:
                self.columns[name] = Column()
            elif isinstance(entry, Mapping):
                self._read_column(name, entry)
            else:
                self._wrong_column(name, "this is not a way to describe a column")

    def _read_column(self, name: str, entry: Mapping[str, Any]) -> None:
        for key in entry:
            if key not in COLUMN_KEYS:
                remedy = did_you_mean(key, COLUMN_KEYS, "keys")
                self.wrong(("columns", name), f"a column has no key {safe_repr(key)}", remedy)
        if not set(entry) <= set(COLUMN_KEYS):
            self.columns[name] = Column()
            return
        if ("bounds" in entry) == ("categories" in entry):
            self._wrong_column(name, "it needs either bounds or categories")
            return
        try:
            domain, written = _domain(name, entry)
            fill = _fill(name, entry.get("missing"), domain)
        except ParameterError as error:
            self._wrong_column(name, error.reason)
        else:
            self.columns[name] = Column(domain, written, fill)

    def _wrong_column(self, name: str, reason: str) -> None:
        self.columns.setdefault(name, Column())
        self.wrong(("columns", name), reason, WAYS)


def _domain(name: str, entry: Mapping[str, Any]) -> tuple[Domain, Any]:
    """Return the domain of a column, and the domain as written."""
    if "categories" in entry:
        known = _validate.categories(entry["categories"], name)
        return known, list(known.labels)
    written = entry["bounds"]
    if isinstance(written, list) and len(written) > 2:
        raise ParameterError(
            name, "an interval has two ends; decimals need a point, as in 10.5", ""
        )
    ends = _validate.interval(written, name)
    if len({isinstance(end, datetime.date) for end in written}) > 1:
        raise ParameterError(name, "its bounds must be two numbers or two dates", "")
    return ends, tuple(written)


def _fill(name: str, value: object, domain: Domain) -> Any:
    """Check the value that replaces missing ones: a number, a date or a category."""
    if value is None:
        return None
    if isinstance(domain, Categories):
        if _validate.label(value) not in domain.labels:
            raise ParameterError(name, "the value for missing ones is not in its categories", "")
        return _validate.label(value)
    if isinstance(value, datetime.date):
        return value
    return _validate.real(value, f"the value for missing ones of {name}")


def _home(key: str, known: Sequence[str] | None = None) -> str:
    """Return a remedy for an unknown key: its table, or similar keys."""
    homes = [table for table, keys in KEYS.items() if key in keys]
    if homes:
        return f"write it below [{homes[0]}]"
    return did_you_mean(key, known or list(KEYS), "keys" if known else "tables")


def _lines(text: str) -> dict[tuple[str, ...], int]:
    """Return the first line of each table and each key: tomllib does not report lines."""
    places: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        found = PLACE.match(line)
        if found is None:
            continue
        path = path_of(found["key"])
        if not path:
            continue
        if found["table"]:
            table = path
        else:
            path = (*table, *path)
        for length in (1, 2):
            places.setdefault(path[:length], number)
    return places


def path_of(key: str) -> tuple[str, ...]:
    """Return the names in a dotted key, or nothing for what is not one."""
    try:
        return tuple(_path(tomllib.loads(f"{key} = 0")))
    except ValueError:
        return ()


def _path(nested: Any) -> Iterator[str]:
    while isinstance(nested, Mapping):
        ((key, nested),) = nested.items()
        yield key


def for_the_file(text: str) -> str:
    """Spell the code in a message as keys of a job file; leave other text unchanged.

    Examples
    --------
    >>> from dpmic.errors import with_code
    >>> for_the_file(with_code("use `dpmic.screen`, or pass `allow_noisy=True`"))
    'use ask = "strongest pairs", or pass allow_noisy = true'
    >>> for_the_file(with_code("pass `dataset='visits 2024'`"))
    'pass dataset = "visits 2024"'
    >>> for_the_file(with_code("pass `dpmic.data.open_file(path, dpmic.data.Dialect(sep=';'))`"))
    'pass sep = ";" below [data]'
    >>> for_the_file(with_code("pass `dpmic.data.open_file(path, dpmic.data.Dialect(na='-9'))`"))
    'pass na = ["-9"] below [data]'
    >>> for_the_file(with_code("pass `missing={'age': ...}`"))
    'pass rule = "fill" and age = { missing = ... }'
    """
    return spell(text, as_entry)


def as_entry(code: str) -> str:
    """Spell ``name=value`` as an entry, and a function as the question it answers.

    Examples
    --------
    >>> as_entry("allow_noisy=True"), as_entry("dpmic.screen")
    ('allow_noisy = true', 'ask = "strongest pairs"')
    """
    written = WRITTEN.fullmatch(code)  # the format of a file
    if written:
        return f"{as_entry(written[1])} below [data]"
    name, equals, value = code.partition("=")
    if name == "na":
        return f"na = [{quoted(value[1:-1])}]"
    if not equals:
        return f'ask = "{FUNCTIONS[name]}"' if name in FUNCTIONS else name
    if name == "missing" and value.startswith("{"):
        ((column, _),) = ast.literal_eval(value).items()
        return f'rule = "fill" and {key_of(column)} = {{ missing = ... }}'
    if value in ("True", "False"):
        value = value.lower()
    elif not PLAIN.fullmatch(value):
        value = quoted(value.strip("\"'"))
    return f"{RENAMED.get(name, name)} = {value}"


@contextmanager
def speaking_of_keys() -> Iterator[None]:
    """Spell options as keys of a job file in errors."""
    try:
        yield
    except DpmicError as error:
        error.value, error.reason, error.remedy = map(
            for_the_file, (error.value, error.reason, error.remedy)
        )
        raise
