"""Count tables: everything MICr or micc needs from the data, in a size that does not grow."""

from __future__ import annotations

import hashlib
import json
import struct
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpmic import _kernels, _validate
from dpmic._validate import Interval, Master
from dpmic.data import Batch, Stream, find, read_all, stream
from dpmic.errors import InputError, ParameterError, RefusedValueError
from dpmic.statistics.fixed_grids import (
    CountedStatistic,
    Grids,
    Locator,
    checked_family,
    facts_of,
    grids_of,
)
from dpmic.statistics.maps import Axes

Floats = NDArray[np.float64]
Result = TypeVar("Result")

MOST_BYTES = 2**33
"""The most bytes of counts: 8 GiB."""

_LOCK = threading.RLock()
"""Held while a table changes or is read, so that no reader sees half a batch."""

ROWS = 2**17
"""The number of records whose atoms are in memory at a time."""

# The format of a file: magic, head, header, counts, and a checksum of all of it.
MAGIC = b"dpmic count table\n"
VERSION = 1
HEAD = struct.Struct("<HQ")  # the version, and the length of the header
DIGEST = hashlib.sha256().digest_size
REMEDY = "read it from its original file, or count the records again"


class PairCounts(NamedTuple):
    """Counts of n records in two columns; ``swapped`` if they were counted in the other order."""

    n: int
    counts: NDArray[np.int64]
    swapped: bool


class CountTable:
    """Count records on fixed grids, in a table whose size does not depend on their number.

    Use it to score or publish data that arrive in parts: tables of different records add up to the
    table of all of them, in any order, so you can count batches, files and days separately.
    :func:`dpmic.micr` (or :func:`dpmic.micc`), :func:`dpmic.pairwise`, :func:`dpmic.release` and
    :func:`dpmic.screen` accept a table in place of the data and return bit-identical scores.

    A table holds exact counts. It is data, not a release: keep it as safe as the records.

    Parameters
    ----------
    bounds : mapping
        ``{"age": (0, 120), ...}``: the columns to count, and for each the interval on which grids
        are drawn, chosen without looking at the data.
    B : float
        The most cells a grid may have (for ``"micr"``). Memory per pair grows as c B ** 2: 0.6 MB
        for B = 100 and c = 5, 11 MB for B = 400.
    c : float
        The master factor (for ``"micr"``): how much finer the master is than the grid; finite.
    master : {"reshef", "paper"}
        The rule for the master (for ``"micr"``): c * min(l, floor(B / l)) parts for l columns,
        or c * l.
    target : str, optional
        Count only the pairs of this column with the others; by default all pairs.
    statistic : {"micr", "micc"}
        Which statistic's grids to count on. Those of micc have no B and no c, and take 8 MB per
        pair.
    axes : {"any", "linear"}, optional
        The scales on which axes are cut (for ``"micc"``); by default "any".

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
        B: float | None = None,
        c: float | None = None,
        master: Master = "reshef",
        target: str | None = None,
        statistic: CountedStatistic = "micr",
        axes: Axes | None = None,
    ) -> None:
        family = checked_family(statistic, B=B, c=c, master=master, axes=axes)
        self._begin(Grids.checked(bounds, family, target=target))

    @classmethod
    def of(
        cls,
        source: Any,
        bounds: Mapping[str, Any],
        **options: Any,
    ) -> CountTable:
        """Count all rows of a source in one pass.

        Parameters
        ----------
        source : frame, path or stream
            Any ``data`` that :func:`dpmic.micr` accepts: a frame, a Parquet or CSV file, a pyarrow
            dataset, an iterator of record batches, a DuckDB relation, a polars LazyFrame, a Spark
            or a Dask DataFrame.
        bounds, **options
            As for the table itself.
        """
        return count(stream(source) or source, cls(bounds, **options).grids)

    @classmethod
    def empty(cls, grids: Grids) -> CountTable:
        """Return a table of no records."""
        table = cls.__new__(cls)
        table._begin(grids)
        return table

    def _begin(self, grids: Grids) -> None:
        self.grids = grids
        self._n: int | None = 0  # None while counts change, and forever if that is interrupted
        shape = len(grids.pairs), grids.family.size
        if shape[0] * shape[1] * 8 > MOST_BYTES:
            raise ParameterError(
                f"{shape[0]} pairs with {grids.family}",
                f"their counts take {shape[0] * shape[1] * 8 / 2**30:.0f} GiB",
                "pass smaller grids, or bounds of fewer columns",
            )
        self._counts = np.zeros(shape, np.int64)

    @property
    def n(self) -> int:
        """The number of records."""
        with _LOCK:
            if self._n is None:
                raise InputError(
                    "a count table",
                    "counting was interrupted, so its counts are of different records",
                    "read the last saved table, or count again",
                )
            return self._n

    @contextmanager
    def _changing(self, more: int) -> Iterator[None]:
        """Let counts change, by ``more`` records."""
        n, most = self.n + more, self.grids.family.most_records
        if n > most:
            raise InputError(
                f"{n} records", f"a table can count at most {most}", "start another table"
            )
        self._n = None
        yield
        self._n = n

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the counted columns."""
        return self.grids.names

    @property
    def bounds(self) -> dict[str, Interval]:
        """The interval of each column."""
        return dict(zip(self.names, self.grids.intervals, strict=True))

    @property
    def nbytes(self) -> int:
        """The memory of the counts, which depends only on the grids and the number of pairs."""
        return self._counts.nbytes

    def update(self, batch: Any) -> None:
        """Count more records.

        Parameters
        ----------
        batch : frame or RecordBatch
            Columns that are not counted are ignored. If a value is refused, nothing is counted.
        """
        columns = read(Batch(batch, None), self.names)
        with _LOCK:
            self._add(columns, map)

    def _add(self, columns: tuple[Floats, ...], each: Callable[..., Iterable[None]]) -> None:
        """Count records; ``each`` maps a function over pairs, here or on several threads."""
        with self._changing(columns[0].size):
            for first in range(0, columns[0].size, ROWS):
                self._add_some([values[first : first + ROWS] for values in columns], each)

    def _add_some(self, columns: list[Floats], each: Callable[..., Iterable[None]]) -> None:
        """Count as many records as fit in memory as atoms."""
        atoms = [own.atoms(values) for own, values in zip(self._locators, columns, strict=True)]

        def tally(counts: NDArray[np.int64], pair: tuple[int, int]) -> None:
            (x, y), cells = (atoms[i] for i in pair), self.grids.cells(pair)
            _kernels.tally(x, y, cells.first, cells.second, counts)

        for _ in each(tally, self._counts, self.grids.pairs):
            pass

    @cached_property
    def _places(self) -> dict[tuple[str, str], int]:
        """The position of the counts of each pair."""
        names = self.names
        return {(names[i], names[j]): place for place, (i, j) in enumerate(self.grids.pairs)}

    @cached_property
    def _locators(self) -> list[Locator]:
        family, intervals = self.grids.family, self.grids.intervals
        return [Locator.of(family.refinement(own).cuts, own) for own in intervals]

    def __iadd__(self, other: CountTable) -> CountTable:
        if not isinstance(other, CountTable):
            return NotImplemented
        if other.grids != self.grids:
            raise InputError(
                "two count tables",
                f"they use different grids: {self.grids.difference(other.grids)}",
                "count both with the same bounds and grids",
            )
        with _LOCK, self._changing(other.n):
            self._counts += other._counts
        return self

    def __add__(self, other: CountTable) -> CountTable:
        total = CountTable.empty(self.grids)
        total += self
        return total.__iadd__(other)

    def __radd__(self, other: object) -> CountTable:
        return self + CountTable.empty(self.grids) if other == 0 else NotImplemented  # of sum

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CountTable):
            return NotImplemented
        with _LOCK:
            same = self.grids == other.grids and self.n == other.n
            return same and bool(np.array_equal(self._counts, other._counts))

    __hash__ = None  # type: ignore[assignment] # it changes

    def __repr__(self) -> str:
        pairs = len(self.grids.pairs)
        n = "interrupted" if self._n is None else f"n = {self._n}"
        return (
            f"CountTable({n}, {len(self.names)} columns, {pairs} pair{'s' * (pairs > 1)}: "
            "exact counts, not a release)"
        )

    def to_bytes(self) -> bytes:
        """Write the table, with its grids, a version and a checksum."""
        with _LOCK:
            return _packed(facts_of(self.grids, self.n), self._counts)

    def digest(self) -> str:
        """Return a fingerprint of the counts."""
        with _LOCK:
            facts = json.dumps(facts_of(self.grids, self.n)).encode()
            return hashlib.sha256(facts + self._counts.tobytes()).hexdigest()

    @classmethod
    def from_bytes(cls, data: bytes) -> CountTable:
        """Read a table written by :meth:`to_bytes`; refuse anything else."""
        facts, body = _unpacked(data)
        table = cls.empty(_understood(lambda: grids_of(facts)))
        most = table.grids.family.most_records
        n = _understood(lambda: _validate.integer(facts["n"], "n", least=0, most=most))
        starts = table.grids.cells(table.grids.pairs[0]).starts
        table._counts = _counts(body, n, table._counts.shape, starts)
        table._n = n
        return table

    def __reduce__(self) -> tuple[Any, ...]:
        return CountTable.from_bytes, (self.to_bytes(),)

    def place(self, x: str, y: str) -> tuple[int, bool]:
        """Return the position of a pair, and whether it was counted in the other order."""
        swapped = (x, y) not in self._places
        place = self._places.get((y, x) if swapped else (x, y))
        if place is None:
            raise InputError(
                f"the pair {x!r} and {y!r}",
                "it was not counted",
                "name two different columns, and count without a target",
            )
        return place, swapped

    def counts(self, x: str, y: str) -> PairCounts:
        """Return a copy of the counts of two columns."""
        place, swapped = self.place(x, y)
        with _LOCK:
            return PairCounts(self.n, self._counts[place].copy(), swapped)


def count(source: Any, grids: Grids) -> CountTable:
    """Count all rows of a stream or a frame."""
    from joblib import cpu_count

    threads = min(len(grids.pairs), cpu_count())
    if not isinstance(source, Stream):
        return _tally(grids, threads, iter([Batch(source, None)]))
    # A distributed engine already keeps every core busy.
    parts = source.fold(grids.names, partial(_tally, grids, threads if source.here else 1))
    total = next(parts, None) or CountTable.empty(grids)
    for part in parts:
        total += part
    return total


def _tally(grids: Grids, threads: int, batches: Iterator[Batch]) -> CountTable:
    """Count batches, wherever they are; threads share the pairs."""
    table = CountTable.empty(grids)
    with ThreadPoolExecutor(threads) as pool:  # starts no thread before it gets work
        each = map if threads == 1 else pool.map
        for batch in batches:
            table._add(read(batch, grids.names), each)
    return table


def read(batch: Batch, names: tuple[str, ...]) -> tuple[Floats, ...]:
    """Read columns of a batch; errors name the file, if it is known."""
    source = find(*names, data=batch.data, roles=names)
    if not source.n:
        return tuple(np.empty(0) for _ in names)
    remedy = "correct it at its source, or leave out its record there"
    place = "" if batch.place is None else f"{batch.place}: "
    try:
        columns = read_all(source, missing="drop", categories=False)
    except RefusedValueError as refused:
        value = place + refused.value
        raise RefusedValueError(value, refused.reason, remedy, refused.column) from None
    for values, name in zip(columns, names, strict=True):
        if np.isnan(values).any():
            raise RefusedValueError(f"{place}column {name}", "a value is missing", remedy, name)
    return columns


def _packed(facts: dict[str, Any], counts: NDArray[np.int64]) -> bytes:
    """Pack counts together with their description."""
    header = json.dumps(facts).encode()
    body = zlib.compress(np.ascontiguousarray(counts, "<i8").data, level=1)
    text = MAGIC + HEAD.pack(VERSION, len(header)) + header + body
    return text + hashlib.sha256(text).digest()


def _unpacked(data: bytes) -> tuple[Any, bytes]:
    """Read the header that :func:`_packed` wrote, or refuse it; also return the counts' bytes."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InputError(f"data of type {type(data).__name__}", "these are not bytes", REMEDY)
    text = bytes(data)
    if not text.startswith(MAGIC) or len(text) < len(MAGIC) + HEAD.size + DIGEST:
        raise InputError("these bytes", "they are not a count table", REMEDY)
    version, length = HEAD.unpack_from(text, len(MAGIC))
    if version != VERSION:
        raise InputError(
            f"a count table of version {version}",
            f"this dpmic reads version {VERSION}",
            "read it with the version of dpmic that wrote it",
        )
    if hashlib.sha256(text[:-DIGEST]).digest() != text[-DIGEST:]:
        raise InputError("a count table", "it was damaged: its checksum is wrong", REMEDY)
    begin = len(MAGIC) + HEAD.size
    facts = _understood(lambda: json.loads(text[begin : begin + length]))
    return facts, text[begin + length : -DIGEST]


def _understood(read: Callable[[], Result]) -> Result:
    """Read a part of a header, or refuse a forged one: a valid checksum does not rule it out."""
    try:
        return read()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"dpmic did not write its header ({type(error).__name__})"
    raise InputError("a count table", reason, REMEDY)


def _counts(
    body: bytes, n: int, shape: tuple[int, ...], starts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Read the counts of n records, each of which is in one cell of each table."""
    size = 8 * int(np.prod(shape))
    try:
        raw = zlib.decompressobj().decompress(body, size + 1)
    except zlib.error:
        raw = b""
    if len(raw) == size:
        found = np.frombuffer(bytearray(raw), "<i8").astype(np.int64, copy=False).reshape(shape)
        # The largest count was checked first, so no sum can overflow.
        if found.min(initial=0) >= 0 and found.max(initial=0) <= n:
            sums = np.add.reduceat(found, starts[:-1], axis=1)
            if (sums == n).all():
                return found
    raise InputError("a count table", f"its counts are not those of {n} records", REMEDY)
