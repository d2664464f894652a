"""The template of a job file, made from the names of columns alone."""

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
"""Longer keys are not aligned."""

HEAD = """\
# A job for dpmic: what to publish about a table, and whose privacy it protects.
#
#   1. Replace every "?" below.
#   2. dpmic check $job         lists what is missing or wrong
#   3. dpmic rehearse $job      shows the report and the noise, on made-up data
#   4. dpmic run $job           asks for your consent, then publishes
#
# To use a line, remove its #. Write what you know about the columns, never what you saw in the
# records: the report shows this file unchanged.

[data]
file = $file
dataset = "?"                     # a name for this data, such as "visits 2024". The ledger
                                  #   knows the data by it; other or corrected data needs a new one
# people = 5000                   # about how many, for check and rehearse
# sep = ";"                       # the format of the file: column separator,
# decimal = ","                   #   decimal mark,
# encoding = "latin-1"            #   encoding,
# na = ["-9", "99", "unknown"]    #   codes for missing values; they count as values otherwise,
# sheet = "visits"                #   sheet of an Excel workbook

[privacy]
person = "?"                      # the column that identifies the person; if nobody has two
                                  #   rows, write instead: one_row_per_person = true
# rows_per_person = 5             # use the first 5 rows of each person; default 1
epsilon = 1                       # the privacy loss: less protects more, with more noise
ledger = $ledger# the people's privacy budget; create it once:
                                  #   dpmic ledger create $budget --epsilon 3
# allow_large_epsilon = true      # allow epsilon above 10 (weak protection)
# allow_noisy = true              # publish even if noise hides the values

[question]
ask = "strongest pairs"           # or "all pairs", "one pair", "test" (of independence)
top = $top                           # strongest pairs: how many
# target = "age"                  # strongest or all pairs: only pairs with this column
# x = "age"                       # one pair, test: the two columns
# y = "dose"
# axes = "wide"                   # only if the bounds are far wider than the values,
                                  #   such as years in [0, 3000]
# mechanism = "auto"              # this and the next lines have good defaults
# cap = 5
# B = 100
# c = 5
# split = 0.5                     # strongest pairs: share of epsilon for the selection
# delta = 1e-6                    # all pairs: allow this delta, for less noise
# draws = 999                     # test: number of simulated null values

[columns]
# One line per column. A text file's first line must hold their names: if you see a person's
# values here, add a line of names to the table and begin again. Replace "?" by one of
#   { bounds = [0, 120] }                       numbers: the possible range
#   { bounds = [2020-01-01, 2024-12-31] }       dates
#   { categories = ["a", "b", "other"] }        "other" collects the rest, which
#                                               otherwise counts as missing
#   "ignore"                                    do not use this column
# If one column follows from another, such as age from year of birth, write "ignore" for one of
# them: such pairs take the top places otherwise.
"""

TAIL = """
[missing]
rule = "?"                        # "refuse": stop if any value is missing
                                  # "drop": leave out records that lack a value of a pair
                                  # "scatter": fill in random values within the bounds
                                  # "fill": a fixed value, { bounds = ..., missing = 0 }
# complete = 0.8                  # drop: you promise that this share of the records has both
                                  #   values of a pair; without this line you promise 0.8. If
                                  #   fewer have, scores are too low, and no message says so

[groups]
# by = "ward"                     # one result per category of this column
# at_least = 300                  # the group sizes you promise, or { a = 300, b = 200 }

[report]
file = $report
# estimate = true                 # also show the estimate of MIC*, with its interval
"""
MARK = HEAD.partition(":")[0]
"""The start of every template: files that start otherwise are never overwritten."""

COMMENT = 34
"""The column where comments start."""


def template(
    file: str,
    names: Sequence[str],
    job: str | os.PathLike[str],
    said: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """Return the text of a job file, to be filled in.

    Parameters
    ----------
    file : str
        The path of the table, as the job file should give it.
    names : sequence of str
        The names of the columns.
    job : str or path-like
        The path of the job file.
    said : mapping
        Known facts about the format of the table, such as ``{"sep": ";"}``.

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
    """Write a text or a list of texts as TOML."""
    if isinstance(value, str):
        return quoted(value)
    return f"[{', '.join(map(quoted, value))}]"


def _shown(name: str) -> str:
    """Quote the name of a file for the shell, if necessary."""
    return name if BARE.fullmatch(name.replace(".", "")) else quoted(name)


def _lines(names: Sequence[str]) -> list[str]:
    """Return a line per column; columns that share a name, or have none, are ignored."""
    counts = Counter(names)
    widths = [len(key_of(name)) for name in counts]
    width = max([0, *(width for width in widths if width <= WIDEST)])
    lines = []
    for name, count in counts.items():
        key = key_of(name).ljust(width)
        if count > 1:
            lines.append(f'{key} = "{IGNORE}"  # {count} columns have this name\n')
        elif not name.strip():  # a separator ends every line
            lines.append(f'{key} = "{IGNORE}"  # this column has no name\n')
        else:
            lines.append(f'{key} = "{TO_FILL_IN}"\n')
    return lines


def save(text: str, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write a job file atomically; overwrite nothing but an earlier job file.

    Parameters
    ----------
    text : str
        The text from :func:`template`.
    path : str or path-like
        The path; its folder must exist.
    overwrite : bool
        Replace an earlier job file, including what was filled in.
    """
    target = Path(path)
    remedy = with_code(
        "choose another name, or pass `overwrite=True`, which erases what was filled in"
    )
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
    except (OSError, ValueError):  # unreadable, or not UTF-8
        return False
