"""P-values of one pair or many, against permutations of their own or shared by equal nulls.

Under independence, the TICe of a pair depends only on n and on the ties in both columns. Pairs
that agree in these have the same null, and each p-value stays exact if they share its draws. Pairs
that differ must not share: by chance, a binary column scores far less than a continuous one.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate
from dpmic._validate import Limits
from dpmic.all_pairs.devices import (
    MOST_TESTED,
    Device,
    Gpu,
    GpuError,
    Processor,
    in_place_of_gpu,
    processor,
)
from dpmic.data import Missing, Variable, pair
from dpmic.results import IndependenceTest
from dpmic.statistics.grids import MassAxis, Steps, steps
from dpmic.statistics.records import CutAxes
from dpmic.statistics.significance import (
    TIE,
    RefinedAxis,
    null,
    observed,
    pvalue,
    refined_pair,
)

Floats = NDArray[np.float64]
Places = NDArray[np.integer[Any]]
Axes = Sequence[RefinedAxis | None]

MOST_CELLS, MASTER_FACTOR = 9, 5
"""B and c of the statistic, as in :func:`dpmic.independence_test`."""

SHUFFLE, DRAW = 3e-9, 10e-6
"""Seconds per record of a permutation, and for the rest of it."""

MEMORY = 2**28
"""Bytes of pools to keep; a dropped pool is drawn again, bit-identical."""


@dataclass(frozen=True)
class PermutationPlan:
    """The number of permutations and their seed, for each pair or for all pairs with equal nulls.

    ``B`` and ``c`` are those of the statistic.
    """

    permutations: int
    seed: int
    pooled: bool
    B: float = MOST_CELLS
    c: float = MASTER_FACTOR

    @classmethod
    def of(
        cls,
        permutations: Any,
        rng: Any,
        *,
        pooled: bool,
        B: Any = MOST_CELLS,
        c: Any = MASTER_FACTOR,
    ) -> PermutationPlan:
        """Check options, and take a seed from a generator."""
        count = _validate.integer(permutations, "permutations", least=1)
        cells = _validate.cells(0, None, _validate.real(B, "test_B"))
        seed = int(_validate.generator(rng).integers(2**63))
        return cls(count, seed, pooled, cells, _validate.master_factor(c))

    def refined(self, axis: MassAxis) -> RefinedAxis:
        """Cut a column of numbers, once for all its tests."""
        return RefinedAxis.of(axis, self._limits(axis.atoms.size))

    def refined_pair(self, x: Variable, y: Variable) -> tuple[RefinedAxis, RefinedAxis]:
        """Cut two columns of any kind for a test."""
        return refined_pair(x, y, self._limits(x.values.size))

    def steps(self, n: int) -> Steps:
        """Return the runs of a search for TICe of n records."""
        return steps(self._limits(n))

    def _limits(self, n: int) -> Limits:
        return _validate.limits(n, alpha=None, B=self.B, c=self.c, atoms=n)

    def seconds(self, n: int) -> float:
        """Estimate the time to draw a null."""
        return self.permutations * (n * SHUFFLE + DRAW)


class Pool(NamedTuple):
    """Distinct values of a null, sorted, and how many draws reach each; the last is 0."""

    values: Floats
    reached: NDArray[np.int64]

    @classmethod
    def of(cls, drawn: Floats) -> Pool:
        """Sort draws; columns with few values have few distinct ones."""
        values, counts = np.unique(drawn, return_counts=True)
        return cls(values, np.append(counts[::-1].cumsum()[::-1], 0))

    @property
    def nbytes(self) -> int:
        """The memory it takes."""
        return self.values.nbytes + self.reached.nbytes

    def pvalues(self, observed: Floats, slack: float) -> Floats:
        """Return what :func:`dpmic.statistics.significance.pvalue` does, faster.

        Draws up to ``slack`` below the observed value reach it.
        """
        reached = self.reached[np.searchsorted(self.values, observed - slack)]
        pvalues: Floats = (1 + reached) / (1 + self.reached[0])
        return pvalues


class Pools:
    """Draws of every null in use, shared by all tests with that null.

    They depend only on the seed and the null, not on who draws them, in which order or how often.
    So no draws are sent to another process; it makes those it needs.
    """

    def __init__(self, plan: PermutationPlan) -> None:
        self._plan, self._lock, self._bytes = plan, Lock(), 0
        self._known: OrderedDict[bytes, Pool] = OrderedDict()  # least recently used first

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._plan,)

    def pool(self, key: bytes, draw: Callable[[int, np.random.Generator], Floats]) -> Pool:
        """Return the draws of the null with this key."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        # Two threads may both draw here; the second one could only wait anyway.
        name = int.from_bytes(hashlib.sha256(key).digest())
        generator = np.random.default_rng((self._plan.seed, name))
        made = Pool.of(draw(self._plan.permutations, generator))
        with self._lock:
            if key not in self._known:
                self._known[key] = made
                self._bytes += made.nbytes
            while self._bytes > MEMORY and len(self._known) > 1:
                self._bytes -= self._known.popitem(last=False)[1].nbytes
        return made


class Kinds(NamedTuple):
    """Columns by what their nulls depend on: a column of each kind, in the order of patterns.

    ``left`` and ``right`` are the kinds of all columns of both sides; those without a kind have -1.
    """

    axes: tuple[RefinedAxis, ...]
    left: Places
    right: Places

    @classmethod
    def of(cls, left: Axes, right: Axes) -> Kinds:
        """Find the kinds of columns that were cut for tests."""
        known = {own.pattern: own for own in (*left, *right) if own is not None}
        kinds = {pattern: kind for kind, pattern in enumerate(sorted(known))}

        def kinds_of(side: Axes) -> Places:
            return np.array([-1 if own is None else kinds[own.pattern] for own in side])

        return cls(tuple(known[pattern] for pattern in kinds), kinds_of(left), kinds_of(right))


class Null:
    """The null distribution of pairs: draws of their own, or those of their pool."""

    def __init__(self, plan: PermutationPlan) -> None:
        self._plan, self._pools = plan, Pools(plan) if plan.pooled else None

    def compare(self, x: RefinedAxis, y: RefinedAxis, position: int) -> tuple[float, float]:
        """Return the TICe of a pair and its p-value; the order of work does not matter."""
        if self._pools is None:
            generator = np.random.default_rng((self._plan.seed, position))
            statistic = observed(x, y)
            return statistic, pvalue(statistic, null(x, y, self._plan.permutations, generator))
        one, other = sorted((x, y), key=lambda own: own.pattern)  # TICe is symmetric
        statistic = observed(one, other)
        return statistic, float(self._pool(one, other).pvalues(np.array(statistic), TIE))

    def pooled(self, observed: Floats, kinds: Kinds, x: Places, y: Places, off: float) -> Floats:
        """Return the p-values of pairs of columns of some kinds by their TICe.

        Each TICe may be ``off`` by so much: no p-value is too small for that.
        """
        pvalues, size = np.empty(observed.size), len(kinds.axes)
        one, other = np.minimum(x, y), np.maximum(x, y)
        order = np.argsort(one * size + other, kind="stable")
        changes = np.flatnonzero(np.diff((one * size + other)[order])) + 1
        for own in np.split(order, changes):
            pool = self._pool(kinds.axes[one[own[0]]], kinds.axes[other[own[0]]])
            pvalues[own] = pool.pvalues(observed[own], TIE + off)
        return pvalues

    def _pool(self, one: RefinedAxis, other: RefinedAxis) -> Pool:
        """Return the pool of two columns, in the order of their patterns."""
        assert self._pools is not None
        return self._pools.pool(
            one.pattern + other.pattern,
            lambda permutations, generator: null(
                one.sorted(), other.sorted(), permutations, generator
            ),
        )


def independence_test(
    x: Any,
    y: Any,
    *,
    data: Any = None,
    permutations: int = 10_000,
    B: float = 9,
    c: float = 5,
    rng: np.random.Generator | int | None = None,
    missing: Missing = "raise",
    device: Device = "cpu",
) -> IndependenceTest:
    """Test whether two variables are independent.

    The statistic is the Total Information Coefficient, ``dpmic.mice(x, y, B=9, c=5).tic()``. Its
    null distribution comes from random permutations of one column, which keep both columns as they
    are and break any relation between them. Rows must be independent of each other: with a time
    series, or several rows per person, the p-value is not valid.

    Parameters
    ----------
    x, y : array-like or str
        Two columns of at least 4 values, numbers or categories, or their names in ``data``, as for
        :func:`dpmic.mice`.
    data : frame, optional
        A pandas, polars or pyarrow table with columns named ``x`` and ``y``.
    permutations : int
        The number of permutations; the smallest possible p-value is 1 / (permutations + 1).
    B, c : float
        The most cells in a grid, and the master factor, as for :func:`dpmic.mice`. With more cells
        the test takes longer; it has more power against relations that go up and down often, and
        a little less against monotone ones. B is raised if nominal columns need more cells.
    rng : numpy.random.Generator or int, optional
        Source of the permutations; an integer makes the result reproducible.
    missing : {"raise", "drop"}
        Refuse missing values, or leave out their records.
    device : {"cpu", "cuda", "auto"}
        Who computes the null of two columns of numbers: the CPU, a GPU, or a GPU if there is one
        with room. A GPU permutes records, and is faster only with large B; with B = 9 the CPU is.
        Its permutations are others than the CPU's with the same ``rng``. The null of categories,
        and of more than 8,192 records, is the CPU's.

    Returns
    -------
    IndependenceTest
        ``pvalue`` is never 0; it is 1 for a constant column.

    Examples
    --------
    >>> import numpy as np, dpmic
    >>> rng = np.random.default_rng(7)
    >>> x = rng.uniform(-1, 1, 200)
    >>> y = x**2 + rng.normal(0, 0.3, 200)
    >>> dpmic.independence_test(x, y, permutations=999, rng=0).pvalue
    0.001
    >>> dpmic.independence_test(x, rng.permutation(y), permutations=999, rng=0).pvalue
    0.581
    """
    draws = _validate.integer(permutations, "permutations", least=1)
    generator = _validate.generator(rng)
    _validate.real(B, "B")  # None would make n and alpha decide
    columns = pair(x, y, data=data, missing=missing)
    n = columns.x.size
    limits = _validate.limits(n, alpha=None, B=B, c=c, atoms=n)
    own, other = refined_pair(*columns.variables, limits)
    limits = limits.holding(own.categories, other.categories)
    statistic = observed(own, other)
    drawn, off = _null(processor(device), own, other, columns.variables, draws, generator)
    return IndependenceTest(
        statistic=statistic,
        pvalue=pvalue(statistic, drawn, off),
        n=n,
        B=limits.B,
        c=limits.c,
        null=drawn,
        names=columns.names,
    )


def _null(
    device: Processor,
    x: RefinedAxis,
    y: RefinedAxis,
    variables: tuple[Variable, Variable],
    permutations: int,
    draws: np.random.Generator,
) -> tuple[Floats, float]:
    """Return the null, and by how much each TICe may be off."""
    plan, n = x.plan, x.parts.size
    numbers = x.categories is None and y.categories is None
    if isinstance(device, Gpu) and numbers and n <= MOST_TESTED:
        unused = draws.bit_generator.state
        one, other = (CutAxes.of([MassAxis.grouped(own.values)], plan.layout) for own in variables)
        try:
            return device.null(one, other, plan, n, permutations, draws), device.tic_error(plan)
        except GpuError as error:
            if not device.optional:
                raise
            in_place_of_gpu(error.reason)
            draws.bit_generator.state = unused
    return null(x, y, permutations, draws), 0.0
