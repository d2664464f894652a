"""Every private call, on one table: what the contract tests loop over."""

import shutil
import sqlite3
import traceback

import numpy as np
import pandas as pd

import dpmic
from dpmic.privacy import CappedLaplace, MICeLaplace, MICrGeometric, MICrLaplace
from dpmic.privacy.bounds import BoundsQuery
from dpmic.privacy.independence import IndependenceQuery
from dpmic.privacy.pairwise import PairwiseQuery
from dpmic.privacy.release import ReleaseQuery
from dpmic.privacy.screen import ScreenQuery

RNG = np.random.default_rng(11)
N = 1200
AGE = RNG.uniform(0, 1, N)
TABLE = pd.DataFrame(
    {
        "age": AGE,
        "dose": AGE**2,
        "ward": RNG.integers(0, 9, N) / 8,
        "who": np.arange(N) // 2,
    }
)
BOX = {"age": (0, 1), "dose": (0, 1), "ward": (0, 1)}
SQUARE = ((0, 1), (0, 1))


def pair(**fixed):
    return lambda data, **more: dpmic.release("age", "dose", data=data, **{**fixed, **more})


def table(call, **fixed):
    return lambda data, **more: call(data, **{"bounds": BOX, **fixed, **more})


def test(**fixed):
    return lambda data, **more: dpmic.release_test("age", "dose", data=data, **{**fixed, **more})


def bounds(**fixed):
    return lambda data, **more: dpmic.estimate_bounds("age", data=data, **{**fixed, **more})


MICR = {"mechanism": "micr-laplace", "axes": "linear"}
"""What was the default of all but tests and bounds before there was a choice."""

CALLS = {
    "auto": pair(epsilon=1.0, bounds=BOX),
    "micr-laplace": pair(epsilon=1.0, bounds=BOX, **MICR),
    "mice-laplace": pair(epsilon=5.0, mechanism="mice-laplace"),
    "micr-geometric": pair(epsilon=1.0, bounds=BOX, mechanism="micr-geometric"),
    "screen": table(dpmic.screen, epsilon=3.0, top=1),
    "matrix": table(dpmic.release_pairwise, epsilon=3.0),
    "test": test(epsilon=1.0, draws=19),
    "bounds": bounds(epsilon=1.0),
}
"""One of each kind, with what it must be given."""

MECHANISMS = {
    "CappedLaplace": CappedLaplace(1.0, SQUARE),
    "MICrLaplace": MICrLaplace(1.0, SQUARE),
    "MICeLaplace": MICeLaplace(5.0),
    "MICrGeometric": MICrGeometric(1.0, SQUARE),
}
"""The same by objects, which know neither people nor ledgers."""

PERSON = {"person": "who", "rows_per_person": 2, "allow_noisy": True}
QUERIES = {
    **CALLS,
    "screen by default": CALLS["screen"],
    "matrix by default": CALLS["matrix"],
    "wide": pair(epsilon=1.0, bounds=BOX, axes="wide", cap=4),
    "screen": table(dpmic.screen, epsilon=3.0, top=1, **MICR),
    "matrix": table(dpmic.release_pairwise, epsilon=3.0, **MICR),
    "an object": pair(
        mechanism=MICrLaplace(2.0, SQUARE, B=30, c=5, statistic="tic", axes="linear")
    ),
    "named": pair(epsilon=1, bounds=BOX, name="an old name", **MICR),
    "people of two rows": pair(epsilon=2.0, bounds=BOX, **MICR, **PERSON),
    "histogram by person": pair(
        epsilon=2.0, bounds=BOX, mechanism="micr-geometric", m=5, B=12, person="who"
    ),
    "mice with options": pair(
        epsilon=5, mechanism="mice-laplace", B=20, c=3, lmax=4, master="paper", allow_noisy=True
    ),
    "large epsilon": pair(epsilon=20, bounds=BOX, allow_large_epsilon=True, **MICR),
    "screen of people of two rows": table(
        dpmic.screen, epsilon=4, top=1, split=0.4, target="dose", B=16, c=4, **MICR, **PERSON
    ),
    "screen of all": table(dpmic.screen, epsilon=4, top=3, **MICR),
    "matrix of people of two rows": table(
        dpmic.release_pairwise, epsilon=0.1, delta=5e-4, **MICR, **PERSON
    ),
    "test of people": test(epsilon=0.5, draws=29, person="who"),
    "bounds by person": bounds(epsilon=2, coverage=0.9, failure=0.1, person="who"),
    "gaps": pair(epsilon=2.0, bounds=BOX, missing="drop", complete=0.9),
    "filled": pair(epsilon=2.0, bounds=BOX, missing={"age": 0.5}),
    "nominal": pair(
        epsilon=2.0, bounds={"age": (0, 1)}, categories={"dose": ["0", "1"]}, missing="drop"
    ),
    "groups": pair(
        epsilon=5.0,
        bounds=BOX,
        by="ward",
        categories={"ward": ["0", "1"]},
        at_least=100,
        missing="scatter",
        allow_noisy=True,
    ),
    "screen of groups": table(
        dpmic.screen,
        epsilon=5.0,
        top=1,
        by="who",
        categories={"who": ["1", "2"]},
        at_least=100,
        missing="drop",
        allow_noisy=True,
    ),
}
"""What the ledger must know again: its keys are in golden/ledger_keys.json."""

NO_LONGER = {
    "people",
    "histogram of people",
    "screen of people",
    "matrix with delta",
    "bounds of people",
}
"""Queries of several rows a person, whose number was public: now they are others, or refused."""

KINDS = (ReleaseQuery, ScreenQuery, PairwiseQuery, IndependenceQuery, BoundsQuery)
SECRET = 0.123456789012345


def committed(path):
    """Return how many charges another process would find after a crash now."""
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    connection = sqlite3.connect(copy)
    (rows,) = connection.execute("SELECT count(*) FROM entries").fetchone()
    connection.close()
    return rows


def leaks(error):
    """Search all that a crash reporter finds: texts, local variables, closures, contexts."""
    seen = []
    while error is not None:
        told = traceback.TracebackException.from_exception(error, capture_locals=True)
        seen.append("".join(told.format()))
        for frame, _ in traceback.walk_tb(error.__traceback__):
            for value in frame.f_locals.values():
                cells = getattr(value, "__closure__", None) or ()
                seen += [repr(cell.cell_contents) for cell in cells]
        error = error.__cause__ or error.__context__
    return "0.1234567" in "".join(seen)
