"""From two axes to a characteristic matrix and its best grid: the only way to build a search."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpmic import _kernels
from dpmic._validate import Bounds, Categories, Domain, Limits
from dpmic.errors import InputError
from dpmic.results import Grid
from dpmic.statistics.count_table import CountTable, PairCounts
from dpmic.statistics.fixed_grids import CountTableRecords, RangeGrids
from dpmic.statistics.grids import (
    Axis,
    Layout,
    MassAxis,
    NominalAxis,
    RangeAxis,
    Step,
    Steps,
    nominal_steps,
    steps,
)
from dpmic.statistics.maps import Map, range_maps
from dpmic.statistics.records import (
    ClumpedRecords,
    CutAxes,
    HistogramRecords,
    RankedAxes,
    Records,
)

Floats = NDArray[np.float64]

AT_ONCE = 2**21
"""Parts of records, over all groups of steps, in memory at a time for one pair: 16 MB."""

BUDGET = 2**26
"""Bytes for parts of records if many variables are cut at once."""

ALONE = np.zeros((1, 2), np.int64)
"""The only pair between one axis and one axis."""

AS_ONE = np.array([[0, 1]])
"""The only pair of two axes."""

TIE = 1e-12
"""Entries this close to the largest count as equal to it: float64 cannot separate them."""


@dataclass(frozen=True)
class Search:
    """Everything that determines a characteristic matrix.

    Entry (k, l) is the largest mutual information of any grid with k rows on y and l columns on x,
    divided by log2 min(k, l). Each step fixes the columns of one axis and searches the rows of the
    other, once in each of the two orientations.

    Parameters
    ----------
    by_x, by_y : Records
        The records with x cut into fixed columns, and with y.
    steps : Steps
        The runs to make.
    """

    by_x: Records
    by_y: Records
    steps: Steps

    @classmethod
    def of(cls, x: Axis, y: Axis, plan: Steps) -> Self:
        """Search records in memory."""
        return cls(Records(x, y.free), Records(y, x.free), plan)

    @staticmethod
    def by_range(x: Floats, y: Floats, box: tuple[Domain, Domain], limits: Limits) -> Search:
        """Search values for MICr, whose grids depend only on the domains and the limits.

        Values of a nominal column are positions in its list of categories.
        """
        one, other = (own if isinstance(own, Categories) else Map(own[0], own[1]) for own in box)
        return Search.by_map(x, y, (one, other), limits)

    @staticmethod
    def by_map(
        x: Floats, y: Floats, along: tuple[Map | Categories, Map | Categories], limits: Limits
    ) -> Search:
        """Search values for MICr, with each axis cut along a map or into its categories."""
        sizes = [max(len(own), 2) if isinstance(own, Categories) else None for own in along]
        plans = (steps(limits),) * 2 if sizes == [None, None] else nominal_steps(limits, *sizes)
        a, b = (
            NominalAxis.of(values, own)
            if isinstance(own, Categories)
            else RangeAxis.for_steps(values, own, fixed, searched)
            for values, own, fixed, searched in zip((x, y), along, plans, plans[::-1], strict=True)
        )
        return Search.between(a, b, limits)

    @staticmethod
    def between(x: Axis, y: Axis, limits: Limits) -> Search:
        """Search two axes of any kind by the rule of MICe and MICr."""
        if not isinstance(x, NominalAxis) and not isinstance(y, NominalAxis):
            return Search.of(x, y, steps(limits))
        sizes = (axis.size if isinstance(axis, NominalAxis) else None for axis in (x, y))
        plans = nominal_steps(limits, *sizes)
        return NominalSearch(Records(x, y.free), Records(y, x.free), *plans)

    @classmethod
    def of_table(cls, table: CountTable, x: str, y: str) -> Self:
        """Search two columns of a count table for MICr."""
        return cls.of_counts(table, table.counts(x, y), x, y, maps=(0, 0))

    @classmethod
    def of_counts(
        cls, table: CountTable, counted: PairCounts, x: str, y: str, *, maps: tuple[int, int]
    ) -> Self:
        """Search the counts of two columns, under one map of each.

        Every pair was counted in one of the two orders; either gives the other.
        """
        family = table.grids.family
        assert isinstance(family, RangeGrids)
        n, counts, swapped = counted
        along = [range_maps(table.bounds[name], family.axes) for name in (x, y)]
        layout, (i, j) = family.layout, maps[::-1] if swapped else maps
        own = counts.reshape(-1, layout.starts[-1])[family.map_pairs.index((i, j))]
        a, b = (
            RangeAxis.of(np.empty(0), each[at], layout.plan.sizes)
            for each, at in zip(along, maps, strict=True)
        )
        return cls(
            CountTableRecords(a, b, layout, own, int(swapped), n),
            CountTableRecords(b, a, layout, own, 1 - swapped, n),
            layout.plan,
        )

    @classmethod
    def of_histogram(cls, table: NDArray[np.int64], bounds: Bounds, limits: Limits) -> Self:
        """Search records in m x m cells [column on x, row on y] for MICe.

        Records in the same column or row of cells stay together, as tied values do.
        """
        by_x = HistogramRecords.of(table, bounds)
        return cls(by_x, by_x.transposed(), steps(limits))

    @property
    def n(self) -> int:
        """The number of records."""
        return self.by_x.n

    def matrix(self, *, fast: bool = False) -> Floats:
        """Return the matrix; entry [k - 2, l - 2] is NaN if k * l exceeds B.

        With ``fast`` the time may depend on the data; the result is the same.
        """
        return np.fmax(*self._both(fast=fast))

    def run(self) -> tuple[Floats, Grid]:
        """Return the matrix and the grid of its largest entry.

        Among equal entries, the grid with the fewest cells is taken. The time depends on the data.
        """
        first, second = self._both(fast=True)
        matrix = np.fmax(first, second, order="C")
        k, l = _kernels.smallest_best(matrix, TIE)
        if first[k - 2, l - 2] == matrix[k - 2, l - 2]:
            x, y = self._cuts(self.by_x, self.steps, columns=l, rows=k)
        else:
            y, x = self._cuts(self.by_y, self._steps_by_y, columns=k, rows=l)
        return matrix, Grid(k=k, l=l, x=tuple(x.tolist()), y=tuple(y.tolist()))

    def _both(self, *, fast: bool) -> tuple[Floats, Floats]:
        """Return the entries [rows of y - 2, columns of x - 2] found with x, and with y, fixed."""
        size, x, y = len(self.steps), self.by_x.fixed, self.by_y.fixed
        if not self.by_x.shared:
            return _apart(self._one_by_one())
        most = max(AT_ONCE // self.n, 1)  # groups of steps
        if size <= most and isinstance(x, MassAxis) and isinstance(y, MassAxis):
            axes = (x.atoms, x.ends, x.slack), (y.atoms, y.ends, y.slack)
            arrays, xlogx = self.steps.layout.arrays, xlogx_table(self.n)
            by_x, by_y = _kernels.equi(*axes, arrays, self.steps.logs, xlogx, fast)
            return by_x, by_y
        bits = np.full((2, 1, size, size), np.nan)
        for layout in (self.steps.layout,) if size <= most else self.steps.layouts(most):
            left, right = CutAxes.of([x], layout), CutAxes.of([y], layout)
            _information(left, right, ALONE, layout, bits, self.n, fast=fast)
        return _apart(bits[:, 0])

    def _one_by_one(self) -> Floats:
        """Return information [orientation, rows - 2, step], from one table of counts per step."""
        bits = np.full((2, len(self.steps), len(self.steps)), np.nan)
        for orientation, records in enumerate((self.by_x, self.by_y)):
            for i, step in enumerate(self.steps):
                found = self._found(records.count(step).table, step)
                bits[orientation, : step.rows - 1, i] = found[2:]
        return bits

    def _found(self, table: NDArray[Any], step: Step) -> Floats:
        """Return the largest information of a step's table, for each number of rows."""
        found: Floats
        if table.dtype == np.int64:  # too large for a table of f
            found = _kernels.reference.information(table, step.rows, None)
        else:
            found = _kernels.information(table, step.rows, xlogx_table(self.n))
        return found

    @property
    def _steps_by_y(self) -> Steps:
        """The runs with y fixed: here the same as with x fixed."""
        return self.steps

    def _cuts(
        self, records: Records, plan: Steps, *, columns: int, rows: int
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Repeat the search of one step, to get the cuts of the fixed and the searched axis."""
        counted = records.count(plan[columns - plan[0].columns])
        if counted.table.dtype == np.int64:
            best = _kernels.reference.trace(counted.table, rows, None)
        else:
            best = _kernels.trace(counted.table, rows, xlogx_table(self.n))
        searched = records.free.cuts(counted.free_edges[best])
        return records.fixed.cuts(counted.fixed_edges), searched


@dataclass(frozen=True)
class ClumpedSearch(Search):
    """The search of 2011, on axes by mass, whose masters are superclumps."""

    by_x: ClumpedRecords
    by_y: ClumpedRecords

    @classmethod
    def of(cls, x: Axis, y: Axis, plan: Steps) -> Self:
        """Search records in memory."""
        assert isinstance(x, MassAxis)
        assert isinstance(y, MassAxis)
        return cls(ClumpedRecords(x, y), ClumpedRecords(y, x), plan)

    def _both(self, *, fast: bool) -> tuple[Floats, Floats]:
        """Return the entries [rows of y - 2, columns of x - 2] found with x, and with y, fixed."""
        axes = RankedAxes.of((self.by_x.fixed, self.by_y.fixed))
        by_x, by_y = clumped_entries(axes, AS_ONE, self.steps, occupied=False)[:, 0]
        return by_x, by_y


@dataclass(frozen=True)
class NominalSearch(Search):
    """The search of two variables of which one or both are nominal.

    Parameters
    ----------
    by_x, by_y : Records
        The records with x fixed, and with y.
    steps, by_y_steps : Steps
        The runs with x fixed, and with y (:func:`dpmic.statistics.grids.nominal_steps`).
    """

    by_y_steps: Steps

    @property
    def categories(self) -> tuple[int | None, int | None]:
        """The numbers of categories of x and y; None for numbers."""
        x, y = self.by_x.fixed, self.by_y.fixed
        return (
            x.size if isinstance(x, NominalAxis) else None,
            y.size if isinstance(y, NominalAxis) else None,
        )

    @property
    def _steps_by_y(self) -> Steps:
        """The runs with y fixed."""
        return self.by_y_steps

    def _both(self, *, fast: bool) -> tuple[Floats, Floats]:
        """Return the entries [rows of y - 2, columns of x - 2] found with x, and with y, fixed."""
        most = max(max(step.columns, step.rows) for step in (*self.steps, *self.by_y_steps))
        by_x, by_y = (
            self._entries(*own, most)
            for own in ((self.by_x, self.steps), (self.by_y, self.by_y_steps))
        )
        return by_x, by_y.T

    def _entries(self, records: Records, plan: Steps, most: int) -> Floats:
        """Return the entries [rows - 2, columns - 2] of the runs in one orientation."""
        entries = np.full((most - 1, most - 1), np.nan)
        for step in plan:
            found = self._found(records.count(step).table, step)
            rows = np.arange(step.least, step.rows + 1)
            entries[rows - 2, step.columns - 2] = found[rows] / np.log2(
                np.minimum(rows, step.columns)
            )
        clipped: Floats = np.clip(entries, 0.0, 1.0)  # rounding can exceed it in the last place
        return clipped


def check_records(counted: int, n: int) -> None:
    """Refuse a table that has changed since the search was planned for n records."""
    if counted != n:
        raise InputError(
            "a count table", "it changed during the call", "do not change it meanwhile"
        )


def histogram_limits(B: float, m: int) -> Limits:
    """Return the limits of grids with at most B cells and m columns; the master has all m cells."""
    return Limits(B, math.inf, "reshef", m)


def merged(matrices: Iterable[Floats]) -> Floats:
    """Return the largest entries of several matrices, for example under different maps."""
    return reduce(np.fmax, matrices)


def most_at_once(plan: Steps, n: int, budget: int = BUDGET) -> int:
    """Return how many variables of each side fit in so many bytes; 0 if not even one does."""
    return budget // (2 * 2 * 4 * n * len(plan.layout.masters))


def matrices(
    left: CutAxes, right: CutAxes, pairs: NDArray[np.int64], plan: Steps, n: int, *, fast: bool
) -> Floats:
    """Return the equicharacteristic matrix [pair, rows - 2, columns - 2] of each pair."""
    size = len(plan)
    bits = np.full((2, len(pairs), size, size), np.nan)
    _information(left, right, pairs, plan.layout, bits, n, fast=fast)
    return normalised(bits)


def pair_matrices(
    axes: Sequence[Axis], pairs: Sequence[tuple[int, int]], plan: Steps
) -> Iterator[Floats]:
    """Yield the matrix of each pair of axes; every axis is cut once, if memory allows.

    The operations and the memory depend only on the number of axes, their length and the grids.
    The time of an operation may still depend on the values (known limitations, Time).
    """
    n = axes[0].atoms.size
    if len(axes) > 2 * most_at_once(plan, n):
        for i, j in pairs:
            yield Search.of(axes[i], axes[j], plan).matrix()
        return
    cut = CutAxes.of(axes, plan.layout)
    for pair in pairs:
        yield matrices(cut, cut, np.array([pair]), plan, n, fast=False)[0]


def clumped_entries(
    axes: RankedAxes, pairs: NDArray[np.int64], plan: Steps, *, occupied: bool
) -> Floats:
    """Return the entries [orientation, pair, rows of y - 2, columns of x - 2] with clumps.

    With ``occupied`` they are normalised by the columns that remain after ties are merged.
    """
    xlogx = xlogx_table(axes.atoms.shape[1])
    found: Floats = _kernels.clumped(axes, pairs, plan.table, plan.logs, xlogx, occupied)
    return found


def _information(
    left: CutAxes,
    right: CutAxes,
    pairs: NDArray[np.int64],
    layout: Layout,
    bits: Floats,
    n: int,
    *,
    fast: bool,
) -> None:
    """Set the information [orientation, pair, rows - 2, step] of the steps of a layout.

    Beyond the most rows of a step, ``bits`` are left unchanged.
    """
    xlogx = xlogx_table(n)
    found = _kernels.entries(left, right, pairs, layout.starts, layout.rows, xlogx, fast)
    step, rows = layout.entries
    bits[:, :, rows - 2, layout.order[step]] = found[:, :, step, rows]


def normalised(bits: Floats) -> Floats:
    """Return the equicharacteristic matrices [pair, rows - 2, columns - 2] of information.

    Each entry is the larger of the two orientations, so x and y can be exchanged.
    """
    merged: Floats = np.fmax(*_apart(bits))
    return merged


def _apart(bits: Floats) -> tuple[Floats, Floats]:
    """Return the entries [..., rows of y - 2, columns of x - 2] of both orientations.

    They are normalised by log2 min(k, l), even if ties leave some of the k rows or l columns empty.
    Rounding can exceed [0, 1] in the last place.
    """
    parts = np.arange(2, bits.shape[-1] + 2)
    entries = np.clip(bits / np.log2(np.minimum(parts, parts[:, None])), 0.0, 1.0)
    return entries[0], entries[1].swapaxes(-1, -2)


@lru_cache(maxsize=8)
def xlogx_table(n: int) -> Floats:
    """Return the table of f(m) = m log2 m for m = 0 .. n."""
    m = np.arange(n + 1, dtype=np.float64)
    m[1:] *= np.log2(m[1:])  # the values of segmentation.f, in half the memory
    m.setflags(write=False)
    return m
