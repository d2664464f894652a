"""The one reader of text tables: a header, then records in blocks of text.

docs/decisions/0018-one-reader.md lists its rules case by case.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, BinaryIO

from dpmic.data._dialect import (
    LATIN,
    PLAIN,
    PLAINLY_ENCODED,
    SAMPLE,
    SEPARATORS,
    Dialect,
    decimal_of,
    encoding_of,
    is_escaped,
    option_of,
    records_of,
    separates,
    separator_of,
    separators_in,
    utf_16_of,
)
from dpmic.data._magic import CONTROL, refusal
from dpmic.data._tables import Unlisted, position
from dpmic.data._text import is_record
from dpmic.errors import InputError, RefusedValueError, UnreadableError, safe_repr

STDIN = "standard input"

BLOCK = 2**20
"""Bytes read at once: parsed, short records take twenty times as much memory."""

LONGEST_RECORD = 2**22
"""The most bytes of a record; a misplaced quotation mark makes a very long one."""

DECLARATION = re.compile(rb"(\"?)(?i:sep)=([^\r\n\"])\1(?:\r\n|\r|\n|\Z)")
"""A first line that names the separator, as Excel reads and some programs write it."""


class Text:
    """A text file whose header has been read. Its records can be read once.

    Parameters
    ----------
    source : binary file
        Read in blocks, in this thread.
    place : str
        The name of the file in errors.
    dialect : Dialect
        The format; what is None in it is recognised.
    usual : str
        The separator if the header contains none.
    public : bool
        Whether the records may be used to recognise the format, and errors may show positions
        and the first line, which is a record if the header is missing.
    several : bool
        Whether it is one of several files; private code must not reveal which one.

    Attributes
    ----------
    declared : str or None
        The separator that the first line names, as in ``sep=;``. That line is not the header.
    """

    def __init__(
        self,
        source: BinaryIO,
        place: str,
        dialect: Dialect,
        *,
        usual: str,
        public: bool,
        several: bool,
    ) -> None:
        self._source = source
        self._place = place
        self._public = public
        self._kind = UnreadableError if several else InputError
        self.consumed = self._records = 0
        begin = self._read()
        self._complete = len(begin) < BLOCK
        self._refuse_other_kinds(begin)
        encoding = dialect.encoding or encoding_of(begin, public=public)
        self._decoder = None if _is_plain(encoding) else _decoder(encoding)
        self.dialect = replace(dialect, encoding=encoding)
        self._begin = self._decoded(begin).removeprefix(codecs.BOM_UTF8)
        self._refuse_zero_bytes()
        self.declared = self._take_declaration()
        if dialect.skip:
            lines = self._begin.splitlines(keepends=True)
            self._begin = b"".join(lines[dialect.skip :])
        found, self._skipped = self._header(usual)
        self.names = found if public else Unlisted(found)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of some columns as text; without columns, of the first column."""
        places = [position(name, self.names, "column") for name in columns] or [0]
        skipped = self._skipped
        for block in self._blocks():
            for batch in self._parsed(block, skipped, places):
                yield batch.rename_columns(list(columns) or [self.names[0]])
                self._records += len(batch)
            skipped = 0

    def decimal(self, columns: Sequence[str]) -> str:
        """Return the decimal mark of some columns; in a public file it is recognised."""
        if self.dialect.decimal is not None or not self._public or not columns:
            return self.dialect.decimal or "."
        places = {name: position(name, self.names, "column") for name in columns}
        records = self._sampled()
        values = {
            name: [value for record in records for value in _at(record, [place])]
            for name, place in places.items()
        }

        def refused(column: str, reason: str, remedy: str) -> Exception:
            what = f"{self._place}, column {safe_repr(column)}"
            return RefusedValueError(what, reason, remedy, column)

        return decimal_of(values, refused)

    def _sampled(self) -> list[list[str]]:
        """Return the first records, or none if they cannot be read; reading them later says why."""
        text, sep = self._first_records(), self.dialect.sep
        assert sep is not None
        try:
            records = islice(records_of(text, sep, self.dialect), self._skipped, None)
            return list(islice(records, SAMPLE))
        except csv.Error:
            return []

    def _first_records(self) -> str:
        """Return the complete records of the first block."""
        begin = self._looked_at
        if self._public and not self._complete:
            begin = begin[: self._end_of_records(begin, self._newline) or None]
        return begin.decode(PLAIN, "surrogateescape")

    @property
    def _looked_at(self) -> bytes:
        """The bytes that may show the format: the first block or, in private, the header."""
        if self._public:
            return self._begin
        quote, lines = (self.dialect.quote or "").encode(), b""
        for line in self._begin.splitlines(keepends=True):
            lines += line
            if lines.strip() and not (quote and lines.count(quote) % 2):
                break
        return lines

    def _error(self, reason: str, remedy: str, row: int = 0, column: str = "") -> InputError:
        """Return an error about this file; it shows the row and the column if it may."""
        what = self._place
        if self._public and row:
            what += f", column {safe_repr(column)}" * bool(column) + f", row {row}"
        return self._kind(what, reason, remedy)

    def _read(self) -> bytes:
        """Return the next raw bytes of the source; none at its end."""
        raw = self._source.read(BLOCK)
        self.consumed += len(raw)
        return raw

    def _decoded(self, raw: bytes) -> bytes:
        """Return bytes of the source in UTF-8; bytes that cannot be decoded stay invalid."""
        if self._decoder is None:
            return raw
        with contextlib.suppress(UnicodeError):
            text = self._decoder.decode(raw, final=not raw)
            return text.encode(PLAIN, "surrogateescape")
        raise self._not_encoded()  # outside the block: the error's context must not show the bytes

    def _not_encoded(self, row: int = 0, column: str = "") -> InputError:
        encoding, remedy = self.dialect.encoding or PLAIN, "save it as UTF-8"
        plain = _is_plain(encoding)
        if codecs.lookup(encoding).name == LATIN:  # then UTF-8 was refused before
            remedy += " in the program that made it"
        else:
            other = option_of("encoding", LATIN if plain else PLAIN)
            remedy += ", or name its encoding: pass " + other
        return self._error(f"its text is not {'UTF-8' if plain else encoding}", remedy, row, column)

    def _refuse_other_kinds(self, begin: bytes) -> None:
        """Refuse files of other kinds, recognised by their first bytes."""
        if why := refusal(begin):
            reason, remedy = why
            named = self._place != STDIN
            raise self._error(reason, remedy if named else "pass a binary file by its name")

    def _refuse_zero_bytes(self) -> None:
        if b"\0" not in self._looked_at:
            return
        encoding = None if "16" in str(self.dialect.encoding) else utf_16_of(self._looked_at)
        remedy = "if it is UTF-16, pass " + option_of("encoding", str(encoding))
        reason = "it is not a text file: it contains zero bytes"
        raise self._error(reason, remedy if encoding else "check that it is the right file")

    def _take_declaration(self) -> str | None:
        """Remove a first line ``sep=;``, by which Excel names the separator, and return that.

        It declares the format and is not a record, so private code may use it, too. The caller's
        separator wins. Where the caller describes the first lines, it is left alone.
        """
        dialect, found = self.dialect, DECLARATION.match(self._begin)
        described = dialect.names is not None or dialect.numbered or dialect.skip
        declared = None if found is None or described else found[2].decode("latin-1")
        if found is None or declared is None or not separates(declared):
            return None
        self._begin = self._begin[found.end() :]
        self.dialect = replace(dialect, sep=dialect.sep or declared)
        return declared

    @property
    def _newline(self) -> bytes:
        return b"\n" if b"\n" in self._begin else b"\r"

    def _header(self, usual: str) -> tuple[tuple[str, ...], int]:
        """Return the names, and how many lines to skip; recognise the separator."""
        dialect = self.dialect
        if not self._complete and self._newline not in self._begin:
            reason = f"its first line is longer than {BLOCK // 2**20} MiB"
            raise self._error(reason, "check its line ends")
        text = self._first_records()
        sep = dialect.sep
        if sep is None:
            sep = separator_of(text, usual, dialect, self._error, public=self._public)
        self.dialect = dialect = replace(dialect, sep=sep)
        names, skipped = self._first_record(text)
        described = dialect.names is not None or dialect.numbered
        if not described and any(re.search(CONTROL, name) for name in names):
            reason = "it is not a text file: its first line has control characters"
            raise self._error(reason, "check that it is the right file")
        if any(map(is_escaped, names)):
            raise self._not_encoded()
        if dialect.names is not None:
            return dialect.names, dialect.skip_after
        if dialect.numbered:
            return tuple(f"f{i}" for i in range(len(names))), dialect.skip_after
        self._check_header(names, text)
        if self._complete or not self._public:  # else _blocks does it, with rows
            self._refuse_stray_marks(self._looked_at)
        if not self._public and any(re.search(r"[\r\n]", name) for name in names):
            reason, remedy = "a name in its header has several lines", "check its quotation marks"
            raise self._error(reason, remedy)  # the lines may be records
        return names, skipped + dialect.skip_after

    def _first_record(self, text: str) -> tuple[tuple[str, ...], int]:
        """Return the values of the first non-empty line, and the number of lines read."""
        assert self.dialect.sep is not None
        try:
            for number, line in enumerate(records_of(text, self.dialect.sep, self.dialect), 1):
                if line:
                    return tuple(line), number
        except csv.Error:
            raise self._error("its header cannot be read", "check its quotation marks") from None
        named = self._place != STDIN
        remedy = "check the name and the folder" if named else "check what writes to it"
        raise self._error("it is empty", remedy)

    def _check_header(self, names: tuple[str, ...], text: str) -> None:
        """Refuse a first line that has another separator, or that is a record."""
        others = separators_in(text, self.dialect)
        if len(names) == 1 and others and self._public:
            reason = f"found one column, but it seems to be separated by {SEPARATORS[others[0]]}"
            raise self._error(reason, "pass " + option_of("sep", others[0]))
        if len(names) == 1 and others:
            remedy = "say what separates its columns: pass " + option_of("sep", ";")
            raise self._error("found one column in its header", remedy)
        if is_record(names):
            first = re.split(r"[\r\n]", text.strip(), maxsplit=1)[0].strip()
            shown = f", {safe_repr(first)}," if self._public else ""
            raise self._error(f"its first line{shown} has no names", "write a header above it")

    def _blocks(self) -> Iterator[bytes]:
        """Yield the text in blocks that end with a complete record."""
        newline, block = self._newline, self._begin
        while True:
            raw = self._read()
            more = self._decoded(raw)
            if not raw:
                block += more
            if not raw and not block.endswith((b"\n", b"\r")):
                block += newline  # so that pyarrow finds the end of a header without records
            end = self._end_of_records(block, newline) if raw else len(block)
            if end:
                self._refuse_stray_marks(block[:end])
                yield block[:end]
            elif len(block) > LONGEST_RECORD:
                reason = f"a record is longer than {LONGEST_RECORD // 2**20} MiB"
                remedy = "check its quotation marks and line ends"
                raise self._error(reason, remedy, self._records + 1)
            if not raw:
                return
            block = block[end:] + more

    def _unescaped(self, block: bytes) -> bytes:
        """Return a block of the same length in which escaped characters are blanked."""
        if self.dialect.escape is None:
            return block
        return re.sub(re.escape(self.dialect.escape.encode()) + b".", b"__", block, flags=re.S)

    def _end_of_records(self, block: bytes, newline: bytes) -> int:
        """Return the end of the last complete record: a newline outside quotation marks."""
        plain, quote = self._unescaped(block), (self.dialect.quote or "").encode()
        if not quote:
            return plain.rfind(newline) + 1
        marks, end = plain.count(quote), len(plain)
        while end > 0:
            mark = plain.rfind(quote, 0, end)
            newline_at = -1 if marks % 2 else plain.rfind(newline, mark + 1, end)
            if newline_at >= 0:
                return newline_at + 1
            marks, end = marks - 1, mark
        return 0

    def _refuse_stray_marks(self, block: bytes) -> None:
        """Refuse quotation marks other than those around a value and those doubled inside it.

        Parsers disagree about others, and may read all records up to the next such mark as one. In
        a block without stray marks, all parsers agree where a record ends.
        """
        quote, sep = (self.dialect.quote or "").encode(), self.dialect.sep or ""
        if not quote or quote not in block:
            return
        mark, ends = re.escape(quote), re.escape(sep.encode()) + rb"\r\n"
        quoted = rb"(?:\A|(?<=[%b]))%b(?:[^%b]++|%b%b)*+%b(?=[%b]|\Z)"
        quoted %= ends, mark, mark, mark, mark, mark, ends
        plain = re.sub(quoted, b"_", self._unescaped(block))
        if quote in plain:
            above = re.match(rb"(?s:.*[\r\n])?", plain[: plain.index(quote)])
            lines = above[0].splitlines() if above else []
            reason = "a quotation mark is not closed, or is inside an unquoted value"
            remedy = "quote the value, and double the mark inside it"
            raise self._error(reason, remedy, self._above + sum(map(self._is_row, lines)) + 1)

    @property
    def _above(self) -> int:
        """The number of rows above this block; the header is row 0."""
        header = not (self._records or self.dialect.names or self.dialect.numbered)
        return self._records - header

    def _is_row(self, line: Any) -> bool:
        """Return whether a line is a record; an empty line is one only in a one-column table."""
        return bool(line) or len(getattr(self, "names", ())) == 1

    def _parsed(self, block: bytes, skipped: int, places: Sequence[int]) -> Any:
        """Return some columns of one block, as batches of text.

        The block is copied to Arrow's own memory: Arrow's threads may outlive the interpreter, and
        one that released a Python object then would abort the process.
        """
        import pyarrow as pa
        from pyarrow import csv as arrow

        broken: list[int] = []

        def refuse(row: Any) -> str:
            broken.append(row.actual_columns)
            return "error"

        chosen, dialect = [str(place) for place in places], self.dialect
        memory = pa.allocate_buffer(len(block))
        memoryview(memory).cast("B")[:] = block
        try:
            return arrow.read_csv(
                pa.BufferReader(memory),
                arrow.ReadOptions(
                    use_threads=False,
                    block_size=len(block) + 1,
                    column_names=[str(i) for i in range(len(self.names))],
                    skip_rows_after_names=skipped,
                ),
                arrow.ParseOptions(
                    delimiter=dialect.sep,
                    quote_char=dialect.quote or False,
                    escape_char=dialect.escape or False,
                    newlines_in_values=True,
                    # In a one-column table an empty line is a record.
                    ignore_empty_lines=len(self.names) > 1,
                    invalid_row_handler=refuse,
                ),
                arrow.ConvertOptions(
                    include_columns=chosen,
                    column_types=dict.fromkeys(chosen, pa.string()),
                    strings_can_be_null=False,  # missing values are found later
                ),
            ).to_batches()
        except pa.ArrowInvalid as error:  # its message may show a record, so write our own
            trouble = str(error)
        if broken:
            raise self._ragged(block, broken[0])
        if "UTF8" in trouble:
            raise self._undecodable(block, places)
        raise self._error("its records cannot be parsed", "check that it is a valid text table")

    def _ragged(self, block: bytes, values: int) -> InputError:
        """Return the error for a record with more or fewer values than there are names."""
        width = len(self.names)
        row, _ = self._first(block, lambda record: len(record) != width)
        counts = f": {values} instead of {width}" if self._public else ""
        reason = f"a record has more or fewer values than the header has names{counts}"
        remedy = "check its quotation marks and separators"
        return self._error(reason, remedy, row)

    def _undecodable(self, block: bytes, places: Sequence[int]) -> InputError:
        """Return the error for a value that cannot be decoded."""

        def is_wrong(record: Sequence[str]) -> bool:
            return any(map(is_escaped, _at(record, places)))

        row, record = self._first(block, is_wrong)
        wrong = [place for place in places if any(map(is_escaped, _at(record, [place])))]
        return self._not_encoded(row, self.names[wrong[0]] if wrong else "")

    def _first(
        self, block: bytes, is_wrong: Callable[[Sequence[str]], bool]
    ) -> tuple[int, Sequence[str]]:
        """Return the first wrong record of a block and its row, or row 0 if there is none."""
        assert self.dialect.sep is not None
        row, text = self._above, block.decode(PLAIN, "surrogateescape")
        try:
            for record in filter(self._is_row, records_of(text, self.dialect.sep, self.dialect)):
                row += 1
                if row > 0 and is_wrong(record):
                    return row, record
        except csv.Error:  # a value is too long for Python's csv reader
            pass
        return 0, ()


def _is_plain(encoding: str | None) -> bool:
    return codecs.lookup(encoding or PLAIN).name in PLAINLY_ENCODED


def _decoder(encoding: str) -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder(encoding)("surrogateescape")


def _at(record: Sequence[str], places: Sequence[int]) -> list[str]:
    return [record[place] for place in places if place < len(record)]
