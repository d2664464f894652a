"""One way to compile: cached where a cache can be written, with one message."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core.caching import FunctionCache

Function = TypeVar("Function", bound=Callable[..., object])

_PYTHON = f"py{sys.version_info.major}{sys.version_info.minor}"  # as in the cache's file names
_SOURCES = sorted(Path(__file__).parent.glob("*.py"))
_STAMP = hashlib.sha256(b"".join(source.read_bytes() for source in _SOURCES)).digest()
_told = False


class _Cache(FunctionCache):  # type: ignore[misc]
    """Machine code on disk, used only if it was made of the present sources.

    numba looks at a kernel's own file alone. It also unpickles an index before it checks of which
    sources that is, which fails where an earlier version had types that are gone since.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        self._cache_file._source_stamp = self._cache_file._source_stamp, _STAMP

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return compiled code, or None; what cannot be read is replaced."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling can raise anything
            self.flush()
            return None


def compiled(function: Function) -> Function:
    """Compile without the GIL, and keep the machine code on disk if any folder allows it.

    numba refuses a cache outright when neither the package's folder nor the user's home can be
    written, so such an installation compiles anew in each process.
    """
    dispatcher = numba.njit(function, nogil=True)
    with suppress(RuntimeError):
        dispatcher._cache = _Cache(function)
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
