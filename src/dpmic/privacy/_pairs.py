"""Private tables: the columns and pairs that are scored, the mechanism, and the scores.

Only ``TableQuery.read`` and ``compute`` use the values; everything else uses labels and lengths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpmic._validate import Categories, Domain, Interval, shown_end
from dpmic.data import Unlisted, bounded, position, refuse_single, with_domains
from dpmic.errors import ParameterError, safe_repr
from dpmic.privacy._auto import Records, choose
from dpmic.privacy._gaps import Size, domains_of
from dpmic.privacy._guards import (
    open_privately,
    private_columns,
    read_privately,
    refuse_other_kinds,
)
from dpmic.privacy._laplace import (
    CalibratedLaplace,
    CappedLaplace,
    FixedGridMechanism,
    MICrLaplace,
)
from dpmic.privacy.noise import GRANULARITY
from dpmic.privacy.query import LEAST_EPSILON, Query, Result, Terms
from dpmic.statistics import sources
from dpmic.statistics.fixed_grids import Family, paired
from dpmic.statistics.maps import Axes
from dpmic.statistics.sources import Counting, Found

UNIT: Interval = (0.0, 1.0)
"""Bounds of a mechanism that represents all pairs: its noise does not depend on them."""


@dataclass(frozen=True, eq=False)
class Table:
    """The columns to score, not yet read, with their domains.

    ``target`` is the position of the column to pair with all others, or None for all pairs;
    ``person`` is the name of the identifiers.
    """

    source: Found
    domains: tuple[Domain, ...]
    target: int | None
    person: str | None
    given: Size | None = None

    @property
    def size(self) -> Size:
        """The public facts about the number of records."""
        return self.given or Size.of(self.source.n)

    @property
    def n(self) -> int:
        """The number of records, or of people."""
        return self.size.n

    @property
    def hardest(self) -> tuple[Domain, Domain]:
        """The domains of the two columns with the most categories; they represent all pairs."""
        ordered = sorted(self.domains, key=_categories, reverse=True)
        first, second = (own if _categories(own) else UNIT for own in ordered[:2])
        return first, second

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The candidate pairs, by position: all pairs, or the target with each other column."""
        return paired(len(self.domains), self.target)

    @property
    def named_pairs(self) -> list[tuple[str, str]]:
        """The candidate pairs, by name."""
        names = self.source.names
        return [(names[i], names[j]) for i, j in self.pairs]

    @property
    def target_name(self) -> str | None:
        """The name of the target."""
        return None if self.target is None else self.source.names[self.target]

    def counted(self, source: Counting, grids: Family) -> Counting:
        """Count the columns without loading them; all are numbers."""
        ends: Any = self.domains
        return read_privately(lambda: source.counted(ends, grids, self.target_name))


def _categories(domain: Domain) -> int:
    return len(domain) if isinstance(domain, Categories) else 0


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TableQuery(Query[Result]):
    """A query about the pairs of a table, scored by one mechanism."""

    table: Table
    mechanism: FixedGridMechanism
    setting: CalibratedLaplace

    @property
    def parameters(self) -> dict[str, Any]:
        """The public facts besides n: bounds and categories by name, the target, and the grids."""
        named = list(zip(self.source.names, self.table.domains, strict=True))
        listed = {name: list(own.labels) for name, own in named if isinstance(own, Categories)}
        bounds = {
            name: list(map(shown_end, own))
            for name, own in named
            if not isinstance(own, Categories)
        }
        return {
            "bounds": bounds,
            **({"categories": listed} if listed else {}),
            **({} if self.table.target is None else {"target": self.table.target_name}),
            **self.mechanism.public_grids(self.setting.limits),
            **self.counted_facts,
        }

    @property
    def key_facts(self) -> dict[str, Any]:
        """The part of the query key that all tables have."""
        return {"parameters": self.parameters, "rows_per_person": self.terms.rows_per_person}

    @property
    def facts(self) -> dict[str, Any]:
        """The public facts of a result, apart from what was drawn."""
        return super().facts | {
            "target": self.table.target_name,
            "parameters": self.parameters,
            "sensitivity": self.setting.sensitivity,
            "granularity": GRANULARITY,
        }

    def read(self) -> Any:
        """Read the columns, or count them if they are not in memory."""
        if isinstance(self.source, Counting):
            return self.table.counted(self.source, self.mechanism.grids(self.setting.limits))
        return private_columns(self.source, self.table.domains, self.terms.gaps)

    def compute(self, private: Any) -> list[float]:
        """Compute the exact score of every candidate pair: never to be shown.

        Pairs with a constant column score 0.
        """
        mechanism, table = self.mechanism, self.table
        if isinstance(private, Counting):
            pairs = table.named_pairs
            return [mechanism.table_score(private.table, x, y, self.setting) for x, y in pairs]
        setting = self.setting
        return mechanism.scores(private, table.domains, table.pairs, setting.limits, setting.size)


@dataclass(frozen=True, kw_only=True)
class PairOptions:
    """The options that decide the mechanism and the grids for every pair."""

    mechanism: str = "auto"
    axes: Axes | None = None
    cap: float | None = None
    B: float | None = None
    c: float | None = None

    def __post_init__(self) -> None:
        known = "auto", CappedLaplace.name, MICrLaplace.name
        if not isinstance(self.mechanism, str) or self.mechanism not in known:
            raise ParameterError(
                f"mechanism = {safe_repr(self.mechanism)}",
                "it cannot score the pairs of a table",
                "pass 'auto', 'capped-laplace' or 'micr-laplace'",
            )

    @property
    def given(self) -> dict[str, Any]:
        """The options that were given."""
        named = ((name, getattr(self, name)) for name in ("axes", "cap", "B", "c"))
        return {name: value for name, value in named if value is not None}

    def calibrated(
        self, table: Table | Records, terms: Terms, epsilon: float
    ) -> tuple[FixedGridMechanism, CalibratedLaplace]:
        """Return the mechanism of a table and its calibration."""
        if isinstance(table, Records):
            mechanism = self.choose(table, terms, epsilon)
            return mechanism, mechanism.setting(table.n)
        mechanism = self.choose(table.source, terms, epsilon, table.hardest, table.given)
        return mechanism, mechanism.setting(table.size)

    def choose(
        self,
        source: Found | Records,
        terms: Terms,
        epsilon: float,
        hardest: tuple[Domain, Domain] = (UNIT, UNIT),
        size: Size | None = None,
    ) -> FixedGridMechanism:
        """Return the mechanism for scores with the noise of a single release at that epsilon."""
        loss = max(epsilon, LEAST_EPSILON)
        single = replace(terms, epsilon=loss, allow_large_epsilon=True, ledger=None, name=None)
        chosen = choose(self.mechanism, source, single, hardest, self.given, size)
        assert isinstance(chosen, FixedGridMechanism)
        return chosen


def find(table: Any, terms: Terms, options: PairOptions, *, bounds: Any, target: Any) -> Table:
    """Find the columns to score; identifiers are the only values that are read.

    Bounds by name select exactly these columns, in the order of the table; a sequence has one
    interval per column. Rows that can be read only once are counted here, since n is needed.
    """
    found = open_privately(lambda: sources.find_all(table))
    if isinstance(found, Counting) and found.grids is not None:
        bounds = found.bounds(bounds)
        target = found.grids.target if target is None else target
    if isinstance(found.names, Unlisted) and not isinstance(bounds, Mapping | None):
        raise ParameterError(
            "bounds",
            "without column names, the first line could be a record instead of the header",
            "give them by name: {'age': (0, 120), ...}",
        )
    chosen = bounded if isinstance(found, Counting) else with_domains
    source, domains = chosen(found, domains_of(bounds, terms.categories, found.names))
    refuse_single(source.names)
    names = source.names
    place = None if target is None else position(target, names, "target", "column with bounds")
    by_name = isinstance(terms.person, str) and not isinstance(table, np.ndarray)
    source, person, size = terms.bounded(source, table if by_name else None)
    refuse_other_kinds(source, domains)
    terms.gaps.check(names, domains)
    taking_part = Table(source, domains, place, person, size)
    if isinstance(source, Counting) and source.once:
        grids = options.choose(source, terms, terms.epsilon).fixed_grids()
        return replace(taking_part, source=taking_part.counted(source, grids))
    open_privately(lambda: source.n)
    return taking_part
