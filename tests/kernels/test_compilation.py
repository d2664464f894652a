"""Compiling once, never silently, and doing without a cache."""

import os
import subprocess
import sys

import pytest

# Messages come together however busy the machine is.
PATIENT = "from dpmic._kernels import _compile; _compile._TOGETHER = 600;"
SCORE = "import dpmic; print(dpmic.mice([1, 2, 3, 4], [1, 2, 3, 4]).mic)"
LINE = "dpmic: compiling its kernels, some seconds"

pytestmark = pytest.mark.slow


def python(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", PATIENT + code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    assert done.stdout == "1.0\n"
    return done.stderr


def test_the_first_run_says_so_and_the_second_is_cached(tmp_path):
    cache = str(tmp_path)
    assert python(SCORE, NUMBA_CACHE_DIR=cache) == f"{LINE} (once)\n"
    assert any(tmp_path.rglob("*.nbc"))
    assert python(SCORE, NUMBA_CACHE_DIR=cache) == ""


LATER = """
_compile._TOGETHER = 0
dpmic.independence_test([1, 2, 3, 4], [1, 2, 3, 4], permutations=9)
"""


def test_whatever_else_is_compiled_later_is_said_too(tmp_path):
    lines = python(f"{SCORE}{LATER}", NUMBA_CACHE_DIR=str(tmp_path)).splitlines()
    assert len(lines) > 1
    assert set(lines) == {f"{LINE} (once)"}
    assert python(f"{SCORE}{LATER}", NUMBA_CACHE_DIR=str(tmp_path)) == ""


OTHER = """
import numba
from dpmic import _kernels
_kernels.counting
numba.njit(lambda x: x + 1)(1)
print(1.0)
"""


def test_kernels_of_others_are_not_ours_to_speak_of(tmp_path):
    assert python(OTHER, NUMBA_CACHE_DIR=str(tmp_path)) == ""


ONCE = """
import sys
from dpmic._kernels import counting, partitions, ranked, tiled
values = [v for m in (counting, partitions, ranked, tiled) for v in vars(m).values()]
kernels = [v for v in values if hasattr(v, "overloads")]
again = [k.__name__ for k in kernels if len(k.overloads) > 1]
print(again, sum(len(k.overloads) for k in kernels) > 5, file=sys.stderr)
"""


def test_no_kernel_is_compiled_twice(tmp_path):
    """For a constant, a default, or an array of another layout."""
    calls = (
        "import dpmic, numpy as np; a, b, c = np.random.default_rng(0).random((3, 50));"
        "dpmic.pairwise(np.stack([a, b, c], 1)); dpmic.pairwise(np.stack([a, b], 1), tic=True);"
        "dpmic.mic(a, b); dpmic.mice(a, b, ties='random', rng=1);"
        "dpmic.micr(a, b, bounds=((0, 1), (0, 1)));"
        "dpmic.independence_test(a, b, permutations=9);"
        "from dpmic.compat.minepy import MINE, pstats, cstats;"
        "MINE(est='mic_e').compute_score(a, b); pstats([a, b, c]); cstats(np.array([a]), [b]);"
    )
    stderr = python(calls + SCORE + ONCE, NUMBA_CACHE_DIR=str(tmp_path))
    assert stderr.splitlines()[-1] == "[] True"


EARLIER = """
from dpmic._kernels import _compile
_compile._STAMP = b"other sources"
from dpmic._kernels import tiled
tiled.Workspace.__qualname__, tiled.Room = "Room", tiled.Workspace
"""
HITS = """
import sys
from dpmic._kernels import ranked
print(sum(ranked.equi.stats.cache_hits.values()), file=sys.stderr)
"""


def test_a_cache_of_an_earlier_version_is_replaced(tmp_path):
    """Numba unpickles the types in an index before it checks of which sources the index is."""

    def hits(code):
        return int(python(f"{code}{SCORE}{HITS}", NUMBA_CACHE_DIR=str(tmp_path)).split()[-1])

    assert hits(EARLIER) == 0
    assert hits("") == 0  # there is no Room
    assert hits("") == 1
    (index,) = tmp_path.rglob("ranked.equi*.nbi")
    index.write_bytes(index.read_bytes()[:-100])
    assert hits("") == 0
    assert hits("") == 1


def test_without_any_folder_to_cache_in():
    """As on a read-only installation without a home folder, where numba finds no locator."""
    nowhere = "from numba.core import caching; caching.CacheImpl._locator_classes = []"
    stderr = python(f"{nowhere}; {SCORE}")
    assert stderr == f"{LINE} (no folder can be written, so each run compiles)\n"
