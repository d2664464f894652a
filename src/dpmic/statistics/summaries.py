"""Summaries of a characteristic matrix.

Entry ``[k - 2, l - 2]`` is for k rows and l columns, and NaN if k * l exceeds B.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MCN_TOLERANCE = 1e-4
"""How far an entry may fall below the target share of MIC in :func:`mcn`, as in minepy."""


def mic(matrix: Floats) -> float:
    """Return the Maximal Information Coefficient: the largest entry."""
    return float(np.nanmax(matrix))


def tic(matrix: Floats, *, normalised: bool) -> float:
    """Return the Total Information Coefficient: the sum of the entries, or their mean."""
    return float(np.nanmean(matrix) if normalised else np.nansum(matrix))


def mas(matrix: Floats) -> float:
    """Return the Maximum Asymmetry Score: the largest difference from the transpose.

    With a nominal column there is no transpose to compare with, and the result is NaN.
    """
    differences = np.abs(matrix - matrix.T)
    alone = np.isnan(differences) & ~np.isnan(matrix)
    return math.nan if alone.any() else float(np.nanmax(differences))


def mev(matrix: Floats) -> float:
    """Return the Maximum Edge Value: the largest entry with two rows or two columns, or NaN."""
    edge = np.concatenate((matrix[0], matrix[:, 0]))
    there = edge[~np.isnan(edge)]
    return float(there.max()) if there.size else math.nan


def mcn(matrix: Floats, eps: float) -> float:
    """Return the Minimum Cell Number: log2 of the fewest cells that reach (1 - eps) MIC."""
    reached = matrix + MCN_TOLERANCE >= (1 - eps) * mic(matrix)
    return float(np.log2(_cells(matrix)[reached].min()))


def gmic(matrix: Floats, p: float) -> float:
    """Return the mean of order p of the best entries within each number of cells."""
    within = _best_within_cells(matrix)
    dominant = float(within.max() if p > 0 else within.min())
    if math.isinf(p) or dominant <= 0:
        return max(dominant, 0.0)  # for p <= 0, the mean tends to zero if one entry does
    if abs(p) < 1e-8:
        return float(np.exp(np.mean(np.log(within)))) if within.min() > 0 else 0.0
    # Take powers of ratios between 0 and 1, so that nothing overflows.
    return float(dominant * np.mean((within / dominant) ** p) ** (1 / p))


def _cells(matrix: Floats) -> NDArray[np.int64]:
    """Return the number of cells of each entry's grid."""
    parts = np.arange(2, matrix.shape[0] + 2)
    return parts[:, None] * parts


def _best_within_cells(matrix: Floats) -> Floats:
    """Return, for each allowed entry, the largest entry with at most as many cells."""
    allowed = ~np.isnan(matrix)
    cells, values = _cells(matrix)[allowed], matrix[allowed]
    order = np.argsort(cells, kind="stable")
    best = np.maximum.accumulate(values[order])
    last_of_size = np.searchsorted(cells[order], cells[order], side="right") - 1
    within: Floats = best[last_of_size]
    return within
