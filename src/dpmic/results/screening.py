"""The strongest pairs of a table, chosen and scored under differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpmic import _validate, frames
from dpmic.results import html, noises
from dpmic.results.published import Published

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Screening"]


@dataclass(frozen=True, kw_only=True)
class Screening(Published):
    """Pairs chosen for their strength, and their values, the largest value first.

    It says nothing of the pairs that were not chosen.

    Attributes
    ----------
    pairs : tuple of (str, str)
        The chosen pairs.
    values : tuple of float
        Their published MIC, in [0, 1], each with noise of its own.
    estimates : tuple of float
        The best guess of MIC* that each value and its noise support; no further cost.
    candidates : int
        How many pairs there were to choose from.
    target : str or None
        The column that every candidate contains, if one was named.
    split : float
        The share of epsilon that was asked for the choice; 0 where all pairs are released.
    selection_epsilon, values_epsilon : float
        What the choice and the values cost; ``epsilon`` is the sum, rounded up.
    sensitivity : float
        The largest change of a score that one person can cause.
    selection_scale, scale, granularity : float
        The scale of the choice, that of the values' Laplace noise, and the spacing of the grid on
        which values lie.
    """

    pairs: tuple[tuple[str, str], ...]
    values: tuple[float, ...]
    estimates: tuple[float, ...]
    candidates: int
    target: str | None
    split: float
    selection_epsilon: float
    values_epsilon: float
    sensitivity: float
    selection_scale: float
    scale: float
    granularity: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "pairs", tuple((first, second) for first, second in self.pairs))
        object.__setattr__(self, "values", tuple(self.values))
        object.__setattr__(self, "estimates", tuple(self.estimates))

    @property
    def guarantee(self) -> str:
        """The sentence that may be printed beside the result."""
        if len(self.pairs) == self.candidates:
            return self._promise(f"The MIC of all {self.candidates} pairs, together, is")
        return self._promise(
            f"The choice of {len(self.pairs)} of {self.candidates} pairs, with the MIC of the "
            "chosen, together, is"
        )

    def interval(self, level: float = 0.95) -> tuple[tuple[float, float], ...]:
        """Return the noise's interval for each pair, not the sample's.

        Each contains, with probability ``level`` or more, what its pair scores without noise.
        The values' noise is fresh, so that holds for chosen pairs too.
        """
        half = noises.half_width("laplace", self.scale, level) + 2 * self.granularity
        return tuple(noises.interval(value, half) for value in self.values)

    def to_frame(self, backend: frames.Backend | None = None) -> Any:
        """Return a row for each pair: x, y, value, estimate, low and high (95%)."""
        columns = {
            "x": [first for first, _ in self.pairs],
            "y": [second for _, second in self.pairs],
            "value": self.values,
            "estimate": self.estimates,
            "low": [low for low, _ in self.interval()],
            "high": [high for _, high in self.interval()],
        }
        return frames.build(columns, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the values as bars with their noise intervals; needs matplotlib."""
        from dpmic.plots.screenings import screening

        return screening(self, ax)

    def _sound(self) -> bool:
        sizes = {len(self.pairs), len(self.values), len(self.estimates)}
        inside = all(0 <= v <= 1 for v in (*self.values, *self.estimates))
        numbers = (self.sensitivity, self.scale, self.granularity, self.values_epsilon)
        costs = (self.selection_epsilon, self.selection_scale, self.split)
        return (
            len(sizes) == 1
            and 0 < len(self.pairs) <= self.candidates
            and inside
            and all(0 < v < math.inf for v in numbers)
            and all(0 <= v < math.inf for v in costs)
        )

    def __hash__(self) -> int:
        return hash((self.pairs, self.values, self.epsilon, self.n))

    def __repr__(self) -> str:
        epsilon = _validate.upwards(self.epsilon)
        half = noises.half_width("laplace", self.scale, 0.95)
        rows = "".join(
            f"\n  {value:.4f}  {first}, {second}"
            for (first, second), value in zip(self.pairs, self.values, strict=True)
        )
        return (
            f"Screening({len(self.pairs)} of {self.candidates} pairs, n={self.n}, "
            f"epsilon={epsilon}, noise within {half:.4f} at 95%){rows}"
        )

    def _repr_html_(self) -> str:
        ends = self.interval()
        rows = {
            f"{rank}. {first}, {second}": f"{value:.4f} (noise: {low:.4f} to {high:.4f})"
            for rank, ((first, second), value, (low, high)) in enumerate(
                zip(self.pairs, self.values, ends, strict=True), 1
            )
        }
        epsilon = _validate.upwards(self.epsilon)
        return html.table({**rows, "epsilon": epsilon, "guarantee": self.guarantee})
