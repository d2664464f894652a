"""The cells in which MICr counts records: on grids that are fixed beforehand, so that counts add.

Steps of a search share a table of counts: on the union of their columns, by the union of their
masters. Each table is there in both orientations. A record lies in one cell of each, whose number
is the sum of what its atom on x and its atom on y contribute.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpmic import _kernels
from dpmic._validate import Interval, Limits
from dpmic.statistics.counts import memory
from dpmic.statistics.counts.memory import Counted, Records
from dpmic.statistics.grids import RangeAxis, RangeFamily, Step, Steps, range_family, steps

__all__ = ["CellRecords", "Cells", "Column", "cells"]

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Parts = NDArray[np.int64]

MASTERS = 3
"""Neighbouring masters that share a table: with one each, counting takes twice as long; with all
in one, tables outgrow the caches."""

BUCKETS = 4
"""For each atom, of a guide to it: more save little."""


@dataclass(frozen=True, eq=False)
class Shared:
    """The table of some steps, [columns' part, masters' part]: of each atom, which part it is."""

    steps: frozenset[Step]
    fixed: Parts
    free: Parts

    @classmethod
    def of(cls, own: list[Step], family: RangeFamily) -> Shared:
        """Unite the cuts of some steps."""
        columns = _united((family.edges[step.columns] for step in own), family.atoms)
        masters = _united((family.edges[int(step.master)] for step in own), family.atoms)
        return cls(frozenset(own), columns, masters)

    @property
    def shape(self) -> tuple[int, int]:
        """How many parts there are."""
        return int(self.fixed[-1]) + 1, int(self.free[-1]) + 1

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.shape[0] * self.shape[1]


@dataclass(frozen=True, eq=False)
class Cells:
    """All tables of a search, one after the other: first those with x fixed, then with y.

    Parameters
    ----------
    plan : Steps
        The runs of the search.
    family : RangeFamily
        The partitions of an axis, and its atoms.
    shared : list of Shared
        The tables of one orientation.
    starts : array
        The first cell of each table and, last, the number of cells.
    first, second : (atoms, tables)
        What an atom of the first, and of the second, variable adds to the number of a cell.
    """

    plan: Steps
    family: RangeFamily
    shared: list[Shared]
    starts: NDArray[np.int64]
    first: NDArray[np.int32]
    second: NDArray[np.int32]

    def place(self, step: Step) -> int:
        """Return in which table a step is."""
        return next(i for i, own in enumerate(self.shared) if step in own.steps)

    def table(self, counts: Counts, turn: int, place: int) -> Counts:
        """Return a table; ``turn`` 0: its columns are on x."""
        own, start = self.shared[place], self.starts[turn * len(self.shared) + place]
        return counts[start : start + own.size].reshape(own.shape)


@lru_cache(maxsize=8)
def cells(limits: Limits) -> Cells:
    """Lay out the tables of a search; they do not depend on the bounds."""
    plan = steps(limits)
    family = range_family(plan.sizes)
    masters = sorted({step.master for step in plan})
    groups = [masters[i : i + MASTERS] for i in range(0, len(masters), MASTERS)]
    shared = [Shared.of([step for step in plan if step.master in own], family) for own in groups]
    starts = np.cumsum([0, *(own.size for own in shared * 2)])
    along = [own.fixed * own.shape[1] for own in shared]
    across = [own.free for own in shared]
    half = len(shared)
    first = np.stack([*(a + s for a, s in zip(along, starts[:half], strict=True)), *across], axis=1)
    second = np.stack(
        [*across, *(a + s for a, s in zip(along, starts[half:-1], strict=True))], axis=1
    )
    return Cells(plan, family, shared, starts, first.astype(np.int32), second.astype(np.int32))


def _united(partitions: Iterable[NDArray[np.int64]], atoms: int) -> Parts:
    """Return the part of each atom in the union of some partitions."""
    begins = np.zeros(atoms, bool)
    for edges in partitions:
        begins[edges[1:-1]] = True
    return np.cumsum(begins)


@dataclass(frozen=True, eq=False)
class Column:
    """One variable's cuts, and a guide to them by equal widths: most values are found at once."""

    cuts: Floats
    guide: NDArray[np.int32]
    low: float
    scale: float

    @classmethod
    def of(cls, interval: Interval, family: RangeFamily) -> Column:
        """Draw the cuts of an interval."""
        low, high = interval
        axis = RangeAxis.without_records(interval, frozenset(family.edges))
        buckets = BUCKETS * family.atoms
        begins = low + (high - low) * (np.arange(buckets) / buckets)
        guide = np.searchsorted(axis.refinement, begins, side="right").astype(np.int32)
        with np.errstate(over="ignore"):  # of a very narrow interval: the guide is no help then
            return cls(axis.refinement, guide, low, float(np.float64(buckets) / (high - low)))

    def atoms(self, values: Floats) -> NDArray[np.int32]:
        """Return the atom of each value: the number of cuts at or below it."""
        found: NDArray[np.int32] = _kernels.counting.place(
            values, self.cuts, self.guide, self.low, self.scale
        )
        return found


@dataclass(frozen=True)
class CellRecords(Records):
    """Records of which only the counts of one pair are known, in one orientation."""

    shared = False  # the tables are there

    fixed: RangeAxis
    free: RangeAxis
    cells: Cells
    counts: Counts
    turn: int
    records: int
    _sums: dict[int, Counts] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """The number of records."""
        return self.records

    def _before(self, place: int) -> Counts:
        """Return the counts of all parts before each one of the columns: steps take differences."""
        if place not in self._sums:
            table = self.cells.table(self.counts, self.turn, place)
            self._sums[place] = np.concatenate((np.zeros_like(table[:1]), np.cumsum(table, axis=0)))
        return self._sums[place]

    def count(self, step: Step) -> Counted:
        """Return the counts of one step."""
        place = self.cells.place(step)
        own, sums = self.cells.shared[place], self._before(place)
        columns, master = self.fixed.columns(step.columns), self.free.master(step.master)
        at = np.append(own.fixed[columns[:-1]], own.shape[0])
        table = np.add.reduceat(np.diff(sums[at], axis=0), own.free[master[:-1]], axis=1)
        table = memory.narrowed(table, self.n)
        return Counted(table, columns, master)
