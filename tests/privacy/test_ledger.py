"""The ledger: nothing overspent, nothing lost, whatever happens to the processes that use it."""

import contextlib
import copy
import dataclasses
import itertools
import math
import multiprocessing
import os
import pickle
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweeps import sweep

from dpmic._format import format_remainder
from dpmic.errors import BudgetError, LedgerError, ParameterError
from dpmic.privacy import _ledger_file as ledger_file
from dpmic.privacy import ledger as module
from dpmic.privacy.ledger import UNIT, Entry, Ledger

# Not fork: children must work where there is none, and with nothing inherited.
SPAWN = multiprocessing.get_context("spawn")
NOBODY = 65534
DATASET = "visits 2024"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.ledger"


@pytest.fixture
def ledger(path):
    return Ledger(path, epsilon=1.0)


def never():
    raise AssertionError("drawn without need")


def rows(path, query):
    with contextlib.closing(sqlite3.connect(path, timeout=60)) as connection:
        return connection.execute(query).fetchall()


def write(path, *statements):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def units(path):
    """The charges of a ledger, read without it, after a check of the whole file."""
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
    return [charge for (charge,) in rows(path, "SELECT units FROM entries")]


# --- one process ---------------------------------------------------------------------------


def test_a_release_from_question_to_answer(ledger):
    assert ledger.answer("q", dataset=DATASET) is None
    ledger.check("q", 0.25, dataset=DATASET)
    assert ledger.spent == 0
    ledger.spend("q", 0.25, dataset=DATASET)
    assert ledger.answer("q", dataset=DATASET) is None
    assert (
        ledger.draw_once("q", lambda: '{"value": 0.5}', dataset=DATASET).answer == '{"value": 0.5}'
    )
    assert (
        ledger.answer("q", dataset=DATASET)
        == ledger.draw_once("q", never, dataset=DATASET).answer
        == '{"value": 0.5}'
    )
    assert (ledger.total, ledger.spent, ledger.remaining) == (1.0, 0.25, 0.75)


def test_history(ledger):
    assert ledger.history() == []
    for question in ("b", "a", "ä, 中, \x00 and 'quotes'"):
        ledger.spend(question, 0.125, dataset=DATASET)
    ledger.draw_once("a", lambda: '"ü"', dataset=DATASET)
    first, second, third = ledger.history()
    assert [first.question, second.question] == ["b", "a"]
    assert third.question == "ä, 中, \x00 and 'quotes'"
    assert (second.answered, second.answer, second.epsilon) == (True, '"ü"', 0.125)
    assert (first.answered, first.answer) == (False, None)
    charged = datetime.fromisoformat(first.time)
    assert charged.utcoffset() == timedelta(0)
    assert abs(charged.timestamp() - time.time()) < 60
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.epsilon = 0
    assert isinstance(first, Entry)


def test_deltas_are_charged_beside_epsilons(path):
    ledger = Ledger(path, epsilon=1.0, delta=1e-6)
    ledger.check("q", 0.25, 4e-7, dataset=DATASET)
    assert (ledger.spent, ledger.spent_delta) == (0, 0)
    ledger.spend("q", 0.25, 4e-7, dataset=DATASET)
    ledger.spend("pure", 0.25, dataset=DATASET)
    assert ledger.spent == 0.5
    assert 4e-7 <= ledger.spent_delta <= 4e-7 + 2**-62
    assert ledger.total_delta <= 1e-6
    assert ledger.remaining_delta <= ledger.total_delta - 4e-7
    assert [entry.delta for entry in ledger.history()] == [ledger.spent_delta, 0]
    assert "0.5 of 1, delta 4.00001e-07 of 1e-06" in repr(ledger)
    for ask in (ledger.check, ledger.spend):
        with pytest.raises(BudgetError, match=r"delta = 7.*e-07: .* pass at most 5\.9+.*e-07\."):
            ask("r", 0.25, 7e-7, dataset=DATASET)
        with pytest.raises(LedgerError, match="charged 0.25 and delta 4.*e-07"):
            ask("q", 0.3, dataset=DATASET)
        ask("q", 0.25, dataset=DATASET)  # was paid for
        with pytest.raises(BudgetError, match=r"epsilon = 0\.75"):
            ask("r", 0.75, 1e-7, dataset=DATASET)
    assert len(ledger.history()) == 2
    assert Ledger(path).remaining_delta == Ledger(path, delta=1e-6).remaining_delta
    with pytest.raises(LedgerError, match="delta = 1e-05: .* total of 1e-06, which cannot be"):
        Ledger(path, epsilon=1.0, delta=1e-5)


def test_a_delta_too_small_to_hold(path):
    with pytest.raises(ParameterError, match=r"delta = 1e-20: .* is 0, or at least 2\*\*-62"):
        Ledger(path, epsilon=1.0, delta=1e-20)


def test_what_rounding_leaves_over_is_nothing_to_spend(ledger):
    ledger.spend("q", 1 - 1e-9, dataset=DATASET)
    with pytest.raises(BudgetError, match="has spent 1 of 1; read earlier answers in its history"):
        ledger.spend("r", 0.5, dataset=DATASET)


def test_a_pure_budget_takes_no_delta(ledger):
    with pytest.raises(BudgetError, match="pass delta=0, or use a ledger with a delta"):
        ledger.spend("q", 0.1, 1e-9, dataset=DATASET)
    assert ledger.history() == []


@sweep("delta", [-1e-9, 1, math.nan, "0", None])
def test_deltas_are_probabilities(ledger, delta):
    with pytest.raises(ParameterError, match="delta = "):
        ledger.spend("q", 0.1, delta, dataset=DATASET)


@pytest.mark.slow
@given(st.lists(st.floats(1e-18, 1e-6), min_size=1, max_size=6))
def test_the_sum_of_deltas_never_exceeds_the_total(charges):
    with tempfile.TemporaryDirectory() as folder:
        ledger, paid = Ledger(Path(folder) / "l", epsilon=1.0, delta=2e-6), []
        for i, delta in enumerate(charges):
            with contextlib.suppress(BudgetError):
                ledger.spend(str(i), 0.01, delta, dataset=DATASET)
                paid.append(delta)
        truly = sum(map(Fraction, paid))
        assert truly <= Fraction(ledger.spent_delta)
        assert truly + Fraction(ledger.remaining_delta) <= Fraction(2e-6)


def test_overspending_is_refused_and_writes_nothing(ledger):
    ledger.spend("q", 0.75, dataset=DATASET)
    for ask in (ledger.check, ledger.spend):
        with pytest.raises(BudgetError) as refused:
            ask("r", 0.5, dataset=DATASET)
        assert str(refused.value) == (
            f"epsilon = 0.5: the ledger {ledger.path} has spent 0.75 of 1; pass at most 0.25."
        )
    assert [entry.question for entry in ledger.history()] == ["q"]
    ledger.spend("r", 0.25, dataset=DATASET)
    assert ledger.remaining == 0
    with pytest.raises(BudgetError, match="history"):
        ledger.check("s", 1e-300, dataset=DATASET)


def test_a_charged_question_is_free_even_when_all_is_spent(ledger):
    ledger.spend("answered", 0.5, dataset=DATASET)
    ledger.spend("pending", 0.5, dataset=DATASET)
    ledger.draw_once("answered", lambda: "1", dataset=DATASET)
    for question in ("answered", "pending"):
        ledger.check(question, 0.5, dataset=DATASET)
        ledger.spend(question, 0.5, dataset=DATASET)
    assert ledger.spent == 1.0
    assert ledger.draw_once("pending", lambda: "2", dataset=DATASET).answer == "2"


def test_a_question_has_one_price(ledger):
    ledger.spend("q", 0.25, dataset=DATASET)
    for ask in (ledger.check, ledger.spend):
        with pytest.raises(
            LedgerError, match=r"epsilon = 0.5: .* already charged 0.25; use"
        ) as refused:
            ask("q", 0.5, dataset=DATASET)
        assert not isinstance(refused.value, BudgetError)
    assert ledger.spent == 0.25


def test_settling_needs_a_charge(ledger):
    with pytest.raises(LedgerError, match="never charged"):
        ledger.draw_once("q", never, dataset=DATASET)


@pytest.mark.parametrize("failure", [ZeroDivisionError, KeyboardInterrupt])
def test_a_failed_draw_stays_charged_and_is_free(ledger, failure):
    ledger.spend("q", 0.25, dataset=DATASET)

    def draw():
        raise failure

    with pytest.raises(failure):
        ledger.draw_once("q", draw, dataset=DATASET)
    assert [entry.answered for entry in ledger.history()] == [False]
    ledger.spend("q", 0.25, dataset=DATASET)
    assert ledger.draw_once("q", lambda: "1", dataset=DATASET).answer == "1"
    assert ledger.spent == 0.25


@pytest.mark.parametrize("answer", [None, 1, b"1", ["1"]])
def test_an_answer_is_a_text(ledger, answer):
    ledger.spend("q", 0.25, dataset=DATASET)
    with pytest.raises(LedgerError):
        ledger.draw_once("q", lambda: answer, dataset=DATASET)
    assert ledger.answer("q", dataset=DATASET) is None


@sweep("question", [None, 3, b"q", "", "\ud800"])
def test_a_question_is_a_text(ledger, question):
    calls = (
        lambda: ledger.answer(question, dataset=DATASET),
        lambda: ledger.check(question, 0.1, dataset=DATASET),
        lambda: ledger.spend(question, 0.1, dataset=DATASET),
        lambda: ledger.draw_once(question, never, dataset=DATASET),
    )
    for call in calls:
        with pytest.raises(ParameterError, match="question"):
            call()


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "1", True, 5e-324j])
def test_bad_epsilon(tmp_path, ledger, epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        ledger.check("q", epsilon, dataset=DATASET)
    with pytest.raises(ParameterError, match="epsilon"):
        ledger.spend("q", epsilon, dataset=DATASET)
    with pytest.raises(ParameterError, match="epsilon"):
        Ledger(tmp_path / "new", epsilon=epsilon)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("epsilon", [2.0**-51, 8192.0, 1e300])
def test_totals_that_no_ledger_holds(path, epsilon):
    with pytest.raises(ParameterError, match="8192"):
        Ledger(path, epsilon=epsilon)
    assert not path.exists()


def test_opening_again(path, ledger):
    ledger.spend("q", 0.25, dataset=DATASET)
    for again in (Ledger(path), Ledger(str(path), 1), Ledger(path, epsilon=np.float32(1))):
        assert again.spent == 0.25
    with pytest.raises(LedgerError, match=r"epsilon = 2: .* a total of 1, which cannot be changed"):
        Ledger(path, epsilon=2.0)


def test_the_remedy_for_another_total_works(path):
    Ledger(path, epsilon=1 / 3)
    with pytest.raises(LedgerError, match="leave out epsilon, pass exactly that total") as refused:
        Ledger(path, epsilon=0.333333333)
    said = re.search(r"has a total of (\S+), which", str(refused.value))[1]
    assert Ledger(path, epsilon=float(said)).total == Ledger(path).total


@given(st.lists(st.sampled_from([0.1, 0.3, 0.7, 1 / 3, 1e-5, 0.999]), max_size=12))
@settings(max_examples=30, deadline=None)
def test_what_is_said_to_be_left_can_be_spent(amounts):
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "a.ledger", epsilon=1)
        for place, amount in enumerate(amounts):
            with contextlib.suppress(BudgetError):
                ledger.spend(f"q{place}", amount, dataset=DATASET)
        left = float(format_remainder(ledger.remaining, ledger.total))
        if left:
            ledger.spend("rest", left, dataset=DATASET)


def test_pickle_copy_and_repr(path, ledger, monkeypatch):
    ledger.spend("q", 0.25, dataset=DATASET)
    assert repr(ledger) == f"Ledger({str(path)!r}, spent 0.25 of 1)"
    for again in (pickle.loads(pickle.dumps(ledger)), copy.deepcopy(ledger)):
        assert again.path == path
        assert again.spent == 0.25
    assert len(pickle.dumps(ledger)) < len(str(path)) + 100
    path.unlink()
    assert "unusable" in repr(ledger)


def test_a_relative_path_is_kept_whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = Ledger("what? 100% #1.ledger", epsilon=1)  # also characters with a meaning in URIs
    monkeypatch.chdir("/")
    ledger.spend("q", 0.5, dataset=DATASET)
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == ["what? 100% #1.ledger", "what? 100% #1.ledger.lock"]


def test_nothing_stays_open(path, ledger):
    ledger.spend("q", 0.25, dataset=DATASET)
    ledger.draw_once("q", lambda: "1", dataset=DATASET)
    with pytest.raises(BudgetError):
        ledger.spend("r", 9, dataset=DATASET)
    assert {file.name for file in path.parent.iterdir()} == {path.name, f"{path.name}.lock"}
    if Path("/proc/self/fd").exists():
        open_files = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
        assert not [name for name in open_files if name.startswith(str(path))]


# --- exact amounts ---------------------------------------------------------------------------


def test_thirty_tenths(path):
    ledger = Ledger(path, epsilon=3.0)
    for i in range(30):
        ledger.spend(f"q{i}", 0.1 * (1 - 1e-12), dataset=DATASET)
    assert sum(units(path)) <= 3 * UNIT
    assert ledger.spent <= 3.0
    with pytest.raises(BudgetError):
        ledger.spend("one more", 0.1, dataset=DATASET)


def test_ten_times_the_float_above_a_tenth(path):
    """Python's sum says 0.9999999999999999; the true one is above 1."""
    ledger = Ledger(path, epsilon=1.0)
    for i in range(9):
        ledger.spend(f"q{i}", 0.1, dataset=DATASET)
    with pytest.raises(BudgetError):
        ledger.spend("q9", 0.1, dataset=DATASET)
    ledger.spend("q9", ledger.remaining, dataset=DATASET)
    assert ledger.remaining == 0


def test_rounding_directions(path):
    ledger = Ledger(path, epsilon=1 + 2.0**-51)
    assert ledger.total == 1.0
    ledger.spend("q", 2.0**-60, dataset=DATASET)
    assert units(path) == [1]
    assert ledger.spent == 2.0**-50
    ledger.spend("r", 0.5 + 2.0**-52, dataset=DATASET)
    assert units(path) == [1, UNIT // 2 + 1]
    ledger.spend("s", 2.0**-50, dataset=DATASET)
    assert units(path)[-1] == 1
    with pytest.raises(BudgetError):
        ledger.spend("t", 0.5 - 2.0**-50, dataset=DATASET)


@given(st.integers(1, 2**63 - 1))
def test_amounts_as_floats(amount):
    low, high = module._down(amount, UNIT), module._up(amount, UNIT)
    assert Fraction(low) * UNIT <= amount <= Fraction(high) * UNIT
    assert high in (low, math.nextafter(low, math.inf))


@settings(max_examples=25)  # each waits for the disk many times
@given(st.floats(2.0**-50, 8191), st.lists(st.floats(1e-12, 500), max_size=6))
def test_the_sum_never_exceeds_the_total(total, charges):
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "l", epsilon=total)
        truly = Fraction(0)
        for i, charge in enumerate(charges):
            with contextlib.suppress(BudgetError):
                ledger.spend(f"q{i}", charge, dataset=DATASET)
                truly += Fraction(charge)
        assert truly <= Fraction(ledger.spent)
        assert truly + Fraction(ledger.remaining) <= Fraction(ledger.total) <= Fraction(total)
        if ledger.remaining:
            ledger.spend(
                "the rest", ledger.remaining, dataset=DATASET
            )  # what is said to remain can be spent
        assert sum(units(ledger.path)) <= Fraction(total) * UNIT


# --- files that are no ledgers -----------------------------------------------------------------


def refusal(path, epsilon=None):
    with pytest.raises(LedgerError) as refused:
        Ledger(path, epsilon)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None
    return str(refused.value)


@pytest.mark.parametrize("content", [b"", b"not a ledger", b"x" * 5000, b"SQLite format 3\x00"])
def test_other_files(path, content):
    path.write_bytes(content)
    assert "ledger" in refusal(path)
    assert path.read_bytes() == content


def test_an_empty_file_becomes_a_ledger(path):
    """As a process leaves it that dies between making the file and its first commit."""
    path.touch()
    assert Ledger(path, epsilon=1).total == 1


def test_another_database(path):
    write(path, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    for epsilon in (None, 1.0):
        assert "it is not a ledger" in refusal(path, epsilon)
    assert rows(path, "SELECT * FROM t") == [(1,)]


def test_another_schema(path, ledger):
    write(path, "PRAGMA user_version = 4")
    for call in (
        lambda: Ledger(path),
        lambda: ledger.spend("q", 0.1, dataset=DATASET),
        ledger.history,
    ):
        with pytest.raises(LedgerError, match="schema 4.*schema 3; use the version"):
            call()


@pytest.mark.parametrize("start", [0, 20, 4096, 2 * 4096])
def test_damage(path, ledger, start):
    for i in range(40):
        ledger.spend(f"question {i}", 0.01, dataset=DATASET)
    content = bytearray(path.read_bytes())
    content[start : start + 2000] = os.urandom(2000)
    path.write_bytes(content)
    assert "damaged" in refusal(path) or "ledger" in refusal(path)


def test_cut_short(path, ledger):
    for i in range(100):
        ledger.spend(f"question {i}" * 20, 0.005, dataset=DATASET)
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096)
    assert "damaged" in refusal(path)


def test_a_damaged_index_is_found(path, ledger):
    """The index finds charged questions: without its entry a question would be charged twice."""
    ledger.spend("question", 0.25, dataset=DATASET)
    content = path.read_bytes()
    first = content.rindex(b"question")  # the index follows the table
    path.write_bytes(content[:first] + b"questiom" + content[first + 8 :])
    assert "damaged" in refusal(path)


def test_no_file_no_folder_or_a_folder(tmp_path):
    assert "no such ledger; check the path, or create it" in refusal(tmp_path / "absent")
    assert not (tmp_path / "absent").exists()
    assert "no folder" in refusal(tmp_path / "missing" / "l", 1.0)
    assert "it is a folder" in refusal(tmp_path, 1.0)
    (tmp_path / "file").touch()
    assert "no folder" in refusal(tmp_path / "file" / "l", 1.0)


@pytest.mark.parametrize("path", [None, 3, "nul\x00"])
def test_no_path(path):
    assert "not a path" in refusal(path, 1.0)


def test_a_vanished_ledger_is_not_made_anew(path, ledger):
    path.unlink()
    for call in (
        ledger.history,
        lambda: ledger.spend("q", 0.1, dataset=DATASET),
        lambda: ledger.total,
    ):
        with pytest.raises(LedgerError, match="cannot be opened"):
            call()
    assert not path.exists()


@pytest.fixture
def unprivileged():
    """A folder and a process without root's right to write everywhere.

    Root ignores file modes, so chmod alone would test nothing where tests run as root, as they
    do in containers: the effective user changes for the length of the test.
    """
    if not hasattr(os, "geteuid"):
        pytest.skip("Windows has other permissions")
    me = os.geteuid()
    with tempfile.TemporaryDirectory() as folder:
        try:
            if me == 0:
                os.chown(folder, NOBODY, -1)
                os.seteuid(NOBODY)
            yield Path(folder)
        finally:
            os.seteuid(me)
            os.chmod(folder, 0o700)


def test_a_read_only_file(unprivileged):
    path = unprivileged / "l"
    ledger = Ledger(path, epsilon=1)
    path.chmod(0o444)
    assert "read-only" in refusal(path)
    with pytest.raises(LedgerError, match="read-only.*make the file and its folder writable"):
        ledger.spend("q", 0.1, dataset=DATASET)
    path.chmod(0o000)
    assert "cannot be opened" in refusal(path)


def test_a_read_only_folder(unprivileged):
    path = unprivileged / "l"
    ledger = Ledger(path, epsilon=1)
    unprivileged.chmod(0o555)
    assert "cannot be opened" in refusal(unprivileged / "new", 1.0)
    assert "folder writable" in refusal(path)  # on opening, before any data is read
    with pytest.raises(LedgerError, match="folder writable"):
        ledger.spend("q", 0.1, dataset=DATASET)


MOUNTS = r"""/dev/sda1 / ext4 rw,relatime 0 0
tmpfs /tmp tmpfs rw 0 0
server:/home /home nfs4 rw,vers=4.2 0 0
/dev/sdb1 /home/local ext4 rw 0 0
//server/share /mnt/with\040space cifs rw 0 0
C:\134 /mnt/c 9p rw 0 0
me@host: /data fuse.sshfs rw 0 0
systemd-1 /auto autofs rw 0 0
server:/auto /auto nfs rw 0 0
server:/under /under nfs rw 0 0
/dev/sdc1 /under xfs rw 0 0
"""


@sweep(
    ("place", "remote"),
    [
        ("/var/l", False),
        ("/tmp/l", False),
        ("/home/me/l", True),
        ("/home/local/l", False),
        ("/home/locality/l", True),
        ("/homes/l", False),
        ("/mnt/with space/l", True),
        ("/mnt/c/l", True),
        ("/data/l", True),
        ("/auto/l", True),
        ("/under/l", False),
        ("\\\\server\\share\\l", True),
        ("C:\\l", False),
    ],
)
def test_network_drives(place, remote):
    assert ledger_file._is_remote(place, MOUNTS) is remote


@sweep("kind", ["nfs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre"])
def test_network_drives_are_refused(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(
        ledger_file, "_mounts", lambda: f"/ / ext4 rw 0 0\ns: {tmp_path} {kind} rw 0 0\n"
    )
    assert "network drives" in refusal(tmp_path / "l", 1.0)
    assert not list(tmp_path.iterdir())


def test_the_real_table_of_mounts_can_be_read():
    assert not ledger_file._is_remote("/proc/self/l", ledger_file._mounts())


# --- disks and locks that fail -------------------------------------------------------------------


class Failing(sqlite3.Connection):
    """A connection whose commits of changes fail, as on a full disk."""

    def execute(self, statement, *values):
        if statement == "COMMIT" and self.total_changes:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        return super().execute(statement, *values)


class Full(sqlite3.Connection):
    """A connection that cannot make the file larger: SQLite's own limit on pages."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.execute("PRAGMA max_page_count = 1")  # means: as many as there are


@contextlib.contextmanager
def no_more_bytes(path):
    """Let the operating system refuse, with EFBIG, to make any file longer than this one."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextlib.contextmanager
def connections_of(factory):
    with pytest.MonkeyPatch.context() as patch:
        real = sqlite3.connect
        patch.setattr(sqlite3, "connect", lambda *a, **o: real(*a, **o, factory=factory))
        yield


@pytest.mark.parametrize("disk", ["failing", "full", "limited"])
def test_a_full_disk_releases_nothing_and_loses_nothing(path, ledger, disk):
    ledger.spend("q", 0.25, dataset=DATASET)
    drawn = []

    def draw():
        drawn.append(f'"{len(drawn)}{"x" * 20_000}"')
        return drawn[-1]

    failures = {
        "failing": connections_of(Failing),
        "full": connections_of(Full),
        "limited": no_more_bytes(path),
    }
    with failures[disk]:
        with pytest.raises(
            LedgerError, match="a query that was charged is not charged again"
        ) as refused:
            ledger.draw_once("q", draw, dataset=DATASET)
        with pytest.raises(LedgerError, match="nothing was released"):
            ledger.spend("long question " * 1000, 0.25, dataset=DATASET)
    assert len(drawn) == 1
    assert "xxx" not in str(refused.value)
    inner = list(traceback.walk_tb(refused.tb))[1:]  # the first frame is this test
    assert inner
    assert not any(drawn[0] in repr(frame.f_locals) for frame, _ in inner)
    assert [entry.answered for entry in ledger.history()] == [False]
    assert ledger.spent == 0.25
    ledger.spend("q", 0.25, dataset=DATASET)
    assert ledger.draw_once("q", draw, dataset=DATASET).answer == drawn[1]
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.skipif(os.name == "nt", reason="Windows does not replace open files")
def test_a_file_exchanged_during_a_draw_releases_nothing(path, ledger):
    other = Ledger(path.with_name("other"), epsilon=1.0)
    ledger.spend("q", 0.25, dataset=DATASET)
    with pytest.raises(LedgerError, match="it was replaced by an older copy"):
        ledger.draw_once("q", lambda: str(os.replace(other.path, path)), dataset=DATASET)


def test_a_file_exchanged_after_a_draw_releases_nothing(ledger, monkeypatch):
    ledger.spend("q", 0.25, dataset=DATASET)
    monkeypatch.setattr(Ledger, "find", lambda self, question, dataset: None)
    with pytest.raises(LedgerError, match="the file was replaced meanwhile"):
        ledger.draw_once("q", lambda: "1", dataset=DATASET)


def test_an_emptied_budget_allows_nothing(path, ledger):
    write(path, "DELETE FROM budget")
    with pytest.raises(BudgetError):
        ledger.spend("q", 0.25, dataset=DATASET)


def test_locked_for_too_long(path, ledger, monkeypatch):
    monkeypatch.setattr(ledger_file, "TIMEOUT", 0.1)
    ledger.spend("q", 0.25, dataset=DATASET)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for call in (
            lambda: Ledger(path),
            lambda: ledger.spend("r", 0.1, dataset=DATASET),
            lambda: ledger.draw_once("q", never, dataset=DATASET),
            ledger.history,
        ):
            with pytest.raises(LedgerError, match="locked.*wait until it is done"):
                call()
    assert ledger.draw_once("q", lambda: "1", dataset=DATASET).answer == "1"


def test_a_draw_that_uses_the_ledger_is_refused(ledger, monkeypatch):
    monkeypatch.setattr(ledger_file, "TIMEOUT", 0.1)
    ledger.spend("q", 0.25, dataset=DATASET)
    with pytest.raises(LedgerError, match="locked"):
        ledger.draw_once("q", lambda: str(ledger.spent), dataset=DATASET)


# --- what others do to the file ------------------------------------------------------------------


class SlowDraw:
    """A draw that begins when it is called and ends when it is told to."""

    def __init__(self):
        self.begun, self.end = threading.Event(), threading.Event()

    def __call__(self):
        self.begun.set()
        self.end.wait(60)
        return '"drawn"'


SPENDER = """
import sys
from dpmic.errors import BudgetError
from dpmic.privacy.ledger import Ledger

print("ready", flush=True)
ledger, paid = Ledger(sys.argv[1]), 0
for i in range(3):
    try:
        ledger.spend(f"other {i}", 1.0, dataset="d")
    except BudgetError:
        break
    paid += 1
print(paid)
"""


def test_a_backup_during_a_draw_does_not_let_others_overspend(path):
    """Opening and closing the file drops SQLite's locks: 3.0 was once published of 2.0."""
    ledger, draw = Ledger(path, epsilon=2.0), SlowDraw()
    ledger.spend("q", 1.0, dataset=DATASET)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(ledger.draw_once, "q", draw, dataset=DATASET)
        draw.begun.wait(60)
        path.read_bytes()
        command = [sys.executable, "-c", SPENDER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout.readline() == "ready\n"
            time.sleep(0.5)  # it waits for the lock now
            path.read_bytes()
            draw.end.set()
            assert future.result().answer == '"drawn"'
            assert other.stdout.read() == "1\n"
    assert ledger.spent == 2.0
    assert sum(units(path)) == 2 * UNIT
    assert ledger.answer("q", dataset=DATASET) == '"drawn"'


def test_an_older_copy_is_noticed_while_the_ledger_lives(path, ledger):
    ledger.spend("q", 0.25, dataset=DATASET)
    older = path.read_bytes()
    ledger.spend("r", 0.25, dataset=DATASET)
    path.write_bytes(older)
    for call in (lambda: ledger.spent, lambda: ledger.spend("s", 0.5, dataset=DATASET)):
        with pytest.raises(LedgerError, match="it was replaced by an older copy; .* restore"):
            call()
    assert Ledger(path).spent == 0.25  # a file cannot tell by itself; known limitations


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM entries WHERE question = 'r'",
        "UPDATE entries SET units = 1",
        "UPDATE budget SET spent = 0",
    ],
)
def test_charges_that_do_not_add_up_are_refused(path, ledger, change):
    """As when a page was overwritten: the running sum and the entries lie on different pages."""
    for question in ("q", "r"):
        ledger.spend(question, 0.25, dataset=DATASET)
    write(path, change)
    with pytest.raises(LedgerError, match="do not add up"):
        Ledger(path)
    with pytest.raises(LedgerError, match="do not add up"):
        ledger.spend("s", 0.25, dataset=DATASET)


def test_a_deleted_lock_file_does_not_let_the_faster_draw_win(path, ledger):
    ledger.spend("q", 0.25, dataset=DATASET)

    def draw():
        Path(f"{path}.lock").unlink()
        with ThreadPoolExecutor(1) as pool:  # another thread finds no lock, and draws as well
            return pool.submit(ledger.draw_once, "q", lambda: '"faster"', dataset=DATASET).result()

    with pytest.raises(LedgerError, match="its lock file was deleted meanwhile, so nothing was"):
        ledger.draw_once("q", draw, dataset=DATASET)
    assert ledger.draw_once("q", never, dataset=DATASET).answer == '"faster"'


def test_a_lock_file_deleted_while_others_wait_is_made_anew(path, ledger):
    """Who waits for a file that has lost its name would hold a lock that nobody else sees."""
    ledger.spend("q", 0.25, dataset=DATASET)
    with ThreadPoolExecutor(1) as pool:
        with ledger_file.locked(path):
            waiting = pool.submit(ledger.spend, "r", 0.25, dataset=DATASET)
            time.sleep(0.1)
            Path(f"{path}.lock").unlink()
        waiting.result()
    assert Path(f"{path}.lock").exists()
    assert ledger.spent == 0.5


def test_the_lock_file_has_the_ledgers_permissions(path, ledger):
    path.chmod(0o660)
    ledger.spend("q", 0.25, dataset=DATASET)
    assert Path(f"{path}.lock").stat().st_mode & 0o777 == 0o660


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_a_new_ledger_is_its_owners_alone(path):
    """Whoever can read the lock file can hold the lock, and who reads the ledger sees answers."""
    before = os.umask(0o022)
    try:
        Ledger(path, 3)
    finally:
        os.umask(before)
    for file in (path, Path(f"{path}.lock")):
        assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("begun", [b"SQLite format 3\0" + bytes(200), b"age,dose\n1,2\n"])
def test_another_programs_file_is_not_opened(tmp_path, begun):
    """SQLite would end its write-ahead log, and a lock file would stand beside it."""
    foreign = tmp_path / "app.sqlite"
    foreign.write_bytes(begun)
    with contextlib.closing(sqlite3.connect(tmp_path / "log.sqlite")) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("CREATE TABLE t (a)")
    for file in (foreign, tmp_path / "log.sqlite"):
        before = file.read_bytes()
        for total in (None, 3):
            with pytest.raises(LedgerError, match="it is not a ledger"):
                Ledger(file, total)
        assert file.read_bytes() == before
    assert {file.name for file in tmp_path.iterdir()} == {"app.sqlite", "log.sqlite"}


def test_those_in_a_hurry_wait_less(path, ledger):
    with contextlib.ExitStack() as stack:
        stack.enter_context(ledger_file.locked(path))
        begun = time.monotonic()
        with pytest.raises(LedgerError, match="locked"), ledger_file.patience(0.1):
            ledger.balance()
        assert time.monotonic() - begun < 10


def test_a_second_name_is_refused(path, ledger):
    os.link(path, path.with_name("other"))
    assert "a hard link, a second name under which it could be overspent" in refusal(path)


def test_a_lock_that_is_lost_leaves_the_other(path, ledger, monkeypatch):
    """Somebody deletes the lock file: SQLite's own lock still holds."""
    monkeypatch.setattr(ledger_file, "TIMEOUT", 0.1)
    Path(f"{path}.lock").unlink()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="locked"):
            ledger.spend("q", 0.25, dataset=DATASET)
    ledger.spend("q", 0.25, dataset=DATASET)


def forked(work):
    """Fork, work in the child, and return whether it went well."""
    pid = os.fork()
    if not pid:
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_during_other_threads_transactions_does_not_block_the_child(path, monkeypatch):
    monkeypatch.setattr(ledger_file, "TIMEOUT", 20)
    ledger, stop = Ledger(path, epsilon=100.0), threading.Event()

    def work(name):
        for i in itertools.count():
            if stop.is_set():
                return
            ledger.spend(f"parent {name} {i}", 2.0**-20, dataset=DATASET)
            time.sleep(0.01)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(2)]
    for thread in threads:
        thread.start()
    try:
        begun = time.monotonic()
        children = [
            forked(lambda i=i: ledger.spend(f"child {i}", 2.0**-20, dataset=DATASET))
            for i in range(10)
        ]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert all(children), time.monotonic() - begun
    asked = {entry.question for entry in ledger.history()}
    assert {f"child {i}" for i in range(10)} <= asked


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_during_a_draw_waits_for_it_and_holds_no_lock(path, ledger):
    draw = SlowDraw()
    ledger.spend("q", 0.25, dataset=DATASET)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(ledger.draw_once, "q", draw, dataset=DATASET)
        draw.begun.wait(60)
        pid = os.fork()
        if not pid:  # the child asks, too, and gets the parent's answer
            try:
                text = ledger.draw_once("q", never, dataset=DATASET).answer
                os._exit(0 if text == '"drawn"' else 1)
            except BaseException:
                os._exit(2)
        draw.end.set()
        assert future.result().answer == '"drawn"'
        assert os.waitpid(pid, 0)[1] == 0


# --- ledgers of the version before --------------------------------------------------------------

SCHEMA_2 = (
    "CREATE TABLE budget (total INTEGER NOT NULL CHECK (typeof(total) = 'integer'), "
    "total_delta INTEGER NOT NULL CHECK (typeof(total_delta) = 'integer'))",
    "CREATE TABLE entries (id INTEGER PRIMARY KEY, time TEXT NOT NULL, "
    "question TEXT NOT NULL UNIQUE, "
    "units INTEGER NOT NULL CHECK (typeof(units) = 'integer' AND units > 0), "
    "units_delta INTEGER NOT NULL "
    "CHECK (typeof(units_delta) = 'integer' AND units_delta >= 0), answer TEXT)",
    "PRAGMA application_id = 0x64706D69",
    "PRAGMA user_version = 2",
    f"INSERT INTO budget VALUES ({2**51}, 0)",
    f"INSERT INTO entries VALUES (1, '2026-01-31T10:00:00+00:00', 'q', {2**49}, 0, '\"old\"')",
    f"INSERT INTO entries VALUES (2, '2026-02-01T10:00:00+00:00', 'r', {2**49}, 0, NULL)",
)


def test_old_entries_count_as_spent_and_are_never_replayed(path):
    write(path, *SCHEMA_2)
    ledger = Ledger(path, epsilon=2.0)
    assert (ledger.total, ledger.spent) == (2.0, 1.0)
    assert ledger.answer("q", dataset=DATASET) is None
    with pytest.raises(LedgerError, match="never charged"):
        ledger.draw_once("r", never, dataset=DATASET)  # nor is a pending one drawn for free
    ledger.spend("q", 0.5, dataset=DATASET)
    assert ledger.draw_once("q", lambda: '"new"', dataset=DATASET).answer == '"new"'
    assert ledger.spent == 1.5
    assert [(e.dataset, e.answer) for e in ledger.history()] == [
        (None, '"old"'),
        (None, None),
        (DATASET, '"new"'),
    ]
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


def test_an_upgrade_that_fails_changes_nothing(path):
    write(path, *SCHEMA_2)
    with connections_of(Failing), pytest.raises(LedgerError, match="disk is full"):
        Ledger(path)
    assert rows(path, "PRAGMA user_version") == [(2,)]
    assert len(rows(path, "SELECT * FROM entries")) == 2
    assert Ledger(path).spent == 1.0


def test_datasets_have_answers_of_their_own(ledger):
    for dataset in ("visits 2024", "visits 2025"):
        ledger.spend("q", 0.25, dataset=dataset)
        assert ledger.draw_once("q", lambda d=dataset: d, dataset=dataset).answer == dataset
    assert ledger.spent == 0.5
    assert ledger.answer("q", dataset="visits 2024") == "visits 2024"
    assert ledger.answer("q", dataset="Visits 2024") is None


@pytest.mark.parametrize("dataset", [None, 3, "", "\ud800"])
def test_a_dataset_is_a_text(ledger, dataset):
    with pytest.raises(ParameterError, match="dataset"):
        ledger.spend("q", 0.1, dataset=dataset)


# --- many at once ----------------------------------------------------------------------------


def test_threads(path, ledger):
    """Also: closing one thread's connection must not drop another's lock."""
    done, draws, answers = [], [], []

    def work(name):
        for i in range(8):
            with contextlib.suppress(BudgetError):
                ledger.spend(f"{name} {i}", 1 / 32, dataset=DATASET)
                done.append(name)
        ledger.spend("shared", 1 / 2, dataset=DATASET)
        entry = ledger.draw_once("shared", lambda: draws.append(name) or name, dataset=DATASET)
        answers.append(entry.answer)

    ledger.spend("shared", 1 / 2, dataset=DATASET)
    threads = [threading.Thread(target=work, args=(f"t{i}",)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 16
    assert len(draws) == 1
    assert answers == draws * 6
    assert sum(units(path)) == UNIT


def spend_many(path, worker, count, epsilon, start):
    start.wait()
    ledger = Ledger(path, epsilon=1.0)  # they also race for making it
    paid = 0
    for i in range(count):
        with contextlib.suppress(BudgetError):
            ledger.spend(f"worker {worker} question {i}", epsilon, dataset=DATASET)
            paid += 1
    return paid


def ask_same(path, worker, count, epsilon, start):
    start.wait()
    ledger = Ledger(path, epsilon=1.0)
    answers, draws = [], []
    for i in range(count):
        ledger.spend(f"question {i}", epsilon, dataset=DATASET)
        draw = lambda: draws.append(1) or str(worker)  # noqa: E731
        answers.append(ledger.draw_once(f"question {i}", draw, dataset=DATASET).answer)
    return answers, len(draws)


def at_once(work, path, *arguments, workers=8):
    """What each of several processes returns that began together."""
    with SPAWN.Manager() as manager, SPAWN.Pool(workers) as pool:
        start = manager.Barrier(workers)
        jobs = [(path, worker, *arguments, start) for worker in range(workers)]
        return pool.starmap(work, jobs, chunksize=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "epsilon"), [(12, 0.0199), pytest.param(500, 0.000371, marks=pytest.mark.full)]
)
def test_processes_never_overspend(path, count, epsilon):
    paid = at_once(spend_many, path, count, epsilon)
    charge = math.ceil(Fraction(epsilon) * UNIT)
    assert sum(paid) == UNIT // charge < 8 * count
    assert units(path) == [charge] * sum(paid)
    assert len(Ledger(path).history()) == sum(paid)


@pytest.mark.slow
@pytest.mark.parametrize("count", [5, pytest.param(300, marks=pytest.mark.full)])
def test_processes_that_ask_the_same_get_one_answer(path, count):
    results = at_once(ask_same, path, count, 1 / 1024)
    answers = [answer for answer, _ in results]
    assert all(answer == answers[0] for answer in answers)
    assert sum(draws for _, draws in results) == count
    assert [entry.answer for entry in Ledger(path).history()] == answers[0]
    assert units(path) == [UNIT // 1024] * count


# --- kill -9 -----------------------------------------------------------------------------------

# Says what it has done only after the ledger has said so. Some questions are its own, and some
# are shared with the other children, dead and alive.
CHILD = """
import itertools, os, random, sys
from dpmic.errors import BudgetError
from dpmic.privacy.ledger import Ledger

def say(*words):
    os.write(1, (" ".join(words) + "\\n").encode())  # one write: never half a line of two

say("ready")
ledger, DATASET = Ledger(sys.argv[1], epsilon=float(sys.argv[2])), "visits 2024"
for i in itertools.count():
    question = random.choice([f"{os.getpid()}/{i}", f"shared/{random.randrange(10**4)}"])
    try:
        ledger.spend(question, 1 / 1024, dataset=DATASET)
    except BudgetError:
        say("refused", question)
        continue
    say("committed", question)
    text = str(random.random()) + " " * random.choice([1, 5000])  # one page, or more
    entry = ledger.draw_once(question, lambda: text, dataset=DATASET)
    say("released", question, entry.answer.strip())
"""


def child(path, total):
    command = [sys.executable, "-c", CHILD, str(path), str(total)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, pipesize=2**20)
    assert process.stdout.readline() == "ready\n"
    return process


def killed(process):
    """The whole lines that a process has said until it was killed."""
    process.kill()  # SIGKILL; on Windows TerminateProcess
    said, _ = process.communicate()
    return [line.split() for line in said.split("\n")[:-1]]


def kill_at_random(path, total, at_a_time, longest, **wanted):
    """Kill children at random moments until each thing was seen as often as wanted."""
    committed, released, seen = set(), {}, Counter()
    running = []
    while any(seen[what] < times for what, times in wanted.items()):
        while len(running) < at_a_time:
            running.append(child(path, total))
        time.sleep(random.uniform(0, longest))
        said = killed(running.pop(0))
        seen["killed"] += 1
        for verb, question, *answer in said:
            seen[verb] += 1
            if verb == "committed":
                committed.add(question)
            elif verb == "released":
                assert released.setdefault(question, answer) == answer
        # With one child at a time, a journal is one that the kill has left to be rolled back.
        seen["journal"] += Path(f"{path}-journal").exists()
        history = {entry.question: entry.answer for entry in Ledger(path, epsilon=total).history()}
        assert committed <= history.keys()
        assert all(history[question].strip() == text for question, [text] in released.items())
        assert sum(units(path)) <= total * UNIT
    for process in running:
        killed(process)
    assert sum(units(path)) == len(Ledger(path).history()) * UNIT // 1024 <= total * UNIT


@pytest.mark.slow
def test_kill(path):
    kill_at_random(path, total=1.0, at_a_time=2, longest=0.3, killed=6, released=1)


@pytest.mark.full
def test_kill_in_the_middle_of_a_commit(path):
    kill_at_random(path, total=100.0, at_a_time=1, longest=0.1, killed=40, journal=5)


@pytest.mark.full
def test_kill_many(path):
    kill_at_random(path, 2.0, at_a_time=4, longest=0.5, killed=80, committed=3000, refused=1)
    ledger = Ledger(path)
    assert ledger.remaining == 0
    for entry in ledger.history():  # what a kill left pending is still free
        ledger.spend(entry.question, entry.epsilon, dataset=DATASET)
        assert ledger.draw_once(entry.question, lambda: "0", dataset=DATASET)
