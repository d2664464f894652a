"""DuckDB relations, and so any SQL."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from dpmic.frames.streams.base import Batch, LocalStream, attempted, guarded

__all__ = ["Relation", "opened"]

BLAMED = ("a DuckDB relation", "check its query and what it reads from")


def opened(data: Any) -> LocalStream | None:
    """Return the stream of a relation, or None if the object is none."""
    duckdb = sys.modules.get("duckdb")
    return Relation(data) if duckdb and isinstance(data, duckdb.DuckDBPyRelation) else None


class Relation(LocalStream):
    """What a query gives; DuckDB runs it for each reading."""

    def __init__(self, relation: Any) -> None:
        self._relation = relation

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(attempted(lambda: self._relation.columns, *BLAMED))

    def count(self) -> int:
        """Return the number of rows, counted by DuckDB."""
        counted = attempted(lambda: self._relation.aggregate("count(*)").fetchall(), *BLAMED)
        return int(counted[0][0])

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        for batch in guarded(self._read(columns), *BLAMED):
            yield Batch(batch, None)

    def _read(self, columns: Sequence[str]) -> Iterator[Any]:
        chosen = self._relation.project(", ".join(map(_quoted, columns)))
        # An open reader keeps the connection to itself, also after an error.
        with contextlib.closing(chosen.to_arrow_reader()) as reader:
            yield from reader


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
