"""The dependence of a number with a class: every class is a fixed row, without an order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic import _kernels
from dpmic.statistics.characteristic import xlogx_table
from dpmic.statistics.grids import MassAxis
from dpmic.statistics.significance import AT_ONCE, permuted

__all__ = ["ClassPair"]

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class ClassPair:
    """The class of each record, and its part of a master that ``most`` parts are made of."""

    classes: Codes
    parts: Codes
    most: int

    @classmethod
    def of(cls, values: Floats, classes: Codes, most: int, master: float) -> ClassPair:
        """Cut a column into a master of at most so many parts of equal mass."""
        axis = MassAxis.grouped(values)
        parts = np.searchsorted(axis.master(master), axis.atoms, side="right") - 1
        return cls(classes, parts.astype(np.int32), most)

    def scores(self) -> Floats:
        """Return I(k) / log2 min(k, classes) for k = 2 up to the most, I(k) the largest in bits."""
        shape = tuple(size.size for size in self._margins)
        places = np.ravel_multi_index((self.classes, self.parts), shape)
        table = np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape)
        # Sums are taken class by class; in this order no names and no order of records matter.
        return self._bits(table[np.lexsort(table.T)]) / self._logs

    @property
    def pattern(self) -> bytes:
        """All that the null of the total depends on: how many records each class and part has."""
        return repr((self.most, *(size.tolist() for size in self._margins))).encode()

    def null(self, permutations: int, generator: np.random.Generator) -> Floats:
        """Return the sum of the scores of random permutations; the pattern decides the draws."""
        classes, parts = (
            np.repeat(np.arange(size.size, dtype=np.int32), size) for size in self._margins
        )
        most = max(AT_ONCE // (self._margins[0].size * self._margins[1].size), 1)
        drawn = permuted(classes, parts, permutations, generator, most)
        bits = np.array([self._bits(table) for tables in drawn for table in tables])
        totals: Floats = (bits / self._logs).sum(axis=1)
        return totals

    @cached_property
    def _margins(self) -> tuple[Counts, Counts]:
        """The sizes of the classes, which have no order, and of the parts."""
        return np.sort(np.bincount(self.classes)), np.bincount(self.parts)

    @cached_property
    def _logs(self) -> Floats:
        logs: Floats = np.log2(np.minimum(np.arange(2, self.most + 1), self._margins[0].size))
        return logs

    def _bits(self, table: NDArray[Any]) -> Floats:
        """Return I(k) of a table of counts [class, part]."""
        counts, xlogx = np.ascontiguousarray(table, np.int32), xlogx_table(self.parts.size)
        found: Floats = _kernels.tiled.information(counts, self.most, xlogx)[2:]
        return found
