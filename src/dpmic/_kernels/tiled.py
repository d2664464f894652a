"""The search of segmentation.py for many ends at a time and all steps of a pair in one call.

The dynamic programme is that of the reference, with the same additions in the same order, so it
returns bit-identical floats. What makes it fast:

- the sums w(s, t) of neighbouring ends t are gathered from the table of f into vector registers
  and used there for every number of rows; they are never stored;
- steps with the same master share one table of counts, on the common refinement of their columns;
- the last of k rows ends at the last master row, so for the largest k one sum for each start is
  enough.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpmic._kernels._compile import compiled, inlined
from dpmic._kernels._vectors import LANES, WIDE, advance_narrow, advance_wide

Table = NDArray[np.float64]
Counts = NDArray[np.int32]
Indices = NDArray[np.int64]
Cut = Any  # named tuples of arrays, described at `entries`

MARGIN = 1e-9
"""In bits, above all rounding: a bound this far below what is needed rules an entry out."""


class Workspace(NamedTuple):
    """The arrays that a search works in, allocated once for many searches."""

    cumulative: Counts  # [column, end], and last T
    best: Table  # [k, end]
    tails: Table  # [start]
    found: Table  # [k]


@inlined
def _start(
    space: Workspace, low: int, high: int, columns: int, xlogx: Table, rows: int, s: int
) -> None:
    """Try s as the start of the last row, for all ends after it; vectors run past the last."""
    cumulative, best, _, _ = space
    t = s + 1
    while t + WIDE - LANES <= rows:
        advance_wide(best, 1, low, high, cumulative, columns, xlogx, t, s)
        t += WIDE
    while t <= rows:
        advance_narrow(best, 1, low, high, cumulative, columns, xlogx, t, s)
        t += LANES


@inlined
def _tails(tails: Table, cumulative: Counts, columns: int, rows: int, xlogx: Table) -> None:
    """Set w(s, rows) for every start s."""
    total = cumulative[columns]
    for s in range(rows):
        tails[s] = -xlogx[np.uint32(total[rows] - total[s])]
    for j in range(columns):
        column = cumulative[j]
        for s in range(rows):
            tails[s] += xlogx[np.uint32(column[rows] - column[s])]


@inlined
def _largest_sum(one: Table, other: Table) -> float:
    """Return the largest of the sums; two at a time, since comparisons wait for each other."""
    most, least = -np.inf, one.size % 2
    second = one[0] + other[0] if least else -np.inf
    for i in range(least, one.size, 2):
        value = one[i] + other[i]
        most = value if value > most else most
        value = one[i + 1] + other[i + 1]
        second = value if value > second else second
    return max(most, second)


@inlined
def _clear(best: Table, rows: int, ends: int) -> None:
    """Forget all sums; no row has been made of no master row."""
    for k in range(rows):  # here and below: slices take long to compile
        for t in range(ends):
            best[k, t] = -np.inf
    best[0, 0] = 0.0


@inlined
def _begin(space: Workspace, columns: int, rows: int, k_max: int, xlogx: Table) -> None:
    """Set best[1, t], the sum of a single row, and w(s, rows) for every start."""
    _clear(space.best, k_max, rows + LANES)
    _start(space, 1, 2, columns, xlogx, rows, 0)
    _tails(space.tails, space.cumulative, columns, rows, xlogx)


@compiled
def search(space: Workspace, columns: int, rows: int, k_max: int, xlogx: Table) -> None:
    """Set found[k], the most that k rows can add up to, for k = 2 .. k_max."""
    _, best, tails, found = space
    _begin(space, columns, rows, k_max, xlogx)
    if k_max > 2:
        for s in range(1, rows):  # best[k - 1, s] is final: every start before s has been tried
            _start(space, 2, k_max, columns, xlogx, rows, s)
    for k in range(2, k_max):
        found[k] = best[k, rows]
    found[k_max] = _largest_sum(best[k_max - 1, 1:rows], tails[1:rows])


@inlined
def scratch(columns: int, rows: int, k_max: int) -> Workspace:
    """Allocate for the searches of tables of at most so many columns and rows."""
    wide = 2 * (rows + LANES + 1)  # vectors run past the last end by less than one of them
    return Workspace(
        np.empty((columns + 1, wide), np.int32),
        np.empty((k_max + 1, wide)),
        np.empty(rows),
        np.empty(k_max + 1),
    )


@inlined
def _constant(space: Workspace, columns: int, rows: int, xlogx: Table) -> tuple[int, float]:
    """Return n and what information has besides the sum over rows: f(n) - sum_j f(c_j)."""
    n = space.cumulative[columns, rows]
    constant = xlogx[n]
    for j in range(columns):
        constant -= xlogx[space.cumulative[j, rows]]
    return n, constant


@inlined
def set_bits(bits: Table, space: Workspace, columns: int, rows: int, xlogx: Table) -> None:
    """Turn sums into information; more rows than the master has are worth what all of it is."""
    n, constant = _constant(space, columns, rows, xlogx)
    for k in range(2, bits.size):
        bits[k] = (space.found[min(k, rows)] + constant) / n


@inlined
def _lay(space: Workspace, counts: Counts) -> None:
    """Cumulate a table of counts."""
    cumulative, (columns, rows) = space.cumulative, counts.shape
    for t in range(rows + LANES):
        cumulative[columns, t] = 0
    for j in range(columns):
        cumulative[j, 0] = 0
        for t in range(rows + LANES - 1):  # past the last end each row goes on, for vectors
            more = counts[j, t] if t < rows else 0
            cumulative[j, t + 1] = cumulative[j, t] + more
            cumulative[columns, t + 1] += cumulative[j, t + 1]


@compiled
def information(counts: Counts, k_max: int, xlogx: Table) -> Table:
    """Return the largest mutual information, in bits, for each number of rows up to k_max."""
    columns, rows = counts.shape
    bits = np.zeros(k_max + 1)
    if rows > 1:
        space = scratch(columns, rows, min(k_max, rows))
        _lay(space, counts)
        search(space, columns, rows, min(k_max, rows), xlogx)
        set_bits(bits, space, columns, rows, xlogx)
    return bits


@compiled
def trace(counts: Counts, k: int, xlogx: Table) -> Indices:
    """Return the edges, in master rows, of the best partition into k rows."""
    columns, rows = counts.shape
    k = min(k, rows)
    edges = np.zeros(k + 1, np.int64)
    edges[k] = rows
    if k == 1:
        return edges
    space = scratch(columns, rows, k)
    _lay(space, counts)
    search(space, columns, rows, k, xlogx)
    cumulative, best = space.cumulative, space.best
    for level in range(k, 1, -1):
        t, most = edges[level], -np.inf
        for s in range(level - 1, t):
            w = -xlogx[cumulative[columns, t] - cumulative[columns, s]]
            for j in range(columns):
                w += xlogx[cumulative[j, t] - cumulative[j, s]]
            if best[level - 1, s] + w > most:
                most = best[level - 1, s] + w
                edges[level - 1] = s
    return edges


@inlined
def _cumulate(table: Counts, columns: int, rows: int) -> None:
    """Cumulate counts along both axes, from 1 on."""
    for u in range(1, columns + 1):
        along = 0
        for t in range(1, rows + 1):
            along += table[u, t]
            table[u, t] = table[u - 1, t] + along


@inlined
def _prefix(table: Counts, fixed: Counts, free: Counts, columns: int, rows: int) -> None:
    """Count records in (refined column, master row), cumulated along both axes from 1 on."""
    for u in range(columns + 1):
        for t in range(rows + 1):
            table[u, t] = 0
    for record in range(fixed.size):
        table[np.uint32(fixed[record] + 1), np.uint32(free[record] + 1)] += 1
    _cumulate(table, columns, rows)


@inlined
def _merge(cumulative: Counts, table: Counts, edges: Counts, rows: int, reverse: bool) -> None:
    """Set C[j, t] of one step's columns from the refinement's; the last row is T.

    In reverse the master's last row comes first. Behind the last end each row is continued, for
    what vectors read past it.
    """
    columns = edges.size - 1
    for j in range(columns + 1):
        low, high = (edges[j], edges[j + 1]) if j < columns else (edges[0], edges[columns])
        after, before, row = table[high], table[low], cumulative[j]
        if reverse:
            total = after[rows] - before[rows]
            for t in range(rows + 1):
                row[t] = total - (after[rows - t] - before[rows - t])
        else:
            for t in range(rows + 1):
                row[t] = after[t] - before[t]
        for t in range(rows + 1, rows + LANES):
            row[t] = row[rows]


@inlined
def _allocated(left: Cut, right: Cut, most: int) -> tuple[Counts, Workspace]:
    """Allocate for the table and the searches of any pair, in both orientations."""
    width = height = columns = 0
    for cut in (left, right):
        sizes, heights, offsets = cut.columns.sizes, cut.masters.sizes, cut.columns.offsets
        for v in range(sizes.shape[0]):
            for g in range(sizes.shape[1]):
                width, height = max(width, sizes[v, g]), max(height, heights[v, g])
            for i in range(offsets.shape[1] - 1):
                columns = max(columns, offsets[v, i + 1] - offsets[v, i] - 1)
    return np.empty((width + 1, height + 1), np.int32), scratch(columns, height, most)


@inlined
def one_way(
    bits: Table, fixed: Any, free: Any, starts: Indices, k_max: Indices, table: Counts,
    space: Workspace, xlogx: Table,
) -> None:  # fmt: skip
    """Set the largest information [step, k] with one variable cut into columns.

    ``fixed`` has its parts, sizes, edges and offsets, and ``free`` the parts and sizes of the
    other's masters: what `entries` takes, of one variable each.
    """
    parts, sizes, edges, offsets = fixed
    masters, heights = free
    for g in range(starts.size - 1):
        rows = heights[g]
        if rows == 1:
            continue
        _prefix(table, parts[g], masters[g], sizes[g], rows)
        for i in range(starts[g], starts[g + 1]):
            columns = edges[offsets[i] : offsets[i + 1]]
            _merge(space.cumulative, table, columns, rows, False)
            search(space, columns.size - 1, rows, min(k_max[i], rows), xlogx)
            set_bits(bits[i, : k_max[i] + 1], space, columns.size - 1, rows, xlogx)


@compiled
def entries(
    left: Cut, right: Cut, pairs: Indices, starts: Indices, k_max: Indices, xlogx: Table
) -> Table:
    """Return the largest information, in bits, [orientation, pair, step, k].

    Parameters
    ----------
    left, right : (columns, masters), named
        Variables cut both ways. ``columns.parts[v, g]``: the part of each record of variable v in
        the common refinement of the columns of group g; ``columns.sizes[v, g]``: how many parts;
        the columns of step i are ``edges[v, offsets[v, i] : offsets[v, i + 1]]``, in such parts.
        ``masters.parts`` and ``masters.sizes``: likewise for the master of each group.
    pairs : (pairs, 2)
        Which of the left and which of the right variables to search: first with the columns of
        the left and the master of the right one, then the other way round.
    starts
        Group g has the steps ``starts[g]`` to ``starts[g + 1] - 1``.
    k_max
        The most rows of each step, at least 2.
    xlogx
        The table of f.
    """
    most = max(k_max)
    table, space = _allocated(left, right, most)
    bits = np.zeros((2, pairs.shape[0], k_max.size, most + 1))
    for pair in range(pairs.shape[0]):
        x, y = pairs[pair]
        for orientation, fixed, u, free, v in (
            (0, left.columns, x, right.masters, y),
            (1, right.columns, y, left.masters, x),
        ):
            columns = fixed.parts[u], fixed.sizes[u], fixed.edges[u], fixed.offsets[u]
            masters = free.parts[v], free.sizes[v]
            one_way(bits[orientation, pair], columns, masters, starts, k_max, table, space, xlogx)
    return bits


@compiled
def tabled(tables: Indices, x: Any, y: Any, starts: Indices, k_max: Indices, xlogx: Table) -> Table:
    """Return the same for tables of counts [table, x part, y part], one after the other.

    ``x.edges[x.offsets[i] : x.offsets[i + 1]]`` is a partition, in parts of the tables: the columns
    of every step come first, then the master of every group. So for ``y``.
    """
    (size, width, height), steps, most = tables.shape, k_max.size, max(k_max)
    side = max(width, height) + 1
    cumulated, table = np.zeros((side, side), np.int32), np.empty((side, side), np.int32)
    space, bits = scratch(side, side, most), np.zeros((2, size, steps, most + 1))
    for index in range(size):
        for u in range(width):
            for t in range(height):
                cumulated[u + 1, t + 1] = tables[index, u, t]
        _cumulate(cumulated, width, height)
        for orientation, fixed, free in ((0, x, y), (1, y, x)):
            for g in range(starts.size - 1):
                master = free.edges[free.offsets[steps + g] : free.offsets[steps + g + 1]]
                rows = master.size - 1
                if rows == 1:
                    continue
                for i in range(starts[g], starts[g + 1]):
                    edges = fixed.edges[fixed.offsets[i] : fixed.offsets[i + 1]]
                    for u in edges:
                        for t in range(rows + 1):
                            at = (master[t], u) if orientation else (u, master[t])
                            table[u, t] = cumulated[at]
                    _merge(space.cumulative, table, edges, rows, False)
                    search(space, edges.size - 1, rows, min(k_max[i], rows), xlogx)
                    found = bits[orientation, index, i, : k_max[i] + 1]
                    set_bits(found, space, edges.size - 1, rows, xlogx)
    return bits


@compiled
def _bound(space: Workspace, columns: int, rows: int, k_max: int, xlogx: Table) -> None:
    """Set found[2], and an upper bound of found[k] for k = 3 .. k_max, at a fraction of the cost.

    Splitting a row never lowers the sum. So a row that begins in one block of LANES master rows
    and ends inside a later one is split where that block begins, and the piece is not counted.
    What k rows can add up to is then bounded by best[k, t] from sums w(s, t) within a block and
    to the ends of blocks alone; these are repeated behind the others, for vectors of them.
    """
    cumulative, best, _, found = space
    behind, blocks = rows + LANES, (rows + LANES - 1) // LANES
    for j in range(columns + 1):
        row = cumulative[j]
        for block in range(blocks + LANES):
            row[behind + block] = row[min((block + 1) * LANES, rows)]
    _clear(best, k_max + 1, behind + blocks + LANES)
    _start(space, 1, 2, columns, xlogx, rows, 0)
    for s in range(1, rows):
        first = behind + s // LANES
        ends_block = s % LANES == 0
        if ends_block:
            for k in range(2, k_max):  # by exact sums; a row may be left out
                best[k, s] = max(best[k, first - 1], best[k - 1, s])
        for t in range(first, behind + blocks, LANES):
            advance_narrow(best, 1, 2, k_max + 1, cumulative, columns, xlogx, t, s)
        if s % LANES < LANES - 1:
            new = 0 if ends_block else 1
            advance_narrow(best, new, 2, k_max, cumulative, columns, xlogx, s + 1, s)
    for k in range(2, k_max + 1):
        found[k] = best[k, behind + blocks - 1]


@compiled
def _search_above(
    space: Workspace, ahead: Table, needed: Table, columns: int, rows: int, k_max: int, xlogx: Table
) -> None:
    """Set found[k] where it is above needed[k], trying only such starts as can lead there.

    ``ahead[k, t]`` bounds what k rows made of the last t master rows can add up to.
    """
    _, best, tails, found = space
    _begin(space, columns, rows, k_max, xlogx)
    for s in range(1, rows):
        high = 2
        for k in range(2, k_max):
            for after in range(1, k_max - k + 2):
                if best[k - 1, s] + ahead[after, rows - s] > needed[k - 1 + after]:
                    high = k + 1
        if high > 2:
            _start(space, 2, high, columns, xlogx, rows, s)
    for k in range(2, k_max + 1):
        found[k] = _largest_sum(best[k - 1, 1:rows], tails[1:rows])


@inlined
def _raised(floor: float, task: Any, workspaces: Any, logs: Table, xlogx: Table) -> float:
    """Return the largest of what is known and the normalised entries of one step."""
    table, edges, rows, k_max = task
    space, back, needed = workspaces
    columns = edges.size - 1
    _merge(back.cumulative, table, edges, rows, True)
    if k_max > 2:
        _bound(back, columns, rows, k_max, xlogx)
    else:
        search(back, columns, rows, 2, xlogx)
    n, constant = _constant(back, columns, rows, xlogx)
    floor = max(floor, (back.found[2] + constant) / n / logs[2])
    promising = False
    for k in range(3, k_max + 1):
        needed[k] = (floor * logs[k] - MARGIN) * n - constant
        promising |= back.found[k] > needed[k]
    if promising:
        _merge(space.cumulative, table, edges, rows, False)
        _search_above(space, back.best, needed, columns, rows, k_max, xlogx)
        for k in range(3, k_max + 1):
            floor = max(floor, (space.found[k] + constant) / n / logs[k])
    return floor


@compiled
def largest(
    left: Cut, right: Cut, pairs: Indices, starts: Indices, k_max: Indices, logs: Table,
    xlogx: Table,
) -> Table:  # fmt: skip
    """Return the largest normalised entry of each pair: time depends on the data.

    ``left`` and ``right`` have variables cut into ``columns`` and ``masters``, as in `entries`;
    ``logs[k]`` normalises an entry of k rows.
    """
    most, groups = max(k_max), starts.size - 1
    table, space = _allocated(left, right, most)
    back, needed = (
        scratch(space.cumulative.shape[0] - 1, space.tails.size, most),
        np.empty(most + 1),
    )
    scores = np.zeros(pairs.shape[0])
    for pair in range(pairs.shape[0]):
        i, j = pairs[pair]
        for g in range(groups):  # that of k_max = 2 comes first: its entries are cheap
            for fixed, u, free, v in (
                (left.columns, i, right.masters, j),
                (right.columns, j, left.masters, i),
            ):
                rows = free.sizes[v, g]
                if rows == 1 or scores[pair] == 1.0:
                    continue
                _prefix(table, fixed.parts[u, g], free.parts[v, g], fixed.sizes[u, g], rows)
                for step in range(starts[g], starts[g + 1]):
                    edges = fixed.edges[u, fixed.offsets[u, step] : fixed.offsets[u, step + 1]]
                    task = table, edges, rows, min(k_max[step], rows)
                    found = _raised(scores[pair], task, (space, back, needed), logs, xlogx)
                    scores[pair] = min(found, 1.0)
    return scores
