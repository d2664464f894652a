"""The synthetic evaluation: bias, variance and WSUM over the 189 distributions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpmic.evaluation.jobs import Arrays, Run, Task
from dpmic.evaluation.plans import Group, outputs, plan, rows
from dpmic.evaluation.relationships import NoisyFunction
from dpmic.evaluation.scoring import SQUARE
from dpmic.evaluation.tables import ORDER, Table
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
        for (mechanism, epsilon), values in _all(run, distributions, n, iterations, epsilons):
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


def _all(
    run: Run,
    distributions: Sequence[NoisyFunction],
    n: int,
    iterations: int,
    epsilons: Sequence[float],
) -> list[tuple[tuple[str, float], Floats]]:
    """Return the outputs [distribution, iteration] of every contender, in the order of tables."""
    found: dict[tuple[str, float], Floats] = {}
    for entries in plan(n, epsilons):
        values = _values(run, distributions, n, iterations, entries)
        for i, row in enumerate(rows(entries)):
            found.setdefault(row, values[:, i])
    return sorted(found.items(), key=lambda item: (-item[0][1], ORDER[item[0][0]]))


def _values(
    run: Run,
    distributions: Sequence[NoisyFunction],
    n: int,
    iterations: int,
    entries: Group,
) -> Floats:
    """Return outputs [distribution, row, iteration], with a new sample for each iteration."""
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
    entries: Group,
) -> Arrays:
    each = [
        outputs(entries, distribution.sample(n, rng), SQUARE, 1, rng)[:, 0]
        for _ in range(iterations)
    ]
    return {"values": np.stack(each, axis=1)}
