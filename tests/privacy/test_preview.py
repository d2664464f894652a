"""What is said before something is spent is what is then published."""

import warnings

import numpy as np
import pyarrow as pa
import pytest
from sweeps import sweep

import dpmic
from dpmic.privacy import preview

RNG = np.random.default_rng(7)
TABLE = pa.table({"who": np.arange(600) // 2, **{c: RNG.uniform(0, 1, 600) for c in "abcd"}})
BOUNDS = {"a": (0, 1), "b": (0, 1), "c": (0, 1)}
UNITS = [{"person": None, "rows_per_person": 1}, {"person": None, "rows_per_person": 3}]
UNITS += [{"person": "who", "rows_per_person": 1}, {"person": "who", "rows_per_person": 2}]


@sweep("unit", UNITS)
@sweep("mechanism", ["micr-laplace", "mice-laplace", "micr-geometric"])
def test_a_release(unit, mechanism):
    bounds = None if mechanism == "mice-laplace" else {"a": (0, 1), "b": (0, 1)}
    asked = {"data": TABLE, "mechanism": mechanism, "bounds": bounds, "epsilon": 1.0, **unit}
    asked["allow_noisy"] = True
    view, done = preview.release("a", "b", **asked), dpmic.release("a", "b", **asked)
    assert (view.n, view.epsilon) == (done.n, done.epsilon)
    assert (view.noise is None) == (mechanism == "micr-geometric")


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_tables(unit):
    asked = {"bounds": BOUNDS, "epsilon": 2.0, "target": None, "allow_large_epsilon": False, **unit}
    asked["allow_noisy"] = True
    view = preview.screen(TABLE, top=2, split=None, **asked)
    done = dpmic.screen(TABLE, top=2, **asked)
    assert (view.n, view.epsilon) == (done.n, done.epsilon)
    assert f"95% of values are within {done.half_width:.2g} of the score" in view.noise
    assert (view.values, view.candidates) == (2, done.candidates)
    for delta in (0.0, 1e-6):
        view = preview.matrix(TABLE, delta=delta, **asked)
        done = dpmic.release_pairwise(TABLE, delta=delta, **asked)
        assert view.n == done.n
        assert f"within {done.half_width:.2g} of the score" in view.noise
        assert (view.epsilon, view.delta) == (done.epsilon, done.delta)


@pytest.mark.parametrize("unit", UNITS)
def test_a_range(unit):
    asked = {"data": TABLE, "epsilon": 1.0, "allow_large_epsilon": False, **unit}
    asked |= {"coverage": 0.9, "failure": 0.1}
    view = preview.bounds("a", **asked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpmic.NoiseWarning)
        done = dpmic.estimate_bounds("a", **asked)
    assert (view.n, view.epsilon) == (done.n, done.epsilon)
    for wrong in ({"coverage": 3}, {"failure": 1}, {"rows_per_person": 0}):
        with pytest.raises(dpmic.ParameterError):
            preview.bounds("a", **{**asked, **wrong})


def test_a_test():
    asked = {"data": TABLE, "epsilon": 1.0, "allow_large_epsilon": False, "person": "who"}
    view, done = (
        preview.test("a", "b", draws=19, **asked),
        dpmic.release_test("a", "b", draws=19, **asked),
    )
    assert (view.n, view.epsilon) == (done.n, done.epsilon)
    with pytest.raises(dpmic.ParameterError, match="draws"):
        preview.test("a", "b", draws=18, **asked)


def test_what_would_be_left(tmp_path):
    ledger = dpmic.Ledger(tmp_path / "l", epsilon=1.5)
    view = preview.Preview(300, 1.0)
    assert view.rest(ledger) == 0.5
    ledger.spend("another", 1.0, dataset="people")
    assert view.rest(ledger) is None


def test_a_rough_range_is_said_before_consent():
    few = pa.table({"a": np.arange(20.0)})
    asked = {"coverage": 0.99, "failure": 0.05, "rows_per_person": 1, "data": few}
    with pytest.warns(dpmic.NoiseWarning, match="n = 20 .* is little for a range"):
        preview.bounds("a", epsilon=1.0, person=None, allow_large_epsilon=False, **asked)
