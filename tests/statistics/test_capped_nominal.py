"""Capped information of nominal columns and of records with gaps: against brute force."""

import itertools

import naive
import numpy as np
import pytest
from sweeps import sweep

from dpmic._validate import CAPS, Categories
from dpmic.statistics import capped
from dpmic.statistics.capped import CappedColumn, search, tabulated

UNIT = (0.0, 1.0)


def letters(m):
    return Categories(tuple("abcdefghijklmnopqrstuvwxyzABCDEFG"[:m]))


def found(columns, domains, cap=5.0, axes="linear", least=None, gaps=True):
    each = zip(columns, domains, strict=True)
    binned = [CappedColumn.of(np.asarray(v, float), own, axes, gaps=gaps) for v, own in each]
    best = search(tabulated(*binned), cap, len(columns[0]), least)
    return best.score(1 if least is None else least)


def optional(values):
    return [None if np.isnan(v) else v for v in values]


def inner(size):
    return [j / size for j in range(1, size)]


def brute(codes, m, y, cap, least):
    """Score a nominal column with a numeric one as the naive reference does."""
    floor = len(y) if least is None else least
    sizes = [l for l in capped.PLAIN if l <= max(np.ceil(2 * np.sqrt(floor)), 2)]
    three = [l for l in capped.THREE if l <= max(np.ceil(np.sqrt(floor)), 4)]
    single = inner(capped.THRESHOLDS) + inner(capped.THRESHOLDS_OF_THREE)
    rows = [[cut] for cut in single]
    rows += map(list, itertools.combinations(inner(capped.THRESHOLDS_OF_THREE), 2))
    cuts = {
        "columns": [inner(l) for l in sizes],
        "three columns": [inner(l) for l in three],
        "rows": rows,
    }
    given = optional(codes), m, optional(y), cuts, cap, capped.PENALTY
    return naive.micc_nominal(*given, least=least or 0)


@pytest.mark.slow
@sweep("m", [2, 3, 5])
def test_nominal_and_numeric_equal_brute_force(m, rng):
    for case in range(3):
        n = int(rng.integers(4, 16))
        codes, y = rng.integers(0, m, n).astype(float), rng.integers(0, 9, n) / 8
        if case:
            y = np.clip(codes / m + rng.random(n) / 3, 0, 1)
        least = None
        if case == 2:
            codes[rng.random(n) < 0.2], y[rng.random(n) < 0.2] = np.nan, np.nan
            least = int(rng.integers(2, n + 1))
        cap = float(rng.choice(CAPS))
        exact = brute(codes, m, y, cap, least)
        assert found((codes, y), (letters(m), UNIT), cap, least=least) == pytest.approx(
            exact, abs=1e-5
        )
        assert found((y, codes), (UNIT, letters(m)), cap, least=least) == pytest.approx(
            exact, abs=1e-5
        )


def test_two_nominal_columns_equal_brute_force(rng):
    for _ in range(30):
        n, m, l = (int(rng.integers(*ends)) for ends in ((4, 40), (2, 6), (2, 6)))
        x = rng.integers(0, m, n).astype(float)
        y = np.where(rng.random(n) < 0.6, x % l, rng.integers(0, l, n)).astype(float)
        x[rng.random(n) < 0.1] = np.nan
        least, cap = int(rng.integers(1, n + 1)), float(rng.choice(CAPS))
        columns = [inner(l)]
        scaled = [None if np.isnan(v) else (v + 0.5) / l for v in y]
        cuts = {"columns": columns, "three columns": columns, "rows": []}
        one = naive.micc_nominal(optional(x), m, scaled, cuts, cap, capped.PENALTY, least=least)
        columns = [inner(m)]
        scaled = [None if np.isnan(v) else (v + 0.5) / m for v in x]
        cuts = {"columns": columns, "three columns": columns, "rows": []}
        other = naive.micc_nominal(optional(y), l, scaled, cuts, cap, capped.PENALTY, least=least)
        assert found((x, y), (letters(m), letters(l)), cap, least=least) == pytest.approx(
            max(one, other), abs=1e-5
        )


@sweep("axes", ["linear", "any"])
def test_records_with_gaps_are_left_out(axes, rng):
    """With gaps the score is that of the complete records alone, on the same grids."""
    for _ in range(20):
        n = int(rng.integers(8, 200))
        x, y = rng.random((2, n))
        if rng.random() < 0.5:
            y = np.abs(x - 0.5)
        x[rng.random(n) < 0.2], y[rng.random(n) < 0.2] = np.nan, np.nan
        complete = ~np.isnan(x) & ~np.isnan(y)
        kept = [CappedColumn.of(v[complete], UNIT, axes) for v in (x, y)]
        least = int(rng.integers(2, n + 1))
        alone = search(tabulated(*kept), 5.0, n, least)
        assert alone.records == complete.sum()
        assert found((x, y), (UNIT, UNIT), axes=axes, least=least) == alone.score(least)


def test_all_records_may_be_gone():
    x = np.full(10, np.nan)
    assert found((x, np.linspace(0, 1, 10)), (UNIT, UNIT), least=8) == 0.0
    assert found((x, x), (letters(3), letters(2)), least=8, axes="any") == 0.0


@sweep("m", [2, 3, 4, 30])
def test_equal_columns_score_high_and_unrelated_ones_low(m, rng):
    n = 3000
    x = rng.integers(0, m, n).astype(float)
    equal = found((x, x), (letters(m), letters(m)), cap=8.0)
    assert equal > 0.95
    assert found((x, rng.integers(0, 3, n)), (letters(m), letters(3))) < 0.03
    assert found((x, rng.random(n)), (letters(m), UNIT), axes="any") < 0.03


def test_which_categories_occur_changes_no_grid(rng):
    """The tables that are searched depend on the list of categories, not on the records."""
    shapes = set()
    for codes in (np.zeros(20), rng.integers(0, 5, 20), np.full(20, 4)):
        column = CappedColumn.of(codes.astype(float), letters(5), "any", gaps=True)
        other = CappedColumn.of(rng.random(20), UNIT, "any", gaps=True)
        shapes.add(tuple((t.sizes, t.counts.shape) for t in tabulated(column, other)))
    assert len(shapes) == 1
