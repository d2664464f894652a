"""The ``dpmic`` application: all commands, start and exit."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Annotated, Any

import typer
from typer.main import get_command

from dpmic.cli import (
    _output,
    _shell,
    demo,
    independence,
    job,
    ledger,
    plan,
    release,
    reproduce,
    score,
    screen,
    window,
)
from dpmic.cli._options import spread
from dpmic.errors import BoundsReminder, Message, NoiseWarning

app = typer.Typer(
    name="dpmic",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help takes half the time
    pretty_exceptions_enable=False,  # its tracebacks would print local variables
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Find dependence between the columns of a table, and publish it privately.",
)
for name, function, example in (
    ("score", score.score, score.EXAMPLE),
    ("matrix", score.matrix, score.EXAMPLE_MATRIX),
    ("test", independence.independence, independence.EXAMPLE),
    ("plan", plan.plan, plan.EXAMPLE),
    ("release", release.release, release.EXAMPLE),
    ("screen", screen.screen, screen.EXAMPLE),
    ("bounds", release.bounds, release.EXAMPLE_BOUNDS),
    ("init", job.init, job.EXAMPLE_INIT),
    ("check", job.check, job.EXAMPLE_CHECK),
    ("rehearse", job.rehearse, job.EXAMPLE_REHEARSE),
    ("run", job.run, job.EXAMPLE),
    ("app", window.app, window.EXAMPLE),
    ("audit", plan.audit, plan.EXAMPLE_AUDIT),
    ("reproduce", reproduce.reproduce, reproduce.EXAMPLE),
    ("demo", demo.demo, demo.EXAMPLE),
):
    app.command(name, epilog=f"Example: {example}")(spread(function))
app.add_typer(
    ledger.app, name="ledger", epilog="Example: dpmic ledger create people.ledger --epsilon 3"
)


@cache
def command() -> Any:
    """Return the click command of the application."""
    return get_command(app)


def main() -> None:
    """Run the command; an error is one line on stderr, and an exit code."""
    # Each idle BLAS thread of numpy and scipy would take 0.05 s to start.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _escape_names()
    words = _shell.without(sys.argv[1:], {"debug"})  # may stand anywhere in the command
    with _notes():
        raise SystemExit(_run(words, debug=len(words) < len(sys.argv) - 1))


def _run(words: list[str], debug: bool) -> int:
    """Run one command and return its exit code."""
    try:
        with _output.stdout():
            code = command()(words, prog_name="dpmic", standalone_mode=False)
    except SystemExit as stopped:
        return stopped.code if isinstance(stopped.code, int) else 0
    except BaseException as error:
        return _shell.fail(error, debug=debug)
    if code == _shell.STOPPED:  # typer has caught Ctrl-C
        return _shell.fail(KeyboardInterrupt(), debug=False)
    return code if isinstance(code, int) else 0


@contextmanager
def _notes() -> Iterator[None]:
    """Print warnings of the library as notes."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        code = [part for part in getattr(message, "args", ()) if isinstance(part, Message)]
        _output.note(f"note: {_shell.for_the_shell(code[0] if code else str(message))}")

    with warnings.catch_warnings():
        for kind in (BoundsReminder, NoiseWarning):
            warnings.simplefilter("always", kind)
        warnings.filterwarnings("always", "name=... is deprecated", DeprecationWarning)
        warnings.filterwarnings("default", "column .* its texts look like dates", UserWarning)
        warnings.showwarning = show
        yield


def _escape_names() -> None:
    """Escape characters that the terminal cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _version(asked: bool) -> None:
    if asked:
        from dpmic import __version__

        typer.echo(f"dpmic {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Also print a traceback if a command fails.")
    ] = False,
) -> None:
    """Find dependence between the columns of a table, and publish it privately."""
