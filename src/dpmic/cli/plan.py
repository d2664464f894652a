"""``dpmic plan`` and ``dpmic audit``: what to expect, and an attack on a promise."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from dpmic._progress import working
from dpmic.cli import _answers, _output
from dpmic.cli import _options as o
from dpmic.cli._output import Printing
from dpmic.cli.release import Mechanism

EXAMPLE = "dpmic plan --n 5000 --epsilon 1, or dpmic plan --epsilon 1 --error 0.05"
EXAMPLE_AUDIT = "dpmic audit micr-laplace --epsilon 1 --runs 10000"

Of = StrEnum("Of", ["value", "estimate"])


def plan(
    n: Annotated[int | None, typer.Option("--n", help="The number of records.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="The privacy loss.")] = None,
    error: Annotated[float | None, typer.Option(help="The target distance from MIC*.")] = None,
    of: Annotated[Of, typer.Option(help="Of which number --error speaks.")] = Of.value,
    rows: Annotated[
        int, typer.Option("--rows-per-person", min=1, help="At most so many rows of a person.")
    ] = 1,
    allow_large_epsilon: o.AllowLarge = False,
    *,
    out: Printing,
) -> None:
    """Tell the expected error of a release beforehand.

    Or the smallest n or epsilon that reaches a target error. Nothing is spent.

    Give exactly two of --n, --epsilon and --error.
    """
    from dpmic.privacy.plan import plan

    out.check()
    result = plan(
        n,
        epsilon,
        error=error,
        of=of.value,
        rows_per_person=rows,
        allow_large_epsilon=allow_large_epsilon,
    )
    _output.show(_answers.plan(result), out.form)


def audit(
    mechanism: Annotated[Mechanism, typer.Argument(help="Which of ours to attack.")],
    epsilon: o.Epsilon = 1.0,
    n: Annotated[int, typer.Option("--n", help="Records in the made datasets.")] = 25,
    runs: Annotated[int, typer.Option(help="On each of two datasets.")] = 100_000,
    confidence: Annotated[float, typer.Option(help="That the bound is true.")] = 0.999,
    *,
    out: Printing,
) -> None:
    """Attack a mechanism, to disprove its epsilon.

    It is run many times on two made datasets that differ in one record, which takes a minute.
    The result is a lower bound on epsilon: it can disprove a claim, never prove one.

    The exit code is 1 if the claim is disproved.
    """
    from dpmic.privacy.audit import audit
    from dpmic.privacy.release import MECHANISMS

    out.check()
    options: dict[str, Any] = {"epsilon": epsilon}
    if mechanism is not Mechanism.mice_laplace:
        options["bounds"] = ((0, 1), (0, 1))
    attacked = MECHANISMS[mechanism.value](**options)
    with working("attacking"):
        result = audit(attacked, n=n, runs=runs, confidence=confidence)
    _output.show(_answers.audit(result), out.form)
    if result.disproved:
        raise typer.Exit(1)
