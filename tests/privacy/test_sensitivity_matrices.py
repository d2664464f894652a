"""All 3 x 3 count matrices, all moves of one record: step 4 of the proof of Theorem 1 at work.

A grid of three rows and three columns on a master of three rows has exactly these count
matrices. With the two ways to join neighbouring rows, its score is
max(N(A) / log2 3, N(two rows) / log2 2) / n, which one record may change by g(n) / n and no more.
Entry (3, 3) alone changes by more from n = 9 on: the entries (2, 3) keep the maximum in check.
"""

import math

import numba
import numpy as np
import pytest

from dpmic.privacy import sensitivity

pytestmark = pytest.mark.slow  # numba compiles loops of its own


@numba.njit(cache=False)
def _information(a, rows, f):
    """Return n times the information, in bits, of the first rows of a 3 x 3 matrix."""
    total = 0.0
    n = 0
    for i in range(rows):
        r = a[i, 0] + a[i, 1] + a[i, 2]
        n += r
        total += f[a[i, 0]] + f[a[i, 1]] + f[a[i, 2]] - f[r]
    for j in range(3):
        c = 0
        for i in range(rows):
            c += a[i, j]
        total -= f[c]
    return total + f[n]


@numba.njit(cache=False)
def _score(a, joined, f, log3, two_rows):
    """Return n times the score: entry (3, 3), and with ``two_rows`` also the entry (2, 3)."""
    best = _information(a, 3, f) / log3
    if two_rows:
        for first in range(2):  # join rows first and first + 1
            for j in range(3):
                joined[0, j] = a[0, j] + (a[1, j] if first == 0 else 0)
                joined[1, j] = a[2, j] + (a[1, j] if first == 1 else 0)
            best = max(best, _information(joined, 2, f))
    return best


@numba.njit(cache=False)
def _largest_change(n, f, log3, two_rows):
    """Return the largest change by one record, over all matrices of n - 1 other records."""
    a = np.zeros((3, 3), np.int64)
    flat = a.ravel()
    joined = np.zeros((2, 3), np.int64)
    flat[0] = n - 1
    largest = 0.0
    while True:
        low, high = math.inf, -math.inf
        for cell in range(9):  # the last record goes into each cell in turn
            flat[cell] += 1
            value = _score(a, joined, f, log3, two_rows)
            flat[cell] -= 1
            low, high = min(low, value), max(high, value)
        largest = max(largest, high - low)
        # the next composition of n - 1 into nine parts
        first = 0
        while first < 8 and flat[first] == 0:
            first += 1
        if first == 8:
            return largest
        moved = flat[first]
        flat[first] = 0
        flat[0] = moved - 1
        flat[first + 1] += 1


def largest_change(n, *, two_rows):
    m = np.arange(n + 1.0)
    m[1:] *= np.log2(m[1:])
    return _largest_change(n, m, math.log2(3), two_rows) / n


@pytest.mark.parametrize("n", range(3, 13))
def test_every_matrix(n):
    found = largest_change(n, two_rows=True)
    assert found == pytest.approx(sensitivity.micr(n), abs=1e-12)  # never above, and attained


@pytest.mark.full
@pytest.mark.parametrize("n", range(13, 28))
def test_every_larger_matrix(n):
    found = largest_change(n, two_rows=True)
    assert found == pytest.approx(sensitivity.micr(n), abs=1e-12)


@pytest.mark.parametrize(("n", "exceeds"), [(8, False), (9, True), (12, True)])
def test_without_two_rows_the_bound_fails(n, exceeds):
    """So the enumeration can see an exceeded bound, and condition (iii) of the proof is needed."""
    assert (largest_change(n, two_rows=False) > sensitivity.micr(n) + 1e-9) == exceeds
