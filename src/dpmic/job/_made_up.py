"""Made-up columns for rehearsals: they follow the bounds and categories, not the records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic._validate import Categories, Days, Domain
from dpmic.data import build

SEED = 17
FOLLOWS = (0.95, 0.8, 0.5, 0.0)
"""The probability, column by column, that a value follows a number shared by all columns."""


def columns(
    domains: Mapping[str, Domain],
    people: int,
    *,
    rows: int = 1,
    person: str | None = None,
    sizes: Mapping[str, Mapping[str, int]] | None = None,
    gaps: Mapping[str, float] | None = None,
) -> Any:
    """Return a table whose columns respect their bounds or categories.

    Some columns depend on each other, so that a report shows weak and strong pairs. The same call
    returns the same table.

    Parameters
    ----------
    domains : mapping
        The bounds or categories of each column.
    people, rows : int
        The number of people, and the most rows of one person.
    person : str, optional
        The name of a column that identifies people.
    sizes : mapping, optional
        For a column of groups, the least size of each group, as far as there are enough records.
    gaps : mapping, optional
        The share of missing values, for each column that has any.

    Examples
    --------
    >>> made = columns({"age": (0.0, 120.0), "ward": Categories(("a", "b"))}, 1000)
    >>> made.shape, sorted(set(made["ward"].to_pylist()))
    ((1000, 2), ['a', 'b'])
    """
    rng = np.random.default_rng(SEED)
    identifiers = np.repeat(np.arange(people), 1 + np.arange(people) % rows)
    n = identifiers.size
    shared = rng.random(n)
    table: dict[str, Any] = {} if person is None else {person: identifiers}
    for place, (name, domain) in enumerate(domains.items()):
        follows = rng.random(n) < FOLLOWS[place % len(FOLLOWS)]
        unit = np.where(follows, shared, rng.random(n))
        if place % 2:
            unit = 1 - np.abs(2 * unit - 1)  # a shape that is not monotone
        promised = (sizes or {}).get(name)
        values = _values(unit, domain) if promised is None else _grouped(rng, n, promised)
        if gaps and name in gaps:
            values = values.astype(object)
            values[rng.random(n) < gaps[name]] = None
        table[name] = values
    return build(table, "pyarrow")


def _values(unit: NDArray[np.float64], domain: Domain) -> NDArray[Any]:
    """Stretch numbers in [0, 1) to an interval, or cut them into categories."""
    if isinstance(domain, Categories):
        places = (unit * len(domain)).astype(int).clip(0, len(domain) - 1)
        return np.array(domain.labels, dtype=object).take(places)
    low, high = domain
    values = np.clip(low + unit * (high - low), low, high)
    if isinstance(low, Days):
        return np.floor(values).astype("datetime64[D]").astype("datetime64[us]").astype(object)
    return values


def _grouped(rng: np.random.Generator, n: int, sizes: Mapping[str, int]) -> NDArray[Any]:
    """Return groups in random order, each at its promised size if there are enough records."""
    named = np.array(list(sizes), dtype=object)
    promised = np.repeat(named, list(sizes.values()))[:n]
    rest = rng.choice(named, n - promised.size)
    return rng.permutation(np.concatenate([promised, rest]))
