"""Spark DataFrames: the work is done where the rows are, and only its results come home."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, groupby
from operator import itemgetter
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
    guarded,
)

__all__ = ["SparkRows", "opened"]

BLAMED = ("a Spark DataFrame", "check its query, and that its workers can import dpmic")

ROWS = 2**16
"""Rows that are handed over together: Spark's own batches have 10,000, if nobody asks for more."""

PIECE = 2**14
"""Bytes of a result that are one row: ROWS of them are half of what a batch of Arrow holds."""

MOST_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
MOST_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
NO_LIMIT = 2**31 - 1


def opened(data: Any) -> Stream | None:
    """Return the stream of a DataFrame, classic or of Spark Connect, or None if it is none."""
    if "pyspark" not in sys.modules:
        return None
    kind = type(data)
    spark = kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")
    return SparkRows(data) if spark else None


class SparkRows(Stream):
    """A DataFrame of pyspark; Spark computes it for each reading."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(attempted(lambda: self._frame.columns, *BLAMED))

    def count(self) -> int:
        """Return the number of rows, counted by Spark."""
        return int(attempted(self._frame.count, *BLAMED))

    def _fold(self, columns: Sequence[str], work: Work[Part]) -> Iterator[Part]:
        for row in guarded(self._run(columns, work), *BLAMED):
            yield arrived(bytes(row[0]))

    def _run(self, columns: Sequence[str], work: Work[Part]) -> Iterator[Any]:
        # Under plain names: mapInArrow itself would take "a.b" for a field, and "*" for all.
        plain = (f"{_quoted(name)} AS c{i}" for i, name in enumerate(columns))
        chosen = self._frame.selectExpr(*plain)
        pieces = chosen.mapInArrow(_partition(list(columns), work), "start long, piece binary")
        # Added by a worker: the driver need not hold the results of all partitions at once.
        marked = pieces.selectExpr("spark_partition_id() AS part", "*").repartition(1)
        whole = marked.sortWithinPartitions("part", "start")
        with _unweighed(self._frame.sparkSession.conf):
            yield from whole.mapInArrow(_sum, "total binary").toLocalIterator()


@contextmanager
def _unweighed(settings: Any) -> Iterator[None]:
    """Let the number of rows alone limit batches, while a query of ours runs.

    To hold its limit of bytes Spark weighs the whole batch after each row, which takes longer
    than all the rest (docs/speed.md). A limit that somebody has set for the session stays, and so
    does Spark's where a batch may have more rows, which are pieces of results at last.
    """
    lifted = False
    try:
        with suppress(Exception):  # a platform may allow no settings: counting takes longer there
            lifted = MOST_BYTES not in settings.getAll and 0 < int(settings.get(MOST_ROWS)) <= ROWS
            if lifted:
                settings.set(MOST_BYTES, NO_LIMIT)
        yield
    finally:
        if lifted:
            with suppress(Exception):  # the session may be gone, and its settings with it
                settings.unset(MOST_BYTES)


def _partition(columns: list[str], work: Work[Any]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return what Spark calls for each partition, with an iterator of record batches."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        packed = carried(work, _grouped(batches, columns))
        for start in range(0, len(packed), PIECE):
            piece = pa.array([packed[start : start + PIECE]], pa.binary())
            yield pa.record_batch([pa.array([start]), piece], names=["start", "piece"])

    return run


def _sum(batches: Iterator[Any]) -> Iterator[Any]:
    """Put the results of all partitions together again, and add them."""
    import pyarrow as pa

    rows = (row for batch in batches for row in batch.to_pylist())
    parts = (b"".join(row["piece"] for row in own) for _, own in groupby(rows, itemgetter("part")))
    first = next(parts, None)
    if first is not None:
        total = added(chain([first], parts))
        yield pa.record_batch([pa.array([total], pa.binary())], names=["total"])


def _grouped(batches: Iterator[Any], columns: list[str]) -> Iterator[Batch]:
    """Yield tables of several small batches, with the names of their columns."""
    import pyarrow as pa

    group: list[Any] = []
    for batch in batches:
        group.append(batch)
        if sum(map(len, group)) >= ROWS:
            yield Batch(pa.Table.from_batches(group).rename_columns(columns), None)
            group = []
    if group:
        yield Batch(pa.Table.from_batches(group).rename_columns(columns), None)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
