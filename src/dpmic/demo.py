"""The table of the demo: a real survey of a sensitive kind, and bounds from its documentation.

``statsmodels.datasets.fair`` documents the answers; no bound below was taken from the data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmic.errors import DependencyError

if TYPE_CHECKING:
    import pandas

__all__ = ["BOUNDS", "EPSILON", "TOP", "fair_survey"]

EPSILON, TOP = 1.0, 5

BOUNDS = {
    "rate_marriage": (1, 5),  # the answers: 1 = very poor to 5 = very good
    "age": (16, 50),  # readers of a women's magazine in 1974, in their first marriage
    "yrs_married": (0, 30),  # follows from the ages
    "children": (0, 6),  # six or more are counted as six
    "religious": (1, 4),  # the answers: 1 = not to 4 = strongly
    "educ": (8, 20),  # in years of school: 9 = grade school to 20 = advanced degree
    "occupation": (1, 6),  # the answers: 1 = student to 6 = professional with advanced degree
    "occupation_husb": (1, 6),  # the same answers
    "affairs": (0, 12),  # a rate of time in a year: once a month; what is more counts as that
}
"""What each answer can mean. Values outside are counted as the nearest bound."""


def fair_survey() -> pandas.DataFrame:
    """Return R. C. Fair's survey of 1974: 6,366 married women, one row each, nine answers."""
    try:
        from statsmodels.datasets import fair
    except ImportError:
        raise DependencyError(
            "statsmodels", "the demo's table ships inside it", "pip install 'dpmic[demo]'"
        ) from None
    return fair.load_pandas().data
