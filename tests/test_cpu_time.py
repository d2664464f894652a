"""Slow tests are named, and very slow ones fail, unless they are marked."""

import pytest
from project import TESTS as TESTS_FOLDER

TESTS = """
import subprocess
import sys
import time

import pytest

def spend(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def test_sleeps():
    time.sleep(0.1)

def test_listed():
    spend(0.08)

def test_above_the_limit():
    spend(0.16)

@pytest.mark.slow
def test_marked():
    spend(0.16)

def test_in_another_process():
    code = "import time\\nwhile time.process_time() < 0.16: pass"
    subprocess.run([sys.executable, "-S", "-c", code], check=True)
"""
SETTINGS = """
[pytest]
cpu_listed = {listed}
cpu_limit = {limit}
markers = slow
"""


@pytest.fixture
def run(pytester):
    """Run those tests with two limits; workers of xdist need the path of the hook."""
    path = f"import sys\nsys.path.insert(0, {str(TESTS_FOLDER)!r})\n"
    pytester.makeconftest(f"{path}pytest_plugins = ['cpu_time']\n")

    def run(listed, limit, *options):
        pytester.makeini(SETTINGS.format(listed=listed, limit=limit))
        pytester.makepyfile(TESTS)
        return pytester.runpytest("-p", "no:cacheprovider", *options)

    return run


@pytest.mark.parametrize(
    "workers", [(), pytest.param(("-n", "1"), marks=pytest.mark.slow)], ids=["alone", "xdist"]
)
def test_slow_tests_are_listed_and_very_slow_ones_fail(run, workers):
    done = run(0.04, 0.12, *workers)
    done.assert_outcomes(passed=3, failed=2)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    lines = done.stdout.str().partition("unmarked tests above 0.04 s")[2].splitlines()
    listed = [line.rpartition("::")[2] for line in lines if " s  " in line]
    assert sorted(listed) == ["test_above_the_limit", "test_in_another_process", "test_listed"]
    done.stdout.fnmatch_lines(["*took 0.* s of CPU time, above 0.12 s: mark it slow"])


def test_quick_tests_are_not_listed(run):
    done = run(2, 3)
    done.assert_outcomes(passed=5)
    assert "unmarked tests" not in done.stdout.str()
