"""Noise: exact samplers, outputs on a fixed grid, no seed.

All noise but :class:`Cube` comes from OpenDP. This is the only module of dpmic that asks OpenDP
for noise or the operating system for entropy.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from secrets import randbelow
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

GRID_EXPONENT = -40
GRANULARITY = 2.0**GRID_EXPONENT
"""Outputs are multiples of this, so the last bits of floats cannot reveal anything."""

_PLACES = 1 << -GRID_EXPONENT  # grid points in [0, 1)


@dataclass(frozen=True, slots=True)
class Laplace:
    """Noise of one scale, with the privacy loss that OpenDP proves for it."""

    scale: float
    epsilon: float

    def add(self, value: float) -> float:
        """Return the value with fresh noise, rounded to the grid."""
        _refuse_unfinite([value])
        return float(_measurement(self.scale)(value))

    def loss(self, sensitivity: float) -> float:
        """Return the privacy loss that OpenDP proves for a score that changes by this much."""
        return float(_measurement(self.scale).map(d_in=sensitivity))


def calibrate(sensitivity: float, epsilon: float) -> Laplace:
    """Return the least noise whose privacy loss, by OpenDP's own map, is at most epsilon.

    The map is slightly above sensitivity / scale, because the value is first rounded to the grid.
    The scale starts a billionth above the quotient, so that thirty releases at 0.1 fit into a
    budget of 3 however their sum is rounded.
    """
    return Laplace(*_private_enough(_measurement, sensitivity, epsilon))


@lru_cache(maxsize=256)
def _measurement(scale: float) -> Any:
    """Return OpenDP's float Laplace measurement of one scale."""
    from opendp import domains, measurements, metrics, mod

    mod.enable_features("contrib")  # process-global; every constructor needs it
    return measurements.make_laplace(
        domains.atom_domain(T=float, nan=False),
        metrics.absolute_distance(T=float),
        scale=scale,
        k=GRID_EXPONENT,
    )


# Several scores at once: ``sensitivity`` is that of the vector, in the stated norm.


@dataclass(frozen=True, slots=True)
class LaplaceVector:
    """Independent Laplace noise of one scale for each of ``size`` scores."""

    kind: ClassVar[Literal["laplace"]] = "laplace"
    delta: ClassVar[float] = 0.0
    scale: float
    epsilon: float
    size: int

    def add(self, values: Sequence[float]) -> list[float]:
        """Return the values with fresh noise each, rounded to the grid."""
        _refuse_unfinite(values)
        return list(map(float, _vector_laplace(self.scale, self.size)(list(values))))

    def loss(self, sensitivity: float) -> float:
        """Return the privacy loss that OpenDP proves for scores that change by this much each."""
        total = self.size * sensitivity * (1 + 2**-50)  # in L1, rounded up
        return float(_vector_laplace(self.scale, self.size).map(d_in=total))


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Independent Gaussian noise for ``size`` scores, (epsilon, delta)-DP together."""

    kind: ClassVar[Literal["gaussian"]] = "gaussian"
    scale: float
    epsilon: float
    delta: float
    size: int

    def add(self, values: Sequence[float]) -> list[float]:
        """Return the values with fresh noise each, rounded to the grid."""
        _refuse_unfinite(values)
        return list(map(float, _vector_gaussian(self.scale, self.size)(list(values))))


@dataclass(frozen=True, slots=True)
class Cube:
    """Noise in the shape of a cube, for ``size`` scores together (docs/proofs/cube-noise.md).

    The probability of a noise vector z, in steps of the grid, is proportional to
    exp(-max abs(z_i) / steps): the K-norm mechanism of Hardt and Talwar for the cube.
    """

    kind: ClassVar[Literal["cube"]] = "cube"
    delta: ClassVar[float] = 0.0
    steps: int
    epsilon: float
    size: int

    @property
    def scale(self) -> float:
        """The mean absolute noise of one score, which for Laplace noise is the scale."""
        return self.steps * GRANULARITY * (self.size + 1) / 2

    @property
    def quick(self) -> bool:
        """Whether drawing a radius takes few proposals: about exp(size / (2 steps))."""
        return self.size <= 4 * self.steps

    def add(self, values: Sequence[float]) -> list[float]:
        """Return the values, rounded to the grid, with fresh noise."""
        _refuse_unfinite(values)
        if len(values) != self.size:
            raise ArithmeticError(f"expected {self.size} scores; nothing was released")
        radius = _cube_radius(self.steps, self.size)
        moved = (_on_grid(v) + randbelow(2 * radius + 1) - radius for v in values)
        return [place / _PLACES for place in moved]

    def loss(self, sensitivity: float) -> float:
        """Return the privacy loss of scores that change by this much each, rounded up."""
        loss = Fraction(math.ceil(Fraction(sensitivity) * _PLACES), self.steps)
        stated = float(loss)
        return stated if stated >= loss else math.nextafter(stated, math.inf)


@dataclass(frozen=True, slots=True)
class TopK:
    """The selection of the ``k`` largest of ``size`` scores: permute-and-flip, peeled k times."""

    scale: float
    epsilon: float
    k: int
    size: int

    def choose(self, scores: Sequence[float]) -> list[int]:
        """Return k different positions; OpenDP uses the scores as exact fractions."""
        _refuse_unfinite(scores)
        return list(map(int, _top_k(self.scale, self.k, self.size)(list(scores))))

    def loss(self, sensitivity: float) -> float:
        """Return the privacy loss that OpenDP proves for scores that change by this much each."""
        return float(_top_k(self.scale, self.k, self.size).map(d_in=sensitivity))


@dataclass(frozen=True, slots=True)
class Geometric:
    """Two-sided geometric noise for counts, the discrete Laplace distribution.

    P(noise = z) is proportional to exp(-abs(z) / scale).
    """

    scale: float
    epsilon: float

    def add(self, counts: Sequence[int]) -> list[int]:
        """Return the counts with fresh noise each; they may leave [0, n]."""
        return list(map(int, _counts_laplace(self.scale)([int(count) for count in counts])))

    def loss(self, sensitivity: int) -> float:
        """Return the privacy loss that OpenDP proves for counts that change by this much."""
        return float(_counts_laplace(self.scale).map(d_in=sensitivity))


def calibrate_counts(sensitivity: int, epsilon: float) -> Geometric:
    """Return the least noise for counts that change by this much in L1."""
    return Geometric(*_private_enough(_counts_laplace, sensitivity, epsilon))


def calibrate_vector(sensitivity: float, epsilon: float, size: int) -> LaplaceVector:
    """Return the least Laplace noise for a sensitivity in L1, as :func:`calibrate`."""
    found = _private_enough(lambda scale: _vector_laplace(scale, size), sensitivity, epsilon)
    return LaplaceVector(*found, size)


def calibrate_gaussian(sensitivity: float, epsilon: float, delta: float, size: int) -> Gaussian:
    """Return the least Gaussian noise for a sensitivity in L2.

    OpenDP computes the loss: zero-concentrated DP, converted by its curve of epsilon over delta. No
    formula gives the scale, so it is found by bisection.
    """
    from opendp import combinators

    def loss(scale: float) -> float:
        private = combinators.make_zCDP_to_approxDP(_vector_gaussian(scale, size))
        return float(private.map(d_in=sensitivity).epsilon(delta))

    small = large = sensitivity / epsilon
    while loss(large) > epsilon:
        large *= 2
    while loss(small) <= epsilon:
        small /= 2
    while large > small * (1 + 1e-6):
        middle = math.sqrt(small * large)
        small, large = (middle, large) if loss(middle) > epsilon else (small, middle)
    return Gaussian(large, epsilon, delta, size)


def calibrate_cube(sensitivity: float, epsilon: float, size: int) -> Cube:
    """Return the least cube noise for a sensitivity in L-infinity, as :func:`calibrate`.

    Rounded scores move by at most D = ceil(sensitivity / granularity) steps, so the loss is
    D / steps, exactly; it is rounded up once, to a float.

    Examples
    --------
    >>> found = calibrate_cube(0.01, 1.0, 45)
    >>> round(found.scale, 6), 0.999 < found.epsilon < 1
    (0.23, True)
    """
    moved = math.ceil(Fraction(sensitivity) * _PLACES)
    steps = math.ceil(moved / (Fraction(epsilon) * (1 - Fraction(1, 10**9))))
    return Cube(steps, Cube(steps, 0.0, size).loss(sensitivity), size)


def calibrate_top_k(sensitivity: float, epsilon: float, k: int, size: int) -> TopK:
    """Return the sharpest selection for a sensitivity in L-infinity, as :func:`calibrate`.

    Scores may rise and fall together, so they are not monotonic, and OpenDP's map is
    2 k sensitivity / scale.
    """
    found = _private_enough(lambda scale: _top_k(scale, k, size), sensitivity, epsilon, 2 * k)
    return TopK(*found, k, size)


def _private_enough(
    measurement: Callable[[float], Any], sensitivity: float, epsilon: float, times: int = 1
) -> tuple[float, float]:
    """Return a scale whose loss is at most epsilon, and that loss, by OpenDP's own map.

    The scale is about a billionth above ``times`` the sensitivity over epsilon.
    """
    step = 1e-9
    scale = times * sensitivity / epsilon * (1 + step)
    while (loss := float(measurement(scale).map(d_in=sensitivity))) > epsilon:
        scale *= 1 + step
        step *= 2
    return scale, loss


def _on_grid(value: float) -> int:
    """Return floor(value / granularity + 1/2): the nearest grid point; halves round up."""
    return math.floor(Fraction(value) * _PLACES + Fraction(1, 2))


def _cube_radius(steps: int, size: int) -> int:
    """Draw r with a probability proportional to (2 r + 1)^size exp(-r / steps).

    The sum of size + 1 geometric variables is r with a probability proportional to
    (r + 1) ... (r + size) exp(-r / steps). It is accepted with probability
    (2 r + 1)^size / ((2 r + 2) ... (2 r + 2 size)), which is close to 1 if steps exceed size.
    """
    while True:
        r = sum(_geometric(steps) for _ in range(size + 1))
        if all(randbelow(2 * r + 2 * i) <= 2 * r for i in range(1, size + 1)):
            return r


def _geometric(steps: int) -> int:
    """Draw x = 0, 1, ... with a probability proportional to exp(-x / steps).

    Algorithm 2 of Canonne, Kamath and Steinke (2020): x modulo steps, then the quotient.
    """
    rest = randbelow(steps)
    while not _survives(rest, steps):
        rest = randbelow(steps)
    full = 0
    while _survives(1, 1):
        full += 1
    return rest + steps * full


def _survives(numerator: int, denominator: int) -> bool:
    """Return True with probability exp(-numerator / denominator), which is at least exp(-1).

    Algorithm 1 of Canonne, Kamath and Steinke (2020), after von Neumann.
    """
    k = 1
    while randbelow(k * denominator) < numerator:
        k += 1
    return k % 2 == 1


def _refuse_unfinite(values: Sequence[float]) -> None:
    """Refuse NaN and infinity, to which OpenDP adds noise silently."""
    if not all(map(math.isfinite, values)):
        raise ArithmeticError("a score is not finite; nothing was released")


@lru_cache(maxsize=64)
def _vector_laplace(scale: float, size: int) -> Any:
    """Return OpenDP's Laplace measurement on vectors."""
    from opendp import measurements, metrics

    domain = _vectors(size)
    return measurements.make_laplace(
        domain, metrics.l1_distance(T=float), scale=scale, k=GRID_EXPONENT
    )


@lru_cache(maxsize=64)
def _counts_laplace(scale: float) -> Any:
    """Return OpenDP's Laplace measurement on vectors of integers."""
    from opendp import domains, measurements, metrics, mod

    mod.enable_features("contrib")
    domain = domains.vector_domain(domains.atom_domain(T="i64"))
    return measurements.make_laplace(domain, metrics.l1_distance(T="i64"), scale=scale)


@lru_cache(maxsize=64)
def _vector_gaussian(scale: float, size: int) -> Any:
    """Return OpenDP's Gaussian measurement on vectors."""
    from opendp import measurements, metrics

    domain = _vectors(size)
    return measurements.make_gaussian(
        domain, metrics.l2_distance(T=float), scale=scale, k=GRID_EXPONENT
    )


@lru_cache(maxsize=64)
def _top_k(scale: float, k: int, size: int) -> Any:
    """Return OpenDP's selection of the k largest."""
    from opendp import measurements, measures, metrics

    domain, distance = _vectors(size), metrics.linf_distance(T=float)  # never monotonic
    return measurements.make_noisy_top_k(domain, distance, measures.max_divergence(), k, scale)


def _vectors(size: int) -> Any:
    """Return OpenDP's domain of vectors of finite floats."""
    from opendp import domains, mod

    mod.enable_features("contrib")  # process-global; every constructor needs it
    return domains.vector_domain(domains.atom_domain(T=float, nan=False), size)


def uniform(n: int) -> NDArray[np.float64]:
    """Return n uniform numbers in [0, 1) from the entropy of the operating system."""
    places = np.frombuffer(os.urandom(8 * n), np.uint64) >> np.uint64(11)
    return places.astype(np.float64) * 2.0**-53


def shuffled(n: int) -> NDArray[np.int64]:
    """Return a uniformly random order of n records, for random tie-breaking.

    It uses the entropy of the operating system. If two keys agree (which never happens in
    practice) all are drawn again, so that every order is equally likely.
    """
    while True:
        keys = np.frombuffer(os.urandom(8 * n), np.uint64)
        order = np.argsort(keys)
        if np.all(np.diff(keys[order]) > 0):
            return order
