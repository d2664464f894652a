"""The Parquet file to which long work is saved, and from which it resumes.

During the work, finished pairs are in the folder ``<path>.parts`` as small Parquet files, each of
which is written completely or not at all. When all pairs are finished, ``<path>`` is written in
the same way and the folder is removed. Every file records the table and the options it belongs
to. Files that belong to others are never used and never overwritten.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from dpmic import _io
from dpmic.all_pairs.devices import Origin
from dpmic.errors import DpmicError, ParameterError, safe_repr, with_code
from dpmic.results import Pairwise

if TYPE_CHECKING:
    import pyarrow

Arrays = dict[str, NDArray[Any]]

FORMAT = 1
"""Raise it when results of earlier versions are no longer valid; their files are then refused."""

PART, SECONDS = 2**20, 20.0
"""A part is written after so many pairs, or so many seconds."""

GROUP = 2**20
"""Rows per row group of the file, which are in memory at once."""

KEY, POSITION = "dpmic", "position"

# Scores hardly repeat, so that a dictionary of them only costs time.
OF_PART = {"use_dictionary": False, "column_encoding": {POSITION: "DELTA_BINARY_PACKED"}}
OF_FILE = {"use_dictionary": ["x", "y"]}
ADDED = {"x", "y", "nonlinearity", "qvalue"}  # columns of the file that derive from the others
ELSEWHERE = "choose another name, or delete it"
WORDS = {"names": "columns", "others": "columns of the right table", "data": "values"}
UNSAID = {"device": "cpu", "exact": False}  # what a file does not say


class Checkpoint:
    """The finished scores of a table, on disk.

    Use it as a context manager: on exit, even by Ctrl-C, everything added is on disk. Only one can
    be open for a file at a time, if the file system has locks. Use it from one thread.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any], pairs: int, origin: Origin) -> None:
        self._path, self._facts, self._pairs = path, identity, pairs
        self._folder = path.with_name(f"{path.name}.parts")
        self._lock: BinaryIO | None = None  # not needed if everything is finished
        self._last = 0  # the number of the last part
        self._buffer: list[tuple[NDArray[np.int64], Arrays]] = []
        self._buffered = 0  # pairs
        self._written = time.monotonic()
        self._take(origin)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        identity: Mapping[str, Any],
        pairs: int,
        origin: Origin | None = None,
    ) -> Checkpoint:
        """Start, or resume work with the same identity.

        Parameters
        ----------
        path : str or path
            The file to make, ``.parquet``.
        identity : mapping
            Everything the scores depend on, in JSON types: names, n, options, a hash of the
            values.
        pairs : int
            The number of pairs.
        origin : Origin
            Which device makes the scores, by default the CPU; a finished file may also be of
            one that suffices.

        Raises
        ------
        ParameterError
            If the file cannot be written, has another identity, or is in use by another process.
        """
        checkpoint = cls(_target(path), identity, pairs, origin or Origin())
        if not checkpoint._path.exists():
            checkpoint._begin()
        if checkpoint._path.exists():  # another process may have made it just now
            checkpoint._release()
            checkpoint._refuse_other_file()
            checkpoint._tidy()
        return checkpoint

    @property
    def finished(self) -> bool:
        """Whether the file has all pairs."""
        return self._lock is None

    def known(self) -> Arrays:
        """Return the positions of finished pairs, in order, and their numbers by column."""
        if self.finished:
            return self._finished()
        done = np.zeros(self._pairs, bool)
        columns: Arrays = {}
        for part in self._parts():
            table = _read(part) if _identity(part) == self._of_part else None
            if table is None or not self._fits(table, columns):
                continue  # damaged: compute its pairs again
            positions = table.pop(POSITION)
            done[positions] = True
            for name, values in table.items():
                columns.setdefault(name, np.zeros(self._pairs, values.dtype))[positions] = values
        finished = {name: values[done] for name, values in columns.items()}
        return {POSITION: np.flatnonzero(done), **finished}

    def add(self, positions: NDArray[np.integer[Any]], columns: Mapping[str, NDArray[Any]]) -> None:
        """Keep finished pairs; they are on disk when a part is full, or after some seconds.

        Columns are named as in the file: mic, tic, records, pvalue.
        """
        numbers = {name: np.array(values) for name, values in columns.items()}
        self._buffer.append((np.array(positions, np.int64), numbers))
        self._buffered += positions.size
        if self._buffered >= PART or time.monotonic() - self._written >= SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what was added to disk."""
        self._written = time.monotonic()
        added = self._buffer[:]
        if not added:
            return
        import pyarrow

        columns = {POSITION: np.concatenate([positions for positions, _ in added])}
        for name in added[0][1]:
            columns[name] = np.concatenate([numbers[name] for _, numbers in added])
        self._last += 1
        table, name = pyarrow.table(columns), f"part-{self._last:06}.parquet"
        self._write(self._folder / name, self._of_part, table.schema, [table], OF_PART)
        # Clear it only now: an interrupt before this writes pairs twice, but loses none.
        del self._buffer[: len(added)]
        self._buffered = sum(positions.size for positions, _ in self._buffer)

    def finish(self, result: Pairwise) -> None:
        """Write the file with all pairs and remove the parts, unless the file exists."""
        if self.finished:
            return
        if self._path.exists():
            raise _refusal(
                self._path,
                "another program has made this file meanwhile",
                "move it and repeat the call: finished pairs are kept beside it",
            )
        tables = _groups(result)
        first = next(tables)
        # Every row group has all of y, so that its smallest and largest text are of no use.
        options = {**OF_FILE, "write_statistics": [c for c in first.column_names if c != "y"]}
        self._write(
            self._path, self._of_file, first.schema, itertools.chain([first], tables), options
        )
        self._buffer.clear()
        self._discard()
        self._release()

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self.flush()
        except DpmicError:
            if kind is None:
                raise  # otherwise the first error is more useful
        finally:
            self._release()

    def _begin(self) -> None:
        """Lock the folder and read what it contains."""
        try:
            self._lock = _io.lock_folder(self._folder)
            for leftover in self._folder.glob("*.tmp"):
                leftover.unlink()
        except BlockingIOError:
            remedy = "wait until it has finished, or choose another name"
            raise _refusal(self._path, "another process is writing it", remedy) from None
        except OSError as error:
            self._release()
            raise _unwritable(self._folder, error) from None
        try:
            parts = self._parts()
            self._refuse_others(parts)
            self._last = max((int(part.stem.partition("-")[2]) for part in parts), default=0)
        except BaseException:
            self._release()
            raise

    def _release(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            _io.unlock_folder(self._lock, self._folder)
            self._lock = None

    def _discard(self) -> None:
        """Remove the parts, which the finished file replaces."""
        for part in self._parts():
            if _identity(part) in (self._of_part, None):
                part.unlink()

    def _tidy(self) -> None:
        """Remove parts left by a process that ended right after writing the file."""
        if self._folder.is_dir():
            with suppress(OSError):
                self._lock = _io.lock_folder(self._folder)
                self._discard()
            self._release()

    def _parts(self) -> list[Path]:
        return sorted(self._folder.glob("part-*.parquet"))

    def _refuse_others(self, parts: Iterable[Path]) -> None:
        """Refuse parts of another identity; damaged ones are not used."""
        for part in parts:
            stored = _identity(part)
            if stored is not None and stored != self._of_part:
                raise self._other_parts(stored)

    def _other_parts(self, stored: str) -> ParameterError:
        """Refuse parts of other work, or of another device."""
        if _without_origin(stored) != _without_origin(self._of_part):
            remedy = f"choose another name, or delete the folder {self._folder.name}"
            return _other(self._path, stored, self._of_part, remedy)
        by_gpu = _origin(stored).device is not None
        who, device = ("a GPU", "cuda") if by_gpu else ("the CPU", "cpu")
        reason = f"{who} has begun it, and no other device may continue it"
        remedy = f"repeat the call with `device={device!r}`, or choose another name"
        return _refusal(self._path, reason, with_code(remedy))

    def _refuse_other_file(self) -> None:
        """Refuse a file of another identity, unless its scores suffice."""
        stored = _identity(self._path)
        if stored is None:
            reason = "it is damaged, or not a file of scores"
            raise _refusal(self._path, reason, "choose another name")
        its, own = _without_origin(stored), _without_origin(self._of_file)
        if its != own:
            raise _other(self._path, its, own, ELSEWHERE)
        made, wanted = _origin(stored), self.origin
        if made.device and wanted.device and made.device != wanted.device:
            reason = "its p-values are those of the first GPU kernels, and too small"
            raise _refusal(self._path, reason, ELSEWHERE)
        if not made.suffices(wanted):
            which = f" and `exact={made.exact!r}`" if made.exact else ""
            remedy = f"pass `device='auto'`{which} to read it, or choose another name"
            raise _refusal(self._path, str(made), with_code(remedy))
        self._take(made)

    def _take(self, origin: Origin) -> None:
        self.origin = origin
        self._of_part = _text({**self._facts, **origin.of_part()})
        self._of_file = _text({**self._facts, **origin.of_file()})

    def _finished(self) -> Arrays:
        """Return the numbers of the finished file."""
        columns = _read(self._path)
        if columns is None or any(v.size != self._pairs for v in columns.values()):
            raise _refusal(self._path, "it is damaged", "delete it, and repeat the call")
        return {POSITION: np.arange(self._pairs), **columns}

    def _fits(self, table: Arrays, columns: Arrays) -> bool:
        positions = table.get(POSITION, np.array([-1]))
        inside = bool(np.all((positions >= 0) & (positions < self._pairs)))
        return inside and (not columns or {POSITION, *columns} == set(table))

    def _write(
        self,
        target: Path,
        identity: str,
        schema: pyarrow.Schema,
        tables: Iterable[pyarrow.Table],
        options: Mapping[str, Any],
    ) -> None:
        """Write a file completely or not at all."""
        from pyarrow import parquet

        try:
            with (
                _io.atomic_write(target, folder=self._folder) as file,
                parquet.ParquetWriter(file, schema, write_page_checksum=True, **options) as writer,
            ):
                writer.add_key_value_metadata({KEY: identity})
                for table in tables:
                    writer.write_table(table)
        except OSError as error:
            raise _unwritable(target, error) from None


def exists(path: str | os.PathLike[str]) -> bool:
    """Return whether there is a file, so that nothing is left to be scored."""
    return _target(path).exists()


def begun_by(path: str | os.PathLike[str]) -> Origin | None:
    """Return which device made the finished pairs of an unfinished file, if there are any."""
    parts = Path(f"{_target(path)}.parts").glob("part-*.parquet")
    known = (_identity(part) for part in sorted(parts))
    return next((_origin(text) for text in known if text is not None), None)


def _target(path: str | os.PathLike[str]) -> Path:
    """Return the real path of a file that can be written, or that exists."""
    try:
        target = Path(os.path.realpath(os.fsdecode(path)))
    except (TypeError, ValueError):
        raise ParameterError(
            f"out = {safe_repr(path)}",
            "it is not a path",
            "pass a file's path, such as 'mic.parquet'",
        ) from None
    if target.suffix.lower() != ".parquet":
        raise _refusal(target, "the file will be a Parquet file", "end its name in .parquet")
    if target.is_dir():
        raise _refusal(target, "it is a folder", "pass the path of a file in it")
    if not target.parent.is_dir():
        raise _refusal(target, f"there is no folder {target.parent}", "make the folder first")
    return target


def _refusal(path: Path, reason: str, remedy: str) -> ParameterError:
    return ParameterError(f"out = {str(path)!r}", reason, remedy)


def _unwritable(path: Path, error: OSError) -> ParameterError:
    remedy = "repair the folder or choose another, and repeat the call: finished pairs are kept"
    return _refusal(path, f"it cannot be written ({error.strerror or error})", remedy)


def _other(path: Path, stored: str, wanted: str, remedy: str) -> ParameterError:
    return _refusal(path, f"it was made with {_differences(stored, wanted)}", remedy)


def _text(identity: Mapping[str, Any]) -> str:
    return json.dumps({"format": FORMAT, **identity}, sort_keys=True)


def _origin(text: str) -> Origin:
    stored = json.loads(text)
    return Origin(stored.get("device"), stored.get("exact", False))


def _without_origin(text: str) -> str:
    rest = {k: v for k, v in json.loads(text).items() if k not in Origin._fields}
    return json.dumps(rest, sort_keys=True)


def _identity(path: Path) -> str | None:
    """Return the identity stored in a file; None if it is damaged or has none."""
    from pyarrow import ArrowException, parquet

    try:
        with parquet.ParquetFile(path) as file:
            text = str((file.metadata.metadata or {})[KEY.encode()], "utf-8")
            json.loads(text)
            return text
    except (ArrowException, OSError, KeyError, ValueError):
        return None


def _read(path: Path) -> Arrays | None:
    """Return the columns of numbers of a file, or None if it is damaged."""
    from pyarrow import ArrowException, parquet

    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            names = [name for name in file.schema_arrow.names if name not in ADDED]
            table = file.read(columns=names)
            return {name: table.column(name).to_numpy() for name in names}
    except (ArrowException, OSError):
        return None


def _groups(result: Pairwise) -> Iterator[pyarrow.Table]:
    """Yield the rows of the file, some at a time, with names as categories."""
    import pyarrow

    names = {"x": pyarrow.array(result.names, pyarrow.string())}
    names["y"] = pyarrow.array(result.others or result.names, pyarrow.string())
    for start in range(0, result.mic.size, GROUP):
        columns: dict[str, Any] = result.columns(start, min(start + GROUP, result.mic.size))
        for side, called in names.items():
            places = pyarrow.array(columns[side].astype(np.int32))
            columns[side] = pyarrow.DictionaryArray.from_arrays(places, called)
        yield pyarrow.table(columns)


def _differences(stored: str, wanted: str) -> str:
    """Describe how one identity differs from another."""
    one, other = _flat(json.loads(stored)), _flat(json.loads(wanted))
    differences = []
    for name in sorted(one.keys() | other.keys()):
        was, now = (own.get(name, UNSAID.get(name)) for own in (one, other))
        if was == now:
            continue
        plain = name not in WORDS and all(isinstance(v, int | float | str) for v in (was, now))
        text = f"{name} = {safe_repr(was)} instead of {safe_repr(now)}"
        differences.append(text if plain else f"other {WORDS.get(name, name)}")
    return ", ".join(differences)


def _flat(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten nested mappings by one level."""
    flat: dict[str, Any] = {}
    for name, value in identity.items():
        flat |= value if isinstance(value, dict) else {name: value}
    return flat
