"""What each column is: its bounds or categories, and what a job file remarks on it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from dpmic._format import format_value
from dpmic.results import Published

KEY = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)\s*=""")
"""A key of one part at the beginning of a line of TOML."""

COMMENT = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^"'#])*#\s*(.*)""")
"""What follows the first # outside of quotes."""


def described(
    result: Published, job: str | None, remarks: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return what each column of a result is, as far as that is public.

    Bounds and categories are parameters of the result. ``remarks``, or else the comments in the
    lines of [columns] in a job file, say what the column means.
    """
    known = _domains(result)
    remarks = _remarks(job) if remarks is None else remarks
    return {
        name: "; ".join(filter(None, (domain, remarks.get(name, ""))))
        for name, domain in known.items()
    }


def _domains(result: Published) -> dict[str, str]:
    """Return the bounds or the categories of each column, in words."""
    parameters = result.parameters
    names: Sequence[str] = getattr(result, "names", ())
    if not names and hasattr(result, "members"):  # the same columns in each group
        names = getattr(result.members[0], "names", ())
    found = dict(parameters.get("bounds", {})) | dict(parameters.get("categories", {}))
    for axis, name in zip("xy", names, strict=False):
        for kind in ("bounds", "categories"):
            if f"{axis} {kind}" in parameters:
                found[name] = parameters[f"{axis} {kind}"]
    fills = parameters.get("missing")
    return {
        name: _domain(own) + _fill(fills, name)
        for name, own in found.items()
    }  # fmt: skip


def _fill(rule: object, name: str) -> str:
    if isinstance(rule, Mapping) and name in rule:
        return f"; missing values count as {_written(rule[name])}"
    return ""


def _domain(own: Any) -> str:
    """Write bounds or categories."""
    if isinstance(own, Mapping):
        own = list(own)
    is_range = len(own) == 2 and (not isinstance(own[0], str) or re.match(r"[-+]?\d", own[0]))
    return (" to " if is_range else ", ").join(map(_written, own))


def _written(value: object) -> str:
    return format_value(value) if isinstance(value, int | float) else str(value)


def _remarks(job: str | None) -> dict[str, str]:
    """Return the comments beside the columns of a job file."""
    if job is None:
        return {}
    found: dict[str, str] = {}
    inside = False
    for line in job.splitlines():
        if line.lstrip().startswith("["):
            inside = line.split("#")[0].strip() == "[columns]"
        key, comment = KEY.match(line), COMMENT.fullmatch(line)
        if inside and key and comment and comment[1].strip():
            found[_name(key[1])] = comment[1].strip()
    return found


def _name(key: str) -> str:
    """Read a key of TOML."""
    try:
        return next(iter(tomllib.loads(f"{key} = 0")))
    except tomllib.TOMLDecodeError:
        return key
