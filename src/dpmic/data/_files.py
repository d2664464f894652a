"""Tables in files: text, Parquet, Arrow and pyarrow datasets, read batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from dpmic.data._dialect import Dialect
from dpmic.data._kinds import Dates, Kind
from dpmic.data._proprietary import Sheet
from dpmic.data._reader import Text
from dpmic.data._streams import ROWS, Batch, Damage, LocalStream, attempted, damaged, guarded
from dpmic.data._tables import Unlisted
from dpmic.data._text import Numbers, is_record, trimmed
from dpmic.errors import InputError, RefusedValueError, UnreadableError, safe_repr

BUFFER = 2**18
"""The most bytes of a column that are read at once, however large the file's row groups."""


@dataclass(frozen=True)
class TextFile:
    """The place and the format of a text file; ``folders`` are columns given by folder names.

    ``usual`` is the separator if the header shows none; ``reader`` is the class that reads it. A
    file that another library opens has no ``kind``, and its errors have that library's words.
    """

    place: str
    open: Callable[[], AbstractContextManager[Any]]
    dialect: Dialect
    folders: Mapping[str, str] = field(default_factory=dict)
    size: int | None = None
    usual: str = ","
    reader: type[Text] | type[Sheet] = Text
    kind: str = ""

    @property
    def context(self) -> Damage:
        """What errors of a library mean."""
        if self.kind:
            return damaged(self.place, self.kind)
        return self.place, "check that the file is complete and valid", ""


@dataclass(eq=False, repr=False)
class TextFiles(LocalStream):
    """Text files, read one after the other, with the columns of the first.

    Attributes
    ----------
    files : sequence of TextFile
        At least one.
    once : bool
        Whether the rows can be read only once.
    several : bool
        Whether errors name one of several files, which private code must not repeat.
    public : bool
        Whether the first records may be used to recognise the format, and shown in errors.
    format : mapping
        As for all streams.
    labels, dates, private, typed, note
        As for :func:`open_file`.
    """

    files: Sequence[TextFile]
    once: bool = False
    several: bool = False
    public: bool = False
    format: Mapping[str, Any] = field(default_factory=dict)
    labels: Sequence[str] = ()
    dates: Sequence[str] = ()
    private: bool = False
    typed: bool = False
    note: Callable[[str], None] | None = None
    _begun: Text | Sheet | None = field(default=None, init=False)  # a file that is read only once
    _known: Dialect | None = field(default=None, init=False)  # the format of the first file
    _declared: str | None = field(default=None, init=False)  # the separator in its first line
    _decimal: str | None = field(default=None, init=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names in the first file's header, and the columns given by folder names."""
        first = self.files[0]

        def header() -> tuple[str, ...]:
            with first.open() as source:
                text = self._text(first, source)
            self._begun = text if self.once else None
            self._known, self._declared = text.dialect, text.declared
            return text.names

        found = attempted(header, *first.context)
        if not self.public:
            self._say()
        return type(found)((*found, *first.folders))

    def privately(self) -> TextFiles:
        """Return the same rows for private code, which must not look at records for the format."""
        if self._begun is not None:
            remedy = "open it again with private=True"
            raise InputError(self.files[0].place, "it was opened without privacy", remedy)
        return replace(self, public=False, note=None)

    def count(self) -> int:
        """Return the number of records."""
        return self._count

    @cached_property
    def _count(self) -> int:
        return sum(len(batch) for file in self.files for batch in self._read(file, ()))

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        import pyarrow as pa

        self._decimal = None
        numbers: dict[str, Numbers | None] = {}
        for file in self.files:
            before = 0
            for batch in self._read(file, columns):
                if not numbers:
                    mark = self._decimal or "."
                    options = self.labels, self.dates, self.private, self.typed, mark
                    numbers = {name: converter(name, *options) for name in columns}
                values = []
                for name, own in numbers.items():
                    folder = file.folders.get(name)
                    texts = batch[name] if folder is None else pa.repeat(folder, len(batch))
                    values.append(_converted(texts, own, file.place, before, file.dialect.na))
                _refuse_texts(numbers)
                before += len(batch)
                yield Batch(pa.record_batch(values, names=list(columns)), file.place)

    def _read(self, file: TextFile, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the batches of one file as text; without columns any one column, for its length."""
        yield from guarded(self._records(file, columns), *file.context)

    def _records(self, file: TextFile, columns: Sequence[str]) -> Iterator[Any]:
        with file.open() as source:
            text, self._begun = self._begun or self._text(file, source), None
            written = [name for name in columns if name not in file.folders]
            for name in written:
                if text.names.count(name) != 1:
                    raise self._refused(file.place, name)
            if self._decimal is None and written:
                declared = {*self.labels, *self.dates}
                self._decimal = text.decimal([name for name in written if name not in declared])
                self._say()
            for batch in text.batches(written):
                self.tell(text.consumed, file.size)
                yield batch

    def _text(self, file: TextFile, source: Any) -> Text | Sheet:
        return file.reader(
            source,
            file.place,
            self._known or file.dialect,
            usual=file.usual,
            public=self.public,
            several=self.several or len(self.files) > 1,
        )

    def _say(self) -> None:
        """Report once what was recognised in the first file."""
        first, known = self.files[0], self._known
        if self.note is None or known is None:
            return
        known = replace(known, decimal=self._decimal or known.decimal)
        if words := first.dialect.recognised(known, first.usual, self._declared):
            self.note(f"read {first.place} as: {words}")
        self.note = None


class Files(LocalStream):
    """A pyarrow dataset of files other than text, read one file after the other.

    This way an error can name its file, and memory does not grow with the number of files.
    ``folders`` has, for each file, the columns that the names of its folders give. Where it is
    given, the dataset has complete files and no such columns of its own: pyarrow would give all
    names one type, so that one record could change what others are.
    """

    def __init__(
        self,
        dataset: Any,
        folders: Mapping[str, Mapping[str, str]] | None = None,
        kind_of: Callable[[str], Numbers | None] = lambda name: None,
    ) -> None:
        self._dataset = dataset
        self._folders = folders
        self._kind_of = kind_of
        self.expected: int | None = None  # rows, for a progress bar

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns; by default those of the first file."""
        names = self._dataset.schema.names
        if self._folders is not None:
            return (*names, *next(iter(self._folders.values())))
        if not holds_text(self._dataset):  # a text dataset comes here only with a filter
            return tuple(names)
        if is_record(names):
            place = self._dataset.files[0]
            raise UnreadableError(place, "its first line has no names", "write a header above it")
        return Unlisted(names)

    def count(self) -> int:
        """Return the number of rows; Parquet and Arrow files are not read for it."""
        fragments = self._fragments()
        if fragments is None:
            return int(attempted(self._dataset.count_rows, *self._context(None)))
        return sum(attempted(partial(_count, each), *self._context(each)) for each in fragments)

    def _fragments(self) -> Iterator[Any] | None:
        """Yield files; pyarrow cannot list those of a dataset with a filter."""
        try:
            fragments = self._dataset.get_fragments()
        except ValueError:
            return None
        # A fragment keeps the metadata it has read as long as its dataset exists.
        return iter(fragments) if self._folders is None else map(_fresh, fragments)

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        fragments = self._fragments()
        if fragments is None:
            yield from self._filtered(columns)
            return
        numbers = {name: self._kind_of(name) for name in columns}
        done = 0
        for fragment in fragments:
            self._check(fragment, columns)
            given, place = self._given(fragment), _place(fragment)
            written = [name for name in columns if name not in given]
            written = written or fragment.physical_schema.names[:1]  # for its length
            for batch in guarded(self._read(fragment, written), *self._context(fragment)):
                done += len(batch)
                self.tell(done, self.expected)
                yield Batch(_with_folders(batch, place or "", given, numbers), place)

    def _given(self, fragment: Any) -> Mapping[str, str]:
        """Return the columns that the names of a file's folders give."""
        return {} if self._folders is None else self._folders[fragment.path]

    def _read(self, fragment: Any, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the batches of one file."""
        from pyarrow import dataset as ds

        parquet = isinstance(fragment, ds.ParquetFileFragment)
        if parquet and set(columns) <= set(fragment.physical_schema.names):
            yield from _parquet(fragment, columns)
        else:  # or pyarrow takes the column from the name of a folder
            yield from fragment.scanner(
                schema=self._dataset.schema,
                columns=_projection(columns),
                batch_size=ROWS,
                batch_readahead=2,
            ).to_batches()

    def _filtered(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Yield the rows of a dataset with a filter, which only pyarrow can apply."""
        scanner = self._dataset.scanner(
            columns=_projection(columns), batch_size=ROWS, batch_readahead=2, fragment_readahead=1
        )
        for tagged in guarded(scanner.scan_batches(), *self._context(None)):
            self._check(tagged.fragment, columns)
            yield Batch(tagged.record_batch, _place(tagged.fragment))

    def _context(self, fragment: Any) -> Damage:
        """Return what to say if pyarrow fails; files of a caller's dataset may be elsewhere."""
        place = _place(fragment)
        if place is None:
            return "a pyarrow dataset", "check its files", ""
        kind = f".{fragment.format.default_extname}"
        elsewhere = place, f"check that it is a complete and valid {kind} file", ""
        return elsewhere if self._folders is None else damaged(place, kind)

    def _check(self, fragment: Any, columns: Sequence[str]) -> None:
        """Refuse a file that lacks a wanted column, or has another type in it."""
        found = attempted(lambda: fragment.physical_schema, *self._context(fragment))
        folders, given = folders_of(fragment), self._given(fragment)
        for name in columns:
            if name in folders:
                continue
            place = _place(fragment) or "a dataset"
            if found.names.count(name) + (name in given) != 1:
                raise self._refused(place, name)
            if name in given:
                continue
            own, other = found.field(name).type, self._dataset.schema.field(name).type
            if own != other and not holds_text(fragment):
                reason = f"its type is {own} in this file, but {other} in the first"
                raise self._refused(place, name, reason)


def converter(
    name: str,
    labels: Sequence[str] = (),
    dates: Sequence[str] = (),
    private: bool = False,
    typed: bool = False,
    decimal: str = ".",
) -> Numbers | None:
    """Return what converts a column of text, or None for labels; see :func:`open_file`."""
    if name in labels:
        return None
    kind = Dates if name in dates else Kind if typed else Numbers
    return kind(name, private=private, decimal=decimal)


def _converted(
    texts: Any, own: Numbers | None, place: str, before: int, na: Sequence[str] = ()
) -> Any:
    """Return texts as what their column holds; of labels, "NA" can be one."""
    plain = trimmed(texts, na, usual=own is not None)
    return own.convert(plain, place, before) if own else plain


def _with_folders(
    batch: Any, place: str, given: Mapping[str, str], numbers: Mapping[str, Numbers | None]
) -> Any:
    """Return the wanted columns of a batch and of the names of its folders, in order."""
    import pyarrow as pa

    if given.keys().isdisjoint(numbers):
        return batch
    columns = {}
    for name, own in numbers.items():
        if name in given:
            columns[name] = _converted(pa.repeat(given[name], len(batch)), own, place, 0)
        else:
            columns[name] = batch.column(name)
    _refuse_texts(numbers)
    return pa.record_batch(columns)


def _refuse_texts(numbers: Mapping[str, Numbers | None]) -> None:
    """Refuse all columns that are not numbers in one error."""
    reasons = {name: own.refused for name, own in numbers.items() if own and own.refused}
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
    """Yield the batches of a Parquet file.

    Its scanner would hold complete row groups, and a file may have only one.
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
            yield batch.select(list(columns))  # drops "a.b", which "a" selects too


def _count(fragment: Any) -> int:
    from pyarrow import dataset as ds

    if isinstance(fragment, ds.ParquetFileFragment):  # may be only some row groups of its file
        return sum(group.num_rows for group in fragment.row_groups)
    return int(fragment.count_rows())


def _projection(columns: Sequence[str]) -> dict[str, Any]:
    """Return columns by their full names; in a list, a dot would select a nested field."""
    from pyarrow import dataset as ds

    return {name: ds.field(name) for name in columns}


def _fresh(fragment: Any) -> Any:
    return fragment.format.make_fragment(
        fragment.path, fragment.filesystem, fragment.partition_expression
    )


def holds_text(files: Any) -> bool:
    """Return whether a fragment or a dataset is of text files."""
    from pyarrow import dataset as ds

    return isinstance(getattr(files, "format", None), ds.CsvFileFormat)


def folders_of(fragment: Any) -> dict[str, Any]:
    """Return the columns given by the names of a file's folders, such as ``year=2020``."""
    from pyarrow import dataset as ds

    keys: dict[str, Any] = ds.get_partition_keys(fragment.partition_expression)
    return keys


def _place(fragment: Any) -> str | None:
    return getattr(fragment, "path", None) or None
