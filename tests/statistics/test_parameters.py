"""Options out of range are refused by name, and never reach a kernel."""

import math

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from sweeps import sweep

import dpmic
from dpmic import _validate

MANY = np.arange(60_000.0), np.arange(60_000.0)
X, Y = np.random.default_rng(0).random((2, 50))
BOX = ((0, 1), (0, 1))
STATISTICS = {
    "mice": lambda **options: dpmic.mice(X, Y, **options),
    "micr": lambda **options: dpmic.micr(X, Y, **{"bounds": BOX, **options}),
    "mic": lambda **options: dpmic.mic(X, Y, **options),
}


@sweep("call", STATISTICS.values(), ids=STATISTICS)
@sweep(
    ("options", "words"),
    [
        ({"alpha": 0}, r"alpha = 0: alpha must lie in \(0, 1\]; pass B"),
        ({"alpha": -0.5}, "alpha = -0.5"),
        ({"alpha": 1.2}, "alpha = 1.2"),
        ({"alpha": math.nan}, "alpha = nan: alpha must be a real number"),
        ({"alpha": "0.6"}, "alpha = '0.6'"),
        ({"alpha": None}, "alpha = None"),
        ({"alpha": True}, "alpha = True"),
        ({"alpha": 1 + 0j}, r"alpha = \(1\+0j\)"),
        ({"B": 3.9}, "B = 3.9: the smallest grid has 2 x 2 cells; pass B of at least 4"),
        ({"B": -8}, "B = -8"),
        ({"B": math.nan}, "B = nan"),
        ({"B": math.inf}, "B = inf: a search over more than 5000 cells"),
        ({"B": 5001}, "B = 5001"),
        ({"B": "40"}, "B = '40'"),
        ({"c": 0.9}, "c = 0.9: .*pass c >= 1"),
        ({"c": 0}, "c = 0"),
        ({"c": -math.inf}, "c = -inf"),
        ({"c": math.nan}, "c = nan"),
        ({"c": 10**400}, "c = 1000.*: c must be a real number"),
        ({"B": 10**400}, "B = 1000.*: B must be a real number"),
        ({"c": "15"}, "c = '15'"),
        ({"missing": "ignore"}, "missing = 'ignore'.*raise.*drop"),
    ],
)
def test_out_of_range(call, options, words):
    with pytest.raises(dpmic.ParameterError, match=words):
        call(**options)


@sweep("call", [STATISTICS["mice"], STATISTICS["micr"]], ids=["mice", "micr"])
@sweep("master", ["minepy", "Reshef", None, 15, ["reshef"]])
def test_masters(call, master):
    with pytest.raises(dpmic.ParameterError, match="master = .*'reshef' or 'paper'"):
        call(master=master)


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: dpmic.micr(X, Y, bounds=BOX, c=1e9), "3.*"),
        (lambda: dpmic.micr(X, Y, bounds=BOX, c=15, B=4000, master="paper"), "30000"),
        (lambda: dpmic.mice(*MANY, c=15, B=4000, master="paper"), "30000"),
        (lambda: dpmic.mic(*MANY, B=4000, c=15), "30000"),
    ],
)
def test_masters_that_would_take_hours(call, parts):
    with pytest.raises(dpmic.ParameterError, match=f"{parts} parts, more than 20000; pass a small"):
        call()


def test_a_master_never_has_more_parts_than_records():
    assert dpmic.mice(X, Y, c=1e9).mic == dpmic.mice(X, Y, c=math.inf).mic


@pytest.mark.parametrize("rng", ["abc", -1, 1.5])
def test_random_generators(rng):
    with pytest.raises(dpmic.ParameterError, match="rng = .*integer"):
        dpmic.mice(X, Y, ties="random", rng=rng)


@pytest.mark.parametrize(("n", "B"), [(32, 8), (243, 27), (1024, 64), (100_000, 1000)])
def test_the_default_limit_loses_no_cell_to_rounding(n, B):
    """32 ** 0.6 is 7.999999999999999 in float64, and 8 in truth."""
    assert _validate.cells(n, 0.6, None) == B


def test_ties():
    with pytest.raises(dpmic.ParameterError, match="ties = 'first'.*'group' or 'random'"):
        dpmic.mice(X, Y, ties="first")
    with pytest.raises(dpmic.ParameterError, match="rng: .*ties='random'"):
        dpmic.mice(X, Y, rng=1)


@sweep(
    ("bounds", "words"),
    [
        (None, "bounds = None: each axis needs an interval"),
        (((0, 1),), "bounds = "),
        ((0, 1), "bounds of x = 0: an interval has two ends"),
        (((0, 1), (1, 0)), r"bounds of y = \(1, 0\): the lower bound must be below"),
        (((1, 1), (0, 1)), r"bounds of x = \(1, 1\)"),
        (((0, 1), (0, math.nan)), "upper bound of y = nan"),
        (((-math.inf, 1), (0, 1)), r"bounds of x = \(-inf, 1\)"),
        (((-1e308, 1e308), (0, 1)), "width finite"),
        (((1e15, 1e15 + 1), (0, 1)), "too narrow for float64"),
        (((0, 1), ("0", 1)), "lower bound of y = '0'"),
        (((0, 1, 2), (0, 1)), "bounds of x"),
        ("ab", "bounds = 'ab'"),
        (np.array(5.0), "bounds = "),
        (((0, 10**400), (0, 1)), "upper bound of x"),
        (((False, True), (0, 1)), "lower bound of x = False"),
    ],
)
def test_bounds(bounds, words):
    with pytest.raises(dpmic.ParameterError, match=words):
        dpmic.micr(X, Y, bounds=bounds)


def test_bounds_are_named_by_their_columns(tmp_path):
    frame = pa.table({"age": X, "stay": Y})
    csv.write_csv(frame, tmp_path / "t.csv")
    for bounds in ({"age": (0, 1), "stay": (1, 0)}, ((0, 1), (1, 0))):
        for statistic in (dpmic.micr, dpmic.micc):
            for data in (frame, tmp_path / "t.csv"):
                with pytest.raises(dpmic.ParameterError, match=r"bounds of stay = \(1, 0\)"):
                    statistic("age", "stay", data=data, bounds=bounds)


def test_bounds_may_be_arrays():
    assert dpmic.micr(X, Y, bounds=np.array(BOX)) == dpmic.micr(X, Y, bounds=BOX)


def test_numpy_scalars_are_numbers():
    options = {"alpha": np.float32(0.5), "c": np.int64(5)}
    assert dpmic.mice(X, Y, **options) == dpmic.mice(X, Y, alpha=0.5, c=5)


def test_b_overrides_alpha_and_may_exceed_n():
    assert dpmic.mice(X, Y, B=20, alpha=0.9) == dpmic.mice(X, Y, B=20)
    few = [1.0, 2.0, 3.0, 4.0, 5.0]
    assert dpmic.mice(few, few, B=40).mic == 1
    assert dpmic.micr(few, few, B=40, bounds=((0, 6), (0, 6))).mic > 0.9


def test_a_default_that_grows_too_large_says_what_to_do():
    many = np.arange(1_500_000.0)
    with pytest.raises(dpmic.ParameterError, match=r"alpha = 0.6 with n = 1500000, so B = .*B of"):
        dpmic.mice(many, many)


@pytest.mark.parametrize("call", STATISTICS.values(), ids=STATISTICS)
def test_errors_are_picklable_value_errors(call):
    import pickle

    with pytest.raises(ValueError, match="alpha") as caught:
        call(alpha=2)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert (again.value, again.reason) == ("alpha = 2", "alpha must lie in (0, 1]")


@pytest.mark.parametrize("statistic", [dpmic.micr, dpmic.micc])
def test_bounds_can_be_given_by_name(statistic, tmp_path):
    """As releases take them: in memory and counted, whatever the order, and others left out."""
    frame = pa.table({"age": np.linspace(20, 90, 60), "dose": np.linspace(0, 9, 60) ** 2})
    csv.write_csv(frame, tmp_path / "t.csv")
    box = {"dose": (0, 100), "age": (0, 120), "other": (0, 1)}
    for data in (frame, tmp_path / "t.csv"):
        named = statistic("age", "dose", data=data, bounds=box)
        assert named == statistic("age", "dose", data=data, bounds=((0, 120), (0, 100)))
        with pytest.raises(dpmic.ParameterError, match="the bounds of 'dose' are missing"):
            statistic("age", "dose", data=data, bounds={"age": (0, 120)})
    with_text = frame.append_column("ward", pa.array(["a", "b"] * 30))
    listed = statistic("ward", "age", data=with_text, bounds={**box, "ward": ["a", "b"]})
    assert listed.bounds == (("a", "b"), (0, 120))
