"""MINE statistics of a table of counts."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpmic._validate import Bounds, Limits
from dpmic.statistics.characteristic import Search
from dpmic.statistics.counts.histogram import TableRecords, cell_edges
from dpmic.statistics.grids import steps

__all__ = ["table_limits", "table_search"]


def table_limits(B: float, m: int) -> Limits:
    """Return the grids of at most B cells and m columns whose master is every cell of m."""
    return Limits(B, math.inf, "reshef", m)


def table_search(table: NDArray[np.int64], bounds: Bounds, limits: Limits) -> Search:
    """Return the search of MICe for records in m x m cells [column on x, row on y].

    Records of one column or row of cells stay together, as tied values do.
    """
    x, y = cell_edges(bounds, table.shape[0])
    by_x = TableRecords.of(table, (x[:-1], y[:-1]))
    return Search(by_x, by_x.turned(), steps(limits))
