"""Cutting an axis of weighted atoms into parts.

An atom is the smallest piece of an axis that no grid splits. A partition is the array of its
edges: part i holds the atoms ``edges[i]`` to ``edges[i + 1] - 1``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmic._kernels._compile import compiled, inlined

Edges = NDArray[np.int64]


@inlined
def _rank(
    values: NDArray[np.float64],
    order: NDArray[np.int64],
    atoms: NDArray[np.int32],
    ends: NDArray[np.int64],
) -> int:
    """Set the rank of each value and the records before each rank; return how many ranks."""
    rank, last = np.uint32(0), values[order[0]]
    ends[0] = 0
    for i in range(values.size):
        record = np.uint64(order[i])  # unsigned, for the sake of speed
        value = values[record]
        rank += np.uint32(value != last)
        last = value
        atoms[record] = rank
        ends[rank + 1] = i + 1
    return rank + 1  # type: ignore[return-value]


@compiled
def ranks(
    values: NDArray[np.float64], order: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
    """Return the rank of each value, equal ones sharing theirs, the cuts below and ``ends``.

    ``order`` sorts the values; ``ends`` are the records before each distinct value, and all.
    """
    atoms, ends = np.empty(values.size, np.int32), np.empty(values.size + 1, np.int64)
    size = _rank(values, order, atoms, ends)
    distinct = np.empty(size)
    for rank in range(size):
        distinct[rank] = values[order[ends[rank]]]
    return atoms, between(distinct), ends[: size + 1].copy()


@compiled
def rank_rows(
    table: NDArray[np.float64], order: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return ranks and ``ends`` of each row of a table, and how many ranks each has."""
    rows, n = table.shape
    atoms, ends = np.empty((rows, n), np.int32), np.empty((rows, n + 1), np.int64)
    sizes = np.empty(rows, np.int64)
    for row in range(rows):
        sizes[row] = _rank(table[row], order[row], atoms[row], ends[row])
    return atoms, ends, sizes


@compiled
def between(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each sorted value, a cut above the one before and not above itself.

    Half of each is added up, since the sum of two large values may overflow; where no float
    lies between two neighbours the upper one is the cut, and between equal ones there is none.
    """
    cuts = values.copy()
    for i in range(1, values.size):
        low, high = values[i - 1], values[i]
        middle = low / 2 + high / 2
        if low == high:
            cuts[i] = np.nan
        elif middle > low:
            cuts[i] = middle
    return cuts


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
        first = offsets[i]
        if finest and atoms <= sizes[i]:
            offsets[i + 1] = first + atoms + 1
            for atom in range(atoms + 1):
                edges[first + atom] = atom
        else:
            own = equipartition(ends, sizes[i], slack)
            offsets[i + 1] = first + own.size
            for e in range(own.size):  # a slice would take seconds to compile
                edges[first + e] = own[e]
    return edges[: offsets[-1]], offsets
