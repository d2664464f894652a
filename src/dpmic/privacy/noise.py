"""Laplace noise from OpenDP: exact samplers, outputs on a fixed grid, no seed.

The only module of ours that asks OpenDP for noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

__all__ = ["GRANULARITY", "Laplace", "calibrate"]

GRID_EXPONENT = -40
GRANULARITY = 2.0**GRID_EXPONENT
"""Outputs are multiples of this: what floating point could betray is not published."""


@dataclass(frozen=True, slots=True)
class Laplace:
    """Noise of one scale, with the privacy loss that OpenDP proves for it."""

    scale: float
    epsilon: float

    def add(self, value: float) -> float:
        """Return the value with fresh noise, rounded to the grid.

        OpenDP adds noise to NaN and infinity without a word, so they stop here.
        """
        if not math.isfinite(value):
            raise ArithmeticError("a score is not finite: nothing was released")
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
    step = 1e-9
    scale = sensitivity / epsilon * (1 + step)
    while _measurement(scale).map(d_in=sensitivity) > epsilon:
        scale *= 1 + step
        step *= 2
    return Laplace(scale, float(_measurement(scale).map(d_in=sensitivity)))


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
