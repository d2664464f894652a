"""Counts on equal cells that are fixed beforehand, and grids that are made of these cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic._validate import Bounds
from dpmic.statistics.counts.memory import Counted, Records, narrowed
from dpmic.statistics.grids import Edges, MassAxis, range_cuts

__all__ = ["TableRecords", "cell_counts", "cell_edges", "largest_first"]

Floats = NDArray[np.float64]
Counts = NDArray[np.integer[Any]]


def cell_counts(x: Floats, y: Floats, bounds: Bounds, m: int) -> NDArray[np.int64]:
    """Count records in m x m cells of equal width, [column on x, row on y].

    The cell of a record depends on that record alone; values outside the bounds fall into the
    outermost cells.
    """
    column, row = (
        np.searchsorted(range_cuts(interval, m), values, side="right")
        for values, interval in zip((x, y), bounds, strict=True)
    )
    return np.bincount(column * m + row, minlength=m * m).reshape(m, m)


def cell_edges(bounds: Bounds, m: int) -> tuple[Floats, Floats]:
    """Return the m + 1 edges of the cells on each axis."""
    x, y = (np.concatenate(([low], range_cuts((low, high), m), [high])) for low, high in bounds)
    return x, y


def largest_first(counts: Counts, n: int) -> NDArray[np.int64]:
    """Return whole numbers that add up to n, as noisy counts of n records must.

    Noise fills empty cells, so non-negative noisy counts usually add up to more than n. The
    largest are kept as they are until they add up to n and the others are emptied, because a
    small count is the likeliest to be noise alone: of all tables below the counts this one has
    the fewest cells in use. Cells with the last count that still fits share what is left. Where
    the counts fall short of n, every cell gets the same more, which is the nearest such table.
    """
    values = np.asarray(counts, np.int64).ravel()
    rest = n - int(values.sum())
    if rest >= 0:
        return (values + _shared(rest, values.size)).reshape(counts.shape)
    falling = np.sort(values)[::-1]
    last = falling[np.searchsorted(np.cumsum(falling), n)]
    kept = np.where(values > last, values, 0)
    tied = values == last
    kept[tied] = _shared(n - int(kept.sum()), int(tied.sum()))
    return kept.reshape(counts.shape)


def _shared(total: int, parts: int) -> NDArray[np.int64]:
    """Split a whole number into nearly equal ones."""
    return total // parts + (np.arange(parts) < total % parts)


@dataclass(frozen=True)
class TableRecords(Records):
    """Records of which only their counts in cells [fixed atom, free atom] are known."""

    shared = False  # such a table is small: it is merged anew for every step

    fixed: MassAxis
    free: MassAxis
    table: NDArray[np.int64]

    @classmethod
    def of(cls, table: NDArray[np.int64], starts: tuple[Floats, Floats]) -> TableRecords:
        """Let the cells in use of each axis be its atoms; ``starts`` are all cells' lower ends."""
        used = table.any(axis=1), table.any(axis=0)
        inner = table[np.ix_(*used)]
        fixed, free = (
            MassAxis(np.zeros(0, np.int32), start[own], np.concatenate(([0], np.cumsum(weights))))
            for start, own, weights in zip(starts, used, (inner.sum(1), inner.sum(0)), strict=True)
        )
        return cls(fixed, free, inner)

    @property
    def n(self) -> int:
        """The number of records."""
        return int(self.table.sum())

    def turned(self) -> TableRecords:
        """Exchange the two axes."""
        return TableRecords(self.free, self.fixed, self.table.T)

    def _count(self, fixed_edges: Edges, free_edges: Edges) -> Counted:
        columns = np.add.reduceat(self.table, fixed_edges[:-1], axis=0)
        cells = np.add.reduceat(columns, free_edges[:-1], axis=1)
        return Counted(narrowed(cells, self.n), fixed_edges, free_edges)
