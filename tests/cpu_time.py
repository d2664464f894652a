"""A plugin of pytest: unmarked tests are quick, so that they can be run on every change.

An unmarked test that takes more CPU time than ``cpu_listed`` is listed at the end of a run, and
one that takes more than ``cpu_limit`` fails. Counted are the process and the processes that it
waited for, so a busy machine changes little.
"""

import os

import pytest

MARKED = ("slow", "full")


def pytest_addoption(parser):
    parser.addini("cpu_listed", "CPU seconds above which an unmarked test is listed", default="1")
    parser.addini("cpu_limit", "CPU seconds above which an unmarked test fails", default="5")


def cpu_seconds():
    """Return the CPU time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    limit, start = float(item.config.getini("cpu_limit")), cpu_seconds()
    result = yield
    seconds = cpu_seconds() - start
    if not any(item.get_closest_marker(name) for name in MARKED):
        item.user_properties.append(("cpu_seconds", seconds))
        if seconds > limit:
            words = f"took {seconds:.1f} s of CPU time, above {limit:g} s: mark it slow"
            pytest.fail(words, pytrace=False)
    return result


def pytest_terminal_summary(terminalreporter, config):
    listed = float(config.getini("cpu_listed"))
    slow = sorted(
        (seconds, report.nodeid)
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
        for name, seconds in report.user_properties
        if name == "cpu_seconds" and report.when == "call" and seconds > listed
    )
    if slow:
        terminalreporter.section(f"unmarked tests above {listed:g} s of CPU time: mark them slow")
    for seconds, name in reversed(slow):
        terminalreporter.line(f"{seconds:6.1f} s  {name}")
