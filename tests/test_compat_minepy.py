import inspect

import numpy as np
import pytest

from dpmic.compat import minepy
from dpmic.compat.minepy import MINE, cstats, pstats
from dpmic.errors import DpmicError

X = np.linspace(0, 1, 1000)
WAVE = np.sin(10 * np.pi * X) + X


def test_the_first_example_of_minepys_documentation(capsys):
    """Printed by minepy's documentation, examples/python_example.py, "Without noise"."""
    mine = MINE(alpha=0.6, c=15, est="mic_approx")
    mine.compute_score(X, WAVE)
    printed = (mine.mic(), mine.mas(), mine.mev(), mine.mcn(0), mine.mcn_general())
    assert printed == pytest.approx((1.0, 0.726071574374, 1.0, 4.58496250072, 4.58496250072))
    assert (mine.gmic(), mine.tic()) == pytest.approx((0.779360251901, 67.6612295532))


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


def test_computed_follows_compute_score():
    mine = MINE()
    assert mine.computed() is False
    for method in ("mic", "mas", "mev", "mcn", "mcn_general", "gmic", "tic", "get_score"):
        with pytest.raises(ValueError, match="compute_score"):
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


@pytest.mark.parametrize(
    ("alpha", "B"), [(0.5, 10), (1, 100), (4, 4), (9, 9), (50.5, 50.5), (1e6, 100)]
)
def test_alpha_is_an_exponent_or_a_number_of_cells(alpha, B):
    mine = MINE(alpha=alpha)
    mine.compute_score(X[:100], WAVE[:100])
    assert len(mine.get_score()) == int(B) // 2 - 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": 0}, "alpha = 0: "),
        ({"alpha": 2}, "alpha = 2: "),
        ({"alpha": float("nan")}, "alpha = nan"),
        ({"alpha": "0.6"}, "alpha = '0.6'"),
        ({"c": 0}, "c = 0: "),
        ({"c": -1}, "c = -1: "),
        ({"est": "mic"}, "est = 'mic'.*'mic_approx' or 'mic_e'"),
    ],
)
def test_bad_options_are_value_errors(options, words):
    for call in (MINE, lambda **kw: pstats(np.eye(5), **kw)):
        with pytest.raises(ValueError, match=words) as caught:
            call(**options)
        assert isinstance(caught.value, DpmicError)


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ([1, 2, 3], [1, 2, 3], "at least 4 records"),
        ([1, 2, 3, 4], [1, 2, 3, 4, 5], "x has 4 values and y has 5"),
        ([1, 2, 3, np.nan], [1, 2, 3, 4], "x: 1 values are missing; remove"),
        ([[1, 2], [3, 4]], [1, 2, 3, 4], "x"),
    ],
)
def test_bad_data_is_refused_where_minepy_was_silent(x, y, words):
    with pytest.raises(ValueError, match=words):
        MINE().compute_score(x, y)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pstats(X), r"X has shape \(1000,\).*reshape"),
        (lambda: pstats(X.reshape(1, -1)), "X has 1 row"),
        (lambda: cstats(np.eye(5), np.eye(4)), "X has 5 samples and Y has 4"),
        (lambda: cstats(np.eye(5), np.zeros((0, 5))), "Y has no rows"),
        (lambda: pstats([[1, 2, 3, 4], [1, 2, 3]]), r"X\[1\] has 3 values"),
        (lambda: pstats([[1, 2, 3, 4], [1, 2, 3, 4, 5]]), "rows of X: their lengths differ"),
        (lambda: pstats([[2**60, 1.5, 2, 3], [1, 2, 3, 4]]), r"X\[0\] holds 1152921504606846976"),
        (lambda: pstats(np.ma.masked_less(np.eye(5), 0.5)), r"X\[0\] is a masked array"),
        (lambda: pstats(X), r"X has shape \(1000,\)"),
    ],
)
def test_bad_tables_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


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
