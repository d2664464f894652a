"""Secret orders of records, in which tied values are put."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

__all__ = ["secret_order"]


def secret_order(n: int) -> NDArray[np.int64]:
    """Return a uniformly random order of n records, from the operating system's entropy.

    Keys are drawn again in the (never seen) case that two agree, so that every order is equally
    likely.
    """
    while True:
        keys = np.frombuffer(os.urandom(8 * n), np.uint64)
        order = np.argsort(keys)
        if np.all(np.diff(keys[order]) > 0):
            return order
