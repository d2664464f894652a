"""Nominal columns: one partition, its categories; every entry equals brute force."""

import json
import math

import naive
import numpy as np
import pytest

import dpmic
from dpmic._validate import Categories, Limits
from dpmic.statistics.maps import range_maps
from dpmic.statistics.search import Search

CASES = 150
CHUNKS = 3


def labels(codes):
    return [f"c{int(code)}" for code in codes]


def cases(seed):
    """Small random problems: codes of m categories that all occur, numbers with ties, options."""
    rng = np.random.default_rng(seed)
    for _ in range(CASES // CHUNKS):
        n, m = int(rng.integers(6, 14)), int(rng.integers(2, 6))
        codes = rng.permutation(np.concatenate([np.arange(m), rng.integers(0, m, n - m)]))
        numbers = np.round(rng.uniform(-1, 1, n), int(rng.integers(1, 4)))
        options = {
            "B": float(rng.choice([4, 6, 9, 12.5, 16])),
            "c": float(rng.choice([1, 1.5, 3, math.inf])),
            "master": str(rng.choice(["reshef", "paper"])),
        }
        yield codes, numbers, m, options


def assert_same(matrix, expected):
    found = {(int(k) + 2, int(l) + 2) for k, l in np.argwhere(~np.isnan(matrix))}
    assert found == set(expected)
    for (k, l), value in expected.items():
        assert matrix[k - 2, l - 2] == pytest.approx(value, abs=1e-12), (k, l)


@pytest.mark.parametrize("seed", range(CHUNKS))
def test_mice_of_categories_and_numbers(seed):
    for codes, numbers, m, options in cases(seed):
        score = dpmic.mice(labels(codes), numbers, **options)
        assert_same(score.matrix, naive.nominal(codes, numbers, (m, None), **options))
        assert max(options["B"], 2 * m) == score.B
        turned = dpmic.mice(numbers, labels(codes), **options)
        assert np.array_equal(turned.matrix, score.matrix.T, equal_nan=True)


@pytest.mark.parametrize("seed", range(CHUNKS))
def test_micr_of_categories_and_numbers(seed):
    for codes, numbers, m, options in cases(10 + seed):
        known = [f"c{i}" for i in range(m + seed)]  # some of them occur in no record
        score = dpmic.micr(labels(codes), numbers, bounds=(known, (-0.8, 1)), **options)
        bounds = (None, (-0.8, 1))
        expected = naive.nominal(codes, numbers, (m + seed, None), bounds, **options)
        assert_same(score.matrix, expected)
        assert score.bounds == (tuple(known), (-0.8, 1.0))


@pytest.mark.parametrize("seed", range(CHUNKS))
def test_two_nominal_columns_have_one_entry(seed):
    for codes, numbers, m, options in cases(20 + seed):
        other = np.unique(np.sign(np.round(numbers)), return_inverse=True)[1]
        size = max(int(other.max()) + 1, 2)
        score = dpmic.mice(labels(codes), labels(other), **options)
        assert_same(score.matrix, naive.nominal(codes, other, (m, size)))
        assert max(options["B"], m * size) == score.B


def test_the_grid_explains_the_score():
    for codes, numbers, _, options in cases(30):
        score = dpmic.mice(labels(codes), numbers, **options)
        grid = score.grid
        counts = grid.counts(labels(codes), numbers)
        own = naive.information(counts) / math.log2(min(grid.k, grid.l))
        assert own == pytest.approx(score.mic, abs=1e-11)
        assert counts.sum() == len(codes)
        assert grid.x == tuple(sorted(set(labels(codes))))


def test_names_and_their_order_do_not_matter(rng):
    codes, numbers = rng.integers(0, 4, 200), rng.random(200)
    names = np.array(["d", "a", "ward 3", "B"])[codes]
    one, other = dpmic.mice(names, numbers), dpmic.mice(labels(codes), numbers)
    assert one.matrix == pytest.approx(other.matrix, abs=1e-12, nan_ok=True)


def test_a_constant_scores_0(rng):
    numbers = rng.random(30)
    for other in (numbers, ["a", "b", "c"] * 10):
        assert dpmic.mice(["same"] * 30, other).mic == 0
        assert dpmic.mice(other, ["same"] * 30).mic == 0
    assert dpmic.mice(["a", "b", "c"] * 10, np.ones(30)).mic == 0


def test_range_grids_depend_on_domains_and_limits_alone(rng):
    """What the private mechanisms need: the same entries, whichever categories occur."""
    limits, wards = Limits(30, 5, "reshef"), Categories(("a", "b", "c", "d"))
    box = ((0.0, 1.0), wards)
    shapes = set()
    for codes in (np.zeros(40), rng.integers(0, 4, 40).astype(float), np.full(40, 3.0)):
        matrix = Search.by_range(rng.random(40), codes, box, limits).matrix()
        shapes.add(tuple(map(tuple, np.argwhere(~np.isnan(matrix)).tolist())))
    (entries,) = shapes
    assert entries == tuple((2, l) for l in range(6))  # l = 2..7 columns, 4 rows


def test_numbers_may_be_cut_along_a_map(rng):
    """As for private scores under several scales: cuts of the map are cuts of the grid."""
    limits, wards = Limits(24, 5, "reshef"), Categories(("a", "b", "c"))
    codes, x = rng.integers(0, 3, 60).astype(float), rng.exponential(size=60) ** 3
    for along in range_maps((0.0, 1000.0), "any"):
        fractions = np.searchsorted(along.cuts(np.arange(1, 840) / 840), x, side="right") / 840
        own = Search.by_map(x, codes, (along, wards), limits)
        flat = Search.by_range(fractions, codes, ((0.0, 1.0), wards), limits)
        # 3 .. 8 and 15 parts: every cut is a multiple of 1 / 840
        assert own.matrix() == pytest.approx(flat.matrix(), abs=1e-12, nan_ok=True)


def test_a_figure_shows_categories(rng):
    pytest.importorskip("matplotlib")
    ward, y = np.array(list("bca"))[rng.integers(0, 3, 40)], rng.random(40)
    score = dpmic.micr(ward, y, bounds=(["a", "b", "c", "d"], (0, 1)))
    ax = score.plot(ward, y)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "c", "d"]
    assert score.grid.lines()[0] == (0.5, 1.5, 2.5)


def test_independent_classes_score_little():
    """Optimising the finer axis too would give 0.11 (THEORY: 0.025)."""
    rng = np.random.default_rng(7)
    scores = [dpmic.mice(rng.choice(["a", "b"], 1000), rng.random(1000)).mic for _ in range(20)]
    assert 0.015 < np.mean(scores) < 0.04


def test_json_round_trip():
    x, y = ["a", "b", "c", "a", "b", "c"] * 5, np.arange(30.0)
    for score in (dpmic.mice(x, y), dpmic.micr(x, y, bounds=(["a", "b", "c"], (0, 30)))):
        again = dpmic.Score.from_json(score.to_json())
        assert again == score
        assert json.loads(score.to_json())["grid"]["x"] == ["a", "b", "c"]


def test_what_needs_an_order_is_not_a_number():
    score = dpmic.mice(["a", "b", "c", "d"] * 5, ["p", "q", "r", "r"] * 5)
    assert math.isnan(score.mev)
    assert score.mas != score.mas
    assert {"MAS": "-", "MEV": "-"}.items() <= {f.label: f.text for f in score.facts()}.items()
    assert score.record()["mev"] is None
    numbers = dpmic.mice(["a", "b", "c"] * 20, np.arange(60.0))
    assert math.isnan(numbers.mas)  # (3, 3) alone could be compared, with itself
    assert numbers.mev == np.nanmax(numbers.matrix[0])
