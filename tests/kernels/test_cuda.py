"""The kernel of a GPU: its sizes, and its numbers on an emulated GPU and where there is one."""

import itertools
import math
import re
import shutil
import subprocess
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from emulated_cuda import MEMORY, cupy, emulate, launched, needs_compiler
from sweeps import sweep

import dpmic
from dpmic import _kernels
from dpmic._kernels import cuda
from dpmic._validate import Limits
from dpmic.all_pairs.devices import MOST_TESTED, TIC_ERROR, Draws
from dpmic.all_pairs.significance import PermutationPlan
from dpmic.errors import DependencyError
from dpmic.statistics.grids import MassAxis, Step, Steps, steps
from dpmic.statistics.records import CutAxes
from dpmic.statistics.search import xlogx_table

PROBLEM = cuda.problem()
needs_gpu = pytest.mark.skipif(PROBLEM is not None, reason=f"needs a GPU: {PROBLEM}")
SMALL, LARGE = 48 * 1024, 227 * 1024  # bytes of shared memory of some GPUs
OFF = 2e-6  # the most by which a float32 MIC may be off, and each entry of a float32 TIC


def sizes(n, memory, c=15, master="reshef"):
    """Return how each group of a plan is searched, for columns without ties."""
    plan = steps(Limits(max(n**0.6, 4), c, master))
    cut = CutAxes.of([MassAxis.grouped(np.arange(float(n)))], plan.layout)
    starts, rows = plan.layout.starts, plan.layout.rows
    columns = np.diff(cut.columns.offsets[0]) - 1
    for g in range(starts.size - 1):
        group = range(starts[g], starts[g + 1])
        own = columns[group.start : group.stop].tolist()
        parts, height = int(cut.columns.sizes[0, g]), int(cut.masters.sizes[0, g])
        most = int(max(rows[group.start : group.stop]))
        yield group, height, cuda.sizes_of(group, most, parts, own, height, n, memory)


@sweep(
    ("n", "memory", "c", "master"),
    [(n, memory, 15, "reshef") for n in (4, 50, 1000, 4381) for memory in (SMALL, LARGE)]
    + [(300, SMALL, math.inf, "reshef"), (300, SMALL, 15, "paper"), (300, LARGE, 5, "minepy")],
)
def test_every_step_is_searched_once_and_fits(n, memory, c, master):
    for group, height, found in sizes(n, memory, c, master):
        assert [step for own in found for step in range(own.first, own.last)] == list(group)
        for own in found:
            assert own.shared <= memory
            assert not own.chunks or own.k_max == 2 or 32 * own.chunks >= own.kept >= height


def compile_source(folder, *options):
    """Compile the source for an H100 or H200; return what the assembler says."""
    target = ("-arch=sm_90", "-cubin", "-o", str(folder / "search.cubin"), str(cuda.SOURCE))
    command = ["nvcc", "--std=c++17", *options, "-Xptxas", "-v", "-Werror", "all-warnings", *target]
    return subprocess.run(command, check=True, capture_output=True, text=True).stderr


needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")


@pytest.mark.slow
@needs_nvcc
@pytest.mark.parametrize("part", ["unsigned short", "int"])
def test_the_source_compiles(tmp_path, part):
    _, _, found = list(sizes(1000, LARGE))[-1]
    for constants in ((), found[0].options):
        compile_source(tmp_path, f"-DPART={part}", *constants)


@pytest.mark.full
@needs_nvcc
@pytest.mark.parametrize("n", [250, 1000, 4381, 10_000, 100_000])
def test_all_sums_of_rows_are_in_registers(tmp_path, n):
    planned = [own.options for _, _, found in sizes(n, LARGE) for own in found if own.chunks]
    for options in sorted(set(planned)):
        said = compile_source(tmp_path, "-DPART=unsigned short", *options)
        (spilled,) = map(int, re.findall(r"(\d+) bytes spill stores", said))
        assert spilled <= 160, (options, said)  # a few: one more block gains more than they cost


@pytest.fixture
def emulated(monkeypatch):
    """Use an emulated GPU; call it for another size of shared memory."""
    emulate(monkeypatch)
    return partial(emulate, monkeypatch)


def table(n, m=5):
    """Columns with a relation, ties and one value."""
    x = np.random.default_rng(n).normal(size=(n, m))
    x[:, 1], x[:, 2], x[:, 3] = x[:, 0] ** 2, np.round(x[:, 0]), 0
    return x


def check_scores(x, **options):
    """Compare all that a GPU computes of a table with the CPU."""
    theirs = dpmic.pairwise(x, tic=True, **options)
    total = dpmic.pairwise(x, tic=True, device="cuda", **options)
    fast = dpmic.pairwise(x, device="cuda", **options)
    assert np.abs(fast.mic - theirs.mic).max() < OFF
    assert np.abs(total.mic - theirs.mic).max() < OFF
    assert np.abs(total.tic - theirs.tic).max() < OFF * max(theirs.tic.max(), 1)
    exact = dpmic.pairwise(x, device="cuda", exact=True, **options)
    assert np.array_equal(exact.mic, theirs.mic)


def check_pvalues(x, y, permutations=40, seed=1):
    """Count the permuted tables that reach the observed TIC, and compare with a GPU's p-values."""
    plan = PermutationPlan.of(permutations, seed, pooled=False)
    orders = [np.arange(len(x)), *Draws(permutations, plan.seed).orders(len(x))]
    observed, *null = (dpmic.cross(x, y[own], tic=True, B=9, c=5).tic for own in orders)
    found = dpmic.cross(x, y, pvalues=True, permutations=permutations, rng=seed, device="cuda")
    least, most = (
        (1 + np.sum(null >= observed - slack, axis=0)) / (1 + permutations)
        for slack in (1e-12, 4 * 8 * TIC_ERROR)  # of at most 8 entries
    )
    assert np.all(least <= found.pvalues)
    assert np.all(found.pvalues <= most)
    one = dpmic.independence_test(x[:, 0], y[:, 0], permutations=9, rng=seed, device="cuda")
    draws = np.random.default_rng(seed)
    tics = (dpmic.mice(x[:, 0], y[draws.permutation(len(x)), 0], B=9, c=5) for _ in one.null)
    drawn = [own.tic() for own in tics]
    assert np.allclose(one.null, drawn, rtol=0, atol=8 * TIC_ERROR)
    options = {"pvalues": True, "pooled": True, "permutations": permutations, "rng": seed}
    pooled, theirs = (dpmic.cross(x, y, device=own, **options).pvalues for own in ("cuda", "cpu"))
    assert np.all(theirs <= pooled)
    assert np.mean(theirs < pooled) < 0.2


@pytest.mark.slow
@needs_compiler
@sweep("n", [4, 5, 7, 30, 75, 250])
def test_the_source_has_the_numbers_of_the_cpu(emulated, n):
    check_scores(table(n))


@pytest.mark.full
@needs_compiler
@sweep(("n", "m"), [(1000, 5), (4381, 4), (10_000, 2)])
def test_the_source_has_the_numbers_of_the_cpu_for_many_records(emulated, n, m):
    check_scores(table(n, 5)[:, :m])
    if n <= MOST_TESTED:
        check_pvalues(table(n, 4)[:, :1], table(n, 4)[:, 2:3], permutations=3)


@pytest.mark.slow
@needs_compiler
@sweep(
    ("memory", "short", "kernel", "part"),
    [(2000, 2**16, "-DSPLIT=1", "unsigned short"), (0, 1, "search_long", "int")],
)
def test_little_memory_and_many_parts(emulated, monkeypatch, memory, short, kernel, part):
    emulated(memory)
    monkeypatch.setattr(cuda, "SHORT", short)
    check_scores(table(120, 4))
    assert any(kernel in own for own in launched)
    assert {own[2] for own in launched if own[0] != "trial"} == {f"-DPART={part}"}


@pytest.mark.slow
@needs_compiler
def test_long_sums_are_added_in_parts(emulated, monkeypatch):
    monkeypatch.setattr(cuda, "LONG", 2)
    check_scores(table(400, 4), B=60)  # up to 30 columns
    assert any("-DLONG=1" in own for own in launched)


@pytest.mark.full
@needs_compiler
@sweep(
    ("n", "memory", "off"),
    [(1000, MEMORY, 2e-6), (100_000, MEMORY, 5e-6), (10_000, 0, 3e-6)],
)
def test_entries_of_long_and_lopsided_columns_keep_their_digits(emulated, n, memory, off):
    """With 100,000 records they were off by 5.7e-5."""
    emulated(memory)
    rng = np.random.default_rng(2)
    x = rng.normal(size=n)
    columns = [x, rng.geometric(0.3, n), rng.random(n) < 3 / n]
    columns += [np.where(rng.random(n) < share, 0, x) for share in (0.5, 0.9, 0.99)]
    widest = {1000: 31, 10_000: 125, 100_000: 499}[n]
    plan = Steps([Step(widest, 2, 30), Step(widest * 3 // 5, 3, 45), Step(widest // 2, 4, 60)])
    layout = plan.layout
    cut = CutAxes.of([MassAxis.grouped(own.astype(float)) for own in columns], layout)
    pairs = np.array(list(itertools.combinations(range(len(columns)), 2)))
    axes, task = cuda.load(cut), (pairs, layout.starts, layout.rows)
    ours = cuda.entries(axes, axes, *task)
    theirs = _kernels.entries(cut, cut, *task, xlogx_table(n), False)
    logs = np.log2(np.maximum(np.arange(ours.shape[-1]), 2))
    assert np.nanmax(np.abs(ours - theirs) / logs) < off


@pytest.mark.slow
@needs_compiler
@sweep(("c", "master"), [(5, "paper"), (math.inf, "reshef")])
def test_the_source_searches_any_master(emulated, c, master):
    check_scores(table(50), c=c, master=master)


@pytest.mark.slow
@needs_compiler
@sweep("memory", [MEMORY, 0])
def test_the_source_permutes_one_variable_in_both_orientations(emulated, memory):
    emulated(memory)
    x = table(40)
    check_pvalues(x[:, :2], np.hstack([x[:, 2:], table(41, 4)[:40, :2]]))


@pytest.mark.slow
@needs_compiler
def test_tables_with_parts_of_two_types(emulated, monkeypatch):
    monkeypatch.setattr(cuda, "SHORT", 4)
    x = table(40)
    check_pvalues(np.sign(x[:, :2]), x)


@pytest.mark.slow
@needs_compiler
def test_pvalues_allow_for_the_rounding_of_both_sums(emulated, monkeypatch):
    slack, x, options = [], table(30), {"B": 60, "c": 5, "tic": True}
    off = np.abs(dpmic.pairwise(x, device="cuda", **options).tic - dpmic.pairwise(x, **options).tic)
    monkeypatch.setattr(cuda, "reached", lambda *task: slack.append(task[-1]) or np.zeros(10))
    dpmic.pairwise(x, pvalues=True, permutations=9, test_B=60, device="cuda")
    assert 2 * off.max() < slack[0] < 0.01


SHARED = "extern __shared__ int shared[]; const int own = threadIdx.x;"
NEIGHBOUR = "int other = shared[own ^ 1];"


@pytest.mark.slow
@needs_compiler
@sweep(
    ("statement", "said"),
    [
        ("if (own) __syncthreads();", "waits at a barrier that others never reach"),
        ("shared[32 + own] = 0;", "outside of all arrays"),
        ("((int*)out)[own] = 0;", "outside of all arrays"),
        ("shared[own] += 1;", "reads what nobody wrote"),
        ("shared[0] = own;", "races with a write by thread 0"),
        ("out[0] = own;", "races with a write by thread 0"),
        ("out[blockIdx.x / 2] = blockIdx.x;", "races with a write by thread 31"),
        ("if (out[0] < (int)blockIdx.x - 2 && own == 9) out[0] = 1;", "races with a read"),
        ("((double*)shared)[own / 2] = own;", "races with a write by thread 0"),
        (f"shared[own] = 1; {NEIGHBOUR} __syncwarp(); shared[own] = other;", "nobody wrote"),
        (f"shared[own] = 1; __syncwarp(); {NEIGHBOUR} shared[own] = other;", "races with a"),
        (
            "atomicAdd(out, 1); int all = out[0]; __syncthreads(); out[1] = all;",
            "races with a read",
        ),
        (
            "shared[own] = 1; __syncwarp(); if (!own) *(int4*)shared = *(int4*)(shared + 2);",
            "is not aligned",
        ),
        # These are right.
        ("shared[0] = 1;", None),
        ("atomicMax(out, own); atomicAdd(out, 1);", None),
        (f"shared[own] = 1; __syncwarp(); {NEIGHBOUR} __syncwarp(); shared[own] = other;", None),
        ("shared[own] = 1; __syncthreads(); if (own == 0) out[blockIdx.x] = shared[31];", None),
    ],
)
def test_the_emulator_finds_errors(statement, said):
    code = f'extern "C" __global__ void some(int* out) {{ {SHARED} {statement} }}'
    device = cupy()
    kernel = device.RawModule(code=code).get_function("some")
    out = device.zeros(4, np.int32)
    raises = nullcontext() if said is None else pytest.raises(AssertionError, match=said)
    with raises:
        kernel((4,), (32,), (out,), shared_mem=128)


@pytest.mark.full
@needs_compiler
def test_without_any_of_its_barriers_the_source_is_wrong(emulated, monkeypatch):
    source, x = cuda.SOURCE.read_text(), table(120, 4)[:, [0, 1, 2]]

    def failed(source):
        monkeypatch.setattr(cuda, "SOURCE", SimpleNamespace(name="", read_text=lambda: source))
        for memory in (MEMORY, 2000, 0):
            emulated(memory)
            try:
                dpmic.pairwise(x, device="cuda")
            except AssertionError:
                return True
        return False

    monkeypatch.setattr(cuda, "WORKSPACE", 1)  # so that a block searches several steps in turn
    assert not failed(source)
    barriers = list(re.finditer(r"__sync(threads|warp)\(\);", source))
    spare = source.index("__syncthreads", source.index("if (SPLIT) {"))  # another one follows
    missed = [
        own.start() for own in barriers if not failed(source[: own.start()] + source[own.end() :])
    ]
    assert len(barriers) == 22
    assert missed == [spare]


def without(*names):
    """Return a CuPy that lacks some of what it loads when it is used."""

    def missing(*_, **__):
        raise RuntimeError("CuPy failed to load libnvrtc.so.12: OSError\nmore")

    return SimpleNamespace(**(vars(cupy()) | dict.fromkeys(names, missing)))


@sweep(
    ("name", "said", "remedy"),
    [
        ("zeros", "no GPU can be used (CuPy failed", "nvidia-smi"),
        ("RawModule", "no kernel can be compiled for the GPU (CuPy failed", "cupy-cuda12x[ctk]"),
    ],
)
def test_what_is_missing_is_known_before_work_begins(monkeypatch, name, said, remedy):
    monkeypatch.setattr(cuda, "_cupy", lambda: without(name))
    reason, advice = cuda.problem()
    assert reason == f"{said} to load libnvrtc.so.12: OSError)"
    assert remedy in advice
    with pytest.raises(DependencyError, match="no GPU|no kernel"):
        dpmic.pairwise(table(9), device="cuda")
    assert dpmic.pairwise(table(9), device="auto").mic.size == 10


@pytest.mark.slow
@needs_gpu
@sweep("n", [4, 7, 30, 250, 1000, 4381])
def test_a_gpu_has_the_numbers_of_the_cpu(n):
    check_scores(table(n))
    check_pvalues(table(n), table(n + 1)[:n])


@pytest.mark.slow
@needs_gpu
@sweep(("c", "master"), [(5, "paper"), (math.inf, "reshef")])
def test_a_gpu_searches_any_master(c, master):
    check_scores(table(200), c=c, master=master)
