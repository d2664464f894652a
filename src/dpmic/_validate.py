"""Options in, checked options out; nothing here looks at data."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from dpmic.errors import ParameterError

__all__ = ["Bounds", "Interval", "Limits", "Master", "Ties", "bounds", "choice", "limits"]

Master = Literal["reshef", "paper"]
Ties = Literal["group", "random"]
Interval = tuple[float, float]
Bounds = tuple[Interval, Interval]

MAX_B = 5_000
"""Above this the search, of about c^2 B^2 steps, takes minutes and the matrix 50 MB."""

MAX_MASTER = 20_000
"""Most parts that a master partition may have: the search is quadratic in them."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How far the search goes: cells in a grid and parts in its master.

    ``B`` is the largest number of cells, ``c`` how many master parts there are for each part
    that is wished, ``master`` which size the master has (:func:`dpmic.grids.steps`).
    """

    B: float
    c: float
    master: str


def real(value: object, name: str) -> float:
    """Return a finite or infinite real number, never a NaN, a bool or a string."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or math.isnan(value):
        raise ParameterError(
            f"{name} = {value!r}", f"{name} must be a real number", f"pass a number for {name}"
        )
    return float(value)


def choice(value: object, name: str, kinds: object) -> str:
    """Return a string that must be one of the members of a Literal type."""
    known = get_args(kinds)
    if not isinstance(value, str) or value not in known:
        listed = " or ".join(repr(kind) for kind in known)
        raise ParameterError(f"{name} = {value!r}", f"{name} is not known", f"pass {listed}")
    return value


def cells(n: int, alpha: object, B: object) -> float:
    """Return the largest number of cells: B where it is given, else max(n ** alpha, 4)."""
    if B is None:
        exponent = real(alpha, "alpha")
        if not 0 < exponent <= 1:
            raise ParameterError(
                f"alpha = {alpha!r}", "alpha must lie in (0, 1]", "pass B=... for a fixed limit"
            )
        limit, written = max(float(n**exponent), 4.0), f"alpha = {alpha!r} with n = {n}"
    else:
        limit, written = real(B, "B"), f"B = {B!r}"
    if limit < 4:
        raise ParameterError(written, "the smallest grid has 2 x 2 cells", "pass B of at least 4")
    if limit > MAX_B:
        raise ParameterError(
            f"{written}, so B = {limit:.6g}" if B is None else written,
            f"a search over more than {MAX_B} cells takes minutes or hours",
            f"pass B of at most {MAX_B}",
        )
    return limit


def clumps(c: object, B: float, master: str) -> float:
    """Return c, a number of at least 1 that keeps the master within reach, or infinity."""
    value = real(c, "c")
    if value < 1:
        raise ParameterError(
            f"c = {c!r}", "a master needs at least one part for each wished part", "pass c >= 1"
        )
    largest = value * (B / 2 if master == "paper" else math.sqrt(B))
    if math.isfinite(value) and largest > MAX_MASTER:
        raise ParameterError(
            f"c = {c!r} with B = {B:.6g}",
            f"the master would have {largest:.0f} parts, more than {MAX_MASTER}",
            "pass a smaller c, or c=math.inf for a cut between any two values",
        )
    return value


def limits(n: int, *, alpha: object, B: object, c: object, master: object = "reshef") -> Limits:
    """Check the options that every statistic shares."""
    kind = choice(master, "master", Master)
    cell_limit = cells(n, alpha, B)
    return Limits(cell_limit, clumps(c, cell_limit, kind), kind)


def two(value: object, name: str, reason: str, remedy: str) -> tuple[object, object]:
    """Return the two members of a sequence."""
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str) or len(value) != 2:
        raise ParameterError(f"{name} = {value!r}", reason, remedy)
    return value[0], value[1]


def interval(value: object, name: str) -> Interval:
    """Return a finite, non-empty interval whose width is finite too."""
    remedy = f"pass two finite numbers, the lower one first, as the bounds of {name}"
    low, high = two(value, f"bounds of {name}", "an interval has two ends", remedy)
    ends = real(low, f"lower bound of {name}"), real(high, f"upper bound of {name}")
    if not (math.isfinite(ends[1] - ends[0]) and ends[0] < ends[1]):
        raise ParameterError(
            f"bounds of {name} = {value!r}",
            "an interval needs a lower end below its upper end and a finite width",
            remedy,
        )
    # With too few floats inside, neighbouring cuts would coincide.
    if (ends[1] - ends[0]) < MAX_MASTER * max(math.ulp(ends[0]), math.ulp(ends[1])):
        raise ParameterError(
            f"bounds of {name} = {value!r}",
            "the interval is too narrow for float64 to cut it into cells",
            "shift or rescale the column",
        )
    return ends


def bounds(value: object) -> Bounds:
    """Return the rectangle ((x0, x1), (y0, y1)) on which range partitions are drawn."""
    remedy = "pass bounds=((x0, x1), (y0, y1)), from domain knowledge"
    x, y = two(value, "bounds", "one interval is needed for each axis", remedy)
    return interval(x, "x"), interval(y, "y")
