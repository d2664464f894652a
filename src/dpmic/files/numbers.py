"""Columns of text to columns of numbers, exactly or not at all."""

from __future__ import annotations

from typing import Any

from dpmic.errors import InputError, safe_repr
from dpmic.files.asked import DATE, DATES, TEXT

__all__ = ["Labels", "Numbers", "trimmed"]

LARGEST_EXACT = 2**53  # every integer up to this is a float64
LONG_WHOLE = r"^[+-]?\d{16,}$"
TRUTHS = {"true": 1.0, "false": 0.0}


class Numbers:
    """One column of numbers, or of true and false, that grows batch by batch.

    Errors of a private column name the column alone. What holds no number at all is not refused
    at once, so that all such columns can be told of together: ``refused`` says why.
    """

    def __init__(self, name: str, *, private: bool) -> None:
        self.name = name
        self.private = private
        self.chunks: list[Any] = []
        self.rows = 0
        self.kind: str | None = None  # of what there was so far
        self.refused: str | None = None

    def add(self, texts: Any) -> None:
        """Convert a batch of text."""
        plain = trimmed(texts)
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
        if any(map(_rounded, whole.to_pylist())):
            raise InputError(
                f"column {safe_repr(self.name)}",
                "it holds whole numbers that float64 would round",
                "pass their ranks, or write them as floats",
            )

    def _refuse(self, texts: Any) -> None:
        """Say what is no number; of a public column where."""
        column = f"column {safe_repr(self.name)}"
        remedy = "convert it to numbers, or leave the column out"
        if self.private:
            # Outside of the handlers, so that no context holds a value.
            raise InputError(column, "it holds something that is no number", remedy)
        values = texts.to_pylist()
        bad = [(row, text) for row, text in enumerate(values, 1) if not _is_number(text)]
        row, text = bad[0] if bad else next((r, t) for r, t in enumerate(values, 1) if t)
        if self.kind is None and len(bad) == len(values) - texts.null_count:
            self.refused = DATES if DATE.match(text) else TEXT
            return
        raise InputError(
            f"{column}, row {self.rows + row} below the header",
            f"{safe_repr(text)} among other values is of another kind",
            "correct it, or write nothing where a value is missing",
        )


class Labels:
    """One column of names, that grows batch by batch.

    Names stay text, as they are written: were they read as numbers where all are, one record
    could join or part the people of others.
    """

    refused = None

    def __init__(self) -> None:
        self.chunks: list[Any] = []

    def add(self, texts: Any) -> None:
        """Keep a batch of text."""
        self.chunks.append(trimmed(texts))

    def finished(self) -> Any:
        """Return the whole column."""
        import pyarrow as pa

        return pa.chunked_array(self.chunks, pa.string())


def trimmed(texts: Any) -> Any:
    """Return texts without spaces around them; nothing, ``NA``, ``null`` and the like are missing.

    Each depends on its own record alone.
    """
    import pyarrow as pa
    from pyarrow import compute, csv

    plain = compute.utf8_trim_whitespace(texts)
    absent = compute.is_in(plain, pa.array(csv.ConvertOptions().null_values, plain.type))
    return compute.if_else(absent, pa.scalar(None, plain.type), plain)


def _rounded(whole: str) -> bool:
    """Tell whether float64 would round a whole number, of however many digits."""
    digits = whole.lstrip("+-0")
    return len(digits) > len(str(LARGEST_EXACT)) or int(digits or 0) > LARGEST_EXACT


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
