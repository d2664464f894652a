"""From variables that are cut, counted or ranked to the entries of characteristic matrices.

Each entry is counted and searched separately: a table of counts, its information and, for
entries, that divided by log2 min(k, l). ``fast`` lets a compiled kernel use a search whose time
depends on the data; the result is the same, so ``fast`` is ignored here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic._kernels.reference.counting import clumps, count
from dpmic._kernels.reference.partitions import equipartition
from dpmic._kernels.reference.segmentation import information, informations

Edges = NDArray[np.int64]
Floats = NDArray[np.float64]


def entries(
    left: Any, right: Any, pairs: Edges, starts: Edges, k_max: Edges, xlogx: Floats, fast: bool
) -> Floats:
    """Return the largest information, in bits, [orientation, pair, step, k].

    Parameters
    ----------
    left, right : (columns, masters), named
        Variables cut both ways. ``columns.parts[v, g]``: the part of each record of variable v in
        the common refinement of the columns of group g; ``columns.sizes[v, g]``: the number of
        parts; the columns of step i are ``edges[v, offsets[v, i] : offsets[v, i + 1]]``, counted
        in these parts. ``masters.parts`` and ``masters.sizes``: the same for each group's master.
    pairs : (pairs, 2)
        Which left and which right variables to search: first with the columns of the left and
        the master of the right one, then the other way round.
    starts : ndarray
        Group g has the steps ``starts[g]`` to ``starts[g + 1] - 1``.
    k_max : ndarray
        The most rows of each step, at least 2; entries above are 0.
    xlogx : ndarray
        The table of f.
    fast : bool
        Ignored; see the module's docstring.
    """
    bits = np.zeros((2, len(pairs), k_max.size, k_max.max() + 1))
    for pair, (x, y) in enumerate(pairs):
        for orientation, fixed, u, free, v in (
            (0, left.columns, x, right.masters, y),
            (1, right.columns, y, left.masters, x),
        ):
            for g, i in _grouped(starts):
                edges = fixed.edges[u, fixed.offsets[u, i] : fixed.offsets[u, i + 1]]
                master = np.arange(free.sizes[v, g] + 1)
                counts = count(fixed.parts[u, g], free.parts[v, g], edges, master)
                found = information(counts, k_max[i], xlogx)
                bits[orientation, pair, i, : found.size] = found
    return bits


def largest(
    left: Any, right: Any, pairs: Edges, starts: Edges, k_max: Edges, logs: Floats, xlogx: Floats
) -> Floats:
    """Return the largest normalised entry of each pair.

    Arguments are those of `entries`, and ``logs[k]``, which normalises an entry of k rows.
    """
    bits = entries(left, right, pairs, starts, k_max, xlogx, True)
    normalised = bits[..., 2:] / logs[2 : bits.shape[-1]]
    scores: Floats = np.clip(normalised.max(axis=(0, 2, 3)), 0.0, 1.0)
    return scores


def tabled(tables: Edges, x: Any, y: Any, starts: Edges, k_max: Edges, xlogx: Floats) -> Floats:
    """Return the result of `entries` for tables of counts [table, x part, y part].

    ``x.edges[x.offsets[i] : x.offsets[i + 1]]`` is a partition, counted in parts of the tables: the
    columns of every step come first, then the master of every group. ``y`` is alike.
    """
    bits = np.zeros((2, len(tables), k_max.size, k_max.max() + 1))
    for orientation, fixed, free in ((0, x, y), (1, y, x)):
        turned = tables.swapaxes(1, 2) if orientation else tables
        for g, i in _grouped(starts):
            master = k_max.size + g
            columns = fixed.edges[fixed.offsets[i] : fixed.offsets[i + 1]]
            rows = free.edges[free.offsets[master] : free.offsets[master + 1]]
            counts = _merged(_merged(turned, columns, axis=1), rows, axis=2)
            found = informations(counts, k_max[i], xlogx)
            bits[orientation, :, i, : found.shape[1]] = found
    return bits


def equi(x: Any, y: Any, plan: Any, logs: Floats, xlogx: Floats, fast: bool) -> Floats:
    """Return the entries [orientation, rows of y - 2, columns of x - 2] of MICe for one pair.

    Entries that no step fills are NaN.

    Parameters
    ----------
    x, y : (atoms, ends, slack)
        The rank of each record; the number of records before each rank, and of all; and the rule
        by which the axis is cut (`equipartition`).
    plan : (columns, masters, order, starts, each, rows)
        Steps grouped by master: the columns and rows of each step and the master of each group.
        Step i of the groups is number ``order[i]``, and group g has ``starts[g]`` to
        ``starts[g + 1] - 1``. ``each`` counts the groups from 0 on.
    logs : ndarray
        ``logs[k]``, for k at least 2, is log2 k.
    xlogx : ndarray
        The table of f.
    fast : bool
        Ignored; see the module's docstring.
    """
    columns, masters, order, starts, _, rows = plan
    found = np.full((2, order.size, order.size), np.nan)
    for fixed, free, own in ((x, y, found[0]), (y, x, found[1].T)):
        for g, i in _grouped(starts):
            edges = equipartition(fixed[1], columns[i], fixed[2])
            counts = count(fixed[0], free[0], edges, _master(free, masters[g]))
            bits = information(counts, rows[i], xlogx)
            own[: rows[i] - 1, order[i]] = _normalised(bits, logs, columns[i])
    return found


def clumped(
    axes: Any, pairs: Edges, plan: Edges, logs: Floats, xlogx: Floats, occupied: bool
) -> Floats:
    """Return the entries [orientation, pair, rows of y - 2, columns of x - 2] with clumps.

    A master starts from clumps, runs of neighbouring atoms in the same column, and merges them into
    a limited number of superclumps (Reshef et al. 2011); so it depends on the columns. Entries that
    no step fills are NaN.

    Parameters
    ----------
    axes : (atoms, order, ends, sizes)
        ``atoms[v, record]``: the rank of a record of variable v; ``order[v]`` sorts its records;
        ``ends[v, : sizes[v] + 1]``: the number of records before each rank, and of all.
    pairs : (pairs, 2)
        The variables x and y of each.
    plan : (3, steps)
        Columns, most rows and most superclumps of each step, by columns from 2 on.
    logs, xlogx
        As for `equi`.
    occupied : bool
        Whether entries are normalised by the columns that ties leave, as in minepy.
    """
    atoms, _, ends, sizes = axes
    found = np.full((2, len(pairs), plan.shape[1], plan.shape[1]), np.nan)
    for pair, (x, y) in enumerate(pairs):
        for u, v, own in ((x, y, found[0, pair]), (y, x, found[1, pair].T)):
            for i, (columns, rows, master) in enumerate(plan.T):
                fixed = equipartition(ends[u, : sizes[u] + 1], columns, 0)
                free = clumps(atoms[v], atoms[u], fixed, sizes[v])
                if free.size - 1 > master:
                    free = free[equipartition(ends[v, free], master, 0)]
                bits = information(count(atoms[u], atoms[v], fixed, free), rows, xlogx)
                parts = max(fixed.size - 1, 2) if occupied else columns
                own[: rows - 1, i] = _normalised(bits, logs, parts)
    return found


def smallest_best(matrix: Floats, tie: float) -> tuple[int, int]:
    """Return (k, l) of the largest entry; among those within ``tie`` of it, the fewest cells.

    Among those with equally many cells, the fewest rows.
    """
    sizes = np.argwhere(matrix >= np.nanmax(matrix) - tie) + 2
    k, l = sizes[np.argmin(sizes.prod(axis=1))].tolist()
    return k, l


def _grouped(starts: Edges) -> Iterator[tuple[int, int]]:
    """Yield every step, preceded by its group."""
    for g, (first, end) in enumerate(pairwise(starts.tolist())):
        for i in range(first, end):
            yield g, i


def _master(axis: Any, size: int) -> Edges:
    """Cut an axis into ``size`` parts, or into single atoms if there are no more than ``size``."""
    _, ends, slack = axis
    return np.arange(ends.size) if ends.size - 1 <= size else equipartition(ends, size, slack)


def _merged(tables: Edges, edges: Edges, axis: int) -> Edges:
    """Add up the parts of tables between neighbouring edges."""
    widths = [(0, 0)] * tables.ndim
    widths[axis] = (1, 0)
    cumulative = np.pad(tables.cumsum(axis=axis), widths)
    return np.diff(cumulative.take(edges, axis=axis), axis=axis)


def _normalised(bits: Floats, logs: Floats, columns: int) -> Floats:
    """Return the entries from 2 rows on; rounding can exceed [0, 1] in the last place."""
    entries: Floats = bits[2:] / logs[np.minimum(np.arange(2, bits.size), columns)]
    return np.clip(entries, 0.0, 1.0)
