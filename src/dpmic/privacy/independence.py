"""A private test of independence, exact at every n and epsilon.

The statistic is Cramer's V of two tables of ranks, as a root mean square. One replaced record
changes it little, and for independent columns its distribution depends on n alone. Repeating the
same release on simulated independent columns therefore gives an exact p-value
(docs/proofs/private-test.md; why not MICe: docs/decisions/0010-independence-test.md).
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate
from dpmic._validate import Bounds, shown_end
from dpmic.data import Pair, Source
from dpmic.errors import InputError, with_code
from dpmic.parameters.value_noise import ValueNoise
from dpmic.privacy import noise
from dpmic.privacy._guards import private, private_pair, refused_to_drop
from dpmic.privacy.ledger import Ledger
from dpmic.privacy.query import Query, Terms
from dpmic.results import IndependenceRelease
from dpmic.statistics import sources

__all__ = ["IndependenceQuery", "RankTables", "prepare", "release_test"]

Floats = NDArray[np.float64]
Ranks = NDArray[np.int64]

LEAST_N = 8
LEAST_DRAWS = 19  # fewer could not reach 0.05
MOST_DRAWS = 1_000_000


@private
def release_test(
    x: Any,
    y: Any,
    *,
    epsilon: float,
    data: Any = None,
    draws: int = 999,
    missing: Any = "refuse",
    bounds: Any = None,
    person: Any = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    name: str | None = None,
    allow_large_epsilon: bool = False,
) -> IndependenceRelease:
    """Test whether two columns are independent, under differential privacy.

    The p-value is exact: if the columns are independent, it is at most ``a`` with probability at
    most ``a``, for every n, epsilon and distribution, ties included. If missing values are filled
    in, that holds for the columns after filling in, which can be dependent although the original
    ones are not. The test needs no bounds.

    Parameters
    ----------
    x, y : array-like or str
        Two columns of finite numbers, or their names in ``data``.
    epsilon : float
        The privacy loss, at most 10 unless ``allow_large_epsilon``.
    data : frame, optional
        A pandas, polars or pyarrow table with the columns ``x`` and ``y``.
    draws : int
        The number of simulated null values, which use no data; the p-value is at least
        1 / (draws + 1). 999 draws take less than a second at n = 1,000, some seconds at 10,000 and
        about ten at 100,000.
    missing : {"refuse", "scatter"} or mapping
        The rule for missing values, as for :func:`dpmic.release`; records cannot be dropped.
        Values missing in the same records make unrelated columns look related once they are
        filled in, so that a small p-value shows no relation of the original columns.
    bounds : ((x0, x1), (y0, y1)) or mapping, optional
        The range of the random values of ``missing="scatter"``.
    person : array-like or str, optional
        The person of each row; only the first row of each person is used. There is no
        ``rows_per_person``, because rows of one person are not independent of each other, which
        would invalidate the p-value.
    ledger, dataset, name, allow_large_epsilon
        As for :func:`dpmic.release`.

    Returns
    -------
    IndependenceRelease
        ``result.pvalue`` is the p-value; ``result.guarantee`` is the sentence to print beside it.

    Examples
    --------
    >>> import numpy as np, dpmic
    >>> x = np.random.default_rng(7).uniform(-1, 1, 5000)
    >>> result = dpmic.release_test(x, np.abs(x), epsilon=1.0, draws=199)
    >>> result.pvalue
    0.005
    """
    terms = Terms(
        epsilon=epsilon,
        person=person,
        missing=missing,
        ledger=ledger,
        dataset=dataset,
        name=name,
        allow_large_epsilon=allow_large_epsilon,
    )
    return prepare(x, y, terms, data=data, draws=draws, bounds=bounds).run()


@private
def prepare(
    x: Any, y: Any, terms: Terms, *, data: Any = None, draws: int = 999, bounds: Any = None
) -> IndependenceQuery:
    """Prepare the query for a test, from public facts alone."""
    repeats = _validate.integer(draws, "draws", least=LEAST_DRAWS, most=MOST_DRAWS)
    source, person, _ = terms.columns(x, y, data=data)
    names = source.names
    domains = None if bounds is None else _validate.bounds(sources.in_order(bounds, names), names)
    terms.gaps.check(names, domains or (None, None))
    tables = RankTables.planned(source.n, terms.epsilon)
    return IndependenceQuery(
        source=source,
        terms=terms,
        person=person,
        domains=domains,
        draws=repeats,
        tables=tables,
        noise=noise.calibrate(tables.sensitivity, terms.epsilon),
    )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class IndependenceQuery(Query[IndependenceRelease]):
    """A query whether two columns are independent."""

    domains: Bounds | None
    draws: int
    tables: RankTables
    noise: noise.Laplace

    result = IndependenceRelease

    @property
    def epsilon(self) -> float:
        """The cost of the query."""
        return self.noise.epsilon

    @property
    def noise_in_words(self) -> str:
        """The noise of the statistic in words; the p-value takes it into account."""
        half = ValueNoise("laplace", self.noise.scale).half_width(0.95)
        return f"within {half:.2g} of the exact Cramer's V of ranks in 95% of cases"

    @property
    def publishes(self) -> str:
        """What the query publishes."""
        after = "" if self.terms.gaps.rule == "refuse" else ", after missing values are filled in"
        return f"a test of independence of {' and '.join(self.source.names)}{after}"

    @property
    def promises(self) -> dict[str, str]:
        """What becomes of missing values, and that the test then claims no relation."""
        if self.terms.gaps.rule == "refuse":
            return {}
        what = with_code(
            "no relation, whatever its p-value: values missing in the same records look like one. "
            "To ask whether the columns are related, use `dpmic.release` with `missing='drop'`"
        )
        return {**super().promises, "can show": what}

    @property
    def key_facts(self) -> dict[str, Any]:
        """The options of the test."""
        gaps = self.terms.gaps.facts()
        between = {} if self.domains is None else {"bounds": self.domains}
        return {"mechanism": "rank-tables", "draws": self.draws, **gaps, **between}

    @property
    def between(self) -> dict[str, Any]:
        """The bounds of the values that are filled in, as the result shows them."""
        each = zip("xy", self.domains or (), strict=False)
        return {f"{axis} bounds": list(map(shown_end, own)) for axis, own in each}

    def read(self) -> Pair:
        """Read both columns."""
        assert isinstance(self.source, Source)
        return private_pair(self.source, self.domains, self.terms.gaps, refused_to_drop)

    def compute(self, private: Pair) -> tuple[float, Floats]:
        """Compute the exact score, and noisy scores of independent columns.

        This happens outside the lock of the ledger, because the simulation takes time.
        """
        null = np.fromiter(map(self.noise.add, self.tables.independent(self.draws)), np.float64)
        return self.tables.score(private), null

    def publish(self, exact: tuple[float, Floats]) -> IndependenceRelease:
        """Add noise to the score, once, and compute the p-value from it."""
        score, null = exact
        value = self.noise.add(score)
        return IndependenceRelease(
            pvalue=(1 + int(np.count_nonzero(null >= value))) / (null.size + 1),
            value=value,
            names=(self.source.names[0], self.source.names[1]),
            draws=null.size,
            sensitivity=self.tables.sensitivity,
            scale=self.noise.scale,
            granularity=noise.GRANULARITY,
            parameters={
                "table": f"2 x {self.tables.parts} ranks",
                "draws": null.size,
                **self.between,
                **self.terms.gaps.facts(),
            },
            **self.facts,
        )


@dataclass(frozen=True)
class RankTables:
    """The statistic of n records, a function of their ranks alone.

    One table has two halves of one variable's ranks and ``parts`` parts of the other's; a second
    table has the roles exchanged. V^2 is the mean of chi^2 / n over both if n is a multiple of
    both numbers; otherwise parts whose sizes differ by one are treated as equal.
    """

    n: int
    parts: int

    @classmethod
    def planned(cls, n: int, epsilon: float) -> RankTables:
        """Choose the tables from public facts (docs/decisions/0010-independence-test.md)."""
        if n < LEAST_N:
            raise InputError(
                f"n = {n}", f"the test needs at least {LEAST_N} records", "pass more data"
            )
        if n * epsilon >= 400 and n >= 200:
            return cls(n, 12)
        return cls(n, 3 if n * epsilon >= 175 else 2)

    @property
    def sensitivity(self) -> float:
        """The largest change of the computed score when one record is replaced, rounded up.

        2 sqrt(p s) / n for p parts, with s = 2 for p = 2 and s = p + 3 for more, plus the rounding
        of two neighbouring scores, each 2^-52 (2 p + 16) of at most 2 sqrt(p).
        """
        moved = 2 if self.parts == 2 else self.parts + 3
        exact = 2 * math.sqrt(self.parts * moved) / self.n
        rounding = 2 * math.sqrt(self.parts) * (2 * self.parts + 16) * 2**-52
        return (exact + 2 * rounding) * (1 + 2**-50)

    def score(self, pair: Pair) -> float:
        """Compute the exact statistic, with fresh random tie-breaking: never to be shown."""
        return self.statistic(self._ranks(pair.x), self._ranks(pair.y))

    def independent(self, draws: int) -> Iterator[float]:
        """Yield scores of simulated independent columns; they use no data.

        The statistic depends on the permutation between the two orders, which is uniform for
        independent columns.
        """
        ranks = np.arange(self.n)
        for _ in range(draws):
            yield self.statistic(ranks, noise.shuffled(self.n))

    def statistic(self, x: Ranks, y: Ranks) -> float:
        """Return the statistic of two vectors of ranks, each a permutation of 0 .. n - 1."""
        squares = self._squares(x, y) + self._squares(y, x)
        return math.sqrt(2 * self.parts * squares) / self.n

    def _squares(self, x: Ranks, y: Ranks) -> float:
        """Return the squared distance between counts and expected counts of the lower half."""
        sizes = np.diff(np.arange(self.parts + 1) * self.n // self.parts)
        part = np.repeat(np.arange(self.parts), sizes)  # of each rank
        lower = self.n // 2
        counts = np.bincount(part[x[y < lower]], minlength=self.parts)
        return float(np.sum((counts - sizes * (lower / self.n)) ** 2))

    def _ranks(self, values: Floats) -> Ranks:
        """Return each record's rank, with separate random tie-breaking for each axis."""
        ranks = np.empty(self.n, np.int64)
        ranks[np.lexsort((noise.shuffled(self.n), values))] = np.arange(self.n)
        return ranks
