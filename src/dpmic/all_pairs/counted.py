"""The scores of many pairs whose records were counted, and are not here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpmic._validate import Limits
from dpmic.all_pairs.work import Side, Work
from dpmic.statistics import summaries
from dpmic.statistics.counted import counted_search
from dpmic.statistics.counts.table import CountTable

__all__ = ["CountedSide", "CountedWork"]


VALUE, STEP = 10e-9, 100e-6
"""Seconds for a value of f, and for what else a step needs, roughly."""


@dataclass(frozen=True, eq=False)
class CountedSide(Side):
    """Columns of a count table; none of them is held."""

    table: CountTable

    @property
    def n(self) -> int:
        """The number of records."""
        return self.table.n

    @cached_property
    def whole(self) -> NDArray[np.bool_]:
        """No column has a gap: those are refused when they are counted."""
        return np.ones(len(self.names), bool)

    def digest(self) -> str:
        """Return a fingerprint of the counts."""
        return self.table.digest()


@dataclass(frozen=True, eq=False)
class CountedWork(Work):
    """Scores of the pairs of a count table, one search each."""

    left: CountedSide
    right: CountedSide

    @property
    def limits(self) -> Limits:
        """How far the search goes."""
        return self.left.table.grids.limits

    @property
    def _most(self) -> int:
        return 0

    @property
    def _seconds(self) -> float:
        """About how long a pair takes: its records are counted."""
        values = sum((step.columns + 1) * step.master**2 for step in self.plan)
        return VALUE * values + STEP * len(self.plan)

    def _alone(self, i: int, j: int) -> tuple[float, float, int]:
        """Return MIC, TIC and the number of records of one pair."""
        search = counted_search(self.left.table, self.left.names[i], self.right.names[j])
        matrix = search.matrix()
        return summaries.mic(matrix), summaries.tic(matrix, normalised=False), search.n
