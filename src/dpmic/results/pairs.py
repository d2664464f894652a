"""What published scores of several pairs share."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from dpmic import frames
from dpmic.results import noises
from dpmic.results.published import Published

__all__ = ["ScoredPairs"]


@dataclass(frozen=True, kw_only=True)
class ScoredPairs(Published):
    """Scores of pairs of columns, each with noise of the same scale.

    Attributes
    ----------
    values, estimates : tuple of float
        The published MIC of each pair, in [0, 1], and the best guess of MIC* that value and noise
        support, at no further cost.
    target : str or None
        The column that every pair contains, if one was named.
    sensitivity : float
        The largest change of a score that one person can cause.
    scale, granularity : float
        The scale of the values' noise (of Gaussian noise the standard deviation), and the spacing
        of the grid on which values lie.
    """

    values: tuple[float, ...]
    estimates: tuple[float, ...]
    target: str | None
    sensitivity: float
    scale: float
    granularity: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "values", tuple(self.values))
        object.__setattr__(self, "estimates", tuple(self.estimates))

    @abstractmethod
    def _named(self) -> tuple[tuple[str, str], ...]:
        """Return the pairs in the order of the values."""

    def _kind(self) -> str:
        """Return the kind of noise."""
        return "laplace"

    @property
    def half_width(self) -> float:
        """What the noise of a value exceeds with a probability of 5%."""
        return noises.half_width(self._kind(), self.scale, 0.95)

    def interval(self, level: float = 0.95) -> tuple[tuple[float, float], ...]:
        """Return the noise's interval for each pair, not the sample's.

        Each contains, with probability ``level`` or more, what its pair scores without noise.
        The values' noise is fresh, so that holds for pairs that were chosen, too.
        """
        half = noises.half_width(self._kind(), self.scale, level) + 2 * self.granularity
        return tuple(noises.interval(value, half) for value in self.values)

    def to_frame(self, backend: frames.Backend | None = None) -> Any:
        """Return a row for each pair: x, y, value, estimate, low and high (95%)."""
        columns = {
            "x": [x for x, _ in self._named()],
            "y": [y for _, y in self._named()],
            "value": self.values,
            "estimate": self.estimates,
            "low": [low for low, _ in self.interval()],
            "high": [high for _, high in self.interval()],
        }
        return frames.build(columns, backend)

    def _sound(self) -> bool:
        numbers = (self.sensitivity, self.scale, self.granularity)
        return (
            0 < len(self.values) == len(self.estimates) == len(self._named())
            and all(0 <= v <= 1 for v in (*self.values, *self.estimates))
            and all(0 < v < math.inf for v in numbers)
        )
