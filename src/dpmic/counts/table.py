"""A count table: all that MICr needs of the data, in a size that does not grow with them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic import _kernels, _validate, frames
from dpmic._validate import Interval, Limits, Master
from dpmic.counts import stored
from dpmic.counts.cells import CellRecords, Cells, Column, cells
from dpmic.errors import InputError, ParameterError, RefusedValueError
from dpmic.frames import Batch, Stream
from dpmic.grids import RangeAxis

__all__ = ["CountTable", "Grids", "count", "read", "table_limits"]

Floats = NDArray[np.float64]

MOST_BYTES = 2**33
"""Of counts: 8 GiB."""

ROWS = 2**17
"""Records whose atoms are held at a time."""


@dataclass(frozen=True)
class Grids:
    """Which columns are paired, and on which grids: what tables must share to be added.

    With a ``target`` only its pairs with the others are counted.
    """

    names: tuple[str, ...]
    intervals: tuple[Interval, ...]
    limits: Limits
    target: str | None = None

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs by position: all, or the target with each other column."""
        columns = range(len(self.names))
        if self.target is None:
            return list(itertools.combinations(columns, 2))
        chosen = self.names.index(self.target)
        return [(chosen, other) for other in columns if other != chosen]

    @property
    def cells(self) -> Cells:
        """The cells of one pair."""
        return cells(self.limits)

    def difference(self, other: Grids) -> str:
        """Say in what other grids differ."""
        for name, mine, theirs in (
            ("columns", self.names, other.names),
            ("bounds", self.intervals, other.intervals),
            ("target", self.target, other.target),
        ):
            if mine != theirs:
                return f"their {name} are {mine} and {theirs}"
        a, b = ((own.B, own.c, own.master) for own in (self.limits, other.limits))
        return f"their (B, c, master) are {a} and {b}"


class CountTable:
    """Counts of records on the grids of MICr: one small table, however many records there are.

    Tables of different records add up to the table of all of them, whatever the order, so that
    batches, files and days can be counted apart. :func:`dpmic.micr`, :func:`dpmic.pairwise`,
    :func:`dpmic.release` and :func:`dpmic.screen` take a table in place of the data and return
    the very same scores.

    A table is data, not a release: it holds exact counts, so keep it as safe as the records.

    Parameters
    ----------
    bounds : mapping
        ``{"age": (0, 120), ...}``: the columns and the intervals on which grids are drawn,
        chosen without looking at the data.
    B : float
        The most cells a grid may have. Memory grows about as c B ** 1.6 for each pair: 0.3 MB for
        B = 100 and c = 5.
    c : float
        How much finer the master is than the grid, finite.
    master : {"reshef", "paper"}
        c * min(l, floor(B / l)) master parts for l columns, or c * l.
    target : str, optional
        Only pairs of this column with others are counted; by default all pairs.

    Examples
    --------
    >>> import dpmic, pyarrow as pa
    >>> table = dpmic.CountTable({"age": (0, 120), "pay": (0, 5000)}, B=16, c=5)
    >>> table.update(pa.table({"age": [20, 30, 40, 50], "pay": [900, 1500, 2500, 4900]}))
    >>> table
    CountTable(n = 4, 2 columns, 1 pair: exact counts, not a release)
    >>> dpmic.micr("age", "pay", data=table + table).n
    8
    """

    def __init__(
        self,
        bounds: Mapping[str, Any],
        *,
        B: float,
        c: float = 15,
        master: Master = "reshef",
        target: str | None = None,
    ) -> None:
        names, intervals = _named(bounds)
        limits = table_limits(B, c, master)
        if target is not None and target not in names:
            raise ParameterError(f"target = {target!r}", "it has no bounds", "name one that has")
        self._begin(Grids(names, intervals, limits, target))

    @classmethod
    def of(
        cls,
        source: Any,
        bounds: Mapping[str, Any],
        *,
        B: float,
        c: float = 15,
        master: Master = "reshef",
        target: str | None = None,
    ) -> CountTable:
        """Count all rows of a source in one pass.

        Parameters
        ----------
        source : frame, path or stream
            Anything that :func:`dpmic.micr` takes for ``data``: a frame, a Parquet or CSV file,
            a pyarrow dataset, an iterator of record batches, a DuckDB relation, a polars
            LazyFrame, a Spark or a Dask DataFrame.
        bounds, B, c, master, target
            As for the table itself.
        """
        grids = cls(bounds, B=B, c=c, master=master, target=target).grids
        return count(frames.stream(source) or source, grids)

    @classmethod
    def empty(cls, grids: Grids) -> CountTable:
        """Return a table of no records."""
        table = cls.__new__(cls)
        table._begin(grids)
        return table

    def _begin(self, grids: Grids) -> None:
        self.grids = grids
        self.n = 0
        shape = len(grids.pairs), int(grids.cells.starts[-1])
        if shape[0] * shape[1] * 8 > MOST_BYTES:
            raise ParameterError(
                f"{shape[0]} pairs with B = {grids.limits.B:g} and c = {grids.limits.c:g}",
                f"their counts take {shape[0] * shape[1] * 8 / 2**30:.0f} GiB",
                "pass a smaller B or c, or bounds of fewer columns",
            )
        self._counts = np.zeros(shape, np.int64)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are counted."""
        return self.grids.names

    @property
    def bounds(self) -> dict[str, Interval]:
        """The interval of each column."""
        return dict(zip(self.names, self.grids.intervals, strict=True))

    @property
    def nbytes(self) -> int:
        """The memory of the counts; it depends on B, c and the number of pairs alone."""
        return self._counts.nbytes

    def update(self, batch: Any) -> None:
        """Count more records.

        Parameters
        ----------
        batch : frame or RecordBatch
            Its other columns are ignored. If a value is refused nothing is counted.
        """
        source = frames.find(*self.names, data=batch, roles=self.names)
        if source.n:
            self._add(frames.read_all(source, categories=False), map)

    def _add(self, columns: tuple[Floats, ...], each: Callable[..., Iterable[None]]) -> None:
        """Count records; ``each`` maps a function over pairs, here or on several threads."""
        layout = self.grids.cells
        for first in range(0, columns[0].size, ROWS):
            atoms = [
                own.atoms(values[first : first + ROWS])
                for own, values in zip(self._columns, columns, strict=True)
            ]

            def count(
                counts: NDArray[np.int64],
                pair: tuple[int, int],
                atoms: list[NDArray[np.int32]] = atoms,
            ) -> None:
                x, y = pair
                _kernels.counting.tally(atoms[x], atoms[y], layout.first, layout.second, counts)

            for _ in each(count, self._counts, self.grids.pairs):
                pass
        self.n += columns[0].size

    @cached_property
    def _places(self) -> dict[tuple[str, str], int]:
        """Where the counts of each pair are."""
        names = self.names
        return {(names[i], names[j]): place for place, (i, j) in enumerate(self.grids.pairs)}

    @cached_property
    def _columns(self) -> list[Column]:
        family = self.grids.cells.family
        return [Column.of(interval, family) for interval in self.grids.intervals]

    def __iadd__(self, other: CountTable) -> CountTable:
        if not isinstance(other, CountTable):
            return NotImplemented
        if other.grids != self.grids:
            raise InputError(
                "two count tables",
                f"they are on other grids: {self.grids.difference(other.grids)}",
                "count both with the same bounds, B, c and master",
            )
        self._counts += other._counts
        self.n += other.n
        return self

    def __add__(self, other: CountTable) -> CountTable:
        total = CountTable.empty(self.grids)
        total += self
        return total.__iadd__(other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CountTable):
            return NotImplemented
        same = self.grids == other.grids and self.n == other.n
        return same and bool(np.array_equal(self._counts, other._counts))

    __hash__ = None  # type: ignore[assignment] # it changes

    def __repr__(self) -> str:
        pairs = len(self.grids.pairs)
        return (
            f"CountTable(n = {self.n}, {len(self.names)} columns, {pairs} pair{'s' * (pairs > 1)}: "
            "exact counts, not a release)"
        )

    def to_bytes(self) -> bytes:
        """Write the table, with its grids, a version and a checksum."""
        return stored.packed(_facts(self.grids, self.n), self._counts)

    @classmethod
    def from_bytes(cls, data: bytes) -> CountTable:
        """Read a table that :meth:`to_bytes` wrote, or refuse it."""
        facts, counts = stored.unpacked(data)
        table = cls.empty(_grids(facts))
        stored.check(counts, facts["n"], table._counts.shape, table.grids.cells.starts)
        table._counts[...] = counts.reshape(table._counts.shape)
        table.n = facts["n"]
        return table

    def __reduce__(self) -> tuple[Any, ...]:
        return CountTable.from_bytes, (self.to_bytes(),)

    def place(self, x: str, y: str) -> tuple[int, bool]:
        """Return which pair two columns are, and whether in the other order."""
        turned = (x, y) not in self._places
        place = self._places.get((y, x) if turned else (x, y))
        if place is None:
            raise InputError(
                f"the pair {x!r} and {y!r}",
                "it was not counted",
                "name two different columns, and count without a target",
            )
        return place, turned

    def records(self, x: str, y: str) -> tuple[CellRecords, CellRecords]:
        """Return the counts of two columns: with the first cut into columns, and the second.

        Every pair was counted in one of both orders, which stand for each other.
        """
        place, turned = self.place(x, y)
        counts = self._counts[place]
        layout, sizes = self.grids.cells, self.grids.cells.plan.sizes
        a, b = (RangeAxis.without_records(self.bounds[name], sizes) for name in (x, y))
        return (
            CellRecords(a, b, layout, counts, int(turned), self.n),
            CellRecords(b, a, layout, counts, 1 - turned, self.n),
        )


def table_limits(B: object, c: object, master: object) -> Limits:
    """Check the size of grids; n is not known yet, so nothing may depend on it."""
    for name, value in (("B", B), ("c", c)):
        if value is None:
            raise ParameterError(
                f"{name} = None",
                "its default depends on the number of records, which is not known yet",
                "pass B=100, c=5",
            )
    kind = _validate.choice(master, "master", Master)
    limits = _validate.limits(4, alpha=1, B=B, c=c, master=kind, atoms=np.inf)
    if np.isinf(limits.c):
        raise ParameterError("c = inf", "its cuts lie between the values", "pass c=15")
    return limits


def count(source: Any, grids: Grids) -> CountTable:
    """Count all rows of a stream or of a frame."""
    if not isinstance(source, Stream):
        return _tally(grids, iter([Batch(source, None)]))
    parts = source.fold(grids.names, partial(_tally, grids))
    total = next(parts, None) or CountTable.empty(grids)
    for part in parts:
        total += part
    return total


def _tally(grids: Grids, batches: Iterator[Batch]) -> CountTable:
    """Count batches, wherever they are; pairs are spread over the cores."""
    from joblib import cpu_count

    table = CountTable.empty(grids)
    with ThreadPoolExecutor(min(len(grids.pairs), cpu_count())) as pool:
        each = map if len(grids.pairs) == 1 else pool.map
        for batch in batches:
            table._add(read(batch, grids.names), each)
    return table


def read(batch: Batch, names: tuple[str, ...]) -> tuple[Floats, ...]:
    """Read columns of a batch; a refusal names the file, where it is known."""
    try:
        source = frames.find(*names, data=batch.data, roles=names)
        if not source.n:
            return tuple(np.empty(0) for _ in names)
        return frames.read_all(source, categories=False)
    except RefusedValueError as refused:
        if batch.place is None:
            raise
        value = f"{batch.place}: {refused.value}"
        raise RefusedValueError(value, refused.reason, refused.remedy, refused.column) from None


def _named(bounds: Any) -> tuple[tuple[str, ...], tuple[Interval, ...]]:
    """Return the columns and their intervals."""
    if not isinstance(bounds, Mapping) or len(bounds) < 2:
        raise ParameterError(
            "bounds",
            "two columns or more are needed, each with its interval",
            "pass {'age': (0, 120), 'pay': (0, 5000)}",
        )
    for name in bounds:
        if not isinstance(name, str):
            raise ParameterError(f"bounds of {name!r}", "columns are called by text", "pass text")
    intervals = (_validate.interval(ends, name) for name, ends in bounds.items())
    return tuple(bounds), tuple(intervals)


def _facts(grids: Grids, n: int) -> dict[str, Any]:
    """Return what a stored table says of itself besides its counts."""
    limits = grids.limits
    return {
        "columns": grids.names,
        "bounds": grids.intervals,
        "target": grids.target,
        "B": limits.B,
        "c": limits.c,
        "master": limits.master,
        "n": n,
    }


def _grids(facts: dict[str, Any]) -> Grids:
    """Read the grids of a stored table, as carefully as those of a new one."""
    bounds = dict(zip(facts["columns"], facts["bounds"], strict=True))
    table = CountTable(
        bounds, B=facts["B"], c=facts["c"], master=facts["master"], target=facts["target"]
    )
    return table.grids
