"""Test independence with TICe and a permutation null.

Every grid of a search cuts an axis at a few fixed places. So TICe depends on the records only
through their counts in the cells between all these cuts, about 22 x 22 for B = 9 and c = 5. A
random permutation of one column gives a random table with the same margins, and such tables are
drawn directly, many at a time.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpmic import _kernels
from dpmic._validate import Limits
from dpmic.data import Variable
from dpmic.errors import ParameterError, with_code
from dpmic.statistics.grids import MassAxis, NominalAxis, Steps, nominal_steps, steps
from dpmic.statistics.search import normalised, xlogx_table

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Parts = NDArray[np.int32]

AT_ONCE = 2**19
"""Numbers in memory at a time, in tables or matrices: 4 MB, so that they stay in the cache."""

MAX_PARTS = 1024
"""The most parts of an axis: each permutation has a table of this number squared."""

MOST_SHUFFLED = 2**14
"""With more records, drawing a table from its margins is faster than shuffling."""

TIE = 1e-12
"""A statistic this close to the observed one counts as equal to it: they differ by rounding."""


class Partitions(NamedTuple):
    """Partition i is ``edges[offsets[i] : offsets[i + 1]]``; columns come first, then masters."""

    edges: NDArray[np.int32]
    offsets: Counts


@dataclass(frozen=True, eq=False)
class RefinedAxis:
    """A variable cut by the common refinement of all its partitions, once for all its pairs.

    ``parts`` holds the part of each record, ``margin`` the number of records in each part, and
    ``partitions`` the columns of every step and the master of every group of the plan, counted in
    these parts. If the other variable is nominal with ``against`` categories, the columns are those
    of the runs that fix numbers, and the masters those of the runs that search them. A nominal
    variable has ``categories``; they are ordered by size, so that neither their names nor their
    order matter.
    """

    limits: Limits
    parts: NDArray[np.int32]
    margin: Counts
    partitions: Partitions
    against: int | None = None
    categories: int | None = None

    @classmethod
    def of(cls, axis: MassAxis, limits: Limits, against: int | None = None) -> RefinedAxis:
        """Cut an axis; refuse too many parts."""
        plan = steps(limits)
        sizes: tuple[float, ...] = plan.layout.columns
        most: tuple[float, ...] = plan.layout.masters
        if against is not None:
            searched, unsearched = nominal_steps(limits, against, None)
            sizes = tuple(step.columns for step in unsearched)
            most = tuple(step.master for step in searched)
        columns, begins = axis.partitions(sizes, masters=False)
        masters, then = axis.partitions(most, masters=True)
        edges = np.concatenate((columns, masters))
        offsets = np.concatenate((begins, then[1:] + begins[-1]))
        together = np.array([0, offsets.size - 1])
        parts, (size,), own = _kernels.refine(edges, offsets, together, axis.atoms)
        if size > MAX_PARTS:
            raise ParameterError(
                f"B = {limits.B:.6g} with c = {limits.c:g}",
                f"each permutation would need a table of {size} parts, more than {MAX_PARTS}",
                with_code("pass a smaller B or c; `B=9` and `c=5` are usual"),
            )
        margin = np.bincount(parts[0], minlength=size)
        return cls(limits, parts[0], margin, Partitions(own, offsets), against)

    @classmethod
    def nominal(cls, axis: NominalAxis, limits: Limits) -> RefinedAxis:
        """Take the categories of a nominal variable that occur."""
        sizes = np.bincount(axis.atoms)
        order = np.argsort(sizes, kind="stable")[np.count_nonzero(sizes == 0) :]
        rank = np.zeros(sizes.size, np.int32)
        rank[order] = np.arange(order.size)
        empty = Partitions(np.zeros(0, np.int32), np.zeros(1, np.int64))
        return cls(limits, rank[axis.atoms], sizes[order], empty, categories=axis.size)

    @property
    def plan(self) -> Steps:
        """The runs of a search of numbers."""
        return steps(self.limits)

    @cached_property
    def pattern(self) -> bytes:
        """Everything the null depends on, given the plan: the same for all columns without ties."""
        seen = hashlib.sha256()
        for values in (self.partitions.offsets, self.partitions.edges, self.margin):
            seen.update(values.tobytes())
        if self.against or self.categories:
            seen.update(repr((self.against, self.categories)).encode())
        return seen.digest()

    def sorted(self) -> RefinedAxis:
        """Return the same axis with the records in order, so that only the pattern matters."""
        return replace(self, parts=np.sort(self.parts))


def refined_pair(x: Variable, y: Variable, limits: Limits) -> tuple[RefinedAxis, RefinedAxis]:
    """Cut two variables for a test."""
    sizes = [None if own.categories is None else max(len(own.categories), 2) for own in (x, y)]
    one, other = (
        RefinedAxis.of(MassAxis.grouped(own.values), limits, against)
        if own.categories is None
        else RefinedAxis.nominal(NominalAxis.of(own.values, own.categories), limits)
        for own, against in zip((x, y), sizes[::-1], strict=True)
    )
    return one, other


def observed(x: RefinedAxis, y: RefinedAxis) -> float:
    """Return the TICe of two variables."""
    shape = x.margin.size, y.margin.size
    places = np.ravel_multi_index((x.parts, y.parts), shape)
    table = np.bincount(places, minlength=shape[0] * shape[1]).reshape(1, *shape)
    return float(_totals(table, x, y)[0])


def null(
    x: RefinedAxis, y: RefinedAxis, permutations: int, generator: np.random.Generator
) -> Floats:
    """Return the TICe of random permutations of one variable's records."""
    largest = max(x.margin.size * y.margin.size, len(x.plan) ** 2)
    drawn = permuted(x.parts, y.parts, permutations, generator, max(AT_ONCE // largest, 1))
    return np.concatenate([_totals(tables, x, y) for tables in drawn])


def permuted(
    x: Parts, y: Parts, permutations: int, generator: np.random.Generator, most: int
) -> Iterator[Counts]:
    """Count records in tables [table, x part, y part], with y permuted at random for each.

    At most ``most`` tables come at a time, and the next batch overwrites them.
    """
    margins, order = (np.bincount(x), np.bincount(y)), y.copy()
    tables = np.empty((min(most, permutations), *(m.size for m in margins)), np.int64)
    for first in range(0, permutations, most):
        size = min(most, permutations - first)
        if order.size <= MOST_SHUFFLED:
            with generator.bit_generator.lock:  # as numpy does
                _kernels.shuffle(generator, x, order, tables[:size])
        else:  # from its margins: the time depends on the cells, not on the records
            from scipy.stats import random_table

            tables = random_table(*margins).rvs(size, random_state=generator)
        yield tables[:size]


def pvalue(observed: float, null: Floats, off: float = 0.0) -> float:
    """Return the share of permutations that score at least as much as was observed.

    The observed score itself counts once. So the p-value is never 0, and under independence it is
    at most ``a`` with probability at most ``a``, even if scores of the null are ``off`` by so much.
    """
    return float((1 + np.count_nonzero(null >= observed - TIE - off)) / (1 + null.size))


def _totals(tables: Counts, x: RefinedAxis, y: RefinedAxis) -> Floats:
    """Return the sum of the equicharacteristic matrix of each table."""
    if x.categories is not None:
        return _nominal_totals(tables, x, y)
    if y.categories is not None:
        return _nominal_totals(tables.transpose(0, 2, 1), y, x)
    plan, size = x.plan.layout, len(x.plan)
    found = _kernels.tabled(
        tables, x.partitions, y.partitions, plan.starts, plan.rows, xlogx_table(x.parts.size)
    )
    bits = np.zeros((2, len(tables), size, size))
    step, rows = plan.entries
    bits[:, :, rows - 2, plan.order[step]] = found[:, :, step, rows]
    totals: Floats = normalised(bits).reshape(len(tables), -1).sum(axis=1)
    return totals


def _nominal_totals(tables: Counts, x: RefinedAxis, y: RefinedAxis) -> Floats:
    """Return the same for tables [table, category of x, part of y] with nominal x."""
    f, size = xlogx_table(x.parts.size), x.categories or 2

    def bits(counts: Counts) -> Floats:
        cells, margins = f[counts].sum((1, 2)), f[counts.sum(1)].sum(1) + f[counts.sum(2)].sum(1)
        own: Floats = (cells - margins + f[-1]) / x.parts.size
        return own

    if y.categories is not None:
        alone: Floats = np.clip(bits(tables) / np.log2(min(size, y.categories)), 0.0, 1.0)
        return alone
    searched, unsearched = nominal_steps(x.limits, size, None)
    edges, offsets = y.partitions
    merged = [
        np.add.reduceat(tables, edges[first : last - 1], axis=2)
        for first, last in itertools.pairwise(offsets)
    ]
    totals = np.zeros(len(tables))
    for counts in merged[: len(unsearched)]:
        totals += np.clip(bits(counts) / np.log2(size), 0.0, 1.0)
    for step, counts in zip(searched, merged[len(unsearched) :], strict=True):
        found = _kernels.informations(counts.astype(np.int32), step.rows, f)
        rows = np.arange(2, step.rows + 1)
        totals += np.clip(found[:, 2:] / np.log2(rows), 0.0, 1.0).sum(axis=1)
    return totals
