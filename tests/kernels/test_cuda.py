"""The kernel of a GPU: its sizes anywhere, its source where nvcc is, its numbers where a GPU is."""

import math
import shutil
import subprocess

import numpy as np
import pytest
from sweeps import sweep

import dpmic
from dpmic._kernels import cuda
from dpmic._validate import Limits
from dpmic.statistics.grids import MassAxis, steps
from dpmic.statistics.records import CutAxes

PROBLEM = cuda.problem()
needs_gpu = pytest.mark.skipif(PROBLEM is not None, reason=f"needs a GPU: {PROBLEM}")
SMALL, LARGE = 48 * 1024, 227 * 1024  # bytes of shared memory of some GPUs


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
        yield group, height, cuda.sizes_of(group, most, parts, own, height, memory)


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


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("part", ["unsigned short", "int"])
def test_the_source_compiles(tmp_path, part):
    _, _, found = list(sizes(1000, LARGE))[-1]
    for constants in ((), found[0].options):
        options = (f"-DPART={part}", *constants, "-arch=sm_90", "-cubin", "-Werror", "all-warnings")
        target = ("-o", str(tmp_path / "search.cubin"), str(cuda.SOURCE))
        subprocess.run(["nvcc", *options, *target], check=True)


@needs_gpu
@sweep("n", [4, 7, 30, 250, 1000, 4381])
def test_numbers_are_those_of_the_cpu(n):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, 6))
    x[:, 1], x[:, 2], x[:, 3] = x[:, 0] ** 2, np.round(x[:, 0]), 0
    theirs = dpmic.pairwise(x, tic=True)
    assert np.abs(dpmic.pairwise(x, device="cuda").mic - theirs.mic).max() < 2e-6
    assert np.allclose(dpmic.pairwise(x, tic=True, device="cuda").tic, theirs.tic, rtol=1e-4)
    assert np.array_equal(dpmic.pairwise(x, device="cuda", exact=True).mic, theirs.mic)


@needs_gpu
@sweep(("c", "master"), [(5, "paper"), (5, "minepy"), (math.inf, "reshef")])
def test_any_master_is_searched(c, master):
    x = np.random.default_rng(0).normal(size=(200, 4))
    options = {"c": c, "master": master}
    ours = dpmic.pairwise(x, device="cuda", **options)
    assert np.abs(ours.mic - dpmic.pairwise(x, **options).mic).max() < 2e-6
