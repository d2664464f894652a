"""What must hold for every input, and closed forms."""

import math
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

import dpmic

BOX = ((-2.0, 2.0), (-2.0, 2.0))
STATISTICS = {
    "mice": lambda x, y: dpmic.mice(x, y),
    "mice, paper's master": lambda x, y: dpmic.mice(x, y, master="paper", c=4),
    "micr": lambda x, y: dpmic.micr(x, y, bounds=BOX),
    "mic": lambda x, y: dpmic.mic(x, y),
}
every_statistic = pytest.mark.parametrize("score", STATISTICS.values(), ids=STATISTICS)


@every_statistic
@given(xy=strategies.pairs())
def test_in_the_unit_interval_without_nan(score, xy):
    result = score(*xy)
    entries = result.matrix[~np.isnan(result.matrix)]
    assert entries.size == sum(int(result.B) // k - 1 for k in range(2, int(result.B) // 2 + 1))
    assert entries.min() >= 0
    assert entries.max() <= 1
    assert entries.max() == result.mic == float(result)
    for value in (result.tic(normalised=True), result.mas, result.mev, result.gmic()):
        assert 0 <= value <= 1


@every_statistic
@given(xy=strategies.pairs(), seed=st.integers(0, 99))
def test_the_order_of_records_does_not_matter(score, xy, seed):
    x, y = xy
    order = np.random.default_rng(seed).permutation(x.size)
    assert score(x, y) == score(x[order], y[order])


@every_statistic
@given(xy=strategies.pairs())
def test_exchanging_the_variables_transposes_the_matrix(score, xy):
    x, y = xy
    assert np.array_equal(score(x, y).matrix, score(y, x).matrix.T, equal_nan=True)


@given(xy=strategies.pairs())
def test_increasing_maps_change_nothing_of_mice(xy):
    x, y = (np.round(v.clip(-1e6, 1e6), 6) for v in xy)
    assert np.array_equal(
        dpmic.mice(x, y).matrix, dpmic.mice(3 * x - 7, np.cbrt(y)).matrix, equal_nan=True
    )


@given(xy=strategies.pairs())
def test_micr_moves_with_its_bounds(xy):
    """Scaling by a power of two is exact, so nothing may change."""
    x, y = xy
    moved = dpmic.micr(4 * x, y / 8, bounds=((-8, 8), (-0.25, 0.25)))
    assert np.array_equal(dpmic.micr(x, y, bounds=BOX).matrix, moved.matrix, equal_nan=True)


@given(xy=strategies.pairs())
def test_micr_clamps(xy):
    x, y = xy
    inside = dpmic.micr(np.clip(x, *BOX[0]), np.clip(y, *BOX[1]), bounds=BOX)
    assert dpmic.micr(x, y, bounds=BOX) == inside


@given(xy=strategies.pairs(max_n=30))
def test_finer_masters_never_lose_micr(xy):
    """c = 30 refines c = 15, and any cut between values refines both."""
    x, y = xy
    coarse, fine, any_cut = (dpmic.micr(x, y, bounds=BOX, c=c).matrix for c in (15, 30, math.inf))
    assert np.nanmin(fine - coarse) >= -1e-12
    assert np.nanmin(any_cut - fine) >= -1e-12


@pytest.mark.parametrize("n", [4, 10, 100, 1000])
def test_a_noiseless_line_scores_one(n):
    x = np.linspace(-1, 1, n)
    for y in (x, -x, np.exp(x)):
        assert dpmic.mice(x, y).mic == pytest.approx(1, abs=0.03 if n < 20 else 1e-3)
        assert dpmic.mic(x, y).mic == pytest.approx(1, abs=0.03 if n < 20 else 1e-3)
    if n % 2 == 0:  # two equal halves
        assert dpmic.mice(x, x).mic == pytest.approx(1, abs=1e-12)
        assert dpmic.micr(x, x, bounds=((-1, 1), (-1, 1))).mic == pytest.approx(1, abs=1e-12)


@every_statistic
def test_independent_product_counts_score_zero(score):
    """A full factorial design has product counts on every grid."""
    x, y = np.meshgrid(np.linspace(-2, 2, 16), np.linspace(-2, 2, 16))
    assert score(x.ravel(), y.ravel()).mic == pytest.approx(0, abs=1e-13)


@pytest.mark.parametrize("n", [5, 25, 250, 10_000])
def test_one_record_in_the_opposite_corner(n):
    """The exact value of the sensitivity's lower bound: h2(1 / n)."""
    x = np.zeros(n)
    assert dpmic.micr(x, x, bounds=((0, 1), (0, 1))).mic == 0
    x[0] = 1
    p = 1 / n
    h2 = -p * math.log2(p) - (1 - p) * math.log2(1 - p)
    assert dpmic.micr(x, x, bounds=((0, 1), (0, 1))).mic == pytest.approx(h2, abs=1e-13)


@every_statistic
def test_a_constant_column_scores_zero(score, rng):
    x = rng.normal(size=50)
    for a, b in ((x, np.ones(50)), (np.ones(50), x), (np.ones(50), np.ones(50))):
        result = score(a, b)
        assert result.mic == 0
        assert result.gmic() == 0
        assert result.mcn() == 2


def test_random_ties_follow_the_generator(rng):
    x, y = rng.integers(0, 3, 200), rng.integers(0, 3, 200)
    same = [dpmic.mice(x, y, ties="random", rng=5) for _ in range(2)]
    assert same[0] == same[1]
    assert same[0] != dpmic.mice(x, y, ties="random", rng=6)
    assert dpmic.mice(x, y, ties="random").n == 200


def test_random_ties_have_a_separate_order_on_each_axis():
    """With one order for both, two constant columns would look like a line; so, like noise."""
    score = dpmic.mice(np.zeros(500), np.zeros(500), ties="random", rng=3)
    assert 0 < score.mic < 0.1


def test_random_ties_leave_no_value_in_the_grid(rng):
    """No value cuts a group of equal ones, so only cuts between different values are shown."""
    x = rng.integers(0, 4, 300).astype(float)
    grid = dpmic.mice(x, rng.random(300), ties="random", rng=1).grid
    assert set(grid.x) <= {0.5, 1.5, 2.5}


def test_without_ties_random_and_grouped_agree(rng):
    x, y = rng.random(300), rng.random(300)
    grouped, shuffled = dpmic.mice(x, y), dpmic.mice(x, y, ties="random", rng=1)
    assert np.array_equal(grouped.matrix, shuffled.matrix, equal_nan=True)


def test_threads_agree(rng):
    x, y = rng.random((2, 400))
    with ThreadPoolExecutor(8) as pool:
        scores = list(pool.map(lambda _: dpmic.mice(x, y), range(32)))
    assert set(scores) == {dpmic.mice(x, y)}


def test_limits_of_the_unconstrained_statistic(rng):
    x, y = rng.random((2, 300))
    free = dpmic.mice(x, y, c=math.inf)
    assert np.nanmin(free.matrix - dpmic.mice(x, y).matrix) >= -1e-12
    assert free.c == math.inf
    many = np.arange(4001.0)
    for call in (dpmic.mice, dpmic.mic, partial(dpmic.micr, bounds=BOX)):
        with pytest.raises(dpmic.ParameterError, match="4000 values.*finite c"):
            call(many, many, c=math.inf)
