"""The contenders of all tables, and CSV files that are written completely or not at all.

Contenders are the published mechanisms, ours, a simple baseline, and MIC without privacy.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dpmic._io import atomic_write

Table = list[dict[str, Any]]
Group = Literal["published", "ours", "baseline", "floor"]


@dataclass(frozen=True, slots=True)
class Contender:
    """A row of every table: its key in files, its label, and what its epsilon guarantees."""

    key: str
    label: str
    group: Group
    guarantee: str
    keeps_epsilon: bool = True

    @property
    def broken(self) -> bool:
        """Whether it claims an epsilon that does not hold; this is noted wherever it is shown."""
        return self.group == "published" and not self.keeps_epsilon


PROVED = "epsilon-DP, proved"
LOOSE = "epsilon-DP, with more noise than needed"

CONTENDERS = (
    Contender("mice-lap", "MICe-Lap (published)", "published", f"without ties {LOOSE}"),
    Contender("micr-lap", "MICr-Lap (published)", "published", LOOSE),
    Contender(
        "micr-geom",
        "MICr-Geom (published)",
        "published",
        "not epsilon-DP: proved guarantee G x epsilon",
        keeps_epsilon=False,
    ),
    Contender("ours-capped", "MICc-Lap (ours)", "ours", PROVED),
    Contender("ours-capped-estimate", "MICc-Lap (ours), estimate", "ours", PROVED),
    Contender("ours", "MICr-Lap (ours)", "ours", PROVED),
    Contender("ours-estimate", "MICr-Lap (ours), estimate", "ours", PROVED),
    Contender("ours-mice", "MICe-Lap (ours)", "ours", PROVED),
    Contender("ours-mice-estimate", "MICe-Lap (ours), estimate", "ours", PROVED),
    Contender("noisy-table", "noisy table", "baseline", PROVED),
    Contender("constant", "constant 0.5", "baseline", "looks at no data"),
    Contender("mice", "MICe (no privacy)", "floor", "not private", keeps_epsilon=False),
    Contender("micr", "MICr (no privacy)", "floor", "not private", keeps_epsilon=False),
)

ON_WIDE_BOUNDS = (
    Contender("ours-any", 'MICc-Lap (ours), axes="any"', "ours", PROVED),
    Contender("ours-wide", 'MICc-Lap (ours), axes="wide"', "ours", PROVED),
)
"""Compared only for bounds wider than the data; elsewhere our mechanisms use linear axes."""

ORDER = {contender.key: i for i, contender in enumerate((*CONTENDERS, *ON_WIDE_BOUNDS))}


def named(key: str) -> Contender:
    """Return the contender with this key.

    Examples
    --------
    >>> named("micr-geom").guarantee
    'not epsilon-DP: proved guarantee G x epsilon'
    """
    return (*CONTENDERS, *ON_WIDE_BOUNDS)[ORDER[key]]


def write(path: Path, rows: Table) -> None:
    """Write a table; its columns are those of all rows, in order of first appearance."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _written(row.get(name)) for name in columns} for row in rows)
    replace(path, text.getvalue())


def replace(path: Path, text: str) -> None:
    """Write a text file, replacing an earlier one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(text.encode())


def read(path: Path) -> Table:
    """Read a table; text that looks like a number becomes one, and an empty field None."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: _read(text) for name, text in row.items()} for row in csv.DictReader(file)]


def _written(value: Any) -> Any:
    """Return a value as written to a file: six digits are more than any simulation has."""
    return f"{value:.6g}" if isinstance(value, float) else value


def _read(text: str) -> Any:
    if not text:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
