"""The paper's three collections of real data sets, read from the folder ``DPMIC_DATA``.

Bounds follow the paper: the smallest and largest value of the data, each moved outwards by a
hundredth of their distance. They depend on the data, so they are **not private**. They exist only
here, because the printed figures were made with them; a release needs bounds fixed beforehand.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from dpmic._validate import Bounds, Interval
from dpmic.errors import InputError

Floats = NDArray[np.float64]

FILES = ("spellman.csv", "baseball.csv")
REMEDY = "set DPMIC_DATA to a folder with the table that Reshef et al. used in 2011"

DROPPED: Mapping[str, str] = MappingProxyType(
    {
        "PLAYER": "a name",
        "Record_ID#": "an identifier",
        "SALARY": "pay, not performance",
        "ROOKIE": "a status of yes or no, not performance",
        "POS": "the number of the field position, a category",
    }
)
"""The columns of the baseball table that are not performance statistics, and what they are.

The paper counts 129 "performance-related statistics" and does not list them. The table has 134
columns. These five come first, and the 129 after them, from ``G`` to ``OBI%``, are all kept. The
paper may have counted otherwise (with ``SALARY`` and without the constant ``PA_PR`` there are 129
too); then 128 of its 8256 data sets are not among these.
"""


@dataclass(frozen=True, slots=True)
class DataPair:
    """One data set: two columns, and the bounds that the paper uses for them."""

    label: str
    x: Floats
    y: Floats
    bounds: Bounds


@dataclass(frozen=True, slots=True)
class Column:
    """One variable of a collection: its name, its values and its interval."""

    name: str
    values: Floats
    interval: Interval


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """Data sets of n records each; ``collection[i]`` is a :class:`DataPair`.

    ``pairs`` are the positions of x and y in ``columns``.
    """

    name: str
    n: int
    columns: tuple[Column, ...]
    pairs: tuple[tuple[int, int], ...]

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, index: int) -> DataPair:
        x, y = (self.columns[place] for place in self.pairs[index])
        return DataPair(f"{x.name} ~ {y.name}", x.values, y.values, (x.interval, y.interval))

    def __iter__(self) -> Iterator[DataPair]:
        return (self[index] for index in range(len(self)))


def folder() -> Path:
    """Return the folder of the two tables: ``DPMIC_DATA``, or else ``../shared/data``.

    Raises
    ------
    InputError
        If a table is missing. The message names the folder, the tables and ``DPMIC_DATA``.
    """
    place = Path(os.environ.get("DPMIC_DATA") or "../shared/data")
    absent = [name for name in FILES if not (place / name).is_file()]
    if absent:
        raise InputError(
            f"data folder {place}",
            f"it has no {' and no '.join(absent)}, which the evaluation on real data needs",
            f"set DPMIC_DATA to a folder that contains {' and '.join(FILES)}",
        )
    return place


def spellman23() -> Collection:
    """Return the time series of each gene: 4381 data sets of n = 23.

    x is the position in the series, 1 to 23, with bounds [0, 24]; y is the gene's series, with its
    own bounds.
    """
    table = _spellman()
    genes = tuple(_bounded(name, row) for name, row in zip(table.rows, table.values, strict=True))
    n = table.values.shape[1]
    time = Column("time", _frozen(np.arange(1.0, n + 1)), (0.0, n + 1.0))
    pairs = tuple((0, place) for place in range(1, len(genes) + 1))
    return Collection("Spellman23", n, (time, *genes), pairs)


def spellman4381() -> Collection:
    """Return all pairs of time points: 253 data sets of n = 4381, all with the same bounds."""
    table = _spellman()
    interval = _widened(table.values)
    columns = tuple(
        Column(name, _frozen(values), interval)
        for name, values in zip(table.header, table.values.T, strict=True)
    )
    return _all_pairs("Spellman4381", columns)


def baseball() -> Collection:
    """Return all pairs of statistics of the players: 8256 data sets of n = 337.

    Every statistic has its own bounds, and no value is missing. :data:`DROPPED` lists the columns
    that are not statistics. One statistic, ``PA_PR``, is zero for every player. The paper's recipe
    gives it an interval of width 0; here it has [-1, 1]. Its 128 data sets are kept: without
    privacy each scores zero on any grid.
    """
    table = _read("baseball.csv", leave_out=tuple(DROPPED))
    named = zip(table.header, table.values.T, strict=True)
    return _all_pairs("Baseball", tuple(_bounded(*column) for column in named))


COLLECTIONS: Mapping[str, Callable[[], Collection]] = MappingProxyType(
    {"Spellman23": spellman23, "Baseball": baseball, "Spellman4381": spellman4381}
)
"""The collections by name, in the order of the paper's tables."""


def _all_pairs(name: str, columns: tuple[Column, ...]) -> Collection:
    """Pair every column with every later one."""
    pairs = tuple(combinations(range(len(columns)), 2))
    return Collection(name, columns[0].values.size, columns, pairs)


def _bounded(name: str, values: Floats) -> Column:
    """Give a column the bounds of its own values."""
    return Column(name, _frozen(values), _widened(values))


def _widened(values: Floats) -> Interval:
    """Return the range of the values, widened by a hundredth at both ends; not private."""
    low, high = float(values.min()), float(values.max())
    more = (high - low) / 100 if high > low else 1.0  # a constant needs an interval too
    return low - more, high + more


def _frozen(values: Floats) -> Floats:
    """Return a contiguous read-only copy: data sets share their columns."""
    copy = np.array(values)
    copy.setflags(write=False)
    return copy


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """Numbers with the names of their columns and, from the file's first column, of their rows."""

    header: tuple[str, ...]
    rows: tuple[str, ...]
    values: Floats


def _spellman() -> _Table:
    """Read the table with genes as rows and time points as columns."""
    return _read("spellman.csv", leave_out=("time",))


def _read(name: str, leave_out: tuple[str, ...]) -> _Table:
    """Read a table of finite numbers, without some columns."""
    path = folder() / name
    with path.open(newline="", encoding="utf-8") as file:
        header, *body = list(csv.reader(file)) or [[]]
    absent = [column for column in leave_out if column not in header]
    if absent:
        raise InputError(
            f"{path}", f"it has no column {absent[0]}, which the paper's table has", REMEDY
        )
    kept = [place for place, column in enumerate(header) if column not in leave_out]
    try:
        values = np.array([[row[place] for place in kept] for row in body], np.float64)
    except (ValueError, IndexError):
        values = np.full((1, 1), np.nan)
    if not body or not np.isfinite(values).all():
        raise InputError(f"{path}", "it has a missing or infinite statistic", REMEDY)
    return _Table(tuple(header[place] for place in kept), tuple(row[0] for row in body), values)
