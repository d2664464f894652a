"""Check options. Nothing here looks at data."""

from __future__ import annotations

import datetime
import math
import numbers
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

import numpy as np

from dpmic.errors import ParameterError, safe_repr, with_code

Master = Literal["reshef", "paper"]
AnyMaster = Literal["reshef", "paper", "minepy"]  # "minepy" is for mic and the drop-in
Ties = Literal["group", "random"]
Interval = tuple[float, float]
Bounds = tuple[Interval, Interval]


@dataclass(frozen=True, slots=True)
class Categories:
    """The possible values of a nominal column; a record stores a position in this list."""

    labels: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of categories."""
        return len(self.labels)


Domain = Interval | Categories
"""The possible range of a column: an interval of numbers, or a list of categories."""

BOOLEANS = ("false", "true")
DAY = datetime.timedelta(days=1)


class Days(float):
    """A date or time, stored as days since 1970 and printed as a date."""

    def __str__(self) -> str:
        when = datetime.datetime(1970, 1, 1) + self * DAY
        return when.date().isoformat() if self.is_integer() else when.isoformat()


def shown_end(end: float) -> float | str:
    """Return an end of an interval as it should be printed: a number or a date."""
    return str(end) if isinstance(end, Days) else end


DOTTED = re.compile(r"^(\d{1,2})\.(\d{1,2})\.(\d{4})(?=$|[ T])")
WRITTEN = re.compile(r"\d{4}-\d\d-\d\d(?=$|[ T])")

CAPS = tuple(half / 2 for half in range(7, 17))
"""The most that one record can weigh in a capped score, in bits."""

MAX_B = 5_000
"""Larger searches, of about c^2 B^2 steps, take minutes, and their matrices 50 MB."""

MAX_CATEGORIES = 100
"""Two such columns have 10,000 cells; a column with more categories is rarely a variable."""

MAX_EPSILON = 10
"""Larger values of epsilon need ``allow_large_epsilon=True``."""

MAX_MASTER = 20_000
"""The most parts a master partition may have: the search is quadratic in them."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The size of the search: cells in a grid, and parts in its master partition.

    ``B`` is the most cells a grid may have, ``c`` the master factor, ``master`` the rule for the
    size of the master (:func:`dpmic.statistics.grids.steps`), and ``lmax`` the most columns, if
    that is not decided by B.
    """

    B: float
    c: float
    master: str
    lmax: int | None = None

    def holding(self, x: int | None, y: int | None) -> Limits:
        """Return limits that leave room for all categories of nominal columns beside two parts.

        ``x`` and ``y`` are the numbers of categories; None means a column of numbers.
        """
        return replace(self, B=max(self.B, (x or 2) * (y or 2)))


def real(value: object, name: str) -> float:
    """Return a real number, finite or infinite; refuse NaN, booleans and text."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not isinstance(value, (float, int, numbers.Real)) or math.isnan(number):
        raise ParameterError(
            f"{name} = {safe_repr(value)}",
            f"{name} must be a real number",
            f"pass a number for {name}",
        )
    return number


def integer(value: object, name: str, *, least: int, most: int | None = None) -> int:
    """Return an integer between ``least`` and ``most``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ParameterError(
            f"{name} = {safe_repr(value)}",
            f"{name} must be an integer",
            f"pass {least} or more",
        )
    number = int(value)
    if number < least:
        raise ParameterError(f"{name} = {number}", "it is too small", f"pass {least} or more")
    if most is not None and number > most:
        raise ParameterError(
            f"{name} = {safe_repr(value)}", "it is too large", f"pass at most {most}"
        )
    return number


def epsilon(value: object, *, allow_large: bool = False) -> float:
    """Return epsilon: positive and finite, and above 10 only with ``allow_large``."""
    loss = real(value, "epsilon")
    if not 0 < loss < math.inf:
        raise ParameterError(
            f"epsilon = {safe_repr(value)}",
            "epsilon must be finite and above 0",
            with_code("pass `epsilon=1`"),
        )
    if loss > MAX_EPSILON and not allow_large:
        raise ParameterError(
            f"epsilon = {safe_repr(value)}",
            f"above {MAX_EPSILON} it protects almost nothing",
            with_code("pass a smaller epsilon, or `allow_large_epsilon=True` if you mean it"),
        )
    return loss


def delta(value: object) -> float:
    """Return delta, a probability in [0, 1)."""
    share = real(value, "delta")
    if not 0 <= share < 1:
        raise ParameterError(
            f"delta = {safe_repr(value)}",
            "delta is a probability, and should be far below 1 / n",
            "pass 0 or 1e-9",
        )
    return share


def choice(value: object, name: str, kinds: Any) -> str:
    """Return ``value`` if it is a member of a Literal type."""
    known = kinds.__args__  # typing.get_args takes a microsecond
    if not isinstance(value, str) or value not in known:
        listed = " or ".join(repr(kind) for kind in known)
        reason = "there is no such choice"
        raise ParameterError(f"{name} = {safe_repr(value)}", reason, f"pass {listed}")
    return value


def cells(n: int, alpha: object, B: object) -> float:
    """Return the most cells a grid may have: B if given, else max(n ** alpha, 4)."""
    if B is None:
        exponent = real(alpha, "alpha")
        if not 0 < exponent <= 1:
            raise ParameterError(
                f"alpha = {safe_repr(alpha)}",
                "alpha must lie in (0, 1]",
                with_code("pass `B=...` for a fixed limit"),
            )
        limit = max(snapped(n**exponent), 4.0)
    else:
        limit = real(B, "B")
    if 4 <= limit <= MAX_B:
        return limit
    written = f"alpha = {safe_repr(alpha)} with n = {n}" if B is None else f"B = {safe_repr(B)}"
    if limit < 4:
        raise ParameterError(written, "the smallest grid has 2 x 2 cells", "pass B of at least 4")
    raise ParameterError(
        f"{written}, so B = {limit:.6g}" if B is None else written,
        f"a search over more than {MAX_B} cells takes minutes or hours",
        f"pass a smaller alpha, or B of at most {MAX_B}",
    )


def snapped(value: float) -> float:
    """Undo a rounding error just off an integer: 32 ** 0.6 is 8, not 7.999999999999999."""
    nearest = round(value)
    return float(nearest) if abs(value - nearest) < 1e-9 * value else float(value)


def master_factor(c: object) -> float:
    """Return the master factor, which says how much finer the master is than the grid."""
    value = real(c, "c")
    if value < 1:
        raise ParameterError(
            f"c = {safe_repr(c)}",
            "a master needs at least one part for each part of the grid",
            "pass c >= 1",
        )
    return value


def limits(
    n: int, *, alpha: object, B: object, c: object, master: object = "reshef", atoms: float
) -> Limits:
    """Check the options that all statistics share.

    ``atoms`` is the most parts an axis can have: n for parts of equal mass.
    """
    kind = choice(master, "master", AnyMaster)
    checked = Limits(cells(n, alpha, B), master_factor(c), kind)
    refuse_large_master(checked, atoms)
    return checked


def refuse_large_master(limits: Limits, atoms: float) -> None:
    """Refuse a search that would take hours: it is quadratic in the parts of the master."""
    parts = math.sqrt(limits.B) if limits.master == "reshef" else limits.B / 2
    largest = min(limits.c * parts, atoms)
    if math.isfinite(limits.c) and largest > MAX_MASTER:
        raise ParameterError(
            f"c = {limits.c:g} with B = {limits.B:.6g}",
            f"a master would have {largest:.0f} parts, more than {MAX_MASTER}",
            "pass a smaller c or B",
        )


def cap(value: object) -> float:
    """Return the most that one record can weigh, in bits: one of :data:`CAPS`."""
    bits = real(value, "cap")
    if bits not in CAPS:
        raise ParameterError(
            f"cap = {safe_repr(value)}",
            f"cap must be a multiple of 1/2 from {CAPS[0]:g} to {CAPS[-1]:g}",
            with_code("pass `cap=5`"),
        )
    return bits


def generator(rng: object) -> np.random.Generator:
    """Return a random generator: the given one, one from a seed, or a fresh one."""
    try:
        return np.random.default_rng(rng)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ParameterError(
            f"rng = {safe_repr(rng)}",
            "rng must be a seed or a random generator",
            "pass an integer >= 0 or a numpy Generator",
        ) from None


def two(value: object, name: str, reason: str, remedy: str) -> tuple[object, object]:
    """Return the two members of a sequence, or refuse any other value."""
    members = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(members, Sequence) or isinstance(members, str) or len(members) != 2:
        raise ParameterError(f"{name} = {safe_repr(value)}", reason, remedy)
    return members[0], members[1]


def interval(value: object, name: str) -> Interval:
    """Return a non-empty interval with finite ends and a finite width."""
    remedy = f"pass two finite numbers as the bounds of {name}, the lower one first"
    low, high = two(value, f"bounds of {name}", "an interval has two ends", remedy)
    ends = _end(low, f"lower bound of {name}"), _end(high, f"upper bound of {name}")
    if not (math.isfinite(ends[1] - ends[0]) and ends[0] < ends[1]):
        raise ParameterError(
            f"bounds of {name} = {safe_repr(value)}",
            "the lower bound must be below the upper one, and the width finite",
            remedy,
        )
    # With too few floats inside, neighbouring cuts would coincide.
    if (ends[1] - ends[0]) < MAX_MASTER * max(math.ulp(ends[0]), math.ulp(ends[1])):
        raise ParameterError(
            f"bounds of {name} = {safe_repr(value)}",
            "the interval is too narrow for float64 to cut into cells",
            "shift or rescale the column",
        )
    return ends


def _end(value: object, name: str) -> float:
    """Return an end of an interval as a number; a date becomes days."""
    days = value if isinstance(value, Days) else moment(value)
    return real(value, name) if days is None else Days(days)


def moment(value: object) -> float | None:
    """Return a date, with or without a time, as days since 1970; None for anything else.

    A time without a time zone is in UTC. Text may be ISO 8601 or 31.12.1970; dates with slashes
    are not read, because they do not show whether the day or the month comes first.

    Examples
    --------
    >>> moment("1970-01-03"), moment("3.1.1970 12:00"), moment("1970"), moment("03/01/1970")
    (2.0, 2.5, None, None)
    """
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, str):
        text = DOTTED.sub(_dotted, value.strip())
        if not WRITTEN.match(text):
            return None
        try:
            value = datetime.datetime.fromisoformat(text)
        except ValueError:
            return None
    if isinstance(value, datetime.datetime):
        zone = datetime.UTC
        aware = value.replace(tzinfo=zone) if value.tzinfo is None else value
        return (aware - datetime.datetime(1970, 1, 1, tzinfo=zone)) / DAY
    if isinstance(value, datetime.date):
        return float((value - datetime.date(1970, 1, 1)).days)
    return None


def _dotted(parts: re.Match[str]) -> str:
    """Return a date such as 31.12.1970 in ISO 8601."""
    day, month, year = parts.groups()
    return f"{year}-{month:0>2}-{day:0>2}"


def label(value: object) -> str:
    """Return the name of a category or a person; 1 and 1.0 have one name, as True and "TRUE" do.

    Examples
    --------
    >>> label(" ward 3"), label(1.0), label(True), label("FALSE")
    ('ward 3', '1', 'true', 'false')
    """
    if isinstance(value, bytes):
        value = value.decode(errors="surrogateescape")
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    if isinstance(value, Decimal) and value.is_finite():
        digits = format(value, "f")
        value = digits.rstrip("0").rstrip(".") if "." in digits else digits
    text = str(value).strip()
    return text.lower() if text.lower() in BOOLEANS else text


def categories(value: object, name: str) -> Categories:
    """Return the categories of a column: at least two, all different."""
    remedy = with_code("list all possible values: `categories=...`")
    if isinstance(value, Categories):
        value = value.labels
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        reason = "categories must be a list"
        raise ParameterError(f"categories of {name} = {safe_repr(value)}", reason, remedy)
    labels = tuple(map(label, value))
    if len(set(labels)) < len(labels):
        raise ParameterError(f"categories of {name}", "a category is listed twice", remedy)
    if not 2 <= len(labels) <= MAX_CATEGORIES:
        raise ParameterError(
            f"{len(labels)} categor{'y' if len(labels) == 1 else 'ies'} of {name}",
            f"a nominal column has from 2 to {MAX_CATEGORIES} categories",
            remedy if len(labels) < 2 else 'merge rare ones into "other"',
        )
    return Categories(labels)


def domain(value: object, name: str) -> Domain:
    """Return the possible range of a column: an interval, or a list of categories.

    Examples
    --------
    >>> domain((0, 120), "age"), domain(["a", "b"], "ward")
    ((0.0, 120.0), Categories(labels=('a', 'b')))
    """
    members = value.tolist() if isinstance(value, np.ndarray) else value
    listed = list(members) if isinstance(members, list | tuple) else []
    texts = bool(listed) and all(isinstance(own, str) for own in listed)
    dates = texts and all(moment(own) is not None for own in listed)
    if isinstance(value, Categories) or (texts and not dates):
        return categories(value, name)
    return interval(value, name)


def bounds(value: object, names: Sequence[str] = ("x", "y")) -> Bounds:
    """Return the rectangle ((x0, x1), (y0, y1)) on which grids of equal width are drawn."""
    x, y = map(interval, _axes(value), names)
    return x, y


def domains(value: object, names: Sequence[str] = ("x", "y")) -> tuple[Domain, Domain]:
    """Return the possible ranges of two columns from ``bounds`` like ((0, 120), ["a", "b"])."""
    x, y = map(domain, _axes(value), names)
    return x, y


def _axes(value: object) -> tuple[object, object]:
    remedy = "pass bounds=((x0, x1), (y0, y1)), from domain knowledge"
    return two(value, "bounds", "each axis needs an interval", remedy)
