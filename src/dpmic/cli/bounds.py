"""``dpmic bounds``."""

from __future__ import annotations

from typing import Annotated

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
    coverage: Annotated[
        float, typer.Option(help="The share of records that should lie inside.")
    ] = 0.99,
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
    from dpmic.privacy.bounds import prepare

    out = Delivery.planned(as_json, as_csv, None, False)
    consent = Consent.sought(
        one_row,
        person,
        rows,
        (ledger, dataset, name),
        yes,
        epsilon=epsilon,
        allow_large_epsilon=allow_large_epsilon,
    )
    table = inputs.read(file, [column], person=consent.terms.person, private=True)
    query = prepare(column, consent.terms, data=table, coverage=coverage, failure=failure)
    consent.publish(out, "searching", query, answers.bounds)
