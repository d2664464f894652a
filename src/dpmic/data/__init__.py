"""Read any input as columns or batches. Only this package knows narwhals and engines."""

from __future__ import annotations

import sys
from typing import Any

from dpmic.data._columns import LEAST_RECORDS, OTHER, coded, column, declares_dates
from dpmic.data._dialect import Dialect
from dpmic.data._engines import DaskRows, DuckDBRows, PolarsRows, SparkRows
from dpmic.data._opening import Uploaded, header, is_table, load, open_file, open_files
from dpmic.data._streams import Batch, Batches, Stream
from dpmic.data._tables import (
    Backend,
    Missing,
    Pair,
    Source,
    Unlisted,
    bounded,
    build,
    find,
    find_all,
    first_rows,
    pair,
    position,
    read,
    read_all,
    read_variables,
    refuse_single,
    series_name,
    with_domains,
    with_format,
)
from dpmic.data._variables import Variable, gaps, without_identifiers

__all__ = [
    "LEAST_RECORDS",
    "OTHER",
    "Backend",
    "Batch",
    "Dialect",
    "Missing",
    "Pair",
    "Source",
    "Stream",
    "Unlisted",
    "Uploaded",
    "Variable",
    "bounded",
    "build",
    "coded",
    "column",
    "declares_dates",
    "find",
    "find_all",
    "first_rows",
    "gaps",
    "header",
    "is_table",
    "load",
    "open_file",
    "pair",
    "position",
    "read",
    "read_all",
    "read_variables",
    "refuse_single",
    "series_name",
    "stream",
    "with_domains",
    "with_format",
    "without_identifiers",
]

ENGINES = (DuckDBRows, PolarsRows, SparkRows, DaskRows, Batches)


def stream(data: Any, *, public: bool = False) -> Stream | None:
    """Return data that arrives in parts: files, engines and iterators of batches.

    Parameters
    ----------
    data : object
        An iterator or a list of pyarrow record batches or tables; a RecordBatchReader; a pyarrow
        dataset; a DuckDB relation; a polars LazyFrame; a Spark or Dask DataFrame; or the path
        of a file that :func:`open_file` reads, a list of such paths, or a folder.
    public : bool
        Whether the first records of a text file may be used to find its format
        (docs/decisions/0025). Pass False for data that will be published privately.

    Returns
    -------
    Stream or None
        None if the data are in memory, such as an array or an eager frame.

    Raises
    ------
    UnreadableError
        If a file cannot be opened.

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
    files = open_files(native, public=public)
    if files is not None:
        return files
    if isinstance(native, Stream):
        return native
    found = (engine.of(native) for engine in ENGINES)
    return next((rows for rows in found if rows is not None), None)
