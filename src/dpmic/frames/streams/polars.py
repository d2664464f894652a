"""Lazy frames of polars, run by its streaming engine."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from dpmic.errors import DependencyError
from dpmic.frames.streams.base import Batch, LocalStream, attempted, guarded

__all__ = ["Lazy", "opened"]

BLAMED = ("a polars LazyFrame", "check its query and what it reads from")

ROWS = 2**16
"""Rows in a batch: polars would hand out millions at a time."""


LEAST = (1, 37)
"""The first version whose batches fail with their query: earlier ones end, and rows are lost."""


def opened(data: Any) -> LocalStream | None:
    """Return the stream of a lazy frame, or None if the object is none."""
    polars = sys.modules.get("polars")
    if not polars or not isinstance(data, polars.LazyFrame):
        return None
    if tuple(map(int, polars.__version__.split(".")[:2])) < LEAST:
        raise DependencyError(
            f"polars {polars.__version__}",
            "when a query fails, it loses rows without an error",
            "pip install 'dpmic[polars]', or pass frame.collect()",
        )
    return Lazy(data, polars)


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
