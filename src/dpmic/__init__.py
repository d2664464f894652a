"""Score dependence between the columns of a table, with or without differential privacy."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpmic import compat, feature_selection, privacy, report
    from dpmic.all_pairs.pairwise import cross, pairwise
    from dpmic.all_pairs.significance import independence_test
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
        UnreadableError,
    )
    from dpmic.job import Job
    from dpmic.privacy import sensitivity
    from dpmic.privacy.audit import audit
    from dpmic.privacy.bounds import estimate_bounds
    from dpmic.privacy.independence import release_test
    from dpmic.privacy.ledger import Ledger
    from dpmic.privacy.pairwise import release_pairwise
    from dpmic.privacy.plan import plan
    from dpmic.privacy.release import release
    from dpmic.privacy.screen import screen
    from dpmic.results import (
        AuditBound,
        BoundsEstimate,
        CappedScore,
        Grid,
        Groups,
        HistogramRelease,
        IndependenceRelease,
        IndependenceTest,
        Pairwise,
        PairwiseRelease,
        Plan,
        Release,
        Score,
        Screening,
        TablePlan,
    )
    from dpmic.statistics.count_table import CountTable
    from dpmic.statistics.family import mic, micc, mice, micr
    from dpmic.statistics.population import mic_star

__all__ = [
    "AuditBound",
    "BoundsEstimate",
    "BoundsReminder",
    "BudgetError",
    "CappedScore",
    "CountTable",
    "DependencyError",
    "DpmicError",
    "Grid",
    "Groups",
    "HistogramRelease",
    "IndependenceRelease",
    "IndependenceTest",
    "InputError",
    "Job",
    "Ledger",
    "LedgerError",
    "NoiseWarning",
    "Pairwise",
    "PairwiseRelease",
    "ParameterError",
    "Plan",
    "RefusedValueError",
    "Release",
    "Score",
    "Screening",
    "TablePlan",
    "UnreadableError",
    "__version__",
    "audit",
    "compat",
    "cross",
    "estimate_bounds",
    "feature_selection",
    "independence_test",
    "mic",
    "mic_star",
    "micc",
    "mice",
    "micr",
    "pairwise",
    "plan",
    "privacy",
    "release",
    "release_pairwise",
    "release_test",
    "report",
    "screen",
    "sensitivity",
]

# Where each name lives; a module stands for itself.
_HOME = {
    "AuditBound": "results",
    "BoundsEstimate": "results",
    "BoundsReminder": "errors",
    "BudgetError": "errors",
    "CappedScore": "results",
    "CountTable": "statistics.count_table",
    "DependencyError": "errors",
    "DpmicError": "errors",
    "Grid": "results",
    "Groups": "results",
    "HistogramRelease": "results",
    "IndependenceRelease": "results",
    "IndependenceTest": "results",
    "InputError": "errors",
    "Job": "job",
    "Ledger": "privacy.ledger",
    "LedgerError": "errors",
    "NoiseWarning": "errors",
    "Pairwise": "results",
    "PairwiseRelease": "results",
    "ParameterError": "errors",
    "Plan": "results",
    "RefusedValueError": "errors",
    "Release": "results",
    "Score": "results",
    "Screening": "results",
    "TablePlan": "results",
    "UnreadableError": "errors",
    "audit": "privacy.audit",
    "cross": "all_pairs.pairwise",
    "estimate_bounds": "privacy.bounds",
    "independence_test": "all_pairs.significance",
    "mic": "statistics.family",
    "mic_star": "statistics.population",
    "micc": "statistics.family",
    "mice": "statistics.family",
    "micr": "statistics.family",
    "pairwise": "all_pairs.pairwise",
    "plan": "privacy.plan",
    "release": "privacy.release",
    "release_pairwise": "privacy.pairwise",
    "release_test": "privacy.independence",
    "screen": "privacy.screen",
}
_MODULES = {
    "compat": "dpmic.compat",
    "feature_selection": "dpmic.feature_selection",
    "privacy": "dpmic.privacy",
    "report": "dpmic.report",
    "sensitivity": "dpmic.privacy.sensitivity",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import dpmic`` stays fast."""
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("dpmic")
        except PackageNotFoundError:  # a copy of the package without its installation
            return "unknown"
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOME:
        raise AttributeError(f"module 'dpmic' has no attribute {name!r}")
    found = getattr(importlib.import_module(f"dpmic.{_HOME[name]}"), name)
    globals()[name] = found  # not asked for again
    return found


def __dir__() -> list[str]:
    return __all__
