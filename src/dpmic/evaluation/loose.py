"""The cost of bounds wider than the data, for each mechanism.

*Loose*: the 189 distributions with both axes stretched, shrunk or moved within their bounds. MIC*
depends only on ranks, so it does not change. *End to end*: real tables with bounds that a person
would write down from the meaning of the columns, not from the range of the data. *Scales*: what
axes of any scale cost where bounds fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from dpmic._validate import Interval
from dpmic.errors import DependencyError
from dpmic.evaluation import collections, real
from dpmic.evaluation.collections import Collection, Column
from dpmic.evaluation.jobs import Arrays, Run, Task
from dpmic.evaluation.plans import Group, outputs, plan_for_wide_bounds, rows
from dpmic.evaluation.relationships import NoisyFunction
from dpmic.evaluation.scoring import SQUARE, micc
from dpmic.evaluation.tables import Table
from dpmic.evaluation.tuning import expected_error, mic_stars, values_wsum, wsum
from dpmic.privacy import CappedLaplace
from dpmic.statistics.maps import Axes

Floats = NDArray[np.float64]

RUNS = 10
"""Noise draws per sample: scoring takes longer than drawing."""

EPSILONS_OF_SCALES = (0.02, 0.03, 0.1, 1.0)


@dataclass(frozen=True, slots=True)
class Shape:
    """An increasing map of [0, 1], and the bounds given for its values."""

    map: Callable[[Floats], Floats]
    interval: Interval


SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "fitting": Shape(lambda x: x, (0.0, 1.0)),
        "exp10": Shape(lambda x: np.exp(10 * x), (0.0, float(np.exp(10)))),
        "Cauchy": Shape(lambda x: np.clip(np.tan(np.pi * (x - 0.5)), -1e4, 1e4), (-1e4, 1e4)),
        "100 times too wide": Shape(lambda x: x, (0.0, 100.0)),
        "100 times too wide, both ways": Shape(lambda x: x, (-50.0, 50.0)),
        "shifted": Shape(lambda x: 37 + x, (0.0, 100.0)),
    }
)
"""How both axes lie within their bounds."""

FAIR: Mapping[str, Interval] = MappingProxyType(
    {
        "rate_marriage": (1, 5),
        "age": (16, 50),
        "yrs_married": (0, 30),
        "children": (0, 6),
        "religious": (1, 4),
        "educ": (8, 20),
        "occupation": (1, 6),
        "occupation_husb": (1, 6),
        "affairs": (0, 12),
    }
)
"""The bounds of ``dpmic demo``, which says where each comes from."""

LOG_RATIO: Interval = (-10.0, 10.0)
"""Spellman: a gene's activity relative to a reference, as log2; a factor of 1000 either way."""

COUNT: Interval = (0.0, 1000.0)
"""Baseball: a season has 162 games, and a player about four or five plate appearances in each."""

_KINDS: Mapping[Interval, str] = MappingProxyType(
    {
        (0.0, 5000.0): "PITCHES BALLS STRIKES",
        (0.0, 1.0): "AVG OBP BBr UBBr IBBR ABR HITR B1R B2R B3R HRr HBPR SFR SHR ROEr SOr OUTR "
        "NSOR LEADOFFR END_GAMER RUNR D_EqA",
        (0.0, 4.0): "SLG D_ISO TBP RBIR",
        (0.0, 100.0): "SO/BB DP% FB% GB% LD% POP% SB% PA% R1BI% R2BI% R3BI% OBI%",
        (0.0, 200.0): "D_BPF",
        (-10.0, 10.0): "D_MLVr D_PMLVr D_RPMLVr D_VORPr",
        (-200.0, 200.0): "D_MLV D_PMLV D_RPMLV D_VORP D_NETDP D_RAR D_RAP D_RARP",
    }
)
NOT_COUNTS: Mapping[str, Interval] = MappingProxyType(
    {name: interval for interval, names in _KINDS.items() for name in names.split()}
)
"""Baseball: pitches, about four per plate appearance; shares; bases or runs per plate appearance,
at most four; percentages and a ratio; a ballpark's index, 100 on average; runs above average, per
game and per season."""


def synthetic(
    run: Run,
    distributions: Sequence[NoisyFunction],
    n: int,
    epsilons: Sequence[float],
    iterations: int,
) -> Table:
    """Return WSUM of every contender for every shape of the two axes."""
    targets = mic_stars(run, distributions)
    (entries,) = plan_for_wide_bounds(n, epsilons)
    table: Table = []
    for name in SHAPES:
        tasks = [
            Task(
                f"loose|{q.name}|{name}|{n}|{iterations}|{entries}",
                _task,
                (q, name, n, iterations, entries),
            )
            for q in distributions
        ]
        results = run.results(f"loose, {name}", tasks)
        found = np.stack([result["values"] for result in results])
        table += [
            {
                "shape": name,
                "n": n,
                "mechanism": mechanism,
                "epsilon": epsilon,
                "wsum": values_wsum(found[:, i], targets),
            }
            for i, (mechanism, epsilon) in enumerate(rows(entries))
        ]
    return table


def _task(
    rng: np.random.Generator,
    distribution: NoisyFunction,
    shape: str,
    n: int,
    iterations: int,
    entries: Group,
) -> Arrays:
    """Return outputs [row, draw]."""
    how = SHAPES[shape]
    each = []
    for _ in range(iterations):
        x, y = distribution.sample(n, rng)
        points = how.map(x), how.map(y)
        each.append(outputs(entries, points, (how.interval, how.interval), RUNS, rng))
    return {"values": np.concatenate(each, axis=1)}


def scales(
    run: Run, distributions: Sequence[NoisyFunction], iterations: Mapping[int, int]
) -> Table:
    """Return WSUM of the default mechanism on linear axes and on those of any scale.

    Bounds fit, both kinds of axes have the same samples, and the noise is in closed form.
    """
    targets = mic_stars(run, distributions)
    table: Table = []
    for n, count in iterations.items():
        settings = {e: CappedLaplace(e, SQUARE).setting(n) for e in EPSILONS_OF_SCALES}
        caps = tuple(dict.fromkeys(setting.limits.cap for setting in settings.values()))
        tasks = [
            Task(f"scales|{q.name}|{n}|{count}|{caps}", _scales, (q, n, count, caps))
            for q in distributions
        ]
        results = run.results(f"scales of axes, n = {n}", tasks)
        found = np.stack([result["scores"] for result in results], axis=2)
        for mechanism, scores in zip(("ours-capped", "ours-any"), found, strict=True):
            for epsilon, setting in settings.items():
                own = scores[caps.index(setting.limits.cap)]
                errors = expected_error(own, targets[:, None], setting.noise.scale).mean(axis=1)
                row = {"n": n, "mechanism": mechanism, "epsilon": epsilon}
                table.append({**row, "wsum": float(wsum(errors, targets))})
    return table


def _scales(
    rng: np.random.Generator,
    distribution: NoisyFunction,
    n: int,
    iterations: int,
    caps: tuple[float, ...],
) -> Arrays:
    """Return scores [axes, cap, iteration]."""
    samples = [distribution.sample(n, rng) for _ in range(iterations)]
    kinds: tuple[Axes, ...] = ("linear", "any")
    by_kind = [[micc(points, SQUARE, caps, axes) for points in samples] for axes in kinds]
    return {"scores": np.array(by_kind).swapaxes(1, 2)}


def end_to_end(
    run: Run, epsilons: Sequence[float], iterations: int, every: Mapping[str, int]
) -> Iterator[Table]:
    """Yield a table for every collection, as :func:`dpmic.evaluation.real.measure` returns it."""
    for load in (fair, baseball, spellman):
        collection = load()
        groups = plan_for_wide_bounds(collection.n, epsilons)
        step = every.get(collection.name, 1)
        yield real.measure(run, collection, groups, iterations, every=step)


def summary(table: Table) -> Table:
    """Return the median and the mean error over the pairs of each collection."""
    found: dict[tuple[str, str, float], list[float]] = {}
    for row in table:
        found.setdefault((row["collection"], row["mechanism"], row["epsilon"]), []).append(
            row["error"]
        )
    sizes = {row["collection"]: row["n"] for row in table}
    return [
        {
            "collection": collection,
            "n": sizes[collection],
            "pairs": len(errors),
            "mechanism": mechanism,
            "epsilon": epsilon,
            "median_error": float(np.median(errors)),
            "mean_error": float(np.mean(errors)),
        }
        for (collection, mechanism, epsilon), errors in found.items()
    ]


def fair() -> Collection:
    """Return all pairs of answers in Fair's survey: 36 data sets of n = 6366."""
    try:
        from statsmodels.datasets import fair
    except ImportError:
        raise DependencyError(
            "statsmodels", "it ships Fair's survey", "pip install 'dpmic[demo]'"
        ) from None
    table = fair.load_pandas().data
    columns = tuple(
        Column(name, np.array(table[name], np.float64), interval) for name, interval in FAIR.items()
    )
    pairs = tuple(combinations(range(len(columns)), 2))
    return Collection("Fair", len(table), columns, pairs)


def baseball() -> Collection:
    """Return the paper's pairs of statistics, with bounds from the meaning of each statistic."""
    return _stated(collections.baseball(), lambda name: NOT_COUNTS.get(name, COUNT))


def spellman() -> Collection:
    """Return the paper's pairs of time points, with bounds for the logarithm of a ratio."""
    return _stated(collections.spellman4381(), lambda _: LOG_RATIO)


def _stated(collection: Collection, bounds: Callable[[str], Interval]) -> Collection:
    columns = (replace(column, interval=bounds(column.name)) for column in collection.columns)
    return replace(collection, columns=tuple(columns))
