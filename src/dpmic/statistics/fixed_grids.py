"""Grids fixed in advance, so that counts on them add up: those of MICr and of micc.

A record is in one cell of each table of counts. The number of that cell is the sum of what the
record's atoms on x and on y contribute. Steps of a MICr search share a table, on the common
refinement of their columns and that of their masters. There is one table per orientation and
per pair of maps.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dpmic import _kernels, _validate
from dpmic._validate import Interval, Limits, Master
from dpmic.errors import InputError, ParameterError, safe_repr, with_code
from dpmic.statistics.capped import MOST_RECORDS, Tabulated, capped_axis, columns_of
from dpmic.statistics.grids import RangeAxis, RangeFamily, Step, Steps, range_family, steps
from dpmic.statistics.maps import MICR_MAPS, Axes, Refinement, range_maps
from dpmic.statistics.records import Counted, Records, narrowed

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Parts = NDArray[np.int64]

MASTERS = 3
"""Neighbouring masters that share a table. With one each, counting takes twice as long; with all
in one, tables no longer fit the caches."""

BUCKETS = 4
"""Buckets of a guide per atom; more save little."""


@dataclass(frozen=True, eq=False)
class SharedTable:
    """The table that several steps share, [column part, master part].

    ``fixed`` and ``free`` give the part of each atom in the common refinement of the columns and
    of the masters.
    """

    steps: frozenset[Step]
    fixed: Parts
    free: Parts

    @classmethod
    def of(cls, own: list[Step], family: RangeFamily) -> SharedTable:
        """Take the common refinements of several steps."""
        columns = _refined((family.edges[step.columns] for step in own), family.atoms)
        masters = _refined((family.edges[int(step.master)] for step in own), family.atoms)
        return cls(frozenset(own), columns, masters)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of parts on each axis."""
        return int(self.fixed[-1]) + 1, int(self.free[-1]) + 1

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.shape[0] * self.shape[1]


@dataclass(frozen=True, eq=False)
class CellLayout:
    """All tables of a search, one after the other: those with x fixed, then those with y fixed.

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
        What an atom of the first or the second variable adds to the number of a cell.
    """

    plan: Steps
    family: RangeFamily
    shared: list[SharedTable]
    starts: NDArray[np.int64]
    first: NDArray[np.int32]
    second: NDArray[np.int32]

    def table_of(self, step: Step) -> int:
        """Return the number of the table that contains a step."""
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
    """The cuts of one variable, and a guide of equal widths that locates most values at once."""

    cuts: Floats
    guide: NDArray[np.int32]
    low: float
    scale: float

    @classmethod
    def of(cls, cuts: Floats, interval: Interval) -> Locator:
        """Make a guide to the cuts of an interval."""
        low, high = interval
        buckets = BUCKETS * (cuts.size + 1)
        begins = low + (high - low) * (np.arange(buckets) / buckets)
        guide = np.searchsorted(cuts, begins, side="right").astype(np.int32)
        with np.errstate(over="ignore"):  # the guide is of no help if the interval is very narrow
            return cls(cuts, guide, low, float(np.float64(buckets) / (high - low)))

    def atoms(self, values: Floats) -> NDArray[np.int32]:
        """Return the atom of each value: the number of cuts at or below it."""
        found: NDArray[np.int32] = _kernels.place(
            values, self.cuts, self.guide, self.low, self.scale
        )
        return found


@dataclass(frozen=True)
class CountTableRecords(Records):
    """Records known only by the counts of one pair, in one orientation."""

    shared = False  # the tables exist already

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
        """Return the counts of all parts before each column, of which steps take differences."""
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


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a pair: the start of each table, and what each variable's atoms add."""

    starts: NDArray[np.int64]
    first: NDArray[np.int32]
    second: NDArray[np.int32]


@dataclass(frozen=True)
class RangeGrids:
    """The grids of MICr, under every pair of maps."""

    most_records: ClassVar[int] = 2**40
    """The proof of rounding covers no more (docs/proofs/rounding.md), and sums could overflow."""

    limits: Limits
    axes: Axes = "linear"

    @property
    def layout(self) -> CellLayout:
        """The tables under one pair of maps."""
        return cell_layout(self.limits)

    def refinement(self, interval: Interval) -> Refinement:
        """Return the atoms of a variable."""
        return _mapped(self, interval)

    @property
    def size(self) -> int:
        """The number of cells of a pair."""
        return int(self.layout.starts[-1]) * len(self.map_pairs)

    @property
    def map_pairs(self) -> list[tuple[int, int]]:
        """The pairs of maps, by position, in the order of their tables."""
        maps = range(1 if self.axes == "linear" else len(MICR_MAPS))
        return list(itertools.product(maps, maps))

    def cells(self, x: Refinement, y: Refinement) -> Cells:
        """Lay out the cells of a pair, one set of tables after the other."""
        base = self.layout
        pairs = list(itertools.product(x.parts, y.parts))
        begins = base.starts[-1] * np.arange(len(pairs))
        first = [base.first[a] + at for (a, _), at in zip(pairs, begins, strict=True)]
        second = [base.second[b] for _, b in pairs]
        starts = [*(base.starts[:-1] + at for at in begins), [base.starts[-1] * len(pairs)]]
        tables = (np.concatenate(own, axis=1).astype(np.int32) for own in (first, second))
        return Cells(np.concatenate(starts), *tables)

    def facts(self) -> dict[str, Any]:
        """Return what is stored about the grids."""
        limits = self.limits
        return {"B": limits.B, "c": limits.c, "master": limits.master} | (
            {} if self.axes == "linear" else {"axes": self.axes}
        )

    def __str__(self) -> str:
        grids = f"(B, c, master) = {(self.limits.B, self.limits.c, self.limits.master)}"
        return grids if self.axes == "linear" else f"{grids}, axes = {self.axes!r}"


@lru_cache(maxsize=64)
def _mapped(grids: RangeGrids, interval: Interval) -> Refinement:
    fractions = grids.layout.family.fractions
    return Refinement.of([own.cuts(fractions) for own in range_maps(interval, grids.axes)])


@dataclass(frozen=True)
class CappedGrids:
    """The grids of micc, under every map."""

    most_records: ClassVar[int] = MOST_RECORDS

    axes: Axes = "any"

    def refinement(self, interval: Interval) -> Refinement:
        """Return the atoms of a variable."""
        return capped_axis(interval, self.axes).refinement

    @property
    def size(self) -> int:
        """The number of cells of a pair; it does not depend on the intervals."""
        axis = capped_axis((0.0, 1.0), self.axes)
        return (
            2 * axis.rows.cells * sum(columns_of(sizes).fractions.size + 1 for sizes in axis.sizes)
        )

    def cells(self, x: Refinement, y: Refinement) -> Cells:
        """Lay out the cells of a pair: tables with columns on x, then those on y."""
        *x_parts, x_cells = x.parts
        *y_parts, y_cells = y.parts
        width = int(x_cells[-1]) + 1  # the same for y
        sizes = [(int(own[-1]) + 1) * width for own in (*x_parts, *y_parts)]
        starts = np.cumsum([0, *sizes])
        first = [own * width for own in x_parts] + [x_cells] * len(y_parts)
        second = [y_cells] * len(x_parts) + [own * width for own in y_parts]
        first = [own + at for own, at in zip(first, starts[:-1], strict=True)]
        return Cells(starts, np.stack(first, axis=1).astype(np.int32), np.stack(second, axis=1))

    def tabulated(
        self, counts: Counts, intervals: Sequence[Interval], *, swapped: bool
    ) -> Iterator[Tabulated]:
        """Yield the tables of two variables; ``swapped`` if counted in the other order."""
        axes = [capped_axis(own, self.axes) for own in intervals][:: -1 if swapped else 1]
        end = 0
        for orientation, (along, across) in enumerate((axes, axes[::-1])):
            for sizes, own in zip(along.sizes, along.maps, strict=True):
                shape = columns_of(sizes).fractions.size + 1, across.rows.cells
                start, end = end, end + shape[0] * shape[1]
                table = counts[start:end].reshape(shape).astype(np.int32)
                yield Tabulated(table, sizes, own, across.rows, orientation ^ swapped)

    def facts(self) -> dict[str, Any]:
        """Return what is stored about the grids."""
        return {"statistic": "micc", "axes": self.axes}

    def __str__(self) -> str:
        return f"those of micc with axes = {self.axes!r}"


Family = RangeGrids | CappedGrids
CountedStatistic = Literal["micr", "micc"]


def checked_family(statistic: object, *, B: Any, c: Any, master: Any, axes: Any) -> Family:
    """Check the options of a count table, which decide its grids."""
    if _validate.choice(statistic, "statistic", CountedStatistic) == "micr":
        if axes is not None:
            raise ParameterError(
                "axes", "a table for micr has linear axes", with_code("pass `statistic='micc'`")
            )
        return RangeGrids(fixed_limits(B, 15 if c is None else c, master))
    if (B, c, master) != (None, None, "reshef"):
        raise ParameterError("B, c and master", "the grids of micc have none", "leave them out")
    return CappedGrids(countable_axes("any" if axes is None else axes))


def countable_axes(axes: object) -> Axes:
    """Check the scales of axes for records that are counted in advance."""
    checked: Any = _validate.choice(axes, "axes", Axes)
    if checked == "wide":
        raise ParameterError(
            "axes = 'wide'",
            "it zooms to where the records are, for which counts are not enough",
            with_code("pass `axes='any'`, or the columns in memory"),
        )
    return checked  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Grids:
    """The pairs of columns and their grids: what tables must share to be added.

    With a ``target``, only its pairs with the other columns are counted.
    """

    names: tuple[str, ...]
    intervals: tuple[Interval, ...]
    family: Family
    target: str | None = None

    @classmethod
    def checked(cls, bounds: Any, family: Family, *, target: object) -> Grids:
        """Check the options of a table."""
        names, intervals = _named(bounds)
        if target is not None and target not in names:
            raise ParameterError(
                f"target = {safe_repr(target)}", "it has no bounds", "name a column that has bounds"
            )
        return cls(names, intervals, family, None if target is None else str(target))

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs by position: all of them, or the target with every other column."""
        target = None if self.target is None else self.names.index(self.target)
        return paired(len(self.names), target)

    @property
    def limits(self) -> Limits:
        """The limits of MICr; refuses the grids of micc."""
        if isinstance(self.family, CappedGrids):
            raise InputError(
                "a count table",
                "it was counted on the grids of micc",
                with_code("pass it to `dpmic.micc` or `dpmic.release`, or count with `B=100`"),
            )
        return self.family.limits

    def cells(self, pair: tuple[int, int]) -> Cells:
        """Lay out the cells of one pair."""
        return self.family.cells(*(self.family.refinement(self.intervals[i]) for i in pair))

    def difference(self, other: Grids) -> str:
        """Describe how other grids differ."""
        for name, mine, theirs in (
            ("columns", self.names, other.names),
            ("bounds", self.intervals, other.intervals),
            ("target", self.target, other.target),
        ):
            if mine != theirs:
                return f"{name} {mine} and {theirs}"
        return f"{self.family} and {other.family}"


def paired(columns: int, target: int | None) -> list[tuple[int, int]]:
    """Return pairs of columns by position: all, or the target with every other column."""
    if target is None:
        return list(itertools.combinations(range(columns), 2))
    return [(target, other) for other in range(columns) if other != target]


def fixed_limits(B: object, c: object, master: object) -> Limits:
    """Check the size of grids before n is known; nothing may depend on n."""
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
            "a count table needs at least two columns, each with its interval",
            "pass {'age': (0, 120), 'pay': (0, 5000)}",
        )
    for name in bounds:
        if not isinstance(name, str):
            raise ParameterError(f"bounds of {name!r}", "a column's name must be text", "pass text")
    intervals = (_validate.interval(ends, name) for name, ends in bounds.items())
    return tuple(bounds), tuple(intervals)


def facts_of(grids: Grids, n: int) -> dict[str, Any]:
    """Return what a stored table holds besides its counts."""
    columns = {"columns": grids.names, "bounds": grids.intervals, "target": grids.target}
    return {**columns, **grids.family.facts(), "n": n}


def grids_of(facts: Any) -> Grids:
    """Read the grids of a stored table, as carefully as those of a new one."""
    bounds = dict(zip(facts["columns"], facts["bounds"], strict=True))
    axes = countable_axes(facts.get("axes", "linear"))
    family: Family
    if _validate.choice(facts.get("statistic", "micr"), "statistic", CountedStatistic) == "micc":
        family = CappedGrids(axes)
    else:
        family = RangeGrids(fixed_limits(facts["B"], facts["c"], facts["master"]), axes)
    return Grids.checked(bounds, family, target=facts["target"])
