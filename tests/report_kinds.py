"""One page of every kind of result, from columns with hostile names."""

import functools

import numpy as np
import polars as pl

import dpmic
from dpmic.data import pair
from dpmic.report import page

HOSTILE = "</script><script>window.evil = 1</script>"
QUOTED = "'\" onload='window.evil = 1' <img src=//example.invalid/x onerror=window.evil=1>"
NAMES = ("age", "blood_pressure_systolic", HOSTILE, QUOTED)
N = 1500


@functools.cache
def data():
    """Columns within [0, 1]: the first two follow each other, the others nothing."""
    rng = np.random.default_rng(5)
    x = rng.uniform(size=N)
    y = np.clip((np.sin(6 * x) + 1) / 2 + rng.normal(0, 0.05, N), 0, 1)
    columns = (x, y, rng.uniform(size=N), rng.uniform(size=N))
    return pl.DataFrame(dict(zip(NAMES, columns, strict=True)))


class Budget:
    """A ledger as pages see it."""

    total, spent, remaining = 4.0, 1.5, 2.5
    total_delta, spent_delta, remaining_delta = 1e-5, 1e-6, 9e-6

    def balance(self):
        return self


@functools.cache
def results():
    """Return every kind of result by a name."""
    table = data()
    bounds = dict.fromkeys(NAMES, (0.0, 1.0))
    x, y = table["age"], table[NAMES[1]]
    two = {"data": table, "epsilon": 1.0}
    both = ((0.0, 1.0), (0.0, 1.0))
    by_half = table.with_columns(half=pl.Series(np.arange(N) % 2).cast(pl.String))
    grouped = {"by": "half", "categories": {"half": ["0", "1"]}, "at_least": 600, "data": by_half}
    return {
        "screening": dpmic.screen(table, bounds=bounds, epsilon=1.0, top=3),
        "target": dpmic.screen(table, bounds=bounds, epsilon=1.0, top=3, target=HOSTILE),
        "matrix": dpmic.release_pairwise(table, bounds=bounds, epsilon=1.0, delta=1e-6),
        "column": dpmic.release_pairwise(table, bounds=bounds, epsilon=1.0, target=QUOTED),
        "release": dpmic.release("age", HOSTILE, bounds=both, **two),
        "histogram": dpmic.release("age", QUOTED, bounds=both, mechanism="micr-geometric", **two),
        "groups": dpmic.release("age", HOSTILE, bounds=both, epsilon=1.0, **grouped),
        "bounds": dpmic.estimate_bounds(HOSTILE, **two),
        "private test": dpmic.release_test("age", HOSTILE, **two),
        "pairwise": dpmic.pairwise(table, tic=True, pvalues=True, permutations=99, rng=0),
        "cross": dpmic.cross(table["age", HOSTILE], table[NAMES[1], QUOTED]),
        "score": dpmic.mice(x, y),
        "test": dpmic.independence_test(x, y, permutations=99, rng=0),
    }


PRIVATE = ("screening", "target", "matrix", "column", "release", "histogram", "bounds")
PRIVATE = (*PRIVATE, "private test", "groups")
PLAIN = ("pairwise", "cross", "score", "test")
KINDS = (*PRIVATE, *PLAIN)


def built(kind):
    """Return the page of one kind, with all that belongs to it."""
    result = results()[kind]
    if kind in PRIVATE:
        return page(result, ledger=Budget(), command=f"dpmic screen {HOSTILE}")
    if kind == "cross":
        return page(result, title=HOSTILE)
    points = pair("age", NAMES[1], data=data())
    others = () if kind == "score" else (results()["score"],)
    return page(result, points=points, others=others, command="dpmic score 'a & b.csv'")
