"""Progress bars on stderr, if it is a terminal; rich is imported with the first bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE = 1.0
"""Seconds before a bar appears: most work finishes sooner."""

Listener = Callable[[str, int, int | None], None]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell somebody else, too, what is done, how much of it, and of how much.

    What the listener raises stops the work before its next piece.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def counting(what: str, total: int, done: int = 0) -> Iterator[Callable[[int], None]]:
    """Show a bar with the time left; call the yielded function with the number newly done.

    ``done`` items were finished by an earlier run and do not count for the speed of this one.
    """
    with _bar(what, done, numbers=True) as update:

        def advance(count: int) -> None:
            nonlocal done
            done += count
            update(done, total)

        yield advance


def reading() -> AbstractContextManager[Callable[[int, int | None], None]]:
    """Show how much of a file was read; call the yielded function with (bytes read, all bytes)."""
    return _bar("reading", 0, numbers=False)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show what is being done and for how long, for work whose progress is unknown."""
    if not _watched():
        yield
        return
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    with _progress(
        SpinnerColumn("line"), TextColumn("{task.description}"), TimeElapsedColumn()
    ) as progress:
        progress.add_task(what, total=None)
        yield


@contextmanager
def stages(say: Callable[[str], None]) -> Iterator[Callable[[str, int, int], None]]:
    """Show a lasting bar for each stage or, without a terminal, ``say`` one line when it ends.

    Call the yielded function with (stage, how much is done, total).
    """
    watched = _watched()
    progress = _progress(
        *_columns("{task.description:24}", numbers=True), transient=False, disable=not watched
    )
    with progress:
        tasks: dict[str, Any] = {}

        def update(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, total=total, completed=done)
            progress.update(tasks[stage], completed=done, total=total)
            if done == total and not watched:
                say(f"{stage}: {total} of {total}")

        yield update


def _watched() -> bool:
    """Return whether stderr is a terminal; a service may have no stderr."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def _bar(what: str, done: int, *, numbers: bool) -> Iterator[Callable[[int, int | None], None]]:
    """Show a bar if the work takes longer than a second."""
    begun, watched = time.monotonic(), _watched()
    progress: Progress | None = None
    task: Any = None

    listener = _listener.get()

    def update(now: int, total: int | None) -> None:
        nonlocal progress, task
        if listener is not None:
            listener(what, now, total)
        if progress is None and watched and time.monotonic() - begun > PATIENCE:
            progress = _progress(*_columns("{task.description}", numbers=numbers))
            task = progress.add_task(what, total=total, completed=done)
            progress.start()
        if progress is not None:
            progress.update(task, completed=now, total=total)

    try:
        yield update
    finally:
        if progress is not None:
            progress.stop()


def _columns(description: str, *, numbers: bool) -> tuple[Any, ...]:
    """Return the columns of a bar: progress as numbers or percent, and the time."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return (
        TextColumn(description),
        BarColumn(),
        MofNCompleteColumn() if numbers else TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )


def _progress(*columns: Any, transient: bool = True, disable: bool = False) -> Progress:
    from rich.console import Console
    from rich.progress import Progress

    return Progress(*columns, console=Console(stderr=True), transient=transient, disable=disable)
