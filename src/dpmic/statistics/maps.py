"""Monotone maps of an axis, fixed in advance, so that bounds can be far too wide.

Grids of equal width resolve nothing if most records are in one cell. Under a map they become
other grids. The largest score over any public set of maps has the same sensitivity as the score
under one map (docs/proofs/maps.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpmic._validate import Interval

Axes = Literal["any", "linear", "wide"]
Floats = NDArray[np.float64]
Atoms = NDArray[np.int32]

BENDS = range(1, 8)
"""Exponents j of maps that are linear within W 4^-j of the centre, and logarithmic beyond."""

ZOOMS = range(2, 7)
"""Exponents j of maps that show only 2 W 4^-j on either side of the centre."""

MICR_MAPS = (0, 2, 4, 7)
"""The maps under which MICr is searched, by position."""

LEVELS = range(1, 15)
"""Exponents h of dyadic zooms, which are (high - low) / 2^h wide."""

SHARE = 3
"""A zoom counts only if it contains more than one in so many of the records."""

FULLEST = 2 * (SHARE - 1)
"""Zooms searched per level: no more can contain over a third of the records each."""


@dataclass(frozen=True, slots=True)
class Map:
    """A monotone map of an axis onto [0, 1], given by its inverse; values outside are clamped.

    ``bend`` is 0 for a linear map of [low, high]. Otherwise it is where asinh((x - centre) / bend)
    changes from linear to logarithmic.
    """

    low: float
    high: float
    centre: float = 0.0
    bend: float = 0.0

    @property
    def ends(self) -> Interval:
        """The ends of the axis."""
        return self.low, self.high

    def cuts(self, fractions: Floats) -> Floats:
        """Return where fractions of the mapped axis lie, in ascending order."""
        if not self.bend:
            return self.low + (self.high - self.low) * fractions
        first, last = (np.arcsinh((end - self.centre) / self.bend) for end in (self.low, self.high))
        found = self.centre + self.bend * np.sinh(first + fractions * (last - first))
        return np.maximum.accumulate(np.clip(found, self.low, self.high))  # undoes rounding errors


@lru_cache(maxsize=256)
def public_maps(interval: Interval) -> tuple[Map, ...]:
    """Return the thirteen maps of an axis, the identity first.

    Their centre is 0, or the bound nearest to 0.

    Examples
    --------
    >>> len(public_maps((0.0, 100.0))), public_maps((0.0, 100.0))[8]
    (13, Map(low=0.0, high=12.5, centre=0.0, bend=0.0))
    """
    low, high = interval
    centre = min(max(0.0, low), high)
    reach = max(high - centre, centre - low)
    bent = [Map(low, high, centre, reach * 4.0**-j) for j in BENDS]
    sides = [reach * 2.0 ** (1 - 2 * j) for j in ZOOMS]
    near = [Map(max(low, centre - side), min(high, centre + side)) for side in sides]
    return (Map(low, high), *bent, *near)


def range_maps(interval: Interval, axes: Axes) -> tuple[Map, ...]:
    """Return the maps under which MICr is searched: four of the thirteen, to save time."""
    maps = public_maps(interval)
    return (maps[0],) if axes == "linear" else tuple(maps[i] for i in MICR_MAPS)


@dataclass(frozen=True, slots=True)
class Zoom:
    """A map that shows a small part of an axis, and the number of records inside it."""

    map: Map
    inside: int

    def count(self, values: Floats, low: float, high: float) -> int:
        """Count the values inside; those beyond an end of the axis count as that end."""
        above = (values >= self.map.low) | (self.map.low <= low)
        below = (values < self.map.high) | (self.map.high >= high)
        return int(np.count_nonzero(above & below))


def fullest_zooms(values: Floats, interval: Interval) -> Iterator[Zoom]:
    """Yield the fullest zooms of every level: intervals W / 2^h wide, shifted by half of that.

    Examples
    --------
    >>> next(fullest_zooms(np.array([1.0, 2.0, 6.0]), (0.0, 8.0)))
    Zoom(map=Map(low=0.0, high=4.0, centre=0.0, bend=0.0), inside=2)
    """
    low, high = interval
    for level in LEVELS:
        ends = low + (high - low) * (np.arange(2 ** (level + 1) + 1) / 2.0 ** (level + 1))
        halves = np.searchsorted(ends[1:-1], values, side="right")
        held = np.bincount(halves, minlength=ends.size - 1)
        inside = held[:-1] + held[1:]
        for i in np.argsort(-inside, kind="stable")[:FULLEST].tolist():
            yield Zoom(Map(float(ends[i]), float(ends[i + 2])), int(inside[i]))


@dataclass(frozen=True, eq=False, slots=True)
class Refinement:
    """The common refinement of several partitions of an axis, each given by its cuts.

    ``parts[i]`` holds, for each atom of the refinement, its part in partition i.
    """

    cuts: Floats
    parts: tuple[Atoms, ...]

    @classmethod
    def of(cls, partitions: Sequence[Floats]) -> Refinement:
        """Refine partitions whose cuts ascend."""
        cuts = np.unique(np.concatenate(partitions))
        begins = np.concatenate(([-np.inf], cuts))
        places = (np.searchsorted(own, begins, side="right") for own in partitions)
        return cls(cuts, tuple(part.astype(np.int32) for part in places))

    def atoms(self, values: Floats) -> Atoms:
        """Return the atom of each value: the number of cuts at or below it."""
        return np.searchsorted(self.cuts, values, side="right").astype(np.int32)
