"""``dpmic demo``: a real survey of a sensitive kind, with bounds from its documentation.

``statsmodels.datasets.fair`` documents the answers; no bound below was taken from the data.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpmic._progress import working
from dpmic.cli import _answers, _output
from dpmic.cli._output import Delivery
from dpmic.errors import DependencyError

if TYPE_CHECKING:
    import pandas

EXAMPLE = "dpmic demo"

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


def demo(
    report: Annotated[
        Path, typer.Option(metavar="HTML", help="The page; an earlier one is replaced.")
    ] = Path("demo.html"),
) -> None:
    """Screen a real survey privately, with a report.

    6,366 women on marriage and affairs; epsilon 1, the five strongest of 36 pairs.
    """
    from dpmic.privacy.screen import screen

    out = Delivery(report=report, overwrite=True)
    out.check()
    table = fair_survey()
    _output.say(
        f"Fair's survey of marriages (1974, shipped with statsmodels): {len(table):,} women, "
        f"one row each, {len(table.columns)} answers.\n"
        "Bounds are what the questions allow, written down in dpmic/cli/demo.py; no data was used."
    )
    with working("screening"):
        result = screen(table, bounds=BOUNDS, epsilon=EPSILON, top=TOP)

    def page() -> str:
        from dpmic.report import page

        return page(result, title="Fair's survey, screened privately", command="dpmic demo")

    out.give(_answers.pairs(result), page)
    _output.say("Next: dpmic screen --help")


def fair_survey() -> pandas.DataFrame:
    """Return R. C. Fair's survey of 1974: 6,366 married women, one row each, nine answers."""
    try:
        from statsmodels.datasets import fair
    except ImportError:
        raise DependencyError(
            "statsmodels", "the demo's table ships inside it", "pip install 'dpmic[demo]'"
        ) from None
    return fair.load_pandas().data
