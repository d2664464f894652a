"""How a text is written: what somebody said, and what is recognised where nobody did.

Without privacy the first records may say it; with privacy the header line alone
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

from dpmic.data._columns import MISSING
from dpmic.errors import Message, ParameterError, safe_repr

SEPARATORS = {",": "','", ";": "';'", "\t": "tabs", "|": "'|'"}
"""What a header is searched for, and how it is called."""

DECIMALS = (".", ",")
GAPS = frozenset({"-", "--", ".", "?", "<NA>", "None", "na", "n.a."})
"""What also says, among numbers, that a value is missing; a name may be written so."""

PLAIN = "utf-8"
LATIN = "cp1252"
"""Latin-1 with the characters that Windows adds where Latin-1 has none."""

MARKS = {
    codecs.BOM_UTF8: PLAIN,
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
SAMPLE = 1000
"""Records that say how numbers are written."""

WITH_COMMA = re.compile(r"[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?")
WITH_POINT = re.compile(r"[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?")
INTEGER = re.compile(r"[+-]?\d+([eE][+-]?\d+)?")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")


@dataclass(frozen=True)
class Dialect:
    """How a file is written, as far as somebody said it; the rest is recognised.

    Attributes
    ----------
    sep : str or None
        What separates values, one character; ``"tab"`` is one, too.
    decimal : {".", ","} or None
        The decimal mark of numbers.
    encoding : str or None
        The encoding of a text, as Python calls it; also of SPSS, Stata and SAS files.
    na : sequence of str
        Spellings of a missing value besides the usual ones.
    sheet : str or None
        The name of a sheet in an Excel workbook.
    quote, escape : str or None
        The quotation mark, and what stands before one that is part of a value.
    names : tuple of str or None
        The names of the columns, where the text has no header.
    numbered : bool
        Whether there is no header and columns are called f0, f1 and so on.
    skip, skip_after : int
        Lines above the header, and records below it, that are left out.

    Examples
    --------
    >>> Dialect(sep=";", decimal=",", na=["-9"]).na
    ('-9',)
    >>> Dialect(decimal=";")
    Traceback (most recent call last):
    dpmic.errors.ParameterError: decimal = ';': numbers have a point or a comma; pass '.' or ','.
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
        """Check what somebody can say."""
        sep = {"tab": "\t", "\\t": "\t"}.get(self.sep or "", self.sep)
        object.__setattr__(self, "sep", sep)
        object.__setattr__(self, "na", (self.na,) if isinstance(self.na, str) else tuple(self.na))
        if sep is not None and not _separates(sep):
            reason = "one character separates values, and it is not a letter, digit or quote"
            raise ParameterError(f"sep = {safe_repr(sep)}", reason, "pass ';', ',', '|' or 'tab'")
        if self.decimal not in (None, *DECIMALS):
            reason = "numbers have a point or a comma"
            raise ParameterError(f"decimal = {safe_repr(self.decimal)}", reason, "pass '.' or ','")
        if self.encoding is not None and not _is_encoding(self.encoding):
            reason = "there is no such encoding of text"
            remedy = "pass 'utf-8', 'utf-16', 'cp1252' or another name that Python knows"
            raise ParameterError(f"encoding = {safe_repr(self.encoding)}", reason, remedy)

    def refuse_all_but(self, understood: Sequence[str], kind: str) -> None:
        """Refuse what was said of a kind of file that knows nothing like it."""
        for name in ("sep", "decimal", "encoding", "na", "sheet"):
            given = getattr(self, name)
            if given and name not in understood:
                reason = f"{kind} files have nothing like it"
                raise ParameterError(f"{name} = {safe_repr(given)}", reason, "leave it out")

    def recognised(self, known: Dialect, usual: str) -> str:
        """Say what was recognised, in words, where it is not what a plain text has."""
        words = []
        if self.sep is None and known.sep not in (None, usual):
            words.append(f"separated by {SEPARATORS[known.sep or usual]}")
        if self.decimal is None and known.decimal == ",":
            words.append("decimal comma")
        if self.encoding is None and known.encoding not in (None, PLAIN):
            words.append("Latin-1 (cp1252)" if known.encoding == LATIN else "UTF-16")
        return ", ".join(words)


def _separates(sep: str) -> bool:
    return len(sep) == 1 and sep.isascii() and not sep.isalnum() and sep not in "\"'\r\n"


def _is_encoding(name: str) -> bool:
    try:
        "a,1".encode(name).decode(name)
    except (LookupError, UnicodeError, ValueError):
        return False
    return True


def said(name: str, value: str) -> Message:
    """Return how somebody says how a file is written: in Python, or as an option.

    Examples
    --------
    >>> print("pass " + said("sep", ";"))
    pass dpmic.data.open_file(path, dpmic.data.Dialect(sep=';'))
    """
    code = f"dpmic.data.open_file(path, dpmic.data.Dialect({name}={value!r}))"
    return Message((code, True))


Refusal = Callable[[str, str], Exception]
"""Makes the error of one text, of a reason and a remedy."""


def encoding_of(begin: bytes, *, public: bool) -> str:
    """Return the encoding of a text: that of its byte-order mark, or what its first bytes allow.

    Of a ``public`` text that is not UTF-8 it is Latin-1, unless some of it is UTF-8 after all: then
    what is not is refused where it is wanted.
    """
    marked = next((name for mark, name in MARKS.items() if begin.startswith(mark)), None)
    if marked or not public or b"\0" in begin:
        return marked or PLAIN
    read = codecs.getincrementaldecoder(PLAIN)("surrogateescape").decode(begin)
    beyond = {is_escaped(character) for character in set(read) if not character.isascii()}
    return LATIN if beyond == {True} and _decodes(begin, LATIN) else PLAIN


def is_escaped(text: str) -> bool:
    """Tell whether a text holds bytes that could not be decoded."""
    return any("\udc80" <= character <= "\udcff" for character in text)


def _decodes(text: bytes, encoding: str) -> bool:
    try:
        text.decode(encoding)
    except UnicodeError:
        return False
    return True


def records_of(text: str, sep: str, dialect: Dialect) -> Iterator[list[str]]:
    """Yield the records of a text, empty lines included.

    Raises
    ------
    csv.Error
        If a value is longer than Python's reader allows.
    """
    return csv.reader(
        io.StringIO(text, newline=""),
        delimiter=sep,
        quotechar=dialect.quote,
        escapechar=dialect.escape,
        quoting=csv.QUOTE_NONE if dialect.quote is None else csv.QUOTE_MINIMAL,
    )


def separator_of(text: str, usual: str, dialect: Dialect, refused: Refusal, *, public: bool) -> str:
    """Return what separates values: the one candidate that stands in the header.

    Of several, in a ``public`` text, the one that gives all of the first records as many values
    as the header has names. Where there is none, it is the usual one.
    """
    found = separators_in(text, dialect)
    if len(found) > 1 and public:
        found = [mark for mark in found if _fits(text, mark, dialect)] or found
    if len(found) > 1:
        listed = " and ".join(SEPARATORS[mark] for mark in found)
        reason = f"{listed if public else 'several marks'} may separate its columns"
        raise refused(reason, "say which: pass " + said("sep", found[-1] if public else ";"))
    if not found and public and not _fits(text, usual, dialect, columns=1):
        return next((m for m in SEPARATORS if _fits(text, m, dialect, columns=1)), usual)
    return found[0] if found else usual


def separators_in(text: str, dialect: Dialect) -> list[str]:
    """Return what may separate values and stands in the first line, outside of quotation marks."""
    plain = text
    if dialect.quote is not None:
        mark = re.escape(dialect.quote)
        plain = re.sub(f"{mark}[^{mark}]*{mark}", "_", text)
    header = re.split(r"[\r\n]", plain.strip("\r\n "), maxsplit=1)[0]
    return [mark for mark in SEPARATORS if mark in header]


def _fits(text: str, sep: str, dialect: Dialect, columns: int | None = None) -> bool:
    """Return whether the first records have so many values, or all of them as many, and several."""
    try:
        records = islice(filter(None, records_of(text, sep, dialect)), SAMPLE)
        widths = set(map(len, records))
    except csv.Error:
        return False
    return len(widths) == 1 and (widths == {columns} if columns else max(widths) > 1)


def decimal_of(
    columns: Mapping[str, Sequence[str]], refused: Callable[[str, str, str], Exception]
) -> str:
    """Return the decimal mark of numbers, by the first values of the wanted columns.

    A column of numbers some of which have a comma speaks for the comma, unless each of them may
    have it between thousands; a column of numbers with a point speaks for the point. Where both
    are there, or thousands alone, the caller is asked: ``refused`` makes the error, of a column.
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
        reason = f"it has decimal commas, and column {safe_repr(points[0])} has decimal points"
        raise refused(commas[0], reason, "say which: pass " + said("decimal", ","))
    if unclear and not commas and not points:
        name, value = next(iter(unclear.items()))
        meant = f"{value.replace(',', '.')} or {value.replace(',', '')}"
        reason = f"{safe_repr(value)} may mean {meant}"
        remedy = "pass " + said("decimal", ",") + " for the first, or write it without commas"
        raise refused(name, reason, remedy)
    return "," if commas else "."


def _may_have_comma(value: str) -> bool:
    return bool(WITH_COMMA.fullmatch(value) or INTEGER.fullmatch(value))
