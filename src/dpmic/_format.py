"""Numbers as text, rounded to the side that never promises too much; names as they can be seen."""

from __future__ import annotations

import unicodedata
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

LEAST_MISS = 1e-9
"""A smaller one is written as this, or the nines could not be counted."""

JOINERS = "\u200c\u200d"
"""Format characters that ordinary names of some languages hold; the others can reorder a line."""


def format_ceil(value: float, digits: int = 6) -> str:
    """Write a number in some digits that never understate it."""
    text = f"{value:.{digits}g}"
    return _rounded(value, digits, ROUND_CEILING) if float(text) < value else text


def format_floor(value: float, digits: int = 6) -> str:
    """Write a number in some digits that never overstate it."""
    text = f"{value:.{digits}g}"
    return _rounded(value, digits, ROUND_FLOOR) if float(text) > value else text


def _rounded(value: float, digits: int, rounding: str) -> str:
    """Write a number rounded to one side, whatever decimal context the program has."""
    context = Context(prec=digits, rounding=rounding, traps=[])
    return f"{float(context.create_decimal_from_float(float(value))):.{digits}g}"


def format_complement(miss: float) -> str:
    """Write the probability 1 - miss, never overstated: 0.9999999 where a miss is 1e-7."""
    share = Context(prec=30, traps=[]).subtract(
        Decimal(1), Decimal(format_ceil(max(miss, LEAST_MISS)))
    )
    return f"{share:f}"


def visible(words: str) -> str:
    """Write characters that nobody sees, or that move what follows, as Python would."""
    return "".join(map(_visible, words))


def _visible(letter: str) -> str:
    if letter in "\n\t" or letter in JOINERS:
        return letter
    if unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
        return letter.encode("unicode_escape").decode()
    return letter
