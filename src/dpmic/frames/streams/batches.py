"""Arrow batches that somebody else makes: an iterator, a list, a reader."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from weakref import WeakValueDictionary

from dpmic.errors import InputError, RefusedValueError, UnreadableError, safe_repr
from dpmic.frames.streams.base import Batch, LocalStream, guarded

__all__ = ["Batches", "Reader", "opened"]

ONCE = "its rows can be read only once"

LISTS: tuple[type, type] = type(iter([])), type(iter(()))
"""Iterators that can be copied: to look at a copy takes nothing from them."""

_USED: WeakValueDictionary[int, Iterator[Any]] = WeakValueDictionary()
"""Iterators that a batch was taken from, by identity: of another use they would give the rest
alone. Neither they nor their batches are kept alive."""


def opened(data: Any) -> LocalStream | None:
    """Return a stream of batches, or None if the object is nothing of the kind."""
    if not isinstance(data, Iterator | list | tuple):
        return None
    import pyarrow as pa

    if isinstance(data, pa.RecordBatchReader):
        return Reader(data)
    if isinstance(data, LISTS):
        return Batches(list(copy.copy(data)))
    if isinstance(data, Iterator):
        return Batches(data)
    arrow = (pa.RecordBatch, pa.Table)
    return Batches(data) if data and all(isinstance(part, arrow) for part in data) else None


class Batches(LocalStream):
    """Record batches or tables of pyarrow, all with the columns of the first."""

    def __init__(self, source: Iterable[Any]) -> None:
        self.once = isinstance(source, Iterator)
        self._source: Iterable[Any] | None = source
        self._first: Any = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the first batch, which is taken from its iterator, for this use of it."""
        return tuple(self._peeked().schema.names)

    def count(self) -> int:
        """Return the number of rows of a list."""
        if self.once or self._source is None:
            raise _spent("an iterator of batches")
        return sum(len(batch) for batch in self._source)

    def _peeked(self) -> Any:
        if self._first is None:
            if self._source is None:
                raise _spent("an iterator of batches")
            first = next(_begun(self._source), None)
            if first is None:
                raise InputError(
                    "an iterator of batches",
                    "it is empty, or was used before",
                    "make a new one for each use, of at least one batch",
                )
            _check_arrow(first, 1)
            self._first = first
        return self._first

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        schema = self._peeked().schema
        if self._source is None:
            raise _spent("an iterator of batches")
        source = self._source
        if self.once:
            source = itertools.chain([self._first], source)
            self._source = self._first = None
        for number, batch in enumerate(source, 1):
            _check_arrow(batch, number)
            if batch.schema is not schema:
                _check_same(batch.schema, schema, columns, number)
            yield Batch(batch.select(list(columns)), None)


class Reader(LocalStream):
    """A pyarrow RecordBatchReader."""

    once = True

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._names = tuple(reader.schema.names)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return self._names

    def count(self) -> int:
        """Refuse: counting would use up the rows."""
        raise _spent("a RecordBatchReader")

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        if self._reader is None:
            raise _spent("a RecordBatchReader")
        reader, self._reader = _begun(self._reader), None
        for batch in guarded(reader, "a RecordBatchReader", "check what it reads from"):
            yield Batch(batch.select(list(columns)), None)


def _spent(what: str) -> InputError:
    return InputError(what, ONCE, "make a new one for each use, or write its rows to a file")


def _begun(source: Iterable[Any]) -> Iterator[Any]:
    """Return what gives the batches, and remember an iterator: it is never begun again."""
    if not isinstance(source, Iterator):
        return iter(source)
    if _USED.get(id(source)) is source:
        raise InputError(
            "an iterator of batches",
            "it was used before, if only by a call that was refused, so batches may be missing",
            "make a new one for each use, or pass a list of batches or the path of a file",
        )
    try:
        _USED[id(source)] = source
    except TypeError:  # it has no room for a weak reference
        kind = type(source).__name__
    else:
        return source
    raise InputError(
        f"an iterator of type {kind}",
        "dpmic could not notice a second use",
        "pass a generator, (batch for batch in batches), or a list",
    )


def _check_arrow(batch: Any, number: int) -> None:
    import pyarrow as pa

    if not isinstance(batch, pa.RecordBatch | pa.Table):
        # The number of a later batch would reveal something about the data.
        refusal = InputError if number == 1 else UnreadableError
        raise refusal(
            f"batch {number} has type {type(batch).__name__}",
            "rows in parts come as Arrow record batches",
            "pass pyarrow RecordBatches or Tables; values of one column go in a list or an array",
        )


def _check_same(schema: Any, first: Any, columns: Sequence[str], number: int) -> None:
    """Refuse a batch whose wanted columns are not those of the first."""
    for name in columns:
        if schema.names.count(name) != 1:
            raise RefusedValueError(
                f"batch {number}, column {safe_repr(name)}",
                "this batch does not have the column, or more than once",
                "give every batch the columns of the first",
                name,
            )
        found, expected = schema.field(name).type, first.field(name).type
        if found != expected:
            raise RefusedValueError(
                f"batch {number}, column {safe_repr(name)}",
                f"its type is {found}, and {expected} in the first batch",
                "give every batch the types of the first",
                name,
            )
