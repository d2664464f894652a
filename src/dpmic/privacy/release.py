"""The release of one score of two columns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

from dpmic.errors import ParameterError, did_you_mean, safe_repr
from dpmic.parameters.value_noise import ValueNoise
from dpmic.privacy import groups
from dpmic.privacy._auto import MECHANISMS, choose, default_for
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

__all__ = ["MECHANISMS", "ReleaseQuery", "default_for", "prepare", "release"]


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
        The possible ranges of the columns, from domain knowledge, never from the data. They may be
        generous; dates have dates as bounds. Only ``"mice-laplace"`` needs no bounds.
    categories : mapping, optional
        The possible values of a nominal column, from domain knowledge, never from the data:
        ``{"ward": ["a", "b", "c"]}``. Other values count as missing, or as "other" if that is
        listed. Such a column needs no bounds.
    mechanism : {"auto", "capped-laplace", "micr-laplace", "mice-laplace", "micr-geometric"}
        By default ``"capped-laplace"``, or ``"micr-laplace"`` where an option or the number of
        records needs it. Or an object such as :class:`dpmic.privacy.CappedLaplace`, with its own
        options.
    data : frame, path, stream or CountTable, optional
        The table with the columns ``x`` and ``y``, as for :func:`dpmic.micr`. Each row must come
        from one person's record alone: if it contains an average, a rank or another person's value,
        the guarantee does not hold. A count table has its own bounds and grids.
    missing : {"refuse", "drop", "scatter"} or mapping
        The rule for missing values. "refuse": raise an error. "drop" (recommended): leave out
        records that lack one of the two values; see ``complete``. "scatter": fill in random values
        within the bounds. ``{"cigarettes": 0}``: fill in this value. The number of missing values
        is never published.
    complete : float, optional
        With ``missing="drop"``, the share of complete records that you promise (0.8). If fewer are
        complete, the score is lower; the privacy guarantee still holds.
    by : array-like or str, optional
        A column whose categories form groups. Each group gets its own result; all together cost
        epsilon. List the groups in ``categories``.
    at_least : mapping or int, optional
        With ``by``, the number of people that you promise are in each group.
    person : array-like or str, optional
        The person of each row. Only the first ``rows_per_person`` rows of each person are used, and
        n is the number of people. Without it, you promise that nobody has more rows.
    ledger : Ledger or path, optional
        The privacy budget of the people in the data. Repeating a query about the same dataset
        returns the stored answer for free; ``release.replayed`` is then the time of the draw. The
        columns need names.
    dataset : str, optional
        A name for the data, such as ``"visits 2024"``; required with a ledger. Corrected or other
        data needs a new name and is charged again.
    name : str, optional
        Deprecated; use ``dataset``.
    **options
        Options of the mechanism: ``axes`` ("any", "linear" or "wide"), ``cap``, ``B``, ``c``,
        ``statistic``, ``master``, ``lmax``, ``m``. Besides, ``rows_per_person`` (1): the most rows
        of one person; the noise grows in proportion. ``allow_large_epsilon``: allow epsilon above
        10 (weak protection). ``allow_noisy``: publish even if the noise exceeds 0.25 with a
        probability of 5%, which is otherwise refused before the data is read.

    Returns
    -------
    Release
        ``release.value`` is the noisy MIC, and ``release.guarantee`` the sentence to print beside
        it. The result is a :class:`~dpmic.results.HistogramRelease` with ``"micr-geometric"``, and
        :class:`~dpmic.results.Groups` with ``by``.

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
                "mechanism", "an object has its own epsilon, bounds and options", "leave those out"
            )
        if by is not None:
            raise ParameterError(
                "by",
                "groups share one epsilon, and an object has its own",
                "pass the name of a mechanism",
            )
        shared = {option: getattr(mechanism, option) for option in TERMS}
    else:
        known = {own for kind in MECHANISMS.values() for own in kind.__dataclass_fields__}
        for option in sorted(options.keys() - known):
            remedy = did_you_mean(
                option, [*signature(release).parameters, *sorted(known)], "options"
            )
            reason = "there is no such option"
            raise ParameterError(f"{option} = {safe_repr(options[option])}", reason, remedy)
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
    """Prepare the query for a release, from public facts alone."""
    if terms.by is not None:
        if isinstance(terms.by, str) and terms.by in (x, y):
            raise ParameterError(
                f"by = {safe_repr(terms.by)}",
                "it is one of the two scored columns",
                "choose another column for the groups",
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
    chosen.refuse_noisy(setting, terms.counted)
    return ReleaseQuery(
        source=source, terms=terms, person=person, size=size, mechanism=chosen, setting=setting
    )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ReleaseQuery(Query[Release]):
    """A query for the score of two columns, by one mechanism."""

    mechanism: Mechanism
    setting: CalibratedMechanism

    result = Release

    @property
    def epsilon(self) -> float:
        """The cost of the query."""
        return self.setting.noise.epsilon

    @property
    def step_loss(self) -> float:
        """The privacy loss when one record is added, removed or replaced."""
        noise: Any = self.setting.noise
        return float(noise.loss(self.setting.one_row))

    @property
    def noise_in_words(self) -> str | None:
        """The noise of the value in words; there are none for noise in counts."""
        if self.mechanism.counts:
            return None
        return noise_in_words(ValueNoise("laplace", self.setting.noise.scale))

    @property
    def publishes(self) -> str:
        """What the query publishes."""
        kind = self.mechanism
        what = "a noisy histogram" if kind.counts else f"the {kind.statistic.upper()}"
        return f"{what} of {' and '.join(self.source.names)}, by {self.mechanism.name}"

    @property
    def key_facts(self) -> dict[str, Any]:
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
        """Read both columns, or count them if they are not in memory."""
        return self.mechanism.read(self.source, self.setting, self.terms.gaps)

    def compute(self, private: Any) -> Any:
        """Compute the exact score, or the exact counts: never to be shown."""
        return self.mechanism.score(private, self.setting)

    def publish(self, exact: Any) -> Release:
        """Add noise, once."""
        published = self.mechanism.publish(exact, self.source, self.setting, self.person)
        return replace(published, parameters={**published.parameters, **self.counted_facts})
