"""From numbers to places on a figure, and the round numbers along its axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Axis", "number"]

LEAST_SPAN = 1e-290
"""Below it, and where it overflows, an axis has no round numbers inside: its ends are written."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of numbers with its name."""

    name: str
    low: float
    high: float

    def share(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far along the axis values lie, from 0 to 1."""
        half = self.high / 2 - self.low / 2  # the whole may be beyond the largest float
        if half <= 0:
            return np.full(values.shape, 0.5)
        return (values / 2 - self.low / 2) / half

    def ticks(self, most: int = 5) -> list[float]:
        """Return about so many round numbers within the range.

        Examples
        --------
        >>> Axis("age", 17.5, 42.0).ticks()
        [20.0, 25.0, 30.0, 35.0, 40.0]
        """
        span = self.high - self.low
        if not LEAST_SPAN < span < math.inf:
            return [self.low] if self.low == self.high else [self.low, self.high]
        power = 10.0 ** math.floor(math.log10(span / most))
        step = next(m * power for m in (1, 2, 5, 10) if m * power >= span / most)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [place * step for place in range(first, last + 1)]

    def labels(self) -> list[tuple[float, str]]:
        """Return the ticks' places from 0 to 1, and their texts."""
        ticks = self.ticks()
        places: Sequence[float] = self.share(np.array(ticks)).tolist()
        return list(zip(places, map(number, ticks), strict=True))


def number(value: float) -> str:
    """Write a number of an axis.

    Examples
    --------
    >>> number(20000.0), number(0.1 + 0.2), number(1.5e12), number(0.0)
    ('20,000', '0.3', '1.5e+12', '0')
    """
    if value == 0 or 1e-4 <= abs(value) < 1e7:
        return f"{value:,.10g}"
    return f"{value:.4g}"
