"""``dpmic demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpmic._progress import working
from dpmic.cli import answers, printing
from dpmic.cli.delivery import Delivery

__all__ = ["EXAMPLE", "demo"]

EXAMPLE = "dpmic demo"


def demo(
    report: Annotated[
        Path, typer.Option(metavar="HTML", help="The page; an earlier one is replaced.")
    ] = Path("demo.html"),
) -> None:
    """Screen a real survey privately, with a report.

    6,366 women on marriage and affairs; epsilon 1, the five strongest of 36 pairs.
    """
    from dpmic.demo import BOUNDS, EPSILON, TOP, fair_survey
    from dpmic.privacy.screen import screen

    out = Delivery.planned(False, False, report, overwrite=True)
    table = fair_survey()
    printing.say(
        f"Fair's survey of marriages (1974, shipped with statsmodels): {len(table):,} women, "
        f"one row each, {len(table.columns)} answers.\n"
        "Bounds are what the questions allow, written down in dpmic/demo.py; no data was used."
    )
    with working("screening"):
        result = screen(table, bounds=BOUNDS, epsilon=EPSILON, top=TOP)

    def page() -> str:
        from dpmic.report import page

        return page(result, title="Fair's survey, screened privately", command="dpmic demo")

    out.give(answers.pairs(result), page)
    printing.say("Next: dpmic screen --help")
