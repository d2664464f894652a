"""A score plus Laplace noise.

From n and epsilon alone, each mechanism fixes the grids, the sensitivity of the score as computed
in float64, and the scale of the noise. It then computes the score, adds noise once, and clips to
[0, 1], which is post-processing.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate
from dpmic._validate import Bounds, Categories, Domain, Limits, Master, shown_end
from dpmic.data import Pair
from dpmic.errors import ParameterError, safe_repr, with_code
from dpmic.parameters import tuned
from dpmic.parameters.tuned import Calibration
from dpmic.parameters.value_noise import ValueNoise
from dpmic.privacy import noise, sensitivity
from dpmic.privacy._gaps import Size
from dpmic.privacy._guards import read_privately, refuse_noisy_value
from dpmic.privacy._mechanism import CalibratedMechanism, Mechanism, check_options
from dpmic.results import Release
from dpmic.statistics import capped, summaries
from dpmic.statistics.capped import CapLimits
from dpmic.statistics.count_table import CountTable
from dpmic.statistics.fixed_grids import (
    CappedGrids,
    Family,
    RangeGrids,
    countable_axes,
    fixed_limits,
)
from dpmic.statistics.grids import MassAxis, RangeAxis, steps
from dpmic.statistics.maps import Axes, range_maps
from dpmic.statistics.search import Search, check_records, merged, pair_matrices
from dpmic.statistics.sources import Counting, Found

Floats = NDArray[np.float64]
Domains = Sequence[Domain]
Pairs = Sequence[tuple[int, int]]
Mapped = tuple[Floats, Sequence[Any]]
"""Values, with the maps or the categories of their axis."""

UNIT_SQUARE = ((0.0, 1.0), (0.0, 1.0))

_READ_OFF: dict[str, Callable[[Floats], float]] = {
    "mic": summaries.mic,
    "mev": summaries.mev,
    "mas": summaries.mas,
    "tic": partial(summaries.tic, normalised=True),
}


@dataclass(frozen=True, slots=True)
class CalibratedLaplace(CalibratedMechanism):
    """A calibrated mechanism that adds noise to one number."""

    noise: noise.Laplace
    size: Size


class LaplaceMechanism(Mechanism):
    """A score of two columns plus Laplace noise."""

    def setting(self, n: int | Size) -> CalibratedLaplace:
        """Return everything that is fixed before the data is read.

        If the number of records is private, everything follows from the promised number.
        """
        size = Size.of(n)
        if size.private and self.statistic != "mic":
            raise _only_mic(self.statistic, "a private number of records")
        self._enough(size)
        limits = self._limits(size.least)
        one = self._one_row(size, limits)
        person = _of_rows(self.rows_per_person, one)
        if size.filtered:  # rows of one person may be in several groups: changes add up
            person = self.rows_per_person * one * (1 + 2**-50)
        calibrated = noise.calibrate(person, self.epsilon)
        usual = not size.private and not any(isinstance(d, Categories) for d in self.domains)
        calibration = self._calibration(size.n) if usual else Calibration()
        return CalibratedLaplace(size.n, limits, one, person, calibrated, calibration, size)

    def refuse_noisy(self, setting: CalibratedLaplace, counted: str = "records") -> None:
        """Refuse a value that noise would hide, unless ``allow_noisy``."""
        remedy = with_code("pass more data or a larger epsilon (`dpmic.plan` computes how much)")
        added = ValueNoise("laplace", setting.noise.scale)
        refuse_noisy_value(added, setting.size, counted, self.allow_noisy, remedy)

    def publish(
        self, score: float, source: Found, setting: CalibratedLaplace, person: str | None = None
    ) -> Release:
        """Add noise to the score, once, and clip: the only step from private to public."""
        value = estimate = min(max(setting.noise.add(score), 0.0), 1.0)
        if self.statistic == "mic":  # other statistics have no calibrated estimate
            estimate = float(setting.calibration.estimate(value, setting.noise.scale))
        return Release(
            value=value,
            estimate=estimate,
            granularity=noise.GRANULARITY,
            **self._facts(source, setting, person),
        )

    def _loss(self, rows: int, setting: CalibratedLaplace) -> float:
        return setting.noise.loss(_of_rows(rows, setting.one_row))

    @property
    def _epsilon_of_row(self) -> float:
        """The epsilon that parameters are tuned for: noise grows with the rows per person."""
        return self.epsilon / self.rows_per_person

    @abstractmethod
    def _limits(self, n: int) -> Any:
        """Return the limits of the search over n records."""

    @abstractmethod
    def _calibration(self, n: int) -> Calibration:
        """Return the calibration of scores; only [0, 1] unless the grids are the default."""

    @abstractmethod
    def _one_row(self, size: Size, limits: Any) -> float:
        """Return the proved sensitivity of the computed score."""


class MatrixMechanism(LaplaceMechanism):
    """A statistic of a characteristic matrix; the grids depend on B and c."""

    B: float | None
    c: float | None
    lmax: int | None
    master: Master

    def _tuned(self, n: int) -> tuned.Tuned:
        return tuned.lookup(self.name, n, self._epsilon_of_row)

    def _limits(self, n: int) -> Limits:
        B = self._tuned(n).B if self.B is None else self.B
        c = self._tuned(n).c if self.c is None else self.c
        atoms = math.inf if self.needs_bounds else n
        return _validate.limits(n, alpha=1, B=B, c=c, master=self.master, atoms=atoms)

    def _calibration(self, n: int) -> Calibration:
        default = (self.B, self.c, self.lmax, self.master) == (None, None, None, "reshef")
        measured = default and getattr(self, "axes", "linear") == "linear"
        return self._tuned(n).calibration if measured else Calibration()

    def _one_row(self, size: Size, limits: Limits) -> float:
        # Delta of the exact score, plus what rounding adds for each of two neighbours.
        rounded = 2 * sensitivity.rounding(size.most, limits.B)
        if size.private:
            rounded += 2**-51  # rounding of the factor for missing records
        return self._sensitivity(size.least, limits) + rounded

    @abstractmethod
    def _sensitivity(self, n: int, limits: Limits) -> float:
        """Return the proved sensitivity of the exact score."""


class FixedGridMechanism(LaplaceMechanism):
    """A score on grids fixed in advance, so that counts on them are enough."""

    floors = True

    bounds: tuple[Domain, Domain]
    axes: Axes

    @abstractmethod
    def grids(self, limits: Any) -> Family:
        """Return the grids on which records are counted."""

    @abstractmethod
    def fixed_grids(self) -> Family:
        """Return the grids before the number of records is known, or refuse."""

    @abstractmethod
    def scores(
        self,
        columns: Sequence[Floats],
        domains: Domains,
        pairs: Pairs,
        limits: Any,
        size: Size | None = None,
    ) -> list[float]:
        """Compute the exact scores of some pairs of columns: never to be shown.

        Without ``size``, all records of the columns count.
        """

    @abstractmethod
    def table_score(self, table: CountTable, x: str, y: str, setting: CalibratedLaplace) -> float:
        """Compute the exact score of two columns of a count table: never to be shown."""

    @abstractmethod
    def public_grids(self, limits: Any) -> dict[str, Any]:
        """Return the public facts about the grids."""

    def _counted(self, source: Counting) -> Counting:
        ends: Any = self.bounds  # all intervals
        return read_privately(lambda: source.counted(ends, self.fixed_grids()))

    def _counts(self, source: Counting, setting: CalibratedLaplace) -> Counting:
        ends: Any = self.bounds
        return read_privately(lambda: source.counted(ends, self.grids(setting.limits)))

    def score(self, private: Pair | Counting, setting: CalibratedLaplace) -> float:
        """Compute the score of two columns, without noise."""
        if isinstance(private, Counting):
            x, y = private.names
            return self.table_score(private.table, x, y, setting)
        columns = (private.x, private.y)
        return self.scores(columns, self.bounds, [(0, 1)], setting.limits, setting.size)[0]

    def public(self, limits: Any) -> dict[str, Any]:
        """Return the bounds or categories, and the public facts about the grids."""
        box: dict[str, Any] = {}
        for axis, own in zip("xy", self.bounds, strict=True):
            if isinstance(own, Categories):
                box[f"{axis} categories"] = list(own.labels)
            else:
                box[f"{axis} bounds"] = list(map(shown_end, own))
        return {**box, **self.public_grids(limits)}


@dataclass(frozen=True)
class MICrLaplace(MatrixMechanism, FixedGridMechanism):
    """Publish MICr with Laplace noise: for MEV, TIC and MAS, or to set B and c.

    The sensitivity is h2(1 / n), whatever B and c are (docs/proofs/micr-sensitivity.md).

    Parameters
    ----------
    epsilon : float
        The privacy loss, above 0 and at most 10 unless ``allow_large_epsilon``.
    bounds : ((x0, x1), (y0, y1))
        The possible ranges of the columns, from domain knowledge, never from the data. Values
        outside are clamped.
    axes : {"any", "linear"}
        How each axis is cut: "any" tries four scales, from linear to logarithmic, so that bounds
        may be wide; "linear" tries one.
    B, c : float, optional
        The most cells in a grid, and master parts per part of a grid; by default tuned for n and
        epsilon (:mod:`dpmic.parameters.tuned`).
    statistic : {"mic", "mev", "tic", "mas"}
        The statistic to publish; "tic" is normalised. MCN and GMIC have no useful sensitivity.
    master : {"reshef", "paper"}
        The size of the master partition.
    rows_per_person : int
        The most rows of one person; the noise grows in proportion.
    allow_large_epsilon : bool
        Allow epsilon above 10 (weak protection).
    allow_noisy : bool
        Publish even if the noise exceeds 0.25 with a probability of 5%.

    Examples
    --------
    >>> mechanism = MICrLaplace(1.0, ((0, 1), (0, 1)))
    >>> setting = mechanism.setting(1000)
    >>> round(setting.sensitivity, 5), round(setting.noise.scale, 5)
    (0.01141, 0.01141)
    """

    epsilon: float
    bounds: tuple[Domain, Domain]
    B: float | None = None
    c: float | None = None
    statistic: str = "mic"
    master: Master = "reshef"
    axes: Axes = "any"
    rows_per_person: int = 1
    allow_large_epsilon: bool = False
    allow_noisy: bool = False

    name = "micr-laplace"
    least_n = 4
    lmax = None  # MICr's sensitivity does not depend on the number of columns

    def __post_init__(self) -> None:
        _check(self)
        object.__setattr__(self, "bounds", _validate.domains(self.bounds))
        if capped.checked_axes(self.axes) == "wide":
            raise ParameterError(
                "axes = 'wide'",
                "MICr on so many grids would take minutes",
                with_code("pass `axes='any'`, or leave out the mechanism and its options"),
            )
        if not isinstance(self.statistic, str):
            raise ParameterError(
                f"statistic = {safe_repr(self.statistic)}", "a name is expected", "pass 'mic'"
            )
        sensitivity.micr(
            self.least_n, 4, statistic=self.statistic
        )  # refuses a statistic without a bound
        if self.statistic != "mic" and any(isinstance(own, Categories) for own in self.bounds):
            raise _only_mic(self.statistic, "nominal columns")

    def _sensitivity(self, n: int, limits: Limits) -> float:
        nominal = any(isinstance(own, Categories) and len(own) > 2 for own in self.bounds)
        return sensitivity.micr(n, limits.B, statistic=self.statistic, nominal=nominal)

    def _limits(self, n: int) -> Limits:
        counts = [_categories(own) for own in self.bounds]
        limits = super()._limits(n).holding(*counts)
        if limits.B > _validate.MAX_B:
            raise ParameterError(
                f"{' and '.join(str(count) for count in counts if count)} categories",
                f"the proof for this mechanism covers at most {_validate.MAX_B:,} cells",
                with_code("pass `mechanism='capped-laplace'`, or group rare categories"),
            )
        return limits

    def grids(self, limits: Limits) -> RangeGrids:
        """Return the grids on which records are counted."""
        return RangeGrids(limits, self.axes)

    def fixed_grids(self) -> RangeGrids:
        """Return the grids of B and c, which must both be set."""
        return self.grids(fixed_limits(self.B, self.c, self.master))

    def scores(
        self,
        columns: Sequence[Floats],
        domains: Domains,
        pairs: Pairs,
        limits: Limits,
        size: Size | None = None,
    ) -> list[float]:
        """Compute the statistic of MICr; bin each column once per map."""
        maps = [_maps_of(own, self.axes) for own in domains]
        counted = size or Size.of(columns[0].size)
        if counted.private or any(isinstance(own, Categories) for own in domains):
            ends = [((columns[i], maps[i]), (columns[j], maps[j])) for i, j in pairs]
            return [self._one_by_one(x, y, limits, counted.least) for x, y in ends]
        plan, under = steps(limits), self.grids(limits).map_pairs
        each = zip(columns, maps, strict=True)
        axes = [RangeAxis.for_steps(values, own, plan) for values, some in each for own in some]
        count = len(maps[0])
        mapped = [(i * count + a, j * count + b) for i, j in pairs for a, b in under]
        matrices = pair_matrices(axes, mapped, plan)
        read_off = _READ_OFF[self.statistic]
        return [read_off(merged(islice(matrices, len(under)))) for _ in pairs]

    def _one_by_one(self, x: Mapped, y: Mapped, limits: Limits, least: int) -> float:
        """Compute MICr of a pair's complete records, scaled down if fewer than ``least``."""
        complete = ~(np.isnan(x[0]) | np.isnan(y[0]))
        records = int(complete.sum())
        if records < 2:
            return 0.0
        values = x[0][complete], y[0][complete]
        each = (Search.by_map(*values, (a, b), limits).matrix() for a, b in product(x[1], y[1]))
        return max(map(_READ_OFF[self.statistic], each)) * min(records / least, 1.0)

    def table_score(self, table: CountTable, x: str, y: str, setting: CalibratedLaplace) -> float:
        """Compute the statistic of MICr of two counted columns."""
        counted = table.counts(x, y)
        check_records(counted.n, setting.n)
        under = self.grids(setting.limits).map_pairs
        each = (Search.of_counts(table, counted, x, y, maps=maps).matrix() for maps in under)
        return _READ_OFF[self.statistic](merged(each))

    def public_grids(self, limits: Limits) -> dict[str, Any]:
        """Return the size of grids and masters, and the scales of axes unless linear."""
        return RangeGrids(limits, self.axes).facts()


@dataclass(frozen=True)
class CappedLaplace(FixedGridMechanism):
    """Publish the capped MIC with Laplace noise: the least noise, and the usual default.

    The sensitivity is cap / n, two to four times smaller than that of MICr
    (docs/proofs/capped-sensitivity.md). :func:`dpmic.micc` is the score without noise.

    Parameters
    ----------
    epsilon, rows_per_person, allow_large_epsilon, allow_noisy
        As for :class:`MICrLaplace`.
    bounds : ((x0, x1), (y0, y1))
        The possible ranges of the columns, from domain knowledge, never from the data. They may be
        generous; values outside are clamped.
    cap : float, optional
        The most that one record can contribute, in bits: 3.5 to 8, in steps of 0.5; by default
        tuned for n and epsilon.
    axes : {"any", "linear", "wide"}
        How each axis is cut, as for :func:`dpmic.micc`.

    Examples
    --------
    >>> mechanism = CappedLaplace(0.1, ((0, 1), (0, 1)))
    >>> setting = mechanism.setting(1000)
    >>> setting.limits.cap, round(setting.noise.scale, 3)
    (4.0, 0.04)
    """

    epsilon: float
    bounds: tuple[Domain, Domain]
    cap: float | None = None
    axes: Axes = "any"
    rows_per_person: int = 1
    allow_large_epsilon: bool = False
    allow_noisy: bool = False

    name = "capped-laplace"
    least_n = 4
    statistic = "mic"

    def __post_init__(self) -> None:
        check_options(self)
        object.__setattr__(self, "bounds", _validate.domains(self.bounds))
        capped.checked_axes(self.axes)
        if self.cap is not None:
            object.__setattr__(self, "cap", _validate.cap(self.cap))

    def _limits(self, n: int) -> CapLimits:
        return CapLimits(
            tuned.lookup_capped(n, self._epsilon_of_row).cap if self.cap is None else self.cap
        )

    def _calibration(self, n: int) -> Calibration:
        if self.cap is not None or self.axes != "any":
            return Calibration()
        return tuned.lookup_capped(n, self._epsilon_of_row).calibration

    def _one_row(self, size: Size, limits: CapLimits) -> float:
        return sensitivity.micc(size.least, limits.cap, most=size.most)

    def grids(self, limits: CapLimits) -> CappedGrids:
        """Return the grids, which are the same for every cap and n."""
        return self.fixed_grids()

    def fixed_grids(self) -> CappedGrids:
        """Return the grids, which do not depend on n."""
        return CappedGrids(countable_axes(self.axes))

    def scores(
        self,
        columns: Sequence[Floats],
        domains: Domains,
        pairs: Pairs,
        limits: CapLimits,
        size: Size | None = None,
    ) -> list[float]:
        """Compute capped information; bin each column once."""
        counted = size or Size.of(columns[0].size)
        binned = [
            capped.CappedColumn.of(values, own, self.axes, gaps=counted.gaps)
            for values, own in zip(columns, domains, strict=True)
        ]
        tables = (capped.tabulated(binned[i], binned[j]) for i, j in pairs)
        found = (capped.search(own, limits.cap, counted.most, counted.least) for own in tables)
        return [best.score(counted.least) for best in found]

    def table_score(self, table: CountTable, x: str, y: str, setting: CalibratedLaplace) -> float:
        """Compute capped information of two counted columns."""
        n, counts, swapped = table.counts(x, y)
        check_records(n, setting.n)
        intervals = [table.bounds[name] for name in (x, y)]
        tables = self.fixed_grids().tabulated(counts, intervals, swapped=swapped)
        return capped.search(tables, setting.limits.cap, n).score(n)  # no record is dropped

    def public_grids(self, limits: CapLimits) -> dict[str, Any]:
        """Return the cap, and the scales of axes."""
        return {"cap": limits.cap, "axes": self.axes}


@dataclass(frozen=True)
class MICeLaplace(MatrixMechanism):
    """Publish MICe with Laplace noise: no bounds needed, but far more noise than MICr.

    Each release breaks ties at random, separately for each axis, so it loses information on columns
    of few values. A smaller ``lmax`` means less noise (docs/proofs/mice-sensitivity.md).

    Parameters
    ----------
    epsilon, master, rows_per_person, allow_large_epsilon, allow_noisy
        As for :class:`MICrLaplace`.
    B, c : float, optional
        As for :class:`MICrLaplace`; by default tuned together with ``lmax``.
    lmax : int, optional
        The most columns of a grid; floor(B / 2) if B is given.
    bounds : ((x0, x1), (y0, y1)), optional
        Only for ``missing="scatter"``: the interval of the random values.

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
    bounds: Bounds | None = None

    name = "mice-laplace"
    least_n = 6
    needs_bounds = False

    def __post_init__(self) -> None:
        _check(self)
        if self.bounds is not None:
            object.__setattr__(self, "bounds", _validate.bounds(self.bounds))
        if self.statistic != "mic":
            raise ParameterError(
                f"statistic = {safe_repr(self.statistic)}",
                "only the MIC of MICe has a proved sensitivity",
                with_code("pass `mechanism='micr-laplace'` for MEV, TIC and MAS"),
            )

    def _limits(self, n: int) -> Limits:
        limits = super()._limits(n)
        # An explicit B allows every number of columns up to floor(B / 2).
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
        """Return the size of grids and masters, and where random values lie, if anywhere."""
        ends = zip("xy", self.domains, strict=True)
        box = {
            f"{axis} bounds": list(map(shown_end, own))
            for axis, own in ends
            if isinstance(own, tuple)
        }
        return {**box, "B": limits.B, "c": limits.c, "lmax": limits.lmax, "master": limits.master}


def _categories(domain: Domain) -> int | None:
    return len(domain) if isinstance(domain, Categories) else None


def _only_mic(statistic: str, of: str) -> ParameterError:
    return ParameterError(
        f"statistic = {safe_repr(statistic)}",
        f"with {of}, only MIC has a proved sensitivity",
        with_code("pass `statistic='mic'`"),
    )


def _maps_of(domain: Domain, axes: Axes) -> tuple[Any, ...]:
    """Return the maps of an axis, or the categories of a nominal one."""
    return (domain,) if isinstance(domain, Categories) else range_maps(domain, axes)


def _check(mechanism: MatrixMechanism) -> None:
    """Check the options of both mechanisms."""
    check_options(mechanism)
    _validate.choice(mechanism.master, "master", Master)
    if mechanism.c is not None and _validate.master_factor(mechanism.c) == math.inf:
        raise ParameterError("c = inf", "the runtime would depend on the data", "pass a finite c")


def _of_rows(rows: int, one_row: float) -> float:
    """Return the largest change when several rows are replaced; it is at most 1."""
    return min(rows * one_row * (1 + 2**-50), 1.0)
