"""Dependence between the columns of a table, with the Maximal Information Coefficient family."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpmic.errors import DependencyError, DpmicError, InputError, ParameterError
    from dpmic.results import Grid, Score
    from dpmic.statistics.family import mic, mice, micr

__all__ = [
    "DependencyError",
    "DpmicError",
    "Grid",
    "InputError",
    "ParameterError",
    "Score",
    "__version__",
    "mic",
    "mice",
    "micr",
]

_HOME = {
    "DependencyError": "dpmic.errors",
    "DpmicError": "dpmic.errors",
    "Grid": "dpmic.results",
    "InputError": "dpmic.errors",
    "ParameterError": "dpmic.errors",
    "Score": "dpmic.results",
    "mic": "dpmic.statistics.family",
    "mice": "dpmic.statistics.family",
    "micr": "dpmic.statistics.family",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import dpmic`` stays quick."""
    if name == "__version__":
        from importlib.metadata import version

        return version("dpmic")
    if name not in _HOME:
        raise AttributeError(f"module 'dpmic' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
