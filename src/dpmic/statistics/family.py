"""The public statistics ``mice``, ``micr``, ``micc`` and ``mic``, and their options."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate
from dpmic._format import plural
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
"""The most records with c = inf: the search is quadratic in them."""

CELL = 8 * 1.7
"""Approximate bytes of counts of one pair, per unit of c B^2."""

MOST_BY_DEFAULT = 2**28
"""The most bytes for the counts of a pair if the caller did not choose B."""


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
    """Score how strongly two variables depend on each other, with MICe.

    MICe is near 0 for unrelated variables. For a noiseless relation along a line, a curve or a
    wave it approaches 1 as n grows. Use it when you need no privacy: it needs no bounds, does not
    change under increasing transformations of either variable, and estimates the population value
    MIC* consistently. By chance, unrelated columns score a little above 0, more so in small
    tables; :func:`independence_test` gives a p-value.

    Small samples limit what it can resolve: a noiseless sine of 4 periods scores 0.40 at n = 100
    and 0.86 at n = 1000 (the median, with x uniform at random). :func:`mic` resolves more in small
    samples, but scores independent columns higher.

    Parameters
    ----------
    x, y : array-like or str
        Two columns of at least 4 values, or their names in ``data``. Numbers must be finite. Dates
        count as days, times and durations as seconds, ordered categories by rank. Text, booleans
        and unordered categories are nominal: each of at most 100 categories is one part
        (``docs/definitions.md``).
    data : frame, optional
        A pandas, polars or pyarrow table with columns named ``x`` and ``y``.
    alpha : float
        The exponent in B = max(n ** alpha, 4), in (0, 1].
    B : float, optional
        The most cells a grid may have, at least 4; overrides ``alpha``. It is raised if nominal
        columns need more.
    c : float
        The master factor: how much finer the master is than the grid, at least 1. With
        ``math.inf`` cuts may lie between any two values; this takes at most 4000 records.
    master : {"reshef", "paper"}
        The rule for the master: c * min(l, floor(B / l)) parts for l columns, or c * l.
    ties : {"group", "random"}
        Whether equal values share a cell, or are put in random order, separately on each axis.
    rng : numpy.random.Generator or int, optional
        Source of the random order for ``ties="random"``.
    missing : {"raise", "drop"}
        Refuse missing values, or leave out their records; ``score.n`` counts the others.

    Returns
    -------
    Score
        The score is ``score.mic``, in [0, 1], and 0 for a constant column. (With
        ``ties="random"`` a constant column scores as noise does.)

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
    """Rank the values of a variable, ties in random order; categories stay together."""
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
    """Score how strongly two variables depend on each other, with MICr.

    MICr is MICe on grids of equal width between fixed bounds. The cell of a record depends only on
    that record and on ``bounds``, which is what makes private mechanisms and counting in one pass
    possible. Without privacy, prefer :func:`mice`.

    Parameters
    ----------
    x, y : array-like or str
        Two columns of at least 4 finite numbers, or their names in ``data``.
    bounds : ((x0, x1), (y0, y1)) or mapping
        The possible ranges of x and y, on which grids are drawn; or by the names of the columns,
        ``{"age": (0, 120), "dose": (0, 400)}``. Values outside are clamped; a value on a cut
        belongs to the cell above it, and the upper bound to the last cell. For a nominal column
        list its categories instead: ``((0, 120), ["a", "b"])``; other values count as missing
        unless "other" is listed.
    data : frame, path, stream or CountTable, optional
        The table with columns named ``x`` and ``y``: a frame in memory, or rows that are counted
        in one pass and never held (a Parquet or CSV file, a pyarrow dataset, an iterator of record
        batches, a DuckDB relation, a polars LazyFrame, a Spark or Dask DataFrame), or a
        :class:`CountTable`, which brings its own bounds, B, c and master.
    alpha, B, c, master, missing
        As for :func:`mice`; c defaults to 15. Rows that can be read only once need a ``B``.

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
        box = _validate.domains(sources.in_order(bounds, source.names), source.names)
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
    """Score how strongly two variables depend on each other, with the original MIC of 2011.

    This is the ApproxMaxMI algorithm of Reshef et al. 2011, as MINE.jar and minepy's
    ``mic_approx`` compute it. Use it to compare with published values. :func:`mice` is its
    successor: less biased, and faster. In small samples ``mic`` resolves more: a noiseless sine of
    4 periods scores 0.80 at n = 100, and 1 from n = 200 on (the median).

    Parameters
    ----------
    x, y : array-like or str
        Two columns of at least 4 finite numbers, or their names in ``data``; columns of two
        categories count as numbers.
    data, alpha, B, c, missing
        As for :func:`mice`. The master has at most c * floor(B / l) clumps.

    Returns
    -------
    Score
        The score is ``score.mic``, in [0, 1], and 0 for a constant column.

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
    bounds: Any = None,
    data: Any = None,
    cap: float = 5,
    axes: Axes | None = None,
    missing: Missing = "raise",
) -> CappedScore:
    """Score how strongly two variables depend on each other, with capped information.

    This is what the default mechanism, ``"capped-laplace"``, publishes, before noise. One record
    can change the score by at most cap / n, a half to a quarter of what it can change
    :func:`micr` by. A smaller cap lowers that further, and raises scores of middling strength.
    Without privacy, prefer :func:`mice`.

    Parameters
    ----------
    x, y : array-like or str
        Two columns of at least 4 finite numbers, or their names in ``data``.
    bounds : ((x0, x1), (y0, y1)) or mapping
        The possible ranges of x and y, on which grids are drawn; or by the names of the columns, as
        for :func:`micr`. They can be generous; values outside are clamped. For a nominal column
        list its categories: ``((0, 120), ["a", "b"])``.
    data : frame, path, stream or CountTable, optional
        The table with columns named ``x`` and ``y``, as for :func:`micr`.
    cap : float
        The most bits that one record can weigh: a multiple of 1/2 from 3.5 to 8. A release states
        the cap it used.
    axes : {"any", "linear", "wide"}, optional
        The scales on which each axis is cut. "any", the default, tries thirteen: from linear to
        logarithmic, and closer to 0 or the bound nearest to it. "linear" tries one. "wide" also
        tries every dyadic interval that holds a third of the records, for values far from 0 in
        wide bounds. A count table brings its own.
    missing : {"raise", "drop"}
        Refuse missing values, or leave out their records.

    Returns
    -------
    CappedScore
        The score is ``score.mic``, in [0, 1], and 0 for a constant column.

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
        box = _validate.domains(sources.in_order(bounds, source.names), source.names)
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
    """Return the scales of a count table, or the default ones."""
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
    """Run a search; return its matrix and grid, with the facts they depend on."""
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
    """Return a domain as results store it: two ends, or labels."""
    return domain.labels if isinstance(domain, Categories) else domain


@dataclass(frozen=True)
class Method:
    """One of the statistics, with the options of its grids; ``mic`` has its own master."""

    statistic: Statistic
    alpha: float
    B: float | None
    c: float | None  # None: 15
    master: Master = "reshef"

    def limits(self, n: int) -> Limits:
        """Return the size of the search for n records, or refuse the options."""
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
        """Bin one variable, once for all its pairs; MICr needs its domain."""
        if own.categories is not None and self.statistic != "mic":
            return NominalAxis.of(own.values, own.categories)
        if own.categories is not None and len(own.categories) > 2:  # two categories can be ranked
            raise InputError(
                f"a column of {len(own.categories)} categories",
                "the MIC of 2011 is defined for numbers only",
                with_code("call `dpmic.mice`, or pass `statistic='mice'`"),
            )
        if domain is not None and not isinstance(domain, Categories):
            return RangeAxis.for_steps(own.values, Map(*domain), self.steps(limits))
        return MassAxis.grouped(own.values, slack=0 if self.statistic == "mic" else 1)

    def search(self, x: Axis, y: Axis, limits: Limits) -> Search:
        """Return the search of a pair whose axes were cut by :meth:`axis`."""
        if self.statistic == "mic":
            return ClumpedSearch.of(x, y, self.steps(limits))
        return Search.between(x, y, limits)

    def between(
        self, x: Variable, y: Variable, limits: Limits, box: tuple[Domain | None, Domain | None]
    ) -> Search:
        """Return the search of two variables; MICr needs their domains."""
        if box[0] is not None and box[1] is not None:
            return Search.by_range(x.values, y.values, (box[0], box[1]), limits)
        return self.search(self.axis(x, limits), self.axis(y, limits), limits)


def refuse_large_unconstrained(n: int, c: float) -> None:
    """Refuse c = inf for too many values."""
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
    """Return the given bounds, or those of a count table."""
    return _validate.bounds(sources.in_order(source.bounds(bounds), source.names), source.names)


def count_records(source: Counting, intervals: Any, family: Family, missing: Missing) -> CountTable:
    """Count the records of a source, on the grids of the table it is or of a method."""
    if _validate.choice(missing, "missing", Missing) == "drop":
        raise ParameterError(
            'missing = "drop"',
            "rows that arrive in parts are counted and not kept",
            "leave out incomplete records beforehand, for example with a filter",
        )
    table = source.counted(intervals, family).table
    if table.n < LEAST_RECORDS:
        raise InputError(
            plural(table.n, "record"),
            f"a score needs at least {LEAST_RECORDS} records",
            "pass more data",
        )
    return table


def counted_grids(source: Counting, method: Method) -> RangeGrids:
    """Return the grids of MICr; missing options come from the table, or from n."""
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
