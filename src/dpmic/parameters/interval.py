"""From a published value to an interval for MIC*: post-processing, which costs no privacy.

``scores.json`` describes the distribution of default grids' scores for each MIC*, over
relationships and samples: a normal distribution in two halves about its median (``dpmic reproduce
intervals``). The noise is added to it. The interval holds every MIC* under which neither a value
this small nor one this large is too rare, so it assumes no strength of dependence to be likelier
than another (docs/decisions/0017-estimate-interval.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmic.parameters import stored
from dpmic.parameters.tuned import corners, within_table
from dpmic.parameters.value_noise import ValueNoise

Floats = NDArray[np.float64]

KNOTS = np.linspace(0.0, 1.0, 11)
"""The values of MIC* with stored distributions; between them numbers are interpolated."""
STEPS = 1000
"""The number of steps in [0, 1] at which MIC* is tried."""

_stored = partial(stored, "scores")


@dataclass(frozen=True)
class Scores:
    """The distribution of scores for each MIC*: at ``KNOTS``, a median and two spreads.

    ``below`` and ``above`` are the standard deviations of the two halves.
    """

    median: Floats
    below: Floats
    above: Floats

    def interval(self, value: float, noise: ValueNoise, level: float) -> tuple[float, float]:
        """Return the range of MIC* compatible with the value, at a level in (0, 1).

        Examples
        --------
        >>> exact = Scores(KNOTS, 0 * KNOTS + 0.01, 0 * KNOTS + 0.01)
        >>> little = ValueNoise("laplace", 0.02)
        >>> [round(end, 2) for end in exact.interval(0.5, little, 0.95)]
        [0.44, 0.56]
        """
        tried = np.linspace(0.0, 1.0, STEPS + 1)
        rarity = self.rarity(value, tried, noise)
        possible = np.flatnonzero(rarity >= min((1 - level) / 2, rarity.max()))
        low, high = max(possible[0] - 1, 0), min(possible[-1] + 1, STEPS)  # round outwards
        return float(low / STEPS), float(high / STEPS)

    def rarity(self, value: ArrayLike, mic_star: ArrayLike, noise: ValueNoise) -> Floats:
        """Return the smaller probability, under a MIC*, of a value this small or this large.

        A value beyond the medians at both ends counts as no rarer than they are. So the ends of
        [0, 1] are never excluded by a value beyond them, and clipping the value changes nothing.
        """
        inside = np.clip(np.asarray(value, np.float64), self.median[0], self.median[-1])
        at = np.asarray(mic_star, np.float64)
        median, below, above = (
            np.interp(at, KNOTS, numbers) for numbers in (self.median, self.below, self.above)
        )
        with np.errstate(all="ignore"):
            smaller = 0.5 + 0.5 * (
                noise.after_half_normal(inside - median, above)
                - noise.after_half_normal(median - inside, below)
            )
        return np.asarray(np.minimum(smaller, 1 - smaller))


def lookup(mechanism: str, n: float, epsilon: float) -> Scores:
    """Return the score distributions of a default release, interpolated in log n and log epsilon.

    Outside the :func:`simulated` range the nearest entry holds; for capped scores, the entry with
    the same n epsilon, which has the same cap.

    Examples
    --------
    >>> few, many = (lookup("micr-laplace", n, 1.0) for n in (100, 10_000))
    >>> bool((few.below > many.below).all())
    True
    """
    if mechanism == "capped-laplace":
        n, epsilon = within_table(n, epsilon)
    rows = _rows()[mechanism]
    axes = tuple(sorted({key[i] for key in rows}) for i in (0, 1))
    around = corners(axes[0], axes[1], n, epsilon)
    return Scores(*np.sum([share * rows[key] for share, key in around], axis=0))


def is_simulated(mechanism: str, n: float) -> bool:
    """Return whether scores of so many records, or of fewer, were simulated.

    Examples
    --------
    >>> is_simulated("micr-laplace", 100), is_simulated("micr-laplace", 10)
    (True, False)
    """
    return mechanism in _rows() and n >= simulated(mechanism)[0][0]


def simulated(mechanism: str) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the smallest and largest n, and epsilon, that were simulated."""
    n, epsilon = zip(*_rows()[mechanism], strict=True)
    return (min(n), max(n)), (min(epsilon), max(epsilon))


@lru_cache(maxsize=1)
def _rows() -> dict[str, dict[tuple[float, float], Floats]]:
    found: dict[str, dict[tuple[float, float], Floats]] = {}
    for row in _stored()["rows"]:
        numbers = np.array([row["median"], row["below"], row["above"]])
        found.setdefault(row["mechanism"], {})[row["n"], row["epsilon"]] = numbers
    return found
