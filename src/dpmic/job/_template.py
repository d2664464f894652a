"""A job file to fill in, made of the names of columns alone."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Any

from dpmic import _io
from dpmic.errors import ParameterError, with_code
from dpmic.job._entries import BARE, IGNORE, TO_FILL_IN, key_of, quoted

TOP = 5
WIDEST = 30
"""The longest key that others are aligned with."""

HEAD = """\
# A job for dpmic: what to publish about a table, and whom that protects.
#
#   1. Replace every "?" below.
#   2. dpmic check $job         says what is missing or wrong
#   3. dpmic rehearse $job      shows report, noise and runtime, on made-up data
#   4. dpmic run $job           asks, spends and writes the report
#
# Take a # away to use a line. Write what you know about the columns, never what you saw in the
# records: the report shows this file as it is.

[data]
file = $file
dataset = $dataset# its name in the ledger; corrected data needs another
# people = 5000                   # about how many there are, for check and rehearse
# sep = ";"                       # how the file is written: what separates columns,
# decimal = ","                   #   the decimal sign,
# encoding = "latin-1"            #   the encoding,
# na = ["-9", "unknown"]          #   what else stands for a missing value,
# sheet = "visits"                #   and the sheet of an Excel workbook

[privacy]
person = "?"                      # the column that names a person; if nobody has two rows,
                                  #   write instead: one_row_per_person = true
# rows_per_person = 5             # of each person the first 5 rows count, by default 1
epsilon = 1.0                     # the privacy loss: less protects more, with more noise
ledger = $ledger# the people's budget, made once by
                                  #   dpmic ledger create $budget --epsilon 3
# allow_large_epsilon = true      # allow epsilon above 10 (weak protection)
# allow_noisy = true              # publish even values that noise hides

[question]
ask = "strongest pairs"           # or "all pairs", "one pair", "test" (of independence)
top = $top                           # strongest pairs: how many
# target = "age"                  # strongest or all pairs: only those with this column
# x = "age"                       # one pair, test: the two columns
# y = "dose"
# axes = "wide"                   # for values far from 0, such as years and dates
# mechanism = "auto"              # this and what follows have good defaults
# cap = 5
# B = 100
# c = 5
# split = 0.5                     # strongest pairs: the share of epsilon for the selection
# delta = 1e-6                    # all pairs: for less noise
# draws = 999                     # test: independent columns to compare with

[columns]
# One line a column. Replace "?" by one of
#   { bounds = [0, 120] }                       numbers: the possible range
#   { bounds = [2020-01-01, 2024-12-31] }       dates
#   { categories = ["a", "b", "other"] }        without "other", other values count as missing
#   "ignore"                                    takes no part
"""

TAIL = """
[missing]
rule = "?"                        # "refuse": none may be missing
                                  # "drop": leave out records that lack a value of the pair
                                  # "scatter": a random value between the bounds instead
                                  # "fill": a value for each column, { bounds = ..., missing = 0 }
# complete = 0.8                  # drop: the share of records that surely have both values

[groups]
# by = "ward"                     # one result for each category of this column
# at_least = 300                  # the records that each surely has, or { a = 300, b = 200 }

[report]
file = $report
# estimate = true                 # show the estimate of MIC* with its own interval, too
"""
MARK = HEAD.partition(":")[0]
"""How every template begins: no other file is ever overwritten."""

COMMENT = 34
"""The column where comments stand."""


def template(
    file: str,
    names: Sequence[str],
    job: str | os.PathLike[str],
    said: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """Return a job file for a table, to be filled in.

    Parameters
    ----------
    file : str
        The table, as the job file is to name it.
    names : sequence of str
        The names of its columns.
    job : str or path-like
        What the job file will be called.
    said : mapping
        How the file is written, as far as somebody said it: ``{"sep": ";"}``.

    Examples
    --------
    >>> text = template("visits.csv", ["patient", "age"], "visits.dpmic.toml")
    >>> 'file = "visits.csv"' in text, 'age     = "?"' in text
    (True, True)
    """
    stem = Path(job).name.removesuffix(".toml").removesuffix(".dpmic")
    pairs = len(names) * (len(names) - 1) // 2
    ledger = f"{stem}.ledger"
    written = {
        "job": _shown(Path(job).name),
        "file": quoted(file),
        "dataset": quoted(stem).ljust(COMMENT - len("dataset = ") - 2) + "  ",
        "ledger": quoted(ledger).ljust(COMMENT - len("ledger = ") - 2) + "  ",
        "budget": _shown(ledger),
        "top": str(max(1, min(TOP, pairs))),
        "report": quoted(f"{stem}.html"),
    }
    head, tail = (Template(text).substitute(written) for text in (HEAD, TAIL))
    for key, value in said.items():
        line = f"{key} = {_toml(value)}".replace("\\", r"\\")
        head = re.sub(rf"(?m)^# {key} = .*$", line, head)
    return head + "".join(_lines(names)) + tail


def _toml(value: Any) -> str:
    """Write a text, or a list of texts."""
    if isinstance(value, str):
        return quoted(value)
    return f"[{', '.join(map(quoted, value))}]"


def _shown(name: str) -> str:
    """Write a file's name in a comment as a shell takes it."""
    return name if BARE.fullmatch(name.replace(".", "")) else quoted(name)


def _lines(names: Sequence[str]) -> list[str]:
    """Return a line for each column; those of one name cannot be told apart."""
    counts = Counter(names)
    widths = [len(key_of(name)) for name in counts]
    width = max([0, *(width for width in widths if width <= WIDEST)])
    lines = []
    for name, count in counts.items():
        key = key_of(name).ljust(width)
        if count > 1:
            lines.append(f'{key} = "{IGNORE}"  # {count} columns have this name\n')
        else:
            lines.append(f'{key} = "{TO_FILL_IN}"\n')
    return lines


def save(text: str, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write a job file, completely or not at all, over nothing but an earlier one.

    Parameters
    ----------
    text : str
        What :func:`template` returned.
    path : str or path-like
        The file; its folder must exist.
    overwrite : bool
        Whether an earlier job file may be replaced, with all that was filled in.
    """
    target = Path(path)
    remedy = with_code("choose another name, or pass `overwrite=True`")
    refused = ParameterError(str(path), "this file exists", remedy)
    if overwrite and target.exists() and not _is_job(target):
        raise ParameterError(
            str(path), "this file exists, and it is not a job file", "choose another name"
        )
    if not overwrite and target.exists():
        raise refused
    try:
        with _io.atomic_write(target, may_replace=lambda: overwrite and _is_job(target)) as file:
            file.write(text.encode())
    except FileExistsError:
        raise refused from None
    except OSError as error:
        reason = f"it cannot be written ({error.strerror or type(error).__name__})"
        raise ParameterError(str(path), reason, "choose another name or folder") from None
    return target


def _is_job(target: Path) -> bool:
    """Return whether a file was made by :func:`template`."""
    try:
        with open(target, encoding="utf-8") as file:
            return file.read(len(MARK)) == MARK
    except (OSError, ValueError):  # of its characters
        return False
