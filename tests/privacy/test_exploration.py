"""What a data steward does around one release, on one ledger, from plan to test."""

import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sweeps import sweep

import dpmic
from dpmic.privacy import _guards

RNG = np.random.default_rng(3)
N = 2000
AGE = RNG.uniform(20, 80, N)
PATIENTS = pd.DataFrame(
    {
        "age": AGE,
        "dose": 200 - 2 * AGE + RNG.normal(0, 20, N),
        "income": RNG.lognormal(10, 0.5, N),
        "height": RNG.normal(170, 10, N),
    }
)
BOUNDS = {"age": (0, 120), "dose": (0, 400), "height": (100, 220)}
PAIR = {"bounds": ((0, 120), (0, 400)), "data": PATIENTS}

STEPS = {
    "bounds": lambda ledger: dpmic.estimate_bounds(
        "income", data=PATIENTS, epsilon=0.25, ledger=ledger, dataset="people"
    ),
    "screen": lambda ledger: dpmic.screen(
        PATIENTS, bounds=BOUNDS, epsilon=0.5, top=1, ledger=ledger, dataset="people"
    ),
    "matrix": lambda ledger: dpmic.release_pairwise(
        PATIENTS, bounds=BOUNDS, epsilon=0.6, ledger=ledger, dataset="people"
    ),
    "matrix with delta": lambda ledger: dpmic.release_pairwise(
        PATIENTS.assign(**{f"v{i}": RNG.random(N) for i in range(10)}),
        bounds={**BOUNDS, **{f"v{i}": (0, 1) for i in range(10)}},
        epsilon=3.0,
        delta=1e-6,
        ledger=ledger,
        dataset="people",
    ),
    "micr-laplace": lambda ledger: dpmic.release(
        "age", "dose", epsilon=0.7, ledger=ledger, dataset="people", **PAIR
    ),
    "micr-geometric": lambda ledger: dpmic.release(
        "age",
        "dose",
        epsilon=0.8,
        mechanism="micr-geometric",
        ledger=ledger,
        dataset="people",
        **PAIR,
    ),
    "mice-laplace": lambda ledger: dpmic.release(
        "age",
        "dose",
        data=PATIENTS,
        epsilon=0.9,
        mechanism="mice-laplace",
        ledger=ledger,
        dataset="people",
    ),
    "test": lambda ledger: dpmic.release_test(
        "age", "dose", data=PATIENTS, epsilon=0.3, draws=99, ledger=ledger, dataset="people"
    ),
}


@pytest.fixture
def ledger(tmp_path):
    return dpmic.Ledger(tmp_path / "patients.ledger", epsilon=20.0, delta=1e-5)


@pytest.mark.filterwarnings("ignore::dpmic.NoiseWarning", "ignore::dpmic.BoundsReminder")
def test_the_ledger_holds_the_sum_of_all_printed_guarantees(ledger):
    results = {name: step(ledger) for name, step in STEPS.items()}
    assert len(ledger.history()) == len(STEPS)
    charged = sum(Fraction(result.epsilon) for result in results.values())
    assert charged <= Fraction(ledger.spent) <= charged + Fraction(len(STEPS), 2**50)
    printed = 0.0
    for name, result in results.items():
        (epsilon,) = re.findall(r"epsilon = ([0-9.e-]+)", result.guarantee)
        assert result.epsilon <= float(epsilon) <= result.epsilon * 1.00002, name
        printed += float(epsilon)
    assert ledger.spent <= printed <= ledger.spent * 1.00002
    assert printed == pytest.approx(0.25 + 0.5 + 0.6 + 3 + 0.7 + 0.8 + 0.9 + 0.3, rel=1e-4)
    (delta,) = re.findall(r"delta = ([0-9.e-]+)", results["matrix with delta"].guarantee)
    assert ledger.spent_delta <= float(delta) == pytest.approx(1e-6, rel=1e-4)


@pytest.mark.filterwarnings("ignore::dpmic.NoiseWarning", "ignore::dpmic.BoundsReminder")
@pytest.mark.parametrize("name", [name for name in STEPS if name != "matrix with delta"])
def test_asking_again_is_free_and_gives_the_same(ledger, name):
    first = STEPS[name](ledger)
    spent = ledger.spent
    again = STEPS[name](ledger)
    assert again == first
    assert ledger.spent == spent
    assert first.replayed is None
    assert again.replayed == ledger.history()[0].answered_at
    assert (first.dataset, again.dataset) == ("people", "people")


@pytest.mark.filterwarnings("ignore::dpmic.NoiseWarning", "ignore::dpmic.BoundsReminder")
@sweep("name", STEPS)
def test_what_does_not_fit_is_refused_before_a_value_is_read(tmp_path, name, monkeypatch):
    """Not even a column that cannot be read is noticed, since none is."""
    small = dpmic.Ledger(tmp_path / "small.ledger", epsilon=0.01, delta=1e-5)
    for column in PATIENTS:
        monkeypatch.setitem(PATIENTS, column, ["a text"] * N)
    with pytest.raises(dpmic.BudgetError):
        STEPS[name](small)
    assert small.history() == []


@pytest.mark.filterwarnings("ignore::dpmic.BoundsReminder")
def test_no_step_takes_the_answer_of_another(ledger):
    """The same columns and epsilon asked by other means are other questions."""
    options = {"data": PATIENTS, "epsilon": 0.5, "ledger": ledger, "dataset": "people"}
    dpmic.release("age", "dose", bounds=PAIR["bounds"], **options)
    dpmic.release("age", "dose", bounds=PAIR["bounds"], mechanism="micr-geometric", **options)
    dpmic.release("age", "dose", mechanism="mice-laplace", allow_noisy=True, **options)
    dpmic.release_test("age", "dose", draws=99, **options)
    two = {"age": BOUNDS["age"], "dose": BOUNDS["dose"]}
    dpmic.screen(PATIENTS, bounds=two, epsilon=0.5, top=1, ledger=ledger, dataset="people")
    dpmic.release_pairwise(PATIENTS, bounds=two, epsilon=0.5, ledger=ledger, dataset="people")
    assert len(ledger.history()) == 6


@sweep(
    "call",
    [
        lambda frame: dpmic.plan(frame.age, 1.0),
        lambda frame: dpmic.release("age", "dose", data=frame, epsilon=frame.age, bounds=BOUNDS),
        lambda frame: dpmic.screen(frame, bounds=BOUNDS, epsilon=1, top=frame.age),
        lambda frame: dpmic.screen(frame, bounds=BOUNDS, epsilon=1, top=1, target=frame.age),
        lambda frame: dpmic.screen(
            frame, bounds={**BOUNDS, "age": frame.age.tolist()}, epsilon=1, top=1
        ),
        lambda frame: dpmic.screen(frame, bounds=frame, epsilon=1, top=1),
        lambda frame: dpmic.release_pairwise(frame, bounds=BOUNDS, epsilon=1, delta=frame.age),
        lambda frame: dpmic.release("age", "dose", data=frame, epsilon=1, bounds=frame.age),
        lambda frame: dpmic.release("age", "dose", data=frame, epsilon=1, bounds=BOUNDS, c=frame),
        lambda frame: dpmic.release(
            "age", "dose", data=frame, epsilon=1, bounds=BOUNDS, ledger=frame
        ),
        lambda frame: dpmic.release("age", "dose", data=frame, epsilon=1, mechanism=frame),
        lambda frame: dpmic.release(
            "age", "dose", data=frame, epsilon=1, bounds=BOUNDS, name=frame
        ),
        lambda frame: dpmic.estimate_bounds("age", data=frame, epsilon=1, coverage=frame.age),
        lambda frame: dpmic.release_test("age", "dose", data=frame, epsilon=1, draws=frame.age),
    ],
)
def test_data_in_the_wrong_place_is_named_by_its_type(call):
    """Errors end in logs: a column that was passed as an option must not be printed."""
    frame = pd.DataFrame({name: [777.25] * 50 for name in ("age", "dose", "height")})
    with pytest.raises(dpmic.DpmicError) as refused:
        call(frame)
    assert "777" not in str(refused.value)


def test_bounds_may_be_given_by_name():
    named = dpmic.release("age", "dose", data=PATIENTS, epsilon=1, bounds=BOUNDS)
    assert named.parameters["x bounds"] == [0, 120]
    assert named.parameters["y bounds"] == [0, 400]
    with pytest.raises(dpmic.ParameterError, match="the bounds of 'dose' are missing"):
        dpmic.release("age", "dose", data=PATIENTS, epsilon=1, bounds={"age": (0, 120)})


@sweep(
    ("mechanism", "n", "useless"),
    [("micr-laplace", 50, True), ("micr-laplace", 2000, False), ("mice-laplace", 2000, True),
     ("micr-geometric", 400, True), ("micr-geometric", 600, False)],
)  # fmt: skip
def test_noise_that_drowns_everything_is_refused_beforehand(ledger, mechanism, n, useless):
    """Whatever the values are: it depends on n and epsilon alone."""
    frame = pd.DataFrame({"age": ["a text"] * n, "dose": ["a text"] * n})
    bounds = None if mechanism == "mice-laplace" else PAIR["bounds"]
    options = {"data": frame, "epsilon": 0.1, "bounds": bounds, "mechanism": mechanism}
    options |= {"ledger": ledger, "dataset": "people"}
    with pytest.raises(dpmic.DpmicError) as refused:
        dpmic.release("age", "dose", **options)
    assert ("allow_noisy=True" in str(refused.value)) is useless
    with pytest.raises(dpmic.InputError):  # of the texts
        dpmic.release("age", "dose", allow_noisy=True, **options)
    assert ledger.spent == 0
    assert ledger.history() == []


def test_little_data_for_a_range_is_told_beforehand(monkeypatch):
    monkeypatch.setattr(_guards, "_warned", set())
    with pytest.warns(dpmic.NoiseWarning, match="n = 25 at epsilon = 1 is too little"):
        estimate = dpmic.estimate_bounds(RNG.normal(size=25), epsilon=1.0)
    if not estimate.found:
        assert "Nothing stood out" in estimate.guarantee
        assert "none found" in repr(estimate)
