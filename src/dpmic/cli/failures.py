"""How commands end: exit codes, and one line on stderr.

0 is success (and a closed pipe: its reader has enough), 1 a refusal (the budget does not allow
it, or somebody said no), 2 wrong usage or bad input, 130 Ctrl-C.
"""

from __future__ import annotations

import re
import shlex
import traceback

import typer

from dpmic.cli.printing import ClosedPipe, note
from dpmic.errors import BudgetError, DpmicError, LedgerError

__all__ = ["REFUSED", "STOPPED", "WRONG", "Declined", "Stopped", "for_the_shell", "told"]

REFUSED, WRONG, STOPPED = 1, 2, 130

# The base of errors in the use of a command, which typer does not export.
USAGE: type = typer.BadParameter.__mro__[2]

# Options that remedies speak of as Python has them.
NAMES = (
    "allow_large_epsilon|allow_noisy|alpha|B|bounds|c|dataset|delta|draws|epsilon|error|mechanism"
    "|missing|n|name|of|permutations|person|pooled|pvalues|rows_per_person|runs|split|statistic"
    "|target|tic|top"
)
FUNCTIONS = re.compile(r"\bdpmic\.(plan|release|screen)\b")
PYTHON = re.compile(rf"\b({NAMES})=(?:True|(['\"])(.*?)\2|(\.\.\.|[\w.+-]*\w))")


class Stopped(Exception):  # noqa: N818 - it was meant
    """Somebody pressed Ctrl-C where there is more to say than that."""


class Declined(Exception):  # noqa: N818 - nothing went wrong
    """Somebody was asked and said no."""


def told(error: BaseException, *, debug: bool) -> int:
    """Say what went wrong and return the exit code."""
    if isinstance(error, ClosedPipe):
        return 0
    if type(error).__name__ == "NoArgsIsHelpError":  # nor does it export this
        typer.echo(str(error), err=True)
        return WRONG
    if debug:
        traceback.print_exception(error)
    if isinstance(error, KeyboardInterrupt | Stopped):
        note(str(error) or "stopped")
        return STOPPED
    if isinstance(error, ExceptionGroup):
        return max(told(single, debug=False) for single in error.exceptions)
    if isinstance(error, typer.Abort):
        return told(error.__cause__ or Declined("nothing was done"), debug=False)
    if isinstance(error, Declined | EOFError):
        note(str(error) or "no answer, so nothing was done")
        return REFUSED
    if isinstance(error, DpmicError):
        note(f"{error.value}: {error.reason}; {for_the_shell(error.remedy)}.")
        return REFUSED if _about_budget(error) else WRONG
    if isinstance(error, USAGE):
        note(_usage(error))
        return WRONG
    if isinstance(error, MemoryError):
        note("memory: there is not enough; close other programs, or pass fewer columns.")
        return WRONG
    # Foreign words may hold data, so only their kind is told.
    note(
        f"{type(error).__name__}: this is a fault of dpmic; please report it. --debug adds a "
        "traceback, which may hold data: read it before you send it."
    )
    return WRONG


def _about_budget(error: DpmicError) -> bool:
    """Tell whether a ledger refuses an amount, rather than being unusable."""
    amount = error.value.startswith(("epsilon =", "delta ="))
    return isinstance(error, BudgetError) or (isinstance(error, LedgerError) and amount)


def _usage(error: BaseException) -> str:
    """Return what is wrong with a command in one line."""
    message = " ".join(str(getattr(error, "format_message", error.__str__)()).split())
    message = message.replace(": Value error, ", ": ")  # pydantic's words
    context = getattr(error, "ctx", None)
    command = "dpmic" if context is None else context.command_path
    return f"{message.rstrip('.')}; see {command} --help."


def for_the_shell(words: str) -> str:
    """Write options and functions of Python as the command has them.

    Examples
    --------
    >>> for_the_shell("use dpmic.screen, or pass allow_noisy=True")
    'use dpmic screen, or pass --allow-noisy'
    >>> for_the_shell("pass dataset='visits 2024'")
    "pass --dataset 'visits 2024'"
    """

    def option(found: re.Match[str]) -> str:
        value = found[4] or shlex.quote(found[3] or "")
        flag = "--" + found[1].replace("_", "-")
        return flag if found[0].endswith("=True") else f"{flag} {value}"

    return FUNCTIONS.sub(r"dpmic \1", PYTHON.sub(option, words))
