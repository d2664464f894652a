"""Arrays in, arrays out. The only package that imports numba, and only on first use."""

from __future__ import annotations

import importlib
from types import ModuleType

_MODULES = ("counting", "critics", "large", "partitions", "ranked", "segmentation", "tiled")


def __getattr__(name: str) -> ModuleType:
    """Import a kernel module when it is first asked for: numba costs up to a second."""
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
