"""The strongest of many pairs: which they are, and how results list them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate

__all__ = ["SHOWN", "largest", "lines", "ranks"]

SHOWN = 10
"""Pairs in the text and the HTML of a result."""

Row = tuple[str, str]


def largest(values: NDArray[np.float64], k: object) -> NDArray[np.intp]:
    """Return the places of the k largest values, the largest first and equal ones in their order.

    NaN has no place among them. Only what is returned is sorted.
    """
    wanted = _validate.integer(k, "k", least=1)
    wanted = min(wanted, values.size - int(np.count_nonzero(np.isnan(values))))
    if not wanted:
        return np.empty(0, np.intp)
    least = -np.partition(-values, wanted - 1)[wanted - 1]
    above = np.flatnonzero(values > least)
    equal = np.flatnonzero(values == least)[: wanted - above.size]
    places = np.concatenate([above, equal])
    ordered: NDArray[np.intp] = places[np.argsort(-values[places], kind="stable")]
    return ordered


def lines(rows: Sequence[Row], total: int) -> str:
    """Write a line for each of the leading pairs, given with their numbers, for a text."""
    more = f"\n  and {total - len(rows)} more" if total > len(rows) else ""
    return "".join(f"\n  {number}  {pair}" for pair, number in rows) + more


def ranks(rows: Sequence[Row], total: int) -> dict[str, str]:
    """Return the leading pairs by rank, for a table of HTML."""
    ranked = {f"{rank}. {pair}": number for rank, (pair, number) in enumerate(rows, 1)}
    if total > len(rows):
        ranked["and more"] = str(total - len(rows))
    return ranked
