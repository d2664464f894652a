"""Noise from OpenDP: exact samplers, outputs on a fixed grid, no seed.

The only module of ours that asks OpenDP for noise, or the operating system for entropy.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

GRID_EXPONENT = -40
GRANULARITY = 2.0**GRID_EXPONENT
"""Outputs are multiples of this: what floating point could betray is not published."""


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

    The map lies slightly above sensitivity / scale, because the value is rounded to the grid
    first. The scale starts a billionth above the quotient, so that thirty releases at 0.1 fit
    into a budget of 3 whatever their sum rounds to.
    """
    return Laplace(*_private_enough(_measurement, sensitivity, epsilon))


@lru_cache(maxsize=256)
def _measurement(scale: float) -> Any:
    """Return OpenDP's float Laplace measurement of one scale."""
    from opendp import domains, measurements, metrics, mod

    mod.enable_features("contrib")  # process-global, and needed for every constructor
    return measurements.make_laplace(
        domains.atom_domain(T=float, nan=False),
        metrics.absolute_distance(T=float),
        scale=scale,
        k=GRID_EXPONENT,
    )


# Several scores at once. ``sensitivity`` is then that of the vector, in the norm named.


@dataclass(frozen=True, slots=True)
class LaplaceVector:
    """Laplace noise of one scale for each of ``size`` scores."""

    scale: float
    epsilon: float
    size: int

    def add(self, values: Sequence[float]) -> list[float]:
        """Return the values with fresh noise each, rounded to the grid."""
        _refuse_unfinite(values)
        return list(map(float, _vector_laplace(self.scale, self.size)(list(values))))


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Gaussian noise for each of ``size`` scores, at most (epsilon, delta)-DP together."""

    scale: float
    epsilon: float
    delta: float
    size: int

    def add(self, values: Sequence[float]) -> list[float]:
        """Return the values with fresh noise each, rounded to the grid."""
        _refuse_unfinite(values)
        return list(map(float, _vector_gaussian(self.scale, self.size)(list(values))))


@dataclass(frozen=True, slots=True)
class TopK:
    """The selection of the ``k`` largest of ``size`` scores: permute-and-flip, peeled k times."""

    scale: float
    epsilon: float
    k: int
    size: int

    def choose(self, scores: Sequence[float]) -> list[int]:
        """Return k different positions; OpenDP computes with the scores as exact fractions."""
        _refuse_unfinite(scores)
        return list(map(int, _top_k(self.scale, self.k, self.size)(list(scores))))


@dataclass(frozen=True, slots=True)
class Geometric:
    """Two-sided geometric noise, the Laplace of integers, for counts.

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

    The loss is OpenDP's: zero-concentrated DP, then its own curve of epsilon over delta. No
    formula gives the scale, so it is bracketed and bisected.
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


def calibrate_top_k(sensitivity: float, epsilon: float, k: int, size: int) -> TopK:
    """Return the sharpest selection for a sensitivity in L-infinity, as :func:`calibrate`.

    Scores may rise and fall together, so they are not called monotonic: OpenDP's map is
    2 k sensitivity / scale.
    """
    found = _private_enough(lambda scale: _top_k(scale, k, size), sensitivity, epsilon, 2 * k)
    return TopK(*found, k, size)


def _private_enough(
    measurement: Callable[[float], Any], sensitivity: float, epsilon: float, times: int = 1
) -> tuple[float, float]:
    """Return a scale whose loss is at most epsilon, and that loss, by OpenDP's own map.

    The scale is a billionth or little more above ``times`` the sensitivity over epsilon.
    """
    step = 1e-9
    scale = times * sensitivity / epsilon * (1 + step)
    while (loss := float(measurement(scale).map(d_in=sensitivity))) > epsilon:
        scale *= 1 + step
        step *= 2
    return scale, loss


def _refuse_unfinite(values: Sequence[float]) -> None:
    """OpenDP adds noise to NaN and infinity without a word, so they stop here."""
    if not all(map(math.isfinite, values)):
        raise ArithmeticError("a score is not finite: nothing was released")


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

    mod.enable_features("contrib")  # process-global, and needed for every constructor
    return domains.vector_domain(domains.atom_domain(T=float, nan=False), size)


def shuffled(n: int) -> NDArray[np.int64]:
    """Return a uniformly random order of n records, for random tie-breaking.

    It comes from the operating system's entropy. Keys are drawn again in the (never seen) case
    that two agree, so that every order is equally likely.
    """
    while True:
        keys = np.frombuffer(os.urandom(8 * n), np.uint64)
        order = np.argsort(keys)
        if np.all(np.diff(keys[order]) > 0):
            return order
