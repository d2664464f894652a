"""The synthetic evaluation: bias, variance and WSUM over the 189 distributions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpmic.evaluation.jobs import Arrays, Run, Task
from dpmic.evaluation.plans import Entry, outputs, plan, rows
from dpmic.evaluation.relationships import NoisyFunction
from dpmic.evaluation.scoring import SQUARE
from dpmic.evaluation.tables import Table
from dpmic.evaluation.tuning import mic_stars, wsum

Floats = NDArray[np.float64]


def measure(
    run: Run,
    distributions: Sequence[NoisyFunction],
    sizes: Sequence[int],
    epsilons: Sequence[float],
    iterations: int,
) -> tuple[Table, Table]:
    """Return a row for each contender, n, epsilon and distribution, and their WSUM."""
    targets = mic_stars(run, distributions)
    table: Table = []
    sums: Table = []
    for n in sizes:
        entries = plan(n, epsilons)
        found = _values(run, distributions, n, iterations, entries)
        for i, (mechanism, epsilon) in enumerate(rows(entries)):
            values = found[:, i]
            error = np.abs(values - targets[:, None]).mean(axis=1)
            same = {"mechanism": mechanism, "n": n, "epsilon": epsilon}
            sums.append({**same, "wsum": float(wsum(error, targets))})
            table += [
                {
                    **same,
                    "distribution": q.name,
                    "mic_star": float(target),
                    "bias": float(own.mean() - target),
                    "variance": float(own.var()),
                    "error": float(mistake),
                }
                for q, target, own, mistake in zip(
                    distributions, targets, values, error, strict=True
                )
            ]
    return table, sums


def _values(
    run: Run,
    distributions: Sequence[NoisyFunction],
    n: int,
    iterations: int,
    entries: tuple[Entry, ...],
) -> Floats:
    """Return outputs [distribution, row, iteration], each iteration on a sample of its own."""
    tasks = [
        Task(f"synthetic|{q.name}|{n}|{iterations}|{entries}", _task, (q, n, iterations, entries))
        for q in distributions
    ]
    return np.stack([result["values"] for result in run.results(f"synthetic, n = {n}", tasks)])


def _task(
    rng: np.random.Generator,
    distribution: NoisyFunction,
    n: int,
    iterations: int,
    entries: tuple[Entry, ...],
) -> Arrays:
    each = [
        outputs(entries, distribution.sample(n, rng), SQUARE, 1, rng)[:, 0]
        for _ in range(iterations)
    ]
    return {"values": np.stack(each, axis=1)}
