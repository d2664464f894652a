"""What is wanted of a file, and how its columns are found and refused."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dpmic.errors import InputError, safe_repr

__all__ = ["Asked", "Tell", "listed"]

Tell = Callable[[int, int | None], None]
"""Hears how much of how much was read; the whole is not known of standard input."""

LISTED = 10
DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
TEXT = "text is not a number"
DATES = "dates and durations are not numbers"
MIXED = "text and dates are not numbers"


@dataclass(frozen=True)
class Asked:
    """The wanted columns of a file, all of them by default.

    Attributes
    ----------
    columns : sequence of str, optional
        The names of columns of numbers.
    labels : sequence of str
        The names of columns that tell people apart, of any kind.
    private : bool
        Whether errors must hold no value, count or position of the data.
    otherwise : str
        What to do about columns that are no numbers, in words, if not to convert them.
    """

    columns: Sequence[str] | None = None
    labels: Sequence[str] = ()
    private: bool = False
    otherwise: str = "leave the column out"

    def found(self, names: Sequence[str], *, told: bool = True) -> dict[str, int]:
        """Return the position of each wanted column; the file has these names.

        ``told`` says whether an error may list them: those of a text are its first line, which
        is a record where the header is missing.
        """
        if self.columns is None:
            wanted = list(names)
        else:
            wanted = list(dict.fromkeys([*self.columns, *self.labels]))
        places = {name: _position(name, names, told) for name in wanted}
        return dict(sorted(places.items(), key=lambda item: item[1]))

    def refuse(self, reasons: Mapping[str, str]) -> None:
        """Refuse columns that are no numbers, all at once."""
        if not reasons:
            return
        known = list(dict.fromkeys(reasons.values()))
        reason = known[0] if len(known) == 1 else MIXED
        several = len(reasons) > 1
        raise InputError(
            f"{'columns' if several else 'column'} {listed(list(reasons))}",
            reason,
            f"convert {'them' if several else 'it'} to numbers, or {self.otherwise}",
        )


def listed(names: Sequence[str]) -> str:
    """Write names, so many as can be read."""
    return ", ".join(map(safe_repr, names[:LISTED])) + (", ..." if len(names) > LISTED else "")


def _position(wanted: str, names: Sequence[str], told: bool) -> int:
    count = names.count(wanted)
    if count == 1:
        return names.index(wanted)
    what = f"column {safe_repr(wanted)}"
    if count:
        raise InputError(what, f"{count} columns have this name", "rename them or drop all but one")
    close = difflib.get_close_matches(wanted, names)
    remedy = f"did you mean {listed(close)}" if close else f"the columns are {listed(names)}"
    if not told:
        width = f"{len(names)} column{'s' * (len(names) > 1)}"
        remedy = f"look at the first line: it must be a header, and was read as {width}"
    raise InputError(what, "there is no such column", remedy)
