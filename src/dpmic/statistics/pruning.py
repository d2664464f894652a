"""The largest entry alone, by a search that leaves out what cannot win.

Its time depends on the data: nothing private may use it (``tests/test_architecture.py``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmic import _kernels
from dpmic.statistics.characteristic import xlogx_table
from dpmic.statistics.counts.memory import Cut
from dpmic.statistics.grids import Steps

__all__ = ["largest"]

Floats = NDArray[np.float64]


def largest(left: Cut, right: Cut, pairs: NDArray[np.int64], plan: Steps, n: int) -> Floats:
    """Return the MIC of each pair (left, right); steps with more rows than columns will not do."""
    layout = plan.layout
    logs = np.log2(np.maximum(np.arange(layout.rows.max() + 1), 1))
    found: Floats = _kernels.tiled.largest(
        left, right, pairs, layout.starts, layout.rows, logs, xlogx_table(n)
    )
    return found
