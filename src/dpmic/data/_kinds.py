"""The type of a text column: dates if declared, and without privacy whatever it looks like."""

from __future__ import annotations

from typing import Any, ClassVar

from dpmic._validate import moment
from dpmic.data._dialect import GAPS
from dpmic.data._text import (
    AS_DATES,
    BOOLEANS,
    GROUPED,
    Cast,
    Numbers,
    cast_booleans,
    cast_numbers,
    is_value,
    trimmed,
    without,
)
from dpmic.errors import RefusedValueError, safe_repr


def cast_dates(texts: Any, _decimal: str = ".") -> Any:
    """Return texts as days since 1970, or None if one is not a date; each is read on its own."""
    import pyarrow as pa
    from pyarrow import compute

    present = without(texts, GAPS)
    written = present.drop_null().unique()
    days = [moment(text) for text in written.to_pylist()]
    if None in days:
        return None
    return pa.array(days, pa.float64()).take(compute.index_in(present, written))


def cast_moments(texts: Any, _decimal: str = ".") -> Any:
    """Return texts as dates, or None if one is not a date."""
    import pyarrow as pa
    from pyarrow import compute

    days = cast_dates(texts)
    if days is None:
        return None
    whole = compute.round(compute.multiply(days, 86_400e6))
    return whole.cast(pa.int64()).cast(pa.timestamp("us"))


def _may_be_number(text: str) -> bool:
    """Return whether a text is a number, perhaps with separators of thousands."""
    plain = is_value(text) and text.lower() not in BOOLEANS
    return plain or GROUPED.fullmatch(text) is not None


class Dates(Numbers):
    """A text column declared as dates, converted batch by batch."""

    kinds: ClassVar[dict[str, Cast]] = {"dates": cast_moments}
    type: ClassVar[str] = "timestamp[us]"

    def _refuse(self, texts: Any, place: str, before: int) -> None:
        if self.private:
            reason = "it has a value that is not a date"
            raise RefusedValueError(self._what(place), reason, AS_DATES, self.name)
        self._refuse_first(texts, place, before, "dates", "not a date", AS_DATES)


class Kind(Numbers):
    """A text column read without privacy: numbers, booleans, dates, or else text.

    Its first batch decides. A column that mixes numbers or dates with other text is refused.
    """

    kinds: ClassVar[dict[str, Cast]] = {
        "numbers": cast_numbers,
        "booleans": cast_booleans,
        "dates": cast_moments,
    }

    def convert(self, texts: Any, place: str, before: int) -> Any:
        """Return a batch converted to the column's type, or as nulls if all values are missing."""
        import pyarrow as pa

        if self._kind == "text":
            return trimmed(texts)
        values = super().convert(texts, place, before)
        if values is None:
            return trimmed(texts)
        return pa.nulls(len(values)) if values.null_count == len(values) else values

    def _refuse(self, texts: Any, place: str, before: int) -> None:
        written = without(texts, GAPS).drop_null().unique().to_pylist()
        numbers = any(_may_be_number(text) for text in written)
        dates = any(moment(text) is not None for text in written)
        if self._kind is None and not numbers and not dates:
            self._kind = "text"
            return
        kind = self._kind or ("numbers" if numbers else "dates")
        other = {"dates": "not a date", "booleans": "not true or false"}.get(kind, "not a number")
        otherwise = f"correct it, or read the column as text: --nominal {safe_repr(self.name)}"
        self._refuse_first(texts, place, before, kind, other, otherwise)
