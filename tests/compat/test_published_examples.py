"""The examples that minepy and mictools print in their documentation (golden/README.md)."""

import json

import numpy as np
import pytest
from project import ROOT

from dpmic.compat.minepy import MINE, cstats, pstats

GOLDEN = ROOT / "tests" / "golden"
MINEPY = json.loads((GOLDEN / "minepy_examples.json").read_text())
MICTOOLS = json.loads((GOLDEN / "mictools_tutorial.json").read_text())


def scored(x, y):
    mine = MINE(alpha=0.6, c=15, est="mic_approx")
    mine.compute_score(x, y)
    return mine


def wave(n, pi=np.pi):
    x = np.arange(n) / (n - 1)
    return x, np.sin(10 * pi * x) + x


def assert_printed(mine, printed, digits):
    computed = {name: getattr(mine, name)() for name in printed}
    assert computed == pytest.approx(printed, abs=0.51 * 10.0**-digits)


def test_minepys_first_example():
    x, y = wave(1000)
    printed = MINEPY["python_example"]
    assert_printed(scored(x, y), printed["without noise"], 10)
    y += np.random.RandomState(0).uniform(-1, 1, x.shape[0])
    assert_printed(scored(x, y), printed["with noise"], 10)


def test_minepys_convenience_functions():
    draw = np.random.RandomState(0)
    X, Y = draw.rand(8, 320), draw.rand(4, 320)
    printed = MINEPY["python_conv_example"]
    _, tic = pstats(X, alpha=9, c=5, est="mic_e")
    assert tic == pytest.approx(np.array(printed["tic"]), abs=0.51e-8)
    mic, _ = cstats(X, Y, alpha=9, c=5, est="mic_e")
    assert mic == pytest.approx(np.array(printed["mic"]), abs=0.51e-8)


def test_minepys_c_example():
    printed = dict(MINEPY["c_example"])
    matrix = printed.pop("matrix")
    mine = scored(*wave(201, pi=3.14159265))
    assert_printed(mine, printed, 3)
    for ours, theirs in zip(mine.get_score(), matrix, strict=True):
        assert ours == pytest.approx(np.array(theirs), abs=0.51e-3)


def test_minepys_cpp_examples():
    mine = scored(*wave(1001, pi=3.14159265))
    printed = MINEPY["cpp_example"]
    assert_printed(mine, {name: printed[name] for name in ("mic", "mas", "mev")}, 6)
    assert_printed(mine, {name: printed[name] for name in ("mcn", "mcn_general")}, 5)
    assert_printed(mine, {"tic": printed["tic"]}, 4)
    assert_printed(scored([1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 3, 2, 1]), MINEPY["cpp_example2"], 6)


def ranks(names):
    return np.array([MICTOOLS["ranks"][name] for name in names])


def test_mictools_tic_of_the_first_pairs():
    """The tutorial's obs.txt; by default B = 9 and c = 5."""
    lefts, rights, printed = zip(*MICTOOLS["obs.txt"], strict=True)
    _, tic = cstats(ranks(lefts[:1]), ranks(rights), alpha=9, c=5, est="mic_e")
    assert tic[0] == pytest.approx(np.array(printed), abs=0.51e-6)


def test_mictools_strength_of_significant_pairs():
    """The tutorial's strength.txt; by default alpha = 0.75 for 142 samples, and c = 5."""
    lefts, rights, printed = zip(*MICTOOLS["strength.txt"], strict=True)
    mic, _ = cstats(ranks(lefts), ranks(rights), alpha=0.75, c=5, est="mic_e")
    assert np.diag(mic) == pytest.approx(np.array(printed), abs=0.51e-6)
