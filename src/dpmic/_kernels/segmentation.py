"""The search for the best grid: a k-segmentation dynamic programme in float64.

Let a_ij be the counts of a grid, r_i and c_j its row and column sums, f(m) = m log2 m. Then

    n I = sum_ij f(a_ij) - sum_i f(r_i) - sum_j f(c_j) + f(n),

so with the columns fixed the information is a sum over rows: a row made of the master rows
s .. t - 1 adds w(s, t) = sum_j f(C[j, t] - C[j, s]) - f(T[t] - T[s]), with C the cumulative
counts of column j and T the cumulative row sums. OptimizeAxis (Reshef et al. 2011) is then
best[k, t] = max over s of best[k - 1, s] + w(s, t).

This is the readable reference: every other kernel must agree with it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmic._kernels._compile import compiled

Table = NDArray[np.float64]
Counts = NDArray[np.int32]


@compiled
def _cumulate(counts: Counts) -> Counts:
    """Return C with C[j, t] the records of column j before master row t; the last row is T."""
    columns, rows = counts.shape
    cumulative = np.zeros((columns + 1, rows + 1), np.int32)
    for j in range(columns):
        for t in range(rows):
            cumulative[j, t + 1] = cumulative[j, t] + counts[j, t]
            cumulative[columns, t + 1] += cumulative[j, t + 1]
    return cumulative


@compiled
def _fill(w: Table, ends: Counts, starts: NDArray[np.int32], xlogx: Table) -> None:
    """Set w(s, t) for one start s and many ends t.

    An unsigned index spares the check for a negative one, which halves the time.
    """
    columns = starts.size - 1
    for t in range(w.size):
        w[t] = -xlogx[np.uint32(ends[columns, t] - starts[columns])]
    for j in range(columns):
        end, start = ends[j], starts[j]
        for t in range(w.size):
            w[t] += xlogx[np.uint32(end[t] - start)]


@compiled
def _improve(best: Table, before: float, w: Table) -> None:
    """Keep the larger of what is known and what a last row starting at s adds up to."""
    for t in range(w.size):
        value = before + w[t]
        if value > best[t]:
            best[t] = value


@compiled
def search(counts: Counts, k_max: int, xlogx: Table) -> Table:
    """Fill best[k, t]: the most that k rows made of the first t master rows can add up to.

    Rows k = 1 .. k_max; the last one is filled at t = (number of master rows) only, since
    nothing is built on it. ``k_max`` is at least 2; ``xlogx`` is the table of f.
    """
    cumulative = _cumulate(counts)
    rows = counts.shape[1]
    best = np.full((k_max + 1, rows + 1), -np.inf)
    w = np.empty(rows + 1)
    for s in range(rows):
        # With k_max = 2 only w(0, t) and w(s, rows) are ever used.
        first = rows if k_max == 2 and s > 0 else s + 1
        ahead = w[first:]
        _fill(ahead, cumulative[:, first:], cumulative[:, s], xlogx)
        if s == 0:
            for t in range(1, rows + 1):  # a slice would take seconds to compile
                best[1, t] = w[t]
            continue
        # best[k - 1, s] is final here: every start before s has been tried.
        for k in range(2, k_max):
            _improve(best[k, first:], best[k - 1, s], ahead)
        _improve(best[k_max, rows:], best[k_max - 1, s], w[rows:])
    return best


@compiled
def information(counts: Counts, k_max: int, xlogx: Table) -> Table:
    """Return the largest mutual information, in bits, for each number of rows up to k_max.

    A grid may have empty rows, so more rows than the master has are worth what all of it is.
    """
    columns, rows = counts.shape
    bits = np.zeros(k_max + 1)
    if rows == 1:
        return bits
    best = search(counts, k_max, xlogx)
    n = counts.sum()
    constant = xlogx[n]
    for j in range(columns):
        constant -= xlogx[counts[j].sum()]
    for k in range(2, k_max + 1):
        bits[k] = (best[min(k, rows), rows] + constant) / n
    return bits


@compiled
def informations(tables: Counts, k_max: int, xlogx: Table) -> Table:
    """Return the information [table, number of rows] of each of many tables.

    Empty tables, which noise can make, carry none.
    """
    bits = np.zeros((tables.shape[0], k_max + 1))
    for i in range(tables.shape[0]):
        if tables[i].sum() > 0:
            bits[i] = information(tables[i], k_max, xlogx)
    return bits


@compiled
def trace(counts: Counts, k: int, xlogx: Table) -> NDArray[np.int64]:
    """Return the edges, in master rows, of the best partition into k rows."""
    best = search(counts, max(k, 2), xlogx)
    cumulative = _cumulate(counts)
    rows = counts.shape[1]
    k = min(k, rows)
    w = np.empty(1)
    edges = np.empty(k + 1, np.int64)
    edges[k] = rows
    for level in range(k, 1, -1):
        t = edges[level]
        most = -np.inf
        for s in range(level - 1, t):
            _fill(w, cumulative[:, t : t + 1], cumulative[:, s], xlogx)
            if best[level - 1, s] + w[0] > most:
                most = best[level - 1, s] + w[0]
                edges[level - 1] = s
    edges[0] = 0
    return edges
