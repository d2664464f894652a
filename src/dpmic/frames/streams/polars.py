"""Lazy frames of polars, run by its streaming engine."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from dpmic.frames.streams.base import Batch, LocalStream, attempted, guarded

__all__ = ["Lazy", "opened"]

BLAMED = ("a polars LazyFrame", "check its query and what it reads from")

ROWS = 2**16
"""Rows in a batch: polars would hand out millions at a time."""


def opened(data: Any) -> LocalStream | None:
    """Return the stream of a lazy frame, or None if the object is none."""
    polars = sys.modules.get("polars")
    return Lazy(data, polars) if polars and isinstance(data, polars.LazyFrame) else None


class Lazy(LocalStream):
    """What a query gives; polars runs it for each reading."""

    def __init__(self, frame: Any, polars: Any) -> None:
        self._frame = frame
        self._polars = polars

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(attempted(self._frame.collect_schema, *BLAMED).names())

    def count(self) -> int:
        """Return the number of rows, counted by polars."""
        counted = self._frame.select(self._polars.len())
        return int(attempted(lambda: counted.collect(engine="streaming"), *BLAMED).item())

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        for batch in guarded(self._read(columns), *BLAMED):
            yield Batch(batch, None)

    def _read(self, columns: Sequence[str]) -> Iterator[Any]:
        # A name of the form "^...$" would be a pattern, and "*" all columns.
        chosen = self._frame.select(self._polars.selectors.by_name(*columns))
        batches = chosen.collect_batches(
            chunk_size=ROWS, maintain_order=False, lazy=True, engine="streaming"
        )
        yield from batches
