"""P-values of whole tables: those of each pair alone, also where pairs share their permutations."""

import itertools
import pickle

import numpy as np
import pytest

import dpmic
from dpmic.all_pairs import significance
from dpmic.all_pairs import work as module
from dpmic.all_pairs.significance import PermutationPlan, Pool, Pools
from dpmic.statistics.grids import MassAxis

N = 200
CLASSES = {2: "continuous", 1: "mixed", 0: "binary"}


def null_table(rng, continuous=10, binary=30, n=N):
    """Independent columns without ties, and of two values."""
    return np.column_stack([rng.normal(size=(n, continuous)), rng.integers(0, 2, (n, binary))])


def scored(table, permutations=99, seed=3, **options):
    options = {"pvalues": True, "permutations": permutations, "rng": seed, "B": 4, **options}
    return dpmic.pairwise(table, **options)


def by_class(result, continuous=10):
    """Return the p-values of pairs of two continuous columns, of one, and of none."""
    places = np.array([(int(x), int(y)) for x, y in result.pairs])
    kinds = np.sum(places < continuous, axis=1)
    return {name: result.pvalues[kinds == kind] for kind, name in CLASSES.items()}


def kinds_of_columns(rng, n=150):
    """Columns with and without ties, a constant, a related one, and gaps."""
    noise = rng.normal(size=n)
    gaps = rng.normal(size=n)
    gaps[rng.random(n) < 0.3] = np.nan
    holes = np.where(np.isnan(gaps), np.nan, rng.normal(size=n))  # the same records as gaps
    few = rng.integers(0, 2, n).astype(float)
    few[:40] = np.nan
    switches = rng.permutation((n // 2) * [0, 1])
    whole = [noise, noise + rng.normal(size=n), rng.exponential(size=n)]
    tied = [rng.integers(0, 2, n), switches, 1 - switches, rng.poisson(2, n), np.ones(n)]
    return np.column_stack([*whole, gaps, holes, few, *tied])


# What a pair is compared with


def test_pooled_pvalues_do_not_depend_on_the_other_columns(rng):
    table = null_table(rng, 5, 8)
    mixed = by_class(scored(table, pooled=True), 5)
    assert mixed["continuous"].tolist() == scored(table[:, :5], pooled=True).pvalues.tolist()
    assert mixed["binary"].tolist() == scored(table[:, 5:], pooled=True).pvalues.tolist()


def test_pooled_pvalues_are_those_of_permutations_of_each_pair():
    """Ties, gaps, a constant: no further off than chance, which five standard errors allow for."""
    table, draws = kinds_of_columns(np.random.default_rng(5)), 1000
    own, pooled = (
        scored(table, draws, missing="drop", pooled=pooled).pvalues for pooled in (False, True)
    )
    p = (own + pooled) / 2
    assert np.all(np.abs(own - pooled) <= 5 * np.sqrt(2 * p * (1 - p) / draws) + 2 / draws)
    assert not np.array_equal(own, pooled)


def test_pooled_pvalues_are_never_zero_and_count_the_observed_value():
    table, draws = kinds_of_columns(np.random.default_rng(5)), 499
    result = scored(table, draws, missing="drop", pooled=True)
    counts = result.pvalues * (draws + 1)
    assert np.allclose(counts, counts.round(), atol=1e-9)
    assert counts.min() == 1
    assert result.pvalues[result.pairs.index(("0", "1"))] == 1 / 500
    constant = [p for pair, p in zip(result.pairs, result.pvalues, strict=True) if "10" in pair]
    assert constant == [1.0] * 10


def test_pairs_of_too_few_records_have_no_pvalue(rng):
    table = rng.normal(size=(20, 3))
    table[:17, 2] = np.nan
    assert np.isnan(scored(table, missing="drop", pooled=True).pvalues).tolist() == [False, 1, 1]


def test_a_pool_has_no_direction(rng):
    left, right = kinds_of_columns(rng)[:, :7], kinds_of_columns(rng)[:, 5:]
    options = {"pvalues": True, "pooled": True, "permutations": 99, "rng": 1, "missing": "drop"}
    one = dpmic.cross(left, right, **options).pvalues.reshape(7, 6)
    other = dpmic.cross(right, left, **options).pvalues.reshape(6, 7)
    assert one.tolist() == other.T.tolist()


# However the work is done


def test_pooled_pvalues_are_the_same_however_the_work_is_shared(monkeypatch):
    table = kinds_of_columns(np.random.default_rng(5))
    expected = scored(table, missing="drop", pooled=True, workers=1)
    options = {"missing": "drop", "pooled": True, "workers": 3}
    assert scored(table, **options) == expected
    monkeypatch.setattr(module, "SECONDS", 1e-9)  # a pair at a time
    assert scored(table, **options) == expected
    monkeypatch.setattr(significance, "MEMORY", 0)  # no pool is kept for long
    assert scored(table, **options) == expected
    assert scored(table, seed=4, **options) != expected


@pytest.mark.parametrize("options", [{}, {"statistic": "micr", "bounds": [(-4, 4)] * 9}])
def test_pooled_pvalues_of_many_pairs_are_those_of_each(options):
    rng = np.random.default_rng(6)
    x = rng.normal(size=(80, 9))
    x[:, 1], x[:, 2], x[:, 3] = np.round(x[:, 0]), x[:, 0] > 0, 1
    x[:, 4], x[:, 5] = np.where(x[:, 4] > 0.5, 0, x[:, 4]), np.round(2 * x[:, 5])
    found = dpmic.pairwise(x, pvalues=True, pooled=True, permutations=199, rng=3, **options)
    plan = PermutationPlan.of(199, 3, pooled=True)
    null, cut = significance.Null(plan), [plan.refined(MassAxis.grouped(own)) for own in x.T.copy()]
    pairs = itertools.combinations(range(9), 2)
    expected = [null.compare(cut[i], cut[j], 0)[1] for i, j in pairs]
    assert found.pvalues.tolist() == expected
    assert len(set(expected)) > 20
    crossed = dpmic.cross(x[:, :4], x[:, 4:], pvalues=True, pooled=True, permutations=199, rng=3)
    assert crossed.pvalues.ravel().tolist() == [
        null.compare(cut[i], cut[j], 0)[1] for i in range(4) for j in range(4, 9)
    ]


def test_pooled_pvalues_are_taken_up_where_they_were(monkeypatch, tmp_path):
    table, out = kinds_of_columns(np.random.default_rng(5)), tmp_path / "scores.parquet"
    options = {"missing": "drop", "pooled": True, "workers": 1}
    monkeypatch.setattr(module, "SECONDS", 1e-9)
    expected, pool, calls = scored(table, **options), significance.Null._pool, []

    def until_interrupted(*given):
        calls.append(given)
        if len(calls) == 20:
            raise KeyboardInterrupt
        return pool(*given)

    monkeypatch.setattr(significance.Null, "_pool", until_interrupted)
    with pytest.raises(KeyboardInterrupt):
        scored(table, out=out, **options)
    assert scored(table, out=out, **options) == expected
    assert len(calls) == 20 + (55 - 19)


def test_pools_are_kept_within_their_memory_and_drawn_again(monkeypatch):
    drawn = []

    def draw(permutations, generator):
        drawn.append(permutations)
        return generator.random(permutations)

    pools = Pools(PermutationPlan(100, 7, True))
    first = pools.pool(b"a", draw)
    assert pools.pool(b"a", draw) is first
    monkeypatch.setattr(significance, "MEMORY", 2 * first.nbytes)
    kept = [pools.pool(key, draw) for key in (b"b", b"a", b"c")]  # b was used before a
    assert pools.pool(b"a", draw) is first
    assert drawn == [100] * 3
    assert pools.pool(b"b", draw) is not kept[0]
    elsewhere = pickle.loads(pickle.dumps(pools))
    for key, pool in ((b"b", kept[0]), (b"c", kept[2])):
        assert elsewhere.pool(key, draw).values.tolist() == pool.values.tolist()
    assert first.values.tolist() != kept[2].values.tolist()


def test_a_pool_counts_as_all_its_draws_do(rng):
    drawn = rng.integers(0, 6, 50) / 7
    pool = Pool.of(drawn)
    for value in (*drawn, -1.0, 0.3, 2.0, 1 / 7 + 1e-15, 1 / 7 + 1e-9):
        assert pool.pvalues(np.array(value), significance.TIE) == significance.pvalue(value, drawn)
    assert pool.pvalues(np.array([0.3, 1.0]), 0.1).tolist() == [
        significance.pvalue(value - 0.1, drawn) for value in (0.3, 1.0)
    ]
    assert pool.values.size == 6


# Their level


def rates(tables, seed, permutations, **options):
    """Return how often p-values of independent columns are at most 0.05, for each class."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(tables):
        result = scored(null_table(rng), permutations, seed=rng, pooled=True, **options)
        found.append([np.mean(p <= 0.05) for p in by_class(result).values()])
    return dict(zip(CLASSES.values(), np.mean(found, axis=0), strict=True))


@pytest.mark.slow
def test_pooled_pvalues_of_a_mixed_table_keep_their_level():
    """One pool for all gave 0.34 to continuous pairs, and 0.01 to binary ones."""
    found = rates(6, 8, 99)
    assert found["continuous"] < 0.12
    assert 0.035 < found["mixed"] < 0.065
    assert 0.025 < found["binary"] < 0.065


@pytest.mark.full
def test_level_of_pooled_pvalues_in_many_mixed_tables():
    for rate in rates(400, 9, 199, workers=1).values():
        assert 0.04 < rate < 0.06


@pytest.mark.full
def test_level_of_pooled_pvalues_with_gaps():
    """Each pair has records of its own."""
    rng, found = np.random.default_rng(10), []
    for _ in range(400):
        table = null_table(rng, 6, 6)
        table[rng.random(table.shape) < 0.05] = np.nan
        result = scored(table, 199, seed=rng, pooled=True, missing="drop", workers=1)
        found.append([np.mean(p <= 0.05) for p in by_class(result, 6).values()])
    continuous, mixed, binary = np.mean(found, axis=0)
    assert 0.04 < continuous < 0.06
    assert 0.04 < mixed < 0.06
    assert 0.03 < binary < 0.06  # few different values: 0.05 itself is out of reach
