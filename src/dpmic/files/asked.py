"""What is wanted of a file, and how its columns are found and refused."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpmic.errors import InputError, shown

__all__ = ["Asked", "Tell"]

Tell = Callable[[int, int | None], None]
"""Hears how much of how much was read; the whole is not known of standard input."""

LISTED = 10


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
    """

    columns: Sequence[str] | None = None
    labels: Sequence[str] = ()
    private: bool = False

    def found(self, names: Sequence[str]) -> dict[str, int]:
        """Return the position of each wanted column; the file has these names."""
        if self.columns is None:
            wanted = list(names)
        else:
            wanted = list(dict.fromkeys([*self.columns, *self.labels]))
        places = {name: _position(name, names) for name in wanted}
        return dict(sorted(places.items(), key=lambda item: item[1]))


def _position(wanted: str, names: Sequence[str]) -> int:
    count = names.count(wanted)
    if count == 1:
        return names.index(wanted)
    what = f"column {shown(wanted)}"
    if count:
        raise InputError(what, f"{count} columns have this name", "rename them or drop all but one")
    close = difflib.get_close_matches(wanted, names)
    listed = ", ".join(map(shown, close or names[:LISTED]))
    listed += "" if close or len(names) <= LISTED else ", ..."
    remedy = f"did you mean {listed}" if close else f"the columns are {listed}"
    raise InputError(what, "there is no such column", remedy)
