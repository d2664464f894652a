"""Dependence between the columns of a table, with the Maximal Information Coefficient family."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpmic import privacy
    from dpmic.errors import (
        BoundsReminder,
        BudgetError,
        DependencyError,
        DpmicError,
        InputError,
        LedgerError,
        ParameterError,
        RefusedValueError,
    )
    from dpmic.evaluation.population import mic_star
    from dpmic.privacy import sensitivity
    from dpmic.privacy.audit import audit
    from dpmic.privacy.ledger import Ledger
    from dpmic.privacy.release import release
    from dpmic.results import AuditBound, Grid, Release, Score
    from dpmic.statistics.family import mic, mice, micr

__all__ = [
    "AuditBound",
    "BoundsReminder",
    "BudgetError",
    "DependencyError",
    "DpmicError",
    "Grid",
    "InputError",
    "Ledger",
    "LedgerError",
    "ParameterError",
    "RefusedValueError",
    "Release",
    "Score",
    "__version__",
    "audit",
    "mic",
    "mic_star",
    "mice",
    "micr",
    "privacy",
    "release",
    "sensitivity",
]

# Where each name lives; a module stands for itself.
_HOME = {
    "AuditBound": "results",
    "BoundsReminder": "errors",
    "BudgetError": "errors",
    "DependencyError": "errors",
    "DpmicError": "errors",
    "Grid": "results",
    "InputError": "errors",
    "Ledger": "privacy.ledger",
    "LedgerError": "errors",
    "ParameterError": "errors",
    "RefusedValueError": "errors",
    "Release": "results",
    "Score": "results",
    "audit": "privacy.audit",
    "mic": "statistics.family",
    "mic_star": "evaluation.population",
    "mice": "statistics.family",
    "micr": "statistics.family",
    "release": "privacy.release",
}
_MODULES = {"privacy": "dpmic.privacy", "sensitivity": "dpmic.privacy.sensitivity"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import dpmic`` stays quick."""
    if name == "__version__":
        from importlib.metadata import version

        return version("dpmic")
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOME:
        raise AttributeError(f"module 'dpmic' has no attribute {name!r}")
    return getattr(importlib.import_module(f"dpmic.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
