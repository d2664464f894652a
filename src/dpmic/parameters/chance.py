"""What unrelated columns score by chance: a function of n and the method, never of the data.

``chance.json`` has the scores of independent columns without privacy, at default settings
(``dpmic.evaluation.chance``). Those of default private mechanisms, before noise, are in
``scores.json`` (:mod:`dpmic.parameters.interval`). Both were measured on columns of many
different numbers. Columns with few different values score less.
"""

from __future__ import annotations

import math
from functools import partial
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from dpmic.parameters import interval, stored

_stored = partial(stored, "chance")

DEFAULT_ALPHA, DEFAULT_C = 0.6, 15.0
"""B is n ** alpha, where neither B nor c is given."""

LEVEL = 0.95
"""The probability that unrelated columns score no more than ``most``."""


class Unrelated(NamedTuple):
    """What unrelated columns score: their median, and what 5% of them exceed, from simulations."""

    median: float
    most: float


def unrelated(
    statistic: str, n: float, *, B: float | None = None, c: float | None = None, pairs: int = 1
) -> Unrelated | None:
    """Return what ``mice``, ``mic`` or ``micr`` make of unrelated columns at default settings.

    Numbers are interpolated in log n. Above the largest n of the table its last entry holds, which
    is a little too large. Below its smallest n nothing is known, and the answer is None.

    Parameters
    ----------
    statistic : {"mice", "mic", "micr"}
        The statistic.
    n : float
        The number of records.
    B, c : float, optional
        The settings of the score; if they are not the default ones, nothing is known.
    pairs : int
        Of how many unrelated pairs the strongest scores at most ``most``, with probability 95%.

    Examples
    --------
    >>> few, many = unrelated("mice", 100), unrelated("mice", 10_000)
    >>> few.median > many.median, few.most < unrelated("mice", 100, pairs=1000).most
    (True, True)
    >>> unrelated("mice", 10) is None
    True
    """
    rows = [row for row in _stored()["rows"] if row["statistic"] == statistic]
    if not rows or n < rows[0]["n"] or c not in (None, DEFAULT_C):
        return None
    if B is not None and not math.isclose(B, n**DEFAULT_ALPHA):
        return None
    at = [math.log(row["n"]) for row in rows]
    median, most, rare = (
        math.exp(np.interp(math.log(n), at, [math.log(row[name]) for row in rows]))
        for name in ("median", "q95", "q99")
    )
    # Beyond 99% the tail is taken as exponential, which overstates that of such maxima.
    tail = math.log(max(pairs, 1)) / math.log(5)
    return Unrelated(median, min(most + (rare - most) * tail, 1.0))


def before_noise(mechanism: str, n: float, epsilon: float, *, pairs: int = 1) -> Unrelated | None:
    """Return what a default private mechanism makes of unrelated columns, before its noise.

    ``epsilon`` is that of one score. None where nothing was simulated.

    Examples
    --------
    >>> before_noise("capped-laplace", 1000, 1.0).most < 0.1
    True
    >>> before_noise("capped-laplace", 10, 1.0) is None
    True
    """
    if not interval.is_simulated(mechanism, n):
        return None
    scores = interval.lookup(mechanism, n, epsilon)
    median, spread = float(scores.median[0]), float(scores.above[0])
    quantile = NormalDist().inv_cdf(1 - (1 - LEVEL) / max(pairs, 1))
    return Unrelated(median, min(median + quantile * spread, 1.0))
