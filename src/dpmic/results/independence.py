"""Tests of whether two columns are independent, without and with privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmic._format import LEAST_PVALUE, format_ceil, format_chance, format_pvalue
from dpmic.errors import InputError
from dpmic.results._base import INFINITE, NUMBERS, Fact, Result, flatten
from dpmic.results._published import PublishedPair
from dpmic.results.relation import evidence

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class IndependenceTest(Result):
    """How an observed TICe compares with that of random permutations.

    Attributes
    ----------
    statistic : float
        The Total Information Coefficient of the two columns, not normalised.
    pvalue : float
        If the columns are independent, this is ``a`` or less with probability ``a`` at most. It
        says neither how strong a relation is nor how likely there is one. Never 0.
    n : int
        Records used, after missing ones were dropped.
    B, c : float
        The most cells in a grid, and master parts for each part.
    null : ndarray
        The statistic of each permutation. Read-only.
    names : (str, str)
        What the columns are called; "x" and "y" if they have no names.
    """

    statistic: float
    pvalue: float
    n: int
    B: float
    c: float = field(metadata=INFINITE)
    null: NDArray[np.float64] = field(metadata=NUMBERS)
    names: tuple[str, str] = field(default=("x", "y"), compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        null = self.null
        sound = null.ndim == 1 and null.size > 0 and bool(np.isfinite(null).all())
        if not (sound and 0 < self.pvalue <= 1 and math.isfinite(self.statistic)):
            raise InputError(
                "this test", "its numbers are not those of a test", "pass what was computed"
            )

    def _sound(self) -> bool:
        return len(self.names) == 2 and all(isinstance(name, str) for name in self.names)

    @property
    def permutations(self) -> int:
        """How many permutations there were; no p-value is below 1 / (permutations + 1)."""
        return self.null.size

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the permutations' statistic and the observed one; needs matplotlib."""
        from dpmic.plots import null

        return null(self, ax)

    def headline(self, x: str | None = None, y: str | None = None) -> str:
        """Return what the test shows of two columns, by their own or other names, in a sentence."""
        return evidence(x or self.names[0], y or self.names[1], self.pvalue)

    def facts(self) -> list[Fact]:
        """Return the p-value and what it comes from."""
        return [
            Fact("p-value", format_chance(self.pvalue), "how often chance gives as much"),
            Fact("TICe", f"{self.statistic:.4f}", "the statistic"),
            Fact("permutations", f"{self.permutations:,}", "compared with"),
            Fact("n", f"{self.n:,}", "records used"),
        ]

    def provenance(self) -> dict[str, str]:
        """Return how it was computed."""
        return {
            "records (n)": f"{self.n:,}",
            "permutations": f"{self.permutations:,}",
            **flatten({"B": self.B, "c": self.c}),
        }

    def record(self) -> dict[str, Any]:
        """Return the numbers as one flat row, without those of the permutations."""
        names = ("pvalue", "statistic", "permutations", "n")
        return {name: getattr(self, name) for name in names}

    def _summary(self) -> str:
        return (
            f"TICe={self.statistic:.4g}, {format_pvalue(self.pvalue)}, "
            f"n={self.n}, {self.permutations} permutations"
        )


MISSING_TOGETHER = (
    "Values missing in the same records make unrelated columns look related, so a small p-value "
    "may come from them alone."
)
"""What a test of columns after filling in does not show."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class IndependenceRelease(PublishedPair):
    """A differentially private test of whether two columns are independent.

    Attributes
    ----------
    pvalue : float
        If the columns are independent, this is ``a`` or less with probability ``a`` at most,
        whatever their distributions and the noise. It follows from ``value`` and from what is
        public, so it costs no more. Never 0: at least 1 / (draws + 1). Where missing values were
        filled in (``filled``), all of this concerns the columns after that.
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
    def filled(self) -> bool:
        """Whether missing values were filled in before the test.

        Values that are missing in the same records of both columns then look like a relation.
        """
        return "missing" in self.parameters

    @property
    def guarantee(self) -> str:
        """The sentences that may be printed beside the p-value."""
        first, second = self.names
        promise = self._promise(f"This test of independence of {first} and {second} is")
        chance = format_ceil(max(self.pvalue, LEAST_PVALUE), 2)
        after = " after missing values were filled in" if self.filled else ""
        return (
            f"{promise} If {first} and {second} were independent{after}, a p-value of {chance} or "
            f"less would occur with probability at most {chance}, noise included."
            f"{f' {MISSING_TOGETHER}' if self.filled else ''}"
        )

    def _sound(self) -> bool:
        tested = 0 < self.pvalue <= 1 and math.isfinite(self.value) and self.draws >= 1
        return tested and super()._sound()

    def _drawn(self) -> Sequence[float]:
        return self.value, self.pvalue

    @property
    def title(self) -> str:
        """What the test asks."""
        return f"Are {self.names[0]} and {self.names[1]} independent?"

    def headline(self) -> str:
        """Return what the test shows, in a sentence; no relation where values were filled in."""
        if not self.filled:
            return evidence(*self.names, self.pvalue)
        first, second = self.names
        return (
            f"The test does not show whether {first} and {second} are related: missing values were "
            f"filled in ({format_pvalue(self.pvalue)} after that), which alone can relate columns."
        )

    def facts(self) -> list[Fact]:
        """Return the p-value, the statistic and what they cost."""
        of = "for the columns after filling in" if self.filled else "exact, the noise included"
        return [
            Fact("p-value", format_chance(self.pvalue), of),
            Fact("Cramer's V", f"{self.value:.4f}", "of ranks, with noise"),
            *self._price(),
        ]

    def record(self) -> dict[str, Any]:
        """Return the numbers as one flat row."""
        names = ("pvalue", "value", "draws", "epsilon", "n")
        return {
            **dict(zip("xy", self.names, strict=True)),
            **{name: getattr(self, name) for name in names},
        }

    def _summary(self) -> str:
        first, second = self.names
        after = " after filling in" if self.filled else ""
        return (
            f"{first} and {second}: {format_pvalue(self.pvalue)}{after}; noisy Cramer's "
            f"V of ranks {self.value:.4f}, n={self.n}, epsilon={self._cost}"
        )
