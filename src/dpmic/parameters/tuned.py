"""Parameters that minimise WSUM, interpolated in log n and log epsilon; and the estimate.

``tuned.json`` holds the table and its origin: the command, the seed and the iterations that made
it (``dpmic reproduce parameters``). The minimum is flat in B and c, so the table has the fastest
choice within one percent of the smallest error.

The estimate of MIC* derives from a published value and costs no privacy. Its prior for the score
is uniform between ``low``, the score of independent variables, and ``high``, the score of a
noiseless relationship. Given the value, which is the score plus Laplace noise, the posterior is a
Laplace density cut off at both ends. Its median is the best guess of the score in mean absolute
error; mapped from [low, high] to [0, 1] it estimates MIC*. Without noise it corrects the bias of
small samples; with nothing but noise it is 0.5, the best constant.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmic.parameters import stored

_stored = partial(stored, "tuned")


@dataclass(frozen=True, slots=True)
class Calibration:
    """Three fitted numbers: the scores of no and of full dependence, and their scatter.

    If noise is large, the two ends need not be scores that occur, and may lie outside [0, 1].
    ``spread`` is added to the scale of the noise, because scores of equal MIC* scatter that much.
    """

    low: float = 0.0
    high: float = 1.0
    spread: float = 0.0

    def estimate(self, value: ArrayLike, scale: float) -> NDArray[np.float64]:
        """Return the median of MIC*, given the published value and the scale of its noise.

        Examples
        --------
        >>> [round(float(Calibration().estimate(0.9, scale)), 3) for scale in (0.001, 0.1, 1e4)]
        [0.9, 0.88, 0.5]
        """
        width, b = self.high - self.low, scale + self.spread
        # This runs between the draw and its storage, where no error may depend on the value.
        with np.errstate(all="ignore"):
            return self._median(np.asarray(value, np.float64), width, b)

    def _median(self, value: NDArray[np.float64], width: float, b: float) -> NDArray[np.float64]:
        # Beyond an end, the density inside is the same exponential wherever the value lies.
        inside = np.clip(value, self.low, self.high)
        if b > 0:
            # At the median, F, the distribution function of Laplace(value, b), is half of
            # F(low) + F(high).
            shift = (np.expm1((self.low - inside) / b) - np.expm1((inside - self.high) / b)) / 2
            inside = inside - np.sign(shift) * b * np.log1p(-np.abs(shift))
        return np.asarray(np.clip((inside - self.low) / width, 0.0, 1.0))


@dataclass(frozen=True, slots=True)
class Tuned:
    """The parameters of a mechanism for one n and epsilon; MICr has no ``lmax``."""

    B: float
    c: float
    lmax: int | None
    calibration: Calibration


@dataclass(frozen=True, slots=True)
class TunedHistogram:
    """The parameters of "micr-geometric": m x m cells, and grids of at most B of them."""

    m: int
    B: float
    calibration: Calibration


def lookup(mechanism: str, n: int, epsilon: float) -> Tuned:
    """Return the parameters of "micr-laplace" or "mice-laplace" for n records.

    Each number is interpolated linearly between the four neighbouring entries, B and lmax by their
    logarithms. Outside the table the nearest entry holds. Above its largest n the calibration is
    the plain one: there is no bias left to correct.

    Examples
    --------
    >>> lookup("micr-laplace", 1000, 1.0).B
    80.0
    """
    between = _between(mechanism, n, epsilon)
    columns = between.get("lmax")
    return Tuned(
        B=float(math.floor(math.exp(between["B"]) + 1e-9)),
        c=float(round(between["c"])),
        lmax=None if columns is None else math.floor(math.exp(columns) + 1e-9),
        calibration=_calibration(between, n),
    )


def _calibration(between: dict[str, float], n: float) -> Calibration:
    """Return the calibration of an entry; above the largest n, the plain one."""
    if n > _stored()["n"][-1]:
        return Calibration()
    return Calibration(between["low"], between["high"], between["spread"])


@dataclass(frozen=True, slots=True)
class TunedCap:
    """The parameters of "capped-laplace" for one n and epsilon."""

    cap: float
    calibration: Calibration


def lookup_capped(n: int, epsilon: float) -> TunedCap:
    """Return the cap of "capped-laplace", a multiple of 1/2, for n records.

    It is interpolated as by :func:`lookup`. Above the largest n, the entry with the same n epsilon
    holds, because the noise is the same there; the calibration is the plain one.

    Examples
    --------
    >>> lookup_capped(1000, 0.1).cap, lookup_capped(1000, 1.0).cap
    (4.0, 6.5)
    """
    between = _between("capped-laplace", *within_table(n, epsilon))
    return TunedCap(
        cap=round(2 * between["cap"]) / 2,
        calibration=_calibration(between, n),
    )


def within_table(n: float, epsilon: float) -> tuple[float, float]:
    """Return where to look up an n above the table: at its end, with the same n epsilon."""
    largest = _stored()["n"][-1]
    return (n, epsilon) if n <= largest else (largest, epsilon * n / largest)


def lookup_histogram(n: int, epsilon: float) -> TunedHistogram:
    """Return the parameters of "micr-geometric" for n records, interpolated as by :func:`lookup`.

    The effect of noise on counts depends only on n epsilon. So an epsilon outside the table is
    looked up at its end, with the n that has the same n epsilon, but at most three times n: with
    less noise than that, the sample decides and not the noise. Above the largest n the last entry
    holds: m no longer changes, and neither does what cells of that width fail to resolve.

    Examples
    --------
    >>> small, large = (lookup_histogram(n, 1.0).m for n in (100, 10_000))
    >>> small < large
    True
    """
    ends = _stored()["epsilon"]
    inside = min(max(epsilon, ends[0]), ends[-1])
    between = _between("micr-geometric", n * min(epsilon / inside, 3), inside)
    return TunedHistogram(
        m=math.floor(math.exp(between["m"]) + 1e-9),
        B=float(math.floor(math.exp(between["B"]) + 1e-9)),
        calibration=Calibration(between["low"], between["high"], between["spread"]),
    )


def table_parts(n: int, epsilon: float) -> int:
    """Return the parts per axis of the noisy table, a simple baseline of the evaluation."""
    return round(_between("noisy-table", n, epsilon)["parts"])


def _between(mechanism: str, n: float, epsilon: float) -> dict[str, float]:
    """Interpolate every number of a table between its neighbours in n and epsilon."""
    around = [
        (weight, _numbers(mechanism, *key))
        for weight, key in corners(_stored()["n"], _losses(mechanism), n, epsilon)
    ]
    return {name: sum(w * numbers[name] for w, numbers in around) for name in around[0][1]}


@cache
def _losses(mechanism: str) -> list[float]:
    """Return every epsilon for which a mechanism has entries."""
    return sorted({epsilon for name, _, epsilon in _entries() if name == mechanism})


def corners(
    sizes: Sequence[float], losses: Sequence[float], n: float, epsilon: float
) -> list[tuple[float, tuple[Any, Any]]]:
    """Return the neighbouring entries of a table, (n, epsilon), with their weights."""
    (i, right), (j, up) = _position(sizes, n), _position(losses, epsilon)
    return [
        (weight, (sizes[a], losses[b]))
        for a, share in ((i, 1 - right), (i + 1, right))
        for b, part in ((j, 1 - up), (j + 1, up))
        if (weight := share * part) > 0
    ]


def _position(axis: Sequence[float], value: float) -> tuple[int, float]:
    """Return the index below a value, and how far the value is to the next one on a log scale."""
    inside = min(max(value, axis[0]), axis[-1])
    below = min(bisect_right(axis, inside) - 1, len(axis) - 2)
    low, high = axis[below], axis[below + 1]
    return below, math.log(inside / low) / math.log(high / low)


@cache
def _numbers(mechanism: str, n: int, epsilon: float) -> dict[str, float]:
    """Return one entry; numbers that are interpolated as logarithms are logarithms."""
    entry = _entries()[mechanism, n, epsilon]
    return {
        name: math.log(value) if name in ("B", "lmax", "m") else value
        for name, value in entry.items()
        if name not in ("mechanism", "n", "epsilon") and value is not None
    }


@lru_cache(maxsize=1)
def _entries() -> dict[tuple[str, int, float], dict[str, Any]]:
    return {(row["mechanism"], row["n"], row["epsilon"]): row for row in _stored()["rows"]}
