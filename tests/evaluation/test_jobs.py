"""The same numbers whoever makes them, and nothing made twice."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from dpmic.evaluation.jobs import Run, Task


def draw(rng, name, diary):
    """Note that work was done, and return random numbers."""
    with (Path(diary) / f"{name}.{time.monotonic_ns()}").open("x"):
        pass
    return {"normal": rng.normal(size=3), "name": np.array(name), "whole": rng.integers(9, size=2)}


def fail(rng, diary, error):
    raise error


@pytest.fixture
def diary(tmp_path):
    folder = tmp_path / "diary"
    folder.mkdir()
    return folder


def done(diary):
    """How often each task was worked on."""
    names = [path.name.partition(".")[0] for path in diary.iterdir()]
    return {name: names.count(name) for name in names}


def tasks(diary, names="abcdef"):
    return [Task(f"draw|{name}", draw, (name, str(diary))) for name in names]


def same(first, second):
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        assert set(one) == set(other) == {"normal", "name", "whole"}
        for key in one:
            np.testing.assert_array_equal(one[key], other[key])


def numbers(results):
    return [tuple(result["normal"]) for result in results]


def test_one_and_two_workers(tmp_path, diary):
    one = Run(tmp_path / "one", seed=3).results("draw", tasks(diary))
    two = Run(tmp_path / "two", seed=3, workers=2).results("draw", tasks(diary))
    assert [str(result["name"]) for result in two] == list("abcdef")
    same(one, two)
    files = [sorted(p.name for p in (tmp_path / folder).iterdir()) for folder in ("one", "two")]
    assert files[0] == files[1]
    assert done(diary) == dict.fromkeys("abcdef", 2)


def test_what_is_on_disk_is_not_made_again(tmp_path, diary):
    made = Run(tmp_path / "kept").results("draw", tasks(diary))
    found = Run(tmp_path / "kept", workers=2).results("draw", tasks(diary))
    same(made, found)
    assert done(diary) == dict.fromkeys("abcdef", 1)
    Run(tmp_path / "kept").results("draw", tasks(diary, "fgb"))
    assert done(diary) == dict.fromkeys("abcdefg", 1)


def test_no_two_tasks_seeds_or_keys_share_random_numbers(tmp_path, diary):
    found = numbers(Run(tmp_path / "kept", seed=0).results("draw", tasks(diary)))
    found += numbers(Run(tmp_path / "kept", seed=1).results("draw", tasks(diary)))
    found += numbers(Run(tmp_path / "kept", seed=0).results("draw", tasks(diary, "A")))
    assert len(set(found)) == 13
    assert done(diary)["a"] == 2  # another seed is another result, in the same folder


def test_the_order_of_tasks_does_not_matter(tmp_path, diary):
    forward = Run(tmp_path / "forward").results("draw", tasks(diary))
    backward = Run(tmp_path / "backward").results("draw", tasks(diary)[::-1])
    same(forward, backward[::-1])
    alone = Run(tmp_path / "alone").results("draw", tasks(diary, "d"))
    same(forward[3:4], alone)


@pytest.mark.parametrize("error", [RuntimeError("broken"), KeyboardInterrupt()], ids=repr)
def test_an_interrupted_run_keeps_what_is_done(tmp_path, diary, error):
    run = Run(tmp_path / "kept")
    first, rest = tasks(diary, "abc"), tasks(diary, "def")
    with pytest.raises(type(error)):
        run.results("draw", [*first, Task("broken", fail, (str(diary), error)), *rest])
    assert done(diary) == dict.fromkeys("abc", 1)
    whole = run.results("draw", [*first, *rest])
    assert done(diary) == dict.fromkeys("abcdef", 1)
    same(whole, Run(tmp_path / "fresh").results("draw", tasks(diary)))


@pytest.mark.slow
def test_an_error_in_a_worker_is_the_callers(tmp_path, diary):
    """Other tasks may have been done by then: they are not done again."""
    run = Run(tmp_path / "kept", workers=2)
    broken = Task("broken", fail, (str(diary), RuntimeError("broken")))
    with pytest.raises(RuntimeError, match="broken"):
        run.results("draw", [*tasks(diary, "abc"), broken, *tasks(diary, "def")])
    kept = len(list((tmp_path / "kept").glob("*.npz")))
    before = sum(done(diary).values())
    result = run.results("draw", tasks(diary))
    assert sum(done(diary).values()) - before <= 6 - kept
    same(result, Run(tmp_path / "fresh").results("draw", tasks(diary)))


def test_nothing_is_left_of_a_result_that_cannot_be_written(tmp_path, monkeypatch):
    def full(file, **arrays):
        file.write(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez", full)
    run = Run(tmp_path / "kept")
    with pytest.raises(OSError, match="no space left"):
        run.results("one", [Task("one", lambda _: {"o": np.zeros(3)})])
    assert list((tmp_path / "kept").iterdir()) == []


def spoilt(data):
    """The same file with some of the numbers changed: its checksum is wrong."""
    middle = data.index(b"normal.npy") + 160
    return data[:middle] + bytes(8) + data[middle + 8 :]


DAMAGES = {
    "nothing": lambda data: b"",
    "start": lambda data: data[:10],
    "half": lambda data: data[: len(data) // 2],
    "nearly all": lambda data: data[:-5],
    "other numbers": spoilt,
    "zeros": lambda data: bytes(len(data)),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_made_again(tmp_path, diary, damage):
    """A machine that loses its power may leave a file that is named but not whole."""
    run = Run(tmp_path / "kept")
    made = run.results("draw", tasks(diary, "a"))
    (file,) = (tmp_path / "kept").iterdir()
    file.write_bytes(damage(file.read_bytes()))
    same(made, run.results("draw", tasks(diary, "a")))
    assert done(diary) == {"a": 2}
    same(made, run.results("draw", tasks(diary, "a")))
    assert done(diary) == {"a": 2}


def test_leftovers_of_a_killed_run_do_no_harm(tmp_path, diary):
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / ".numbers.npz.0123abcd.tmp").write_bytes(b"half a result")
    found = Run(folder).results("draw", tasks(diary, "ab"))
    same(found, Run(tmp_path / "fresh").results("draw", tasks(diary, "ab")))


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_is_told(tmp_path, diary, workers):
    told = []
    folder = tmp_path / "kept"
    Run(folder).results("draw", tasks(diary, "ab"))
    Run(folder, workers=workers, tell=lambda *said: told.append(said)).results(
        "draw", tasks(diary, "abcd")
    )
    assert told == [("draw", 2, 4), ("draw", 3, 4), ("draw", 4, 4)]


def test_no_tasks(tmp_path):
    assert Run(tmp_path / "kept", workers=2).results("none", []) == []


def test_results_are_equal_as_made_and_as_read(tmp_path):
    """Types, shapes and not-a-numbers included."""
    values = {"nan": np.array([np.nan, 1.0]), "flags": np.eye(2, dtype=bool), "one": np.array(3)}
    run = Run(tmp_path / "kept")
    task = Task("values", lambda _: values)
    for result in (run.results("values", [task])[0], run.results("values", [task])[0]):
        assert set(result) == set(values)
        for key, value in values.items():
            np.testing.assert_array_equal(result[key], value)
            assert result[key].dtype == value.dtype
            assert result[key].shape == value.shape


SLOW = """
import sys, time
from pathlib import Path
import numpy as np
from dpmic.evaluation.jobs import Run, Task

def work(rng, i, diary, halt):
    while i > 3 and Path(halt).exists():
        time.sleep(0.05)
    time.sleep(0.2)
    Path(diary, f"{i}.{time.monotonic_ns()}").touch()
    return {"v": rng.normal(size=3)}

if __name__ == "__main__":
    folder, diary, workers, halt = sys.argv[1:]
    run = Run(Path(folder), 0, int(workers))
    tasks = [Task(f"t{i}", work, (i, diary, halt)) for i in range(8)]
    print(repr([result["v"].tolist() for result in run.results("work", tasks)]))
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="a terminal's interrupt is a signal to a group")
@pytest.mark.parametrize("workers", [1, 2])
def test_control_c(tmp_path, diary, workers):
    """The whole process group is interrupted, as by a terminal, and started again."""
    program, folder, halt = tmp_path / "slow.py", tmp_path / "kept", tmp_path / "halt"
    program.write_text(SLOW)
    halt.touch()
    command = [sys.executable, str(program), str(folder), str(diary), str(workers), str(halt)]
    stopped = subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE)
    while len(list(folder.glob("*.npz"))) < 2:
        assert stopped.poll() is None
        time.sleep(0.02)
    os.killpg(stopped.pid, signal.SIGINT)
    stopped.communicate(timeout=60)
    assert stopped.returncode != 0
    halt.unlink()
    kept = len(list(folder.glob("*.npz")))
    assert 2 <= kept < 8
    before = sum(done(diary).values())
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert sum(done(diary).values()) - before == 8 - kept
    (tmp_path / "other").mkdir()
    command[2:5] = [str(tmp_path / "fresh"), str(tmp_path / "other"), "1"]
    fresh = subprocess.run(command, capture_output=True, text=True, check=True)
    assert again.stdout == fresh.stdout
