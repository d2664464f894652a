"""Every statistic equals brute force over all sub-partitions, thousands of times."""

import math

import naive
import numpy as np
import pytest
import strategies

import dpmic
from dpmic.statistics.grids import MassAxis

BOX = ((-1.0, 1.0), (-0.5, 2.0))
CASES = 1000
CHUNKS = 4


def cases(seed):
    """Small random problems: columns, limit B, c and master."""
    rng = np.random.default_rng(seed)
    for _ in range(CASES // CHUNKS):
        x, y = strategies.pair(int(rng.integers(4, 13)), rng)
        yield (
            x,
            y,
            {
                "B": float(rng.choice([4, 5.5, 6, 9, 10, 12])),
                "c": float(rng.choice([1, 1.5, 2, 3, math.inf])),
                "master": str(rng.choice(["reshef", "paper"])),
            },
        )


def assert_same(score, matrix):
    """Compare every entry and everything that is read off the matrix."""
    allowed = np.argwhere(~np.isnan(score.matrix)) + 2
    assert {tuple(entry) for entry in allowed.tolist()} == set(matrix)
    for (k, l), value in matrix.items():
        assert score.matrix[k - 2, l - 2] == pytest.approx(value, abs=1e-12), (k, l)
    assert score.mic == pytest.approx(naive.maximum(matrix), abs=1e-12)
    assert score.tic() == pytest.approx(naive.tic(matrix), abs=1e-11)
    assert score.tic(normalised=True) == pytest.approx(naive.tic(matrix, True), abs=1e-12)
    assert score.mas == pytest.approx(naive.mas(matrix), abs=1e-12)
    assert score.mev == pytest.approx(naive.mev(matrix), abs=1e-12)
    assert score.mcn() == pytest.approx(naive.mcn(matrix))
    assert score.mcn(0.3) == pytest.approx(naive.mcn(matrix, 0.3))
    assert score.mcn_general() == pytest.approx(naive.mcn_general(matrix))
    for p in (-1, 1, 2):
        # A mean of order -1 has no useful precision where an entry is rounding noise.
        if p > 0 or min(matrix.values()) > 1e-9:
            assert score.gmic(p) == pytest.approx(naive.gmic(matrix, p), abs=1e-9)


def assert_grid_explains(score, x, y):
    """The best grid's own information, counted afresh, is the score."""
    grid = score.grid
    own = naive.score_of_grid(x, y, grid.x, grid.y, grid.k, grid.l)
    assert own == pytest.approx(score.mic, abs=1e-11)
    assert naive.information(grid.counts(x, y)) == pytest.approx(
        score.mic * math.log2(min(grid.k, grid.l)), abs=1e-11
    )


@pytest.mark.parametrize("seed", range(CHUNKS))
def test_mice(seed):
    for x, y, options in cases(seed):
        score = dpmic.mice(x, y, **options)
        assert_same(score, naive.mice(x, y, **options))
        assert_grid_explains(score, x, y)


@pytest.mark.parametrize("seed", range(CHUNKS))
def test_mice_with_random_ties(seed):
    for x, y, options in cases(100 + seed):
        score = dpmic.mice(x, y, ties="random", rng=seed, **options)
        rng = np.random.default_rng(seed)
        ranks = [MassAxis.ranked(v, rng.permutation(v.size)).atoms.tolist() for v in (x, y)]
        assert_same(score, naive.mice(x, y, ranks=ranks, **options))


@pytest.mark.parametrize("seed", range(CHUNKS))
def test_micr(seed):
    for x, y, options in cases(200 + seed):
        score = dpmic.micr(x, y, bounds=BOX, **options)
        assert_same(score, naive.micr(x, y, BOX, **options))
        clamped = np.clip(x, *BOX[0]), np.clip(y, *BOX[1])
        assert_grid_explains(score, *clamped)


@pytest.mark.parametrize("seed", range(CHUNKS))
def test_mic(seed):
    for x, y, options in cases(300 + seed):
        del options["master"]
        score = dpmic.mic(x, y, **options)
        assert_same(score, naive.mic(x, y, **options))
        assert_grid_explains(score, x, y)


@pytest.mark.parametrize("statistic", ["mice", "micr", "mic"])
def test_default_limits(statistic, rng):
    """Nothing said: B = max(n ** 0.6, 4), c = 15, the reshef master."""
    x, y = rng.random(24), rng.random(24)
    box = {"bounds": ((0, 1), (0, 1))} if statistic == "micr" else {}
    score = getattr(dpmic, statistic)(x, y, **box)
    assert (score.B, score.c) == (24**0.6, 15)
    assert_same(score, getattr(naive, statistic)(x, y, *box.values()))


def test_mcn_has_minepys_tolerance():
    """An entry 0.9e-4 below the wished share still counts, one 1.1e-4 below does not."""
    x = np.arange(8.0)
    score = dpmic.mice(x, x, B=8)
    for gap, cells in ((0.9e-4, 4), (1.1e-4, 6)):
        matrix = np.where(np.isnan(score.matrix), np.nan, 0.1)
        matrix[0, 0], matrix[0, 1] = 0.5 - gap, 0.5
        edited = dpmic.Score.from_dict({**score.to_dict(), "matrix": _rows(matrix)})
        assert edited.mcn() == math.log2(cells)


def _rows(matrix):
    return [row[~np.isnan(row)].tolist() for row in matrix]
