"""Random cases for kernels: ties, heavy tails, constants, tiny n, and where vectors end."""

import math

import numpy as np
import strategies

from dpmic import _validate
from dpmic._kernels import reference
from dpmic._validate import Limits
from dpmic.statistics.capped import critics_of, unit_of
from dpmic.statistics.grids import MassAxis, steps
from dpmic.statistics.records import CutAxes, RankedAxes
from dpmic.statistics.search import ClumpedSearch, Search, xlogx_table

MOST = 10**6  # records in a table
VECTORS = (4, 8, 16, 32)  # numbers that a processor may take at a time
MASTERS = ("reshef", "paper", "minepy")
AXES = ("grouped", "ranked", "range")


def same(found, expected):
    """Assert that arrays, or tuples of them, are bit-identical; a zero may have either sign."""
    if isinstance(expected, tuple):
        assert isinstance(found, tuple)
        assert len(found) == len(expected)
        for own, other in zip(found, expected, strict=True):
            same(own, other)
        return
    assert type(found) is type(expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    assert np.array_equal(found, expected, equal_nan=np.asarray(expected).dtype.kind == "f")


# --- Tables of counts ------------------------------------------------------------------------


def table(rng):
    """Counts [column, master row]: 1 to 10^6 records, empty rows and columns, huge cells."""
    columns = int(rng.integers(1, 41))
    rows = int(rng.integers(1, 131))
    if rng.random() < 0.5:  # where vectors end
        rows = max(int(rng.choice(VECTORS)) * int(rng.integers(0, 5)), 2)
        rows += int(rng.integers(-1, 2))
    weights = {
        "even": lambda: np.ones((columns, rows)),
        "uneven": lambda: rng.gamma(0.3, size=(columns, rows)),
        "huge cells": lambda: rng.pareto(0.3, (columns, rows)),
        "a line": lambda: _near_a_line(columns, rows) + 1e-4 * rng.random((columns, rows)),
        "levels": lambda: rng.gamma(0.1, size=(columns, 5))[:, np.sort(rng.integers(0, 5, rows))],
    }[rng.choice(["even", "uneven", "huge cells", "a line", "levels"])]()
    weights = weights + 1e-300
    if rng.random() < 0.3:
        weights[rng.random(columns) < 0.3] = 0
        weights[:, rng.random(rows) < 0.3] = 0
        weights[0, 0] += 1e-300
    n = int(10 ** rng.uniform(0, math.log10(MOST)))
    flat = (weights / weights.sum()).ravel()
    return rng.multinomial(n, flat / flat.sum()).reshape(columns, rows).astype(np.int32)


def _near_a_line(columns, rows):
    return np.exp(-((np.linspace(0, 1, columns)[:, None] - np.linspace(0, 1, rows)) ** 2) * 50)


def tables(seed, count):
    """Tables, and the most rows to be found in each: sometimes more than it has."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        counts = table(rng)
        rows = counts.shape[1]
        yield counts, int(rng.integers(2, min(rows, 10) + 4 if rng.random() < 0.9 else rows + 9))


# --- Pairs of columns ------------------------------------------------------------------------


def related(rng, n):
    """Two columns on which grids of many rows win, or nearly tie with those of few."""
    # Of an even number of steps 2 rows get all information: one half each.
    x, levels = rng.random(n), int(rng.choice([3, 5, 7, *range(2, 9)]))
    shares = rng.dirichlet(np.full(levels, 10 ** rng.uniform(0, 5)))
    height = np.searchsorted(np.cumsum(shares)[:-1], x)
    heights = rng.permutation(levels) if rng.random() < 0.5 else np.arange(levels)
    y = {
        "line": lambda: x.copy(),
        "steps": lambda: heights[height] + 1e-3 * rng.random(n),
        "tied steps": lambda: heights[height].astype(float),
        "steps and noise": lambda: heights[height] + rng.choice([0.1, 0.3]) * rng.normal(size=n),
        "checkerboard": lambda: height % 2 + 2 * rng.integers(0, 4, n) + rng.random(n),
        "sine": lambda: np.sin(levels * 3 * x) + rng.choice([0, 0.2]) * rng.normal(size=n),
        "two kinds": lambda: np.where(rng.random(n) < 0.5, x, rng.choice([-x, 0.5 * x])),
        "noise": lambda: rng.random(n),
    }[rng.choice(["line", "steps", "tied steps", "steps and noise", "checkerboard", "sine"] * 2
                 + ["two kinds", "noise"])]()  # fmt: skip
    moved = rng.integers(0, n, int(rng.choice([0, 0, 1, 2, n // 10])))
    y[moved] = rng.permutation(y[moved])
    return (x, y) if rng.random() < 0.5 else (y, x)


def columns_of(rng, n):
    """Two columns with ties, heavy tails, few values, one value, or a relation."""
    x, y = strategies.pair(n, rng) if rng.random() < 0.7 else related(rng, n)
    if rng.random() < 0.1:
        x = x / max(np.abs(x).max(), 1e-3) * 1e300
    return x, y


def size_of(rng, sizes):
    """Return a number of records, small ones as likely as large ones."""
    return int(np.exp(rng.uniform(*np.log(sizes))))


def ranked_pairs(seed, count, sizes=(1, 300)):
    """Two columns as they are, and ranked; values may be infinite."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        table = np.stack(columns_of(rng, size_of(rng, sizes)))
        if rng.random() < 0.1:
            table[rng.random(table.shape) < 0.2] = rng.choice([np.inf, -np.inf])
        yield rng, table, RankedAxes(*reference.rank_rows(table))


# --- Searches --------------------------------------------------------------------------------


def limits(rng, n, cells=(4, 30)):
    """How far to search: B like the default or a number of cells, any c."""
    c = rng.choice([1, 1.5, 2, 3.7, 5, 15, math.inf], p=[0.2, 0.1, 0.1, 0.1, 0.2, 0.25, 0.05])
    B = max(n**0.6, 4.0) if rng.random() < 0.5 else rng.uniform(*cells)
    return Limits(float(B), float(c), str(rng.choice(MASTERS)))


def search(x, y, wanted, kind="grouped", rng=None):
    """Return the search of MICe, with ties grouped or in random order, or of MICr."""
    if kind == "range":
        low, high = np.quantile(x, [0.02, 0.9])
        box = ((low, high) if 1e-3 < high - low < 1e6 else (-1.0, 1.0)), (-0.5, 2.0)
        return Search.by_range(x, y, box, wanted)
    if kind == "ranked":
        x_axis, y_axis = (MassAxis.ranked(v, rng.permutation(v.size)) for v in (x, y))
    else:
        x_axis, y_axis = MassAxis.grouped(x), MassAxis.grouped(y)
    return Search.of(x_axis, y_axis, steps(wanted))


def searches(seed, count, kind, sizes=(4, 400)):
    """Random searches of one kind."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = size_of(rng, sizes)
        yield search(*columns_of(rng, n), limits(rng, n), kind, rng)


def clumped_search(rng, n, more_rows):
    """Return a search of 2011 with any c, also below 1."""
    B = max(n**0.6, 4.0) if rng.random() < 0.5 else rng.uniform(4, 30)
    c = min(float(rng.choice([0.3, 1, 1.5, 5, 15, np.inf])), n)
    x, y = (MassAxis.grouped(own, slack=0) for own in columns_of(rng, n))
    return ClumpedSearch.of(x, y, steps(Limits(float(B), c, "minepy"), more_rows=more_rows))


def logs(plan):
    """Return what normalises an entry of k rows."""
    return np.log2(np.maximum(np.arange(plan.rows.max() + 1), 1))


def cut(asked):
    """Return both variables of a search cut, and what follows the pairs: starts, rows, f."""
    plan = asked.steps.layout
    left, right = (CutAxes.of([own.fixed], plan) for own in (asked.by_x, asked.by_y))
    return (left, right), (plan.starts, plan.rows, xlogx_table(asked.n))


def ranked(asked):
    """Return what `equi` takes, up to `fast`."""
    x, y = asked.by_x.fixed, asked.by_y.fixed
    axes = (x.atoms, x.ends, x.slack), (y.atoms, y.ends, y.slack)
    return *axes, asked.steps.layout.arrays, asked.steps.logs, xlogx_table(asked.n)


def stepwise(asked, *, occupied=False):
    """Return the entries of both orientations, each step from a table of counts of its own."""
    size, xlogx = len(asked.steps), xlogx_table(asked.n)
    found = np.full((2, size, size), np.nan)
    for orientation, records in enumerate((asked.by_x, asked.by_y)):
        for i, step in enumerate(asked.steps):
            counts = records.count(step).table
            bits = reference.information(counts, step.rows, xlogx)[2:]
            columns = max(counts.shape[0], 2) if occupied else step.columns
            parts = np.minimum(np.arange(2, step.rows + 1), columns)
            found[orientation, : step.rows - 1, i] = np.clip(bits / np.log2(parts), 0, 1)
    found[1] = found[1].T.copy()
    return found


# --- Capped information ----------------------------------------------------------------------


def capped_tables(rng, count):
    """Tables [part, cell] with several partitions, f in units or not tabled, and critics."""
    for i in range(count):
        shape = int(rng.integers(1, 9)), int(rng.integers(2, 150))
        counts = rng.integers(0, rng.choice([2, 5, 40, 10**5]), shape)
        counts[rng.random(shape) < rng.choice([0.0, 0.5, 0.9])] = 0
        counts[0, 0] += 2
        n, parts = int(counts.sum()) + int(rng.integers(0, 3)), shape[0]
        unit, f = unit_of(n), np.empty(0)
        if n < 10**5:
            f = np.floor(reference.f(np.arange(n + 1)) / unit + 0.5) * unit
        own = [np.unique([0, *rng.integers(0, parts, parts), parts]) for _ in range(3)]
        edges, offsets = np.concatenate(own), np.cumsum([0, *(each.size for each in own)])
        critics = critics_of(float(rng.choice(_validate.CAPS)), unit)
        yield counts.astype((np.int32, np.int64)[i % 2]), (edges, offsets), (f, unit), critics
