"""Work that is killed, damaged or asked for twice: nothing is lost, mixed or overwritten."""

import json
import math
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from project import TESTS
from pyarrow import parquet

import dpmic
from dpmic.all_pairs import _checkpoint as module
from dpmic.all_pairs._checkpoint import Checkpoint
from dpmic.results import Pairwise

NAMES = tuple(f"column {i}" for i in range(30))
PAIRS = 435
MIC = np.random.default_rng(3).random(PAIRS)
RECORDS = np.arange(PAIRS) + 4
IDENTITY = {
    "names": NAMES,
    "others": None,
    "statistic": "mice",
    "n": 500,
    "parameters": {"B": 41.6, "c": 15, "master": "reshef"},
    "data": "0123456789abcdef",
}


def result(**fields):
    given = {"statistic": "mice", "names": NAMES, "n": 500, "parameters": {"B": 41.6}, "mic": MIC}
    return Pairwise(**{**given, **fields})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "scores.parquet"


def opened(path, **change):
    return Checkpoint.open(path, {**IDENTITY, **change}, PAIRS)


def add(checkpoint, *spans, records=False):
    for start, stop in spans:
        positions = np.arange(start, stop)
        columns = {"mic": MIC[positions]}
        if records:
            columns["records"] = RECORDS[positions]
        checkpoint.add(positions, columns)


def parts(path):
    return sorted(path.with_name(f"{path.name}.parts").glob("*.parquet"))


def begun(path):
    """Leave two parts of 100 and 50 pairs."""
    with opened(path) as checkpoint:
        add(checkpoint, (0, 100))
        checkpoint.flush()
        add(checkpoint, (200, 250))
    return [*range(100), *range(200, 250)]


def assert_known(path, positions):
    with opened(path) as checkpoint:
        known = checkpoint.known()
        assert known["position"].tolist() == list(positions)
        assert np.array_equal(known.get("mic", []), MIC[list(positions)])


# The whole way


def test_nothing_is_known_at_first(path):
    with opened(path) as checkpoint:
        known = checkpoint.known()
        assert list(known) == ["position"]
        assert known["position"].size == 0
        assert known["position"].dtype == np.int64
    assert list(path.parent.iterdir()) == []  # and nothing is left of nothing


def test_work_is_taken_up_and_finished(path):
    assert_known(path, begun(path))
    assert not path.exists()
    with opened(path) as checkpoint:
        add(checkpoint, (100, 200), (250, PAIRS))
        checkpoint.finish(result())
        assert np.array_equal(checkpoint.known()["mic"], MIC)
    assert list(path.parent.iterdir()) == [path]
    assert_known(path, range(PAIRS))


def test_all_columns_come_back(path):
    pvalues = np.linspace(0, 1, PAIRS)
    with opened(path) as checkpoint:
        add(checkpoint, (400, PAIRS), (0, 10), records=True)  # in any order
        checkpoint.flush()
        known = checkpoint.known()
        assert known["position"].tolist() == [*range(10), *range(400, PAIRS)]
        assert np.array_equal(known["records"], RECORDS[known["position"]])
        assert known["records"].dtype == np.int64
        made = result(tic=MIC * 7, records=RECORDS, pvalues=pvalues, permutations=99, names=NAMES)
        checkpoint.finish(made)
    with opened(path) as checkpoint:
        known = checkpoint.known()
    assert list(known) == ["position", "mic", "tic", "records", "pvalue"]
    assert np.array_equal(known["pvalue"], pvalues)
    assert np.array_equal(known["records"], RECORDS)
    assert np.array_equal(known["position"], np.arange(PAIRS))


def test_a_finished_file_is_neither_computed_nor_written_again(path):
    with opened(path) as checkpoint:
        checkpoint.finish(result())
    before = path.read_bytes(), path.stat().st_mtime_ns
    with opened(path) as checkpoint:
        checkpoint.finish(result(mic=MIC[::-1]))
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_the_caller_keeps_its_arrays(path):
    positions, mic = np.arange(5), MIC[:5].copy()
    with opened(path) as checkpoint:
        checkpoint.add(positions, {"mic": mic})
        positions[:], mic[:] = 99, 9
    assert_known(path, range(5))


def test_scores_that_could_not_be_computed_stay_unknown_numbers(path):
    mic = np.where(np.arange(PAIRS) % 7, MIC, math.nan)
    with opened(path) as checkpoint:
        checkpoint.add(np.arange(PAIRS), {"mic": mic})
        checkpoint.flush()
        assert np.array_equal(checkpoint.known()["mic"], mic, equal_nan=True)
        checkpoint.finish(result(mic=mic))
        assert np.array_equal(checkpoint.known()["mic"], mic, equal_nan=True)


# When parts are written


def test_a_full_part_is_written(path, monkeypatch):
    monkeypatch.setattr(module, "PART", 100)
    with opened(path) as checkpoint:
        add(checkpoint, (0, 60))
        assert parts(path) == []
        add(checkpoint, (60, 120))
        assert len(parts(path)) == 1
        add(checkpoint, (120, 130))
        assert len(parts(path)) == 1
    assert len(parts(path)) == 2
    assert_known(path, range(130))


def test_a_part_is_written_after_some_seconds(path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    with opened(path) as checkpoint:
        for now, written in ((19, 0), (20, 1), (39, 1), (40.5, 2)):
            clock[0] = now
            add(checkpoint, (now, now + 1) if now != 40.5 else (40, 41))
            assert len(parts(path)) == written


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_ctrl_c_keeps_what_is_finished(path, error):
    def working():
        with opened(path) as checkpoint:
            add(checkpoint, (0, 60))
            raise error

    with pytest.raises(error):
        working()
    assert_known(path, range(60))


def test_an_interrupt_while_writing_loses_nothing(path, monkeypatch):
    real = os.replace

    def interrupted(*names):
        monkeypatch.setattr(module.os, "replace", real)
        real(*names)
        raise KeyboardInterrupt

    def working():
        with opened(path) as checkpoint:
            add(checkpoint, (0, 60))
            monkeypatch.setattr(module.os, "replace", interrupted)
            checkpoint.flush()

    with pytest.raises(KeyboardInterrupt):
        working()
    assert len(parts(path)) == 2  # the same pairs twice
    assert_known(path, range(60))


WORKER = """
    import sys, time
    import numpy as np
    sys.path[:0] = {folders!r}
    import test_checkpoint as t
    t.module.PART = 20
    with t.opened({path!r}) as checkpoint:
        for start in range(0, t.PAIRS, 7):
            t.add(checkpoint, (start, min(start + 7, t.PAIRS)))
            print(start, flush=True)
            time.sleep(0.05)
        time.sleep(600)  # till it is killed, however late
"""


def worker(path):
    folders = [str(TESTS), str(Path(__file__).parent)]
    code = textwrap.dedent(WORKER.format(folders=folders, path=str(path)))
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


@pytest.mark.slow
def test_a_killed_process_loses_its_last_part_at_most(path):
    with worker(path) as process:
        reached = -1
        for line in process.stdout:
            reached = int(line)
            if reached >= 140:
                break
        process.kill()
        process.wait()
        reached = max([reached, *map(int, process.stdout.read().split())])
    assert process.returncode == -signal.SIGKILL
    assert not path.exists()
    with opened(path) as checkpoint:  # the lock died with its process
        known = checkpoint.known()
        assert reached - 20 < known["position"].size <= reached + 7 + 7
        assert known["position"].tolist() == list(range(known["position"].size))
        assert np.array_equal(known["mic"], MIC[known["position"]])
        add(checkpoint, (known["position"].size, PAIRS))
        checkpoint.flush()
        checkpoint.finish(result(mic=checkpoint.known()["mic"]))
    assert np.array_equal(pd.read_parquet(path).mic, MIC)


@pytest.mark.slow
def test_two_at_once_are_refused(path):
    with opened(path):
        with pytest.raises(dpmic.ParameterError, match="another process is writing it; wait"):
            opened(path)
        with worker(path) as process:
            assert process.stdout.read() == ""
        assert process.returncode == 1
    begun(path)


# Damage


@pytest.mark.parametrize("damage", ["truncated", "empty", "flipped", "not parquet", "nobody's"])
def test_a_damaged_part_is_computed_again(path, damage):
    begun(path)
    first = parts(path)[0]
    content = bytearray(first.read_bytes())
    flipped = content.copy()
    flipped[content.index(MIC[50].tobytes())] ^= 1
    nobodys = pa.BufferOutputStream()
    parquet.write_table(pa.table({"position": [0], "mic": [0.5]}), nobodys)
    first.write_bytes(
        {
            "truncated": content[: len(content) // 2],
            "empty": b"",
            "flipped": flipped,
            "not parquet": b"text" * 100,
            "nobody's": nobodys.getvalue(),
        }[damage]
    )
    assert_known(path, range(200, 250))
    with opened(path) as checkpoint:
        add(checkpoint, (0, 200), (250, PAIRS))
        checkpoint.flush()
        assert checkpoint.known()["position"].size == PAIRS
        checkpoint.finish(result())
    assert list(path.parent.iterdir()) == [path]


def test_a_damaged_file_is_said_to_be_so(path):
    with opened(path) as checkpoint:
        checkpoint.finish(result())
    content = bytearray(path.read_bytes())
    content[content.index(MIC[50].tobytes())] ^= 1
    path.write_bytes(content)
    with opened(path) as checkpoint, pytest.raises(dpmic.ParameterError, match="it is damaged"):
        checkpoint.known()
    path.write_bytes(content[:-20])
    with pytest.raises(dpmic.ParameterError, match="damaged, or not a file of scores; choose"):
        opened(path)
    assert path.read_bytes() == content[:-20]


def test_a_full_disk_keeps_earlier_parts(path, monkeypatch):
    begun(path)

    def full(*_):
        raise OSError(28, "No space left on device")

    def working():
        with opened(path) as checkpoint:
            add(checkpoint, (300, 310))
            monkeypatch.setattr(module.os, "fsync", full)
            checkpoint.flush()

    reason = "No space left on device.; .* finished pairs are kept"
    with pytest.raises(dpmic.ParameterError, match=reason):
        working()
    monkeypatch.undo()
    assert not list(path.parent.rglob("*.tmp"))
    assert_known(path, [*range(100), *range(200, 250)])


def test_a_process_that_ended_right_after_the_file_left_parts(path, monkeypatch):
    begun(path)
    with monkeypatch.context() as patched, opened(path) as checkpoint:
        patched.setattr(checkpoint, "_discard", lambda: None)
        checkpoint.finish(result())
    assert len(parts(path)) == 2
    assert_known(path, range(PAIRS))
    assert list(path.parent.iterdir()) == [path]


# Others' files


@pytest.mark.parametrize("finished", [False, True])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n": 400}, "n = 500 instead of 400;"),
        ({"data": "another"}, "other values;"),
        ({"names": NAMES[::-1]}, "other columns;"),
        ({"others": ["a"]}, "other columns of the right table;"),
        ({"statistic": "mic"}, "statistic = 'mice' instead of 'mic';"),
        ({"parameters": {"B": 30, "c": math.inf, "master": "reshef"}},
         "B = 41.6 instead of 30, c = 15 instead of inf;"),
        ({"parameters": {"B": 41.6, "c": 15}}, "other master;"),
        ({"n": 400, "data": "x"}, "other values, n = 500 instead of 400;"),
    ],
)  # fmt: skip
def test_another_question_is_refused_and_changes_nothing(path, change, words, finished):
    begun(path)
    if finished:
        with opened(path) as checkpoint:
            checkpoint.finish(result())
    before = {file: file.read_bytes() for file in path.parent.rglob("*.parquet") if file.is_file()}
    where = "it" if finished else "the folder scores.parquet.parts"
    pattern = f"scores.parquet': it was made with {words} choose another name, or delete {where}"
    with pytest.raises(dpmic.ParameterError, match=pattern):
        opened(path, **change)
    assert before == {file: file.read_bytes() for file in before}
    assert_known(path, range(PAIRS) if finished else [*range(100), *range(200, 250)])


def test_an_infinite_option_is_the_same_when_asked_again(path):
    with opened(path, parameters={"c": math.inf}) as checkpoint:
        add(checkpoint, (0, 10))
    with opened(path, parameters={"c": math.inf}) as checkpoint:
        assert checkpoint.known()["position"].size == 10


def test_numbers_of_an_earlier_format_are_refused(path, monkeypatch):
    begun(path)
    monkeypatch.setattr(module, "FORMAT", module.FORMAT + 1)
    with pytest.raises(dpmic.ParameterError, match=f"format = {module.FORMAT - 1} instead of"):
        opened(path)


@pytest.mark.parametrize("content", ["text", "table"])
def test_a_file_of_something_else_is_refused_and_kept(path, content):
    if content == "text":
        path.write_text("important")
    else:
        pd.DataFrame({"x": [1]}).to_parquet(path)
    before = path.read_bytes()
    with pytest.raises(dpmic.ParameterError, match="damaged, or not a file of scores; choose"):
        opened(path)
    assert path.read_bytes() == before


def test_a_file_that_comes_meanwhile_is_kept(path):
    def working():
        with opened(path) as checkpoint:
            add(checkpoint, (0, PAIRS))
            path.write_text("important")
            checkpoint.finish(result())

    with pytest.raises(
        dpmic.ParameterError, match="another program has made this file meanwhile; move"
    ):
        working()
    assert path.read_text() == "important"
    path.unlink()
    assert_known(path, range(PAIRS))


def test_what_others_keep_in_the_folder_stays(path):
    folder = path.with_name("scores.parquet.parts")
    folder.mkdir()
    (folder / "notes.txt").write_text("important")
    with opened(path) as checkpoint:
        add(checkpoint, (0, PAIRS))
        checkpoint.finish(result())
    assert [file.name for file in folder.iterdir()] == ["notes.txt"]


def refusal(name, words, folder=None):
    return pytest.param(name, words, folder, id=name or "nothing")


@pytest.mark.parametrize(
    ("name", "words", "folder"),
    [
        refusal("scores.csv", "end its name in .parquet"),
        refusal("scores", "end its name in .parquet"),
        refusal("absent/scores.parquet", "there is no folder .*absent; make the folder first"),
        refusal("made.parquet", "it is a folder", "made.parquet"),
    ],
)
def test_names_that_cannot_be(tmp_path, name, words, folder):
    if folder:
        (tmp_path / folder).mkdir()
    with pytest.raises(dpmic.ParameterError, match=words):
        opened(tmp_path / name)
    assert [file.name for file in tmp_path.iterdir()] == ([folder] if folder else [])


@pytest.mark.parametrize("path", [3, None, "a\0b.parquet", ["a.parquet"]])
def test_what_is_no_path(path):
    with pytest.raises(dpmic.ParameterError, match="out = .*: it is not a path"):
        opened(path)


def test_a_folder_that_cannot_be_written(path, monkeypatch):
    path.with_name("scores.parquet.parts").write_text("a file in the way")
    with pytest.raises(dpmic.ParameterError, match="it cannot be written .File exists"):
        opened(path)

    def denied(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", denied)
    reason = "it cannot be written .Permission denied.; repair the folder or choose another"
    with pytest.raises(dpmic.ParameterError, match=reason):
        opened(path)


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(path):
    path.parent.chmod(0o500)
    try:
        with pytest.raises(dpmic.ParameterError, match="it cannot be written .Permission denied"):
            opened(path)
    finally:
        path.parent.chmod(0o700)


def test_links_lead_to_their_file(path, tmp_path):
    link = tmp_path / "link.parquet"
    link.symlink_to(path)
    with opened(link) as checkpoint:
        checkpoint.finish(result())
    assert link.is_symlink()
    assert path.is_file()
    assert_known(path, range(PAIRS))


# The file


def made(path, scores):
    with Checkpoint.open(path, {"n": 1}, scores.mic.size) as checkpoint:
        checkpoint.finish(scores)
    return path


SMALL = {
    "one": lambda: result(),
    "full": lambda: result(tic=MIC, records=RECORDS, pvalues=MIC, permutations=9),
    "two": lambda: result(names=("a", "b"), others=("b", "ç", "d"), mic=MIC[:6]),
    "smallest": lambda: result(names=("a", "b"), mic=[0.5]),
    "smallest of two": lambda: result(names=("a",), others=("a",), mic=[0.5]),
    "gaps": lambda: result(names=("a", "b", "c"), mic=[0.5, math.nan, 1]),
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize(
    "read",
    [
        lambda path: pd.read_parquet(path).to_dict("list"),
        lambda path: pl.read_parquet(path).to_dict(as_series=False),
        lambda path: parquet.read_table(path).to_pydict(),
    ],
    ids=["pandas", "polars", "pyarrow"],
)
def test_everyone_can_read_it(path, name, read):
    scores = SMALL[name]()
    rows = read(made(path, scores))
    expected = scores.to_frame("pyarrow").to_pydict()
    assert list(rows) == list(expected)
    for column in expected:
        if column in ("x", "y"):
            assert rows[column] == expected[column]
        else:
            assert np.array_equal(rows[column], expected[column], equal_nan=True)


def test_names_are_stored_once(path):
    table = parquet.read_table(made(path, result()))
    assert table.schema.field("x").type == pa.dictionary(pa.int32(), pa.string())
    assert isinstance(pd.read_parquet(path).x.dtype, pd.CategoricalDtype)


def test_row_groups_are_bounded(path, monkeypatch):
    monkeypatch.setattr(module, "GROUP", 100)
    asked = []
    real = Pairwise.columns
    monkeypatch.setattr(Pairwise, "columns", lambda *a: asked.append(a[1:]) or real(*a))
    metadata = parquet.read_metadata(made(path, result()))
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert sizes == [100, 100, 100, 100, 35]
    assert asked == [(0, 100), (100, 200), (200, 300), (300, 400), (400, 435)]
    frame = pd.read_parquet(path)
    assert list(zip(frame.x, frame.y, strict=True)) == list(result().pairs)
    assert np.array_equal(frame.mic, MIC)


def test_files_say_what_they_are_of(path):
    begun(path)
    with opened(path) as checkpoint:
        files = [*parts(path)]
        stored = [parquet.read_metadata(file).metadata[b"dpmic"] for file in files]
        checkpoint.finish(result())
    stored.append(parquet.read_metadata(path).metadata[b"dpmic"])
    expected = {"format": module.FORMAT, **IDENTITY, "names": list(NAMES)}
    assert [json.loads(text) for text in stored] == [expected] * 3


def test_pyarrow_waits_until_it_is_needed():
    code = "import sys, dpmic.all_pairs._checkpoint; print('pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
