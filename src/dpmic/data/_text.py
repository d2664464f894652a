"""Convert text to exact numbers.

docs/decisions/0018-one-reader.md lists the rules case by case.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from dpmic.data._arrow import words
from dpmic.data._columns import LARGEST_EXACT, MISSING
from dpmic.data._dialect import GAPS, WITH_COMMA, option_of
from dpmic.errors import RefusedValueError, safe_repr

BOOLEANS = ("false", "true")
LONG_INTEGER = r"^[+-]?0*[1-9]\d{15,}$"
DIGITS = len(str(LARGEST_EXACT))
PART, YEAR = r"(0?[1-9]|[12]\d|3[01])", r"((19|20)?\d\d)"
BETWEEN = rf"([-./]{PART}[-./]|[-. ]+[^\W\d]{{3,9}}[-. ]+)"
DATE = re.compile(rf"(\d{{4}}[-./]{PART}[-./]{PART}|{PART}{BETWEEN}{YEAR})(?=$|[ T])")
"""What looks like a date, also in formats that are not read."""

AS_DATES = "write dates as 2024-05-31 or 31.05.2024"
GROUPED = re.compile(r"[+-]?\d{1,3}([.,'\u2019 \u00a0\u202f]\d{3})+([.,]\d+)?")
"""What looks like a number with separators of thousands, which are not read."""

TEXT = "text is not a number"
Cast = Callable[[Any, str], Any]
DATES = "dates and durations are not numbers"
THOUSANDS = "separators of thousands are not read"


class Numbers:
    """A text column of only numbers or only booleans, converted batch by batch.

    pyarrow would guess the type from the start of the first file, and would round integers beyond
    2**53. Errors about a ``private`` column name only the column. A column without any number is
    not refused at once, so that one error can name all such columns; ``refused`` gives the reason.
    """

    kinds: ClassVar[dict[str, Cast]]  # set below, after the functions
    type: ClassVar[str] = "float64"  # of a batch without any value

    def __init__(self, name: str, *, private: bool, decimal: str = ".") -> None:
        self.name = name
        self.private = private
        self.decimal = decimal
        self._kind: str | None = None
        self.refused: str | None = None

    def convert(self, texts: Any, place: str, before: int) -> Any:
        """Return a batch as float64; ``before`` is the number of records above it in the file."""
        import pyarrow as pa

        plain = trimmed(texts)
        if plain.null_count == len(plain):
            return pa.nulls(len(plain), self.type)
        for kind, cast in self.kinds.items():
            values = cast(plain, self.decimal) if self._kind in (None, kind) else None
            if values is not None:
                if values.null_count < len(values):
                    self._kind = kind
                if kind == "numbers":
                    self._refuse_rounding(plain, values, place)
                return values
        self._refuse(plain, place, before)
        return None

    def _refuse_rounding(self, texts: Any, values: Any, place: str) -> None:
        """Refuse integers that float64 would round; floats may be as large as they like."""
        from pyarrow import compute

        ends = compute.min_max(values).as_py().values()
        if all(end is None or abs(end) < LARGEST_EXACT for end in ends):
            return
        integers = texts.filter(compute.match_substring_regex(texts, LONG_INTEGER))
        for text in integers.to_pylist():
            digits = text.lstrip("+-0")
            if len(digits) > DIGITS or int(digits) > LARGEST_EXACT:
                raise RefusedValueError(
                    self._what(place),
                    "it has integers that float64 would round",
                    "pass their ranks, or write them as floats",
                    self.name,
                )

    def _refuse(self, texts: Any, place: str, before: int) -> None:
        """Refuse the first value of another kind than the column, found by bisection."""
        if self.private:
            commas = option_of("decimal", ",") + " if it has decimal commas, "
            remedy = (
                "convert it to numbers, write its bounds as dates (YYYY-MM-DD) if it has "
                "dates, pass "
                + (commas if self.decimal == "." else "")
                + option_of("na", "unknown")
                + " if it has other spellings of a missing value, list its categories if it is "
                "nominal, or leave the column out"
            )
            reason = "it has a value that is not a number"
            raise RefusedValueError(self._what(place), reason, remedy, self.name)
        present = without(texts, GAPS).drop_null().to_pylist()
        if self._kind is None and not any(map(is_value, present)):
            grouped = THOUSANDS if GROUPED.fullmatch(present[0]) else TEXT
            self.refused = DATES if DATE.match(present[0]) else grouped
            return
        other = "not true or false" if self._kind == "booleans" else "not a number"
        self._refuse_first(texts, place, before, self._kind or "numbers", other)

    def _refuse_first(
        self,
        texts: Any,
        place: str,
        before: int,
        kind: str,
        other: str,
        otherwise: str = "correct it",
    ) -> None:
        """Refuse the first value of another kind and show it; not for private columns."""
        cast = self.kinds[kind]

        def refused(first: Any) -> bool:
            return cast(first, self.decimal) is None

        rows = range(len(texts))
        first = bisect.bisect_left(rows, True, key=lambda row: refused(texts[: row + 1]))
        value = texts[first].as_py()
        meant = option_of("na", value if len(value) < 20 else "...")
        remedy: str = "if it means a missing value, pass " + meant + f"; otherwise {otherwise}"
        if self.decimal == "." and WITH_COMMA.fullmatch(value):
            remedy = "if it has a decimal comma, pass " + option_of("decimal", ",")
        elif GROUPED.fullmatch(value):
            remedy = f"write numbers without separators of thousands, such as 1000{self.decimal}5"
        elif kind == "dates" and DATE.match(value):
            remedy = AS_DATES
        raise RefusedValueError(
            f"{self._what(place)}, row {before + first + 1}",
            f"{safe_repr(value)} is {other}",
            remedy,
            self.name,
        )

    def _what(self, place: str) -> str:
        column = f"column {safe_repr(self.name)}"
        return column if self.private else f"{place}, {column}"


def is_record(names: Sequence[str]) -> bool:
    """Return whether a first line is a record: it has values, and no names."""
    return all(map(is_value, names)) and any(name.strip() not in MISSING for name in names)


def trimmed(texts: Any, na: Sequence[str] = (), *, usual: bool = True) -> Any:
    """Return texts without surrounding spaces; empty ones, ``NA``, ``null`` and so on are missing.

    ``na`` lists further spellings of a missing value. With ``usual=False`` only these and the empty
    text are missing. Each result depends on its own record alone.
    """
    from pyarrow import compute

    spellings = MISSING if usual else frozenset({""})
    return without(compute.utf8_trim_whitespace(texts), spellings.union(map(str.strip, na)))


def without(texts: Any, spellings: Iterable[str]) -> Any:
    """Return texts in which some spellings are replaced by nulls."""
    import pyarrow as pa
    from pyarrow import compute

    absent = compute.is_in(texts, words(sorted(spellings), texts.type))
    return compute.if_else(absent, pa.nulls(1, texts.type)[0], texts)


def cast_numbers(texts: Any, decimal: str = ".") -> Any:
    """Return texts as numbers, or None if one is not a number; ``-`` and the like are missing."""
    import pyarrow as pa
    from pyarrow import compute

    written = without(texts, GAPS)
    if decimal == ",":  # then a point would separate thousands
        written = compute.replace_substring(written, ".", "_")
        written = compute.replace_substring(written, ",", ".")
    try:
        return compute.cast(written, pa.float64())
    except pa.ArrowInvalid:
        return None


def cast_booleans(texts: Any, _decimal: str = ".") -> Any:
    """Return texts as booleans, or None if one is neither true nor false."""
    import pyarrow as pa
    from pyarrow import compute

    written = without(texts, GAPS)
    known = compute.index_in(compute.utf8_lower(written), words(BOOLEANS, written.type))
    return None if known.null_count > written.null_count else compute.cast(known, pa.bool_())


def _booleans(texts: Any, _decimal: str = ".") -> Any:
    """Return texts as 1 for true and 0 for false, or None if one is neither."""
    known = cast_booleans(texts)
    return None if known is None else known.cast("int8").cast("float64")


Numbers.kinds = {"numbers": cast_numbers, "booleans": _booleans}  # tried in this order


def is_value(text: str) -> bool:
    """Return whether a text is a number, a boolean, or a missing value."""
    plain = text.strip()
    if plain in MISSING | GAPS or plain.lower() in BOOLEANS:
        return True
    try:
        float(plain.replace(",", ".", 1))
    except ValueError:
        return False
    return "_" not in plain  # Python allows underscores between digits
