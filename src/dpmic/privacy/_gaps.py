"""Which records count, and what is public of their number: gaps, people, groups.

Where records are left out for what they hold, how many are left is private. What is public then is
how many there can be, and how many were promised: the score is that of the records that are left,
and falls where they are fewer than was promised (docs/proofs/private-number.md).
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
from dpmic.errors import ParameterError, RefusedValueError, safe_repr, with_code
from dpmic.privacy import noise

__all__ = ["Gaps", "Size", "domains_of"]

Floats = NDArray[np.float64]
Rule = Literal["refuse", "drop", "scatter"]

COMPLETE = 0.8
"""The share of complete records that is promised by default."""


@dataclass(frozen=True, slots=True)
class Size:
    """What is public of the number of records.

    Attributes
    ----------
    n : int
        The number of people, or of records where each is another person.
    least, most : int
        How many records are promised to be left, and how many there can be at most.
    gaps : bool
        Whether records may lack a value, and are then left out.
    filtered : bool
        Whether they are a group, of which n is what was promised.
    """

    n: int
    least: int
    most: int
    gaps: bool = False
    filtered: bool = False

    @classmethod
    def of(cls, n: int | Size) -> Size:
        """Return the size of n records, all of which count."""
        return n if isinstance(n, Size) else cls(n, n, n)

    @property
    def private(self) -> bool:
        """Whether the number of records that count is private."""
        return self.gaps or self.filtered or not self.least == self.n == self.most


@dataclass(frozen=True)
class Gaps:
    """What becomes of missing values, the same for every record.

    Attributes
    ----------
    rule : {"refuse", "drop", "scatter", "fill"}
        Refuse the data, leave the record out of its pairs, put it at a random point, or at a value.
    complete : float
        Of a pair's records, the share that is promised to have both values.
    fill : mapping
        The value of each column that has one.
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
                "it is a promise about records that are dropped",
                with_code("pass `missing='drop'` too"),
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
                    "it is the share of records that have both values",
                    with_code("pass `complete=0.8`"),
                )
        return cls(str(missing), share)

    @property
    def dropped(self) -> bool:
        """Whether incomplete records are left out."""
        return self.rule == "drop"

    def facts(self) -> dict[str, Any]:
        """Return what is public of them, where it is not the default."""
        if self.rule == "refuse":
            return {}
        if self.rule == "fill":
            return {"missing": {name: _plain(value) for name, value in self.fill.items()}}
        return {"missing": self.rule} | ({"complete": self.complete} if self.dropped else {})

    def promised(self, n: int) -> int:
        """Return how many of n records are promised to be complete."""
        return math.floor(n * self.complete) if self.dropped else n

    def check(self, names: tuple[str, ...], domains: tuple[Domain | None, ...]) -> None:
        """Refuse, before a value is read, what these columns cannot be filled with."""
        for name, domain in zip(names, domains, strict=True):
            if name in self.fill:
                _number(self.fill[name], name, domain)
            elif self.rule == "scatter" and domain is None:
                raise ParameterError(
                    'missing = "scatter"',
                    f"{name} has no bounds to scatter its missing values in",
                    with_code("pass a value: `missing={" + repr(name) + ": ...}`"),
                )
        unknown = sorted(self.fill.keys() - set(names))
        if unknown:
            raise ParameterError(
                f"missing = {{{unknown[0]!r}: ...}}",
                "this column does not take part",
                f"name some of {', '.join(names)}",
            )

    def settled(self, values: Floats, name: str, domain: Domain | None) -> Floats:
        """Return a column, NaN where a value is missing, as the rule has it; or refuse it.

        What a missing value becomes depends on nothing but public facts and chance.
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


def _points(n: int, domain: Domain | None) -> Floats:
    """Return random points of an interval, or random categories."""
    shares = noise.uniform(n)
    if isinstance(domain, Categories):
        return np.floor(shares * len(domain))
    assert domain is not None  # checked before
    low, high = domain
    return low + (high - low) * shares


def _number(value: Any, name: str, domain: Domain | None) -> float:
    """Return what stands for a missing value of a column."""
    said = f"missing = {{{name!r}: {safe_repr(value)}}}"
    if isinstance(domain, Categories):
        text = _validate.label(value)
        if text not in domain.labels:
            raise ParameterError(
                said, "it is not one of its categories", f"pass one of {', '.join(domain.labels)}"
            )
        return float(domain.labels.index(text))
    days = _validate.moment(value)
    number = _validate.real(value, f"the missing value of {name}") if days is None else days
    if not math.isfinite(number) or (domain and not domain[0] <= number <= domain[1]):
        raise ParameterError(
            said, "it lies outside the bounds of the column", "pass a value that it can have"
        )
    return number


def _plain(value: Any) -> Any:
    """Write a fill value for a ledger."""
    return value if isinstance(value, str | int | float | bool) else str(value)


def domains_of(bounds: Any, categories: Any, names: Sequence[str] = ()) -> Any:
    """Return bounds with the categories of nominal columns among them.

    Bounds are intervals here, never lists of categories; ``names`` are what errors call those that
    are given in order.
    """
    if categories is None:
        return _intervals(bounds, names)
    if not isinstance(categories, Mapping):
        raise ParameterError(
            f"categories = {safe_repr(categories)}",
            "each nominal column has a list of its own",
            with_code("pass `categories={'ward': ['a', 'b', 'c']}`"),
        )
    if not isinstance(bounds, Mapping | None):
        raise ParameterError(
            "bounds",
            "with categories, columns are called by their names",
            with_code("pass `bounds={'age': (0, 120)}`"),
        )
    known = dict(_intervals(bounds or {}, names))
    for name, labels in categories.items():
        if name in known:
            raise ParameterError(
                f"column {safe_repr(name)}",
                "it has bounds and categories",
                "leave out its bounds if it is nominal",
            )
        known[name] = _validate.categories(labels, str(name))
    return known


def _intervals(bounds: Any, names: Sequence[str]) -> Any:
    """Check intervals by name, or in order; anything else is refused elsewhere."""
    if isinstance(bounds, Mapping):
        return {name: _validate.interval(ends, str(name)) for name, ends in bounds.items()}
    if isinstance(bounds, list | tuple) and len(bounds) == len(names) > 0:
        return [_validate.interval(ends, name) for ends, name in zip(bounds, names, strict=True)]
    return bounds
