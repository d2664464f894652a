"""Private tables: which columns take part, which pairs, and their scores.

Everything here but :func:`scores` looks at labels and lengths alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic._validate import Interval, Limits, Master
from dpmic.data import Unlisted, bounded, position, refuse_single
from dpmic.errors import ParameterError
from dpmic.privacy.asked import LEAST_EPSILON, bounded_contributions
from dpmic.privacy.charge import Steps
from dpmic.privacy.domain import opened, private_columns, private_counts
from dpmic.privacy.laplace import LaplaceSetting, MICrLaplace
from dpmic.privacy.noise import GRANULARITY
from dpmic.statistics import summaries
from dpmic.statistics.count_table import CountTable
from dpmic.statistics.counts import sources
from dpmic.statistics.counts.sources import Counting, Found
from dpmic.statistics.fixed_grids import fixed_limits, paired
from dpmic.statistics.grids import RangeAxis, steps
from dpmic.statistics.search import Search, check_records, load_kernels, pair_matrices

__all__ = ["Question", "Table", "find", "scores", "stand_in"]

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


@dataclass(frozen=True)
class Question:
    """A table and how its pairs are scored; a function of n, names and options alone.

    ``whole`` has the options of the release as a whole, ``setting`` the grids and the
    sensitivity of one score.
    """

    table: Table
    whole: MICrLaplace
    setting: LaplaceSetting

    @classmethod
    def tuned(cls, table: Table, whole: MICrLaplace, epsilon: float) -> Question:
        """Take the grids that suit the noise of a single release at that epsilon."""
        least = max(epsilon, LEAST_EPSILON)
        single = replace(whole, epsilon=least, allow_large_epsilon=True)
        return cls(table, whole, single.setting(table.source.n))

    @property
    def parameters(self) -> dict[str, Any]:
        """What is public besides n: bounds by name, the target, and the grids."""
        named = zip(self.table.source.names, self.table.intervals, strict=True)
        target = {} if self.table.target is None else {"target": self.table.target_name}
        limits = self.setting.limits
        grids = {"B": limits.B, "c": limits.c, "master": limits.master}
        return {"bounds": {name: list(ends) for name, ends in named}, **target, **grids}

    @property
    def asked(self) -> dict[str, Any]:
        """What a ledger tells questions apart by, besides the columns."""
        return {
            "parameters": self.parameters,
            "epsilon": self.whole.epsilon,
            "rows_per_person": self.whole.rows_per_person,
            "person": self.table.person,
        }

    @property
    def facts(self) -> dict[str, Any]:
        """What a result says of itself besides what was drawn."""
        return {
            "n": self.table.source.n,
            "target": self.table.target_name,
            "parameters": self.parameters,
            "rows_per_person": self.whole.rows_per_person,
            "person": self.table.person,
            "sensitivity": self.setting.sensitivity,
            "granularity": GRANULARITY,
        }

    def steps(self, publish: Callable[[list[float]], str]) -> Steps[Any, list[float]]:
        """Read the columns, score all candidates, and publish by the one way that is given."""
        counted = isinstance(self.table.source, Counting)
        return Steps(self._read, self._scores, publish, lambda: load_kernels(counted=counted))

    def _read(self) -> Any:
        """Read the columns, or count those that are not in memory."""
        table = self.table
        if isinstance(table.source, Counting):
            limits = self.setting.limits
            return private_counts(table.source, table.intervals, limits, table.target_name)
        return private_columns(table.source)

    def _scores(self, private: Any) -> list[float]:
        """Compute MICr of every candidate, without noise: never to be shown."""
        if isinstance(private, Counting):
            pairs = self.table.named_pairs
            return [self._score(private.whole, pair) for pair in pairs]
        return scores(self.table, private, self.setting.limits)

    def _score(self, table: CountTable, pair: tuple[str, str]) -> float:
        """Compute MICr of one pair of a count table, without noise: never to be shown."""
        search = Search.of_table(table, *pair)
        check_records(search, self.setting.n)
        return summaries.mic(search.matrix())


def stand_in(table: Any, B: float | None, c: float | None, **options: Any) -> MICrLaplace:
    """Return a mechanism that stands for all pairs; a count table has grids of its own."""
    master: Master = "reshef"
    if isinstance(table, CountTable):
        own = table.grids.limits
        B, c = own.B if B is None else B, own.c if c is None else c
        master = own.master  # type: ignore[assignment] # checked when the table was made
    return MICrLaplace(bounds=UNIT_SQUARE, B=B, c=c, master=master, **options)


def find(table: Any, whole: MICrLaplace, *, bounds: Any, target: Any, person: Any) -> Table:
    """Find the columns that take part; the identifiers are the only values that are looked at.

    Bounds by name choose exactly the columns they name, in the order of the table; a sequence
    has an interval for each column. Rows that can be read only once are counted, for their number.
    """
    found = opened(lambda: sources.find_all(table))
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
    chosen = None if target is None else position(target, names, "target", "column with bounds")
    holder = table if isinstance(person, str) and not isinstance(table, np.ndarray) else None
    source, keeper = bounded_contributions(source, person, holder, whole.rows_per_person)
    return _known(Table(source, intervals, chosen, keeper), whole)


def _known(table: Table, whole: MICrLaplace) -> Table:
    """Return a table whose number of records is known; rows that come once are counted."""
    source = table.source
    if not isinstance(source, Counting) or not source.once:
        opened(lambda: source.n)
        return table
    limits = fixed_limits(whole.B, whole.c, whole.master)
    return replace(table, source=private_counts(source, table.intervals, limits, table.target_name))


def scores(table: Table, columns: Sequence[Floats], limits: Limits) -> list[float]:
    """Compute MICr of every candidate, without noise: never to be shown.

    Each column is binned once. Constant columns score 0.
    """
    plan = steps(limits)
    each = zip(columns, table.intervals, strict=True)
    axes = [RangeAxis.for_steps(values, ends, plan) for values, ends in each]
    return [summaries.mic(matrix) for matrix in pair_matrices(axes, table.pairs, plan)]
