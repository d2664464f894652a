"""The public statistics: ``mice``, ``micr`` and ``mic``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate, frames
from dpmic._validate import Bounds, Interval, Limits, Master, Ties
from dpmic.counts.memory import ClumpedRecords, Records
from dpmic.errors import ParameterError
from dpmic.grids import Axis, MassAxis, RangeAxis, Step, steps
from dpmic.results import Score
from dpmic.statistics.characteristic import Search

__all__ = ["mic", "mice", "micr", "range_axis", "range_search", "search_between"]

Floats = NDArray[np.float64]

MAX_UNCONSTRAINED = 4_000
"""Most records with c = inf: the search is quadratic in them."""


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
    missing: frames.Missing = "raise",
) -> Score:
    """Score the dependence between two variables with MICe, on grids of equal mass.

    The first choice where no privacy is needed: it needs no bounds, is unchanged by increasing
    transformations of either variable, and estimates the population value MIC* consistently.

    Parameters
    ----------
    x, y : array-like or str
        Two columns of at least 4 finite numbers, or their names in ``data``. Booleans and
        ordered categories are taken by rank.
    data : frame, optional
        A pandas, polars or pyarrow table that ``x`` and ``y`` name columns of.
    alpha : float
        The exponent in B = max(n ** alpha, 4), in (0, 1].
    B : float, optional
        The most cells a grid may have, at least 4; overrides ``alpha``.
    c : float
        How much finer the master is than the grid, at least 1. ``math.inf`` allows a cut
        between any two values, exactly, for up to 4000 records.
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
    pair = frames.pair(x, y, data=data, missing=missing)
    n = pair.x.size
    limits = _validate.limits(
        n, alpha=alpha, B=B, c=c, master=_validate.choice(master, "master", Master), atoms=n
    )
    _refuse_large_unconstrained(n, limits)
    if _validate.choice(ties, "ties", Ties) == "random":
        generator = _validate.generator(rng)
        x_axis = MassAxis.ranked(pair.x, generator.permutation(n))
        y_axis = MassAxis.ranked(pair.y, generator.permutation(n))
    elif rng is not None:
        raise ParameterError("rng", "grouped ties need no random order", "pass ties='random' too")
    else:
        x_axis, y_axis = MassAxis.grouped(pair.x), MassAxis.grouped(pair.y)
    search = Search(Records(x_axis, y_axis), Records(y_axis, x_axis), steps(limits))
    return _score("mice", limits, search, ties=ties)


def micr(
    x: Any,
    y: Any,
    *,
    bounds: Bounds,
    data: Any = None,
    alpha: float = 0.6,
    B: float | None = None,
    c: float = 15,
    master: Master = "reshef",
    missing: frames.Missing = "raise",
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
        cut belongs to the cell above, the upper bound to the last cell.
    data, alpha, B, c, master, missing
        As for :func:`mice`.

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
    pair = frames.pair(x, y, data=data, missing=missing)
    n = pair.x.size
    limits = _validate.limits(
        n, alpha=alpha, B=B, c=c, master=_validate.choice(master, "master", Master), atoms=math.inf
    )
    _refuse_large_unconstrained(n, limits)
    box = _validate.bounds(bounds)
    return _score("micr", limits, range_search(pair.x, pair.y, box, limits), bounds=box)


def mic(
    x: Any,
    y: Any,
    *,
    data: Any = None,
    alpha: float = 0.6,
    B: float | None = None,
    c: float = 15,
    missing: frames.Missing = "raise",
) -> Score:
    """Score the dependence between two variables with the original MIC of 2011.

    The ApproxMaxMI algorithm of Reshef et al. 2011, as MINE.jar and minepy's ``mic_approx``
    compute it. :func:`mice` is its successor: less biased, and faster.

    Parameters
    ----------
    x, y : array-like or str
        Two columns of at least 4 finite numbers, or their names in ``data``.
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
    pair = frames.pair(x, y, data=data, missing=missing)
    n = pair.x.size
    limits = _validate.limits(n, alpha=alpha, B=B, c=c, master="minepy", atoms=n)
    _refuse_large_unconstrained(n, limits)
    x_axis, y_axis = MassAxis.grouped(pair.x, slack=0), MassAxis.grouped(pair.y, slack=0)
    by_x, by_y = ClumpedRecords(x_axis, y_axis), ClumpedRecords(y_axis, x_axis)
    return _score("mic", limits, Search(by_x, by_y, steps(limits, more_rows=True)))


def range_search(x: Floats, y: Floats, box: Bounds, limits: Limits) -> Search:
    """Return the search of MICr, whose grids depend on the bounds and limits alone."""
    plan = steps(limits)
    x_fixed, x_free = _range_axes(x, box[0], plan)
    y_fixed, y_free = _range_axes(y, box[1], plan)
    return Search(Records(x_fixed, y_free), Records(y_fixed, x_free), plan)


def range_axis(values: Floats, interval: Interval, limits: Limits) -> Axis:
    """Bin one variable for MICr, once for all pairs that it takes part in; c must be finite."""
    return _range_axes(values, interval, steps(limits))[0]


def search_between(x: Axis, y: Axis, limits: Limits) -> Search:
    """Return the search of MICr on two variables binned by :func:`range_axis`."""
    return Search(Records(x, y), Records(y, x), steps(limits))


def _score(
    statistic: str,
    limits: Limits,
    search: Search,
    *,
    ties: str = "group",
    bounds: Bounds | None = None,
) -> Score:
    matrix, grid = search.run()
    return Score(
        statistic=statistic,
        n=search.n,
        B=limits.B,
        c=limits.c,
        master=limits.master,
        ties=ties,
        bounds=bounds,
        grid=grid,
        matrix=matrix,
    )


def _range_axes(values: Floats, interval: Interval, plan: tuple[Step, ...]) -> tuple[Axis, Axis]:
    """Return one variable as the fixed and as the searched axis of MICr."""
    sizes = {step.columns for step in plan}
    if math.isfinite(plan[0].master):
        masters = {int(step.master) for step in plan}
        axis = RangeAxis.of(values, interval, frozenset(sizes | masters))
        return axis, axis
    # c = inf: any cut between distinct clamped values (the paper's unconstrained MICr).
    clamped = np.clip(values, *interval)
    return RangeAxis.of(clamped, interval, frozenset(sizes)), MassAxis.grouped(clamped)


def _refuse_large_unconstrained(n: int, limits: Limits) -> None:
    if math.isinf(limits.c) and n > MAX_UNCONSTRAINED:
        raise ParameterError(
            f"c = inf with n = {n}",
            f"cuts between any two of more than {MAX_UNCONSTRAINED} values take minutes or hours",
            "pass a finite c; c = 15 is the usual choice",
        )
