"""A GPU is one more kernel: the host side with the CPU's kernels in its place."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from gpu_stand_in import StandIn
from sweeps import sweep

import dpmic
from dpmic._kernels import cuda
from dpmic.all_pairs import devices, significance, work, workers
from dpmic.all_pairs import pairwise as module
from dpmic.all_pairs._checkpoint import Checkpoint
from dpmic.all_pairs.devices import Gpu, Origin
from dpmic.all_pairs.work import Side, Work
from dpmic.data import Variable
from dpmic.errors import DependencyError, DpmicError, ParameterError
from dpmic.results import Pairing
from dpmic.statistics.family import Method


@pytest.fixture
def gpu(monkeypatch):
    kernels = StandIn()
    monkeypatch.setattr(devices, "cuda", kernels)
    return kernels


def table(n=60, m=9, seed=3):
    """Columns with relations, ties and one value."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, m))
    x[:, 1], x[:, 2], x[:, 3], x[:, 4] = x[:, 0] ** 2, np.round(x[:, 0]), 0, x[:, 0] > 0
    return x


def test_scores_are_those_of_the_cpu(gpu):
    x = table()
    ours, theirs = dpmic.pairwise(x, device="cuda"), dpmic.pairwise(x)
    assert np.allclose(ours.mic, theirs.mic, atol=1e-6)
    assert gpu.loads == 1


def test_cross_and_totals(gpu):
    x, y = table(), table(seed=5)[:, :4]
    options = {"tic": True, "statistic": "micr", "bounds": ([(-3, 3)] * 9, [(-3, 3)] * 4)}
    ours, theirs = dpmic.cross(x, y, device="cuda", **options), dpmic.cross(x, y, **options)
    assert np.allclose(ours.mic, theirs.mic, atol=1e-6)
    assert np.allclose(ours.tic, theirs.tic, atol=1e-4)


def test_exact_scores_have_the_bits_of_the_cpu(gpu):
    x = table(200, 12)
    ours, theirs = dpmic.pairwise(x, device="cuda", exact=True), dpmic.pairwise(x)
    assert np.array_equal(ours.mic, theirs.mic)


@pytest.fixture
def coarse(gpu, monkeypatch):
    """A GPU whose scores are off by as much as they were ever seen to be."""
    rng, largest, totals = np.random.default_rng(1), StandIn.largest, StandIn.totals

    def off(mic):
        return np.clip(mic + rng.uniform(-2e-6, 2e-6, mic.shape), 0, 1)

    def both_off(*task):
        mic, tic = totals(*task)
        return off(mic), tic

    monkeypatch.setattr(StandIn, "largest", lambda *task: off(largest(*task)))
    monkeypatch.setattr(StandIn, "totals", both_off)
    return gpu


def related(n=60, m=12):
    """Columns with gaps, categories, and many pairs that score the same, or nearly."""
    frame = pd.DataFrame(table(n, m))
    frame.columns = list("abcdefghijkl")
    frame["f"], frame["g"] = frame["a"] * 2, -frame["a"]
    frame["h"] = frame["a"] + 1e-9 * frame["b"]
    frame["ward"] = np.where(frame["a"] > 0, "east", "west")
    frame.loc[3:20, "i"] = np.nan
    return frame


@pytest.mark.parametrize("k", [1, 3, 8, 30, 10_000])
@pytest.mark.parametrize("options", [{}, {"tic": True}])
def test_the_strongest_pairs_are_those_of_the_cpu(coarse, k, options):
    options = {"missing": "drop", **options}
    x, theirs = related(), dpmic.pairwise(related(), **options)
    ours = dpmic.pairwise(x, device="cuda", exact=k, **options)
    assert ours.top(k) == theirs.top(k)
    assert np.allclose(ours.mic, theirs.mic, atol=3e-6)
    fast = dpmic.pairwise(x, device="cuda", **options)
    assert fast.top(30) != theirs.top(30)


def test_significant_pairs_are_scored_by_the_cpu(coarse):
    x, options = related(), {"missing": "drop", "pvalues": True, "permutations": 999, "rng": 1}
    ours = dpmic.pairwise(x, device="cuda", exact="significant", **options)
    theirs = dpmic.pairwise(x, missing="drop")
    found = ours.qvalues <= 0.05
    assert 3 < found.sum() < found.size / 2
    assert np.array_equal(ours.mic[found], theirs.mic[found])
    assert not np.array_equal(ours.mic, theirs.mic)
    fast = dpmic.pairwise(x, device="cuda", **options)
    assert np.array_equal(ours.pvalues, fast.pvalues)


def test_what_cannot_be_scored_is_never_among_the_strongest(coarse):
    x = np.full((6, 3), np.nan)
    x[:3] = np.random.default_rng(1).normal(size=(3, 3))
    x[3:, 0] = [1, 2, 3]
    ours = dpmic.pairwise(x, missing="drop", device="cuda", exact=2)
    assert np.isnan(ours.mic).all()


def test_a_finished_file_has_the_exact_scores(coarse, monkeypatch, tmp_path):
    x, out, options = table(60, 12), tmp_path / "mic.parquet", {"device": "cuda", "exact": 4}
    scored = module.as_scored

    def stopped(work, *task):
        if isinstance(work.device, devices.Cpu):
            raise KeyboardInterrupt
        return scored(work, *task)

    with monkeypatch.context() as early:
        early.setattr(module, "as_scored", stopped)
        with pytest.raises(KeyboardInterrupt):
            dpmic.pairwise(x, out=out, **options)
    monkeypatch.setattr(StandIn, "largest", lambda *_: pytest.fail("the GPU has finished"))
    strongest = dpmic.pairwise(x).top(4)
    assert dpmic.pairwise(x, out=out, **options).top(4) == strongest
    monkeypatch.setattr(module, "as_scored", lambda *_: iter(()))
    assert dpmic.pairwise(x, out=out, **options).top(4) == strongest
    assert len(list(tmp_path.iterdir())) == 1


def test_a_finished_file_is_read_wherever_it_suffices(coarse, monkeypatch, tmp_path):
    x, out = table(60, 12), tmp_path / "mic.parquet"
    made = dpmic.pairwise(x, device="cuda", exact=4, out=out)
    assert made.parameters["device"] == "cuda"
    assert made.parameters["exact"] == 4
    assert "device=cuda, exact=4" in repr(made)
    monkeypatch.setattr(coarse, "problem", lambda: pytest.fail("a GPU is not needed"))
    for device in ("cuda", "auto"):
        for exact in (False, 1, 4):
            assert dpmic.pairwise(x, device=device, exact=exact, out=out) == made
    for options in ({"device": "cuda", "exact": 5}, {"device": "auto", "exact": True}, {}):
        with pytest.raises(ParameterError, match="only those of the 4 strongest") as refused:
            dpmic.pairwise(x, out=out, **options)
        assert "pass device='auto' and exact=4 to read it" in str(refused.value)
    exact = tmp_path / "exact.parquet"
    theirs = dpmic.pairwise(x, out=exact)
    for asked in (False, 4, True):
        assert dpmic.pairwise(x, device="auto", exact=asked, out=exact) == theirs
    assert "device" not in theirs.parameters
    with pytest.raises(ParameterError, match="made with other values; choose another name"):
        dpmic.pairwise(-x, device="auto", out=exact)


def test_what_one_device_has_begun_no_other_continues(coarse, monkeypatch, tmp_path):
    x = table(60, 12)
    for mine, other, who in (("cuda", "cpu", "a GPU"), ("cpu", "cuda", "the CPU")):
        out = tmp_path / f"{mine}.parquet"
        with monkeypatch.context() as crash:
            crash.setattr(Checkpoint, "finish", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                dpmic.pairwise(x, device=mine, out=out)
        said = f"{who} has begun it, .* repeat the call with device='{mine}', or choose another"
        with pytest.raises(ParameterError, match=f"{mine}.parquet': {said}"):
            dpmic.pairwise(x, device=other, out=out)
        assert dpmic.pairwise(x, device=mine, out=out).mic.size == 66


def test_parts_left_beside_a_finished_file_are_removed(coarse, monkeypatch, tmp_path):
    x, out = table(60, 12), tmp_path / "mic.parquet"
    with monkeypatch.context() as crash:
        crash.setattr("dpmic.all_pairs._checkpoint.PART", 3)
        crash.setattr(Checkpoint, "_discard", lambda _: None)
        crash.setattr(coarse, "problem", lambda: ("none", "look for one"))
        dpmic.pairwise(x, device="auto", out=out)
    parts = tmp_path / "mic.parquet.parts"
    assert list(parts.glob("part-*"))
    dpmic.pairwise(x, device="auto", out=out)
    assert not parts.exists()


def test_what_the_cpu_has_begun_it_ends(gpu, monkeypatch, capsys, tmp_path):
    """Where a GPU lacks room, auto begins with the CPU, and the same call resumes."""
    x, out = table(40, 6), tmp_path / "mic.parquet"
    options = {"pvalues": True, "permutations": 50, "rng": 1, "device": "auto", "out": out}
    monkeypatch.setattr(devices, "PERMUTED", 10)
    monkeypatch.setattr("dpmic.all_pairs.work.SECONDS", 1e-9)
    add, calls = Checkpoint.add, []

    def until_interrupted(*given):
        calls.append(given)
        if len(calls) == 7:
            raise KeyboardInterrupt
        add(*given)

    monkeypatch.setattr(Checkpoint, "add", until_interrupted)
    with pytest.raises(KeyboardInterrupt):
        dpmic.pairwise(x, workers=1, **options)
    capsys.readouterr()
    found = dpmic.pairwise(x, workers=1, **options)
    assert capsys.readouterr().err == "dpmic: the CPU has begun this file; using the CPU\n"
    assert len(calls) == 7 + 15 - 6
    assert found == dpmic.pairwise(x, pvalues=True, permutations=50, rng=1)


@pytest.mark.parametrize("options", [{}, {"pooled": True}])
def test_files_with_pvalues_say_whether_their_scores_are_exact(coarse, tmp_path, options):
    x, options = table(40, 6), {"pvalues": True, "permutations": 19, "rng": 1, **options}
    options |= {"device": "cuda", "out": tmp_path / "mic.parquet"}
    dpmic.pairwise(x, **options)
    with pytest.raises(ParameterError, match="its scores are a GPU's, and they are not exact"):
        dpmic.pairwise(x, exact=True, **options)
    options["out"] = tmp_path / "exact.parquet"
    made = dpmic.pairwise(x, exact=True, **options)
    assert np.array_equal(made.mic, dpmic.pairwise(x).mic)
    assert dpmic.pairwise(x, exact=3, **options) == made


def test_permutations_that_do_not_fit_are_refused_before_they_are_drawn(gpu, monkeypatch, capsys):
    x, options = table(40, 5), {"pvalues": True, "permutations": 50, "rng": 1}
    monkeypatch.setattr(devices, "PERMUTED", 4 * 40 * 49)
    with pytest.raises(DpmicError, match="50 permutations of 40 records do not fit; pass pooled"):
        dpmic.pairwise(x, device="cuda", **options)
    devices.Gpu(exact=True, kernels=gpu)._permutations(devices.Draws(49, 1), 40)
    found = dpmic.pairwise(x, device="auto", **options)
    assert np.array_equal(found.pvalues, dpmic.pairwise(x, **options).pvalues)
    assert capsys.readouterr().err.endswith("records do not fit; using the CPU\n")
    assert dpmic.pairwise(x, device="cuda", pooled=True, **options).mic.size == 10


def test_gaps_and_categories_are_the_cpus(gpu):
    frame = pd.DataFrame(table(), columns=list("abcdefghi"))
    frame["ward"] = np.where(frame["a"] > 0, "east", "west")
    frame.loc[3, "i"] = np.nan
    ours = dpmic.pairwise(frame, missing="drop", device="cuda")
    theirs = dpmic.pairwise(frame, missing="drop")
    assert np.allclose(ours.mic, theirs.mic, atol=1e-6)


def test_columns_are_loaded_once_where_there_is_room(gpu, monkeypatch):
    monkeypatch.setattr(Gpu, "tile", lambda *_: 3)
    x = table()
    found = dpmic.pairwise(x, device="cuda", workers=1)
    assert gpu.loads == 3
    gpu.memory, gpu.loads = 8_000, 0
    assert np.array_equal(dpmic.pairwise(x, device="cuda", workers=1).mic, found.mic)
    assert gpu.loads > 3


def test_a_resumed_file_is_of_one_device(gpu, tmp_path):
    x, out = table(), tmp_path / "mic.parquet"
    first = dpmic.pairwise(x, device="cuda", out=out)
    assert np.array_equal(dpmic.pairwise(x, device="cuda", out=out).mic, first.mic)
    with pytest.raises(ParameterError, match="its scores are a GPU's, and they are not exact"):
        dpmic.pairwise(x, out=out)
    both = tmp_path / "exact.parquet"
    dpmic.pairwise(x, device="cuda", exact=True, out=both)
    assert dpmic.pairwise(x, out=both).mic.size == first.mic.size


def test_what_was_interrupted_is_taken_up(gpu, monkeypatch, tmp_path):
    monkeypatch.setattr(Gpu, "tile", lambda *_: 3)
    x, out = table(), tmp_path / "mic.parquet"
    largest, calls = StandIn.largest, []

    def stopped(self, *task):
        calls.append(len(task[2]))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return largest(self, *task)

    monkeypatch.setattr(StandIn, "largest", stopped)
    with pytest.raises(KeyboardInterrupt):
        dpmic.pairwise(x, device="cuda", workers=1, out=out)
    before = sum(calls[:3])
    calls.clear()
    calls.extend([0] * 4)
    found = dpmic.pairwise(x, device="cuda", workers=1, out=out)
    assert sum(calls) == found.mic.size - before
    assert np.allclose(found.mic, dpmic.pairwise(x).mic, atol=1e-6)


def test_files_with_the_first_pvalues_of_a_gpu_are_refused(gpu, monkeypatch, tmp_path):
    x, out, options = table(40, 5), tmp_path / "mic.parquet", {"device": "cuda", "rng": 1}
    options |= {"pvalues": True, "permutations": 9, "out": out}
    with monkeypatch.context() as before:
        before.setattr(module, "_origin", lambda work: Origin("cuda"))
        dpmic.pairwise(x, **options)
    with pytest.raises(ParameterError, match="those of the first GPU kernels, and too small"):
        dpmic.pairwise(x, **options)
    out.unlink()
    assert np.array_equal(dpmic.pairwise(x, **options).mic, dpmic.pairwise(x, **options).mic)


def test_pvalues_share_permutations(gpu):
    x = table(40, 5)
    options = {"pvalues": True, "permutations": 99, "rng": 1}
    ours, theirs = dpmic.pairwise(x, device="cuda", **options), dpmic.pairwise(x, **options)
    assert ours.pvalues.min() == 0.01
    assert np.abs(ours.pvalues - theirs.pvalues).max() < 0.3  # five standard errors of 99 draws
    assert np.array_equal(ours.pvalues, dpmic.pairwise(x, device="cuda", **options).pvalues)


def test_pooled_pvalues_are_never_smaller_than_the_cpus(gpu):
    x, options = table(120, 12), {"pvalues": True, "pooled": True, "permutations": 199, "rng": 1}
    ours, theirs = dpmic.pairwise(x, device="cuda", **options), dpmic.pairwise(x, **options)
    assert np.all(theirs.pvalues <= ours.pvalues)
    assert np.abs(ours.pvalues - theirs.pvalues).max() <= 2 / 200  # ties within the slack
    assert np.count_nonzero(ours.pvalues != theirs.pvalues) < 5


def test_memory_that_is_full_is_said(gpu):
    gpu.memory = 10
    with pytest.raises(DpmicError, match="memory of the GPU is full.*device='cpu'"):
        dpmic.pairwise(table(), device="cuda")


def test_auto_is_the_cpu_where_the_gpu_fails(gpu, monkeypatch, capsys, tmp_path):
    x, out = table(), tmp_path / "mic.parquet"
    gpu.memory = 10
    found = dpmic.pairwise(x, device="auto", out=out)
    said = "dpmic: the memory of the GPU is full (out of memory allocating); using the CPU\n"
    assert capsys.readouterr().err == said
    assert np.array_equal(found.mic, dpmic.pairwise(x, out=out).mic)

    def failed(*_):
        raise RuntimeError("CUDA_ERROR_UNKNOWN: unknown error\nmore")

    gpu.memory = 2**30
    monkeypatch.setattr(StandIn, "largest", failed)
    with pytest.raises(DpmicError, match=r"the GPU failed \(CUDA_ERROR_UNKNOWN: unknown error\)"):
        dpmic.pairwise(x, device="cuda")
    assert np.array_equal(dpmic.pairwise(x, device="auto").mic, found.mic)


def test_a_compiler_that_refuses_the_source_is_an_error_of_the_gpu(monkeypatch):
    class CompileError(Exception):
        """No RuntimeError, as that of CuPy."""

    def refuse(name):
        raise CompileError("search.cu(7): error\nmore")

    module = SimpleNamespace(get_function=refuse)
    monkeypatch.setattr(cuda, "_cupy", lambda: SimpleNamespace(RawModule=lambda **_: module))
    with pytest.raises(RuntimeError, match=r"search.cu does not compile: search.cu\(7\): error$"):
        cuda._function.__wrapped__("search", "int")


def test_auto_does_not_mix_devices_in_a_file(gpu, monkeypatch, tmp_path):
    monkeypatch.setattr(Gpu, "tile", lambda *_: 3)
    x, out = table(), tmp_path / "mic.parquet"
    load = StandIn.load

    def loaded(self, cut):
        self.memory = 2**30 if self.loads < 2 else 10
        return load(self, cut)

    monkeypatch.setattr(StandIn, "load", loaded)
    with pytest.raises(DpmicError, match="memory of the GPU is full"):
        dpmic.pairwise(x, device="auto", workers=1, out=out)
    monkeypatch.setattr(StandIn, "load", load)
    gpu.memory = 2**30
    found = dpmic.pairwise(x, device="auto", out=out)
    assert np.array_equal(found.mic, dpmic.pairwise(x, device="cuda").mic)


@pytest.mark.parametrize(
    ("n", "B", "columns"),
    [
        (250, None, 512),  # few enough to list the pairs
        (1000, None, 512),
        (4381, None, 222),  # a fifth of a second
        (10**4, None, 129),
        (10**5, None, 22),  # a gigabyte of parts
        (10**6, None, 1),
        (2**23 - 1, 9, 4),
        (2**23, 9, 0),  # not every count is a float32
    ],
)
def test_tiles_fill_a_gpu_but_not_its_memory(n, B, columns):
    method = Method("mice", 0.6, B, 15)
    x = np.zeros(n)
    side = Side(("a", "b"), (Variable(x),) * 2, (None,) * 2)
    assert Work(method, side, side, Pairing(2), device=Gpu())._most == columns


def test_a_single_test_has_the_null_of_permuted_records(gpu):
    x, y = table(40)[:, :2].T
    found = dpmic.independence_test(x, y, permutations=30, rng=4, device="cuda")
    draws = np.random.default_rng(4)
    null = [dpmic.mice(x, y[draws.permutation(40)], B=9, c=5).tic() for _ in range(30)]
    same = dpmic.independence_test(x, y, permutations=30, rng=4)
    assert np.allclose(found.null, null, atol=1e-5)
    assert gpu.loads == 2
    assert found.statistic == same.statistic
    assert found.pvalue == (1 + np.sum(np.array(null) >= found.statistic - 1e-4)) / 31
    assert (found.n, found.B, found.c, found.names) == (same.n, same.B, same.c, same.names)


def test_many_permutations_come_in_parts(gpu, monkeypatch):
    x, y = table(40)[:, :2].T
    whole = dpmic.independence_test(x, y, permutations=30, rng=4, device="cuda")
    monkeypatch.setattr(devices, "DRAWN", 4 * 40 * 7)
    assert whole == dpmic.independence_test(x, y, permutations=30, rng=4, device="cuda")


@sweep("codes", [[0], [0, 1]])
def test_a_single_test_of_categories_uses_the_cpu(gpu, codes):
    frame = pd.DataFrame(table(40)[:, 2:4] + [0, 1], columns=["a", "b"])
    frame["b"] = np.arange(40) % 3
    for code in codes:
        frame[frame.columns[code]] = frame[frame.columns[code]].astype("category")
    options = {"data": frame, "permutations": 20, "rng": 1}
    one, other = (
        dpmic.independence_test("a", "b", device=own, **options) for own in ("cuda", "cpu")
    )
    assert one == other
    assert gpu.loads == 0


def test_a_single_test_falls_back_to_the_cpu(gpu, capsys):
    gpu.memory, (x, y) = 10, table(40)[:, :2].T
    with pytest.raises(DpmicError, match="memory of the GPU is full"):
        dpmic.independence_test(x, y, permutations=9, device="cuda")
    found = dpmic.independence_test(x, y, permutations=9, rng=2, device="auto")
    assert found == dpmic.independence_test(x, y, permutations=9, rng=2)
    assert capsys.readouterr().err.count("using the CPU") == 1


def test_a_fallback_draws_what_the_cpu_draws(gpu, monkeypatch):
    def full(*_):
        raise MemoryError("out of memory")

    monkeypatch.setattr(StandIn, "null", full)  # after permutations were drawn
    x, y = table(40)[:, :2].T
    found = dpmic.independence_test(x, y, permutations=9, rng=2, device="auto")
    assert found == dpmic.independence_test(x, y, permutations=9, rng=2)


@sweep("pooled", [False, True])
def test_many_records_are_tested_by_the_cpu(gpu, monkeypatch, pooled):
    x, options = table(), {"permutations": 50, "rng": 1}
    for own in (significance, work):
        monkeypatch.setattr(own, "MOST_TESTED", 59)
    ours, theirs = (
        dpmic.pairwise(x, pvalues=True, pooled=pooled, device=own, **options)
        for own in ("cuda", "cpu")
    )
    assert np.array_equal(ours.pvalues, theirs.pvalues)
    assert not np.array_equal(ours.mic, theirs.mic)
    one, other = (
        dpmic.independence_test(*x.T[:2], device=own, **options) for own in ("cuda", "cpu")
    )
    assert one == other


def threads(monkeypatch):
    """Return the numbers of threads that pieces are shared among."""
    used, shared = [], workers._by_threads

    def counted(pieces, threads, most):
        used.append(threads)
        return shared(pieces, threads, most)

    monkeypatch.setattr(workers, "_by_threads", counted)
    return used


def test_the_cpu_has_all_its_threads(gpu, monkeypatch, tmp_path):
    used, out, x = threads(monkeypatch), tmp_path / "mic.parquet", table()
    dpmic.pairwise(x, device="auto")
    x[3, 5] = np.nan
    mixed = dpmic.pairwise(x, missing="drop", device="auto")
    assert used == [workers.STREAMS, workers.STREAMS, None]
    assert np.allclose(mixed.mic, dpmic.pairwise(x, missing="drop").mic, atol=1e-6)
    used.clear()
    x[3] = np.nan
    dpmic.pairwise(x, missing="drop", device="auto", out=out)
    dpmic.pairwise(x, missing="drop", out=out)  # the file is not a GPU's
    assert used == [None, None]


def test_mic_is_the_cpus(gpu, monkeypatch, tmp_path):
    monkeypatch.setattr(gpu, "problem", lambda: pytest.fail("nobody needs to know"))
    x, out = table()[:, :4], tmp_path / "mic.parquet"
    dpmic.pairwise(x, statistic="mic", device="auto", out=out)
    assert dpmic.pairwise(x, statistic="mic", out=out).mic.size == 6


def test_without_a_gpu(monkeypatch, capsys):
    problem = "no GPU can be used (no device)", "look for one"
    monkeypatch.setattr(devices.cuda, "problem", lambda: problem)
    with pytest.raises(DpmicError, match="no GPU can be used .*look for one, or pass device='cpu'"):
        dpmic.pairwise(table(), device="cuda")
    found = dpmic.pairwise(table(), device="auto")
    assert capsys.readouterr().err == "dpmic: no GPU can be used (no device); using the CPU\n"
    assert np.array_equal(found.mic, dpmic.pairwise(table()).mic)


def test_without_cupy(monkeypatch):
    problem = "CuPy is not installed or cannot be loaded (no module)", "install it"
    monkeypatch.setattr(devices.cuda, "problem", lambda: problem)
    with pytest.raises(DependencyError, match="CuPy is not installed"):
        dpmic.pairwise(table(), device="cuda")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"device": "gpu"}, "device = 'gpu'"),
        ({"device": "cuda", "exact": True, "tic": True}, "exact"),
        ({"device": "cuda", "statistic": "mic"}, "device = 'cuda'"),
        ({"exact": True}, "exact"),
        ({"exact": 1}, "exact"),
        ({"device": "cuda", "exact": 0}, "exact = 0"),
        ({"device": "cuda", "exact": 1.5}, "exact = 1.5"),
        ({"device": "cuda", "exact": "all"}, "exact = 'all'"),
        ({"device": "cuda", "exact": "significant"}, "p-values"),
    ],
)
def test_refusals(gpu, options, named):
    with pytest.raises(ParameterError, match=named):
        dpmic.pairwise(table(), **options)


def test_a_device_can_be_sent_to_another_process():
    import pickle

    assert pickle.loads(pickle.dumps(Gpu(exact=True))).exact
    assert module.Work
