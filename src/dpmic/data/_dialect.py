"""The format of a text file: the options given by the caller, and what dpmic recognises.

Without privacy the first records may be used to recognise it; with privacy only the header line
(docs/decisions/0025-recognition.md).
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from dpmic.data._columns import MISSING, PLACEHOLDERS
from dpmic.errors import Message, ParameterError, safe_repr

SEPARATORS = {",": "','", ";": "';'", "\t": "tabs", "|": "'|'"}
"""The separators that are looked for in a header, and their names in messages."""

DECIMALS = (".", ",")
GAPS = PLACEHOLDERS | {"None", "na"}
"""Further spellings of a missing value in columns of numbers, booleans and dates."""

PLAIN = "utf-8"
PLAINLY_ENCODED = ("utf-8", "utf-8-sig", "ascii")
LATIN = "cp1252"
"""Windows's superset of Latin-1."""

MARKS = {
    codecs.BOM_UTF8: PLAIN,
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
SAMPLE = 1000
"""How many records are used to recognise the format of numbers."""

WITH_COMMA = re.compile(r"[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?")
WITH_POINT = re.compile(r"[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?")
INTEGER = re.compile(r"[+-]?\d+([eE][+-]?\d+)?")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")


@dataclass(frozen=True)
class Dialect:
    """The format of a file. What is None is recognised when the file is read.

    Attributes
    ----------
    sep : str or None
        The character between values; ``"tab"`` is accepted too.
    decimal : {".", ","} or None
        The decimal mark of numbers.
    encoding : str or None
        The encoding of the text, by its Python name; also used for SPSS, Stata and SAS files.
    na : sequence of str
        Spellings of a missing value, in addition to the usual ones.
    sheet : str or None
        The name of the sheet in an Excel workbook.
    quote, escape : str or None
        The quotation mark, and the character that escapes one inside a value.
    names : tuple of str or None
        The names of the columns, if the file has no header.
    numbered : bool
        Whether the file has no header and its columns are named f0, f1 and so on.
    skip, skip_after : int
        The number of lines to skip above the header, and of records to skip below it.

    Examples
    --------
    >>> Dialect(sep=";", decimal=",", na=["-9"]).na
    ('-9',)
    >>> Dialect(decimal=";")
    Traceback (most recent call last):
    dpmic.errors.ParameterError: decimal = ';': this is not a decimal mark; pass '.' or ','.
    """

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    na: Sequence[str] = ()
    sheet: str | None = None
    quote: str | None = '"'
    escape: str | None = None
    names: tuple[str, ...] | None = None
    numbered: bool = False
    skip: int = 0
    skip_after: int = 0

    def __post_init__(self) -> None:
        """Check the options."""
        sep = {"tab": "\t", "\\t": "\t"}.get(self.sep or "", self.sep)
        object.__setattr__(self, "sep", sep)
        object.__setattr__(self, "na", (self.na,) if isinstance(self.na, str) else tuple(self.na))
        if sep is not None and not separates(sep):
            reason = "the separator is one character, and not a letter, digit or quotation mark"
            raise ParameterError(f"sep = {safe_repr(sep)}", reason, "pass ';', ',', '|' or 'tab'")
        if self.decimal not in (None, *DECIMALS):
            reason = "this is not a decimal mark"
            raise ParameterError(f"decimal = {safe_repr(self.decimal)}", reason, "pass '.' or ','")
        if self.encoding is not None and not _is_encoding(self.encoding):
            reason = "there is no such text encoding"
            remedy = "pass 'utf-8', 'utf-16', 'cp1252' or another name that Python knows"
            raise ParameterError(f"encoding = {safe_repr(self.encoding)}", reason, remedy)

    @property
    def facts(self) -> dict[str, Any]:
        """The given options that decide which records and values are read, for the query key.

        ``sep`` and ``decimal`` are not among them: with a wrong one, columns are missing or values
        are refused.

        Examples
        --------
        >>> Dialect(sep=";", na=["unknown", "-9"]).facts
        {'na': ['-9', 'unknown']}
        >>> Dialect(encoding="utf-8").facts
        {}
        """
        encoding = codecs.lookup(self.encoding or PLAIN).name
        given = {
            "na": sorted({text.strip() for text in self.na} - {""}),  # as they are compared
            "sheet": self.sheet,
            "encoding": None if encoding in PLAINLY_ENCODED else encoding,
            "names": self.names and list(self.names),
        }
        usual = Dialect.__dataclass_fields__
        others = ("quote", "escape", "numbered", "skip", "skip_after")
        differ = {
            name: getattr(self, name)
            for name in others
            if getattr(self, name) != usual[name].default
        }
        return {name: value for name, value in given.items() if value} | differ

    def refuse_all_but(self, understood: Sequence[str], kind: str) -> None:
        """Refuse options that this kind of file does not have."""
        for name in ("sep", "decimal", "encoding", "na", "sheet"):
            given = getattr(self, name)
            if given and name not in understood:
                reason = f"{kind} files have no such option"
                raise ParameterError(f"{name} = {safe_repr(given)}", reason, "leave it out")

    def recognised(self, known: Dialect, usual: str, declared: str | None = None) -> str:
        """Describe what was recognised, if it differs from a plain text file.

        ``declared`` is the separator that its first line names, as in ``sep=;``.
        """
        words = []
        sep = known.sep or usual
        if declared is not None and self.sep is None:
            words.append(f"separated by {_called(sep)}, as its first line says")
        elif declared is not None and self.sep != declared:
            stated = f"although its first line says {_called(declared)}"
            words.append(f"separated by {_called(sep)}, {stated}")
        elif self.sep is None and sep != usual:
            words.append(f"separated by {_called(sep)}")
        if self.decimal is None and known.decimal == ",":
            words.append("decimal comma")
        if self.encoding is None and known.encoding not in (None, PLAIN):
            words.append("Latin-1 (cp1252)" if known.encoding == LATIN else "UTF-16")
        return ", ".join(words)


def separates(sep: str) -> bool:
    """Return whether a character can separate values."""
    return len(sep) == 1 and sep.isascii() and not sep.isalnum() and sep not in "\"'\r\n"


def _called(sep: str) -> str:
    return SEPARATORS.get(sep, safe_repr(sep))


def _is_encoding(name: str) -> bool:
    try:
        "a,1".encode(name).decode(name)
    except (LookupError, UnicodeError, ValueError):
        return False
    return True


def option_of(name: str, value: str) -> Message:
    """Return how to set an option of :class:`Dialect`, in Python or on the command line.

    Examples
    --------
    >>> print("pass " + option_of("sep", ";"))
    pass dpmic.data.open_file(path, dpmic.data.Dialect(sep=';'))
    """
    code = f"dpmic.data.open_file(path, dpmic.data.Dialect({name}={value!r}))"
    return Message((code, True))


Refusal = Callable[[str, str], Exception]
"""Makes the error for a file, from a reason and a remedy."""


def encoding_of(begin: bytes, *, public: bool) -> str:
    """Return the encoding of a text file, from its byte-order mark or its first bytes.

    A ``public`` file that is not UTF-8 is taken for Latin-1, unless parts of it are valid UTF-8;
    then the invalid parts are refused when they are read.
    """
    marked = next((name for mark, name in MARKS.items() if begin.startswith(mark)), None)
    if marked or not public or b"\0" in begin:
        return marked or PLAIN
    read = codecs.getincrementaldecoder(PLAIN)("surrogateescape").decode(begin)
    beyond = {is_escaped(character) for character in set(read) if not character.isascii()}
    return LATIN if beyond == {True} and _decodes(begin, LATIN) else PLAIN


def utf_16_of(begin: bytes) -> str | None:
    """Return the kind of UTF-16 that a text may be in; there every other byte is mostly zero.

    Examples
    --------
    >>> utf_16_of("age,stay".encode("utf-16-be")), utf_16_of(bytes(8))
    ('utf-16-be', None)
    """
    if begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    even, odd = begin[::2].count(0), begin[1::2].count(0)
    if even and odd:
        return None
    most = max(even, odd) > len(begin) / 4
    return ("utf-16-be" if even else "utf-16-le") if most else None


def is_escaped(text: str) -> bool:
    """Return whether a text contains bytes that could not be decoded."""
    return any("\udc80" <= character <= "\udcff" for character in text)


def _decodes(text: bytes, encoding: str) -> bool:
    try:
        text.decode(encoding)
    except UnicodeError:
        return False
    return True


def records_of(text: str, sep: str, dialect: Dialect) -> Iterator[list[str]]:
    """Yield the records of a text file, including empty lines.

    Raises
    ------
    csv.Error
        If a value is longer than Python's csv reader allows.
    """
    return csv.reader(
        io.StringIO(text, newline=""),
        delimiter=sep,
        quotechar=dialect.quote,
        escapechar=dialect.escape,
        quoting=csv.QUOTE_NONE if dialect.quote is None else csv.QUOTE_MINIMAL,
    )


def separator_of(text: str, usual: str, dialect: Dialect, refused: Refusal, *, public: bool) -> str:
    """Return the separator: the only candidate that occurs in the header.

    If several occur in a ``public`` file, it is the one that splits all first records into as many
    values as there are names. If none occurs, it is the usual one.
    """
    found = separators_in(text, dialect)
    if len(found) > 1 and public:
        found = [mark for mark in found if _fits(text, mark, dialect)] or found
    if len(found) > 1:
        listed = " and ".join(SEPARATORS[mark] for mark in found)
        reason = f"its columns could be separated by {listed if public else 'several characters'}"
        raise refused(reason, "say which: pass " + option_of("sep", found[-1] if public else ";"))
    if not found and public and not _fits(text, usual, dialect, columns=1):
        return next((m for m in SEPARATORS if _fits(text, m, dialect, columns=1)), usual)
    return found[0] if found else usual


def separators_in(text: str, dialect: Dialect) -> list[str]:
    """Return the possible separators that occur in the first line outside quotation marks."""
    plain = text
    if dialect.quote is not None:
        mark = re.escape(dialect.quote)
        plain = re.sub(f"{mark}[^{mark}]*{mark}", "_", text)
    header = re.split(r"[\r\n]", plain.strip("\r\n "), maxsplit=1)[0]
    return [mark for mark in SEPARATORS if mark in header]


def _fits(text: str, sep: str, dialect: Dialect, columns: int | None = None) -> bool:
    """Return whether the first records all have ``columns`` values, or the same number above 1."""
    try:
        records = islice(filter(None, records_of(text, sep, dialect)), SAMPLE)
        widths = set(map(len, records))
    except csv.Error:
        return False
    return len(widths) == 1 and (widths == {columns} if columns else max(widths) > 1)


def decimal_of(
    columns: Mapping[str, Sequence[str]], refused: Callable[[str, str, str], Exception]
) -> str:
    """Return the decimal mark, from the first values of the wanted columns.

    A column of numbers counts as evidence for the comma if some of its numbers have one and not
    all of these could be separators of thousands. A column of numbers with points is evidence for
    the point. If there is evidence for both, or only ambiguous numbers, the caller has to say:
    ``refused`` makes the error for a column.
    """
    commas, points, unclear = [], [], {}
    for name, texts in columns.items():
        values = [text for text in map(str.strip, texts) if text not in MISSING | GAPS]
        with_comma = [value for value in values if WITH_COMMA.fullmatch(value)]
        if any(map(WITH_POINT.fullmatch, values)):
            points.append(name)
        elif with_comma and all(map(_may_have_comma, values)):
            if all(map(THOUSANDS.fullmatch, with_comma)):
                unclear[name] = with_comma[0]
            else:
                commas.append(name)
    if commas and points:
        reason = f"it has decimal commas, but column {safe_repr(points[0])} has decimal points"
        raise refused(commas[0], reason, "say which: pass " + option_of("decimal", ","))
    if unclear and not commas and not points:
        name, value = next(iter(unclear.items()))
        meant = f"{value.replace(',', '.')} or {value.replace(',', '')}"
        reason = f"{safe_repr(value)} could mean {meant}"
        remedy = "pass " + option_of("decimal", ",") + " for the first, or write it without commas"
        raise refused(name, reason, remedy)
    return "," if commas else "."


def _may_have_comma(value: str) -> bool:
    return bool(WITH_COMMA.fullmatch(value) or INTEGER.fullmatch(value))
