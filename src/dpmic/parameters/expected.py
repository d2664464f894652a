"""The distance of default releases from MIC*, by mechanism, n and epsilon.

``errors.json`` holds the table and its origin: the command, the seed and the iterations that made
it (``dpmic reproduce errors``). Logarithms of errors are interpolated linearly in log n and log
epsilon. Each error is first raised to the largest one at the same or larger n and epsilon, so that
errors only fall as either grows. Simulation noise and steps in the parameters then never promise
an accuracy that more data would not keep.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic.parameters import stored

Floats = NDArray[np.float64]

QUANTITIES = ("value", "value_upper", "estimate", "estimate_upper")
CLEARLY = 0.9
"""The share of the error of "capped-laplace" that would make "micr-laplace" the default."""
ENOUGH = 1 + 1e-9
"""A target error counts as reached up to this factor, so that rounding decides nothing."""

_stored = partial(stored, "errors")


@dataclass(frozen=True, slots=True)
class Errors:
    """Mean absolute errors of a release's value and estimate, and their upper quantiles."""

    value: float
    value_upper: float
    estimate: float
    estimate_upper: float


@dataclass(frozen=True)
class Surface:
    """The errors of one mechanism: logarithms [quantity, n, epsilon], falling along both axes."""

    n: Floats
    epsilon: Floats
    logs: Floats

    @classmethod
    def of(cls, rows: list[dict[str, Any]]) -> Surface:
        """Arrange a complete table, and make errors fall along both axes."""
        n = sorted({row["n"] for row in rows})
        epsilon = sorted({row["epsilon"] for row in rows})
        entries = {(row["n"], row["epsilon"]): row for row in rows}
        table = np.array(
            [[[entries[i, j][quantity] for j in epsilon] for i in n] for quantity in QUANTITIES]
        )
        for axis in (1, 2):
            table = np.flip(np.maximum.accumulate(np.flip(table, axis), axis), axis)
        return cls(np.array(n, np.float64), np.array(epsilon, np.float64), np.log(table))

    def at(self, n: float, epsilon: float) -> Errors:
        """Return the errors at one n and epsilon; beyond the table, those at its end."""
        along = self._at_epsilon(epsilon)
        return Errors(*(math.exp(_between(self.n, n, logs)) for logs in along))

    def beyond(self, n: float, epsilon: float) -> str:
        """Return a note if the table's last entries are used: errors do not grow beyond them."""
        past = []
        if n > self.n[-1]:
            past.append(f"n = {self.n[-1]:,.0f}")
        if epsilon > self.epsilon[-1]:
            past.append(f"epsilon = {self.epsilon[-1]:g}")
        return f"simulated up to {' and '.join(past)}; shown are the errors there" if past else ""

    def along_n(self, quantity: str, epsilon: float) -> list[tuple[float, float]]:
        """Return (n, error) at the table's n; between them errors are straight on log axes."""
        logs = self._at_epsilon(epsilon)[QUANTITIES.index(quantity)]
        return list(zip(self.n.tolist(), map(math.exp, logs), strict=True))

    def along_epsilon(self, quantity: str, n: float) -> list[tuple[float, float]]:
        """Return (epsilon, error) at the table's epsilon."""
        logs = [_between(self.n, n, own) for own in self.logs[QUANTITIES.index(quantity)].T]
        return list(zip(self.epsilon.tolist(), map(math.exp, logs), strict=True))

    def least_n(self, quantity: str, target: float, epsilon: float) -> int | None:
        """Return the smallest n whose error is at most the target, if there is one."""
        found = _crossing(self.along_n(quantity, epsilon), target * ENOUGH)
        if found is None:
            return None
        n = math.ceil(found)
        # Rounding may have missed the integer by one.
        while n > self.n[0] and self.reaches(quantity, target, n - 1, epsilon):
            n -= 1
        while not self.reaches(quantity, target, n, epsilon):
            n += 1
        return n

    def least_epsilon(self, quantity: str, target: float, n: float) -> float | None:
        """Return the smallest epsilon whose error is at most the target, if there is one."""
        # Half of the tolerance is left for rounding.
        return _crossing(self.along_epsilon(quantity, n), target * (1 + (ENOUGH - 1) / 2))

    def reaches(self, quantity: str, target: float, n: float, epsilon: float) -> bool:
        """Return whether an error is at most the target."""
        return bool(getattr(self.at(n, epsilon), quantity) <= target * ENOUGH)

    def _at_epsilon(self, epsilon: float) -> list[list[float]]:
        """Return logarithms [quantity][n] at one epsilon."""
        return [[_between(self.epsilon, epsilon, row) for row in own] for own in self.logs]


def _between(axis: Floats, place: float, logs: Floats | list[float]) -> float:
    """Interpolate in the logarithm of an axis; beyond its ends, hold the last value."""
    return float(np.interp(math.log(place), np.log(axis), logs))


def _crossing(curve: list[tuple[float, float]], target: float) -> float | None:
    """Return where a falling curve, straight on log axes, reaches an error."""
    if curve[0][1] <= target:
        return curve[0][0]
    for (left, high), (right, low) in itertools.pairwise(curve):
        if low <= target:
            share = math.log(high / target) / math.log(high / low)
            return float(min(left * (right / left) ** share, right))
    return None


def constant() -> tuple[float, float]:
    """Return the mean and the upper quantile of the error of always answering 0.5."""
    known = _stored()["constant"]
    return float(known["mean"]), float(known["upper"])


@lru_cache(maxsize=1)
def surfaces() -> dict[str, Surface]:
    """Return the errors of every mechanism that was simulated.

    Examples
    --------
    >>> round(surfaces()["micr-laplace"].at(1000, 1.0).value, 2)
    0.04
    """
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in _stored()["rows"]:
        rows.setdefault(row["mechanism"], []).append(row)
    return {mechanism: Surface.of(own) for mechanism, own in rows.items()}


def best_laplace(n: int, epsilon: float) -> str:
    """Return the default of "capped-laplace" and "micr-laplace" for n records.

    MICr must be clearly better, because it tries four scales of an axis and not thirteen: it loses
    more where bounds are wide, and these errors are for bounds that fit.

    Examples
    --------
    >>> best_laplace(1000, 0.1)
    'capped-laplace'
    """
    capped, uncapped = "capped-laplace", "micr-laplace"
    errors = {name: surfaces()[name].at(n, epsilon).value for name in (capped, uncapped)}
    return uncapped if errors[uncapped] < CLEARLY * errors[capped] else capped
