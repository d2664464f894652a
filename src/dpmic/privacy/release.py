"""One release of two columns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dpmic.errors import ParameterError, safe_repr
from dpmic.parameters.value_noise import ValueNoise
from dpmic.privacy import groups
from dpmic.privacy._auto import MECHANISMS, choose, of_least_error
from dpmic.privacy._gaps import domains_of
from dpmic.privacy._guards import (
    noise_in_words,
    open_privately,
    private,
    refuse_other_kinds,
    remind_of_bounds,
)
from dpmic.privacy._mechanism import CalibratedMechanism, Mechanism
from dpmic.privacy.ledger import Ledger
from dpmic.privacy.query import TERMS, Query, Terms, private_number
from dpmic.results import Release
from dpmic.statistics import sources

__all__ = ["MECHANISMS", "ReleaseQuery", "of_least_error", "prepare", "release"]


@private
def release(
    x: Any,
    y: Any,
    *,
    epsilon: float | None = None,
    bounds: Any = None,
    categories: Mapping[str, Any] | None = None,
    mechanism: str | Mechanism = "auto",
    data: Any = None,
    missing: Any = "refuse",
    complete: float | None = None,
    by: Any = None,
    at_least: Mapping[str, int] | int | None = None,
    person: Any = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    name: str | None = None,
    **options: Any,
) -> Any:  # Release, or Groups with `by`
    """Publish how strongly two columns depend on each other, under differential privacy.

    Parameters
    ----------
    x, y : array-like or str
        Two columns of finite numbers, dates or categories, or their names in ``data``.
    epsilon : float
        The privacy loss, at most 10 unless ``allow_large_epsilon=True``.
    bounds : ((x0, x1), (y0, y1)) or mapping
        Chosen without looking at the data. They need only contain the data, generously; those of
        dates may be written as dates. All mechanisms need them but ``"mice-laplace"``.
    categories : mapping, optional
        The values that a nominal column can have, ``{"ward": ["a", "b", "c"]}``, from what is known
        of it, never from the records. Other values count as missing, or as "other" where that is
        listed. Such a column has no bounds.
    mechanism : {"auto", "capped-laplace", "micr-laplace", "mice-laplace", "micr-geometric"}
        By default whichever of the first two has the smaller error at that n and epsilon. Or an
        object such as :class:`dpmic.privacy.CappedLaplace`, with its own options.
    data : frame, path, stream or CountTable, optional
        What ``x`` and ``y`` name columns of, as for :func:`dpmic.micr`. Each row must come from one
        person's record alone: a query that puts an average, a rank or another person's value in it
        breaks the guarantee. A count table has bounds and grids of its own.
    missing : {"refuse", "drop", "scatter"} or mapping
        What becomes of missing values: the call is refused; records without both values are left
        out, which is the advice (see ``complete``); each gets a random value within its bounds; or
        the value that ``{"cigarettes": 0}`` names for its column. How many are missing is never
        published.
    complete : float, optional
        With ``missing="drop"``, the share of records that you promise to be complete (0.8). If
        fewer are, the score is lower; privacy holds all the same.
    by : array-like or str, optional
        A column whose categories are groups: each gets a result of its own, and all of them
        together cost epsilon. Its groups stand in ``categories``.
    at_least : mapping or int, optional
        With ``by``, how many people you promise to be in each group.
    person : array-like or str, optional
        Who each row belongs to. Only the first ``rows_per_person`` rows of each person are used,
        and n is the number of people. Without it you answer for the number of rows that a person
        has.
    ledger : Ledger or path, optional
        The budget of the people in the data. The same question about the same dataset is answered
        from it for nothing; then ``release.replayed`` says when it was drawn. Columns need names.
    dataset : str, optional
        What the data are called, such as ``"visits 2024"``. Required with a ledger, which keeps
        answers apart by it. Corrected data, or another table, is another dataset and is charged.
    name : str, optional
        Deprecated: an old way to tell questions apart.
    **options
        Of the mechanism: ``axes`` ("any"; "linear" or "wide"), ``cap``, ``B``, ``c``,
        ``statistic``, ``master``, ``lmax``, ``m``. And
        ``rows_per_person`` (1): how many rows one person may have; the noise grows in proportion.
        ``allow_large_epsilon``: allow epsilon above 10 (weak protection). ``allow_noisy``: publish
        even where the noise of a value exceeds 0.25 with a probability of 5%; without it that is
        refused, before data is read.

    Returns
    -------
    Release
        ``release.guarantee`` is the sentence to print beside ``release.value``. With
        ``"micr-geometric"`` it is a :class:`~dpmic.results.HistogramRelease`, and with ``by`` a
        :class:`~dpmic.results.Groups`.

    Examples
    --------
    >>> import numpy as np, dpmic
    >>> x = np.random.default_rng(7).uniform(-1, 1, 5000)
    >>> published = dpmic.release(x, x**2, epsilon=1.0, bounds=((-1, 1), (0, 1)))
    >>> 0.9 < published.value <= 1, published.n
    (True, 5000)
    """
    if isinstance(mechanism, Mechanism):
        if epsilon is not None or bounds is not None or categories is not None or options:
            raise ParameterError(
                "mechanism", "an object has its own epsilon, bounds and options", "pass it alone"
            )
        if by is not None:
            raise ParameterError(
                "by", "an object has its own epsilon, and groups share one", "pass a name instead"
            )
        shared = {option: getattr(mechanism, option) for option in TERMS}
    else:
        given = {option: options.pop(option) for option in TERMS if option in options}
        shared = {"epsilon": epsilon, **given}
    terms = Terms(
        person=person,
        missing=missing,
        complete=complete,
        categories=categories,
        by=by,
        at_least=at_least,
        ledger=ledger,
        dataset=dataset,
        name=name,
        **shared,
    )
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
    mechanism: str | Mechanism = "auto",
    **options: Any,
) -> Any:
    """Fix everything about a release from what is public."""
    if terms.by is not None:
        if isinstance(terms.by, str) and terms.by in (x, y):
            raise ParameterError(
                f"by = {safe_repr(terms.by)}", "it is one of the two columns", "group by another"
            )
        given = {"data": data, "bounds": bounds, "mechanism": mechanism, **options}
        return groups.prepare(lambda own: prepare(x, y, own, **given), terms, data)
    found = open_privately(lambda: sources.find(x, y, data=data))
    kept, person, size = terms.bounded(found, data)
    chosen = mechanism
    if not isinstance(chosen, Mechanism):
        domains = domains_of(bounds, terms.categories, kept.names)
        chosen = choose(mechanism, kept, terms, domains, options, size)
    if chosen.needs_bounds:
        remind_of_bounds()
    if size is not None and size.private and not chosen.floors:
        raise private_number(terms, chosen.name)
    refuse_other_kinds(kept, chosen.domains)
    terms.gaps.check(kept.names, chosen.domains)
    source = chosen.known(kept)
    setting = chosen.setting(source.n if size is None else size)
    chosen.refuse_noisy(setting)
    return ReleaseQuery(
        source=source, terms=terms, person=person, size=size, mechanism=chosen, setting=setting
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
    def step_loss(self) -> float:
        """What one record more, less or other costs."""
        noise: Any = self.setting.noise
        return float(noise.loss(self.setting.one_row))

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
            "parameters": {
                **self.mechanism.public(self.setting.limits),
                **self.counted_facts,
            },
            "rows_per_person": self.terms.rows_per_person,
        }

    def read(self) -> Any:
        """Read both columns, or count those that are not in memory."""
        return self.mechanism.read(self.source, self.setting, self.terms.gaps)

    def compute(self, private: Any) -> Any:
        """Compute the score, or the counts."""
        return self.mechanism.score(private, self.setting)

    def publish(self, exact: Any) -> Release:
        """Add noise, once."""
        published = self.mechanism.publish(exact, self.source, self.setting, self.person)
        return replace(published, parameters={**published.parameters, **self.counted_facts})
