"""The search for parameters: every sample is scored once on every size of grid.

It minimises WSUM, the same weighted error as in the paper. Laplace noise is added to a score that
does not depend on epsilon, and the mean absolute error has a closed form. So one set of scores
serves every epsilon and every sensitivity, the paper's and ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmic._validate import CAPS, Limits
from dpmic.evaluation.jobs import Arrays, Run, Task
from dpmic.evaluation.relationships import NoisyFunction
from dpmic.evaluation.scoring import (
    SQUARE,
    Choice,
    Perturbed,
    RankedAxes,
    matrix,
    micc,
    micr,
    ranked,
)
from dpmic.statistics.maps import Axes
from dpmic.statistics.population import mic_star

Floats = NDArray[np.float64]
Distributions = Sequence[NoisyFunction]
Scores = Mapping[Choice, Floats]
Key = TypeVar("Key", Choice, float)

COLUMNS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48)
STAR_GRID = (260, 360)  # the paper's grid for MIC*
TOLERANCE = 0.01
"""Errors within one percent of the smallest count as equal; the fastest choice is taken."""


def weights(mic_star: ArrayLike) -> Floats:
    """Return the weight of each distribution: the part of [0, 1] that is nearest to its MIC*.

    Intervals end half-way between neighbouring values of MIC*, and at 0 and 1 (the paper's appendix
    on tuning). So errors count equally at every strength of dependence.

    Examples
    --------
    >>> weights([0.5, 0.1, 0.2])
    array([0.65, 0.15, 0.2 ])
    """
    values = np.asarray(mic_star, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    ends = np.concatenate(([0.0], (ordered[1:] + ordered[:-1]) / 2, [1.0]))
    result = np.empty_like(values)
    result[order] = np.diff(ends)
    return result


def wsum(errors: ArrayLike, mic_star: ArrayLike) -> Floats:
    """Return the weighted sum of mean absolute errors over distributions, the first axis."""
    return np.asarray(np.tensordot(weights(mic_star), np.asarray(errors), axes=1))


def values_wsum(values: Floats, targets: Floats) -> float:
    """Return WSUM of values [distribution, iteration]."""
    return float(wsum(np.abs(values - targets[:, None]).mean(axis=1), targets))


def expected_error(scores: ArrayLike, target: ArrayLike, scale: float) -> Floats:
    """Return E|V - target| for V = score + Laplace(scale), clipped to [0, 1].

    It is the integral of P(V <= u) from 0 to the target and of P(V > u) from there to 1.
    A(z) = max(z, 0) + scale / 2 exp(-|z| / scale) is an antiderivative of the noise's distribution
    function. A scale of 0 means no noise.

    Examples
    --------
    >>> round(float(expected_error(0.5, 0.5, 0.01)), 4), float(expected_error(0.3, 0.5, 0.0))
    (0.01, 0.2)
    """
    s, t = np.asarray(scores, np.float64), np.asarray(target, np.float64)
    if scale == 0:
        return np.abs(s - t)

    def integral(z: Floats) -> Floats:
        return np.asarray(np.maximum(z, 0.0) + scale / 2 * np.exp(-np.abs(z) / scale))

    here = integral(t - s)
    return np.asarray(here - integral(-s) + (1 - t) - (integral(1 - s) - here))


@dataclass(frozen=True, slots=True)
class Sizes:
    """The candidates: pairs of B and c."""

    micr: tuple[tuple[float, float], ...]
    mice: tuple[tuple[float, float], ...]

    @classmethod
    def upto(cls, n: int, *, cells: Sequence[float], fineness: Sequence[float]) -> Sizes:
        """Leave out candidates too large for n records: many more cells only fit noise."""
        most = max(20.0, 2 * n**0.7)
        pairs = {(float(B), float(c)) for c in fineness for B in cells if most >= B}
        # The paper tried c = 5 and B up to 150, for all n.
        paper = {(float(B), 5.0) for B in cells if B <= 150}
        return cls(tuple(sorted(pairs | paper)), tuple(sorted(pairs)))

    def mice_choices(self) -> list[Choice]:
        """Return every number of columns for every pair of B and c."""
        return [Choice(B, c, l) for B, c in self.mice for l in _columns(B)]


def mic_stars(run: Run, distributions: Distributions) -> Floats:
    """Return MIC* of every distribution."""
    tasks = [Task(f"mic_star|{q.name}", _mic_star, (q, *STAR_GRID)) for q in distributions]
    return np.array([float(result["mic_star"]) for result in run.results("MIC*", tasks)])


def _mic_star(
    _: np.random.Generator, distribution: NoisyFunction, master: int, columns: int
) -> Arrays:
    return {"mic_star": np.array(mic_star(distribution, master=master, columns=columns))}


def scores(
    run: Run, distributions: Distributions, n: int, iterations: int, sizes: Sizes
) -> tuple[Scores, Scores]:
    """Return the scores [distribution, iteration] of MICr and of MICe for every choice."""
    tasks = [
        Task(f"scores|{q.name}|{n}|{iterations}|{sizes}", _scores, (q, n, iterations, sizes))
        for q in distributions
    ]
    results = run.results(f"scores, n = {n}", tasks)
    by_range = np.stack([result["micr"] for result in results], axis=1)
    by_mass = np.stack([result["mice"] for result in results], axis=1)
    return (
        dict(zip([Choice(*pair) for pair in sizes.micr], by_range, strict=True)),
        dict(zip(sizes.mice_choices(), by_mass, strict=True)),
    )


def _scores(
    rng: np.random.Generator, distribution: NoisyFunction, n: int, iterations: int, sizes: Sizes
) -> Arrays:
    """Return scores [choice, iteration]."""
    by_range, by_mass = [], []
    for _ in range(iterations):
        points = distribution.sample(n, rng)
        by_range.append([micr(points, SQUARE, Choice(*pair)) for pair in sizes.micr])
        axes = ranked(points, rng)
        by_mass.append([best for pair in sizes.mice for best in _by_lmax(axes, *pair)])
    return {"micr": np.array(by_range).T, "mice": np.array(by_mass).T}


def capped_scores(
    run: Run, distributions: Distributions, n: int, iterations: int, axes: Axes = "any"
) -> Mapping[float, Floats]:
    """Return the scores [distribution, iteration] of capped information for every cap."""
    tasks = [
        Task(f"capped|{q.name}|{n}|{iterations}|{axes}", _capped, (q, n, iterations, axes))
        for q in distributions
    ]
    results = run.results(f"capped scores, n = {n}", tasks)
    return dict(zip(CAPS, np.stack([r["scores"] for r in results], axis=1), strict=True))


def _capped(
    rng: np.random.Generator, distribution: NoisyFunction, n: int, iterations: int, axes: Axes
) -> Arrays:
    """Return scores [cap, iteration]."""
    samples = [distribution.sample(n, rng) for _ in range(iterations)]
    return {"scores": np.array([micc(points, SQUARE, CAPS, axes) for points in samples]).T}


def _columns(B: float) -> list[int]:
    return [l for l in COLUMNS if 2 * l <= B]


def _by_lmax(axes: RankedAxes, B: float, c: float) -> list[float]:
    """Read MICe for every lmax from one matrix: no master depends on lmax."""
    entries = matrix(axes, Limits(B, c, "reshef"))
    return [float(np.nanmax(entries[: l - 1, : l - 1])) for l in _columns(B)]


def perturbed(
    run: Run, distributions: Distributions, n: int, iterations: int, tried: Sequence[Perturbed]
) -> Mapping[Perturbed, Floats]:
    """Return values [distribution, iteration] of mechanisms that perturb counts."""
    kinds = tuple(tried)
    tasks = [
        Task(f"perturbed|{q.name}|{n}|{iterations}|{kinds}", _perturbed, (q, n, iterations, kinds))
        for q in distributions
    ]
    results = run.results(f"noisy counts, n = {n}", tasks)
    return dict(zip(kinds, np.stack([r["values"] for r in results], axis=1), strict=True))


def _perturbed(
    rng: np.random.Generator,
    distribution: NoisyFunction,
    n: int,
    iterations: int,
    tried: Sequence[Perturbed],
) -> Arrays:
    """Return values [mechanism, iteration]."""
    values = []
    for _ in range(iterations):
        points = distribution.sample(n, rng)
        values.append([float(kind.values(points, SQUARE, 1, rng)[0]) for kind in tried])
    return {"values": np.array(values).T}


def laplace_wsums(
    tried: Mapping[Key, Floats], targets: Floats, scales: Mapping[Key, float]
) -> dict[Key, float]:
    """Return WSUM of score plus Laplace noise for every choice."""
    return {
        choice: float(
            wsum(expected_error(found, targets[:, None], scales[choice]).mean(axis=1), targets)
        )
        for choice, found in tried.items()
    }


def cheapest(wsums: Mapping[Choice, float]) -> Choice:
    """Return the fastest of the choices that are as good as the best."""
    enough = min(wsums.values()) * (1 + TOLERANCE)
    good = (choice for choice in wsums if wsums[choice] <= enough)
    return min(good, key=lambda choice: (choice.cost, wsums[choice]))
