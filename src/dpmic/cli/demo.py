"""``dpmic demo``: a real survey of a sensitive kind, with bounds from its documentation.

``statsmodels.datasets.fair`` documents the answers; no bound below was taken from the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpmic._progress import working
from dpmic.cli import _answers, _output
from dpmic.cli._output import Delivery
from dpmic.errors import DependencyError

if TYPE_CHECKING:
    import pandas

    from dpmic.results import Screening

EXAMPLE = "dpmic demo"

EPSILON, TOP = 1.0, 5

BOUNDS = {
    "rate_marriage": (1, 5),
    "age": (16, 50),
    "yrs_married": (0, 30),
    "children": (0, 6),
    "religious": (1, 4),
    "educ": (8, 20),
    "occupation": (1, 6),
    "occupation_husb": (1, 6),
    "affairs": (0, 12),
}
"""What each answer can mean. Values outside are counted as the nearest bound."""

NAMES = {
    "rate_marriage": "marriage rating",
    "yrs_married": "years married",
    "religious": "religiousness",
    "educ": "education",
    "occupation_husb": "husband's occupation",
}
"""What answers are called for people to read, where that differs."""

MEANINGS = {
    "marriage rating": "1 = very poor to 5 = very good",
    "age": "in years; readers of a women's magazine, in their first marriage",
    "years married": "the range follows from the ages",
    "children": "0 to 4; 5.5 stands for 5 or more",
    "religiousness": "1 = not to 4 = strongly",
    "education": "in years: 9 = grade school to 20 = advanced degree",
    "occupation": "1 = student to 6 = professional with advanced degree",
    "husband's occupation": "the same answers",
    "affairs": "time spent in affairs, a yearly rate; above 12 (once a month) counts as 12",
}
"""What the answers mean, from the survey's documentation."""

PUBLIC = (
    "the data are public: a magazine's survey of 1974 without names, published with an article "
    "by R. C. Fair in 1978 and shipped with statsmodels"
)


def demo(
    report: Annotated[
        Path, typer.Option(metavar="HTML", help="The page; an earlier one is replaced.")
    ] = Path("demo.html"),
) -> None:
    """Screen a real survey privately, with a report.

    6,366 women on marriage and affairs; epsilon 1, the five strongest of 36 pairs.
    """
    from dpmic.privacy.query import without_reminder
    from dpmic.privacy.screen import screen

    out = Delivery(report=report, overwrite=True)
    out.check()
    table = fair_survey().rename(columns=NAMES)
    bounds = {NAMES.get(own, own): ends for own, ends in BOUNDS.items()}
    _output.say(
        f"Fair's survey of marriages (1974, shipped with statsmodels): {len(table):,} women, "
        f"one row each, {len(table.columns)} answers.\n"
        "Bounds are what the questions allow, written down in dpmic/cli/demo.py; no data was used."
    )
    with working("screening"), without_reminder():
        result = screen(table, bounds=bounds, epsilon=EPSILON, top=TOP, mechanism="capped-laplace")
        exact = exact_values(table, bounds, result)

    def page() -> str:
        from dpmic.report.demonstration import demonstration

        return demonstration(
            result,
            exact,
            reason=PUBLIC,
            columns=MEANINGS,
            title="Fair's survey, screened privately",
            command="dpmic demo",
        )

    out.give(_answers.demonstrated(result, exact), page)
    _output.say("Next: dpmic init yourtable.csv")


def exact_values(
    table: pandas.DataFrame, bounds: Mapping[str, tuple[float, float]], result: Screening
) -> dict[tuple[str, str], float]:
    """Return what the selected pairs score without noise, which only public data may show."""
    from dpmic.statistics.family import micc

    own = {name: result.parameters[name] for name in ("cap", "axes")}
    return {
        (x, y): micc(x, y, data=table, bounds=(bounds[x], bounds[y]), **own).mic
        for x, y in result.pairs
    }


def fair_survey() -> pandas.DataFrame:
    """Return R. C. Fair's survey of 1974: 6,366 married women, one row each, nine answers."""
    try:
        from statsmodels.datasets import fair
    except ImportError:
        raise DependencyError(
            "statsmodels", "the demo's table ships inside it", "pip install 'dpmic[demo]'"
        ) from None
    return fair.load_pandas().data
