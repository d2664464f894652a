"""The same query for each group of records, under one guarantee.

A replaced record leaves one group and enters another, so it touches at most two groups, and each
group may spend half of epsilon. With m rows per person there are 2 m such steps. The number of
records in a group is private, so each group needs a promised size
(docs/proofs/private-number.md). For the same reason records of no group are left out, whatever the
rule for missing values is: refusing them would say that there are some.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate
from dpmic._validate import Categories
from dpmic.data import Pair, Source, find, series_name
from dpmic.errors import InputError, ParameterError, safe_repr, with_code
from dpmic.privacy._gaps import Gaps, Size
from dpmic.privacy._guards import open_privately, private_columns
from dpmic.privacy.query import Query, Terms
from dpmic.results import Groups

__all__ = ["GroupsQuery", "prepare"]

Codes = NDArray[np.float64]


def prepare(make: Callable[[Terms], Query[Any]], terms: Terms, data: Any) -> GroupsQuery:
    """Prepare the queries of all groups from public facts; ``make`` prepares one of them."""
    name = terms.by if isinstance(terms.by, str) else series_name(terms.by) or "by"
    groups = _checked_groups(terms, name)
    promised = _promised(terms.at_least, groups, name)
    column = open_privately(lambda: find(terms.by, data=data, roles=("by",)))
    alone = replace(terms, by=None, at_least=None, missing="refuse", complete=None)
    kept = alone.bounded(column, data)
    assert kept.size is not None  # rows in parts were refused
    _refuse_impossible(promised, groups, kept.size)
    rest = {key: own for key, own in (terms.categories or {}).items() if key != name}
    of_one = replace(
        terms,
        by=None,
        at_least=None,
        categories=rest or None,
        allow_large_epsilon=True,
        ledger=None,
        dataset=None,
        name=None,
    )
    share = terms.epsilon / 2
    while True:
        own = replace(of_one, epsilon=share)
        parts = tuple(
            _part(make, replace(own, promised=size), group)
            for group, size in zip(groups.labels, promised, strict=True)
        )
        source = parts[0].source
        assert isinstance(source, Source)
        if kept.source.n != source.n:
            raise InputError(
                f"column {safe_repr(name)}",
                "it does not have a value for each record",
                "pass one for each record",
            )
        query = GroupsQuery(
            source=replace(source, named=source.named and kept.source.named),
            terms=terms,
            person=kept.person,
            size=kept.size,
            groups=groups,
            by=replace(kept.source, names=(name,)),
            parts=parts,
        )
        if query.epsilon <= terms.epsilon:
            return query
        share *= terms.epsilon / query.epsilon * (1 - 1e-12)  # single steps are rounded up


def _part(make: Callable[[Terms], Query[Any]], terms: Terms, group: str) -> Any:
    """Prepare the query of one group; a refusal names the group."""
    try:
        return make(terms)
    except ParameterError as error:
        value, reason = f"group {safe_repr(group)}: {error.value}", error.reason
        raise ParameterError(value, reason, error.remedy + ", or leave the group out") from None


def _refuse_impossible(promised: list[int], groups: Categories, size: Size) -> None:
    """Refuse promises that exceed the number of people, which is public."""
    for group, own in zip(groups.labels, promised, strict=True):
        if own > size.n:
            raise ParameterError(
                f"at_least of {safe_repr(group)} = {own}",
                f"there are only {size.n} people",
                "promise fewer",
            )
    if sum(promised) > size.most:
        raise ParameterError(
            f"at_least of all groups = {sum(promised)}",
            f"there are at most {size.most} rows",
            "promise fewer",
        )


def _checked_groups(terms: Terms, name: str) -> Categories:
    """Return the public groups."""
    known = terms.categories
    if not isinstance(known, Mapping) or name not in known:
        raise ParameterError(
            f"by = {safe_repr(name)}",
            "the groups must be public, and are never taken from the records",
            with_code("pass `categories=...` with a list of the groups"),
        )
    return _validate.categories(known[name], name)


def _promised(at_least: Any, groups: Categories, name: str) -> list[int]:
    """Return the promised size of each group."""
    given = at_least
    if not isinstance(given, Mapping):
        given = dict.fromkeys(groups.labels, at_least)
    sizes = {_validate.label(key): size for key, size in given.items()}
    for group in groups.labels:
        if sizes.get(group) is None:
            raise ParameterError(
                "at_least",
                f"group {safe_repr(group)} has no promised size",
                with_code("pass `at_least=...`, a number of people that are certainly in it"),
            )
    unknown = sorted(sizes.keys() - set(groups.labels))
    if unknown:
        raise ParameterError(
            f"at_least of {safe_repr(unknown[0])}",
            f"{name} has no such category",
            f"the categories are {', '.join(groups.labels)}",
        )
    return [_validate.integer(sizes[group], "at_least", least=2) for group in groups.labels]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GroupsQuery(Query[Groups]):
    """The same query for every group."""

    groups: Categories
    by: Source
    parts: tuple[Any, ...]

    result = Groups

    @property
    def epsilon(self) -> float:
        """The cost of all groups together: two steps per row of a person, rounded up."""
        steps = 2 * self.terms.rows_per_person
        return math.nextafter(steps * max(part.step_loss for part in self.parts), math.inf)

    @property
    def noisiest(self) -> tuple[str, Any]:
        """The group with the most noise, and its query."""
        each = zip(self.groups.labels, self.parts, strict=True)
        return min(each, key=lambda own: own[1].setting.size.least)

    @property
    def noise_in_words(self) -> str | None:
        """The noise in words, for the group with the most noise."""
        return f"in the group with the smallest promise: {self.noisiest[1].noise_in_words}"

    @property
    def promises(self) -> dict[str, str]:
        """What is promised besides the size of each group, in words."""
        each = zip(self.groups.labels, self.parts, strict=True)
        listed = ", ".join(f"{group} {part.n:,}" for group, part in each)
        said = f"by {self.by.names[0]}; promised sizes: {listed}; each group gets half of epsilon; "
        return {**super().promises, "groups": said + "records of other groups take no part"}

    @property
    def publishes(self) -> str:
        """What the query publishes."""
        count, name = len(self.groups), self.by.names[0]
        return f"{self.parts[0].publishes}, for each of {count} groups by {name}"

    @property
    def key_facts(self) -> dict[str, Any]:
        """The groups, and the options of their queries."""
        return {
            "by": self.by.names[0],
            "groups": dict(zip(self.groups.labels, (p.n for p in self.parts), strict=True)),
            "each": self.parts[0].key_facts,
            "rows_per_person": self.terms.rows_per_person,
        }

    def read(self) -> tuple[Any, Codes]:
        """Read the columns once, and the group of each record, if it has one."""
        (codes,) = private_columns(self.by, (self.groups,), Gaps("drop"))
        return self.parts[0].read(), codes

    def compute(self, private: tuple[Any, Codes]) -> list[Any]:
        """Compute the exact scores of each group: never to be shown."""
        records, codes = private
        return [
            part.compute(_of_group(records, codes == group))
            for group, part in enumerate(self.parts)
        ]

    def publish(self, exact: list[Any]) -> Groups:
        """Draw the noise of every group."""
        members = tuple(part.publish(own) for part, own in zip(self.parts, exact, strict=True))
        first, *others = (dict(member.parameters) for member in members)
        shared = {
            name: value
            for name, value in first.items()
            if all(own.get(name) == value for own in others)
        }
        sizes = dict(zip(self.groups.labels, (part.n for part in self.parts), strict=True))
        facts = {"by": self.by.names[0], "at_least": sizes, **shared}
        named = tuple(
            replace(member, parameters={"by": facts["by"], "group": group, **member.parameters})
            for group, member in zip(self.groups.labels, members, strict=True)
        )
        return Groups(labels=self.groups.labels, members=named, parameters=facts, **self.facts)


def _of_group(records: Any, inside: NDArray[np.bool_]) -> Any:
    """Return the records of one group: two columns, or all columns of a table."""
    if isinstance(records, Pair):
        return replace(records, x=records.x[inside], y=records.y[inside])
    return tuple(values[inside] for values in records)
