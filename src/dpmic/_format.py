"""Numbers as text, rounded so that a promise stays true; names without invisible characters."""

from __future__ import annotations

import math
import unicodedata
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

LEAST_MISS = 1e-9
"""A smaller probability of failure is written as this: nobody counts more nines."""

LEAST_PVALUE = 0.0001
"""A smaller p-value is written as being smaller."""

LEAST_REMAINDER = 1e-6
"""A smaller share of a budget is written as 0: charges differ a little from what is asked for."""

SCIENTIFIC = 1_000_000
"""From here on a factor is written with an exponent."""

LOG_10 = Decimal("2.302585092994045")
"""The natural logarithm of 10, rounded down."""

LEAST_GROUPED = 10_000
"""From here on a value of a column is written with commas between thousands."""

EPOCH = datetime(1970, 1, 1)

DAY_STEPS = (1, 2, 5, 10, 20)
MONTH_STEPS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000, 24_000)
"""Days, and months, between the marks of an axis of dates."""

JOINERS = "\u200c\u200d"
"""Format characters that some languages need; all others are escaped, since they reorder text."""


def plural(count: int, noun: str) -> str:
    """Write how many there are.

    Examples
    --------
    >>> plural(1, "pair"), plural(1200, "pair")
    ('1 pair', '1,200 pairs')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


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


def percent_ceil(share: float) -> str:
    """Write a share in percent with one decimal, never understated.

    Examples
    --------
    >>> percent_ceil(0.02672), percent_ceil(0.5), percent_ceil(0.999999)
    ('2.7%', '50%', '100%')
    """
    return f"{math.ceil(round(share * 1000, 9)) / 10:g}%"


def format_value(value: float, digits: int = 12) -> str:
    """Write a value of a column, or a bound: it may be a year, so 1950 has no comma.

    Examples
    --------
    >>> format_value(1950.0), format_value(-0.5), format_value(20000)
    ('1950', '-0.5', '20,000')
    """
    return f"{value:,.{digits}g}" if abs(value) >= LEAST_GROUPED else f"{value:.{digits}g}"


def format_date(days: float) -> str:
    """Write days since 1970 as a date, with the time if it is not midnight.

    Outside of the years 1 to 9999 it is the number of days.

    Examples
    --------
    >>> format_date(19000.0), format_date(0.5), format_date(3e6)
    ('2022-01-08', '1970-01-01 12:00', 'day 3,000,000')
    """
    try:
        when = EPOCH + timedelta(days=days)
    except OverflowError:
        return f"day {days:,.0f}"
    return when.strftime("%Y-%m-%d" if days == math.floor(days) else "%Y-%m-%d %H:%M")


def calendar(low: float, high: float) -> list[tuple[float, str]]:
    """Return up to seven marks of an axis of dates: first days of years or months, or days.

    Examples
    --------
    >>> calendar(17897, 19696)[:2], calendar(19000, 19300)[0], calendar(19000, 19003)[-1]
    ([(17897.0, '2019'), (18262.0, '2020')], (19052.0, '2022-03'), (19003.0, '2022-01-11'))
    """
    few = (high - low) / 5
    ends = [(end, format_date(end)) for end in dict.fromkeys((low, high))]
    if any(words.startswith("day") for _, words in ends):
        return ends
    found: list[tuple[float, str]] = []
    if few <= DAY_STEPS[-1]:
        step = next(own for own in DAY_STEPS if own >= few)
        days = range(math.ceil(low / step) * step, math.floor(high) + 1, step)
        found = [(float(day), format_date(day)) for day in days]
    else:
        step = next((own for own in MONTH_STEPS if own * 30 >= few), MONTH_STEPS[-1])
        first, last = (EPOCH + timedelta(days=end) for end in (low, high))
        for month in range(first.year * 12 // step * step, last.year * 12 + last.month, step):
            if month < 12:  # there is no year 0
                continue
            when = datetime(month // 12, month % 12 + 1, 1)
            place = (when - EPOCH) / timedelta(days=1)
            if low <= place <= high:
                found.append((place, when.strftime("%Y" if step % 12 == 0 else "%Y-%m")))
    return found if len(found) > 1 else ends


def format_complement(miss: float) -> str:
    """Write the probability 1 - miss, never overstated: 0.9999999 for a miss of 1e-7."""
    share = Context(prec=30, traps=[]).subtract(
        Decimal(1), Decimal(format_ceil(max(miss, LEAST_MISS)))
    )
    return f"{share:f}"


def percent_complement(miss: float) -> str:
    """Write the probability 1 - miss in percent, never overstated.

    Examples
    --------
    >>> percent_complement(0.05), percent_complement(0.1), percent_complement(1e-7)
    ('95%', '90%', '99.99999%')
    """
    context = Context(prec=30, traps=[])
    return f"{context.normalize(context.scaleb(Decimal(format_complement(miss)), 2)):f}%"


def format_chance(pvalue: float, digits: int = 2) -> str:
    """Write a p-value in some digits, never understated.

    Examples
    --------
    >>> format_chance(0.01234), format_chance(0.000012)
    ('0.013', '<0.0001')
    """
    return f"<{LEAST_PVALUE}" if pvalue < LEAST_PVALUE else format_ceil(pvalue, digits)


def format_pvalue(pvalue: float, digits: int = 2) -> str:
    """Write a p-value as in a sentence.

    Examples
    --------
    >>> format_pvalue(0.01234), format_pvalue(0.000012)
    ('p = 0.013', 'p < 0.0001')
    """
    text = format_chance(pvalue, digits)
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


def format_remainder(value: float, total: float) -> str:
    """Write what is left of a budget, never overstated; less than a millionth of it is nothing.

    Examples
    --------
    >>> format_remainder(1.0000000007, 3.0), format_remainder(7e-10, 3.0)
    ('1', '0')
    >>> format_remainder(0.09999999999999987, 1.0), format_remainder(5e-7, 1e-6)
    ('0.0999999', '5e-07')
    """
    return "0" if value < LEAST_REMAINDER * total else format_floor(value)


def format_factor(epsilon: str) -> str:
    """Write e^epsilon for an epsilon as it is printed, never understated.

    Three digits from 2 on; below, two digits of what exceeds 1.

    Examples
    --------
    >>> [format_factor(epsilon) for epsilon in ("0.01", "0.5", "1", "5", "10", "1000", "1e+9")]
    ['1.011', '1.65', '2.72', '149', '22,100', '1.98e+434', '10^4.35e+8']
    """
    factor = Context(prec=30, traps=[]).exp(Decimal(epsilon))
    if not factor.is_finite():
        upwards = Context(prec=3, rounding=ROUND_CEILING)
        return f"10^{upwards.divide(Decimal(epsilon), LOG_10):.2e}"
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
