"""What users are told before anything is spent, from what is public alone."""

from __future__ import annotations

import sys
import warnings

from dpmic.errors import BoundsReminder, NoiseWarning

__all__ = ["MEANINGLESS", "remind_of_bounds", "warn_of_noise", "warn_of_value_noise"]

MEANINGLESS = 0.5
"""From this half width of the 95% interval on, a value in [0, 1] may as well be any other."""

_reminded = False


def remind_of_bounds() -> None:
    """Say once in a process, whatever bounds and data are, where bounds must come from."""
    global _reminded
    if not _reminded:
        _reminded = True
        warnings.warn(
            "bounds must come from what the columns mean, never from the data itself: "
            "a minimum or maximum of the data would not be protected",
            BoundsReminder,
            stacklevel=_depth_of_caller(),
        )


def warn_of_noise(reason: str, remedy: str) -> None:
    """Say that what is published will mean little."""
    warnings.warn(f"{reason}; {remedy}", NoiseWarning, stacklevel=_depth_of_caller())


def warn_of_value_noise(half: float, remedy: str) -> None:
    """Say so where the noise of a value in [0, 1] is too wide; ``half`` is for 95%."""
    if half >= MEANINGLESS:
        warn_of_noise(
            f"the noise of a value exceeds {half:.2g} with a probability of 5%, and values lie "
            "between 0 and 1: they will mean little",
            remedy,
        )


def _depth_of_caller() -> int:
    """Return how many frames above the warning the first line outside this package is."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("dpmic"):
        depth, frame = depth + 1, frame.f_back
    return depth
