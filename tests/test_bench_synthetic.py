"""benchmarks/synthetic.py without dpmm: bins, measures, the way to MST and back, the page."""

import importlib.util
import json
import sys

import numpy as np
import pandas as pd
import pytest
from project import ROOT

from dpmic.cli.demo import BOUNDS


def load(name):
    spec = importlib.util.spec_from_file_location(f"bench_{name}", ROOT / f"benchmarks/{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


synthetic = load("synthetic")
BINS = synthetic.bins_of(BOUNDS, synthetic.PARTS)


@pytest.fixture(scope="module")
def survey():
    """A table with the survey's columns: whole numbers, of which the first three go together."""
    rng = np.random.default_rng(0)
    table = {name: rng.integers(*ends, 300, endpoint=True) for name, ends in BOUNDS.items()}
    table["yrs_married"] = (table["age"] - 16) // 2
    table["children"] = table["yrs_married"] // 3
    return pd.DataFrame(table).astype(float)


FAKE = """
import pandas as pd

class MSTPipeline:
    def __init__(self, epsilon, delta, disable_processing):
        assert disable_processing
        self.epsilon, self.delta = epsilon, delta

    def fit(self, codes, bins):
        assert list(codes) == list(bins) and (codes.max() < pd.Series(bins)).all()
        self.names = list(codes)

    def generate(self, n_records):
        return pd.DataFrame(dict.fromkeys(self.names[::-1], [self.epsilon] * n_records))
"""


@pytest.fixture
def fake_dpmm(tmp_path, monkeypatch):
    """A package dpmm whose synthetic tables say the epsilon that they were drawn with."""
    mechanisms = tmp_path / "dpmm" / "models" / "base" / "mechanisms"
    mechanisms.mkdir(parents=True)
    (mechanisms / "__init__.py").write_text("def cdp_rho(epsilon, delta): return epsilon**2")
    (tmp_path / "dpmm" / "pipelines.py").write_text(FAKE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def test_bins_follow_from_the_bounds():
    assert synthetic.bins_of({"a": (1, 5), "r": (0, 12)}, {"r": 10}) == {"a": 5, "r": 121}


def test_codes_count_bins_from_the_lower_bound_and_clip():
    table = pd.DataFrame({"a": [1, 2.9, 3, 5, 9, -4], "r": [0, 0.05, 0.3, 11.99, 12, 57.6]})
    codes = synthetic.coded(table, {"a": (1, 5), "r": (0, 12)}, {"r": 10})
    assert codes["a"].tolist() == [0, 1, 2, 4, 4, 0]
    assert codes["r"].tolist() == [0, 0, 3, 119, 120, 120]


def test_measures():
    truth = {("a", "b"): 0.9, ("a", "c"): 0.6, ("b", "c"): 0.1, ("c", "d"): 0.0}
    values = {("a", "b"): 0.8, ("a", "c"): 0.2, ("b", "c"): 0.4, ("c", "d"): 0.0}
    assert synthetic.measures(values, truth, top=2) == pytest.approx(
        {"error_all": 0.2, "error_strongest": 0.25, "error_named": 0.2, "found": 1}
    )
    named = {pair: values[pair] for pair in (("a", "b"), ("b", "c"))}
    assert synthetic.measures(named, truth, top=2) == {
        "error_all": None,
        "error_strongest": None,
        "error_named": pytest.approx(0.2),
        "found": 1,
    }


def test_a_synthetic_table_that_is_the_real_one_has_no_error(survey):
    """Whole numbers lose nothing in their bins; a table without dependence loses the strong."""
    codes, truth = synthetic.coded(survey, BOUNDS, synthetic.PARTS), synthetic.scores(survey)
    asked = []

    def same(codes, bins, epsilon, replace):
        asked.append((bins, epsilon, replace))
        return codes

    rows = list(synthetic.synthetic_rows(codes, truth, 0.5, 1, same))
    assert asked == [(BINS, 0.5, False), (BINS, 0.5, True)]
    for row in rows:
        assert row.error_all == row.error_strongest == row.error_named == 0
        assert row.found == 5

    def shuffled(codes, *_):
        return codes.apply(lambda column: np.random.default_rng(column.sum()).permutation(column))

    row = next(synthetic.synthetic_rows(codes, truth, 0.5, 1, shuffled))
    assert row.error_strongest > 0.3


@pytest.mark.slow
def test_our_rows(survey):
    truth = synthetic.scores(survey)
    rows = list(synthetic.our_rows(survey, truth, 10.0, 1))
    assert [(row.method.split(",")[0], row.delta) for row in rows] == [
        ("release_pairwise", 0.0),
        ("release_pairwise", synthetic.DELTA),
        ("screen", 0.0),
    ]
    assert [row.error_all is None for row in rows] == [False, False, True]
    assert all(row.seconds > 0 and 0 <= row.found <= 5 for row in rows)


@pytest.mark.parametrize(("replace", "epsilon"), [(False, 0.8), (True, 0.8 * (3 / 8) ** 0.5)])
def test_mst_is_called_in_its_own_python(fake_dpmm, survey, replace, epsilon):
    """Its rho is epsilon squared here, of which replacing a record leaves 3/8, never more."""
    codes = synthetic.coded(survey, BOUNDS, synthetic.PARTS)
    drawn = synthetic.mst(sys.executable)(codes, BINS, 0.8, replace)
    assert list(drawn) == list(codes)
    assert drawn.shape == codes.shape
    assert (drawn <= epsilon).all(axis=None)
    assert (drawn > epsilon - 2e-6).all(axis=None)


def test_a_failure_of_mst_is_shown(fake_dpmm, survey):
    codes = synthetic.coded(survey, BOUNDS, synthetic.PARTS)
    with pytest.raises(SystemExit, match="AssertionError"):
        synthetic.mst(sys.executable)(codes, dict.fromkeys(BINS, 1), 1.0, False)


def test_the_page_has_the_table_of_the_run():
    run = json.loads(synthetic.RESULTS.read_text())
    rows = [synthetic.Row(**row) for row in run["rows"]]
    page = (ROOT / "docs" / "results.md").read_text()
    assert synthetic.table_of(rows) in page
    assert run["processor"] in page
