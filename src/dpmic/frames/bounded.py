"""The bounds of a table's columns, by name or one after the other."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from dpmic import _validate
from dpmic._validate import Interval
from dpmic.errors import InputError, ParameterError, safe_repr

__all__ = ["Unlisted", "bounded", "position"]


class Columns(Protocol):
    """Columns by name, in memory or not."""

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called."""

    def select(self, places: Sequence[int]) -> Self:
        """Return some of them."""


Chosen = TypeVar("Chosen", bound=Columns)


class Unlisted(tuple[str, ...]):
    """Names that errors do not list: those of a text are its first line, and may be a record."""


def bounded(source: Chosen, bounds: Any) -> tuple[Chosen, tuple[Interval, ...]]:
    """Return the columns that have bounds, with these; no value is looked at.

    Bounds by name choose exactly the columns they name, in the order of the table; a sequence
    has an interval for each column.
    """
    if isinstance(bounds, Mapping):
        given = _by_name(bounds, source.names)
    else:
        given = dict(enumerate(_in_order(bounds, len(source.names))))
    chosen = source.select(list(given))
    each = zip(given.values(), chosen.names, strict=True)
    return chosen, tuple(_validate.interval(ends, name) for ends, name in each)


def position(wanted: Any, names: tuple[str, ...], role: str, what: str = "column") -> int:
    """Return where a column is; one without a text for a name is called by its position.

    An error calls it by its ``role``, and says that there is no such ``what``.
    """
    called = str(wanted) if isinstance(wanted, str | int | np.integer | tuple) else None
    if called in names:
        return names.index(called)
    if isinstance(names, Unlisted):
        width = f"{len(names)} column{'s' * (len(names) > 1)}"
        remedy = f"look at the first line: it must be a header, and was read as {width}"
        raise InputError(f"{role} {safe_repr(wanted)}", f"there is no such {what}", remedy)
    close = difflib.get_close_matches(called or "", names)
    listed = ", ".join(map(repr, close or names[:10]))
    if not close and len(names) > 10:
        listed += ", ..."
    remedy = f"did you mean {listed}" if close else f"the columns are {listed}"
    raise InputError(f"{role} {safe_repr(wanted)}", f"there is no such {what}", remedy)


def _by_name(bounds: Mapping[Any, Any], names: tuple[str, ...]) -> dict[int, Any]:
    """Return intervals by the position of their columns, in the order of the table."""
    given = {position(name, names, "bounds of"): ends for name, ends in bounds.items()}
    if len(given) < len(bounds):
        raise ParameterError("bounds", "two of its names mean one column", "name each column once")
    return {i: given[i] for i in sorted(given)}


def _in_order(bounds: Any, width: int) -> Sequence[Any]:
    """Return an interval for each column."""
    members = bounds.tolist() if isinstance(bounds, np.ndarray) else bounds
    if not isinstance(members, Sequence) or isinstance(members, str):
        raise ParameterError(
            f"bounds = {safe_repr(bounds)}",
            "every column that takes part needs bounds, from what it means",
            "pass {'age': (0, 120), ...}, or one interval for each column",
        )
    if len(members) == 2 and all(isinstance(end, int | float) for end in members):
        raise ParameterError(
            f"bounds = {safe_repr(bounds)}",
            "this is one interval, and every column needs its own",
            f"pass [{safe_repr(tuple(members))}] * {width}, or {{'age': (0, 120), ...}}",
        )
    if len(members) != width:
        raise ParameterError(
            f"bounds of {len(members)} columns",
            f"the table has {width}",
            "pass one interval for each column, or {'age': (0, 120), ...} for some",
        )
    return members
