"""Counts of random permutations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmic._kernels._compile import compiled

__all__ = ["shuffle"]

Parts = NDArray[np.int32]


@compiled
def shuffle(generator: np.random.Generator, x: Parts, y: Parts, tables: NDArray[np.int64]) -> None:
    """Count records in tables [table, x part, y part], y permuted at random for each of them.

    The shuffle of Fisher and Yates. A random float below 1, times i + 1, is below i + 1 after
    rounding, too.
    """
    tables[:] = 0
    for table in tables:
        for i in range(y.size - 1, -1, -1):
            j = np.uint32(generator.random() * (i + 1))
            part = y[j]
            y[j] = y[i]
            y[i] = part
            table[np.uint32(x[i]), np.uint32(part)] += 1
