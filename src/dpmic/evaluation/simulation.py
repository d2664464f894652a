"""Seeded simulations of the mechanisms: plain numbers for tables and figures, never a release.

Reproducible noise protects nobody. It exists only in this package, which :mod:`dpmic.privacy`
cannot import. Tests check that it has the distribution of the real noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmic import _kernels
from dpmic._validate import Bounds
from dpmic.statistics.records import cell_counts, largest_first
from dpmic.statistics.search import Search, histogram_limits, xlogx_table

Floats = NDArray[np.float64]
Counts = NDArray[np.int32]


def clipped_laplace(scores: ArrayLike, scale: float, rng: np.random.Generator) -> Floats:
    """Return each score plus Laplace noise, clipped to [0, 1]."""
    exact = np.asarray(scores, np.float64)
    return np.clip(exact + rng.laplace(0.0, scale, exact.shape), 0.0, 1.0)


def published_grids(B: float) -> int:
    """Return G, the number of noisy master grids in MICr-Geom as published.

    It draws fresh noise for each l and orientation and returns the largest result, so its proved
    privacy loss is G epsilon, not epsilon.

    Examples
    --------
    >>> published_grids(12), published_grids(150)
    (10, 148)
    """
    return 2 * (math.floor(B / 2) - 1)


def published_geometric(
    search: Search, epsilon: float, runs: int, rng: np.random.Generator
) -> Floats:
    """Run MICr-Geom as published, which is not epsilon-DP, on the MICr search of one dataset.

    Every count of every master grid gets fresh noise for epsilon / 2 and is clamped to [0, n];
    the score is the largest normalised information of the noisy grids.
    """
    best = np.zeros(runs)
    for _, noisy, rows in _masters(search, epsilon, runs, rng):
        best = np.maximum(best, _entries(noisy, rows).max(axis=1))
    return best


def published_deviation(
    search: Search, epsilon: float, runs: int, rng: np.random.Generator
) -> Floats:
    """Return the largest effect of MICr-Geom's noise on any entry, in each run.

    The paper's error theorem bounds this maximum over all entries. Entries with equal numbers of
    rows and columns are compared separately in each orientation.
    """
    most = np.zeros(runs)
    for exact, noisy, rows in _masters(search, epsilon, runs, rng):
        moved = np.abs(_entries(noisy, rows) - _entries(exact[None], rows))
        most = np.maximum(most, moved.max(axis=1))
    return most


def noisy_table(
    points: tuple[Floats, Floats],
    bounds: Bounds,
    parts: int,
    epsilon: float,
    runs: int,
    rng: np.random.Generator,
) -> Floats:
    """Run the simple baseline: one noisy table of parts x parts cells, and its information.

    Replacing a record changes two counts by one, so noise for epsilon / 2 in each count makes the
    table epsilon-DP. The information is divided by log2 of the parts.
    """
    counts = cell_counts(*points, bounds, parts)
    noisy = _noisy(counts, epsilon, runs, rng).astype(np.float64)
    return _information(noisy) / math.log2(parts)


def histogram_matrix(
    points: tuple[Floats, Floats],
    bounds: Bounds,
    size: tuple[int, float],
    epsilon: float,
    rng: np.random.Generator,
) -> Floats:
    """Run our mechanism once: a noisy histogram of m x m cells, and its characteristic matrix.

    ``size`` is m and B.
    """
    m, B = size
    exact = cell_counts(*points, bounds, m)
    noisy = largest_first(_noisy(exact, epsilon, 1, rng)[0], points[0].size)
    return Search.of_histogram(noisy, bounds, histogram_limits(B, m)).matrix()


def _masters(
    search: Search, epsilon: float, runs: int, rng: np.random.Generator
) -> Iterator[tuple[Counts, Counts, int]]:
    """Yield, for every master grid, ``runs`` noisy versions of its counts, and its most rows."""
    for records in (search.by_x, search.by_y):
        for step in search.steps:
            exact = records.count(step).table
            yield exact, _noisy(exact, epsilon, runs, rng), step.rows


def _entries(tables: Counts, rows: int) -> Floats:
    """Return the entries [table, k - 2] of 2 .. ``rows`` rows; no master has fewer columns."""
    total = int(tables.sum(axis=(1, 2)).max())
    # A power of two, so that few tables of f are made.
    xlogx = xlogx_table(1 << max(total, 1).bit_length())
    bits = _kernels.informations(tables, rows, xlogx)
    # Rounding can give slightly less than 0.
    return np.asarray(np.maximum(bits[:, 2:] / np.log2(np.arange(2, rows + 1)), 0.0))


def _noisy(counts: NDArray[Any], epsilon: float, runs: int, rng: np.random.Generator) -> Counts:
    """Return ``runs`` draws of TruncGeom(epsilon / 2, n, count) for every count.

    The floor of an exponential variable over epsilon / 2 is geometric, and the difference of two is
    two-sided geometric noise. Clamping it is the same as truncating it.
    """
    shape = (runs, *counts.shape)
    first = np.floor(rng.standard_exponential(shape) * (2 / epsilon))
    first -= np.floor(rng.standard_exponential(shape) * (2 / epsilon))
    first += counts
    return np.clip(first, 0, counts.sum(), out=first).astype(np.int32)


def _information(tables: Floats) -> Floats:
    """Return the mutual information, in bits, of each of many tables; 0 for empty ones."""
    from scipy.special import xlogy

    total = np.maximum(tables.sum(axis=(1, 2)), 1)
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    nats = (
        xlogy(tables, tables).sum(axis=(1, 2))
        - xlogy(rows, rows).sum(axis=1)
        - xlogy(columns, columns).sum(axis=1)
        + xlogy(total, total)
    ) / total
    return np.asarray(np.maximum(nats, 0.0) / math.log(2))
