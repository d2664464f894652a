import dataclasses
import json
import logging
import math
import pickle
import traceback

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from private_calls import SECRET, leaks
from sweeps import sweep

import dpmic
from dpmic import sensitivity
from dpmic._format import format_ceil
from dpmic.data import pair
from dpmic.parameters import tuned
from dpmic.privacy import CappedLaplace, MICeLaplace, MICrLaplace
from dpmic.privacy.query import padded
from dpmic.results.relation import ceiling

BOX = ((0, 1), (0, 1))
RNG = np.random.default_rng(11)
X = RNG.random(400)
Y = (X + RNG.normal(0, 0.2, 400)).clip(0, 1)
FRAME = pd.DataFrame({"age": X, "dose": Y, "who": np.repeat(np.arange(100), 4)})


@pytest.fixture
def ledger(tmp_path):
    return dpmic.Ledger(tmp_path / "people.ledger", epsilon=3.0)


def ask(**options):
    return dpmic.release("age", "dose", **{"data": FRAME, "epsilon": 1.0, "bounds": BOX, **options})


# What a release says


def test_everything_that_is_public_is_stated():
    published = ask()
    assert 0 <= published.value <= 1 == float(published) / published.value
    assert (published.n, published.names) == (400, ("age", "dose"))
    assert (published.mechanism, published.statistic) == ("capped-laplace", "mic")
    default = tuned.lookup_capped(400, 1.0)
    assert (published.parameters["cap"], published.parameters["axes"]) == (default.cap, "any")
    estimate = default.calibration.estimate(published.value, published.scale)
    assert published.estimate == pytest.approx(float(estimate), rel=1e-12)
    delta = sensitivity.micc(400, default.cap)
    assert published.sensitivity == pytest.approx(delta, rel=1e-12)
    assert published.sensitivity >= delta
    assert published.scale == pytest.approx(published.sensitivity, rel=1e-8)
    assert 0.99999 < published.epsilon <= 1


def test_the_guarantee_says_all_that_is_public():
    text = ask(epsilon=0.3, B=64, c=5, allow_noisy=True).guarantee
    assert text.count(". ") == 1
    assert text.endswith(".")
    for words in ("epsilon = 0.3:", "replacing one record", "n = 400", "B = 64", "c = 5",
                  "x bounds = [0, 1]", "age and dose", "a factor of e^0.3 = 1.35."):  # fmt: skip
        assert words in text, text


@given(st.floats(1e-6, 10))
def test_the_printed_epsilon_never_understates(epsilon):
    assert epsilon <= float(format_ceil(epsilon)) <= epsilon * 1.00002


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_the_interval_covers_the_score_as_often_as_it_says(level):
    mechanism = MICrLaplace(1.0, BOX, B=8, c=5, axes="linear", allow_noisy=True)
    exact = dpmic.micr(X[:30], Y[:30], bounds=BOX, B=8, c=5).mic
    runs = [mechanism.release(X[:30], Y[:30]) for _ in range(1500)]
    covered = np.mean([low <= exact <= high for low, high in (r.interval(level) for r in runs)])
    assert covered >= level - 5 * math.sqrt(level * (1 - level) / 1500)
    width = -2 * runs[0].scale * math.log(1 - level)
    inside = [r.interval(level) for r in runs]
    assert max(high - low for low, high in inside) <= width * 1.000001


@sweep("level", [0, 1, -0.1, math.nan, "0.95"])
def test_intervals_need_a_probability(level):
    with pytest.raises(dpmic.ParameterError, match="level = "):
        ask().interval(level)


def test_round_trips():
    published = ask()
    assert dpmic.Release.from_json(published.to_json()) == published
    assert dpmic.Release.from_dict(json.loads(json.dumps(published.to_dict()))) == published
    assert pickle.loads(pickle.dumps(published)) == published
    assert hash(pickle.loads(pickle.dumps(published))) == hash(published)
    with pytest.raises(TypeError):
        published.parameters["B"] = 4
    with pytest.raises(dpmic.InputError, match="not complete"):
        dpmic.Release.from_dict({})
    with pytest.raises(dpmic.InputError, match="not JSON"):
        dpmic.Release.from_json("{")


def test_html_escapes_names():
    frame = FRAME.rename(columns={"age": "<b>age</b>"})
    html = dpmic.release("<b>age</b>", "dose", data=frame, epsilon=1, bounds=BOX)._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;age" in html


def test_plot_draws_the_value_and_its_interval():
    pytest.importorskip("matplotlib").use("agg")
    published = ask()
    ax = published.plot()
    _, bar, point = ax.lines
    assert tuple(bar.get_xdata()) == published.interval(0.95)
    assert point.get_xdata()[0] == published.value
    value, interval, known = (text.get_text() for text in ax.texts)
    low, high = published.interval(0.95)
    digits = 3 if high - low < 0.02 else 2
    assert value == f"{published.value:.{digits}f}"
    assert interval == f"{low:.{digits}f} to {high:.{digits}f}"
    assert f"epsilon = {published.epsilon:g}" in known


def test_plot_shows_what_unrelated_columns_score_where_it_is_known():
    pytest.importorskip("matplotlib").use("agg")
    rng = np.random.default_rng(1)
    x, y = rng.random((2, 100))
    published = dpmic.release(x, y, epsilon=1, bounds=BOX)
    most = published.unrelated.most
    assert 0.05 < most < 0.4
    assert f"unrelated columns score up to {ceiling(most)}" in published.plot().get_xlabel()
    assert published.plot().patches[0].get_width() == most
    other = dpmic.release(x, y, epsilon=1, bounds=BOX, mechanism="micr-laplace", B=6, c=3)
    assert other.unrelated is None
    assert not other.plot().patches


# Mechanisms


@pytest.mark.slow
@pytest.mark.parametrize("statistic", ["mic", "mev", "tic", "mas"])
def test_the_noise_is_around_the_named_statistic(statistic):
    score = dpmic.micr(X, Y, bounds=BOX, B=60, c=5)
    exact = {"mic": score.mic, "mev": score.mev, "mas": score.mas}.get(
        statistic, score.tic(normalised=True)
    )
    mechanism = MICrLaplace(10.0, BOX, B=60, c=5, statistic=statistic, axes="linear")
    values = [mechanism.release(X, Y).value for _ in range(300)]
    scale = mechanism.setting(400).noise.scale
    assert np.median(values) == pytest.approx(exact, abs=6 * scale / math.sqrt(300))


def test_mice_breaks_ties_afresh_each_time():
    """On a constant column even the scores without noise differ from run to run."""
    mechanism = MICeLaplace(1.0)
    columns, setting = pair(np.zeros(60), np.zeros(60)), mechanism.setting(60)
    scores = {mechanism.score(columns, setting) for _ in range(40)}
    assert len(scores) > 5


def test_mice_is_the_statistic_without_ties():
    mechanism = MICeLaplace(1.0, B=40, c=5)
    x, y = RNG.permutation(400) / 1.0, RNG.permutation(400) / 1.0
    exact = dpmic.mice(x, y, B=40, c=5).mic
    assert mechanism.score(pair(x, y), mechanism.setting(400)) == exact


def test_lmax_lowers_the_noise_and_bounds_the_columns():
    wide, narrow = (MICeLaplace(1.0, B=100, lmax=lmax, allow_noisy=True) for lmax in (None, 10))
    assert narrow.setting(1000).noise.scale < 0.5 * wide.setting(1000).noise.scale
    assert narrow.setting(1000).limits.lmax == 10
    assert narrow.release(RNG.random(1000), RNG.random(1000)).parameters["lmax"] == 10


def test_rows_per_person_multiplies_the_noise():
    one, three = MICrLaplace(1.0, BOX), MICrLaplace(1.0, BOX, rows_per_person=3)
    ratio = three.setting(400).noise.scale / one.setting(400).noise.scale
    assert ratio == pytest.approx(3, rel=1e-6)
    text = three.release(X, Y).guarantee
    assert "replacing all records of one person, at most 3, changes" in text


def test_one_row_for_each_person():
    published = ask(person="who")
    assert published.n == 100
    assert published.person == "who"
    assert "replacing one person's record (who; only their first record counts) changes" in (
        published.guarantee
    )
    first = FRAME.groupby("who").first()
    grids = {"B": 20, "c": 5}
    expected = dpmic.micr(first.age, first.dose, bounds=BOX, **grids).mic
    values = [ask(person="who", epsilon=10, **grids).value for _ in range(200)]
    assert np.median(values) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("make", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "pyarrow"])
def test_people_in_other_frames(make):
    data = make(FRAME.assign(who=FRAME.who.map(str)))
    assert ask(data=data, person="who").n == 100
    assert dpmic.release(X, Y, epsilon=1, bounds=BOX, person=FRAME.who.to_numpy()).n == 100


def test_only_the_rows_that_count_are_looked_at():
    """A value outside the domain in a person's second row is nobody's business."""
    data = FRAME.assign(age=[math.nan if i % 4 else v for i, v in enumerate(FRAME.age)])
    assert ask(data=data, person="who").n == 100
    lists = {"epsilon": 1, "bounds": BOX, "person": FRAME.who.tolist()}
    assert dpmic.release(data.age.tolist(), FRAME.dose.tolist(), **lists).n == 100
    assert ask(data=pl.from_pandas(data), person="who").n == 100


@pytest.mark.parametrize("nobody", [None, math.nan, pd.NA, pd.NaT], ids=repr)
def test_rows_without_a_person_are_refused(nobody):
    data = FRAME.assign(who=pd.Series([nobody, *FRAME.who[1:]], dtype=object))
    with pytest.raises(dpmic.InputError, match="a row does not say whose it is"):
        ask(data=data, person="who")


@sweep(
    ("person", "words"),
    [
        (range(50), "it needs one value per row"),
        (range(1000), "it needs one value per row"),
        ("who", "this is a column name, but no frame was given"),
        ([[i] for i in range(400)], "its values are not names or numbers"),
        (np.zeros((400, 2)), "its values are not names or numbers"),
        (7, "person has type int"),
    ],
)
def test_what_does_not_name_people_is_refused(person, words):
    with pytest.raises(dpmic.InputError, match=words):
        dpmic.release(X, Y, epsilon=1, bounds=BOX, person=person)


@sweep(
    "column",
    [np.concatenate((Y, Y)), Y[:-1], pl.Series("dose", [*Y, 0.5]), np.stack((Y, Y), axis=1)],
    ids=["longer", "shorter", "series", "matrix"],
)
def test_people_do_not_hide_columns_that_do_not_fit(column):
    """Taken at the rows of people, a longer column would look as long as the other."""
    with pytest.raises(dpmic.InputError, match="a value for each record|one dimension"):
        dpmic.release(X, column, epsilon=1, bounds=BOX, person=FRAME.who.tolist())


def test_categories_must_not_come_from_the_records(ledger):
    """With a list taken from the records, one new label would shift the rank of all others."""
    labels = np.where(X > 0.5, "b", "c")
    inferred = pd.Categorical(labels, ordered=True)
    arrow = pa.array(labels).dictionary_encode().cast(pa.dictionary(pa.int32(), pa.string(), True))
    for column in (inferred, arrow):
        with pytest.raises(
            dpmic.InputError, match="a list fixed beforehand, or pass a polars Enum"
        ):
            dpmic.release(column, Y, epsilon=1, bounds=BOX)
    assert ledger.spent == 0
    fixed = pl.Series("label", labels, dtype=pl.Enum(["a", "b", "c"]))
    assert dpmic.release(fixed, Y, epsilon=1, bounds=((0, 2), (0, 1))).n == 400
    assert dpmic.release(X > 0.5, Y, epsilon=1, bounds=BOX).n == 400


class Stranger:
    """An array of its own kind, whose errors and length are its own too."""

    def __init__(self, values, length, error=None):
        self.values, self.length, self.error = values, length, error

    def __len__(self):
        return self.length

    def __array__(self, dtype=None, copy=None):
        if self.error:
            raise self.error
        return self.values


def test_strange_columns_say_nothing():
    options = {"epsilon": 1, "bounds": BOX}
    with pytest.raises(dpmic.InputError, match="column x: it does not have one value per record"):
        dpmic.release(Stranger(X, 10**6), Y, **options)
    secret = Stranger(X, 400, RuntimeError(f"the value is {SECRET}"))
    with pytest.raises(dpmic.InputError, match="it has missing values") as caught:
        dpmic.release(secret, Y, **options)
    assert "0.1234" not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(dpmic.InputError, match="x has type"):
        dpmic.release(iter(X), Y, **options)


def test_as_an_opendp_measurement():
    from opendp import combinators

    mechanism = MICrLaplace(0.5, BOX, allow_noisy=True)
    measurement = mechanism.to_opendp(400)
    assert 0 <= measurement((X, Y)) <= 1
    assert measurement.map(1) == pytest.approx(0.5)
    assert measurement.map(1) >= mechanism.setting(400).noise.epsilon
    assert measurement.map(3) == pytest.approx(1.5, rel=1e-6)
    assert measurement.map(0) <= 1e-6
    both = combinators.make_composition(
        [measurement, MICeLaplace(1.0, allow_noisy=True).to_opendp(400)]
    )
    assert both.map(1) == pytest.approx(1.5)
    assert len(both((X, Y))) == 2
    with pytest.raises(Exception, match="the measurement is for n = 400"):
        measurement((X[:50], Y[:50]))


@pytest.mark.parametrize(("m", "n"), [(1, 400), (3, 400), (25, 25), (1000, 30)])
def test_the_opendp_map_never_understates(m, n):
    """Also where the sensitivity of all of a person's rows is capped at 1, but not that of one."""
    from dpmic.privacy import noise

    mechanism = MICrLaplace(1.0, BOX, B=8, rows_per_person=m, allow_noisy=True)
    setting, measurement = mechanism.setting(n), mechanism.to_opendp(n)
    for rows in (1, 2, m):
        change = min(rows * sensitivity.micr(n), 1.0)
        assert measurement.map(rows) >= noise._measurement(setting.noise.scale).map(d_in=change)
    assert measurement.map(m) <= 1.0


# Refusals, before anything is spent


@sweep(
    ("options", "words"),
    [
        ({"epsilon": 0}, "epsilon = 0: epsilon must be finite and above 0"),
        ({"epsilon": -1}, "epsilon = -1"),
        ({"epsilon": math.nan}, "epsilon = nan"),
        ({"epsilon": math.inf}, "epsilon = inf"),
        ({"epsilon": 11}, "epsilon = 11: above 10 .*allow_large_epsilon=True"),
        ({"epsilon": "1"}, "epsilon = '1'"),
        ({"epsilon": None}, "epsilon = None"),
        ({"bounds": None}, "bounds = None"),
        ({"bounds": ((1, 0), (0, 1))}, "bounds of age"),
        ({"bounds": ((0, 0), (0, 1))}, "bounds of age"),
        ({"bounds": ((0, math.nan), (0, 1))}, "upper bound of age"),
        (
            {"mechanism": "laplace"},
            "mechanism = 'laplace': there is no such mechanism; pass one of 'auto'",
        ),
        ({"mechanism": "micr-geom"}, "there is no such mechanism"),
        ({"mechanism": MICrLaplace}, "there is no such mechanism"),
        ({"mechanism": MICrLaplace(1.0, BOX)}, "leave those out"),
        ({"mechanism": "mice-laplace"}, "bounds = .*mice-laplace has no such option"),
        ({"statistic": "mcn"}, "statistic = 'mcn': it has no useful sensitivity"),
        ({"statistic": "gmic"}, "statistic = 'gmic': it has no useful sensitivity"),
        ({"statistic": "pearson"}, "statistic = 'pearson'"),
        ({"bounds": None, "mechanism": "mice-laplace", "statistic": "tic"}, "statistic = 'tic'"),
        ({"bounds": None, "mechanism": "mice-laplace", "lmax": 1}, "lmax = 1"),
        ({"colour": "red"}, "colour = 'red': there is no such option"),
        ({"complet": 0.5}, "there is no such option; did you mean 'complete'"),
        ({"epsilon": None, "eps": 1}, "eps = 1: .*did you mean 'epsilon'"),
        ({"rows_per_person": 0}, "rows_per_person = 0"),
        ({"rows_per_person": 1.5}, "rows_per_person = 1.5"),
        ({"master": "minepy"}, "master = 'minepy'"),
        ({"B": 3}, "B = 3"),
        ({"c": 0}, "c = 0"),
        ({"c": math.inf}, "c = inf: the runtime would depend on the data"),
        ({"data": FRAME[:3]}, "n = 3: capped-laplace needs at least 4 records"),
        ({"data": FRAME[:5], "bounds": None, "mechanism": "mice-laplace"}, "at least 6 records"),
        ({"data": FRAME.assign(age="a")}, "age has dtype"),
        ({"person": "nobody"}, "person = 'nobody': there is no such column"),
        ({"dataset": ""}, "dataset = ''"),
        ({"dataset": " "}, "dataset = ' '"),
        ({"dataset": b"a"}, "dataset = a bytes of length 1"),
        ({"dataset": None}, "so the data needs a name; pass dataset="),
        ({"statistic": ["mic"]}, r"statistic = \['mic'\]"),
        ({"rows_per_person": 10**400}, "rows_per_person = 1000"),
        ({"epsilon": 5e-324}, "epsilon = 5e-324"),
    ],
)
def test_bad_questions_spend_nothing(ledger, options, words):
    with pytest.raises(dpmic.DpmicError, match=words):
        ask(**{"ledger": ledger, "dataset": "people", **options})
    assert ledger.spent == 0


def test_long_integers_are_refused_without_the_integer(ledger):
    with pytest.raises(dpmic.InputError) as caught:
        ask(data=FRAME.assign(age=[2**60 + i for i in range(400)]), ledger=ledger, dataset="people")
    assert "1152921504606846976" not in "".join(traceback.format_exception(caught.value))


# The ledger


def test_the_same_question_costs_once(ledger):
    first, again = ask(ledger=ledger, dataset="people"), ask(ledger=ledger, dataset="people")
    assert first == again
    assert ledger.spent == pytest.approx(1.0)
    (entry,) = ledger.history()
    assert dpmic.Release.from_json(entry.answer) == first
    assert entry.epsilon >= first.epsilon


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 0.5},
        {"bounds": ((0, 2), (0, 1))},
        {"statistic": "tic"},
        {"B": 20},
        {"c": 2},
        {"rows_per_person": 2},
        {"person": "who"},
        {"dataset": "corrected in November"},
        {"data": FRAME[:399]},
    ],
)
def test_another_question_costs_again(ledger, change):
    ask(ledger=ledger, dataset="people")
    ask(**{"ledger": ledger, "dataset": "people", "allow_noisy": True, **change})
    assert len(ledger.history()) == 2


def test_three_questions_fit_and_a_fourth_is_refused_before_data_is_read(ledger):
    for statistic in ("mic", "tic", "mev"):
        ask(ledger=ledger, dataset="people", statistic=statistic)
    unreadable = FRAME.assign(age=np.nan)
    with pytest.raises(dpmic.BudgetError, match="has spent"):
        ask(ledger=ledger, dataset="people", statistic="mas", data=unreadable)
    assert ask(ledger=ledger, dataset="people", statistic="mic") is not None


@sweep("value", [0.0, 1.0, 1 / 3, 2.0**-40, 0.1])
def test_stored_answers_of_one_kind_have_one_length(value):
    """A disk that is nearly full must not prefer short answers, such as a clipped 0."""
    one, other = (dataclasses.replace(ask(), value=v, estimate=1 - v) for v in (0.5, value))
    assert len(padded(one)) == len(padded(other))
    assert dpmic.Release.from_json(padded(other)) == other


def test_arrays_have_no_names_to_keep_an_answer_under(ledger):
    for x, y in ((X, Y), (X, FRAME.dose), (FRAME.age, Y)):
        with pytest.raises(dpmic.ParameterError, match="by column names, and arrays have none"):
            dpmic.release(x, y, epsilon=1, bounds=BOX, ledger=ledger, dataset="people")
    with pytest.raises(dpmic.ParameterError, match="it is not a Ledger"):
        ask(ledger=3, dataset="people")
    assert ledger.spent == 0


# Nothing un-noised leaves


@pytest.mark.parametrize("mechanism", ["micr-laplace", "mice-laplace"])
def test_no_output_holds_the_score(ledger, mechanism, caplog, monkeypatch):
    """The exact score, to 6 digits or as bytes, is in no output of the private path."""
    caplog.set_level(logging.DEBUG)
    kinds = {"micr-laplace": MICrLaplace, "mice-laplace": MICeLaplace}
    exact, real = [], kinds[mechanism].score
    monkeypatch.setattr(kinds[mechanism], "score", lambda *a: exact.append(real(*a)) or exact[-1])
    options = {"bounds": BOX} if mechanism == "micr-laplace" else {"bounds": None}
    options |= {"ledger": ledger, "dataset": "people", "allow_noisy": True}
    published = ask(mechanism=mechanism, epsilon=0.5, **options)
    (score,) = exact
    needles = [f"{score:.10f}"[1:], repr(score)]
    pytest.importorskip("matplotlib").use("agg")
    ax = published.plot()
    drawn = repr([line.get_data() for line in ax.lines]) + ax.get_title(loc="left")
    drawn += repr([text.get_text() for text in ax.texts]) + ax.get_xlabel()
    outputs = [
        repr(published),
        str(published),
        published.to_json(),
        published.guarantee,
        published._repr_html_(),
        str(published.interval()),
        drawn,
        caplog.text,
        repr(ledger),
        str(ledger.history()),
        repr(vars(published)),
    ]
    for output in outputs:
        assert not any(needle in output for needle in needles)
    packed = np.float64(score).tobytes()
    for binary in (pickle.dumps(published), ledger.path.read_bytes()):
        assert packed not in binary
        assert packed[::-1] not in binary
        assert not any(needle.encode() in binary for needle in needles)


BREAKS = {
    "opendp": ("dpmic.privacy.noise._measurement", RuntimeError),
    "interrupt": ("dpmic.privacy.noise._measurement", KeyboardInterrupt),
    "json": ("dpmic.results.Release.to_json", ValueError),
    "commit": ("dpmic.Ledger.draw_once", dpmic.LedgerError),
}


@pytest.mark.parametrize(
    ("broken", "with_ledger"),
    [("opendp", False), ("interrupt", False), *((broken, True) for broken in BREAKS)],
)
def test_a_failure_inside_shows_no_score(ledger, monkeypatch, broken, with_ledger):
    """Whatever breaks after the score is known, nothing that the error reaches holds it."""
    place, kind = BREAKS[broken]
    real = CappedLaplace.setting

    def failing(*_, **__):
        raise kind(*(["a", "b", "c"] if kind is dpmic.LedgerError else ["broken"]))

    def setting_then_break(*arguments):
        setting = real(*arguments)  # calibrated while everything still works
        monkeypatch.setattr(place, failing)
        return setting

    monkeypatch.setattr(CappedLaplace, "setting", setting_then_break)
    monkeypatch.setattr(CappedLaplace, "score", lambda *_: SECRET)
    with pytest.raises(kind) as caught:
        ask(**({"ledger": ledger, "dataset": "people"} if with_ledger else {}))
    assert not leaks(caught.value)
    assert ledger.spent == pytest.approx(1 if with_ledger else 0)
