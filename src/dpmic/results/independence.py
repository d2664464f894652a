"""A published test of independence. Nothing here was ever un-noised."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpmic._format import format_ceil
from dpmic.results import html
from dpmic.results.published import PublishedPair

__all__ = ["IndependenceRelease"]


@dataclass(frozen=True, kw_only=True, repr=False)
class IndependenceRelease(PublishedPair):
    """A differentially private test of whether two columns are independent.

    Attributes
    ----------
    pvalue : float
        If the columns are independent, this is ``a`` or less with probability ``a`` at most,
        whatever their distributions and the noise. It follows from ``value`` and from what is
        public, so it costs no more. Never 0: at least 1 / (draws + 1).
    value : float
        The published statistic: Cramer's V of ranks plus noise, and not clipped, so it may lie
        below 0 or above 1.
    draws : int
        How many times the same release was made of independent columns, for comparison.
    """

    pvalue: float
    value: float
    draws: int

    @property
    def guarantee(self) -> str:
        """The sentences that may be printed beside the p-value."""
        first, second = self.names
        promise = self._promise(f"This test of independence of {first} and {second} is")
        chance = format_ceil(self.pvalue)
        return (
            f"{promise} If the two were independent, a p-value of {chance} or less "
            f"would appear with probability {chance} at most, the noise included."
        )

    def _sound(self) -> bool:
        tested = 0 < self.pvalue <= 1 and math.isfinite(self.value) and self.draws >= 1
        return tested and super()._sound()

    def __hash__(self) -> int:
        return hash((self.value, self.pvalue, self.epsilon, self.n, self.names))

    def __repr__(self) -> str:
        first, second = self.names
        chance = format_ceil(self.pvalue, 4)
        return (
            f"IndependenceRelease({first} and {second}: p-value {chance}; noisy Cramer's "
            f"V of ranks {self.value:.4f}, n={self.n}, epsilon={self._cost})"
        )

    def _repr_html_(self) -> str:
        first, second = self.names
        rows = {
            "p-value, private": format_ceil(self.pvalue, 4),
            f"of independence of {first} and {second}": f"n = {self.n}",
            "Cramer's V of ranks, noisy": f"{self.value:.4f}",
            "epsilon": self._cost,
            "guarantee": self.guarantee,
        }
        return html.table(rows)

    def _drawn_length(self) -> tuple[int, int]:
        return len(f"{self.value!r}{self.pvalue!r}"), 50
