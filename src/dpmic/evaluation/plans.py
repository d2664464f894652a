"""What is run for each contender at one n and epsilon, and its outputs on one dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpmic._validate import Bounds
from dpmic.evaluation import printed, scoring, simulation
from dpmic.evaluation.scoring import SQUARE, Choice, Perturbed, Points, Setting, setting_of
from dpmic.parameters import tuned
from dpmic.parameters.tuned import Calibration
from dpmic.privacy import CappedLaplace, Mechanism, MICeLaplace, MICrLaplace, sensitivity
from dpmic.statistics.capped import CapLimits
from dpmic.statistics.grids import MassAxis

Floats = NDArray[np.float64]
Statistic = Literal[
    "micr",
    "micc, linear",
    "micc, any",
    "micc, wide",
    "mice, ties grouped",
    "mice, ties in random order",
]

ORDERS = 20
"""Random orders of ties per dataset; each serves several noise draws."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A score plus Laplace noise, clipped to [0, 1]; a scale of 0 means no privacy."""

    statistic: Statistic
    choice: Setting
    scale: float

    def values(self, scores: Floats, runs: int, rng: np.random.Generator) -> Floats:
        """Return ``runs`` outputs on a dataset with these scores."""
        repeated = np.resize(scores, runs)
        return simulation.clipped_laplace(repeated, self.scale, rng) if self.scale else repeated

    def scores(
        self, points: Points, bounds: Bounds, orders: int, rng: np.random.Generator
    ) -> Floats:
        """Return the scores of a dataset: several if ties are put in random order."""
        if isinstance(self.choice, CapLimits):
            axes: Any = self.statistic.removeprefix("micc, ")
            return np.array(scoring.micc(points, bounds, (self.choice.cap,), axes))
        if self.statistic == "micr":
            return np.array([scoring.micr(points, bounds, self.choice)])
        limits = self.choice.limits
        if self.statistic == "mice, ties grouped":
            grouped = MassAxis.grouped(points[0]), MassAxis.grouped(points[1])
            return np.array([np.nanmax(scoring.matrix(grouped, limits))])
        tied = any(np.unique(values).size < values.size for values in points)
        each = (scoring.ranked(points, rng) for _ in range(orders if tied else 1))
        return np.array([np.nanmax(scoring.matrix(ranked, limits)) for ranked in each])


@dataclass(frozen=True, slots=True)
class Entry:
    """One contender at one epsilon; ``estimate`` derives a second one from the same outputs."""

    key: str
    epsilon: float
    source: Scored | Perturbed | float
    calibration: Calibration | None = None


Group = tuple[Entry, ...]
"""Contenders that see the same samples and share a stream of random numbers."""


def plan(n: int, epsilons: Sequence[float]) -> tuple[Group, ...]:
    """Return all contenders for n records at every epsilon.

    The capped score was added later; it has its own samples, so that other numbers do not change.
    """
    return (
        tuple(entry for epsilon in epsilons for entry in _at(n, epsilon)),
        tuple(_ours_capped(n, epsilon) for epsilon in epsilons),
    )


def plan_for_wide_bounds(n: int, epsilons: Sequence[float]) -> tuple[Group, ...]:
    """Return the contenders for bounds wider than the data: linear axes, and our mechanisms."""
    entries = []
    for epsilon in epsilons:
        mechanism = CappedLaplace(epsilon, SQUARE)
        entries += [
            _published_micr(n, epsilon),
            _ours_micr(n, epsilon),
            _ours("ours-any", "micc, any", mechanism, n),
            _ours("ours-wide", "micc, wide", mechanism, n),
        ]
    return (tuple(replace(entry, calibration=None) for entry in entries),)


def _at(n: int, epsilon: float) -> list[Entry]:
    """Return all contenders: as published, ours as :func:`dpmic.release` runs them, baselines."""
    floor = mice_floor(n)
    assert isinstance(floor.choice, Choice)
    geometric_c, geometric_B = printed.interpolated("micr-geom", n, epsilon)
    ours = _ours_micr(n, epsilon)
    assert isinstance(ours.source, Scored)
    noise = sensitivity.mice_paper(n, floor.choice.B) / epsilon
    return [
        Entry("mice-lap", epsilon, replace(floor, scale=noise)),
        _published_micr(n, epsilon),
        Entry("micr-geom", epsilon, Perturbed("micr-geom", epsilon, geometric_B, geometric_c)),
        ours,
        _ours("ours-mice", "mice, ties in random order", MICeLaplace(epsilon), n),
        Entry(
            "noisy-table",
            epsilon,
            Perturbed("noisy-table", epsilon, tuned.table_parts(n, epsilon)),
        ),
        Entry("constant", epsilon, 0.5),
        Entry("mice", epsilon, floor),
        Entry("micr", epsilon, replace(ours.source, scale=0.0)),
    ]


def mice_floor(n: int) -> Scored:
    """Return MICe without privacy."""
    c, B = printed.mice_limits(n)
    return Scored("mice, ties grouped", Choice(B, c), 0.0)


def _published_micr(n: int, epsilon: float) -> Entry:
    """Return MICr-Lap as published."""
    c, B = printed.interpolated("micr-lap", n, epsilon)
    source = Scored("micr", Choice(B, c), sensitivity.micr_paper(n) / epsilon)
    return Entry("micr-lap", epsilon, source)


def _ours_micr(n: int, epsilon: float) -> Entry:
    return _ours("ours", "micr", MICrLaplace(epsilon, SQUARE, axes="linear"), n)


def _ours_capped(n: int, epsilon: float) -> Entry:
    """Return the default mechanism on linear axes, since the evaluation's bounds fit the data."""
    return _ours("ours-capped", "micc, linear", CappedLaplace(epsilon, SQUARE), n)


def _ours(key: str, statistic: Statistic, mechanism: Mechanism, n: int) -> Entry:
    """Return one of our mechanisms with the parameters and the noise of a release."""
    setting = mechanism.setting(n)
    source = Scored(statistic, setting_of(setting.limits), setting.noise.scale)
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
    """Return [row, run]: the outputs of each contender on one dataset."""
    found: list[Floats] = []
    known: dict[tuple[str, Setting], Floats] = {}  # several contenders share a score
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
