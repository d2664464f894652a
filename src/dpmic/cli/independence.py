"""``dpmic test``: without epsilon not private, with it private."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dpmic._progress import working
from dpmic.cli import _options as o
from dpmic.cli import answers, inputs
from dpmic.cli._output import Delivery
from dpmic.cli._shell import repeated
from dpmic.cli.spending import Consent
from dpmic.errors import ParameterError

__all__ = ["EXAMPLE", "independence"]

EXAMPLE = "dpmic test survey.csv age income, or with --epsilon 1 --one-row-per-person privately"

Permutations = Annotated[int | None, typer.Option(min=1, help="To compare with; 10,000.")]
Epsilon = Annotated[
    float | None,
    typer.Option(help="Test privately, at this privacy loss."),
]
Draws = Annotated[
    int | None,
    typer.Option(help="Independent columns to compare with; 999."),
]


def independence(
    file: o.File,
    x: o.X,
    y: o.Y,
    permutations: Permutations = None,
    seed: o.Seed = None,
    missing: o.MissingOption = o.Missing.raise_,
    epsilon: Epsilon = None,
    draws: Draws = None,
    one_row: o.OneRow = False,
    person: o.Person = None,
    ledger: o.LedgerFile = None,
    dataset: o.Dataset = None,
    name: o.Name = None,
    allow_large_epsilon: o.AllowLarge = False,
    yes: o.Yes = False,
    as_json: o.AsJson = False,
    as_csv: o.AsCsv = False,
    report: o.Report = None,
    overwrite: o.Overwrite = False,
) -> None:
    """Test whether two columns are independent.

    With --epsilon under differential privacy, without it not private.
    """
    out = Delivery.planned(as_json, as_csv, report, overwrite, (file, ledger))
    public = {"--permutations": permutations, "--seed": seed}
    public["--missing drop"] = None if missing is o.Missing.raise_ else 1
    private = {"--draws": draws, "--person": person, "--ledger": ledger, "--name": name}
    private |= {"--dataset": dataset, "--one-row-per-person": one_row or None, "--yes": yes or None}
    private["--allow-large-epsilon"] = allow_large_epsilon or None
    if epsilon is None:
        _refuse(private, "only a private test has it", "add --epsilon 1, or leave it out")
        options = {"permutations": permutations or 10_000, "rng": seed, "missing": missing.value}
        _test(out, file, x, y, options)
        return
    _refuse(public, "a private test has it not", "leave it out, or leave out --epsilon")
    consent = Consent.sought(one_row, person, None, (ledger, dataset, name), yes, several=False)
    asked: dict[str, Any] = {"epsilon": epsilon, "allow_large_epsilon": allow_large_epsilon}
    asked["draws"] = 999 if draws is None else draws
    _release(out, consent, (file, x, y), asked)


def _refuse(options: dict[str, Any], reason: str, remedy: str) -> None:
    for option, value in options.items():
        if value is not None:
            raise ParameterError(option, reason, remedy)


def _test(out: Delivery, file: str, x: str, y: str, options: dict[str, Any]) -> None:
    from dpmic.statistics.significance import independence_test

    table = inputs.read(file, [x, y])
    with working("permuting"):
        result = independence_test(x, y, data=table, **options)

    def page() -> str:
        from dpmic import report
        from dpmic.data import pair
        from dpmic.statistics.family import mice

        points = pair(x, y, data=table, missing=options["missing"])
        score = mice(points.x, points.y, B=result.B, c=result.c)
        title = f"Are {x} and {y} independent?"
        return report.page(result, title=title, points=points, others=(score,), command=repeated())

    out.give(answers.test(result, x, y), page)


def _release(
    out: Delivery, consent: Consent, where: tuple[str, str, str], asked: dict[str, Any]
) -> None:
    from dpmic.privacy import preview
    from dpmic.privacy.testing import release_test

    file, x, y = where
    table = inputs.read(file, [x, y], person=consent.unit.person, private=True)
    asked = {"data": table, "person": consent.unit.person, **asked}
    consent.ask(preview.test(x, y, **asked), f"a test of independence of {x} and {y}")
    consent.publish(
        out,
        "testing",
        lambda: release_test(x, y, **consent.charged, **asked),
        answers.private_test,
    )
