"""The grids that are searched: equipartitions by mass and by range, masters, and categories.

An axis is cut into *atoms*, the smallest pieces that no grid splits. A partition is an array of
edges, counted in atoms. A cut belongs to the cell above it: cells are ``[cut, next cut)`` and the
last one is closed. So the cell of a value is the number of cuts at or below it, and does not
depend on the other records.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpmic import _kernels
from dpmic._validate import Categories, Interval, Limits
from dpmic.statistics.maps import Map

Edges = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Step:
    """One run of the search: ``columns`` fixed parts, and at most ``rows`` parts to find.

    ``master`` is the most parts into which the searched axis is cut beforehand. ``least`` is the
    fewest rows: all of them if the rows are categories.
    """

    columns: int
    rows: int
    master: float
    least: int = 2


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Steps grouped by the size of their master; each group shares a table of counts.

    ``order`` lists the numbers of the steps, group by group; group g is
    ``order[starts[g] : starts[g + 1]]``. ``columns`` and ``rows`` are those of each step in that
    order, and ``entries`` all (step, number of rows) in that order. ``arrays`` are the arguments
    of `dpmic._kernels.equi`.
    """

    masters: tuple[float, ...]
    columns: tuple[int, ...]
    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    rows: NDArray[np.int64]
    entries: tuple[NDArray[np.intp], ...]
    arrays: tuple[NDArray[np.int64], ...]


class Steps(tuple[Step, ...]):
    """The runs that fill a characteristic matrix, ordered by number of columns, from 2 on."""

    @cached_property
    def sizes(self) -> frozenset[int]:
        """The numbers of parts into which an axis is cut; masters must be finite."""
        return self.columns | frozenset(map(int, self.masters))

    @cached_property
    def columns(self) -> frozenset[int]:
        """The numbers of columns into which an axis is cut."""
        return frozenset(step.columns for step in self)

    @cached_property
    def masters(self) -> frozenset[float]:
        """The numbers of parts into which the searched axis is cut beforehand."""
        return frozenset(step.master for step in self)

    @cached_property
    def layout(self) -> Layout:
        """All steps, grouped by master."""
        return self.layouts(len(self))[0]

    @cached_property
    def table(self) -> NDArray[np.int64]:
        """Columns, rows and master of each step, for the kernel that merges clumps."""
        columns, rows, masters, _ = zip(*map(astuple, self), strict=True)
        return np.stack((columns, rows, _finite(masters)))

    @cached_property
    def logs(self) -> Floats:
        """log2 k, which normalises an entry, for every k from 1 on; 0 for k = 0."""
        most = max(max(step.columns, step.rows) for step in self)
        return np.log2(np.maximum(np.arange(most + 1), 1))

    def layouts(self, most: int) -> list[Layout]:
        """Group steps by their master, with at most ``most`` masters in each layout."""
        members: dict[float, list[int]] = {}
        for i, step in enumerate(self):
            members.setdefault(step.master, []).append(i)
        groups = list(members.items())
        return [self._laid(groups[first : first + most]) for first in range(0, len(groups), most)]

    def _laid(self, groups: list[tuple[float, list[int]]]) -> Layout:
        masters, own = zip(*groups, strict=True)
        order = np.concatenate(own)
        rows = np.array([self[i].rows for i in order])
        numbers = np.arange(rows.max() + 1)
        entries = np.nonzero((numbers >= 2) & (numbers <= rows[:, None]))
        starts = np.cumsum([0, *map(len, own)])
        columns = tuple(self[i].columns for i in order)
        each = np.arange(len(masters) + 1)  # one group per master
        arrays = np.array(columns), _finite(masters), order, starts, each, rows
        return Layout(masters, columns, order, starts, rows, entries, arrays)


@lru_cache(maxsize=64)
def _finite(sizes: tuple[float, ...]) -> NDArray[np.int64]:
    """Return sizes as integers; an infinite one becomes larger than any number of atoms."""
    finite = np.minimum(sizes, 2.0**31).astype(np.int64)
    finite.setflags(write=False)
    return finite


@lru_cache(maxsize=64)
def steps(limits: Limits, *, more_rows: bool = False) -> Steps:
    """List the runs that fill a characteristic matrix with grids of at most B cells.

    Parameters
    ----------
    limits : Limits
        The master for l columns has c * min(l, floor(B / l)) parts with ``"reshef"`` (Reshef et
        al. 2016, and the paper's experiments), c * l with ``"paper"`` (the paper's definition),
        and c * floor(B / l) with ``"minepy"``.
    more_rows : bool
        Whether a grid may have more rows than columns, as in Reshef et al. 2011. In the
        equicharacteristic matrix it may not, which Theorem 1 of the privacy proofs needs.
    """

    def step(columns: int) -> Step:
        most = _cells(limits) // columns
        rows = most if more_rows else min(columns, most)
        return Step(columns, rows, _master_size(limits, columns))

    return Steps(step(columns) for columns in range(2, _most_parts(limits, 2) + 1))


@lru_cache(maxsize=64)
def nominal_steps(limits: Limits, x: int | None, y: int | None) -> tuple[Steps, Steps]:
    """List the runs with x fixed and those with y fixed, if a variable is nominal.

    ``x`` and ``y`` are the numbers of categories; None means numbers. The only partition of a
    nominal variable is its categories. As always, the axis with more parts is not searched:
    numbers are cut into k equal parts if k is at least the number of categories, and are searched
    for smaller k. Two nominal variables have one grid.

    Examples
    --------
    >>> searched, unsearched = nominal_steps(Limits(20, 5, "reshef"), 4, None)
    >>> searched
    (Step(columns=4, rows=3, master=20, least=2),)
    >>> [(step.columns, step.rows) for step in unsearched]
    [(4, 4), (5, 4)]
    """
    if x is None:
        assert y is not None  # otherwise neither is nominal
        by_y, by_x = nominal_steps(limits, y, None)
        return by_x, by_y
    if y is not None:
        return Steps([Step(x, y, y, least=y)]), Steps()
    room = limits.holding(x, None)
    rows = min(x - 1, _cells(room) // x)
    searched = [Step(x, rows, _master_size(room, x))] if rows >= 2 else []
    unsearched = range(x, _most_parts(room, x) + 1)
    return Steps(searched), Steps(Step(columns, x, x, least=x) for columns in unsearched)


def _cells(limits: Limits) -> int:
    """Return floor(B): k * l is an integer, so k * l <= B if and only if k * l <= floor(B)."""
    return math.floor(limits.B)


def _most_parts(limits: Limits, across: int) -> int:
    """Return the most columns that a grid with ``across`` rows may have."""
    most = _cells(limits) // across
    return most if limits.lmax is None else min(most, limits.lmax)


def _master_size(limits: Limits, columns: int) -> float:
    """Return the most parts of the master for this number of columns."""
    most = _cells(limits) // columns
    parts = {"reshef": min(columns, most), "paper": columns, "minepy": most}[limits.master]
    size = limits.c * parts
    return max(math.floor(size), 1) if math.isfinite(size) else size


class Axis(Protocol):
    """One variable cut into atoms, with its partitions."""

    @property
    def atoms(self) -> NDArray[np.int32]:
        """The atom of each record."""

    @property
    def free(self) -> Axis:
        """The axis on which rows are searched: this one, unless its masters are of another kind."""

    def columns(self, size: int) -> Edges:
        """Return the edges of the equipartition into ``size`` parts."""

    def master(self, size: float) -> Edges:
        """Return the edges of the master with at most ``size`` parts."""

    def partitions(self, sizes: tuple[float, ...], *, masters: bool) -> tuple[Edges, Edges]:
        """Return the edges of several partitions, one after the other, and the start of each."""

    def cuts(self, edges: Edges) -> NDArray[Any]:
        """Return the values at which a partition cuts the axis, or the labels of categories."""


@dataclass(frozen=True, slots=True)
class MassAxis:
    """An axis whose atoms are groups of records that stay together, cut into equal masses.

    ``starts[i]`` is a cut below atom i and above the atom before it. ``ends`` are the numbers of
    records before each atom and, last, of all records. ``slack`` is 0 for the equipartition of
    2011 (:func:`dpmic._kernels.equipartition`).
    """

    atoms: NDArray[np.int32]
    starts: Floats
    ends: NDArray[np.int64]
    slack: int = 1
    _known: dict[int, Edges] = field(default_factory=dict)

    @classmethod
    def grouped(cls, values: Floats, *, slack: int = 1) -> MassAxis:
        """Keep records with the same value together."""
        atoms, starts, ends = _kernels.ranks(values)
        return cls(atoms, starts, ends, slack)

    @classmethod
    def ranked(cls, values: Floats, priorities: NDArray[np.integer[Any]]) -> MassAxis:
        """Make every record an atom; equal values are ordered by priority."""
        order = np.lexsort((priorities, values))
        atoms = np.empty(values.size, np.int32)
        atoms[order] = np.arange(values.size, dtype=np.int32)
        starts = _kernels.between(values[order])
        return cls(atoms, starts, np.arange(values.size + 1))

    @property
    def free(self) -> MassAxis:
        """The axis on which rows are searched: this one."""
        return self

    def columns(self, size: int) -> Edges:
        """Cut into ``size`` parts of nearly equal weight, or fewer if there are ties."""
        if size not in self._known:  # an axis serves both orientations and many pairs
            equipartition = _kernels.equipartition
            self._known[size] = equipartition(self.ends, size, self.slack)
        return self._known[size]

    def master(self, size: float) -> Edges:
        """Cut into ``size`` parts, or into single atoms if there are no more than ``size``."""
        if self.ends.size - 1 <= size:
            return np.arange(self.ends.size)
        return self.columns(int(size))

    def partitions(self, sizes: tuple[float, ...], *, masters: bool) -> tuple[Edges, Edges]:
        """Cut into several numbers of parts at once."""
        cut: tuple[Edges, Edges] = _kernels.equipartitions(
            self.ends, _finite(sizes), self.slack, masters
        )
        return cut

    def merge(self, edges: Edges, size: int) -> Edges:
        """Merge the parts of a partition into at most ``size`` parts of nearly equal weight."""
        merged: Edges = _kernels.equipartition(self.ends[edges], size, self.slack)
        return edges[merged]

    def cuts(self, edges: Edges) -> Floats:
        """Cut half-way between neighbouring values; equal values are never separated."""
        cuts = self.starts[edges[1:-1]]
        return cuts[~np.isnan(cuts)]


@dataclass(frozen=True, slots=True)
class RangeAxis:
    """An axis whose parts have equal widths between fixed bounds, under a map.

    The atoms are the cells of the common refinement of all partitions in use. They depend only on
    the bounds and the sizes, and the atom of a record only on that record. With c = inf, rows are
    searched on a separate axis, made of ``values``.
    """

    atoms: NDArray[np.int32]
    refinement: Floats
    family: RangeFamily
    values: MassAxis | None = None

    @classmethod
    def of(cls, values: Floats, along: Map, sizes: frozenset[int]) -> RangeAxis:
        """Find the cell of each record; values outside the bounds go to the outermost cells."""
        family = range_family(sizes)
        refinement = along.cuts(family.fractions)
        atoms = np.searchsorted(refinement, values, side="right")
        return cls(atoms.astype(np.int32), refinement, family)

    @classmethod
    def for_steps(
        cls, values: Floats, along: Map, fixed: Steps, searched: Steps | None = None
    ) -> RangeAxis:
        """Bin one variable for all steps of a MICr search, fixed or searched."""
        masters = (fixed if searched is None else searched).masters
        if math.inf not in masters:
            return cls.of(values, along, fixed.columns | frozenset(map(int, masters)))
        # With c = inf, cuts may separate any clamped values (the paper's unconstrained MICr).
        clamped = np.clip(values, along.low, along.high)
        axis = cls.of(clamped, along, fixed.columns)
        return replace(axis, values=MassAxis.grouped(clamped))

    @property
    def free(self) -> Axis:
        """The axis on which rows are searched."""
        return self if self.values is None else self.values

    def columns(self, size: int) -> Edges:
        """Cut into ``size`` parts of equal width."""
        return self.family.edges[size]

    def master(self, size: float) -> Edges:
        """Cut into ``size`` parts of equal width."""
        return self.family.edges[int(size)]

    def partitions(self, sizes: tuple[float, ...], *, masters: bool) -> tuple[Edges, Edges]:
        """Cut into several numbers of parts of equal width."""
        return self.family.several(tuple(map(int, sizes)))

    def cuts(self, edges: Edges) -> Floats:
        """Return the cuts of the range partition themselves."""
        return self.refinement[edges[1:-1] - 1]


@dataclass(frozen=True, slots=True)
class NominalAxis:
    """An axis with one partition: its categories, each of which is an atom.

    ``categories`` may include some that no record has.
    """

    atoms: NDArray[np.int32]
    categories: Categories

    @classmethod
    def of(cls, codes: Floats, categories: Categories) -> NominalAxis:
        """Take records that hold the position of their category."""
        return cls(codes.astype(np.int32), categories)

    @property
    def size(self) -> int:
        """The number of parts; an axis with one category gets an empty second part."""
        return max(len(self.categories), 2)

    @property
    def free(self) -> NominalAxis:
        """The axis that supplies the rows: this one."""
        return self

    def columns(self, size: int) -> Edges:
        """Return the categories, whatever the size asked for."""
        return np.arange(len(self.categories) + 1)

    def master(self, size: float) -> Edges:
        """Return the categories."""
        return self.columns(int(size))

    def partitions(self, sizes: tuple[float, ...], *, masters: bool) -> tuple[Edges, Edges]:
        """Return the categories, once for each size."""
        own = self.columns(self.size)
        return np.tile(own, len(sizes)), own.size * np.arange(len(sizes) + 1)

    def cuts(self, edges: Edges) -> NDArray[np.str_]:
        """Return the names of the categories; a nominal axis has no cuts."""
        return np.array(self.categories.labels)


@dataclass(frozen=True, slots=True)
class RangeFamily:
    """Range equipartitions of any interval.

    ``fractions`` of its width are the cuts of the common refinement; ``edges`` are those of each
    size. If float64 cannot separate two fractions in some interval, the atom between them is empty.
    """

    fractions: Floats
    edges: Mapping[int, Edges]
    _known: dict[tuple[int, ...], tuple[Edges, Edges]] = field(default_factory=dict)

    @property
    def atoms(self) -> int:
        """The number of cells of the common refinement."""
        return self.fractions.size + 1

    def several(self, sizes: tuple[int, ...]) -> tuple[Edges, Edges]:
        """Return the edges of several partitions, one after the other, and the start of each."""
        if sizes not in self._known:
            own = [self.edges[size] for size in sizes]
            begins = np.cumsum([0, *(edges.size for edges in own)])
            self._known[sizes] = np.concatenate(own), begins
        return self._known[sizes]


@lru_cache(maxsize=32)
def range_family(sizes: frozenset[int]) -> RangeFamily:
    """Draw the range equipartitions of the given sizes."""
    own = {size: _fractions(size) for size in sorted(sizes)}
    refinement = np.unique(np.concatenate([np.empty(0), *own.values()]))
    refinement.setflags(write=False)
    edges = {
        size: np.concatenate(([0], np.searchsorted(refinement, cuts) + 1, [refinement.size + 1]))
        for size, cuts in own.items()
    }
    return RangeFamily(refinement, MappingProxyType(edges))


def range_cuts(interval: Interval, size: int) -> Floats:
    """Return the inner cuts of ``size`` parts of equal width."""
    return Map(*interval).cuts(_fractions(size))


def _fractions(size: int) -> Floats:
    """Return j / size for the inner cuts.

    The fraction is rounded first. So equal fractions give equal cuts for every size, and
    partitions that share a cut share it exactly.
    """
    return np.arange(1, size) / size
