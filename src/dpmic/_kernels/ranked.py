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

from dpmic._kernels._compile import compiled, inlined
from dpmic._kernels._vectors import LANES
from dpmic._kernels.counting import refine
from dpmic._kernels.partitions import equipartition, equipartitions
from dpmic._kernels.tiled import one_way, scratch, search, set_bits

Floats = NDArray[np.float64]
Counts = NDArray[np.int32]
Indices = NDArray[np.int64]


@inlined
def _normalise(
    found: Floats, bits: Floats, step: int, logs: Floats, columns: int, orientation: int
) -> None:
    """Set the entries of one step, [rows of y - 2, columns of x - 2]."""
    for k in range(2, bits.size):
        # Rounding may leave [0, 1] by a unit in the last place.
        entry = min(max(bits[k] / logs[min(k, columns)], 0.0), 1.0)
        if orientation == 0:
            found[k - 2, step] = entry
        else:
            found[step, k - 2] = entry


@inlined
def _largest(values: Indices) -> int:
    """Return the largest; numba's own takes longer to compile."""
    most = values[0]
    for value in values:
        most = max(most, value)
    return most  # type: ignore[no-any-return]


@inlined
def _entries(pairs: int, steps: int) -> Floats:
    """Return entries [orientation, pair, rows - 2, columns - 2] of which none is known."""
    found = np.empty((2, pairs, steps, steps))
    for i in range(found.size):
        found.flat[i] = np.nan
    return found


@compiled
def equi(x: Any, y: Any, plan: Any, logs: Floats, xlogx: Floats) -> Floats:
    """Return the entries [orientation, rows of y - 2, columns of x - 2] of MICe for one pair.

    Parameters
    ----------
    x, y : (atoms, ends, slack)
        The rank of each record; the records before each rank, and all; and the rule by which the
        axis is cut (`dpmic._kernels.partitions.equipartition`).
    plan : (columns, masters, order, starts, each, rows)
        Steps grouped by master: the columns and rows of each step and the master of each group.
        Step i of the groups is number ``order[i]``, and group g has ``starts[g]`` to
        ``starts[g + 1] - 1``. ``each`` counts the groups from 0 on.
    logs : ndarray
        ``logs[k]``, for k at least 2, is log2 k.
    xlogx : ndarray
        The table of f.
    """
    columns, masters, order, starts, each, rows = plan
    size, most = order.size, _largest(rows)
    found = _entries(1, size)[:, 0]
    bits = np.empty((size, most + 1))
    for orientation in range(2):
        fixed, free = (x, y) if orientation == 0 else (y, x)
        cut = _cut(fixed, columns, starts, False)
        parts, heights, _, _ = _cut(free, masters, each, True)
        height = _largest(heights)
        table = np.empty((_largest(cut[1]) + 1, height + 1), np.int32)
        space = scratch(_largest(columns), height, most)
        for i in range(size):
            for k in range(most + 1):
                bits[i, k] = 0.0
        one_way(bits, cut, (parts, heights), starts, rows, table, space, xlogx)
        for i in range(size):
            own = bits[i, : rows[i] + 1]
            _normalise(found[orientation], own, order[i], logs, columns[i], orientation)
    return found


@inlined
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
    steps, n, most = columns.size, atoms.shape[1], _largest(rows)
    space = scratch(_largest(columns), min(_largest(masters), n), most)
    room = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n + 1, np.int64)
    across = np.empty(n, np.int32)
    found, bits = _entries(pairs.shape[0], steps), np.empty(most + 1)
    for pair in range(pairs.shape[0]):
        for orientation in range(2):
            u, v = pairs[pair, orientation], pairs[pair, 1 - orientation]
            for i in range(n):
                across[i] = atoms[u, order[v, i]]
            free = ends[v, : sizes[v] + 1]
            for i in range(steps):
                fixed = equipartition(ends[u, : sizes[u] + 1], columns[i], 0)
                height = _lay(space.cumulative, across, fixed, free, masters[i], room)
                width, own = fixed.size - 1, bits[: rows[i] + 1]
                for k in range(own.size):
                    own[k] = 0.0
                if height > 1:
                    search(space, width, height, min(rows[i], height), xlogx)
                    set_bits(own, space, width, height, xlogx)
                width = max(width, 2) if occupied else columns[i]
                _normalise(found[orientation, pair], own, i, logs, width, orientation)
    return found


@inlined
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


@inlined
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


@inlined
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
