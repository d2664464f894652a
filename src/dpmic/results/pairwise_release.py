"""Every pair's score of a table under one differential privacy guarantee."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate, frames
from dpmic.errors import InputError
from dpmic.results import html, noises
from dpmic.results.published import Published

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PairwiseRelease"]

SHOWN = 10
"""Pairs in the text and the HTML of a result."""


@dataclass(frozen=True, kw_only=True)
class PairwiseRelease(Published):
    """The MIC of all pairs of columns, or of one column with all others, each with noise.

    Attributes
    ----------
    names : tuple of str
        The columns.
    target : str or None
        The column that is paired with all others; None for all pairs.
    values, estimates : tuple of float
        The published numbers in the order of ``pairs``, in [0, 1], and what they say of MIC*.
    delta : float
        What the probability of any set of results may exceed exp(epsilon) times another by; 0
        for pure privacy.
    noise : {"laplace", "gaussian"}
        The kind of noise.
    sensitivity, scale, granularity : float
        The largest change of one score that a person can cause, the scale of the noise of each
        entry (for Gaussian noise its standard deviation), and the spacing of published numbers.
    """

    names: tuple[str, ...]
    target: str | None
    values: tuple[float, ...]
    estimates: tuple[float, ...]
    delta: float
    noise: str
    sensitivity: float
    scale: float
    granularity: float

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("names", "values", "estimates"):
            object.__setattr__(self, field, tuple(getattr(self, field)))

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
        count = _validate.whole(k, "k", least=1)
        rows = [(x, y, value) for (x, y), value in zip(self.pairs, self.values, strict=True)]
        return tuple(sorted(rows, key=lambda row: -row[2])[:count])

    def interval(self, level: float = 0.95) -> tuple[tuple[float, float], ...]:
        """Return the noise's interval for each pair, not the sample's.

        Each contains, with probability ``level`` or more, what its pair scores without noise.
        """
        half = noises.half_width(self.noise, self.scale, level) + 2 * self.granularity
        return tuple(noises.interval(value, half) for value in self.values)

    def to_frame(self, backend: frames.Backend | None = None) -> Any:
        """Return a row for each pair: x, y, value, estimate, low and high (95%)."""
        columns = {
            "x": [x for x, _ in self.pairs],
            "y": [y for _, y in self.pairs],
            "value": self.values,
            "estimate": self.estimates,
            "low": [low for low, _ in self.interval()],
            "high": [high for _, high in self.interval()],
        }
        return frames.build(columns, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the matrix as a heat map, or one column's values as bars; needs matplotlib."""
        from dpmic.plots.matrices import matrix

        return matrix(self, ax)

    def _sound(self) -> bool:
        numbers = (self.sensitivity, self.scale, self.granularity)
        known = self.target is None or self.target in self.names
        return (
            known
            and 0 < len(self.values) == len(self.estimates) == len(self.pairs)
            and all(0 <= v <= 1 for v in (*self.values, *self.estimates))
            and all(0 < v < math.inf for v in numbers)
            and 0 <= self.delta < 1
            and self.noise in get_args(noises.Kind)
        )

    def __hash__(self) -> int:
        return hash((self.names, self.values, self.epsilon, self.delta, self.n))

    def __repr__(self) -> str:
        cost = f"epsilon={_validate.upwards(self.epsilon)}"
        if self.delta:
            cost += f", delta={_validate.upwards(self.delta)}"
        half = noises.half_width(self.noise, self.scale, 0.95)
        rows = "".join(f"\n  {value:.4f}  {x}, {y}" for x, y, value in self.top(SHOWN))
        more = f"\n  and {len(self.values) - SHOWN} more" if len(self.values) > SHOWN else ""
        return (
            f"PairwiseRelease({len(self.values)} pairs of {len(self.names)} columns, n={self.n}, "
            f"{cost}, {self.noise} noise within {half:.4f} at 95%){rows}{more}"
        )

    def _repr_html_(self) -> str:
        half = noises.half_width(self.noise, self.scale, 0.95)
        leading = enumerate(self.top(SHOWN), 1)
        rows = {f"{rank}. {x}, {y}": f"{value:.4f}" for rank, (x, y, value) in leading}
        if len(self.values) > SHOWN:
            rows["and more"] = str(len(self.values) - SHOWN)
        rows |= {
            "noise of each, 95%": f"at most {half:.4f} ({self.noise})",
            "epsilon": _validate.upwards(self.epsilon),
        }
        if self.delta:
            rows["delta"] = _validate.upwards(self.delta)
        return html.table({**rows, "guarantee": self.guarantee})
