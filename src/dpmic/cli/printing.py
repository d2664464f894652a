"""Answers on stdout: a table for people, JSON or CSV for programs, and nothing else."""

from __future__ import annotations

import csv
import errno
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import typer

from dpmic.errors import InputError, ParameterError

__all__ = [
    "Answer",
    "ClosedPipe",
    "Form",
    "form",
    "load",
    "note",
    "refuse_closed",
    "say",
    "show",
    "stdout",
    "table",
]

WHOLE = 20
"""Characters of a cell that stay in one line, however narrow the terminal is."""

Form = StrEnum("Form", ["table", "json", "csv"])


class ClosedPipe(Exception):  # noqa: N818 - no error: somebody has read enough
    """Nobody reads stdout any more, as after ``| head``."""


@dataclass(frozen=True)
class Answer:
    """What a command has to say, in three forms.

    Attributes
    ----------
    title : str
        Above the table.
    heads, rows : sequences of str
        The table; without heads, each row is a name, a number and perhaps what it means.
    below : sequence of str
        Sentences under the table.
    json : callable
        Returns the whole result.
    fields, records
        The head and the lines of CSV.
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    json: Callable[[], str]
    fields: Sequence[str]
    records: Callable[[], Iterable[Sequence[Any]]]
    below: Sequence[str] = ()


def form(as_json: bool, as_csv: bool) -> Form:
    """Return which form is wished."""
    if as_json and as_csv:
        raise ParameterError("--json --csv", "there is one output", "leave one of both out")
    return Form.json if as_json else Form.csv if as_csv else Form.table


def show(answer: Answer, wished: Form) -> None:
    """Print an answer."""
    with stdout():
        if wished is Form.json:
            typer.echo(answer.json())
        elif wished is Form.csv:
            writer = csv.writer(sys.stdout, lineterminator="\n")
            writer.writerow(answer.fields)
            writer.writerows(answer.records())
        else:
            table(answer.title, answer.heads, answer.rows, answer.below)


def say(text: str) -> None:
    """Print a line on stdout."""
    with stdout():
        typer.echo(text)


def note(text: str) -> None:
    """Print a line on stderr."""
    typer.echo(f"dpmic: {text}", err=True)


def table(
    title: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    below: Sequence[str] = (),
    *,
    err: bool = False,
) -> None:
    """Print a table for people; names of columns are neither markup nor a terminal's commands."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from dpmic.report.markup import visible

    rows = [[visible(cell) for cell in row] for row in rows]
    shape = Table(
        box=box.SIMPLE_HEAD if heads else box.SIMPLE,
        show_header=bool(heads),
        pad_edge=False,
    )
    for i in range(max(map(len, (heads, *rows)), default=0)):
        cells = [row[i] for row in rows if i < len(row)]
        right = bool(cells) and all(map(_is_number, cells))
        shape.add_column(
            Text(heads[i] if heads else ""),
            justify="right" if right else "left",
            style="bold" if not heads and not i else "",
            overflow="fold",
            min_width=min(max(map(len, cells), default=0), WHOLE),
        )
    for row in rows:
        shape.add_row(*map(Text, row))
    console = Console(stderr=err, highlight=False)
    # Not as the table's own title, which would wrap at its width.
    console.print(Text(visible(title), style="bold"), soft_wrap=not console.is_terminal)
    console.print(shape)
    for sentence in below:
        console.print(Text(visible(sentence)), soft_wrap=not console.is_terminal)


def load() -> None:
    """Import what a table needs, so that nothing is missing after something was spent."""
    for name in ("rich.console", "rich.table", "dpmic.report.markup"):
        importlib.import_module(name)


def _is_number(text: str) -> bool:
    """Tell whether a cell is aligned to the right."""
    return text in ("", "-") or text.lstrip("-+").replace(",", "")[:1].isdigit()


@contextmanager
def stdout() -> Iterator[None]:
    """Let everything inside be written, or say why not; a closed pipe is nobody's fault."""
    refuse_closed()
    try:
        yield
        sys.stdout.flush()
    except SystemExit as stopped:
        if isinstance(stopped.__context__, BrokenPipeError):  # as rich ends where a pipe is closed
            raise ClosedPipe from None
        raise
    except OSError as error:
        _silence()
        # Windows says EINVAL of a closed pipe.
        if error.errno == errno.EPIPE or (os.name == "nt" and error.errno == errno.EINVAL):
            raise ClosedPipe from None
        raise InputError(
            "standard output", error.strerror or "it cannot be written", "write elsewhere"
        ) from None


def refuse_closed() -> None:
    """Refuse to work where there is no stdout, as after ``>&-``."""
    if sys.stdout is None or sys.stdout.closed:
        raise InputError("standard output", "it is closed", "let it go somewhere")


def _silence() -> None:
    """Drop what is still in the buffer, which Python would try to write at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
