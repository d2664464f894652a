"""A published range of a column. Nothing here was ever un-noised."""

from __future__ import annotations

from dataclasses import dataclass

from dpmic import _validate
from dpmic._format import format_complement
from dpmic._validate import Interval
from dpmic.results import html
from dpmic.results.published import Published

__all__ = ["BoundsEstimate"]


@dataclass(frozen=True, kw_only=True, repr=False)
class BoundsEstimate(Published):
    """A differentially private range of a column, to be used as bounds.

    The range is public from now on: releases that use it cost their own epsilon, and no more.

    Attributes
    ----------
    low, high : float
        The ends of the range, round numbers.
    outside : int
        With probability 1 - ``failure`` or more, at most this many records lie below ``low`` or
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
        if not self.found:
            return (
                f"{self._promise(f'This range of {self.name} is')} Nothing stood out from the "
                "noise: the range is the widest there is, and says nothing of the records."
            )
        return (
            f"{self._promise(f'This range of {self.name} is')} With probability "
            f"{format_complement(self.failure)} or more, "
            f"at most {self.outside} of the {self.n} records lie outside "
            f"[{self.low:.12g}, {self.high:.12g}]."
        )

    def _sound(self) -> bool:
        _validate.interval(self.interval, "x")
        counted = type(self.outside) is int and 0 <= self.outside <= self.n
        told = type(self.found) is bool and isinstance(self.name, str)
        return counted and told and 0 < self.failure < 1

    def __hash__(self) -> int:
        return hash((self.interval, self.outside, self.epsilon, self.n, self.name))

    def __repr__(self) -> str:
        if self.found:
            told = (
                f"{self.low:.12g} to {self.high:.12g}, at most {self.outside} of {self.n} records "
                f"outside with probability {format_complement(self.failure)} or more"
            )
        else:
            told = f"none found: {self.n} records are too few for this epsilon"
        epsilon = self._cost
        return f"BoundsEstimate(range of {self.name}: {told}; epsilon={epsilon})"

    def _repr_html_(self) -> str:
        rows = {
            f"range of {self.name}": f"{self.low:.12g} to {self.high:.12g}",
            "records outside, at most": f"{self.outside} of {self.n}",
            "with probability": f"{format_complement(self.failure)} or more",
            "epsilon": self._cost,
            "guarantee": self.guarantee,
        }
        if not self.found:
            rows["note"] = "too few records for this epsilon: this is the widest range"
        return html.table(rows)

    def _drawn_length(self) -> tuple[int, int]:
        drawn = f"{self.low!r}{self.high!r}{self.outside!r}{self.found}"  # as long as JSON's true
        return len(drawn), 80
