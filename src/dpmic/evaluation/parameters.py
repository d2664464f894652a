"""Tables of parameters: the paper's search, repeated, and ours over a wider range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic.evaluation import histograms, printed
from dpmic.evaluation.jobs import Run
from dpmic.evaluation.relationships import NoisyFunction
from dpmic.evaluation.scoring import SQUARE, Choice, Perturbed
from dpmic.evaluation.tables import Table
from dpmic.evaluation.tuning import (
    Scores,
    Sizes,
    capped_scores,
    cheapest,
    laplace_wsums,
    mic_stars,
    perturbed,
    scores,
    values_wsum,
    wsum,
)
from dpmic.parameters.tuned import Calibration
from dpmic.privacy import CappedLaplace, MICeLaplace, MICrLaplace, sensitivity

Floats = NDArray[np.float64]

PAPER_CELLS = (4.0, 6.0, 8.0, 10.0, 12.0, 20.0, 40.0, 60.0, 80.0, 100.0, 125.0, 150.0)
PARTS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)
GAIN = 0.05
"""A calibration is kept only if it gains more than this on the half it is fitted to,"""
DROWNED = 0.9
"""or if noise drowns everything: the plain one has over this share of the constant's error."""
BLIND = Calibration(0.0, 1.0, 5.0)
"""The calibration of scores lost in noise: always about 0.5."""
DIGITS = 6
SMALLER = (0.01, 0.03)
"""Further values of epsilon to tune for, at which capped scores are still informative."""
QUANTILES = 200
"""Equally likely values that represent Laplace noise if there is no closed form."""


@dataclass(frozen=True)
class Effort:
    """The range of the search, and the samples of each distribution."""

    distributions: tuple[NoisyFunction, ...]
    n: tuple[int, ...]
    epsilon: tuple[float, ...]
    cells: tuple[float, ...]
    fineness: tuple[float, ...]
    iterations: Mapping[int, int]


def published(run: Run, effort: Effort) -> Table:
    """Return the best (c, B) of the published mechanisms in the paper's range, and as printed.

    MICr-Lap with c = 5, MICr-Geom with c = 1 and 2, B between 4 and 150.
    """
    targets = mic_stars(run, effort.distributions)
    table = []
    for n in effort.n:
        if n not in printed.PARAMETERS["micr-lap", 1.0]:
            continue
        found, _ = _scores(run, effort, n)
        for epsilon in printed.EPSILONS:
            scale = sensitivity.micr_paper(n) / epsilon
            tried = {choice: own for choice, own in found.items() if _by_the_paper(choice)}
            sums = laplace_wsums(tried, targets, dict.fromkeys(tried, scale))
            table.append(_beside_print("micr-lap", n, epsilon, sums))
        noisy = _geometric(run, effort, n, targets)
        for epsilon in printed.EPSILONS:
            table.append(_beside_print("micr-geom", n, epsilon, noisy[epsilon]))
    return table


def _by_the_paper(choice: Choice) -> bool:
    return choice.c == 5 and choice.B in PAPER_CELLS


def _geometric(
    run: Run, effort: Effort, n: int, targets: Floats
) -> dict[float, dict[Choice, float]]:
    """Return WSUM of MICr-Geom as published for every epsilon and choice."""
    tried = [
        Perturbed("micr-geom", epsilon, B, c)
        for epsilon in printed.EPSILONS
        for c in (1.0, 2.0)
        for B in PAPER_CELLS
    ]
    found = perturbed(run, effort.distributions, n, effort.iterations[n], tried)
    sums: dict[float, dict[Choice, float]] = {epsilon: {} for epsilon in printed.EPSILONS}
    for kind, values in found.items():
        sums[kind.epsilon][Choice(kind.cells, kind.c)] = values_wsum(values, targets)
    return sums


def _beside_print(
    mechanism: str, n: int, epsilon: float, sums: Mapping[Choice, float]
) -> dict[str, Any]:
    best = min(sums, key=lambda choice: sums[choice])
    c, B = printed.PARAMETERS[mechanism, epsilon][n]
    return {
        "mechanism": mechanism,
        "n": n,
        "epsilon": epsilon,
        "c": best.c,
        "B": best.B,
        "wsum": sums[best],
        "printed_c": c,
        "printed_B": B,
        "printed_wsum": sums[Choice(float(B), float(c))],
    }


def tuned(run: Run, effort: Effort) -> Table:
    """Return our parameters for every n and epsilon, with the calibration of the estimate.

    B, c, lmax and m are chosen on all distributions. The calibration is fitted to functions of odd
    number; ``wsum_value`` and ``wsum_estimate`` are over the others.
    """
    targets = mic_stars(run, effort.distributions)
    odd = np.array([q.function % 2 == 1 for q in effort.distributions])
    table = []
    for n in effort.n:
        by_range, by_mass = _scores(run, effort, n)
        parts = _parts(run, effort, n, targets)
        noisy = _histograms(run, effort, n, targets, odd)
        table += capped_rows(run, effort, n, targets, odd)
        for epsilon in effort.epsilon:
            for mechanism, tried in (("micr-laplace", by_range), ("mice-laplace", by_mass)):
                scales = {choice: _scale(mechanism, n, epsilon, choice) for choice in tried}
                choice = cheapest(laplace_wsums(tried, targets, scales))
                fit = _Fit(tried[choice], targets, scales[choice])
                table.append(
                    {
                        "mechanism": mechanism,
                        "n": n,
                        "epsilon": epsilon,
                        "B": choice.B,
                        "c": choice.c,
                        "lmax": choice.lmax,
                        **fit.row(odd),
                    }
                )
            table.append({"mechanism": "noisy-table", "n": n, "epsilon": epsilon, **parts[epsilon]})
            table.append(
                {"mechanism": "micr-geometric", "n": n, "epsilon": epsilon, **noisy[epsilon]}
            )
    return table


def capped_rows(run: Run, effort: Effort, n: int, targets: Floats, odd: NDArray[np.bool_]) -> Table:
    """Return the best cap of "capped-laplace" for every epsilon, on axes of any scale."""
    found = capped_scores(run, effort.distributions, n, effort.iterations[n])
    table = []
    for epsilon in (*SMALLER, *effort.epsilon):
        scales = {cap: CappedLaplace(epsilon, SQUARE, cap).setting(n).noise.scale for cap in found}
        errors = laplace_wsums(found, targets, scales)
        cap = min(errors, key=lambda cap: errors[cap])
        own = {"mechanism": CappedLaplace.name, "n": n, "epsilon": epsilon, "cap": cap}
        table.append({**own, **_Fit(found[cap], targets, scales[cap]).row(odd)})
    return table


def _scores(run: Run, effort: Effort, n: int) -> tuple[Scores, Scores]:
    sizes = Sizes.upto(n, cells=effort.cells, fineness=effort.fineness)
    return scores(run, effort.distributions, n, effort.iterations[n], sizes)


def _scale(mechanism: str, n: int, epsilon: float, choice: Choice) -> float:
    """Return the noise scale of a release with these parameters."""
    if mechanism == "micr-laplace":
        return MICrLaplace(epsilon, SQUARE, B=choice.B, c=choice.c).setting(n).noise.scale
    mechanism_ = MICeLaplace(epsilon, B=choice.B, c=choice.c, lmax=choice.lmax)
    return mechanism_.setting(n).noise.scale


def _parts(run: Run, effort: Effort, n: int, targets: Floats) -> dict[float, dict[str, float]]:
    """Return the best size of the noisy table for every epsilon; the baseline gets its best."""
    tried = [Perturbed("noisy-table", e, float(parts)) for e in effort.epsilon for parts in PARTS]
    found = perturbed(run, effort.distributions, n, effort.iterations[n], tried)
    sums = {kind: values_wsum(values, targets) for kind, values in found.items()}
    best = {}
    for epsilon in effort.epsilon:
        kind = min((k for k in sums if k.epsilon == epsilon), key=lambda k: sums[k])
        best[epsilon] = {"parts": kind.cells, "wsum": round(sums[kind], DIGITS)}
    return best


def _histograms(
    run: Run, effort: Effort, n: int, targets: Floats, odd: NDArray[np.bool_]
) -> dict[float, dict[str, float]]:
    """Return the size of the noisy histogram, and its calibration, for every epsilon."""
    found = histograms.simulated(run, effort.distributions, n, effort.epsilon, effort.iterations[n])
    best = {}
    for epsilon in effort.epsilon:
        tried = {cut: values for (at, cut), values in found.items() if at == epsilon}
        cut = histograms.best_cut(tried, targets, odd)
        # The values contain the noise already.
        fit = _Fit(tried[cut], targets, 0.0)
        best[epsilon] = {"m": cut.m, "B": float(cut.B), **fit.row(odd)}
    return best


@dataclass(frozen=True)
class _Fit:
    """The search for a calibration: scores [distribution, iteration] and their MIC*.

    ``scale`` is that of the Laplace noise to add, or 0 if the scores contain their noise.
    """

    scores: Floats
    targets: Floats
    scale: float

    def row(self, odd: NDArray[np.bool_]) -> dict[str, float]:
        """Fit to one half and evaluate on the other."""
        best = self._best(odd)
        return {
            "low": best.low,
            "high": best.high,
            "spread": best.spread,
            "wsum_value": round(self.error(None, ~odd), DIGITS),
            "wsum_estimate": round(self.error(best, ~odd), DIGITS),
        }

    def _best(self, half: NDArray[np.bool_]) -> Calibration:
        """Return the calibration with the smallest WSUM on one half of the distributions."""
        from scipy.optimize import minimize

        def ends(x: Floats) -> tuple[float, float, float]:
            return float(x[0]), float(x[0] + abs(x[1]) + 1e-3), float(abs(x[2]))

        def judged(x: Floats) -> float:
            return self.error(Calibration(*ends(x)), half)

        starts: Sequence[tuple[float, float, float]] = ((0.0, 1.0, 0.0), (0.2, 0.8, 0.05))
        found = min(
            (minimize(judged, start, method="Nelder-Mead") for start in starts),
            key=lambda result: float(result.fun),
        )
        plain, blind = self.error(Calibration(), half), self._constant(half)
        if not self.scale and found.fun > (1 - GAIN) * blind:
            return BLIND
        if found.fun > (1 - GAIN) * plain and plain < DROWNED * blind:
            return Calibration()
        return Calibration(*(round(number, 4) for number in ends(found.x)))

    def _constant(self, half: NDArray[np.bool_]) -> float:
        """Return WSUM of always answering 0.5."""
        targets = self.targets[half]
        return float(wsum(np.abs(0.5 - targets), targets))

    def error(self, calibration: Calibration | None, half: NDArray[np.bool_]) -> float:
        """Return WSUM of the value, or of the estimate, over one half of the distributions."""
        quantiles = QUANTILES if self.scale else 1
        shares = (np.arange(quantiles) + 0.5) / quantiles
        noise = -self.scale * np.sign(shares - 0.5) * np.log1p(-2 * np.abs(shares - 0.5))
        values = np.clip(self.scores[half][..., None] + noise, 0.0, 1.0)
        if calibration is not None:
            values = calibration.estimate(values, self.scale)
        targets = self.targets[half]
        return float(wsum(np.abs(values - targets[:, None, None]).mean(axis=(1, 2)), targets))
