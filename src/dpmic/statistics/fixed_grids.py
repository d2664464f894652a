"""The grids of MICr, fixed beforehand, so that counts on them add.

Steps of a search share a table of counts: on the common refinement of their columns, by that of
their masters. Each table is there in both orientations. A record lies in one cell of each, whose
number is the sum of what its atom on x and its atom on y contribute.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic import _kernels, _validate
from dpmic._validate import Interval, Limits, Master
from dpmic.errors import ParameterError, safe_repr, with_code
from dpmic.statistics.grids import RangeAxis, RangeFamily, Step, Steps, range_family, steps
from dpmic.statistics.records import Counted, Records, narrowed

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Parts = NDArray[np.int64]

MASTERS = 3
"""Neighbouring masters that share a table: with one each, counting takes twice as long; with all
in one, tables outgrow the caches."""

BUCKETS = 4
"""Buckets of a guide for each atom: more save little."""


@dataclass(frozen=True, eq=False)
class SharedTable:
    """The table that some steps share, [columns' part, masters' part].

    ``fixed`` and ``free`` are the part of each atom in the common refinements of the columns and
    of the masters.
    """

    steps: frozenset[Step]
    fixed: Parts
    free: Parts

    @classmethod
    def of(cls, own: list[Step], family: RangeFamily) -> SharedTable:
        """Take the common refinements of some steps."""
        columns = _refined((family.edges[step.columns] for step in own), family.atoms)
        masters = _refined((family.edges[int(step.master)] for step in own), family.atoms)
        return cls(frozenset(own), columns, masters)

    @property
    def shape(self) -> tuple[int, int]:
        """How many parts there are."""
        return int(self.fixed[-1]) + 1, int(self.free[-1]) + 1

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.shape[0] * self.shape[1]


@dataclass(frozen=True, eq=False)
class CellLayout:
    """All tables of a search, one after the other: first those with x fixed, then with y.

    Parameters
    ----------
    plan : Steps
        The runs of the search.
    family : RangeFamily
        The partitions of an axis, and its atoms.
    shared : list of SharedTable
        The tables of one orientation.
    starts : array
        The first cell of each table and, last, the number of cells.
    first, second : (atoms, tables)
        What an atom of the first, and of the second, variable adds to the number of a cell.
    """

    plan: Steps
    family: RangeFamily
    shared: list[SharedTable]
    starts: NDArray[np.int64]
    first: NDArray[np.int32]
    second: NDArray[np.int32]

    def table_of(self, step: Step) -> int:
        """Return the number of the table that a step is in."""
        return next(i for i, own in enumerate(self.shared) if step in own.steps)

    def table(self, counts: Counts, orientation: int, number: int) -> Counts:
        """Return a table; in orientation 0 its columns are on x."""
        own, start = self.shared[number], self.starts[orientation * len(self.shared) + number]
        return counts[start : start + own.size].reshape(own.shape)


@lru_cache(maxsize=8)
def cell_layout(limits: Limits) -> CellLayout:
    """Lay out the tables of a search; they do not depend on the bounds."""
    plan = steps(limits)
    family = range_family(plan.sizes)
    masters = sorted({step.master for step in plan})
    groups = [masters[i : i + MASTERS] for i in range(0, len(masters), MASTERS)]
    shared = [
        SharedTable.of([step for step in plan if step.master in own], family) for own in groups
    ]
    starts = np.cumsum([0, *(own.size for own in shared * 2)])
    along = [own.fixed * own.shape[1] for own in shared]
    across = [own.free for own in shared]
    half = len(shared)
    first = np.stack([*(a + s for a, s in zip(along, starts[:half], strict=True)), *across], axis=1)
    second = np.stack(
        [*across, *(a + s for a, s in zip(along, starts[half:-1], strict=True))], axis=1
    )
    return CellLayout(plan, family, shared, starts, first.astype(np.int32), second.astype(np.int32))


def _refined(partitions: Iterable[NDArray[np.int64]], atoms: int) -> Parts:
    """Return the part of each atom in the common refinement of some partitions."""
    begins = np.zeros(atoms, bool)
    for edges in partitions:
        begins[edges[1:-1]] = True
    return np.cumsum(begins)


@dataclass(frozen=True, eq=False)
class Locator:
    """The cuts of one variable, and a guide by equal widths that finds most values at once."""

    cuts: Floats
    guide: NDArray[np.int32]
    low: float
    scale: float

    @classmethod
    def of(cls, interval: Interval, family: RangeFamily) -> Locator:
        """Draw the cuts of an interval."""
        low, high = interval
        axis = RangeAxis.of(np.empty(0), interval, frozenset(family.edges))
        buckets = BUCKETS * family.atoms
        begins = low + (high - low) * (np.arange(buckets) / buckets)
        guide = np.searchsorted(axis.refinement, begins, side="right").astype(np.int32)
        with np.errstate(over="ignore"):  # a very narrow interval, where the guide does not help
            return cls(axis.refinement, guide, low, float(np.float64(buckets) / (high - low)))

    def atoms(self, values: Floats) -> NDArray[np.int32]:
        """Return the atom of each value: the number of cuts at or below it."""
        found: NDArray[np.int32] = _kernels.counting.place(
            values, self.cuts, self.guide, self.low, self.scale
        )
        return found


@dataclass(frozen=True)
class CountTableRecords(Records):
    """Records of which only the counts of one pair are known, in one orientation."""

    shared = False  # the tables are there

    fixed: RangeAxis
    free: RangeAxis
    layout: CellLayout
    counts: Counts
    orientation: int
    records: int
    _sums: dict[int, Counts] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """The number of records."""
        return self.records

    def _before(self, number: int) -> Counts:
        """Return the counts of all parts before each one of the columns: steps take differences."""
        if number not in self._sums:
            table = self.layout.table(self.counts, self.orientation, number)
            sums = np.concatenate((np.zeros_like(table[:1]), np.cumsum(table, axis=0)))
            self._sums[number] = sums
        return self._sums[number]

    def count(self, step: Step) -> Counted:
        """Return the counts of one step."""
        number = self.layout.table_of(step)
        own, sums = self.layout.shared[number], self._before(number)
        columns, master = self.fixed.columns(step.columns), self.free.master(step.master)
        at = np.append(own.fixed[columns[:-1]], own.shape[0])
        table = np.add.reduceat(np.diff(sums[at], axis=0), own.free[master[:-1]], axis=1)
        return Counted(narrowed(table, self.n), columns, master)


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
        """Check the options of a table."""
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
        target = None if self.target is None else self.names.index(self.target)
        return paired(len(self.names), target)

    @property
    def layout(self) -> CellLayout:
        """The cells of one pair."""
        return cell_layout(self.limits)

    def difference(self, other: Grids) -> str:
        """Say how other grids differ."""
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
    """Return what a stored table has besides its counts."""
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
