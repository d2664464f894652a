"""The command that repeats a result, for its page."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["public", "repeated"]

FLAGS = {"--one-row-per-person", "--allow-large-epsilon", "--all", "--estimate", "--json", "--csv"}
FLAGS |= {"--yes", "-y", "--overwrite", "--debug"}
"""The options of private commands that take no value."""

LOCAL = {"--ledger", "--name", "--report", "--yes", "-y", "--overwrite", "--debug"}
"""What is nobody's business elsewhere."""


def repeated(chosen: Sequence[str] = ()) -> str:
    """Return the command that was given, with what was answered to questions as options."""
    return _joined(_with(sys.argv[1:], chosen))


def public(chosen: Sequence[str] = ()) -> str:
    """Return the same without local facts, for a page that may be published."""
    return _joined(_with(list(_without_local(sys.argv[1:])), chosen))


def _joined(words: Sequence[str]) -> str:
    given = ["dpmic", *words]
    return subprocess.list2cmdline(given) if os.name == "nt" else shlex.join(given)


def _with(words: list[str], chosen: Sequence[str]) -> list[str]:
    """Add options where options may stand."""
    end = words.index("--") if "--" in words else len(words)
    return [*words[:end], *chosen, *words[end:]]


def _without_local(words: Sequence[str]) -> Iterator[str]:
    """Yield the words that make the result; of files their names, without folders."""
    rest, positions, options = iter(words), 0, True
    for word in rest:
        if options and word == "--":
            options = False
            yield word
        elif options and word.startswith("-") and word != "-":
            name, equals, value = word.partition("=")
            given = [] if name in FLAGS else [value if equals else next(rest, "")]
            if name not in LOCAL:
                kept = [Path(text).name for text in given] if name == "--bounds-file" else given
                yield from ["=".join((name, *kept))] if equals else [name, *kept]
        else:
            positions += 1  # the command, its file, and names of columns
            yield Path(word).name if positions == 2 else word
