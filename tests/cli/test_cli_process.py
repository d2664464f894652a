"""The command as a process: pipes, disks, terminals, interrupts and shells."""

import os
import signal
import subprocess
import sys
import time

import commands
import pytest

import dpmic
from dpmic import cli
from dpmic.cli import _application, _inputs

DPMIC = [sys.executable, "-m", "dpmic"]
LINUX = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")


@pytest.fixture
def people(monkeypatch, tmp_path):
    commands.folder(monkeypatch, tmp_path)
    return tmp_path


@pytest.mark.slow
def test_standard_input(people):
    text = "a\tb\n" + "".join(f"{v}\t{v * v}\n" for v in range(40))
    done = subprocess.run(
        [*DPMIC, "score", "-", "a", "b", "--json"],
        input=text, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert dpmic.Score.from_json(done.stdout).mic == dpmic.mice(range(40), range(40)).mic


@pytest.mark.slow
@LINUX
def test_a_full_disk_is_one_line(people):
    with open("/dev/full", "w") as full:
        for command in (["score", "people.csv", "a", "b"], ["--help"]):
            done = subprocess.run(
                [*DPMIC, *command], stdout=full, stderr=subprocess.PIPE, text=True
            )
            assert done.returncode == 2
            assert done.stderr == (
                "dpmic: standard output: No space left on device; write elsewhere.\n"
            )


@pytest.mark.slow
@LINUX
def test_a_full_disk_after_spending(people):
    dpmic.Ledger("p.ledger", epsilon=1.0)
    given = [*DPMIC, "release", "people.csv", "a", "b", "--epsilon", "1", *commands.BOUNDS]
    given += ["--one-row-per-person", "--yes", "--ledger", "p.ledger", "--dataset", "2026"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(given, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert (
        "the ledger keeps this release: the same command shows it again at no cost" in done.stderr
    )
    assert subprocess.run(given, check=True, capture_output=True).stdout


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a shell's pipe")
def test_a_closed_pipe_is_quiet(people):
    for command in (["matrix", "people.csv", "--csv"], ["--help"]):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([*DPMIC, *command], stdout=writer, stderr=subprocess.PIPE, text=True)
        os.close(writer)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a shell's pipe")
def test_a_closed_pipe_loses_no_result_that_was_paid_for(people):
    """Also where a table is printed, whose library ends the program at a closed pipe."""
    given = [*DPMIC, "release", "people.csv", "a", "b", "--epsilon", "1", *commands.BOUNDS]
    given += ["--one-row-per-person", "--yes"]
    codes, said = [], []
    for more in (["--report", "r.html"], []):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([*given, *more], stdout=writer, stderr=subprocess.PIPE, text=True)
        os.close(writer)
        codes.append(done.returncode)
        said.append(done.stderr)
    assert codes == [0, 2]
    assert "differentially private" in (people / "r.html").read_text()
    *_, result, line = said[1].splitlines()
    assert dpmic.Release.from_json(result).n == commands.N
    assert line.endswith("its epsilon is spent, and no ledger stored it; it is printed above.")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c(people):
    running = subprocess.Popen(
        [*DPMIC, "score", "-", "a", "b"],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    running.stdin.write("a,b\n" + "1,2\n" * 50_000)  # more than a pipe holds: it is read
    running.stdin.flush()
    time.sleep(0.5)  # until it waits for the rest
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (130, "dpmic: stopped\n")


def at_a_terminal(command, answer, wait_for):
    """Give a command at a terminal of its own, answer, and return its code and what was seen."""
    pty = pytest.importorskip("pty")
    pid, terminal = pty.fork()
    if not pid:
        os.execv(sys.executable, command)
    seen = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # Linux says so at the end
            break
        if not part:
            break
        seen += part
        if answer and wait_for in seen:
            os.write(terminal, answer)
            answer = b""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), seen.decode()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.skipif(os.name == "nt", reason="POSIX terminals")
@pytest.mark.parametrize(("answer", "code"), [(b"n\n", 1), (b"y\n", 0), (b"\x03", 130)])
def test_somebody_is_asked_at_a_terminal(people, answer, code):
    given = [*DPMIC, "release", "people.csv", "a", "b", "--epsilon", "1", *commands.BOUNDS]
    found, seen = at_a_terminal([*given, "--one-row-per-person"], answer, b"[y/N]")
    assert found == code
    assert "nothing is spent yet" in seen
    assert ("differentially private with epsilon = 1" in seen) == (code == 0)


@pytest.fixture
def run(people, monkeypatch, capsys):
    return commands.runner(monkeypatch, capsys)


def test_a_fault_of_ours_is_one_line_without_its_words(run, monkeypatch):
    def fault(*_, **__):
        raise ZeroDivisionError("somebody's data")

    monkeypatch.setattr(_inputs, "complete", fault)
    for given in (["score", "people.csv", "a", "b"], ["score", "--debug", "people.csv", "a", "b"]):
        code, out, err = run(*given)
        assert (code, out) == (2, "")
        assert err.splitlines()[-1].startswith("dpmic: ZeroDivisionError: this is a bug in dpmic")
        assert ("Traceback" in err) == ("--debug" in given)


def test_debug_may_stand_anywhere_but_not_for_a_column(run):
    for given in (
        ["--debug", "score", "no.csv", "a", "b"],
        ["score", "no.csv", "a", "b", "--debug"],
    ):
        code, _, err = run(*given)
        assert code == 2
        assert "Traceback" in err
        assert err.endswith("no.csv: there is no such file; check the name and the folder.\n")
    assert (
        "'--debug': there is no such column" in run("score", "people.csv", "a", "--", "--debug")[2]
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell):
    words = {"_DPMIC_COMPLETE": f"source_{shell}"}
    done = subprocess.run(
        [sys.executable, "-c", "from dpmic.cli import main; main()"],
        env={**os.environ, **words}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "_DPMIC_COMPLETE" in done.stdout


def test_commands_are_completed():
    words = {"_DPMIC_COMPLETE": "complete_bash", "COMP_WORDS": "dpmic s", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", "from dpmic.cli import main; main()"],
        env={**os.environ, **words}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["score", "screen"]


@pytest.mark.slow
def test_memory_stays_with_the_columns(people):
    """A text of 40 MB, of which two narrow columns are wanted."""
    resource = pytest.importorskip("resource")
    with open("large.csv", "w") as file:
        file.write("a,b,note\n")
        file.writelines(f"{i},{i % 7},{'x' * 400}\n" for i in range(100_000))
    code = (
        "import resource, sys\nfrom dpmic.data import load\n"
        "load('people.csv', ['a', 'b'])\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "table = load('large.csv', ['a', 'b'])\n"
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(table.num_rows, after - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rows, grown = map(int, done.stdout.split())
    unit = 2**10 if sys.platform == "darwin" else 1
    assert rows == 100_000
    assert grown / unit < 30_000  # kilobytes
    assert resource


def test_the_entry_point_is_the_package():
    assert cli.main is _application.main
