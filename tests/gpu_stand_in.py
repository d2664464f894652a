"""The kernels of a GPU as the host side sees them, computed by the CPU in float32."""

import numpy as np

from dpmic import _kernels
from dpmic.statistics.records import CutAxes, Masters
from dpmic.statistics.search import xlogx_table


class Loaded:
    """Cut axes that pretend to be far away."""

    def __init__(self, cut):
        self.cut, self.nbytes = cut, cut.columns.parts.nbytes + cut.masters.parts.nbytes


def moved(axes, order):
    """Return a variable with its records in another order, for both orientations."""
    columns, masters = axes.cut
    parts = np.ascontiguousarray(columns.parts[:, :, order])
    own = np.ascontiguousarray(masters.parts[:, :, order])
    return Loaded(CutAxes(columns._replace(parts=parts), Masters(own, masters.sizes)))


class StandIn:
    """What `dpmic._kernels.cuda` has; it counts loads, and may have little memory."""

    def __init__(self, memory=2**30):
        self.memory, self.loads = memory, 0

    def problem(self):
        return None

    def free_memory(self):
        return self.memory

    def load(self, cut):
        self.loads += 1
        if Loaded(cut).nbytes > self.memory:
            raise MemoryError("out of memory allocating")
        return Loaded(cut)

    def entries(self, left, right, pairs, starts, k_max):
        n = left.cut.columns.parts.shape[2]
        task = left.cut, right.cut, pairs, starts, k_max, xlogx_table(n)
        return _kernels.entries(*task, True).astype(np.float32).astype(float)

    def largest(self, left, right, pairs, starts, k_max):
        return self._apart(left, right, pairs, starts, k_max).max(axis=(0, 2, 3))

    def totals(self, left, right, pairs, starts, k_max, columns):
        """Return MIC and TIC as the kernel does: entries of as many rows as columns come once."""
        one, other = self._apart(left, right, pairs, starts, k_max)
        both = one + other
        for step, size in enumerate(columns):
            if size <= k_max[step]:
                both[:, step, size] = np.maximum(one, other)[:, step, size]
        return np.maximum(one, other).max(axis=(1, 2)), both.sum(axis=(1, 2))

    def permutations(self, orders, count, n):
        return np.stack(list(orders)).reshape(count, n)

    def reached(self, left, right, pairs, starts, k_max, columns, orders, slack):
        plan = starts, k_max, columns
        _, observed = self.totals(left, right, pairs, *plan)
        counts = np.zeros(len(pairs), int)
        for order in orders:
            counts += self.totals(left, moved(right, order), pairs, *plan)[1] >= observed - slack
        return counts

    def null(self, left, right, starts, k_max, columns, orders):
        pair, plan = np.array([[0, 0]]), (starts, k_max, columns)
        found = [self.totals(left, moved(right, order), pair, *plan)[1][0] for order in orders]
        return np.array(found)

    def _apart(self, *task):
        bits = self.entries(*task)
        k = np.arange(bits.shape[-1])
        return np.clip(bits / np.log2(np.maximum(k, 2)), 0, 1)
