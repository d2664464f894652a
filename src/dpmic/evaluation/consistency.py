"""Convergence to MIC*, which the paper proves but does not plot.

The link is the range-equicharacteristic matrix of the distribution itself: as n grows, the
sample's matrix converges to it, and as B grows, its largest entry converges to MIC*.
docs/consistency.md says what is proved and what is measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpmic.evaluation import simulation
from dpmic.evaluation.jobs import Arrays, Run, Task
from dpmic.evaluation.relationships import NoisyFunction, noisy
from dpmic.evaluation.scoring import SQUARE, Choice, Perturbed
from dpmic.evaluation.tables import Table
from dpmic.evaluation.tuning import mic_stars
from dpmic.privacy import sensitivity
from dpmic.statistics.population import range_matrix
from dpmic.statistics.search import Search

Floats = NDArray[np.float64]

RELATIONSHIPS = {
    "F12, a line": 12,
    "F13, a parabola": 13,
    "F16, a fast sine": 16,
    "F17, a step": 17,
    "F21, a needle": 21,
}
"""Label and number. F17 and F21 change within only a few cells of equal width."""

R_SQUARED = 0.7
ALPHA = 0.45
"""The theorems ask for B(n) = O(n^alpha) with alpha below 0.5."""

C = 5.0
DRAWS = 50
"""Noise draws of a mechanism per sample."""

LAPLACE = {"micr-lap eps=1": 1.0, "micr-lap eps=0.1": 0.1}
"""Statistic and epsilon."""

GEOMETRIC = "micr-geom eps=1 (not eps-DP)"
GEOMETRIC_DRAWS = 10
"""The same for the published mechanism; fewer, because it repeats its search for every draw."""

FITTED = 1000
"""Lines are fitted from this n on: the theorems hold for sufficiently large n."""

QUICK = {100: 3, 1000: 3, 10_000: 3}
FULL = {
    100: 100,
    316: 100,
    1000: 100,
    3162: 100,
    10_000: 100,
    31_623: 30,
    100_000: 20,
    316_228: 10,
    1_000_000: 5,
}
"""Records and iterations."""


class Rate(NamedTuple):
    """A difference between two matrices: its key, and the exponent in O(n^exponent log n)."""

    result: str
    exponent: float
    theorem: str


COMPARED = {
    "sample with distribution": Rate(
        "deviation",
        -(1 - ALPHA) / 2,
        "paper: O(n^-u) for some u > 0; "
        f"with these masters O(n^-{(1 - ALPHA) / 2:.3f} log n), so every u < (1 - alpha) / 2",
    ),
    "MICr-Geom (not epsilon-DP) with MICr": Rate(
        "added",
        -(1 - ALPHA),
        "paper: O((c / epsilon) n^-a) for some a > 0; by its proof every a < 1 - 2 alpha = "
        f"{1 - 2 * ALPHA:.3f}; "
        f"with these masters O(n^-{1 - ALPHA:.3f} log n), so every a < 1 - alpha",
    ),
}
"""The matrices compared entry by entry."""


@dataclass(frozen=True)
class Work:
    """One relationship at one n, and the number of its samples."""

    label: str
    distribution: NoisyFunction
    n: int
    iterations: int

    @property
    def choice(self) -> Choice:
        """B(n) = max(n^alpha, 4), and c."""
        return Choice(max(self.n**ALPHA, 4.0), C)

    @property
    def published(self) -> Perturbed:
        """MICr-Geom, with the c = 1 for which it was tuned."""
        return Perturbed("micr-geom", 1.0, self.choice.B, 1.0)

    def population(self) -> Task:
        """Return the task that computes the matrix of the distribution."""
        name, choice = self.distribution.name, self.choice
        return Task(f"range_matrix|{name}|{choice}", _population, (self.distribution, choice))

    def sampled(self, population: Floats) -> Task:
        """Return the task for the samples; its key determines the population's matrix too."""
        parts = (self.distribution.name, self.n, self.iterations, self.choice)
        noise = (LAPLACE, DRAWS, self.published, GEOMETRIC_DRAWS)
        return Task(
            "|".join(map(str, ("consistency", *parts, *noise))), _sampled, (self, population)
        )


def measure(run: Run, quick: bool, *, plan: Mapping[int, int] | None = None) -> tuple[Table, Table]:
    """Measure how MICr and its private versions converge to MIC*, and how fast.

    Parameters
    ----------
    run : Run
        Where results are kept.
    quick : bool
        Whether to measure only a few n and iterations.
    plan : mapping, optional
        Iterations for each n instead; at least two n must be 1000 or more.

    Returns
    -------
    consistency : list of dict
        For each relationship, n and statistic: B; the mean and the 10% and 90% quantiles over all
        samples and noise draws (None for the population, which does not vary); MIC* and the mean
        distance from it.
    error_rate : list of dict
        For each relationship, n and two matrices ``compared``: the largest difference of an
        entry, averaged over samples and draws; the fitted line (None below n = 1000, where
        nothing is fitted) and its slope on log axes; the proved exponent in O(n^exponent log n);
        and the theorem in words.
    """
    sizes = plan or (QUICK if quick else FULL)
    distributions = {label: noisy(i, R_SQUARED) for label, i in RELATIONSHIPS.items()}
    stars = dict(zip(distributions, mic_stars(run, list(distributions.values())), strict=True))
    works = [
        Work(label, q, n, iterations)
        for label, q in distributions.items()
        for n, iterations in sizes.items()
    ]
    found = run.results("population matrices", [work.population() for work in works])
    populations = [result["matrix"] for result in found]
    tasks = [work.sampled(p) for work, p in zip(works, populations, strict=True)]
    samples = run.results("consistency", tasks)
    consistency = [
        row
        for work, p, sample in zip(works, populations, samples, strict=True)
        for row in _rows(work, float(np.nanmax(p)), sample, float(stars[work.label]))
    ]
    return consistency, list(_rates(works, samples))


def _population(_: np.random.Generator, distribution: NoisyFunction, choice: Choice) -> Arrays:
    return {"matrix": range_matrix(distribution, SQUARE, choice.limits)}


def _sampled(rng: np.random.Generator, work: Work, population: Floats) -> Arrays:
    """Return MICr and its deviation [iteration]; private values and their deviation [.., draw]."""
    scores, deviations, published, added = [], [], [], []
    for _ in range(work.iterations):
        points = work.distribution.sample(work.n, rng)
        matrix = Search.by_range(*points, SQUARE, work.choice.limits).matrix()
        scores.append(np.nanmax(matrix))
        deviations.append(np.nanmax(np.abs(matrix - population)))
        published.append(work.published.values(points, SQUARE, GEOMETRIC_DRAWS, rng))
        kind = work.published
        search = kind.search(points, SQUARE)
        added.append(simulation.published_deviation(search, kind.epsilon, GEOMETRIC_DRAWS, rng))
    result = {"micr": np.array(scores), "deviation": np.array(deviations)}
    repeated = np.repeat(result["micr"][:, None], DRAWS, axis=1)
    for statistic, epsilon in LAPLACE.items():
        scale = sensitivity.micr(work.n, work.choice.B) / epsilon
        result[statistic] = simulation.clipped_laplace(repeated, scale, rng)
    return result | {GEOMETRIC: np.array(published), "added": np.array(added)}


def _rows(work: Work, limit: float, sample: Arrays, star: float) -> Iterator[dict[str, Any]]:
    """Yield the rows of one relationship and n."""
    values = {name: sample[name] for name in ("micr", *LAPLACE, GEOMETRIC)}
    for statistic, found in {**values, "population": np.array(limit)}.items():
        varies = statistic != "population"
        low, high = np.quantile(found, (0.1, 0.9)).tolist() if varies else (None, None)
        yield {
            "relationship": work.label,
            "n": work.n,
            "statistic": statistic,
            "B": work.choice.B,
            "mean": float(found.mean()),
            "low": low,
            "high": high,
            "mic_star": star,
            "error": float(np.abs(found - star).mean()),
        }


def _rates(works: Sequence[Work], samples: Sequence[Arrays]) -> Iterator[dict[str, Any]]:
    """Yield the mean differences of each relationship, with a line fitted at large n."""
    for compared, proved in COMPARED.items():
        for label in dict.fromkeys(work.label for work in works):
            measured = {
                work.n: float(sample[proved.result].mean())
                for work, sample in zip(works, samples, strict=True)
                if work.label == label
            }
            large = [n for n in measured if n >= FITTED]
            slope, start = np.polyfit(np.log(large), np.log([measured[n] for n in large]), 1)
            for n, mean in measured.items():
                yield {
                    "relationship": label,
                    "compared": compared,
                    "n": n,
                    "measured": mean,
                    "fitted": float(np.exp(start) * n**slope) if n >= FITTED else None,
                    "slope": float(slope),
                    "exponent": proved.exponent,
                    "theorem": proved.theorem,
                }
