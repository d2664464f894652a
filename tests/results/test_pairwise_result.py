"""What the scores of many pairs say: names, places, orders, frames and pictures."""

import copy
import dataclasses
import itertools
import json
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sweeps import sweep

import dpmic
from dpmic.results import Pairwise
from dpmic.results.pairwise import strongest

NAMES = ("age", "dose", "pulse", "height")
OPTIONS = {"B": 24.0225, "c": 15, "master": "reshef", "bounds": {"age": (0, 1)}}
MIC = (0.25, 0.5, 0.125, 0.5, 0.75, 0.0)


def one(**fields):
    given_fields = {"statistic": "mice", "names": NAMES, "n": 200, "parameters": OPTIONS}
    return Pairwise(**{**given_fields, "mic": MIC, **fields})


def two(**fields):
    return one(**{"names": ("a", "b"), "others": ("b", "c", "d"), **fields})


def full():
    return one(
        tic=np.arange(6.0),
        records=[200, 199, 198, 4, 3, 200],
        pvalues=(0.01, 0.002, 0.9, 0.002, 0.04, 1.0),
        permutations=999,
    )


RESULTS = {
    "one": one(),
    "two": two(),
    "full": full(),
    "gaps": one(mic=[0.5, math.nan, *MIC[2:]], pvalues=[0.5, math.nan, 0, 1, 1, 1]),
    "infinite": one(parameters={"c": math.inf, "B": 8}),
    "smallest": one(names=("a", "b"), mic=[0.5]),
    "smallest of two": two(names=("a",), others=("a",), mic=[0.5]),
}


# Places


@given(st.integers(2, 40))
def test_the_pairs_of_one_table(m):
    result = one(names=[f"v{i}" for i in range(m)], mic=np.arange(m * (m - 1) // 2))
    assert result.pairs == tuple(itertools.combinations(result.names, 2))
    matrix = result.matrix
    assert np.array_equal(matrix[np.triu_indices(m, 1)], result.mic)
    assert np.array_equal(matrix, matrix.T, equal_nan=True)
    assert np.array_equal(np.isnan(matrix), np.eye(m, dtype=bool))
    x, y = result._pairing.places(np.arange(result.mic.size))
    assert np.array_equal([x, y], np.triu_indices(m, 1))


@given(st.integers(1, 8), st.integers(1, 8))
def test_the_pairs_of_two_tables(m, o):
    names, others = [f"v{i}" for i in range(m)], [f"w{i}" for i in range(o)]
    result = two(names=names, others=others, mic=np.arange(m * o))
    assert result.pairs == tuple(itertools.product(names, others))
    assert np.array_equal(result.matrix, np.arange(m * o).reshape(m, o))
    for (x, y), score in zip(result.pairs, result.mic, strict=True):
        assert result.value(x, y) == score
    frame = result.to_frame("pandas")
    assert list(zip(frame.x, frame.y, frame.mic, strict=True)) == list(result.top(100)[::-1])


def test_value_in_either_order():
    for (x, y), score in zip(one().pairs, MIC, strict=True):
        assert one().value(x, y) == one().value(y, x) == score
    assert type(one().value("age", "dose")) is float
    assert two().value("b", "b") == MIC[3]


@sweep(
    ("result", "pair", "words"),
    [
        (one(), ("agee", "dose"), "x = 'agee': there is no such column; did you mean 'age'"),
        (one(), ("dose", "zzz"), "y = 'zzz': .* the columns are 'age', 'dose', 'pulse', 'height'."),
        (one(), ("age", "age"), "'age', 'age': a column with itself is not a pair"),
        (two(), ("c", "b"), "x = 'c'.* the columns are 'a', 'b'"),
        (two(), ("a", "a"), "y = 'a'.* the columns are 'b', 'c', 'd'"),
        (one(names=("0", "1"), mic=[1]), (0, 2), "y = 2: .* the columns are '0', '1'"),
        (one(names=map(str, range(12)), mic=[0] * 66), ("x", "1"), "'9', \\.\\.\\."),
    ],
)
def test_no_such_pair(result, pair, words):
    with pytest.raises(dpmic.InputError, match=words):
        result.value(*pair)


def test_the_matrix_is_the_callers_own():
    for result in (one(), two()):
        result.matrix[0, 1] = 9
        assert result.mic.max() < 1


# Orders


def test_top_keeps_the_order_of_equal_scores():
    assert one().top(3) == (
        ("dose", "height", 0.75),
        ("age", "pulse", 0.5),
        ("dose", "pulse", 0.5),
    )
    assert one().top(2)[1] == ("age", "pulse", 0.5)
    assert [row[2] for row in one().top(100)] == sorted(MIC, reverse=True)
    for k in (0, 1.5, True, "3"):
        with pytest.raises(dpmic.ParameterError, match="k = "):
            one().top(k)


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, math.nan]), max_size=30), st.integers(1, 40))
def test_largest_is_the_head_of_a_stable_sort(values, k):
    known = [i for i, value in enumerate(values) if not math.isnan(value)]
    expected = sorted(known, key=lambda i: -values[i])[:k]
    assert strongest(np.array(values), k).tolist() == expected


def test_q_values_are_those_of_benjamini_and_hochberg():
    result = full()
    expected = stats.false_discovery_control(result.pvalues)
    assert np.array_equal(result.qvalues, expected)
    assert not result.qvalues.flags.writeable
    gaps = RESULTS["gaps"].qvalues
    assert np.isnan(gaps).tolist() == [False, True, False, False, False, False]
    assert gaps[0] == pytest.approx(1.0)  # 5 tests, not 6
    assert gaps[2] == 0
    with pytest.raises(dpmic.InputError, match="no p-values; pass pvalues=True"):
        one().qvalues  # noqa: B018


def test_significant_pairs_come_with_the_strongest_evidence_first():
    result = full()
    assert result.qvalues[[0, 1, 3, 4]] == pytest.approx([0.02, 0.006, 0.006, 0.06])
    assert result.significant() == (
        ("age", "pulse", 0.5),
        ("dose", "pulse", 0.5),
        ("age", "dose", 0.25),
    )
    assert result.significant(0.001) == ()
    assert result.significant(0.061)[-1] == ("dose", "height", 0.75)
    swapped = dataclasses.replace(result, mic=[*MIC[:3], 0.625, *MIC[4:]])
    assert swapped.significant()[0] == ("dose", "pulse", 0.625)
    for rate in (0, 1, -1, math.nan, "a"):
        with pytest.raises(dpmic.ParameterError, match="rate = "):
            result.significant(rate)
    with pytest.raises(dpmic.InputError, match="pass pvalues=True"):
        one().significant()


# What is kept


def test_arrays_are_copied_and_read_only():
    mic, records = np.array(MIC), np.arange(6)
    result = one(mic=mic, records=records)
    mic[:], records[:] = 9, 9
    assert result.mic.tolist() == list(MIC)
    assert result.records.tolist() == [0, 1, 2, 3, 4, 5]
    for values in (result.mic, result.records, full().pvalues, full().tic):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.n = 3
    with pytest.raises(TypeError):
        result.parameters["B"] = 3


@sweep(
    ("fields", "words"),
    [
        ({"mic": MIC[1:]}, "mic of shape .5,.: there are 6 pairs"),
        ({"mic": [MIC]}, "mic of shape .1, 6."),
        ({"tic": [1.0]}, "tic of shape"),
        ({"records": [1] * 7}, "records of shape"),
        ({"records": [1.5] * 6}, "records: these are not integers"),
        ({"pvalues": [0.5]}, "pvalues of shape"),
        ({"pvalues": [1.5] * 6}, "pvalues: one is not between 0 and 1"),
        ({"names": NAMES[:3]}, "there are 3 pairs"),
        ({"others": NAMES}, "there are 16 pairs"),
    ],
)
def test_what_does_not_fit_is_refused(fields, words):
    with pytest.raises(dpmic.InputError, match=words):
        one(**fields)
    content = json.loads(json.dumps({**one().to_dict(), **fields}))
    with pytest.raises(dpmic.InputError, match="this Pairwise: it is not complete"):
        Pairwise.from_dict(content)


@sweep("name", RESULTS)
@sweep(
    "rebuild",
    [
        lambda r: Pairwise.from_json(r.to_json()),
        lambda r: Pairwise.from_dict(json.loads(json.dumps(r.to_dict(), allow_nan=False))),
        lambda r: Pairwise.from_dict(r.to_dict()),
        lambda r: pickle.loads(pickle.dumps(r)),
        copy.deepcopy,
        dataclasses.replace,
    ],
    ids=["json", "parsed", "dict", "pickle", "deepcopy", "replace"],
)
def test_round_trips(name, rebuild):
    result = RESULTS[name]
    repr(result.qvalues if result.pvalues is not None else None)  # what is cached is left behind
    again = rebuild(result)
    assert again == result
    assert hash(again) == hash(result)
    assert not again.mic.flags.writeable
    assert again.parameters == result.parameters
    assert (again.records is None) == (result.records is None)


def test_results_differ_when_anything_does():
    result = full()
    for change in (
        {"n": 3},
        {"statistic": "mic"},
        {"names": NAMES[::-1]},
        {"parameters": {**OPTIONS, "c": 3}},
        {"mic": MIC[::-1]},
        {"tic": None},
        {"records": [1] * 6},
        {"pvalues": None},
        {"permutations": 99},
    ):
        assert dataclasses.replace(result, **change) != result
    assert result != 0.5


@pytest.mark.parametrize("content", [{}, {"parameters": 3}, {"extra": 1}, {"mic": "text"}])
def test_broken_results_are_refused(content):
    whole = one().to_dict() if content else {}
    with pytest.raises(dpmic.InputError, match="it is not complete"):
        Pairwise.from_dict({**whole, **content})
    with pytest.raises(dpmic.InputError, match="it is not JSON"):
        Pairwise.from_json("{")


# What people see


@sweep("backend", ["pandas", "polars", "pyarrow", None])
@sweep("name", RESULTS)
def test_frames(name, backend):
    result = RESULTS[name]
    frame = result.to_frame(backend)
    rows = frame.to_pydict() if backend == "pyarrow" else {c: list(frame[c]) for c in frame.columns}
    optional = {"tic": result.tic, "records": result.records, "pvalue": result.pvalues}
    there = {key: values for key, values in optional.items() if values is not None}
    if result.pvalues is not None:
        there["qvalue"] = result.qvalues
    assert list(rows) == ["x", "y", "mic", *there]
    assert list(zip(rows["x"], rows["y"], strict=True)) == list(result.pairs)
    for key, values in {"mic": result.mic, **there}.items():
        assert np.array_equal(rows[key], values, equal_nan=True)
    assert type(frame).__module__.startswith(backend or "pandas")


def test_frames_have_plain_types():
    frame = full().to_frame("polars")
    assert frame.schema["x"] == pl.String
    assert frame.schema["records"] == pl.Int64
    assert frame.schema["mic"] == pl.Float64
    assert pd.api.types.is_integer_dtype(full().to_frame("pandas").records)


def test_repr():
    assert repr(full()) == (
        "Pairwise(mice: 6 pairs of 4 columns, n=200, B=24.0225, c=15, master=reshef, "
        "permutations=999)\n"
        "  0.7500 (p = 0.04)  dose, height\n"
        "  0.5000 (p = 0.002)  age, pulse\n"
        "  0.5000 (p = 0.002)  dose, pulse\n"
        "  0.2500 (p = 0.01)  age, dose\n"
        "  0.1250 (p = 0.9)  age, height\n"
        "  0.0000 (p = 1)  pulse, height"
    )
    assert repr(two()).startswith("Pairwise(mice: 6 pairs of 2 x 3 columns, n=200")
    many = one(names=map(str, range(20)), mic=np.linspace(0, 1, 190))
    assert repr(many).endswith("\n  and 180 more")
    assert repr(many).count("\n") == 11
    assert "c=inf" in repr(RESULTS["infinite"])


def test_html_escapes_names():
    html = one(names=("<b>age</b>", "dose", "pulse", "height"), parameters={"<i>": 1})._repr_html_()
    assert "<b>" not in html
    assert "<i>" not in html
    assert "4. &lt;b&gt;age&lt;/b&gt;, dose" in html
    assert html.count("<tr>") == 6 + 2
    many = one(names=map(str, range(20)), mic=np.linspace(0, 1, 190))._repr_html_()
    assert '<th scope="row" style="text-align:left">and more</th><td>180</td>' in many


def test_pairs_whose_names_hold_commas_are_listed_apart():
    result = two(names=("a", "a, b"), others=("b, c", "c"), mic=[0.5] * 4)
    assert result._repr_html_().count("a, b, c") == 2


# Pictures


@pytest.fixture
def pyplot():
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot

    return pyplot


def names_of(ax):
    """Return the columns on the vertical axis of a heat map and on the horizontal one."""
    return [[t.get_text() for t in ticks] for ticks in (ax.get_yticklabels(), ax.get_xticklabels())]


def greyed(ax):
    """Return which cells of a heat map are grey."""
    shape = ax.images[0].get_array().shape
    if not ax.collections:
        return np.zeros(shape, bool)
    grey = np.zeros(shape, bool)
    for path in ax.collections[0].get_paths():  # one for each cell
        column, row = path.vertices[:4].mean(axis=0).round().astype(int)
        grey[row, column] = True
    return grey


@pytest.mark.parametrize("name", RESULTS)
def test_plots(pyplot, name):
    result = RESULTS[name]
    ax = result.plot()
    ax.figure.canvas.draw()
    (image,) = ax.images
    coloured, grey = np.ma.filled(image.get_array(), np.nan), greyed(ax)
    rows, columns = names_of(ax)
    seen = []
    for i, j in itertools.product(range(len(rows)), range(len(columns))):
        if not grey[i, j] and math.isnan(coloured[i, j]):
            continue
        assert grey[i, j] == math.isnan(coloured[i, j])
        seen.append(frozenset((rows[i], columns[j])))
        if not grey[i, j]:
            assert coloured[i, j] == result.value(rows[i], columns[j])
    scored = itertools.compress(result.pairs, ~np.isnan(result.mic))
    assert sorted(map(sorted, seen)) == sorted(sorted(set(pair)) for pair in scored)
    assert f"n = {result.n}" in ax.texts[-1].get_text()
    assert len(ax.texts) == 1 + len(seen)


def test_pairs_that_are_not_significant_are_grey(pyplot):
    ax = full().plot()
    rows, columns = names_of(ax)
    grey = {frozenset((rows[i], columns[j])) for i, j in np.argwhere(greyed(ax))}
    chance = full().pairs, full().qvalues.tolist()
    assert grey == {frozenset(pair) for pair, q in zip(*chance, strict=True) if q > 0.05}
    assert 0 < len(grey) < 6


def test_a_heat_map_puts_related_columns_together(pyplot):
    """a with c and b with d; their scores with the others are small."""
    scores = {("a", "c"): 0.9, ("b", "d"): 0.8}
    names = tuple("abcd")
    mic = [scores.get(pair, 0.1) for pair in itertools.combinations(names, 2)]
    rows, columns = names_of(one(names=names, mic=mic).plot())
    order = "".join([columns[0], *rows])
    assert {order[:2], order[2:]} & {"ac", "ca"}
    assert {order[:2], order[2:]} & {"bd", "db"}
    mic = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]
    rows, _ = names_of(one(names=("p", "q", "r"), others=("b", "c"), mic=mic).plot())
    assert len(rows) == 3


def test_colours_begin_at_what_unrelated_columns_score(pyplot):
    few, many = (one(n=n, parameters={"B": n**0.6, "c": 15}) for n in (60, 5000))
    floors = [result.plot().images[0].get_clim()[0] for result in (few, many)]
    assert floors[0] > 3 * floors[1] > 0
    assert floors[1] == many.unrelated.most
    unknown = one(n=5000, parameters={"B": 16, "c": 15})
    assert unknown.unrelated is None
    assert unknown.plot().images[0].get_clim()[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("given_axes", [False, True])
@pytest.mark.parametrize(("m", "others"), [(40, None), (150, None), (3, 200), (200, 3)])
def test_names_stay_apart(pyplot, m, others, given_axes):
    names = [f"column {i:03}" for i in range(m)]
    right = None if others is None else [f"other {i:03}" for i in range(others)]
    count = m * (m - 1) // 2 if others is None else m * others
    ax = pyplot.subplots(figsize=(8, 6))[1] if given_axes else None
    drawn = one(names=names, others=right, mic=np.linspace(0, 1, count)).plot(ax)
    assert drawn is ax or not given_axes
    figure = drawn.figure
    figure.canvas.draw()
    assert max(figure.get_size_inches()) < 16
    labels = [t.get_window_extent() for t in drawn.get_yticklabels()]
    assert len(labels) >= min(m, 15)
    for above, below in itertools.pairwise(labels):
        assert above.y0 >= below.y1 - 1
    slanted = list(drawn.get_xticklabels())
    places = [t.get_position()[0] for t in slanted]
    pitch = np.diff(drawn.transData.transform([(place, 0) for place in places])[:, 0]).min()
    assert pitch / math.sqrt(2) >= slanted[0].get_fontsize() * figure.dpi / 72
    assert len(drawn.texts) == 1  # no numbers


def test_numbers_need_room(pyplot):
    ax = pyplot.subplots(figsize=(3, 3))[1]
    result = one(names=map(str, range(10)), mic=np.linspace(0, 1, 45))
    assert len(result.plot(ax).texts) == 1
    assert len(result.plot().texts) == 1 + 45


def test_names_are_not_mathematics(pyplot):
    drawn = one(names=(r"$\bad$", *NAMES[1:])).plot()
    drawn.figure.canvas.draw()
    assert r"\$\bad\$" in {name for side in names_of(drawn) for name in side}
