"""What several kinds of releases are asked alike: how much privacy, and whose rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from dpmic import _validate
from dpmic.data import Source, find, first_rows, series_name
from dpmic.errors import ParameterError, with_code
from dpmic.privacy.domain import opened
from dpmic.statistics.counts.sources import Counting

__all__ = ["LEAST_EPSILON", "bounded_contributions", "columns_of", "loss"]

Kept = TypeVar("Kept", Source, Source | Counting)

LEAST_EPSILON = 1e-9


def loss(epsilon: object, *, allow_large: bool) -> float:
    """Check a privacy loss."""
    checked = _validate.epsilon(epsilon, allow_large=allow_large)
    if checked < LEAST_EPSILON:
        raise ParameterError(
            f"epsilon = {epsilon!r}",
            "so small a loss publishes noise alone",
            with_code("pass `epsilon=1`"),
        )
    return checked


def bounded_contributions(
    source: Kept, person: Any, data: Any, rows: int = 1
) -> tuple[Kept, str | None]:
    """Return the first ``rows`` rows of each person, and the name of the column of identifiers.

    Without identifiers nothing is left out: the caller answers for the number of rows.
    """
    if person is None:
        return source, None
    if isinstance(source, Counting):
        raise ParameterError(
            "person",
            "rows that come in parts are counted and not kept, so people cannot be told apart",
            with_code("keep one row for each person beforehand, or pass `rows_per_person=...`"),
        )
    kept = opened(lambda: source.take(first_rows(person, data, source.n, rows)))
    if data is not None:
        return kept, str(person)
    name = series_name(person)
    # A ledger must tell this question from the same one about other units.
    return replace(kept, named=kept.named and bool(name)), name or "person"


def columns_of(*columns: Any, data: Any, person: Any, rows: int = 1) -> tuple[Source, str | None]:
    """Find columns in memory, with so many rows of each person if people are told apart."""
    roles = ("x", "y")[: len(columns)]
    found = opened(lambda: find(*columns, data=data, roles=roles))
    opened(lambda: found.n)
    return bounded_contributions(found, person, data, rows)
