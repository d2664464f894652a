"""A noisy histogram with all that follows from it. Nothing here was ever un-noised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmic.data import Backend, build
from dpmic.errors import ParameterError
from dpmic.results import html, inference
from dpmic.results.mine import MineStatistics
from dpmic.results.release import Release
from dpmic.statistics import summaries

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BIASED", "HistogramRelease"]

Table = tuple[tuple[int, ...], ...]

BIASED = "biased by the noise"
"""What every display says of the MIC of noisy counts, which has no noise interval."""

LONGEST_ENTRY = 24
"""Characters of a float from 0 to 1 at most, and one to spare."""


@dataclass(frozen=True, kw_only=True, repr=False)
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

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("noisy_counts", "histogram", "entries"):
            object.__setattr__(self, name, tuple(map(tuple, getattr(self, name))))
        for name in ("x_edges", "y_edges"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    @property
    def guarantee(self) -> str:
        """The sentence that may be printed beside the histogram and its statistics."""
        first, second = self.names
        what = f"This histogram of {first} and {second}, with all that is computed from it,"
        return self._promise(f"{what} is")

    @property
    def m(self) -> int:
        """The number of cells on each axis."""
        return len(self.histogram)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The characteristic matrix of the histogram, as :attr:`dpmic.Score.matrix`."""
        matrix = np.full((len(self.entries), len(self.entries)), np.nan)
        for place, row in zip(matrix, self.entries, strict=True):
            place[: len(row)] = row
        return matrix

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Refuse: no useful bound is known on how far noise in the counts moves the MIC."""
        raise ParameterError(
            f"level = {level!r}",
            "noise in the counts has no simple interval for the MIC",
            "use mechanism='micr-laplace', or estimate_interval() for MIC*",
        )

    def _evidence(self) -> inference.Evidence:
        return inference.Evidence.of_counts(self)

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
        from dpmic.plots.histograms import heat_map

        return heat_map(self, ax)

    def _drawn_length(self) -> tuple[int, int]:
        drawn, most = super()._drawn_length()
        counts = [
            count for table in (self.noisy_counts, self.histogram) for row in table for count in row
        ]
        entries = [entry for row in self.entries for entry in row]
        drawn += sum(len(repr(number)) for number in (*counts, *entries))
        return drawn, most + len(counts) * len(str(self.n)) + len(entries) * LONGEST_ENTRY

    def _sound(self) -> bool:
        tables = (self.noisy_counts, self.histogram)
        counts = [count for table in tables for row in table for count in row]
        return (
            super()._sound()
            and self.m >= 2
            and all(len(table) == self.m for table in tables)
            and all(len(row) == self.m for table in tables for row in table)
            and all(type(count) is int and 0 <= count <= self.n for count in counts)
            and sum(map(sum, self.histogram)) == self.n
            and len(self.x_edges) == len(self.y_edges) == self.m + 1
            and summaries.mic(self.matrix) == self.value
        )

    def __hash__(self) -> int:
        return hash((self.noisy_counts, self.epsilon, self.names))

    def __repr__(self) -> str:
        first, second = self.names
        return (
            f"HistogramRelease({first!r} and {second!r}: {self.m} x {self.m} cells, "
            f"MIC of the noisy counts {self.value:.4f}, {BIASED}; n={self.n}, "
            f"epsilon={self._cost})"
        )

    def _repr_html_(self) -> str:
        rows = {
            "MIC of the noisy counts": f"{self.value:.4f} ({BIASED})",
            "TIC, normalised": f"{self.tic(normalised=True):.4f}",
            "MAS": f"{self.mas:.4f}",
            "MEV": f"{self.mev:.4f}",
            "MCN": f"{self.mcn():.4f}",
            "histogram": f"{self.m} x {self.m} cells of {' and '.join(self.names)}",
            "epsilon": self._cost,
            "mechanism": self.mechanism,
            "guarantee": self.guarantee,
        }
        return html.table(rows)
