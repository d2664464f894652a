"""Rows that come in parts, from wherever they are. No engine is imported that is not loaded."""

from __future__ import annotations

import sys
from typing import Any

from dpmic.frames.streams import batches, dask, duckdb, files, polars, spark
from dpmic.frames.streams.base import Batch, Stream

__all__ = ["Batch", "Stream", "stream"]

KINDS = (files.opened, duckdb.opened, polars.opened, spark.opened, dask.opened, batches.opened)


def stream(data: Any) -> Stream | None:
    """Return the rows of files, of an engine or of an iterator, which come in parts.

    Parameters
    ----------
    data : object
        An iterator of pyarrow record batches or tables, or a list of them; a RecordBatchReader; a
        pyarrow dataset; the path of a Parquet, CSV, TSV, Feather or Arrow file, several, or a
        folder of them; a DuckDB relation; a polars LazyFrame; a Spark or Dask DataFrame.

    Returns
    -------
    Stream or None
        None of what is no stream, such as an eager frame or an array.

    Raises
    ------
    UnreadableError
        If files cannot be opened.

    Examples
    --------
    >>> import pyarrow
    >>> rows = stream(pyarrow.table({"x": x}) for x in ([1, 2], [3]))
    >>> rows.names, rows.once
    (('x',), True)
    >>> list(rows.fold(["x"], lambda batches: sum(len(batch.data) for batch in batches)))
    [3]
    """
    native = data
    if narwhals := sys.modules.get("narwhals"):
        native = narwhals.to_native(data, pass_through=True)
    opened = (kind(native) for kind in KINDS)
    return next((found for found in opened if found is not None), None)
