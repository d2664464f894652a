"""Every kernel in plain Python and numpy.

The compiled kernels must return bit-identical results. Where they could not be built, these are
used instead.
"""

from __future__ import annotations

from dpmic._kernels.reference.counting import (
    clumps,
    count,
    place,
    refine,
    shuffle,
    tabulate,
    tally,
)
from dpmic._kernels.reference.critics import cumulate, three_rows, two_rows
from dpmic._kernels.reference.matrices import (
    clumped,
    entries,
    equi,
    largest,
    smallest_best,
    tabled,
)
from dpmic._kernels.reference.partitions import (
    between,
    equipartition,
    equipartitions,
    rank_rows,
    ranks,
)
from dpmic._kernels.reference.segmentation import f, information, informations, trace

__all__ = [
    "between",
    "clumped",
    "clumps",
    "count",
    "cumulate",
    "entries",
    "equi",
    "equipartition",
    "equipartitions",
    "f",
    "information",
    "informations",
    "largest",
    "place",
    "rank_rows",
    "ranks",
    "refine",
    "shuffle",
    "smallest_best",
    "tabled",
    "tabulate",
    "tally",
    "three_rows",
    "trace",
    "two_rows",
]
