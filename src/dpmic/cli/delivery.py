"""Handing over results: outputs are checked first, and a failed one loses nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import typer

from dpmic.cli import printing
from dpmic.cli.printing import Answer, ClosedPipe, Form
from dpmic.errors import DpmicError, InputError, ParameterError

__all__ = ["KEPT", "LOST", "Delivery"]

KEPT = "the ledger keeps this release: the same command gives it again at no cost"
LOST = "its epsilon is spent and no ledger keeps it"


@dataclass(frozen=True)
class Delivery:
    """Where a result goes."""

    form: Form
    report: Path | None
    overwrite: bool

    @classmethod
    def planned(
        cls,
        as_json: bool,
        as_csv: bool,
        report: Path | None,
        overwrite: bool,
        others: Sequence[str | Path | None] = (),
    ) -> Delivery:
        """Check the outputs before any work is done, or anything spent.

        ``others`` are the files that the command uses otherwise, which no report may replace.
        """
        wished = printing.form(as_json, as_csv)
        printing.refuse_closed()
        printing.load()
        if report is not None:
            _refuse_replacing(report, overwrite, others)
        return cls(wished, report, overwrite)

    def give(self, answer: Answer, page: Callable[[], str], after: str = "") -> None:
        """Print an answer and write the report; one is tried though the other has failed.

        ``after`` tells whether something was spent, and what keeps it: ``KEPT`` or ``LOST``.
        """
        failed: list[Exception] = []
        shown = written = False
        try:
            printing.show(answer, self.form)
            shown = True
        except Exception as error:
            failed.append(error)
        try:
            written = self._write(page)
        except Exception as error:
            failed.append(error)
        if not failed:
            return
        where = "it was printed" if shown else f"it is in {self.report}" if written else ""
        if after == LOST and not where:
            where = _rescued(answer)
        closed = isinstance(failed[0], ClosedPipe)
        if closed and len(failed) == 1 and (written or after != LOST):
            raise failed[0]  # whoever read has enough
        state = "; ".join(filter(None, (after, where)))
        raise _together([_explained(error, state, bool(after)) for error in failed])

    def _write(self, page: Callable[[], str]) -> bool:
        """Write the report, if there is to be one, and tell whether there is."""
        if self.report is None:
            return False
        from dpmic.report import save

        save(page(), self.report, overwrite=self.overwrite)
        printing.note(f"the report is in {self.report.resolve()}")
        return True


def _refuse_replacing(report: Path, overwrite: bool, others: Sequence[str | Path | None]) -> None:
    """Refuse a report in the place of anything but an earlier report."""
    from dpmic.report import refuse_unwritable

    for other in others:
        if other is not None and _same(report, other):
            raise ParameterError(
                f"--report {report}", "this command uses that file otherwise", "choose another name"
            )
    refuse_unwritable(report, overwrite=True)
    if report.is_file() and not overwrite:
        raise ParameterError(
            str(report), "this file exists", "choose another name, or add --overwrite"
        )


def _same(one: Path, other: str | Path) -> bool:
    """Tell whether two names are those of one file, which need not exist yet."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


def _rescued(answer: Answer) -> str:
    """Print what is public, paid for and nowhere else on stderr, and say so."""
    with suppress(Exception):
        typer.echo(answer.json(), err=True)
        return "it is printed above"
    return "it is lost"


def _explained(error: Exception, state: str, spent: bool) -> Exception:
    """Return a failure with where the result is now; of foreign ones only the kind is told."""
    if isinstance(error, ClosedPipe):
        error = InputError("standard output", "nobody reads it any more", "")
    if isinstance(error, DpmicError):
        told = InputError(error.value, error.reason, state or error.remedy)
    elif not spent:
        return error
    else:
        told = InputError(type(error).__name__, "an output failed by a fault of dpmic", state)
    told.__cause__ = error
    return told


def _together(failed: list[Exception]) -> Exception:
    """Return one failure, or several that do not hide each other."""
    return failed[0] if len(failed) == 1 else ExceptionGroup("two outputs failed", failed)
