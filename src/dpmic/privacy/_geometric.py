"""Noise in the counts: one noisy histogram, and everything computed from it.

Replacing one record lowers one count of the histogram by one and raises another, so the counts
change by 2 in L1. Two-sided geometric noise of scale 2 / epsilon in every count makes the
histogram epsilon-differentially private. Everything computed from it is post-processing.
Proof: docs/proofs/input-perturbation.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate
from dpmic._validate import Bounds, Limits, shown_end
from dpmic.data import Pair
from dpmic.errors import ParameterError, with_code
from dpmic.parameters import tuned
from dpmic.parameters.tuned import Calibration
from dpmic.privacy import noise, sensitivity
from dpmic.privacy._gaps import Size
from dpmic.privacy._guards import read_privately
from dpmic.privacy._mechanism import CalibratedMechanism, Mechanism, check_options
from dpmic.results import HistogramRelease
from dpmic.statistics import summaries
from dpmic.statistics.records import cell_counts, cell_edges, largest_first
from dpmic.statistics.search import Search, histogram_limits
from dpmic.statistics.sources import Counting, Found

Counts = NDArray[np.int64]

ONE_ROW = 2
"""The L1 change of the counts when one record is replaced."""

MOST_PARTS = 256

LEAST_SIGNAL = 25
"""Records per unit of noise scale; with fewer, an estimate is no better than a guess."""


@dataclass(frozen=True, slots=True)
class CalibratedGeometric(CalibratedMechanism):
    """A calibrated mechanism that adds noise to the counts of m x m cells."""

    noise: noise.Geometric
    m: int


@dataclass(frozen=True)
class MICrGeometric(Mechanism):
    """Publish a noisy histogram, and every MINE statistic of it, for one epsilon.

    Use it if you want the picture or several statistics; for the MIC alone, the error of
    :class:`CappedLaplace` is smaller (docs/guides/noisy-histogram.md). This is not the published
    MICr-Geom, which draws fresh noise for every grid and does not satisfy its epsilon.

    Parameters
    ----------
    epsilon, bounds, rows_per_person, allow_large_epsilon
        As for :class:`MICrLaplace`.
    m : int, optional
        The number of cells on each axis, of equal width, 2 to 256; by default tuned for n and
        epsilon.
    B : float, optional
        The most cells in a grid built from these; by default tuned with ``m``.
    allow_noisy : bool
        Publish even if the counts are little more than noise.

    Examples
    --------
    >>> mechanism = MICrGeometric(1.0, ((0, 1), (0, 1)), m=8)
    >>> setting = mechanism.setting(1000)
    >>> setting.m, setting.sensitivity, round(setting.noise.scale, 6)
    (8, 2, 2.0)
    """

    epsilon: float
    bounds: Bounds
    m: int | None = None
    B: float | None = None
    rows_per_person: int = 1
    allow_large_epsilon: bool = False
    allow_noisy: bool = False

    name = "micr-geometric"
    least_n = 4
    counts = True
    statistic = "mic"

    def __post_init__(self) -> None:
        check_options(self)
        object.__setattr__(self, "bounds", _validate.bounds(self.bounds))
        if self.m is not None:
            parts = _validate.integer(self.m, "m", least=2, most=MOST_PARTS)
            object.__setattr__(self, "m", parts)

    def refuse_noisy(self, setting: CalibratedGeometric, counted: str = "records") -> None:
        """Refuse counts that are mostly noise, unless ``allow_noisy``."""
        if setting.n < LEAST_SIGNAL * setting.noise.scale and not self.allow_noisy:
            raise ParameterError(
                f"n = {setting.n} {counted}",
                f"the counts would be little more than noise of scale {setting.noise.scale:.2g}",
                with_code(
                    "pass more data, a larger epsilon or `mechanism='auto'`, or "
                    "`allow_noisy=True` to publish anyway"
                ),
            )

    def setting(self, n: int | Size) -> CalibratedGeometric:
        """Return everything that is fixed before the data is read."""
        self._enough(Size.of(n))
        n = Size.of(n).n
        sensitivity.rounding(n, 4)  # refuses more records than the rounding proof covers
        default = tuned.lookup_histogram(n, self.epsilon / self.rows_per_person)
        m = default.m if self.m is None else self.m
        B = _validate.cells(n, None, default.B if self.B is None else self.B)
        # A person with several rows can move each of them, but at most n.
        changed = ONE_ROW * min(self.rows_per_person, n)
        known = (self.m, self.B) == (None, None)
        return CalibratedGeometric(
            n=n,
            limits=histogram_limits(B, m),
            one_row=ONE_ROW,
            sensitivity=changed,
            noise=noise.calibrate_counts(changed, self.epsilon),
            calibration=default.calibration if known else Calibration(),
            m=m,
        )

    def _counts(self, source: Counting, setting: CalibratedGeometric) -> Counts:
        return read_privately(lambda: source.histogram(self.bounds, setting.m))

    def score(self, private: Pair | Counts, setting: CalibratedGeometric) -> Counts:
        """Count the records in the cells, without noise."""
        if isinstance(private, Pair):
            return cell_counts(private.x, private.y, self.bounds, setting.m)
        return private

    def draw(self, counts: Counts, setting: CalibratedGeometric) -> Counts:
        """Add noise to every count, once, and clamp to [0, n]."""
        noisy = setting.noise.add(counts.ravel().tolist())
        # Python integers first: noise may exceed the range of numpy's.
        clamped = [min(max(count, 0), setting.n) for count in noisy]
        return np.array(clamped, np.int64).reshape(counts.shape)

    def publish(
        self, score: Counts, source: Found, setting: CalibratedGeometric, person: str | None = None
    ) -> HistogramRelease:
        """Add noise to the counts, once; compute everything else from the noisy counts."""
        noisy = self.draw(score, setting)
        table = largest_first(noisy, setting.n)
        matrix = Search.of_histogram(table, self.bounds, setting.limits).matrix()
        value = summaries.mic(matrix)
        x_edges, y_edges = cell_edges(self.bounds, setting.m)
        return HistogramRelease(
            value=value,
            estimate=float(setting.calibration.estimate(value, 0.0)),
            granularity=1.0,
            noisy_counts=noisy.T.tolist(),  # rows follow y, as in a picture
            histogram=table.T.tolist(),
            x_edges=x_edges.tolist(),
            y_edges=y_edges.tolist(),
            entries=tuple(tuple(row[~np.isnan(row)].tolist()) for row in matrix),
            **self._facts(source, setting, person),
        )

    def public(self, limits: Limits) -> dict[str, Any]:
        """Return the bounds, the number of cells and the size of grids."""
        each = zip("xy", self.bounds, strict=True)
        box = {f"{axis} bounds": list(map(shown_end, own)) for axis, own in each}
        return {**box, "m": limits.lmax, "B": limits.B}

    def _output(self, released: HistogramRelease) -> list[int]:
        return [count for column in zip(*released.noisy_counts, strict=True) for count in column]

    def _loss(self, rows: int, setting: CalibratedGeometric) -> float:
        return setting.noise.loss(ONE_ROW * min(rows, setting.n))
