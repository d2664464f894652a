"""From one dataset to numbers: scores without noise, and mechanisms that perturb counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpmic._validate import Bounds, Limits
from dpmic.evaluation import simulation
from dpmic.statistics.capped import CapLimits, CappedColumn, search, tabulated
from dpmic.statistics.grids import MassAxis, steps
from dpmic.statistics.maps import Axes
from dpmic.statistics.search import Search

Floats = NDArray[np.float64]
Points = tuple[Floats, Floats]
RankedAxes = tuple[MassAxis, MassAxis]

SQUARE: Bounds = ((0.0, 1.0), (0.0, 1.0))


@dataclass(frozen=True, slots=True)
class Choice:
    """The grids of a mechanism: most cells, master factor, most columns."""

    B: float
    c: float
    lmax: int | None = None

    @classmethod
    def of(cls, limits: Limits) -> Choice:
        """Return the choice that matches a search's limits."""
        return cls(limits.B, limits.c, limits.lmax)

    @property
    def limits(self) -> Limits:
        """The limits of a search."""
        return Limits(self.B, self.c, "reshef", self.lmax)

    @property
    def cost(self) -> float:
        """The search time, roughly: c^2 B^2.5 (Reshef et al. 2016, appendix H.1)."""
        return float(self.c**2 * self.B**2.5)


Setting = Choice | CapLimits
"""What a score depends on besides the data: grids, or a cap."""


def setting_of(limits: Limits | CapLimits) -> Setting:
    """Return the setting that matches a search's limits."""
    return limits if isinstance(limits, CapLimits) else Choice.of(limits)


def micc(points: Points, bounds: Bounds, caps: Sequence[float], axes: Axes) -> list[float]:
    """Return capped information for several caps, without noise."""
    each = zip(points, bounds, strict=True)
    tables = list(tabulated(*(CappedColumn.of(values, ends, axes) for values, ends in each)))
    n = points[0].size
    return [search(tables, cap, n).score(n) for cap in caps]


def micr(points: Points, bounds: Bounds, choice: Choice) -> float:
    """Return MICr, without noise."""
    return float(np.nanmax(Search.by_range(*points, bounds, choice.limits).matrix()))


def ranked(points: Points, rng: np.random.Generator) -> RankedAxes:
    """Return both axes, with ties in separate random orders, as in the private mechanism."""
    x, y = points
    return (
        MassAxis.ranked(x, rng.permutation(x.size)),
        MassAxis.ranked(y, rng.permutation(y.size)),
    )


def matrix(axes: RankedAxes, limits: Limits) -> Floats:
    """Return the equicharacteristic matrix of MICe."""
    return Search.of(*axes, steps(limits)).matrix()


@dataclass(frozen=True, slots=True)
class Perturbed:
    """A mechanism that adds noise to counts, and so must be run again for every draw.

    ``cells`` is B of MICr-Geom, or the parts per axis of the noisy table.
    """

    kind: Literal["micr-geom", "noisy-table"]
    epsilon: float
    cells: float
    c: float = 1.0

    def values(self, points: Points, bounds: Bounds, runs: int, rng: np.random.Generator) -> Floats:
        """Return ``runs`` outputs on one dataset."""
        if self.kind == "noisy-table":
            parts = int(self.cells)
            return simulation.noisy_table(points, bounds, parts, self.epsilon, runs, rng)
        return simulation.published_geometric(self.search(points, bounds), self.epsilon, runs, rng)

    def search(self, points: Points, bounds: Bounds) -> Search:
        """Return the search of MICr whose counts MICr-Geom perturbs."""
        return Search.by_range(*points, bounds, Choice(self.cells, self.c).limits)
