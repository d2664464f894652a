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
    assert across(lines) == list(score.grid.x)
    assert len(lines) == len(score.grid.x) + len(score.grid.y)
    assert drawn.get_title(loc="left") == "x and y"


def across(lines):
    """Return where lines cut the horizontal axis."""
    places = (line.get_xdata() for line in lines)
    return [first for first, second in places if first == second]


@pytest.fixture
def waves(rng):
    x = rng.random(2000)
    return x, np.sin(50 * x)


@pytest.mark.parametrize("turned", [False, True])
def test_a_fine_grid_is_drawn_as_bands(waves, turned):
    pytest.importorskip("matplotlib").use("agg")
    x, y = waves[::-1] if turned else waves
    score = dpmic.mice(x, y)
    assert max(len(score.grid.x), len(score.grid.y)) > 20
    drawn = score.plot(x, y)
    _, *lines = drawn.lines
    assert len(lines) == min(len(score.grid.x), len(score.grid.y))
    medians = np.array([part for own in drawn.collections for part in own.get_segments()])
    medians = medians[medians[:, 0, int(not turned)] == medians[:, 1, int(not turned)]]
    assert 10 <= len(medians) <= 15
    own, other = (y, x) if turned else (x, y)
    segments = medians[:, :, int(turned)]
    cuts = np.array([-np.inf, *(score.grid.y if turned else score.grid.x), np.inf])
    begins, ends = np.r_[-np.inf, segments[:-1, 1]], np.r_[segments[1:, 0], np.inf]
    for (a, b), least, most, drawn_at in zip(
        segments, begins, ends, medians[:, 0, int(not turned)], strict=True
    ):
        inside = [
            (own >= low) & (own < high)
            for low in cuts[(cuts >= least) & (cuts <= a)]
            for high in cuts[(cuts >= b) & (cuts <= most)]
        ]
        (band,) = (i for i in inside if np.median(other[i]) == drawn_at)
        assert 1 / 30 < band.mean() < 1 / 8
    assert f"{len(medians)} bands" in drawn.texts[0].get_text()


def test_many_points_are_counted_in_hexagons_and_equal_ones_in_dots(rng):
    pytest.importorskip("matplotlib").use("agg")
    x = rng.random(6000)
    (hexagons,) = dpmic.mice(x, x, B=8).plot(x, x).collections
    assert hexagons.get_array().sum() == 6000
    few = np.repeat([0, 1, 2, 2], 100)
    (dots,) = dpmic.mice(few, few).plot(few, few).collections
    assert dots.get_offsets().tolist() == [[0, 0], [1, 1], [2, 2]]
    assert dots.get_sizes()[2] == 2 * dots.get_sizes()[0]


def test_bands_of_a_nominal_column_are_lines(rng):
    """It has no median; of a nominal column with many categories there is nothing to draw."""
    pytest.importorskip("matplotlib").use("agg")
    x = rng.random(2000)
    labels = np.where(np.sin(50 * x) > 0, "up", "down")
    score = dpmic.mice(x, labels)
    assert len(score.grid.x) > 15
    drawn = score.plot(x, labels)
    assert len(across(drawn.lines[1:])) <= 14
    assert set(across(drawn.lines[1:])) <= set(score.grid.x)
    assert "of its lines drawn" in drawn.texts[0].get_text()


def test_axes_of_dates_show_dates():
    pytest.importorskip("matplotlib").use("agg")
    dates = np.arange("2020-01-01", "2024-01-01", dtype="datetime64[D]")
    height = np.arange(dates.size) % 365.0
    box = ((dates[0], dates[-1]), (0, 365))
    private = {"epsilon": 1.0, "mechanism": "micr-geometric", "allow_noisy": True}
    for ax in (
        dpmic.mice(dates, height).plot(dates, height),
        dpmic.release(dates, height, bounds=box, **private).plot(),
    ):
        marks = [label.get_text() for label in ax.get_xticklabels()]
        assert marks == ["2020", "2021", "2022", "2023"]
        assert ax.get_xticks()[0] == 18262  # days since 1970


def test_plots_leave_the_settings_of_matplotlib_alone(score, rng):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    before = dict(matplotlib.rcParams)
    x = rng.random(200)
    drawn = score.plot(x, x)
    assert dict(matplotlib.rcParams) == before
    drawn.figure.canvas.draw()
    assert drawn.get_xticklabels()[0].get_fontsize() == 8.5
    assert not drawn.spines["top"].get_visible()


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
