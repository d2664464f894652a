"""Files larger than memory, by pyarrow's datasets: Parquet, CSV and Arrow."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Self

from dpmic.data._streams import Batch, LocalStream, attempted, guarded
from dpmic.data._tables import Unlisted
from dpmic.data._text import Texts
from dpmic.errors import InputError, RefusedValueError, UnreadableError, safe_repr

__all__ = ["Files"]

ENDINGS = (".arrow", ".csv", ".feather", ".parquet", ".tsv")

ROWS = 2**16
"""Rows that are read together: enough for speed, and few against the rest of the memory."""

BUFFER = 2**18
"""Bytes of a column that are read together, however large the file's groups of rows."""

BLOCK = 2**20
"""Bytes of a text that are read together; a record must fit."""


class Files(LocalStream):
    """A pyarrow dataset, read one file after the other.

    One file at a time, so that an error knows its file, and memory does not grow with their
    number. ``own`` tells that its fragments are whole files.
    """

    def __init__(self, dataset: Any, *, own: bool = False) -> None:
        self._dataset = dataset
        self._own = own

    @classmethod
    def of(cls, data: Any) -> Self | None:
        """Return the rows of a dataset, a path or several, or None for anything else."""
        known = sys.modules.get("pyarrow.dataset")
        if known and isinstance(data, known.Dataset):
            return cls(data)
        paths = list(data) if isinstance(data, list | tuple) else [data]
        if not paths or not all(map(_is_path, paths)):
            return None
        return cls(_dataset([os.fspath(path) for path in paths]), own=True)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns, of the first file's where nobody said otherwise."""
        names = self._dataset.schema.names
        if not _is_text(self._dataset):
            return tuple(names)
        _refuse_numbers(names, self._dataset.files[0])
        return Unlisted(names)

    def count(self) -> int:
        """Return the number of rows: of Parquet and Arrow files without reading them."""
        fragments = self._fragments()
        if fragments is None:
            return int(attempted(self._dataset.count_rows, *_blamed(None)))
        return sum(
            attempted(partial(_count, fragment), *_blamed(fragment)) for fragment in fragments
        )

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
        texts: dict[str, Texts] = {}
        for fragment in fragments:
            place = _place(fragment)
            self._check(fragment, columns)
            if _is_text(fragment):
                yield from self._text(fragment, columns, texts)
                continue
            for batch in guarded(self._read(fragment, columns), *_blamed(fragment)):
                yield Batch(batch, place)

    def _read(self, fragment: Any, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the batches of one file."""
        from pyarrow import dataset as ds

        parquet = isinstance(fragment, ds.ParquetFileFragment)
        if parquet and set(columns) <= set(fragment.physical_schema.names):
            yield from _parquet(fragment, columns)
        else:  # also where a column stands in the name of the folder
            yield from _scanned(fragment, self._dataset.schema, columns)

    def _text(
        self, fragment: Any, columns: Sequence[str], texts: dict[str, Texts]
    ) -> Iterator[Batch]:
        """Yield the batches of a text, whose numbers are read by us: pyarrow would round some."""
        import pyarrow as pa

        place, folders = _place(fragment), _folders(fragment)
        written = [name for name in columns if name not in folders]
        for batch in guarded(_written(fragment, written), *_blamed(fragment)):
            values = [
                pa.repeat(folders[name], len(batch))
                if name in folders
                else texts.setdefault(name, Texts(name)).numbers(batch[name], place)
                for name in columns
            ]
            yield Batch(pa.record_batch(values, names=list(columns)), place)

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
            what = f"{_place(fragment) or 'a dataset'}, column {safe_repr(name)}"
            remedy = "give every file the columns of the first"
            if name in folders:
                continue
            if found.names.count(name) != 1:
                reason = "this file does not have the column, or more than once"
                raise RefusedValueError(what, reason, remedy, name)
            own, other = found.field(name).type, self._dataset.schema.field(name).type
            if own != other and not _is_text(fragment):
                reason = f"its type is {own} in this file, and {other} in the first"
                raise RefusedValueError(what, reason, remedy, name)


def _parquet(fragment: Any, columns: Sequence[str]) -> Iterator[Any]:
    """Yield batches of a Parquet file.

    Its scanner would hold whole groups of rows, of which a file may have one only.
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
    if _is_text(fragment):  # by the rules that it is read by
        return sum(map(len, _written(fragment, fragment.physical_schema.names[:1])))
    return int(fragment.count_rows())


def _written(fragment: Any, columns: Sequence[str]) -> Iterator[Any]:
    """Yield batches of a text, as text; its scanner would hold more and more blocks."""
    import pyarrow as pa
    from pyarrow import csv

    form = fragment.format
    scan = form.default_fragment_scan_options
    options, asked = scan.read_options, scan.convert_options
    options.block_size = BLOCK
    kept = csv.ConvertOptions(
        include_columns=list(columns),
        column_types=dict.fromkeys(columns, pa.string()),
        null_values=asked.null_values,
        strings_can_be_null=True,
    )
    if asked.decimal_point != ".":
        raise UnreadableError(
            _place(fragment) or "a dataset", "its decimal point is no point", "write points"
        )
    parse = form.parse_options
    # Of one column it is a record without a value; of more, records have delimiters.
    parse.ignore_empty_lines = len(fragment.physical_schema.names) > 1
    said = options.column_names or options.autogenerate_column_names or options.skip_rows
    if not parse.ignore_empty_lines and not said:  # where the header is
        options.skip_rows = _lines_above(fragment)
    with fragment.open() as source, csv.open_csv(source, options, parse, kept) as reader:
        yield from reader


def _lines_above(fragment: Any) -> int:
    """Return how many empty lines stand above the header."""
    with fragment.open() as source:
        begin = source.read(BLOCK).removeprefix(codecs.BOM_UTF8)
    above = begin[: len(begin) - len(begin.lstrip(b"\r\n"))]
    return len(above.splitlines())


def _scanned(fragment: Any, schema: Any, columns: Sequence[str]) -> Iterator[Any]:
    yield from fragment.scanner(
        schema=schema, columns=_projection(columns), batch_size=ROWS, batch_readahead=2
    ).to_batches()


def _projection(columns: Sequence[str]) -> dict[str, Any]:
    """Return columns by their whole names; in a list a dot would mean a part of one."""
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
    return place, f"check that it is a whole and valid {fragment.format.default_extname} file"


def _is_path(data: Any) -> bool:
    """Tell whether an object means a file or a folder; a text may mean a column."""
    if isinstance(data, str):
        return data.lower().endswith(ENDINGS) or os.path.isdir(data) or os.path.isfile(data)
    return isinstance(data, os.PathLike)


def _dataset(paths: list[str]) -> Any:
    """Return a dataset of files, and of the files in folders, all of one kind."""
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
    form = _format(kind)
    remedy = f"check that it is a whole and valid {kind} file"
    attempted(lambda: form.inspect(files[0], LocalFileSystem()), files[0], remedy)
    folder = paths[0] if len(paths) == 1 and os.path.isdir(paths[0]) else None
    named = {"partitioning": "hive", "partition_base_dir": folder} if folder else {}
    return attempted(lambda: ds.dataset(files, format=form, **named), paths[0], remedy)


def _refuse_numbers(names: list[str], place: str) -> None:
    """Refuse a text whose first line is a record: values would be taken for names, and shown."""
    for name in names:
        try:
            float(name)
        except ValueError:
            continue
        raise UnreadableError(place, "its first line holds a number", "write a header above it")


def _files(path: str) -> list[str]:
    """Return a file, or all files in a folder, in order of their names."""
    if not os.path.isdir(path):
        if not os.path.exists(path):
            remedy = (
                "check the name; pass several files as a list, other places as a pyarrow dataset"
            )
            raise InputError(path, "there is no such file", remedy)  # what was asked is no secret
        found = [path]
    else:
        found = [
            os.path.join(folder, name)
            for folder, folders, names in os.walk(path)
            if _visible(folders)
            for name in names
            if not name.startswith(("_", "."))  # what engines keep for themselves
        ]
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


def _visible(folders: list[str]) -> bool:
    """Keep os.walk out of hidden folders."""
    folders[:] = [name for name in folders if not name.startswith(("_", "."))]
    return True


def _format(kind: str) -> Any:
    """Return how pyarrow reads files with an ending."""
    from pyarrow import csv
    from pyarrow import dataset as ds

    if kind == ".parquet":
        return ds.ParquetFileFormat()
    if kind in (".arrow", ".feather"):
        return ds.IpcFileFormat()
    return ds.CsvFileFormat(
        csv.ParseOptions(delimiter="\t" if kind == ".tsv" else ",", newlines_in_values=True),
    )
