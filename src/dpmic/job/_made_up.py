"""Made-up columns for rehearsals: they follow bounds and categories, and no record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic._validate import Categories, Days, Domain
from dpmic.data import build

SEED = 17
FOLLOWS = (0.95, 0.8, 0.5, 0.0)
"""With which probability a value follows a number that all columns share, column by column."""


def columns(
    domains: Mapping[str, Domain],
    people: int,
    *,
    rows: int = 1,
    person: str | None = None,
    sizes: Mapping[str, Mapping[str, int]] | None = None,
    gaps: Mapping[str, float] | None = None,
) -> Any:
    """Return a table whose columns lie between their bounds, or have their categories.

    Some depend on each other, so that a page shows weak and strong pairs. The same call makes the
    same table.

    Parameters
    ----------
    domains : mapping
        What each column can be.
    people, rows : int
        How many people there are; each has from one to so many rows.
    person : str, optional
        The column that names them.
    sizes : mapping, optional
        Of a column of groups, how many records each group has at least, where there are as many.
    gaps : mapping, optional
        The share of missing values of each column that has any.

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
            unit = 1 - np.abs(2 * unit - 1)  # of a shape that no line has
        promised = (sizes or {}).get(name)
        values = _values(unit, domain) if promised is None else _grouped(rng, n, promised)
        if gaps and name in gaps:
            values = values.astype(object)
            values[rng.random(n) < gaps[name]] = None
        table[name] = values
    return build(table, "pyarrow")


def _values(unit: NDArray[np.float64], domain: Domain) -> NDArray[Any]:
    """Stretch numbers of [0, 1) to an interval, or cut them into categories."""
    if isinstance(domain, Categories):
        places = (unit * len(domain)).astype(int).clip(0, len(domain) - 1)
        return np.array(domain.labels, dtype=object).take(places)
    low, high = domain
    values = np.clip(low + unit * (high - low), low, high)
    if isinstance(low, Days):
        return np.floor(values).astype("datetime64[D]").astype("datetime64[us]").astype(object)
    return values


def _grouped(rng: np.random.Generator, n: int, sizes: Mapping[str, int]) -> NDArray[Any]:
    """Return groups in random order, each as large as promised where there are enough records."""
    named = np.array(list(sizes), dtype=object)
    promised = np.repeat(named, list(sizes.values()))[:n]
    rest = rng.choice(named, n - promised.size)
    return rng.permutation(np.concatenate([promised, rest]))
