"""Attack a mechanism: an empirical lower bound on its privacy loss.

The attack runs a mechanism many times on two neighbouring datasets. Half of the runs choose the
event that separates the datasets best, the other half bound its probabilities. The logarithm of
their ratio is a lower bound on epsilon. If it exceeds the claimed epsilon, the claim is false. If
not, nothing is proved: another attack may find more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate
from dpmic._validate import Categories, Domain
from dpmic.data import find, pair, read
from dpmic.errors import ParameterError, with_code
from dpmic.privacy._geometric import MICrGeometric
from dpmic.privacy._laplace import CappedLaplace, FixedGridMechanism
from dpmic.privacy._mechanism import Mechanism
from dpmic.results import AuditBound

__all__ = ["Neighbours", "Sampler", "audit"]

Floats = NDArray[np.float64]
Points = tuple[Floats, Floats]
Neighbours = tuple[Points, Points]
Event = tuple[str, float]

LEAST_RUNS = 1_000
CONFIDENT = "pass `confidence=0.999`"
TRIALS, CAPPED_TRIALS = 2_000, 100
"""The most steps of the search for a worst case; steps of capped scores take longer."""
ATTAINED = 1 - 1e-6
"""The search stops at this share of the sensitivity, the largest possible change."""
WEIGHTED = "sum of the noisy counts, weighted by their differences,"
"""The statistic of the attack if the output is a histogram."""


class Sampler(Protocol):
    """Anything that claims an epsilon and can run many times on one dataset."""

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
    """Attack a mechanism and try to disprove its epsilon.

    "Not disproved" means only that this attack failed. Only a proof can show that a claim is true.

    Parameters
    ----------
    mechanism : Mechanism or Sampler
        A mechanism of dpmic, or any object with ``name``, ``epsilon`` and ``draws(x, y, runs)``.
    n : int
        The number of records in the artificial datasets, for a mechanism of dpmic.
    runs : int
        The number of runs on each of the two datasets.
    confidence : float
        The confidence level of the bound.
    neighbours : ((x, y), (x, y)), optional
        Two datasets that differ in one person's rows; required for a Sampler. By default a search
        finds two whose scores differ as much as possible.

    Returns
    -------
    AuditBound
        The true epsilon is at least ``bound.lower``, with the given confidence.
        ``bound.disproved`` is whether that exceeds ``bound.claimed``; ``bound.verdict`` is the
        conclusion in words.

    Examples
    --------
    >>> import dpmic
    >>> mechanism = dpmic.privacy.MICrLaplace(1.0, ((0, 1), (0, 1)))
    >>> bound = dpmic.audit(mechanism, runs=2000)
    >>> bound.disproved
    False
    >>> bound.verdict
    'not disproved: epsilon is at least 0... with 99.9% confidence'
    """
    runs = _validate.integer(runs, "runs", least=LEAST_RUNS)
    confidence = _validate.real(confidence, "confidence")
    miss = 1 - confidence
    if not 0 < miss < 1:
        raise ParameterError(
            f"confidence = {confidence!r}", "it must lie between 0 and 1", with_code(CONFIDENT)
        )
    if neighbours is None:
        if not isinstance(mechanism, Mechanism):
            raise ParameterError(
                "neighbours = None", "a Sampler has no known worst case", "pass two datasets"
            )
        neighbours = _worst_case(mechanism, n)
    first, second = _outputs(mechanism, neighbours, runs)
    half = runs // 2
    event, swapped = _most_telling(first[:half], second[:half], miss)
    likely, unlikely = (second, first) if swapped else (first, second)
    found = _log_ratio(
        _hits(likely[half:], event), _hits(unlikely[half:], event), runs - half, miss
    )
    lower = max(found, 0.0)  # a loss is never negative
    side = "second" if swapped else "first"
    output = WEIGHTED if isinstance(mechanism, MICrGeometric) else "output"
    text = f"{output} {event[0]} {event[1]:.6g}, likelier on the {side} dataset"
    return AuditBound(mechanism.name, mechanism.epsilon, lower, confidence, runs, text)


def _outputs(
    mechanism: Mechanism | Sampler, neighbours: Neighbours, runs: int
) -> tuple[Floats, Floats]:
    """Run a mechanism many times on both datasets."""
    if isinstance(mechanism, MICrGeometric):
        return _weighed_counts(mechanism, neighbours, runs)
    first, second = (_draws(mechanism, points, runs) for points in neighbours)
    return first, second


def _draws(mechanism: Mechanism | Sampler, points: Points, runs: int) -> Floats:
    """Run a mechanism many times. Scores on fixed grids are deterministic: computed once."""
    if not isinstance(mechanism, Mechanism):
        return mechanism.draws(*points, runs)
    source = find(*points)
    setting, columns = mechanism.setting(source.n), read(source)
    score = mechanism.score(columns, setting)
    outputs = np.empty(runs)
    for i in range(runs):
        if not isinstance(mechanism, FixedGridMechanism):
            score = mechanism.score(columns, setting)
        outputs[i] = mechanism.publish(score, source, setting).value
    return outputs


def _weighed_counts(
    mechanism: MICrGeometric, neighbours: Neighbours, runs: int
) -> tuple[Floats, Floats]:
    """Return one number per run that separates the datasets best.

    Counts that agree in both datasets carry no information. If a record moves from a full cell to
    an empty one, the likelihood ratio of the two noisy counts grows with their difference.
    """
    setting = mechanism.setting(neighbours[0][0].size)
    exact = [mechanism.score(pair(*points), setting) for points in neighbours]
    weights = exact[0] - exact[1]
    first, second = (
        np.array([np.sum(weights * mechanism.draw(counts, setting)) for _ in range(runs)], float)
        for counts in exact
    )
    return first, second


def _hits(outputs: Floats, event: Event) -> int:
    kind, threshold = event
    return int(np.sum(outputs <= threshold if kind == "<=" else outputs >= threshold))


def _most_telling(first: Floats, second: Floats, miss: float) -> tuple[Event, bool]:
    """Return the event with the largest estimated log ratio, and whether it favours the second.

    Bounds are corrected for the number of events, or a rare event would sometimes win by chance.
    """
    thresholds = np.unique(np.quantile(np.concatenate((first, second)), np.linspace(0, 1, 101)))
    candidates = [(kind, float(t)) for kind in ("<=", ">=") for t in thresholds]
    best, chosen = -math.inf, (candidates[0], False)
    for event in candidates:
        a, b = _hits(first, event), _hits(second, event)
        for likely, unlikely, swapped in ((a, b, False), (b, a, True)):
            ratio = _log_ratio(likely, unlikely, first.size, miss / len(candidates))
            if ratio > best:
                best, chosen = ratio, (event, swapped)
    return chosen


def _log_ratio(likely: int, unlikely: int, runs: int, miss: float) -> float:
    """Return a lower bound on log(p / q): each side may be missed with probability miss / 2.

    These are Clopper and Pearson's bounds, from quantiles of the beta distribution. The root search
    of scipy's binomtest has too coarse an absolute tolerance for rare events.
    """
    from scipy.special import betaincinv

    p = betaincinv(likely, runs - likely + 1, miss / 2) if likely else 0.0
    q = betaincinv(unlikely + 1, runs - unlikely, 1 - miss / 2) if unlikely < runs else 1.0
    return math.log(p / q) if p > 0 else -math.inf


def _start(mechanism: Mechanism, n: int, lattices: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return two datasets that attain the proved bounds.

    MICr and histograms: all records in one corner, and one person's moved to the opposite corner.
    Capped scores: half of the records in each of two opposite corners, and one person's moved along
    one axis. For MICe, no such datasets are known.
    """
    rows = min(mechanism.rows_per_person, n)
    ends = np.array([[lattice[0], lattice[-1]] for lattice in lattices])
    if isinstance(mechanism, CappedLaplace):
        first = ends[:, (np.arange(n) >= n // 2).astype(int)]
        second = first.copy()
        second[1, :rows] = ends[1, 1]
    else:
        first = np.repeat(ends[:, :1], n, axis=1)
        second = first.copy()
        second[:, :rows] = ends[:, 1:]
    return first, second


def _lattice(domain: Domain) -> Floats:
    """Return values of a column with at least one in every cell of small grids."""
    if isinstance(domain, Categories):
        return np.arange(float(len(domain)))
    return np.linspace(*domain, 13)


def _worst_case(mechanism: Mechanism, n: int) -> Neighbours:
    """Search by hill climbing for two datasets, one person apart, whose scores differ most.

    Coordinates come from a lattice within the bounds, which reaches every cell of small grids. For
    MICe only ranks matter, so any coordinates will do.
    """
    rng = np.random.default_rng(0)  # for the attack, not for noise
    setting, rows = mechanism.setting(n), min(mechanism.rows_per_person, n)
    if isinstance(mechanism, FixedGridMechanism | MICrGeometric):
        lattices = [_lattice(own) for own in mechanism.bounds]
        first, second = _start(mechanism, n, lattices)
    else:
        lattices = [rng.random(1_000_000)] * 2
        first = rng.random((2, n))
        second = first.copy()

    if isinstance(mechanism, MICrGeometric):
        return (first[0], first[1]), (second[0], second[1])

    def gap(a: Floats, b: Floats) -> float:
        scores = [mechanism.score(pair(*points), setting) for points in (a, b)]
        return float(abs(scores[0] - scores[1]))

    widest = gap(first, second)
    for _ in range(CAPPED_TRIALS if isinstance(mechanism, CappedLaplace) else TRIALS):
        if widest >= setting.sensitivity * ATTAINED:
            break
        a, b = first.copy(), second.copy()
        record, axis = rng.integers(n), rng.integers(2)
        b[axis, record] = rng.choice(lattices[axis])
        if record >= rows:
            a[axis, record] = b[axis, record]  # other people's rows agree
        elif rng.random() < 0.5:
            a[axis, record] = rng.choice(lattices[axis])
        tried = gap(a, b)
        if tried >= widest:
            first, second, widest = a, b, tried
    return (first[0], first[1]), (second[0], second[1])
