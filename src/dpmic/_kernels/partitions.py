"""Cutting an axis of weighted atoms into parts.

An atom is the smallest piece of an axis that no grid splits. A partition is the array of its
edges: part i holds the atoms ``edges[i]`` to ``edges[i + 1] - 1``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmic._kernels._compile import compiled

Edges = NDArray[np.int64]


@compiled
def ranks(
    values: NDArray[np.float64], order: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
    """Return the rank of each value, equal ones sharing theirs, the distinct values and ``ends``.

    ``order`` sorts the values; ``ends`` are the records before each distinct value, and all.
    """
    atoms = np.empty(values.size, np.int32)
    distinct, ends = np.empty(values.size), np.zeros(values.size + 1, np.int64)
    rank = -1
    for i in range(values.size):
        value = values[order[i]]
        if rank < 0 or value != distinct[rank]:
            rank += 1
            distinct[rank] = value
        atoms[order[i]] = rank
        ends[rank + 1] = i + 1
    return atoms, distinct[: rank + 1].copy(), ends[: rank + 2].copy()


@compiled
def equipartition(ends: NDArray[np.int64], size: int, slack: int) -> Edges:
    """Cut into at most ``size`` parts of nearly equal weight, never splitting an atom.

    ``ends`` are the cumulative weights of the atoms, from 0. Target cuts are evenly spaced. A
    part closes before the first atom whose end is no nearer to the target cut than its
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
        # The target cut is base + share / spaced; integers decide everything exactly.
        spaced = size - anew
        share = (part - anew) * (ends[atoms] - base)
        # |end - target| >= |begin - target| iff begin + end >= 2 target, and both sides grow.
        twice = 2 * base + (2 * share + spaced - 1) // spaced
        low, high = edges[part - 1] + 1, atoms
        if ends[atoms] == atoms:  # no ties: ends[i] = i
            low = high = min(max(low, twice // 2), high)
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


@compiled
def equipartitions(
    ends: NDArray[np.int64], sizes: Edges, slack: int, finest: bool
) -> tuple[Edges, Edges]:
    """Cut into several numbers of parts: partition i has edges[offsets[i] : offsets[i + 1]].

    With ``finest`` every atom is a part of its own where there are no more atoms than parts.
    """
    atoms, most = ends.size - 1, 0
    for size in sizes:
        most += min(size, atoms) + 1
    edges, offsets = np.empty(most, np.int64), np.zeros(sizes.size + 1, np.int64)
    for i in range(sizes.size):
        apart = finest and atoms <= sizes[i]
        own = np.arange(atoms + 1) if apart else equipartition(ends, sizes[i], slack)
        for e in range(own.size):  # a slice would take seconds to compile
            edges[offsets[i] + e] = own[e]
        offsets[i + 1] = offsets[i] + own.size
    return edges[: offsets[-1]], offsets
