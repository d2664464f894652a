"""The search of segmentation.py for counts that are too large for a table of f(m) = m log2 m.

Plain numpy. The same sums in the same order, so bit-identical floats; f is computed for the counts
that occur. A step has few of them, however many records there are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def f(m: NDArray[np.integer]) -> Floats:
    """Return m log2 m, and 0 for 0."""
    values = np.asarray(m, np.float64)
    product: Floats = values * np.log2(np.maximum(values, 1.0))
    return product


def information(counts: Counts, k_max: int) -> Floats:
    """Return the largest mutual information, in bits, for each number of rows up to k_max."""
    rows, bits = counts.shape[1], np.zeros(k_max + 1)
    if rows == 1:
        return bits
    best = _search(_sums(counts), min(k_max, rows))
    n = counts.sum()
    constant = f(n)
    for own in f(counts.sum(axis=1)):
        constant -= own
    for k in range(2, k_max + 1):
        bits[k] = (best[min(k, rows), rows] + constant) / n
    return bits


def trace(counts: Counts, k: int) -> NDArray[np.int64]:
    """Return the edges, in master rows, of the best partition into k rows."""
    rows, w = counts.shape[1], _sums(counts)
    k = min(k, rows)
    best, edges = _search(w, k), np.zeros(k + 1, np.int64)
    edges[k] = rows
    for level in range(k, 1, -1):
        t = edges[level]
        edges[level - 1] = np.argmax(best[level - 1, :t] + w[:t, t])
    return edges


def _sums(counts: Counts) -> Floats:
    """Return w(s, t), what a row made of the master rows s .. t - 1 adds; -inf for none."""
    columns, rows = counts.shape
    cumulative = np.zeros((columns, rows + 1), np.int64)
    np.cumsum(counts, axis=1, out=cumulative[:, 1:])

    def between(ends: NDArray[np.integer]) -> Floats:
        return f(np.maximum(ends - ends[:, None], 0))

    w = -between(cumulative.sum(axis=0))
    for own in cumulative:
        w += between(own)
    w[np.tril_indices(rows + 1)] = -np.inf
    return w


def _search(w: Floats, k_max: int) -> Floats:
    """Return best[k, t]: the most that k rows made of the first t master rows can add up to."""
    best = np.full((k_max + 1, w.shape[0]), -np.inf)
    best[0, 0] = 0.0
    for k in range(1, k_max + 1):
        best[k] = (best[k - 1][:, None] + w).max(axis=0)
    return best
