"""MIC of a distribution instead of a sample: exact cell masses, and so no sampling error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dpmic._validate import Bounds, Limits, integer
from dpmic.statistics.grids import range_cuts, steps

Floats = NDArray[np.float64]


class Distribution(Protocol):
    """A joint distribution of two variables, as far as MIC* needs it."""

    def masses(self, x_cuts: Floats, y_cuts: Floats) -> Floats:
        """Return the probability of every cell [column, row] between inner cuts."""

    def mass_cuts(self, axis: Literal["x", "y"], size: int) -> Floats:
        """Return the inner cuts of ``size`` parts of equal probability."""


def mic_star(distribution: Distribution, *, master: int = 260, columns: int = 360) -> float:
    """Compute MIC*, the value in the whole population, of a known distribution.

    All estimators of the family converge to MIC*, so it is the yardstick for simulations. It is
    the supremum over grids of which one axis is cut ever more finely and the other into k parts
    chosen from a master (Reshef et al. 2016, section 3.5). Here both are cut into parts of equal
    mass, in both orientations.

    Parameters
    ----------
    distribution : Distribution
        An object with ``masses(x_cuts, y_cuts)`` and ``mass_cuts(axis, size)``, such as those
        of :mod:`dpmic.evaluation.relationships`.
    master : int
        Parts of the axis that is searched.
    columns : int
        Parts of the other axis.

    Returns
    -------
    float
        Between 0 and 1. Coarser grids give a smaller value.

    Examples
    --------
    >>> from dpmic.evaluation.relationships import noisy
    >>> round(mic_star(noisy(12, 0.5)), 3)
    0.221
    """
    fine, coarse = integer(columns, "columns", least=2), integer(master, "master", least=2)
    by_x = distribution.masses(
        distribution.mass_cuts("x", fine), distribution.mass_cuts("y", coarse)
    )
    by_y = distribution.masses(
        distribution.mass_cuts("x", coarse), distribution.mass_cuts("y", fine)
    ).T
    return max(_boundary(by_x), _boundary(by_y))


def range_matrix(distribution: Distribution, bounds: Bounds, limits: Limits) -> Floats:
    """Return the range-equicharacteristic matrix of a distribution (the paper's appendix).

    The matrix of :func:`dpmic.micr` converges to it as n grows with B and c fixed. Its largest
    entry converges to MIC* as B grows.
    """
    plan = steps(limits)
    size = plan[-1].columns - 1
    both = []
    for fixed, free in ((0, 1), (1, 0)):  # the two orientations
        entries = np.full((size, size), np.nan)
        for i, step in enumerate(plan):
            cuts = {
                fixed: range_cuts(bounds[fixed], step.columns),
                free: range_cuts(bounds[free], int(step.master)),
            }
            masses = distribution.masses(cuts[0], cuts[1])
            bits = islice(_growing(masses.T if fixed else masses), step.rows - 1)
            entries[: step.rows - 1, i] = list(bits) / np.log2(np.arange(2, step.rows + 1))
        both.append(entries.T if fixed else entries)
    return np.asarray(np.clip(np.fmax(*both), 0.0, 1.0))


def _boundary(masses: Floats) -> float:
    """Return the largest information over log2 k, for as many k as can have the maximum."""
    most = _information_of(masses)
    best = 0.0
    for k, bits in enumerate(islice(_growing(masses), masses.shape[1] - 1), start=2):
        best = max(best, bits / math.log2(k))
        # The information of k parts is at most all of it, so no later entry can be larger.
        if most / math.log2(k + 1) <= best:
            break
    return min(best, 1.0)


def _growing(masses: Floats) -> Iterator[float]:
    """Yield the most information, in bits, for 2, 3, ... rows made of master rows.

    This is the dynamic programme of `dpmic._kernels.reference.segmentation` on masses.
    """
    columns, rows = masses.shape
    cumulative = np.concatenate((np.zeros((columns, 1)), np.cumsum(masses, axis=1)), axis=1)
    weight = np.full((rows + 1, rows + 1), -np.inf)  # [s, t]: what the row s .. t - 1 adds
    for s in range(rows):
        parts = cumulative[:, s + 1 :] - cumulative[:, s : s + 1]
        weight[s, s + 1 :] = _xlogx(parts).sum(axis=0) - _xlogx(parts.sum(axis=0))
    constant = _xlogx(masses.sum(axis=1)).sum()
    best = weight[0]
    for _ in range(2, rows + 1):
        # A row may be empty, so one more row never scores less.
        best = np.fmax(best, (best[:, None] + weight).max(axis=0))
        yield float(best[rows] - constant)
    while True:
        yield float(best[rows] - constant)


def _information_of(masses: Floats) -> float:
    """Return the mutual information of a table of masses, in bits."""
    rows, columns = masses.sum(axis=0), masses.sum(axis=1)
    return float(_xlogx(masses).sum() - _xlogx(rows).sum() - _xlogx(columns).sum())


def _xlogx(mass: Floats) -> Floats:
    from scipy.special import xlogy

    return np.asarray(xlogy(mass, mass) / math.log(2))
