"""What is run for each contender at one n and epsilon, and its outputs on one dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpmic._validate import Bounds
from dpmic.evaluation import printed, scoring, simulation
from dpmic.evaluation.scoring import SQUARE, Choice, Perturbed, Points
from dpmic.parameters import tuned
from dpmic.parameters.tuned import Calibration
from dpmic.privacy import Mechanism, MICeLaplace, MICrLaplace, sensitivity
from dpmic.statistics.grids import MassAxis

Floats = NDArray[np.float64]

ORDERS = 20
"""Orders of ties that are tried for one dataset; each serves several draws of noise."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A score plus Laplace noise, clipped to [0, 1]; a scale of 0 means no privacy."""

    statistic: Literal["micr", "mice, ties grouped", "mice, ties in random order"]
    choice: Choice
    scale: float

    def values(self, scores: Floats, runs: int, rng: np.random.Generator) -> Floats:
        """Return ``runs`` outputs on a dataset with these scores."""
        repeated = np.resize(scores, runs)
        return simulation.clipped_laplace(repeated, self.scale, rng) if self.scale else repeated

    def scores(
        self, points: Points, bounds: Bounds, orders: int, rng: np.random.Generator
    ) -> Floats:
        """Return the score of a dataset, for several orders where ties are ordered."""
        if self.statistic == "micr":
            return np.array([scoring.micr(points, bounds, self.choice)])
        limits = self.choice.limits
        if self.statistic == "mice, ties grouped":
            axes = MassAxis.grouped(points[0]), MassAxis.grouped(points[1])
            return np.array([np.nanmax(scoring.matrix(axes, limits))])
        tied = any(np.unique(values).size < values.size for values in points)
        each = (scoring.ranked(points, rng) for _ in range(orders if tied else 1))
        return np.array([np.nanmax(scoring.matrix(axes, limits)) for axes in each])


@dataclass(frozen=True, slots=True)
class Entry:
    """One contender at one epsilon; ``estimate`` makes a second one of the same outputs."""

    key: str
    epsilon: float
    source: Scored | Perturbed | float
    calibration: Calibration | None = None


def plan(n: int, epsilons: Sequence[float]) -> tuple[Entry, ...]:
    """Return all contenders for n records at every epsilon."""
    return tuple(entry for epsilon in epsilons for entry in _at(n, epsilon))


def _at(n: int, epsilon: float) -> list[Entry]:
    """Return all contenders: as published, ours as :func:`dpmic.release` has them, and floors."""
    mice_c, mice_B = printed.mice_limits(n)
    mice = Choice(mice_B, mice_c)
    grouped: Literal["mice, ties grouped"] = "mice, ties grouped"
    c, B = printed.interpolated("micr-lap", n, epsilon)
    geometric_c, geometric_B = printed.interpolated("micr-geom", n, epsilon)
    ours = _ours("ours", "micr", MICrLaplace(epsilon, SQUARE), n)
    assert isinstance(ours.source, Scored)
    return [
        Entry(
            "mice-lap",
            epsilon,
            Scored(grouped, mice, sensitivity.mice_paper(n, mice.B) / epsilon),
        ),
        Entry(
            "micr-lap", epsilon, Scored("micr", Choice(B, c), sensitivity.micr_paper(n) / epsilon)
        ),
        Entry("micr-geom", epsilon, Perturbed("micr-geom", epsilon, geometric_B, geometric_c)),
        ours,
        _ours("ours-mice", "mice, ties in random order", MICeLaplace(epsilon), n),
        Entry(
            "noisy-table",
            epsilon,
            Perturbed("noisy-table", epsilon, tuned.table_parts(n, epsilon)),
        ),
        Entry("constant", epsilon, 0.5),
        Entry("mice", epsilon, Scored(grouped, mice, 0.0)),
        Entry("micr", epsilon, Scored("micr", ours.source.choice, 0.0)),
    ]


def _ours(
    key: str, statistic: Literal["micr", "mice, ties in random order"], mechanism: Mechanism, n: int
) -> Entry:
    """Return one of our mechanisms with the grids and the noise that a release would have."""
    setting = mechanism.setting(n)
    source = Scored(statistic, Choice.of(setting.limits), setting.noise.scale)
    return Entry(key, mechanism.epsilon, source, setting.calibration)


def rows(entries: Sequence[Entry]) -> list[tuple[str, float]]:
    """Return the key and epsilon of every row of :func:`outputs`."""
    named = []
    for entry in entries:
        named.append((entry.key, entry.epsilon))
        if entry.calibration is not None:
            named.append((f"{entry.key}-estimate", entry.epsilon))
    return named


def outputs(
    entries: Sequence[Entry], points: Points, bounds: Bounds, runs: int, rng: np.random.Generator
) -> Floats:
    """Return [row, run]: what each contender says of one dataset."""
    found: list[Floats] = []
    known: dict[tuple[str, Choice], Floats] = {}  # several contenders share a score
    for entry in entries:
        source = entry.source
        if isinstance(source, float):
            found.append(np.full(runs, source))
        elif isinstance(source, Perturbed):
            found.append(source.values(points, bounds, runs, rng))
        else:
            which = source.statistic, source.choice
            if which not in known:
                known[which] = source.scores(points, bounds, min(runs, ORDERS), rng)
            found.append(source.values(known[which], runs, rng))
            if entry.calibration is not None:
                found.append(entry.calibration.estimate(found[-1], source.scale))
    return np.stack(found)
