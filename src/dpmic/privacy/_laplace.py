"""A score plus Laplace noise.

Each mechanism fixes, from n and epsilon alone, the grids, the sensitivity of the score that the
float64 kernel computes on them, and the scale of the noise; then computes the score, adds noise
once, and clips to [0, 1], which is post-processing.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate
from dpmic._validate import Bounds, Limits, Master
from dpmic.data import Pair
from dpmic.errors import ParameterError, safe_repr, with_code
from dpmic.parameters import tuned
from dpmic.parameters.tuned import Calibration
from dpmic.parameters.value_noise import ValueNoise
from dpmic.privacy import noise, sensitivity
from dpmic.privacy._guards import read_privately, refuse_noisy_value
from dpmic.privacy._mechanism import CalibratedMechanism, Mechanism, check_options
from dpmic.results import Release
from dpmic.statistics import summaries
from dpmic.statistics.fixed_grids import fixed_limits
from dpmic.statistics.grids import MassAxis, steps
from dpmic.statistics.search import Search, check_records
from dpmic.statistics.sources import Counting, Found

Floats = NDArray[np.float64]

_READ_OFF: dict[str, Callable[[Floats], float]] = {
    "mic": summaries.mic,
    "mev": summaries.mev,
    "mas": summaries.mas,
    "tic": partial(summaries.tic, normalised=True),
}


@dataclass(frozen=True, slots=True)
class CalibratedLaplace(CalibratedMechanism):
    """A mechanism whose noise is added to one number."""

    noise: noise.Laplace


class LaplaceMechanism(Mechanism):
    """A score of two columns plus Laplace noise."""

    B: float | None
    c: float | None
    lmax: int | None
    master: Master

    def setting(self, n: int) -> CalibratedLaplace:
        """Return everything that is fixed before data is looked at."""
        self._enough(n)
        limits = self._limits(n)
        # Delta of the exact score, plus what rounding adds for each of two neighbours.
        one = self._sensitivity(n, limits) + 2 * sensitivity.rounding(n, limits.B)
        person = _of_rows(self.rows_per_person, one)
        calibrated = noise.calibrate(person, self.epsilon)
        # Of other grids than the default ones only this is known: scores lie in [0, 1].
        default = (self.B, self.c, self.lmax, self.master) == (None, None, None, "reshef")
        calibration = self._tuned(n).calibration if default else Calibration()
        return CalibratedLaplace(n, limits, one, person, calibrated, calibration)

    def refuse_noisy(self, setting: CalibratedLaplace) -> None:
        """Refuse, unless ``allow_noisy``, where the noise of the value is too wide."""
        remedy = with_code("pass more data or a larger epsilon (`dpmic.plan` says how much)")
        refuse_noisy_value(ValueNoise("laplace", setting.noise.scale), self.allow_noisy, remedy)

    def publish(
        self, score: float, source: Found, setting: CalibratedLaplace, person: str | None = None
    ) -> Release:
        """Add noise to a score, once, and clip: the only step from private to public."""
        value = estimate = min(max(setting.noise.add(score), 0.0), 1.0)
        if self.statistic == "mic":  # of others no more is known than the value
            estimate = float(setting.calibration.estimate(value, setting.noise.scale))
        return Release(
            value=value,
            estimate=estimate,
            granularity=noise.GRANULARITY,
            **self._facts(source, setting, person),
        )

    def _loss(self, rows: int, setting: CalibratedLaplace) -> float:
        return setting.noise.loss(_of_rows(rows, setting.one_row))

    def _tuned(self, n: int) -> tuned.Tuned:
        """Return the default parameters; several rows per person mean as much more noise."""
        return tuned.lookup(self.name, n, self.epsilon / self.rows_per_person)

    def _limits(self, n: int) -> Limits:
        """Return the grids for n records."""
        B = self._tuned(n).B if self.B is None else self.B
        c = self._tuned(n).c if self.c is None else self.c
        atoms = math.inf if self.needs_bounds else n
        return _validate.limits(n, alpha=1, B=B, c=c, master=self.master, atoms=atoms)

    @abstractmethod
    def _sensitivity(self, n: int, limits: Limits) -> float:
        """Return the proved sensitivity of the exact score."""


@dataclass(frozen=True)
class MICrLaplace(LaplaceMechanism):
    """MICr plus Laplace noise: the mechanism of choice where bounds are known.

    Its sensitivity, h2(1 / n), depends on neither B nor c (docs/proofs/micr-sensitivity.md).

    Parameters
    ----------
    epsilon : float
        The privacy loss, above 0 and at most 10 unless ``allow_large_epsilon``.
    bounds : ((x0, x1), (y0, y1))
        Chosen without looking at the data, from what the columns mean. Values outside are
        clamped.
    B, c : float, optional
        Most cells in a grid and master parts for each part; by default tuned for n and
        epsilon (:mod:`dpmic.parameters.tuned`).
    statistic : {"mic", "mev", "tic", "mas"}
        What is published; "tic" is normalised. MCN and GMIC have no useful bound and are refused.
    master : {"reshef", "paper"}
        The size of the master.
    rows_per_person : int
        How many rows one person may have; the noise grows in proportion.
    allow_large_epsilon : bool
        Allow epsilon above 10 (weak protection).
    allow_noisy : bool
        Publish even where noise exceeds 0.25 with a probability of 5%.

    Examples
    --------
    >>> mechanism = MICrLaplace(1.0, ((0, 1), (0, 1)))
    >>> setting = mechanism.setting(1000)
    >>> round(setting.sensitivity, 5), round(setting.noise.scale, 5)
    (0.01141, 0.01141)
    """

    epsilon: float
    bounds: Bounds
    B: float | None = None
    c: float | None = None
    statistic: str = "mic"
    master: Master = "reshef"
    rows_per_person: int = 1
    allow_large_epsilon: bool = False
    allow_noisy: bool = False

    name = "micr-laplace"
    least_n = 4
    lmax = None  # MICr's sensitivity does not depend on the number of columns

    def __post_init__(self) -> None:
        _check(self)
        object.__setattr__(self, "bounds", _validate.bounds(self.bounds))
        if not isinstance(self.statistic, str):
            raise ParameterError(
                f"statistic = {safe_repr(self.statistic)}", "it is a name", "pass 'mic'"
            )
        sensitivity.micr(self.least_n, 4, statistic=self.statistic)  # refuses what has no bound

    def _sensitivity(self, n: int, limits: Limits) -> float:
        return sensitivity.micr(n, limits.B, statistic=self.statistic)

    def _counted(self, source: Counting) -> Counting:
        limits = fixed_limits(self.B, self.c, self.master)
        return read_privately(lambda: source.counted(self.bounds, limits))

    def _counts(self, source: Counting, setting: CalibratedLaplace) -> Counting:
        return read_privately(lambda: source.counted(self.bounds, setting.limits))

    def score(self, private: Pair | Counting, setting: CalibratedLaplace) -> float:
        """Compute the statistic of MICr, without noise."""
        if isinstance(private, Pair):
            search = Search.by_range(private.x, private.y, self.bounds, setting.limits)
        else:
            search = Search.of_table(private.table, *private.names)
            check_records(search, setting.n)
        return _READ_OFF[self.statistic](search.matrix())

    def public(self, limits: Limits) -> dict[str, Any]:
        """Return the bounds and the size of grids and masters."""
        box = {"x bounds": list(self.bounds[0]), "y bounds": list(self.bounds[1])}
        return {**box, "B": limits.B, "c": limits.c, "master": limits.master}


@dataclass(frozen=True)
class MICeLaplace(LaplaceMechanism):
    """MICe plus Laplace noise: needs no bounds, and far more noise than MICr.

    Ties are broken at random, afresh and in secret for each release and each axis, so on columns
    of few values it loses information that :class:`MICrLaplace` keeps. The noise falls
    with ``lmax`` (docs/proofs/mice-sensitivity.md).

    Parameters
    ----------
    epsilon, master, rows_per_person, allow_large_epsilon, allow_noisy
        As for :class:`MICrLaplace`.
    B, c : float, optional
        By default tuned for n and epsilon, together with ``lmax``.
    lmax : int, optional
        The most columns a grid may have; floor(B / 2) where B is given.

    Examples
    --------
    >>> scales = [MICeLaplace(1.0, B=63, lmax=l).setting(1000).noise.scale for l in (31, 12)]
    >>> [round(scale, 3) for scale in scales]
    [0.204, 0.1]
    """

    epsilon: float
    B: float | None = None
    c: float | None = None
    lmax: int | None = None
    statistic: str = "mic"
    master: Master = "reshef"
    rows_per_person: int = 1
    allow_large_epsilon: bool = False
    allow_noisy: bool = False

    name = "mice-laplace"
    least_n = 6
    needs_bounds = False

    def __post_init__(self) -> None:
        _check(self)
        if self.statistic != "mic":
            raise ParameterError(
                f"statistic = {safe_repr(self.statistic)}",
                "only the MIC of MICe has a proved sensitivity",
                with_code("pass `mechanism='micr-laplace'` for MEV, TIC and MAS"),
            )

    def _limits(self, n: int) -> Limits:
        limits = super()._limits(n)
        # With a B of one's own every number of columns that it allows is meant.
        most = self._tuned(n).lmax if self.B is None else math.floor(limits.B / 2)
        lmax = most if self.lmax is None else self.lmax
        return replace(limits, lmax=_validate.integer(lmax, "lmax", least=2))

    def _sensitivity(self, n: int, limits: Limits) -> float:
        return sensitivity.mice(n, limits.B, lmax=limits.lmax)

    def score(self, private: Pair, setting: CalibratedLaplace) -> float:
        """Compute MICe, without noise, with fresh random tie-breaking."""
        x_axis = MassAxis.ranked(private.x, noise.shuffled(setting.n))
        y_axis = MassAxis.ranked(private.y, noise.shuffled(setting.n))
        search = Search.of(x_axis, y_axis, steps(setting.limits))
        return summaries.mic(search.matrix())

    def public(self, limits: Limits) -> dict[str, Any]:
        """Return the size of grids and masters."""
        return {"B": limits.B, "c": limits.c, "lmax": limits.lmax, "master": limits.master}


def _check(mechanism: LaplaceMechanism) -> None:
    """Check what both mechanisms take."""
    check_options(mechanism)
    _validate.choice(mechanism.master, "master", Master)
    if mechanism.c is not None and _validate.master_factor(mechanism.c) == math.inf:
        raise ParameterError(
            "c = inf", "the time of that search would depend on the data", "pass a finite c"
        )


def _of_rows(rows: int, one_row: float) -> float:
    """Return the largest change by a chain of replaced rows; no score changes by more than 1."""
    return min(rows * one_row * (1 + 2**-50), 1.0)
