"""Private matrices: the scores of all pairs under one guarantee.

Replacing one person's rows changes each score by at most Delta. The scores together get the
smallest noise that hides this change (``_joint_noise``). Proof:
docs/proofs/screening-and-matrices.md.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpmic import _validate
from dpmic.errors import ParameterError, with_code
from dpmic.privacy import _pairs
from dpmic.privacy._auto import Records
from dpmic.privacy._guards import (
    hides,
    noise_in_words,
    private,
    refuse_noisy_value,
    remind_of_bounds,
)
from dpmic.privacy._joint_noise import JointNoise, least_noise, of_value
from dpmic.privacy._laplace import CalibratedLaplace, FixedGridMechanism
from dpmic.privacy._pairs import PairOptions, Table
from dpmic.privacy.ledger import Ledger
from dpmic.privacy.query import Terms
from dpmic.results import PairwiseRelease
from dpmic.statistics.maps import Axes

__all__ = ["PairwiseQuery", "calibrate", "prepare", "release_pairwise"]

LEAST_DELTA, MOST_DELTA = 1e-30, 1e-3


@private
def release_pairwise(
    table: Any,
    *,
    bounds: Any = None,
    categories: Mapping[str, Any] | None = None,
    epsilon: float,
    delta: float = 0.0,
    target: str | int | None = None,
    mechanism: str = "auto",
    axes: Axes | None = None,
    cap: float | None = None,
    B: float | None = None,
    c: float | None = None,
    missing: Any = "refuse",
    complete: float | None = None,
    person: Any = None,
    rows_per_person: int = 1,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    name: str | None = None,
    allow_large_epsilon: bool = False,
    allow_noisy: bool = False,
) -> PairwiseRelease:
    """Publish the MIC of every pair of columns, under differential privacy.

    All pairs share epsilon, so the noise grows with their number. If only the strongest pairs
    matter, :func:`dpmic.screen` has far less noise.

    Parameters
    ----------
    table, bounds, epsilon, mechanism, axes, cap, B, c
        As for :func:`dpmic.screen`.
    delta : float
        By how much the probability of any set of results may change beyond the factor of
        e^epsilon: 0 for pure privacy, else at most 0.001 and below 1 / n. The noise is then
        Gaussian, unless that reduces it by less than 1%: then no delta is spent.
    target : str, optional
        Publish only the pairs of this column with others.
    categories, missing, complete, person, rows_per_person
        As for :func:`dpmic.screen`.
    ledger, dataset, name, allow_large_epsilon, allow_noisy
        As for :func:`dpmic.release`.

    Returns
    -------
    PairwiseRelease
        ``published.matrix`` has the values, with NaN on the diagonal, which is not released. A pair
        with a constant column gets 0 plus noise, like any other.

    Examples
    --------
    >>> import numpy as np, dpmic
    >>> x = np.random.default_rng(7).uniform(-1, 1, (5000, 3))
    >>> x[:, 2] = x[:, 1] ** 2
    >>> published = dpmic.release_pairwise(x, bounds=[(-1, 1)] * 3, epsilon=3.0)
    >>> published.value("1", "2") > 0.8 > published.value("0", "1")
    True
    """
    terms = Terms(
        epsilon=epsilon,
        person=person,
        rows_per_person=rows_per_person,
        missing=missing,
        complete=complete,
        categories=categories,
        ledger=ledger,
        dataset=dataset,
        name=name,
        allow_large_epsilon=allow_large_epsilon,
        allow_noisy=allow_noisy,
    )
    scored: dict[str, Any] = {"mechanism": mechanism, "axes": axes, "cap": cap, "B": B, "c": c}
    return prepare(table, terms, bounds=bounds, delta=delta, target=target, **scored).run()


@private
def prepare(
    table: Any,
    terms: Terms,
    *,
    bounds: Any = None,
    delta: float = 0.0,
    target: str | int | None = None,
    **scored: Any,
) -> PairwiseQuery:
    """Prepare the query for a matrix, from public facts alone; ``scored`` are PairOptions."""
    if terms.by is not None:
        reason = "all pairs of every group would have too much noise"
        raise ParameterError("by", reason, with_code("use `dpmic.screen`, or leave it out"))
    options = PairOptions(**scored)
    found = _pairs.find(table, terms, options, bounds=bounds, target=target)
    noises = calibrate(found, terms, options, len(found.pairs), delta)
    added = of_value(noises.noise)
    if hides(added):
        remedy = _remedy(found, terms.epsilon, noises.allowed_delta)
        refuse_noisy_value(added, found.size, terms.counted, terms.allow_noisy, remedy)
    remind_of_bounds()
    return PairwiseQuery(
        source=found.source,
        terms=terms,
        person=found.person,
        size=found.given,
        table=found,
        **vars(noises),
    )


@dataclass(frozen=True)
class MatrixNoise:
    """The mechanism of the pairs, and their joint noise."""

    mechanism: FixedGridMechanism
    setting: CalibratedLaplace
    allowed_delta: float
    noise: JointNoise


def calibrate(
    table: Table | Records, terms: Terms, options: PairOptions, count: int, delta: float
) -> MatrixNoise:
    """Return the noise of a matrix, from public facts alone."""
    allowed = _delta(delta, table.n)
    # The best grids depend on the noise, which is proportional to Delta.
    relative = of_value(least_noise(1.0, count, terms.epsilon, allowed)).mean
    mechanism, setting = options.calibrated(table, terms, 1 / relative)
    least = least_noise(setting.sensitivity, count, terms.epsilon, allowed)
    return MatrixNoise(mechanism, setting, allowed, least)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PairwiseQuery(_pairs.TableQuery[PairwiseRelease]):
    """A query for the MIC of every pair; ``allowed_delta`` may be more than its cost."""

    allowed_delta: float
    noise: JointNoise

    result = PairwiseRelease

    @property
    def epsilon(self) -> float:
        """The cost of all pairs together."""
        return self.noise.epsilon

    @property
    def delta(self) -> float:
        """The delta of all pairs together."""
        return self.noise.delta

    @property
    def noise_in_words(self) -> str:
        """The noise of a value in words."""
        return noise_in_words(of_value(self.noise))

    @property
    def publishes(self) -> str:
        """What the query publishes."""
        count = len(self.table.pairs)
        return f"the MIC of all {count} pairs" if count > 1 else "the MIC of the only pair"

    @property
    def key_facts(self) -> dict[str, Any]:
        """The options of a matrix."""
        return {**super().key_facts, "mechanism": "pairwise", "delta": self.allowed_delta}

    def draw(self, scores: Sequence[float]) -> list[float]:
        """Add noise and clip: the only step from private to public."""
        return [min(max(value, 0.0), 1.0) for value in self.noise.add(scores)]

    def publish(self, exact: Sequence[float]) -> PairwiseRelease:
        """Return the noisy scores with all public facts."""
        values = self.draw(exact)
        estimates = self.setting.calibration.estimate(values, of_value(self.noise).mean)
        return PairwiseRelease(
            names=self.source.names,
            values=tuple(values),
            estimates=tuple(estimates.tolist()),
            delta=self.delta,
            noise=self.noise.kind,
            scale=self.noise.scale,
            **self.facts,
        )


def _delta(delta: object, n: int) -> float:
    """Check delta against n: it must not allow publishing one record in full."""
    chance = _validate.real(delta, "delta")
    if chance == 0:
        return 0.0
    if not LEAST_DELTA <= chance <= MOST_DELTA:
        raise ParameterError(
            f"delta = {delta!r}",
            f"delta must lie between {LEAST_DELTA:g} and {MOST_DELTA:g}, or be 0",
            with_code("pass `delta=1e-6`, or 0 for pure privacy"),
        )
    if chance * n >= 1:
        raise ParameterError(
            f"delta = {delta!r} with n = {n}",
            "a delta of 1 / n or more would allow publishing one record in full",
            "pass a much smaller delta, or 0 for pure privacy",
        )
    return chance


def _remedy(table: _pairs.Table, epsilon: float, delta: float) -> str:
    """Return the remaining ways to reduce the noise."""
    ways = ["fewer columns"]
    if table.target is None:
        ways.append("`target=...`")
    ways.append("a larger epsilon")
    if not delta and least_noise(1.0, len(table.pairs), epsilon, 1e-6).delta:
        ways.append("`delta=1e-6`")
    return with_code(f"use `dpmic.screen` for the strongest pairs, pass {', '.join(ways)}")
