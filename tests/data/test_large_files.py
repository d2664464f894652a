"""Commands count files that are not loaded: the same numbers, in memory that does not grow."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import dpmic
from dpmic import cli
from dpmic.cli import _inputs
from dpmic.data import Stream, open_file
from dpmic.privacy.query import Terms

N = 3000
X = np.random.default_rng(11).uniform(-1, 1, N)
TABLE = pa.table({"note": ["text"] * N, "c": X[::-1] ** 3, "a": X, "b": X**2})
BOUNDS = ("--bounds", "a=-1:1", "--bounds", "b=0:1", "--bounds", "c=-1:1")
PAIR = BOUNDS[:4]
MICR = ("--statistic", "micr", "--B", "40", "--json")
PRIVATE = ("--one-row-per-person", "--yes", "--epsilon", "1e6", "--allow-large-epsilon", "--json")


@pytest.fixture(params=["csv", "tsv", "parquet", "feather"])
def file(request, tmp_path):
    path = str(tmp_path / f"t.{request.param}")
    if request.param == "parquet":
        parquet.write_table(TABLE, path, row_group_size=700)
    elif request.param == "feather":
        feather.write_feather(TABLE, path, chunksize=700)
    else:
        csv.write_csv(TABLE, path, csv.WriteOptions(delimiter="\t" if "tsv" in path else ","))
    return path


@pytest.fixture
def run(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dpmic", *arguments])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        out, err = capsys.readouterr()
        assert stopped.value.code == 0, err
        return json.loads(out)

    return call


@pytest.fixture
def large(monkeypatch):
    """Take every file for a large one; what loads it fails."""

    def refuse(*_arguments, **_options):
        raise AssertionError("it was loaded")

    def switch():
        monkeypatch.setattr(_inputs, "IN_MEMORY", -1)
        monkeypatch.setattr(_inputs, "PAIR", 0)
        monkeypatch.setattr("dpmic.data.load", refuse)

    return switch


def test_public_numbers_are_the_same(file, run, large):
    calls = (("score", file, "a", "b", *PAIR, *MICR), ("matrix", file, *BOUNDS, *MICR))
    loaded = [run(*call) for call in calls]
    large()
    assert [run(*call) for call in calls] == loaded


@pytest.mark.parametrize("mechanism", ["micr-laplace", "micr-geometric"])
def test_releases_are_of_the_same_scores(file, run, large, mechanism):
    """At so large an epsilon the noise is less than what is compared."""
    call = ("release", file, "a", "b", *PAIR, *PRIVATE, "--mechanism", mechanism)
    loaded = run(*call)
    large()
    counted = run(*call)
    assert counted["value"] == pytest.approx(loaded["value"], abs=1e-3)
    changing = ("value", "drawn_on", "estimate", "matrix", "counts")
    for key in set(loaded) - set(changing):
        assert counted[key] == loaded[key], key


def test_screenings_and_matrices_are_of_the_same_scores(file, run, large):
    calls = [("screen", file, *BOUNDS, *PRIVATE, *own) for own in (("--top", "2"), ("--all",))]
    loaded = [run(*call) for call in calls]
    large()
    for call, before in zip(calls, loaded, strict=True):
        after = run(*call)
        assert (after["n"], after["parameters"]) == (N, before["parameters"])
        values = {}
        for answer in (before, after):
            pairs = answer.get("pairs") or [[i, i] for i in range(len(answer["values"]))]
            values[id(answer)] = dict(zip(map(tuple, pairs), answer["values"], strict=True))
        assert values[id(after)] == pytest.approx(values[id(before)], abs=1e-3)


def test_what_needs_records_is_loaded(file, monkeypatch, tmp_path):
    monkeypatch.setattr(_inputs, "IN_MEMORY", -1)
    monkeypatch.setattr(_inputs, "PAIR", 0)
    ends = dict.fromkeys(("a", "b"), (0, 1))
    assert isinstance(_inputs.private(file, ends, Terms(epsilon=1)), Stream)
    for told in ({"person": "c"}, {"categories": {"c": ["x", "y"]}}, {"missing": "drop"}):
        assert isinstance(_inputs.private(file, ends, Terms(epsilon=1, **told)), pa.Table)
    assert isinstance(_inputs.private(file, ends, Terms(epsilon=1), counts=False), pa.Table)
    monkeypatch.setattr(_inputs, "IN_MEMORY", 2**28)
    assert isinstance(_inputs.private(file, ends, Terms(epsilon=1)), pa.Table)


def test_a_broken_file_is_refused_as_if_it_were_loaded(monkeypatch, tmp_path):
    monkeypatch.setattr(_inputs, "IN_MEMORY", -1)
    monkeypatch.setattr(_inputs, "PAIR", 0)
    ends = dict.fromkeys(("a", "b"), (0, 1))
    (tmp_path / "t.parquet").write_text("PAR1\x15secret")
    with pytest.raises(dpmic.InputError, match=r"t\.parquet: it cannot be read;") as refused:
        _inputs.private(str(tmp_path / "t.parquet"), ends, Terms(epsilon=1))
    assert "secret" not in str(refused.value)
    (tmp_path / "t.csv").write_text('a,b\n1,2\n"3,4\n')
    with pytest.raises(dpmic.InputError, match="a quotation mark is not closed"):
        _inputs.private(str(tmp_path / "t.csv"), ends, Terms(epsilon=1))


MEASURE = """
import re, sys
from dpmic.cli import _inputs, main
_inputs.IN_MEMORY, _inputs.PAIR = int(sys.argv.pop(1)), 0
try:
    main()
except SystemExit as stopped:
    assert stopped.code == 0
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


def test_a_text_is_never_held(tmp_path):
    """Of 12 MB, a few blocks of 1 MB are in memory at a time."""
    n = 2_000_000
    csv.write_csv(pa.table({"a": np.arange(n) % 100, "b": np.arange(n) % 7}), tmp_path / "t.csv")
    before, most = pa.total_allocated_bytes(), []

    def held(batches):
        return sum(most.append(pa.total_allocated_bytes() - before) or len(b.data) for b in batches)

    assert sum(open_file(str(tmp_path / "t.csv")).fold(["a", "b"], held)) == n
    assert len(most) > 9
    assert max(most) < 2**25


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_memory_does_not_grow_with_the_file(tmp_path, ending):
    rng = np.random.default_rng(1)
    peaks = {}
    for n in (400_000, 2_400_000):
        path = str(tmp_path / f"{n}.{ending}")
        table = pa.table({"a": rng.integers(0, 100, n), "b": rng.integers(0, 100, n)})
        csv.write_csv(table, path) if ending == "csv" else parquet.write_table(table, path)
        given = ("release", path, "a", "b", "--bounds", "a=0:100", "--bounds", "b=0:100")
        given += ("--epsilon", "1", "--one-row-per-person", "--yes", "--json")
        for most in (-1, 2**28) if n > 10**6 else (-1,):
            command = [sys.executable, "-c", MEASURE, str(most), *given]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            *answer, peak = done.stdout.splitlines()
            assert json.loads("".join(answer))["n"] == n
            peaks[n, most] = int(peak)
    small, large, loaded = peaks.values()
    assert large - small < 15_000, peaks  # kilobytes
    assert loaded - large > 20_000, peaks
