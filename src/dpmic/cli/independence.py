"""``dpmic test``: a test of independence, private if epsilon is given."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from dpmic._progress import working
from dpmic.cli import _answers, _inputs
from dpmic.cli import _options as o
from dpmic.cli._output import Delivery
from dpmic.cli._shell import repeated
from dpmic.cli._spending import Consent
from dpmic.errors import ParameterError

EXAMPLE = (
    "dpmic test survey.csv age income, or with privacy: "
    "dpmic test survey.csv age income --epsilon 1 --one-row-per-person"
)

Missing = StrEnum("Missing", {"raise_": "raise", "drop": "drop", "scatter": "scatter"})
MissingOption = Annotated[
    Missing | None,
    typer.Option(
        help="Drop records with missing values (default), or refuse them; with --epsilon, scatter "
        "them at random between --bounds."
    ),
]
REMEDY = "leave it out; for missing values pass --missing scatter or --fill NAME=VALUE"

Permutations = Annotated[
    int | None, typer.Option(min=1, help="The number of permutations; default 10,000.")
]
Factor = Annotated[
    float | None, typer.Option("--c", help="Candidate cuts per column of a grid; default 5.")
]
Epsilon = Annotated[
    float | None, typer.Option(help="Test with differential privacy, at this privacy loss.")
]
Draws = Annotated[
    int | None, typer.Option(help="With --epsilon: simulated null values; default 999.")
]


def independence(
    file: o.File,
    x: o.X,
    y: o.Y,
    permutations: Permutations = None,
    cells: o.Cells = None,
    c: Factor = None,
    seed: o.Seed = None,
    nominal: o.Nominal = None,
    missing: MissingOption = None,
    device: o.DeviceOption = o.Device.cpu,
    epsilon: Epsilon = None,
    draws: Draws = None,
    bounds: o.Bounds = None,
    fill: o.Fill = None,
    one_row: o.OneRow = False,
    person: o.Person = None,
    *,
    written: o.Written,
    account: o.Account,
    yes: o.Yes = False,
    out: Delivery,
) -> None:
    """Test whether two columns are independent.

    The test is differentially private with --epsilon, and not private without it.
    """
    out.check(file, account.ledger)
    public: dict[str, Any] = {"--permutations": permutations, "--B": cells, "--c": c}
    public |= {"--seed": seed, "--nominal": nominal or None}
    public |= {f"--device {device}": None if device is o.Device.cpu else device}
    scattered = missing is Missing.scatter
    gaps = {f"--missing {missing}": None if scattered else missing}
    private: dict[str, Any]
    private = {"--draws": draws, "--person": person, "--one-row-per-person": one_row, "--yes": yes}
    private |= {"--fill": fill or None, "--bounds": bounds or None, "--missing scatter": scattered}
    private |= {f"--{field.replace('_', '-')}": value for field, value in vars(account).items()}
    if epsilon is None:
        _refuse(private, "only a private test takes it", "add --epsilon 1, or leave it out")
        options: dict[str, Any] = {"permutations": permutations or 10_000, "rng": seed}
        options |= {"B": 9 if cells is None else cells, "c": 5 if c is None else c}
        options |= {"device": device.value}
        marked = _inputs.names(nominal, "--nominal")
        rule = None if missing is None else o.Missing(missing.value)
        table, drop = _inputs.complete(file, [x, y], written, marked, rule)
        _test(out, table, x, y, {**options, "missing": drop})
        return
    _refuse(public, "a private test does not take it", "leave it out")
    _refuse(gaps, "a private test does not take it", REMEDY)
    from dpmic.privacy.independence import prepare

    ends: dict[str, Any] = dict.fromkeys(_inputs.two(x, y))
    if scattered:
        ends = _inputs.bounds_of(bounds, None, [x, y])
    elif bounds:
        raise ParameterError("--bounds", "only --missing scatter uses them", "leave them out")
    unit = o.Unit(one_row, person)
    given = {"epsilon": epsilon, "missing": _inputs.missing(missing or "refuse", fill)}
    consent = Consent.sought(unit, account, yes, several=False, **given)
    table = _inputs.private(file, ends, consent.terms, written, counts=False)
    options = {"draws": 999 if draws is None else draws, "bounds": ends if scattered else None}
    query = prepare(x, y, consent.terms, data=table, **options)
    consent.publish(out, "testing", query, _answers.published)


def _refuse(options: dict[str, Any], reason: str, remedy: str) -> None:
    for option, value in options.items():
        if value is not None and value is not False:
            raise ParameterError(option, reason, remedy)


def _test(out: Delivery, table: Any, x: str, y: str, options: dict[str, Any]) -> None:
    from dpmic.all_pairs.significance import independence_test

    with working("permuting"):
        result = independence_test(x, y, data=table, **options)

    def page() -> str:
        from dpmic import report
        from dpmic.data import pair
        from dpmic.statistics.family import mice

        points = pair(x, y, data=table, missing=options["missing"])
        same = {"missing": options["missing"], "B": result.B, "c": result.c}
        score = mice(x, y, data=table, **same)
        title = f"Are {x} and {y} independent?"
        return report.page(result, title=title, points=points, others=(score,), command=repeated())

    out.give(_answers.test(result, x, y), page)
