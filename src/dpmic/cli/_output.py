"""Where results go: stdout, as a table, JSON or CSV, and the file of a report.

Outputs are checked before any work is done, and one that fails does not lose the result.
"""

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
from pathlib import Path
from typing import Any

import typer

from dpmic._format import visible
from dpmic.cli import _options as o
from dpmic.errors import DpmicError, InputError, ParameterError

UNBROKEN = 20
"""Characters of a cell that stay in one line, however narrow the terminal is."""

KEPT = "the ledger keeps this release: the same command shows it again at no cost"
LOST = "its epsilon is spent, and no ledger stored it"

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
        Returns the complete result.
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


def show(answer: Answer, form: Form) -> None:
    """Print an answer."""
    with stdout():
        if form is Form.json:
            typer.echo(answer.json())
        elif form is Form.csv:
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

    rows = [[visible(cell) for cell in row] for row in rows]
    shape = Table(
        box=box.SIMPLE_HEAD if heads else box.SIMPLE, show_header=bool(heads), pad_edge=False
    )
    for i in range(max(map(len, (heads, *rows)), default=0)):
        cells = [row[i] for row in rows if i < len(row)]
        right = bool(cells) and all(map(_is_number, cells))
        shape.add_column(
            Text(heads[i] if heads else ""),
            justify="right" if right else "left",
            style="bold" if not heads and not i else "",
            overflow="fold",
            min_width=min(max(map(len, cells), default=0), UNBROKEN),
        )
    for row in rows:
        shape.add_row(*map(Text, row))
    console = Console(stderr=err, highlight=False)
    # Not as the table's own title, which would wrap at its width.
    console.print(Text(visible(title), style="bold"), soft_wrap=not console.is_terminal)
    console.print(shape)
    for sentence in below:
        console.print(Text(visible(sentence)), soft_wrap=not console.is_terminal)


def _load() -> None:
    """Import what a table needs, so that nothing is missing after something was spent."""
    for name in ("rich.console", "rich.table"):
        importlib.import_module(name)


def _is_number(text: str) -> bool:
    """Return whether a cell is aligned to the right."""
    return text in ("", "-") or text.lstrip("<-+").replace(",", "")[:1].isdigit()


@contextmanager
def stdout() -> Iterator[None]:
    """Let everything inside be written, or say why not; a closed pipe is not an error."""
    _refuse_closed()
    try:
        yield
        sys.stdout.flush()
    except SystemExit as stopped:
        if isinstance(stopped.__context__, BrokenPipeError):  # as typer and rich end then
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


def _refuse_closed() -> None:
    """Refuse to work where there is no stdout, as after ``>&-``."""
    if sys.stdout is None or sys.stdout.closed:
        raise InputError("standard output", "it is closed", "let it go somewhere")


def _silence() -> None:
    """Drop what is still in the buffer, which Python would try to write at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@dataclass(frozen=True)
class Printing:
    """Options of a result that is printed."""

    as_json: o.AsJson = False
    as_csv: o.AsCsv = False

    @property
    def form(self) -> Form:
        """The form of the output."""
        return Form.json if self.as_json else Form.csv if self.as_csv else Form.table

    def check(self) -> None:
        """Check the outputs before any work is done and anything is spent."""
        if self.as_json and self.as_csv:
            raise ParameterError(
                "--json --csv", "there is only one output", "leave out one of the two"
            )
        _refuse_closed()
        if self.form is Form.table:
            _load()

    def give(self, answer: Answer, page: Callable[[], str], after: str = "") -> None:
        """Print an answer and write the report; one is tried although the other has failed.

        ``after`` is ``KEPT`` or ``LOST`` where something was spent.
        """
        failed: list[Exception] = []
        printed, written = False, None
        try:
            show(answer, self.form)
            printed = True
        except Exception as error:
            failed.append(error)
        try:
            written = self._write(page)
        except Exception as error:
            failed.append(error)
        if not failed:
            return
        where = "it was printed" if printed else f"it is in {written}" if written else ""
        if after == LOST and not where:
            where = _rescue(answer)
        closed = isinstance(failed[0], ClosedPipe)
        if closed and len(failed) == 1 and (written or after != LOST):
            raise failed[0]  # its reader has enough
        state = "; ".join(filter(None, (after, where)))
        explained = [_with_state(error, state, bool(after)) for error in failed]
        if len(explained) == 1:
            raise explained[0]
        raise ExceptionGroup("two outputs failed", explained)

    def _write(self, page: Callable[[], str]) -> Path | None:
        """Write the report, if one is asked for, and return where it is."""
        return None


@dataclass(frozen=True)
class Delivery(Printing):
    """Options of a result that a report may show, too."""

    report: o.Report = None
    overwrite: o.Overwrite = False

    def check(self, *others: str | Path | None) -> None:
        """Check the outputs; ``others`` are files of the command that no report may replace."""
        super().check()
        if self.report is not None:
            _refuse_replacing(self.report, self.overwrite, others)

    def _write(self, page: Callable[[], str]) -> Path | None:
        if self.report is None:
            return None
        from dpmic.report import save

        save(page(), self.report, overwrite=self.overwrite)
        note(f"the report is in {self.report.resolve()}")
        return self.report


def _refuse_replacing(report: Path, overwrite: bool, others: Sequence[str | Path | None]) -> None:
    """Refuse a report that would replace anything but an earlier report."""
    from dpmic.report import refuse_unwritable

    refuse_replacing(report, "--report", others)
    refuse_unwritable(report, overwrite=True)
    if report.is_file() and not overwrite:
        raise ParameterError(
            str(report), "this file exists", "choose another name, or add --overwrite"
        )


def refuse_replacing(file: Path, option: str, others: Sequence[str | Path | None]) -> None:
    """Refuse an output that would replace another file of the command."""
    for other in others:
        if other is not None and _same(file, other):
            raise ParameterError(
                f"{option} {file}", "this command uses that file otherwise", "choose another name"
            )


def _same(one: Path, other: str | Path) -> bool:
    """Return whether two names are of one file, which need not exist yet."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


def _rescue(answer: Answer) -> str:
    """Print on stderr what is public, paid for and nowhere else; return where it is."""
    with suppress(Exception):
        typer.echo(answer.json(), err=True)
        return "it is printed above"
    return "it is lost"


def _with_state(error: Exception, state: str, spent: bool) -> Exception:
    """Return a failure that says where the result is now; faults are named by their type."""
    if isinstance(error, ClosedPipe):
        error = InputError("standard output", "nobody reads it any more", "")
    if isinstance(error, DpmicError):
        stated = InputError(error.value, error.reason, state or error.remedy)
    elif not spent:
        return error
    else:
        stated = InputError(type(error).__name__, "an output failed by a fault of dpmic", state)
    stated.__cause__ = error
    return stated
