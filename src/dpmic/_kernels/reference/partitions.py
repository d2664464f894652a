"""Cut an axis of weighted atoms into parts.

An atom is the smallest piece of an axis that no grid splits. A partition is the array of its
edges: part i holds the atoms ``edges[i]`` to ``edges[i + 1] - 1``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Edges = NDArray[np.int64]
Floats = NDArray[np.float64]
Parts = NDArray[np.int32]


def ranks(values: Floats) -> tuple[Parts, Floats, Edges]:
    """Return the rank of each value, the cuts below, and ``ends``; equal values share a rank.

    ``ends`` is the number of records before each distinct value, and of all.
    """
    atoms, order, ends = _rank(values)
    return atoms, between(values[order[ends[:-1]]]), ends


def rank_rows(table: Floats) -> tuple[Parts, Edges, Edges, Edges]:
    """Return each row's ranks, the order that sorts it, ``ends`` and the number of ranks.

    Ties keep their order. Row v uses ``ends[v, : sizes[v] + 1]``; the rest is undefined.
    """
    rows, n = table.shape
    atoms, order = np.empty((rows, n), np.int32), np.empty((rows, n), np.int64)
    ends, sizes = np.zeros((rows, n + 1), np.int64), np.empty(rows, np.int64)
    for row in range(rows):
        atoms[row], order[row], own = _rank(table[row])
        ends[row, : own.size] = own
        sizes[row] = own.size - 1
    return atoms, order, ends, sizes


def _rank(values: Floats) -> tuple[Parts, Edges, Edges]:
    """Return ranks, the order that sorts values, and the records before each rank, and of all."""
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    begins = np.flatnonzero(ascending[1:] != ascending[:-1]) + 1
    ends = np.concatenate(([0], begins, [values.size]))
    atoms = np.empty(values.size, np.int32)
    atoms[order] = part_of(ends)
    return atoms, order, ends


def part_of(edges: Edges) -> Parts:
    """Return the part of each atom."""
    return np.repeat(np.arange(edges.size - 1, dtype=np.int32), np.diff(edges))


def between(values: Floats) -> Floats:
    """Return, for each sorted value, a cut above the value before it and not above itself.

    Halves are added, since the sum of two large values may overflow. If no float is between two
    neighbours, the upper one is the cut; between equal values there is no cut.
    """
    low, high = values[:-1], values[1:]
    with np.errstate(invalid="ignore"):  # between the two infinities
        middle = low / 2 + high / 2
    cuts = values.copy()
    cuts[1:] = np.where(middle > low, middle, high)
    cuts[1:][low == high] = np.nan
    return cuts


def equipartition(ends: Edges, size: int, slack: int) -> Edges:
    """Cut into at most ``size`` parts of nearly equal weight, never splitting an atom.

    ``ends`` are the cumulative weights of the atoms, starting with 0. Target cuts are evenly
    spaced. A part closes before the first atom whose end is no nearer to the target cut than its
    beginning. If that is ``slack`` records or more from the target, the remaining cuts are spaced
    again.

    With slack = 1 only ties move the other cuts: without ties cut j is j n / size, rounded, so a
    partition into a multiple of ``size`` refines it. With slack = 0 every cut is spaced again, the
    rule of Reshef et al. 2011, whose rounding errors add up from cut to cut.
    """
    atoms, n, size = ends.size - 1, int(ends[-1]), int(size)
    # |end - target| >= |begin - target| if and only if begin + end >= 2 target.
    doubled = ends[:-1] + ends[1:]
    edges = [0]
    anew = 0  # the part from which cuts are evenly spaced, and
    base = 0  # the weight before it
    while edges[-1] < atoms:
        # The target cut is base + share / spaced; integers decide everything exactly.
        spaced = size - anew
        share = (len(edges) - anew) * (n - base)
        twice = 2 * base + -(-2 * share // spaced)  # rounded up
        edges.append(max(edges[-1] + 1, int(doubled.searchsorted(twice))))
        weight = int(ends[edges[-1]])
        if abs((weight - base) * spaced - share) >= slack * spaced:
            anew, base = len(edges) - 1, weight
    return np.array(edges, np.int64)


def equipartitions(ends: Edges, sizes: Edges, slack: int, finest: bool) -> tuple[Edges, Edges]:
    """Cut into several numbers of parts: partition i has edges[offsets[i] : offsets[i + 1]].

    With ``finest`` every atom is a part if there are no more atoms than parts.
    """
    partitions = [
        np.arange(ends.size)
        if finest and ends.size - 1 <= size
        else equipartition(ends, size, slack)
        for size in sizes
    ]
    offsets = np.zeros(sizes.size + 1, np.int64)
    np.cumsum([own.size for own in partitions], out=offsets[1:])
    return np.concatenate(partitions), offsets
