"""From paths and datasets to streams: the ending of a file's name says how it is read."""

from __future__ import annotations

import gzip
import hashlib
import math
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from io import BytesIO
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from dpmic.data._columns import PLACEHOLDERS
from dpmic.data._dialect import Dialect
from dpmic.data._files import Files, TextFile, TextFiles, converter, folders_of, holds_text
from dpmic.data._kinds import Dates
from dpmic.data._magic import FIRST, refusal
from dpmic.data._proprietary import READERS, Sheet, StatisticalFiles, workbook
from dpmic.data._reader import STDIN
from dpmic.data._streams import LocalStream, Tell, attempted, damaged
from dpmic.data._tables import position, with_format
from dpmic.data._text import Numbers, without
from dpmic.errors import InputError, UnreadableError

if TYPE_CHECKING:
    import pyarrow

TEXTS = {
    f"{ending}{packed}": sep
    for ending, sep in {".csv": ",", ".tsv": "\t", ".txt": ","}.items()
    for packed in ("", ".gz", ".zst")
}
"""Text files, compressed or not, and the separator of each if its header shows none."""

PLAIN_TEXTS = [ending for ending in TEXTS if not ending.endswith((".gz", ".zst"))]
EXCEL = ".xlsx"
ENDINGS = (*TEXTS, EXCEL, *READERS, ".parquet", ".feather", ".arrow")
KNOWN = f".csv, .tsv or .txt (also with .gz or .zst), {', '.join(ENDINGS[len(TEXTS) :])}"
UNDERSTOOD = {
    **dict.fromkeys(TEXTS, ("sep", "decimal", "encoding", "na")),
    EXCEL: ("decimal", "na", "sheet"),
    **dict.fromkeys(READERS, ("encoding",)),
}
"""Options that describe the format of a file."""

SPREADSHEETS = (".xls", ".xlsm", ".xlsb", ".ods", ".numbers")

PLAINLY = Dialect()
NO_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""The name that engines give to the folder of rows without a value."""


@dataclass(frozen=True, repr=False)
class Uploaded:
    """A text file that is in memory, under the name that it had."""

    name: str
    content: bytes

    @cached_property
    def digest(self) -> str:
        """What tells contents apart, without holding them."""
        return hashlib.sha256(self.content).hexdigest()

    def text(self, dialect: Dialect) -> TextFile:
        """Return it as a text to read, or refuse another kind."""
        kind = _ending(self.name)
        if kind not in TEXTS:
            reason = f"files with the ending {kind!r} cannot be uploaded"
            raise InputError(
                self.name, reason, f"give the path of the file instead, or use {', '.join(TEXTS)}"
            )
        dialect.refuse_all_but(UNDERSTOOD[".csv"], "text")
        if kind not in PLAIN_TEXTS and (why := refusal(self.content[:FIRST], kind)):
            raise InputError(self.name, *why)
        opened = partial(_open_text, self.name, self.content)
        return TextFile(self.name, opened, dialect, usual=TEXTS[kind], kind=kind)

    def __str__(self) -> str:
        return self.name


def open_files(data: Any, *, public: bool) -> LocalStream | None:
    """Return the rows of a dataset, a path or several paths, or None for anything else.

    In a ``public`` file the first records may be used to recognise the format, and shown in errors.
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
    """Return the rows of one file, or of all in a folder; the ending of a name says how it is read.

    Parameters
    ----------
    path : str or Uploaded
        A CSV, TSV or TXT file, perhaps compressed (.gz, .zst); an Excel workbook (.xlsx); a file
        of SPSS, Stata or SAS; a Parquet, Feather or Arrow file; a folder of files of one kind.
        ``-`` is text on standard input.
    dialect : Dialect
        The format of the file, as far as it is known; the rest is recognised.
    labels : sequence of str
        Columns that identify people or have categories. In a text file they stay text.
    dates : sequence of str
        Columns of dates, which text files store as text.
    private : bool
        Whether the rows are for private code. If so, errors show no value, count or position, and
        no names from a text file's first line, and only that line is used to recognise the format.
    typed : bool
        Whether the other columns of a text file get the type they look like: numbers, booleans,
        dates or text. If False they must be numbers. Private code must not ask for this.
    tell : callable, optional
        Called with (amount read, total amount if known).
    note : callable, optional
        Called with one line about what was recognised, if the file is not plain text.
    """
    options: dict[str, Any] = {"labels": labels, "dates": dates, "private": private, "typed": typed}
    options |= {"public": not private, "note": note}
    if isinstance(path, Uploaded):
        rows: LocalStream = TextFiles([path.text(dialect)], **options)
    elif path == "-":
        dialect.refuse_all_but(UNDERSTOOD[".csv"], "text")
        source = TextFile(STDIN, lambda: nullcontext(sys.stdin.buffer), dialect)
        rows = TextFiles([source], once=True, **options)
    else:
        if not os.path.exists(path):
            raise InputError(path, "there is no such file", "check the name and the folder")
        rows = _opened([path], dialect, **options)
        rows.private = private
    rows.format = dialect.facts
    if tell is not None:
        rows.tell = tell
        if isinstance(rows, Files | StatisticalFiles):
            rows.expected = rows.count()
    return rows


def header(
    path: str | Uploaded, dialect: Dialect = PLAINLY, note: Callable[[str], None] | None = None
) -> tuple[str, ...]:
    """Return the names of a file's columns, from its header and the options only.

    ``note`` is called with one line about what was recognised, and one if names are numbers.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     print("age;stay", "34;1,5", sep=chr(10), file=file, flush=True)
    ...     header(file.name)
    ('age', 'stay')
    """
    names = None
    try:
        if isinstance(path, str) and _ending(path) == EXCEL and os.path.isfile(path):
            found = os.stat(path)
            names, written = _sheet_names(path, dialect, found.st_mtime_ns, found.st_size), True
        else:
            rows = open_file(path, dialect, private=True, note=note)
            names, written = rows.names, isinstance(rows, TextFiles)
    except UnreadableError as error:
        if error.value == str(path):
            raise
    if names is None:  # no word of that error: the name of a file in a folder can be a value
        remedy = "check that each file in it is complete and valid"
        raise InputError(str(path), "a file in it cannot be read", remedy)
    if note is not None and written and any(map(_is_number, names)):
        note(
            "the first line is taken for the names, and some of them are numbers; if it is a "
            "record, add a line of names above it"
        )
    return names


@lru_cache(maxsize=8)
def _sheet_names(path: str, dialect: Dialect, changed: int, size: int) -> tuple[str, ...]:
    """Return the header of a workbook, which is read as a whole, so once until it is changed."""
    return open_file(path, dialect, private=True).names


def _is_number(name: str) -> bool:
    try:
        return math.isfinite(float(name.replace(",", ".")))
    except ValueError:
        return False


def is_table(path: str | os.PathLike[str]) -> bool:
    """Return whether a name ends like that of a table."""
    return os.fspath(path).lower().endswith(ENDINGS)


def load(
    path: str | Uploaded,
    columns: Sequence[str] | None = None,
    *,
    without: Sequence[str] = (),
    **options: Any,
) -> pyarrow.Table:
    """Read columns of a file into memory, by default all except those in ``without``.

    Only the wanted columns are kept, and text is converted block by block, so the memory needed is
    that of the columns. ``options`` are those of :func:`open_file`.
    """
    import pyarrow as pa

    name, private = STDIN if path == "-" else str(path), options.get("private", False)
    try:
        rows = open_file(path, **options)
        names = rows.names
        for unwanted in without:
            position(unwanted, names, "column")
        wanted = dict.fromkeys(
            [*(names if columns is None else columns), *options.get("labels", ())]
        )
        wanted = {name: None for name in wanted if name not in without}
        order = {column: place for place, column in enumerate(names)}
        chosen = sorted(wanted, key=lambda column: order.get(column, -1))
        (batches,) = rows.fold(chosen, lambda parts: [batch.data for batch in parts])
        tables = [pa.Table.from_batches([batch]) for batch in batches]
        remedy, reason = "give a column one type everywhere", "its parts have different types"
        # Parts can be all nulls.
        joined = partial(pa.concat_tables, tables, promote_options="default")
        table = attempted(joined, name, remedy, reason) if tables else None
    except UnreadableError:
        if not private:
            raise
    else:
        if table is None:
            raise InputError(name, "it has no rows", "check that it has more than a header")
        pa.default_memory_pool().release_unused()  # the memory of the text
        if options.get("typed") and isinstance(rows, TextFiles):
            table = _without_placeholders(table)
        table = _with_dates(table, options.get("dates", ()), name, private)
        return with_format(table, rows.format)
    # pyarrow's message may show a value. Raised here, the error has no such context either.
    raise InputError(name, "it cannot be read", "check that it is a valid file of its kind")


def _without_placeholders(table: pyarrow.Table) -> pyarrow.Table:
    """Return a table, read without privacy, in whose texts ``-`` and the like are missing.

    Beside ``+`` a ``-`` is a value.
    """
    from pyarrow import compute, types

    for at, field in enumerate(table.schema):
        if types.is_string(field.type) or types.is_large_string(field.type):
            texts = compute.utf8_trim_whitespace(table.column(at))
            signs = compute.any(compute.equal(texts, "+")).as_py()
            absent = without(texts, PLACEHOLDERS - ({"-"} if signs else set()))
            table = table.set_column(at, field.name, absent)
    return table


def _with_dates(
    table: pyarrow.Table, dates: Sequence[str], place: str, private: bool
) -> pyarrow.Table:
    """Convert text in date columns; files other than text can have such columns too."""
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
    """Return whether an object is a path; a plain string may also be the name of a column."""
    if isinstance(data, str):
        return is_table(data) or os.path.isdir(data) or os.path.isfile(data)
    return isinstance(data, os.PathLike)


def _opened(paths: list[str], dialect: Dialect, **options: Any) -> LocalStream:
    """Return the rows of files, and of all files in folders; all must be of one kind."""
    private = options.get("private", False)
    files = [file for path in paths for file in _files(path, private)]
    if len({os.path.realpath(file) for file in files}) < len(files):
        raise UnreadableError(
            f"{len(files)} files", "one of them is named twice", "name each file once"
        )
    kind = _one_kind(files, paths[0] if private else None)
    dialect.refuse_all_but(UNDERSTOOD.get(kind, ()), kind)
    if kind not in PLAIN_TEXTS:
        _refuse_other_kinds(files, kind, None if files == paths else paths[0], private)
    folder = paths[0] if len(paths) == 1 and os.path.isdir(paths[0]) else None
    if kind in TEXTS or kind == EXCEL:
        texts = [_text_file(file, kind, folder, dialect) for file in files]
        return TextFiles(texts, several=folder is not None, **options)
    if kind in READERS:
        return StatisticalFiles(files, kind, dialect.encoding)
    told = {name: value for name, value in options.items() if name not in ("public", "note")}
    return _arrow_files(files, kind, folder, partial(converter, **told))


def _one_kind(files: Sequence[str], unnamed: str | None) -> str:
    """Return the kind of all files, by their endings; an error may only name a folder, if given."""
    kinds = set(map(_ending, files))
    if len(kinds) == 1:
        return kinds.pop()
    if unnamed is not None:
        raise _mixed(unnamed)
    raise UnreadableError(
        f"{len(files)} files",
        f"they are of different kinds: {', '.join(sorted(kinds))}",
        "pass files of one kind",
    )


def _arrow_files(
    files: list[str], kind: str, folder: str | None, kind_of: Callable[[str], Numbers | None]
) -> Files:
    """Return the rows of Parquet, Feather or Arrow files."""
    from pyarrow import dataset as ds  # takes a quarter of a second: it imports pandas
    from pyarrow.fs import LocalFileSystem

    form = ds.ParquetFileFormat() if kind == ".parquet" else ds.IpcFileFormat()
    attempted(lambda: form.inspect(files[0], LocalFileSystem()), *damaged(files[0], kind))
    found = attempted(lambda: ds.dataset(files, format=form), *damaged(files[0], kind))
    given = [_folders(file, folder) if folder else {} for file in files]
    return Files(found, dict(zip(found.files, given, strict=True)), kind_of)


def _ending(path: str) -> str:
    """Return the ending of a name; for a compressed file, both endings."""
    name = os.path.basename(path).lower()
    return next((known for known in ENDINGS if name.endswith(known)), os.path.splitext(name)[1])


def _refuse_other_kinds(files: Sequence[str], kind: str, folder: str | None, private: bool) -> None:
    """Refuse files that are not of the kind that their names say, by their first bytes.

    Of a ``folder``, private code names no file: what it is called can be a value.
    """
    for file in files:
        why = refusal(attempted(partial(_begin_of, file), *damaged(file, kind)), kind)
        if why is None:
            continue
        if folder is None:
            raise InputError(file, *why)
        if private:
            reason = f"by its first bytes, a file in it is no {kind} file"
            raise InputError(folder, reason, "check that each file in it is complete and valid")
        raise UnreadableError(file, *why)


def _begin_of(path: str) -> bytes:
    with open(path, "rb") as source:
        return source.read(FIRST)


def _text_file(path: str, kind: str, folder: str | None, dialect: Dialect) -> TextFile:
    """Return a text file or a sheet, with the columns given by the names of its folders."""
    folders = _folders(path, folder) if folder else {}
    if kind == EXCEL:
        opened = partial(workbook, path)
        return TextFile(path, opened, dialect, folders, reader=Sheet, kind=kind)
    size = os.stat(path).st_size if kind in PLAIN_TEXTS else None
    opened = partial(_open_text, path)
    return TextFile(path, opened, dialect, folders, size, TEXTS[kind], kind=kind)


def _folders(path: str, folder: str) -> dict[str, str]:
    """Return the columns that the folders between a folder and a file of it give by their names."""
    between = os.path.relpath(os.path.dirname(path), folder)
    pairs = (part.partition("=") for part in between.split(os.sep) if "=" in part)
    return {unquote(name): "" if value == NO_FOLDER else unquote(value) for name, _, value in pairs}


def _open_text(path: str, content: bytes | None = None) -> AbstractContextManager[Any]:
    """Open a text file, on the disk or in memory, and decompress it while it is read."""
    if path.lower().endswith(".gz"):
        return gzip.open(path if content is None else BytesIO(content))
    if path.lower().endswith(".zst"):
        import pyarrow as pa

        packed = path if content is None else pa.BufferReader(content)
        unpacked: AbstractContextManager[Any] = pa.CompressedInputStream(packed, "zstd")
        return unpacked
    return open(path, "rb") if content is None else BytesIO(content)


def _text_dataset(dataset: Any, public: bool) -> TextFiles | None:
    """Return the text files of a dataset, or None for other files or a dataset with a filter."""
    if not holds_text(dataset):
        return None
    from pyarrow import csv

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
    usual = convert.null_values == csv.ConvertOptions().null_values
    stated = replace(dialect, na=()) if usual else dialect
    return TextFiles(files, several=True, public=public, format=stated.facts) if files else None


def _files(path: str, private: bool) -> list[str]:
    """Return a file, or all files in a folder, ordered by name."""
    if not os.path.exists(path):
        remedy = "check the name; pass several files as a list, other places as a pyarrow dataset"
        raise InputError(
            path, "there is no such file", remedy
        )  # a name that was asked for is no secret
    found = [] if os.path.isdir(path) else [path]
    if found and not os.path.isfile(path):  # reading a pipe could block for ever
        raise InputError(path, "it is not a regular file", "save the table as a file first")
    for folder, folders, names in os.walk(path):
        folders[:] = _visible(folders)  # tells os.walk where to go next
        found += [os.path.join(folder, name) for name in _visible(names)]
    for file in found:
        ending = _ending(file)
        if ending not in ENDINGS:
            if private and file != path:
                raise _mixed(path)
            reason = f"its ending {ending!r} is unknown"
            remedy = f"use one of {KNOWN}; in a folder, all files are read"
            if ending in SPREADSHEETS:
                remedy = "open it in the program that made it, and save it as .xlsx or .csv"
            kind = InputError if file == path else UnreadableError
            raise kind(file, reason, remedy)
        if not os.path.isfile(file):
            raise InputError(
                path, "not all in this folder are regular files", "move others elsewhere"
            )
    if not found:
        raise InputError(path, "there is no file in this folder", "check its name")
    return sorted(found)


def _mixed(folder: str) -> InputError:
    """Return the error for a folder whose files private code must not name."""
    return InputError(
        folder,
        "the files in this folder are of several kinds, or of an unknown kind",
        "keep files of one kind in it, such as .csv or .parquet, and move all others elsewhere",
    )


def _visible(names: list[str]) -> list[str]:
    """Leave out the hidden files and folders that engines make for themselves."""
    return [name for name in names if not name.startswith(("_", "."))]
