"""Capped information of two and of three rows: the search over thresholds and critics.

Counts are in a table [part, cell]: parts of the common refinement of all columns along one axis,
cells between thresholds along the other. The operations depend only on sizes: the search over
critics never stops early. All numbers are multiples of one unit, so every sum is exact, in any
order (docs/proofs/capped-sensitivity.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.integer]
Edges = NDArray[np.int64]
Floats = NDArray[np.float64]


def cumulate(counts: Counts) -> Counts:
    """Return the number of records in the parts before each part, up to each cell."""
    parts, cells = counts.shape
    sums = np.zeros((parts + 1, cells), counts.dtype)
    np.cumsum(counts.cumsum(axis=1, dtype=counts.dtype), axis=0, out=sums[1:])
    return sums


def xlogx(m: Counts, table: Floats, unit: float) -> Floats:
    """Return m log2 m as a multiple of the unit, looked up or, without a table, computed."""
    if table.size:
        return table[m]
    # Use the C library's log2, as the compiled kernels do; numpy's may differ in the last place.
    distinct, places = np.unique(m, return_inverse=True)
    logs = np.array([math.log2(max(own, 1)) for own in distinct.tolist()])
    computed: Floats = np.floor(distinct * logs / unit + 0.5) * unit
    return computed[places].reshape(np.shape(m))


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

    Also return the first threshold that reaches it: the last cell of the lower row.

    Parameters
    ----------
    sums : (parts + 1, cells)
        What `cumulate` returns.
    edges, offsets : ndarray
        Partition k has the edges ``edges[offsets[k] : offsets[k + 1]]``, in parts of ``sums``.
    limits : (cells - 1)
        Upper limit for the result of each threshold.
    table, unit : ndarray, float
        f in multiples of the unit; an empty table if f is computed.
    critics : (critics, 4)
        (m1, m0, A1, A0) of each. Their number is one less than a Fibonacci number, and the
        objective is convex along them.
    cap, least : float
        S, and the share of a column below which a class does not count towards H.
    """
    n = int(sums[-1, -1])
    best, where = np.empty(offsets.size - 1), np.empty(offsets.size - 1, np.int64)
    for k, columns in enumerate(_columns(sums, edges, offsets)):
        ones, totals = columns[:, :-1], columns[:, -1:]
        whole, of_ones, of_zeros = (
            xlogx(own, table, unit) for own in (totals, ones, totals - ones)
        )
        soft = _soft(ones, totals - ones, whole - of_ones - of_zeros, n, critics)
        hard = [_hard(own, totals, cap, least) for own in (ones, totals - ones)]
        values = np.minimum.reduce([soft, *hard, limits])
        where[k] = values.argmax()
        best[k] = values[where[k]]
    return best, where


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

    Like :func:`two_rows`, for ``pairs`` [2, pair] of thresholds: the last cells of the lowest and
    the middle row. A critic is (m, A) of the three rows, lowest first. The result is not divided by
    log2 3. Also return the first best pair of each.
    """
    best, where = np.empty(offsets.size - 1), np.empty(offsets.size - 1, np.int64)
    for k, columns in enumerate(_columns(sums, edges, offsets)):
        totals, up_to_low, up_to_middle = columns[:, -1:], *(columns[:, own] for own in pairs)
        counts = up_to_low, up_to_middle - up_to_low, totals - up_to_middle
        losses = _losses(counts, table, unit)
        values = np.minimum.reduce([_hard(own, totals, cap, least) for own in counts])
        for critic in critics:
            cost = _cost(counts, losses, critic[3:]).sum(axis=0)
            a, b, c = (own.sum(axis=0) * m for own, m in zip(counts, critic[:3], strict=True))
            values = np.minimum(values, a + b + c - cost)
        where[k] = values.argmax()
        best[k] = values[where[k]]
    return best, where


def _columns(sums: Counts, edges: Edges, offsets: Edges) -> Iterator[Counts]:
    """Yield, for each partition, the records [column, cell] up to each cell."""
    for first, end in pairwise(offsets.tolist()):
        yield np.diff(sums[edges[first:end]], axis=0)


def _hard(counts: Counts, totals: Counts, cap: float, least: float) -> Floats:
    """Return H: each row's excess over its smallest share of each column, times the cap."""
    above: Floats = np.maximum(cap * counts - least * totals, 0.0).sum(axis=0)
    return above


def _soft(ones: Counts, zeros: Counts, losses: Floats, n: int, critics: Floats) -> Floats:
    """Return the minimum of F over critics for each threshold, from counts [column, threshold]."""
    lower = ones.sum(axis=0)

    def objective(probed: Edges) -> Floats:
        """Return F of each threshold at the critic probed for it."""
        m1, m0, a1, a0 = critics[probed].T
        cost = np.minimum(losses, np.minimum(a1 * ones, a0 * zeros)).sum(axis=0)
        value: Floats = lower * m1 + (n - lower) * m0 - cost
        return value

    return _least_convex(objective, lower.size, len(critics))


def _least_convex(objective: Callable[[Edges], Floats], size: int, critics: int) -> Floats:
    """Return the minimum of each of ``size`` convex sequences with one number per critic.

    This is a Fibonacci search that never stops early: the open interval (low, low + a + b) contains
    a minimum, and was probed at a and b above low, where a >= b are neighbouring Fibonacci numbers.
    """
    a, b = 1, 1
    while a + b < critics + 1:
        a, b = a + b, a
    low = np.full(size, -1)
    left, right = low + b, low + a
    at_left, at_right = objective(left), objective(right)
    least = np.minimum(at_left, at_right)
    while b > 1:
        a, b = b, a - b
        to_left = at_left <= at_right
        low = np.where(to_left, low, left)
        probed = low + np.where(to_left, b, a)
        found = objective(probed)
        least = np.minimum(least, found)
        left, right = np.where(to_left, probed, right), np.where(to_left, left, probed)
        at_left, at_right = (
            np.where(to_left, found, at_right),
            np.where(to_left, at_left, found),
        )
    return least


def _losses(counts: tuple[Counts, ...], table: Floats, unit: float) -> tuple[Floats, ...]:
    """Return f(a_A) - sum over A of f(a_k) for the sets A of rows: all, and all but each row."""
    a, b, c = counts
    of_a, of_b, of_c = (xlogx(own, table, unit) for own in counts)
    return (
        xlogx(a + b + c, table, unit) - of_a - of_b - of_c,
        xlogx(b + c, table, unit) - of_b - of_c,
        xlogx(a + c, table, unit) - of_a - of_c,
        xlogx(a + b, table, unit) - of_a - of_b,
    )


def _cost(counts: tuple[Counts, ...], losses: tuple[Floats, ...], caps: Floats) -> Floats:
    """Return the cost of each column under a critic: the minimum over non-empty sets of rows.

    A row outside the set costs its cap for each record; a single row loses nothing.
    """
    x, y, z = (cap * own for cap, own in zip(caps, counts, strict=True))
    every, without_a, without_b, without_c = losses
    sets = (every, without_a + x, without_b + y, without_c + z, y + z, x + z, x + y)
    cost: Floats = np.minimum.reduce(sets)
    return cost
