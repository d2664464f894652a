"""``dpmic reproduce``: the evaluation of the paper."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dpmic._progress import stages
from dpmic.cli import _output
from dpmic.cli._shell import STOPPED

EXAMPLE = "dpmic reproduce all --quick"

Part = StrEnum("Part", ["synthetic", "real", "loose", "parameters", "errors", "intervals", "all"])


def reproduce(
    part: Annotated[Part, typer.Argument(help="The part of the evaluation to run.")],
    quick: Annotated[bool, typer.Option("--quick", help="Run a sample, in two minutes.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(help="The output folder; default reproduction or reproduction-quick."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulations.")] = 0,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Worker processes; default one per core.")
    ] = None,
) -> None:
    """Reproduce the tables and figures of the paper.

    Shows our numbers beside the printed ones. After Ctrl-C, the same command resumes.
    """
    from dpmic.evaluation.reproduce import PARTS, reproduce

    folder = output or Path("reproduction-quick" if quick else "reproduction")
    parts = tuple(known for known in PARTS if part in (known, Part.all))
    try:
        with stages(_output.note) as tell:
            page = reproduce(
                parts,
                folder,
                quick=quick,
                seed=seed,
                workers=workers or os.cpu_count() or 1,
                tell=tell,
                say=_output.note,
            )
    except KeyboardInterrupt:
        _output.note("stopped; the same command resumes from here")
        raise SystemExit(STOPPED) from None
    if page is not None:
        _output.say(f"Tables, figures and the page are in {folder}: open {page}")
