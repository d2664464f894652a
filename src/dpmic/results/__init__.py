"""What calls return: frozen, without data, ready to print, pickle or write as JSON."""

from dpmic.results._base import Fact, Result
from dpmic.results._published import PrivacyUnit, Published, PublishedPair
from dpmic.results.audit import AuditBound
from dpmic.results.bounds import BoundsEstimate
from dpmic.results.groups import Groups
from dpmic.results.independence import IndependenceRelease, IndependenceTest
from dpmic.results.pairwise import Pairing, Pairwise
from dpmic.results.plan import Expected, Plan, TablePlan
from dpmic.results.release import HistogramRelease, Release
from dpmic.results.score import CappedScore, Grid, MineStatistics, Score
from dpmic.results.screening import PairwiseRelease, ScoredPairs, Screening

__all__ = [
    "AuditBound",
    "BoundsEstimate",
    "CappedScore",
    "Expected",
    "Fact",
    "Grid",
    "Groups",
    "HistogramRelease",
    "IndependenceRelease",
    "IndependenceTest",
    "MineStatistics",
    "Pairing",
    "Pairwise",
    "PairwiseRelease",
    "Plan",
    "PrivacyUnit",
    "Published",
    "PublishedPair",
    "Release",
    "Result",
    "Score",
    "ScoredPairs",
    "Screening",
    "TablePlan",
]
