"""Uploaded files: in memory, of a limited size, and with the same results as from the disk."""

import gzip
import tempfile

import pytest
import window

import dpmic
from dpmic.app import _bodies

pytest.importorskip("starlette", reason="the window needs the extra app")


@pytest.fixture
def opened(tmp_path):
    return window.Window(tmp_path).enter()


@pytest.fixture
def content(tmp_path):
    return (window.folder(tmp_path) / "visits.csv").read_bytes()


def test_a_table_is_kept_in_memory_alone(opened, content, tmp_path, monkeypatch):
    for file in tmp_path.iterdir():
        file.unlink()
    monkeypatch.setattr(tempfile, "_sanitize_params", lambda *_: pytest.fail("a temporary file"))
    shown = opened.upload("visits.csv", content)
    assert "The table: <bdi>visits.csv</bdi>" in shown.text
    assert opened.session.table.content == content
    opened.post("private")
    assert "age" in opened.get("columns").text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.slow
def test_a_job_runs_on_an_uploaded_table(opened, content, tmp_path, packed):
    (tmp_path / "visits.csv").unlink()
    dpmic.Ledger(tmp_path / "visits.ledger", 3)
    name = "visits.csv.gz" if packed else "visits.csv"
    opened.upload(name, gzip.compress(content) if packed else content)
    opened.post("private")
    opened.post("job", {"text": window.JOB.replace("visits.csv", name)})
    nonce = opened.nonce()
    assert f"{name}, uploaded" in opened.get("consent").text
    opened.post("spend", {"nonce": nonce})
    assert "Guarantee" in opened.settled("result").text
    assert opened.session.runs[-1].result.result.n == window.N


def test_a_job_file_can_be_uploaded(opened):
    shown = opened.upload("mine.dpmic.toml", window.JOB.encode())
    assert "<h1>Whom to protect</h1>" in shown.text
    assert opened.session.text == window.JOB


def test_a_job_file_can_be_uploaded_after_its_table(opened, content, tmp_path):
    (tmp_path / "visits.csv").unlink()
    opened.upload("visits.csv", content)
    opened.upload("mine.dpmic.toml", window.JOB.encode())
    assert opened.session.job.check()[0].value.startswith("line")  # the ledger alone
    assert len(opened.session.job.check()) == 1


def test_an_uploaded_table_is_not_taken_for_another_file(opened, content):
    """Else it would be published, and charged, under the name of that file's dataset."""
    opened.upload("open.csv", content)
    shown = opened.upload("mine.dpmic.toml", window.JOB.encode())
    said = "The job is about visits.csv; you uploaded open.csv"
    assert said in shown.alerts
    assert opened.session.current is None
    opened.post("private")
    before = opened.session.text
    assert said in opened.post("job", {"text": window.JOB}).alerts
    assert opened.session.text == before
    own = window.JOB.replace("visits.csv", "C:\\\\data\\\\open.csv")
    assert opened.post("job", {"text": own}).alerts.count("uploaded") == 0
    assert opened.session.text == own


def test_what_says_that_it_is_too_large_is_not_read(opened):
    shown = opened.upload("visits.csv", b"x", content_length=str(500 * 2**20))
    assert shown.status == 413
    assert "500 MiB" in shown.alerts
    assert "give the path of the file" in shown.alerts
    assert len(list(opened.unread)) == 1  # nothing was received


def test_what_does_not_say_it_is_counted(opened, monkeypatch):
    monkeypatch.setattr(_bodies, "MOST_UPLOAD", 2**20)
    shown = opened.upload("visits.csv", bytes(4 * 2**20), content_length=None)
    assert shown.status == 413
    assert len(list(opened.unread)) > 40  # of 65 pieces
    assert opened.session.table is None


@pytest.mark.parametrize(
    ("name", "words"), [("t.xlsx", "cannot be uploaded"), ("", "no file was chosen")]
)
def test_what_cannot_be_taken_is_a_sentence(opened, name, words):
    assert words in opened.upload(name, b"x").alerts


def test_a_form_that_is_too_large_is_refused(opened):
    assert opened.post("file", {"file": "x" * 5 * 2**20}).status == 413


def test_names_of_folders_are_cut_off(opened, content):
    opened.upload("C:\\secret\\visits.csv", content)
    assert opened.session.file == "visits.csv"
