"""Attack a mechanism: an empirical lower bound on its privacy loss.

A mechanism is run many times on two neighbouring datasets that it should hardly tell apart. On
one half of the runs the most telling event is chosen, on the other half its probabilities are
bounded. The logarithm of their ratio is a lower bound on epsilon; above the claimed epsilon it
would disprove the claim.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate
from dpmic.errors import ParameterError
from dpmic.frames import Pair
from dpmic.privacy.mechanisms import Mechanism, MICrLaplace
from dpmic.results import AuditBound

__all__ = ["Neighbours", "Sampler", "audit"]

Floats = NDArray[np.float64]
Points = tuple[Floats, Floats]
Neighbours = tuple[Points, Points]
Event = tuple[str, float]

LEAST_RUNS = 1_000


class Sampler(Protocol):
    """Anything that claims an epsilon and can be run many times on one dataset."""

    name: str
    epsilon: float

    def draws(self, x: Floats, y: Floats, runs: int) -> Floats:
        """Return the outputs of independent runs."""


def audit(
    mechanism: Mechanism | Sampler,
    *,
    n: int = 25,
    runs: int = 100_000,
    confidence: float = 0.999,
    neighbours: Neighbours | None = None,
) -> AuditBound:
    """Try to disprove a mechanism's epsilon.

    Parameters
    ----------
    mechanism : Mechanism or Sampler
        One of ours, or any object with ``name``, ``epsilon`` and ``draws(x, y, runs)``.
    n : int
        Records in the datasets that are made for a mechanism of ours.
    runs : int
        Runs on each of the two datasets, half of which choose the event.
    confidence : float
        The probability that the bound is true.
    neighbours : ((x, y), (x, y)), optional
        Two datasets that differ in one record; needed for a Sampler. By default those that
        change the mechanism's score most, or nearly.

    Returns
    -------
    AuditBound
        ``bound.lower`` is at most ``bound.claimed`` unless the claim is false (or, with
        probability 1 - confidence, by chance).

    Examples
    --------
    >>> import dpmic
    >>> mechanism = dpmic.privacy.MICrLaplace(1.0, ((0, 1), (0, 1)))
    >>> bound = dpmic.audit(mechanism, runs=2000)
    >>> bound.holds
    True
    """
    runs = _validate.whole(runs, "runs", least=LEAST_RUNS)
    miss = 1 - _validate.real(confidence, "confidence")
    if not 0 < miss < 1:
        raise ParameterError(f"confidence = {confidence!r}", "it is a probability", "pass 0.999")
    if neighbours is None:
        if not isinstance(mechanism, Mechanism):
            raise ParameterError("neighbours = None", "no worst case is known", "pass two datasets")
        neighbours = _worst_case(mechanism, n)
    first, second = (_draws(mechanism, points, runs) for points in neighbours)
    half = runs // 2
    event, swapped = _most_telling(first[:half], second[:half])
    likely, unlikely = (second, first) if swapped else (first, second)
    lower = _log_ratio(
        _hits(likely[half:], event), _hits(unlikely[half:], event), runs - half, miss
    )
    side = "second" if swapped else "first"
    text = f"output {event[0]} {event[1]:.6g}, likelier on the {side} dataset"
    return AuditBound(mechanism.name, mechanism.epsilon, lower, 1 - miss, runs, text)


def _draws(mechanism: Mechanism | Sampler, points: Points, runs: int) -> Floats:
    """Run a mechanism many times. MICr's score is no random variable: it is computed once."""
    if not isinstance(mechanism, Mechanism):
        return mechanism.draws(*points, runs)
    pair = Pair(*points, ("x", "y"))
    if isinstance(mechanism, MICrLaplace):
        draw = mechanism.seal(pair)
        return np.array([draw().value for _ in range(runs)])
    return np.array([mechanism.seal(pair)().value for _ in range(runs)])


def _hits(outputs: Floats, event: Event) -> int:
    kind, threshold = event
    return int(np.sum(outputs <= threshold if kind == "<=" else outputs >= threshold))


def _most_telling(first: Floats, second: Floats) -> tuple[Event, bool]:
    """Return the event with the largest estimated log ratio, and whether it favours the second.

    Estimates are Clopper-Pearson bounds too, so that rare events do not win by luck.
    """
    thresholds = np.unique(np.quantile(np.concatenate((first, second)), np.linspace(0, 1, 101)))
    candidates = [(kind, float(t)) for kind in ("<=", ">=") for t in thresholds]
    best, chosen = -math.inf, (candidates[0], False)
    for event in candidates:
        a, b = _hits(first, event), _hits(second, event)
        for likely, unlikely, swapped in ((a, b, False), (b, a, True)):
            ratio = _log_ratio(likely, unlikely, first.size, 0.05)
            if ratio > best:
                best, chosen = ratio, (event, swapped)
    return chosen


def _log_ratio(likely: int, unlikely: int, runs: int, miss: float) -> float:
    """Return a lower bound on log(p / q): each side may be missed with probability miss / 2."""
    from scipy.special import betaincinv

    p = betaincinv(likely, runs - likely + 1, miss / 2) if likely else 0.0
    q = betaincinv(unlikely + 1, runs - unlikely, 1 - miss / 2) if unlikely < runs else 1.0
    return math.log(p / q) if p > 0 else -math.inf


def _worst_case(mechanism: Mechanism, n: int) -> Neighbours:
    if isinstance(mechanism, MICrLaplace):
        return _opposite_corners(mechanism, n)
    return _climb(mechanism, n)


def _opposite_corners(mechanism: MICrLaplace, n: int) -> Neighbours:
    """All records in one corner, and one of them moved to the opposite: MICr changes by Delta."""
    (x0, x1), (y0, y1) = mechanism.bounds
    x, y = np.full(n, x0), np.full(n, y0)
    moved_x, moved_y = x.copy(), y.copy()
    moved_x[0], moved_y[0] = x1, y1
    return (x, y), (moved_x, moved_y)


def _climb(mechanism: Mechanism, n: int, *, trials: int = 2_000) -> Neighbours:
    """Climb towards n points in general position, one of them moved, whose scores differ most.

    Only ranks matter to MICe, so points are a permutation and a move is two new ranks.
    """
    limits = mechanism.setting(n).limits
    rng = np.random.default_rng(0)
    x, y = np.arange(float(n)), rng.permutation(n).astype(float)
    move = _random_move(n, rng)
    best, widest = _neighbours(x, y, move), -1.0
    for _ in range(trials):
        tried_y, tried_move = y.copy(), move
        if rng.random() < 0.5:
            i, j = rng.integers(n, size=2)
            tried_y[[i, j]] = tried_y[[j, i]]
        else:
            tried_move = _random_move(n, rng)
        candidate = _neighbours(x, tried_y, tried_move)
        first, second = (mechanism.score(*points, limits) for points in candidate)
        if abs(first - second) >= widest:
            best, widest, y, move = candidate, abs(first - second), tried_y, tried_move
    return best


def _random_move(n: int, rng: np.random.Generator) -> tuple[int, float, float]:
    """Return which record moves, and to where between the other ranks."""
    return int(rng.integers(n)), rng.integers(n + 1) - 0.5, rng.integers(n + 1) - 0.5


def _neighbours(x: Floats, y: Floats, move: tuple[int, float, float]) -> Neighbours:
    record, new_x, new_y = move
    moved_x, moved_y = x.copy(), y.copy()
    moved_x[record], moved_y[record] = new_x, new_y
    return (x, y), (moved_x, moved_y)
