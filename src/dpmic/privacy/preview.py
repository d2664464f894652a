"""What a release would cost and how noisy it would be, before anything is spent.

Everything here is a function of n, names and options, as the releases' own plans are; of the data
only identifiers of people are looked at, to count them. What a release would warn of is said here,
too, since afterwards is too late.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpmic import _validate
from dpmic.data import find
from dpmic.privacy import bounds as ranges
from dpmic.privacy import pairwise as matrices
from dpmic.privacy import release as releases
from dpmic.privacy import screen as screens
from dpmic.privacy import tables, testing
from dpmic.privacy.asked import bounded_contributions, columns_of, loss
from dpmic.privacy.ledger import Ledger
from dpmic.privacy.mechanisms import LaplaceMechanism, MICrLaplace
from dpmic.privacy.reminders import noise_in_words

__all__ = ["Preview", "bounds", "matrix", "release", "screen", "test"]


@dataclass(frozen=True)
class Preview:
    """The cost and the noise of something that was not published yet.

    Attributes
    ----------
    n : int
        The number of records, or of people where a column tells them apart.
    epsilon, delta : float
        What it would cost.
    noise : str or None
        What the noise of a value means, in words, where that is known.
    values : int
        How many values would be published.
    candidates : int or None
        Of how many pairs they would be chosen, if they are.
    """

    n: int
    epsilon: float
    delta: float = 0.0
    noise: str | None = None
    values: int = 1
    candidates: int | None = None

    def rest(self, ledger: Ledger) -> float | None:
        """Return what would be left of a ledger's epsilon; None if this does not fit."""
        left = ledger.remaining
        fits = self.epsilon <= left and self.delta <= ledger.remaining_delta
        return left - self.epsilon if fits else None


def release(
    x: str, y: str, *, data: Any, mechanism: str, bounds: Any, person: str | None, **options: Any
) -> Preview:
    """Look ahead to :func:`dpmic.release`; ``options`` are the mechanism's, with epsilon."""
    source = find(x, y, data=data)
    epsilon = options.pop("epsilon")
    ends = releases._in_order(bounds, source.names)
    chosen = releases._mechanism(mechanism, epsilon, ends, options)
    kept, _ = bounded_contributions(source, person, data, chosen.rows_per_person)
    chosen.remind()
    setting = chosen.setting(kept.n)
    chosen.refuse_noisy(setting)
    noise = None
    if isinstance(chosen, LaplaceMechanism):
        noise = noise_in_words("laplace", setting.noise.scale)
    return Preview(kept.n, setting.noise.epsilon, noise=noise)


def screen(table: Any, *, top: int, split: float | None, **options: Any) -> Preview:
    """Look ahead to :func:`dpmic.screen`."""
    found, whole = _found(table, **options)
    plan = screens._plan(found, whole, top, split)
    whole.remind()
    noise = noise_in_words("laplace", plan.values.scale)
    return Preview(found.source.n, plan.epsilon, 0.0, noise, plan.top, len(found.pairs))


def matrix(table: Any, *, delta: float, **options: Any) -> Preview:
    """Look ahead to :func:`dpmic.release_pairwise`."""
    found, whole = _found(table, **options)
    plan = matrices._plan(found, whole, matrices._delta(delta, found.source.n))
    whole.remind()
    cost, noise = plan.noise, noise_in_words(plan.noise.kind, plan.noise.added.scale)
    return Preview(found.source.n, cost.epsilon, cost.delta, noise, len(found.pairs))


def bounds(
    x: str, *, coverage: float, failure: float, rows_per_person: int, **options: Any
) -> Preview:
    """Look ahead to :func:`dpmic.estimate_bounds`."""
    wished = ranges._share(coverage, "coverage", 0.99, closed=True)
    miss = ranges._share(failure, "failure", 0.05)
    rows = _validate.integer(rows_per_person, "rows_per_person", least=1, most=2**31)
    n, asked = _columns(x, rows=rows, **options)
    look = ranges.Look(n, wished, miss, **ranges._noises(asked, rows))
    look.warn(asked, rows)
    return Preview(n, look.epsilon)


def test(x: str, y: str, *, draws: int, **options: Any) -> Preview:
    """Look ahead to :func:`dpmic.release_test`."""
    _validate.integer(draws, "draws", least=testing.LEAST_DRAWS, most=testing.MOST_DRAWS)
    n, asked = _columns(x, y, **options)
    return Preview(n, testing.RankTables.planned(n, asked).noise(asked).epsilon)


def _columns(
    *names: str,
    data: Any,
    epsilon: float,
    person: str | None,
    allow_large_epsilon: bool,
    rows: int = 1,
) -> tuple[int, float]:
    """Return how many records columns have, and the checked epsilon."""
    asked = loss(epsilon, allow_large=allow_large_epsilon)
    return columns_of(*names, data=data, person=person, rows=rows)[0].n, asked


def _found(
    table: Any,
    *,
    bounds: Any,
    epsilon: float,
    target: str | None,
    person: str | None,
    rows_per_person: int,
    allow_large_epsilon: bool,
    allow_noisy: bool,
) -> tuple[tables.Table, MICrLaplace]:
    """Return the columns that take part and what stands for all of their pairs."""
    whole = tables.stand_in(
        table,
        None,
        None,
        epsilon=epsilon,
        rows_per_person=rows_per_person,
        allow_large_epsilon=allow_large_epsilon,
        allow_noisy=allow_noisy,
    )
    return tables.find(table, whole, bounds=bounds, target=target, person=person), whole
