"""One release of two columns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpmic.errors import ParameterError, safe_repr
from dpmic.parameters.value_noise import ValueNoise
from dpmic.privacy._geometric import MICrGeometric
from dpmic.privacy._guards import noise_in_words, open_privately, private, remind_of_bounds
from dpmic.privacy._laplace import MICeLaplace, MICrLaplace
from dpmic.privacy._mechanism import CalibratedMechanism, Mechanism
from dpmic.privacy.ledger import Ledger
from dpmic.privacy.query import Query, Terms
from dpmic.results import Release
from dpmic.statistics import sources
from dpmic.statistics.search import load_kernels
from dpmic.statistics.sources import Counting, Found

__all__ = ["MECHANISMS", "ReleaseQuery", "prepare", "release"]

MECHANISMS: dict[str, type[MICrLaplace] | type[MICeLaplace] | type[MICrGeometric]] = {
    kind.name: kind for kind in (MICrLaplace, MICeLaplace, MICrGeometric)
}
TERMS = ("epsilon", "rows_per_person", "allow_large_epsilon", "allow_noisy")
"""What a mechanism shares with all private calls."""


@private
def release(
    x: Any,
    y: Any,
    *,
    epsilon: float | None = None,
    bounds: Any = None,
    mechanism: str | Mechanism = "micr-laplace",
    data: Any = None,
    person: Any = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    name: str | None = None,
    **options: Any,
) -> Release:
    """Publish how strongly two columns depend on each other, under differential privacy.

    Parameters
    ----------
    x, y : array-like or str
        Two columns of finite numbers, or their names in ``data``.
    epsilon : float
        The privacy loss, at most 10 unless ``allow_large_epsilon=True``.
    bounds : ((x0, x1), (y0, y1)) or mapping
        Needed by ``"micr-laplace"`` and ``"micr-geometric"``; chosen without looking at the data.
    mechanism : {"micr-laplace", "mice-laplace", "micr-geometric"} or Mechanism
        Or an object such as :class:`dpmic.privacy.MICrLaplace`, with its own options.
    data : frame, path, stream or CountTable, optional
        What ``x`` and ``y`` name columns of, as for :func:`dpmic.micr`. Each row must come from one
        person's record alone: a query that puts an average, a rank or another person's value in it
        breaks the guarantee. Rows that can be read only once need a ``B`` and a ``c``; a count
        table has bounds, B and c of its own.
    person : array-like or str, optional
        Who each row belongs to. Only the first ``rows_per_person`` rows of each person are used,
        so that n is the number of people where that is 1. Without it you answer for the number of
        rows that a person has.
    ledger : Ledger or path, optional
        The budget of the people in the data. The same question about the same dataset is answered
        from it for nothing; then ``release.replayed`` says when it was drawn. Columns need names.
    dataset : str, optional
        What the data are called, such as ``"visits 2024"``. Required with a ledger, which keeps
        answers apart by it. Corrected data, or another table, is another dataset and is charged.
    name : str, optional
        Deprecated: an old way to tell questions apart.
    **options
        Of the mechanism: ``B``, ``c``, ``statistic``, ``master``, ``lmax``, ``m``. And
        ``rows_per_person`` (1): how many rows one person may have; the noise grows in proportion.
        ``allow_large_epsilon``: allow epsilon above 10 (weak protection). ``allow_noisy``: publish
        even where the noise of a value exceeds 0.25 with a probability of 5%; without it that is
        refused, before data is read.

    Returns
    -------
    Release
        ``release.guarantee`` is the sentence to print beside ``release.value``. With
        ``"micr-geometric"`` it is a :class:`~dpmic.results.HistogramRelease`.

    Examples
    --------
    >>> import numpy as np, dpmic
    >>> x = np.random.default_rng(7).uniform(-1, 1, 5000)
    >>> published = dpmic.release(x, x**2, epsilon=1.0, bounds=((-1, 1), (0, 1)))
    >>> 0.9 < published.value <= 1, published.n
    (True, 5000)
    """
    if isinstance(mechanism, Mechanism):
        if epsilon is not None or bounds is not None or options:
            raise ParameterError(
                "mechanism", "an object has its own epsilon, bounds and options", "pass it alone"
            )
        shared = {option: getattr(mechanism, option) for option in TERMS}
    else:
        given = {option: options.pop(option) for option in TERMS if option in options}
        shared = {"epsilon": epsilon, **given}
    terms = Terms(person=person, ledger=ledger, dataset=dataset, name=name, **shared)
    return prepare(x, y, terms, data=data, bounds=bounds, mechanism=mechanism, **options).run()


@private
def prepare(
    x: Any,
    y: Any,
    terms: Terms,
    /,
    *,
    data: Any = None,
    bounds: Any = None,
    mechanism: str | Mechanism = "micr-laplace",
    **options: Any,
) -> ReleaseQuery:
    """Fix everything about a release from what is public."""
    found = open_privately(lambda: sources.find(x, y, data=data))
    bounds, options = _of_table(found, mechanism, bounds, options)
    chosen = _mechanism(mechanism, terms, _in_order(bounds, found.names), options)
    if chosen.needs_bounds:
        remind_of_bounds()
    kept, person = terms.bounded(found, data)
    source = chosen.known(kept)
    setting = chosen.setting(source.n)
    chosen.refuse_noisy(setting)
    return ReleaseQuery(
        source=source, terms=terms, person=person, mechanism=chosen, setting=setting
    )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ReleaseQuery(Query[Release]):
    """How strongly two columns depend on each other, by one mechanism."""

    mechanism: Mechanism
    setting: CalibratedMechanism

    result = Release

    @property
    def epsilon(self) -> float:
        """What it costs."""
        return self.setting.noise.epsilon

    @property
    def noise_in_words(self) -> str | None:
        """What the noise of the value means; noise in counts has no simple meaning."""
        if self.mechanism.counts:
            return None
        return noise_in_words(ValueNoise("laplace", self.setting.noise.scale))

    @property
    def publishes(self) -> str:
        """What would be published."""
        return f"the dependence of {' and '.join(self.source.names)}, by {self.mechanism.name}"

    @property
    def asked(self) -> dict[str, Any]:
        """The mechanism and its options."""
        return {
            "mechanism": self.mechanism.name,
            "statistic": self.mechanism.statistic,
            "parameters": self.mechanism.public(self.setting.limits),
            "rows_per_person": self.terms.rows_per_person,
        }

    def read(self) -> Any:
        """Read both columns, or count those that are not in memory."""
        return self.mechanism.read(self.source, self.setting)

    def load(self) -> None:
        """Compile the kernels."""
        load_kernels(counted=self.mechanism.counts or isinstance(self.source, Counting))

    def compute(self, private: Any) -> Any:
        """Compute the score, or the counts."""
        return self.mechanism.score(private, self.setting)

    def publish(self, exact: Any) -> Release:
        """Add noise, once."""
        return self.mechanism.publish(exact, self.source, self.setting, self.person)


def _of_table(
    source: Found, mechanism: Any, bounds: Any, options: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Take what was not given from a count table, which has grids of its own."""
    if not isinstance(source, Counting) or source.grids is None or isinstance(mechanism, Mechanism):
        return bounds, options
    limits = source.grids.limits
    known = {"B": limits.B, "c": limits.c, "master": limits.master}
    taken = getattr(MECHANISMS.get(mechanism), "__dataclass_fields__", {})
    if "bounds" in taken:
        bounds = source.bounds(bounds)
    return bounds, {name: own for name, own in known.items() if name in taken} | options


def _in_order(bounds: Any, names: tuple[str, ...]) -> Any:
    """Return bounds that are given by name as those of x and of y."""
    if not isinstance(bounds, Mapping):
        return bounds
    for name in names:
        if name not in bounds:
            raise ParameterError(
                f"bounds of {', '.join(map(safe_repr, bounds))}",
                f"those of {safe_repr(name)} are missing",
                "name both columns, or pass ((x0, x1), (y0, y1))",
            )
    return tuple(bounds[name] for name in names)


def _mechanism(
    mechanism: str | Mechanism, terms: Terms, bounds: Any, options: dict[str, Any]
) -> Mechanism:
    """Return a mechanism from its name and options, or the one that was handed in."""
    if isinstance(mechanism, Mechanism):
        return mechanism
    kind = MECHANISMS.get(mechanism) if isinstance(mechanism, str) else None
    if kind is None:
        known = " or ".join(repr(known) for known in MECHANISMS)
        raise ParameterError(
            f"mechanism = {safe_repr(mechanism)}", "it is not known", f"pass {known}"
        )
    if bounds is not None:
        options = {**options, "bounds": bounds}
    unknown = sorted(options.keys() - kind.__dataclass_fields__.keys())
    if unknown:
        raise ParameterError(
            f"{unknown[0]} = {safe_repr(options[unknown[0]])}",
            f"{mechanism} has no such option",
            f"pass some of {', '.join(kind.__dataclass_fields__)}",
        )
    if kind.needs_bounds:
        options = {"bounds": None, **options}  # None is refused with the reason
    shared = {option: getattr(terms, option) for option in TERMS}
    return kind(**shared, **options)
