"""The one reader of text tables: a header, then records in blocks, and text to exact numbers.

docs/decisions/0018-one-reader.md has the table of cases.
"""

from __future__ import annotations

import bisect
import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar

from dpmic.data._columns import LARGEST_EXACT, MISSING
from dpmic.data._tables import Unlisted, position
from dpmic.errors import InputError, RefusedValueError, UnreadableError, safe_repr

STDIN = "standard input"

BLOCK = 2**20
"""Bytes that are read together: short records take twenty times as much when they are parsed."""

LONGEST_RECORD = 2**22
"""Bytes of a record, at most; a quotation mark in the wrong place makes a long one."""

SEPARATORS = {",": "commas", "\t": "tabs"}
BINARY = (b"PAR1", b"ARROW1")

BOOLEANS = ("false", "true")
LONG_INTEGER = r"^[+-]?0*[1-9]\d{15,}$"
DIGITS = len(str(LARGEST_EXACT))
DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
TEXT = "text is not a number"
DATES = "dates and durations are not numbers"


@dataclass(frozen=True)
class Dialect:
    """How a text is written; a pyarrow dataset may say more than the ending of a file does.

    Attributes
    ----------
    delimiter : str or None
        What separates values; None takes what the header has, commas or tabs.
    quote, escape : str or None
        The quotation mark, and what stands before one that is part of a value.
    names : tuple of str or None
        The names of the columns, where the text has no header.
    numbered : bool
        Whether there is no header and columns are called f0, f1 and so on.
    skip, skip_after : int
        Lines above the header, and records below it, that are left out.
    missing : tuple of str
        Spellings of a missing value besides the usual ones.
    """

    delimiter: str | None = ","
    quote: str | None = '"'
    escape: str | None = None
    names: tuple[str, ...] | None = None
    numbered: bool = False
    skip: int = 0
    skip_after: int = 0
    missing: tuple[str, ...] = ()


class Text:
    """One text whose header was read; its records are read once.

    Parameters
    ----------
    source : binary file
        Read in blocks, in this thread.
    place : str
        What errors call it.
    dialect : Dialect
        How it is written.
    listed : bool
        Whether errors may repeat the first line: it is a record where the header is missing.
    several : bool
        Whether it is one of several files, of which private code must not say which.
    """

    def __init__(
        self, source: BinaryIO, place: str, dialect: Dialect, *, listed: bool, several: bool
    ) -> None:
        self._source = source
        self._place = place
        self._dialect = dialect
        self._listed = listed
        self._error = UnreadableError if several else InputError
        begin = source.read(BLOCK)
        self.consumed = len(begin)
        self._complete = len(begin) < BLOCK
        self._begin = begin.removeprefix(codecs.BOM_UTF8)
        if dialect.skip:
            lines = self._begin.splitlines(keepends=True)
            self._begin = b"".join(lines[dialect.skip :])
        found, self._skipped, self._delimiter = self._header()
        self.names = found if listed else Unlisted(found)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of some columns, as text; of no columns the first."""
        places = [position(name, self.names, "column") for name in columns] or [0]
        skipped = self._skipped
        for block in self._blocks():
            for batch in self._parsed(block, skipped, places):
                yield batch.rename_columns(list(columns) or [self.names[0]])
            skipped = 0

    def _header(self) -> tuple[tuple[str, ...], int, str]:
        """Return the names, how many lines to skip, and the delimiter."""
        dialect, begin = self._dialect, self._begin
        if begin.startswith(BINARY):
            raise self._error(self._place, "this is not text", "give binary files by their name")
        text = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape").decode(begin)
        first = re.split(r"[\r\n]", text.strip(), maxsplit=1)[0].strip()
        delimiter = dialect.delimiter or ("\t" if "\t" in first and "," not in first else ",")
        names, skipped = self._first_record(text, delimiter)
        if any("\udc80" <= character <= "\udcff" for name in names for character in name):
            raise self._error(self._place, "its text is not UTF-8", "save it as UTF-8")
        if dialect.names is not None:
            return dialect.names, dialect.skip_after, delimiter
        if dialect.numbered:
            return tuple(f"f{i}" for i in range(len(names))), dialect.skip_after, delimiter
        self._check_header(names, first, delimiter)
        if self._complete:  # nothing below would say it as well
            self._refuse_stray_marks(begin, delimiter)
        return names, skipped + dialect.skip_after, delimiter

    def _first_record(self, text: str, delimiter: str) -> tuple[tuple[str, ...], int]:
        """Return the values of the first line that is not empty, and how many lines were read."""
        dialect = self._dialect
        lines = csv.reader(
            io.StringIO(text, newline=""),
            delimiter=delimiter,
            quotechar=dialect.quote,
            escapechar=dialect.escape,
            quoting=csv.QUOTE_NONE if dialect.quote is None else csv.QUOTE_MINIMAL,
        )
        try:
            for number, line in enumerate(lines, 1):
                if line:
                    return tuple(line), number
        except csv.Error:
            reason, remedy = "its header cannot be read", "check its quotation marks"
            raise self._error(self._place, reason, remedy) from None
        named = self._place != STDIN
        remedy = "check the name and the folder" if named else "check what writes to it"
        raise self._error(self._place, "it is empty", remedy)

    def _check_header(self, names: tuple[str, ...], first: str, delimiter: str) -> None:
        """Refuse a first line that is separated by something else, or that is a record."""
        shown = f", {safe_repr(first)}" if self._listed else ""
        if len(names) == 1 and delimiter not in first and any(mark in first for mark in ";\t|,"):
            raise self._error(
                self._place,
                f"its header is one column{shown}",
                f"separate its columns by {SEPARATORS.get(delimiter, repr(delimiter))} "
                "(commas in .csv, tabs in .tsv files)",
            )
        if is_record(names):
            raise self._error(
                self._place, f"its first line{shown} holds no names", "write a header above it"
            )

    def _blocks(self) -> Iterator[bytes]:
        """Yield the text in blocks that end where a record does."""
        newline = b"\n" if b"\n" in self._begin else b"\r"
        block = self._begin
        while True:
            more = self._source.read(BLOCK)
            self.consumed += len(more)
            if not more and not block.endswith((b"\n", b"\r")):
                block += newline  # or pyarrow would not find the end of a header without records
            end = self._end_of_records(block, newline) if more else len(block)
            if end:
                self._refuse_stray_marks(block[:end], self._delimiter)
                yield block[:end]
            elif len(block) > LONGEST_RECORD:
                reason = f"a record is longer than {LONGEST_RECORD // 2**20} MiB"
                remedy = "check its quotation marks and the ends of its lines"
                raise self._error(self._place, reason, remedy)
            if not more:
                return
            block = block[end:] + more

    def _unescaped(self, block: bytes) -> bytes:
        """Return a block of the same length, in which escaped characters mean nothing."""
        if self._dialect.escape is None:
            return block
        return re.sub(re.escape(self._dialect.escape.encode()) + b".", b"__", block, flags=re.S)

    def _end_of_records(self, block: bytes, newline: bytes) -> int:
        """Return where the last complete record ends: a newline outside quotation marks."""
        plain, quote = self._unescaped(block), (self._dialect.quote or "").encode()
        if not quote:
            return plain.rfind(newline) + 1
        marks, end = plain.count(quote), len(plain)
        while (newline_at := plain.rfind(newline, 0, end)) >= 0:
            marks -= plain.count(quote, newline_at, end)
            if marks % 2 == 0:
                return newline_at + 1
            end = newline_at
        return 0

    def _refuse_stray_marks(self, block: bytes, delimiter: str) -> None:
        """Refuse quotation marks but those around a value, and those written twice in it.

        Parsers differ about others, and where such a mark closes, all records in between are
        one. A block without them ends where a record does, whoever looks.
        """
        quote = (self._dialect.quote or "").encode()
        if not quote or quote not in block:
            return
        mark, ends = re.escape(quote), re.escape(delimiter.encode()) + rb"\r\n"
        quoted = rb"(?:\A|(?<=[%b]))%b(?:[^%b]++|%b%b)*+%b(?=[%b]|\Z)"
        quoted %= ends, mark, mark, mark, mark, mark, ends
        if quote in re.sub(quoted, b"", self._unescaped(block)):
            reason = "a quotation mark is not closed, or stands inside an unquoted value"
            remedy = "quote the value, and double the mark inside it"
            raise self._error(self._place, reason, remedy)

    def _parsed(self, block: bytes, skipped: int, places: Sequence[int]) -> Any:
        """Return the columns at some places of one block, as batches of text.

        The block is copied to Arrow's own memory: its threads may outlive the interpreter, and one
        that let go of a Python object then would abort the process.
        """
        import pyarrow as pa
        from pyarrow import csv as arrow

        broken: list[int] = []

        def refuse(row: Any) -> str:
            broken.append(row.actual_columns)
            return "error"

        chosen, dialect = [str(place) for place in places], self._dialect
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
                    delimiter=self._delimiter,
                    quote_char=dialect.quote or False,
                    escape_char=dialect.escape or False,
                    newlines_in_values=True,
                    # Of one column it is a record without a value.
                    ignore_empty_lines=len(self.names) > 1,
                    invalid_row_handler=refuse,
                ),
                arrow.ConvertOptions(
                    include_columns=chosen,
                    column_types=dict.fromkeys(chosen, pa.string()),
                    null_values=[*MISSING, *dialect.missing],
                    strings_can_be_null=True,
                ),
            ).to_batches()
        except pa.ArrowInvalid as error:  # its text may hold a record: ours says what to do
            trouble = str(error)
        if broken:
            counts = f": {broken[0]} instead of {len(self.names)}" if self._listed else ""
            reason = f"a record has more or fewer values than the header has names{counts}"
            remedy = "check its delimiters and quotation marks"
        elif "UTF8" in trouble:
            reason, remedy = "its text is not UTF-8", "save it as UTF-8"
        else:
            reason, remedy = "it cannot be read as records", "check that it is a valid text table"
        raise self._error(self._place, reason, remedy)


class Numbers:
    """One column of text that is all numbers or all true and false, converted batch by batch.

    pyarrow would guess the type from the beginning of the first file, and round integers beyond
    2**53. Errors of a ``private`` column name the column alone. A column without any number is
    not refused at once, so that all such columns can be named together: ``refused`` says why.
    """

    kinds: ClassVar[dict[str, Callable[[Any], Any]]]  # below, where they are defined

    def __init__(self, name: str, *, private: bool) -> None:
        self.name = name
        self.private = private
        self._kind: str | None = None
        self.refused: str | None = None

    def convert(self, texts: Any, place: str, before: int) -> Any:
        """Return a batch as float64; ``before`` is how many records of the text came before it."""
        import pyarrow as pa

        plain = trimmed(texts)
        if plain.null_count == len(plain):
            return pa.nulls(len(plain), pa.float64())
        for kind, cast in self.kinds.items():
            values = cast(plain) if self._kind in (None, kind) else None
            if values is not None:
                self._kind = kind
                if kind == "numbers":
                    self._refuse_rounding(plain, values, place)
                return values
        self._refuse(plain, place, before)
        return None

    def _refuse_rounding(self, texts: Any, values: Any, place: str) -> None:
        """Refuse integers that float64 would round; floats may be as large as they like."""
        from pyarrow import compute

        large = compute.greater_equal(compute.abs(values), float(LARGEST_EXACT))
        if not compute.any(large).as_py():
            return
        written = texts.filter(large)
        integers = written.filter(compute.match_substring_regex(written, LONG_INTEGER))
        for text in integers.to_pylist():
            digits = text.lstrip("+-0")
            if len(digits) > DIGITS or int(digits) > LARGEST_EXACT:
                raise RefusedValueError(
                    self._what(place),
                    "it holds integers that float64 would round",
                    "pass their ranks, or write them as floats",
                    self.name,
                )

    def _refuse(self, texts: Any, place: str, before: int) -> None:
        """Refuse the first value that is not of the column's kind, found by halving."""
        remedy = "convert it to numbers, or leave the column out"
        if self.private:
            reason = "it holds something that is not a number"
            raise RefusedValueError(self._what(place), reason, remedy, self.name)
        written = texts.drop_null().to_pylist()
        if self._kind is None and not any(map(is_value, written)):
            self.refused = DATES if DATE.match(written[0]) else TEXT
            return
        other = "not true or false" if self._kind == "booleans" else "not a number"
        remedy = "correct it, or write nothing where a value is missing"
        self._refuse_first(texts, place, before, self._kind or "numbers", other, remedy)

    def _refuse_first(
        self, texts: Any, place: str, before: int, kind: str, other: str, remedy: str
    ) -> None:
        """Name the first value that is not of a kind, without privacy."""
        cast, rows = self.kinds[kind], range(len(texts))
        first = bisect.bisect_left(rows, True, key=lambda row: cast(texts[: row + 1]) is None)
        raise RefusedValueError(
            f"{self._what(place)}, row {before + first + 1} below the header",
            f"{safe_repr(texts[first].as_py())} is {other}",
            remedy,
            self.name,
        )

    def _what(self, place: str) -> str:
        column = f"column {safe_repr(self.name)}"
        return column if self.private else f"{place}, {column}"


def is_record(names: Sequence[str]) -> bool:
    """Tell whether a first line is a record: values, and no name among them."""
    return all(map(is_value, names)) and any(name.strip() not in MISSING for name in names)


def trimmed(texts: Any) -> Any:
    """Return texts without spaces around them; nothing, ``NA``, ``null`` and the like are missing.

    Each depends on its own record alone.
    """
    import pyarrow as pa
    from pyarrow import compute

    plain = compute.utf8_trim_whitespace(texts)
    absent = compute.is_in(plain, pa.array(sorted(MISSING), plain.type))
    return compute.if_else(absent, pa.scalar(None, plain.type), plain)


def cast_numbers(texts: Any) -> Any:
    """Return texts as numbers, or None if one of them is not."""
    import pyarrow as pa
    from pyarrow import compute

    try:
        return compute.cast(texts, pa.float64())
    except pa.ArrowInvalid:
        return None


def _booleans(texts: Any) -> Any:
    """Return true and false as 1 and 0, or None if a text is neither."""
    import pyarrow as pa
    from pyarrow import compute

    known = compute.index_in(compute.utf8_lower(texts), pa.array(BOOLEANS))
    return None if known.null_count > texts.null_count else compute.cast(known, pa.float64())


Numbers.kinds = {"numbers": cast_numbers, "booleans": _booleans}  # in the order of trying


def is_value(text: str) -> bool:
    """Tell whether a text is a number, true or false, or a missing value."""
    plain = text.strip()
    if plain in MISSING or plain.lower() in BOOLEANS:
        return True
    try:
        float(plain)
    except ValueError:
        return False
    return "_" not in plain  # which Python allows between digits
