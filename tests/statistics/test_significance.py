"""The permutation test: its statistic, its null, its level, its power and its manners."""

import itertools
import json
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from strategies import pairs
from sweeps import sweep

import dpmic
from dpmic._validate import Limits
from dpmic.evaluation.relationships import noisy
from dpmic.statistics import significance
from dpmic.statistics.grids import MassAxis

USUAL = Limits(9.0, 5.0, "reshef")
SAMPLERS = {"shuffled": 2**14, "by margins": 0}
LEVELS = np.array([0.01, 0.05, 0.1, 0.25, 0.5])


@pytest.fixture(params=SAMPLERS)
def sampler(request, monkeypatch):
    monkeypatch.setattr(significance, "MOST_SHUFFLED", SAMPLERS[request.param])


def cells(values, limits=USUAL):
    return significance.RefinedAxis.of(MassAxis.grouped(np.asarray(values, np.float64)), limits)


def tic(x, y):
    return dpmic.mice(x, y, B=9, c=5).tic()


def independent(kind, n, rng):
    """Two independent columns: without ties, with many, and of very few values."""
    if kind == "continuous":
        return rng.normal(size=n), rng.exponential(size=n)
    if kind == "tied":
        return rng.poisson(2, n), np.round(rng.normal(size=n), 1)
    return rng.integers(0, 2, n), np.minimum(rng.geometric(0.6, n), 3)


KINDS = ("continuous", "tied", "few")


# The statistic


@given(pairs(), st.sampled_from([(9, 5), (4, 1), (9.7, 2.5), (30, 15), (12, math.inf)]))
def test_the_statistic_is_tice_to_the_last_bit(columns, options):
    x, y = columns
    limits = Limits(float(options[0]), float(options[1]), "reshef")
    expected = dpmic.mice(x, y, B=options[0], c=options[1]).tic()
    assert significance.observed(cells(x, limits), cells(y, limits)) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_the_statistic_of_more_records(kind, rng):
    x, y = independent(kind, 3000, rng)
    found = dpmic.independence_test(x, y + x, permutations=1)
    assert found.statistic == tic(x, y + x) > 0


def test_a_table_of_an_axis_is_small(rng):
    """All cuts of B = 9 and c = 5: tenths, fifteenths and quarters."""
    own = cells(rng.normal(size=3000))
    assert own.margin.tolist() == np.bincount(own.parts).tolist()
    assert own.margin.size == 22
    assert own.margin.sum() == 3000


def test_every_table_of_a_batch_is_its_own(rng):
    """What one table leaves in the kernel's memory does not reach the next."""
    x, y = (cells(values) for values in independent("tied", 80, rng))
    tables = stats.random_table(x.margin, y.margin).rvs(50, random_state=rng)
    alone = [significance._totals(table[None], x, y)[0] for table in tables]
    assert significance._totals(tables, x, y).tolist() == alone
    assert len(set(alone)) > 40


# The null


def by_hand(x, y, draws, rng):
    return np.array([tic(x, rng.permutation(y)) for _ in range(draws)])


@pytest.mark.slow
@pytest.mark.usefixtures("sampler")
@pytest.mark.parametrize("kind", KINDS)
def test_the_null_is_that_of_permuted_records(kind):
    rng = np.random.default_rng(11)
    x, y = independent(kind, 60, rng)
    plain = by_hand(x, y, 1500, rng).round(9)
    drawn = significance.null(cells(x), cells(y), 20_000, rng).round(9)
    assert stats.ks_2samp(plain, drawn).pvalue > 0.001
    fewer = significance.null(cells(x[:50]), cells(y[:50]), 20_000, rng).round(9)
    assert stats.ks_2samp(plain, fewer).pvalue < 1e-6  # what the comparison can see


@pytest.mark.usefixtures("sampler")
@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4]),
        ([1, 2, 3, 4, 5], [5, 1, 4, 2, 3]),
        ([1, 1, 2, 3, 3], [1, 2, 2, 2, 3]),
        ([1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 2, 7]),
        ([1, 2, 3, 4, 5, 6], [3, 1, 4, 6, 5, 2]),
    ],
)
def test_the_null_of_few_records_is_that_of_all_permutations(x, y):
    every = np.round([tic(x, order) for order in itertools.permutations(y)], 9)
    values, ways = np.unique(every, return_counts=True)
    rng = np.random.default_rng(3)
    drawn = significance.null(cells(x), cells(y), 20_000, rng).round(9)
    times = np.array([np.count_nonzero(drawn == value) for value in values])
    assert times.sum() == 20_000  # no other value
    expected = ways / ways.sum() * 20_000
    assert values.size == 1 or stats.chisquare(times, expected).pvalue > 0.001


def test_any_permutation_is_as_likely():
    """Of 4 distinct records all 24 come equally often, in one batch and from one to the next."""
    rng, records = np.random.default_rng(2), np.arange(4, dtype=np.int32)
    tables, order = np.empty((12_000, 4, 4), np.int64), records.copy()
    dpmic._kernels.shuffle(rng, records, order, tables)
    assert (tables.sum(axis=1) == 1).all()
    assert (tables.sum(axis=2) == 1).all()
    seen = tables.argmax(axis=2) @ np.array([64, 16, 4, 1])
    for found, possible in ((seen, 24), (seen[:-1] * 256 + seen[1:], 24**2)):
        times = np.unique(found, return_counts=True)[1]
        assert times.size == possible
        assert stats.chisquare(times).pvalue > 0.001


def test_the_last_record_may_stay_where_it_is():
    """The largest float below 1 never points behind the last record."""
    sizes = np.arange(1, 2**14 + 1)
    assert (np.floor(np.nextafter(1.0, 0.0) * sizes) == sizes - 1).all()


# The p-value


def test_the_observed_value_counts_once():
    null = np.array([0.1, 0.2, 0.3])
    assert significance.pvalue(0.2, null) == 3 / 4
    assert significance.pvalue(0.2 + 1e-15, null) == 3 / 4  # equal but for rounding
    assert significance.pvalue(0.2 + 1e-9, null) == 2 / 4
    assert significance.pvalue(9.0, null) == 1 / 4


@pytest.mark.parametrize("permutations", [1, 99, 2500])
def test_never_zero(permutations, rng):
    x = rng.normal(size=100)
    result = dpmic.independence_test(x, x, permutations=permutations, rng=0)
    assert result.pvalue == 1 / (permutations + 1)
    assert result.permutations == permutations == result.null.size


def test_a_constant_column_is_independent_of_anything(rng):
    x = rng.normal(size=50)
    for pair in ((x, np.ones(50)), (np.ones(50), x), (np.ones(50), np.zeros(50))):
        result = dpmic.independence_test(*pair, permutations=50)
        assert (result.statistic, result.pvalue) == (0.0, 1.0)


def strict(value, null, n):
    """Count only what lies above the observed value: wrong where there are ties."""
    return significance.pvalue(value + 1e-9, null)


def of_more_records(value, null, n):
    """Compare with the null of a quarter more records, without ties: wrong everywhere."""
    more = cells(np.arange(n * 5 // 4))
    return significance.pvalue(value, significance.null(more, more, null.size, RNG))


RNG = np.random.default_rng(23)


def pvalues(kind, n, wrong, rng, runs=600):
    """P-values of independent columns, computed as they are and in a wrong way."""
    found = []
    for _ in range(runs):
        x, y = (cells(values) for values in independent(kind, n, rng))
        value, null = significance.observed(x, y), significance.null(x, y, 199, rng)
        found.append((significance.pvalue(value, null), wrong(value, null, n)))
    return np.transpose(found)


def excess(found):
    """By how many standard errors small p-values are too many, at the worst level."""
    rates = (found[:, None] <= LEVELS).mean(axis=0)
    return np.max((rates - LEVELS) / np.sqrt(LEVELS * (1 - LEVELS) / found.size))


@pytest.mark.slow
def test_uniform_under_independence():
    right, wrong = pvalues("continuous", 60, of_more_records, np.random.default_rng(21))
    assert stats.kstest(right, "uniform").pvalue > 0.001
    assert excess(right) < 3.5
    assert stats.kstest(wrong, "uniform").pvalue < 1e-6
    assert excess(wrong) > 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "n", "wrongly"), [("few", 12, strict), ("tied", 60, of_more_records)]
)
def test_no_more_small_values_with_ties(kind, n, wrongly):
    right, wrong = pvalues(kind, n, wrongly, np.random.default_rng(22))
    assert excess(right) < 3.5
    assert excess(wrong) > 6


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [10, 50, 250])
def test_level_in_many_runs(kind, n):
    rng = np.random.default_rng(n)
    found = np.array(
        [
            dpmic.independence_test(*independent(kind, n, rng), permutations=199, rng=rng).pvalue
            for _ in range(6000)
        ]
    )
    assert excess(found) < 3.5
    if kind == "continuous" and n > 10:
        assert stats.kstest(found, "uniform").pvalue > 0.001


# Power


def power(number, r_squared, n, runs, rng, **options):
    distribution = noisy(number, r_squared)
    found = [
        dpmic.independence_test(*distribution.sample(n, rng), permutations=99, rng=rng, **options)
        for _ in range(runs)
    ]
    return np.mean([test.pvalue <= 0.05 for test in found])


def test_power_of_a_line_a_parabola_and_a_sine():
    rng = np.random.default_rng(31)
    assert power(12, 0.3, 100, 60, rng) > 0.8
    assert power(13, 0.3, 100, 60, rng) > 0.9
    assert power(15, 0.5, 250, 60, rng) > 0.9


@pytest.mark.full
def test_power_over_the_relationships():
    """At n = 250 and R^2 = 0.5 most are found; with more cells all, fast waves too."""
    rng = np.random.default_rng(32)
    usual = np.array([power(number, 0.5, 250, 40, rng) for number in range(1, 22)])
    assert usual.mean() > 0.85
    assert np.count_nonzero(usual > 0.8) >= 16
    assert usual.min() > 0.15
    more = [power(number, 0.5, 250, 20, rng, B=30) for number in range(1, 22)]
    assert min(more) > 0.8


# Manners


def test_a_seed_makes_it_reproducible(rng):
    x, y = rng.normal(size=(2, 100))
    options = {"permutations": 3000}
    one, same = (dpmic.independence_test(x, y, rng=4, **options) for _ in range(2))
    assert one == same
    assert hash(one) == hash(same)
    assert one != dpmic.independence_test(x, y, rng=5, **options)
    generator = np.random.default_rng(4)
    assert one == dpmic.independence_test(x, y, rng=generator, **options)
    assert one != dpmic.independence_test(x, y, rng=generator, **options)  # it goes on


@pytest.mark.parametrize("bits", ["MT19937", "Philox", "SFC64"])
def test_any_generator_will_do(bits, rng):
    x, y = rng.normal(size=(2, 60))
    one, same = (
        dpmic.independence_test(
            x, y, permutations=200, rng=np.random.Generator(getattr(np.random, bits)(1))
        )
        for _ in range(2)
    )
    assert one == same
    assert np.unique(one.null).size > 150


@pytest.mark.usefixtures("sampler")
def test_increasing_transformations_change_nothing(rng):
    x, y = rng.normal(size=100), rng.poisson(3, 100)
    one = dpmic.independence_test(x, y, permutations=500, rng=1)
    assert one == dpmic.independence_test(np.exp(x), y**3 - 7, permutations=500, rng=1)
    assert one != dpmic.independence_test(x**2, y, permutations=500, rng=1)


def test_exchanging_the_columns_keeps_the_statistic(rng):
    x, y = rng.normal(size=100), rng.poisson(3, 100)
    one, other = dpmic.independence_test(x, y, rng=1), dpmic.independence_test(y, x, rng=2)
    assert one.statistic == pytest.approx(other.statistic, abs=1e-12)
    assert stats.ks_2samp(one.null, other.null).pvalue > 0.001


def test_records_and_columns_stay_as_they_are(rng):
    x, y = rng.normal(size=(2, 50))
    own, other = cells(x), cells(y)
    before = own.parts.copy(), other.parts.copy()
    significance.null(own, other, 10, rng)
    assert (own.parts == before[0]).all()
    assert (other.parts == before[1]).all()


def test_columns_by_name_and_missing_values(rng):
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    frame.loc[3, "b"] = np.nan
    with pytest.raises(dpmic.InputError):
        dpmic.independence_test("a", "b", data=frame)
    found = dpmic.independence_test("a", "b", data=frame, missing="drop", permutations=9, rng=0)
    kept = frame.dropna()
    assert found == dpmic.independence_test(kept["a"], kept["b"], permutations=9, rng=0)
    assert found.n == 39


@sweep(
    ("options", "told"),
    [
        ({"permutations": 0}, r"permutations = 0: .*pass 1 or more"),
        ({"permutations": 10.5}, r"permutations = 10.5: .*integer"),
        ({"permutations": True}, r"permutations = True"),
        ({"B": 3}, r"B = 3: .*at least 4"),
        ({"B": None}, r"B = None: .*real number"),
        ({"c": 0.5}, r"c = 0.5: .*pass c >= 1"),
        ({"rng": "x"}, r"rng = 'x'"),
        ({"B": 2000, "c": math.inf}, r"B = 2000 with c = inf: .* 2000 parts.*B=9 and c=5"),
        ({"missing": "guess"}, r"missing = 'guess'"),
    ],
)
def test_errors_for_people(options, told):
    x = np.arange(2000.0)
    with pytest.raises(dpmic.DpmicError, match=told):
        dpmic.independence_test(x, x, **options)


def test_any_cut_of_few_records(rng):
    x, y = rng.normal(size=(2, 40))
    found = dpmic.independence_test(x, y, B=20, c=math.inf, permutations=20)
    assert found.statistic == dpmic.mice(x, y, B=20, c=math.inf).tic()
    assert dpmic.IndependenceTest.from_json(found.to_json()) == found


# The result


@pytest.fixture
def result(rng):
    x = rng.normal(size=200)
    return dpmic.independence_test(x, x + rng.normal(size=200), permutations=999, rng=0)


def test_the_result_is_frozen_and_survives_pickle_and_json(result):
    with pytest.raises(AttributeError):
        result.pvalue = 0.5
    for again in (
        result,
        pickle.loads(pickle.dumps(result)),
        dpmic.IndependenceTest.from_json(result.to_json()),
    ):
        assert again == result
        with pytest.raises(ValueError, match="read-only"):
            again.null[0] = 1


@sweep(
    "change", [{"pvalue": 0.0}, {"pvalue": 1.5}, {"null": []}, {"statistic": "much"}, {"extra": 1}]
)
def test_a_broken_result_is_refused(result, change):
    with pytest.raises(dpmic.InputError):
        dpmic.IndependenceTest.from_dict({**result.to_dict(), **change})


def test_text_that_is_no_result(result):
    fields = result.to_dict()
    del fields["null"]
    for text in ("not JSON", "[1]", json.dumps(fields)):
        with pytest.raises(dpmic.InputError):
            dpmic.IndependenceTest.from_json(text)


def test_columns_are_called_by_their_names():
    x = np.random.default_rng(5).normal(size=(2, 50))
    frame = pd.DataFrame({"age": x[0], "noise 2": x[1]})
    options = {"permutations": 19, "rng": 1}
    plain = dpmic.independence_test(frame["age"].to_numpy(), frame["noise 2"].to_numpy(), **options)
    assert " x and y " in plain.headline()
    for x, y, data in (frame["age"], frame["noise 2"], None), ("age", "noise 2", frame):
        named = dpmic.independence_test(x, y, data=data, **options)
        assert " age and noise 2 " in named.headline()
        assert " age and noise 2 " in named._repr_html_()
        assert " height and dose " in named.headline("height", "dose")
        assert dpmic.IndependenceTest.from_json(named.to_json()).names == ("age", "noise 2")
        assert named == plain
    before = plain.to_dict()
    del before["names"]  # of an older version
    assert dpmic.IndependenceTest.from_dict(before) == plain
    for wrong in (["x"], ["x", 1]):
        with pytest.raises(dpmic.InputError):
            dpmic.IndependenceTest.from_dict({**before, "names": wrong})


def test_repr_and_html(result):
    value = f"{result.statistic:.4g}"
    assert repr(result) == f"IndependenceTest(TICe={value}, p = 0.001, n=200, 999 permutations)"
    html = result._repr_html_()
    assert "<td>0.001</td>" in html
    assert f"<td>{result.statistic:.4f}</td>" in html


def test_plot(result):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    ax = result.plot()
    assert sum(bar.get_height() for bar in ax.patches) == 999
    assert ax.lines[0].get_xdata()[0] == result.statistic
    assert ax.get_title(loc="left") == "p = 0.001"
    assert ax.texts[0].get_text() == "observed"
    assert result.plot(ax) is ax
