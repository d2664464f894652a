"""Private matrices: every pair's score under one total.

Replacing one person's rows changes each of P scores by at most Delta: P Delta in L1 and
sqrt(P) Delta in L2. Proof: docs/proofs/screening-and-matrices.md.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpmic import _validate
from dpmic.errors import ParameterError, with_code
from dpmic.privacy import _composition, _pairs, noise
from dpmic.privacy._guards import noise_in_words, private, refuse_noisy_value, remind_of_bounds
from dpmic.privacy._pairs import PairOptions
from dpmic.privacy.ledger import Ledger
from dpmic.privacy.query import Terms
from dpmic.results import PairwiseRelease, uncertainty
from dpmic.statistics.maps import Axes

__all__ = ["PairwiseQuery", "prepare", "release_pairwise"]

LEAST_DELTA, MOST_DELTA = 1e-30, 1e-3

MOST_COMPOSED = 100
"""Above this epsilon, which protects nobody, delta is not looked at: exp(epsilon) overflows."""

WORTH = 0.01
"""By this share noise must shrink for delta to be spent at all."""

# The loss that is aimed at: a billionth below what was asked for, as in a single release, so that
# thirty charges of 0.1 fit into 3 whatever their sum rounds to.
_AIM = 1 - 1e-9

_UP = 1 + 2**-50  # more than products and roots of floats are rounded down


@private
def release_pairwise(
    table: Any,
    *,
    bounds: Any = None,
    epsilon: float,
    delta: float = 0.0,
    target: str | int | None = None,
    mechanism: str = "auto",
    axes: Axes | None = None,
    cap: float | None = None,
    B: float | None = None,
    c: float | None = None,
    person: Any = None,
    rows_per_person: int = 1,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    name: str | None = None,
    allow_large_epsilon: bool = False,
    allow_noisy: bool = False,
) -> PairwiseRelease:
    """Publish the MICr of every pair of columns under one differential privacy guarantee.

    All pairs share epsilon, so the noise of each grows with their number. Where only the
    strongest pairs matter, :func:`dpmic.screen` has far less noise.

    Parameters
    ----------
    table, bounds, epsilon, mechanism, axes, cap, B, c
        As for :func:`dpmic.screen`.
    delta : float
        What probabilities may exceed exp(epsilon) times another by; 0 for pure privacy, else at
        most 0.001 and below 1 / n. The noise is then the smallest of three: Laplace noise by basic
        and by optimal composition, and Gaussian noise. Where basic composition, which needs no
        delta, is within a hundredth of the others, none is spent.
    target : str, optional
        Release only the pairs of this column with others.
    person, rows_per_person, ledger, dataset, name, allow_large_epsilon, allow_noisy
        As for :func:`dpmic.release`.

    Returns
    -------
    PairwiseRelease
        ``published.matrix``, with NaN on the diagonal, which is not released. Pairs with a constant
        column score 0 plus noise like any others.

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
        ledger=ledger,
        dataset=dataset,
        name=name,
        allow_large_epsilon=allow_large_epsilon,
        allow_noisy=allow_noisy,
    )
    options = PairOptions(mechanism=mechanism, axes=axes, cap=cap, B=B, c=c)
    return prepare(table, terms, options, bounds=bounds, delta=delta, target=target).run()


@private
def prepare(
    table: Any,
    terms: Terms,
    options: PairOptions = PairOptions(),  # noqa: B008 # it is frozen
    *,
    bounds: Any = None,
    delta: float = 0.0,
    target: str | int | None = None,
) -> PairwiseQuery:
    """Fix everything about a matrix from what is public."""
    found = _pairs.find(table, terms, options, bounds=bounds, target=target)
    count, n = len(found.pairs), found.source.n
    allowed = _delta(delta, n)
    # Which grids are best depends on the noise, which is proportional to Delta.
    relative = _least_noise(1.0, count, terms.epsilon, allowed).mean
    mechanism = options.choose(found.source, terms, 1 / relative)
    setting = mechanism.setting(n)
    least = _least_noise(setting.sensitivity, count, terms.epsilon, allowed)
    remedy = _remedy(found, allowed)
    refuse_noisy_value(least.kind, least.added.scale, terms.allow_noisy, remedy)
    remind_of_bounds()
    return PairwiseQuery(
        source=found.source,
        terms=terms,
        person=found.person,
        table=found,
        mechanism=mechanism,
        setting=setting,
        asked_delta=allowed,
        noise=least,
    )


@dataclass(frozen=True)
class _Noise:
    """One way to add noise to all scores, with what it costs together.

    ``added`` is what OpenDP calls; a single :class:`noise.Laplace` serves each score in turn.
    """

    kind: uncertainty.Noise
    added: noise.Laplace | noise.LaplaceVector | noise.Gaussian
    epsilon: float
    delta: float

    @property
    def mean(self) -> float:
        """The expected absolute noise of one score."""
        return uncertainty.mean(self.kind, self.added.scale)

    def add(self, scores: Sequence[float]) -> list[float]:
        """Return the scores with fresh noise each."""
        if isinstance(self.added, noise.Laplace):
            return [self.added.add(score) for score in scores]
        return self.added.add(scores)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PairwiseQuery(_pairs.TableQuery[PairwiseRelease]):
    """The MICr of every pair; ``asked_delta`` is what was allowed, not what it costs."""

    asked_delta: float
    noise: _Noise

    result = PairwiseRelease

    @property
    def epsilon(self) -> float:
        """What all pairs cost together."""
        return self.noise.epsilon

    @property
    def delta(self) -> float:
        """What all pairs cost together."""
        return self.noise.delta

    @property
    def noise_in_words(self) -> str:
        """What the noise of a value means."""
        return noise_in_words(self.noise.kind, self.noise.added.scale)

    @property
    def publishes(self) -> str:
        """What would be published."""
        return f"the MIC of all {len(self.table.pairs)} pairs"

    @property
    def asked(self) -> dict[str, Any]:
        """The options of a matrix."""
        return {**super().asked, "mechanism": "pairwise", "delta": self.asked_delta}

    def draw(self, scores: Sequence[float]) -> list[float]:
        """Add noise and clip: the only step from private to public."""
        return [min(max(value, 0.0), 1.0) for value in self.noise.add(scores)]

    def publish(self, exact: Sequence[float]) -> PairwiseRelease:
        """Return the noisy scores with everything that is public."""
        values = self.draw(exact)
        estimates = self.setting.calibration.estimate(values, self.noise.mean)
        return PairwiseRelease(
            names=self.source.names,
            values=tuple(values),
            estimates=tuple(estimates.tolist()),
            delta=self.delta,
            noise=self.noise.kind,
            scale=self.noise.added.scale,
            **self.facts,
        )


def _least_noise(change: float, count: int, epsilon: float, delta: float) -> _Noise:
    """Return the noise of least expected size for ``count`` scores that change by ``change``."""
    basic = _basic(change, count, epsilon)
    if not delta or epsilon > MOST_COMPOSED:
        return basic
    costs = epsilon * _AIM, delta * _AIM
    others = _composed(change, count, *costs), _gaussian(change, count, *costs)
    least = min(others, key=lambda candidate: candidate.mean)
    return least if least.mean < basic.mean * (1 - WORTH) else basic


def _basic(change: float, count: int, epsilon: float) -> _Noise:
    """Return Laplace noise for L1."""
    added = noise.calibrate_vector(count * change * _UP, epsilon, count)
    return _Noise("laplace", added, added.epsilon, 0.0)


def _composed(change: float, count: int, epsilon: float, delta: float) -> _Noise:
    """Return Laplace noise for each score alone, by the optimal composition theorem."""
    added = noise.calibrate(change, _composition.largest_pure(epsilon, delta, count))
    return _Noise("laplace", added, epsilon, delta)


def _gaussian(change: float, count: int, epsilon: float, delta: float) -> _Noise:
    """Return Gaussian noise for L2."""
    together = math.sqrt(count) * change * _UP
    return _Noise(
        "gaussian", noise.calibrate_gaussian(together, epsilon, delta, count), epsilon, delta
    )


def _delta(delta: object, n: int) -> float:
    """Check delta against n: publishing one record in full must not be allowed."""
    chance = _validate.real(delta, "delta")
    if chance == 0:
        return 0.0
    if not LEAST_DELTA <= chance <= MOST_DELTA:
        raise ParameterError(
            f"delta = {delta!r}",
            f"it is a probability of at most {MOST_DELTA:g}",
            with_code("pass `delta=1e-6`, or 0 for pure privacy"),
        )
    if chance * n >= 1:
        raise ParameterError(
            f"delta = {delta!r} with n = {n}",
            "at 1 / n or more, publishing one record in full would be allowed",
            "pass a much smaller delta, or 0 for pure privacy",
        )
    return chance


def _remedy(table: _pairs.Table, delta: float) -> str:
    """Say what makes the noise smaller, of what was not done yet."""
    ways = ["fewer columns"]
    if table.target is None:
        ways.append("`target=...`")
    ways += ["a larger epsilon"] + ["`delta=1e-6`"] * (not delta)
    return with_code(f"use `dpmic.screen` for the strongest pairs, pass {', '.join(ways)}")
