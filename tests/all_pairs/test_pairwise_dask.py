"""Whole tables on a real Dask cluster: the scores of threads, whatever is killed meanwhile."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import joblib
import numpy as np
import pytest
from pyarrow import parquet

import dpmic
from dpmic.all_pairs import workers
from dpmic.all_pairs.work import Side, Work

distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals"),
]

BOUNDS = [(-2, 2), (0, 3), (0, 3), (0, 9), (-5, 5), (-2, 2)]


def table(n=60, m=6, seed=5):
    """Noise, a relationship, ties, a constant and long tails; noise in the rest."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, max(m, 6)))
    values[:, 1], values[:, 2] = values[:, 0] ** 2, rng.integers(0, 4, n)
    values[:, 3], values[:, 4] = 7, rng.standard_cauchy(n)
    return values[:, :m]


def gaps():
    values = table()
    values[::3, 0] = values[:57, 2] = np.nan
    return values


def started(count):
    return distributed.LocalCluster(
        n_workers=count, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    )


@pytest.fixture(scope="module")
def cluster():
    with started(2) as made:
        yield made


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as made:
        made.wait_for_workers(2)
        made.run(watch)
        yield made
        made.run(forget)


@pytest.fixture
def asked(client, monkeypatch):
    """Every pair is a tile of its own, and this process scores none."""
    monkeypatch.setattr(workers, "TILE_SECONDS", 1e-9)
    with joblib.parallel_config(backend="dask"):
        yield client


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch):
    """Fail where a pair is scored by this process while joblib's backend is Dask's."""
    found = Work._found

    def _found(self, *given):
        backend, _ = joblib.parallel.get_active_backend()
        assert not hasattr(backend, "client"), "this is for the cluster"
        return found(self, *given)

    monkeypatch.setattr(Work, "_found", _found)


def threads(ask=dpmic.pairwise, *given, **options):
    with joblib.parallel_config(backend="loky"):
        return ask(*given, **options)


# What workers are told to do besides; a worker that is started again has forgotten it


ORIGINAL = Work._found


def watch(pause=0.0, kill_after=None, fail_after=None):
    """Note the positions that are scored, and how often columns arrive."""
    scored, arrived = [], []

    def _found(self, i, j, *rest):
        time.sleep(pause)
        if len(scored) == kill_after:
            os.kill(os.getpid(), signal.SIGKILL)
        if len(scored) == fail_after:
            raise MemoryError("no more")
        scored.extend(self.pairing.positions(i, j).tolist())
        return ORIGINAL(self, i, j, *rest)

    def arrives(self, state):
        arrived.append(len(state["columns"]))
        self.__dict__.update(state)

    Work._found, Side.__setstate__ = _found, arrives
    Work.seen = scored, arrived


def seen():
    return Work.seen


def forget():
    Work._found = ORIGINAL
    if "__setstate__" in vars(Side):
        del Side.__setstate__


class Deadly(distributed.WorkerPlugin):
    """Every worker, also one that is started again, ends with its first pair."""

    name = "deadly"

    def setup(self, worker):
        watch(kill_after=0)


def scored(client):
    """Return the positions that workers have scored, of all calls since they were watched."""
    return sorted(place for places, _ in client.run(seen).values() for place in places)


def at_rest(client, patience=20):
    """Wait till no worker has anything to do."""
    end = time.monotonic() + patience
    while any(client.processing().values()) or client.run_on_scheduler(pending):
        assert time.monotonic() < end, "work goes on for nobody"
        time.sleep(0.05)
    time.sleep(0.2)  # what was running ends


def pending(dask_scheduler):
    return sum(task.state not in ("memory", "forgotten") for task in dask_scheduler.tasks.values())


# The same numbers

OPTIONS = {
    "plain": {},
    "total": {"tic": True},
    "limits": {"B": 9, "c": 5, "master": "paper"},
    "p-values": {"pvalues": True, "permutations": 50, "rng": 3},
    "pooled": {"pvalues": True, "pooled": True, "permutations": 90, "rng": 3},
    "gaps": {"missing": "drop"},
    "pooled gaps": {
        "missing": "drop",
        "pvalues": True,
        "pooled": True,
        "permutations": 90,
        "rng": 3,
    },
    "everything": {"missing": "drop", "tic": True, "pvalues": True, "permutations": 20, "rng": 1},
}


@pytest.mark.parametrize("statistic", ["mice", "micr", "mic"])
@pytest.mark.parametrize("options", OPTIONS)
def test_scores_are_those_of_threads(asked, statistic, options):
    options = {"statistic": statistic, **OPTIONS[options]}
    if statistic == "mic":
        options.pop("master", None)
    values, bounds = gaps() if "missing" in options else table(), None
    right = values[:, :4]
    if statistic == "micr":
        options["bounds"], bounds = BOUNDS, (BOUNDS, BOUNDS[:4])
    assert dpmic.pairwise(values, **options) == threads(dpmic.pairwise, values, **options)
    assert scored(asked) == list(range(15))
    both = {**options, "bounds": bounds}
    assert dpmic.cross(values, right, **both) == threads(dpmic.cross, values, right, **both)
    assert len(scored(asked)) == 15 + 24


@pytest.mark.parametrize("seconds", [1e-3, 1.0])
def test_tiles_of_any_size(asked, monkeypatch, seconds):
    monkeypatch.setattr(workers, "TILE_SECONDS", seconds)
    values = table(200, 40)
    values[::9, 11] = np.nan
    options = {"missing": "drop", "tic": True}
    assert dpmic.pairwise(values, **options) == threads(dpmic.pairwise, values, **options)
    assert scored(asked) == list(range(780))


def test_columns_reach_each_worker_once(asked):
    dpmic.pairwise(table(400, 12))  # both have loaded what they need
    asked.run(watch, pause=0.02)  # so that one is not done before the other begins
    dpmic.pairwise(table(500, 12))
    found = asked.run(seen).values()
    assert sum(len(places) for places, _ in found) == 66
    assert min(len(places) for places, _ in found) > 0  # both had tiles
    assert [arrived for _, arrived in found] == [[12], [12]]
    dpmic.cross(table(500, 12), table(500, 7))
    assert [arrived for _, arrived in asked.run(seen).values()] == [[12, 12, 7]] * 2


def test_threads_of_this_process_may_be_asked_for(client, monkeypatch):
    monkeypatch.setattr(Work, "_found", ORIGINAL)
    with joblib.parallel_config(backend="dask"):
        assert dpmic.pairwise(table(), workers=2) == dpmic.pairwise(table(), workers=1)
    assert scored(client) == []


def test_workers_may_ask_the_cluster(asked):
    """Many tables at once, each of which is shared out: nobody waits for himself."""
    tables = [table(50, m) for m in (4, 5, 6)]
    found = joblib.Parallel()(joblib.delayed(dpmic.pairwise)(values) for values in tables)
    assert found == [threads(dpmic.pairwise, values) for values in tables]


def test_an_error_of_a_worker_arrives(asked, tmp_path):
    asked.run(watch, fail_after=5)
    with pytest.raises(MemoryError, match="no more"):
        dpmic.pairwise(table(), out=tmp_path / "scores.parquet")
    at_rest(asked)
    asked.run(watch)
    result = dpmic.pairwise(table(), out=tmp_path / "scores.parquet")
    assert result == threads(dpmic.pairwise, table())
    assert len(scored(asked)) < 15


# Files

CHILD = """
import joblib, numpy, sys
from distributed import Client
import dpmic
from dpmic.all_pairs import _checkpoint as checkpoint, workers

workers.TILE_SECONDS, checkpoint.PART = 1e-9, 5
table = numpy.load({table!r})
with Client({address!r}), joblib.parallel_config(backend="dask"):
    print("begun", flush=True)
    dpmic.pairwise(table, out={out!r}, tic=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill"])
def test_what_was_finished_is_kept(asked, tmp_path, number):
    values, out = table(40, 14), tmp_path / "scores.parquet"
    np.save(tmp_path / "table.npy", values)
    asked.run(watch, pause=0.2)
    given = {"table": str(tmp_path / "table.npy"), "out": str(out)}
    code = textwrap.dedent(CHILD.format(**given, address=asked.scheduler.address))
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    folder = tmp_path / "scores.parquet.parts"
    try:
        assert process.stdout.readline() == "begun\n", process.stderr.read()
        while process.poll() is None and len(list(folder.glob("part-*.parquet"))) < 2:
            time.sleep(0.02)
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == -number, err
    if number == signal.SIGINT:
        assert err.count("Traceback") == 1, err
        assert err.endswith("\nKeyboardInterrupt\n")
    assert not out.exists()
    at_rest(asked)
    parts = [parquet.read_table(part) for part in folder.glob("part-*.parquet")]
    kept = {place.as_py() for part in parts for place in part["position"]}
    assert 10 <= len(kept) < 91
    asked.run(watch)
    assert dpmic.pairwise(values, out=out, tic=True) == threads(dpmic.pairwise, values, tic=True)
    assert scored(asked) == sorted(set(range(91)) - kept)
    (tmp_path / "table.npy").unlink()
    assert list(tmp_path.iterdir()) == [out]


def test_threads_take_up_what_a_cluster_began(asked, tmp_path):
    """And a cluster reads what is finished, without sending anything."""
    out = tmp_path / "scores.parquet"
    asked.run(watch, fail_after=5)
    with pytest.raises(MemoryError):
        dpmic.pairwise(table(), out=out)
    result = threads(dpmic.pairwise, table(), out=out)
    at_rest(asked)
    asked.run(watch)
    assert dpmic.pairwise(table(), out=out) == result == threads(dpmic.pairwise, table())
    assert asked.run(seen) == dict.fromkeys(asked.run(seen), ([], []))


# Workers that end


@pytest.mark.parametrize("killed", [1, 2])
def test_workers_are_killed(asked, killed):
    """One, and what it did is done again; both, and the columns are sent again."""
    values = table(40, 14)
    before = asked.run(os.getpid)
    asked.run(watch, pause=0.02)
    asked.run(watch, pause=0.02, kill_after=3, workers=list(before)[:killed])
    assert dpmic.pairwise(values, tic=True) == threads(dpmic.pairwise, values, tic=True)
    asked.wait_for_workers(2, timeout=300)
    assert len(set(before.values()) - set(asked.run(os.getpid).values())) == killed


def test_the_only_worker_is_killed(monkeypatch):
    """A cluster of one core is asked all the same."""
    values = table(40, 14)
    monkeypatch.setattr(workers, "TILE_SECONDS", 1e-9)
    with started(1) as cluster, distributed.Client(cluster) as client:
        client.run(watch, kill_after=9)
        with joblib.parallel_config(backend="dask"):
            assert dpmic.pairwise(values) == threads(dpmic.pairwise, values)


def test_workers_that_always_end_are_no_endless_work(tmp_path):
    with started(1) as cluster, distributed.Client(cluster) as client:
        client.register_plugin(Deadly())
        with (
            joblib.parallel_config(backend="dask"),
            pytest.raises(dpmic.DpmicError, match="all of them ended before a pair was scored"),
        ):
            dpmic.pairwise(table(), out=tmp_path / "scores.parquet")
    assert list(tmp_path.iterdir()) == []
