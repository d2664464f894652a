"""Slow tests are named, and very slow ones fail, unless they are marked."""

import os
import subprocess
import sys
import time

import pytest
from cpu_time import cpu_seconds
from project import TESTS as TESTS_FOLDER

CONFTEST = """
import os
import sys
from types import SimpleNamespace

sys.path.insert(0, {folder!r})
pytest_plugins = ["cpu_time"]
names = ("user", "system", "children_user", "children_system")
clock = SimpleNamespace(**dict.fromkeys(names, 0.0))
os.times = lambda: clock  # which a busy machine does not move
"""
TESTS = """
import os

import pytest

def test_quick():
    pass

def test_listed():
    os.times().user += 2

def test_above_the_limit():
    os.times().system += 4

@pytest.mark.slow
def test_marked():
    os.times().user += 4

def test_in_another_process():
    os.times().children_user += 4
"""
SETTINGS = """
[pytest]
cpu_listed = {listed}
cpu_limit = {limit}
markers = slow
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run those tests with two limits; workers of xdist need the path of the hook."""
    pytester.makeconftest(CONFTEST.format(folder=str(TESTS_FOLDER)))

    def run(listed, limit, *options):
        pytester.makeini(SETTINGS.format(listed=listed, limit=limit))
        pytester.makepyfile(TESTS)
        with monkeypatch.context() as patch:
            patch.setattr(os, "times", os.times)  # the clock ends with the run
            return pytester.runpytest("-p", "no:cacheprovider", *options)

    return run


@pytest.mark.parametrize(
    "workers", [(), pytest.param(("-n", "1"), marks=pytest.mark.slow)], ids=["alone", "xdist"]
)
def test_slow_tests_are_listed_and_very_slow_ones_fail(run, workers):
    done = run(1, 3, *workers)
    done.assert_outcomes(passed=3, failed=2)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    lines = done.stdout.str().partition("unmarked tests above 1 s")[2].splitlines()
    listed = [line.rpartition("::")[2] for line in lines if " s  " in line]
    assert sorted(listed) == ["test_above_the_limit", "test_in_another_process", "test_listed"]
    done.stdout.fnmatch_lines(["*took 4.0 s of CPU time, above 3 s: mark it slow"])


def test_quick_tests_are_not_listed(run):
    done = run(5, 6)
    done.assert_outcomes(passed=5)
    assert "unmarked tests" not in done.stdout.str()


def test_work_counts_and_waiting_does_not():
    """Here and in processes that have ended; the bounds are far from what a busy machine adds."""
    code = "import time\nwhile time.process_time() < 0.1: pass"

    def spend():
        end = time.process_time() + 0.1
        while time.process_time() < end:
            pass

    def other():
        subprocess.run([sys.executable, "-S", "-c", code], check=True)

    def taken(work):
        start = cpu_seconds()
        work()
        return cpu_seconds() - start

    assert taken(lambda: time.sleep(0.5)) < 0.4
    assert taken(spend) > 0.05
    assert taken(other) > 0.05
