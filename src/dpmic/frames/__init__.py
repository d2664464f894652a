"""Any input to arrays. The only package that knows narwhals."""

from dpmic.frames.bounded import Unlisted, bounded, position
from dpmic.frames.build import Backend, build
from dpmic.frames.columns import LEAST_RECORDS, column
from dpmic.frames.streams import Batch, Stream, stream
from dpmic.frames.tables import (
    Missing,
    Pair,
    Source,
    find,
    find_all,
    first_rows,
    pair,
    read,
    read_all,
    refuse_single,
    series_name,
    table,
)

__all__ = [
    "LEAST_RECORDS",
    "Backend",
    "Batch",
    "Missing",
    "Pair",
    "Source",
    "Stream",
    "Unlisted",
    "bounded",
    "build",
    "column",
    "find",
    "find_all",
    "first_rows",
    "pair",
    "position",
    "read",
    "read_all",
    "refuse_single",
    "series_name",
    "stream",
    "table",
]
