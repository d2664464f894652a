"""CSV and TSV: a header, then records, in blocks of bounded size."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from dpmic.errors import InputError, safe_repr
from dpmic.files.asked import Asked, Tell
from dpmic.files.numbers import Labels, Numbers

__all__ = ["STDIN", "read_text"]

STDIN = "standard input"

BLOCK = 2**22
"""Bytes that are looked at together; a record must fit."""

MARKS = {",": "commas", "\t": "tabs"}
BINARY = (b"PAR1", b"ARROW1")


@dataclass(frozen=True)
class Header:
    """The names of the columns, and what comes before the first record."""

    names: list[str]
    skipped: int
    delimiter: str


def read_text(
    stream: BinaryIO, path: str, delimiter: str | None, asked: Asked, tell: Tell, size: int | None
) -> Any:
    """Read the wanted columns of a text; None for the delimiter takes the header's own."""
    import pyarrow as pa

    begin = stream.read(BLOCK)
    header = _header(begin, path, delimiter, asked.private)
    places = asked.found(header.names, told=not asked.private)
    columns: dict[str, Numbers | Labels] = {
        name: Labels() if name in asked.labels else Numbers(name, private=asked.private)
        for name in places
    }
    done = 0
    for batch in _batches(_blocks(begin, stream, path), header, path, list(places.values()), asked):
        for column, texts in zip(columns.values(), batch.columns, strict=True):
            column.add(texts)
        asked.refuse({name: why for name, column in columns.items() if (why := column.refused)})
        done += batch.num_rows
        tell(stream.tell() if size else done, size)
    return pa.table({name: column.finished() for name, column in columns.items()})


def _blocks(begin: bytes, stream: BinaryIO, path: str) -> Iterator[bytes]:
    """Yield a text in blocks that end where a record does; some of it was read already."""
    newline = b"\n" if b"\n" in begin else b"\r"
    block, quotes = begin, 0
    while True:
        more = stream.read(BLOCK)
        end = _end_of_records(block, newline) if more else len(block)
        if end:
            quotes += block.count(b'"', 0, end)
            yield block[:end]
        elif len(block) >= 2 * BLOCK:
            reason = f"a record is longer than {BLOCK // 2**20} MiB"
            raise InputError(path, reason, "check its quotation marks and the ends of its lines")
        if not more:
            _refuse_unclosed(quotes, path)
            return
        block = block[end:] + more


def _end_of_records(block: bytes, newline: bytes) -> int:
    """Return where the last complete record of a block ends: a newline outside quotation marks."""
    quotes = block.count(b'"')
    end = len(block)
    while (newline_at := block.rfind(newline, 0, end)) >= 0:
        quotes -= block.count(b'"', newline_at, end)
        if quotes % 2 == 0:
            return newline_at + 1
        end = newline_at
    return 0


def _refuse_unclosed(quotes: int, path: str) -> None:
    """Refuse an odd number of quotation marks: the last would hide all that follows it."""
    if quotes % 2:
        remedy = "close it; in a value in quotation marks, write such a mark twice"
        raise InputError(path, "a quotation mark is not closed", remedy)


def _header(begin: bytes, path: str, delimiter: str | None, private: bool) -> Header:
    """Read the names of the columns from the beginning of a text."""
    if begin.startswith(BINARY):
        raise InputError(path, "this is no text", "give Parquet and Arrow files by their name")
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(begin)
    except UnicodeDecodeError:
        raise InputError(path, "its text is not UTF-8", "save it as UTF-8") from None
    if len(begin) < BLOCK:  # all there is: nothing below would say it as well
        _refuse_unclosed(begin.count(b'"'), path)
    first = text.strip().partition("\n")[0].strip()
    if delimiter is None:
        delimiter = "\t" if "\t" in first and "," not in first else ","
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    skipped = 0
    names: list[str] = []
    try:
        while not names:
            names = next(lines)
            skipped += 1
        record = next((line for line in lines if line or len(names) == 1), None)
    except StopIteration:
        remedy = "check what writes to it" if path == STDIN else "check the name and the folder"
        raise InputError(path, "it is empty", remedy) from None
    except csv.Error:
        raise InputError(path, "its header cannot be read", "check its quotation marks") from None
    if len(names) == 1 and delimiter not in first and any(mark in first for mark in ";\t|,"):
        remedy = f"separate its columns by {MARKS[delimiter]} (commas in .csv, tabs in .tsv files)"
        named = "" if private else f", {safe_repr(first)}"  # a record, where there is no header
        raise InputError(path, f"its header is one column{named}", remedy)
    if record is None and len(begin) < BLOCK:
        raise InputError(path, "it has no rows", "check that it holds more than a header")
    return Header(names, skipped, delimiter)


def _batches(
    blocks: Iterable[bytes], header: Header, path: str, places: list[int], asked: Asked
) -> Any:
    """Yield batches of the columns at some places, as text."""
    skipped = header.skipped
    for block in blocks:
        yield from _parsed(block, skipped, header, path, places, asked)
        skipped = 0


def _parsed(
    block: bytes, skipped: int, header: Header, path: str, places: list[int], asked: Asked
) -> Any:
    """Return the columns at some places of one block, as batches of text.

    The block is copied to Arrow's own memory: its threads may outlive the interpreter, and one
    that let go of a Python object then would abort the process.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow

    broken: list[Any] = []

    def refuse(row: Any) -> str:
        broken.append(row.actual_columns)
        return "error"

    chosen = [str(place) for place in places]
    memory = pa.allocate_buffer(len(block))
    memoryview(memory).cast("B")[:] = block
    try:
        return arrow.read_csv(
            pa.BufferReader(memory),
            arrow.ReadOptions(
                use_threads=False,
                block_size=len(block) + 1,
                column_names=[str(i) for i in range(len(header.names))],
                skip_rows_after_names=skipped,
            ),
            arrow.ParseOptions(
                delimiter=header.delimiter,
                newlines_in_values=True,
                # Of one column it is a record without a value; of more, records have delimiters.
                ignore_empty_lines=len(header.names) > 1,
                invalid_row_handler=refuse,
            ),
            arrow.ConvertOptions(
                include_columns=chosen,
                column_types=dict.fromkeys(chosen, pa.string()),
                strings_can_be_null=True,
            ),
        ).to_batches()
    except pa.ArrowInvalid as error:  # its text may hold a record: ours says what to do
        trouble = str(error)
    if broken:
        counts = "" if asked.private else f": {broken[0]} instead of {len(header.names)}"
        reason = f"a record has more or fewer values than the header has names{counts}"
        raise InputError(path, reason, "check its delimiters and quotation marks")
    if "UTF8" in trouble:
        raise InputError(path, "its text is not UTF-8", "save it as UTF-8")
    raise InputError(path, "it cannot be read as records", "check that it is a valid text table")
