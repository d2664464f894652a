"""Missing values, and what is public about the number of records.

If records are dropped because of their values, the number that remains is private. Only the
largest possible number and the promised number are then public. The score is that of the remaining
records, scaled down if they are fewer than promised (docs/proofs/private-number.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate
from dpmic._validate import Categories, Domain
from dpmic.errors import Message, ParameterError, RefusedValueError, safe_repr, with_code
from dpmic.privacy import noise

__all__ = ["Gaps", "Size", "domains_of", "fill_of"]

Floats = NDArray[np.float64]
Rule = Literal["refuse", "drop", "scatter"]

COMPLETE = 0.8
"""The default promise: the share of complete records."""


@dataclass(frozen=True, slots=True)
class Size:
    """What is public about the number of records.

    Attributes
    ----------
    n : int
        The number of people; the number of records if each is a different person.
    least, most : int
        The promised number of remaining records, and the largest possible number.
    gaps : bool
        Whether incomplete records are dropped.
    filtered : bool
        Whether the records are a group; n is then the promised size.
    """

    n: int
    least: int
    most: int
    gaps: bool = False
    filtered: bool = False

    @classmethod
    def of(cls, n: int | Size) -> Size:
        """Return the size of n records, none of which is dropped."""
        return n if isinstance(n, Size) else cls(n, n, n)

    @property
    def private(self) -> bool:
        """Whether the number of records in the score is private."""
        return self.gaps or self.filtered or not self.least == self.n == self.most


@dataclass(frozen=True)
class Gaps:
    """The rule for missing values, the same for every record.

    Attributes
    ----------
    rule : {"refuse", "drop", "scatter", "fill"}
        Refuse the data, drop the record from its pairs, fill in a random value, or a fixed one.
    complete : float
        The promised share of a pair's records that have both values.
    fill : mapping
        The fixed values, by column.
    """

    rule: str = "refuse"
    complete: float = 1.0
    fill: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def checked(cls, missing: object, complete: object) -> Gaps:
        """Check the options of a private call."""
        dropped = missing == "drop"
        if complete is not None and not dropped:
            raise ParameterError(
                f"complete = {safe_repr(complete)}",
                "it applies only to dropped records",
                with_code("pass `missing='drop'` too, or leave it out"),
            )
        if isinstance(missing, Mapping):
            return cls("fill", fill={str(name): value for name, value in missing.items()})
        _validate.choice(missing, "missing", Rule)
        share = 1.0
        if dropped:
            share = _validate.real(COMPLETE if complete is None else complete, "complete")
            if not 0 < share <= 1:
                raise ParameterError(
                    f"complete = {safe_repr(complete)}",
                    "a share lies above 0 and is at most 1",
                    with_code("pass `complete=0.8`"),
                )
        return cls(str(missing), share)

    @property
    def dropped(self) -> bool:
        """Whether incomplete records are dropped."""
        return self.rule == "drop"

    def facts(self) -> dict[str, Any]:
        """Return the public facts about missing values, unless the rule is the default."""
        if self.rule == "refuse":
            return {}
        if self.rule == "fill":
            return {"missing": {name: _plain(value) for name, value in self.fill.items()}}
        return {"missing": self.rule} | ({"complete": self.complete} if self.dropped else {})

    def promised(self, n: int) -> int:
        """Return the promised number of complete records among n."""
        return math.floor(n * self.complete) if self.dropped else n

    def check(self, names: tuple[str, ...], domains: tuple[Domain | None, ...]) -> None:
        """Refuse values that cannot fill these columns, before any data is read."""
        for name, domain in zip(names, domains, strict=True):
            if name in self.fill:
                _number(self.fill[name], name, domain)
            elif self.rule == "scatter" and domain is None:
                raise ParameterError(
                    'missing = "scatter"',
                    f"column {name} has no bounds to draw its missing values from",
                    with_code("pass `bounds=...`, or ") + fill_of(name),
                )
        unknown = sorted(self.fill.keys() - set(names))
        if unknown:
            raise ParameterError(
                f"missing = {{{unknown[0]!r}: ...}}",
                "this column is not scored",
                f"the scored columns are {', '.join(names)}",
            )

    def filled(self, values: Floats, name: str, domain: Domain | None) -> Floats:
        """Return a column with missing values (NaN) treated by the rule, or refuse it.

        What replaces a missing value depends only on public facts and chance.
        """
        if self.dropped:
            return values
        if self.rule == "scatter":
            return np.where(np.isnan(values), _points(values.size, domain), values)
        if name in self.fill:
            return np.where(np.isnan(values), _number(self.fill[name], name, domain), values)
        if np.isnan(values).any():
            raise RefusedValueError(name, "values are missing", "see its caller", name)
        return values


def fill_of(name: str) -> Message:
    """Return the option that fills in a fixed value, for the remedy of an error."""
    return Message((f"missing={{{name!r}: ...}}", True))


def _points(n: int, domain: Domain | None) -> Floats:
    """Return random points of an interval, or random categories."""
    shares = noise.uniform(n)
    if isinstance(domain, Categories):
        return np.floor(shares * len(domain))
    assert domain is not None  # checked before
    low, high = domain
    return low + (high - low) * shares


def _number(value: Any, name: str, domain: Domain | None) -> float:
    """Return the number that replaces missing values of a column."""
    said = f"missing = {{{name!r}: {safe_repr(value)}}}"
    if isinstance(domain, Categories):
        text = _validate.label(value)
        if text not in domain.labels:
            raise ParameterError(
                said,
                "this is not a category of the column",
                f"pass one of {', '.join(domain.labels)}",
            )
        return float(domain.labels.index(text))
    days = _validate.moment(value)
    number = _validate.real(value, f"the missing value of {name}") if days is None else days
    if not math.isfinite(number) or (domain and not domain[0] <= number <= domain[1]):
        raise ParameterError(
            said, "it lies outside the bounds of the column", "pass a value within the bounds"
        )
    return number


def _plain(value: Any) -> Any:
    """Write a fill value for a ledger."""
    return value if isinstance(value, str | int | float | bool) else str(value)


def domains_of(bounds: Any, categories: Any, names: Sequence[str] = ()) -> Any:
    """Return bounds together with the categories of nominal columns.

    Bounds are intervals, never lists of categories. Errors use ``names`` for bounds that are given
    in order.
    """
    if categories is None:
        return _intervals(bounds, names)
    if not isinstance(categories, Mapping):
        raise ParameterError(
            f"categories = {safe_repr(categories)}",
            "each nominal column needs its own list",
            with_code("pass `categories={'ward': ['a', 'b', 'c']}`"),
        )
    if not isinstance(bounds, Mapping | None):
        raise ParameterError(
            "bounds",
            "with categories, bounds must be given by column name",
            with_code("pass `bounds={'age': (0, 120)}`"),
        )
    known = dict(_intervals(bounds or {}, names))
    for name, labels in categories.items():
        if name in known:
            raise ParameterError(
                f"column {safe_repr(name)}",
                "it has both bounds and categories",
                "leave out the bounds of a nominal column",
            )
        known[name] = _validate.categories(labels, str(name))
    return known


def _intervals(bounds: Any, names: Sequence[str]) -> Any:
    """Check intervals by name or in order; anything else is refused later."""
    if isinstance(bounds, Mapping):
        return {name: _validate.interval(ends, str(name)) for name, ends in bounds.items()}
    if isinstance(bounds, list | tuple) and len(bounds) == len(names) > 0:
        return [_validate.interval(ends, name) for ends, name in zip(bounds, names, strict=True)]
    return bounds
