"""The base of all mechanisms: calibrated from n and options alone, then applied to the data.

``score`` computes the private score, and ``publish`` adds noise to it, once: the only step from
private to public. Proofs: docs/proofs/.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from dpmic import _validate
from dpmic._validate import Domain, Limits
from dpmic.errors import InputError, ParameterError
from dpmic.parameters.tuned import Calibration
from dpmic.privacy._gaps import Gaps, Size
from dpmic.privacy._guards import (
    open_privately,
    private,
    private_pair,
    refused_in_memory,
    refused_to_drop,
)
from dpmic.privacy.query import checked_epsilon, checked_rows
from dpmic.results import Release
from dpmic.statistics.sources import Counting, Found


class Noise(Protocol):
    """Noise of one scale, with the privacy loss that OpenDP proves for it."""

    @property
    def scale(self) -> float:
        """The scale of the (discrete) Laplace noise."""

    @property
    def epsilon(self) -> float:
        """The privacy loss, by OpenDP's own map of the sensitivity."""


@dataclass(frozen=True, slots=True)
class CalibratedMechanism:
    """A mechanism for n records: its grids and noise, from n and its options alone.

    ``one_row`` is the sensitivity to one row, ``sensitivity`` that to one person;
    ``calibration`` turns the value into an estimate.
    """

    n: int
    limits: Any
    one_row: float
    sensitivity: float
    noise: Noise
    calibration: Calibration


class Mechanism(ABC):
    """A differentially private score of two columns."""

    name: ClassVar[str]
    least_n: ClassVar[int]
    counts: ClassVar[bool] = False
    """Whether noise is added to counts before the score, instead of to the score."""
    needs_bounds: ClassVar[bool] = True
    floors: ClassVar[bool] = False
    """Whether its proof covers a private number of records, and categories."""

    epsilon: float
    statistic: str
    rows_per_person: int
    allow_large_epsilon: bool
    allow_noisy: bool

    @private
    def release(self, x: Any, y: Any, *, data: Any = None) -> Release:
        """Publish the score of two columns; :func:`dpmic.release` adds ledgers and people."""
        from dpmic.privacy.release import release

        released: Release = release(x, y, data=data, mechanism=self)
        return released

    def known(self, source: Found) -> Found:
        """Return a source whose number of records is known; count rows that can be read once."""
        if isinstance(source, Counting) and source.once:
            return self._counted(source)
        open_privately(lambda: source.n)
        return source

    def read(self, source: Found, setting: Any, gaps: Gaps | None = None) -> Any:
        """Read what ``score`` needs, or refuse and name only the column."""
        if isinstance(source, Counting):
            return self._counts(source, setting)
        refused = refused_in_memory if self.floors else refused_to_drop
        return private_pair(source, self.domains, gaps, refused)

    @property
    def domains(self) -> tuple[Domain | None, Domain | None]:
        """The domains of both columns, if they are known."""
        return getattr(self, "bounds", None) or (None, None)

    def _counted(self, source: Counting) -> Counting:
        """Count rows that can be read only once."""
        raise ParameterError(
            f"mechanism {self.name!r}",
            "it cannot count rows that can be read only once",
            "leave out the mechanism, or pass data that can be read again",
        )

    def _counts(self, source: Counting, setting: Any) -> Any:
        """Count rows that come in parts."""
        raise ParameterError(
            f"mechanism {self.name!r}",
            "it ranks all records together, so it needs them in memory",
            "leave out the mechanism, or pass the columns in memory",
        )

    @abstractmethod
    def refuse_noisy(self, setting: Any, counted: str = "records") -> None:
        """Refuse, unless ``allow_noisy``, if noise would hide the score of any data.

        ``counted`` says in words what n counts.
        """

    @abstractmethod
    def setting(self, n: int | Size) -> CalibratedMechanism:
        """Return everything that is fixed before the data is read."""

    @abstractmethod
    def score(self, private: Any, setting: Any) -> Any:
        """Compute the exact score: never to be shown."""

    @abstractmethod
    def publish(
        self, score: Any, source: Found, setting: Any, person: str | None = None
    ) -> Release:
        """Add noise to the score, once: the only step from private to public."""

    def _facts(
        self, source: Found, setting: CalibratedMechanism, person: str | None
    ) -> dict[str, Any]:
        """Return the public facts of a release, apart from what was drawn."""
        return {
            "epsilon": setting.noise.epsilon,
            "n": setting.n,
            "names": (source.names[0], source.names[1]),
            "mechanism": self.name,
            "statistic": self.statistic,
            "parameters": self.public(setting.limits),
            "rows_per_person": self.rows_per_person,
            "person": person,
            "sensitivity": setting.sensitivity,
            "scale": setting.noise.scale,
        }

    @abstractmethod
    def public(self, limits: Limits) -> dict[str, Any]:
        """Return the public parameters besides n."""

    def to_opendp(self, n: int) -> Any:
        """Return an OpenDP measurement on pairs (x, y) of arrays of n records.

        It returns the value; for a histogram, the noisy counts, column by column from bottom to
        top. The distance between inputs is the number of replaced rows. OpenDP requires the
        features "contrib" and "honest-but-curious" for measurements in Python; this call enables
        them for the process.
        """
        from opendp import domains, measurements, measures, metrics, mod

        setting = self.setting(n)
        self.refuse_noisy(setting)
        mod.enable_features("contrib", "honest-but-curious")

        def function(data: tuple[Any, Any]) -> Any:
            released = self.release(*data)
            if released.n != n:
                raise InputError(
                    f"n = {released.n}", f"the measurement is for n = {n}", f"pass {n} records"
                )
            return self._output(released)

        return measurements.make_user_measurement(
            domains.user_domain(f"pairs of {n} finite records", lambda data: len(data) == 2),
            metrics.change_one_distance(),
            measures.max_divergence(),
            function,
            lambda rows: self._loss(rows, setting),
            TO="Vec<i64>" if self.counts else float,
        )

    def _output(self, released: Any) -> Any:
        """Return the number, or the counts, that noise was added to."""
        return released.value

    @abstractmethod
    def _loss(self, rows: int, setting: Any) -> float:
        """Return the privacy loss that OpenDP proves for this many replaced rows."""

    def _enough(self, size: Size) -> None:
        """Refuse fewer records than the proof covers."""
        if _validate.integer(size.least, "n", least=0) < self.least_n:
            promised = f"{size.least} promised records" if size.private else f"n = {size.least}"
            raise InputError(
                promised,
                f"{self.name} needs at least {self.least_n} records",
                "promise more" if size.private else "pass more data",
            )


def check_options(mechanism: Mechanism) -> None:
    """Check the options of all mechanisms."""
    epsilon = checked_epsilon(mechanism.epsilon, allow_large=mechanism.allow_large_epsilon)
    rows = checked_rows(mechanism.rows_per_person)
    object.__setattr__(mechanism, "epsilon", epsilon)
    object.__setattr__(mechanism, "rows_per_person", rows)
