"""From records on two axes of atoms to counts in the cells of a grid.

A partition is the array of its edges: part i holds the atoms edges[i] to edges[i + 1] - 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmic._kernels._compile import compiled

__all__ = ["clumps", "count", "part_of"]

Edges = NDArray[np.int64]


@compiled
def part_of(edges: Edges) -> NDArray[np.int32]:
    """Return the part that each atom lies in."""
    part = np.empty(edges[-1], np.int32)
    for i in range(edges.size - 1):
        part[edges[i] : edges[i + 1]] = i
    return part


@compiled
def count(
    fixed_atoms: NDArray[np.int32],
    free_atoms: NDArray[np.int32],
    fixed_edges: Edges,
    free_edges: Edges,
) -> NDArray[np.int32]:
    """Count the records in each cell of (fixed part, master part of the free axis)."""
    column, row = part_of(fixed_edges), part_of(free_edges)
    counts = np.zeros((fixed_edges.size - 1, free_edges.size - 1), np.int32)
    for record in range(fixed_atoms.size):
        counts[column[fixed_atoms[record]], row[free_atoms[record]]] += 1
    return counts


@compiled
def clumps(
    free_atoms: NDArray[np.int32], fixed_atoms: NDArray[np.int32], fixed_edges: Edges, atoms: int
) -> Edges:
    """Merge the neighbouring atoms of the free axis that lie in one and the same fixed part.

    An atom with records in several fixed parts is a clump of its own (Reshef et al. 2011,
    GetClumpsPartition).
    """
    fixed_part = part_of(fixed_edges)
    home = np.full(atoms, -1, np.int32)  # -1: not seen, -2: mixed
    for record in range(free_atoms.size):
        atom, part = free_atoms[record], fixed_part[fixed_atoms[record]]
        if home[atom] == -1:
            home[atom] = part
        elif home[atom] != part:
            home[atom] = -2
    edges = np.empty(atoms + 1, np.int64)
    edges[0] = 0
    closed = 0
    for atom in range(1, atoms):
        if home[atom] == -2 or home[atom] != home[atom - 1]:
            closed += 1
            edges[closed] = atom
    edges[closed + 1] = atoms
    return edges[: closed + 2].copy()
