"""From records on two axes of atoms to counts in the cells of a grid.

A partition is the array of its edges: part i holds the atoms edges[i] to edges[i + 1] - 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmic._kernels.reference.partitions import part_of

Counts = NDArray[np.int32]
Edges = NDArray[np.int64]
Floats = NDArray[np.float64]
Parts = NDArray[np.int32]

MIXED = -1
"""Marks an atom whose records are in several fixed parts."""


def tabulate(parts: Parts, cells: Parts, rows: int, columns: int) -> Counts:
    """Count records in a table [part, cell]."""
    # Multiply in 64 bits: a table can have more than 2^31 cells.
    places = parts.astype(np.int64) * columns + cells
    counts = np.bincount(places, minlength=rows * columns)
    return counts.reshape(rows, columns).astype(np.int32)


def count(fixed_atoms: Parts, free_atoms: Parts, fixed_edges: Edges, free_edges: Edges) -> Counts:
    """Count the records in each cell of (fixed part, master part of the free axis)."""
    columns, rows = part_of(fixed_edges)[fixed_atoms], part_of(free_edges)[free_atoms]
    return tabulate(columns, rows, fixed_edges.size - 1, free_edges.size - 1)


def clumps(free_atoms: Parts, fixed_atoms: Parts, fixed_edges: Edges, atoms: int) -> Edges:
    """Merge neighbouring atoms of the free axis that are in the same fixed part.

    An atom with records in several fixed parts is a separate clump (Reshef et al. 2011,
    GetClumpsPartition).
    """
    parts = part_of(fixed_edges)[fixed_atoms]
    lowest, highest = np.full(atoms, fixed_edges.size), np.zeros(atoms, np.int64)
    np.minimum.at(lowest, free_atoms, parts)
    np.maximum.at(highest, free_atoms, parts)
    home = np.where(lowest < highest, MIXED, lowest)
    begins = (home[1:] == MIXED) | (home[1:] != home[:-1])
    return np.concatenate(([0], np.flatnonzero(begins) + 1, [atoms]))


def refine(
    edges: Edges, offsets: Edges, starts: Edges, atoms: Parts
) -> tuple[Parts, Edges, NDArray[np.int32]]:
    """Cut records by the common refinement of each group of partitions.

    Partition i is ``edges[offsets[i] : offsets[i + 1]]``, and group g has the partitions
    ``starts[g]`` to ``starts[g + 1] - 1``. Returns, by group, the part of each record and the
    number of parts, and then the same edges counted in parts of the refinement.
    """
    groups = starts.size - 1
    parts, sizes = np.empty((groups, atoms.size), np.int32), np.empty(groups, np.int64)
    own = np.empty(edges.size, np.int32)
    for g in range(groups):
        group = slice(offsets[starts[g]], offsets[starts[g + 1]])
        refined = np.unique(edges[group])
        parts[g] = np.searchsorted(refined, atoms, side="right") - 1
        sizes[g] = refined.size - 1
        own[group] = np.searchsorted(refined, edges[group])
    return parts, sizes, own


def place(
    values: Floats, cuts: Floats, guide: NDArray[np.int32], low: float, scale: float
) -> NDArray[np.int32]:
    """Return the number of cuts at or below each value.

    ``guide``, ``low`` and ``scale`` show the compiled kernel where to start its search; they are
    not used here.
    """
    return np.searchsorted(cuts, values, side="right").astype(np.int32)


def tally(
    x: Parts,
    y: Parts,
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Count records in several tables at once, adding to ``counts``.

    A record with the atoms (a, b) is in cell ``first[a, t] + second[b, t]`` of table t.
    """
    for of_x, of_y in zip(first.T, second.T, strict=True):
        counts += np.bincount(of_x[x] + of_y[y], minlength=counts.size)


def shuffle(generator: np.random.Generator, x: Parts, y: Parts, tables: NDArray[np.int64]) -> None:
    """Count records in tables [table, x part, y part], with y permuted at random for each.

    This is the shuffle of Fisher and Yates; ``y`` keeps the last order. A random float below 1,
    times i + 1, is below i + 1 even after rounding. The caller holds the generator's lock.
    """
    # The same number as generator.random(), which waits for the lock in older versions of numpy.
    source = generator.bit_generator.ctypes
    records = y.tolist()
    for table in tables:
        for i in range(y.size - 1, -1, -1):
            j = int(source.next_double(source.state) * (i + 1))
            records[i], records[j] = records[j], records[i]
        table[:] = tabulate(x, np.array(records, np.int32), *table.shape)
    y[:] = records
