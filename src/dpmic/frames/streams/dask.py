"""Dask DataFrames: the work is done where the partitions are, and only its results come home."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from dpmic.frames.streams.base import (
    Batch,
    Part,
    Stream,
    Work,
    added,
    arrived,
    attempted,
    carried,
)

__all__ = ["DaskRows", "opened"]

BLAMED = ("a Dask DataFrame", "check what it is computed from, and that its workers have dpmic")

ADDED = 8
"""Results that are added together, wherever a worker is free, until one is left."""


def opened(data: Any) -> Stream | None:
    """Return the stream of a Dask DataFrame, or None if the object is none."""
    dask = sys.modules.get("dask.dataframe")
    return DaskRows(data) if dask and isinstance(data, dask.DataFrame) else None


class DaskRows(Stream):
    """A DataFrame of Dask; Dask computes it for each reading."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @property
    def names(self) -> tuple[str, ...]:
        """The labels of all columns, as text."""
        return tuple(map(str, self._frame.columns))

    def count(self) -> int:
        """Return the number of rows, counted by Dask."""
        return int(attempted(lambda: len(self._frame), *BLAMED))

    def _fold(self, columns: Sequence[str], work: Work[Part]) -> Iterator[Part]:
        packed = attempted(lambda: self._run(columns, work).compute(), *BLAMED)
        yield arrived(packed["part"].iloc[0])

    def _run(self, columns: Sequence[str], work: Work[Part]) -> Any:
        labels = [self._frame.columns[self.names.index(name)] for name in columns]
        meta = _row(b"").iloc[:0]
        parts = self._frame[labels].map_partitions(
            _partition, list(columns), work, meta=meta, enforce_metadata=False
        )
        return parts.reduction(_same, aggregate=_sum, combine=_sum, meta=meta, split_every=ADDED)


def _partition(frame: Any, columns: list[str], work: Work[Any]) -> Any:
    """Do the work on one partition, which Dask hands over as a pandas frame."""
    named = frame.set_axis(columns, axis=1)
    return _row(carried(work, iter([Batch(named, None)])))


def _same(parts: Any) -> Any:
    return parts


def _sum(parts: Any) -> Any:
    """Add some of the results."""
    return _row(added(parts["part"]))


def _row(packed: bytes) -> Any:
    """Return a frame of one cell."""
    import pandas as pd

    return pd.DataFrame({"part": pd.Series([packed], dtype=object)})
