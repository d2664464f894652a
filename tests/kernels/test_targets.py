"""The kernels return the same bytes whatever processor they are compiled for.

Run as a script, this file computes fixed cases and prints, as JSON, digests of what the kernels
return and the registers and instructions that the fast one is made of.
"""

import hashlib
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import test_tiled
from project import TESTS

from dpmic import _kernels
from dpmic.statistics.search import xlogx_table

# What the machine must have, what the code must be made of, and what it must not contain. LLVM
# holds the gathers of Haswell, the first processor to have them, for slow, and does without.
TARGETS = {
    "x86-64": ((), ("xmm",), ("ymm", "zmm", "vgather")),
    "haswell": (("avx2", "bmi2"), ("ymm",), ("zmm",)),
    "skylake": (("avx2", "bmi2"), ("ymm", "vgatherdpd"), ("zmm",)),
    "skylake-avx512": (("avx512f", "avx512dq", "avx512vl"), ("zmm", "vgatherdpd"), ()),
}


def digest(arrays):
    """Digest the bytes of floats; a zero may have either sign."""
    return hashlib.sha256(b"".join((array + 0.0).tobytes() for array in arrays)).hexdigest()


def tables(kernel):
    """Digest what a kernel finds in tables of counts."""
    xlogx = xlogx_table(test_tiled.MOST)
    return digest(kernel(counts, k_max, xlogx) for counts, k_max in test_tiled.tables(7, 400))


def matrices():
    """Digest matrices of pairs of columns and their maxima, by the fast and the simple kernel."""
    fast, simple = [], []
    for seed, kind in enumerate(test_tiled.AXES):
        for asked in test_tiled.searches(seed, 150, kind):
            matrix = test_tiled.stepwise(asked)
            fast += [np.nan_to_num(asked.matrix()), test_tiled.largest(asked)]
            simple += [np.nan_to_num(matrix), np.nanmax(matrix)]
    return digest(fast), digest(simple)


def everything():
    """Digest all cases, by the fast and the simple kernel."""
    fast, simple = matrices()
    return {
        "fast": [tables(_kernels.tiled.information), fast],
        "simple": [tables(_kernels.segmentation.information), simple],
    }


def written_in(target, part, cache):
    """Compile for a target in another process; numba takes the features from its name."""
    done = subprocess.run(
        [sys.executable, __file__, part],
        capture_output=True,
        text=True,
        check=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]),
            "NUMBA_CACHE_DIR": str(cache),  # code that comes from a cache cannot be inspected
            "NUMBA_CPU_NAME": target,
            "NUMBA_CPU_FEATURES": "",  # unset, it means those of this machine
        },
    )
    return json.loads(done.stdout)


def require(target):
    """Skip where this machine cannot run a target's code."""
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("these targets are x86-64 processors")
    cpuinfo = Path("/proc/cpuinfo")
    known = set(cpuinfo.read_text().split()) if cpuinfo.exists() else set()
    missing = [feature for feature in TARGETS[target][0] if feature not in known]
    if missing:
        pytest.skip(f"this machine has no {', '.join(missing)}, which {target} code needs")


def check_code(target, code):
    """Make sure that the code is what that target, and no other, would run."""
    _, present, absent = TARGETS[target]
    for kernel, names in code.items():
        assert set(present) <= set(names), kernel
        assert not set(absent) & set(names), kernel


@pytest.mark.full
def test_tables_on_a_common_processor(tmp_path):
    """One kernel for AVX2: the others take half a minute to compile."""
    require("skylake")
    other = written_in("skylake", "tables", tmp_path)
    assert other["tables"] == tables(_kernels.segmentation.information)
    check_code("skylake", other["code"])


@pytest.mark.full
@pytest.mark.parametrize("target", TARGETS)
def test_every_kernel(target, tmp_path):
    require(target)
    other, here = written_in(target, "everything", tmp_path), everything()
    assert here["fast"] == here["simple"] == other["fast"] == other["simple"]
    check_code(target, other["code"])


def _code(*kernels):
    """Return which of the names in TARGETS the code of each kernel has."""
    names = {name for _, present, absent in TARGETS.values() for name in (*present, *absent)}
    code = {kernel.__name__: "".join(kernel.inspect_asm().values()) for kernel in kernels}
    return {kernel: sorted(n for n in names if n in text) for kernel, text in code.items()}


if __name__ == "__main__":
    fast = _kernels.tiled
    if sys.argv[1] == "tables":
        report = {"tables": tables(fast.information), "code": _code(fast.information)}
    else:
        report = {**everything(), "code": _code(fast.information, fast.entries, fast.largest)}
    print(json.dumps(report))
