"""A published range of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpmic import _validate
from dpmic._format import format_complement, percent_complement
from dpmic._validate import Interval
from dpmic.results._base import Fact
from dpmic.results._published import Published

FEW = 0.05
"""The share of records that may lie outside a range said to hold nearly all of them."""

MOST_DRAWN = 80
"""Characters of two ends, a count and whether a range was found."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BoundsEstimate(Published):
    """A differentially private range of a column, to be used as bounds.

    The range becomes public; releases that use it are charged separately.

    Attributes
    ----------
    low, high : float
        The ends of the range, round numbers.
    outside : int
        With probability at least 1 - ``failure``, at most this many records lie below ``low`` or
        above ``high``.
    failure : float
        The probability that more do; of the noise alone, whatever the records are.
    found : bool
        Whether any part of the axis stood out from the noise. If not, the range is from
        -2**1022 to 2**1022: there are too few records for this epsilon.
    name : str
        What the column is called.
    """

    low: float
    high: float
    outside: int
    failure: float
    found: bool
    name: str

    @property
    def interval(self) -> Interval:
        """The range as ``bounds=(estimate.interval, ...)`` takes it."""
        return self.low, self.high

    @property
    def guarantee(self) -> str:
        """The sentences that may be printed beside the range."""
        promise = self._promise(f"This range of {self.name} is")
        if not self.found:
            return (
                f"{promise} Nothing stood out from the noise, so this is the widest possible range "
                "and says nothing about the records."
            )
        return (
            f"{promise} With probability at least {format_complement(self.failure)}, at most "
            f"{self.outside:,} of the {self.n:,} records lie outside "
            f"[{self.low:.12g}, {self.high:.12g}]."
        )

    def _drawn(self) -> Sequence[float]:
        return self.low, self.high, self.outside, self.found

    def _drawn_length(self) -> tuple[int, int]:
        return super()._drawn_length()[0], MOST_DRAWN

    def _sound(self) -> bool:
        _validate.interval(self.interval, "x")
        counted = type(self.outside) is int and 0 <= self.outside <= self.n
        named = type(self.found) is bool and isinstance(self.name, str)
        return super()._sound() and counted and named and 0 < self.failure < 1

    @property
    def title(self) -> str:
        """What the range is of."""
        return f"The range of {self.name}"

    def headline(self) -> str:
        """Return the range in a sentence."""
        if not self.found:
            return f"No range of {self.name} stands out from the privacy noise."
        found = f"between {self.low:.12g} and {self.high:.12g}"
        if self.outside <= FEW * self.n:
            return (
                f"Nearly all values of {self.name} lie {found}: most likely no more than "
                f"{self.outside:,} of {self.n:,} are outside."
            )
        inside = self.n - self.outside
        if inside <= 0:
            return f"How many values of {self.name} lie {found} is hidden by the privacy noise."
        return (
            f"Most likely at least {inside:,} of the {self.n:,} values of {self.name} lie {found}; "
            "the others may lie anywhere."
        )

    def facts(self) -> list[Fact]:
        """Return the range, what may lie outside, and what it cost."""
        if self.found:
            found = Fact("range", f"{self.low:.12g} to {self.high:.12g}")
        else:
            few = "too few records for this epsilon: this is the widest range"
            found = Fact("range", "none", few)
        likely = f"at most this many records lie outside ({percent_complement(self.failure)})"
        outside = Fact("outside", f"{self.outside:,}", likely)
        return [found, outside, *self._price()]

    def record(self) -> dict[str, Any]:
        """Return the numbers as one flat row."""
        names = ("low", "high", "outside", "found", "epsilon", "n")
        return {"column": self.name, **{name: getattr(self, name) for name in names}}

    def _summary(self) -> str:
        if self.found:
            found = (
                f"{self.low:.12g} to {self.high:.12g}, at most {self.outside:,} of {self.n:,} "
                f"records outside with probability at least {format_complement(self.failure)}"
            )
        else:
            found = f"none found: {self.n:,} records are too few for this epsilon"
        return f"range of {self.name}: {found}; epsilon={self._cost}"
