"""``dpmic score`` and ``dpmic matrix``: how strongly columns depend on each other, not private."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpmic._progress import working
from dpmic.cli import _answers, _inputs
from dpmic.cli import _options as o
from dpmic.cli._output import Delivery
from dpmic.cli._shell import repeated
from dpmic.errors import ParameterError

if TYPE_CHECKING:
    from dpmic.results import Pairwise

EXAMPLE = "dpmic score survey.csv age income --report score.html"
EXAMPLE_MATRIX = "dpmic matrix survey.csv --columns age,income,rent --pvalues --out scores.parquet"

Columns = Annotated[
    list[str] | None, typer.Option(metavar="A,B,...", help="Only these; by default all.")
]
Top = Annotated[
    int | None, typer.Option(min=1, help="So many pairs; by default 10 in a table, else all.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="PARQUET", help="Keep all scores here; the same command goes on after Ctrl-C."
    ),
]


def score(
    file: o.File,
    x: o.X,
    y: o.Y,
    statistic: o.Statistic = o.Statistic.mice,
    bounds: o.Bounds = None,
    bounds_file: o.BoundsFile = None,
    alpha: o.Alpha = 0.6,
    cells: o.Cells = None,
    c: o.C = 15,
    missing: o.MissingOption = o.Missing.raise_,
    *,
    written: o.Written,
    out: Delivery,
) -> None:
    """Score how strongly two columns depend on each other. Not private."""
    from dpmic.statistics import family

    out.check(file, bounds_file)
    options: dict[str, Any] = {"alpha": alpha, "B": cells, "c": c, "missing": missing.value}
    if statistic is o.Statistic.micr:
        ends = _inputs.bounds_of(bounds, bounds_file, [x, y])
        options["bounds"] = (ends[x], ends[y])
    elif bounds or bounds_file:
        raise ParameterError("--bounds", f"{statistic} uses none", "pass --statistic micr")
    reader = (
        _inputs.counted
        if _counts_do(statistic, missing, c) and out.report is None
        else _inputs.read
    )
    table = reader(file, [x, y], written)
    with working("scoring"):
        result = getattr(family, statistic)(x, y, data=table, **options)

    def page() -> str:
        from dpmic import report
        from dpmic.data import pair

        points = pair(x, y, data=table, missing=missing.value)
        return report.page(result, points=points, command=repeated())

    out.give(_answers.score(result, x, y), page)


def matrix(
    file: o.File,
    columns: Columns = None,
    statistic: o.Statistic = o.Statistic.mice,
    bounds: o.Bounds = None,
    bounds_file: o.BoundsFile = None,
    alpha: o.Alpha = 0.6,
    cells: o.Cells = None,
    c: o.C = 15,
    tic: Annotated[bool, typer.Option("--tic", help="The total coefficient too.")] = False,
    pvalues: Annotated[
        bool, typer.Option("--pvalues", help="Test each pair for independence.")
    ] = False,
    pooled: Annotated[
        bool, typer.Option("--pooled", help="Pairs with the same ties share permutations: faster.")
    ] = False,
    permutations: Annotated[
        int, typer.Option(min=1, help="How many each pair is compared with.")
    ] = 10_000,
    seed: o.Seed = None,
    missing: o.MissingOption = o.Missing.raise_,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Threads; by default one for each core.")
    ] = None,
    top: Top = None,
    out: Out = None,
    *,
    written: o.Written,
    where: Delivery,
) -> None:
    """Score every pair of columns. Not private: see dpmic screen."""
    from dpmic.all_pairs.pairwise import pairwise

    where.check(file, bounds_file, out)
    options: dict[str, Any] = {"alpha": alpha, "B": cells, "c": c, "statistic": statistic.value}
    chosen = _inputs.names(columns)
    ends = _inputs.bounds(bounds, bounds_file)
    if statistic is o.Statistic.micr:
        chosen = chosen or list(ends)
        if not chosen:
            raise ParameterError(
                "--bounds", "micr needs them", "add --bounds NAME=LOW:HIGH for each"
            )
        options["bounds"] = _inputs.of_columns(chosen, ends)
    elif ends:
        raise ParameterError("--bounds", f"{statistic} uses none", "pass --statistic micr")
    if _counts_do(statistic, missing, c) and chosen and not pvalues and where.report is None:
        table = _inputs.counted(file, chosen, written)
    else:
        table = _inputs.read(file, chosen, written)
    options |= {"pvalues": pvalues, "pooled": pooled, "permutations": permutations, "rng": seed}
    options |= {"tic": tic, "missing": missing.value, "workers": workers, "out": out}
    result = pairwise(table, **options)
    where.give(_answers.matrix(result, top), lambda: _page(result, table, options))


def _page(result: Pairwise, table: Any, options: dict[str, Any]) -> str:
    """Return the report, with a scatter of the strongest pair."""
    from dpmic import report
    from dpmic.data import pair
    from dpmic.statistics import family

    strongest = result.top(1)
    if not strongest:
        return report.page(result, command=repeated())
    x, y, _ = strongest[0]
    same = {name: options[name] for name in ("alpha", "B", "c", "missing")}
    if "bounds" in options:
        same["bounds"] = (options["bounds"][x], options["bounds"][y])
    best = getattr(family, options["statistic"])(x, y, data=table, **same)
    points = pair(x, y, data=table, missing=options["missing"])
    return report.page(result, points=points, others=(best,), command=repeated())


def _counts_do(statistic: o.Statistic, missing: o.Missing, c: float) -> bool:
    """Return whether counts on fixed grids suffice, so that a large file need not be loaded."""
    return statistic is o.Statistic.micr and missing is o.Missing.raise_ and c < math.inf
