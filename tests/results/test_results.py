import copy
import dataclasses
import json
import math
import pickle

import numpy as np
import pytest
import strategies
from hypothesis import given
from sweeps import sweep

import dpmic


@pytest.fixture
def score(rng):
    x = rng.random(200)
    return dpmic.mice(x, np.sin(6 * x))


def test_frozen(score):
    with pytest.raises(dataclasses.FrozenInstanceError):
        score.n = 3
    with pytest.raises(ValueError, match="read-only"):
        score.matrix[0, 0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        score.grid.k = 3


def test_a_score_owns_its_matrix():
    matrix = np.array([[0.5]])
    grid = dpmic.Grid(2, 2, (0.5,), (0.5,))
    score = dpmic.Score("mice", 4, 4.0, 15, "reshef", "group", None, grid, matrix)
    matrix[0, 0] = 0.9
    assert score.mic == 0.5


@pytest.mark.parametrize("rebuild", [lambda s: pickle.loads(pickle.dumps(s)), copy.deepcopy])
def test_pickle_and_copy(score, rebuild):
    again = rebuild(score)
    assert again == score
    assert hash(again) == hash(score)
    assert not again.matrix.flags.writeable


@given(strategies.pairs())
def test_json_round_trip(xy):
    x, y = xy
    scores = (
        dpmic.mice(x, y),
        dpmic.mice(x, y, c=math.inf, ties="random", rng=0),
        dpmic.micr(x, y, bounds=((-1, 1), (0, 2)), B=12),
        dpmic.mic(x, y, c=2.5),
    )
    for score in scores:
        text = score.to_json()
        assert dpmic.Score.from_json(text) == score
        assert dpmic.Score.from_dict(score.to_dict()) == score
        assert dpmic.Score.from_dict(json.loads(json.dumps(score.to_dict()))) == score
        assert "NaN" not in text
        assert "Infinity" not in text


def test_scores_differ_when_anything_does(score):
    fields = score.to_dict()
    for change in ({"n": 3}, {"B": 7.5}, {"ties": "random"}, {"c": 3}, {"statistic": "mic"}):
        assert dpmic.Score.from_dict({**fields, **change}) != score
    assert score != 0.5


def test_no_data_in_a_score(score, rng):
    """Only cuts, which lie between values, come from the data."""
    x = np.round(rng.normal(size=100), 9)
    text = dpmic.mice(x, x**2).to_json()
    assert not any(repr(value) in text for value in x.tolist())


def test_repr_and_html(score):
    assert repr(score).startswith(f"Score(mice: mic={score.mic:.6g}, n=200, B=24.0225, c=15, grid=")
    html = score._repr_html_()
    assert f"<td>{score.mic:.4f}</td>" in html
    assert html.count("<tr>") == html.count("</tr>") == 7


def test_axes_name_the_entries(score):
    k, l = score.axes
    assert score.matrix.shape == (k.size, l.size)
    assert k[0] == l[0] == 2
    assert score.matrix[score.grid.k - 2, score.grid.l - 2] == score.mic
    allowed = k[:, None] * l <= score.B
    assert np.array_equal(allowed, ~np.isnan(score.matrix))


@pytest.mark.parametrize("eps", [-0.1, 1.1, math.nan, "a"])
def test_mcn_refuses_what_is_no_share(score, eps):
    with pytest.raises(dpmic.ParameterError, match="eps = "):
        score.mcn(eps)


def test_gmic_orders(score):
    orders = [-math.inf, -5, -1, 0, 1, 5, math.inf]
    means = [score.gmic(p) for p in orders]
    assert means == sorted(means)
    assert means[-1] == score.mic
    assert score.gmic(0) == pytest.approx(score.gmic(1e-7), abs=1e-6)
    assert score.gmic(1e-300) == score.gmic(-1e-300) == score.gmic(0)
    assert score.gmic(4000) == pytest.approx(score.gmic(math.inf), rel=1e-2)
    assert score.gmic(-4000) == pytest.approx(score.gmic(-math.inf), rel=1e-2)
    with pytest.raises(dpmic.ParameterError, match="p = nan"):
        score.gmic(math.nan)


def test_grid_counts(score, rng):
    grid = dpmic.Grid(2, 3, (0.2, 0.8), (0.5,))
    x, y = [0.1, 0.2, 0.5, 0.8, 0.9], [0.1, 0.5, 0.9, 0.4, 0.5]
    assert grid.counts(x, y).tolist() == [[1, 0, 1], [0, 2, 1]]


@pytest.mark.parametrize("given_axes", [False, True])
def test_plot(score, rng, given_axes):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    ax = pyplot.subplots()[1] if given_axes else None
    x = rng.random(200)
    drawn = score.plot(x, np.sin(6 * x), ax=ax)
    assert drawn is ax or not given_axes
    points, *lines = drawn.lines
    assert np.array_equal(points.get_xdata(), x)
    vertical = [line.get_xdata()[0] for line in lines if line.get_xdata()[0] == line.get_xdata()[1]]
    assert vertical == list(score.grid.x)
    assert len(lines) == len(score.grid.x) + len(score.grid.y)


def test_plot_without_matplotlib(score, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(dpmic.DependencyError, match=r"pip install 'dpmic\[plots\]'"):
        score.plot(np.arange(200), np.arange(200))


def test_plot_refuses_other_points(score):
    with pytest.raises(dpmic.InputError, match="4 points: this score is of 200 records"):
        score.plot([1, 2, 3, 4], [1, 2, 3, 4])


def test_plot_shows_names_as_they_are(score, rng):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import pandas as pd

    frame = pd.DataFrame({r"$\bad$": rng.random(200), "b": rng.random(200)})
    drawn = score.plot(r"$\bad$", "b", data=frame)
    drawn.figure.canvas.draw()


@sweep(
    "fields", [{}, {"matrix": []}, {"matrix": [[1, 2], [1, 2, 3]]}, {"extra": 1}, {"grid": None}]
)
def test_broken_scores_are_refused(score, fields):
    whole = score.to_dict() if fields else {}
    with pytest.raises(dpmic.InputError, match="it is not complete"):
        dpmic.Score.from_dict({**whole, **fields})
    with pytest.raises(dpmic.InputError, match="it is not JSON"):
        dpmic.Score.from_json("{")


def test_the_grid_of_equal_entries_has_the_fewest_cells():
    """A line reaches 1 on 2 x 2, and also on 2 x 6 and 6 x 2."""
    x = np.arange(64.0)
    score = dpmic.mice(x, x)
    assert np.sum(score.matrix > 1 - 1e-12) == 3
    assert (score.grid.k, score.grid.l) == (2, 2)
