"""The distance of a default release from MIC*: the table behind :func:`dpmic.plan`.

Every n and epsilon is simulated with the grids, the noise and the calibration that a release
without options has. Errors are weighted as in WSUM, over all distributions. Only MICr is scored on
linear axes alone: on all scales it takes sixteen times as long, and on relationships that fill
their bounds, as these do, it scores nearly the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic.evaluation import simulation
from dpmic.evaluation.jobs import Arrays, Run, Task
from dpmic.evaluation.relationships import NoisyFunction
from dpmic.evaluation.scoring import (
    SQUARE,
    Choice,
    Points,
    RankedAxes,
    Setting,
    matrix,
    micc,
    micr,
    ranked,
    setting_of,
)
from dpmic.evaluation.tables import Table
from dpmic.evaluation.tuning import mic_stars, weights
from dpmic.parameters.tuned import Calibration
from dpmic.privacy import CappedLaplace, MICeLaplace, MICrGeometric, MICrLaplace

Floats = NDArray[np.float64]

EPSILONS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 1000.0)
"""The last is practically noiseless: it shows the errors that no epsilon can reduce."""
LEVEL = 0.9
"""The share of releases whose error does not exceed the reported upper quantile."""
DRAWS = 200
"""The number of equally likely parts of the noise, each represented by its mean."""
SPARING = 4
"""Noisy counts must be searched again for each draw, so they get so many times fewer samples."""
DIGITS = 6


@dataclass(frozen=True)
class Sampling:
    """What is simulated: the distributions, and for each n the number of samples of each."""

    distributions: tuple[NoisyFunction, ...]
    epsilon: tuple[float, ...]
    iterations: Mapping[int, int]


@dataclass(frozen=True)
class Outcomes:
    """Releases of one mechanism at one n and epsilon: [distribution, sample, draw]."""

    mechanism: str
    epsilon: float
    values: Floats
    estimates: Floats


@dataclass(frozen=True)
class _Default:
    """A release without options: score plus Laplace noise, clipped, and its calibration."""

    mechanism: str
    epsilon: float
    choice: Setting
    scale: float
    calibration: Calibration

    @classmethod
    def at(cls, kind: Callable[[float], Any], n: int, epsilon: float) -> _Default:
        mechanism = kind(epsilon)
        setting = mechanism.setting(n)
        choice = setting_of(setting.limits)
        return cls(mechanism.name, epsilon, choice, setting.noise.scale, setting.calibration)

    def outcomes(self, scores: Floats) -> Outcomes:
        """Add every part of the noise to every score [distribution, sample]."""
        values = np.clip(scores[..., None] + self.scale * strata(DRAWS), 0.0, 1.0)
        estimates = self.calibration.estimate(values, self.scale)
        return Outcomes(self.mechanism, self.epsilon, values, estimates)


Kind = Callable[[float], Any]
MATRICES: tuple[Kind, ...] = (
    lambda epsilon: MICrLaplace(epsilon, SQUARE, axes="linear", allow_large_epsilon=True),
    lambda epsilon: MICeLaplace(epsilon, allow_large_epsilon=True),
)
CAPPED: tuple[Kind, ...] = (
    lambda epsilon: CappedLaplace(epsilon, SQUARE, allow_large_epsilon=True),
)
"""Releases without options that are a score plus Laplace noise, by epsilon."""


def measure(run: Run, sampling: Sampling) -> Table:
    """Return a row of errors for every mechanism, n and epsilon."""
    targets = mic_stars(run, sampling.distributions)
    table = [
        {"mechanism": found.mechanism, "n": n, "epsilon": found.epsilon, **_errors(found, targets)}
        for n in sampling.iterations
        for simulate in SIMULATIONS
        for found in simulate(run, sampling, n)
    ]
    return sorted(table, key=lambda row: str(row["mechanism"]))


def constant(run: Run, distributions: Sequence[NoisyFunction]) -> dict[str, float]:
    """Return the errors of always answering 0.5."""
    targets = mic_stars(run, distributions)
    off = np.abs(0.5 - targets)
    shares = weights(targets)
    return {
        "mean": round(float(shares @ off), DIGITS),
        "upper": round(_quantile(off, shares), DIGITS),
    }


def largest_standard_error(rows: Table) -> float:
    """Return the largest Monte Carlo error of a mean, as a share of that mean."""
    shares = [row[f"{kind}_se"] / row[kind] for row in rows for kind in ("value", "estimate")]
    return round(float(max(shares)), 4)


def _errors(found: Outcomes, targets: Floats) -> dict[str, float]:
    """Return mean, upper quantile and the mean's Monte Carlo error, for values and estimates."""
    shares = weights(targets)
    row = {}
    for name, outputs in (("value", found.values), ("estimate", found.estimates)):
        off = np.abs(outputs - targets[:, None, None])
        each = off.mean(axis=2)
        row[name] = shares @ each.mean(axis=1)
        row[f"{name}_upper"] = _quantile(off, shares)
        # Samples are independent and distributions fixed, so variances of weighted means add up.
        variances = each.var(axis=1, ddof=1) / each.shape[1]
        row[f"{name}_se"] = np.sqrt(shares**2 @ variances)
    return {name: round(float(number), DIGITS) for name, number in row.items()}


def _quantile(off: Floats, shares: Floats) -> float:
    """Return the error that a share LEVEL of all do not exceed; the first axis has the weights."""
    flat = off.reshape(len(shares), -1)
    each = np.broadcast_to(shares[:, None] / flat.shape[1], flat.shape).ravel()
    order = np.argsort(flat, axis=None)
    reached = int(np.searchsorted(np.cumsum(each[order]), LEVEL - 1e-9))
    return float(flat.ravel()[order[reached]])


def strata(count: int) -> Floats:
    """Return the means of ``count`` (even) equally likely parts of Laplace noise of scale 1.

    With means, unlike medians, nothing of the tails is lost: the mean of the absolute values is 1,
    like that of the noise.

    Examples
    --------
    >>> strata(4).round(3)
    array([-1.693, -0.307,  0.307,  1.693])
    """
    left = 1 - np.linspace(0, 1, count // 2 + 1)
    # -log(1 - p), the exponential's quantile, has (1 - p) log(1 - p) + p as antiderivative.
    product = left * np.log(np.where(left > 0, left, 1.0))
    upper = np.diff(product - left) * (count // 2)
    return np.concatenate((-upper[::-1], upper))


def _matrices(run: Run, sampling: Sampling, n: int) -> Iterator[Outcomes]:
    return _laplace(run, "errors", sampling, (n, sampling.iterations[n]), MATRICES)


def _capped(run: Run, sampling: Sampling, n: int) -> Iterator[Outcomes]:
    return _laplace(run, "errors, capped", sampling, (n, halved(sampling.iterations[n])), CAPPED)


def halved(iterations: int) -> int:
    """Return the number of samples if every cap needs its own search."""
    return max(2, iterations // 2)


def _laplace(
    run: Run, stage: str, sampling: Sampling, effort: tuple[int, int], kinds: Sequence[Kind]
) -> Iterator[Outcomes]:
    """Simulate scores plus noise; a score depends on epsilon only through its parameters."""
    n, iterations = effort
    releases = [_Default.at(kind, n, epsilon) for kind in kinds for epsilon in sampling.epsilon]
    wanted = tuple(dict.fromkeys((one.mechanism, one.choice) for one in releases))
    tasks = [
        Task(f"{stage}|{q.name}|{n}|{iterations}", sample_scores, (q, n, iterations, wanted))
        for q in sampling.distributions
    ]
    found = np.stack([r["scores"] for r in run.results(f"{stage}, n = {n}", tasks)], axis=1)
    scores = dict(zip(wanted, found, strict=True))
    for one in releases:
        yield one.outcomes(scores[one.mechanism, one.choice])


def sample_scores(
    rng: np.random.Generator,
    distribution: NoisyFunction,
    n: int,
    iterations: int,
    wanted: Sequence[tuple[str, Setting]],
) -> Arrays:
    """Return scores [mechanism and parameters, sample]."""
    found = []
    for _ in range(iterations):
        points = distribution.sample(n, rng)
        axes = ranked(points, rng)
        found.append([_score(points, axes, *which) for which in wanted])
    return {"scores": np.array(found).T}


def _score(points: Points, axes: RankedAxes, mechanism: str, choice: Setting) -> float:
    """Return the score of a mechanism, without noise."""
    if not isinstance(choice, Choice):
        return micc(points, SQUARE, (choice.cap,), "any")[0]
    if mechanism == MICrLaplace.name:
        return micr(points, SQUARE, choice)
    return float(np.nanmax(matrix(axes, choice.limits)))


def _geometric(run: Run, sampling: Sampling, n: int) -> Iterator[Outcomes]:
    """Simulate noisy histograms, which are searched again for every draw."""
    mechanisms = [
        MICrGeometric(epsilon, SQUARE, allow_large_epsilon=True) for epsilon in sampling.epsilon
    ]
    settings = [mechanism.setting(n) for mechanism in mechanisms]
    sizes = tuple(
        (mechanism.epsilon, (setting.m, setting.limits.B))
        for mechanism, setting in zip(mechanisms, settings, strict=True)
    )
    iterations = max(2, sampling.iterations[n] // SPARING)
    tasks = [
        Task(
            f"errors, noisy counts|{q.name}|{n}|{iterations}",
            sample_values,
            (q, n, iterations, sizes),
        )
        for q in sampling.distributions
    ]
    results = run.results(f"errors, noisy counts, n = {n}", tasks)
    found = np.stack([result["values"] for result in results], axis=1)[..., None]
    for mechanism, setting, values in zip(mechanisms, settings, found, strict=True):
        estimates = setting.calibration.estimate(values, 0.0)  # the values contain the noise
        yield Outcomes(mechanism.name, mechanism.epsilon, values, estimates)


def sample_values(
    rng: np.random.Generator,
    distribution: NoisyFunction,
    n: int,
    iterations: int,
    sizes: Sequence[tuple[float, tuple[int, float]]],
) -> Arrays:
    """Return values [epsilon, sample], with one draw per sample."""
    found = []
    for _ in range(iterations):
        points = distribution.sample(n, rng)
        found.append(
            [
                np.nanmax(simulation.histogram_matrix(points, SQUARE, size, epsilon, rng))
                for epsilon, size in sizes
            ]
        )
    return {"values": np.array(found).T}


SIMULATIONS: tuple[Callable[[Run, Sampling, int], Iterator[Outcomes]], ...] = (
    _capped,
    _matrices,
    _geometric,
)
"""Each function yields the outcomes of one kind of mechanism at every epsilon."""
