"""What count tables share to be added: columns, intervals, and the size of grids."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpmic import _validate
from dpmic._validate import Interval, Limits, Master
from dpmic.errors import ParameterError, safe_repr, with_code
from dpmic.statistics.counts.cells import Cells, cells

__all__ = ["Grids", "facts_of", "fixed_limits", "grids_of", "paired"]


@dataclass(frozen=True)
class Grids:
    """Which columns are paired, and on which grids: what tables must share to be added.

    With a ``target`` only its pairs with the others are counted.
    """

    names: tuple[str, ...]
    intervals: tuple[Interval, ...]
    limits: Limits
    target: str | None = None

    @classmethod
    def checked(cls, bounds: Any, *, B: object, c: object, master: object, target: object) -> Grids:
        """Check what tables are made with."""
        names, intervals = _named(bounds)
        limits = fixed_limits(B, c, master)
        if target is not None and target not in names:
            raise ParameterError(
                f"target = {safe_repr(target)}", "it has no bounds", "name one that has"
            )
        return cls(names, intervals, limits, None if target is None else str(target))

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs by position: all, or the target with each other column."""
        chosen = None if self.target is None else self.names.index(self.target)
        return paired(len(self.names), chosen)

    @property
    def cells(self) -> Cells:
        """The cells of one pair."""
        return cells(self.limits)

    def difference(self, other: Grids) -> str:
        """Say in what other grids differ."""
        for name, mine, theirs in (
            ("columns", self.names, other.names),
            ("bounds", self.intervals, other.intervals),
            ("target", self.target, other.target),
        ):
            if mine != theirs:
                return f"{name} {mine} and {theirs}"
        a, b = ((own.B, own.c, own.master) for own in (self.limits, other.limits))
        return f"(B, c, master) = {a} and {b}"


def paired(columns: int, target: int | None) -> list[tuple[int, int]]:
    """Return pairs of columns by position: all, or the target with each other one."""
    if target is None:
        return list(itertools.combinations(range(columns), 2))
    return [(target, other) for other in range(columns) if other != target]


def fixed_limits(B: object, c: object, master: object) -> Limits:
    """Check the size of grids; n is not known yet, so nothing may depend on it."""
    for name, value in (("B", B), ("c", c)):
        if value is None:
            raise ParameterError(
                f"{name} = None",
                "its default depends on the number of records, which is not known yet",
                with_code("pass `B=100`, `c=5`"),
            )
    kind = _validate.choice(master, "master", Master)
    limits = _validate.limits(4, alpha=1, B=B, c=c, master=kind, atoms=np.inf)
    if np.isinf(limits.c):
        raise ParameterError("c = inf", "its cuts lie between the values", with_code("pass `c=15`"))
    return limits


def _named(bounds: Any) -> tuple[tuple[str, ...], tuple[Interval, ...]]:
    """Return the columns and their intervals."""
    if not isinstance(bounds, Mapping) or len(bounds) < 2:
        raise ParameterError(
            "bounds",
            "two columns or more are needed, each with its interval",
            "pass {'age': (0, 120), 'pay': (0, 5000)}",
        )
    for name in bounds:
        if not isinstance(name, str):
            raise ParameterError(f"bounds of {name!r}", "columns are called by text", "pass text")
    intervals = (_validate.interval(ends, name) for name, ends in bounds.items())
    return tuple(bounds), tuple(intervals)


def facts_of(grids: Grids, n: int) -> dict[str, Any]:
    """Return what a stored table says of itself besides its counts."""
    limits = grids.limits
    return {
        "columns": grids.names,
        "bounds": grids.intervals,
        "target": grids.target,
        "B": limits.B,
        "c": limits.c,
        "master": limits.master,
        "n": n,
    }


def grids_of(facts: Any) -> Grids:
    """Read the grids of a stored table, as carefully as those of a new one."""
    bounds = dict(zip(facts["columns"], facts["bounds"], strict=True))
    options = {name: facts[name] for name in ("B", "c", "master", "target")}
    return Grids.checked(bounds, **options)
