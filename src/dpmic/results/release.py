"""A published number with its guarantee. Nothing here was ever un-noised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

from dpmic.errors import ParameterError
from dpmic.results import html, inference, noises
from dpmic.results.published import PublishedPair

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Release"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Release(PublishedPair):
    """A differentially private score; what it cost is in ``epsilon`` and ``guarantee``.

    Attributes
    ----------
    value : float
        The published number, in [0, 1].
    estimate : float
        A guess of MIC*, the value in the whole population, with an interval of its own:
        :meth:`estimate_interval`. It follows from the value and from what is public, so it costs
        no privacy (:mod:`dpmic.parameters.estimate`); of other statistics than MIC it is the
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
            from dpmic.results.histogram_release import HistogramRelease

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
        half = noises.half_width("laplace", self.scale, level) + 2 * self.granularity
        return noises.interval(self.value, half)

    def estimate_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return an interval for MIC*, the value in the whole population, around the estimate.

        It covers the privacy noise and the sampling error together, and costs no privacy. How
        often it contains MIC* was measured on relationships that it was not fitted to
        (docs/decisions/0017-estimate-interval.md). Where parameters are not the default ones, or
        nothing was measured, it is refused.
        """
        return self._evidence().interval(self.value, self.estimate, level)

    def _shown_estimates(self) -> inference.Shown:
        return inference.shown((self.estimate,), lambda: (self.estimate_interval(),))

    def _evidence(self) -> inference.Evidence:
        """Return what an interval for MIC* follows from, besides the value."""
        if self.statistic != "mic":
            raise ParameterError(
                f"statistic = {self.statistic!r}",
                "nothing is known of its population value",
                "use interval() for the noise, or release statistic='mic'",
            )
        return inference.Evidence.of_noise(self, self.mechanism)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the value with its noise interval; needs matplotlib."""
        from dpmic.plots.releases import release

        return release(self, ax)

    def _drawn_length(self) -> tuple[int, int]:
        return len(repr(self.value) + repr(self.estimate)), 50

    def _sound(self) -> bool:
        return 0 <= self.value <= 1 and 0 <= self.estimate <= 1 and super()._sound()

    def __hash__(self) -> int:
        return hash((self.value, self.epsilon, self.n, self.names, self.mechanism))

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        low, high = self.interval()
        return (
            f"Release({self.statistic.upper()} of {self.names[0]} and {self.names[1]}: "
            f"{self.value:.4f}, noise interval {low:.4f} to {high:.4f}; n={self.n}, "
            f"epsilon={self._cost}, {self.mechanism})"
        )

    def _repr_html_(self) -> str:
        low, high = self.interval()
        rows = {
            f"{self.statistic.upper()}, private": f"{self.value:.4f}",
            "noise interval": f"{low:.4f} to {high:.4f} ({noises.COVERS})",
            "epsilon": self._cost,
            "mechanism": self.mechanism,
            "guarantee": self.guarantee,
        }
        return html.table(rows)
