"""Cutting an axis of weighted atoms into parts.

An atom is the smallest piece of an axis that no grid splits. A partition is the array of its
edges: part i holds the atoms ``edges[i]`` to ``edges[i + 1] - 1``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmic._kernels._compile import compiled

__all__ = ["equipartition"]

Edges = NDArray[np.int64]


@compiled
def equipartition(ends: NDArray[np.int64], size: int, slack: int) -> Edges:
    """Cut into at most ``size`` parts of nearly equal weight, never splitting an atom.

    ``ends`` are the cumulative weights of the atoms, from 0. Wished cuts are evenly spaced. A
    part closes before the first atom whose end is no nearer to the wished cut than its
    beginning; where that is ``slack`` records or more away, what is left is spaced anew.

    With slack = 1 only ties move the other cuts: without them cut j is j n / size, rounded, so
    a partition into a multiple of ``size`` refines it. With slack = 0 every cut is spaced
    anew, the rule of Reshef et al. 2011, whose rounding adds up from cut to cut.
    """
    atoms = ends.size - 1
    edges = np.empty(min(size, atoms) + 1, np.int64)
    edges[0] = 0
    part = 0  # parts closed
    anew = 0  # the part from which, and
    base = 0  # the weight after which, cuts are evenly spaced
    while edges[part] < atoms:
        part += 1
        # The wished cut is base + share / spaced; whole numbers decide everything exactly.
        spaced = size - anew
        share = (part - anew) * (ends[atoms] - base)
        # |end - wish| >= |begin - wish| iff begin + end >= 2 wish, and both sides grow.
        twice = 2 * base + (2 * share + spaced - 1) // spaced
        low, high = edges[part - 1] + 1, atoms
        while low < high:
            middle = (low + high) // 2
            if ends[middle] + ends[middle + 1] >= twice:
                high = middle
            else:
                low = middle + 1
        edges[part] = low
        if abs((ends[low] - base) * spaced - share) >= slack * spaced:
            anew, base = part, ends[low]
    return edges[: part + 1].copy()
