"""``dpmic score`` and ``dpmic matrix``: how strongly columns depend on each other, not private."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpmic._progress import working
from dpmic.cli import _answers, _inputs
from dpmic.cli import _options as o
from dpmic.cli._output import Delivery, note, refuse_replacing
from dpmic.cli._shell import repeated
from dpmic.errors import ParameterError

if TYPE_CHECKING:
    from dpmic.results import Pairwise

EXAMPLE = "dpmic score survey.csv age income --report score.html"
EXAMPLE_MATRIX = "dpmic matrix survey.csv --columns age,income,rent --pvalues --out scores.parquet"

QValues = StrEnum("QValues", ["bh", "storey"])
Top = Annotated[
    int | None, typer.Option(min=1, help="So many pairs; by default 10 in a table, else all.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="PARQUET", help="Keep all scores here; the same command goes on after Ctrl-C."
    ),
]

Edges = Annotated[
    Path | None,
    typer.Option(metavar="GML|CSV", help="Write the significant pairs as a network; --pvalues."),
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
    nominal: o.Nominal = None,
    missing: o.MissingOption = None,
    *,
    written: o.Written,
    out: Delivery,
) -> None:
    """Score how strongly two columns depend on each other. Not private."""
    from dpmic.statistics import family

    out.check(file, bounds_file)
    options: dict[str, Any] = {"alpha": alpha, "B": cells, "c": c}
    if statistic is o.Statistic.micr:
        ends = _inputs.bounds_of(bounds, bounds_file, [x, y])
        options["bounds"] = (ends[x], ends[y])
    elif bounds or bounds_file:
        raise ParameterError("--bounds", f"{statistic} uses none", "pass --statistic micr")
    names = _inputs.names(nominal, "--nominal")
    counted = _counts_do(statistic, missing, c, names) and out.report is None
    table, options["missing"] = _inputs.complete(
        file, [x, y], written, names, missing, counted=counted
    )
    with working("scoring"):
        result = getattr(family, statistic)(x, y, data=table, **options)

    def page() -> str:
        from dpmic import report
        from dpmic.data import pair

        points = pair(x, y, data=table, missing=options["missing"])
        return report.page(result, points=points, command=repeated())

    out.give(_answers.score(result, x, y), page)


@dataclass(frozen=True)
class Choice:
    """Which columns of a table take part, and as what."""

    columns: Annotated[
        list[str] | None, typer.Option(metavar="A,B,...", help="Only these; by default all.")
    ] = None
    exclude: Annotated[list[str] | None, typer.Option(metavar="A,B,...", help="All but these.")] = (
        None
    )
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,...",
            help="Also these, which look like identifiers: texts that all differ, consecutive "
            "numbers.",
        ),
    ] = None
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Only the pairs with this column.")
    ] = None
    nominal: o.Nominal = None


@dataclass(frozen=True)
class Testing:
    """How pairs are tested for independence."""

    pvalues: Annotated[bool, typer.Option("--pvalues", help="Test each pair for independence.")] = (
        False
    )
    pooled: Annotated[
        bool, typer.Option("--pooled", help="Pairs with the same ties share permutations: faster.")
    ] = False
    permutations: Annotated[
        int, typer.Option(min=1, help="How many each pair is compared with.")
    ] = 10_000
    test_cells: Annotated[
        float, typer.Option("--test-B", help="At most so many cells in a grid of the test.")
    ] = 9
    test_c: Annotated[float, typer.Option(help="Master parts for each part in the test.")] = 5
    qvalues: Annotated[
        QValues, typer.Option(help="Adjust p-values by Benjamini-Hochberg or by Storey.")
    ] = QValues.bh
    seed: o.Seed = None

    def options(self) -> dict[str, Any]:
        """Return them as ``pairwise`` has them."""
        own = {"pvalues": self.pvalues, "pooled": self.pooled, "permutations": self.permutations}
        test = {"test_B": self.test_cells, "test_c": self.test_c, "qvalues": self.qvalues.value}
        return {**own, **test, "rng": self.seed}


def matrix(
    file: o.File,
    choice: Choice,
    statistic: o.Statistic = o.Statistic.mice,
    bounds: o.Bounds = None,
    bounds_file: o.BoundsFile = None,
    alpha: o.Alpha = 0.6,
    cells: o.Cells = None,
    c: o.C = 15,
    tic: Annotated[bool, typer.Option("--tic", help="The total coefficient too.")] = False,
    pearson: Annotated[
        bool, typer.Option("--pearson", help="Correlations too, and MIC less theirs squared.")
    ] = False,
    *,
    testing: Testing,
    missing: o.MissingOption = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Threads; by default one for each core.")
    ] = None,
    device: o.DeviceOption = o.Device.cpu,
    exact: Annotated[
        bool, typer.Option("--exact", help="With a GPU: MIC to the last bit of the CPU's.")
    ] = False,
    top: Top = None,
    out: Out = None,
    edges: Edges = None,
    written: o.Written,
    where: Delivery,
) -> None:
    """Score every pair of columns. Not private: see dpmic screen."""
    from dpmic.all_pairs.pairwise import pairwise

    where.check(file, bounds_file, out, edges)
    _check_edges(edges, testing.pvalues, where, (file, bounds_file, out))
    options: dict[str, Any] = {"alpha": alpha, "B": cells, "c": c, "statistic": statistic.value}
    chosen = _inputs.names(choice.columns)
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
    names = _inputs.names(choice.nominal, "--nominal")
    without = _inputs.names(choice.exclude, "--exclude")
    counted = _counts_do(statistic, missing, c, names) and bool(chosen) and not without
    counted = counted and not (testing.pvalues or pearson or where.report)
    taken: dict[str, Any] = {"counted": counted, "without": without, "include": choice.include}
    table, options["missing"] = _inputs.complete(file, chosen, written, names, missing, **taken)
    options |= testing.options() | {"target": choice.target, "pearson": pearson}
    options |= {"tic": tic, "workers": workers, "out": out}
    options |= {"device": device.value, "exact": exact}
    result = pairwise(table, **options)
    where.give(_answers.matrix(result, top), lambda: _page(result, table, options))
    if edges is not None:
        result.to_edges(edges)
        note(f"the network of significant pairs is in {edges.resolve()}")


def _check_edges(
    edges: Path | None, pvalues: bool, where: Delivery, others: tuple[str | Path | None, ...]
) -> None:
    """Refuse a network that cannot be written, before any work is done."""
    if edges is None:
        return
    from dpmic.results.networks import checked

    if not pvalues:
        reason = "edges are the significant pairs"
        raise ParameterError(f"--edges {edges}", reason, "add --pvalues")
    refuse_replacing(edges, "--edges", others)
    checked(edges, "--edges")
    if edges.exists() and not where.overwrite:
        remedy = "choose another name, or add --overwrite"
        raise ParameterError(str(edges), "this file exists", remedy)


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


def _counts_do(
    statistic: o.Statistic, missing: o.Missing | None, c: float, nominal: list[str] | None
) -> bool:
    """Return whether counts on fixed grids suffice, so that a large file need not be loaded."""
    dropped = missing is o.Missing.drop or nominal is not None
    return statistic is o.Statistic.micr and not dropped and c < math.inf
