"""Bars on stderr, only where somebody is watching."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["reading", "stages", "watched", "working"]

PATIENCE = 0.5
"""Seconds without a bar: most work is done by then."""


def watched() -> bool:
    """Tell whether stderr is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def reading() -> Iterator[Callable[[int, int | None], None]]:
    """Show how much of a file was read, if that takes a while."""
    begun, shown = time.monotonic(), watched()
    bar: Progress | None = None
    task: Any = None

    def tell(done: int, total: int | None) -> None:
        nonlocal bar, task
        if bar is None and shown and time.monotonic() - begun > PATIENCE:
            bar = _bar()
            task = bar.add_task("reading", total=total)
            bar.start()
        if bar is not None:
            bar.update(task, completed=done, total=total)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.stop()


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show what is being done and for how long; how far it is nobody knows."""
    if not watched():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn("line"), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        bar.add_task(what, total=None)
        yield


@contextmanager
def stages() -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar with the time left for each stage; in a file, a line for each."""
    shown = watched()
    bar = _bar(lasting=True, disable=not shown)
    with bar:
        known: dict[str, Any] = {}

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in known:
                # What an earlier run has done says nothing of how fast this one is.
                known[stage] = bar.add_task(stage, total=total, completed=done)
            bar.update(known[stage], completed=done, total=total)
            if done == total and not shown:
                typer.echo(f"dpmic: {stage}: {total} of {total}", err=True)

        yield tell


def _bar(*, lasting: bool = False, disable: bool = False) -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description:24}" if lasting else "{task.description}"),
        BarColumn(),
        MofNCompleteColumn() if lasting else TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=not lasting,
        disable=disable,
    )
