"""From ranked columns to the entries of both orientations, in one call.

A single score spends more time between kernels than in them if every partition is a call of its
own; so here a pair, or many, are cut, counted, searched and normalised together. The search is
that of tiled.py and the partitions are those of partitions.py, so the floats are bit-identical to
those of one call for each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic._kernels._compile import compiled
from dpmic._kernels._vectors import LANES
from dpmic._kernels.counting import refine
from dpmic._kernels.partitions import equipartition, equipartitions
from dpmic._kernels.tiled import one_way, scratch, search, set_bits

Floats = NDArray[np.float64]
Counts = NDArray[np.int32]
Indices = NDArray[np.int64]


@compiled
def _normalise(own: Floats, bits: Floats, step: int, log: Floats, columns: int) -> None:
    """Set the entries [rows - 2, step] of a step of at least two columns; see `clumped`."""
    for k in range(2, bits.size):
        # Rounding may leave [0, 1] by a unit in the last place.
        own[k - 2, step] = min(max(bits[k] / log[min(k, columns)], 0.0), 1.0)


@compiled
def equi(x: Any, y: Any, plan: Any, logs: Floats, xlogx: Floats) -> Floats:
    """Return the entries [orientation, rows of y - 2, columns of x - 2] of MICe for one pair.

    Parameters
    ----------
    x, y : (atoms, ends, slack)
        The rank of each record; the records before each rank, and all; and the rule by which the
        axis is cut (`dpmic._kernels.partitions.equipartition`).
    plan : (columns, masters, order, starts, rows)
        Steps grouped by master: the columns and rows of each step and the master of each group.
        Step i of the groups is number ``order[i]``, and group g has ``starts[g]`` to
        ``starts[g + 1] - 1``.
    logs : ndarray
        ``logs[k]``, for k at least 2, is log2 k.
    xlogx : ndarray
        The table of f.
    """
    columns, masters, order, starts, rows = plan
    each = np.arange(masters.size + 1)
    fixed = _cut(x, columns, starts, False), _cut(y, columns, starts, False)
    free = _cut(x, masters, each, True), _cut(y, masters, each, True)
    width = height = 0
    for i in range(2):
        width, height = max(width, fixed[i][1].max()), max(height, free[i][1].max())
    size = order.size
    table = np.empty((width + 1, height + 1), np.int32)
    space = scratch(columns.max(), height, rows.max())
    found = np.full((2, size, size), np.nan)
    for orientation in range(2):
        bits = np.zeros((size, rows.max() + 1))
        parts, sizes, _, _ = free[1 - orientation]
        one_way(bits, fixed[orientation], (parts, sizes), starts, rows, table, space, xlogx)
        own = found[orientation] if orientation == 0 else found[orientation].T
        for i in range(size):
            _normalise(own, bits[i, : rows[i] + 1], order[i], logs, columns[i])
    return found


@compiled
def _cut(axis: Any, sizes: Indices, starts: Indices, masters: bool) -> Any:
    """Cut an axis by each group's common refinement: parts, sizes, edges and offsets."""
    atoms, ends, slack = axis
    edges, offsets = equipartitions(ends, sizes, slack, masters)
    parts, counts, own = refine(edges, offsets, starts, atoms)
    return parts, counts, own, offsets


@compiled
def clumped(
    axes: Any, pairs: Indices, plan: Indices, logs: Floats, xlogx: Floats, occupied: bool
) -> Floats:
    """Return the entries [orientation, pair, rows of y - 2, columns of x - 2] with clumps.

    A master begins from clumps, runs of neighbouring atoms in one and the same column, merged into
    so many superclumps at most (Reshef et al. 2011); so it depends on the columns.

    Parameters
    ----------
    axes : (atoms, order, ends, sizes)
        ``atoms[v, record]``: the rank of a record of variable v; ``order[v]`` sorts its records;
        ``ends[v, : sizes[v] + 1]``: the records before each rank, and all.
    pairs : (pairs, 2)
        The variables x and y of each.
    plan : (3, steps)
        Columns, most rows and most superclumps of each step, by columns from 2 on.
    logs, xlogx
        As for `equi`.
    occupied : bool
        Whether an entry is normalised by columns that ties have left, as minepy does it.
    """
    atoms, order, ends, sizes = axes
    columns, rows, masters = plan
    steps, n = columns.size, atoms.shape[1]
    most = min(masters.max(), n)
    space = scratch(columns.max(), most, rows.max())
    room = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n + 1, np.int64)
    across = np.empty(n, np.int32)
    found = np.full((2, pairs.shape[0], steps, steps), np.nan)
    bits = np.empty(rows.max() + 1)
    for pair in range(pairs.shape[0]):
        for orientation in range(2):
            u, v = pairs[pair, orientation], pairs[pair, 1 - orientation]
            for i in range(n):
                across[i] = atoms[u, order[v, i]]
            free = ends[v, : sizes[v] + 1]
            own = found[0, pair] if orientation == 0 else found[1, pair].T
            for i in range(steps):
                fixed = equipartition(ends[u, : sizes[u] + 1], columns[i], 0)
                height = _lay(space.cumulative, across, fixed, free, masters[i], room)
                width, now = fixed.size - 1, bits[: rows[i] + 1]
                now[:] = 0.0
                if height > 1:
                    search(space, width, height, min(rows[i], height), xlogx)
                    set_bits(now, space, width, height, xlogx)
                _normalise(own, now, i, logs, max(width, 2) if occupied else columns[i])
    return found


@compiled
def _lay(
    cumulative: Counts, across: Counts, fixed: Indices, free: Indices, most: int, room: Any
) -> int:
    """Set C of one step, and return how many rows its master has.

    ``across`` are the atoms of the fixed axis in the order of the free one.
    """
    part_of, part, edges = room
    columns = fixed.size - 1
    for j in range(columns):
        for atom in range(fixed[j], fixed[j + 1]):
            part_of[np.uint32(atom)] = j
    for record in range(part.size):
        part[record] = part_of[np.uint32(across[record])]
    rows = _clumps(edges, part, free)
    if rows > most:
        merged = equipartition(edges[: rows + 1], most, 0)
        rows = merged.size - 1
        for i in range(rows + 1):
            edges[i] = edges[merged[i]]
    _count(cumulative, part, edges[: rows + 1], columns)
    return rows


@compiled
def _clumps(edges: Indices, part: Counts, free: Indices) -> int:
    """Set the records before each clump, and all; return how many clumps there are.

    An atom with records in several columns is a clump of its own.
    """
    n, rows, before = part.size, 0, part[0]
    edges[0] = 0
    if free.size - 1 == n:  # no ties; and no branch, which could not be foreseen
        for record in range(1, n):
            edges[np.uint32(rows + 1)] = record
            rows += part[record] != before
            before = part[record]
    else:
        for atom in range(free.size - 1):
            home = part[free[atom]]
            for record in range(free[atom] + 1, free[atom + 1]):
                if part[record] != home:
                    home = -2
            if atom > 0 and (home == -2 or home != before):
                rows += 1
                edges[rows] = free[atom]
            before = home
    edges[rows + 1] = n
    return rows + 1


@compiled
def _count(cumulative: Counts, part: Counts, ends: Indices, columns: int) -> None:
    """Set C[j, t] from the column of each record in order; the last row is T."""
    rows = ends.size - 1
    for j in range(columns + 1):
        cumulative[j, 0] = 0
    for t in range(rows):
        for j in range(columns):
            cumulative[j, t + 1] = cumulative[j, t]
        for record in range(ends[t], ends[t + 1]):
            cumulative[np.uint32(part[record]), t + 1] += 1
        cumulative[columns, t + 1] = ends[t + 1]
    for j in range(columns + 1):  # for what vectors read past the last end
        for t in range(rows + 1, rows + LANES):
            cumulative[j, t] = cumulative[j, rows]


@compiled
def smallest_best(matrix: Floats, tie: float) -> tuple[int, int]:
    """Return (k, l) of the largest entry; of those within ``tie`` of it the fewest cells."""
    most, cells, k, l = -np.inf, 0, 0, 0
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            if matrix[i, j] > most:
                most = matrix[i, j]
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            own = (i + 2) * (j + 2)
            if matrix[i, j] >= most - tie and (k == 0 or own < cells):
                cells, k, l = own, i + 2, j + 2
    return k, l
