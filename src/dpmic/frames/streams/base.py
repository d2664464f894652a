"""What every stream of rows is, and how its failures are told."""

from __future__ import annotations

import contextlib
import itertools
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from dpmic.errors import DpmicError, InputError, UnreadableError, safe_repr
from dpmic.frames.bounded import position

__all__ = ["Batch", "LocalStream", "Stream", "added", "arrived", "attempted", "carried", "guarded"]

Part = TypeVar("Part")
Item = TypeVar("Item")


class Batch(NamedTuple):
    """Some rows of the wanted columns, and the file that they come from, where that is known."""

    data: Any
    place: str | None


Work = Callable[[Iterator[Batch]], Part]

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
        """Return the number of rows, by the cheapest way.

        Raises
        ------
        InputError
            If the rows can be read only once.
        """

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
            _check_column(name, self.names)
        return self._fold(columns, work)


class LocalStream(Stream):
    """A stream whose rows are read in this process, as one part."""

    here = True

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


def carried(work: Work[Any], batches: Iterator[Batch]) -> bytes:
    """Do some work far from the caller, and pack its result, or our error, for the way home."""
    try:
        result = work(_filled(batches))
    except DpmicError as error:
        return pickle.dumps((None, error))
    return pickle.dumps((result, None))


def added(parts: Iterable[bytes]) -> bytes:
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


def arrived(packed: bytes) -> Any:
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


def _check_column(wanted: str, names: tuple[str, ...]) -> None:
    position(wanted, names, "column")
    count = names.count(wanted)
    if count > 1:
        raise InputError(
            f"column {safe_repr(wanted)}",
            f"{count} columns have this name",
            "rename them or drop all but one",
        )
