"""The main job on a real table: score every pair of columns of a survey."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from dpmic import frames
from dpmic.errors import DependencyError
from dpmic.statistics.family import mice

if TYPE_CHECKING:
    import pandas

    from dpmic.results import Score

__all__ = ["fair_survey", "score_every_pair"]


def fair_survey() -> pandas.DataFrame:
    """Return R. C. Fair's survey of 1974: 6,366 married women, one row each, nine answers."""
    try:
        from statsmodels.datasets import fair
    except ImportError:
        raise DependencyError(
            "statsmodels", "the demo's table ships inside it", "pip install 'dpmic[demo]'"
        ) from None
    return fair.load_pandas().data


def score_every_pair(data: pandas.DataFrame) -> list[tuple[str, str, Score]]:
    """Score each pair of columns, the strongest first."""
    columns = frames.table(data)
    scored = [(x, y, mice(columns[x], columns[y])) for x, y in combinations(columns, 2)]
    return sorted(scored, key=lambda row: row[2].mic, reverse=True)
