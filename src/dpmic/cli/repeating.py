"""The command that repeats a result, for its page."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence

__all__ = ["repeated"]

OUTPUT = {"--json", "--csv", "--overwrite", "--debug", "--yes", "-y"}
"""What says how a result is handed over; --report, with its file, is the other one."""


def repeated(chosen: Sequence[str] = ()) -> str:
    """Return the command that asks the same question, against the same budget.

    All options that matter are as they were given; what was answered to questions is added. Those
    that say how the result is handed over, and that it is spent unasked, are left out.
    """
    return _joined(_with(list(_asking(sys.argv[1:])), chosen))


def _joined(words: Sequence[str]) -> str:
    given = ["dpmic", *words]
    return subprocess.list2cmdline(given) if os.name == "nt" else shlex.join(given)


def _with(words: list[str], chosen: Sequence[str]) -> list[str]:
    """Add options where options may stand."""
    end = words.index("--") if "--" in words else len(words)
    return [*words[:end], *chosen, *words[end:]]


def _asking(words: Sequence[str]) -> Iterator[str]:
    """Yield the words that make the question."""
    rest = iter(words)
    for word in rest:
        if word == "--":
            yield from (word, *rest)
        elif word == "--report":
            next(rest, "")
        elif word not in OUTPUT and not word.startswith("--report="):
            yield word
