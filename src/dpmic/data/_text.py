"""A column of text to numbers, batch by batch, exactly or not at all."""

from __future__ import annotations

from typing import Any, Literal

from dpmic.data._columns import LARGEST_EXACT
from dpmic.errors import RefusedValueError, safe_repr

__all__ = ["Texts"]

LONG_WHOLE = r"^[+-]?0*[1-9]\d{15,}$"
DIGITS = len(str(LARGEST_EXACT))
BOOLEANS = ("false", "true")


class Texts:
    """One column that is all numbers or all true and false, whatever comes first.

    pyarrow would guess the type from the beginning of the first file, and round whole numbers
    beyond 2**53.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.kind: Literal["numbers", "booleans"] | None = None

    def numbers(self, texts: Any, place: str | None) -> Any:
        """Return a batch as float64, with null where nothing is written."""
        import pyarrow as pa
        from pyarrow import compute, csv

        plain = compute.utf8_trim_whitespace(texts)
        absent = compute.is_in(plain, pa.array(csv.ConvertOptions().null_values))
        plain = compute.if_else(absent, pa.scalar(None, pa.string()), plain)
        if plain.null_count == len(plain):
            return pa.nulls(len(plain), pa.float64())
        values = self._as_numbers(plain, place)
        if values is None:
            values = self._as_booleans(plain)
        if values is None:
            self._refuse(plain, place)
        return values

    def _as_numbers(self, texts: Any, place: str | None) -> Any:
        import pyarrow as pa
        from pyarrow import compute

        if self.kind == "booleans":
            return None
        try:
            values = compute.cast(texts, pa.float64())
        except pa.ArrowInvalid:
            return None
        self.kind = "numbers"
        large = compute.greater_equal(compute.abs(values), float(LARGEST_EXACT))
        if compute.any(large).as_py():
            self._refuse_rounded(texts.filter(large), place)
        return values

    def _as_booleans(self, texts: Any) -> Any:
        import pyarrow as pa
        from pyarrow import compute

        known = compute.index_in(compute.utf8_lower(texts), pa.array(BOOLEANS))
        if self.kind == "numbers" or known.null_count > texts.null_count:
            return None
        self.kind = "booleans"
        return compute.cast(known, pa.float64())

    def _refuse_rounded(self, texts: Any, place: str | None) -> None:
        """Refuse whole numbers that float64 would round; floats may be as large as they like."""
        from pyarrow import compute

        whole = texts.filter(compute.match_substring_regex(texts, LONG_WHOLE))
        for text in whole.to_pylist():
            digits = text.lstrip("+-0")
            if len(digits) > DIGITS or int(digits) > LARGEST_EXACT:
                raise RefusedValueError(
                    f"{self._what(place)} holds {safe_repr(text)}",
                    "integers beyond 2**53 would be rounded",
                    "pass their ranks, or write them as floats",
                    self.name,
                )

    def _refuse(self, texts: Any, place: str | None) -> None:
        """Refuse the first value that is of another kind than the column, found by halving."""
        first, end = 0, len(texts)
        while end - first > 1:
            middle = (first + end) // 2
            if self._fit(texts[first:middle]):
                first = middle
            else:
                end = middle
        raise RefusedValueError(
            f"{self._what(place)} holds {safe_repr(texts[first].as_py())}",
            "this is not a number"
            if self.kind != "booleans"
            else "other values are true and false",
            "correct it, or leave the column out",
            self.name,
        )

    def _fit(self, texts: Any) -> bool:
        """Tell whether values are of the kind that the column has."""
        import pyarrow as pa
        from pyarrow import compute

        if self.kind == "booleans":
            return self._as_booleans(texts) is not None
        try:
            compute.cast(texts, pa.float64())
        except pa.ArrowInvalid:
            return False
        return True

    def _what(self, place: str | None) -> str:
        return f"{place or 'a text'}, column {safe_repr(self.name)}"
