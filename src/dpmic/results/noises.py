"""How far noise goes: the one place where a scale becomes a probability."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Literal

from dpmic import _validate
from dpmic.errors import ParameterError

__all__ = ["COVERS", "Kind", "half_width", "interval", "mean", "probability"]

Kind = Literal["laplace", "gaussian"]

COVERS = "95%; covers the privacy noise, not sampling error"
"""What every display says of the interval of a value."""


def half_width(kind: str, scale: float, level: float) -> float:
    """Return what noise does not exceed, in absolute value, with probability ``level``.

    Examples
    --------
    >>> round(half_width("laplace", 1.0, 0.95), 3), round(half_width("gaussian", 1.0, 0.95), 3)
    (2.996, 1.96)
    """
    share = probability(level)
    if kind == "laplace":
        return -scale * math.log1p(-share)  # P(|noise| > h) = exp(-h / scale)
    return scale * NormalDist().inv_cdf((1 + share) / 2)


def probability(level: object) -> float:
    """Check the level of an interval."""
    share = _validate.real(level, "level")
    if not 0 < share < 1:
        raise ParameterError(f"level = {level!r}", "it is a probability", "pass 0.95")
    return share


def mean(kind: str, scale: float) -> float:
    """Return the expected absolute noise."""
    return scale * (1 if kind == "laplace" else math.sqrt(2 / math.pi))


def interval(value: float, half: float) -> tuple[float, float]:
    """Return an interval around a value in [0, 1]."""
    return max(value - half, 0.0), min(value + half, 1.0)
