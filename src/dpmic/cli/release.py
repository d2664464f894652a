"""``dpmic release``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from dpmic.cli import _options as o
from dpmic.cli import answers, inputs
from dpmic.cli._output import Delivery
from dpmic.cli.spending import Consent
from dpmic.errors import ParameterError

__all__ = ["EXAMPLE", "Mechanism", "release"]

EXAMPLE = (
    "dpmic release survey.csv age income --epsilon 1 --one-row-per-person "
    "--bounds age=0:120 --bounds income=0:200000 --ledger people.ledger --dataset 2026"
)

Mechanism = StrEnum(
    "Mechanism",
    {
        "micr_laplace": "micr-laplace",
        "mice_laplace": "mice-laplace",
        "micr_geometric": "micr-geometric",
    },
)
Chosen = Annotated[
    Mechanism,
    typer.Option(help="mice-laplace needs no bounds; micr-geometric gives a noisy histogram."),
]


def release(
    file: o.File,
    x: o.X,
    y: o.Y,
    epsilon: o.Epsilon,
    bounds: o.Bounds = None,
    bounds_file: o.BoundsFile = None,
    mechanism: Chosen = Mechanism.micr_laplace,
    cells: o.Cells = None,
    c: Annotated[float | None, typer.Option(help="Master parts for each part.")] = None,
    one_row: o.OneRow = False,
    person: o.Person = None,
    rows: o.Rows = None,
    ledger: o.LedgerFile = None,
    dataset: o.Dataset = None,
    name: o.Name = None,
    allow_large_epsilon: o.AllowLarge = False,
    allow_noisy: o.AllowNoisy = False,
    estimate: o.Estimate = False,
    yes: o.Yes = False,
    as_json: o.AsJson = False,
    as_csv: o.AsCsv = False,
    report: o.Report = None,
    overwrite: o.Overwrite = False,
) -> None:
    """Publish the dependence of two columns privately.

    The plan is shown, and nothing is spent before you agree.
    """
    from dpmic.privacy import preview
    from dpmic.privacy.release import release

    out = Delivery.planned(as_json, as_csv, report, overwrite, (file, bounds_file, ledger))
    ends = None
    if mechanism is not Mechanism.mice_laplace:
        ends = inputs.bounds_of_pair(bounds, bounds_file, x, y)
    elif bounds:
        raise ParameterError("--bounds", f"{mechanism} uses none", "leave them out")
    consent = Consent.sought(one_row, person, rows, (ledger, dataset, name), yes)
    table = inputs.read(file, [x, y], person=consent.unit.person, private=True)
    asked: dict[str, Any] = {
        "data": table,
        "epsilon": epsilon,
        "bounds": ends,
        "mechanism": mechanism.value,
        "person": consent.unit.person,
        "rows_per_person": consent.unit.rows,
        "allow_large_epsilon": allow_large_epsilon,
        "allow_noisy": allow_noisy,
        **{key: value for key, value in (("B", cells), ("c", c)) if value is not None},
    }
    view = preview.release(x, y, **asked)
    expected = _expected(mechanism, view.n, asked) if cells is None and c is None else None
    consent.ask(view, f"the dependence of {x} and {y}, by {mechanism}", expected)
    consent.publish(
        out,
        "publishing",
        lambda: release(x, y, **consent.charged, **asked),
        lambda result: answers.release(result, estimate),
        estimate,
    )


def _expected(mechanism: Mechanism, n: int, asked: dict[str, Any]) -> str | None:
    """Return how far the value would be from MIC*, where simulations tell."""
    from dpmic.privacy.plan import plan

    loss = {name: asked[name] for name in ("epsilon", "rows_per_person", "allow_large_epsilon")}
    try:
        row = plan(n, **loss)[mechanism]
    except ParameterError:
        return None
    if row.value is None:
        return None
    return f"{row.value:.2g} from MIC* on average, at most {row.value_upper:.2g} in 90% of cases"
