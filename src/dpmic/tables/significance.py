"""The p-values of many pairs: each against its own permutations, or against a pool of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate
from dpmic._validate import Limits
from dpmic.grids import MassAxis
from dpmic.statistics.significance import Cells, null, observed, pvalue

__all__ = ["Draws", "Null", "cells"]

Floats = NDArray[np.float64]
Both = tuple[Cells, Cells]

CELLS, FINER = 9, 5
"""B and c of the statistic, as in :func:`dpmic.independence_test`."""

SHUFFLE, DRAW = 3e-9, 10e-6
"""Seconds for a record of a permutation, and for what else it needs."""


@dataclass(frozen=True)
class Draws:
    """How many permutations, from which seed, of each pair or in all."""

    permutations: int
    seed: int
    pooled: bool

    def generator(self, position: int) -> np.random.Generator:
        """Return the source for one pair: the same whatever the order of work."""
        return np.random.default_rng((self.seed, position))

    def null(self, pairs: int, of: Callable[[int], Both | None]) -> Null:
        """Return what pairs are compared with; a pool is drawn now, evenly from all of them."""
        if not self.pooled:
            return Null(self, None)
        count = min(pairs, self.permutations)
        places = np.linspace(0, pairs - 1, count).astype(int).tolist()
        able = [(place, both) for place in places if (both := of(place)) is not None]
        if not able:
            return Null(self, np.empty(0))
        each, spare = divmod(self.permutations, len(able))
        drawn = [
            null(*both, each + (rank < spare), self.generator(place))
            for rank, (place, both) in enumerate(able)
        ]
        return Null(self, np.concatenate(drawn))


@dataclass(frozen=True, eq=False)
class Null:
    """What pairs are compared with: a pool, or draws of their own."""

    draws: Draws
    pool: Floats | None

    def pvalue(self, x: Cells, y: Cells, position: int) -> float:
        """Return the p-value of a pair."""
        if self.pool is not None:
            return pvalue(observed(x, y), self.pool)
        drawn = null(x, y, self.draws.permutations, self.draws.generator(position))
        return pvalue(observed(x, y), drawn)

    def seconds(self, n: int) -> float:
        """Return about how long that takes."""
        draws = 1 if self.pool is not None else self.draws.permutations
        return draws * (n * SHUFFLE + DRAW)


def cells(values: Floats) -> Cells:
    """Cut a column for all its tests."""
    return Cells.of(MassAxis.grouped(values), _limits(values.size))


def _limits(n: int) -> Limits:
    return _validate.limits(n, alpha=None, B=CELLS, c=FINER, atoms=n)
