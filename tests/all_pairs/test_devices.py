"""A GPU is one more kernel: the host side with the CPU's kernels in its place."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from gpu_stand_in import StandIn

import dpmic
from dpmic._kernels import cuda
from dpmic.all_pairs import devices, work
from dpmic.all_pairs import pairwise as module
from dpmic.all_pairs.devices import Gpu
from dpmic.errors import DependencyError, DpmicError, ParameterError


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


def test_gaps_and_categories_are_the_cpus(gpu):
    frame = pd.DataFrame(table(), columns=list("abcdefghi"))
    frame["ward"] = np.where(frame["a"] > 0, "east", "west")
    frame.loc[3, "i"] = np.nan
    ours = dpmic.pairwise(frame, missing="drop", device="cuda")
    theirs = dpmic.pairwise(frame, missing="drop")
    assert np.allclose(ours.mic, theirs.mic, atol=1e-6)


def test_columns_are_loaded_once_where_there_is_room(gpu, monkeypatch):
    monkeypatch.setattr(Gpu, "tile", 3)
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
    with pytest.raises(ParameterError, match="device"):
        dpmic.pairwise(x, out=out)
    both = tmp_path / "exact.parquet"
    dpmic.pairwise(x, device="cuda", exact=True, out=both)
    assert dpmic.pairwise(x, out=both).mic.size == first.mic.size


def test_what_was_interrupted_is_taken_up(gpu, monkeypatch, tmp_path):
    monkeypatch.setattr(Gpu, "tile", 3)
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
        before.setattr(module, "_stamp", lambda work: {"device": "cuda"})
        dpmic.pairwise(x, **options)
    with pytest.raises(ParameterError, match="instead of 'cuda, corrected p-values'"):
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
    monkeypatch.setattr(Gpu, "tile", 3)
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


def threads(monkeypatch):
    """Return the numbers of threads that pieces are shared among."""
    used, shared = [], work._by_threads

    def counted(pieces, threads, most):
        used.append(threads)
        return shared(pieces, threads, most)

    monkeypatch.setattr(work, "_by_threads", counted)
    return used


def test_the_cpu_has_all_its_threads(gpu, monkeypatch, tmp_path):
    used, out, x = threads(monkeypatch), tmp_path / "mic.parquet", table()
    dpmic.pairwise(x, device="auto")
    x[3, 5] = np.nan
    mixed = dpmic.pairwise(x, missing="drop", device="auto")
    assert used == [work.STREAMS, work.STREAMS, None]
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
        ({"exact": 1}, "exact = 1"),
    ],
)
def test_refusals(gpu, options, named):
    with pytest.raises(ParameterError, match=named):
        dpmic.pairwise(table(), **options)


def test_a_device_can_be_sent_to_another_process():
    import pickle

    assert pickle.loads(pickle.dumps(Gpu(exact=True))).exact
    assert module.Work
