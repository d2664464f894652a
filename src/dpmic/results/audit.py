"""What an audit has shown."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["AuditBound"]


@dataclass(frozen=True, slots=True)
class AuditBound:
    """An empirical lower bound on the privacy loss of a mechanism.

    Attributes
    ----------
    mechanism : str
        What was audited.
    claimed : float
        The epsilon that it states.
    lower : float
        With probability ``confidence`` or more, the true loss is at least this.
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
    def holds(self) -> bool:
        """Whether nothing was found that contradicts the claim."""
        return self.lower <= self.claimed

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts."""
        return asdict(self)
