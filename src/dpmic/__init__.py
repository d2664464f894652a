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
        NoiseWarning,
        ParameterError,
        RefusedValueError,
    )
    from dpmic.evaluation.population import mic_star
    from dpmic.privacy import sensitivity
    from dpmic.privacy.audit import audit
    from dpmic.privacy.bounds import estimate_bounds
    from dpmic.privacy.ledger import Ledger
    from dpmic.privacy.pairwise import release_pairwise
    from dpmic.privacy.plan import plan
    from dpmic.privacy.release import release
    from dpmic.privacy.screen import screen
    from dpmic.privacy.testing import release_test
    from dpmic.results import (
        AuditBound,
        BoundsEstimate,
        Grid,
        HistogramRelease,
        IndependenceRelease,
        PairwiseRelease,
        Plan,
        Release,
        Score,
        Screening,
    )
    from dpmic.statistics.family import mic, mice, micr

__all__ = [
    "AuditBound",
    "BoundsEstimate",
    "BoundsReminder",
    "BudgetError",
    "DependencyError",
    "DpmicError",
    "Grid",
    "HistogramRelease",
    "IndependenceRelease",
    "InputError",
    "Ledger",
    "LedgerError",
    "NoiseWarning",
    "PairwiseRelease",
    "ParameterError",
    "Plan",
    "RefusedValueError",
    "Release",
    "Score",
    "Screening",
    "__version__",
    "audit",
    "estimate_bounds",
    "mic",
    "mic_star",
    "mice",
    "micr",
    "plan",
    "privacy",
    "release",
    "release_pairwise",
    "release_test",
    "screen",
    "sensitivity",
]

# Where each name lives; a module stands for itself.
_HOME = {
    "AuditBound": "results",
    "BoundsEstimate": "results",
    "BoundsReminder": "errors",
    "BudgetError": "errors",
    "DependencyError": "errors",
    "DpmicError": "errors",
    "Grid": "results",
    "HistogramRelease": "results",
    "IndependenceRelease": "results",
    "InputError": "errors",
    "Ledger": "privacy.ledger",
    "LedgerError": "errors",
    "NoiseWarning": "errors",
    "PairwiseRelease": "results",
    "ParameterError": "errors",
    "Plan": "results",
    "RefusedValueError": "errors",
    "Release": "results",
    "Score": "results",
    "Screening": "results",
    "audit": "privacy.audit",
    "estimate_bounds": "privacy.bounds",
    "mic": "statistics.family",
    "mic_star": "evaluation.population",
    "mice": "statistics.family",
    "micr": "statistics.family",
    "plan": "privacy.plan",
    "release": "privacy.release",
    "release_pairwise": "privacy.pairwise",
    "release_test": "privacy.testing",
    "screen": "privacy.screen",
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
