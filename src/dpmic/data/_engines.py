"""Rows of engines: DuckDB, polars, Dask and Spark. None is imported that is not loaded."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Self

from dpmic.data._streams import (
    ROWS,
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


class EngineRows(Stream):
    """A frame of an engine, which runs its query for each reading."""

    context: tuple[str, str]  # what an error names, and what to do

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns, as text."""
        return tuple(map(str, attempted(self._names, *self.context)))

    def count(self) -> int:
        """Return the number of rows, counted by the engine."""
        return int(attempted(self._count, *self.context))

    def _names(self) -> Iterable[Any]:
        return self._frame.columns  # type: ignore[no-any-return]

    @abstractmethod
    def _count(self) -> Any: ...


class LocalEngineRows(EngineRows, LocalStream):
    """Those of an engine that runs in this process."""

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        for batch in guarded(self._read(columns), *self.context):
            yield Batch(batch)

    @abstractmethod
    def _read(self, columns: Sequence[str]) -> Iterator[Any]: ...


class DuckDBRows(LocalEngineRows):
    """A DuckDB relation, and so any SQL."""

    context = ("a DuckDB relation", "check its query and what it reads from")

    @classmethod
    def of(cls, data: Any) -> Self | None:
        """Return the rows of a relation, or None for anything else."""
        duckdb = sys.modules.get("duckdb")
        return cls(data) if duckdb and isinstance(data, duckdb.DuckDBPyRelation) else None

    def _count(self) -> Any:
        return self._frame.aggregate("count(*)").fetchall()[0][0]

    def _read(self, columns: Sequence[str]) -> Iterator[Any]:
        chosen = self._frame.project(", ".join(_quoted(name, '"') for name in columns))
        # An open reader keeps the connection to itself, also after an error.
        with closing(chosen.to_arrow_reader()) as reader:
            yield from reader


class PolarsRows(LocalEngineRows):
    """A lazy frame of polars, run by its streaming engine."""

    context = ("a polars LazyFrame", "check its query and what it reads from")
    oldest = (1, 37)  # earlier versions lose rows, without an error, where a query fails

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
        return cls(data)

    def _names(self) -> Iterable[Any]:
        return self._frame.collect_schema()  # type: ignore[no-any-return]

    def _count(self) -> Any:
        import polars

        return self._frame.select(polars.len()).collect(engine="streaming").item()

    def _read(self, columns: Sequence[str]) -> Iterator[Any]:
        import polars

        # A name of the form "^...$" would be a pattern, and "*" all columns.
        chosen = self._frame.select(polars.selectors.by_name(*columns))
        yield from chosen.collect_batches(
            chunk_size=ROWS, maintain_order=False, lazy=True, engine="streaming"
        )


class DaskRows(EngineRows):
    """A DataFrame of Dask. Workers do the work on its partitions; only results come home."""

    context = "a Dask DataFrame", "check what it is computed from, and that its workers have dpmic"
    added = 8  # results that are added together, wherever a worker is free, until one is left

    @classmethod
    def of(cls, data: Any) -> Self | None:
        """Return the rows of a Dask DataFrame, or None for anything else."""
        dask = sys.modules.get("dask.dataframe")
        return cls(data) if dask and isinstance(data, dask.DataFrame) else None

    def _count(self) -> Any:
        return len(self._frame)

    def _fold(self, columns: Sequence[str], work: Work[Part]) -> Iterator[Part]:
        packed = attempted(lambda: self._run(columns, work).compute(), *self.context)
        yield unpack(packed["part"].iloc[0])

    def _run(self, columns: Sequence[str], work: Work[Part]) -> Any:
        labels = [self._frame.columns[self.names.index(name)] for name in columns]
        return self._frame[labels].reduction(
            partial(_dask_partition, list(columns), work),
            aggregate=_dask_sum,
            combine=_dask_sum,
            meta=_cell(b"").iloc[:0],
            split_every=self.added,
        )


def _dask_partition(columns: list[str], work: Work[Any], frame: Any) -> Any:
    """Do the work on one partition, which Dask hands over as a pandas frame."""
    named = frame.set_axis(columns, axis=1)
    return _cell(pack(work, iter([Batch(named)])))


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


class SparkRows(EngineRows):
    """A DataFrame of pyspark, classic or of Spark Connect; workers do the work where rows are."""

    context = ("a Spark DataFrame", "check its query, and that its workers can import dpmic")

    @classmethod
    def of(cls, data: Any) -> Self | None:
        """Return the rows of a Spark DataFrame, or None for anything else."""
        kind = type(data)
        spark = kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")
        return cls(data) if spark else None

    def _count(self) -> Any:
        return self._frame.count()

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

    To hold its limit of bytes Spark weighs the batch after each row, which takes longer
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
            yield Batch(pa.Table.from_batches(group).rename_columns(columns))
            group = []
    if group:
        yield Batch(pa.Table.from_batches(group).rename_columns(columns))


def _quoted(name: str, mark: str) -> str:
    """Write a name for a query; a mark in it stands twice."""
    return mark + name.replace(mark, mark * 2) + mark
