"""From counts to a characteristic matrix and the best grid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic import _kernels
from dpmic.results import Grid
from dpmic.statistics import large
from dpmic.statistics.counts.memory import Columns, Cut, Masters, Records
from dpmic.statistics.grids import Layout, Steps

__all__ = ["Search", "information", "normalised", "xlogx_table"]

Floats = NDArray[np.float64]

AT_ONCE = 2**21
"""Parts of records, over all groups of steps, that are held at a time: 16 MB for both axes."""

ALONE = np.zeros((1, 2), np.int64)
"""The only pair of one axis and one axis."""

TIE = 1e-12
"""Entries this close to the largest count as equal to it: float64 cannot tell them apart."""


@dataclass(frozen=True)
class Search:
    """Everything that determines a characteristic matrix.

    Entry (k, l) is the largest mutual information of a grid of k rows on y and l columns on x,
    divided by log2 min(k, l). Each step fixes the columns of one axis and searches rows on the
    other, once for each of the two orientations.

    Parameters
    ----------
    by_x, by_y : Records
        The records with x cut into fixed columns, and with y.
    steps : Steps
        The runs to make.
    """

    by_x: Records
    by_y: Records
    steps: Steps

    @property
    def n(self) -> int:
        """The number of records."""
        return self.by_x.n

    def matrix(self) -> Floats:
        """Return the matrix; entry [k - 2, l - 2] is NaN where k * l exceeds B."""
        return self.merge(*self._both())

    def run(self) -> tuple[Floats, Grid]:
        """Return the matrix and the grid of its largest entry.

        Of equal largest entries the grid with the fewest cells is taken.
        """
        first, second = self._both()
        matrix = self.merge(first, second)
        k, l = _smallest_best(matrix)
        if first[k - 2, l - 2] == matrix[k - 2, l - 2]:
            x, y = self._cuts(self.by_x, columns=l, rows=k)
        else:
            y, x = self._cuts(self.by_y, columns=k, rows=l)
        return matrix, Grid(k=k, l=l, x=tuple(x.tolist()), y=tuple(y.tolist()))

    def _both(self) -> tuple[Floats, Floats]:
        """Return the entries [rows of y - 2, columns of x - 2] found with x, and with y, fixed."""
        size = len(self.steps)
        bits, columns = np.full((2, size, size), np.nan), np.empty((2, size), np.int64)
        (self._by_group if self.by_x.shared else self._one_by_one)(bits, columns)
        # Rounding may leave [0, 1] by a unit in the last place.
        by_x, by_y = (
            np.clip(own / np.log2(self.parts(cut)), 0.0, 1.0)
            for own, cut in zip(bits, columns, strict=True)
        )
        return by_x, by_y.T

    def merge(self, by_x: Floats, by_y: Floats) -> Floats:
        """Take the larger of two entries, so that x and y may be exchanged."""
        return np.fmax(by_x, by_y)

    def parts(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return min(k, l), whose logarithm normalises the entry [k - 2, l - 2].

        Ties can leave fewer than l ``columns``, and fewer than k rows; the others are then
        empty, and count.
        """
        sizes = np.arange(2, columns.size + 2)
        return np.minimum(sizes, sizes[:, None])

    def _by_group(self, bits: Floats, columns: NDArray[np.int64]) -> None:
        """Set the information [orientation, rows - 2, step] and the columns of every step."""
        most = max(AT_ONCE // self.n, 1)
        whole = len(self.steps) <= most
        for plan in (self.steps.layout,) if whole else self.steps.layouts(most):
            left = Cut(Columns.cut([self.by_x.fixed], plan), Masters.cut([self.by_y.free], plan))
            right = Cut(Columns.cut([self.by_y.fixed], plan), Masters.cut([self.by_x.free], plan))
            information(left, right, ALONE, plan, bits[:, None], self.n)
            for own, cut in zip(columns, (left, right), strict=True):
                offsets = cut.columns.offsets[0]
                own[plan.order] = offsets[1:] - offsets[:-1] - 1

    def _one_by_one(self, bits: Floats, columns: NDArray[np.int64]) -> None:
        """Do the same with a table of counts for every step."""
        for turn, records in enumerate((self.by_x, self.by_y)):
            for i, step in enumerate(self.steps):
                table = records.count(step).table
                columns[turn, i] = table.shape[0]
                found = self._information(table, step.rows)
                bits[turn, : step.rows - 1, i] = found[2:]

    def _information(self, table: NDArray[Any], rows: int) -> Floats:
        """Search one step; counts of 64 bits are too large for a table of f."""
        if table.dtype == np.int64:
            return large.information(table, rows)
        found: Floats = _kernels.tiled.information(table, rows, xlogx_table(self.n))
        return found

    def _cuts(self, records: Records, *, columns: int, rows: int) -> tuple[Floats, Floats]:
        """Search one step again, for the cuts of the fixed and of the searched axis."""
        counted = records.count(self.steps[columns - 2])
        if counted.table.dtype == np.int64:
            chosen = large.trace(counted.table, rows)
        else:
            chosen = _kernels.segmentation.trace(counted.table, rows, xlogx_table(self.n))
        searched = records.free.cuts(counted.free_edges[chosen])
        return records.fixed.cuts(counted.fixed_edges), searched


def information(
    left: Cut, right: Cut, pairs: NDArray[np.int64], plan: Layout, bits: Floats, n: int
) -> None:
    """Set the information [orientation, pair, rows - 2, step] of the steps of a layout.

    No grid has more rows than its step allows; there ``bits`` keep what they are.
    """
    found = _kernels.tiled.entries(left, right, pairs, plan.starts, plan.rows, xlogx_table(n))
    step, rows = plan.entries
    bits[:, :, rows - 2, plan.order[step]] = found[:, :, step, rows]


def normalised(bits: Floats) -> Floats:
    """Return the equicharacteristic matrices [pair, rows - 2, columns - 2] of information.

    The larger of both orientations, so that x and y may be exchanged.
    """
    parts = np.arange(2, bits.shape[-1] + 2)
    entries = np.clip(bits / np.log2(np.minimum(parts, parts[:, None])), 0.0, 1.0)
    merged: Floats = np.fmax(entries[0], entries[1].swapaxes(1, 2))
    return merged


def _smallest_best(matrix: Floats) -> tuple[int, int]:
    """Return (k, l) of the largest entry; of nearly equal ones, that with the fewest cells."""
    i, j = np.nonzero(matrix >= np.nanmax(matrix) - TIE)
    fewest = np.lexsort((i, (i + 2) * (j + 2)))[0]
    return int(i[fewest]) + 2, int(j[fewest]) + 2


@lru_cache(maxsize=8)
def xlogx_table(n: int) -> Floats:
    """Return the table of f(m) = m log2 m for m = 0 .. n."""
    m = np.arange(n + 1, dtype=np.float64)
    m[1:] *= np.log2(m[1:])  # as large.f has it, in half the memory
    m.setflags(write=False)
    return m
