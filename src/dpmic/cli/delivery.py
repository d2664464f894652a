"""Handing over results: outputs are checked first, and a failed one loses nothing."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpmic.cli.printing import Answer, ClosedPipe, Form, form, note, show
from dpmic.errors import DpmicError, InputError, ParameterError

__all__ = ["KEPT", "LOST", "Delivery", "repeated"]

KEPT = "the ledger keeps this release: the same command gives it again at no cost"
LOST = "its epsilon is spent; with --ledger a failed output loses nothing"


@dataclass(frozen=True)
class Delivery:
    """Where a result goes."""

    form: Form
    report: Path | None

    @classmethod
    def planned(cls, as_json: bool, as_csv: bool, report: Path | None, overwrite: bool) -> Delivery:
        """Check the outputs before any work is done, or anything spent."""
        wished = form(as_json, as_csv)
        if report is not None:
            from dpmic.report import refuse_unwritable

            if report.is_file() and not overwrite:
                raise ParameterError(
                    str(report), "this file exists", "choose another name, or add --overwrite"
                )
            refuse_unwritable(report, overwrite=overwrite)
        return cls(wished, report)

    def give(self, answer: Answer, page: Callable[[], str], after: str = "") -> None:
        """Print an answer and write the report; ``after`` tells what a failure means."""
        failure: DpmicError | ClosedPipe | None = None
        try:
            show(answer, self.form)
        except (DpmicError, ClosedPipe) as error:
            failure = error  # the report can still be written
        try:
            self._write(page)
        except DpmicError as error:
            failure = error
        if isinstance(failure, DpmicError) and after:
            raise InputError(failure.value, failure.reason, after)
        if failure is not None:
            raise failure

    def _write(self, page: Callable[[], str]) -> None:
        if self.report is None:
            return
        from dpmic.report import save

        save(page(), self.report)
        note(f"the report is in {self.report.resolve()}")


def repeated(chosen: Sequence[str] = ()) -> str:
    """Return the command that was given, with what was answered to questions as options."""
    given = ["dpmic", *sys.argv[1:], *(word for word in chosen if word not in sys.argv)]
    return subprocess.list2cmdline(given) if os.name == "nt" else shlex.join(given)
