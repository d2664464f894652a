"""Cutting an axis of weighted atoms into parts.

An atom is the smallest piece of an axis that no grid splits. A partition is the array of its
edges: part i holds the atoms ``edges[i]`` to ``edges[i + 1] - 1``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmic._kernels._compile import compiled

__all__ = ["clumps", "equipartition", "part_of"]

Edges = NDArray[np.int64]


@compiled
def part_of(edges: Edges) -> NDArray[np.int32]:
    """Return the part that each atom lies in."""
    part = np.empty(edges[-1], np.int32)
    for i in range(edges.size - 1):
        part[edges[i] : edges[i + 1]] = i
    return part


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


@compiled
def clumps(
    free_atoms: NDArray[np.int32], fixed_atoms: NDArray[np.int32], fixed_edges: Edges, atoms: int
) -> Edges:
    """Merge the neighbouring atoms of the free axis that lie in one and the same fixed part.

    An atom with records in several fixed parts is a clump of its own (Reshef et al. 2011,
    GetClumpsPartition).
    """
    fixed_part = part_of(fixed_edges)
    home = np.full(atoms, -1, np.int32)  # -1: not seen, -2: mixed
    for record in range(free_atoms.size):
        atom, part = free_atoms[record], fixed_part[fixed_atoms[record]]
        if home[atom] == -1:
            home[atom] = part
        elif home[atom] != part:
            home[atom] = -2
    edges = np.empty(atoms + 1, np.int64)
    edges[0] = 0
    count = 0
    for atom in range(1, atoms):
        if home[atom] == -2 or home[atom] != home[atom - 1]:
            count += 1
            edges[count] = atom
    edges[count + 1] = atoms
    return edges[: count + 2].copy()
