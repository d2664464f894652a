"""Columns of text to columns of numbers, exactly or not at all."""

from __future__ import annotations

import re
from typing import Any

from dpmic.errors import InputError, shown

__all__ = ["Labels", "Numbers"]

LARGEST_EXACT = 2**53  # every integer up to this is a float64
LONG_WHOLE = r"^[+-]?\d{16,}$"
DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
TRUTHS = {"true": 1.0, "false": 0.0}


class Numbers:
    """One column of numbers, or of true and false, that grows batch by batch.

    Errors of a private column name the column alone.
    """

    def __init__(self, name: str, *, private: bool) -> None:
        self.name = name
        self.private = private
        self.chunks: list[Any] = []
        self.rows = 0
        self.kind: str | None = None  # of what there was so far

    def add(self, texts: Any) -> None:
        """Convert a batch of text, in which missing values are null."""
        from pyarrow import compute

        plain = compute.utf8_trim_whitespace(texts)
        if plain.null_count == len(plain):
            self.chunks.append(_numbers(plain))
        elif not self._add_numbers(plain) and not self._add_truths(plain):
            self._refuse(plain)
        self.rows += len(plain)

    def finished(self) -> Any:
        """Return the whole column."""
        import pyarrow as pa

        return pa.chunked_array(self.chunks, pa.float64())

    def _add_numbers(self, texts: Any) -> bool:
        import pyarrow as pa

        if self.kind == "truths":
            return False
        try:
            values = _numbers(texts)
        except pa.ArrowInvalid:
            return False
        self._refuse_rounding(texts, values)
        self.chunks.append(values)
        self.kind = "numbers"
        return True

    def _add_truths(self, texts: Any) -> bool:
        import pyarrow as pa
        from pyarrow import compute

        known = compute.index_in(compute.utf8_lower(texts), pa.array(list(TRUTHS)))
        if self.kind == "numbers" or known.null_count > texts.null_count:
            return False
        self.chunks.append(pa.array(list(TRUTHS.values())).take(known))
        self.kind = "truths"
        return True

    def _refuse_rounding(self, texts: Any, values: Any) -> None:
        """Refuse whole numbers that float64 would round: neighbours would become equal."""
        from pyarrow import compute

        large = compute.greater_equal(compute.abs(values), float(LARGEST_EXACT))
        if not compute.any(large).as_py():
            return
        written = texts.filter(large)
        whole = written.filter(compute.match_substring_regex(written, LONG_WHOLE))
        if any(abs(int(text)) > LARGEST_EXACT for text in whole.to_pylist()):
            raise InputError(
                f"column {shown(self.name)}",
                "it holds whole numbers that float64 would round",
                "pass their ranks, or write them as floats",
            )

    def _refuse(self, texts: Any) -> None:
        """Say what is no number; of a public column where."""
        column = f"column {shown(self.name)}"
        remedy = "convert it to numbers, or leave the column out"
        if self.private:
            # Outside of the handlers, so that no context holds a value.
            raise InputError(column, "it holds something that is no number", remedy)
        values = texts.to_pylist()
        bad = [(row, text) for row, text in enumerate(values, 1) if not _is_number(text)]
        row, text = bad[0] if bad else next((r, t) for r, t in enumerate(values, 1) if t)
        if self.kind is None and len(bad) == len(values) - texts.null_count:
            dates = DATE.match(text)
            reason = "dates and durations are not numbers" if dates else "text is not a number"
            raise InputError(column, reason, remedy)
        raise InputError(
            f"{column}, row {self.rows + row} below the header",
            f"{shown(text)} among other values is of another kind",
            "correct it, or write nothing where a value is missing",
        )


class Labels:
    """One column of names, that grows batch by batch."""

    def __init__(self) -> None:
        self.chunks: list[Any] = []

    def add(self, texts: Any) -> None:
        """Keep a batch of text."""
        from pyarrow import compute

        self.chunks.append(compute.utf8_trim_whitespace(texts))

    def finished(self) -> Any:
        """Return the whole column; as numbers if all are, so that 7 and 07 are one person."""
        import pyarrow as pa
        from pyarrow import compute

        whole = pa.chunked_array(self.chunks, pa.string())
        for kind in (pa.int64(), pa.float64()):
            try:
                return compute.cast(whole, kind)
            except pa.ArrowInvalid:
                continue
        return whole


def _numbers(texts: Any) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    return compute.cast(texts, pa.float64())


def _is_number(text: str | None) -> bool:
    import pyarrow as pa

    try:
        _numbers(pa.array([text], pa.string()))
    except pa.ArrowInvalid:
        return False
    return True
