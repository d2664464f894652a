"""Exit codes, one-line errors, and messages in the spelling of the command line.

Exit code 0 is success (or a closed pipe), 1 a refusal (the budget is too small, or the user said
no), 2 wrong usage or bad input, 130 Ctrl-C.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
import traceback
from collections.abc import Collection, Sequence
from itertools import islice
from typing import Any

import typer

from dpmic.cli._output import ClosedPipe, note
from dpmic.errors import BudgetError, DpmicError, LedgerError, spell

REFUSED, WRONG, STOPPED = 1, 2, 130

# The base of errors in the use of a command, which typer does not export.
USAGE: type = typer.BadParameter.__mro__[2]

QUOTES = "\"'"
NO_NUMBER = re.compile(r"Input should be a valid number.*|\S+ is not a valid float.*")
"""What pydantic and click say of an option such as ``--epsilon 0,5``."""

DELIVERY = {"as_json", "as_csv", "report", "overwrite", "debug", "yes"}
"""The parameters that are not part of a query: delivery of the result, and consent."""


class Stopped(Exception):  # noqa: N818 - not an error
    """Ctrl-C, with a message."""


class Declined(Exception):  # noqa: N818 - nothing went wrong
    """The user was asked and declined."""


def fail(error: BaseException, *, debug: bool) -> int:
    """Print what went wrong and return the exit code."""
    if isinstance(error, ClosedPipe):
        return 0
    if type(error).__name__ == "NoArgsIsHelpError":  # typer does not export it
        typer.echo(str(error), err=True)
        return WRONG
    if debug:
        traceback.print_exception(error)
    if isinstance(error, KeyboardInterrupt | Stopped):
        note(str(error) or "stopped")
        return STOPPED
    if isinstance(error, ExceptionGroup):
        return max(fail(single, debug=False) for single in error.exceptions)
    if isinstance(error, typer.Abort):
        return fail(error.__cause__ or Declined("nothing was done"), debug=False)
    if isinstance(error, Declined | EOFError):
        note(str(error) or "no answer, so nothing was done")
        return REFUSED
    if isinstance(error, DpmicError):
        note(error.spelled(_spelled))
        return REFUSED if _about_budget(error) else WRONG
    if isinstance(error, USAGE):
        note(_usage(error))
        return WRONG
    if isinstance(error, MemoryError):
        note("not enough memory; close other programs, or pass fewer columns.")
        return WRONG
    # Messages of other libraries may contain data, so only the type is printed.
    note(
        f"{type(error).__name__}: this is a bug in dpmic; please report it. --debug prints a "
        "traceback, which may contain data: read it before you send it."
    )
    return WRONG


def _about_budget(error: DpmicError) -> bool:
    """Return whether a ledger refuses an amount, as opposed to being unusable."""
    amount = error.value.startswith(("epsilon =", "delta ="))
    return isinstance(error, BudgetError) or (isinstance(error, LedgerError) and amount)


def _usage(error: BaseException) -> str:
    """Return a usage error in one line."""
    message = " ".join(str(getattr(error, "format_message", error.__str__)()).split())
    message = message.replace(": Value error, ", ": ")  # pydantic's words
    message = NO_NUMBER.sub("this is not a number; write 0.5, with a point", message)
    context = getattr(error, "ctx", None)
    command = "dpmic" if context is None else context.command_path
    if message.endswith("?"):
        return f"{message} See {command} --help."
    return f"{message.rstrip('.')}; see {command} --help."


def for_the_shell(text: str) -> str:
    """Spell the code in a message as options and commands; leave other text unchanged.

    Examples
    --------
    >>> from dpmic.errors import with_code
    >>> for_the_shell(with_code("use `dpmic.screen`, or pass `allow_noisy=True`"))
    'use dpmic screen, or pass --allow-noisy'
    >>> for_the_shell(with_code("pass `dataset='visits 2024'`"))
    "pass --dataset 'visits 2024'"
    >>> for_the_shell(with_code("pass `dpmic.data.open_file(path, dpmic.data.Dialect(sep=';'))`"))
    "pass --sep ';'"
    >>> for_the_shell(with_code("pass `exact=True`"))
    'pass --exact all'
    >>> for_the_shell("there is no column 'top=5'")
    "there is no column 'top=5'"
    >>> for_the_shell(with_code("pass `missing={'age': ...}`"))
    'pass --fill age=...'
    """
    return spell(text, _spelled)


def _spelled(code: str) -> str:
    """Spell ``name=value`` as an option, and ``dpmic.name`` as a command."""
    if written := re.fullmatch(r"dpmic\.data\.open_file\(path, [\w.]+\((.*)\)\)", code):
        code = written[1]
    name, equals, value = code.partition("=")
    if not equals:
        return name.replace(".", " ")
    if name == "missing" and value.startswith("{"):
        ((column, _),) = ast.literal_eval(value).items()
        name, value = "fill", f"{column}=..."
    if name == "exact" and value == "True":
        value = "all"
    option = f"--{name.replace('_', '-')}"
    plain = value.strip(QUOTES)
    bare = plain in (".", ",")  # would look like the end of a sentence
    return option if value == "True" else f"{option} {repr(plain) if bare else shlex.quote(plain)}"


def repeated(answers: Sequence[str] = ()) -> str:
    """Return the command that repeats this query, against the same budget.

    Adds ``answers`` to prompts, written as options. Leaves out --yes and the options of delivery.
    """
    words = without(sys.argv[1:], DELIVERY)
    end = words.index("--") if "--" in words else len(words)
    command = ["dpmic", *words[:end], *answers, *words[end:]]
    return subprocess.list2cmdline(command) if os.name == "nt" else shlex.join(command)


def without(words: Sequence[str], names: Collection[str]) -> list[str]:
    """Return the words of a command without some of its parameters."""
    from dpmic.cli._application import command

    current: Any = command()
    options = _options(current)
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            return [*kept, word, *rest]
        option = options.get(word.partition("=")[0])
        given = [word]
        if option is None:  # an argument, or a command, whose options follow
            current = getattr(current, "commands", {}).get(word, current)
            options |= _options(current)
        elif not option.is_flag and "=" not in word:
            given += islice(rest, option.nargs)
        if option is None or option.name not in names:
            kept += given
    return kept


def _options(command: Any) -> dict[str, Any]:
    """Return the options of a command by each of their spellings."""
    options = (option for option in command.params if option.param_type_name == "option")
    return {name: option for option in options for name in (*option.opts, *option.secondary_opts)}
