"""Consent and its result: spent once, found again, refused in sentences, and nothing un-noised."""

import re
import threading
from html import unescape

import pytest
import window

import dpmic
from dpmic.privacy.query import Query

pytest.importorskip("starlette", reason="the window needs the extra app")
pytestmark = pytest.mark.slow


@pytest.fixture
def ready(tmp_path):
    """A window with a job that can run."""
    dpmic.Ledger(window.folder(tmp_path) / "visits.ledger", 3)
    return window.Window(tmp_path, "visits.dpmic.toml").enter()


@pytest.fixture
def runs(monkeypatch):
    """Every run of a query, the rehearsals' included."""
    counted, run = [], Query.run

    def counting(self):
        counted.append(self.terms.ledger)
        return run(self)

    monkeypatch.setattr(Query, "run", counting)
    return counted


def spent(tmp_path):
    return dpmic.Ledger(tmp_path / "visits.ledger").spent


def test_what_is_printed_was_shown_before(ready, tmp_path):
    ready.post("/consent")
    asked = ready.settled("/consent").text
    nonce = re.search(r"name='nonce' value='([^']+)'", asked)[1]
    assert spent(tmp_path) == 0
    ready.post("/spend", {"nonce": nonce})
    shown = ready.settled("/result").text
    result = ready.session.run.result
    assert result.guarantee in asked.replace("&#x27;", "'")
    assert result.guarantee in shown.replace("&#x27;", "'")
    assert 0.99 < spent(tmp_path) <= 1


ONE = 'person = "patient"'
PAIR = 'ask = "one pair"\nx = "age"\ny = "dose"'
KINDS = {
    "a person's first rows": {ONE: f"{ONE}\nrows_per_person = 2"},
    "rows that nobody can tell apart": {ONE: "rows_per_person = 2"},
    "rows that are people": {ONE: "one_row_per_person = true"},
    "dropped records": {"[columns]": '[missing]\nrule = "drop"\ncomplete = 0.9\n[columns]'},
    "random values": {"[columns]": '[missing]\nrule = "scatter"\n[columns]'},
    "a test": {"one pair": "test"},
    "all pairs": {
        PAIR: 'ask = "all pairs"\ndelta = 1e-6',
        "dose = {": "noise = { bounds = [0, 1] }\ndose = {",
    },
    "groups": {
        "[columns]": '[groups]\nby = "ward"\nat_least = 100\n[columns]\n'
        'ward = { categories = ["a", "b"] }',
        "epsilon = 1.0": "epsilon = 2.0",
    },
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_guarantee_of_every_kind_was_shown_before(tmp_path, kind):
    job = window.JOB.replace("epsilon = 1.0", "epsilon = 1.0\nallow_noisy = true")
    for old, new in KINDS[kind].items():
        assert old in job
        job = job.replace(old, new)
    dpmic.Ledger(window.folder(tmp_path, job) / "visits.ledger", 3, 1e-5)
    opened = window.Window(tmp_path, "visits.dpmic.toml").enter()
    assert opened.get("/consent").alerts == ""
    nonce = opened.nonce()
    asked = unescape(opened.get("/consent").text)
    opened.post("/spend", {"nonce": nonce})
    shown = opened.settled("/result")
    assert shown.alerts == ""
    printed = opened.session.run.result.guarantee
    if kind == "a test":  # its last sentence is about the p-value
        printed, _, last = printed.rpartition(" If ")
        assert "p-value" in last
    assert printed in asked
    for file in ("html", "json", "csv"):
        assert opened.get(f"/result/visits.{file}").status == 200


def test_files_hold_the_result(ready):
    ready.post("/spend", {"nonce": ready.nonce()})
    ready.settled("/result")
    result = ready.session.run.result
    assert ready.get("/result/visits.json").text == result.to_json()
    assert repr(result.value) in ready.get("/result/visits.csv").text
    report = ready.get("/result/visits.html").text
    assert report.startswith("<!doctype html>")
    assert "dpmic run visits.dpmic.toml" in report
    assert ready.get("/result/visits.png").body.startswith(b"\x89PNG")
    assert ready.get("/result/visits.pdf").status == 404
    assert ready.get("/job.toml?run=1").text == window.JOB
    assert "dpmic.Job.load" in ready.get("/result").text


def test_two_tabs_and_a_double_click_spend_once(ready, runs, tmp_path):
    nonce = ready.nonce()
    tabs = [threading.Thread(target=ready.post, args=("/spend", {"nonce": nonce})) for _ in "1234"]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    ready.settled("/result")
    assert sum(ledger is not None for ledger in runs) == 1
    assert len(dpmic.Ledger(tmp_path / "visits.ledger").history()) == 1


def test_without_a_ledger_too_a_consent_is_good_for_one_run(tmp_path, runs):
    job = window.JOB.replace('ledger = "visits.ledger"\n', "").replace('dataset = "visits"\n', "")
    opened = window.Window(window.folder(tmp_path, job), "visits.dpmic.toml").enter()
    nonce = opened.nonce()
    assert "not tracked" in opened.get("/consent").text
    before = len(runs)
    opened.post("/spend", {"nonce": nonce})
    first = opened.settled("/result") and opened.session.run.result.value
    opened.post("/spend", {"nonce": nonce})
    assert len(runs) == before + 1
    assert opened.session.run.result.value == first


def test_a_consent_to_another_plan_spends_nothing(ready, tmp_path):
    nonce = ready.nonce()
    given = {"epsilon": "2", "ledger": "visits.ledger", "dataset": "visits"}
    ready.post("/epsilon", given)
    shown = ready.post("/spend", {"nonce": nonce})
    assert "it was changed after this page was shown" in shown.alerts
    assert ready.post("/spend", {"nonce": "x"}).alerts
    assert spent(tmp_path) == 0


def test_a_spent_budget_is_a_sentence_before_anything_runs(ready, tmp_path):
    dpmic.Ledger(tmp_path / "visits.ledger").spend("all of it", 2.5, dataset="other")
    ready.post("/consent")
    shown = ready.settled("/consent")
    assert "has spent 2.5 of 3" in shown.alerts
    assert "nonce" not in shown.text
    assert spent(tmp_path) == 2.5


def test_a_budget_spent_meanwhile_is_a_sentence_too(ready, tmp_path):
    nonce = ready.nonce()
    dpmic.Ledger(tmp_path / "visits.ledger").spend("all of it", 2.5, dataset="other")
    ready.post("/spend", {"nonce": nonce})
    assert "has spent 2.5 of 3" in ready.settled("/result").alerts


def test_another_window_finds_what_was_paid_for(ready, tmp_path):
    ready.post("/spend", {"nonce": ready.nonce()})
    ready.settled("/result")
    value = ready.session.run.result.value
    later = window.Window(tmp_path, "visits.dpmic.toml").enter()
    nonce = later.nonce()
    assert "costs nothing" in later.get("/consent").text
    later.post("/spend", {"nonce": nonce})
    assert later.settled("/result").status == 200
    assert later.session.run.result.value == value
    assert len(dpmic.Ledger(tmp_path / "visits.ledger").history()) == 1
    history = later.get("/ledger").text
    assert "answered" in history
    assert "age, dose" in history


def test_a_gap_is_refused_by_the_column_alone(ready, tmp_path):
    file = tmp_path / "visits.csv"
    file.write_text(file.read_text().replace(f",{window.AGE[7]},", ",secret-4711,", 1))
    ready.post("/consent")
    shown = ready.settled("/consent")
    if not shown.alerts:  # read when it runs
        ready.post("/spend", {"nonce": re.search(r"nonce' value='([^']+)'", shown.text)[1]})
        shown = ready.settled("/result")
    assert "age" in shown.alerts
    for answer in ready.traffic:
        assert "4711" not in answer.text
    assert spent(tmp_path) == 0


def a_private_session(tmp_path, number, job):
    """Go through all steps, and return all that came back."""
    folder = tmp_path / str(number)
    folder.mkdir()
    dpmic.Ledger(window.folder(folder, job) / "visits.ledger", 3)
    opened = window.Window(folder, "visits.dpmic.toml").enter()
    for place in ("/protect", "/columns", "/question", "/epsilon", "/ledger", "/job"):
        opened.get(place)
    opened.post("/rehearsal")
    opened.settled("/rehearsal")
    opened.post("/spend", {"nonce": opened.nonce()})
    opened.settled("/result")
    for kind in ("html", "json", "csv"):
        opened.get(f"/result/visits.{kind}")
    opened.get("/ledger")
    return "\n".join(answer.text for answer in opened.traffic)


@pytest.mark.parametrize("ask", ["one pair", "strongest pairs", "all pairs", "test"])
def test_nothing_unnoised_is_in_any_answer(tmp_path, ask, monkeypatch):
    """Exact scores, and values of the records, in all that private sessions receive.

    Noise may give a score its own four decimals by chance: about once in a hundred sessions, so
    once in a million in each of three.
    """
    own = 'x = "age"\ny = "dose"\n' if ask in ("one pair", "test") else ""
    own += "top = 1\n" if ask == "strongest pairs" else ""
    job = window.JOB.replace('x = "age"\ny = "dose"\n', own).replace('"one pair"', f'"{ask}"')
    job += "noise = { bounds = [0, 1] }\n"
    exact = window.exact_scores(monkeypatch)
    sessions = [a_private_session(tmp_path, number, job) for number in range(3)]
    assert all("Guarantee" in whole for whole in sessions)
    assert len(exact) == 3 * (3 if "pairs" in ask else 1)
    shown = [window.leaked(exact, whole, 4) for whole in sessions]
    assert set.intersection(*shown) == set()
    for whole in sessions:
        assert not window.leaked(exact, whole, 8)
        assert not window.leaked([*window.AGE, *window.DOSE], whole, 3)


def test_a_leak_would_be_found():
    exact = dpmic.mice(window.AGE, window.DOSE).mic
    for leak in (f"<td>{exact:.4f}</td>", f'{{"mic": {exact!r}}}', f"{exact:.4f}."):
        assert window.leaked([exact], leak, 4) == {exact}
    assert window.leaked([window.AGE[5]], f"row 6: {window.AGE[5]}", 3)
    assert not window.leaked([exact], f"{exact + 1e-3:.4f}", 4)


def test_open_pages_are_closed_to_a_private_session(ready):
    ready.post("/begin/open")
    assert ready.session.scores is None
    ready.post("/explore")
    assert ready.session.scores is None
    for place in ("/explore", "/explore/pair?x=age&y=dose"):
        assert ready.get(place).header("location") == "/"
    assert ready.get("/explore/visits.csv").status == 404
