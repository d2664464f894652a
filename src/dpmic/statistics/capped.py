"""Capped information: MIC by critics that no single record can move by more than the cap.

The search covers two rows (one threshold) against columns of equal width under every map of an
axis, and three rows (two thresholds) without maps. On a nominal axis the categories are the
columns, and the rows are sets of categories against the rest. All it needs from the data are
counts on grids fixed in advance. Definitions and proofs: docs/proofs/capped-sensitivity.md and
docs/proofs/maps.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic import _kernels, _validate
from dpmic._validate import Categories, Domain, Interval
from dpmic.errors import InputError, with_code
from dpmic.results import Grid
from dpmic.statistics.maps import (
    SHARE,
    Axes,
    Map,
    Refinement,
    Zoom,
    fullest_zooms,
    public_maps,
)

Floats = NDArray[np.float64]
Counts = NDArray[np.integer]
Parts = NDArray[np.int32]

PLAIN = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192)
THREE = (4, 6, 8, 12, 16, 24, 32, 48, 64)
MAPPED = (2, 4, 8, 12, 16, 24, 32, 48, 64)
ZOOMED = (8, 16, 32, 64)
"""The numbers of columns that are tried: without a map, with three rows, under a map or a zoom."""

PENALTY = 0.72
"""The penalty in bits for each column beyond the first, doubled for three rows: half of log2 e,
the mean gain from one more column if nothing depends on anything."""

THRESHOLDS = 128
THRESHOLDS_OF_MAPS = 16
THRESHOLDS_OF_THREE = 24
"""Parts of an axis between which rows are cut: without a map, under each map, for three rows."""

MOST_PAIRED = 24
"""Up to so many categories, all pairs of them are tried as rows: at most 276 pairs."""

THRESHOLDS_OF_ZOOMS = np.array([1, 3, 5, 7]) / 8
"""Where rows are cut under each zoom; the other eighths are odd eighths of wider zooms."""

MOST_RECORDS = 2**31 - 1
"""The proof of rounding covers no more records. It is also ``inside`` of a cut without a zoom."""

MOST_TABLED = 2**20
"""Up to so many records, f(m) = m log2 m is looked up in a table; above, it is computed."""

LOG_3 = math.log2(3)

_PAIRS = np.array(list(itertools.combinations(range(THRESHOLDS_OF_THREE - 1), 2))).T


@dataclass(frozen=True, eq=False, slots=True)
class Critics:
    """The critics of a cap, as multiples of one unit, so that every sum is exact.

    ``two`` holds (m1, m0, A1, A0) of each critic of two rows, ``three`` holds m and A of each of
    three rows. In H, a row counts by its excess over ``hard``, the cap times its share of a column.
    """

    unit: float
    cap: float
    two: Floats
    hard: float
    cap_of_three: float
    three: Floats
    hard_of_three: float


@lru_cache(maxsize=32)
def critics_of(cap: float, unit: float) -> Critics:
    """Return the critics for a cap."""

    def rounded(values: Floats | float) -> Floats:
        return np.round(np.asarray(values) / unit) * unit

    half = 16 if cap <= 6 else 32
    theta = np.arange(-half, half + 1) * ((cap - 1.5) / half)
    up, down = np.maximum(theta, 0), np.maximum(-theta, 0)
    bits = rounded(np.log2(1 + 2.0 ** -np.abs(theta)))
    two = np.stack((bits + down, bits + up, cap - up, cap - down), axis=1)
    shares = np.array([(i, j, 12 - i - j) for i in range(2, 9) for j in range(2, 11 - i)]) / 12
    of_three = math.floor(cap * LOG_3 / unit) * unit
    weights = rounded(-np.log2(shares))
    hard = of_three - (weights.max(axis=1, keepdims=True) - weights)
    return Critics(
        unit,
        cap,
        _padded(two),
        float(rounded(cap * 3 * 2.0**-cap)),
        of_three,
        np.concatenate((weights, hard), axis=1),
        float(rounded(of_three * 3 / 16)),
    )


def _padded(critics: Floats) -> Floats:
    """Pad critics at both ends, to one less than a Fibonacci number, with some that never win."""
    a, b = 34, 21
    while a - 1 < len(critics):
        a, b = a + b, a
    before = (a - 1 - len(critics)) // 2
    after = a - 1 - len(critics) - before
    steep = np.array([1.0, 1.0, 0.0, 0.0])  # one bit per step: steeper than any objective
    down, up = np.arange(before, 0, -1)[:, None], np.arange(1, after + 1)[:, None]
    return np.concatenate((critics[0] + down * steep, critics, critics[-1] + up * steep))


@dataclass(frozen=True, slots=True)
class CapLimits:
    """The size of a capped search: the most that one record can weigh, in bits."""

    cap: float


def checked_axes(axes: object) -> Axes:
    """Check the scales on which axes are cut."""
    checked: Any = _validate.choice(axes, "axes", Axes)
    return checked  # type: ignore[no-any-return]


def unit_of(n: int) -> float:
    """Return the finest unit, at least 2^-24, of which float64 holds n log2 n exactly."""
    return 2.0 ** -min(24, 51 - math.ceil(math.log2(n * math.log2(n))))


@lru_cache(maxsize=4)
def _xlogx(n: int, unit: float) -> Floats:
    """Return the table of f(m) for m = 0 .. n in units; empty if it would be too large."""
    if n > MOST_TABLED:
        return np.empty(0)
    m = np.arange(n + 1, dtype=np.float64)
    m[1:] *= np.log2(m[1:])
    return np.floor(m / unit + 0.5) * unit


@dataclass(frozen=True, eq=False, slots=True)
class Columns:
    """Partitions into columns of equal width, by their edges in parts of a common refinement."""

    fractions: Floats
    sizes: NDArray[np.int64]
    edges: NDArray[np.int64]
    offsets: NDArray[np.int64]


@lru_cache(maxsize=8)
def columns_of(sizes: tuple[int, ...], refined: tuple[int, ...] | None = None) -> Columns:
    """Return the partitions into these numbers of columns, as edges in a common refinement.

    Examples
    --------
    >>> columns_of((2, 3)).edges
    array([0, 2, 4, 0, 1, 3, 4])
    """
    fractions = np.unique(np.concatenate([_inner(l) for l in refined or sizes]))
    inner = [np.searchsorted(fractions, _inner(l)) + 1 for l in sizes]
    edges = [np.concatenate(([0], own, [fractions.size + 1])) for own in inner]
    offsets = np.cumsum([0, *(own.size for own in edges)])
    return Columns(fractions, np.array(sizes), np.concatenate(edges), offsets)


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """The thresholds between rows, in ascending order.

    ``inside`` is the number of records in the zoom of each threshold; ``of_three`` are the
    positions of the thresholds at which three rows are cut.
    """

    thresholds: Floats
    inside: NDArray[np.int64]
    of_three: NDArray[np.int64]

    @property
    def pairs(self) -> NDArray[np.int64]:
        """The thresholds of three rows: the lower ones and the upper ones."""
        pairs: NDArray[np.int64] = self.of_three[_PAIRS]
        return pairs

    def sums(self, counts: Counts) -> Counts:
        """Return the number of records before each part and below each threshold; then of all."""
        found: Counts = _kernels.cumulate(counts)
        return found

    def cuts(self, thresholds: NDArray[np.int64]) -> Floats:
        """Return the values at which rows are cut."""
        return self.thresholds[thresholds]

    @classmethod
    def of(cls, thresholds: Floats, inside: NDArray[np.int64], of_three: Floats) -> Rows:
        """Sort thresholds, including those of three rows."""
        order = np.argsort(thresholds, kind="stable")
        ascending = thresholds[order]
        return cls(ascending, inside[order], np.searchsorted(ascending, of_three))

    def with_zooms(self, zooms: Sequence[Zoom]) -> Rows:
        """Add the thresholds of zooms."""
        own = [zoom.map.cuts(THRESHOLDS_OF_ZOOMS) for zoom in zooms]
        inside = np.repeat([zoom.inside for zoom in zooms], THRESHOLDS_OF_ZOOMS.size)
        return self.of(
            np.concatenate((self.thresholds, *own)),
            np.concatenate((self.inside, inside)),
            self.thresholds[self.of_three],
        )

    @property
    def cells(self) -> int:
        """The number of cells between thresholds."""
        return self.thresholds.size + 1


@dataclass(frozen=True, slots=True)
class CategoryRows:
    """The rows of a nominal axis: a set of categories against the rest.

    The sets play the role of thresholds. They are each category, each pair of categories, and the
    first categories of the list, one of which has about half of the records.
    """

    cells: int

    @property
    def _two(self) -> NDArray[np.int64]:
        """All pairs of categories, [2, pair]."""
        few = self.cells if self.cells <= MOST_PAIRED else 0
        return np.array(list(itertools.combinations(range(few), 2)), np.int64).reshape(-1, 2).T

    @property
    def inside(self) -> NDArray[np.int64]:
        """A set of categories is not a zoom."""
        return np.full(2 * self.cells - 1 + self._two.shape[1], MOST_RECORDS)

    @property
    def pairs(self) -> NDArray[np.int64]:
        """Three rows: one category, another one, and the rest."""
        first = self._two[0]
        return np.stack((first, self.cells + np.arange(first.size)))

    def sums(self, counts: Counts) -> Counts:
        """Return the number of records before each part and in each set; then of all."""
        i, j = self._two
        sets = np.concatenate((counts, counts[:, i] + counts[:, j], counts.cumsum(axis=1)), axis=1)
        sums = np.zeros((sets.shape[0] + 1, sets.shape[1]), counts.dtype)
        np.cumsum(sets, axis=0, out=sums[1:])
        return sums

    def cuts(self, thresholds: NDArray[np.int64]) -> Floats:
        """Return the cuts of the rows: all categories are shown separately."""
        return np.arange(1.0, self.cells)


@dataclass(frozen=True, eq=False, slots=True)
class CappedAxis:
    """One axis: its maps, the numbers of columns tried under each map, and its rows.

    The last partition of ``refinement`` is into the cells between thresholds. A nominal axis has
    no refinement.
    """

    maps: tuple[Map, ...]
    sizes: tuple[tuple[int, ...], ...]
    rows: Rows | CategoryRows
    refinement: Refinement


@lru_cache(maxsize=256)
def capped_axis(domain: Domain, axes: Axes) -> CappedAxis:
    """Lay out an axis from public facts."""
    if isinstance(domain, Categories):
        return _nominal_axis(len(domain))
    plain, *others = public_maps(domain)
    maps = (plain,) if axes == "linear" else (plain, *others)
    cut = [(THRESHOLDS, plain), (THRESHOLDS_OF_THREE, plain)]
    cut += [(THRESHOLDS_OF_MAPS, own) for own in maps[1:]]
    thresholds = np.concatenate([own.cuts(_inner(size)) for size, own in cut])
    everywhere = np.full(thresholds.size, MOST_RECORDS)
    rows = Rows.of(thresholds, everywhere, plain.cuts(_inner(THRESHOLDS_OF_THREE)))
    columns = [own.cuts(columns_of(PLAIN if own is plain else MAPPED).fractions) for own in maps]
    sizes = (PLAIN,) + (MAPPED,) * (len(maps) - 1)
    return CappedAxis(maps, sizes, rows, Refinement.of([*columns, rows.thresholds]))


def _nominal_axis(size: int) -> CappedAxis:
    """Lay out an axis whose parts are categories; records hold their positions."""
    between = np.arange(1.0, size)
    refinement = Refinement.of([between, between])
    return CappedAxis((Map(0.0, float(size)),), ((size,),), CategoryRows(size), refinement)


def _inner(size: int) -> Floats:
    """Return the inner cuts of [0, 1] into equal parts."""
    return np.arange(1, size) / size


@dataclass(frozen=True, eq=False, slots=True)
class CappedColumn:
    """One variable on its axis, binned once for all its pairs.

    ``parts`` are the parts of the records under every map and then under every zoom; ``cells`` are
    those between the thresholds of ``rows``. ``absent`` marks the records without a value, which
    are in no cell; it is None if there can be none. ``values`` are kept to recount zooms.
    """

    axis: CappedAxis
    parts: tuple[Parts, ...]
    rows: Rows | CategoryRows
    cells: Parts
    zooms: tuple[Zoom, ...] = ()
    absent: NDArray[np.bool_] | None = None
    values: Floats | None = None

    @classmethod
    def of(cls, values: Floats, domain: Domain, axes: Axes, *, gaps: bool = False) -> CappedColumn:
        """Find the part of each record under every map; with ``gaps``, NaN is in no part."""
        axis = capped_axis(domain, axes)
        atoms = axis.refinement.atoms(values)
        *parts, cells = (part[atoms] for part in axis.refinement.parts)
        absent = np.isnan(values) if gaps else None
        binned = cls(axis, tuple(parts), axis.rows, cells, absent=absent)
        zoomed = axes == "wide" and not isinstance(domain, Categories)
        return binned._zoomed(values, domain) if zoomed else binned  # type: ignore[arg-type]

    def _zoomed(self, values: Floats, interval: Interval) -> CappedColumn:
        """Add the zooms that contain the most records, with their columns and thresholds."""
        present = values if self.absent is None else values[~self.absent]
        zooms = tuple(fullest_zooms(present, interval))
        assert isinstance(self.rows, Rows)
        rows, fractions = self.rows.with_zooms(zooms), columns_of(ZOOMED).fractions
        parts = (_places(zoom.map.cuts(fractions), values) for zoom in zooms)
        cells = _places(rows.thresholds, values)
        shown = (*self.parts, *parts)
        return replace(self, parts=shown, rows=rows, cells=cells, zooms=zooms, values=values)

    def among(self, kept: NDArray[np.bool_]) -> CappedColumn:
        """Return the same column with zooms counted on the kept records only.

        A zoom limits a score by the number of that score's own records inside it.
        """
        if self.values is None:
            return self
        assert isinstance(self.axis.rows, Rows)  # only numeric columns have zooms
        values, (low, high) = self.values[kept], self.axis.maps[0].ends
        zooms = tuple(replace(zoom, inside=zoom.count(values, low, high)) for zoom in self.zooms)
        return replace(self, rows=self.axis.rows.with_zooms(zooms), zooms=zooms)

    @property
    def n(self) -> int:
        """The number of records."""
        return self.parts[0].size


def _places(cuts: Floats, values: Floats) -> Parts:
    """Return the number of cuts at or below each value."""
    return np.searchsorted(cuts, values, side="right").astype(np.int32)


@dataclass(frozen=True, eq=False, slots=True)
class Tabulated:
    """Counts [part of an axis under a map, cell of the other axis].

    ``sizes`` are the numbers of columns to try. ``orientation`` is 0 if the columns are on x.
    ``inside`` is the number of records in the zoom.
    """

    counts: Counts
    sizes: tuple[int, ...]
    map: Map
    across: Rows | CategoryRows
    orientation: int
    inside: int = MOST_RECORDS

    @property
    def sizes_of_three(self) -> tuple[int, ...]:
        """The numbers of columns tried with three rows: none under a map or a zoom."""
        if self.sizes in (MAPPED, ZOOMED):
            return ()
        return THREE if self.sizes == PLAIN else self.sizes


def tabulated(x: CappedColumn, y: CappedColumn) -> Iterator[Tabulated]:
    """Yield every table of counts that is searched, of the records with both values."""
    absent = [column.absent for column in (x, y) if column.absent is not None]
    gone = np.logical_or.reduce(absent) if absent else None
    if gone is not None:
        x, y = x.among(~gone), y.among(~gone)
    for orientation, (along, across) in enumerate(((x, y), (y, x))):
        axis, rows = along.axis, across.rows
        shown = [
            (own, sizes, MOST_RECORDS) for own, sizes in zip(axis.maps, axis.sizes, strict=True)
        ]
        shown += [(zoom.map, ZOOMED, zoom.inside) for zoom in along.zooms]
        for parts, (own, sizes, inside) in zip(along.parts, shown, strict=True):
            size = columns_of(sizes).fractions.size + 1
            counts = _counted(parts, across.cells, size, rows.cells, gone)
            yield Tabulated(counts, sizes, own, rows, orientation, inside)


def _counted(
    parts: Parts, cells: Parts, size: int, columns: int, gone: NDArray[np.bool_] | None
) -> Counts:
    """Count records in a table; those without a value go to an extra part, which is dropped."""
    counts: Counts
    if gone is None:
        counts = _kernels.tabulate(parts, cells, size, columns)
        return counts
    elsewhere = np.where(gone, np.int32(size), parts)
    counts = _kernels.tabulate(elsewhere, cells, size + 1, columns)
    return counts[:-1]


@dataclass(frozen=True, eq=False, slots=True)
class Best:
    """The best grid found: n times its score, and where it is.

    ``records`` is n, which is private if records may have gaps.
    """

    information: float
    columns: Floats
    rows: Floats
    orientation: int
    records: int = 0

    def score(self, least: int) -> float:
        """Return the score, in [0, 1], computed for at least this many records."""
        return min(self.information / max(self.records, least), 1.0)

    def grid(self, domains: tuple[Domain, Domain]) -> Grid:
        """Return the grid, with columns on x and rows on y; categories stay separate."""
        cuts = (self.columns, self.rows)[:: 1 - 2 * self.orientation]
        x, y = (
            own.labels if isinstance(own, Categories) else tuple(parts.tolist())
            for own, parts in zip(domains, cuts, strict=True)
        )
        return Grid(cuts[1].size + 1, cuts[0].size + 1, x, y)


def search(tables: Iterable[Tabulated], cap: float, n: int, least: int | None = None) -> Best:
    """Return the largest capped information of n records, at least 0.

    If the number of records is private, ``n`` is the most that there can be and ``least`` the
    fewest that are promised. All sizes follow from these two.
    """
    if n > MOST_RECORDS:
        raise InputError(
            f"{n} records", f"micc is exact up to {MOST_RECORDS}", with_code("use `dpmic.micr`")
        )
    critics = critics_of(cap, unit_of(n))
    best, records = Best(-math.inf, np.empty(0), np.empty(0), 0), 0
    most = math.sqrt(n if least is None else least)
    for table in tables:
        sums = table.across.sums(table.counts)
        records = int(sums[-1, -1])
        for found in (
            _two_rows(table, sums, critics, n, 2 * most),
            _three_rows(table, sums, critics, n, most),
        ):
            if found is not None and found.information > best.information:
                best = found
    return replace(best, information=max(best.information, 0.0), records=records)


def _two_rows(table: Tabulated, sums: Counts, critics: Critics, n: int, most: float) -> Best:
    """Return the best grid with two rows and at most ``most`` columns."""
    columns = columns_of(_affordable(table.sizes, most), table.sizes)
    inside = np.minimum(table.across.inside, table.inside)
    third = -(n // -SHARE)  # rounded up: more records than this are more than a third
    bits, where = _kernels.two_rows(
        sums,
        columns.edges,
        columns.offsets,
        critics.cap * (inside - third),
        _xlogx(n, critics.unit),
        critics.unit,
        critics.two,
        critics.cap,
        critics.hard,
    )
    bits -= _penalty(critics.unit) * (columns.sizes - 1)
    return _best(table, columns, bits, where[:, None])


def _three_rows(
    table: Tabulated, sums: Counts, critics: Critics, n: int, most: float
) -> Best | None:
    """Return the best grid with three rows; under maps there is none."""
    sizes, pairs = table.sizes_of_three, table.across.pairs
    if not sizes or not pairs.size:
        return None
    columns = columns_of(_affordable(sizes, most), table.sizes)
    bits, where = _kernels.three_rows(
        sums,
        columns.edges,
        columns.offsets,
        pairs,
        _xlogx(n, critics.unit),
        critics.unit,
        critics.three,
        critics.cap_of_three,
        critics.hard_of_three,
    )
    bits -= 2 * _penalty(critics.unit) * (columns.sizes - 1)
    return _best(table, columns, bits / LOG_3, pairs[:, where].T)


def _affordable(sizes: tuple[int, ...], most: float) -> tuple[int, ...]:
    """Return the numbers of columns that leave enough records per column, rounded up."""
    return tuple(size for size in sizes if size <= max(math.ceil(most), sizes[0]))


def _penalty(unit: float) -> float:
    return math.floor(PENALTY / unit + 0.5) * unit


def _best(table: Tabulated, columns: Columns, bits: Floats, thresholds: NDArray[np.int64]) -> Best:
    """Return the best of several partitions, with the thresholds of each."""
    k = int(np.argmax(bits))
    cuts = table.map.cuts(_inner(int(columns.sizes[k])))
    return Best(float(bits[k]), cuts, table.across.cuts(thresholds[k]), table.orientation)
