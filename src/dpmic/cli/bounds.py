"""``dpmic bounds``."""

from __future__ import annotations

from typing import Annotated

import typer

from dpmic.cli import _options as o
from dpmic.cli import answers, inputs
from dpmic.cli._output import Printing
from dpmic.cli.spending import Consent

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
    *,
    unit: o.Unit,
    account: o.Account,
    yes: o.Yes = False,
    out: Printing,
) -> None:
    """Find a range of a column privately.

    For columns of which nobody knows one: bounds from what a column means are better and cost
    nothing.
    """
    from dpmic.privacy.bounds import prepare

    out.check()
    consent = Consent.sought(unit, account, yes, epsilon=epsilon)
    table = inputs.read(file, [column], person=consent.terms.person, private=True)
    query = prepare(column, consent.terms, data=table, coverage=coverage, failure=failure)
    consent.publish(out, "searching", query, answers.bounds)
