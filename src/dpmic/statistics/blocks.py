"""Many pairs in one call: every variable is cut once, and the kernel goes from pair to pair."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmic.counts.memory import Columns, Cut, Masters, Records
from dpmic.grids import Steps
from dpmic.statistics.characteristic import Search, information, normalised
from dpmic.statistics.methods import Binned

__all__ = ["BUDGET", "Pairing", "cut", "matrices", "matrices_of", "most_at_once"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

BUDGET = 2**26
"""Bytes that the parts of records of the variables in work may take."""


@dataclass(frozen=True)
class Pairing:
    """Which pairs there are: all of ``left`` variables, or each of them with each on the right."""

    left: int
    right: int | None = None

    @property
    def count(self) -> int:
        """How many pairs there are."""
        m = self.left
        return m * (m - 1) // 2 if self.right is None else m * self.right

    def positions(self, i: Places, j: Places) -> Places:
        """Return where pairs come in the order of all: row by row."""
        if self.right is None:
            return i * (2 * self.left - i - 1) // 2 + (j - i - 1)
        return i * self.right + j

    def places(self, position: int) -> tuple[int, int]:
        """Return the pair that comes at a position."""
        if self.right is not None:
            return divmod(position, self.right)
        # Row i begins at i m - i (i + 1) / 2: the largest i that does so at or before it.
        i = bisect_right(range(self.left), position, key=self._begin) - 1
        return i, position - self._begin(i) + i + 1

    def _begin(self, i: int) -> int:
        return i * (2 * self.left - i - 1) // 2

    def tiles(self, size: int) -> Iterator[tuple[range, range]]:
        """Return squares of variables, ``size`` wide, that have all pairs between them."""
        across = self.left if self.right is None else self.right
        for top in range(0, self.left, size):
            for side in range(top if self.right is None else 0, across, size):
                yield range(top, min(top + size, self.left)), range(side, min(side + size, across))

    def within(self, rows: range, columns: range) -> tuple[Places, Places]:
        """Return the pairs of a tile."""
        i, j = (places.ravel() for places in np.meshgrid(rows, columns, indexing="ij"))
        return (i[i < j], j[i < j]) if self.right is None else (i, j)


def most_at_once(plan: Steps, n: int) -> int:
    """Return how many variables of each side of a tile may be cut at a time; 0: not even one."""
    return BUDGET // (2 * 2 * 4 * n * len(plan.layout.masters))


def cut(variables: Sequence[Binned], plan: Steps) -> Cut:
    """Cut variables for every step."""
    columns = Columns.cut([binned.fixed for binned in variables], plan.layout)
    return Cut(columns, Masters.cut([binned.free for binned in variables], plan.layout))


def matrices(left: Cut, right: Cut, pairs: Places, plan: Steps, n: int) -> Floats:
    """Return the equicharacteristic matrix [pair, rows - 2, columns - 2] of each pair."""
    size = len(plan)
    bits = np.full((2, len(pairs), size, size), np.nan)
    information(left, right, pairs, plan.layout, bits, n)
    return normalised(bits)


def matrices_of(
    variables: Sequence[Binned], pairs: Sequence[tuple[int, int]], plan: Steps
) -> Iterator[Floats]:
    """Return the matrix of each pair in turn.

    Which operations are done, and what is held, depends on the variables' number, length and
    grids alone; how fast a processor does them also on the values (known limitations, Time).
    """
    n, size = variables[0].fixed.atoms.size, most_at_once(plan, variables[0].fixed.atoms.size)
    if len(variables) > 2 * size:
        for i, j in pairs:
            x, y = variables[i], variables[j]
            yield Search(Records(x.fixed, y.free), Records(y.fixed, x.free), plan).matrix()
        return
    whole = cut(variables, plan)
    for pair in pairs:
        yield matrices(whole, whole, np.array([pair]), plan, n)[0]
