"""Which pairs of columns there are, and in which order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pairing"]

Places = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Pairing:
    """All pairs of ``left`` columns, or each of them with each of ``right`` ones, row by row."""

    left: int
    right: int | None = None

    @property
    def count(self) -> int:
        """How many pairs there are."""
        m = self.left
        return m * (m - 1) // 2 if self.right is None else m * self.right

    def positions(self, i: Places, j: Places) -> Places:
        """Return where pairs come in the order of all."""
        if self.right is None:
            return self._begin(i) + (j - i - 1)
        return i * self.right + j

    def places(self, positions: Places) -> tuple[Places, Places]:
        """Return the pairs that come at some positions."""
        if self.right is not None:
            i, j = np.divmod(positions, self.right)
            return i, j
        begins = self._begin(np.arange(self.left))
        i = np.searchsorted(begins, positions, side="right") - 1
        return i, positions - begins[i] + i + 1

    def _begin(self, i: Places) -> Places:
        """Return where row i begins among all pairs of one table."""
        return i * (2 * self.left - i - 1) // 2

    def tiles(self, size: int) -> Iterator[tuple[range, range]]:
        """Return squares of columns, ``size`` wide, that have all pairs between them."""
        across = self.left if self.right is None else self.right
        for top in range(0, self.left, size):
            for side in range(top if self.right is None else 0, across, size):
                yield range(top, min(top + size, self.left)), range(side, min(side + size, across))

    def within(self, rows: range, columns: range) -> tuple[Places, Places]:
        """Return the pairs of a tile."""
        i, j = (places.ravel() for places in np.meshgrid(rows, columns, indexing="ij"))
        return (i[i < j], j[i < j]) if self.right is None else (i, j)
