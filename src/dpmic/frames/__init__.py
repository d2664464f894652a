"""Any input to arrays. The only package that knows narwhals."""

from dpmic.frames.columns import LEAST_RECORDS, column
from dpmic.frames.tables import Missing, Pair, Source, find, first_rows, pair, read, table

__all__ = [
    "LEAST_RECORDS",
    "Missing",
    "Pair",
    "Source",
    "column",
    "find",
    "first_rows",
    "pair",
    "read",
    "table",
]
