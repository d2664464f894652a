"""Rows that come in parts: what every stream is, and batches that somebody else makes."""

from __future__ import annotations

import contextlib
import copy
import itertools
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from dpmic.data._tables import position
from dpmic.errors import DpmicError, InputError, RefusedValueError, UnreadableError, safe_repr

Part = TypeVar("Part")
Item = TypeVar("Item")


class Batch(NamedTuple):
    """Some rows of the wanted columns, and the file that they come from, where that is known."""

    data: Any
    place: str | None = None


Work = Callable[[Iterator[Batch]], Part]

Tell = Callable[[int, int | None], None]
"""Hears how much of how much was read; None where nobody knows how much there is."""

ROWS = 2**16
"""Rows in a batch: enough for speed, and few against the rest of the memory. polars would hand
out millions at a time, and Spark 10,000."""

_END = object()


class Stream(ABC):
    """Rows that come in parts: from files, an engine or an iterator.

    Attributes
    ----------
    once : bool
        Whether the rows can be read only once.
    here : bool
        Whether they are read in this process, as one part.
    """

    once: bool = False
    here: bool = False

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of all columns, found without reading rows."""

    @abstractmethod
    def count(self) -> int:
        """Return the number of rows, by the cheapest way; refused of rows read only once."""

    @abstractmethod
    def _fold(self, columns: Sequence[str], work: Work[Part]) -> Iterator[Part]:
        """Do what :meth:`fold` says, of columns that are there."""

    def fold(self, columns: Sequence[str], work: Work[Part]) -> Iterator[Part]:
        """Hand the rows to some work, in one or several parts, and return its results.

        Parameters
        ----------
        columns : sequence of str
            The wanted columns; the others are not read.
        work : callable
            Takes an iterator of batches, none of which is empty. An engine of several processes
            calls it where the rows are, so that it and its result must be picklable, and results
            must have ``+``: such an engine may add some of them.

        Raises
        ------
        UnreadableError
            If rows cannot be read. A DpmicError of the work, wherever it runs, arrives as it is.
        """
        for name in columns:
            position(name, self.names, "column")
        return self._fold(columns, work)


class LocalStream(Stream):
    """A stream whose rows are read in this process, as one part.

    Whoever wants to hear how much was read sets ``tell``.
    """

    here = True

    tell: Tell = staticmethod(lambda done, total: None)

    @abstractmethod
    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Yield the rows; empty batches may be among them."""

    def _fold(self, columns: Sequence[str], work: Work[Part]) -> Iterator[Part]:
        with contextlib.closing(_filled(self._batches(columns))) as batches:
            yield work(batches)


def attempted(call: Callable[[], Item], source: str, remedy: str) -> Item:
    """Return what foreign code returns; its errors become one of ours that names the source."""
    try:
        return call()
    except DpmicError:
        raise
    except Exception as error:  # foreign code, with errors of its own
        words = _words(error)
    # Foreign words may hold a value; raised here, no context holds one either.
    raise UnreadableError(source, words, remedy)


def guarded(items: Iterable[Item], source: str, remedy: str) -> Iterator[Item]:
    """Yield from foreign code, by the same rule."""
    iterator = iter(items)
    try:
        while (item := attempted(lambda: next(iterator, _END), source, remedy)) is not _END:
            yield item  # type: ignore[misc] # not the end
    finally:
        if hasattr(iterator, "close"):
            iterator.close()


def refused_column(
    place: str, name: str, reason: str = "this file does not have the column, or more than once"
) -> RefusedValueError:
    """Return the error of a file that has other columns than the first."""
    remedy = "give every file the columns of the first"
    return RefusedValueError(f"{place}, column {safe_repr(name)}", reason, remedy, name)


def pack(work: Work[Any], batches: Iterator[Batch]) -> bytes:
    """Do some work far from the caller, and pack its result, or our error, for the way home."""
    try:
        result = work(_filled(batches))
    except DpmicError as error:
        return pickle.dumps((None, error))
    return pickle.dumps((result, None))


def add_packed(parts: Iterable[bytes]) -> bytes:
    """Add packed results, of which there is one at least; an error stands for all of them."""
    total = None
    for packed in parts:
        result, error = pickle.loads(packed)
        if error is not None:
            return packed
        if total is None:
            total = result
        else:
            total += result
    return pickle.dumps((total, None))


def unpack(packed: bytes) -> Any:
    """Return a result that was packed far away, or raise the error that was."""
    result, error = pickle.loads(packed)
    if error is not None:
        raise error
    return result


def _filled(batches: Iterator[Batch]) -> Generator[Batch, None, None]:
    """Leave out batches without rows."""
    try:
        for batch in batches:
            if len(batch.data):
                yield batch
    finally:
        if hasattr(batches, "close"):
            batches.close()


def _words(error: Exception) -> str:
    """Return what foreign code says, in one line without a final full stop."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    lines = [line.rstrip(" .") for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    if causes:  # as Java has it: the last one is the first
        return causes[-1].removeprefix("Caused by: ")
    # A traceback of another process, told in words, ends with the first line that is not indented.
    told = itertools.dropwhile(lambda line: "Traceback (most recent call last)" not in line, lines)
    ends = (line for line in itertools.islice(told, 1, None) if not line[0].isspace())
    said = next(ends, lines[0] if lines else "").strip()
    return said if " " in said else f"{type(error).__name__} {said}".strip()


ONCE = "its rows can be read only once"

LISTS: tuple[type, type] = type(iter([])), type(iter(()))
"""Iterators that can be copied: to look at a copy takes nothing from them."""

_USED: WeakValueDictionary[int, Iterator[Any]] = WeakValueDictionary()
"""Iterators that a batch was taken from, by identity: of another use they would give the rest
alone. Neither they nor their batches are kept alive."""


class Batches(LocalStream):
    """Record batches or tables of pyarrow, all with the columns of the first."""

    def __init__(self, source: Iterable[Any]) -> None:
        self.once = isinstance(source, Iterator)
        self._source: Any = source  # None once an iterator was read
        self._first: Any = None

    @classmethod
    def of(cls, data: Any) -> Batches | Reader | None:
        """Return the rows of a reader, an iterator or a list, or None for anything else."""
        if not isinstance(data, Iterator | list | tuple):
            return None
        import pyarrow as pa

        if isinstance(data, pa.RecordBatchReader):
            return Reader(data)
        if isinstance(data, LISTS):
            return cls(list(copy.copy(data)))
        if isinstance(data, Iterator):
            return cls(data)
        arrow = (pa.RecordBatch, pa.Table)
        return cls(data) if data and all(isinstance(part, arrow) for part in data) else None

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the first batch, which is taken from its iterator, for this use of it."""
        return tuple(self._peeked().schema.names)

    def count(self) -> int:
        """Return the number of rows of a list."""
        if self.once:
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
        source = self._source
        if self.once:
            source = itertools.chain([self._first], source)
            self._source = self._first = None
        for number, batch in enumerate(source, 1):
            _check_arrow(batch, number)
            if batch.schema is not schema:
                _check_same(batch.schema, schema, columns, number)
            yield Batch(batch.select(list(columns)))


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
            yield Batch(batch.select(list(columns)))


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
        raise InputError(
            f"an iterator of type {type(source).__name__}",
            "dpmic could not notice a second use",
            "pass a generator, (batch for batch in batches), or a list",
        ) from None
    return source


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
        where = f"batch {number}, column {safe_repr(name)}"
        if schema.names.count(name) != 1:
            reason = "this batch does not have the column, or more than once"
            remedy = "give every batch the columns of the first"
            raise RefusedValueError(where, reason, remedy, name)
        found, expected = schema.field(name).type, first.field(name).type
        if found != expected:
            reason = f"its type is {found}, and {expected} in the first batch"
            raise RefusedValueError(where, reason, "give every batch the types of the first", name)
