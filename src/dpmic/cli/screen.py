"""``dpmic screen``: the strongest pairs of a table, with privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpmic.cli import _answers, _inputs
from dpmic.cli import _options as o
from dpmic.cli._output import Delivery
from dpmic.cli._spending import Consent, expected_error
from dpmic.errors import ParameterError

if TYPE_CHECKING:
    from dpmic.privacy.query import Terms

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
        int | None, typer.Option(min=1, help="Publish this many pairs, the strongest.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Publish every pair instead, with more noise.")
    ] = False,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Consider only pairs with this column.")
    ] = None,
    split: Annotated[
        float | None, typer.Option(help="The share of epsilon spent on the selection.")
    ] = None,
    delta: Annotated[
        float, typer.Option(help="With --all: allow this delta, for less noise.")
    ] = 0.0,
    axes: o.AxesOption = None,
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
    """Publish the strongest pairs with differential privacy.

    Considers the columns that have bounds or categories. Shows the plan first. Nothing is spent
    before you agree.
    """
    out.check(file, bounds_file, account.ledger)
    grouping.check(estimate)
    own = _own(top, every, split, delta)
    ends = _inputs.bounds(bounds, bounds_file)
    which = {**records.terms, **grouping.terms}
    if not ends and not which["categories"]:
        raise ParameterError(
            "--bounds",
            "no column has bounds or categories",
            "add --bounds age=0:120 or --categories ward=a,b for each column to score",
        )
    if every and grouping.by is not None:
        raise ParameterError("--by", "groups need --top", "pass --top 5 instead of --all")
    consent = Consent.sought(unit, account, yes, epsilon=epsilon, allow_noisy=allow_noisy, **which)
    table = _inputs.private(file, ends, consent.terms, written, counts=axes is not o.Axes.wide)
    shared = {"bounds": ends, "target": target, "axes": axes and axes.value}
    query = _query(table, consent.terms, {**shared, **own})
    consent.publish(
        out,
        "publishing",
        query,
        _answers.groups if grouping.by else lambda result: _answers.pairs(result, estimate),
        expected={} if split or axes or grouping.by else expected_of(query, top, delta),
        estimate=estimate,
    )


def _own(top: int | None, every: bool, split: float | None, delta: float) -> dict[str, Any]:
    """Return the options of a selection, or those of all pairs."""
    if every == (top is not None):
        raise ParameterError(
            "--top, --all", "exactly one of the two is needed", "pass --top K or --all"
        )
    if every and split is not None:
        raise ParameterError("--split", "with --all nothing is selected", "leave it out")
    if delta and not every:
        raise ParameterError("--delta", "a selection needs none", "leave it out, or pass --all")
    return {"delta": delta} if every else {"top": top, "split": split}


def expected_of(query: Any, top: int | None, delta: float) -> dict[str, str]:
    """Return the expected error of the values, and the chance to select a strong pair."""
    from dpmic.privacy.plan import plan

    terms, candidates = query.terms, len(query.table.pairs)
    planned = plan(
        query.setting.size.least,
        terms.epsilon,
        candidates=candidates,
        top=top,
        delta=delta,
        rows_per_person=terms.rows_per_person,
        allow_large_epsilon=True,
    )
    if planned.mechanism != query.mechanism.name:  # of a source that is read only once
        return {}
    shown = expected_error(planned.error, planned.error_upper)
    if planned.selection_epsilon:  # else every pair is published
        shown.update([planned.chance_sentence()])
    return shown


def _query(table: Any, terms: Terms, options: dict[str, Any]) -> Any:
    """Prepare a selection of pairs, or all of them."""
    from dpmic.privacy import pairwise, screen

    if "top" in options:
        return screen.prepare(table, terms, **options)
    return pairwise.prepare(table, terms, **options)
