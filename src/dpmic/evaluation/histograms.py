"""The search for the size of the noisy histogram, and of the grids made of its cells.

Noise in counts has no closed form, so every epsilon and every m is simulated. One matrix each
serves all B, because the master is always all cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmic.evaluation import simulation
from dpmic.evaluation.jobs import Arrays, Run, Task
from dpmic.evaluation.relationships import NoisyFunction
from dpmic.evaluation.scoring import SQUARE
from dpmic.evaluation.tuning import TOLERANCE, values_wsum, weights

Floats = NDArray[np.float64]

PARTS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48)
CELLS = (4, 6, 9, 12, 16, 24, 36, 64, 100, 144)


@dataclass(frozen=True, slots=True)
class Cut:
    """One candidate: m x m noisy cells, and grids of at most B of them."""

    m: int
    B: int


Simulated = Mapping[tuple[float, Cut], Floats]


def cuts(n: int) -> tuple[Cut, ...]:
    """Return the candidates for n records: many more cells than records hold only noise."""
    most = max(8.0, 2 * n**0.5)
    return tuple(Cut(m, B) for m in PARTS if m <= most for B in CELLS if m * m >= B)


def simulated(
    run: Run,
    distributions: Sequence[NoisyFunction],
    n: int,
    epsilons: Sequence[float],
    iterations: int,
) -> Simulated:
    """Return the plug-in MIC [distribution, iteration] for every epsilon and cut."""
    own, at = cuts(n), tuple(epsilons)
    tried = [(epsilon, cut) for epsilon in at for cut in own]
    tasks = [
        Task(f"histograms|{q.name}|{n}|{iterations}", _simulated, (q, n, at, own, iterations))
        for q in distributions
    ]
    results = run.results(f"noisy histograms, n = {n}", tasks)
    return dict(zip(tried, np.stack([r["values"] for r in results], axis=1), strict=True))


def _simulated(
    rng: np.random.Generator,
    distribution: NoisyFunction,
    n: int,
    epsilons: Sequence[float],
    tried: Sequence[Cut],
    iterations: int,
) -> Arrays:
    """Return values [epsilon and cut, iteration]."""
    sizes: dict[int, list[int]] = {}
    for cut in tried:
        sizes.setdefault(cut.m, []).append(cut.B)
    found = []
    for _ in range(iterations):
        points = distribution.sample(n, rng)
        found.append(
            [
                value
                for epsilon in epsilons
                for m, cells in sizes.items()
                for value in _by_cells(points, m, cells, epsilon, rng)
            ]
        )
    return {"values": np.array(found).T}


def _by_cells(
    points: tuple[Floats, Floats],
    m: int,
    cells: Sequence[int],
    epsilon: float,
    rng: np.random.Generator,
) -> list[float]:
    """Read the MIC for every B from the matrix of the largest B."""
    matrix = simulation.histogram_matrix(points, SQUARE, (m, max(cells)), epsilon, rng)
    parts = np.arange(2, matrix.shape[0] + 2)
    size = parts[:, None] * parts
    return [float(np.nanmax(matrix[size <= B])) for B in cells]


def best_cut(found: Mapping[Cut, Floats], targets: Floats, half: NDArray[np.bool_]) -> Cut:
    """Return the cut whose corrected value has the smallest error.

    The value of a noisy histogram is biased, and the bias depends on the cut. So each cut is judged
    by WSUM over all distributions after a straight line was fitted to one half of them. Among cuts
    as good as the best, the one whose uncorrected value has the smallest error is taken.
    """
    errors = {cut: _corrected(values, targets, half) for cut, values in found.items()}
    enough = min(errors.values()) * (1 + TOLERANCE)
    good = (cut for cut in errors if errors[cut] <= enough)
    return min(good, key=lambda cut: values_wsum(found[cut], targets))


def _corrected(values: Floats, targets: Floats, half: NDArray[np.bool_]) -> float:
    """Return WSUM of the weighted least-squares line from values to targets of one half."""
    own, wanted = values[half], np.broadcast_to(targets[half][:, None], values[half].shape)
    share = np.broadcast_to(weights(targets[half])[:, None], own.shape) / own.shape[1]
    mean, middle = float(np.sum(share * own)), float(np.sum(share * wanted))
    spread = float(np.sum(share * (own - mean) ** 2))
    slope = float(np.sum(share * (own - mean) * (wanted - middle))) / spread if spread > 0 else 0.0
    guess = np.clip(middle + slope * (values - mean), 0.0, 1.0)
    return values_wsum(guess, targets)
