"""Consent and its result: spent once, found again, refused in sentences, and nothing un-noised."""

import datetime
import re
import threading
import time
from html import unescape
from types import SimpleNamespace

import pytest
import window

import dpmic
from dpmic.app import _routes
from dpmic.privacy._ledger_file import locked
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
    ready.post("consent")
    asked = ready.settled("consent").text
    nonce = re.search(r"name='nonce' value='([^']+)'", asked)[1]
    assert spent(tmp_path) == 0
    ready.post("spend", {"nonce": nonce})
    shown = ready.settled("result").text
    result = ready.session.runs[-1].result.result
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
    assert opened.get("consent").alerts == ""
    nonce = opened.nonce()
    asked = unescape(opened.get("consent").text)
    opened.post("spend", {"nonce": nonce})
    shown = opened.settled("result")
    assert shown.alerts == ""
    printed = opened.session.runs[-1].result.result.guarantee
    if kind == "a test":  # its last sentence is about the p-value
        printed, _, last = printed.rpartition(" If ")
        assert "p-value" in last
    assert printed in asked
    for file in ("html", "json", "csv"):
        assert opened.get(f"result.{file}").status == 200


def test_files_hold_the_result(ready):
    ready.post("spend", {"nonce": ready.nonce()})
    ready.settled("result")
    result = ready.session.runs[-1].result.result
    assert ready.get("result.json").text == result.to_json()
    assert repr(result.value) in ready.get("result.csv").text
    report = ready.get("result.html").text
    assert report.startswith("<!doctype html>")
    assert "dpmic run visits.dpmic.toml" in report
    assert ready.get("result.png").body.startswith(b"\x89PNG")
    assert ready.get("result.pdf").status == 404
    assert ready.get("job.toml?run=1").text == window.JOB
    shown = ready.get("result").text
    assert "dpmic.Job.load" in shown
    assert f"Save the job file in {ready.session.folder}, beside visits.csv and visits" in shown
    assert "Do not create a second ledger." in shown


def test_two_tabs_and_a_double_click_spend_once(ready, runs, tmp_path):
    nonce = ready.nonce()
    tabs = [threading.Thread(target=ready.post, args=("spend", {"nonce": nonce})) for _ in "1234"]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    ready.settled("result")
    assert sum(ledger is not None for ledger in runs) == 1
    assert len(dpmic.Ledger(tmp_path / "visits.ledger").history()) == 1


def test_without_a_ledger_too_a_consent_is_good_for_one_run(tmp_path, runs):
    job = window.JOB.replace('ledger = "visits.ledger"\n', "").replace('dataset = "visits"\n', "")
    opened = window.Window(window.folder(tmp_path, job), "visits.dpmic.toml").enter()
    nonce = opened.nonce()
    assert "not tracked" in opened.get("consent").text
    before = len(runs)
    opened.post("spend", {"nonce": nonce})
    first = opened.settled("result") and opened.session.runs[-1].result.result.value
    opened.post("spend", {"nonce": nonce})
    assert len(runs) == before + 1
    assert opened.session.runs[-1].result.result.value == first


def test_without_a_ledger_a_second_run_is_said_to_cost_again(tmp_path):
    job = window.JOB.replace('ledger = "visits.ledger"\n', "").replace('dataset = "visits"\n', "")
    opened = window.Window(window.folder(tmp_path, job), "visits.dpmic.toml").enter()
    nonce = opened.nonce()
    said = "You published this job in this window already"
    assert said not in opened.get("consent").text
    opened.post("spend", {"nonce": nonce})
    opened.settled("result")
    opened.nonce()
    shown = opened.get("consent").text
    assert f"{said}. Doing it again spends another 1, 2 in all." in shown
    assert "href='result?run=1'" in shown
    opened.post(
        "job", {"text": job.replace('y = "dose"', 'y = "noise"').replace("dose =", "noise =")}
    )
    opened.nonce()
    assert said not in opened.get("consent").text


def test_a_consent_to_another_plan_spends_nothing(ready, tmp_path):
    nonce = ready.nonce()
    given = {"epsilon": "2", "ledger": "visits.ledger", "dataset": "visits"}
    ready.post("epsilon", given)
    shown = ready.post("spend", {"nonce": nonce})
    assert "it was changed after this page was shown" in shown.alerts
    assert ready.post("spend", {"nonce": "x"}).alerts
    assert spent(tmp_path) == 0


def test_a_spent_budget_is_a_sentence_before_anything_runs(ready, tmp_path):
    dpmic.Ledger(tmp_path / "visits.ledger").spend("all of it", 2.5, dataset="other")
    ready.post("consent")
    shown = ready.settled("consent")
    assert "has spent 2.5 of 3" in shown.alerts
    assert "nonce" not in shown.text
    assert spent(tmp_path) == 2.5


def test_a_budget_spent_meanwhile_is_a_sentence_too(ready, tmp_path):
    nonce = ready.nonce()
    dpmic.Ledger(tmp_path / "visits.ledger").spend("all of it", 2.5, dataset="other")
    ready.post("spend", {"nonce": nonce})
    assert "has spent 2.5 of 3" in ready.settled("result").alerts


def test_another_window_finds_what_was_paid_for(ready, tmp_path):
    ready.post("spend", {"nonce": ready.nonce()})
    ready.settled("result")
    value = ready.session.runs[-1].result.result.value
    later = window.Window(tmp_path, "visits.dpmic.toml").enter()
    nonce = later.nonce()
    assert "costs nothing" in later.get("consent").text
    later.post("spend", {"nonce": nonce})
    assert later.settled("result").status == 200
    assert later.session.runs[-1].result.result.value == value
    assert len(dpmic.Ledger(tmp_path / "visits.ledger").history()) == 1
    history = later.get("ledger").text
    assert "answered" in history
    assert "MIC of age and dose by " in history


def test_a_gap_is_refused_by_the_column_alone(ready, tmp_path):
    file = tmp_path / "visits.csv"
    file.write_text(file.read_text().replace(f",{window.AGE[7]},", ",secret-4711,", 1))
    ready.post("consent")
    shown = ready.settled("consent")
    if not shown.alerts:  # read when it runs
        ready.post("spend", {"nonce": re.search(r"nonce' value='([^']+)'", shown.text)[1]})
        shown = ready.settled("result")
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
    for place in ("protect", "columns", "question", "epsilon", "ledger", "job"):
        opened.get(place)
    opened.post("rehearsal")
    opened.settled("rehearsal")
    opened.post("spend", {"nonce": opened.nonce()})
    opened.settled("result")
    for kind in ("html", "json", "csv"):
        opened.get(f"result.{kind}")
    opened.get("ledger")
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
    ready.post("open")
    assert ready.session.scores is None
    ready.post("explore")
    assert ready.session.scores is None
    for place in ("explore", "pair?x=age&y=dose"):
        assert ready.get(place).header("location") == "."
    for place in ("explore.csv", "pair.csv?x=age&y=dose"):
        assert "not" in ready.get(place).alerts


def test_an_open_table_is_forgotten_before_a_job_begins(tmp_path):
    """Its exact scores are nowhere, and what is still at work on them is given up."""
    opened = window.Window(window.folder(tmp_path), "visits.csv").enter()
    opened.post("open")
    assert "dose" in opened.settled("explore").text
    opened.get("pair?x=age&y=dose")
    assert "Traceback" not in opened.settled("pair?x=age&y=dose").text
    assert "start over" in opened.post("private").alerts
    assert "start over" in opened.post("file", {"file": "visits.dpmic.toml"}).alerts
    opened.post("over")
    opened.post("file", {"file": "visits.dpmic.toml"})
    assert (opened.session.scores, opened.session.looks) == (None, {})
    for place in ("explore", "pair?x=age&y=dose"):
        assert opened.get(place).header("location") == "."
    for place in ("explore.csv", "pair.csv?x=age&y=dose"):
        assert opened.get(place).status == 400
    opened.post("over")
    for place in ("protect", "columns", "consent", "job.toml"):
        assert opened.get(place).header("location") == "."


def test_a_button_of_another_table_does_nothing(tmp_path):
    """A tab that still shows an open table, after a sensitive one was chosen in another."""
    (window.folder(tmp_path) / "open.csv").write_text("a,b\n1,2\n3,4\n")
    opened = window.Window(tmp_path, "open.csv").enter()
    buttons = re.findall(r"action='([^']+)'><p", opened.get("").text)
    assert len(buttons) == 2
    opened.post("file", {"file": "visits.csv"})
    for button in (*buttons, "open?of=", "private?of=", "over?of="):
        assert "another job was begun" in opened.post(button).alerts, button
        assert (opened.session.mode, opened.session.file) == ("", "visits.csv")


def test_every_button_is_of_its_job(ready):
    """Those that begin, stop or forget work: pages of a job that was left are refused."""
    found = set()
    for place in ("", "rehearsal", "consent"):
        found |= set(re.findall(r"action='([^']+)'><p", ready.get(place).text))
    assert {button.partition("?")[0] for button in found} == {"over", "rehearsal", "consent"}
    (over,) = (button for button in found if button.startswith("over"))
    for _ in "12":
        assert ready.post(over).alerts == ""  # a second click forgets nothing more
    ready.post("file", {"file": "visits.dpmic.toml"})
    job = ready.session.current
    for button in (*found, "stop?of=1", "stop?of="):
        assert "another job was begun" in ready.post(button, {"what": "consent"}).alerts, button
    now = ready.session
    assert (now.current, now.rehearsal, now.preparation) == (job, None, None)


def test_a_result_belongs_to_the_job_that_ran(ready, tmp_path, monkeypatch):
    """Whatever is changed afterwards: its page, its files and the ledger it names stay."""
    minute = datetime.datetime(2026, 11, 19, 12, 30)  # a report says when it was made
    clock = SimpleNamespace(now=lambda _: minute)
    monkeypatch.setattr("dpmic.report._assembly.datetime", clock)
    ready.post("rehearsal")
    ready.settled("rehearsal")
    ready.post("spend", {"nonce": ready.nonce()})
    before = ready.settled("result").text
    files = [f"result.{kind}?run=1" for kind in ("html", "json", "csv")] + ["job.toml?run=1"]
    kept = {
        place: (sent.header("content-disposition"), sent.body)
        for place, sent in sent_of(ready, files)
    }
    dpmic.Ledger(tmp_path / "other.ledger", 7)
    other = window.JOB.replace("visits.ledger", "other.ledger").replace('x = "age"', 'x = "noise"')
    other += "noise = { bounds = [0, 1] }\n[report]\nestimate = true\n"
    ready.post("job", {"text": other})
    assert "The job was changed after this rehearsal" in ready.get("rehearsal").alerts

    def unchanged(words):
        shown = ready.get("result")
        assert words in shown.alerts
        assert "visits.dpmic.toml" in shown.text
        assert shown.text.partition("<h2>Files")[2] == before.partition("<h2>Files")[2]
        for place, sent in sent_of(ready, files):
            assert (sent.header("content-disposition"), sent.body) == kept[place], place

    unchanged("The job was changed after this was published")
    assert b"other.ledger" not in kept["result.html?run=1"][1]
    assert "left, epsilon" in before
    ready.post("over")
    unchanged("the result of visits.dpmic.toml, which was begun earlier")
    assert "href='result'" in ready.get("").text
    (tmp_path / "second.dpmic.toml").write_text(other)
    ready.post("file", {"file": "second.dpmic.toml"})
    unchanged("the result of visits.dpmic.toml, which was begun earlier")
    ready.post("over")
    ready.upload("visits.csv", (tmp_path / "visits.csv").read_bytes())
    ready.upload("visits.dpmic.toml", window.JOB.encode())  # the same words on another table
    unchanged("the result of visits.dpmic.toml, which was begun earlier")


def sent_of(opened, places):
    return [(place, opened.get(place)) for place in places]


def test_results_of_two_jobs_stay_apart(ready, tmp_path):
    """A page of the first, still open in a tab, goes on leading to its own files."""
    ready.post("spend", {"nonce": ready.nonce()})
    ready.settled("result")
    first = {place: sent.body for place, sent in sent_of(ready, ["result.json?run=1"])}
    ready.post(
        "job",
        {"text": window.JOB.replace('y = "dose"', 'y = "noise"') + "noise = { bounds = [0, 1] }\n"},
    )
    nonce = ready.nonce()
    assert "was run" not in ready.get("consent").text
    ready.post("spend", {"nonce": nonce})
    second = ready.settled("result").text
    assert "noise" in second
    assert "href='result?run=1'" in second
    for place, sent in sent_of(ready, first):
        assert sent.body == first[place]
    older = ready.get("result?run=1")
    for file in ("result.json", "job.toml"):
        assert f"href='{file}?run=1'" in older.text
    assert ready.get("job.toml?run=1").text == window.JOB
    assert "The job was changed" in older.alerts
    for wrong in ("0", "3", "-1", "x", "9" * 50):
        assert ready.get(f"result.json?run={wrong}").status == 404


def test_start_over_while_it_runs_loses_nothing(ready, monkeypatch, tmp_path):
    """The result comes, with the job that was consented to."""
    run, go_on = Query.run, threading.Event()

    def waiting(self):
        if self.terms.ledger is not None:
            assert go_on.wait(60)
        return run(self)

    nonce = ready.nonce()
    monkeypatch.setattr(Query, "run", waiting)
    ready.post("spend", {"nonce": nonce})
    assert "cannot be stopped" in ready.get("result").text
    ready.post("stop", {"what": "result"})
    ready.post("over")
    assert ready.get("protect").header("location") == "."
    (tmp_path / "second.dpmic.toml").write_text(window.JOB)
    ready.post("file", {"file": "second.dpmic.toml"})
    again = ready.nonce()
    assert "another one is running" in ready.post("spend", {"nonce": again}).alerts
    assert "the same job finishes it" in ready.session.farewell()
    go_on.set()
    shown = ready.settled("result")
    assert "the result of visits.dpmic.toml" in shown.alerts
    assert "Guarantee" in shown.text
    assert len(dpmic.Ledger(tmp_path / "visits.ledger").history()) == 1


def charged(tmp_path):
    """Charge what the job asks, as if the window had been killed before the noise was drawn."""
    ledger = dpmic.Ledger(tmp_path / "visits.ledger")
    query = dpmic.Job.load(tmp_path / "visits.dpmic.toml").query()
    ledger.spend("another one", 1.5, dataset="visits")
    ledger.spend(query.key, query.epsilon, dataset="visits")
    return ledger


def test_what_was_charged_is_finished_at_no_cost(ready, tmp_path):
    ledger = charged(tmp_path)
    assert "a query in it was charged and has no answer" in ready.get("epsilon").text
    nonce = ready.nonce()
    shown = ready.get("consent").text
    assert "Finish, at no cost" in shown
    assert "already charged" in shown
    assert ">0.5 of 3 left<" in shown
    ready.post("spend", {"nonce": nonce})
    assert "Guarantee" in ready.settled("result").text
    assert [entry.answered for entry in ledger.history()] == [False, True]


@pytest.mark.parametrize("answered", [False, True])
def test_what_was_free_is_never_charged(ready, tmp_path, answered):
    """Another ledger takes the place of the one that had the charge."""
    if answered:
        ready.post("spend", {"nonce": ready.nonce()})
        ready.settled("result")
    else:
        charged(tmp_path)
    nonce = ready.nonce()
    other = dpmic.Ledger(tmp_path / "other.ledger", 9)
    for number in range(3):
        other.spend(f"q{number}", 1.0, dataset="others")
    (tmp_path / "other.ledger").replace(tmp_path / "visits.ledger")
    shown = ready.post("spend", {"nonce": nonce})
    assert "it was changed after this page was shown" in shown.alerts
    assert len(ready.session.runs) == answered
    assert spent(tmp_path) == 3
    assert "Spend epsilon = 1 and publish" in (ready.nonce() and ready.get("consent").text)


def test_a_consent_names_table_dataset_and_ledger(ready, tmp_path):
    ready.nonce()
    shown = ready.get("consent").text
    for name in ("visits.csv", "visits.ledger"):
        assert f"<dd>{tmp_path / name}</dd>" in shown
    assert "<dt>dataset</dt><dd>visits</dd>" in shown
    assert "<a href='job.toml' download>Keep the job file</a>" in shown


def without_a_ledger(tmp_path, job=window.JOB):
    job = job.replace('ledger = "visits.ledger"\n', "").replace('dataset = "visits"\n', "")
    return window.Window(window.folder(tmp_path, job), "visits.dpmic.toml").enter()


def test_without_a_ledger_all_that_this_window_spends_on_a_table_is_summed(tmp_path):
    opened = without_a_ledger(tmp_path)
    opened.post("spend", {"nonce": opened.nonce()})
    opened.settled("result")
    opened.post("job", {"text": opened.session.text + "# a comment\n"})
    opened.nonce()
    said = "You published this job in this window already. Doing it again spends another 1, 2 in"
    assert said in opened.get("consent").text
    opened.post("job", {"text": opened.session.text.replace("epsilon = 1.0", "epsilon = 2.0")})
    opened.nonce()
    said = "You published from this table in this window already. This spends another 2, 3 in all."
    assert said in opened.get("consent").text


def test_a_result_that_nobody_keeps_is_named_at_the_end(tmp_path):
    opened = without_a_ledger(tmp_path)
    assert opened.session.farewell() == "Stopped."
    opened.post("spend", {"nonce": opened.nonce()})
    opened.settled("result")
    assert "1 result without a ledger, never downloaded" in opened.session.farewell()
    opened.get("result.json?run=1")
    assert opened.session.farewell() == "Stopped."


def test_a_first_line_of_numbers_is_doubted_beside_the_consent(tmp_path):
    """It may be a record, and the report would show it."""
    (tmp_path / "visits.csv").write_text("Smith,34,71.5\n" + "a,20,60\nb,30,50.5\n" * 150)
    columns = "34 = { bounds = [0, 120] }\n'71.5' = { bounds = [0, 400] }\n"
    job = window.JOB.partition("age = {")[0].replace('person = "patient"', "rows_per_person = 1")
    job = job.replace('"age"', '"34"').replace('"dose"', '"71.5"') + columns
    (tmp_path / "visits.dpmic.toml").write_text(job)
    dpmic.Ledger(tmp_path / "visits.ledger", 3)
    opened = window.Window(tmp_path, "visits.dpmic.toml").enter()
    assert "add a line of names above it" in opened.get("columns").text
    opened.nonce()
    assert "the first line is taken for the names" in opened.get("consent").text


def test_scores_that_were_seen_are_known_by_the_content_too(tmp_path):
    """Of a copy; a page before the consent reads no record, so it knows only the place."""
    opened = window.Window(window.folder(tmp_path), "visits.csv").enter()
    opened.post("open")
    opened.settled("explore")
    dpmic.Ledger(tmp_path / "visits.ledger", 3)
    content = (tmp_path / "visits.csv").read_bytes()
    (tmp_path / "copy.csv").write_bytes(content)
    (tmp_path / "copy.dpmic.toml").write_text(window.JOB.replace("visits.csv", "copy.csv"))
    opened.post("over")
    opened.post("file", {"file": "copy.dpmic.toml"})
    said = "You have seen exact scores"
    assert said not in opened.get("protect").text
    opened.nonce()
    assert said in opened.get("consent").text
    opened.post("over")
    opened.upload("visits.csv", content)
    opened.upload("visits.dpmic.toml", window.JOB.encode())
    assert said in opened.get("protect").text
    (tmp_path / "copy.csv").write_bytes(content + b"300,30,40,0.5,a\n")
    opened.post("over")
    opened.post("file", {"file": "copy.dpmic.toml"})
    opened.nonce()
    assert said not in opened.get("consent").text


def test_a_locked_ledger_does_not_hold_up_the_other_tabs(ready, tmp_path, monkeypatch):
    monkeypatch.setattr(_routes, "SECONDS", 0.1)
    with locked(tmp_path / "visits.ledger"):
        begun = time.monotonic()
        assert "another process keeps it locked" in ready.get("ledger").alerts
        assert time.monotonic() - begun < 10


def test_a_consent_is_to_one_file_too(ready, tmp_path):
    """The same text in another folder is another table and another ledger."""
    nonce = ready.nonce()
    other = tmp_path / "other"
    other.mkdir()
    dpmic.Ledger(window.folder(other) / "visits.ledger", 3)
    prepared = ready.session.preparation
    ready.post("over")
    ready.post("file", {"file": "other/visits.dpmic.toml"})
    ready.session.preparation = prepared  # as if it had ended just now
    assert "nonce" not in ready.get("consent").text
    assert "nothing was spent" in ready.post("spend", {"nonce": nonce}).alerts
    assert spent(tmp_path) == spent(other) == 0
    assert ready.post("spend", {"nonce": "ö"}).alerts


def test_an_old_tab_cannot_begin_another_job(ready):
    """The first page in another tab, shown before the job was begun."""
    before = ready.session.current
    for place, given in {
        "file": {"file": "visits.csv"},
        "open": {},
        "explore": {},
        "private": {},
    }.items():
        ready.post(place, given)
        assert ready.session.current is before
        assert ready.session.scores is None
    assert "start over" in ready.post("file", {"file": "visits.csv"}).alerts
    assert "start over" in ready.upload("visits.csv", b"a,b\n1,2\n").alerts
    assert ready.session.current is before
    assert ready.post("file", {"file": "visits.dpmic.toml"}).alerts == ""  # a second click


@pytest.mark.parametrize("place", ["rehearsal", "consent"])
def test_work_that_spends_nothing_shows_progress_and_can_be_stopped(ready, monkeypatch, place):
    go_on = threading.Event()

    def waiting(*_):
        assert go_on.wait(60)

    monkeypatch.setattr(Query, "run", waiting)
    monkeypatch.setattr(Query, "stored", waiting)
    shown = ready.post(place).text
    assert f"<input type='hidden' name='what' value='{place}'>" in shown
    assert "s so far" in ready.get(f"progress?of={place}").text
    assert "stopped" in ready.post("stop", {"what": place}).alerts
    assert ready.get(f"progress?of={place}").status == 204
    task = ready.session.rehearsal if place == "rehearsal" else ready.session.preparation
    go_on.set()
    task.wait(60)
    assert (task.state, ready.session.prepared, ready.session.runs) == ("stopped", None, [])
