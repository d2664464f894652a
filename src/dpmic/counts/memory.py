"""Counts of records held in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmic import _kernels
from dpmic.grids import Axis, Edges, MassAxis, Step

__all__ = ["ClumpedRecords", "Counted", "Records"]


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts on (fixed part, master part), and the edges of both partitions in atoms."""

    table: NDArray[np.int32]
    fixed_edges: Edges
    free_edges: Edges


@dataclass(frozen=True)
class Records:
    """Records on two axes, one to be cut into fixed columns and one to be searched."""

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
        table = _kernels.counting.count(self.fixed.atoms, self.free.atoms, fixed_edges, free_edges)
        return Counted(table, fixed_edges, free_edges)


@dataclass(frozen=True)
class ClumpedRecords(Records):
    """Records whose master starts from clumps instead of atoms (Reshef et al. 2011).

    Runs of records in one fixed part merge into clumps, and clumps into at most ``step.master``
    superclumps; so this master depends on the fixed axis.
    """

    fixed: MassAxis
    free: MassAxis

    def count(self, step: Step) -> Counted:
        """Count the records on the grid of one step."""
        fixed_edges, atoms = self.fixed.columns(step.columns), self.free.ends.size - 1
        edges: Edges = _kernels.counting.clumps(
            self.free.atoms, self.fixed.atoms, fixed_edges, atoms
        )
        if edges.size - 1 > step.master:
            edges = self.free.merge(edges, int(step.master))
        return self._count(fixed_edges, edges)
