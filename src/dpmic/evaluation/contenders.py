"""Who is compared: the published mechanisms, ours, a simple baseline, and the floors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["CONTENDERS", "Contender", "named"]

Group = Literal["published", "ours", "baseline", "floor"]


@dataclass(frozen=True, slots=True)
class Contender:
    """One row of every table: its key in files, its label on paper, and what its epsilon is."""

    key: str
    label: str
    group: Group
    guarantee: str
    keeps_epsilon: bool = True

    @property
    def broken(self) -> bool:
        """Whether it claims an epsilon that does not hold: said wherever it stands."""
        return self.group == "published" and not self.keeps_epsilon


PROVED = "epsilon-DP, proved"
LOOSE = "epsilon-DP, with more noise than needed"

CONTENDERS = (
    Contender("mice-lap", "MICe-Lap (published)", "published", f"without ties {LOOSE}"),
    Contender("micr-lap", "MICr-Lap (published)", "published", LOOSE),
    Contender(
        "micr-geom",
        "MICr-Geom (published)",
        "published",
        "not epsilon-DP: proved guarantee G x epsilon",
        keeps_epsilon=False,
    ),
    Contender("ours", "MICr-Lap (ours)", "ours", PROVED),
    Contender("ours-estimate", "MICr-Lap (ours), estimate", "ours", PROVED),
    Contender("ours-mice", "MICe-Lap (ours)", "ours", PROVED),
    Contender("ours-mice-estimate", "MICe-Lap (ours), estimate", "ours", PROVED),
    Contender("noisy-table", "noisy table", "baseline", PROVED),
    Contender("constant", "constant 0.5", "baseline", "looks at no data"),
    Contender("mice", "MICe (no privacy)", "floor", "not private", keeps_epsilon=False),
    Contender("micr", "MICr (no privacy)", "floor", "not private", keeps_epsilon=False),
)


def named(key: str) -> Contender:
    """Return the contender with that key.

    Examples
    --------
    >>> named("micr-geom").guarantee
    'not epsilon-DP: proved guarantee G x epsilon'
    """
    return next(contender for contender in CONTENDERS if contender.key == key)
