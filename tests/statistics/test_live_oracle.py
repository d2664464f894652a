"""fast-mine, an independent implementation of minepy's algorithm, beside ours."""

import numpy as np
import pytest
import strategies

from dpmic.compat.minepy import MINE

pytestmark = pytest.mark.full


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("est", ["mic_approx", "mic_e"])
def test_same_scores(est, seed):
    fast_mine = pytest.importorskip("fast_mine", reason="fast-mine is not installed")
    rng = np.random.default_rng(seed)
    kind = {"mic_approx": fast_mine.EST_MIC_APPROX, "mic_e": fast_mine.EST_MIC_E}[est]
    for _ in range(10):
        x, y = strategies.pair(int(rng.integers(10, 400)), rng)
        alpha, c = float(rng.choice([0.4, 0.6, 9.0])), float(rng.choice([1, 5, 15]))
        theirs = fast_mine.mine_compute_score(
            fast_mine.MineProblem(x, y, x.size), fast_mine.MineParameter(alpha, c, kind)
        )
        ours = MINE(alpha=alpha, c=c, est=est)
        ours.compute_score(x, y)
        assert ours.mic() == pytest.approx(fast_mine.mine_mic(theirs), abs=1e-9)
        assert ours.mas() == pytest.approx(fast_mine.mine_mas(theirs), abs=1e-9)
        assert ours.mev() == pytest.approx(fast_mine.mine_mev(theirs), abs=1e-9)
        assert ours.tic() == pytest.approx(fast_mine.mine_tic(theirs, False), abs=1e-8)
