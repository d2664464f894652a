"""A private range of a column, for columns without domain knowledge.

Three noisy steps, each with its share of epsilon (docs/proofs/private-bounds.md):

1. *locate*: counts on fixed cells whose ends are powers of four; the cells that stand out from
   the noise span a crude range.
2. *refine*: counts on equal cells of the crude range; sparse cells at both ends are dropped.
3. *count*: the number of records outside the remaining range. The published statement rests on
   this count alone, so it holds whatever the first two steps did.

Everything after a noisy count is post-processing.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate
from dpmic._format import format_ceil
from dpmic._validate import Interval
from dpmic.data import Source
from dpmic.errors import ParameterError, with_code
from dpmic.privacy import noise
from dpmic.privacy._guards import private, private_columns, refused_as_it_is, warn_of_noise
from dpmic.privacy.ledger import Ledger
from dpmic.privacy.query import Query, Terms
from dpmic.results import BoundsEstimate

__all__ = ["BoundsQuery", "RangePlan", "estimate_bounds", "prepare"]

Floats = NDArray[np.float64]
Counts = list[int]

SPLIT = {"locate": 0.4, "refine": 0.4, "count": 0.2}
"""The shares of epsilon."""

MAGNITUDES = 4.0 ** np.arange(-32, 33)
"""Ends of the cells of positive numbers, from practically 0 to huge."""

LOG_CUTS = np.concatenate((-MAGNITUDES[::-1], MAGNITUDES))
WIDEST = (-(2.0**1022), 2.0**1022)  # bounds must have a finite width

SPURIOUS = 0.01
"""The probability that any empty cell seems to stand out."""

LEAST_SIGNAL = 300
"""Ranges are rough if n epsilon is below this."""

CELLS = 32
NEAR_ZERO = 16
"""A positive range whose ends differ by this factor starts at 0 instead."""

EXACT = Context(prec=1500, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])  # floats have fewer digits
DIGITS = 20  # a range is at least this many of the units that its ends are rounded to


@private
def estimate_bounds(
    x: Any,
    *,
    epsilon: float,
    data: Any = None,
    coverage: float = 0.99,
    failure: float = 0.05,
    person: Any = None,
    rows_per_person: int = 1,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    name: str | None = None,
    allow_large_epsilon: bool = False,
) -> BoundsEstimate:
    """Find the range of a column under differential privacy.

    Use it only if you do not know the range: bounds from domain knowledge are better, and free. The
    range becomes public; a release with ``bounds=(estimate.interval, ...)`` is charged separately.

    Parameters
    ----------
    x : array-like or str
        A column of finite numbers, or its name in ``data``.
    epsilon : float
        The privacy loss, at most 10 unless ``allow_large_epsilon``. The range is good if
        n * epsilon is 1000 or more, and rough at 300.
    data : frame, optional
        A pandas, polars or pyarrow table with the column ``x``.
    coverage : float
        The share of records that should lie inside (0.99). The noise may cut off more at each end.
    failure : float
        The probability that more than ``estimate.outside`` records lie outside the range.
    person, rows_per_person, ledger, dataset, name, allow_large_epsilon
        As for :func:`dpmic.release`.

    Returns
    -------
    BoundsEstimate
        ``estimate.interval`` is the range. If nothing stands out from the noise, ``found`` is false
        and the range is the widest possible, about -4.5e307 to 4.5e307: pass more data or a larger
        epsilon. A constant column gives a narrow range around its value.

    Examples
    --------
    >>> import numpy as np, dpmic
    >>> salary = np.random.default_rng(7).lognormal(10, 0.5, 20_000)
    >>> estimate = dpmic.estimate_bounds(salary, epsilon=1.0)
    >>> estimate.low < 10_000, 50_000 < estimate.high, estimate.outside < 1_000
    (True, True, True)
    """
    terms = Terms(
        epsilon=epsilon,
        person=person,
        rows_per_person=rows_per_person,
        ledger=ledger,
        dataset=dataset,
        name=name,
        allow_large_epsilon=allow_large_epsilon,
    )
    return prepare(x, terms, data=data, coverage=coverage, failure=failure).run()


@private
def prepare(
    x: Any, terms: Terms, *, data: Any = None, coverage: float, failure: float
) -> BoundsQuery:
    """Prepare the query for a range, from public facts alone."""
    target = _share(coverage, "coverage", 0.99, closed=True)
    miss = _share(failure, "failure", 0.05)
    source, person, _ = terms.columns(x, data=data)
    plan = RangePlan(source.n, target, miss, **_noises(terms.epsilon, terms.rows_per_person))
    if plan.n * terms.epsilon < LEAST_SIGNAL * terms.rows_per_person:
        warn_of_noise(
            f"n = {plan.n} at epsilon = {format_ceil(terms.epsilon)} is too little for a good "
            "range: it will be rough, or the widest possible",
            "pass more data or a larger epsilon, or use bounds from domain knowledge",
        )
    return BoundsQuery(source=source, terms=terms, person=person, plan=plan)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BoundsQuery(Query[BoundsEstimate]):
    """A query for the range of a column."""

    plan: RangePlan

    result = BoundsEstimate

    @property
    def epsilon(self) -> float:
        """The cost of all three steps together."""
        return self.plan.epsilon

    @property
    def publishes(self) -> str:
        """What the query publishes."""
        return f"a range of {self.source.names[0]}"

    @property
    def key_facts(self) -> dict[str, Any]:
        """The options of the range."""
        return {
            "mechanism": "bounds",
            "coverage": self.plan.coverage,
            "failure": self.plan.failure,
            "rows_per_person": self.terms.rows_per_person,
        }

    def read(self) -> Floats:
        """Read the column."""
        assert isinstance(self.source, Source)
        return private_columns(self.source, refused=refused_as_it_is)[0]

    def compute(self, private: Floats) -> Floats:
        """Return the column: later counts depend on earlier noisy ones."""
        return private

    def publish(self, exact: Floats) -> BoundsEstimate:
        """Run the three noisy steps."""
        low, high, outside, found = self.plan.draw(exact)
        return BoundsEstimate(
            low=low,
            high=high,
            outside=outside,
            failure=self.plan.failure,
            found=found,
            name=self.source.names[0],
            parameters={"coverage": self.plan.coverage, "split of epsilon": dict(SPLIT)},
            **self.facts,
        )


@dataclass(frozen=True)
class RangePlan:
    """The three steps with their noise, fixed before the data is read."""

    n: int
    coverage: float
    failure: float
    locate: noise.Geometric
    refine: noise.Geometric
    count: noise.Geometric

    @property
    def epsilon(self) -> float:
        """The privacy loss of all three steps together, rounded up."""
        total = math.fsum((self.locate.epsilon, self.refine.epsilon, self.count.epsilon))
        return math.nextafter(total, math.inf)

    def draw(self, values: Floats) -> tuple[float, float, int, bool]:
        """Return the ends of a range, the number of records outside, and whether it was found."""
        crude = crude_range(self.locate.add(counted(values, LOG_CUTS)), self.locate.scale)
        ends = np.linspace(*(crude or WIDEST), CELLS + 1)
        # Always drawn: the path must not depend on the data.
        cells = self.refine.add(counted(values, cell_cuts(ends)))[1:-1]
        low, high = WIDEST if crude is None else rounded(trimmed(ends, cells, self))
        inside = int(np.count_nonzero((values >= low) & (values <= high)))
        (noisy,) = self.count.add([values.size - inside])
        outside = noisy + hidden(self.count.scale, self.failure)
        return low, high, min(max(outside, 0), self.n), crude is not None


def counted(values: Floats, cuts: Floats) -> Counts:
    """Count values in cells [cut, next cut); the cell of a record depends on that record alone."""
    cells = np.searchsorted(cuts, values, side="right")
    return [int(count) for count in np.bincount(cells, minlength=cuts.size + 1)]


def crude_range(noisy: Counts, scale: float) -> Interval | None:
    """Return the range of the cells that stand out from the noise, or None.

    An empty cell stands out with probability at most SPURIOUS / cells.
    """
    threshold = hidden(scale, SPURIOUS / len(noisy))
    heavy = [i for i, count in enumerate(noisy) if count > threshold]
    if not heavy:
        return None
    zero = MAGNITUDES.size  # the cell around 0
    ends = [WIDEST[0], *LOG_CUTS.tolist(), WIDEST[1]]
    low, high = ends[heavy[0]], ends[heavy[-1] + 1]
    if heavy[0] == zero < heavy[-1] or 0 < low <= high / NEAR_ZERO:
        low = 0.0
    if heavy[0] < zero == heavy[-1] or 0 > high >= low / NEAR_ZERO:
        high = 0.0
    return low, high


def cell_cuts(ends: Floats) -> Floats:
    """Return the cuts between the cells of a range, which includes its upper end."""
    return np.append(ends[:-1], np.nextafter(ends[-1], np.inf))


def trimmed(ends: Floats, noisy: Counts, plan: RangePlan) -> Interval:
    """Drop cells at both ends while they hold no more than may lie outside or noise hides.

    The noise of j cells together has a standard deviation of about scale * sqrt(2 j). One cell
    is given back at each end.
    """
    allowed = plan.n * (1 - plan.coverage) / 2

    def dropped(counts: Counts) -> int:
        sums = np.cumsum(counts, dtype=np.float64)
        hides = plan.refine.scale * np.sqrt(2 * np.arange(1, len(counts) + 1))
        over = np.flatnonzero(sums > allowed + hides)
        return max(int(over[0]) - 1, 0) if over.size else 0

    first, last = dropped(noisy), CELLS - dropped(noisy[::-1])
    if first >= last:
        first, last = 0, CELLS
    return float(ends[first]), float(ends[last])


def rounded(ends: Interval) -> Interval:
    """Round a range outwards to few digits.

    It uses its own decimal context: it runs between a draw and its storage, where a failure (such
    as in a caller's context with few digits) would reveal something about the draw.
    """
    with localcontext(EXACT):
        low, high = (Decimal(end) for end in ends)
        unit = Decimal(1).scaleb(((high - low) / DIGITS).adjusted())
        return float(low.quantize(unit, ROUND_FLOOR)), float(high.quantize(unit, ROUND_CEILING))


def hidden(scale: float, failure: float) -> int:
    """Return the least q with P(noise < -q) <= failure.

    P(noise < -q) is a^(q + 1) / (1 + a) with a = exp(-1 / scale).
    """
    a = math.exp(-1 / scale)
    q = math.ceil(-scale * (math.log(failure) + math.log1p(a)) * (1 + 2**-40)) - 1
    return max(q, 0)


def _noises(epsilon: float, rows: int) -> dict[str, noise.Geometric]:
    """Divide epsilon: a replaced row changes two cells by one, and the last count by one."""
    changes = {"locate": 2 * rows, "refine": 2 * rows, "count": rows}
    return {
        step: noise.calibrate_counts(change, epsilon * SPLIT[step])
        for step, change in changes.items()
    }


def _share(value: object, name: str, usual: float, *, closed: bool = False) -> float:
    """Return a number above 0 and below 1, or at most 1."""
    number = _validate.real(value, name)
    if not (0 < number < 1 or (closed and number == 1)):
        reason = "it must be above 0 and " + ("at most 1" if closed else "below 1")
        remedy = with_code(f"pass `{name}={usual}`")
        raise ParameterError(f"{name} = {number:g}", reason, remedy)
    return number
