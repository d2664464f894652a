"""``dpmic screen``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dpmic.cli import _options as o
from dpmic.cli import answers, inputs
from dpmic.cli._output import Delivery
from dpmic.cli.spending import Consent
from dpmic.errors import ParameterError

__all__ = ["EXAMPLE", "screen"]

EXAMPLE = (
    "dpmic screen survey.csv --bounds-file bounds.toml --epsilon 1 --top 5 "
    "--one-row-per-person --ledger people.ledger --dataset 2026 --report report.html"
)


def screen(
    file: o.File,
    epsilon: o.Epsilon,
    bounds: o.Bounds = None,
    bounds_file: o.BoundsFile = None,
    top: Annotated[
        int | None, typer.Option(min=1, help="Choose so many pairs, the strongest.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Publish every pair instead; the noise is larger.")
    ] = False,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Only pairs with this column.")
    ] = None,
    split: Annotated[
        float | None, typer.Option(help="The share of epsilon for the choice.")
    ] = None,
    delta: Annotated[float, typer.Option(help="With --all, for less noise.")] = 0.0,
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
    """Publish the strongest pairs of columns privately.

    The columns that have bounds take part. The plan is shown, and nothing is spent before you
    agree.
    """
    out = Delivery.planned(as_json, as_csv, report, overwrite, (file, bounds_file, ledger))
    own = _own(top, every, split, delta)
    ends = inputs.bounds(bounds, bounds_file)
    if not ends:
        raise ParameterError(
            "--bounds", "the columns that take part need them", "add --bounds age=0:120 for each"
        )
    consent = Consent.sought(one_row, person, rows, (ledger, dataset, name), yes)
    asked: dict[str, Any] = {
        "bounds": ends,
        "epsilon": epsilon,
        "target": target,
        "person": consent.unit.person,
        "rows_per_person": consent.unit.rows,
        "allow_large_epsilon": allow_large_epsilon,
        "allow_noisy": allow_noisy,
        **own,
    }
    table = inputs.read(file, list(ends), person=consent.unit.person, private=True)
    _publish(out, consent, table, asked, estimate)


def _own(top: int | None, every: bool, split: float | None, delta: float) -> dict[str, Any]:
    """Return the options of a choice, or those of all pairs."""
    if every == (top is not None):
        raise ParameterError(
            "--top, --all", "one of both is needed", "pass --top 5, or --all for every pair"
        )
    if every and split is not None:
        raise ParameterError("--split", "with --all nothing is chosen", "leave it out")
    if delta and not every:
        raise ParameterError("--delta", "a choice needs none", "leave it out, or pass --all")
    return {"delta": delta} if every else {"top": top, "split": split}


def _publish(
    out: Delivery, consent: Consent, table: Any, asked: dict[str, Any], estimate: bool
) -> None:
    from dpmic.privacy import preview
    from dpmic.privacy.pairwise import release_pairwise
    from dpmic.privacy.screen import screen

    if "top" in asked:
        view = preview.screen(table, **asked)
        what = f"{view.values} of {view.candidates} pairs, chosen privately, with their MIC"
    else:
        view = preview.matrix(table, **asked)
        what = f"the MIC of all {view.values} pairs"
    consent.ask(view, what)
    publish: Any = screen if "top" in asked else release_pairwise
    consent.publish(
        out,
        "publishing",
        lambda: publish(table, **consent.charged, **asked),
        lambda result: answers.pairs(result, estimate),
        estimate,
    )
