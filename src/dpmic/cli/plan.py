"""``dpmic plan`` and ``dpmic audit``: the expected error, and an attack on the guarantee."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from dpmic._progress import working
from dpmic.cli import _answers, _output
from dpmic.cli import _options as o
from dpmic.cli._output import Printing
from dpmic.cli.release import Mechanism
from dpmic.errors import ParameterError

EXAMPLE = (
    "dpmic plan --n 5000 --epsilon 1, dpmic plan --epsilon 1 --error 0.05, or "
    "dpmic plan --n 5000 --epsilon 1 --columns 9 --top 5"
)
EXAMPLE_AUDIT = "dpmic audit micr-laplace --epsilon 1 --runs 10000"

Of = StrEnum("Of", ["value", "estimate"])


def plan(
    n: Annotated[int | None, typer.Option("--n", help="The number of records.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="The privacy loss.")] = None,
    error: Annotated[
        float | None, typer.Option(help="The target error: expected distance from MIC*.")
    ] = None,
    candidates: Annotated[
        int | None, typer.Option(min=1, help="For dpmic screen: the number of pairs.")
    ] = None,
    columns: Annotated[
        int | None, typer.Option(min=2, help="For dpmic screen: the number of columns.")
    ] = None,
    top: Annotated[
        int | None, typer.Option(min=1, help="For dpmic screen: how many pairs to select.")
    ] = None,
    delta: Annotated[
        float, typer.Option(help="For all pairs: allow this delta, for less noise.")
    ] = 0.0,
    of: Annotated[
        Of, typer.Option(help="Error of the value, or of the estimate of MIC*.")
    ] = Of.value,
    rows: Annotated[
        int, typer.Option("--rows-per-person", min=1, help="The most rows of one person.")
    ] = 1,
    allow_large_epsilon: o.AllowLarge = False,
    *,
    out: Printing,
) -> None:
    """Show the expected error of a release before you spend anything.

    Or find the smallest n or epsilon for a target error: give exactly two of --n, --epsilon and
    --error. For dpmic screen, give --n, --epsilon, --columns or --candidates, and
    perhaps --top (without it, all pairs are published).
    """
    from dpmic.privacy.plan import plan

    out.check()
    table: dict[str, Any] = {"candidates": _pairs(candidates, columns), "top": top, "delta": delta}
    result = plan(
        n,
        epsilon,
        error=error,
        **table,
        of=of.value,
        rows_per_person=rows,
        allow_large_epsilon=allow_large_epsilon,
    )
    _output.show(_answers.plan(result), out.form)


def _pairs(candidates: int | None, columns: int | None) -> int | None:
    """Return the number of pairs, given directly or by the number of columns."""
    if columns is None:
        return candidates
    if candidates is not None:
        raise ParameterError(
            "--candidates, --columns", "both give the number of pairs", "pass one of the two"
        )
    return columns * (columns - 1) // 2


def audit(
    mechanism: Annotated[Mechanism, typer.Argument(help="The mechanism to attack.")],
    epsilon: o.Epsilon = 1.0,
    n: Annotated[int, typer.Option("--n", help="Records in each dataset of the attack.")] = 25,
    runs: Annotated[int, typer.Option(help="Runs on each of the two datasets.")] = 100_000,
    confidence: Annotated[float, typer.Option(help="The confidence level of the bound.")] = 0.999,
    *,
    out: Printing,
) -> None:
    """Attack a mechanism and try to disprove its epsilon.

    Runs the mechanism many times on two artificial datasets that differ in one record, which
    takes about a minute. The result is a lower bound on epsilon: it can disprove the claim, but
    never prove it. The exit code is 1 if the claim is disproved.
    """
    from dpmic.privacy.audit import audit
    from dpmic.privacy.release import MECHANISMS, default_for

    out.check()
    options: dict[str, Any] = {"epsilon": epsilon}
    if mechanism is not Mechanism.mice_laplace:
        options["bounds"] = ((0, 1), (0, 1))
    automatic = mechanism is Mechanism.auto
    attacked = MECHANISMS[default_for(n, epsilon) if automatic else mechanism.value](**options)
    with working("attacking"):
        result = audit(attacked, n=n, runs=runs, confidence=confidence)
    _output.show(_answers.audit(result), out.form)
    if result.disproved:
        raise typer.Exit(1)
