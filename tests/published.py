"""MICr-Geom as published, which is not epsilon-DP: a target for the audit, simulated in numpy.

For every l and both orientations fresh two-sided geometric noise is added to the counts of the
master grid, clamped to [0, n], and the largest normalised information is returned.
"""

import numpy as np


class PublishedMICrGeom:
    """n points in four corners of the unit square, B = 6, c = 1 (masters of 2 x 2 and 2 x 3)."""

    name = "micr-geom, as published"

    def __init__(self, epsilon, seed):
        self.epsilon = epsilon
        self._rng = np.random.default_rng(seed)

    def draws(self, x, y, runs):
        best = np.zeros(runs)
        for fixed, free in ((x, y), (y, x)):
            for columns in (2, 3):
                counts = np.zeros((2, columns), int)
                cells = ((free * 2).astype(int).clip(0, 1), (fixed * columns).astype(int))
                np.add.at(counts, (cells[0], cells[1].clip(0, columns - 1)), 1)
                noisy = np.clip(counts + self._noise((runs, 2, columns)), 0, x.size)
                best = np.maximum(best, _information(noisy))
        return best

    def _noise(self, shape):
        """Two-sided geometric noise for epsilon / 2: the difference of two geometric ones."""
        stop = 1 - np.exp(-self.epsilon / 2)
        return self._rng.geometric(stop, shape) - self._rng.geometric(stop, shape)


def _information(counts):
    """Mutual information in bits of each table; an empty table has none."""
    total = counts.sum(axis=(1, 2), keepdims=True)
    p = counts / np.maximum(total, 1)
    independent = p.sum(axis=1, keepdims=True) * p.sum(axis=2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log2(p / independent), 0.0)
    information = terms.sum(axis=(1, 2))
    return np.where(information < 1e-12, 0.0, information)
