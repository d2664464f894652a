"""The 21 functional relationships of Reshef et al. 2011, each with nine amounts of noise.

A distribution is a mixture of 100 round Gaussians of one width, centred on points evenly spaced
along a function's graph, and restricted to the unit square. Details that the paper leaves out are
noted where they are used. F3 and F4 are printed as 2 (x - 0.05), but only 2 x - 0.5 stays near the
unit square, and the published results used it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Function = Callable[[Floats], Floats]

POINTS = 100
R_SQUARED = tuple(round(0.1 * i, 1) for i in range(1, 10))
LEAST_SIGMA, MOST_SIGMA = 1e-5, 2.0
"""The range of the noise of all functions and R^2."""


def _cubic(x: Floats) -> Floats:
    return 10 * (x - 0.6) ** 3 + 2 * x**2 + (1.5 - 3 * x)


def _pieces(x: Floats, *pieces: tuple[float, float, float]) -> Floats:
    """Return slope * x + level of the first piece (end, slope, level) with x <= end."""
    ends, slopes, levels = (np.array(values) for values in zip(*pieces, strict=True))
    which = np.searchsorted(ends[:-1], x)
    return np.asarray(slopes[which] * x + levels[which])


FUNCTIONS: tuple[Function, ...] = (
    lambda x: 0.2 * np.sin(12 * x - 6) + 1.1 * (x - 1) + 1,
    lambda x: 0.15 * np.sin(11 * np.pi * x) + x + 0.05,
    lambda x: 0.1 * np.sin(48 * x) + 2 * x - 0.5,
    lambda x: 0.2 * np.sin(48 * x) + 2 * x - 0.5,
    lambda x: 0.4 * np.cos(7 * np.pi * x) + 0.5,
    lambda x: 0.4 * np.cos(14 * np.pi * x) + 0.5,
    _cubic,
    lambda x: 4 * _cubic(x) - 1.4,
    lambda x: _pieces(x, (0.99, 1 / 99, 0.0), (np.inf, 99.0, -98.0)),
    lambda x: 2**x - 1,
    lambda x: 8 ** (x - 0.3) - 1,
    lambda x: x,
    lambda x: 4 * (x - 0.5) ** 2 + 0.1,
    lambda x: 0.4 * np.sin(9 * np.pi * x) + 0.5,
    lambda x: 0.4 * np.sin(8 * np.pi * x) + 0.5,
    lambda x: 0.4 * np.sin(16 * np.pi * x) + 0.5,
    lambda x: np.clip(50 * (x - 0.5) + 0.5, 0.05, 0.95),
    lambda x: 0.4 * np.cos(5 * np.pi * x * (1 + x)) + 0.5,
    lambda x: 0.4 * np.sin(6 * np.pi * x * (1 + x)) + 0.5,
    lambda x: _pieces(x, (0.0528, 18.0, 0.0), (0.1, -18.0, 1.9), (np.inf, -1 / 9, 1 / 9)),
    lambda x: _pieces(x, (0.0051, 190.0, 0.0), (0.01, -198.0, 1.99), (np.inf, -1 / 99, 1 / 99)),
)
"""F1 to F21 of the paper's appendix. F17 is a steep ramp between two levels."""


@dataclass(frozen=True)
class NoisyFunction:
    """A mixture of round Gaussians along a graph, restricted to the unit square.

    ``x`` and ``y`` are the centres and ``sigma`` their common standard deviation. A point outside
    the square is drawn again, so the density is that of the mixture divided by its mass inside.
    """

    name: str
    r_squared: float
    x: tuple[float, ...]
    y: tuple[float, ...]
    sigma: float

    @property
    def function(self) -> int:
        """The function's number in the paper, 1 to 21."""
        return int(self.name[1:3])

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw n independent points."""
        centres = np.column_stack((self.x, self.y))
        kept: list[Floats] = []
        missing = n
        while missing:
            drawn = centres[rng.integers(len(self.x), size=2 * missing + 16)]
            drawn = drawn + rng.normal(0.0, self.sigma, drawn.shape)
            inside = drawn[((drawn >= 0) & (drawn <= 1)).all(axis=1)][:missing]
            kept.append(inside)
            missing -= len(inside)
        points = np.concatenate(kept)
        return points[:, 0].copy(), points[:, 1].copy()

    def masses(self, x_cuts: ArrayLike, y_cuts: ArrayLike) -> Floats:
        """Return the probability of every cell [column, row] between inner cuts."""
        columns, rows = self._between(self.x, x_cuts), self._between(self.y, y_cuts)
        # Not a matrix product, whose last bits depend on the number of threads.
        cells = np.einsum("ij,ik->jk", columns, rows)
        return np.asarray(cells / cells.sum())

    def mass_cuts(self, axis: Literal["x", "y"], size: int) -> Floats:
        """Return the inner cuts of ``size`` parts of equal probability, by bisection."""
        own, other = (self.x, self.y) if axis == "x" else (self.y, self.x)
        weights = self._between(other, ()).ravel()  # mass of each Gaussian on the other axis
        weights = weights / (weights @ self._between(own, ()).ravel())
        wanted = np.arange(1, size) / size
        low, high = np.zeros(size - 1), np.ones(size - 1)
        for _ in range(60):
            middle = (low + high) / 2
            parts = self._cdf(own, middle) - self._cdf(own, [0.0])
            below = np.einsum("i,ij->j", weights, parts) < wanted  # see masses()
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(high)

    def _between(self, centres: Sequence[float], cuts: ArrayLike) -> Floats:
        """Return each Gaussian's mass on one axis between 0, the cuts and 1."""
        inside = np.clip(np.asarray(cuts, np.float64), 0.0, 1.0)
        return np.diff(self._cdf(centres, np.concatenate(([0.0], inside, [1.0]))))

    def _cdf(self, centres: Sequence[float], at: ArrayLike) -> Floats:
        from scipy.special import ndtr

        return np.asarray(ndtr((np.asarray(at) - np.array(centres)[:, None]) / self.sigma))


@lru_cache(maxsize=4)
def family(r_squared: tuple[float, ...] = R_SQUARED) -> tuple[NoisyFunction, ...]:
    """Return all 189 distributions, or those with some R^2, ordered by function and R^2."""
    return tuple(
        noisy(number, kept) for number in range(1, len(FUNCTIONS) + 1) for kept in r_squared
    )


def noisy(number: int, r_squared: float) -> NoisyFunction:
    """Return one of the 21 functions, with the noise that gives this R^2.

    Examples
    --------
    >>> line = noisy(12, 0.5)
    >>> round(line.sigma, 2), line.name
    (0.19, 'F12, R2 = 0.5')
    """
    function = FUNCTIONS[number - 1]
    x = _generating_points(number)
    sigma = _sigma(function, x, r_squared)
    name = f"F{number:02d}, R2 = {r_squared}"
    return NoisyFunction(name, r_squared, tuple(x.tolist()), tuple(function(x).tolist()), sigma)


@lru_cache(maxsize=len(FUNCTIONS))
def _generating_points(number: int) -> Floats:
    """Return 100 abscissae evenly spaced by arc length.

    They range over [0, 1] from the first to the last x with f(x) inside [0, 1].
    """
    function = FUNCTIONS[number - 1]
    dense = np.linspace(0, 1, 200_001)
    inside = np.flatnonzero((function(dense) >= 0) & (function(dense) <= 1))
    dense = dense[inside[0] : inside[-1] + 1]
    steps = np.hypot(np.diff(dense), np.diff(function(dense)))
    length = np.concatenate(([0.0], np.cumsum(steps)))
    return np.interp(np.linspace(0, length[-1], POINTS), length, dense)


def _sigma(function: Function, x: Floats, r_squared: float) -> float:
    """Find the noise that gives this R^2, by safeguarded bisection on the logarithm of sigma.

    R^2 is the squared Pearson correlation of f(x + e1) and f(x) + e2, with x uniform on the
    generating points and e1, e2 Gaussian (Reshef et al. 2018). e1 takes a thousand equally likely
    values; e2 only adds sigma^2 to a variance.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtri

    normal = ndtri((np.arange(1000) + 0.5) / 1000)
    y = function(x)

    def too_much(log_sigma: float) -> float:
        sigma = math.exp(log_sigma)
        shaken = function(x[:, None] + sigma * normal)
        covariance = np.mean((shaken - shaken.mean()) * (y - y.mean())[:, None])
        return float(covariance**2 / (shaken.var() * (y.var() + sigma**2))) - r_squared

    return math.exp(brentq(too_much, math.log(LEAST_SIGMA), math.log(MOST_SIGMA), xtol=1e-10))
