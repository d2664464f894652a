"""What a data steward does around one release, on one ledger, from plan to test."""

import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dpmic

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
        "income", data=PATIENTS, epsilon=0.25, ledger=ledger
    ),
    "screen": lambda ledger: dpmic.screen(
        PATIENTS, bounds=BOUNDS, epsilon=0.5, top=1, ledger=ledger
    ),
    "matrix": lambda ledger: dpmic.release_pairwise(
        PATIENTS, bounds=BOUNDS, epsilon=0.6, ledger=ledger
    ),
    "matrix with delta": lambda ledger: dpmic.release_pairwise(
        PATIENTS.assign(**{f"v{i}": RNG.random(N) for i in range(8)}),
        bounds={**BOUNDS, **{f"v{i}": (0, 1) for i in range(8)}},
        epsilon=3.0,
        delta=1e-6,
        ledger=ledger,
    ),
    "micr-laplace": lambda ledger: dpmic.release("age", "dose", epsilon=0.7, ledger=ledger, **PAIR),
    "micr-geometric": lambda ledger: dpmic.release(
        "age", "dose", epsilon=0.8, mechanism="micr-geometric", ledger=ledger, **PAIR
    ),
    "mice-laplace": lambda ledger: dpmic.release(
        "age", "dose", data=PATIENTS, epsilon=0.9, mechanism="mice-laplace", ledger=ledger
    ),
    "test": lambda ledger: dpmic.release_test(
        "age", "dose", data=PATIENTS, epsilon=0.3, draws=99, ledger=ledger
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
    assert again.to_json() == first.to_json()
    assert ledger.spent == spent


@pytest.mark.filterwarnings("ignore::dpmic.NoiseWarning", "ignore::dpmic.BoundsReminder")
@pytest.mark.parametrize("name", STEPS)
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
    options = {"data": PATIENTS, "epsilon": 0.5, "ledger": ledger}
    dpmic.release("age", "dose", bounds=PAIR["bounds"], **options)
    dpmic.release("age", "dose", bounds=PAIR["bounds"], mechanism="micr-geometric", **options)
    dpmic.release("age", "dose", mechanism="mice-laplace", **options)
    dpmic.release_test("age", "dose", draws=99, **options)
    two = {"age": BOUNDS["age"], "dose": BOUNDS["dose"]}
    dpmic.screen(PATIENTS, bounds=two, epsilon=0.5, top=1, ledger=ledger)
    dpmic.release_pairwise(PATIENTS, bounds=two, epsilon=0.5, ledger=ledger)
    assert len(ledger.history()) == 6
