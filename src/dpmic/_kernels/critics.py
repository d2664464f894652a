"""Capped information of two and of three rows: the search over thresholds and critics.

Counts come as a table [part, cell]: parts of the common refinement of all columns along one axis,
cells between thresholds along the other. What is done depends on sizes alone: minima are taken
without branches, and the search over critics has no early exit. All numbers are multiples of one
unit, so every sum is exact (docs/proofs/capped-sensitivity.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmic._kernels._compile import compiled

Counts = NDArray[np.integer]
Edges = NDArray[np.int64]
Floats = NDArray[np.float64]

TILE = 64
"""Thresholds that are searched together: their columns stay in the nearest cache."""


@compiled
def cumulate(counts: Counts) -> Counts:
    """Return how many records lie in the parts before each one, up to each cell."""
    parts, cells = counts.shape
    sums = np.zeros((parts + 1, cells), counts.dtype)
    for part in range(parts):
        seen = counts[0, 0] * 0
        for cell in range(cells):
            seen += counts[part, cell]
            sums[part + 1, cell] = sums[part, cell] + seen
    return sums


@compiled
def tabulate(
    parts: NDArray[np.int32], cells: NDArray[np.int32], rows: int, columns: int
) -> NDArray[np.int32]:
    """Count records in a table [part, cell]."""
    counts = np.zeros((rows, columns), np.int32)
    for record in range(parts.size):
        counts[parts[record], cells[record]] += 1
    return counts


@compiled
def xlogx(m: int, table: Floats, unit: float) -> float:
    """Return m log2 m as a multiple of the unit: looked up, or computed without a table."""
    if table.size:
        return table[m]  # type: ignore[no-any-return]
    return np.floor(m * np.log2(max(m, 1)) / unit + 0.5) * unit  # type: ignore[no-any-return]


@compiled
def two_rows(
    sums: Counts,
    edges: Edges,
    offsets: Edges,
    limits: Floats,
    table: Floats,
    unit: float,
    critics: Floats,
    cap: float,
    least: float,
) -> tuple[Floats, Edges]:
    """Return the largest capped information of two rows for each partition into columns.

    Partition k has the edges ``edges[offsets[k] : offsets[k + 1]]``, in parts of ``sums``, which
    :func:`cumulate` made. No threshold counts for more than its limit. A critic is (m1, m0, A1,
    A0); there is one less than a Fibonacci number of them, and the objective is convex along them.
    Also returns the threshold of each: the last cell of the lower row.
    """
    thresholds, n = sums.shape[1] - 1, float(sums[-1, -1])
    most = 0
    for k in range(offsets.size - 1):  # np.max and np.diff would take seconds to compile
        most = max(most, offsets[k + 1] - offsets[k] - 1)
    ones, losses = np.empty((most, TILE)), np.empty((most, TILE))
    totals, values = np.empty(most), np.empty(TILE)
    best, where = np.full(offsets.size - 1, -np.inf), np.zeros(offsets.size - 1, np.int64)
    for k in range(offsets.size - 1):
        own = edges[offsets[k] : offsets[k + 1]]
        columns = own.size - 1
        for start in range(0, thresholds, TILE):
            size = min(TILE, thresholds - start)
            for j in range(columns):
                low, high = sums[own[j]], sums[own[j + 1]]
                total = high[thresholds] - low[thresholds]
                whole = xlogx(total, table, unit)
                totals[j] = total
                for t in range(size):
                    a = high[start + t] - low[start + t]
                    ones[j, t] = a
                    losses[j, t] = whole - xlogx(a, table, unit) - xlogx(total - a, table, unit)
            _minimise(ones, losses, totals, columns, size, n, critics, cap, least, values)
            for t in range(size):
                limit = limits[start + t]
                value = values[t] if values[t] < limit else limit
                better = value > best[k]
                best[k] = value if better else best[k]
                where[k] = start + t if better else where[k]
    return best, where


@compiled
def _minimise(
    ones: Floats,
    losses: Floats,
    totals: Floats,
    columns: int,
    size: int,
    n: float,
    critics: Floats,
    cap: float,
    least: float,
    values: Floats,
) -> None:
    """Set the capped information of each threshold: the least over critics, and at most H."""
    above, below, lower = np.zeros(TILE), np.zeros(TILE), np.zeros(TILE)
    for j in range(columns):
        total, share = totals[j], least * totals[j]
        for t in range(size):
            a = ones[j, t]
            up, down = cap * a - share, cap * (total - a) - share
            above[t] += up if up > 0.0 else 0.0
            below[t] += down if down > 0.0 else 0.0
            lower[t] += a
    for t in range(size):
        values[t] = above[t] if above[t] < below[t] else below[t]
    # Fibonacci search: the open interval (low, low + a + b) holds a minimum, and was looked into at
    # b and at a above low. a >= b are neighbouring Fibonacci numbers.
    a, b = 1, 1
    while a + b < critics.shape[0] + 1:
        a, b = a + b, a
    low = np.full(TILE, -1, np.int64)
    left, right, probed = np.full(TILE, b - 1), np.full(TILE, a - 1), np.full(TILE, b - 1)
    at_left, at_right, found = np.empty(TILE), np.empty(TILE), np.empty(TILE)
    _objective(ones, losses, totals, columns, size, n, critics, lower, probed, at_left)
    for t in range(size):
        probed[t] = right[t]
    _objective(ones, losses, totals, columns, size, n, critics, lower, probed, at_right)
    for t in range(size):
        least_two = at_left[t] if at_left[t] < at_right[t] else at_right[t]
        values[t] = least_two if least_two < values[t] else values[t]
    while b > 1:
        a, b = b, a - b
        for t in range(size):
            to_left = at_left[t] <= at_right[t]
            kept, known = (left[t], at_left[t]) if to_left else (right[t], at_right[t])
            low[t] = low[t] if to_left else left[t]
            probed[t] = low[t] + (b if to_left else a)
            left[t], at_left[t] = probed[t] if to_left else kept, known
            right[t], at_right[t] = kept if to_left else probed[t], known
        _objective(ones, losses, totals, columns, size, n, critics, lower, probed, found)
        for t in range(size):
            at_left[t] = found[t] if probed[t] == left[t] else at_left[t]
            at_right[t] = found[t] if probed[t] == right[t] else at_right[t]
            values[t] = found[t] if found[t] < values[t] else values[t]


@compiled
def _objective(
    ones: Floats,
    losses: Floats,
    totals: Floats,
    columns: int,
    size: int,
    n: float,
    critics: Floats,
    lower: Floats,
    probed: Edges,
    found: Floats,
) -> None:
    """Set F of each threshold at the critic that is probed for it."""
    first, second, cost = np.empty(TILE), np.empty(TILE), np.zeros(TILE)
    for t in range(size):
        first[t], second[t] = critics[probed[t], 2], critics[probed[t], 3]
    for j in range(columns):
        total = totals[j]
        for t in range(size):
            x, y = first[t] * ones[j, t], second[t] * (total - ones[j, t])
            hard = x if x < y else y
            cost[t] += losses[j, t] if losses[j, t] < hard else hard
    for t in range(size):
        m1, m0 = critics[probed[t], 0], critics[probed[t], 1]
        found[t] = lower[t] * m1 + (n - lower[t]) * m0 - cost[t]


@compiled
def three_rows(
    sums: Counts,
    edges: Edges,
    offsets: Edges,
    pairs: Edges,
    table: Floats,
    unit: float,
    critics: Floats,
    cap: float,
    least: float,
) -> tuple[Floats, Edges]:
    """Return the largest capped information of three rows for each partition into columns.

    As :func:`two_rows`, for ``pairs`` [2, pair] of thresholds: the last cells of the lowest and of
    the middle row. A critic is (m, A) of the three rows, lowest first. Not yet divided by log2 3.
    Also returns the best pair of each.
    """
    best, where = np.full(offsets.size - 1, -np.inf), np.zeros(offsets.size - 1, np.int64)
    end, size = sums.shape[1] - 1, pairs.shape[1]
    counts, losses = np.empty((3, size)), np.empty((4, size))
    for k in range(offsets.size - 1):
        own = edges[offsets[k] : offsets[k + 1]]
        rows, hard = np.zeros((3, size)), np.zeros((3, size))
        costs = np.zeros((critics.shape[0], size))
        for j in range(own.size - 1):
            low, high = sums[own[j]], sums[own[j + 1]]
            total = high[end] - low[end]
            whole, share = xlogx(total, table, unit), least * total
            for p in range(size):
                a, ab = high[pairs[0, p]] - low[pairs[0, p]], high[pairs[1, p]] - low[pairs[1, p]]
                b, c = ab - a, total - ab
                of_a, of_b = xlogx(a, table, unit), xlogx(b, table, unit)
                of_c = xlogx(c, table, unit)
                counts[0, p], counts[1, p], counts[2, p] = a, b, c
                losses[0, p] = whole - of_a - of_b - of_c
                losses[1, p] = xlogx(ab, table, unit) - of_a - of_b
                losses[2, p] = xlogx(a + c, table, unit) - of_a - of_c
                losses[3, p] = xlogx(b + c, table, unit) - of_b - of_c
            for row in range(3):
                for p in range(size):
                    over = cap * counts[row, p] - share
                    hard[row, p] += over if over > 0.0 else 0.0
                    rows[row, p] += counts[row, p]
            for u in range(critics.shape[0]):
                _add_costs(counts, losses, critics[u], costs[u])
        for p in range(size):
            value = min(hard[0, p], hard[1, p], hard[2, p])
            for u in range(critics.shape[0]):
                m = critics[u]
                free = rows[0, p] * m[0] + rows[1, p] * m[1] + rows[2, p] * m[2] - costs[u, p]
                value = free if free < value else value
            better = value > best[k]
            best[k], where[k] = value if better else best[k], p if better else where[k]
    return best, where


@compiled
def _add_costs(counts: Floats, losses: Floats, critic: Floats, costs: Floats) -> None:
    """Add the cost of one column under one critic: the least over the sets of rows."""
    first, second, third = critic[3], critic[4], critic[5]
    for p in range(costs.size):
        x, y, z = first * counts[0, p], second * counts[1, p], third * counts[2, p]
        without_z, without_y, without_x = losses[1, p] + z, losses[2, p] + y, losses[3, p] + x
        least = losses[0, p] if losses[0, p] < without_z else without_z
        least = without_y if without_y < least else least
        least = without_x if without_x < least else least
        only_x, only_y, only_z = y + z, x + z, x + y
        alone = only_x if only_x < only_y else only_y
        alone = only_z if only_z < alone else alone
        costs[p] += alone if alone < least else least
