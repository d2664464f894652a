"""What an audit has shown."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dpmic._format import format_floor
from dpmic.results._base import Fact, Result, html_table


@dataclass(frozen=True, eq=False, repr=False)
class AuditBound(Result):
    """An empirical lower bound on the privacy loss of a mechanism.

    It can disprove a claim, and never prove one: another attack may find more.

    Attributes
    ----------
    mechanism : str
        What was audited.
    claimed : float
        The epsilon that it states.
    lower : float
        With probability ``confidence`` or more, the true loss is at least this; 0 if the attack
        found nothing.
    confidence : float
        Of the Clopper-Pearson bounds, over both sides together.
    runs : int
        Runs on each of the two neighbouring datasets.
    event : str
        The event that separates the neighbours best, selected on runs not used for the bound.
    """

    mechanism: str
    claimed: float
    lower: float
    confidence: float
    runs: int
    event: str

    @property
    def disproved(self) -> bool:
        """Whether the bound is above the claim."""
        return self.lower > self.claimed

    @property
    def verdict(self) -> str:
        """The sentence that may be printed: bound and confidence, neither overstated."""
        verdict = "disproved" if self.disproved else "not disproved"
        least = format_floor(self.lower, 4)
        percent = (100 * Decimal(format_floor(self.confidence))).normalize()
        return f"{verdict}: epsilon is at least {least} with {percent:f}% confidence"

    @property
    def holds(self) -> bool:
        """Deprecated: no audit can show that a claim holds. Use ``not bound.disproved``."""
        reason = "no audit shows that a claim holds: use `not bound.disproved`"
        warnings.warn(reason, DeprecationWarning, stacklevel=2)
        return not self.disproved

    @property
    def title(self) -> str:
        """What was attacked, and what came of it."""
        return f"{self.mechanism}: {self.verdict}"

    def facts(self) -> list[Fact]:
        """Return the claim and how it was attacked."""
        return [
            Fact("claimed epsilon", f"{self.claimed:g}"),
            Fact("runs", f"{self.runs}", "on each of two neighbouring datasets"),
            Fact("event", "", self.event),
        ]

    def _repr_html_(self) -> str:
        return html_table([Fact("audit", self.title), *self.facts()])

    def record(self) -> dict[str, Any]:
        """Return the numbers as one flat row, with whether the claim is disproved."""
        return {**self.to_dict(), "disproved": self.disproved}

    def _sound(self) -> bool:
        texts = isinstance(self.mechanism, str) and isinstance(self.event, str)
        numbers = self.claimed > 0 and self.lower >= 0 and self.runs >= 1
        return texts and numbers and 0 < self.confidence < 1

    def _summary(self) -> str:
        claim = f"{self.mechanism}, claimed epsilon={self.claimed:g}"
        return f"{claim}, {self.verdict}; {self.event}, runs={self.runs}"
