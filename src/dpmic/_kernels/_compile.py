"""One way to compile: each kernel once, cached where a cache can be written, and never silently."""

from __future__ import annotations

import hashlib
import math
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import event
from numba.core.caching import FunctionCache

Function = TypeVar("Function", bound=Callable[..., object])

_SOURCES = sorted(Path(__file__).parent.glob("*.py"))
_STAMP = hashlib.sha256(b"".join(source.read_bytes() for source in _SOURCES)).digest()
_TOGETHER = 1.0  # seconds without compiling after which a message is due again


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
    written, so such an installation compiles anew in each process. It would also compile a
    function again for every constant that another one passes to it.
    """
    dispatcher = numba.njit(function, nogil=True)
    with suppress(RuntimeError):
        dispatcher._cache = _Cache(function)
    compile_for = dispatcher.compile
    dispatcher.compile = lambda types: compile_for(tuple(map(numba.types.unliteral, types)))
    return dispatcher  # type: ignore[no-any-return]


def inlined(function: Function) -> Function:
    """Compile a function as a part of each kernel that calls it.

    numba optimises a function that is compiled by itself again with every kernel that reaches it.
    """
    return numba.njit(function, nogil=True, inline="always")  # type: ignore[no-any-return]


class _Teller(event.Listener):  # type: ignore[misc]
    """Says why a call takes seconds, whenever one of our kernels is compiled.

    What is compiled in one go is one message.
    """

    def __init__(self) -> None:
        self._depth, self._last = 0, -math.inf

    def on_start(self, event: Any) -> None:
        """Say so before a compilation begins."""
        dispatcher = event.data["dispatcher"]
        if self._depth == 0 and not _is_ours(dispatcher):
            return
        if self._depth == 0 and time.monotonic() - self._last >= _TOGETHER:
            kept = "no folder can be written, so each run compiles"
            if dispatcher.stats.cache_path is not None:
                kept = "once"
            print(f"dpmic: compiling its kernels, some seconds ({kept})", file=sys.stderr)
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Remember when it ended."""
        if self._depth:
            self._depth, self._last = self._depth - 1, time.monotonic()


def _is_ours(dispatcher: Any) -> bool:
    return str(dispatcher.py_func.__module__).startswith(f"{__package__}.")


event.register("numba:compile", _Teller())
