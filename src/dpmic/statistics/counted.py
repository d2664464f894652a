"""MICr of records that were counted, or that are to be counted where they are."""

from __future__ import annotations

from typing import Any

from dpmic import _validate
from dpmic._validate import Bounds, Limits
from dpmic.errors import InputError, ParameterError, with_code
from dpmic.frames import LEAST_RECORDS, Missing
from dpmic.statistics.characteristic import Search
from dpmic.statistics.counts.fixed import fixed_limits
from dpmic.statistics.counts.sources import Counting
from dpmic.statistics.counts.table import CountTable
from dpmic.statistics.methods import DEFAULT_C, Method

__all__ = ["check_records", "count", "counted_pair", "counted_search"]


CELL = 8 * 1.7
"""Bytes of counts of one pair for each unit of c B^2, about."""

MOST_BY_DEFAULT = 2**28
"""Bytes that a pair may take where nobody has asked for as many cells."""


def counted_search(table: CountTable, x: str, y: str) -> Search:
    """Return the search of MICr of two of a table's columns."""
    return Search(*table.records(x, y), table.grids.cells.plan)


def check_records(search: Search, n: int) -> None:
    """Refuse a table that has changed since everything else was fixed for n records."""
    if search.n != n:
        raise InputError("a count table", "it was changed meanwhile", "let nothing change it")


def counted_pair(
    source: Counting, bounds: Any, method: Method, missing: Missing
) -> tuple[Limits, Bounds, Search]:
    """Return the grids and the search of two columns."""
    own = source.bounds(bounds)
    box = _validate.bounds(own if own is bounds else [own[name] for name in source.names])
    table = count(source, box, method, missing)
    return table.grids.limits, box, counted_search(table, *source.names)


def count(source: Counting, intervals: Any, method: Method, missing: Missing) -> CountTable:
    """Count the records of a source, on the grids of a table that it is or of a method."""
    if _validate.choice(missing, "missing", Missing) == "drop":
        raise ParameterError(
            'missing = "drop"',
            "rows that come in parts are counted and not kept",
            "leave out incomplete records beforehand, as by a filter",
        )
    table = source.counted(intervals, _limits(source, method)).whole
    if table.n < LEAST_RECORDS:
        raise InputError(
            f"{table.n} records",
            f"a score needs at least {LEAST_RECORDS} records",
            "pass more data",
        )
    return table


def _limits(source: Counting, method: Method) -> Limits:
    """Return the grids; of what was left out a table has its own, and others what n asks for."""
    grids = source.grids
    if grids is not None:
        own = grids.limits
        B, c = own.B if method.B is None else method.B, own.c if method.c is None else method.c
        return fixed_limits(B, c, own.master if method.master == "reshef" else method.master)
    c = DEFAULT_C if method.c is None else method.c
    if method.B is not None:
        return fixed_limits(method.B, c, method.master)
    limits = fixed_limits(_validate.cells(source.n, method.alpha, None), c, method.master)
    size = CELL * limits.c * limits.B**2
    if size > MOST_BY_DEFAULT:
        raise ParameterError(
            f"B = {limits.B:.0f}, the default for n = {source.n}",
            f"its counts would take {size / 2**30:.1f} GiB",
            with_code("pass `B=100`, `c=5`, or an alpha"),
        )
    return limits
