"""Any input to arrays. The only package that knows narwhals."""

from dpmic.frames.columns import LEAST_RECORDS, column
from dpmic.frames.tables import Missing, Pair, first_rows, length, names_of, pair, table

__all__ = [
    "LEAST_RECORDS",
    "Missing",
    "Pair",
    "column",
    "first_rows",
    "length",
    "names_of",
    "pair",
    "table",
]
