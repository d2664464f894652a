"""``dpmic app``."""

from __future__ import annotations

from typing import Annotated

import typer

from dpmic.cli import _output

EXAMPLE = "dpmic app visits.csv"


def app(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="A table, or a job file; may be left out.")
    ] = None,
    port: Annotated[int, typer.Option(help="By default one that is free.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Open a window in the browser: plan, rehearse, spend and publish.

    Only this computer can reach it. Ctrl-C stops it.
    """
    from dpmic.app import serve

    serve(file, port=port, browser=browser, say=_output.say)
