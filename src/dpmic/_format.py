"""Numbers as text, rounded so that a promise stays true; names without invisible characters."""

from __future__ import annotations

import unicodedata
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

LEAST_MISS = 1e-9
"""A smaller probability of failure is written as this: nobody counts more nines."""

SCIENTIFIC = 1_000_000
"""From here on a factor is written with an exponent."""

JOINERS = "\u200c\u200d"
"""Format characters that some languages need; all others are escaped, since they reorder text."""


def format_ceil(value: float, digits: int = 6) -> str:
    """Round a number up to some significant digits."""
    text = f"{value:.{digits}g}"
    return _rounded(value, digits, ROUND_CEILING) if float(text) < value else text


def format_floor(value: float, digits: int = 6) -> str:
    """Round a number down to some significant digits."""
    text = f"{value:.{digits}g}"
    return _rounded(value, digits, ROUND_FLOOR) if float(text) > value else text


def _rounded(value: float, digits: int, rounding: str) -> str:
    """Round in one direction, whatever decimal context the program has set."""
    context = Context(prec=digits, rounding=rounding, traps=[])
    return f"{float(context.create_decimal_from_float(float(value))):.{digits}g}"


def format_complement(miss: float) -> str:
    """Write the probability 1 - miss, never overstated: 0.9999999 for a miss of 1e-7."""
    share = Context(prec=30, traps=[]).subtract(
        Decimal(1), Decimal(format_ceil(max(miss, LEAST_MISS)))
    )
    return f"{share:f}"


def format_factor(epsilon: str) -> str:
    """Write e^epsilon for an epsilon as it is printed, never understated.

    Three digits from 2 on; below, two digits of what exceeds 1.

    Examples
    --------
    >>> [format_factor(epsilon) for epsilon in ("0.01", "0.5", "1", "5", "10", "1000")]
    ['1.011', '1.65', '2.72', '149', '22,100', '1.98e+434']
    """
    factor = Context(prec=30, traps=[]).exp(Decimal(epsilon))
    excess = factor - 1 if factor < 2 else factor
    digits = 2 if factor < 2 else 3
    rounded = Context(prec=digits, rounding=ROUND_CEILING, traps=[]).plus(excess)
    if factor < 2:
        return f"{(1 + rounded).normalize():f}"
    return f"{rounded:.2e}" if rounded >= SCIENTIFIC else f"{rounded.normalize():,f}"


def visible(words: str) -> str:
    """Escape characters that are invisible or reorder the text, as Python does."""
    return "".join(map(_visible, words))


def _visible(letter: str) -> str:
    if letter in "\n\t" or letter in JOINERS:
        return letter
    if unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
        return letter.encode("unicode_escape").decode()
    return letter
