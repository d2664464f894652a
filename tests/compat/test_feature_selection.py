"""Score functions for scikit-learn, alone and inside it."""

import functools
import math
import pickle
from itertools import permutations

import naive
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import (
    GenericUnivariateSelect,
    SelectFdr,
    SelectFpr,
    SelectFwe,
    SelectKBest,
    SelectPercentile,
    f_classif,
    f_regression,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sweeps import sweep

import dpmic
from dpmic.feature_selection import mic_classif, mic_regression, tic_classif, tic_regression

BOTH = pytest.mark.parametrize("score", [mic_regression, mic_classif])
TESTS = pytest.mark.parametrize("test", [tic_regression, tic_classif])


@pytest.fixture
def table(rng):
    """Four columns of 60 records: numbers, ties, booleans as numbers, and a constant."""
    return np.column_stack(
        [rng.normal(size=60), rng.integers(0, 5, 60), rng.integers(0, 2, 60), np.full(60, 3)]
    )


# mic_regression


@sweep("options", [{}, {"alpha": 0.5}, {"B": 12}, {"c": 3}, {"c": math.inf}, {"B": 9, "c": 1.5}])
def test_regression_is_mice_of_each_column(table, rng, options):
    y = table[:, 0] ** 2 + table[:, 1] + 0.1 * rng.normal(size=60)
    expected = [float(dpmic.mice(x, y, **options)) for x in table.T]
    assert mic_regression(table, y, **options).tolist() == expected
    assert expected[-1] == 0 < expected[0]


def test_regression_on_a_constant_is_zero(table):
    assert mic_regression(table, np.ones(60)).tolist() == [0, 0, 0, 0]


# mic_classif: the definition


def by_enumeration(x, labels, B, c):
    """Return the matrix from its definition: every class is a category."""
    classes = sorted(set(labels))
    codes = [classes.index(label) for label in labels]
    return naive.nominal(codes, x, (len(classes), None), None, B, c)


@sweep("seed", range(150))
def test_classif_is_mice_of_a_nominal_column(seed):
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 5))
    n = int(rng.integers(2 * classes, 14))
    labels = np.concatenate((np.arange(classes), rng.integers(0, classes, n - classes)))
    x = [rng.normal(size=n), rng.integers(0, 4, n), rng.standard_cauchy(n).round()][seed % 3]
    B, c = int(rng.integers(2 * classes, 4 * classes + 1)), float(rng.choice([1, 1.5, 2, 15]))
    (found,) = mic_classif(x[:, None], labels, B=B, c=c)
    expected = naive.maximum(by_enumeration(x, labels.tolist(), B, c))
    assert found == pytest.approx(expected, abs=1e-12)


def test_alpha_gives_as_many_parts_as_cells_allow_and_two_at_least(rng):
    x = rng.normal(size=(100, 1))
    for classes in (2, 3, 7, 8, 9, 30):
        y = np.resize(np.arange(classes), 100)
        B = max(100**0.6, 2 * classes)  # 15.8: two parts of 7 classes fit, of 8 are granted
        assert mic_classif(x, y) == mic_classif(x, y, B=B)
    y = np.resize([0, 1], 100)
    assert mic_classif(x, y, alpha=0.5) == mic_classif(x, y, B=11.9) < mic_classif(x, y, B=12)


def test_without_a_limit_on_the_master_every_cut_is_allowed(rng):
    x, y = rng.normal(size=9), [0, 1, 0, 2, 1, 3, 0, 1, 3]
    (found,) = mic_classif(x[:, None], y, B=12, c=math.inf)
    assert found == pytest.approx(naive.maximum(by_enumeration(x, y, 12, 1000)), abs=1e-12)


# mic_classif: what it means


@pytest.mark.parametrize("classes", [2, 3, 5, 12])
def test_thresholds_that_determine_the_class_score_one(classes):
    x = np.arange(600.0)[:, None]
    y = x[:, 0] // (600 / classes)
    assert mic_classif(x, y, c=math.inf) == pytest.approx(1, abs=1e-12)
    assert 0.99 < mic_classif(x, y)[0] <= 1  # a cut of the master lies a record away at most


def test_a_band_needs_four_equal_parts():
    x = np.arange(400.0)[:, None]
    inside = abs(x[:, 0] - 199.5) < 100
    assert mic_classif(x, inside, B=8) == pytest.approx(1, abs=1e-12)
    three = naive.information([[100, 0, 100], [33, 134, 33]])
    assert mic_classif(x, inside, B=7.9) == pytest.approx(three, abs=1e-12)


def test_two_classes_of_noise_score_little():
    """Cuts that were chosen for two classes, too, would make it 0.11."""
    rng = np.random.default_rng(3)
    scores = mic_classif(rng.normal(size=(1000, 30)), rng.integers(0, 2, 1000))
    assert 0.02 < scores.mean() < 0.04


def test_classes_of_different_sizes_reach_their_entropy():
    x = np.arange(1000.0)[:, None]
    entropy = -(0.1 * math.log2(0.1) + 0.9 * math.log2(0.9))
    assert mic_classif(x, x[:, 0] >= 900, c=math.inf) == pytest.approx(entropy, abs=1e-12)


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_independent_columns_score_little_and_less_with_more_records(rng, classes):
    means = [
        mic_classif(rng.normal(size=(n, 20)), np.resize(np.arange(classes), n)).mean()
        for n in (300, 3000)
    ]
    assert means[1] < 0.1
    assert means[1] < means[0] / 2


def test_a_constant_column_scores_zero(table):
    scores = mic_classif(table, table[:, 1])
    assert scores[3] == 0
    assert np.all((scores >= 0) & (scores <= 1))
    assert scores[1] == scores.max() > 0.9


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_neither_names_of_classes_nor_the_order_of_records_matter(rng, classes):
    X = np.column_stack([rng.normal(size=200), rng.integers(0, 9, 200)])
    y = np.concatenate((np.arange(classes), rng.integers(0, classes, 200 - classes)))
    scores = mic_classif(X, y).tolist()
    for _ in range(20):
        names, order = rng.permutation(classes), rng.permutation(200)
        assert mic_classif(X, names[y]) == pytest.approx(scores, abs=1e-12)
        assert mic_classif(X[order], y[order]) == pytest.approx(scores, abs=1e-12)
    assert mic_classif(np.exp(X), y).tolist() == scores


# inputs


def test_every_kind_of_table_scores_the_same(table, rng):
    y = table[:, 0] > 0
    frame = pd.DataFrame(table, columns=list("abcd"))
    same = [
        np.asfortranarray(table),
        table.tolist(),
        tuple(map(tuple, table.tolist())),
        list(table),
        frame,
        frame.astype({"b": "int8", "d": "Int64"}),
        pl.DataFrame(frame),
        pa.table(frame),
    ]
    for score, target in ((mic_regression, table[:, 0]), (mic_classif, y)):
        expected = score(table, target).tolist()
        for X in same:
            found = score(X, target)
            assert found.tolist() == expected, type(X)
            assert found.dtype == np.float64


@sweep("names", [("yes", "no"), (1, 0), (True, False), (2.0, -1.0), ("1", 1)])
def test_labels_may_be_anything(table, names):
    y = [names[int(value > 0)] for value in table[:, 0]]
    expected = mic_classif(table, table[:, 0] > 0).tolist()
    kinds = [y, tuple(y), np.array(y, object), pd.Series(y), pd.Series(y, dtype="category")]
    if names != ("1", 1):
        kinds += [np.array(y), pl.Series(y), pa.array(y), pa.chunked_array([y[:30], y[30:]])]
        kinds += [pd.Index(y), pd.Categorical(y), pd.Series(y, index=range(60, 0, -1))]
    for labels in kinds:
        assert mic_classif(table, labels).tolist() == expected, type(labels)


@pytest.mark.parametrize("score", [mic_regression, mic_classif, tic_regression, tic_classif])
def test_a_target_with_one_column_is_that_column(score, table):
    y = (table[:, 0] > 0).astype(int)
    frame = pd.DataFrame({"y": y})
    same = [y[:, None], frame, pl.DataFrame(frame), pa.table(frame), y[:, None].tolist()]
    options = {} if score in (mic_regression, mic_classif) else {"rng": 0, "permutations": 20}
    expected = np.asarray(score(table, y, **options)).tolist()
    for target in same:
        found = score(table, target, **options)
        assert np.asarray(found).tolist() == expected, type(target)
    selector = SelectKBest(functools.partial(score, **options), k=1)
    assert np.array_equal(selector.fit(table, frame[["y"]]).scores_, np.ravel(expected)[:4])


def test_a_column_of_labels_may_be_text(table):
    y = pd.DataFrame({"y": np.where(table[:, 0] > 0, "a", "b")})
    expected = mic_classif(table, y["y"]).tolist()
    for target in (y, y.astype("category"), pl.DataFrame(y), y.to_numpy()):
        assert mic_classif(table, target).tolist() == expected, type(target)


def test_categories_without_records_are_no_classes(table):
    y = pd.Categorical(np.where(table[:, 0] > 0, "a", "b"), categories=list("abcdefgh"))
    assert mic_classif(table, y).tolist() == mic_classif(table, y.tolist()).tolist()


def test_labels_are_read_without_a_warning_of_pandas(table, monkeypatch):
    """pandas 2.1 deprecated one of the two ways to a list, of its arrays alone."""
    monkeypatch.setattr(pd.Categorical, "to_list", lambda self: pytest.fail("deprecated"), False)
    y = pd.Categorical(table[:, 0] > 0)
    assert mic_classif(table, y).tolist() == mic_classif(table, table[:, 0] > 0).tolist()


def test_inputs_are_left_alone(table):
    before, y = table.copy(), (table[:, 0] > 0).astype(int)
    mic_regression(table, y)
    mic_classif(table, y)
    assert np.array_equal(table, before)


# errors


def with_value(value):
    X = np.arange(30.0).reshape(10, 3)
    X[4, 1] = value
    return X


@BOTH
@sweep(
    ("X", "message"),
    [
        (with_value(np.nan), r"X\[:, 1\]: 1 of 10 values is missing, .*row 5; replace"),
        (with_value(np.inf), r"X\[:, 1\]\[4\] = inf: infinite .*; replace such values"),
        (with_value(np.nan).tolist(), r"X\[:, 1\]: 1 of 10 values is missing"),
        (pd.DataFrame(with_value(np.nan), columns=["a", "b", "c"]), "b: 1 of 10 values is mis"),
        (np.ma.masked_invalid(with_value(np.nan)), r"X\[:, 0\] is a masked array.*; replace such"),
        (scipy.sparse.csr_matrix(with_value(0)), "X has type csr_matrix: .*sparse.*toarray"),
        (scipy.sparse.csc_array(with_value(0)), "X has type csc_array: "),
        ([["a", 1]] * 9 + [[1, 1]], r"X\[:, 0\]\[0\] has type str: text is not a number"),
        (np.arange(10), r"X has shape \(10,\): a table .*reshape"),
        (pd.Series(range(10)), r"X has shape \(10,\)"),
        (list(range(10)), "X is a list of length 10: a table"),
        (np.zeros((10, 2, 2)), r"shape \(10, 2, 2\)"),
        (np.zeros((10, 0)), r"shape \(10, 0\)"),
        ([], "X: it is empty"),
        ([[1, 2]] * 9 + [[1]], "the rows of X: they differ in length"),
        (np.zeros((9, 2)), "X, y: they differ in length: 9 and 10"),
        (pd.DataFrame(np.zeros((10, 2)), columns=["a", "a"]), "2 columns have this name"),
        ({"a": list(range(10))}, "type dict: this is not a frame"),
        (None, "type NoneType"),
    ],
)
def test_tables_that_cannot_be_scored(score, X, message):
    with pytest.raises(dpmic.InputError, match=message):
        score(X, [0, 1] * 5)


@sweep(
    ("y", "message"),
    [
        ([1.0] * 9 + [math.nan], "y: 1 of 10 values is missing"),
        ([1.0] * 9 + [math.inf], r"y\[9\] = inf"),
        (["a"] * 10, "text is not a number"),
        (np.zeros((10, 2)), "y has 2 columns: y has one value per record"),
        (np.zeros((10, 1, 1)), "y has 3 dimensions"),
        (pd.DataFrame({"y": range(10), "z": range(10)}), "y has 2 columns"),
        ([[0, 1]] * 10, "y has 2 columns"),
        ([[0]] * 9 + [[0, 1]], "the rows of y: they differ in length"),
        ("price", "y = 'price': a name is not a column"),
        (range(11), "differ in length: 10 and 11"),
    ],
)
def test_targets_that_cannot_be_scored(y, message):
    with pytest.raises(dpmic.InputError, match=message):
        mic_regression(np.zeros((10, 2)), y)


@sweep(
    ("y", "message"),
    [
        (["a"] * 10, "y has 1 class: .*StratifiedKFold"),
        ([], "y has 0 classes"),
        (range(10), "y has 10 classes in 10 records: .*mic_regression"),
        ([0.5, 1.5] * 5, r"y\[0\] = 0.5: a fraction is a number on a scale.*mic_regression"),
        (np.array([1, np.inf] * 5), r"y\[1\] = inf"),
        (["a", "b"] * 4 + ["a", None], r"y\[9\]: the label is missing"),
        (np.array([0, 1] * 4 + [np.nan, 1]), r"y\[8\]: the label is missing"),
        (pd.array([0, 1] * 4 + [None, 1], dtype="Int64"), r"y\[8\]: the label is missing"),
        (pd.Categorical(["a", "b"] * 4 + [None, "a"]), r"y\[8\]: the label is missing"),
        (np.array(["2020", "2021"] * 4 + ["NaT"] * 2, "M8[ns]"), r"y\[8\]: the label is missing"),
        (pa.array(["a", "b"] * 4 + [None, "a"]), r"y\[8\]: the label is missing"),
        (np.zeros((10, 2)), "y has 2 columns: y has one value per record"),
        (pa.table({"y": [0, 1] * 5, "z": [0, 1] * 5}), "y has 2 columns"),
        ([0, [1]] * 5, r"y\[1\] has type list"),
        ([0, (1, 0)] * 5, r"y\[1\] has type tuple"),
        ([(0, 1), (1, 0)] * 5, "y has 2 columns"),
        ("ababababab", "y = 'ababababab': a name is not a column"),
        ({0: 1, 1: 2}, "y has type dict"),
        (None, "y has type NoneType"),
        ([0, 1] * 6, "X, y: they differ in length: 10 and 12"),
    ],
)
def test_classes_that_cannot_be_told_apart(y, message):
    with pytest.raises(dpmic.InputError, match=message):
        mic_classif(np.zeros((10, 2)), y)


@BOTH
def test_four_records_are_needed(score):
    with pytest.raises(dpmic.InputError):
        score(np.zeros((3, 1)), [0, 1, 0])
    assert score(np.arange(4.0)[:, None], [0, 0, 1, 1]) == pytest.approx(1)


@BOTH
@sweep("options", [{"alpha": 0}, {"alpha": 1.5}, {"B": 3}, {"B": "many"}, {"B": 6000}, {"c": 0.5}])
def test_options_outside_their_range(score, options):
    with pytest.raises(dpmic.ParameterError):
        score(np.zeros((10, 1)), [0, 1] * 5, **options)


def test_searches_that_take_hours_are_refused():
    X, y = np.zeros((25_000, 1)), np.resize([0, 1], 25_000)
    for score in (mic_regression, mic_classif):
        with pytest.raises(dpmic.ParameterError, match="c = inf with n = 25000"):
            score(X, y, c=math.inf)
    with pytest.raises(dpmic.ParameterError, match="c = 2000 with B"):
        mic_classif(X, y, c=2000)


# tic_regression, tic_classif


def allowed(p, draws):
    """How far two p-values of so many draws each may lie apart by chance: five standard errors."""
    return 5 * np.sqrt(2 * p * (1 - p) / draws) + 2 / draws


def test_tic_regression_is_the_independence_test_of_each_column(table, rng):
    y = table[:, 0] + rng.normal(size=60)
    scores, pvalues = tic_regression(table, y, permutations=1000, rng=1)
    for x, score, p in zip(table.T, scores, pvalues, strict=True):
        alone = dpmic.independence_test(x, y, permutations=1000, rng=2)
        assert score == pytest.approx(alone.statistic, abs=1e-12)
        assert abs(p - alone.pvalue) <= allowed(alone.pvalue, 1000)
    assert (scores[3], pvalues[3]) == (0, 1)


def total_by_enumeration(x, labels):
    """Return the statistic of tic_classif: the sum of the matrix."""
    return naive.tic(by_enumeration(x, labels, 9, 5))


@sweep("seed", range(20))
def test_tic_classif_sums_the_best_partitions(seed):
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 6))
    y = np.concatenate((np.arange(classes), rng.integers(0, classes, 12 - classes)))
    x = [rng.normal(size=12), rng.integers(0, 4, 12)][seed % 2]
    (found,), _ = tic_classif(x[:, None], y, permutations=1)
    assert found == pytest.approx(total_by_enumeration(x, y.tolist()), abs=1e-12)


def test_the_p_value_of_few_records_is_that_of_all_permutations():
    x, y = [1, 2, 3, 3, 4, 5], [0, 0, 1, 0, 1, 2]
    observed = total_by_enumeration(x, y)
    every = [total_by_enumeration(x, order) for order in set(permutations(y))]
    exact = np.mean(np.array(every) >= observed - 1e-12)
    _, (found,) = tic_classif(np.array(x)[:, None], y, permutations=5000, rng=0)
    assert 0.05 < exact < 0.95
    assert abs(found - exact) <= allowed(exact, 5000)


def test_p_values_depend_on_no_names_and_no_order_of_records(rng):
    X = np.column_stack([rng.normal(size=100), rng.integers(0, 9, 100), rng.normal(size=100)])
    y, order = rng.integers(0, 3, 100), rng.permutation(100)
    for test, other in ((tic_classif, np.array(["c", "a", "b"])[y]), (tic_regression, y**3)):
        scores, expected = test(X, y, permutations=200, rng=5)
        found = test(X[order], other[order], permutations=200, rng=5)
        assert found[0] == pytest.approx(scores, abs=1e-12)
        assert found[1].tolist() == expected.tolist()
        assert test(X[:, 1:], y, permutations=200, rng=5)[1].tolist() == expected[1:].tolist()
        assert test(X, y, permutations=200, rng=6)[1].tolist() != expected.tolist()


@TESTS
def test_p_values_keep_their_level_whatever_the_columns(test):
    """A third of the columns is continuous, a third binary, a third has ties."""
    rng, found = np.random.default_rng(4), []
    for _ in range(25):
        X = np.column_stack([rng.normal(size=(50, 8)), rng.poisson(1, (50, 8))])
        X = np.column_stack([X, rng.integers(0, 2, (50, 8))])
        found.append(test(X, rng.integers(0, 3, 50), permutations=99, rng=rng)[1])
    found = np.array(found)
    assert found.min() >= 0.01
    for kind in np.split(found, 3, axis=1):
        assert 0.01 < np.mean(kind <= 0.05) < 0.11


@TESTS
@pytest.mark.full
def test_level_of_p_values_in_many_runs(test):
    rng, found = np.random.default_rng(5), []
    for _ in range(1500):
        X = np.column_stack([rng.normal(size=(100, 4)), rng.poisson(3, (100, 4))])
        found.append(test(X, rng.integers(0, 3, 100), permutations=199, rng=rng)[1] <= 0.05)
    for rate in np.mean(np.split(np.array(found), 2, axis=1), axis=(1, 2)):
        assert 0.04 < rate < 0.06


@TESTS
@sweep(
    ("options", "message"),
    [
        ({"permutations": 0}, "permutations = 0"),
        ({"permutations": 1.5}, "permutations = 1.5"),
        ({"rng": "x"}, "rng = 'x'"),
    ],
)
def test_options_of_tests_outside_their_range(test, options, message):
    with pytest.raises(dpmic.ParameterError, match=message):
        test(np.zeros((10, 1)), [0, 1] * 5, **options)


@TESTS
def test_tests_refuse_what_scores_refuse(test):
    with pytest.raises(dpmic.InputError, match=r"X\[:, 1\]: 1 of 10 values is missing"):
        test(with_value(np.nan), [0, 1] * 5)
    with pytest.raises(dpmic.InputError, match="differ in length: 9 and 10"):
        test(np.zeros((9, 2)), [0, 1] * 5)


# inside scikit-learn


@pytest.fixture
def curved(rng):
    """Eight columns; y depends on 2 and 5 in no straight line, on 0 and 1 in one, slightly."""
    X = rng.uniform(-1, 1, (400, 8))
    return X, X[:, 2] ** 2 + 0.5 * np.cos(3 * np.pi * X[:, 5]) + 0.25 * (X[:, 0] + X[:, 1])


@pytest.fixture
def ringed(rng):
    """Eight columns; one class is far from 0 in column 2, and slightly larger in column 0."""
    X = rng.uniform(-1, 1, (400, 8))
    far = (abs(X[:, 2]) > 0.5) ^ (rng.uniform(size=400) < 0.1)
    X[:, 0] += 0.3 * far
    return X, np.where(far, "far", "near")


def chosen(selector, X, y):
    return selector.fit(X, y).get_support(indices=True).tolist()


def test_select_k_best_finds_what_straight_lines_do_not(curved):
    assert chosen(SelectKBest(mic_regression, k=2), *curved) == [2, 5]
    assert chosen(SelectKBest(f_regression, k=2), *curved) == [0, 1]


def test_select_k_best_finds_classes_with_equal_means(ringed):
    assert chosen(SelectKBest(mic_classif, k=1), *ringed) == [2]
    assert chosen(SelectKBest(f_classif, k=1), *ringed) == [0]


@BOTH
def test_every_selector_that_ranks_takes_them(score, curved, ringed):
    X, y = curved if score is mic_regression else ringed
    expected = score(X, y).tolist()
    selectors = [
        SelectKBest(score, k=2),
        SelectPercentile(score, percentile=25),
        GenericUnivariateSelect(score, mode="k_best", param=2),
        GenericUnivariateSelect(score, mode="percentile", param=25),
    ]
    for selector in selectors:
        assert 2 in chosen(selector, X, y)
        assert selector.scores_.tolist() == expected
        assert selector.pvalues_ is None
        assert selector.transform(X).shape == (400, 2)


def test_names_of_a_frame_come_out_again(ringed):
    X, y = ringed
    for frame in (pd.DataFrame(X, columns=list("abcdefgh")), pl.DataFrame(X, list("abcdefgh"))):
        selector = SelectKBest(mic_classif, k=1).fit(frame, pd.Series(y, dtype="category"))
        assert selector.get_feature_names_out().tolist() == ["c"]
    assert list(selector.set_output(transform="pandas").transform(frame)) == ["c"]


def test_a_pipeline_is_cross_validated(ringed):
    X, y = ringed
    best = make_pipeline(SelectKBest(mic_classif, k=1), KNeighborsClassifier(9))
    linear = make_pipeline(SelectKBest(f_classif, k=1), KNeighborsClassifier(9))
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    found = cross_val_score(best, X, y, cv=folds, error_score="raise")
    assert found.mean() > 0.8
    assert cross_val_score(linear, X, y, cv=folds, error_score="raise").mean() < 0.7


def test_a_search_over_k_and_over_score_functions(ringed):
    X, y = ringed
    pipeline = make_pipeline(StandardScaler(), SelectKBest(mic_classif), KNeighborsClassifier(9))
    coarse = functools.partial(mic_classif, alpha=0.4)
    grid = {"selectkbest__k": [1, 4, "all"], "selectkbest__score_func": [f_classif, coarse]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise", n_jobs=1).fit(X, y)
    assert search.best_params_ == {"selectkbest__k": 1, "selectkbest__score_func": coarse}


def test_a_fold_without_a_second_class_fails_and_the_others_count(rng):
    X, y = rng.normal(size=(60, 3)), np.repeat([0, 1], [40, 20])
    pipeline = make_pipeline(SelectKBest(mic_classif, k=1), LogisticRegression())
    with pytest.warns(FitFailedWarning, match="y has 1 class"):
        scores = cross_val_score(pipeline, X, y, cv=KFold(3))
    assert np.isnan(scores).tolist() == [False, False, True]


@BOTH
def test_options_pickles_and_clones(score, curved, ringed):
    X, y = curved if score is mic_regression else ringed
    assert pickle.loads(pickle.dumps(score)) is score
    partial = functools.partial(score, alpha=0.4, c=5)
    selector = clone(SelectKBest(partial, k=2))
    copy = pickle.loads(pickle.dumps(selector.fit(X, y)))
    assert copy.scores_.tolist() == score(X, y, alpha=0.4, c=5).tolist()
    assert copy.scores_.tolist() != score(X, y).tolist()
    assert np.array_equal(copy.transform(X), selector.transform(X))
    assert chosen(clone(copy), X, y) == chosen(selector, X, y)


@TESTS
def test_every_selector_that_tests_takes_them(test, curved, ringed):
    X, y = curved if test is tic_regression else ringed
    related = {2, 5} if test is tic_regression else {2}
    seeded = functools.partial(test, rng=0, permutations=1000)
    expected = seeded(X, y)
    selectors = [
        SelectFpr(seeded, alpha=0.01),
        SelectFdr(seeded),
        SelectFwe(seeded),
        GenericUnivariateSelect(seeded, mode="fdr", param=0.05),
    ]
    for selector in selectors:
        assert related <= set(chosen(selector, X, y)) < set(range(8))
        assert selector.scores_.tolist() == expected[0].tolist()
        assert selector.pvalues_.tolist() == expected[1].tolist()
        copy = clone(pickle.loads(pickle.dumps(selector)))
        assert chosen(copy, X, y) == chosen(selector, X, y)
    assert len(chosen(SelectFdr(test), X, y)) < 8  # without options, too


def test_a_pipeline_with_p_values_is_cross_validated(ringed):
    X, y = ringed
    test = functools.partial(tic_classif, rng=0, permutations=500)
    model = make_pipeline(SelectFdr(test, alpha=0.01), KNeighborsClassifier(9))
    one, same = (cross_val_score(model, X, y, cv=4, error_score="raise") for _ in range(2))
    assert one.tolist() == same.tolist()
    assert one.mean() > 0.75


@BOTH
def test_a_sparse_matrix_is_refused_inside_too(score):
    X = scipy.sparse.csr_matrix(np.eye(10))
    with pytest.raises(dpmic.InputError, match="toarray"):
        SelectKBest(score, k=1).fit(X, [0, 1] * 5)


# gaps and categories


def gappy(rng):
    table = pd.DataFrame({"a": rng.normal(size=80), "b": rng.choice(list("uvw"), 80)})
    table.loc[::9, "a"] = np.nan
    table.loc[::11, "b"] = None
    return table, np.where(rng.random(80) < 0.1, np.nan, rng.normal(size=80))


def test_gaps_are_dropped_column_by_column(rng):
    X, y = gappy(rng)
    expected = [float(dpmic.mice(X[name], y, missing="drop")) for name in X]
    assert mic_regression(X, y, missing="drop").tolist() == expected
    scores, pvalues = tic_regression(X, y, missing="drop", permutations=99, rng=1)
    for name, score in zip(X, scores, strict=True):
        test = dpmic.independence_test(X[name], y, missing="drop", permutations=1, rng=1)
        assert score == pytest.approx(test.statistic, abs=1e-12)
    assert np.all((pvalues > 0) & (pvalues <= 1))
    for score in (mic_regression, tic_regression):
        with pytest.raises(dpmic.InputError, match="values are missing"):
            score(X, y)


def test_gaps_in_classes(rng):
    X, _ = gappy(rng)
    y = [None if i % 7 == 0 else "pq"[i % 2] for i in range(80)]
    expected = [float(dpmic.mice(X[name], y, missing="drop")) for name in X]
    assert mic_classif(X, y, missing="drop") == pytest.approx(expected, abs=1e-12)
    assert np.isfinite(tic_classif(X, y, missing="drop", permutations=9, rng=0)[1]).all()
    few = [None] * 77 + ["p", "q", "p"]
    with pytest.raises(dpmic.InputError, match="2 classes in 3 records"):
        mic_classif(X, few, missing="drop")
    with pytest.raises(dpmic.ParameterError, match="missing = 'skip'"):
        mic_classif(X, y, missing="skip")
