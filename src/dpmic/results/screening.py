"""The strongest pairs of a table, chosen and scored under differential privacy."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpmic.results import html
from dpmic.results.pairs import ScoredPairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Screening"]


@dataclass(frozen=True, kw_only=True)
class Screening(ScoredPairs):
    """Pairs chosen for their strength, and their values, the largest value first.

    It says nothing of the pairs that were not chosen.

    Attributes
    ----------
    pairs : tuple of (str, str)
        The chosen pairs.
    candidates : int
        How many pairs there were to choose from.
    split : float
        The share of epsilon that was asked for the choice; 0 where all pairs are released.
    selection_epsilon, values_epsilon : float
        What the choice and the values cost; ``epsilon`` is the sum, rounded up.
    selection_scale : float
        The scale of the choice.
    """

    pairs: tuple[tuple[str, str], ...]
    candidates: int
    split: float
    selection_epsilon: float
    values_epsilon: float
    selection_scale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "pairs", tuple((first, second) for first, second in self.pairs))

    def _named(self) -> tuple[tuple[str, str], ...]:
        return self.pairs

    @property
    def guarantee(self) -> str:
        """The sentence that may be printed beside the result."""
        if len(self.pairs) == self.candidates:
            return self._promise(f"The MIC of all {self.candidates} pairs, together, is")
        return self._promise(
            f"The choice of {len(self.pairs)} of {self.candidates} pairs, with the MIC of the "
            "chosen, together, is"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the values as bars with their noise intervals; needs matplotlib."""
        from dpmic.plots.screenings import screening

        return screening(self, ax)

    def _sound(self) -> bool:
        costs = (self.selection_epsilon, self.selection_scale, self.split)
        return (
            super()._sound()
            and len(self.pairs) <= self.candidates
            and 0 < self.values_epsilon < math.inf
            and all(0 <= v < math.inf for v in costs)
        )

    def __hash__(self) -> int:
        return hash((self.pairs, self.values, self.epsilon, self.n))

    def __repr__(self) -> str:
        epsilon = self._cost
        rows = "".join(
            f"\n  {value:.4f}  {first}, {second}"
            for (first, second), value in zip(self.pairs, self.values, strict=True)
        )
        return (
            f"Screening({len(self.pairs)} of {self.candidates} pairs, n={self.n}, "
            f"epsilon={epsilon}, noise within {self.half_width:.4f} at 95%){rows}"
        )

    def _repr_html_(self) -> str:
        ends = self.interval()
        rows = {
            f"{rank}. {first}, {second}": f"{value:.4f} (noise: {low:.4f} to {high:.4f})"
            for rank, ((first, second), value, (low, high)) in enumerate(
                zip(self.pairs, self.values, ends, strict=True), 1
            )
        }
        epsilon = self._cost
        return html.table({**rows, "epsilon": epsilon, "guarantee": self.guarantee})

    def _drawn_length(self) -> tuple[int, int]:
        # Any of the candidates could have been selected: that of the longest names stands for all.
        names = [name for name in self.parameters["bounds"] if name != self.target]
        lengths = sorted(len(json.dumps(name)) for name in names)
        first = lengths[-2] if self.target is None else len(json.dumps(self.target))
        longest = first + lengths[-1] + len("[, ]")
        drawn = sum(len(json.dumps(pair)) for pair in self.pairs)
        drawn += sum(len(repr(v)) for v in (*self.values, *self.estimates))
        return drawn, len(self.pairs) * (longest + 50)
