"""Without privacy: all pairs, one pair, filters, files, and a stop."""

import csv
import io
import threading

import numpy as np
import pytest
import window

import dpmic
from dpmic.app import _exploring, _outcome

pytest.importorskip("starlette", reason="the window needs the extra app")
pytestmark = pytest.mark.slow


@pytest.fixture
def scored(tmp_path):
    opened = window.Window(window.folder(tmp_path), "visits.csv").enter()
    opened.post("open")
    opened.settled("explore")
    return opened


def test_every_pair_is_there_with_its_score(scored):
    shown = scored.get("explore").text
    exact = dpmic.mice(window.AGE, window.DOSE).mic
    assert f"{exact:.4f}" in shown
    assert f"aria-label='age and dose: {exact:.2f}'" in shown
    assert "patient" in shown  # left out, and it is said why
    assert "consecutive numbers" in shown
    assert "Nothing here is private" in shown


def test_a_filter_leaves_what_it_says(scored):
    assert "6 pairs" in scored.get("explore").text
    assert "3 pairs" in scored.get("explore?column=age").text
    assert "1 pair," in scored.get("explore?column=age&least=0.5").text


def test_a_pair_has_points_grid_and_p_value(scored):
    scored.get("pair?x=age&y=dose")
    shown = scored.settled("pair?x=age&y=dose").text
    assert "p = 0.001" in shown
    assert "Each dot is a record" in shown
    for kind, begin in {"html": b"<!doctype", "json": b"{", "png": b"\x89PNG", "csv": b""}.items():
        sent = scored.get(f"pair.{kind}?x=age&y=dose")
        assert sent.status == 200
        assert sent.body.startswith(begin)
    shown = scored.get("pair?x=age&y=nowhere")
    assert "there is no such column" in shown.alerts


def test_files_have_every_pair(scored):
    lines = list(csv.DictReader(io.StringIO(scored.get("explore.csv").text)))
    assert len(lines) == 6
    assert scored.get("explore.png").body.startswith(b"\x89PNG")
    assert scored.get("explore.html").text.startswith("<!doctype html>")


def test_stop_ends_the_work_before_its_next_piece(tmp_path, monkeypatch):
    table = np.random.default_rng(1).random((200, 60))
    rows = ["".join(f"c{i}," for i in range(60))[:-1]]
    rows += [",".join(map(str, row)) for row in table]
    (tmp_path / "wide.csv").write_text("\n".join(rows))
    told, begun, stopped = [], threading.Event(), threading.Event()
    tell = _exploring.Task.tell

    def waiting(self, *progress):
        if progress[0] == "pairs":
            told.append(progress)
            begun.set()
            assert stopped.wait(60)
        tell(self, *progress)

    monkeypatch.setattr(_exploring.Task, "tell", waiting)
    opened = window.Window(tmp_path, "wide.csv").enter()
    assert "role='status'" in opened.post("open").text
    assert begun.wait(60)
    shown = opened.post("stop", {"what": "explore"})
    assert "It was stopped." in shown.alerts
    stopped.set()
    opened.session.scores.wait(60)
    ((_, done, pairs),) = told
    assert done < pairs == 60 * 59 / 2
    assert opened.session.scores.result is None


def test_a_name_is_no_formula_in_a_file(tmp_path):
    names = ["=cmd", "+a", "-b", "@c", "plain"]
    table = np.random.default_rng(5).random((60, len(names)))
    rows = [",".join(names), *(",".join(map(str, row)) for row in table)]
    (tmp_path / "odd.csv").write_text("\n".join(rows))
    opened = window.Window(tmp_path, "odd.csv").enter()
    opened.post("open")
    opened.settled("explore")
    lines = list(csv.DictReader(io.StringIO(opened.get("explore.csv").text)))
    texts = {line[key] for line in lines for key in ("x", "y")}
    assert texts == {"'=cmd", "'+a", "'-b", "'@c", "plain"}
    assert all(float(line["mic"]) >= 0 for line in lines)


def test_numbers_of_a_file_stay():
    (line,) = csv.DictReader(io.StringIO(_outcome.as_csv(Numbers())))
    assert line == {"x": "'-1", "low": "-0.5"}


class Numbers:
    """A result."""

    def record(self):
        return {"x": "-1", "low": -0.5}


def test_a_job_about_a_table_that_was_explored_says_so(scored, tmp_path):
    said = "You have seen exact scores of this table."
    scored.post("over")
    scored.post("file", {"file": "visits.dpmic.toml"})
    assert said in scored.get("protect").text
    scored.post("job", {"text": window.JOB.replace("visits.csv", "other.csv")})
    assert said not in scored.get("protect").text
