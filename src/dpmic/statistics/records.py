"""Records on two axes, and their counts on the grid of one step.

The records are in memory, or known only by their counts in the cells of a histogram. Those of a
count table are in :mod:`dpmic.statistics.fixed_grids`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpmic import _kernels
from dpmic._validate import Bounds
from dpmic.statistics.grids import Axis, Edges, Layout, MassAxis, Step, range_cuts

Floats = NDArray[np.float64]

MOST_TABLED = 2**20
"""Up to so many records, f(m) = m log2 m is looked up, in a table of 8 MB; above, computed."""


def narrowed(table: NDArray[np.int64], n: int) -> NDArray[Any]:
    """Return counts of n records in 32 bits for the kernel, unless f has to be computed."""
    return np.ascontiguousarray(table, np.int32) if n <= MOST_TABLED else table


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts on (fixed part, master part), and the edges of both partitions in atoms."""

    table: NDArray[Any]
    fixed_edges: Edges
    free_edges: Edges


@dataclass(frozen=True)
class Records:
    """Records on two axes, one cut into fixed columns and one to be searched."""

    shared: ClassVar[bool] = True
    """Whether masters do not depend on the columns, so that steps can share a table."""

    fixed: Axis
    free: Axis

    @property
    def n(self) -> int:
        """The number of records."""
        return self.fixed.atoms.size

    def count(self, step: Step) -> Counted:
        """Count the records on the grid of one step."""
        return self._count(self.fixed.columns(step.columns), self.free.master(step.master))

    def _count(self, fixed_edges: Edges, free_edges: Edges) -> Counted:
        table = _kernels.count(self.fixed.atoms, self.free.atoms, fixed_edges, free_edges)
        return Counted(table, fixed_edges, free_edges)


@dataclass(frozen=True)
class ClumpedRecords(Records):
    """Records whose master starts from clumps instead of atoms (Reshef et al. 2011).

    Runs of records in one fixed part merge into clumps, and clumps into at most ``step.master``
    superclumps. So this master depends on the fixed axis.
    """

    shared = False

    fixed: MassAxis
    free: MassAxis

    def count(self, step: Step) -> Counted:
        """Count the records on the grid of one step."""
        fixed_edges, atoms = self.fixed.columns(step.columns), self.free.ends.size - 1
        edges: Edges = _kernels.clumps(self.free.atoms, self.fixed.atoms, fixed_edges, atoms)
        if edges.size - 1 > step.master:
            edges = self.free.merge(edges, int(step.master))
        return self._count(fixed_edges, edges)


@dataclass(frozen=True)
class HistogramRecords(Records):
    """Records known only by their counts in cells [fixed atom, free atom]."""

    shared = False  # a histogram is small enough to merge again for every step

    fixed: MassAxis
    free: MassAxis
    table: NDArray[np.int64]

    @classmethod
    def of(cls, table: NDArray[np.int64], bounds: Bounds) -> HistogramRecords:
        """Take the non-empty cells of each axis, out of m x m of equal width, as its atoms."""
        used = table.any(axis=1), table.any(axis=0)
        inner = table[np.ix_(*used)]
        weights = inner.sum(1), inner.sum(0)
        fixed, free = (
            MassAxis(np.zeros(0, np.int32), edges[:-1][own], np.concatenate(([0], np.cumsum(w))))
            for edges, own, w in zip(cell_edges(bounds, len(table)), used, weights, strict=True)
        )
        return cls(fixed, free, inner)

    @property
    def n(self) -> int:
        """The number of records."""
        return int(self.table.sum())

    def transposed(self) -> HistogramRecords:
        """Exchange the two axes."""
        return HistogramRecords(self.free, self.fixed, self.table.T)

    def _count(self, fixed_edges: Edges, free_edges: Edges) -> Counted:
        columns = np.add.reduceat(self.table, fixed_edges[:-1], axis=0)
        cells = np.add.reduceat(columns, free_edges[:-1], axis=1)
        return Counted(narrowed(cells, self.n), fixed_edges, free_edges)


def cell_counts(x: Floats, y: Floats, bounds: Bounds, m: int) -> NDArray[np.int64]:
    """Count records in m x m cells of equal width, [column on x, row on y].

    The cell of a record depends only on that record. Values outside the bounds go to the outermost
    cells.
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


def largest_first(counts: NDArray[np.integer[Any]], n: int) -> NDArray[np.int64]:
    """Return integers that add up to n, from noisy counts of n records.

    Noise fills empty cells, so non-negative noisy counts usually add up to more than n. Small
    counts are the likeliest to be pure noise. So the largest counts are kept until they add up to
    n, and the rest are emptied: among all tables below the counts, this one has the fewest occupied
    cells. Cells that tie for the last place share what is left. If the counts add up to less than
    n, all cells are raised by the same amount, which gives the nearest such table.
    """
    values = np.asarray(counts, np.int64).ravel()
    rest = n - int(values.sum())
    if rest >= 0:
        return (values + _split(rest, values.size)).reshape(counts.shape)
    falling = np.sort(values)[::-1]
    last = falling[np.searchsorted(np.cumsum(falling), n)]
    kept = np.where(values > last, values, 0)
    tied = values == last
    kept[tied] = _split(n - int(kept.sum()), int(tied.sum()))
    return kept.reshape(counts.shape)


def _split(total: int, parts: int) -> NDArray[np.int64]:
    """Split an integer into nearly equal integers."""
    return total // parts + (np.arange(parts) < total % parts)


class Columns(NamedTuple):
    """Axes cut into the columns of every step, for the kernel.

    The steps of a group share a table of counts on the common refinement of their columns:
    ``parts[axis, group]`` is the part of each record in it, ``sizes[axis, group]`` the number of
    parts. The columns of step i are ``edges[axis, offsets[axis, i] : offsets[axis, i + 1]]``,
    counted in these parts.
    """

    parts: NDArray[np.int32]
    sizes: NDArray[np.int64]
    edges: NDArray[np.int32]
    offsets: NDArray[np.int64]


class Masters(NamedTuple):
    """Axes cut into the master of every group: the part of each record, and the number of parts."""

    parts: NDArray[np.int32]
    sizes: NDArray[np.int64]


class CutAxes(NamedTuple):
    """Axes cut into columns and into masters, once for all their pairs."""

    columns: Columns
    masters: Masters

    @classmethod
    def of(cls, axes: Sequence[Axis], layout: Layout) -> CutAxes:
        """Cut axes for every step of a layout."""
        columns = [_refined(axis, layout.columns, layout.starts, masters=False) for axis in axes]
        each = np.arange(len(layout.masters) + 1)
        masters = [_refined(axis.free, layout.masters, each, masters=True)[:2] for axis in axes]
        return cls(
            Columns(*map(_stacked, zip(*columns, strict=True))),
            Masters(*map(_stacked, zip(*masters, strict=True))),
        )


class RankedAxes(NamedTuple):
    """Axes by mass of the same records, for the kernel that merges clumps.

    ``atoms[axis]`` are the ranks of the records, ``order[axis]`` sorts the records by them, and
    ``ends[axis, : sizes[axis] + 1]`` are the numbers of records before each rank, and of all.
    """

    atoms: NDArray[np.int32]
    order: NDArray[np.int64]
    ends: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def ranked(cls, table: Floats) -> RankedAxes:
        """Rank each row of a table."""
        return cls(*_kernels.rank_rows(table))

    @classmethod
    def of(cls, axes: Sequence[MassAxis]) -> RankedAxes:
        """Stack axes."""
        return cls.ranked(np.stack([axis.atoms for axis in axes]).astype(np.float64))


def _refined(axis: Axis, sizes: tuple[float, ...], starts: Edges, *, masters: bool) -> Any:
    """Cut an axis by each group's common refinement; return parts, sizes, edges and offsets."""
    edges, offsets = axis.partitions(sizes, masters=masters)
    return *_kernels.refine(edges, offsets, starts, axis.atoms), offsets


def _stacked(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Stack arrays; those with a shorter last axis are padded with zeros."""
    if len(arrays) == 1:
        return arrays[0][None]
    longest = max(array.shape[-1] for array in arrays)
    stack = np.zeros((len(arrays), *arrays[0].shape[:-1], longest), arrays[0].dtype)
    for place, array in zip(stack, arrays, strict=True):
        place[..., : array.shape[-1]] = array
    return stack
