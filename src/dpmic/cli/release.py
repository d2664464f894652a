"""``dpmic release`` and ``dpmic bounds``: the MIC of two columns, the range of one."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from dpmic.cli import _answers, _inputs
from dpmic.cli import _options as o
from dpmic.cli._output import Delivery, Printing
from dpmic.cli._spending import Consent, expected_error
from dpmic.errors import ParameterError, RefusedValueError

if TYPE_CHECKING:
    from dpmic.privacy.release import ReleaseQuery

EXAMPLE = (
    "dpmic release survey.csv age income --epsilon 1 --one-row-per-person "
    "--bounds age=0:120 --bounds income=0:200000 --ledger people.ledger --dataset 2026"
)
EXAMPLE_BOUNDS = (
    "dpmic bounds payroll.csv salary --epsilon 0.1 --one-row-per-person --ledger people.ledger "
    "--dataset 2026"
)

NUMBERS = (
    "if it holds dates, choose their range from domain knowledge, which is free; if it holds "
    "numbers, correct them at their source, or pass --decimal ',' if they have decimal commas"
)
"""The remedy for a column whose range cannot be found, whatever its texts are."""

Mechanism = StrEnum(
    "Mechanism",
    {
        "auto": "auto",
        "capped_laplace": "capped-laplace",
        "micr_laplace": "micr-laplace",
        "mice_laplace": "mice-laplace",
        "micr_geometric": "micr-geometric",
    },
)
Chosen = Annotated[
    Mechanism,
    typer.Option(
        help="auto: capped-laplace, or micr-laplace with --B or --c. mice-laplace needs no bounds; "
        "micr-geometric publishes a noisy histogram."
    ),
]


def release(
    file: o.File,
    x: o.X,
    y: o.Y,
    epsilon: o.Epsilon,
    bounds: o.Bounds = None,
    bounds_file: o.BoundsFile = None,
    mechanism: Chosen = Mechanism.auto,
    axes: o.AxesOption = None,
    cap: o.Cap = None,
    cells: o.Cells = None,
    c: Annotated[float | None, typer.Option(help="Candidate cuts per column of a grid.")] = None,
    *,
    written: o.Written,
    records: o.Records,
    grouping: o.Grouping,
    unit: o.Unit,
    account: o.Account,
    allow_noisy: o.AllowNoisy = False,
    estimate: o.Estimate = False,
    yes: o.Yes = False,
    out: Delivery,
) -> None:
    """Publish the MIC of two columns with differential privacy.

    Shows the plan first. Nothing is spent before you agree.
    """
    from dpmic.privacy.release import prepare

    out.check(file, bounds_file, account.ledger)
    grouping.check(estimate)
    which = {**records.terms, **grouping.terms}
    ends = None
    if mechanism is not Mechanism.mice_laplace or records.terms["missing"] == "scatter":
        numeric = [name for name in _inputs.two(x, y) if name not in (which["categories"] or ())]
        nominal = ", or --categories NAME=A,B for a nominal column"
        ends = _inputs.bounds_of(bounds, bounds_file, numeric, nominal)
    elif bounds:
        raise ParameterError("--bounds", f"{mechanism} does not use bounds", "leave them out")
    consent = Consent.sought(unit, account, yes, epsilon=epsilon, allow_noisy=allow_noisy, **which)
    # Ranks and wide axes need all records in memory; counts on fixed grids do not.
    counts = mechanism is not Mechanism.mice_laplace and axes is not o.Axes.wide
    wanted = dict.fromkeys(_inputs.two(x, y)) if ends is None else ends
    table = _inputs.private(file, wanted, consent.terms, written, counts=counts)
    given = {"axes": axes and axes.value, "cap": cap, "B": cells, "c": c}
    grids = {key: value for key, value in given.items() if value is not None}
    terms, kind = consent.terms, mechanism.value
    query = prepare(x, y, terms, data=table, bounds=ends, mechanism=kind, **grids)
    consent.publish(
        out,
        "publishing",
        query,
        _answers.groups
        if grouping.by
        else lambda result: _answers.published(result, estimate=estimate),
        expected={} if grids or grouping.by else expected_of(query),
        estimate=estimate,
    )


def expected_of(query: ReleaseQuery) -> dict[str, str]:
    """Return the expected distance of the value from MIC*, where it was simulated."""
    from dpmic.privacy.plan import plan

    terms = query.terms
    try:
        row = plan(
            query.n if query.size is None else query.size.least,
            terms.epsilon,
            rows_per_person=terms.rows_per_person,
            allow_large_epsilon=terms.allow_large_epsilon,
        )[query.mechanism.name]
    except (KeyError, ParameterError):  # not simulated
        return {}
    return expected_error(row.value, row.value_upper)


def bounds(
    file: o.File,
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="The name of a column.")],
    epsilon: o.Epsilon,
    coverage: Annotated[
        float, typer.Option(help="The share of records that should lie in the range.")
    ] = 0.99,
    failure: Annotated[
        float, typer.Option(help="The probability that more records lie outside than stated.")
    ] = 0.05,
    *,
    written: o.Written,
    unit: o.Unit,
    account: o.Account,
    yes: o.Yes = False,
    out: Printing,
) -> None:
    """Find the range of a column with differential privacy.

    Use it only if you do not know the range: bounds from domain knowledge are better, and free.
    """
    from dpmic.privacy.bounds import prepare

    out.check()
    consent = Consent.sought(unit, account, yes, epsilon=epsilon)
    try:
        table = _inputs.private(file, {column: None}, consent.terms, written, counts=False)
    except RefusedValueError as error:
        error.remedy = f"{NUMBERS}. Nothing was spent"
        raise
    query = prepare(column, consent.terms, data=table, coverage=coverage, failure=failure)
    consent.publish(out, "searching", query, _answers.bounds)
