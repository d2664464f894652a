"""Relationships on axes of other shapes: MIC* stays, but scores on cells of equal width do not.

MIC* and MICe depend on ranks alone. MICr and noisy histograms cut bounds into parts of equal
width, so what they score depends on how records fill their bounds, which nobody knows
beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmic.evaluation.relationships import NoisyFunction

__all__ = ["FITTED", "MARGINS", "UNSEEN", "Reshaped"]

Floats = NDArray[np.float64]


def _bell(x: Floats, width: float) -> Floats:
    """Make a uniform margin normal, with that standard deviation."""
    from scipy.special import ndtri

    return np.asarray(np.clip(0.5 + width * ndtri(np.clip(x, 1e-9, 1 - 1e-9)), 0.0, 1.0))


MARGINS: Mapping[str, Callable[[Floats], Floats]] = {
    "even": lambda x: x,
    "bell": lambda x: _bell(x, 0.1),
    "wide bell": lambda x: _bell(x, 0.15),
    "skewed": lambda x: np.expm1(4 * x) / np.expm1(4),
    "skewed to the right": lambda x: 1 - np.expm1(3 * (1 - x)) / np.expm1(3),
    "half": lambda x: 0.25 + 0.5 * x,
}
"""Growing maps of [0, 1] to itself: "half" stands for bounds twice as wide as the records."""

FITTED = (("even", "even"), ("bell", "bell"), ("skewed", "bell"))
UNSEEN = (("even", "even"), ("half", "half"), ("wide bell", "skewed to the right"))


@dataclass(frozen=True)
class Reshaped:
    """A relationship whose samples have one of several pairs of margins, at random."""

    base: NoisyFunction
    margins: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """That of the relationship."""
        return self.base.name

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw n independent points."""
        across, up = self.margins[rng.integers(len(self.margins))]
        x, y = self.base.sample(n, rng)
        return MARGINS[across](x), MARGINS[up](y)
