"""From records on two axes of atoms to counts in the cells of a grid.

A partition is the array of its edges: part i holds the atoms edges[i] to edges[i + 1] - 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmic._kernels._compile import compiled, inlined

Edges = NDArray[np.int64]
Parts = NDArray[np.int32]


@inlined
def part_of(edges: Edges) -> NDArray[np.int32]:
    """Return the part that each atom lies in."""
    part = np.empty(edges[-1], np.int32)
    for i in range(edges.size - 1):
        for atom in range(edges[i], edges[i + 1]):
            part[atom] = i
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


@compiled
def refine(
    edges: Edges, offsets: Edges, starts: Edges, atoms: NDArray[np.int32]
) -> tuple[NDArray[np.int32], Edges, NDArray[np.int32]]:
    """Cut records by the common refinement of each group of partitions.

    Partition i is ``edges[offsets[i] : offsets[i + 1]]``, and group g has the partitions
    ``starts[g]`` to ``starts[g + 1] - 1``. Returns the part of each record by group, the number of
    parts by group, and the same edges counted in parts of the refinement.
    """
    groups, last = starts.size - 1, edges[offsets[1] - 1]
    parts = np.empty((groups, atoms.size), np.int32)
    sizes = np.empty(groups, np.int64)
    own = np.empty(edges.size, np.int32)
    place = np.empty(last + 1, np.int32)  # of each edge among those of the refinement
    for g in range(groups):
        first, end = offsets[starts[g]], offsets[starts[g + 1]]
        for atom in range(last + 1):
            place[atom] = 0
        for e in range(first, end):
            place[edges[e]] = 1
        seen = -1
        for atom in range(last + 1):
            seen += place[atom]
            place[atom] = seen  # the last edge at or below: the part that the atom lies in
        for e in range(first, end):
            own[e] = place[edges[e]]
        sizes[g] = seen
        for record in range(atoms.size):
            parts[g, record] = place[atoms[record]]
    return parts, sizes, own


@compiled
def place(
    values: NDArray[np.float64],
    cuts: NDArray[np.float64],
    guide: NDArray[np.int32],
    low: float,
    scale: float,
) -> NDArray[np.int32]:
    """Return the number of cuts at or below each value.

    ``guide`` has a number to begin with for each bucket of width 1 / scale from ``low`` on. The
    cuts have the last word, so the result is that of a search among them whatever the guide says.
    """
    places = np.empty(values.size, np.int32)
    last = guide.size - 1
    for i in range(values.size):
        value = values[i]
        bucket = (value - low) * scale
        at = guide[0]
        if bucket >= last:
            at = guide[last]
        elif bucket > 0:  # neither where infinity times 0 is not a number
            at = guide[int(bucket)]
        while at < cuts.size and cuts[at] <= value:
            at += 1
        while at > 0 and cuts[at - 1] > value:
            at -= 1
        places[i] = at
    return places


@compiled
def tally(
    x: NDArray[np.int32],
    y: NDArray[np.int32],
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Count records in several tables at once.

    A record with the atoms (a, b) lies in cell ``first[a, t] + second[b, t]`` of table t.
    """
    tables = first.shape[1]
    for record in range(x.size):
        a, b = first[x[record]], second[y[record]]
        for t in range(tables):
            counts[np.uint32(a[t] + b[t])] += 1


@compiled
def shuffle(generator: np.random.Generator, x: Parts, y: Parts, tables: NDArray[np.int64]) -> None:
    """Count records in tables [table, x part, y part], y permuted at random for each of them.

    The shuffle of Fisher and Yates. A random float below 1, times i + 1, is below i + 1 after
    rounding, too.
    """
    tables[:] = 0
    for table in tables:
        for i in range(y.size - 1, -1, -1):
            j = np.uint32(generator.random() * (i + 1))
            part = y[j]
            y[j] = y[i]
            y[i] = part
            table[np.uint32(x[i]), np.uint32(part)] += 1
