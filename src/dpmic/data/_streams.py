"""Rows that arrive in parts: the interface of all streams, and batches made by other code."""

from __future__ import annotations

import contextlib
import copy
import itertools
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from dpmic.data._tables import position
from dpmic.errors import DpmicError, InputError, RefusedValueError, UnreadableError, safe_repr

Part = TypeVar("Part")
Item = TypeVar("Item")


class Batch(NamedTuple):
    """Some rows of the wanted columns, and the file they come from, if known."""

    data: Any
    place: str | None = None


Work = Callable[[Iterator[Batch]], Part]

Tell = Callable[[int, int | None], None]
"""Called with (amount read, total amount), where the total is None if unknown."""

ROWS = 2**16
"""Rows in a batch: enough for speed, but little memory. By default polars would return
millions at a time, and Spark 10,000."""

_END = object()


class Stream(ABC):
    """Rows that arrive in parts: from files, an engine or an iterator.

    Attributes
    ----------
    once : bool
        Whether the rows can be read only once.
    here : bool
        Whether they are read in this process, as one part.
    format : mapping
        The caller's options about the file that decide which records and values are read.
    """

    once: bool = False
    here: bool = False
    format: Mapping[str, Any] = MappingProxyType({})

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of all columns, found without reading rows."""

    @abstractmethod
    def count(self) -> int:
        """Return the number of rows, as cheaply as possible; refuse rows that are read once."""

    @abstractmethod
    def _fold(self, columns: Sequence[str], work: Work[Part]) -> Iterator[Part]:
        """Do the work of :meth:`fold`, on columns that exist."""

    def fold(self, columns: Sequence[str], work: Work[Part]) -> Iterator[Part]:
        """Apply a function to the rows, in one or several parts, and return its results.

        Parameters
        ----------
        columns : sequence of str
            The wanted columns; the others are not read.
        work : callable
            Takes an iterator of non-empty batches. A distributed engine calls it where the rows
            are, so it and its results must be picklable; the engine may add results with ``+``.

        Raises
        ------
        UnreadableError
            If rows cannot be read. A DpmicError raised by ``work``, even elsewhere, is passed on.
        """
        for name in columns:
            position(name, self.names, "column")
        return self._fold(columns, work)


class LocalStream(Stream):
    """A stream whose rows are read in this process, as one part.

    Set ``tell`` to a function that shows progress, and ``private`` if errors must not name a file.
    """

    here = True
    private: bool = False

    tell: Tell = staticmethod(lambda done, total: None)

    @abstractmethod
    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Yield the rows; some batches may be empty."""

    def _fold(self, columns: Sequence[str], work: Work[Part]) -> Iterator[Part]:
        with contextlib.closing(_filled(self._batches(columns))) as batches:
            yield work(batches)

    def _refused(
        self, place: str, name: str, reason: str = "this file lacks the column, or has it twice"
    ) -> RefusedValueError:
        """Return the error for a file whose columns differ from those of the first."""
        remedy = "give every file the columns of the first"
        if self.private:
            place, reason = "", "a file lacks it, has it twice or has another type in it"
            remedy = "give every file this column, with the same type"
        shown = f"column {safe_repr(name)}"
        return RefusedValueError(f"{place}, {shown}" if place else shown, reason, remedy, name)


Damage = tuple[str, str, str]
"""For errors about a file: its name, what to do, and what is wrong."""


def damaged(place: str, kind: str) -> Damage:
    """Return what to say if the library that reads a file of some kind fails."""
    remedy = "copy it again, or save it again in the program that made it"
    return place, remedy, f"it is not a complete and valid {kind} file"


def attempted(call: Callable[[], Item], source: str, remedy: str, reason: str = "") -> Item:
    """Call third-party code; turn its errors into an UnreadableError that names the source.

    A ``reason`` replaces the words of the library, which may quote the content of a file.
    """
    try:
        return call()
    except DpmicError:
        raise
    except MemoryError:
        words, remedy = "there is not enough memory", "close other programs, or read fewer columns"
    except Exception as error:  # third-party code may raise anything
        words = _words(error, reason)
    # The original message may show a value. Raised here, the error has no such context either.
    raise UnreadableError(source, words, remedy)


def guarded(items: Iterable[Item], source: str, remedy: str, reason: str = "") -> Iterator[Item]:
    """Yield from third-party code, with the same treatment of errors."""
    iterator = iter(items)
    try:
        context = source, remedy, reason
        while (item := attempted(lambda: next(iterator, _END), *context)) is not _END:
            yield item  # type: ignore[misc] # not the end
    finally:
        if hasattr(iterator, "close"):
            iterator.close()


def pack(work: Work[Any], batches: Iterator[Batch]) -> bytes:
    """Do some work on a remote worker, and pack its result or error for the way back."""
    try:
        result = work(_filled(batches))
    except DpmicError as error:
        return pickle.dumps((None, error))
    return pickle.dumps((result, None))


def add_packed(parts: Iterable[bytes]) -> bytes:
    """Add packed results, at least one; an error replaces the sum."""
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
    """Return a result packed by a remote worker, or raise its error."""
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


def _words(error: Exception, reason: str) -> str:
    """Return a reason or, without one, a third-party message on one line, with no full stop."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if reason:
        return reason
    lines = [line.rstrip(" .") for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    if causes:  # in Java the last cause is the original one
        return causes[-1].removeprefix("Caused by: ")
    # A traceback of another process, sent as text, ends at the first line that is not indented.
    tail = itertools.dropwhile(lambda line: "Traceback (most recent call last)" not in line, lines)
    ends = (line for line in itertools.islice(tail, 1, None) if not line[0].isspace())
    message = next(ends, lines[0] if lines else "").strip()
    return message if " " in message else f"{type(error).__name__} {message}".strip()


ONCE = "its rows can be read only once"

LISTS: tuple[type, type] = type(iter([])), type(iter(()))
"""Iterators that can be copied: looking at a copy does not consume the original."""

_USED: WeakValueDictionary[int, Iterator[Any]] = WeakValueDictionary()
"""Iterators that a batch was taken from: used again, they would miss that batch. The set does
not keep them or their batches alive."""


class Batches(LocalStream):
    """Record batches or tables of pyarrow, with the columns of the first."""

    def __init__(self, source: Iterable[Any]) -> None:
        self.once = isinstance(source, Iterator)
        self._source: Any = source  # None after an iterator was read
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
        """The names in the first batch, which is taken from the iterator and kept for reading."""
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
                    "make a new one for each use, with at least one batch",
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
        for batch in guarded(reader, "a RecordBatchReader", "check its source"):
            yield Batch(batch.select(list(columns)))


def _spent(what: str) -> InputError:
    return InputError(what, ONCE, "make a new one for each use, or write its rows to a file")


def _begun(source: Iterable[Any]) -> Iterator[Any]:
    """Return an iterator over the batches, and remember it, so that it is never used again."""
    if not isinstance(source, Iterator):
        return iter(source)
    if _USED.get(id(source)) is source:
        raise InputError(
            "an iterator of batches",
            "it was used before, perhaps by a call that failed, so batches may be missing",
            "make a new one for each use, or pass a list of batches or the path of a file",
        )
    try:
        _USED[id(source)] = source
    except TypeError:  # it does not support weak references
        raise InputError(
            f"an iterator of type {type(source).__name__}",
            "dpmic could not detect a second use of it",
            "pass a generator, such as (batch for batch in batches), or a list",
        ) from None
    return source


def _check_arrow(batch: Any, number: int) -> None:
    import pyarrow as pa

    if not isinstance(batch, pa.RecordBatch | pa.Table):
        # The number of a later batch would reveal something about the data.
        refusal = InputError if number == 1 else UnreadableError
        raise refusal(
            f"batch {number} has type {type(batch).__name__}",
            "rows in parts must come as Arrow record batches",
            "pass pyarrow RecordBatches or Tables; for one column of values, a list or an array",
        )


def _check_same(schema: Any, first: Any, columns: Sequence[str], number: int) -> None:
    """Refuse a batch whose wanted columns differ from those of the first."""
    for name in columns:
        where = f"batch {number}, column {safe_repr(name)}"
        if schema.names.count(name) != 1:
            reason = "this batch lacks the column, or has it more than once"
            remedy = "give every batch the columns of the first"
            raise RefusedValueError(where, reason, remedy, name)
        found, expected = schema.field(name).type, first.field(name).type
        if found != expected:
            reason = f"its type is {found}, but {expected} in the first batch"
            raise RefusedValueError(where, reason, "give all batches the types of the first", name)
