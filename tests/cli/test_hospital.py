"""From a hospital's file to a private report: init, check, rehearse, run."""

import json
import re
import warnings

import hospital
import numpy as np
import pytest
from commands import runner

import dpmic
from dpmic.privacy.query import Terms
from dpmic.privacy.screen import prepare

WRITTEN = ("--sep", ";", "--decimal", ",", "--encoding", "cp1252")


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    return runner(monkeypatch, capsys)


def walked(run, tmp_path, visits, people, rows):
    """Go from a file to a report; return what was published, and the table."""
    table = hospital.made(visits, people, seed=7)
    hospital.write(table, tmp_path / "visits.csv")
    assert run("init", "visits.csv", *WRITTEN)[0] == 0
    job = tmp_path / "visits.dpmic.toml"
    code, _, err = run("check", job.name)
    assert code == 2
    assert err.count("line ") >= len(hospital.COLUMNS)
    job.write_text(hospital.filled_in(job.read_text(), people=people, rows=rows))
    assert run("ledger", "create", "visits.ledger", "--epsilon", "3")[0] == 0
    code, out, err = run("check", job.name)
    assert code == 0, err
    assert "0.7" in out + err or "70%" in out + err
    code, out, err = run("rehearse", job.name)
    assert code == 0, err
    assert "made-up data" in (tmp_path / "visits.rehearsal.html").read_text()
    assert dpmic.Ledger(tmp_path / "visits.ledger").spent == 0
    code, out, err = run("run", job.name, "--yes", "--json")
    assert code == 0, err
    published = dpmic.Screening.from_json(out)
    assert dpmic.Ledger(tmp_path / "visits.ledger").spent == pytest.approx(published.epsilon)
    page = (tmp_path / "visits.html").read_text()
    assert "how many is not published" in page
    assert "rows_per_person" in page  # the job file
    assert published.n == table["patient"].nunique() == people
    assert json.loads(out)["parameters"]["promised"] == int(0.7 * people)
    return published, table


def test_a_small_hospital(run, tmp_path):
    published, table = walked(run, tmp_path, 6000, 3000, rows=1)
    assert {"age", "ward"} in map(set, published.pairs)
    exact = {json.dumps(name) for name in table["note"].head(50)}
    assert not exact & set(re.findall(r'"[^"]*"', (tmp_path / "visits.html").read_text()))


@pytest.mark.full
def test_a_hospital(run, tmp_path):
    """200,000 visits of 60,000 people, 14 columns of all kinds, 12% gaps."""
    published, _ = walked(run, tmp_path, 200_000, 60_000, rows=3)
    assert {"age", "ward"} in map(set, published.pairs)
    assert published.half_width < 0.05


@pytest.mark.full
def test_published_values_lie_in_their_intervals():
    """Exact scores are within the 95% noise interval in at least 914 of 1,000 runs.

    Of 1,000 runs that hold with 95% each, fewer than 914 do with a probability of 1 in 1,200,000.
    """
    table = hospital.made(4000, 2500, seed=11).infer_objects()
    terms = {
        "epsilon": 2.0,
        "person": "patient",
        "rows_per_person": 2,
        "missing": "drop",
        "complete": 0.7,
        "categories": {"ward": list(hospital.WARDS), "sex": ["f", "m"]},
        "allow_noisy": True,
    }
    bounds = {"age": (0, 120), "systolic": (0, 300), "diastolic": (0, 200)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        query = prepare(table, Terms(**terms), bounds=bounds, top=3)
        exact = query.compute(query.read())
    names = query.table.named_pairs
    known = dict(zip(names, exact, strict=True))
    held = 0
    for _ in range(1000):
        found = query.publish(exact)
        each = zip(found.pairs, found.interval(0.95), strict=True)
        inside = [low <= known[pair] <= high for pair, (low, high) in each]
        held += inside[0]
    assert held >= 914
    assert np.ptp(exact) > 0.3
