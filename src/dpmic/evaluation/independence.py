"""The power of private tests of independence: dpmic's beside three others.

``write("docs/results")`` makes ``test_power.csv``, ``test_level.csv`` and ``test-power.svg`` in
some minutes. Power is simulated with a seed; for each sample the noise is averaged exactly, as if
there were infinitely many null draws. The level is that of the real release, without a seed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmic import _validate
from dpmic.evaluation import tables
from dpmic.evaluation.relationships import FUNCTIONS, noisy
from dpmic.evaluation.scoring import SQUARE, Points
from dpmic.evaluation.tables import Table
from dpmic.privacy import sensitivity
from dpmic.privacy.independence import RankTables, release_test
from dpmic.statistics.grids import MassAxis, steps
from dpmic.statistics.records import cell_counts
from dpmic.statistics.search import Search

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

ALPHA = 0.05
R_SQUARED = (0.1, 0.2, 0.3, 0.5, 0.8)
EPSILONS = (0.1, 1.0)
SAMPLES = {100: 10, 1000: 4, 10_000: 2}
"""Samples of each of the 21 functions at each R^2."""

POINTS = 64  # points of a grid that represents the unit interval
LEVEL_RUNS = {100: 2000, 1000: 2000, 10_000: 600}

# Okabe and Ito's palette, which is colour-blind safe
STYLES = {
    "rank-tables": ("release_test", "#0072B2", "-", "o"),
    "dphsic": ("dpHSIC", "#D55E00", "--", "s"),
    "chi-square": ("noisy table, chi-square", "#E69F00", "--", "D"),
    "mice": ("MICe plus noise", "#009E73", ":", "^"),
}


def tail(excess: ArrayLike, scale: float) -> Floats:
    """Return the probability that Laplace noise exceeds a number."""
    z = np.asarray(excess, np.float64) / scale
    return np.asarray(np.where(z > 0, np.exp(-np.abs(z)) / 2, 1 - np.exp(-np.abs(z)) / 2))


def threshold(null: ArrayLike, scale: float) -> float:
    """Return the threshold that a null score plus noise exceeds with probability ALPHA."""
    from scipy.optimize import brentq

    scores = np.asarray(null, np.float64)
    low, high = float(scores.min()) - 40 * scale, float(scores.max()) + 40 * scale
    return float(brentq(lambda least: np.mean(tail(least - scores, scale)) - ALPHA, low, high))


def _ranks(values: Floats) -> NDArray[np.int64]:
    return np.argsort(np.argsort(values))


class _OfRanks(ABC):
    """A score of ranks plus Laplace noise, whose null depends only on n."""

    @abstractmethod
    def scorer(self, n: int, epsilon: float) -> tuple[Callable[[Any, Any], float], float]:
        """Return the score and its sensitivity."""

    def rejections(
        self, samples: list[Points], epsilon: float, rng: np.random.Generator
    ) -> list[float]:
        """Return, for each sample, the probability over the noise that the test rejects."""
        n = samples[0][0].size
        score, change = self.scorer(n, epsilon)
        null = [score(np.arange(n), rng.permutation(n)) for _ in range(500)]
        least = threshold(null, change / epsilon)
        scores = np.array([score(_ranks(x), _ranks(y)) for x, y in samples])
        return list(tail(least - scores, change / epsilon))


@dataclass(frozen=True)
class RankTest(_OfRanks):
    """The test of :func:`dpmic.release_test`."""

    test = "rank-tables"

    def scorer(self, n: int, epsilon: float) -> tuple[Callable[[Any, Any], float], float]:
        """Return the score and its sensitivity."""
        ours = RankTables.planned(n, epsilon)
        return ours.statistic, ours.sensitivity


@dataclass(frozen=True)
class MICe(_OfRanks):
    """The largest entry of MICe's matrix, with at most l columns and l^2 cells."""

    lmax: int
    test = "mice"

    def scorer(self, n: int, epsilon: float) -> tuple[Callable[[Any, Any], float], float]:
        """Return the score and its sensitivity."""
        B = float(self.lmax**2)
        limits = replace(_validate.limits(n, alpha=1, B=B, c=5, atoms=n), lmax=self.lmax)
        ends, unused = np.arange(n + 1), np.zeros(n)

        def score(x: Any, y: Any) -> float:
            a, b = (MassAxis(rank.astype(np.int32), unused, ends) for rank in (x, y))
            return float(np.nanmax(Search.of(a, b, steps(limits)).matrix()))

        return score, sensitivity.mice(n, B, lmax=self.lmax)


@dataclass(frozen=True)
class HSIC:
    """dpHSIC of Kim and Schrab (2023): Gaussian kernels, with noise on every permuted statistic.

    The square root of the V-statistic changes by at most 4 (n - 1) / n^2 and gets noise of scale
    2 (4 (n - 1) / n^2) / epsilon. The bandwidth is 1, the default of their package.
    """

    bandwidth: float
    permutations: int = 40
    test = "dphsic"

    def rejections(
        self, samples: list[Points], epsilon: float, rng: np.random.Generator
    ) -> list[float]:
        """Return, for each sample, the probability over the noise that the test rejects."""
        n = samples[0][0].size
        scale = 2 * 4 * (n - 1) / n**2 / epsilon
        found = []
        for x, y in samples:
            first, second = self.features(x), self.features(y)
            second = second - second.mean(axis=0)
            null = [_norm(first, second[rng.permutation(n)]) / n for _ in range(self.permutations)]
            score = _norm(first, second) / n
            found.append(float(tail(threshold(null, scale) - score, scale)))
        return found

    def features(self, values: Floats) -> Floats:
        """Return vectors whose products are the kernel of values in [0, 1], to ten digits.

        So smooth a kernel is determined by its values on a grid (Nystrom), and has few dimensions.
        """
        grid = np.linspace(0, 1, POINTS)
        sizes, directions = np.linalg.eigh(self._kernel(grid, grid))
        kept = sizes > 1e-12 * sizes[-1]
        projected = self._kernel(values, grid) @ directions[:, kept]
        return np.asarray(projected / np.sqrt(sizes[kept]))

    def _kernel(self, x: Floats, y: Floats) -> Floats:
        return np.asarray(np.exp(-(((x[:, None] - y) / self.bandwidth) ** 2)))


def _norm(first: Floats, second: Floats) -> float:
    return float(np.linalg.norm(first.T @ second))


@dataclass(frozen=True)
class NoisyTable:
    """Chi-square of one noisy table between known bounds, with a null from its own margins.

    Every count gets two-sided geometric noise for epsilon / 2. The null is a parametric bootstrap:
    tables with independent margins and fresh noise. Its level is not exact.
    """

    parts: int
    bootstraps: int = 200
    test = "chi-square"

    def rejections(
        self, samples: list[Points], epsilon: float, rng: np.random.Generator
    ) -> list[float]:
        """Return, for each sample, whether the test rejects."""
        return [float(self._rejects(points, epsilon, rng)) for points in samples]

    def _rejects(self, points: Points, epsilon: float, rng: np.random.Generator) -> bool:
        n, k = points[0].size, self.parts
        counts = cell_counts(*points, SQUARE, k)[None]
        seen = counts + self._noise(counts.shape, epsilon, rng)
        rows, columns = self._margins(seen)
        due = (rows[0][:, None] * columns[0]).ravel()
        null = rng.multinomial(n, due / due.sum(), self.bootstraps).reshape(-1, k, k)
        null = null + self._noise(null.shape, epsilon, rng)
        value = self._chi_square(seen, n, epsilon)[0]
        over = np.count_nonzero(self._chi_square(null, n, epsilon) >= value)
        return bool((1 + over) / (self.bootstraps + 1) <= ALPHA)

    def _noise(self, shape: tuple[int, ...], epsilon: float, rng: np.random.Generator) -> Any:
        share = 1 - math.exp(-epsilon / 2)
        return rng.geometric(share, shape) - rng.geometric(share, shape)

    def _margins(self, table: Any) -> tuple[Floats, Floats]:
        """Return each table's margins as shares, with a tiny minimum."""
        found = []
        for axis in (2, 1):
            sums = np.maximum(table.sum(axis=axis), 1.0)
            found.append(sums / sums.sum(axis=1, keepdims=True))
        return found[0], found[1]

    def _chi_square(self, table: Any, n: int, epsilon: float) -> Floats:
        """Return squared distances from independence, divided by the variance of each count."""
        rows, columns = self._margins(table)
        due = n * rows[:, :, None] * columns[:, None, :]
        spread = 2 * (2 / epsilon) ** 2  # the variance of the noise
        return np.asarray(((table - due) ** 2 / (due + spread)).sum(axis=(1, 2)))


Contender = RankTest | MICe | HSIC | NoisyTable

CONTENDERS: tuple[Contender, ...] = (
    RankTest(),
    *(MICe(lmax) for lmax in (2, 3, 4)),
    *(NoisyTable(parts) for parts in (2, 3, 5, 8)),
    *(HSIC(bandwidth) for bandwidth in (1.0, 0.2)),
)


def powers(
    n: int, *, seed: int = 0, contenders: tuple[Contender, ...] = CONTENDERS, count: int = 1
) -> Iterator[dict[str, Any]]:
    """Yield the power of each contender at each epsilon and R^2, over all 21 functions."""
    rng = np.random.default_rng([seed, n])
    samples = {
        kept: [
            noisy(function, kept).sample(n, rng)
            for function in range(1, len(FUNCTIONS) + 1)
            for _ in range(count)
        ]
        for kept in R_SQUARED
    }
    for contender in contenders:
        for epsilon in EPSILONS:
            for kept, drawn in samples.items():
                found = contender.rejections(drawn, epsilon, rng)
                named = {"test": contender.test, "variant": repr(contender)}
                power = float(np.mean(found))
                yield {"n": n, "epsilon": epsilon, **named, "r_squared": kept, "power": power}


def best(rows: Table) -> Table:
    """Keep, of each test, the variant with the largest mean power at each n and epsilon.

    This favours the other tests, since the best variant is not known beforehand.
    """
    means: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    for row in rows:
        key = row["n"], row["epsilon"], row["test"]
        means.setdefault(key, {}).setdefault(row["variant"], []).append(row["power"])
    kept = {key: max(found, key=lambda v: sum(found[v])) for key, found in means.items()}
    return [row for row in rows if kept[row["n"], row["epsilon"], row["test"]] == row["variant"]]


def levels(n: int, epsilon: float, runs: int, *, seed: int = 0) -> dict[str, Any]:
    """Run the real test on independent columns, half of the time with many ties.

    The columns are seeded; the noise cannot be.
    """
    rng = np.random.default_rng([seed, n])
    values = np.empty(runs)
    for run in range(runs):
        x, y = rng.standard_cauchy(n), rng.random(n)
        if run % 2:
            x, y = np.floor(x), np.floor(5 * y)
        values[run] = release_test(x, y, epsilon=epsilon, draws=99).pvalue
    rejected = {f"at {alpha:g}": int(np.sum(values <= alpha)) for alpha in (0.01, 0.05, 0.5)}
    return {"n": n, "epsilon": epsilon, "runs": runs, **rejected, "mean": float(values.mean())}


def figure_of(rows: Table) -> Figure:
    """Draw power over R^2, a panel for each n and epsilon."""
    from matplotlib.figure import Figure

    sizes, losses = (sorted({row[name] for row in rows}) for name in ("n", "epsilon"))
    figure = Figure(figsize=(10.0, 5.6), layout="constrained")
    panels = figure.subplots(len(losses), len(sizes), sharex=True, sharey=True, squeeze=False)
    for epsilon, across in zip(losses, panels, strict=True):
        for n, ax in zip(sizes, across, strict=True):
            here = [row for row in rows if (row["n"], row["epsilon"]) == (n, epsilon)]
            for test, (label, colour, line, marker) in STYLES.items():
                points = [(row["r_squared"], row["power"]) for row in here if row["test"] == test]
                if points:
                    ax.plot(
                        *zip(*points, strict=True),
                        label=label,
                        color=colour,
                        linestyle=line,
                        marker=marker,
                    )
            ax.axhline(0.05, color="black", linewidth=0.6)
            ax.set_title(f"n = {n:,}, epsilon = {epsilon:g}")
            ax.set_ylim(0, 1.02)
    figure.supxlabel("R^2 of the relationship")
    figure.supylabel("power at 0.05")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    return figure


def write(folder: str | Path, *, seed: int = 0) -> None:
    """Measure level and power, and write tables and figure."""
    from dpmic.evaluation.figures import save

    there = Path(folder)
    power = best([row for n, count in SAMPLES.items() for row in powers(n, seed=seed, count=count)])
    tables.write(there / "test_power.csv", power)
    level = [levels(n, e, runs, seed=seed) for n, runs in LEVEL_RUNS.items() for e in EPSILONS]
    tables.write(there / "test_level.csv", level)
    save(figure_of(power), there, "test-power")
