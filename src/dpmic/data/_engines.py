"""Rows of engines: DuckDB, polars, Dask and Spark. None is imported that is not loaded."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Self

from dpmic.data._streams import (
    Batch,
    LocalStream,
    Part,
    Stream,
    Work,
    add_packed,
    attempted,
    guarded,
    pack,
    unpack,
)
from dpmic.errors import DependencyError

__all__ = ["DaskRows", "DuckDBRows", "PolarsRows", "SparkRows"]

ROWS = 2**16
"""Rows in a batch: polars would hand out millions at a time, and Spark 10,000."""


class DuckDBRows(LocalStream):
    """A DuckDB relation, and so any SQL; DuckDB runs it for each reading."""

    context = ("a DuckDB relation", "check its query and what it reads from")

    def __init__(self, relation: Any) -> None:
        self._relation = relation

    @classmethod
    def of(cls, data: Any) -> Self | None:
        """Return the rows of a relation, or None for anything else."""
        duckdb = sys.modules.get("duckdb")
        return cls(data) if duckdb and isinstance(data, duckdb.DuckDBPyRelation) else None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(attempted(lambda: self._relation.columns, *self.context))

    def count(self) -> int:
        """Return the number of rows, counted by DuckDB."""
        counted = attempted(lambda: self._relation.aggregate("count(*)").fetchall(), *self.context)
        return int(counted[0][0])

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        for batch in guarded(self._read(columns), *self.context):
            yield Batch(batch, None)

    def _read(self, columns: Sequence[str]) -> Iterator[Any]:
        chosen = self._relation.project(", ".join(_quoted(name, '"') for name in columns))
        # An open reader keeps the connection to itself, also after an error.
        with contextlib.closing(chosen.to_arrow_reader()) as reader:
            yield from reader


class PolarsRows(LocalStream):
    """A lazy frame of polars, run by its streaming engine for each reading."""

    context = ("a polars LazyFrame", "check its query and what it reads from")
    oldest = (1, 37)  # earlier versions lose rows, without an error, where a query fails

    def __init__(self, frame: Any, polars: Any) -> None:
        self._frame = frame
        self._polars = polars

    @classmethod
    def of(cls, data: Any) -> Self | None:
        """Return the rows of a lazy frame, or None for anything else."""
        polars = sys.modules.get("polars")
        if not polars or not isinstance(data, polars.LazyFrame):
            return None
        if tuple(map(int, polars.__version__.split(".")[:2])) < cls.oldest:
            raise DependencyError(
                f"polars {polars.__version__}",
                "when a query fails, it loses rows without an error",
                "pip install 'dpmic[polars]', or pass frame.collect()",
            )
        return cls(data, polars)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(attempted(self._frame.collect_schema, *self.context).names())

    def count(self) -> int:
        """Return the number of rows, counted by polars."""
        counted = self._frame.select(self._polars.len())
        return int(attempted(lambda: counted.collect(engine="streaming"), *self.context).item())

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        for batch in guarded(self._read(columns), *self.context):
            yield Batch(batch, None)

    def _read(self, columns: Sequence[str]) -> Iterator[Any]:
        # A name of the form "^...$" would be a pattern, and "*" all columns.
        chosen = self._frame.select(self._polars.selectors.by_name(*columns))
        batches = chosen.collect_batches(
            chunk_size=ROWS, maintain_order=False, lazy=True, engine="streaming"
        )
        yield from batches


class DaskRows(Stream):
    """A DataFrame of Dask, which computes it for each reading.

    The work is done where the partitions are, and only its results come home.
    """

    context = (
        "a Dask DataFrame",
        "check what it is computed from, and that its workers have dpmic",
    )
    added = 8  # results that are added together, wherever a worker is free, until one is left

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @classmethod
    def of(cls, data: Any) -> Self | None:
        """Return the rows of a Dask DataFrame, or None for anything else."""
        dask = sys.modules.get("dask.dataframe")
        return cls(data) if dask and isinstance(data, dask.DataFrame) else None

    @property
    def names(self) -> tuple[str, ...]:
        """The labels of all columns, as text."""
        return tuple(map(str, self._frame.columns))

    def count(self) -> int:
        """Return the number of rows, counted by Dask."""
        return int(attempted(lambda: len(self._frame), *self.context))

    def _fold(self, columns: Sequence[str], work: Work[Part]) -> Iterator[Part]:
        packed = attempted(lambda: self._run(columns, work).compute(), *self.context)
        yield unpack(packed["part"].iloc[0])

    def _run(self, columns: Sequence[str], work: Work[Part]) -> Any:
        labels = [self._frame.columns[self.names.index(name)] for name in columns]
        meta = _cell(b"").iloc[:0]
        parts = self._frame[labels].map_partitions(
            _dask_partition, list(columns), work, meta=meta, enforce_metadata=False
        )
        return parts.reduction(
            _same, aggregate=_dask_sum, combine=_dask_sum, meta=meta, split_every=self.added
        )


def _dask_partition(frame: Any, columns: list[str], work: Work[Any]) -> Any:
    """Do the work on one partition, which Dask hands over as a pandas frame."""
    named = frame.set_axis(columns, axis=1)
    return _cell(pack(work, iter([Batch(named, None)])))


def _same(parts: Any) -> Any:
    return parts


def _dask_sum(parts: Any) -> Any:
    """Add some of the results."""
    return _cell(add_packed(parts["part"]))


def _cell(packed: bytes) -> Any:
    """Return a frame of one cell."""
    import pandas as pd

    return pd.DataFrame({"part": pd.Series([packed], dtype=object)})


PIECE = 2**14
"""Bytes of a result that are one row: ROWS of them are half of what a batch of Arrow holds."""

MOST_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
MOST_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
NO_LIMIT = 2**31 - 1


class SparkRows(Stream):
    """A DataFrame of pyspark, classic or of Spark Connect; Spark computes it for each reading.

    The work is done where the rows are, and only its results come home.
    """

    context = ("a Spark DataFrame", "check its query, and that its workers can import dpmic")

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @classmethod
    def of(cls, data: Any) -> Self | None:
        """Return the rows of a Spark DataFrame, or None for anything else."""
        if "pyspark" not in sys.modules:
            return None
        kind = type(data)
        spark = kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")
        return cls(data) if spark else None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(attempted(lambda: self._frame.columns, *self.context))

    def count(self) -> int:
        """Return the number of rows, counted by Spark."""
        return int(attempted(self._frame.count, *self.context))

    def _fold(self, columns: Sequence[str], work: Work[Part]) -> Iterator[Part]:
        for row in guarded(self._run(columns, work), *self.context):
            yield unpack(bytes(row[0]))

    def _run(self, columns: Sequence[str], work: Work[Part]) -> Iterator[Any]:
        # Under plain names: mapInArrow itself would take "a.b" for a field, and "*" for all.
        plain = (f"{_quoted(name, '`')} AS c{i}" for i, name in enumerate(columns))
        chosen = self._frame.selectExpr(*plain)
        pieces = chosen.mapInArrow(
            _spark_partition(list(columns), work), "start long, piece binary"
        )
        # Added by a worker: the driver need not hold the results of all partitions at once.
        marked = pieces.selectExpr("spark_partition_id() AS part", "*").repartition(1)
        in_order = marked.sortWithinPartitions("part", "start")
        with _unweighed(self._frame.sparkSession.conf):
            yield from in_order.mapInArrow(_spark_sum, "total binary").toLocalIterator()


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


def _spark_partition(
    columns: list[str], work: Work[Any]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return what Spark calls for each partition, with an iterator of record batches."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        packed = pack(work, _grouped(batches, columns))
        for start in range(0, len(packed), PIECE):
            piece = pa.array([packed[start : start + PIECE]], pa.binary())
            yield pa.record_batch([pa.array([start]), piece], names=["start", "piece"])

    return run


def _spark_sum(batches: Iterator[Any]) -> Iterator[Any]:
    """Put the results of all partitions together again, and add them."""
    import pyarrow as pa

    rows = (row for batch in batches for row in batch.to_pylist())
    parts = (b"".join(row["piece"] for row in own) for _, own in groupby(rows, itemgetter("part")))
    first = next(parts, None)
    if first is not None:
        total = add_packed(chain([first], parts))
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


def _quoted(name: str, mark: str) -> str:
    """Write a name for a query; a mark in it stands twice."""
    return mark + name.replace(mark, mark * 2) + mark
