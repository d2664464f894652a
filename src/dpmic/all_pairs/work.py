"""The scores of many pairs: what they depend on, tiles of them, and pieces of work."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dpmic._validate import Domain, Limits
from dpmic.all_pairs.correlations import Standardised
from dpmic.all_pairs.devices import MOST_TESTED, Cpu, Draws, Exact, Gpu, Processor
from dpmic.all_pairs.significance import Kinds, Null, PermutationPlan
from dpmic.data import LEAST_RECORDS, Variable
from dpmic.results import Pairing
from dpmic.statistics import summaries
from dpmic.statistics.count_table import CountTable
from dpmic.statistics.family import Method
from dpmic.statistics.grids import Axis, MassAxis, NominalAxis, Steps
from dpmic.statistics.records import CutAxes
from dpmic.statistics.search import Search
from dpmic.statistics.significance import RefinedAxis

Floats = NDArray[np.float64]
Places = NDArray[np.integer[Any]]
Scored = tuple[Places, dict[str, NDArray[Any]]]
Piece = Callable[[], Scored]

SECONDS = 0.05
"""The target time of a piece, in seconds: Ctrl-C waits for one, or until columns are cut."""

ALONE = 256
"""The most columns of a tile whose pairs are cut one at a time."""

COUNTED_LOOKUP, COUNTED_STEP = 10e-9, 100e-6
"""For a count table, roughly: seconds for a value of f, and for the rest of a step."""


@dataclass(frozen=True, eq=False)
class Side:
    """Columns of a table as they were read and, for MICr, their domains."""

    names: tuple[str, ...]
    columns: tuple[Variable, ...]
    domains: tuple[Domain | None, ...]

    @property
    def n(self) -> int:
        """The number of records."""
        return self.columns[0].values.size

    @cached_property
    def complete(self) -> NDArray[np.bool_]:
        """Which columns have no missing values."""
        return np.array([not np.isnan(own.values).any() for own in self.columns])

    @cached_property
    def nominal(self) -> NDArray[np.bool_]:
        """Which columns have categories."""
        return np.array([own.categories is not None for own in self.columns], bool)

    def select(self, places: Sequence[int]) -> Self:
        """Return some of the columns."""
        return replace(
            self,
            names=tuple(self.names[i] for i in places),
            columns=tuple(self.columns[i] for i in places) if self.columns else (),
            domains=tuple(self.domains[i] for i in places),
        )

    def digest(self) -> str:
        """Return a fingerprint of the values, and of which are categories."""
        seen = hashlib.sha256()
        for own in self.columns:
            seen.update(own.values.tobytes())
            if own.categories is not None:
                seen.update(repr(own.categories.labels).encode())
        return seen.hexdigest()


class Cuts(Sequence[Any]):
    """The complete columns of a side, each cut when it is first needed; None for the others.

    So a GPU starts when the columns of its first pairs are cut.
    """

    def __init__(self, side: Side, cut: Callable[[Variable, Domain | None], Any]) -> None:
        self._side, self._cut, self._known = side, cut, dict[int, Any]()

    def __len__(self) -> int:
        return len(self._side.columns)

    def __getitem__(self, i: Any) -> Any:
        i = range(len(self))[i]
        if i not in self._known:
            own = self._side.columns[i], self._side.domains[i]
            self._known[i] = self._cut(*own) if self._side.complete[i] else None
        return self._known[i]


class Tile(NamedTuple):
    """Columns of both sides, and the pairs between them that are to be scored."""

    rows: range
    columns: range
    left: NDArray[np.bool_] | None  # None means all, so that most tiles are a few bytes to send


@dataclass(frozen=True, eq=False)
class Work:
    """Everything the scores of one or two tables depend on.

    ``total`` also asks for the Total Information Coefficient, which needs every entry; ``gaps`` for
    the number of records of each pair, ``permutations`` for p-values, ``linear`` for correlations.
    ``device`` scores complete columns of numbers; other pairs are scored one by one, on the CPU.
    ``exact`` says which scores of a GPU the CPU decides.
    It can be sent to another process.
    """

    method: Method
    left: Side
    right: Side
    pairing: Pairing
    total: bool = False
    gaps: bool = False
    permutations: PermutationPlan | None = None
    linear: bool = False
    device: Processor = field(default_factory=Cpu)
    exact: Exact = False

    def with_target(self, place: int) -> Self:
        """Return the work for one column of a table with all others."""
        rest = [i for i in range(len(self.left.names)) if i != place]
        one, others = self.left.select([place]), self.left.select(rest)
        return replace(self, left=one, right=others, pairing=Pairing(1, len(rest)))

    @cached_property
    def limits(self) -> Limits:
        """The size of the search of complete columns."""
        return self.method.limits(self.left.n)

    @cached_property
    def plan(self) -> Steps:
        """The runs of that search."""
        return self.method.steps(self.limits)

    @cached_property
    def _axes(self) -> tuple[Sequence[Axis | None], Sequence[Axis | None]]:
        """The complete columns of both sides, each binned once; None for the others."""
        return self._once(self._axis)

    def _axis(self, own: Variable, domain: Domain | None) -> Axis:
        return self.method.axis(own, self.limits, domain)

    def _once(
        self, cut: Callable[[Variable, Domain | None], Any]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """Cut the complete columns of both sides; None for the others."""
        left = Cuts(self.left, cut)
        return left, left if self.right is self.left else Cuts(self.right, cut)

    def _each(
        self, change: Callable[[Any], Any], sides: tuple[Sequence[Any], Sequence[Any]]
    ) -> tuple[list[Any], list[Any]]:
        """Change what there is of each column, once if both sides are the same table."""
        left = [change(own) for own in sides[0]]
        return left, left if self.right is self.left else [change(own) for own in sides[1]]

    def scores(self) -> Floats:
        """Score all pairs in this thread."""
        mic = np.empty(self.pairing.count)
        for tile in self.tiles(np.zeros(mic.size, bool)):
            positions, found = self.scored(tile)
            mic[positions] = found["mic"]
        return mic

    def tiles(self, done: NDArray[np.bool_], seconds: float = math.inf) -> Iterator[Tile]:
        """Yield the pairs that are not done, in squares that take at most about this long."""
        size = min(self._most or ALONE, max(math.sqrt(seconds / self._seconds), 1))
        for rows, columns in self.pairing.tiles(int(size)):
            left = ~done[self.pairing.positions(*self.pairing.within(rows, columns))]
            if left.any():
                yield Tile(rows, columns, None if left.all() else left)

    def scored(self, tile: Tile) -> Scored:
        """Score the pairs of a tile in this thread."""
        positions, columns = zip(*(piece() for piece in self.pieces(tile)), strict=True)
        names = columns[0].keys()
        joined = {name: np.concatenate([part[name] for part in columns]) for name in names}
        return np.concatenate(positions), joined

    def pieces(self, tile: Tile, *, together: bool = True, alone: bool = True) -> Iterator[Piece]:
        """Yield the pieces of a tile, whose columns are cut once for all of them.

        Pairs are scored together on the device, or alone on the CPU.
        """
        i, j = self.pairing.within(tile.rows, tile.columns)
        if tile.left is not None:
            i, j = i[tile.left], j[tile.left]
        left, right = self.plain
        many = left[i] & right[j]
        if together:
            yield from self._in_tile(tile.rows, tile.columns, i[many], j[many])
        if alone:
            i, j = i[~many], j[~many]
            for part in _parts(i.size, self._seconds + 1e-3):
                yield partial(self._one_by_one, i[part], j[part])

    @cached_property
    def plain(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which columns of each side are complete numbers, whose pairs are scored together."""
        if not self._most:
            return np.zeros(len(self.left.names), bool), np.zeros(len(self.right.names), bool)
        return self.left.complete & ~self.left.nominal, self.right.complete & ~self.right.nominal

    @cached_property
    def on_device(self) -> bool:
        """Whether the device scores any pair."""
        left, right = map(np.count_nonzero, self.plain)
        return bool(left > 1 if self.pairing.right is None else left and right)

    @cached_property
    def _most(self) -> int:
        """How many columns of a side can be cut at once; 0 if pairs are cut one at a time."""
        # The masters of mic depend on the pair; very long columns do not fit more than one pair.
        shared = self.method.statistic != "mic"
        return self.device.tile(self.plan, self.left.n, self._searched) if shared else 0

    def _in_tile(self, rows: range, columns: range, i: Places, j: Places) -> Iterator[Piece]:
        """Yield the pieces of a tile whose columns are cut once for all of them."""
        if not i.size:
            return
        both = (0, rows), (int(self.right is not self.left), columns)
        left, right = (self._loaded(self.device, self._axes, self.plan, *own) for own in both)
        tested = None
        if self.tests_together:
            plan = self._plan.steps(self.left.n)
            device = self._tester
            tested = tuple(self._loaded(device, self._mass_axes, plan, *own) for own in both)
        one, other = (_cuttable(self._axes[k], own).cumsum() - 1 for k, own in both)
        pairs = np.stack((one[i - rows.start], other[j - columns.start]), axis=1)
        for part in _parts(i.size, self._seconds):
            yield partial(self._together, (left, right, tested), pairs[part], i[part], j[part])

    def _loaded(
        self,
        device: Processor,
        axes: tuple[Sequence[Any], Sequence[Any]],
        plan: Steps,
        side: int,
        own: range,
    ) -> Any:
        """Return some columns of a side, cut for a plan, in a device's memory."""

        def cut() -> CutAxes:
            kept = np.flatnonzero(_cuttable(self._axes[side], own)) + own.start
            return CutAxes.of([axes[side][k] for k in kept.tolist()], plan.layout)

        return device.loaded((plan, side, own), cut)

    @property
    def on_cpu(self) -> Self:
        """The work without a GPU, and without what the scores do not need."""
        return replace(self, device=Cpu(), gaps=False, permutations=None, linear=False)

    @property
    def tests_together(self) -> bool:
        """Whether pairs are also tested together: on a GPU, and where nulls are pooled."""
        plan = self.permutations
        return plan is not None and (isinstance(self._tester, Gpu) or plan.pooled)

    @cached_property
    def _tester(self) -> Processor:
        """What tests pairs together: the device, or the CPU in place of a GPU with many records."""
        many = isinstance(self.device, Gpu) and self.left.n > MOST_TESTED
        return Cpu() if many else self.device

    @cached_property
    def _mass_axes(self) -> tuple[Sequence[Any], Sequence[Any]]:
        """The complete columns of numbers, cut by mass for tests; None for the others."""
        if self.method.statistic == "mice":  # they are cut already
            return self._each(_by_mass, self._axes)
        return self._once(lambda own, _: None if own.categories else MassAxis.grouped(own.values))

    @property
    def _seconds(self) -> float:
        """The estimated time per pair."""
        return self._searched + self._tested

    @cached_property
    def _searched(self) -> float:
        """The estimated time per pair, without a test."""
        layout = self.plan.layout
        rows = np.minimum([step.master for step in self.plan], self.left.n)
        lookups = float(np.sum(rows**2 * [step.columns + 1 for step in self.plan]))
        counted = 2 * self.left.n * len(layout.masters)
        return self.device.seconds(lookups, counted)

    def _together(
        self, axes: tuple[Any, Any, Any], pairs: NDArray[np.int64], i: Places, j: Places
    ) -> Scored:
        """Score pairs of complete columns in one call."""
        (left, right, tested), n = axes, self.left.n
        records, tic, pvalues = np.full(i.size, n), None, None
        if self.total:
            mic, tic = self.device.totals(left, right, pairs, self.plan, n)
        else:
            mic = self.device.largest(left, right, pairs, self.plan, n)
        if tested is not None:
            pvalues = self._test(tested, pairs, i, j)
        return self._found(i, j, mic, tic, records, pvalues)

    def _test(
        self, axes: tuple[Any, Any], pairs: NDArray[np.int64], i: Places, j: Places
    ) -> Floats:
        """Return the p-values of pairs of complete columns."""
        n, plan, device = self.left.n, self._plan.steps(self.left.n), self._tester
        if self._plan.pooled:
            assert self._null is not None
            _, tic = device.totals(*axes, pairs, plan, n)
            kinds, off = self._kinds, device.tic_error(plan)
            return self._null.pooled(tic, kinds, kinds.left[i], kinds.right[j], off)
        assert isinstance(device, Gpu)
        draws = Draws(self._plan.permutations, self._plan.seed)
        return device.pvalues(*axes, pairs, plan, n, draws)

    @cached_property
    def _kinds(self) -> Kinds:
        """The kinds of complete columns, by the nulls they have."""
        return Kinds.of(*self._ranked)

    def _one_by_one(self, i: Places, j: Places) -> Scored:
        """Score pairs one at a time, each on the records that are complete in both columns."""
        rows = [self._alone(int(a), int(b)) for a, b in zip(i, j, strict=True)]
        return self._found(i, j, *map(np.array, zip(*rows, strict=True)))

    def _found(
        self,
        i: Places,
        j: Places,
        mic: Floats,
        tic: Floats | None,
        records: Places,
        pvalues: Floats | None = None,
    ) -> Scored:
        """Return the requested columns of results for some pairs."""
        positions = self.pairing.positions(i, j)
        columns: dict[str, NDArray[Any]] = {"mic": mic}
        if self.total and tic is not None:
            columns["tic"] = tic
        if self.gaps:
            columns["records"] = records
        if self.linear:
            found = [self._correlated(*own) for own in zip(i.tolist(), j.tolist(), strict=True)]
            columns["pearson"], columns["spearman"] = np.array(found).reshape(-1, 2).T
        if pvalues is not None:
            columns["pvalue"] = pvalues
        elif self._null is not None:
            columns["pvalue"] = np.array(
                [self._pvalue(*own) for own in zip(i, j, positions, strict=True)]
            )
        return positions, columns

    def _correlated(self, i: int, j: int) -> tuple[float, float]:
        """Return Pearson's and Spearman's correlations on the records complete in both columns."""
        x, y = self._standardised[0][i], self._standardised[1][j]
        if x is None or y is None:
            a, b = self._complete(i, j)
            if a.values.size < LEAST_RECORDS:
                return np.nan, np.nan
            x, y = Standardised.of(a), Standardised.of(b)
        correlations: tuple[float, float] = x.with_(y)
        return correlations

    @cached_property
    def _standardised(self) -> tuple[Sequence[Any], Sequence[Any]]:
        """The complete columns of both sides, prepared for correlations; None for the others."""
        return self._once(lambda own, _: Standardised.of(own))

    def _pvalue(self, i: int, j: int, position: int) -> float:
        both, null = self._refined(i, j), self._null
        return np.nan if both is None or null is None else null.compare(*both, position)[1]

    @cached_property
    def _null(self) -> Null | None:
        """The null distributions of p-values."""
        return None if self.permutations is None else Null(self.permutations)

    @cached_property
    def _tested(self) -> float:
        """The estimated time per test; pairs with missing values rarely share a null."""
        if self.permutations is None:
            return 0.0
        drawn = self._plan.seconds(self.left.n)
        if not self.tests_together:
            return drawn
        plan = self._plan.steps(self.left.n)
        lookups = sum(step.master**2 * (step.columns + 1) for step in plan)
        one = self._tester.seconds(lookups, 2 * self.left.n * len(plan.layout.masters))
        if not self._plan.pooled:
            return self._plan.permutations * one
        left, right = (_kinds_of(own) for own in (self._kinds.left, self._kinds.right))
        return one + min(left * right / self.pairing.count, 1.0) * drawn

    @cached_property
    def _ranked(self) -> tuple[list[Any], list[Any]]:
        """The complete columns of both sides, cut for tests; None for the others."""
        return self._each(
            lambda own: None if own is None else self._plan.refined(own), self._mass_axes
        )

    def _refined(self, i: int, j: int) -> tuple[RefinedAxis, RefinedAxis] | None:
        """Return a pair cut for a test, on its complete records, or None if these are too few."""
        x, y = self._ranked[0][i], self._ranked[1][j]
        if x is not None and y is not None:
            return x, y
        a, b = self._complete(i, j)
        return None if a.values.size < LEAST_RECORDS else self._plan.refined_pair(a, b)

    @property
    def _plan(self) -> PermutationPlan:
        """The permutations, which p-values need."""
        assert self.permutations is not None
        return self.permutations

    def _complete(self, i: int, j: int) -> tuple[Variable, Variable]:
        """Return the records that are complete in both columns."""
        a, b = self.left.columns[i], self.right.columns[j]
        both = ~(np.isnan(a.values) | np.isnan(b.values))
        return a.at(both), b.at(both)

    def _alone(self, i: int, j: int) -> tuple[float, float, int]:
        """Return MIC, TIC and the number of records of one pair."""
        x, y = self._axes[0][i], self._axes[1][j]
        limits, n = self.limits, self.left.n
        nominal = bool(self.left.nominal[i] or self.right.nominal[j])
        if x is None or y is None or (nominal and self.method.statistic == "micr"):
            a, b = self._complete(i, j)
            n = a.values.size
            if n < LEAST_RECORDS:
                return np.nan, np.nan, n
            limits = self.method.limits(n)
            search = self.method.between(
                a, b, limits, (self.left.domains[i], self.right.domains[j])
            )
        else:
            search = self.method.search(x, y, limits)
        matrix = search.matrix(fast=True)
        return summaries.mic(matrix), summaries.tic(matrix, normalised=False), n


def _kinds_of(columns: Places) -> int:
    """Return how many kinds of columns there are; those without a kind are each their own."""
    return np.unique(columns[columns >= 0]).size + int(np.count_nonzero(columns < 0))


def _by_mass(axis: Axis | None) -> MassAxis | None:
    return axis if isinstance(axis, MassAxis) else None


def _cuttable(axes: Sequence[Axis | None], places: range) -> NDArray[np.bool_]:
    """Return which of some columns are complete and numeric."""
    own = (axes[i] for i in places)
    return np.array([not (axis is None or isinstance(axis, NominalAxis)) for axis in own])


def _parts(count: int, seconds: float) -> Iterator[slice]:
    """Split a number of pairs, each of which takes this long, into pieces."""
    size = max(int(SECONDS / seconds), 1)
    return (slice(first, first + size) for first in range(0, count, size))


@dataclass(frozen=True, eq=False)
class CountedSide(Side):
    """Columns of a count table; none of them is in memory."""

    table: CountTable

    @property
    def n(self) -> int:
        """The number of records."""
        return self.table.n

    @cached_property
    def complete(self) -> NDArray[np.bool_]:
        """All columns are complete: missing values were refused when they were counted."""
        return np.ones(len(self.names), bool)

    @cached_property
    def nominal(self) -> NDArray[np.bool_]:
        """All columns are numbers."""
        return np.zeros(len(self.names), bool)

    def digest(self) -> str:
        """Return a fingerprint of the counts."""
        return self.table.digest()


@dataclass(frozen=True, eq=False)
class CountedWork(Work):
    """Scores of the pairs of a count table, one search each."""

    left: CountedSide
    right: CountedSide

    @property
    def limits(self) -> Limits:
        """The size of the search."""
        return self.left.table.grids.limits

    @property
    def _most(self) -> int:
        return 0

    @property
    def _seconds(self) -> float:
        """The estimated time per pair, whose records are already counted."""
        values = sum((step.columns + 1) * step.master**2 for step in self.plan)
        return COUNTED_LOOKUP * values + COUNTED_STEP * len(self.plan)

    def _alone(self, i: int, j: int) -> tuple[float, float, int]:
        """Return MIC, TIC and the number of records of one pair."""
        search = Search.of_table(self.left.table, self.left.names[i], self.right.names[j])
        matrix = search.matrix(fast=True)
        return summaries.mic(matrix), summaries.tic(matrix, normalised=False), search.n
