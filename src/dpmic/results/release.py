"""A private score of two columns, and the noisy histogram that one may come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from dpmic.data import Backend, build
from dpmic.errors import ParameterError
from dpmic.parameters import chance
from dpmic.parameters.chance import Unrelated
from dpmic.parameters.value_noise import ValueNoise
from dpmic.results import uncertainty
from dpmic.results._base import Fact, square
from dpmic.results._published import PublishedPair
from dpmic.results.relation import Relation, sentence_case
from dpmic.results.score import MineStatistics
from dpmic.statistics import summaries

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Table = tuple[tuple[int, ...], ...]

BIASED = "biased by the noise"
"""What every display says of the MIC of noisy counts, which has no noise interval."""

LONGEST_ENTRY = 24
"""Characters of a float from 0 to 1 at most, and one to spare."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Release(PublishedPair):
    """A differentially private score; what it cost is in ``epsilon`` and ``guarantee``.

    Attributes
    ----------
    value : float
        The published number, in [0, 1].
    estimate : float
        A guess of MIC*, the value in the whole population, with an interval of its own:
        :meth:`estimate_interval`. It follows from the value and from what is public, so it costs
        no privacy (:mod:`dpmic.parameters.tuned`); of other statistics than MIC it is the
        value. The number to show is ``value`` with its noise interval.
    mechanism, statistic : str
        How the number was made, and of what.
    """

    value: float
    estimate: float
    mechanism: str
    statistic: str

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Rebuild a release, with its histogram where it has one."""
        if cls is Release and isinstance(fields, Mapping) and "histogram" in fields:
            return cast("Self", HistogramRelease.from_dict(fields))
        return super().from_dict(fields)

    @property
    def guarantee(self) -> str:
        """The sentence that may be printed beside the number."""
        first, second = self.names
        return self._promise(f"This {self.statistic.upper()} of {first} and {second} is")

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the noise's interval, not the sample's.

        With probability ``level`` or more it contains the score that the same mechanism without
        noise would have given for these records. It says nothing of other records of the same
        kind. It is computed from ``value`` and ``scale`` alone.
        """
        # Outputs and inputs are rounded to the grid.
        half = self._noise.half_width(uncertainty.level_of(level)) + 2 * self.granularity
        return uncertainty.noise_interval(self.value, half)

    def estimate_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return an interval for MIC*, the value in the whole population, around the estimate.

        It covers the privacy noise and the sampling error together, and costs no privacy. How
        often it contains MIC* was measured on relationships that it was not fitted to
        (docs/decisions/0017-estimate-interval.md). Where parameters are not the default ones, or
        nothing was measured, it is refused.
        """
        return self._evidence().interval(self.value, self.estimate, level)

    @property
    def unrelated(self) -> Unrelated | None:
        """What unrelated columns score at this n before noise; None where it is not known."""
        return self._unrelated(1)

    def _unrelated(self, groups: int) -> Unrelated | None:
        """Return what the strongest of unrelated pairs scores, one pair in each group."""
        if self.statistic != "mic":
            return None
        return uncertainty.unrelated(self, self.mechanism, self._noise, groups)

    def relations(self, groups: int = 1) -> tuple[Relation, ...]:
        """Return the score and its noise, to be put into words, as one of so many groups."""
        half = uncertainty.margin(self._noise, self.granularity, 1)
        margin = uncertainty.margin(self._noise, self.granularity, groups)
        return (Relation(self.names, self.value, half, self._unrelated(groups), margin=margin),)

    def headline(self) -> str:
        """Return the result in a sentence."""
        (relation,) = self.relations()
        return relation.sentence

    def known_estimates(self) -> uncertainty.KnownEstimates:
        """Return the estimate with its interval for a display, or why there is none."""
        return uncertainty.known_estimates((self.estimate,), lambda: (self.estimate_interval(),))

    @property
    def _noise(self) -> ValueNoise:
        return ValueNoise("laplace", self.scale)

    def _evidence(self) -> uncertainty.Evidence:
        """Return what an interval for MIC* follows from, besides the value."""
        if self.statistic != "mic":
            raise ParameterError(
                f"statistic = {self.statistic!r}",
                "nothing is known of its population value",
                "use interval() for the noise, or release statistic='mic'",
            )
        return uncertainty.Evidence.of_noise(self, self.mechanism, self._noise)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the value with its noise interval; needs matplotlib."""
        from dpmic.plots import release

        return release(self, ax)

    @property
    def title(self) -> str:
        """What the release is called."""
        return f"{self.names[0]} and {self.names[1]}"

    def facts(self, *, estimate: bool = False) -> list[Fact]:
        """Return the value with its noise interval, and the estimate of MIC* if asked for."""
        return [*self._value_facts(), *(self._estimate_facts() if estimate else ()), *self._price()]

    def _value_facts(self) -> list[Fact]:
        low, high = self.interval()
        return [
            Fact(self.statistic.upper(), f"{self.value:.4f}", "with noise"),
            Fact("noise interval", f"{low:.4f} to {high:.4f}", uncertainty.NOISE_COVERS),
        ]

    def _estimate_facts(self) -> list[Fact]:
        known = self.known_estimates()
        ((guess, low, high),) = known.rows
        if guess is None:
            return [Fact("estimate", "-", known.note)]
        return [
            Fact("estimate", f"{guess:.4f}", "of MIC*, the value in the population"),
            Fact("its interval", f"{low:.4f} to {high:.4f}", known.note),
        ]

    def provenance(self) -> dict[str, str]:
        """Return how it was made, with the noise and the mechanism."""
        return super().provenance() | {"mechanism": self.mechanism}

    def record(self, *, estimate: bool = False) -> dict[str, Any]:
        """Return the numbers as one flat row, with the estimate of MIC* if asked for."""
        low, high = self._ends()
        first, second = self.names
        row = {"x": first, "y": second, "value": self.value, "low": low, "high": high}
        if estimate:
            (guess,) = self.known_estimates().rows
            row |= zip(("estimate", "estimate_low", "estimate_high"), guess, strict=True)
        return row | {"epsilon": self.epsilon, "n": self.n, "mechanism": self.mechanism}

    def _ends(self) -> tuple[float | None, float | None]:
        """Return the ends of the noise interval, where there is one."""
        return self.interval()

    def _drawn(self) -> Sequence[float]:
        return self.value, self.estimate

    def _sound(self) -> bool:
        return 0 <= self.value <= 1 and 0 <= self.estimate <= 1 and super()._sound()

    def _summary(self) -> str:
        low, high = self.interval()
        return (
            f"{self.statistic.upper()} of {self.names[0]} and {self.names[1]}: "
            f"{self.value:.4f}, noise interval {low:.4f} to {high:.4f}; {self._counted}, "
            f"epsilon={self._cost}, {self.mechanism}"
        )

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HistogramRelease(MineStatistics, Release):
    """The counts of two columns with noise, and every MINE statistic of them, for one epsilon.

    Only ``noisy_counts`` were drawn; the rest follows from them. Tables have a row for each cell
    of y, upwards, and a column for each cell of x. ``value`` is the MIC of ``histogram``: noise in
    the counts biases it, and it has no noise interval. What it says of MIC* are ``estimate`` and
    ``estimate_interval()``.

    Attributes
    ----------
    noisy_counts : tuple of tuple of int
        The counts with noise, each within [0, n].
    histogram : tuple of tuple of int
        The same made consistent: the largest counts, which add up to n. The statistics are
        those of MICe for these records, whose values are the numbers of their cells.
    x_edges, y_edges : tuple of float
        The edges of the cells.
    entries : tuple of tuple of float
        The characteristic matrix without its empty places; see ``matrix``.
    """

    noisy_counts: Table
    histogram: Table
    x_edges: tuple[float, ...]
    y_edges: tuple[float, ...]
    entries: tuple[tuple[float, ...], ...]

    @property
    def guarantee(self) -> str:
        """The sentence that may be printed beside the histogram and its statistics."""
        first, second = self.names
        what = f"This histogram of {first} and {second}, with everything computed from it,"
        return self._promise(f"{what} is")

    @property
    def m(self) -> int:
        """The number of cells on each axis."""
        return len(self.histogram)

    @property
    def dates(self) -> tuple[bool, bool]:
        """Whether x and y are dates, whose edges are days since 1970: their bounds say so."""
        x, y = (isinstance(self.parameters[f"{axis} bounds"][0], str) for axis in "xy")
        return x, y

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The characteristic matrix of the histogram, as :attr:`dpmic.Score.matrix`."""
        return square(self.entries)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Refuse: no useful bound is known on how far noise in the counts moves the MIC."""
        raise ParameterError(
            f"level = {level!r}",
            "noise in the counts has no simple interval for the MIC",
            "use mechanism='auto', or estimate_interval() for MIC*",
        )

    @property
    def unrelated(self) -> Unrelated | None:
        """What unrelated columns score at this n, noise included; None where it is not known."""
        if self.rows_per_person > 1:
            return None
        try:
            self._evidence()
        except ParameterError:
            return None
        return chance.before_noise(self.mechanism, self.n, self.epsilon)

    def headline(self) -> str:
        """Return the result in a sentence."""
        first, second = self.names
        known = self.unrelated
        sentence = f"{sentence_case(first)} and {second} score {self.value:.2f}, {BIASED}."
        if known is None:
            return sentence
        return f"{sentence} Unrelated columns score about {known.median:.2f} with that noise."

    def _evidence(self) -> uncertainty.Evidence:
        return uncertainty.Evidence.of_counts(self)

    def to_frame(self, backend: Backend | None = None) -> Any:
        """Return a row for each cell: its edges on x and y, its count and its noisy count."""
        cells = [(row, column) for row in range(self.m) for column in range(self.m)]
        columns: dict[str, Sequence[float]] = {
            "x_low": [self.x_edges[column] for _, column in cells],
            "x_high": [self.x_edges[column + 1] for _, column in cells],
            "y_low": [self.y_edges[row] for row, _ in cells],
            "y_high": [self.y_edges[row + 1] for row, _ in cells],
            "count": [self.histogram[row][column] for row, column in cells],
            "noisy_count": [self.noisy_counts[row][column] for row, column in cells],
        }
        return build(columns, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the histogram as a heat map in units of the data; needs matplotlib."""
        from dpmic.plots import heat_map

        return heat_map(self, ax)

    def _value_facts(self) -> list[Fact]:
        return [Fact("MIC", f"{self.value:.4f}", f"of the noisy counts, {BIASED}")]

    def _ends(self) -> tuple[None, None]:
        return None, None

    def _drawn_length(self) -> tuple[int, int]:
        drawn, most = super()._drawn_length()
        counts = self._counts()
        entries = [entry for row in self.entries for entry in row]
        drawn += sum(len(repr(number)) for number in (*counts, *entries))
        return drawn, most + len(counts) * len(str(self.n)) + len(entries) * LONGEST_ENTRY

    def _counts(self) -> list[int]:
        return [count for row in (*self.noisy_counts, *self.histogram) for count in row]

    def _sound(self) -> bool:
        tables = (self.noisy_counts, self.histogram)
        return (
            super()._sound()
            and self.m >= 2
            and all(len(table) == self.m for table in tables)
            and all(len(row) == self.m for table in tables for row in table)
            and all(type(count) is int and 0 <= count <= self.n for count in self._counts())
            and sum(map(sum, self.histogram)) == self.n
            and len(self.x_edges) == len(self.y_edges) == self.m + 1
            and summaries.mic(self.matrix) == self.value
        )

    def _summary(self) -> str:
        first, second = self.names
        return (
            f"{first!r} and {second!r}: {self.m} x {self.m} cells, "
            f"MIC of the noisy counts {self.value:.4f}, {BIASED}; {self._counted}, "
            f"epsilon={self._cost}"
        )
