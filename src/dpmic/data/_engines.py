"""Rows of engines: DuckDB, polars, Dask and Spark. No engine is imported that is not in use."""

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
    """A frame of an engine, which runs its query each time the rows are read."""

    context: tuple[str, str]  # for errors: a name, and a remedy

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(map(str, attempted(self._names, *self.context)))

    def count(self) -> int:
        """Return the number of rows, counted by the engine."""
        return int(attempted(self._count, *self.context))

    def _names(self) -> Iterable[Any]:
        return self._frame.columns  # type: ignore[no-any-return]

    @abstractmethod
    def _count(self) -> Any: ...


class LocalEngineRows(EngineRows, LocalStream):
    """Rows of an engine that runs in this process."""

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        for batch in guarded(self._read(columns), *self.context):
            yield Batch(batch)

    @abstractmethod
    def _read(self, columns: Sequence[str]) -> Iterator[Any]: ...


class DuckDBRows(LocalEngineRows):
    """A DuckDB relation, and so the result of any SQL."""

    context = ("a DuckDB relation", "check its query and its sources")

    @classmethod
    def of(cls, data: Any) -> Self | None:
        """Return the rows of a relation, or None for anything else."""
        duckdb = sys.modules.get("duckdb")
        return cls(data) if duckdb and isinstance(data, duckdb.DuckDBPyRelation) else None

    def _count(self) -> Any:
        return self._frame.aggregate("count(*)").fetchall()[0][0]

    def _read(self, columns: Sequence[str]) -> Iterator[Any]:
        chosen = self._frame.project(", ".join(_quoted(name, '"') for name in columns))
        # An open reader blocks the connection, even after an error.
        with closing(chosen.to_arrow_reader()) as reader:
            yield from reader


class PolarsRows(LocalEngineRows):
    """A polars LazyFrame, run by polars's streaming engine."""

    context = ("a polars LazyFrame", "check its query and its sources")
    oldest = (1, 37)  # earlier versions silently lose rows when a query fails

    @classmethod
    def of(cls, data: Any) -> Self | None:
        """Return the rows of a lazy frame, or None for anything else."""
        polars = sys.modules.get("polars")
        if not polars or not isinstance(data, polars.LazyFrame):
            return None
        if tuple(map(int, polars.__version__.split(".")[:2])) < cls.oldest:
            raise DependencyError(
                f"polars {polars.__version__}",
                "this version silently loses rows when a query fails",
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

        # polars would take "^...$" for a pattern, and "*" for all columns.
        chosen = self._frame.select(polars.selectors.by_name(*columns))
        yield from chosen.collect_batches(
            chunk_size=ROWS, maintain_order=False, lazy=True, engine="streaming"
        )


class DaskRows(EngineRows):
    """A Dask DataFrame. Workers process its partitions, and only results are sent back."""

    context = "a Dask DataFrame", "check its sources, and that its workers have dpmic"
    added = 8  # results that one task adds up; repeated until one is left

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
    """Process one partition, which Dask passes as a pandas frame."""
    named = frame.set_axis(columns, axis=1)
    return _cell(pack(work, iter([Batch(named)])))


def _dask_sum(parts: Any) -> Any:
    """Add up some results."""
    return _cell(add_packed(parts["part"]))


def _cell(packed: bytes) -> Any:
    """Return a frame with one cell."""
    import pandas as pd

    return pd.DataFrame({"part": pd.Series([packed], dtype=object)})


PIECE = 2**14
"""Bytes of a result per row: ROWS such rows are half the limit of an Arrow batch."""

MOST_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
MOST_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
NO_LIMIT = 2**31 - 1


class SparkRows(EngineRows):
    """A Spark DataFrame, classic or Spark Connect; workers process rows where they are."""

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
        # Rename columns: mapInArrow would take "a.b" for a field, and "*" for all columns.
        plain = (f"{_quoted(name, '`')} AS c{i}" for i, name in enumerate(columns))
        chosen = self._frame.selectExpr(*plain)
        pieces = chosen.mapInArrow(
            _spark_partition(list(columns), work), "start long, piece binary"
        )
        # A worker adds the results, so the driver never holds those of all partitions at once.
        marked = pieces.selectExpr("spark_partition_id() AS part", "*").repartition(1)
        in_order = marked.sortWithinPartitions("part", "start")
        with _unweighed(self._frame.sparkSession.conf):
            yield from in_order.mapInArrow(_spark_sum, "total binary").toLocalIterator()


@contextmanager
def _unweighed(settings: Any) -> Iterator[None]:
    """Limit Spark's batches by number of rows alone while dpmic's query runs.

    To enforce a limit in bytes, Spark measures the batch after each row, which takes longer than
    everything else (docs/speed.md). A limit that the user set for the session is kept; so is
    Spark's own if batches may have more rows, because the rows at the end are pieces of results.
    """
    lifted = False
    try:
        with suppress(Exception):  # some platforms allow no settings; counting is then slower
            lifted = MOST_BYTES not in settings.getAll and 0 < int(settings.get(MOST_ROWS)) <= ROWS
            if lifted:
                settings.set(MOST_BYTES, NO_LIMIT)
        yield
    finally:
        if lifted:
            with suppress(Exception):  # the session may have ended
                settings.unset(MOST_BYTES)


def _spark_partition(
    columns: list[str], work: Work[Any]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the function that Spark calls on the record batches of each partition."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        packed = pack(work, _grouped(batches, columns))
        for start in range(0, len(packed), PIECE):
            piece = pa.array([packed[start : start + PIECE]], pa.binary())
            yield pa.record_batch([pa.array([start]), piece], names=["start", "piece"])

    return run


def _spark_sum(batches: Iterator[Any]) -> Iterator[Any]:
    """Reassemble the results of all partitions, and add them."""
    import pyarrow as pa

    rows = (row for batch in batches for row in batch.to_pylist())
    parts = (b"".join(row["piece"] for row in own) for _, own in groupby(rows, itemgetter("part")))
    first = next(parts, None)
    if first is not None:
        total = add_packed(chain([first], parts))
        yield pa.record_batch([pa.array([total], pa.binary())], names=["total"])


def _grouped(batches: Iterator[Any], columns: list[str]) -> Iterator[Batch]:
    """Yield tables that join several small batches, with the names of their columns."""
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
    """Quote a name for a query, doubling any quotation mark in it."""
    return mark + name.replace(mark, mark * 2) + mark
