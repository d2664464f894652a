"""A bar that shows how far long work has come, where somebody is watching."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["bar"]

PATIENCE = 1.0
"""Seconds without a bar: most work is done by then."""


@contextmanager
def bar(total: int, done: int) -> Iterator[Callable[[int], None]]:
    """Show a bar on stderr, if that is a terminal and the work takes longer than a second.

    What is handed out tells it that so many more are done.
    """
    begun, shown = time.monotonic(), done
    watched = sys.stderr is not None and sys.stderr.isatty()  # a service may have none
    progress: Progress | None = None
    task: TaskID | None = None

    def advance(count: int) -> None:
        nonlocal shown, progress, task
        shown += count
        if progress is None and watched and time.monotonic() - begun > PATIENCE:
            progress = _bar()
            # What an earlier run has done says nothing of how fast this one is.
            task = progress.add_task("pairs", total=total, completed=done)
            progress.start()
        if progress is not None and task is not None:
            progress.update(task, completed=shown)

    try:
        yield advance
    finally:
        if progress is not None:
            progress.stop()


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
