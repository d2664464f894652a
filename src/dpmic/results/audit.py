"""What an audit has shown."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from dpmic._format import format_floor

__all__ = ["AuditBound"]


@dataclass(frozen=True, slots=True, repr=False)
class AuditBound:
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
        The event that tells the neighbours apart best, chosen on runs not used for the bound.
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts."""
        return asdict(self)

    def __repr__(self) -> str:
        claim = f"{self.mechanism}, claimed epsilon={self.claimed:g}"
        return f"AuditBound({claim}, {self.verdict}; {self.event}, runs={self.runs})"
