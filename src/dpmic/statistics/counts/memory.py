"""Counts of records held in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpmic import _kernels
from dpmic.statistics.grids import Axis, Edges, Layout, MassAxis, Step

__all__ = [
    "ClumpedRecords",
    "Columns",
    "Counted",
    "Cut",
    "Masters",
    "Records",
    "narrowed",
]


MOST_TABLED = 2**20
"""Records up to which f(m) = m log2 m is looked up, in a table of 8 MB; above it is computed."""


def narrowed(table: NDArray[np.int64], n: int) -> NDArray[Any]:
    """Return counts of n records for the kernel, in 32 bits, unless f is to be computed of them."""
    return np.ascontiguousarray(table, np.int32) if n <= MOST_TABLED else table


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts on (fixed part, master part), and the edges of both partitions in atoms."""

    table: NDArray[Any]
    fixed_edges: Edges
    free_edges: Edges


class Columns(NamedTuple):
    """Axes cut into the columns of every step, for the kernel.

    Steps of one group share a table of counts on the union of their cuts: ``parts[axis, group]``
    is the part of each record in it, ``sizes[axis, group]`` the number of parts. The columns of
    step i are ``edges[axis, offsets[axis, i] : offsets[axis, i + 1]]``, in such parts.
    """

    parts: NDArray[np.int32]
    sizes: NDArray[np.int64]
    edges: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @classmethod
    def cut(cls, axes: Sequence[Axis], plan: Layout) -> Columns:
        """Cut axes, once for all pairs that they take part in."""
        cut = [_united(axis, plan.columns, plan.starts, masters=False) for axis in axes]
        return cls(*map(_stacked, zip(*cut, strict=True)))


class Masters(NamedTuple):
    """Axes cut into the master of every group: the part of each record, and how many there are."""

    parts: NDArray[np.int32]
    sizes: NDArray[np.int64]

    @classmethod
    def cut(cls, axes: Sequence[Axis], plan: Layout) -> Masters:
        """Cut axes, once for all pairs that they take part in."""
        each = np.arange(len(plan.masters) + 1)
        cut = [_united(axis, plan.masters, each, masters=True) for axis in axes]
        return cls(*map(_stacked, list(zip(*cut, strict=True))[:2]))


class Cut(NamedTuple):
    """Axes cut both ways, once for all pairs that they take part in."""

    columns: Columns
    masters: Masters


def _united(axis: Axis, sizes: tuple[float, ...], starts: Edges, *, masters: bool) -> Any:
    """Cut one axis by the union of each group's partitions: parts, sizes, edges and offsets."""
    edges, offsets = axis.partitions(sizes, masters=masters)
    return *_kernels.counting.unite(edges, offsets, starts, axis.atoms), offsets


def _stacked(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Put arrays on top of each other; where their last axes differ, zeros fill up."""
    if len(arrays) == 1:
        return arrays[0][None]
    longest = max(array.shape[-1] for array in arrays)
    stack = np.zeros((len(arrays), *arrays[0].shape[:-1], longest), arrays[0].dtype)
    for place, array in zip(stack, arrays, strict=True):
        place[..., : array.shape[-1]] = array
    return stack


@dataclass(frozen=True)
class Records:
    """Records on two axes, one to be cut into fixed columns and one to be searched."""

    shared: ClassVar[bool] = True
    """Whether the masters do not depend on the columns, so that steps can share a table."""

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

    shared = False

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
