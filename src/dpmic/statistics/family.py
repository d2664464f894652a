"""The public statistics ``mice``, ``micr``, ``micc`` and ``mic``, and their options."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate
from dpmic._validate import Bounds, Categories, Domain, Interval, Limits, Master, Ties
from dpmic.data import LEAST_RECORDS, Missing, Variable, pair
from dpmic.errors import InputError, ParameterError, with_code
from dpmic.results import CappedScore, Score
from dpmic.statistics import capped, sources
from dpmic.statistics.count_table import CountTable
from dpmic.statistics.fixed_grids import (
    CappedGrids,
    Family,
    RangeGrids,
    countable_axes,
    fixed_limits,
)
from dpmic.statistics.grids import Axis, MassAxis, NominalAxis, RangeAxis, Steps, steps
from dpmic.statistics.maps import Axes, Map
from dpmic.statistics.search import ClumpedSearch, NominalSearch, Search
from dpmic.statistics.sources import Counting

Floats = NDArray[np.float64]
Statistic = Literal["mice", "micr", "mic"]

DEFAULT_C = 15.0

MAX_UNCONSTRAINED = 4_000
"""Most records with c = inf: the search is quadratic in them."""

ENOUGH_RECORDS, UNRELATED_PAIRS = 2_000, 20
"""Records and pairs of the simulation of unrelated columns."""

CELL = 8 * 1.7
"""Bytes of counts of one pair for each unit of c B^2, about."""

MOST_BY_DEFAULT = 2**28
"""Bytes that a pair may take where nobody has asked for as many cells."""


def mice(
    x: Any,
    y: Any,
    *,
    data: Any = None,
    alpha: float = 0.6,
    B: float | None = None,
    c: float = 15,
    master: Master = "reshef",
    ties: Ties = "group",
    rng: np.random.Generator | int | None = None,
    missing: Missing = "raise",
) -> Score:
    """Score the dependence between two variables with MICe, on grids of equal mass.

    The first choice where no privacy is needed: it needs no bounds, is unchanged by increasing
    transformations of either variable, and estimates the population value MIC* consistently.

    Few records resolve little, even without noise: in the median a noiseless sine of 4 periods
    scores 0.40 at n = 100 and 0.86 at n = 1000 (x uniform at random). :func:`mic` resolves more
    there, and scores independent columns higher.

    Parameters
    ----------
    x, y : array-like or str
        Two columns of at least 4 values, or their names in ``data``. Numbers are finite; dates are
        days, times and durations seconds; ordered categories are taken by rank. Text, booleans
        and categories without an order are nominal: their one partition is their categories, at
        most 100, and numbers are cut to suit (``docs/definitions.md``).
    data : frame, optional
        A pandas, polars or pyarrow table that ``x`` and ``y`` name columns of.
    alpha : float
        The exponent in B = max(n ** alpha, 4), in (0, 1].
    B : float, optional
        The most cells a grid may have, at least 4; overrides ``alpha``. Where categories need more
        it is raised.
    c : float
        The master factor: how much finer the master is than the grid, at least 1. ``math.inf``
        allows a cut between any two values, exactly, for up to 4000 records.
    master : {"reshef", "paper"}
        c * min(l, floor(B / l)) master parts for l columns, or c * l.
    ties : {"group", "random"}
        Equal values share a cell, or are put in random order, a separate one for each axis.
    rng : numpy.random.Generator or int, optional
        Source of the order for ``ties="random"``.
    missing : {"raise", "drop"}
        Refuse missing values, or leave such records out; ``score.n`` says how many remain.

    Returns
    -------
    Score
        ``score.mic`` is 0 for a constant column. (With ``ties="random"`` even equal values are
        put in an order, so a constant column then scores as much as noise does.)

    Examples
    --------
    >>> import numpy as np, dpmic
    >>> x = np.random.default_rng(7).uniform(-1, 1, 500)
    >>> score = dpmic.mice(x, x**2)
    >>> round(score.mic, 3), score.grid.k, score.grid.l
    (0.969, 2, 17)
    """
    columns = pair(x, y, data=data, missing=missing)
    n, method = columns.x.size, Method("mice", alpha, B, c, master)
    limits = method.limits(n)
    if _validate.choice(ties, "ties", Ties) == "random":
        generator = _validate.generator(rng)
        x_axis, y_axis = (_in_random_order(own, generator) for own in columns.variables)
    elif rng is not None:
        raise ParameterError("rng", "grouped ties need no random order", "pass ties='random' too")
    else:
        x_axis, y_axis = (method.axis(own, limits) for own in columns.variables)
    return scored("mice", limits, method.search(x_axis, y_axis, limits), ties=ties)


def _in_random_order(own: Variable, generator: np.random.Generator) -> Axis:
    """Rank the values of a variable, equal ones in random order; categories stay together."""
    order = generator.permutation(own.values.size)
    if own.categories is None:
        return MassAxis.ranked(own.values, order)
    return NominalAxis.of(own.values, own.categories)


def micr(
    x: Any,
    y: Any,
    *,
    bounds: Any = None,
    data: Any = None,
    alpha: float = 0.6,
    B: float | None = None,
    c: float | None = None,
    master: Master = "reshef",
    missing: Missing = "raise",
) -> Score:
    """Score the dependence between two variables with MICr, on grids of equal width.

    Every record's cell depends on that record and on ``bounds`` alone, which is what makes the
    private mechanisms possible. Without privacy prefer :func:`mice`.

    Parameters
    ----------
    x, y : array-like or str
        Two columns of at least 4 finite numbers, or their names in ``data``.
    bounds : ((x0, x1), (y0, y1))
        The rectangle on which grids are drawn. Values outside are clamped to it; a value on a
        cut belongs to the cell above, the upper bound to the last cell. A nominal column has a
        list of its categories instead: ``((0, 120), ["a", "b"])``; other values count as missing
        unless "other" is listed.
    data : frame, path, stream or CountTable, optional
        What ``x`` and ``y`` name columns of. Besides frames in memory: a Parquet or CSV file, a
        pyarrow dataset, an iterator of record batches, a DuckDB relation, a polars LazyFrame, a
        Spark or a Dask DataFrame, whose rows are counted in one pass and never held; or their
        :class:`CountTable`, which has bounds, B, c and master of its own.
    alpha, B, c, master, missing
        As for :func:`mice`; c is 15 by default, too, or that of a count table. Rows that can be
        read only once need a ``B``.

    Returns
    -------
    Score
        ``score.mic`` is 0 for a constant column.

    Examples
    --------
    >>> import numpy as np, dpmic
    >>> x = np.random.default_rng(7).uniform(-1, 1, 500)
    >>> round(dpmic.micr(x, x**2, bounds=((-1, 1), (0, 1))).mic, 3)
    1.0
    """
    method = Method("micr", alpha, B, c, master)
    source = sources.find(x, y, data=data, public=True)
    box: tuple[Domain, Domain]
    if isinstance(source, Counting):
        limits, box, search = _counted_pair(source, bounds, method, missing)
    else:
        box = _validate.domains(bounds)
        columns = pair(x, y, data=data, missing=missing, domains=box)
        limits = method.limits(columns.x.size)
        search = Search.by_range(columns.x, columns.y, box, limits)
    return scored("micr", limits, search, bounds=box)


def mic(
    x: Any,
    y: Any,
    *,
    data: Any = None,
    alpha: float = 0.6,
    B: float | None = None,
    c: float = 15,
    missing: Missing = "raise",
) -> Score:
    """Score the dependence between two variables with the original MIC of 2011.

    The ApproxMaxMI algorithm of Reshef et al. 2011, as MINE.jar and minepy's ``mic_approx``
    compute it. :func:`mice` is its successor: less biased, and faster. Of few records ``mic``
    resolves more: in the median a sine of 4 periods without noise scores 0.80 at n = 100, and 1
    from n = 200 on.

    Parameters
    ----------
    x, y : array-like or str
        Two columns of at least 4 finite numbers, or their names in ``data``; not of more than two
        categories.
    data, alpha, B, c, missing
        As for :func:`mice`. The master has at most c * floor(B / l) clumps.

    Returns
    -------
    Score
        ``score.mic`` is 0 for a constant column.

    Examples
    --------
    >>> import numpy as np, dpmic
    >>> x = np.random.default_rng(7).uniform(-1, 1, 500)
    >>> round(dpmic.mic(x, x**2).mic, 3)
    1.0
    """
    columns = pair(x, y, data=data, missing=missing)
    method = Method("mic", alpha, B, c)
    limits = method.limits(columns.x.size)
    x_axis, y_axis = (method.axis(own, limits) for own in columns.variables)
    return scored("mic", limits, method.search(x_axis, y_axis, limits))


def micc(
    x: Any,
    y: Any,
    *,
    bounds: Bounds | None = None,
    data: Any = None,
    cap: float = 5,
    axes: Axes | None = None,
    missing: Missing = "raise",
) -> CappedScore:
    """Score the dependence between two variables with capped information.

    This is what ``"capped-laplace"`` publishes, before noise, with the cap that a release states.
    A smaller cap limits what a record weighs, and lifts scores of middling relations. One record
    can change the score by at most cap / n, a half to a quarter of what it can change :func:`micr`
    by. Without privacy prefer :func:`mice`.

    Parameters
    ----------
    x, y : array-like or str
        Two columns of at least 4 finite numbers, or their names in ``data``.
    bounds : ((x0, x1), (y0, y1))
        The rectangle on which grids are drawn; it need only contain the data, generously. Values
        outside are clamped to it. A nominal column has its categories: ``((0, 120), ["a", "b"])``.
    data : frame, path, stream or CountTable, optional
        What ``x`` and ``y`` name columns of, as for :func:`micr`.
    cap : float
        The most bits that one record can weigh: a multiple of 1/2 from 3.5 to 8.
    axes : {"any", "linear", "wide"}, optional
        The scales on which each axis is cut: thirteen, from linear to logarithmic and closer to 0
        or the bound nearest to it (the default); the linear one alone; or also every dyadic
        interval that holds a third of the records, for values far from 0 in wide bounds. A count
        table has its own.
    missing : {"raise", "drop"}
        Refuse missing values, or leave such records out.

    Returns
    -------
    CappedScore
        ``score.mic`` is 0 for a constant column.

    Examples
    --------
    >>> import numpy as np, dpmic
    >>> x = np.random.default_rng(7).uniform(-1, 1, 500)
    >>> score = dpmic.micc(x, x**2, bounds=((-10, 10), (0, 10)))
    >>> round(score.mic, 2), score.grid.k
    (0.99, 2)
    """
    most, source = _validate.cap(cap), sources.find(x, y, data=data, public=True)
    scales = capped.checked_axes(_own_axes(source) if axes is None else axes)
    box: tuple[Domain, Domain]
    if isinstance(source, Counting):
        ends, family = _counted_box(source, bounds), CappedGrids(countable_axes(scales))
        table = count_records(source, ends, family, missing)
        n, counts, swapped = table.counts(*source.names)
        box, tables = ends, family.tabulated(counts, ends, swapped=swapped)
    else:
        box = _validate.domains(bounds)
        columns = pair(x, y, data=data, missing=missing, domains=box)
        binned = [
            capped.CappedColumn.of(values, own, scales)
            for values, own in zip((columns.x, columns.y), box, strict=True)
        ]
        n, tables = columns.x.size, capped.tabulated(*binned)
    best = capped.search(tables, most, n)
    grid, shown = best.grid(box), (_plain(box[0]), _plain(box[1]))
    return CappedScore(n=n, cap=most, axes=scales, bounds=shown, grid=grid, mic=best.score(n))


def _own_axes(source: sources.Found) -> Axes:
    """Return the scales that a count table has, or the default ones."""
    grids = source.grids if isinstance(source, Counting) else None
    counted = grids is not None and isinstance(grids.family, CappedGrids)
    return grids.family.axes if grids is not None and counted else "any"


def scored(
    statistic: str,
    limits: Limits,
    search: Search,
    *,
    ties: str = "group",
    bounds: tuple[Domain, Domain] | None = None,
) -> Score:
    """Run a search, and return its matrix and grid with what they depend on."""
    matrix, grid = search.run()
    if isinstance(search, NominalSearch):
        limits = limits.holding(*search.categories)
    return Score(
        statistic=statistic,
        n=search.n,
        B=limits.B,
        c=limits.c,
        master=limits.master,
        ties=ties,
        bounds=None if bounds is None else (_plain(bounds[0]), _plain(bounds[1])),
        grid=grid,
        matrix=matrix,
    )


def _plain(domain: Domain) -> Interval | tuple[str, ...]:
    """Return a domain as results have it: two ends, or labels."""
    return domain.labels if isinstance(domain, Categories) else domain


@dataclass(frozen=True)
class Method:
    """One of the statistics and what its grids are; ``mic`` has a master of its own."""

    statistic: Statistic
    alpha: float
    B: float | None
    c: float | None  # None: 15
    master: Master = "reshef"

    def limits(self, n: int) -> Limits:
        """Return how far the search of n records goes, or refuse the options."""
        sized = _validate.choice(self.master, "master", Master)
        limits = _validate.limits(
            n,
            alpha=self.alpha,
            B=self.B,
            c=DEFAULT_C if self.c is None else self.c,
            master="minepy" if self.statistic == "mic" else sized,
            atoms=math.inf if self.statistic == "micr" else n,
        )
        refuse_large_unconstrained(n, limits.c)
        return limits

    def steps(self, limits: Limits) -> Steps:
        """Return the runs of a search."""
        return steps(limits, more_rows=self.statistic == "mic")

    def axis(self, own: Variable, limits: Limits, domain: Domain | None = None) -> Axis:
        """Bin one variable, once for all pairs that it takes part in; MICr needs its domain."""
        if own.categories is not None and self.statistic != "mic":
            return NominalAxis.of(own.values, own.categories)
        if own.categories is not None and len(own.categories) > 2:  # two are the same by rank
            raise InputError(
                f"a column of {len(own.categories)} categories",
                "the MIC of 2011 is one of numbers",
                with_code("call `dpmic.mice`, or pass `statistic='mice'`"),
            )
        if domain is not None and not isinstance(domain, Categories):
            return RangeAxis.for_steps(own.values, Map(*domain), self.steps(limits))
        return MassAxis.grouped(own.values, slack=0 if self.statistic == "mic" else 1)

    def search(self, x: Axis, y: Axis, limits: Limits) -> Search:
        """Return the search of a pair, for MICr of axes that were cut for numbers."""
        if self.statistic == "mic":
            return ClumpedSearch.of(x, y, self.steps(limits))
        return Search.between(x, y, limits)

    def between(
        self, x: Variable, y: Variable, limits: Limits, box: tuple[Domain | None, Domain | None]
    ) -> Search:
        """Return the search of two variables; MICr needs what they can be."""
        if box[0] is not None and box[1] is not None:
            return Search.by_range(x.values, y.values, (box[0], box[1]), limits)
        return self.search(self.axis(x, limits), self.axis(y, limits), limits)


def unrelated(n: int, B: float, c: float, statistic: str = "mice") -> float:
    """Return what unrelated columns score by chance: the largest MIC of 20 simulated pairs.

    MICr has that of MICe, which it is for values that fill their bounds evenly. Of more than 2,000
    records it is that of 2,000, with B in proportion: a little more than theirs; c is 50 at most.

    Examples
    --------
    >>> round(unrelated(100, 15.85, 15), 2), round(unrelated(2000, 95.64, 15), 2)
    (0.18, 0.03)
    """
    records = min(n, ENOUGH_RECORDS)
    cells = max(B ** (math.log(records) / math.log(n)), 4.0)
    score = mic if statistic == "mic" else mice
    rng = np.random.default_rng(0)
    order = np.arange(records)
    return max(
        score(order, rng.permutation(records), B=cells, c=min(c, 50.0)).mic
        for _ in range(UNRELATED_PAIRS)
    )


def refuse_large_unconstrained(n: int, c: float) -> None:
    """Refuse cuts between any two of too many values."""
    if math.isinf(c) and n > MAX_UNCONSTRAINED:
        raise ParameterError(
            f"c = inf with n = {n}",
            f"cuts between any two of more than {MAX_UNCONSTRAINED} values take minutes or hours",
            "pass a finite c; c = 15 is the usual choice",
        )


def _counted_pair(
    source: Counting, bounds: Any, method: Method, missing: Missing
) -> tuple[Limits, Bounds, Search]:
    """Return the grids and the search of two columns."""
    box = _counted_box(source, bounds)
    table = count_records(source, box, counted_grids(source, method), missing)
    return table.grids.limits, box, Search.of_table(table, *source.names)


def _counted_box(source: Counting, bounds: Any) -> Bounds:
    """Return the bounds that were given, or those of a count table."""
    own = source.bounds(bounds)
    return _validate.bounds(own if own is bounds else [own[name] for name in source.names])


def count_records(source: Counting, intervals: Any, family: Family, missing: Missing) -> CountTable:
    """Count the records of a source, on the grids of a table that it is or of a method."""
    if _validate.choice(missing, "missing", Missing) == "drop":
        raise ParameterError(
            'missing = "drop"',
            "rows that come in parts are counted and not kept",
            "leave out incomplete records beforehand, as by a filter",
        )
    table = source.counted(intervals, family).table
    if table.n < LEAST_RECORDS:
        raise InputError(
            f"{table.n} records",
            f"a score needs at least {LEAST_RECORDS} records",
            "pass more data",
        )
    return table


def counted_grids(source: Counting, method: Method) -> RangeGrids:
    """Return the grids of MICr; what was left out comes from the table, or from n."""
    grids = source.grids
    if grids is not None:
        own = grids.limits
        B, c = own.B if method.B is None else method.B, own.c if method.c is None else method.c
        master = own.master if method.master == "reshef" else method.master
        return RangeGrids(fixed_limits(B, c, master))
    c = DEFAULT_C if method.c is None else method.c
    if method.B is not None:
        return RangeGrids(fixed_limits(method.B, c, method.master))
    limits = fixed_limits(_validate.cells(source.n, method.alpha, None), c, method.master)
    size = CELL * limits.c * limits.B**2
    if size > MOST_BY_DEFAULT:
        raise ParameterError(
            f"B = {limits.B:.0f}, the default for n = {source.n}",
            f"its counts would take {size / 2**30:.1f} GiB",
            with_code("pass `B=100`, `c=5`, or an alpha"),
        )
    return RangeGrids(limits)
