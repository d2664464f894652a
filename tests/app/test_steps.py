"""The steps without a browser: what forms do to the job file, and what they refuse."""

import os
import re
import threading
import tomllib
from html import unescape

import pytest
import window
from sweeps import sweep

import dpmic
from dpmic.app import _steps
from dpmic.errors import DpmicError
from dpmic.job import Job

pytest.importorskip("starlette", reason="the window needs the extra app")

COLUMNS = ("patient", "age", "dose", "noise", "ward")


@pytest.fixture
def begun(tmp_path):
    """A window with a table and an empty job."""
    opened = window.Window(window.folder(tmp_path), "visits.csv").enter()
    opened.post("private")
    return opened


def filled(opened):
    """Fill in everything up to epsilon."""
    opened.post("protect", {"unit": "person", "person": "patient", "people": "300"})
    kinds = {"age": ("0", "120"), "dose": ("0", "400")}
    given = {"rule": "refuse"}
    for place, name in enumerate(COLUMNS[1:]):
        low, high = kinds.get(name, ("", ""))
        own = {"name": name, "kind": "bounds" if low else "ignore", "low": low, "high": high}
        given |= {f"{key}-{place}": value for key, value in own.items()}
    opened.post("columns", given)
    opened.post("question", {"ask": "one pair", "x": "age", "y": "dose", "top": "5"})
    own = {"epsilon": "0.5", "ledger": "visits.ledger", "dataset": "visits", "total": "3"}
    return opened.post("epsilon", own)


def test_the_steps_write_a_job_file_that_the_command_line_takes(begun, tmp_path):
    shown = filled(begun)
    assert "Rehearsal on made-up data" in shown.text
    assert shown.alerts == ""
    file = tmp_path / "visits.dpmic.toml"
    sent = begun.get("job.toml")
    assert sent.header("content-disposition") == 'attachment; filename="visits.dpmic.toml"'
    file.write_bytes(sent.body)
    job = Job.load(file)
    assert job.check() == ()
    assert (job.ask, job.get("privacy", "epsilon")) == ("one pair", 0.5)
    assert job.get("privacy", "person") == "patient"
    assert 'Replace every "?" below' in job.text  # its comments stay
    assert dpmic.Ledger(tmp_path / "visits.ledger").total == 3


def test_reading_a_page_changes_nothing_and_shows_the_same_again(begun):
    filled(begun)
    for place in ("", "protect", "columns", "question", "epsilon", "rehearsal", "consent"):
        before = begun.session.text
        assert begun.get(place).body == begun.get(place).body
        assert begun.session.text == before


def test_a_step_back_shows_what_was_written(begun):
    filled(begun)
    assert "value='120'" in begun.get("columns").text
    assert "<option value='patient' selected>" in begun.get("protect").text
    question = begun.get("question").text
    assert "value='one pair' checked" in question
    assert "<option value='dose' selected>" in question
    assert "value='0.5'" in begun.get("epsilon").text


def test_a_page_that_lacks_something_says_so_and_stays(begun):
    assert "Still to be filled in" in begun.get("protect").text
    assert begun.get("protect").alerts == ""  # nobody has had a chance yet
    shown = begun.post("protect", {"people": "300"})
    assert "<h1>Whom to protect</h1>" in shown.text
    assert "what a person is" in shown.alerts


def test_values_that_cannot_be_used_are_sentences(begun):
    shown = begun.post("protect", {"unit": "one", "people": "many"})
    assert "'many': it is not an integer" in shown.alerts
    own = {"name-0": "age", "kind-0": "bounds", "low-0": "120", "high-0": "0", "rule": "refuse"}
    assert "age" in begun.post("columns", own).alerts
    assert "it is not a number" in begun.post("epsilon", {"epsilon": "much"}).alerts
    for shown in begun.traffic:
        assert "Traceback" not in shown.text


def test_an_unusable_text_of_the_job_is_refused_and_the_old_one_stays(begun):
    before = begun.session.text
    shown = begun.post("job", {"text": "[data\nfile = 1"})
    assert "it is not valid TOML" in shown.alerts
    assert begun.session.text == before


def test_the_whole_text_can_be_changed(begun):
    begun.post("job", {"text": window.JOB.replace("\n", "\r\n")})
    assert tomllib.loads(begun.session.text) == tomllib.loads(window.JOB)
    assert "\r" not in begun.session.text


def test_the_plan_follows_epsilon(begun):
    filled(begun)
    costs = {}
    for epsilon in ("0.2", "4"):
        shown = begun.get(f"plan?epsilon={epsilon}").text
        assert f"epsilon = {epsilon}" in shown
        costs[epsilon] = float(re.search(r"<meter[^>]*value='([\d.]+)'", shown)[1])
    assert costs["0.2"] > 1.5 * costs["4"]
    assert "the noise is too large" in begun.get("plan?epsilon=0.1").text
    assert "2.5 after this" in begun.get("plan?epsilon=0.5").text
    assert "too little" in begun.get("plan?epsilon=4").text
    assert begun.session.text.count("epsilon = 0.5") == 1  # looking changes nothing


def test_a_plan_that_the_slider_has_left_is_not_computed(begun, monkeypatch):
    """The browser has closed the connection: the plans of a long move would take minutes."""
    filled(begun)
    monkeypatch.setattr(begun.session, "planned", lambda _: pytest.fail("computed"))
    assert begun.ask("GET", "plan?epsilon=1", b"", {}, gone=True).status == 204


def test_the_plan_does_not_wait_for_a_ledger(begun):
    """Names of ledger and dataset stand below it, and come after it."""
    filled(begun)
    begun.post("question", {"ask": "strongest pairs", "top": "1"})
    whole = begun.get("plan?epsilon=1").text
    assert whole.count("<meter") == 3
    text = begun.session.text.replace('dataset = "visits"', 'dataset = "?"')
    begun.post("job", {"text": text.replace("people = 300", "people = 5000")})
    shown = begun.get("epsilon").text
    assert "Still to be filled in: the name of the dataset" in shown
    assert shown.count("<meter") == 3
    assert "chance to find a relation of 0.5" in shown
    begun.post("job", {"text": begun.session.text.replace("visits.ledger", "new.ledger")})
    assert begun.get("epsilon").text.count("<meter") == 3


def test_the_plan_is_that_of_the_records_that_surely_count(begun):
    """Two sources, the plan's table and the query's noise, must tell the same."""
    filled(begun)
    begun.post("question", {"ask": "strongest pairs", "top": "1"})
    for rule in ("refuse", "drop"):
        text = begun.session.text.replace('rule = "refuse"', f'rule = "{rule}"')
        begun.post("job", {"text": text.replace("people = 300", "people = 5000")})
        shown = begun.get("plan?epsilon=1").text
        drawn = re.search(r"noise of a value.*?'number'>([\d.]+)<", shown, re.DOTALL)[1]
        said = re.search(r"within ([\d.]+) of the exact score", shown)[1]
        assert drawn == said


@pytest.mark.parametrize("ask", ["strongest pairs", "all pairs", "test"])
def test_every_question_has_a_plan(begun, ask):
    filled(begun)
    given = {"ask": ask, "x": "age", "y": "dose", "top": "1", "target": ""}
    assert begun.post("question", given).alerts == ""
    shown = begun.get("plan?epsilon=1").text
    assert "costs" in shown
    assert "epsilon = 1" in shown


def test_a_wrong_file_is_a_sentence(tmp_path):
    opened = window.Window(window.folder(tmp_path)).enter()
    assert "there is no such file" in opened.post("file", {"file": "nowhere.csv"}).alerts
    assert "it has no name" in opened.post("file", {"file": " "}).alerts
    (tmp_path / "notes.pdf").write_bytes(b"%PDF")
    assert "its ending '.pdf' is unknown" in opened.post("file", {"file": "notes.pdf"}).alerts
    (tmp_path / "broken.dpmic.toml").write_text("[data")
    assert "it is not valid TOML" in opened.post("file", {"file": "broken.dpmic.toml"}).alerts
    assert opened.get("protect").header("location") == "."


def test_a_job_file_is_taken_up_where_it_is(tmp_path):
    opened = window.Window(window.folder(tmp_path)).enter()
    shown = opened.post("file", {"file": "visits.dpmic.toml"})
    assert "<h1>Whom to protect</h1>" in shown.text
    assert opened.session.text == window.JOB


def test_hostile_names_do_nothing(tmp_path):
    name = "<script>alert(1)</script>'\"&"
    (tmp_path / "t.csv").write_text('"' + name.replace('"', '""') + '",b\n1,2\n')
    opened = window.Window(tmp_path, "t.csv").enter()
    opened.post("private")
    for place in ("protect", "columns", "job"):
        assert "<script>alert" not in opened.get(place).text
    opened.post("columns", {"name-0": name, "kind-0": "bounds", "low-0": "0", "high-0": "1"})
    assert tomllib.loads(opened.session.text)["columns"][name] == {"bounds": [0, 1]}


def test_a_form_of_a_job_that_was_left_changes_nothing(begun):
    """Its page is still open in another tab."""
    filled(begun)
    actions = {
        place: re.search(r"action='([^']+)'", begun.get(place).text)[1]
        for place in ("protect", "columns", "question", "epsilon", "job")
    }
    assert begun.post(actions["protect"], {"unit": "one", "people": "7"}).alerts == ""
    assert "people = 7" in begun.session.text
    begun.post("over")
    begun.post("file", {"file": "visits.dpmic.toml"})
    for place, action in actions.items():
        shown = begun.post(action, {"epsilon": "9", "unit": "one", "text": "", "rule": "fill"})
        assert "another job was begun" in shown.alerts, place
        assert begun.session.text == window.JOB


ODD = [
    "[columns]\nage = { bounds = 5 }",
    "[columns]\nage = { bounds = [] }",
    "[columns]\nage = { bounds = [[1], {}] }",
    '[columns]\nage = { categories = "a" }',
    "[columns]\nage = { categories = 5, missing = [1] }",
    "[columns]\nage = 5",
    "columns = 5",
    "privacy = []",
    "[privacy]\nperson = 5\nrows_per_person = 'x'\none_row_per_person = 3",
    "[privacy]\nepsilon = 'much'\nledger = 5",
    "[privacy]\nepsilon = 1e400",
    "[data]\nfile = 5\ndataset = [1]\nna = 'x'\ndecimal = 5\npeople = 'x'",
    "[data]\nfile = '/'\npeople = 1e9",
    "[question]\nask = [1]\ntop = 'x'\nx = 5\ny = []\ntarget = {}",
    "[groups]\nby = 5\nat_least = []",
    "[missing]\nrule = 5\ncomplete = 'x'",
    "[report]\nfile = 5\nestimate = 'x'",
    "",
]


@pytest.mark.slow
@sweep("entries", ODD)
def test_a_broken_job_file_is_sentences(entries, tmp_path):
    """On every page: its own entries, and a whole job with others in their place."""
    opened = window.Window(window.folder(tmp_path), "visits.dpmic.toml").enter()
    head = entries.partition("\n")[0]
    for text in (entries, window.JOB.replace(f"{head}\n", f"{entries}\n", 1) if head else ""):
        try:
            opened.session.rewrite(text)
        except DpmicError:
            continue  # two keys of one name
        for place in ("", "protect", "columns", "question", "epsilon", "job", "ledger"):
            assert opened.get(place).status == 200, place
        for place in ("rehearsal", "consent", "result", "plan?epsilon=1"):
            assert opened.get(place).status == 200, place
        if text != entries:
            for place in ("protect", "columns", "question", "epsilon"):
                assert opened.post(place).status == 200, place


@pytest.mark.parametrize("name", ["x" * 300, "loop/visits.ledger"])
def test_a_ledger_that_cannot_be_examined_is_a_sentence(tmp_path, name):
    """The pages stay, so that its name can be changed there."""
    (tmp_path / "loop").symlink_to("loop")
    job = window.JOB.replace("visits.ledger", name)
    opened = window.Window(window.folder(tmp_path, job), "visits.dpmic.toml").enter()
    for place in ("epsilon", "ledger", "consent", "job", "columns", "plan?epsilon=1"):
        assert opened.get(place).status == 200, place
    (problem,) = opened.session.job.check()
    assert problem.key == "privacy.ledger"
    assert "check the name and the folder" in opened.get("epsilon").alerts
    assert opened.post("epsilon", {"epsilon": "1", "ledger": name, "total": "3"}).status == 200
    given = {"epsilon": "1", "ledger": "new.ledger", "dataset": "visits", "total": "3"}
    assert opened.post("epsilon", given).alerts == ""


def test_what_the_system_refuses_is_a_sentence(begun, monkeypatch):
    def refused(*_):
        raise PermissionError(13, "Permission denied", "secret-4711.csv")

    monkeypatch.setattr(begun.session, "rewrite", refused)
    monkeypatch.setattr(begun.session, "ledger", refused)
    for shown in (begun.post("job", {"text": "x"}), begun.get("ledger")):
        assert (shown.status, "Permission denied" in shown.alerts) == (200, True)
        assert "4711" not in shown.text


def test_a_second_click_makes_no_second_ledger(begun, tmp_path):
    filled(begun)
    again = {"epsilon": "0.5", "ledger": "visits.ledger", "dataset": "visits", "total": "3"}
    assert begun.post("epsilon", again).alerts == ""
    assert "this file exists" in begun.post("epsilon", {**again, "total": "4"}).alerts
    assert dpmic.Ledger(tmp_path / "visits.ledger").total == 3


COLUMNS_AS_WRITTEN = r"""
[columns]
age = { bounds = [0, 120.50] }        # a comment
dose = { categories = ["\"a\"", "b"] }
noise = { categories = [" a", "say \"x, y\"", "a\u200bb", "c\nd"] }
ward = { categories = [1, 2], missing = 1 }
"od\u200bd" = { bounds = [2020-01-01, 2021-01-01] }
"""


def sent_back(shown):
    """What a browser sends if nobody changes a field of a page."""
    given = {}
    for field in re.findall(r"<input[^>]*>", shown):
        name, value = re.search(r" name='([^']*)'", field), re.search(r" value='([^']*)'", field)
        hidden = "type='hidden'" in field
        held = unescape(value[1])
        given[name[1]] = held if hidden else re.sub(r"[\r\n]", "", held)
    for name, options in re.findall(r"<select [^>]*name='([^']*)'>(.*?)</select>", shown):
        chosen = re.search(r"value='([^']*)' selected", options)
        given[name] = unescape(chosen[1]) if chosen else ""
    return given


def test_saving_the_columns_as_they_are_changes_nothing(tmp_path):
    text = window.JOB.partition("[columns]")[0] + '[missing]\nrule = "fill"' + COLUMNS_AS_WRITTEN
    opened = window.Window(window.folder(tmp_path, text), "visits.dpmic.toml").enter()
    before = opened.session.text
    given = sent_back(opened.get("columns").text)
    assert "od\u200bd" in given.values()
    opened.post("columns", given)
    assert opened.session.text == before
    changed = {key: f"{value}, new" if "list" in key else value for key, value in given.items()}
    opened.post("columns", changed)
    columns = tomllib.loads(opened.session.text)["columns"]
    assert columns["dose"]["categories"] == ['"a"', "b", "new"]
    assert columns["noise"]["categories"] == [" a", 'say "x, y"', "a\u200bb", "cd", "new"]
    assert len(columns) == 5
    assert "a comment" in opened.session.text


def test_categories_apart_by_semicolons_are_a_sentence(begun):
    own = {"name-0": "ward", "kind-0": "categories", "list-0": "m; w", "rule": "refuse"}
    assert "separate them by commas" in begun.post("columns", own).alerts
    assert "value='m; w'" in begun.get("columns").text  # it stays, to be corrected
    assert "separate" not in begun.post("columns", {**own, "list-0": "m, w"}).alerts
    assert "Spelling and capitals must match" in begun.get("columns").text


def test_a_refusal_is_shown_in_its_own_tab(begun):
    """Another tab that asks for a page first must not have it."""
    sent = begun.ask(
        "POST",
        begun.session.own("epsilon"),
        b"epsilon=much",
        {"origin": window.ORIGIN, "content-type": "application/x-www-form-urlencoded"},
    )
    assert begun.get("epsilon").alerts == ""
    own = begun.follow("epsilon", sent)
    assert "it is not a number" in own.alerts
    assert begun.get(sent.header("location")).alerts == ""  # once, not again when refreshed


def test_a_job_file_of_no_run_is_not_there(begun):
    assert begun.get("job.toml?run=0").status == 404


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes")
@pytest.mark.parametrize("name", ["pipe.csv", "pipe.dpmic.toml"])
def test_what_is_no_file_is_refused(tmp_path, name):
    """A pipe that nobody writes to would be waited for."""
    os.mkfifo(tmp_path / name)
    opened = window.Window(tmp_path).enter()
    assert "neither a file nor a folder" in opened.post("file", {"file": name}).alerts


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes")
@pytest.mark.parametrize("name", ["pipe.csv", "folder/pipe.csv"])
def test_a_table_that_is_no_file_is_refused_where_a_job_or_a_folder_has_it(tmp_path, name):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / name)
    entry = name.partition("/")[0]
    (tmp_path / "visits.dpmic.toml").write_text(window.JOB.replace("visits.csv", entry))
    opened = window.Window(tmp_path, "visits.dpmic.toml").enter()
    assert "regular file" in opened.get("consent").alerts


def test_a_name_that_no_file_can_have_is_a_sentence(tmp_path):
    opened = window.Window(tmp_path).enter()
    assert "it is not a path" in opened.post("file", {"file": "a\0b.toml"}).alerts


def test_a_number_of_a_thousand_digits_is_a_sentence(tmp_path):
    job = window.JOB + 'ward = { categories = ["a", "b"] }\n'
    opened = window.Window(window.folder(tmp_path, job), "visits.dpmic.toml").enter()
    given = {"ask": "one pair", "x": "age", "y": "dose", "by": "ward", "at_least": "9" * 5000}
    shown = opened.post("question", given)
    assert shown.status == 200
    assert "at_least" in shown.alerts


def test_the_first_line_is_doubted_and_what_was_read_is_said(tmp_path):
    opened = window.Window(window.folder(tmp_path), "visits.csv").enter()
    said = "Only the header of the table was read: in a text, the first line."
    assert said in opened.get("").text
    opened.post("private")
    shown = opened.get("columns").text
    assert said in shown
    assert "a person&#x27;s record, stop" in shown
    assert "as a whole" in _steps.was_read("visits.XLSX")


def test_a_rehearsal_makes_its_people_in_the_background(begun, monkeypatch, tmp_path):
    go_on, rehearsal = threading.Event(), dpmic.Job.rehearsal

    def waiting(self):
        assert go_on.wait(60)
        return rehearsal(self)

    monkeypatch.setattr(dpmic.Job, "rehearsal", waiting)
    filled(begun)
    begun.post("rehearsal")
    assert begun.session.rehearsal.state == "running"
    begun.post("stop", {"what": "rehearsal"})
    go_on.set()
    begun.session.rehearsal.wait(60)
    assert begun.session.rehearsal.state == "stopped"


def test_an_absurd_text_is_a_sentence(begun):
    before = begun.session.text
    shown = begun.post("job", {"text": "a = " + "[" * 20_000})
    assert shown.status == 200
    assert "nested too deeply" in shown.alerts
    assert begun.session.text == before


def test_a_path_may_be_quoted_or_begin_at_home(tmp_path, monkeypatch):
    window.folder(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for name in (f'"{tmp_path / "visits.csv"}"', "'~/visits.csv'", "~/visits.csv"):
        opened = window.Window(tmp_path / "elsewhere").enter()
        assert "visits.csv" in opened.post("file", {"file": name}).text
        assert opened.session.file == str(tmp_path / "visits.csv")


def test_the_format_of_a_file_is_named_as_it_can_be_given(tmp_path):
    """In a job by its key; where there is no job yet, as an option of the command."""
    (tmp_path / "unclear.csv").write_text("a;b,c;d\n1;2,3;4\n")
    opened = window.Window(window.folder(tmp_path)).enter()
    said = opened.post("file", {"file": "unclear.csv"}).alerts
    assert "pass --sep ';' to dpmic init in a terminal, and open the job file" in said
    job = window.JOB.replace("visits.csv", "unclear.csv")
    (tmp_path / "unclear.dpmic.toml").write_text(job)
    opened.post("file", {"file": "unclear.dpmic.toml"})
    for shown in (opened.get("job"), opened.get("consent")):
        assert 'pass sep = ";" below [data]' in shown.alerts
        assert "Dialect" not in shown.text
    with pytest.raises(DpmicError, match=r'pass sep = ";" below \[data\]'):
        opened.session.job.refuse(opened.session.job.check())
