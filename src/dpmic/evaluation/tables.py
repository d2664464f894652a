"""Tables as CSV files: rows of plain numbers and texts, written completely or not at all."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from dpmic._io import atomic_write

__all__ = ["Table", "read", "replace", "write"]

Table = list[dict[str, Any]]


def write(path: Path, rows: Table) -> None:
    """Write a table; columns are those of all rows, in the order in which they first appear."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _written(row.get(name)) for name in columns} for row in rows)
    replace(path, text.getvalue())


def replace(path: Path, text: str) -> None:
    """Write a text, in the place of an earlier one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(text.encode())


def read(path: Path) -> Table:
    """Read a table back; what looks like a number is one, and an empty field is None."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: _read(text) for name, text in row.items()} for row in csv.DictReader(file)]


def _written(value: Any) -> Any:
    """Six digits are more than any simulation has."""
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
