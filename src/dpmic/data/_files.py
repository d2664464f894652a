"""Tables in files: texts, Parquet, Arrow and pyarrow datasets, batch by batch."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import unquote

from dpmic.data._kinds import Dates, Kind
from dpmic.data._streams import ROWS, Batch, LocalStream, Tell, attempted, guarded
from dpmic.data._tables import Unlisted, position
from dpmic.data._text import STDIN, Dialect, Numbers, Text, is_record, trimmed
from dpmic.errors import InputError, RefusedValueError, UnreadableError, safe_repr

if TYPE_CHECKING:
    import pyarrow

TEXTS = {".csv": ",", ".tsv": "\t"}
ENDINGS = (".arrow", ".csv", ".feather", ".parquet", ".tsv")

BUFFER = 2**18
"""Bytes of a column that are read together, however large the file's groups of rows."""

NO_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""What engines call the folder of rows without a value."""


def open_files(data: Any) -> LocalStream | None:
    """Return the rows of a dataset, a path or several, or None for anything else."""
    known = sys.modules.get("pyarrow.dataset")
    if known and isinstance(data, known.Dataset):
        return _text_dataset(data) or Files(data)
    paths = list(data) if isinstance(data, list | tuple) else [data]
    if not paths or not all(map(_is_path, paths)):
        return None
    return _opened([os.fspath(path) for path in paths])


def open_file(
    path: str,
    *,
    labels: Sequence[str] = (),
    dates: Sequence[str] = (),
    private: bool = False,
    typed: bool = False,
    tell: Tell | None = None,
) -> LocalStream:
    """Return the rows of one file; the ending of its name says how it is read.

    Parameters
    ----------
    path : str
        A CSV, TSV, Parquet, Feather or Arrow file; ``-`` is CSV or TSV on standard input.
    labels : sequence of str
        The names of columns that tell people apart, or have categories: of a text, they stay text.
    dates : sequence of str
        The names of columns of dates: of a text, they become days since 1970.
    private : bool
        Whether errors must hold no value, count or position, nor names of a text's first line.
    typed : bool
        Whether other columns of a text are what they look like, which nothing private may ask:
        numbers, true and false, dates, or text. Else they must be numbers.
    tell : callable, optional
        Called with how much was read, and of how much if that is known.
    """
    told: dict[str, Any] = {"labels": labels, "dates": dates, "private": private, "typed": typed}
    if path == "-":
        source = TextFile(STDIN, lambda: nullcontext(sys.stdin.buffer), Dialect(None))
        rows: LocalStream = TextFiles([source], once=True, listed=not private, **told)
    else:
        if os.path.isdir(path):
            raise InputError(path, "this is a folder", "pass a file in it")
        if not os.path.exists(path):
            raise InputError(path, "there is no such file", "check the name and the folder")
        rows = _opened([path], listed=not private, **told)
    if tell is not None:
        rows.tell = tell
        if isinstance(rows, Files):
            rows.expected = rows.count()
    return rows


def load(
    path: str, columns: Sequence[str] | None = None, *, without: Sequence[str] = (), **told: Any
) -> pyarrow.Table:
    """Read columns of a file into memory, by default all but some.

    Only the wanted columns are kept, and text is converted block by block, so that the memory
    needed is that of the columns. ``told`` is as for :func:`open_file`.
    """
    import pyarrow as pa

    name, private = STDIN if path == "-" else path, told.get("private", False)
    try:
        rows = open_file(path, **told)
        names = rows.names
        for unwanted in without:
            position(unwanted, names, "column")
        wanted = dict.fromkeys([*(names if columns is None else columns), *told.get("labels", ())])
        wanted = {name: None for name in wanted if name not in without}
        order = {column: place for place, column in enumerate(names)}
        chosen = sorted(wanted, key=lambda column: order.get(column, -1))
        (batches,) = rows.fold(chosen, lambda parts: [batch.data for batch in parts])
    except UnreadableError:
        if not private:
            raise
    else:
        if not batches:
            raise InputError(name, "it has no rows", "check that it holds more than a header")
        pa.default_memory_pool().release_unused()  # of the text
        table = pa.concat_tables(
            map(pa.Table.from_batches, ([own] for own in batches)), promote_options="default"
        )
        return _with_dates(table, told.get("dates", ()), name, private)
    # Foreign words may hold a value; raised here, no context holds one either.
    raise InputError(name, "it cannot be read", "check that it is a valid file of its kind")


def _with_dates(
    table: pyarrow.Table, dates: Sequence[str], place: str, private: bool
) -> pyarrow.Table:
    """Convert the text in columns of dates, which other files than texts may have, too."""
    from pyarrow import types

    for at, column in enumerate(table.schema):
        if column.name in dates and (
            types.is_string(column.type) or types.is_large_string(column.type)
        ):
            texts = table.column(at).combine_chunks()
            days = Dates(column.name, private=private).convert(texts, place, 0)
            table = table.set_column(at, column.name, days)
    return table


@dataclass(frozen=True)
class TextFile:
    """Where a text is, and how it is written; ``folders`` has the values in names of folders."""

    place: str
    open: Callable[[], AbstractContextManager[Any]]
    dialect: Dialect
    folders: Mapping[str, str] = field(default_factory=dict)
    size: int | None = None

    @property
    def context(self) -> tuple[str, str]:
        """What an error names, and what to do."""
        return self.place, "check that it is a complete and valid text file"


@dataclass(eq=False, repr=False)
class TextFiles(LocalStream):
    """Texts, read one after the other, all with the columns of the first.

    Attributes
    ----------
    files : sequence of TextFile
        One at least.
    once : bool
        Whether the rows can be read only once.
    several : bool
        Whether errors must be ones that private code does not repeat: they say which file.
    listed : bool
        Whether errors may repeat the first line.
    labels, dates, private, typed
        As for :func:`open_file`.
    """

    files: Sequence[TextFile]
    once: bool = False
    several: bool = False
    listed: bool = False
    labels: Sequence[str] = ()
    dates: Sequence[str] = ()
    private: bool = False
    typed: bool = False
    _begun: Text | None = field(default=None, init=False)  # of rows that can be read only once

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names in the first file's header, and those of folders."""
        first = self.files[0]

        def header() -> tuple[str, ...]:
            with first.open() as source:
                text = self._text(first, source)
            self._begun = text if self.once else None
            return text.names

        found = attempted(header, *first.context)
        return type(found)((*found, *first.folders))

    def count(self) -> int:
        """Return the number of records."""
        return self._count

    @cached_property
    def _count(self) -> int:
        return sum(len(batch) for file in self.files for batch in self._read(file, ()))

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        import pyarrow as pa

        numbers = {name: self._kind(name) for name in columns}
        for file in self.files:
            before = 0
            for batch in self._read(file, columns):
                values = []
                for name in columns:
                    folder = file.folders.get(name)
                    texts = batch[name] if folder is None else pa.repeat(folder, len(batch))
                    if name in self.labels:
                        values.append(trimmed(texts))
                    else:
                        values.append(numbers[name].convert(texts, file.place, before))
                reasons = {name: own.refused for name, own in numbers.items() if own.refused}
                _refuse_texts(reasons)
                before += len(batch)
                yield Batch(pa.record_batch(values, names=list(columns)), file.place)

    def _kind(self, name: str) -> Numbers:
        """Return how a column is converted."""
        kind = Dates if name in self.dates else Kind if self.typed else Numbers
        return kind(name, private=self.private)

    def _read(self, file: TextFile, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the batches of one file, as text; of no columns any one, for their lengths."""
        yield from guarded(self._records(file, columns), *file.context)

    def _records(self, file: TextFile, columns: Sequence[str]) -> Iterator[Any]:
        with file.open() as source:
            text, self._begun = self._begun or self._text(file, source), None
            written = [name for name in columns if name not in file.folders]
            for name in written:
                if text.names.count(name) != 1:
                    raise _refused_column(file.place, name)
            for batch in text.batches(written):
                self.tell(text.consumed, file.size)
                yield batch

    def _text(self, file: TextFile, source: BinaryIO) -> Text:
        several = self.several or len(self.files) > 1
        return Text(source, file.place, file.dialect, listed=self.listed, several=several)


class Files(LocalStream):
    """A pyarrow dataset of other files than texts, read one file after the other.

    One file at a time, so that an error knows its file, and memory does not grow with their
    number. With ``own`` its fragments are complete files.
    """

    def __init__(self, dataset: Any, *, own: bool = False) -> None:
        self._dataset = dataset
        self._own = own
        self.expected: int | None = None  # rows, for whoever hears how much was read

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns, of the first file's where nobody said otherwise."""
        names = self._dataset.schema.names
        if not _is_text(self._dataset):  # with a filter, which pyarrow applies
            return tuple(names)
        if is_record(names):
            place = self._dataset.files[0]
            raise UnreadableError(place, "its first line holds no names", "write a header above it")
        return Unlisted(names)

    def count(self) -> int:
        """Return the number of rows: of Parquet and Arrow files without reading them."""
        fragments = self._fragments()
        if fragments is None:
            return int(attempted(self._dataset.count_rows, *_blamed(None)))
        return sum(attempted(partial(_count, each), *_blamed(each)) for each in fragments)

    def _fragments(self) -> Iterator[Any] | None:
        """Yield files; pyarrow has none to give of a dataset with a filter."""
        try:
            fragments = self._dataset.get_fragments()
        except ValueError:
            return None
        # A fragment keeps the metadata that it has read for as long as its dataset is there.
        return map(_fresh, fragments) if self._own else iter(fragments)

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        fragments = self._fragments()
        if fragments is None:
            yield from self._filtered(columns)
            return
        done = 0
        for fragment in fragments:
            self._check(fragment, columns)
            for batch in guarded(self._read(fragment, columns), *_blamed(fragment)):
                done += len(batch)
                self.tell(done, self.expected)
                yield Batch(batch, _place(fragment))

    def _read(self, fragment: Any, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the batches of one file."""
        from pyarrow import dataset as ds

        parquet = isinstance(fragment, ds.ParquetFileFragment)
        if parquet and set(columns) <= set(fragment.physical_schema.names):
            yield from _parquet(fragment, columns)
        else:  # also where a column stands in the name of the folder
            yield from fragment.scanner(
                schema=self._dataset.schema,
                columns=_projection(columns),
                batch_size=ROWS,
                batch_readahead=2,
            ).to_batches()

    def _filtered(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Yield the rows of a dataset with a filter, which is not ours to apply to its files."""
        scanner = self._dataset.scanner(
            columns=_projection(columns), batch_size=ROWS, batch_readahead=2, fragment_readahead=1
        )
        for tagged in guarded(scanner.scan_batches(), *_blamed(None)):
            self._check(tagged.fragment, columns)
            yield Batch(tagged.record_batch, _place(tagged.fragment))

    def _check(self, fragment: Any, columns: Sequence[str]) -> None:
        """Refuse a file without the wanted columns, or with others under their names."""
        found = attempted(lambda: fragment.physical_schema, *_blamed(fragment))
        folders = _folders(fragment)
        for name in columns:
            if name in folders:
                continue
            place = _place(fragment) or "a dataset"
            if found.names.count(name) != 1:
                raise _refused_column(place, name)
            own, other = found.field(name).type, self._dataset.schema.field(name).type
            if own != other and not _is_text(fragment):
                reason = f"its type is {own} in this file, and {other} in the first"
                raise _refused_column(place, name, reason)


def _refused_column(
    place: str, name: str, reason: str = "this file does not have the column, or more than once"
) -> RefusedValueError:
    remedy = "give every file the columns of the first"
    return RefusedValueError(f"{place}, column {safe_repr(name)}", reason, remedy, name)


def _refuse_texts(reasons: Mapping[str, str]) -> None:
    """Refuse columns that are not numbers, all at once."""
    if not reasons:
        return
    names, several = list(reasons), len(reasons) > 1
    them = "them" if several else "it"
    kinds = set(reasons.values())
    listed = ", ".join(map(safe_repr, names[:10])) + ", ..." * (len(names) > 10)
    raise RefusedValueError(
        f"{'columns' if several else 'column'} {listed}",
        kinds.pop() if len(kinds) == 1 else "text and dates are not numbers",
        f"convert {them} to numbers, or leave {them} out",
        names[0],
    )


def _parquet(fragment: Any, columns: Sequence[str]) -> Iterator[Any]:
    """Yield batches of a Parquet file.

    Its scanner would hold complete groups of rows, of which a file may have one only.
    """
    from pyarrow import parquet

    groups = [group.id for group in fragment.row_groups]
    with (
        fragment.open() as source,
        parquet.ParquetFile(
            source, metadata=fragment.metadata, pre_buffer=False, buffer_size=BUFFER
        ) as file,
    ):
        for batch in file.iter_batches(batch_size=ROWS, row_groups=groups, columns=list(columns)):
            yield batch.select(list(columns))  # "a" has given "a.b" too


def _count(fragment: Any) -> int:
    from pyarrow import dataset as ds

    if isinstance(fragment, ds.ParquetFileFragment):  # may be some groups of its file's rows
        return sum(group.num_rows for group in fragment.row_groups)
    return int(fragment.count_rows())


def _projection(columns: Sequence[str]) -> dict[str, Any]:
    """Return columns by their full names; in a list a dot would mean a part of one."""
    from pyarrow import dataset as ds

    return {name: ds.field(name) for name in columns}


def _fresh(fragment: Any) -> Any:
    return fragment.format.make_fragment(
        fragment.path, fragment.filesystem, fragment.partition_expression
    )


def _is_text(files: Any) -> bool:
    """Tell whether a fragment or a dataset is of text."""
    from pyarrow import dataset as ds

    return isinstance(getattr(files, "format", None), ds.CsvFileFormat)


def _folders(fragment: Any) -> dict[str, Any]:
    """Return the columns that stand in the names of a file's folders, such as ``year=2020``."""
    from pyarrow import dataset as ds

    keys: dict[str, Any] = ds.get_partition_keys(fragment.partition_expression)
    return keys


def _place(fragment: Any) -> str | None:
    return getattr(fragment, "path", None) or None


def _blamed(fragment: Any) -> tuple[str, str]:
    """Return what an error names, and what to do."""
    place = _place(fragment)
    if place is None:
        return "a pyarrow dataset", "check the files of which it is made"
    return place, f"check that it is a complete and valid {fragment.format.default_extname} file"


def _is_path(data: Any) -> bool:
    """Tell whether an object means a file or a folder; a text may mean a column."""
    if isinstance(data, str):
        return data.lower().endswith(ENDINGS) or os.path.isdir(data) or os.path.isfile(data)
    return isinstance(data, os.PathLike)


def _opened(paths: list[str], **told: Any) -> LocalStream:
    """Return the rows of files, and of the files in folders, all of one kind."""
    from pyarrow import dataset as ds
    from pyarrow.fs import LocalFileSystem

    files = [file for path in paths for file in _files(path)]
    if len({os.path.realpath(file) for file in files}) < len(files):
        raise UnreadableError(
            f"{len(files)} files", "one of them is named twice", "name each file once"
        )
    kinds = {os.path.splitext(file)[1].lower() for file in files}
    if len(kinds) > 1:
        raise UnreadableError(
            f"{len(files)} files",
            f"they are of several kinds, {', '.join(sorted(kinds))}",
            "pass those of one kind",
        )
    (kind,) = kinds
    folder = paths[0] if len(paths) == 1 and os.path.isdir(paths[0]) else None
    if kind in TEXTS:
        texts = [_text_file(file, kind, folder) for file in files]
        return TextFiles(texts, several=folder is not None, **told)
    form = ds.ParquetFileFormat() if kind == ".parquet" else ds.IpcFileFormat()
    remedy = f"check that it is a complete and valid {kind} file"
    attempted(lambda: form.inspect(files[0], LocalFileSystem()), files[0], remedy)
    named = {"partitioning": "hive", "partition_base_dir": folder} if folder else {}
    found = attempted(lambda: ds.dataset(files, format=form, **named), paths[0], remedy)
    return Files(found, own=True)


def _text_file(path: str, kind: str, folder: str | None) -> TextFile:
    """Return a text, with the columns that stand in the names of its folders."""
    between = os.path.relpath(os.path.dirname(path), folder) if folder else ""
    pairs = (part.partition("=") for part in between.split(os.sep) if "=" in part)
    folders = {name: "" if value == NO_FOLDER else unquote(value) for name, _, value in pairs}
    size = os.stat(path).st_size
    return TextFile(path, partial(open, path, "rb"), Dialect(TEXTS[kind]), folders, size)


def _text_dataset(dataset: Any) -> TextFiles | None:
    """Return the texts of a dataset; None where it is of something else, or has a filter."""
    if not _is_text(dataset):
        return None
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:
        return None
    scan, parse = dataset.format.default_fragment_scan_options, dataset.format.parse_options
    read, convert = scan.read_options, scan.convert_options
    if convert.decimal_point != ".":
        raise UnreadableError("a dataset", "its decimal point is not a point", "write points")
    dialect = Dialect(
        parse.delimiter,
        parse.quote_char or None,
        parse.escape_char or None,
        tuple(read.column_names) or None,
        read.autogenerate_column_names,
        read.skip_rows,
        read.skip_rows_after_names,
        tuple(convert.null_values),
    )
    files = [
        TextFile(own.path, own.open, dialect, {k: str(v) for k, v in _folders(own).items()})
        for own in fragments
    ]
    return TextFiles(files, several=True) if files else None


def _files(path: str) -> list[str]:
    """Return a file, or all files in a folder, in order of their names."""
    if not os.path.exists(path):
        remedy = "check the name; pass several files as a list, other places as a pyarrow dataset"
        raise InputError(path, "there is no such file", remedy)  # what was asked is not secret
    found = [] if os.path.isdir(path) else [path]
    for folder, folders, names in os.walk(path):
        folders[:] = _visible(folders)  # where os.walk goes next
        found += [os.path.join(folder, name) for name in _visible(names)]
    for file in found:
        ending = os.path.splitext(file)[1].lower()
        if ending not in ENDINGS:
            reason = f"the ending {ending!r} is not known"
            remedy = f"use one of {', '.join(ENDINGS)}; in a folder all files are read"
            kind = InputError if file == path else UnreadableError
            raise kind(file, reason, remedy)
    if not found:
        raise InputError(path, "there is no file in this folder", "check its name")
    return sorted(found)


def _visible(names: list[str]) -> list[str]:
    """Leave out the files and folders that engines keep for themselves."""
    return [name for name in names if not name.startswith(("_", "."))]
