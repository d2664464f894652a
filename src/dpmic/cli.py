"""The ``dpmic`` command: parse, call, print."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpmic.errors import DpmicError, ParameterError

if TYPE_CHECKING:
    from dpmic.results import Score

__all__ = ["app", "main"]

app = typer.Typer(
    name="dpmic",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks would print local variables
    help="Find dependence, linear or not, between the columns of a table.",
)

Statistic = StrEnum("Statistic", ["mice", "micr", "mic"])
Missing = StrEnum("Missing", {"raise_": "raise", "drop": "drop"})
Part = StrEnum("Part", ["synthetic", "real", "parameters", "errors", "all"])


def main() -> None:
    """Run the command; an error is one line on stderr and exit code 2."""
    try:
        app()
    except DpmicError as error:
        typer.echo(f"dpmic: {error}", err=True)
        raise SystemExit(2) from None


def _version(wanted: bool) -> None:
    if wanted:
        from dpmic import __version__

        typer.echo(f"dpmic {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it and stop.")
    ] = False,
) -> None:
    """Find dependence, linear or not, between the columns of a table."""


@app.command(epilog="Example: dpmic score survey.csv age income")
def score(
    file: Annotated[str, typer.Argument(help="CSV, TSV, Parquet or Feather; - is CSV on stdin.")],
    x: Annotated[str, typer.Argument(help="A column's name.")],
    y: Annotated[str, typer.Argument(help="Another column's name.")],
    statistic: Annotated[Statistic, typer.Option(help="micr needs --bounds.")] = Statistic.mice,
    bounds: Annotated[
        list[str] | None, typer.Option(metavar="NAME=LOW:HIGH", help="Once for each column.")
    ] = None,
    alpha: Annotated[float, typer.Option(help="At most max(n^alpha, 4) cells in a grid.")] = 0.6,
    cells: Annotated[float | None, typer.Option("--B", help="At most so many cells.")] = None,
    c: Annotated[float, typer.Option(help="Master parts for each part.")] = 15,
    missing: Annotated[Missing, typer.Option(help="Missing values.")] = Missing.raise_,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole score.")] = False,
) -> None:
    """Score how strongly two columns depend on each other."""
    from dpmic import files
    from dpmic.statistics import family

    options: dict[str, Any] = {"alpha": alpha, "B": cells, "c": c, "missing": missing.value}
    if statistic is Statistic.micr:
        options["bounds"] = _bounds(bounds or [], x, y)
    elif bounds:
        raise ParameterError("--bounds", f"{statistic} uses none", "pass --statistic micr")
    result = getattr(family, statistic)(x, y, data=files.read(file), **options)
    if as_json:
        typer.echo(result.to_json())
    else:
        _print_score(result, x, y)


@app.command(epilog="Example: dpmic demo")
def demo() -> None:
    """Score every pair of columns of a real survey and print the strongest."""
    from dpmic.demo import fair_survey, score_every_pair

    table = fair_survey()
    typer.echo(
        f"Fair's survey of marriages (1974, shipped with statsmodels): {len(table):,} women, "
        f"{len(table.columns)} answers each."
    )
    scored = score_every_pair(table)
    typer.echo(f"MICe of all {len(scored)} pairs, the strongest ten:\n")
    _print_pairs(scored[:10])
    typer.echo("\nNext: . .venv/bin/activate, then dpmic score --help, or import dpmic in Python.")


@app.command(epilog="Example: dpmic reproduce all --quick")
def reproduce(
    part: Annotated[Part, typer.Argument(help="Which part of the evaluation.")],
    quick: Annotated[bool, typer.Option(help="A sample of it, in two minutes.")] = False,
    output: Annotated[
        Path | None, typer.Option(help="A folder; by default reproduction or reproduction-quick.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same numbers.")] = 0,
    workers: Annotated[
        int | None, typer.Option(min=1, help="By default one for each core.")
    ] = None,
) -> None:
    """Make the tables and figures of the paper again, beside the printed ones.

    Stopped with Ctrl-C it goes on where it was when the same command is given again.
    """
    from dpmic.evaluation.reproduce import PARTS, reproduce

    folder = output or Path("reproduction-quick" if quick else "reproduction")
    parts = tuple(known for known in PARTS if part in (known, Part.all))
    try:
        with _progress() as tell:
            page = reproduce(
                parts,
                folder,
                quick=quick,
                seed=seed,
                workers=workers or os.cpu_count() or 1,
                tell=tell,
                say=lambda text: typer.echo(f"dpmic: {text}", err=True),
            )
    except KeyboardInterrupt:
        typer.echo("dpmic: stopped; the same command goes on from here", err=True)
        raise SystemExit(130) from None
    if page is not None:
        typer.echo(f"Tables, figures and the page are in {folder}: open {page}")


def _bounds(written: list[str], x: str, y: str) -> tuple[object, object]:
    """Return the intervals of two columns from NAME=LOW:HIGH."""
    known = {}
    for text in written:
        name, _, interval = text.rpartition("=")
        low, _, high = interval.partition(":")
        try:
            known[name] = float(low), float(high)
        except ValueError:
            raise ParameterError(
                f"--bounds {text}", "two numbers are needed", "write --bounds age=0:120"
            ) from None
    for name in known:
        if name not in (x, y):
            raise ParameterError(
                f"--bounds {name}", "that column is not scored", f"give those of {x} and {y}"
            )
    for name in (x, y):
        if name not in known:
            raise ParameterError(
                "--bounds", f"{name} has none", f"add --bounds {name}=LOW:HIGH, from what it means"
            )
    return known[x], known[y]


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar with the time left for each stage, on stderr; in a file, a line for each."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:24}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        known: dict[str, Any] = {}

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in known:
                # What an earlier run has done says nothing of how fast this one is.
                known[stage] = progress.add_task(stage, total=total, completed=done)
            progress.update(known[stage], completed=done, total=total)
            if done == total and not console.is_terminal:
                typer.echo(f"dpmic: {stage}: {total} of {total}", err=True)

        yield tell


def _print_score(result: Score, x: str, y: str) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text  # names of columns are not markup

    table = Table(title=Text(f"{x} and {y}"), title_justify="left", show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    rows = [
        ("MIC", result.mic, "strength, from 0 to 1"),
        ("TIC, normalised", result.tic(normalised=True), "mean over all grids"),
        ("MAS", result.mas, "how far from monotone"),
        ("MEV", result.mev, "how close to a function"),
        ("MCN", result.mcn(), "log2 of the cells needed"),
    ]
    for name, value, meaning in rows:
        table.add_row(name, f"{value:.4f}", meaning)
    shape = f"{result.grid.k} x {result.grid.l}"
    table.add_row("grid", shape, Text(f"rows on {y} x columns on {x}"))
    table.add_row("n", f"{result.n}", "records used")
    Console().print(table)


def _print_pairs(scored: list[tuple[str, str, Score]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("column", "column", "MIC", "grid")
    for x, y, result in scored:
        table.add_row(Text(x), Text(y), f"{result.mic:.3f}", f"{result.grid.k} x {result.grid.l}")
    Console().print(table)
