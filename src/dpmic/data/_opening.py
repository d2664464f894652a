"""Paths and datasets to streams: what a file is, by its ending, and how it is opened."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from dpmic.data._dialect import Dialect
from dpmic.data._files import Files, TextFile, TextFiles, folders_of, holds_text
from dpmic.data._kinds import Dates
from dpmic.data._proprietary import READERS, Sheet, StatisticalFiles, workbook
from dpmic.data._reader import STDIN
from dpmic.data._streams import LocalStream, Tell, attempted
from dpmic.data._tables import position
from dpmic.errors import InputError, UnreadableError

if TYPE_CHECKING:
    import pyarrow

TEXTS = {
    f"{ending}{packed}": sep
    for ending, sep in {".csv": ",", ".tsv": "\t", ".txt": ","}.items()
    for packed in ("", ".gz", ".zst")
}
"""The texts, compressed or not, and what separates values where their header does not say it."""

EXCEL = ".xlsx"
ENDINGS = (*TEXTS, EXCEL, *READERS, ".parquet", ".feather", ".arrow")
KNOWN = f".csv, .tsv or .txt (also with .gz or .zst), {', '.join(ENDINGS[len(TEXTS) :])}"
UNDERSTOOD = {
    **dict.fromkeys(TEXTS, ("sep", "decimal", "encoding", "na")),
    EXCEL: ("decimal", "na", "sheet"),
    **dict.fromkeys(READERS, ("encoding",)),
}
"""What can be said of how a file is written."""

PLAINLY = Dialect()
NO_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""What engines call the folder of rows without a value."""


@dataclass(frozen=True, repr=False)
class Uploaded:
    """A text file that is in memory, under the name that it had."""

    name: str
    content: bytes

    def text(self, dialect: Dialect) -> TextFile:
        """Return it as a text to read, or refuse another kind."""
        kind = _ending(self.name)
        if kind not in TEXTS:
            reason = f"the ending {kind!r} cannot be read from memory"
            raise InputError(
                self.name, reason, f"name its place instead, or use {', '.join(TEXTS)}"
            )
        dialect.refuse_all_but(UNDERSTOOD[".csv"], "text")
        opened = partial(_open_text, self.name, self.content)
        return TextFile(self.name, opened, dialect, usual=TEXTS[kind])

    def __str__(self) -> str:
        return self.name


def open_files(data: Any, *, public: bool) -> LocalStream | None:
    """Return the rows of a dataset, a path or several, or None for anything else.

    Records of a ``public`` text may say how it is written, and its errors may show them.
    """
    if isinstance(data, TextFiles) and data.public and not public:
        return data.privately()
    known = sys.modules.get("pyarrow.dataset")
    if known and isinstance(data, known.Dataset):
        return _text_dataset(data, public) or Files(data)
    paths = list(data) if isinstance(data, list | tuple) else [data]
    if not paths or not all(map(_is_path, paths)):
        return None
    return _opened([os.fspath(path) for path in paths], Dialect(), public=public)


def open_file(
    path: str | Uploaded,
    dialect: Dialect = PLAINLY,
    *,
    labels: Sequence[str] = (),
    dates: Sequence[str] = (),
    private: bool = False,
    typed: bool = False,
    tell: Tell | None = None,
    note: Callable[[str], None] | None = None,
) -> LocalStream:
    """Return the rows of one file; the ending of its name says how it is read.

    Parameters
    ----------
    path : str or Uploaded
        A CSV, TSV or TXT file, also as .gz or .zst, an Excel workbook (.xlsx), a file of SPSS,
        Stata or SAS, a Parquet, Feather or Arrow file; ``-`` is a text on standard input.
    dialect : Dialect
        How it is written, as far as that is known; the rest is recognised.
    labels : sequence of str
        The names of columns that tell people apart, or have categories: of a text, they stay text.
    dates : sequence of str
        The names of columns of dates, which a text has as text.
    private : bool
        Whether errors must hold no value, count or position, nor names of a text's first line,
        and nothing but that line may say how the text is written.
    typed : bool
        Whether other columns of a text are what they look like, which nothing private may ask:
        numbers, true and false, dates, or text. Else they must be numbers.
    tell : callable, optional
        Called with how much was read, and of how much if that is known.
    note : callable, optional
        Called with what was recognised, in one line, where that is not a plain text.
    """
    told: dict[str, Any] = {"labels": labels, "dates": dates, "private": private, "typed": typed}
    told |= {"public": not private, "note": note}
    if isinstance(path, Uploaded):
        rows: LocalStream = TextFiles([path.text(dialect)], **told)
    elif path == "-":
        dialect.refuse_all_but(UNDERSTOOD[".csv"], "text")
        source = TextFile(STDIN, lambda: nullcontext(sys.stdin.buffer), dialect)
        rows = TextFiles([source], once=True, **told)
    else:
        if os.path.isdir(path):
            raise InputError(path, "this is a folder", "pass a file in it")
        if not os.path.exists(path):
            raise InputError(path, "there is no such file", "check the name and the folder")
        rows = _opened([path], dialect, **told)
    if tell is not None:
        rows.tell = tell
        if isinstance(rows, Files | StatisticalFiles):
            rows.expected = rows.count()
    return rows


def header(
    path: str | Uploaded, dialect: Dialect = PLAINLY, note: Callable[[str], None] | None = None
) -> tuple[str, ...]:
    """Return the names of a file's columns, by its header and options alone.

    ``note`` is called with what was recognised.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     print("age;stay", "34;1,5", sep=chr(10), file=file, flush=True)
    ...     header(file.name)
    ('age', 'stay')
    """
    return open_file(path, dialect, private=True, note=note).names


def load(
    path: str | Uploaded,
    columns: Sequence[str] | None = None,
    *,
    without: Sequence[str] = (),
    **told: Any,
) -> pyarrow.Table:
    """Read columns of a file into memory, by default all but some.

    Only the wanted columns are kept, and text is converted block by block, so that the memory
    needed is that of the columns. ``told`` is as for :func:`open_file`.
    """
    import pyarrow as pa

    name, private = STDIN if path == "-" else str(path), told.get("private", False)
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
        tables = (pa.Table.from_batches([batch]) for batch in batches)
        table = pa.concat_tables(tables, promote_options="default")  # of gaps alone, too
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


def _is_path(data: Any) -> bool:
    """Tell whether an object means a file or a folder; a text may mean a column."""
    if isinstance(data, str):
        return data.lower().endswith(ENDINGS) or os.path.isdir(data) or os.path.isfile(data)
    return isinstance(data, os.PathLike)


def _opened(paths: list[str], dialect: Dialect, **told: Any) -> LocalStream:
    """Return the rows of files, and of the files in folders, all of one kind."""
    files = [file for path in paths for file in _files(path)]
    if len({os.path.realpath(file) for file in files}) < len(files):
        raise UnreadableError(
            f"{len(files)} files", "one of them is named twice", "name each file once"
        )
    kinds = set(map(_ending, files))
    if len(kinds) > 1:
        raise UnreadableError(
            f"{len(files)} files",
            f"they are of several kinds, {', '.join(sorted(kinds))}",
            "pass those of one kind",
        )
    (kind,) = kinds
    dialect.refuse_all_but(UNDERSTOOD.get(kind, ()), kind)
    folder = paths[0] if len(paths) == 1 and os.path.isdir(paths[0]) else None
    if kind in TEXTS or kind == EXCEL:
        texts = [_text_file(file, kind, folder, dialect) for file in files]
        return TextFiles(texts, several=folder is not None, **told)
    if kind in READERS:
        return StatisticalFiles(files, kind, dialect.encoding)
    from pyarrow import dataset as ds  # a quarter of a second: it imports pandas
    from pyarrow.fs import LocalFileSystem

    form = ds.ParquetFileFormat() if kind == ".parquet" else ds.IpcFileFormat()
    remedy = f"check that it is a complete and valid {kind} file"
    attempted(lambda: form.inspect(files[0], LocalFileSystem()), files[0], remedy)
    named = {"partitioning": "hive", "partition_base_dir": folder} if folder else {}
    found = attempted(lambda: ds.dataset(files, format=form, **named), paths[0], remedy)
    return Files(found, own=True)


def _ending(path: str) -> str:
    """Return the ending of a name, that of a compressed text included."""
    name = os.path.basename(path).lower()
    return next((known for known in ENDINGS if name.endswith(known)), os.path.splitext(name)[1])


def _text_file(path: str, kind: str, folder: str | None, dialect: Dialect) -> TextFile:
    """Return a text or a sheet, with the columns that stand in the names of its folders."""
    between = os.path.relpath(os.path.dirname(path), folder) if folder else ""
    pairs = (part.partition("=") for part in between.split(os.sep) if "=" in part)
    folders = {name: "" if value == NO_FOLDER else unquote(value) for name, _, value in pairs}
    if kind == EXCEL:
        return TextFile(path, partial(workbook, path), dialect, folders, reader=Sheet)
    packed = kind.endswith((".gz", ".zst"))
    size = None if packed else os.stat(path).st_size
    return TextFile(path, partial(_open_text, path), dialect, folders, size, TEXTS[kind])


def _open_text(path: str, content: bytes | None = None) -> AbstractContextManager[Any]:
    """Open a text, in a file or in memory, and decompress it as it is read."""
    if path.lower().endswith(".gz"):
        return gzip.open(path if content is None else BytesIO(content))
    if path.lower().endswith(".zst"):
        import pyarrow as pa

        packed = path if content is None else pa.BufferReader(content)
        unpacked: AbstractContextManager[Any] = pa.CompressedInputStream(packed, "zstd")
        return unpacked
    return open(path, "rb") if content is None else BytesIO(content)


def _text_dataset(dataset: Any, public: bool) -> TextFiles | None:
    """Return the texts of a dataset; None where it is of something else, or has a filter."""
    if not holds_text(dataset):
        return None
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:
        return None
    scan, parse = dataset.format.default_fragment_scan_options, dataset.format.parse_options
    read, convert = scan.read_options, scan.convert_options
    dialect = Dialect(
        parse.delimiter,
        convert.decimal_point,
        read.encoding,
        convert.null_values,
        quote=parse.quote_char or None,
        escape=parse.escape_char or None,
        names=tuple(read.column_names) or None,
        numbered=read.autogenerate_column_names,
        skip=read.skip_rows,
        skip_after=read.skip_rows_after_names,
    )
    files = [
        TextFile(own.path, own.open, dialect, {k: str(v) for k, v in folders_of(own).items()})
        for own in fragments
    ]
    return TextFiles(files, several=True, public=public) if files else None


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
        ending = _ending(file)
        if ending not in ENDINGS:
            reason = f"the ending {ending!r} is not known"
            remedy = f"use one of {KNOWN}; in a folder all files are read"
            kind = InputError if file == path else UnreadableError
            raise kind(file, reason, remedy)
    if not found:
        raise InputError(path, "there is no file in this folder", "check its name")
    return sorted(found)


def _visible(names: list[str]) -> list[str]:
    """Leave out the files and folders that engines keep for themselves."""
    return [name for name in names if not name.startswith(("_", "."))]
