"""The search for the best grid: a k-segmentation dynamic programme in float64.

Let a_ij be the counts of a grid, r_i and c_j its row and column sums, f(m) = m log2 m. Then

    n I = sum_ij f(a_ij) - sum_i f(r_i) - sum_j f(c_j) + f(n),

so with fixed columns the information is a sum over rows. A row made of the master rows
s .. t - 1 adds w(s, t) = sum_j f(C[j, t] - C[j, s]) - f(T[t] - T[s]), where C are the cumulative
counts of column j and T the cumulative row sums. OptimizeAxis (Reshef et al. 2011) is then
best[k, t] = max over s of best[k - 1, s] + w(s, t).

Floats are added in the order written here: first -f of the row, then column after column. Any
other search that does the same is bit-identical. ``xlogx`` is the table of f, or None if counts are
too large for one; then f is computed for those that occur.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.integer]
Edges = NDArray[np.int64]
Floats = NDArray[np.float64]

AT_ONCE = 2**18
"""Sums w(s, t) of several tables in memory at a time: 2 MB, so that they stay in the cache."""


def f(m: Counts | int) -> Floats:
    """Return m log2 m, and 0 for 0."""
    values = np.asarray(m, np.float64)
    product: Floats = values * np.log2(np.maximum(values, 1.0))
    return product


def information(counts: Counts, k_max: int, xlogx: Floats | None) -> Floats:
    """Return the largest mutual information, in bits, for each number of rows up to k_max.

    A grid may have empty rows, so with more rows than the master has, the value stays the same.

    Parameters
    ----------
    counts : (columns, master rows)
        Records in each cell.
    k_max : int
        The most rows, at least 2. Entries 0 and 1 of the result are 0.
    xlogx : ndarray or None
        The table of f, up to the number of records; if None, f is computed.
    """
    bits: Floats = informations(counts[None], k_max, xlogx)[0]
    return bits


def informations(tables: Counts, k_max: int, xlogx: Floats | None) -> Floats:
    """Return the information [table, number of rows] of each of many tables.

    Noise can make tables empty; their information is 0.
    """
    size, _, rows = tables.shape
    bits = np.zeros((size, k_max + 1))
    if rows == 1:
        return bits
    step = max(AT_ONCE // (rows + 1) ** 2, 1)
    for first in range(0, size, step):
        some = slice(first, first + step)
        bits[some, 2:] = _informations(tables[some], k_max, xlogx)
    return bits


def trace(counts: Counts, k: int, xlogx: Floats | None) -> Edges:
    """Return the edges, in master rows, of the best partition into k rows.

    Among equally good ones, the last row begins as early as possible, then the row before it.
    """
    rows, w = counts.shape[1], _row_sums(counts[None], xlogx)
    k = min(k, rows)
    best, edges = _search(w, k)[:, 0], np.zeros(k + 1, np.int64)
    edges[k] = rows
    for level in range(k, 1, -1):
        t = edges[level]
        edges[level - 1] = np.argmax(best[level - 1, :t] + w[0, :t, t])
    return edges


def _informations(tables: Counts, k_max: int, xlogx: Floats | None) -> Floats:
    """Return the information [table, k - 2] of as many tables as fit in memory."""
    rows = tables.shape[2]
    best = _search(_row_sums(tables, xlogx), min(k_max, rows))
    n = tables.sum(axis=(1, 2))
    constant = _look_up(n, xlogx)
    for own in tables.sum(axis=2).T:
        constant = constant - _look_up(own, xlogx)
    most = best[np.minimum(np.arange(2, k_max + 1), rows), :, rows]
    bits: Floats = (most + constant) / np.maximum(n, 1)
    return bits.T


def _look_up(m: Counts, xlogx: Floats | None) -> Floats:
    """Return f(m) of every count."""
    return f(m) if xlogx is None else xlogx[m]


def _row_sums(tables: Counts, xlogx: Floats | None) -> Floats:
    """Return w[table, s, t], the sum that the row s .. t - 1 of master rows adds; -inf if empty."""
    size, columns, rows = tables.shape
    cumulative = np.zeros((columns, size, rows + 1), np.int64)
    np.cumsum(tables.swapaxes(0, 1), axis=2, out=cumulative[:, :, 1:])

    def between(ends: Edges) -> Floats:
        return _look_up(np.maximum(ends[:, None, :] - ends[:, :, None], 0), xlogx)

    w = -between(cumulative.sum(axis=0))
    for own in cumulative:
        w += between(own)
    w[:, *np.tril_indices(rows + 1)] = -np.inf
    return w


def _search(w: Floats, k_max: int) -> Floats:
    """Return best[k, table, t]: the largest sum of k rows over the first t master rows."""
    best = np.full((k_max + 1, *w.shape[:2]), -np.inf)
    best[0, :, 0] = 0.0
    for k in range(1, k_max + 1):
        best[k] = (best[k - 1][:, :, None] + w).max(axis=1)
    return best
