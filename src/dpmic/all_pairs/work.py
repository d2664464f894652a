"""The scores of many pairs, cut into tiles and pieces that any worker can do."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpmic._validate import Interval, Limits
from dpmic.all_pairs import significance
from dpmic.all_pairs.significance import Draws, Null
from dpmic.frames import LEAST_RECORDS
from dpmic.results import Pairing
from dpmic.statistics import blocks, pruning, summaries
from dpmic.statistics.counts.memory import Cut
from dpmic.statistics.grids import Steps
from dpmic.statistics.methods import Binned, Method

__all__ = ["Found", "Piece", "Side", "Tile", "Work"]

Floats = NDArray[np.float64]
Places = NDArray[np.integer[Any]]
Found = tuple[Places, dict[str, NDArray[Any]]]
Piece = Callable[[], Found]

SECONDS = 0.05
"""How long a piece may take, as far as that can be foreseen: Ctrl-C waits for it."""

LOOKUP, RECORD, PAIR = 0.5e-9, 3e-9, 20e-6
"""Seconds for a value of f, for counting a record once, and for what else a pair needs."""

TILE = 256
"""Most columns of a tile, whose pairs are listed."""


@dataclass(frozen=True, eq=False)
class Side:
    """Columns of a table as they were read, NaN where a value is missing, and their intervals."""

    names: tuple[str, ...]
    columns: tuple[Floats, ...]
    intervals: tuple[Interval | None, ...]

    @property
    def n(self) -> int:
        """The number of records."""
        return self.columns[0].size

    @cached_property
    def whole(self) -> NDArray[np.bool_]:
        """Which columns have no gap."""
        return np.array([not np.isnan(values).any() for values in self.columns])

    def digest(self) -> str:
        """Return a fingerprint of the values."""
        seen = hashlib.sha256()
        for values in self.columns:
            seen.update(values.tobytes())
        return seen.hexdigest()


class Tile(NamedTuple):
    """Columns of both sides, and which of the pairs between them are to be scored."""

    rows: range
    columns: range
    left: NDArray[np.bool_] | None  # None: all, so that most tiles are a few bytes on a network


@dataclass(frozen=True, eq=False)
class Work:
    """All that the scores of a table, or of two, depend on.

    ``total`` asks for the Total Information Coefficient too, which needs every entry; ``gaps``
    for the number of records of each pair, ``draws`` for p-values. It can be sent to another
    process, and what was made of the columns goes with it.
    """

    method: Method
    left: Side
    right: Side
    pairing: Pairing
    total: bool = False
    gaps: bool = False
    draws: Draws | None = None

    @cached_property
    def limits(self) -> Limits:
        """How far the search of complete columns goes."""
        return self.method.limits(self.left.n)

    @cached_property
    def plan(self) -> Steps:
        """The runs of that search."""
        return self.method.steps(self.limits)

    @cached_property
    def _binned(self) -> tuple[list[Binned | None], list[Binned | None]]:
        """The complete columns of both sides, binned once; None for those with gaps."""
        left = self._bin(self.left)
        return left, left if self.right is self.left else self._bin(self.right)

    def _bin(self, side: Side) -> list[Binned | None]:
        each = zip(side.columns, side.intervals, side.whole, strict=True)
        return [
            self.method.bin(values, self.limits, interval) if whole else None
            for values, interval, whole in each
        ]

    def scores(self) -> Floats:
        """Score all pairs in this thread."""
        mic = np.empty(self.pairing.count)
        for tile in self.tiles(np.zeros(mic.size, bool)):
            positions, found = self.found(tile)
            mic[positions] = found["mic"]
        return mic

    def tiles(self, done: NDArray[np.bool_], seconds: float = math.inf) -> Iterator[Tile]:
        """Return the pairs that are not done, in squares that take about so long at most."""
        size = min(self._most or TILE, TILE, max(math.sqrt(seconds / self._seconds), 1))
        for rows, columns in self.pairing.tiles(int(size)):
            left = ~done[self.pairing.positions(*self.pairing.within(rows, columns))]
            if left.any():
                yield Tile(rows, columns, None if left.all() else left)

    def found(self, tile: Tile) -> Found:
        """Score the pairs of a tile in this thread."""
        positions, columns = zip(*(piece() for piece in self.pieces(tile)), strict=True)
        names = columns[0].keys()
        whole = {name: np.concatenate([part[name] for part in columns]) for name in names}
        return np.concatenate(positions), whole

    def pieces(self, tile: Tile) -> Iterator[Piece]:
        """Return what there is to do for a tile, whose columns are cut once for all of it."""
        i, j = self.pairing.within(tile.rows, tile.columns)
        if tile.left is not None:
            i, j = i[tile.left], j[tile.left]
        together = self.left.whole[i] & self.right.whole[j] & bool(self._most)
        yield from self._in_tile(tile.rows, tile.columns, i[together], j[together])
        i, j = i[~together], j[~together]
        for part in _parts(i.size, self._seconds + 1e-3):
            yield partial(self._one_by_one, i[part], j[part])

    @cached_property
    def _most(self) -> int:
        """How many columns of a side can be cut at once; 0: each pair is cut by itself."""
        # The masters of mic depend on the pair; and very long columns are cut for one pair only.
        shared = self.method.statistic != "mic"
        return blocks.most_at_once(self.plan, self.left.n) if shared else 0

    def _in_tile(self, rows: range, columns: range, i: Places, j: Places) -> Iterator[Piece]:
        """Return the pieces of a tile whose columns are cut once for all of them."""
        if not i.size:
            return
        left, right = self._binned
        above, own = _cut(left, rows, self.plan)
        aside, other = _cut(right, columns, self.plan)
        pairs = np.stack((own[i - rows.start], other[j - columns.start]), axis=1)
        for part in _parts(i.size, self._seconds):
            yield partial(self._together, above, aside, pairs[part], i[part], j[part])

    @property
    def _seconds(self) -> float:
        """About how long a pair takes."""
        layout = self.plan.layout
        rows = np.minimum([step.master for step in self.plan], self.left.n)
        lookups = float(np.sum(rows**2 * [step.columns + 1 for step in self.plan]))
        counted = 2 * self.left.n * len(layout.masters)
        return lookups * LOOKUP + counted * RECORD + PAIR + self._tested

    def _together(
        self, left: Cut, right: Cut, pairs: NDArray[np.int64], i: Places, j: Places
    ) -> Found:
        """Score pairs of complete columns in one call."""
        n = self.left.n
        records = np.full(i.size, n)
        if not self.total:
            mic = pruning.largest(left, right, pairs, self.plan, n)
            return self._found(i, j, mic, None, records)
        found = blocks.matrices(left, right, pairs, self.plan, n)
        return self._found(i, j, np.nanmax(found, (1, 2)), np.nansum(found, (1, 2)), records)

    def _one_by_one(self, i: Places, j: Places) -> Found:
        """Score each pair by itself, on the records that are complete in both columns."""
        rows = [self._alone(int(a), int(b)) for a, b in zip(i, j, strict=True)]
        return self._found(i, j, *map(np.array, zip(*rows, strict=True)))

    def _found(
        self, i: Places, j: Places, mic: Floats, tic: Floats | None, records: Places
    ) -> Found:
        """Return what was asked for of some pairs."""
        positions = self.pairing.positions(i, j)
        columns: dict[str, NDArray[Any]] = {"mic": mic}
        if self.total and tic is not None:
            columns["tic"] = tic
        if self.gaps:
            columns["records"] = records
        if self._null is not None:
            columns["pvalue"] = np.array(
                [self._pvalue(*own) for own in zip(i, j, positions, strict=True)]
            )
        return positions, columns

    def _pvalue(self, i: int, j: int, position: int) -> float:
        both, null = self._cells(i, j), self._null
        return np.nan if both is None or null is None else null.compare(*both, position)[1]

    @cached_property
    def _null(self) -> Null | None:
        """What p-values come from."""
        return None if self.draws is None else Null(self.draws)

    @cached_property
    def _tested(self) -> float:
        """About how long the test of a pair takes; pairs with gaps rarely share a null."""
        if self.draws is None:
            return 0.0
        drawn = 1.0
        if self.draws.pooled:
            left, right = (
                len({i if cut is None else cut.pattern for i, cut in enumerate(side)})
                for side in self._ranked
            )
            drawn = min(left * right / self.pairing.count, 1.0)
        return self.draws.seconds(self.left.n, drawn)

    @cached_property
    def _ranked(self) -> tuple[list[Any], list[Any]]:
        """The complete columns of both sides, cut for tests; None for those with gaps."""

        def cut(side: Side) -> list[Any]:
            each = zip(side.columns, side.whole, strict=True)
            return [significance.cells(values) if whole else None for values, whole in each]

        left = cut(self.left)
        return left, left if self.right is self.left else cut(self.right)

    def _cells(self, i: int, j: int) -> significance.Both | None:
        """Return a pair cut for a test, on the records that both have, or None for too few."""
        x, y = self._ranked[0][i], self._ranked[1][j]
        if x is None or y is None:
            a, b = self._complete(i, j)
            if a.size < LEAST_RECORDS:
                return None
            x, y = significance.cells(a), significance.cells(b)
        return x, y

    def _complete(self, i: int, j: int) -> tuple[Floats, Floats]:
        """Return the records that are complete in both columns."""
        a, b = self.left.columns[i], self.right.columns[j]
        both = ~(np.isnan(a) | np.isnan(b))
        return a[both], b[both]

    def _alone(self, i: int, j: int) -> tuple[float, float, int]:
        """Return MIC, TIC and the number of records of one pair."""
        x, y = self._binned[0][i], self._binned[1][j]
        limits, n = self.limits, self.left.n
        if x is None or y is None:
            a, b = self._complete(i, j)
            n = a.size
            if n < LEAST_RECORDS:
                return np.nan, np.nan, n
            limits = self.method.limits(n)
            x = self.method.bin(a, limits, self.left.intervals[i])
            y = self.method.bin(b, limits, self.right.intervals[j])
        matrix = self.method.search(x, y, limits).matrix()
        return summaries.mic(matrix), summaries.tic(matrix, normalised=False), n


def _cut(binned: list[Binned | None], places: range, plan: Steps) -> tuple[Cut, NDArray[np.int64]]:
    """Cut the complete columns of a tile; where in the cut each is."""
    own = [binned[i] for i in places]
    complete = [variable for variable in own if variable is not None]
    index = np.cumsum([variable is not None for variable in own]) - 1
    return blocks.cut(complete, plan), index


def _parts(count: int, seconds: float) -> Iterator[slice]:
    """Cut a number of pairs, each of which takes so long, into parts of a piece each."""
    size = max(int(SECONDS / seconds), 1)
    return (slice(first, first + size) for first in range(0, count, size))
