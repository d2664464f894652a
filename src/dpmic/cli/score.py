"""``dpmic score`` and ``dpmic matrix``: dependence of columns, without privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpmic._format import plural
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
    int | None, typer.Option(min=1, help="Show this many pairs; default 10 in a table, else all.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="PARQUET", help="Save all scores here; after Ctrl-C the same command resumes."
    ),
]

AFFORDABLE = 10**7
"""More permutations are not advised: many pairs are tested then, and some may share a q-value."""

Exact = Annotated[
    str | None,
    typer.Option(
        metavar="K|significant|all",
        help="On a GPU: which pairs the CPU scores again, because float32 is not exact: the K "
        "strongest, the significant (q at most 0.05), or all.",
    ),
]

Edges = Annotated[
    Path | None,
    typer.Option(
        metavar="GML|CSV", help="Write the significant pairs as a network; needs --pvalues."
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
    nominal: o.Nominal = None,
    missing: o.MissingOption = None,
    *,
    written: o.Written,
    out: Delivery,
) -> None:
    """Score how strongly two columns depend on each other.

    The score is not private; for a private one see dpmic release.
    """
    from dpmic.statistics import family

    out.check(file, bounds_file)
    options: dict[str, Any] = {"alpha": alpha, "B": cells, "c": c}
    if statistic is o.Statistic.micr:
        ends = _inputs.bounds_of(bounds, bounds_file, [x, y])
        options["bounds"] = (ends[x], ends[y])
    elif bounds or bounds_file:
        raise _without_bounds(statistic)
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
    """Options about which columns to score, and how."""

    columns: Annotated[
        list[str] | None, typer.Option(metavar="A,B,...", help="Score only these columns.")
    ] = None
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="A,B,...", help="Leave these columns out.")
    ] = None
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,...",
            help="Keep these columns, though they look like identifiers (all texts differ, or "
            "consecutive numbers).",
        ),
    ] = None
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Score only pairs with this column.")
    ] = None
    nominal: o.Nominal = None


@dataclass(frozen=True)
class Testing:
    """Options of the test of independence."""

    pvalues: Annotated[bool, typer.Option("--pvalues", help="Test each pair for independence.")] = (
        False
    )
    pooled: Annotated[
        bool,
        typer.Option("--pooled", help="Share permutations among pairs with the same ties: faster."),
    ] = False
    permutations: Annotated[
        int, typer.Option(min=1, help="The number of permutations per pair.")
    ] = 10_000
    test_cells: Annotated[
        float, typer.Option("--test-B", help="Grids of the test have at most this many cells.")
    ] = 9
    test_c: Annotated[
        float, typer.Option(help="Candidate cuts per column of a grid, in the test.")
    ] = 5
    qvalues: Annotated[
        QValues, typer.Option(help="Adjust p-values as Benjamini and Hochberg, or as Storey.")
    ] = QValues.bh
    seed: o.Seed = None

    def options(self) -> dict[str, Any]:
        """Return the options, as ``pairwise`` takes them."""
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
    tic: Annotated[bool, typer.Option("--tic", help="Also compute total information.")] = False,
    pearson: Annotated[
        bool, typer.Option("--pearson", help="Also compute correlations, and MIC - rho^2.")
    ] = False,
    *,
    testing: Testing,
    missing: o.MissingOption = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Threads; default one per core.")
    ] = None,
    device: o.DeviceOption = o.Device.cpu,
    exact: Exact = None,
    top: Top = None,
    out: Out = None,
    edges: Edges = None,
    written: o.Written,
    where: Delivery,
) -> None:
    """Score every pair of columns.

    The scores are not private; for private ones see dpmic screen.
    """
    from dpmic.all_pairs.pairwise import pairwise

    asked = _exact(exact)
    where.check(file, bounds_file, out, edges)
    _check_edges(edges, testing.pvalues, where, (file, bounds_file, out))
    options: dict[str, Any] = {"alpha": alpha, "B": cells, "c": c, "statistic": statistic.value}
    chosen = _inputs.names(choice.columns)
    ends = _inputs.bounds(bounds, bounds_file)
    if statistic is o.Statistic.micr:
        chosen = chosen or list(ends)
        if not chosen:
            raise ParameterError(
                "--bounds", "micr needs bounds", "add --bounds NAME=LOW:HIGH for each column"
            )
        options["bounds"] = _inputs.of_columns(chosen, ends)
    elif ends:
        raise _without_bounds(statistic)
    names = _inputs.names(choice.nominal, "--nominal")
    without = _inputs.names(choice.exclude, "--exclude")
    counted = _counts_do(statistic, missing, c, names) and bool(chosen) and not without
    counted = counted and not (testing.pvalues or pearson or where.report)
    taken: dict[str, Any] = {"counted": counted, "without": without, "include": choice.include}
    table, options["missing"] = _inputs.complete(file, chosen, written, names, missing, **taken)
    options |= testing.options() | {"target": choice.target, "pearson": pearson}
    options |= {"tic": tic, "workers": workers, "out": out}
    options |= {"device": device.value, "exact": asked}
    result = pairwise(table, **options)
    where.give(_answers.matrix(result, top), lambda: _page(result, table, options))
    if testing.pvalues:
        _report_significant(result, edges)


def _report_significant(result: Pairwise, edges: Path | None) -> None:
    """Write the network of significant pairs, and say why there may be none."""
    assert result.pvalues is not None
    assert result.permutations is not None
    found, tested = int((result.qvalues <= 0.05).sum()), int((result.pvalues <= 1).sum())
    needed = 20 * tested - 1  # then q is 0.05 for one pair with the smallest possible p-value
    few = result.permutations < needed <= AFFORDABLE
    if not found and few and "qvalues" not in result.parameters:
        note(
            f"with {result.permutations:,} permutations a single related pair among {tested:,} "
            f"cannot be significant (q at most 0.05); that takes --permutations {needed} --pooled"
        )
    if edges is not None:
        result.to_edges(edges)
        note(f"the network of {plural(found, 'significant pair')} is in {edges.resolve()}")


def _exact(given: str | None) -> bool | int | str:
    """Return which scores must be exact, as ``pairwise`` takes it."""
    if given is None:
        return False
    if given == "all":
        return True
    if given == "significant":
        return given
    if given.isdecimal() and int(given):
        return int(given)
    reason = "it is not a number of pairs, significant or all"
    raise ParameterError(f"--exact {given}", reason, "pass --exact 100")


def _without_bounds(statistic: o.Statistic) -> ParameterError:
    """Return the refusal of bounds for a statistic that has none."""
    remedy = "leave them out, or pass --statistic micr"
    return ParameterError("--bounds", f"{statistic} does not use bounds", remedy)


def _check_edges(
    edges: Path | None, pvalues: bool, where: Delivery, others: tuple[str | Path | None, ...]
) -> None:
    """Refuse a network that cannot be written, before any work begins."""
    if edges is None:
        return
    from dpmic.results.networks import checked

    if not pvalues:
        reason = "the edges are the significant pairs"
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
    """Return whether counts on fixed grids are enough, so that a large file is not loaded."""
    dropped = missing is o.Missing.drop or nominal is not None
    return statistic is o.Statistic.micr and not dropped and c < math.inf
