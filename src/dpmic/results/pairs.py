"""What published scores of several pairs share."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpmic.data import Backend, build
from dpmic.results import inference, noises
from dpmic.results.published import Published

__all__ = ["ScoredPairs"]


@dataclass(frozen=True, kw_only=True)
class ScoredPairs(Published):
    """Scores of pairs of columns, each with noise of the same scale.

    Attributes
    ----------
    values, estimates : tuple of float
        The published MIC of each pair, in [0, 1], and a guess of MIC* that follows from it at no
        further cost; see :meth:`estimate_interval`.
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

    def _kind(self) -> noises.Kind:
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

    def estimate_interval(self, level: float = 0.95) -> tuple[tuple[float, float], ...]:
        """Return an interval for MIC* of each pair, noise and sampling error together.

        As :meth:`dpmic.Release.estimate_interval`, for each pair by itself: it holds for pairs
        that were named beforehand. Pairs that were chosen for their strength among many tend to
        have scored above their MIC*, which no interval here corrects.
        """
        evidence = inference.Evidence.of_noise(self, "micr-laplace", self._kind())
        return tuple(
            evidence.interval(value, estimate, level)
            for value, estimate in zip(self.values, self.estimates, strict=True)
        )

    def _shown_estimates(self) -> inference.Shown:
        return inference.shown(self.estimates, self.estimate_interval)

    def to_frame(self, backend: Backend | None = None, *, estimate: bool = False) -> Any:
        """Return a row for each pair: x, y, value, and low and high of its noise interval (95%).

        With ``estimate`` also the estimate of MIC*, estimate_low and estimate_high (95%).
        """
        ends = self.interval()
        columns: dict[str, Sequence[Any]] = {
            "x": [x for x, _ in self._named()],
            "y": [y for _, y in self._named()],
            "value": self.values,
            "low": [low for low, _ in ends],
            "high": [high for _, high in ends],
        }
        if estimate:
            ends = self.estimate_interval()
            columns["estimate"] = self.estimates
            columns["estimate_low"] = [low for low, _ in ends]
            columns["estimate_high"] = [high for _, high in ends]
        return build(columns, backend)

    def _sound(self) -> bool:
        numbers = (self.sensitivity, self.scale, self.granularity)
        return (
            0 < len(self.values) == len(self.estimates) == len(self._named())
            and all(0 <= v <= 1 for v in (*self.values, *self.estimates))
            and all(0 < v < math.inf for v in numbers)
        )
