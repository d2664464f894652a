"""What the library hands back: frozen, without data, ready to print, pickle or write as JSON."""

from dpmic.results.audit import AuditBound
from dpmic.results.bounds_estimate import BoundsEstimate
from dpmic.results.histogram_release import HistogramRelease
from dpmic.results.independence import IndependenceRelease
from dpmic.results.independence_test import IndependenceTest
from dpmic.results.pairwise import Pairwise
from dpmic.results.pairwise_release import PairwiseRelease
from dpmic.results.plan import Plan
from dpmic.results.release import Release
from dpmic.results.score import Grid, Score
from dpmic.results.screening import Screening

__all__ = [
    "AuditBound",
    "BoundsEstimate",
    "Grid",
    "HistogramRelease",
    "IndependenceRelease",
    "IndependenceTest",
    "Pairwise",
    "PairwiseRelease",
    "Plan",
    "Release",
    "Score",
    "Screening",
]
