"""The noisy histogram: its noise, its consistency, its statistics, and what it never shows."""

import dataclasses
import itertools
import json
import logging
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from project import ROOT, SURE
from scipy import stats
from sweeps import sweep

import dpmic
from dpmic.data import pair
from dpmic.parameters import tuned
from dpmic.parameters.tuned import Calibration
from dpmic.privacy import MICrGeometric, _geometric, noise
from dpmic.privacy.audit import _worst_case
from dpmic.privacy.query import padded
from dpmic.privacy.release import MECHANISMS
from dpmic.statistics.records import cell_counts, largest_first

BOX = ((0, 1), (0, 1))
RNG = np.random.default_rng(12)
X = RNG.random(400)
Y = (X + RNG.normal(0, 0.1, 400)).clip(0, 1)
FRAME = pd.DataFrame({"age": X, "dose": Y, "who": np.repeat(np.arange(100), 4)})
NO_NOISE = {"epsilon": 1e6, "allow_large_epsilon": True}


@pytest.fixture
def ledger(tmp_path):
    return dpmic.Ledger(tmp_path / "people.ledger", epsilon=3.0)


def ask(**options):
    options = {"data": FRAME, "epsilon": 1.0, "bounds": BOX, "allow_noisy": True, **options}
    return dpmic.release("age", "dose", mechanism="micr-geometric", **options)


def cells(values, m):
    """The number of each value's cell in [0, 1]."""
    return np.minimum(np.floor(np.clip(values, 0, 1) * m), m - 1)


# The noise


def fits(drawn, scale):
    """The probability of a chi-square as large as that of these draws, if P ~ exp(-|z|/scale)."""
    a, edge = math.exp(-1 / scale), 8
    z = np.arange(-edge + 1, edge)
    inner = (1 - a) / (1 + a) * a ** np.abs(z)
    outer = a**edge / (1 + a)
    clamped = np.clip(drawn, -edge, edge)
    seen = [np.sum(clamped == value) for value in range(-edge, edge + 1)]
    expected = np.concatenate(([outer], inner, [outer])) * drawn.size
    return stats.chisquare(seen, expected).pvalue


def test_the_noise_has_the_distribution_of_the_proof():
    """Two-sided geometric of scale 2 / epsilon; a tenth more or less would be seen."""
    mechanism = MICrGeometric(1.0, BOX, m=40, B=4)
    setting = mechanism.setting(100_000)
    exact = np.full((40, 40), 1000)
    drawn = np.concatenate([(mechanism.draw(exact, setting) - exact).ravel() for _ in range(40)])
    assert fits(drawn, 2.0) > 1e-6
    assert fits(drawn, 1.8) < 1e-9
    assert fits(drawn, 2.2) < 1e-9


def test_counts_are_clamped_to_what_n_records_allow():
    mechanism = MICrGeometric(1.0, BOX, m=2, B=4)
    drawn = np.array(
        [mechanism.draw(np.array([[4, 0], [0, 0]]), mechanism.setting(4)) for _ in range(400)]
    )
    assert drawn.min() == 0
    assert drawn.max() == 4
    a = math.exp(-1 / 2)
    for place, edge in (((0, 0), 4), ((1, 1), 0)):
        assert np.mean(drawn[:, *place] == edge) == pytest.approx(1 / (1 + a), abs=0.13)


@sweep(("rows", "n", "changed"), [(1, 400, 2), (3, 400, 6), (1000, 30, 60)])
@sweep("epsilon", [0.1, 1.0, 7.0])
def test_what_is_charged_is_what_opendp_proves(rows, n, changed, epsilon):
    setting = MICrGeometric(epsilon, BOX, rows_per_person=rows).setting(n)
    assert (setting.one_row, setting.sensitivity) == (2, changed)
    assert setting.noise.scale == pytest.approx(changed / epsilon, rel=1e-8)
    assert setting.noise.scale >= changed / epsilon
    assert setting.noise.loss(changed) == setting.noise.epsilon <= epsilon


@given(st.data())
def test_a_replaced_record_changes_two_counts_by_one(data):
    """Also outside of the bounds, and on their edges."""
    values = st.floats(-2, 3) | st.sampled_from([0, 0.25, 0.5, 1])
    points = data.draw(st.lists(st.tuples(values, values), min_size=4, max_size=12))
    m = data.draw(st.integers(2, 9))
    other = [*points]
    other[data.draw(st.integers(0, len(points) - 1))] = data.draw(st.tuples(values, values))
    first, second = (cell_counts(*np.array(p, float).T, BOX, m) for p in (points, other))
    assert first.sum() == second.sum() == len(points)
    assert np.abs(first - second).sum() in (0, 2)
    assert np.abs(first - second).max() <= 1


# Consistent counts


tables = st.lists(st.integers(0, 9), min_size=4, max_size=6).map(np.array)


@given(tables, st.integers(1, 60))
def test_consistent_counts_add_up_to_n(counts, n):
    found = largest_first(counts, n)
    assert found.sum() == n
    assert found.min() >= 0
    assert np.array_equal(largest_first(found, n), found)


@given(tables, st.integers(1, 60))
def test_of_too_many_the_fewest_cells_are_kept(counts, n):
    found, surplus = largest_first(counts, n), counts.sum() > n
    if surplus:
        assert np.all(found <= counts)
        falling = np.sort(counts)[::-1]
        fewest = np.searchsorted(np.cumsum(falling), n) + 1
        tied = np.sum(counts == falling[fewest - 1])
        assert np.sum(found > 0) <= fewest + tied - 1
        assert np.array_equal(
            found[counts > falling[fewest - 1]], counts[counts > falling[fewest - 1]]
        )
        assert not found[counts < falling[fewest - 1]].any()


@given(tables, st.integers(1, 60))
def test_of_too_few_the_nearest_table_is_taken(counts, n):
    """Distances are convex and separate, so no exchange of one record may be an improvement."""
    if counts.sum() > n:
        return
    found = largest_first(counts, n)
    for i, j in itertools.permutations(range(counts.size), 2):
        other = found.copy()
        other[i], other[j] = other[i] - 1, other[j] + 1
        if other[i] >= 0:
            assert np.sum((other - counts) ** 2) >= np.sum((found - counts) ** 2)


def test_by_hand():
    assert largest_first(np.array([[9, 1], [4, 2]]), 14).tolist() == [[9, 0], [4, 1]]
    assert largest_first(np.array([[5, 5], [5, 0]]), 7).tolist() == [[3, 2], [2, 0]]
    assert largest_first(np.zeros((2, 2), int), 6).tolist() == [[2, 2], [1, 1]]


# The statistics


@sweep(("m", "B"), [(2, 4), (3, 6), (8, 16), (12, 24), (24, 40)])
def test_without_noise_they_are_those_of_mice_on_the_cells(m, B):
    released = ask(m=m, B=B, **NO_NOISE)
    exact = dpmic.mice(cells(X, m), cells(Y, m), B=B, c=math.inf)
    assert np.array_equal(released.matrix, exact.matrix, equal_nan=True)
    assert (released.mic, released.mas, released.mev) == (exact.mic, exact.mas, exact.mev)
    assert (released.mcn(), released.mcn_general()) == (exact.mcn(), exact.mcn_general())
    assert (released.tic(), released.gmic()) == (exact.tic(), exact.gmic())
    assert released.tic(normalised=True) == exact.tic(normalised=True)
    assert (released.gmic(0.5), released.mcn(0.3)) == (exact.gmic(0.5), exact.mcn(0.3))
    counts = np.zeros((m, m), int)
    np.add.at(counts, (cells(Y, m).astype(int), cells(X, m).astype(int)), 1)
    assert np.array_equal(released.histogram, counts)
    assert released.noisy_counts == released.histogram


@pytest.mark.parametrize("y", [Y, 1 - X, RNG.random(400)], ids=["rising", "falling", "noise"])
def test_without_noise_two_by_two_cells_are_those_of_micr(y):
    """The one grid that both may use; of more cells MICr takes equal widths, MICe equal masses."""
    released = MICrGeometric(bounds=BOX, m=2, B=4, **NO_NOISE).release(X, y)
    assert released.value == dpmic.micr(X, y, bounds=BOX, B=4, c=1).mic


@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_all_follows_from_the_noisy_counts(epsilon):
    """Whoever has the published table can compute the rest."""
    released = ask(epsilon=epsilon, m=9, B=18)
    noisy = np.array(released.noisy_counts)
    assert np.array_equal(largest_first(noisy.T, 400).T, released.histogram)
    rows, columns = np.nonzero(released.histogram)
    times = np.array(released.histogram)[rows, columns]
    score = dpmic.mice(np.repeat(columns, times), np.repeat(rows, times), B=18, c=math.inf)
    assert released.value == score.mic
    assert np.array_equal(released.matrix, score.matrix, equal_nan=True)


def test_rows_follow_y_and_columns_x():
    x, y = np.full(50, 0.9), np.full(50, 0.1)
    released = MICrGeometric(bounds=((0, 1), (0, 2)), m=4, B=4, **NO_NOISE).release(x, y)
    assert released.histogram[0][3] == 50
    assert released.x_edges == (0, 0.25, 0.5, 0.75, 1)
    assert released.y_edges == (0, 0.5, 1, 1.5, 2)
    frame = released.to_frame("pandas")
    (row,) = frame[frame["count"] > 0].to_dict("records")
    assert row == {
        "x_low": 0.75,
        "x_high": 1.0,
        "y_low": 0.0,
        "y_high": 0.5,
        "count": 50,
        "noisy_count": 50,
    }
    assert len(frame) == 16


def test_defaults_are_tuned_and_the_estimate_is_calibrated():
    released, default = ask(), tuned.lookup_histogram(400, 1.0)
    assert (released.parameters["m"], released.parameters["B"]) == (default.m, default.B)
    assert released.m == default.m
    expected = default.calibration.estimate(released.value, 0.0)
    assert released.estimate == pytest.approx(float(expected), rel=1e-12)
    setting = MICrGeometric(1.0, BOX, rows_per_person=10).setting(400)
    assert setting.m == tuned.lookup_histogram(400, 0.1).m
    for own in ({"m": default.m}, {"B": default.B}):
        assert MICrGeometric(1.0, BOX, **own).setting(400).calibration == Calibration()


@sweep("n", [4, 25, 700, 50_000, 10**7])
@sweep("epsilon", [1e-9, 0.02, 0.5, 2.0, 10.0])
def test_the_table_holds_something_for_every_question(n, epsilon):
    setting = MICrGeometric(epsilon, BOX).setting(n)
    assert 2 <= setting.m <= _geometric.MOST_PARTS
    assert setting.limits.B >= 4
    assert setting.calibration.low < setting.calibration.high
    assert np.all(np.diff(setting.calibration.estimate(np.linspace(0, 1, 9), 0.0)) >= 0)


def test_the_guide_says_what_the_table_holds():
    """Errors beside those of micr-laplace, and m, to the printed digits."""
    rows = {(r["mechanism"], r["n"], r["epsilon"]): r for r in tuned._stored()["rows"]}
    text = (ROOT / "docs/guides/noisy-histogram.md").read_text()
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    seen = 0
    for at, head in enumerate(lines):
        if not head or not head[0].startswith("epsilon = "):
            continue
        epsilon = float(head[0].removeprefix("epsilon = "))
        for label, *cells_ in lines[at + 2 : at + 6]:
            name, _, what = label.replace("`", "").partition(", ")
            for n, cell in zip(
                (int(n.removeprefix("n = ")) for n in head[1:]), cells_, strict=True
            ):
                row = rows["micr-geometric" if what == "m" else name, n, epsilon]
                expected = str(row["m"]) if what == "m" else f"{row[f'wsum_{what}']:.3f}"
                assert cell == expected, (label, n)
                seen += 1
    assert seen == 48


def test_entries_of_the_table_are_sound():
    for row in tuned._stored()["rows"]:
        if row["mechanism"] == "micr-geometric":
            assert 4 <= row["B"] <= row["m"] ** 2
            assert row["low"] < row["high"]
            assert row["spread"] >= 0
            assert 0 < row["wsum_estimate"] <= row["wsum_value"]
            assert row["wsum_estimate"] < 0.25  # that of the constant 0.5
    errors = [
        tuned._entries()["micr-geometric", n, 1.0]["wsum_estimate"] for n in (250, 1000, 5000)
    ]
    assert errors[1] < 0.09 < errors[0]
    assert errors[2] < 0.04


def test_dependence_is_told_from_independence():
    strong, none = (
        [dpmic.release(x, y, epsilon=1, bounds=BOX, mechanism="micr-geometric") for _ in range(5)]
        for x, y in ((np.tile(X, 10), np.tile(X, 10)), (np.tile(X, 10), RNG.random(4000)))
    )
    assert min(r.estimate for r in strong) > 0.8
    assert max(r.estimate for r in none) < 0.2


# Extremes


@sweep(
    ("x", "y"),
    [
        (np.zeros(4), np.zeros(4)),
        (np.arange(4) / 4, np.arange(4) / 4),
        (np.full(100, 0.3), np.full(100, 0.7)),
        (np.full(100, 1e300), np.full(100, -1e300)),
        (X, np.full(400, 0.5)),
    ],
    ids=["four in a corner", "four", "one cell", "all clamped", "one constant"],
)
@sweep("epsilon", [1e-9, 0.3, 10])
def test_extreme_data(x, y, epsilon):
    options = {"mechanism": "micr-geometric", "allow_noisy": True}
    released = dpmic.release(x, y, epsilon=epsilon, bounds=BOX, **options)
    assert np.sum(released.histogram) == x.size
    assert 0 <= released.value <= 1
    assert 0 <= released.estimate <= 1
    for statistic in (released.mas, released.mev, released.mcn(), released.tic(), released.gmic()):
        assert math.isfinite(statistic)
    assert dpmic.Release.from_json(released.to_json()) == released


def test_without_noise_constants_score_nothing():
    released = MICrGeometric(bounds=BOX, m=6, B=12, **NO_NOISE).release(X, np.full(400, 0.5))
    assert (released.mic, released.mas, released.tic(), released.mcn()) == (0, 0, 0, 2)


def test_a_fine_histogram():
    released = MICrGeometric(1.0, BOX, m=_geometric.MOST_PARTS, B=4).release(X, Y)
    assert np.shape(released.histogram) == (256, 256)
    assert np.sum(released.histogram) == 400


# What a release says


def test_the_guarantee_covers_the_table_and_its_statistics():
    text = ask(epsilon=0.3, m=8, B=16, rows_per_person=2).guarantee
    for words in ("This histogram of age and dose, with everything computed from it, is",
                  "epsilon = 0.3:", "at most 2, changes", "n = 400", "m = 8", "B = 16",
                  "x bounds = [0, 1]"):  # fmt: skip
        assert words in text, text
    assert "replacing one person's record (who;" in ask(person="who").guarantee


def test_no_interval_is_invented():
    with pytest.raises(dpmic.ParameterError, match="no simple interval.*auto"):
        ask().interval()


def test_round_trips():
    released = ask()
    assert isinstance(released, dpmic.HistogramRelease)
    for again in (
        dpmic.Release.from_json(released.to_json()),
        dpmic.HistogramRelease.from_json(released.to_json()),
        dpmic.Release.from_dict(json.loads(json.dumps(released.to_dict()))),
        pickle.loads(pickle.dumps(released)),
    ):
        assert type(again) is dpmic.HistogramRelease
        assert again == released
        assert hash(again) == hash(released)
    with pytest.raises(dataclasses.FrozenInstanceError):
        released.histogram = ()


@sweep(
    "change",
    [
        {"noisy_counts": [[0, 1], [2, 3]]},
        {"noisy_counts": [[0.5] * 6] * 6},
        {"noisy_counts": [[401] * 6] * 6},
        {"noisy_counts": [[-1] * 6] * 6},
        {"histogram": [[1] * 6] * 6},
        {"histogram": "abc"},
        {"x_edges": [0, 1]},
        {"entries": [[0.5]]},
        {"value": 1.5},
    ],
    ids=str,
)
def test_what_cannot_be_is_not_read(change):
    known = ask(m=6, B=12).to_dict()
    with pytest.raises(dpmic.InputError, match="not complete"):
        dpmic.Release.from_dict({**known, **change})


def test_it_prints_itself_shortly():
    released = ask()
    assert repr(released).startswith("HistogramRelease('age' and 'dose': ")
    assert len(repr(released)) < 150
    frame = FRAME.rename(columns={"age": "<b>age</b>"})
    html = dpmic.release("<b>age</b>", "dose", data=frame, epsilon=1, bounds=BOX,
                         mechanism="micr-geometric")._repr_html_()  # fmt: skip
    assert "<b>" not in html
    assert "&lt;b&gt;age" in html


def test_plot_draws_the_table_in_the_units_of_the_data():
    pytest.importorskip("matplotlib").use("agg")
    frame = FRAME.rename(columns={"age": "$age$"})
    released = dpmic.release("$age$", "dose", data=frame, epsilon=1, bounds=((0, 3), (-1, 1)),
                             mechanism="micr-geometric", m=6)  # fmt: skip
    ax = released.plot()
    (mesh,) = ax.collections
    assert np.array_equal(mesh.get_array().reshape(6, 6), released.histogram)
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 3), (-1, 1))
    assert (ax.get_xlabel(), ax.get_ylabel()) == (r"\$age\$", "dose")
    assert ax.get_title(loc="left") == r"\$age\$ and dose"
    (known,) = (text.get_text() for text in ax.texts)
    assert f"MIC of the noisy counts = {released.value:.3f}" in known
    assert "epsilon = 1" in known


# The ledger


def test_the_same_question_costs_once(ledger):
    first, again = ask(ledger=ledger, dataset="people"), ask(ledger=ledger, dataset="people")
    assert type(again) is dpmic.HistogramRelease
    assert first == again
    (entry,) = ledger.history()
    assert entry.epsilon == pytest.approx(first.epsilon) == pytest.approx(1.0)
    assert dpmic.Release.from_json(entry.answer) == first
    ask(ledger=ledger, dataset="people", m=5)
    ask(ledger=ledger, dataset="people", B=9)
    assert ledger.spent == pytest.approx(3.0)
    with pytest.raises(dpmic.BudgetError, match="has spent"):
        ask(ledger=ledger, dataset="people", m=7, data=FRAME.assign(age=np.nan))


def test_stored_answers_of_one_kind_have_one_length():
    """A disk that is nearly full must not prefer short answers, such as empty cells."""
    dependent = {len(padded(ask(epsilon=e, m=6, B=12))) for e in (0.1, 0.1, 0.1, 0.1)}
    other = FRAME.assign(age=0.5, dose=0.5)
    constant = {len(padded(ask(epsilon=0.1, m=6, B=12, data=other))) for _ in range(4)}
    assert len(dependent | constant) == 1
    released = ask(m=6, B=12)
    assert dpmic.Release.from_json(padded(released)) == released


@sweep(
    ("options", "words"),
    [
        ({"epsilon": 0}, "epsilon = 0"),
        ({"epsilon": 11}, "allow_large_epsilon"),
        ({"epsilon": None}, "epsilon = None"),
        ({"bounds": None}, "bounds = None"),
        ({"bounds": ((1, 0), (0, 1))}, "bounds of age"),
        ({"m": 1}, "m = 1"),
        ({"m": 257}, "m = 257: it is too large"),
        ({"m": 2.5}, "m = 2.5"),
        ({"B": 3}, "B = 3"),
        ({"B": "many"}, "B = 'many'"),
        ({"c": 5}, "c = 5: micr-geometric has no such option"),
        ({"statistic": "mic"}, "micr-geometric has no such option"),
        ({"rows_per_person": 0}, "rows_per_person = 0"),
        ({"data": FRAME[:3]}, "micr-geometric needs at least 4 records"),
        (
            {"data": FRAME.assign(age=[math.nan, *X[1:]])},
            "it has missing values",
        ),
        ({"data": FRAME.assign(age="a")}, "age has dtype"),
    ],
)
def test_bad_questions_spend_nothing(ledger, options, words):
    with pytest.raises(dpmic.DpmicError, match=words):
        ask(ledger=ledger, dataset="people", **options)
    assert ledger.spent == 0


# Nothing un-noised leaves, and nothing is drawn twice


def test_no_output_holds_the_counts(ledger, caplog, monkeypatch):
    caplog.set_level(logging.DEBUG)
    exact, real = [], MICrGeometric.score
    monkeypatch.setattr(MICrGeometric, "score", lambda *a: exact.append(real(*a)) or exact[-1])
    released = ask(ledger=ledger, dataset="people", epsilon=0.05, m=8, B=16)
    (counts,) = exact
    assert not np.array_equal(counts.T, released.noisy_counts)
    pytest.importorskip("matplotlib").use("agg")
    (mesh,) = released.plot().collections
    assert np.array_equal(mesh.get_array().reshape(8, 8), released.histogram)
    # Eight exact counts in a row, three of them no zeros, do not survive noise of scale 40.
    texts = [released.to_json(), repr(vars(released)), caplog.text, str(ledger.history()),
             released._repr_html_(), released.guarantee, repr(released)]  # fmt: skip
    for table in (counts, counts.T):
        rows = [row for row in table if np.count_nonzero(row) >= 3]
        assert len(rows) >= 4
        for row in rows:
            assert not any(str(row.tolist())[1:-1] in text for text in texts)
        for binary in (pickle.dumps(released), ledger.path.read_bytes()):
            assert table.tobytes() not in binary
            assert str(rows[0].tolist())[1:-1].encode() not in binary


def test_noise_is_drawn_once_for_all_cells_and_after_the_spend(ledger, monkeypatch):
    """MICr-Geom as published draws anew for every grid, and keeps no epsilon for that."""
    seen, add = [], noise.Geometric.add

    def spy(self, counts):
        seen.append((len(counts), self.scale))
        return add(self, counts)

    monkeypatch.setattr(noise.Geometric, "add", spy)
    monkeypatch.setattr(noise.Laplace, "add", None)
    released = ask(ledger=ledger, dataset="people", m=7, B=40)
    assert seen == [(49, released.scale)]
    assert released.scale >= 2 / released.epsilon * (1 - 1e-12)
    ask(ledger=ledger, dataset="people", m=7, B=40)
    assert len(seen) == 1


def test_the_published_mechanism_cannot_be_reached():
    ours = {"auto", "capped-laplace", "mice-laplace", "micr-geometric", "micr-laplace"}
    assert {"auto", *MECHANISMS} == ours
    for name in ("micr-geom", "MICr-Geom", "geometric"):
        with pytest.raises(dpmic.ParameterError, match="there is no such mechanism"):
            dpmic.release(X, Y, epsilon=1, bounds=BOX, mechanism=name)
    assert not [name for name in vars(dpmic.privacy) if "publish" in name.lower()]


def test_an_object_does_the_same():
    mechanism = MICrGeometric(1.0, BOX, m=8)
    assert mechanism.release("age", "dose", data=FRAME).m == 8
    assert dpmic.release("age", "dose", data=FRAME, mechanism=mechanism).m == 8


def test_as_an_opendp_measurement():
    mechanism = MICrGeometric(0.5, BOX, m=3, B=6, allow_noisy=True)
    measurement = mechanism.to_opendp(400)
    counts = measurement((X, Y))
    assert len(counts) == 9
    assert all(0 <= count <= 400 for count in counts)
    assert measurement.map(1) == mechanism.setting(400).noise.epsilon == pytest.approx(0.5)
    assert measurement.map(3) == pytest.approx(1.5, rel=1e-6)
    with pytest.raises(Exception, match="the measurement is for n = 400"):
        measurement((X[:50], Y[:50]))


def test_opendp_gets_the_counts_column_by_column():
    measurement = MICrGeometric(bounds=BOX, m=2, B=4, **NO_NOISE).to_opendp(4)
    x, y = np.array([0.1, 0.1, 0.1, 0.9]), np.array([0.1, 0.9, 0.9, 0.1])
    assert measurement((x, y)) == [1, 2, 1, 0]


# The audit


class Weakened:
    """The mechanism with a share of its noise, seen through the two counts that change."""

    name = "weakened"

    def __init__(self, mechanism, share):
        self.epsilon, self._mechanism, self._share = mechanism.epsilon, mechanism, share

    def draws(self, x, y, runs):
        setting = self._mechanism.setting(x.size)
        weak = dataclasses.replace(
            setting, noise=noise.Geometric(setting.noise.scale * self._share, math.nan)
        )
        counts = self._mechanism.score(pair(x, y), setting)
        drawn = (self._mechanism.draw(counts, weak) for _ in range(runs))
        return np.array([table[0, 0] - table[-1, -1] for table in drawn], float)


class OneCount(Weakened):
    """All of its noise, seen through one count."""

    def draws(self, x, y, runs):
        setting = self._mechanism.setting(x.size)
        counts = self._mechanism.score(pair(x, y), setting)
        return np.array([self._mechanism.draw(counts, setting)[0, 0] for _ in range(runs)], float)


@pytest.mark.slow
def test_a_quick_audit():
    bound = dpmic.audit(MICrGeometric(1.0, BOX, m=2, B=4), runs=10_000, confidence=SURE)
    assert not bound.disproved
    assert 0.5 < bound.lower <= bound.claimed == 1.0
    assert "noisy counts" in bound.event


def test_the_attack_changes_all_that_one_person_can_change():
    mechanism = MICrGeometric(1.0, BOX, m=3, B=4, rows_per_person=2)
    setting = mechanism.setting(25)
    first, second = (mechanism.score(pair(*p), setting) for p in _worst_case(mechanism, 25))
    assert np.abs(first - second).sum() == setting.sensitivity == 4


@pytest.mark.full
@pytest.mark.parametrize(
    ("epsilon", "rows"), [(1.0, 1), (3.0, 1), (1.0, 2)], ids=["1", "3", "two rows"]
)
def test_it_stays_below_its_epsilon(epsilon, rows):
    """And comes close: the likelihood ratio of the two counts reaches epsilon exactly."""
    mechanism = MICrGeometric(epsilon, BOX, m=2, B=4, rows_per_person=rows)
    bound = dpmic.audit(mechanism, runs=150_000, confidence=SURE)
    assert not bound.disproved, bound
    assert bound.lower > 0.85 * epsilon, bound


@pytest.mark.full
def test_one_count_tells_half():
    """By itself a count changes by one of the two, so the attack above needs both."""
    mechanism = MICrGeometric(1.0, BOX, m=2, B=4)
    neighbours = _worst_case(mechanism, 25)
    attacked = OneCount(mechanism, 1)
    bound = dpmic.audit(attacked, neighbours=neighbours, runs=100_000, confidence=SURE)
    assert 0.2 < bound.lower < 0.5


@pytest.mark.full
def test_weaker_noise_is_caught():
    mechanism = MICrGeometric(1.0, BOX, m=2, B=4)
    neighbours = _worst_case(mechanism, 25)
    bound = dpmic.audit(Weakened(mechanism, 0.85), neighbours=neighbours, runs=100_000)
    assert bound.lower > 1.0
    assert bound.disproved


def test_outside_of_the_tuned_epsilons_n_epsilon_counts():
    """Noise in counts depends on n epsilon alone; more epsilon is worth three times n at most."""
    assert tuned.lookup_histogram(10_000, 0.05) == tuned.lookup_histogram(5_000, 0.1)
    assert tuned.lookup_histogram(1_000, 6.0) == tuned.lookup_histogram(2_000, 3.0)
    assert tuned.lookup_histogram(100, 1e6) == tuned.lookup_histogram(300, 3.0)
