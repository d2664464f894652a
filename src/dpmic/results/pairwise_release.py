"""Every pair's score of a table under one differential privacy guarantee."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast, get_args

import numpy as np
from numpy.typing import NDArray

from dpmic._format import format_ceil
from dpmic.errors import InputError
from dpmic.results import html, leading, noises
from dpmic.results.pairs import ScoredPairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PairwiseRelease"]


@dataclass(frozen=True, kw_only=True)
class PairwiseRelease(ScoredPairs):
    """The MIC of all pairs of columns, or of one column with all others, each with noise.

    Attributes
    ----------
    names : tuple of str
        The columns.
    delta : float
        What the probability of any set of results may exceed exp(epsilon) times another by; 0
        for pure privacy.
    noise : {"laplace", "gaussian"}
        The kind of noise.
    """

    names: tuple[str, ...]
    delta: float
    noise: str

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "names", tuple(self.names))

    def _named(self) -> tuple[tuple[str, str], ...]:
        return self.pairs

    def _kind(self) -> noises.Kind:
        return cast("noises.Kind", self.noise)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs: all of them, or the target with each other column."""
        if self.target is None:
            return tuple(itertools.combinations(self.names, 2))
        return tuple((self.target, name) for name in self.names if name != self.target)

    @property
    def guarantee(self) -> str:
        """The sentence that may be printed beside the numbers."""
        return self._promise(f"The MIC of all {len(self.values)} pairs, together, is", self.delta)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The values, symmetric, by ``names``.

        NaN where nothing was released: the diagonal, and with a target all pairs without it.
        """
        matrix = np.full((len(self.names), len(self.names)), np.nan)
        place = {name: i for i, name in enumerate(self.names)}
        for (x, y), value in zip(self.pairs, self.values, strict=True):
            matrix[place[x], place[y]] = matrix[place[y], place[x]] = value
        return matrix

    def value(self, x: str, y: str) -> float:
        """Return the published number of a pair, in either order."""
        published = dict(zip(self.pairs, self.values, strict=True))
        for pair in ((x, y), (y, x)):
            if pair in published:
                return published[pair]
        raise InputError(f"{x!r}, {y!r}", "this pair was not released", "pass a pair of .pairs")

    def top(self, k: int) -> tuple[tuple[str, str, float], ...]:
        """Return the k largest published numbers with their pairs, at no further cost.

        Noise decides who leads: where only the strongest matter :func:`dpmic.screen` is better.
        """
        pairs, places = self.pairs, leading.largest(np.array(self.values), k)
        return tuple((*pairs[place], self.values[place]) for place in places)

    def _leading(self) -> list[tuple[str, str]]:
        """Return the largest published numbers as text, with their pairs."""
        return [(f"{x}, {y}", f"{value:.4f}") for x, y, value in self.top(leading.SHOWN)]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the matrix as a heat map, or one column's values as bars; needs matplotlib."""
        from dpmic.plots.matrices import matrix

        return matrix(self, ax)

    def _sound(self) -> bool:
        known = self.target is None or self.target in self.names
        kind = self.noise in get_args(noises.Kind)
        return known and kind and 0 <= self.delta < 1 and super()._sound()

    def __hash__(self) -> int:
        return hash((self.names, self.values, self.epsilon, self.delta, self.n))

    def __repr__(self) -> str:
        cost = f"epsilon={self._cost}"
        if self.delta:
            cost += f", delta={format_ceil(self.delta)}"
        rows = leading.lines(self._leading(), len(self.values))
        return (
            f"PairwiseRelease({len(self.values)} pairs of {len(self.names)} columns, n={self.n}, "
            f"{cost}, {self.noise} noise within {self.half_width:.4f} at 95%){rows}"
        )

    def _repr_html_(self) -> str:
        rows = leading.ranks(self._leading(), len(self.values)) | {
            "noise of each, 95%": f"at most {self.half_width:.4f} ({self.noise})",
            "epsilon": self._cost,
        }
        if self.delta:
            rows["delta"] = format_ceil(self.delta)
        return html.table({**rows, "guarantee": self.guarantee})

    def _drawn_length(self) -> tuple[int, int]:
        drawn = [repr(v) for v in (*self.values, *self.estimates)]
        return sum(map(len, drawn)), 25 * len(drawn)
