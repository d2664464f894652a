"""``dpmic bounds``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dpmic.cli import _options as o
from dpmic.cli import answers, inputs
from dpmic.cli._output import Delivery
from dpmic.cli.spending import Consent

__all__ = ["EXAMPLE", "bounds"]

EXAMPLE = (
    "dpmic bounds payroll.csv salary --epsilon 0.1 --one-row-per-person --ledger people.ledger "
    "--dataset 2026"
)


def bounds(
    file: o.File,
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="A column's name.")],
    epsilon: o.Epsilon,
    coverage: Annotated[float, typer.Option(help="The share of records wished inside.")] = 0.99,
    failure: Annotated[
        float, typer.Option(help="How often more may lie outside than is said.")
    ] = 0.05,
    one_row: o.OneRow = False,
    person: o.Person = None,
    rows: o.Rows = None,
    ledger: o.LedgerFile = None,
    dataset: o.Dataset = None,
    name: o.Name = None,
    allow_large_epsilon: o.AllowLarge = False,
    yes: o.Yes = False,
    as_json: o.AsJson = False,
    as_csv: o.AsCsv = False,
) -> None:
    """Find a range of a column privately.

    For columns of which nobody knows one: bounds from what a column means are better and cost
    nothing.
    """
    from dpmic.privacy import preview
    from dpmic.privacy.bounds import estimate_bounds

    out = Delivery.planned(as_json, as_csv, None, False)
    consent = Consent.sought(one_row, person, rows, (ledger, dataset, name), yes)
    table = inputs.read(file, [column], person=consent.unit.person, private=True)
    asked: dict[str, Any] = {
        "data": table,
        "epsilon": epsilon,
        "person": consent.unit.person,
        "allow_large_epsilon": allow_large_epsilon,
        "coverage": coverage,
        "failure": failure,
        "rows_per_person": consent.unit.rows,
    }
    consent.ask(preview.bounds(column, **asked), f"a range of {column}")
    consent.publish(
        out,
        "searching",
        lambda: estimate_bounds(column, **consent.charged, **asked),
        answers.bounds,
    )
