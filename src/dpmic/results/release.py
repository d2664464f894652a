"""A published number with its guarantee. Nothing here was ever un-noised."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dpmic import _validate
from dpmic.errors import InputError, ParameterError
from dpmic.results import html

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Release"]


@dataclass(frozen=True)
class Release:
    """A differentially private score.

    Attributes
    ----------
    value : float
        The published number, in [0, 1].
    estimate : float
        The best guess of MIC* that value and noise support. It follows from the value and from
        what is public, so it costs no privacy (:mod:`dpmic.parameters.estimate`); of other
        statistics than MIC it is the value.
    epsilon : float
        What it cost: the proved privacy loss for the unit in ``guarantee``.
    n : int
        The number of records, which is public.
    names : (str, str)
        What the two variables are called.
    mechanism, statistic : str
        How the number was made, and of what.
    parameters : dict
        B, c and what else fixes the grids; all public and chosen without looking at the data.
    rows_per_person : int
        How many rows one person may have.
    person : str or None
        The column of identifiers, where only the first row of each person was used.
    sensitivity, scale, granularity : float
        The largest change that one person can cause, the scale of the Laplace noise, and the
        spacing of the grid on which outputs lie.
    """

    value: float
    estimate: float
    epsilon: float
    n: int
    names: tuple[str, str]
    mechanism: str
    statistic: str
    parameters: Mapping[str, Any]
    rows_per_person: int
    person: str | None
    sensitivity: float
    scale: float
    granularity: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    @property
    def guarantee(self) -> str:
        """The sentence that may be printed beside the number."""
        epsilon = _validate.upwards(self.epsilon)
        unit = "one record is"
        if self.person is not None:
            unit = f"one person (by {self.person}; of each only the first record is used) is"
        if self.rows_per_person > 1:
            unit = f"all of one person's records, at most {self.rows_per_person}, are"
        public = ", ".join(f"{name} = {_plain(v)}" for name, v in self.parameters.items())
        return (
            f"This {self.statistic.upper()} of {self.names[0]} and {self.names[1]} is "
            f"differentially private with epsilon = {epsilon}: if {unit} replaced by any other, "
            f"no published result becomes more than exp({epsilon}) times as likely or as "
            f"unlikely; public are n = {self.n}, {public}."
        )

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the noise's interval, not the sample's.

        With probability ``level`` or more it contains the score that the same mechanism without
        noise would have given for these records. It says nothing of other records of the same
        kind. It is computed from ``value`` and ``scale`` alone.
        """
        share = _validate.real(level, "level")
        if not 0 < share < 1:
            raise ParameterError(f"level = {level!r}", "it is a probability", "pass 0.95")
        # P(|noise| > h) = exp(-h / scale); outputs and inputs are rounded to the grid.
        half = -self.scale * math.log1p(-share) + 2 * self.granularity
        return max(self.value - half, 0.0), min(self.value + half, 1.0)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the value with its noise interval; needs matplotlib."""
        from dpmic import plots

        return plots.release(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists that ``json.dumps`` takes and ``from_dict`` reads."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {**fields, "names": list(self.names), "parameters": dict(self.parameters)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Release:
        """Rebuild a release from ``to_dict`` or from parsed JSON."""
        try:
            first, second = fields["names"]
            rebuilt = cls(**{**fields, "names": (first, second)})
            numbers = (rebuilt.epsilon, rebuilt.sensitivity, rebuilt.scale, rebuilt.granularity)
            inside = 0 <= rebuilt.value <= 1 and 0 <= rebuilt.estimate <= 1
            sound = inside and all(0 < v < math.inf for v in numbers)
        except (KeyError, TypeError, ValueError):
            sound = False
        if not sound:
            raise InputError("this release", "it is not complete", "pass what to_dict returned")
        return rebuilt

    def to_json(self) -> str:
        """Return the release as one line of JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Release:
        """Rebuild a release from ``to_json``."""
        try:
            fields = json.loads(text)
        except (TypeError, ValueError) as error:
            raise InputError("this text", f"it is not JSON ({error})", "pass to_json's") from None
        return cls.from_dict(fields)

    def __hash__(self) -> int:
        return hash((self.value, self.epsilon, self.n, self.names, self.mechanism))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

    def __float__(self) -> float:
        return self.value

    def _repr_html_(self) -> str:
        low, high = self.interval()
        rows = {
            f"{self.statistic.upper()}, private": f"{self.value:.4f}",
            "estimate": f"{self.estimate:.4f}",
            "noise interval, 95%": f"{low:.4f} to {high:.4f}",
            "epsilon": _validate.upwards(self.epsilon),
            "mechanism": self.mechanism,
            "guarantee": self.guarantee,
        }
        return html.table(rows)


def _plain(value: Any) -> str:
    """Write a parameter as a person would."""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_plain(v) for v in value) + "]"
    return str(value)
