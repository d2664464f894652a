"""Columns that are counted where they are: in a stream, or in an existing count table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpmic._validate import Bounds, Interval
from dpmic.data import Batch, Source, Stream, position, stream
from dpmic.data import find as find_columns
from dpmic.data import find_all as find_all_columns
from dpmic.errors import InputError, ParameterError, safe_repr, with_code
from dpmic.statistics.count_table import CountTable, count, read
from dpmic.statistics.fixed_grids import Family, Grids
from dpmic.statistics.records import cell_counts

__all__ = ["Counting", "Found", "counting", "find", "find_all", "in_order"]


@dataclass(frozen=True, eq=False)
class Counting:
    """Columns of a stream or of a count table, by name. Their values are never all in memory."""

    data: CountTable | Stream
    names: tuple[str, ...]
    named: ClassVar[bool] = True

    @property
    def once(self) -> bool:
        """Whether the rows can be read only once, so that counting them also gives their number."""
        return isinstance(self.data, Stream) and self.data.once

    @cached_property
    def n(self) -> int:
        """The number of records, counted once."""
        if isinstance(self.data, CountTable):
            return self.data.n
        if self.data.once:
            raise ParameterError(
                "data",
                "these rows can be read only once, so their number is not known in advance, but "
                "defaults depend on it",
                "pass B and c, or data that can be read again",
            )
        return self.data.count()

    @property
    def format(self) -> Mapping[str, Any]:
        """How the rows are read from a file, as far as the caller said; a count table forgets."""
        return {} if isinstance(self.data, CountTable) else self.data.format

    @property
    def grids(self) -> Grids | None:
        """The grids of an existing count table, or None."""
        return self.data.grids if isinstance(self.data, CountTable) else None

    def bounds(self, given: Any) -> Any:
        """Return the given bounds or, by name, those of a count table."""
        if given is not None or not isinstance(self.data, CountTable):
            return given
        return {name: self.data.bounds[name] for name in self.names}

    def select(self, places: Sequence[int]) -> Counting:
        """Return some of the columns."""
        return replace(self, names=type(self.names)(self.names[i] for i in places))

    @property
    def table(self) -> CountTable:
        """The counts, which must exist."""
        assert isinstance(self.data, CountTable)
        return self.data

    def counted(
        self, intervals: tuple[Interval, ...], family: Family, target: str | None = None
    ) -> Counting:
        """Count the records on the given grids, unless that is done."""
        grids = Grids(self.names, intervals, family, target)
        if isinstance(self.data, CountTable):
            _check_agreement(self.data, grids)
            self._check_unchanged(self.data.n)
            return self
        table = count(self.data, grids)
        self._check_unchanged(table.n)
        return replace(self, data=table)

    def histogram(self, bounds: Bounds, m: int) -> NDArray[np.int64]:
        """Count two columns in m x m cells of equal width."""
        if isinstance(self.data, CountTable):
            raise ParameterError(
                "a count table",
                "its grids are not cells of equal width",
                with_code("pass `mechanism='auto'`, or the rows themselves"),
            )
        parts = self.data.fold(self.names, partial(_histogram, self.names, bounds, m))
        counts = sum(parts, np.zeros((m, m), np.int64))
        self._check_unchanged(int(counts.sum()))
        return counts

    def _check_unchanged(self, n: int) -> None:
        """Refuse rows if their number changed since they were counted."""
        if "n" in self.__dict__ and n != self.n:
            raise InputError(
                "the number of rows",
                "it has changed since the rows were counted",
                "keep the data unchanged, and do not let a query sample rows at random",
            )


Found = Source | Counting


def find(*columns: Any, data: Any = None, public: bool = False) -> Found:
    """Find columns in memory, in a stream or in a count table, without looking at values.

    If ``public``, the first records of a text file may be used to recognise its format.
    """
    found = counting(data, public=public)
    if found is None:
        return find_columns(*columns, data=data)
    each = zip(columns, ("x", "y"), strict=True)
    return found.select([position(name, found.names, role) for name, role in each])


def find_all(data: Any, *, public: bool = False) -> Found:
    """Find all columns of a table in memory, of a stream or of a count table."""
    return counting(data, public=public) or find_all_columns(data)


def counting(data: Any, *, public: bool = False) -> Counting | None:
    """Return all columns of data that arrive in parts, or None for data in memory."""
    if isinstance(data, CountTable):
        return Counting(data, data.names)
    rows = None if data is None else stream(data, public=public)
    return None if rows is None else Counting(rows, rows.names)


def in_order(bounds: Any, names: Sequence[str], otherwise: str = "") -> Any:
    """Return bounds that are given by name in the order of two columns.

    ``otherwise`` is what the caller may give instead, for the error.
    """
    if not isinstance(bounds, Mapping):
        return bounds
    for name in names:
        if name not in bounds:
            raise ParameterError(
                f"bounds of {', '.join(map(safe_repr, bounds))}",
                f"the bounds of {safe_repr(name)} are missing",
                with_code("give bounds for both columns" + otherwise),
            )
    return tuple(bounds[name] for name in names)


def _histogram(
    names: tuple[str, ...], bounds: Bounds, m: int, batches: Iterator[Batch]
) -> NDArray[np.int64]:
    """Count batches in m x m cells, wherever they are."""
    counts = np.zeros((m, m), np.int64)
    for batch in batches:
        x, y = read(batch, names)
        counts += cell_counts(x, y, bounds, m)
    return counts


def _check_agreement(table: CountTable, asked: Grids) -> None:
    """Refuse grids other than those counted on; the table may have more columns."""
    known = table.bounds
    own = Grids(
        asked.names, tuple(known[name] for name in asked.names), table.grids.family, asked.target
    )
    if own != asked:
        raise InputError(
            "a count table",
            f"it was counted on other grids: {own.difference(asked)}",
            "leave out bounds and grid options, or count again with them",
        )
    for i, j in asked.pairs:
        table.place(asked.names[i], asked.names[j])  # refuse before anything is spent
