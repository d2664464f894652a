"""The numbers that the paper's text reads off its boxplots, beside ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from dpmic.evaluation import printed
from dpmic.evaluation.printed import Figure
from dpmic.evaluation.tables import Table

__all__ = ["quoted"]

READ_OFF: Mapping[str, tuple[str, Callable[[Any], Any]]] = MappingProxyType(
    {
        "median bias": ("bias", np.median),
        "least bias": ("bias", np.min),
        "largest bias": ("bias", np.max),
        "largest unsigned bias": ("bias", lambda bias: np.max(np.abs(bias))),
        "median variance": ("variance", np.median),
    }
)


NOTES: dict[tuple[str | None, str, str], str] = {
    (None, "micr-lap", "least bias"): (
        "F9 with R^2 of 0.7 to 0.9 lies lower; the least of all others is -0.100"
    ),
    (None, "micr-geom", "least bias"): (
        "F9 with R^2 of 0.7 to 0.9 lies lower; the least of all others is -0.375"
    ),
    ("Spellman4381", "micr-lap", "least bias"): (
        "one pair, of MICe 0.72, has it; the least of all others is -0.038"
    ),
    ("Spellman4381", "micr-geom", "least bias"): (
        "the four pairs of MICe above 0.37 lie between -0.17 and -0.07; the least of all others "
        "is -0.047"
    ),
}
"""Why a number differs from the print."""


def quoted(synthetic: Table, real: Table) -> Table:
    """Return a row for each number that the tables at hand can answer."""
    rows = []
    for figure in (*printed.SYNTHETIC, *printed.REAL):
        column, summary = READ_OFF[figure.statistic]
        own = [
            row[column] for row in (real if figure.collection else synthetic) if _of(figure, row)
        ]
        if own:
            rows.append(
                {
                    "data": figure.collection or "synthetic",
                    "bin": "all" if figure.bin is None else f"bin {figure.bin + 1}",
                    "n": figure.n,
                    "epsilon": figure.epsilon,
                    "mechanism": figure.mechanism,
                    "statistic": figure.statistic,
                    "printed": figure.value,
                    "measured": float(summary(own)),
                    "note": NOTES.get((figure.collection, figure.mechanism, figure.statistic), ""),
                }
            )
    return rows


def _of(figure: Figure, row: Mapping[str, Any]) -> bool:
    """Tell whether a row of either table is one of those that a number is read off."""
    if (row["mechanism"], row["epsilon"]) != (figure.mechanism, figure.epsilon):
        return False
    if figure.collection is None:
        return bool(row["n"] == figure.n)
    if row["collection"] != figure.collection:
        return False
    return figure.bin is None or printed.in_bin(figure.collection, row["mice"]) == figure.bin
