"""Compiling once, telling once, and doing without a cache."""

import os
import subprocess
import sys

import pytest

SCORE = "import dpmic; print(dpmic.mice([1, 2, 3, 4], [1, 2, 3, 4]).mic)"
LINE = "dpmic: compiling its kernels, some seconds"

pytestmark = pytest.mark.slow


def python(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
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


EARLIER = """
from dpmic._kernels import _compile
_compile._STAMP = b"other sources"
from dpmic._kernels import tiled
tiled.Workspace.__qualname__, tiled.Room = "Room", tiled.Workspace
"""
HITS = """
import sys
from dpmic._kernels import tiled
print(sum(tiled.entries.stats.cache_hits.values()), file=sys.stderr)
"""


def test_a_cache_of_an_earlier_version_is_replaced(tmp_path):
    """Numba unpickles the types in an index before it checks of which sources the index is."""

    def hits(code):
        return int(python(f"{code}{SCORE}{HITS}", NUMBA_CACHE_DIR=str(tmp_path)).split()[-1])

    assert hits(EARLIER) == 0
    assert hits("") == 0  # there is no Room
    assert hits("") == 1
    (index,) = tmp_path.rglob("tiled.entries*.nbi")
    index.write_bytes(index.read_bytes()[:-100])
    assert hits("") == 0
    assert hits("") == 1


def test_without_any_folder_to_cache_in():
    """As on a read-only installation without a home folder, where numba finds no locator."""
    nowhere = "from numba.core import caching; caching.CacheImpl._locator_classes = []"
    stderr = python(f"{nowhere}; {SCORE}")
    assert stderr == f"{LINE} (no folder can be written, so each run compiles)\n"
