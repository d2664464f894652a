"""One way to compile: cached where a cache can be written, with one message."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., object])

_PYTHON = f"py{sys.version_info.major}{sys.version_info.minor}"  # as in the cache's file names
_told = False


def compiled(function: Function) -> Function:
    """Compile without the GIL, and keep the machine code on disk if any folder allows it.

    numba refuses ``cache=True`` outright when neither the package's folder nor the user's home
    can be written, so such an installation compiles anew in each process. The cache notices a
    change of the function's own file only: kernels of different modules never call each other.
    """
    try:
        dispatcher = numba.njit(function, cache=True, nogil=True)
    except RuntimeError:
        dispatcher = numba.njit(function, nogil=True)
    _tell_once(dispatcher.stats.cache_path)
    return dispatcher  # type: ignore[no-any-return]


def _tell_once(cache: str | None) -> None:
    """Say, before the first compilation, why the first score takes seconds."""
    global _told
    if _told or (cache is not None and any(Path(cache).glob(f"*.{_PYTHON}*.nbi"))):
        return
    _told = True
    kept = "no folder can be written, so each run compiles" if cache is None else "once"
    print(f"dpmic: compiling its kernels, some seconds ({kept})", file=sys.stderr)
