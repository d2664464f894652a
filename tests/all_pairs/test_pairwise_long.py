"""Whole tables from outside: interrupts, kills, terminals and memory."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from pyarrow import parquet

import dpmic
from dpmic.all_pairs import work as module
from dpmic.all_pairs.work import Work

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and terminals"),
]

BEGIN = """
import json, os, sys, time
import numpy as np
import dpmic
from dpmic import _progress
from dpmic.all_pairs import _checkpoint as checkpoint, work

def table(n, m):
    return np.random.default_rng(0).normal(size=(n, m))

def say_when_begun():
    # After the first piece: whatever is loaded and cut at first is over.
    found, once = work.Work._found, iter([b"begun\\n"])
    def told(self, *given):
        work.Work._found = found
        os.write(1, next(once, b""))  # two threads may be here at the same time
        return found(self, *given)
    work.Work._found = told

def slowly(seconds):
    # One pair at a time, and a pause after each.
    found = work.Work._found
    def late(self, *given):
        time.sleep(seconds)
        return found(self, *given)
    work.Work._found = late
    work.SECONDS = 1e-9
"""


def table(n, m):
    return np.random.default_rng(0).normal(size=(n, m))


def child(body, *, stderr=subprocess.PIPE, **options):
    """Start a Python that does what ``body`` says."""
    code = BEGIN + textwrap.dedent(body)
    command = [sys.executable, "-W", "error", "-c", code]
    given = {"stdout": subprocess.PIPE, "stderr": stderr, "text": True, **options}
    return subprocess.Popen(command, **given)


def said(body):
    """Run ``body`` to its end and return what it printed, as JSON."""
    process = child(body)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert err == ""
    return json.loads(out)


def assert_stops(process, number=signal.SIGINT, patience=20):
    """Interrupt at once; a person waits for a few seconds at most."""
    try:
        assert process.stdout.readline() == "begun\n", process.stderr.read()
        time.sleep(0.3)
        assert process.poll() is None
        process.send_signal(number)
        out, err = process.communicate(timeout=patience)
    finally:
        process.kill()
        process.communicate()
    assert out == ""
    assert process.returncode == -number
    return err


# Ctrl-C and worse

HEAVY = {
    "mice": "table(1000, 1000)",
    "few long columns": "table(10_000, 80)",
    "mic": "table(1000, 300), statistic='mic'",
    "every entry": "table(1000, 600), tic=True",
    "every cut": "table(1000, 200), c=float('inf')",
    "gaps": "np.where(table(1000, 1000) > 3, np.nan, table(1000, 1000)), missing='drop'",
}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("job", [*HEAVY][:2])
def test_ctrl_c_stops_minutes_of_work(job, workers):
    stops(job, workers)


@pytest.mark.parametrize("workers", [1, 2, 8])
@pytest.mark.parametrize("job", HEAVY)
def test_ctrl_c_stops_any_work(job, workers):
    stops(job, workers)


def stops(job, workers):
    body = f"say_when_begun(); dpmic.pairwise({HEAVY[job]}, workers={workers})"
    err = assert_stops(child(body))
    assert err.startswith("Traceback (most recent call last):\n")
    assert err.endswith("\nKeyboardInterrupt\n")
    assert err.count("Traceback") == 1, err
    assert "Exception" not in err


KEPT = """
checkpoint.PART = 10
slowly(0.02)
say_when_begun()
dpmic.pairwise(table(40, 60), out={out!r}, workers={workers}, tic=True)
"""


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill"])
def test_what_was_finished_is_kept(monkeypatch, tmp_path, number, workers):
    out = tmp_path / "scores.parquet"
    process = child(KEPT.format(out=str(out), workers=workers))
    folder = tmp_path / "scores.parquet.parts"
    try:
        assert process.stdout.readline() == "begun\n", process.stderr.read()
        while process.poll() is None and len(list(folder.glob("part-*.parquet"))) < 2:
            time.sleep(0.02)
        process.send_signal(number)
        process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == -number
    assert not out.exists()
    parts = [parquet.read_table(part) for part in folder.glob("part-*.parquet")]
    # An interrupt right after a part was written writes it once more.
    kept = len({place.as_py() for part in parts for place in part["position"]})
    assert 20 <= kept < 1770
    done, found = [], Work._found

    def counted(self, i, *rest):
        done.append(i.size)
        return found(self, i, *rest)

    expected = dpmic.pairwise(table(40, 60), tic=True)
    monkeypatch.setattr(Work, "_found", counted)
    monkeypatch.setattr(module, "SECONDS", 1e-3)
    assert dpmic.pairwise(table(40, 60), tic=True, out=out, workers=3 - workers) == expected
    assert sum(done) == 1770 - kept
    assert list(tmp_path.iterdir()) == [out]


def test_killed_again_and_again(tmp_path):
    """At any moment: what comes out in the end is what comes out at once."""
    out = tmp_path / "scores.parquet"
    body = f"""
    checkpoint.PART = 20
    work.SECONDS = 2e-3
    dpmic.pairwise(table(300, 150), out={str(out)!r}, workers=2)
    """
    # Later ones wait longer: also a slow machine gets to the end.
    waits, kills = np.random.default_rng().uniform(0.8, np.linspace(4.0, 20.0, 200)), 0
    for wait in waits:
        process = child(body)
        try:
            _, err = process.communicate(timeout=wait)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
            continue
        assert process.returncode == 0, err
        break
    assert out.exists(), f"not finished after {kills} kills"
    rows = parquet.read_table(out)["mic"].to_pylist()
    assert rows == dpmic.pairwise(table(300, 150)).mic.tolist()
    assert list(tmp_path.iterdir()) == [out]


def test_two_processes_do_not_write_one_file(tmp_path):
    out = tmp_path / "scores.parquet"
    process = child(KEPT.format(out=str(out), workers=1))
    try:
        assert process.stdout.readline() == "begun\n", process.stderr.read()
        with pytest.raises(dpmic.ParameterError, match="another process is writing it"):
            dpmic.pairwise(table(40, 60), tic=True, out=out)
    finally:
        process.kill()
        process.communicate()


# The bar

BAR = """
import fcntl, termios
if os.isatty(0):
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C of this terminal is meant for it
_progress.PATIENCE = {patience}
slowly({pause})
say_when_begun()
result = dpmic.pairwise(table(30, {m}), workers={workers}, out={out!r})
print("done", result.mic.size)
"""


def in_terminal(body, until=None, send=b""):
    """Run ``body`` in a terminal of its own; return what that saw and how it ended."""
    import pty

    ours, theirs = pty.openpty()
    terminal = {"stdin": theirs, "stdout": theirs, "stderr": theirs, "start_new_session": True}
    process = child(body, **terminal, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"})
    os.close(theirs)
    seen = b""
    try:
        while True:
            try:
                got = os.read(ours, 4096)
            except OSError:  # Linux: the other end is closed
                break
            if not got:
                break
            seen += got
            if until and re.search(until, seen):
                os.write(ours, send)
                until = None
        process.wait(timeout=30)
    finally:
        process.kill()
        process.communicate()
        os.close(ours)
    return seen.decode(), process.returncode


def plain(text):
    return re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", text)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_bar_comes_and_goes(workers):
    body = BAR.format(patience=0.2, pause=0.02, m=15, workers=workers, out=None)
    seen, code = in_terminal(body)
    assert code == 0, seen
    assert re.search(r"pairs .* \d+/105 \d:\d\d:\d\d left: ", plain(seen))
    last = seen.rpartition("pairs")[2]
    assert "\x1b[?25h" in last  # the cursor is back
    assert last.endswith("\x1b[1A\x1b[2Kdone 105\r\n")  # one line up, which is erased


def test_no_bar_for_short_work():
    seen, code = in_terminal(BAR.format(patience=60.0, pause=0, m=15, workers=2, out=None))
    assert (code, plain(seen).split()) == (0, ["begun", "done", "105"])


def test_no_bar_in_a_pipe():
    process = child(BAR.format(patience=0, pause=0.005, m=15, workers=1, out=None))
    assert process.communicate(timeout=60) == ("begun\ndone 105\n", "")


def test_the_bar_begins_where_work_was_taken_up(tmp_path):
    out = str(tmp_path / "scores.parquet")
    given = {"patience": 0.0, "pause": 0.05, "m": 15, "workers": 1, "out": out}
    until = rb" [3-9]\d/105"
    _, code = in_terminal(BAR.format(**given), until=until, send=b"\x03")
    assert code == -signal.SIGINT
    seen, code = in_terminal(BAR.format(**given))
    assert code == 0, seen
    first = re.search(r"(\d+)/105", plain(seen))
    assert int(first[1]) >= 30
    assert plain(seen).endswith("done 105\r\n")


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_takes_the_bar_away(workers):
    body = BAR.format(patience=0.1, pause=0.02, m=60, workers=workers, out=None)
    seen, code = in_terminal(body, until=rb" [5-9]\d/1770", send=b"\x03")
    assert code == -signal.SIGINT
    bar, _, trace = seen.rpartition("\x1b[1A\x1b[2K")
    assert "\x1b[?25h" in bar.rpartition("pairs")[2]
    assert trace.startswith("Traceback"), seen
    assert trace.removesuffix("\x1b[0m").endswith("KeyboardInterrupt\r\n")
    assert seen.count("Traceback") == 1, seen


# Memory

MEASURE = """
def now(what):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1024

def above(ask):
    # Megabytes at the peak above what was there before.
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = now("VmRSS")
    result = ask()
    print(json.dumps(now("VmHWM") - before))
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")


@linux
def test_a_long_pair_needs_little_memory():
    body = """
    small, large = table(50, 2), table(10_000, 2)
    dpmic.mice(small[:, 0], small[:, 1])
    above(lambda: dpmic.mice(large[:, 0], large[:, 1]))
    """
    assert said(MEASURE + textwrap.dedent(body)) < 100


@linux
def test_a_table_needs_bounded_memory():
    body = """
    dpmic.pairwise(table(50, 3), workers=2)
    large = table(2000, 250)
    above(lambda: dpmic.pairwise(large, workers=2))
    """
    assert said(MEASURE + textwrap.dedent(body)) < 250


@linux
def test_many_short_columns_need_bounded_memory():
    """What is held beside the scores and their copy (16 bytes a pair) does not grow with them."""
    body = """
    dpmic.pairwise(table(50, 3), B=4, c=1, workers=2)
    large = table(20, 2500)
    above(lambda: dpmic.pairwise(large, B=4, c=1, workers=2))
    """
    assert said(MEASURE + textwrap.dedent(body)) - 16 * 2500**2 / 2 / 2**20 < 100
