"""What users are told, and what is refused, before anything is spent: from what is public alone."""

from __future__ import annotations

import sys
import warnings

from dpmic.errors import BoundsReminder, NoiseWarning, ParameterError, with_code
from dpmic.results import uncertainty

__all__ = [
    "MAX_HALF_WIDTH",
    "depth_of_caller",
    "noise_in_words",
    "refuse_noisy_value",
    "remind_of_bounds",
    "warn_of_noise",
]

MAX_HALF_WIDTH = 0.25
"""Above this half width of its 95% interval a value in [0, 1] says next to nothing."""

UNRELATED = 0.1
"""The probability that ``noise_in_words`` speaks of."""

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
            stacklevel=depth_of_caller(),
        )


def warn_of_noise(reason: str, remedy: str) -> None:
    """Say that what is published will mean little."""
    warnings.warn(f"{reason}; {remedy}", NoiseWarning, stacklevel=depth_of_caller())


def noise_in_words(kind: str, scale: float) -> str:
    """Say what noise of a value in [0, 1] means for somebody who reads the value.

    Examples
    --------
    >>> print(noise_in_words("laplace", 0.14))
    95% of values are within 0.42 of the score, and one in ten unrelated pairs is published as
    0.23 or more
    """
    half = uncertainty.half_width(kind, scale, 0.95)
    seen = uncertainty.half_width(kind, scale, 1 - 2 * UNRELATED)  # noise is symmetric
    return (
        f"95% of values are within {half:.2g} of the score, and one in ten unrelated pairs is "
        f"published as {f'{seen:.2g} or more' if seen < 1 else '1'}"
    )


def refuse_noisy_value(kind: str, scale: float, allowed: bool, remedy: str) -> None:
    """Refuse values in [0, 1] that noise hides, unless that is allowed."""
    if uncertainty.half_width(kind, scale, 0.95) > MAX_HALF_WIDTH and not allowed:
        raise ParameterError(
            "the noise is too large",
            noise_in_words(kind, scale),
            remedy + with_code(", or `allow_noisy=True` to publish anyway"),
        )


def depth_of_caller() -> int:
    """Return how many frames above the warning the first line outside this package is."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("dpmic"):
        depth, frame = depth + 1, frame.f_back
    return depth
