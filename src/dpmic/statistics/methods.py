"""A statistic with its options: how a variable is binned, and how a pair is searched."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpmic import _kernels, _validate
from dpmic._validate import Bounds, Interval, Limits, Master
from dpmic.errors import ParameterError
from dpmic.statistics.characteristic import Search, xlogx_table
from dpmic.statistics.counts.memory import ClumpedRecords, Records
from dpmic.statistics.grids import Axis, MassAxis, RangeAxis, Steps, steps

__all__ = [
    "DEFAULT_C",
    "Binned",
    "Method",
    "Statistic",
    "by_range",
    "load_kernels",
    "range_search",
    "refuse_large_unconstrained",
]

Floats = NDArray[np.float64]
Statistic = Literal["mice", "micr", "mic"]

DEFAULT_C = 15.0

MAX_UNCONSTRAINED = 4_000
"""Most records with c = inf: the search is quadratic in them."""


class Binned(NamedTuple):
    """A variable as the axis that is cut into fixed columns, and as the one to be searched."""

    fixed: Axis
    free: Axis


@dataclass(frozen=True)
class Method:
    """One of the statistics and what its grids are; ``mic`` has a master of its own."""

    statistic: Statistic
    alpha: float
    B: float | None
    c: float | None  # None: 15
    master: Master = "reshef"

    def limits(self, n: int) -> Limits:
        """Return how far the search of n records goes, or refuse the options."""
        sized = _validate.choice(self.master, "master", Master)
        limits = _validate.limits(
            n,
            alpha=self.alpha,
            B=self.B,
            c=DEFAULT_C if self.c is None else self.c,
            master="minepy" if self.statistic == "mic" else sized,
            atoms=math.inf if self.statistic == "micr" else n,
        )
        refuse_large_unconstrained(n, limits.c)
        return limits

    def steps(self, limits: Limits) -> Steps:
        """Return the runs of a search."""
        return steps(limits, more_rows=self.statistic == "mic")

    def bin(self, values: Floats, limits: Limits, interval: Interval | None = None) -> Binned:
        """Bin one variable, once for all pairs that it takes part in; MICr needs its interval."""
        if interval is not None:
            return by_range(values, interval, self.steps(limits))
        axis = MassAxis.grouped(values, slack=0 if self.statistic == "mic" else 1)
        return Binned(axis, axis)

    def search(self, x: Binned, y: Binned, limits: Limits) -> Search:
        """Return the search of a pair."""
        if self.statistic == "mic":  # whose axes are all by mass
            by_x, by_y = ClumpedRecords(x.fixed, y.free), ClumpedRecords(y.fixed, x.free)  # type: ignore[arg-type]
            return Search(by_x, by_y, self.steps(limits))
        return Search(Records(x.fixed, y.free), Records(y.fixed, x.free), self.steps(limits))


def range_search(x: Floats, y: Floats, box: Bounds, limits: Limits) -> Search:
    """Return the search of MICr, whose grids depend on the bounds and limits alone."""
    plan = steps(limits)
    a, b = by_range(x, box[0], plan), by_range(y, box[1], plan)
    return Search(Records(a.fixed, b.free), Records(b.fixed, a.free), plan)


def load_kernels(*, counted: bool) -> None:
    """Compile or load the kernels of a search of records, or of a table of counts."""
    if counted:
        _kernels.tiled.information(np.ones((2, 2), np.int32), 2, xlogx_table(4))
        return
    values = np.linspace(0, 1, 4)
    range_search(values, values, ((0, 1), (0, 1)), Limits(4, 1, "reshef")).matrix()


def by_range(values: Floats, interval: Interval, plan: Steps) -> Binned:
    """Bin one variable for MICr."""
    if math.isfinite(plan[0].master):
        axis = RangeAxis.of(values, interval, plan.sizes)
        return Binned(axis, axis)
    # c = inf: any cut between distinct clamped values (the paper's unconstrained MICr).
    clamped = np.clip(values, *interval)
    fixed = RangeAxis.of(clamped, interval, frozenset(step.columns for step in plan))
    return Binned(fixed, MassAxis.grouped(clamped))


def refuse_large_unconstrained(n: int, c: float) -> None:
    """Refuse cuts between any two of too many values."""
    if math.isinf(c) and n > MAX_UNCONSTRAINED:
        raise ParameterError(
            f"c = inf with n = {n}",
            f"cuts between any two of more than {MAX_UNCONSTRAINED} values take minutes or hours",
            "pass a finite c; c = 15 is the usual choice",
        )
