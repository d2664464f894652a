"""What the library hands back: frozen, without data, ready to print, pickle or write as JSON."""

from dpmic.results.audit import AuditBound
from dpmic.results.release import Release
from dpmic.results.score import Grid, Score

__all__ = ["AuditBound", "Grid", "Release", "Score"]
