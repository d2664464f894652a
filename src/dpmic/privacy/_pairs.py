"""Private tables: which columns take part, which pairs, and their scores.

Everything here but :func:`scores` looks at labels and lengths alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic._validate import Interval, Limits, Master
from dpmic.data import Unlisted, bounded, position, refuse_single
from dpmic.errors import ParameterError
from dpmic.privacy._guards import open_privately, private_columns, read_privately
from dpmic.privacy._laplace import CalibratedLaplace, MICrLaplace
from dpmic.privacy.noise import GRANULARITY
from dpmic.privacy.query import LEAST_EPSILON, Query, Result, Terms
from dpmic.statistics import sources, summaries
from dpmic.statistics.count_table import CountTable
from dpmic.statistics.fixed_grids import fixed_limits, paired
from dpmic.statistics.grids import RangeAxis, steps
from dpmic.statistics.search import Search, check_records, load_kernels, pair_matrices
from dpmic.statistics.sources import Counting, Found

Floats = NDArray[np.float64]

UNIT_SQUARE = ((0.0, 1.0), (0.0, 1.0))
"""For a mechanism that stands for all pairs: neither grids nor noise depend on the bounds."""


@dataclass(frozen=True, eq=False)
class Table:
    """The columns that take part, not yet read, with their bounds.

    ``target`` is the position of the column that is paired with all others, or None for all
    pairs; ``person`` the name of the identifiers.
    """

    source: Found
    intervals: tuple[Interval, ...]
    target: int | None
    person: str | None

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The candidates, by position: all pairs, or the target with each other column."""
        return paired(len(self.intervals), self.target)

    @property
    def named_pairs(self) -> list[tuple[str, str]]:
        """The candidates by name."""
        names = self.source.names
        return [(names[i], names[j]) for i, j in self.pairs]

    @property
    def target_name(self) -> str | None:
        """What the target is called."""
        return None if self.target is None else self.source.names[self.target]

    def counted(self, source: Counting, limits: Limits) -> Counting:
        """Count the columns that take part where they are."""
        return read_privately(lambda: source.counted(self.intervals, limits, self.target_name))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TableQuery(Query[Result]):
    """The pairs of a table; ``setting`` has the grids and the sensitivity of one score."""

    table: Table
    setting: CalibratedLaplace

    @property
    def parameters(self) -> dict[str, Any]:
        """What is public besides n: bounds by name, the target, and the grids."""
        named = zip(self.source.names, self.table.intervals, strict=True)
        target = {} if self.table.target is None else {"target": self.table.target_name}
        limits = self.setting.limits
        grids = {"B": limits.B, "c": limits.c, "master": limits.master}
        return {"bounds": {name: list(ends) for name, ends in named}, **target, **grids}

    @property
    def asked(self) -> dict[str, Any]:
        """What tables have in common."""
        return {"parameters": self.parameters, "rows_per_person": self.terms.rows_per_person}

    @property
    def facts(self) -> dict[str, Any]:
        """What a result says of itself besides what was drawn."""
        return super().facts | {
            "target": self.table.target_name,
            "parameters": self.parameters,
            "sensitivity": self.setting.sensitivity,
            "granularity": GRANULARITY,
        }

    def read(self) -> Any:
        """Read the columns, or count those that are not in memory."""
        if isinstance(self.source, Counting):
            return self.table.counted(self.source, self.setting.limits)
        return private_columns(self.source)

    def load(self) -> None:
        """Compile the kernels."""
        load_kernels(counted=isinstance(self.source, Counting))

    def compute(self, private: Any) -> list[float]:
        """Compute MICr of every candidate, without noise: never to be shown."""
        if isinstance(private, Counting):
            return [self._score(private.table, pair) for pair in self.table.named_pairs]
        return scores(self.table, private, self.setting.limits)

    def _score(self, table: CountTable, pair: tuple[str, str]) -> float:
        """Compute MICr of one pair of a count table, without noise: never to be shown."""
        search = Search.of_table(table, *pair)
        check_records(search, self.setting.n)
        return summaries.mic(search.matrix())


def stand_in(table: Any, terms: Terms, B: float | None, c: float | None) -> MICrLaplace:
    """Return a mechanism that stands for all pairs; a count table has grids of its own."""
    master: Master = "reshef"
    if isinstance(table, CountTable):
        own = table.grids.limits
        B, c = own.B if B is None else B, own.c if c is None else c
        master = own.master  # type: ignore[assignment] # checked when the table was made
    return MICrLaplace(
        epsilon=terms.epsilon,
        bounds=UNIT_SQUARE,
        B=B,
        c=c,
        master=master,
        rows_per_person=terms.rows_per_person,
        allow_large_epsilon=terms.allow_large_epsilon,
        allow_noisy=terms.allow_noisy,
    )


def calibrated(pair: MICrLaplace, n: int, epsilon: float) -> CalibratedLaplace:
    """Return the grids that suit the noise of a single release of a pair at that epsilon."""
    single = replace(pair, epsilon=max(epsilon, LEAST_EPSILON), allow_large_epsilon=True)
    return single.setting(n)


def find(table: Any, terms: Terms, pair: MICrLaplace, *, bounds: Any, target: Any) -> Table:
    """Find the columns that take part; the identifiers are the only values that are looked at.

    Bounds by name select exactly the columns they name, in the order of the table; a sequence
    has an interval for each column. ``pair`` is what stands for all pairs.
    Rows that can be read only once are counted, for their number.
    """
    found = open_privately(lambda: sources.find_all(table))
    if isinstance(found, Counting) and found.grids is not None:
        bounds = found.bounds(bounds)
        target = found.grids.target if target is None else target
    if isinstance(found.names, Unlisted) and not isinstance(bounds, Mapping | None):
        raise ParameterError(
            "bounds",
            "the names of a text's columns are its first line, a record where there is no header",
            "name the columns: {'age': (0, 120), ...}",
        )
    source, intervals = bounded(found, bounds)
    refuse_single(source.names)
    names = source.names
    place = None if target is None else position(target, names, "target", "column with bounds")
    by_name = isinstance(terms.person, str) and not isinstance(table, np.ndarray)
    source, person = terms.bounded(source, table if by_name else None)
    taking_part = Table(source, intervals, place, person)
    if isinstance(source, Counting) and source.once:
        limits = fixed_limits(pair.B, pair.c, pair.master)
        return replace(taking_part, source=taking_part.counted(source, limits))
    open_privately(lambda: source.n)
    return taking_part


def scores(table: Table, columns: Sequence[Floats], limits: Limits) -> list[float]:
    """Compute MICr of every candidate, without noise: never to be shown.

    Each column is binned once. Constant columns score 0.
    """
    plan = steps(limits)
    each = zip(columns, table.intervals, strict=True)
    axes = [RangeAxis.for_steps(values, ends, plan) for values, ends in each]
    return [summaries.mic(matrix) for matrix in pair_matrices(axes, table.pairs, plan)]
