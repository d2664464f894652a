"""Many pairs in one call: every variable is cut once, and the kernel goes from pair to pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dpmic.statistics.characteristic import Search, information, normalised
from dpmic.statistics.counts.memory import Columns, Cut, Masters, Records
from dpmic.statistics.grids import Steps
from dpmic.statistics.methods import Binned

__all__ = ["BUDGET", "cut", "matrices", "matrices_of", "most_at_once"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

BUDGET = 2**26
"""Bytes that the parts of records of the variables in work may take."""


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
