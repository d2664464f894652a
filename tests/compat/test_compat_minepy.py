import datetime
import importlib
import inspect
import json
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from project import ROOT
from sweeps import sweep

from dpmic.compat import minepy
from dpmic.compat.minepy import MINE, cstats, pstats
from dpmic.errors import DpmicError

X = np.linspace(0, 1, 1000)
WAVE = np.sin(10 * np.pi * X) + X
X20, Y20 = np.random.default_rng(0).random((2, 20))
CASES = json.loads((ROOT / "tests" / "golden" / "minepy_cases.json").read_text())


def mic(x, y, **options):
    mine = MINE(**options)
    mine.compute_score(x, y)
    return mine.mic()


@sweep("case", CASES)
def test_small_and_odd_data_score_as_in_minepy(case):
    """golden/README.md says how minepy was asked."""
    dtypes = case.get("dtypes", [None, None])
    data = [
        v if dtype is None else np.array(v, dtype)
        for v, dtype in zip((case["x"], case["y"]), dtypes, strict=True)
    ]
    mine = MINE(**{name: case[name] for name in ("alpha", "c", "est") if name in case})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mine.compute_score(*data)
    assert [w.category for w in caught] == [RuntimeWarning] * (len(case["x"]) < 4)
    names = ("mic", "mas", "mev", "mcn", "mcn_general", "gmic", "tic")
    ours = {name: getattr(mine, name)() for name in names}
    assert ours == pytest.approx({name: case[name] for name in names}, abs=1e-9)
    for row, theirs in zip(mine.get_score(), case["matrix"], strict=True):
        assert row == pytest.approx(theirs, abs=1e-9)


def test_signatures_are_minepys():
    parameters = {name: p.default for name, p in inspect.signature(MINE).parameters.items()}
    assert parameters == {"alpha": 0.6, "c": 15, "est": "mic_approx"}
    for function in (pstats, cstats):
        defaults = {n: p.default for n, p in inspect.signature(function).parameters.items()}
        assert defaults.items() >= parameters.items()
    methods = [
        "compute_score",
        "computed",
        "get_score",
        "gmic",
        "mas",
        "mcn",
        "mcn_general",
        "mev",
        "mic",
        "tic",
    ]
    assert [name for name in dir(MINE) if not name.startswith("_")] == methods
    assert minepy.__all__ == ["MINE", "cstats", "pstats"]


def test_scripts_find_the_version_and_the_inner_module():
    """from minepy.mine import MINE is what many write."""
    assert minepy.__version__ == "1.2.6"
    inner = importlib.import_module("dpmic.compat.minepy.mine")
    assert (inner.MINE, inner.pstats, inner.cstats) == (MINE, pstats, cstats)


def test_computed_follows_compute_score():
    mine = MINE()
    assert mine.computed() is False
    for method in ("mic", "mas", "mev", "mcn", "mcn_general", "gmic", "tic", "get_score"):
        with pytest.raises(ValueError, match="no score was computed; call compute_score"):
            getattr(mine, method)()
    assert mine.compute_score(list(X), list(WAVE)) is None
    assert mine.computed() is True


def test_get_score_has_minepys_rows():
    """y into i + 2 parts, x into j + 2: a parabola needs three columns on x and two rows on y."""
    x = np.random.default_rng(0).random(30)
    mine = MINE()
    mine.compute_score(x, (x - 0.5) ** 2)
    rows = mine.get_score()
    assert [row.shape for row in rows] == [(2,), (1,)]
    assert rows[0][1] == pytest.approx(1)
    assert rows[1][0] < 0.7
    assert mine.tic() == pytest.approx(sum(row.sum() for row in rows))


@pytest.mark.parametrize("est", ["mic_approx", "mic_e"])
def test_pstats_and_cstats_are_the_single_scores(est):
    table = np.random.default_rng(1).random((4, 60))
    mic, tic = pstats(table, est=est)
    assert mic.shape == tic.shape == (6,)
    mine = MINE(est=est)
    m = 4
    for i in range(m):
        for j in range(i + 1, m):
            mine.compute_score(table[i], table[j])
            k = m * i - i * (i + 1) // 2 - i - 1 + j
            assert (mic[k], tic[k]) == (mine.mic(), mine.tic(norm=True))
    mic, tic = cstats(table[:2], table[1:], est=est)
    assert mic.shape == tic.shape == (2, 3)
    mine.compute_score(table[1], table[3])
    assert (mic[1, 2], tic[1, 2]) == (mine.mic(), mine.tic(norm=True))


@sweep(("alpha", "B"), [(0.5, 10), (1, 100), (4, 4), (9, 9), (50.5, 50.5), (1e6, 100)])
def test_alpha_is_an_exponent_or_a_number_of_cells(alpha, B):
    mine = MINE(alpha=alpha)
    mine.compute_score(X[:100], WAVE[:100])
    assert len(mine.get_score()) == int(B) // 2 - 1


def test_an_infinite_c_merges_no_clumps():
    """minepy counts clumps in 32 bits, and c = inf or 1e10 overflows them: this is its c = 1e8."""
    for c in (np.inf, 1e10):
        assert mic(X20, Y20, c=c) == mic(X20, Y20, c=1e8)
        assert pstats([X20, Y20], c=c)[0] == mic(X20, Y20, c=1e8)
    assert mic(X20, Y20, alpha=np.inf) == mic(X20, Y20, alpha=20)


@sweep(
    ("options", "words", "kind"),
    [
        ({"alpha": 0}, "alpha = 0: ", ValueError),
        ({"alpha": 2}, "alpha = 2: ", ValueError),
        ({"alpha": float("nan")}, "alpha = nan", ValueError),
        ({"alpha": "0.6"}, "alpha = '0.6'", TypeError),
        ({"alpha": None}, "alpha = None", TypeError),
        ({"c": 0}, "c = 0: ", ValueError),
        ({"c": -1}, "c = -1: ", ValueError),
        ({"c": "15"}, "c = '15'", TypeError),
        ({"est": "mic"}, "est = 'mic'.*'mic_approx' or 'mic_e'", KeyError),
        ({"est": b"mic_e"}, "est = .*'mic_approx' or 'mic_e'", KeyError),
    ],
)
def test_bad_options_raise_what_minepy_raises_and_are_value_errors(options, words, kind):
    for call in (MINE, lambda **kw: pstats(np.eye(5), **kw)):
        with pytest.raises(kind, match=words) as caught:
            call(**options)
        assert isinstance(caught.value, DpmicError)
        assert isinstance(caught.value, ValueError)


def test_tables_with_one_boolean_column():
    """A frame of floats and booleans becomes an array of objects."""
    table = pd.DataFrame({"a": X20, "b": Y20 > 0.5}).to_numpy()
    assert table.dtype == object
    assert mic(table[:, 1], X20) == mic(Y20 > 0.5, X20) == mic((Y20 > 0.5).astype(float), X20)
    assert pstats(table.T)[0] == cstats(table.T[:1], table.T[1:])[0] == mic(X20, Y20 > 0.5)
    assert mic(pd.Series([True, 2] * 10, dtype=object), Y20) == mic([1.0, 2.0] * 10, Y20)


def test_infinite_values_are_the_first_and_the_last():
    ranks = X20.argsort().argsort().astype(float)
    odd = np.where(ranks == 19, np.inf, np.where(ranks < 2, -np.inf, X20))
    tied = np.where(ranks < 2, 0.0, ranks)
    for est in ("mic_approx", "mic_e"):
        assert mic(odd, Y20, est=est) == mic(tied, Y20, est=est)
        assert pstats([odd, Y20], est=est)[0] == mic(tied, Y20, est=est)


@pytest.mark.parametrize(
    "dates",
    [
        np.datetime64("2020-01-01") + np.arange(20),
        np.arange(20).astype("timedelta64[h]"),
        pd.Series(pd.date_range("2020-01-01", periods=20)),
        pd.Series(pd.date_range("2020-01-01", periods=20, tz="UTC")),
    ],
    ids=["datetime64", "timedelta64", "series", "with a time zone"],
)
def test_dates_are_scored_in_their_order(dates):
    assert mic(dates, Y20) == mic(np.arange(20), Y20)


def test_tables_with_few_rows_have_few_pairs():
    one = X20.reshape(1, -1)
    assert [values.shape for values in pstats(one)] == [(0,), (0,)]
    assert [values.shape for values in pstats(np.zeros((0, 20)))] == [(0,), (0,)]
    assert [values.shape for values in cstats(one, one[:0])] == [(1, 0), (1, 0)]
    assert [values.shape for values in cstats(one[:0], one)] == [(0, 1), (0, 1)]
    assert all(values.dtype == np.float64 for values in pstats(one))


@pytest.mark.parametrize("call", [lambda: mic([1, 2, 3], [3, 1, 2]), lambda: pstats(np.eye(3))])
def test_fewer_than_four_samples_are_scored_with_a_warning(call):
    with pytest.warns(RuntimeWarning, match="n = 3: .* is meaningless"):
        call()


@pytest.mark.parametrize("call", [lambda v: MINE().compute_score(v, Y20), lambda v: pstats([v, v])])
def test_warnings_point_at_the_caller(call):
    large = [2**60 + i for i in range(20)]
    with pytest.warns(RuntimeWarning, match="beyond 2\\*\\*53") as caught:
        call(large)
    assert [w.filename for w in caught] == [__file__]


def test_values_that_are_not_what_was_meant_are_scored_with_a_warning():
    masked = np.ma.masked_less(X20, 0.5)
    with pytest.warns(RuntimeWarning, match="masked values are scored"):
        assert mic(masked, Y20) == mic(X20, Y20)
    with pytest.warns(RuntimeWarning, match="X: .*masked values are scored"):
        pstats(np.ma.masked_less(np.array([X20, Y20]), 0.5))
    assert mic([2**60 * i for i in range(20)], Y20) == mic(range(20), Y20)  # rounded, still apart
    assert mic(X20 * 1e300, Y20) == mic(X20, Y20)


@sweep(
    ("x", "words", "kind"),
    [
        (np.zeros(19), "x, y: shape mismatch: x has 19 values and y has 20", ValueError),
        (X20.reshape(4, 5), r"x has shape \(4, 5\)", ValueError),
        (["a"] * 20, "x: .*could not convert string to float: 'a'.*codes instead", ValueError),
        (set(X20), "x: ", TypeError),
        (None, "x: 1 of 1 values are missing", ValueError),
        ([10**400] * 20, "x: .*too large", ValueError),
    ],
)
def test_bad_data_raise_what_minepy_raises(x, words, kind):
    with pytest.raises(kind, match=words) as caught:
        mic(x, Y20)
    assert isinstance(caught.value, DpmicError)


DAYS = [None, *(datetime.date(2020, 1, day) for day in range(1, 20))]
MISSING = {
    "nan": [np.nan, *X20[1:]],
    "none": np.array([None, *X20[1:]], object),
    "nullable": pd.Series([None, *range(19)], dtype="Int64"),
    "nat": np.array(DAYS, "datetime64[D]"),
    "time zone": pd.Series([pd.NaT, *pd.date_range("2020", periods=19, tz="UTC")]),
    "polars": pl.Series(DAYS),
    "pyarrow": pa.array(DAYS),
}


@sweep("x", MISSING.values(), ids=MISSING)
def test_missing_values_are_dropped_by_the_remedy_named(x):
    with pytest.raises(ValueError, match="x: 1 of 20 values are missing") as caught:
        mic(x, Y20)
    keep = eval(re.search("keep = (.*)", caught.value.remedy)[1], {"np": np, "x": x})
    assert keep.tolist() == [False] + [True] * 19
    kept = x[keep] if isinstance(x, pd.Series) else np.asarray(x, float)[keep]
    assert 0 <= mic(kept, Y20[keep]) <= 1


def test_missing_values_of_tables_are_dropped_by_the_remedy_named():
    table = np.array([X20, Y20])
    table[1, 3] = np.nan
    with pytest.raises(ValueError, match="X: 1 of 20 samples have missing values") as caught:
        pstats(table)
    keep = eval(re.search("keep = (.*)", caught.value.remedy)[1], {"np": np, "X": table})
    assert pstats(table[:, keep])[0] == mic(np.delete(X20, 3), np.delete(Y20, 3))
    days = np.array([DAYS, DAYS], "datetime64[D]")
    with pytest.raises(ValueError, match="X: 1 of 20 samples have missing values"):
        pstats(days)


def test_dates_in_a_list_are_scored_after_the_remedy_named():
    x = [datetime.datetime(2020, 1, day) for day in range(1, 21)]
    with pytest.raises(TypeError, match="x: ") as caught:
        mic(x, Y20)
    code = re.search(r"np\.array\(.*\)", caught.value.remedy)[0]
    assert mic(eval(code, {"np": np, "x": x}), Y20) == mic(range(20), Y20)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_where_minepy_reads_memory_that_is_not_its_own_there_is_an_error(n):
    """B = min(alpha, n) has no grid, and no sample nothing at all."""
    with pytest.raises(ValueError, match=f"n = {n}"):
        mic(np.arange(n), np.arange(n), alpha=9)
    with pytest.raises(ValueError, match=f"n = {n}"):
        pstats(np.zeros((2, n)), alpha=9)


@sweep(
    "call",
    [
        lambda: mic(np.arange(6000), np.arange(6000), alpha=1),
        lambda: mic(np.arange(30000), np.arange(30000), alpha=4, c=np.inf),
        lambda: mic(np.arange(3), np.arange(3), alpha=4),
        lambda: mic([np.nan] * 5, range(5)),
        lambda: mic(["a"] * 5, range(5)),
        lambda: mic(np.eye(3), range(5)),
        lambda: pstats([[1, 2], [3]]),
        lambda: pstats(X20),
    ],
)
def test_remedies_name_no_option_that_the_drop_in_does_not_have(call):
    with pytest.raises(DpmicError) as caught:
        call()
    assert set(re.findall(r"(\w+)=", str(caught.value))) <= {"alpha", "c", "est", "axis"}
    assert not re.search("pass .*\\bB\\b", str(caught.value))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pstats(X), r"X has shape \(1000,\).*np.reshape\(X, \(1, -1\)\)"),
        (lambda: pstats([]), r"X has shape \(0,\)"),
        (lambda: cstats(np.eye(5), np.eye(4)), "X, Y: shape mismatch: X has 5 samples and Y has 4"),
        (lambda: pstats([[1, 2, 3, 4], [1, 2, 3]]), "X: .*rows of equal length"),
    ],
)
def test_bad_tables_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_mcn_takes_every_eps_from_0_on():
    mine = MINE()
    mine.compute_score(X20, Y20)
    assert mine.mcn(1) == mine.mcn(3) == mine.mcn(np.inf) == 2  # every grid reaches that
    for eps, kind in ((-1, ValueError), (np.nan, ValueError), ("0", TypeError)):
        with pytest.raises(kind, match="eps = "):
            mine.mcn(eps)


# Printed by minepy 1.2.6: MINE(alpha=9, c=2, est=est); compute_score(x, y); get_score(), with
# x = [0, 0, 0, 1, 2, 2, 3, 3, 3, 3, 4, 5, 5, 6, 7, 7, 8, 9, 9, 9, 9, 9, 9, 9]
# y = [(7 * i * i + 3 * i) % 11 // 2 for i in range(24)]
# Ties leave columns empty, and the two orientations differ on the diagonal.
TIED_X = [0, 0, 0, 1, 2, 2, 3, 3, 3, 3, 4, 5, 5, 6, 7, 7, 8, 9, 9, 9, 9, 9, 9, 9]
TIED_Y = [(7 * i * i + 3 * i) % 11 // 2 for i in range(24)]
PRINTED = {
    "mic_approx": [
        [0.015410869672348174, 0.04849368298364869, 0.0613859966623575],
        [0.07686904176688902, 0.15023998641565434],
        [0.09464819910658605],
    ],
    "mic_e": [
        [0.0026194212756776793, 0.024322169731887226, 0.04619733097067946],
        [0.07686904176688902, 0.08127161844811674],
        [0.09464819910658605],
    ],
}


@pytest.mark.parametrize("est", PRINTED)
def test_ties_and_the_diagonal_are_minepys(est):
    mine = MINE(alpha=9, c=2, est=est)
    mine.compute_score(TIED_X, TIED_Y)
    for ours, theirs in zip(mine.get_score(), PRINTED[est], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-12)


def test_small_c_is_allowed_here():
    """One superclump on each axis leaves nothing to search."""
    mine = MINE(alpha=5, c=0.1)
    mine.compute_score(X, WAVE)
    assert mine.mic() == 0
