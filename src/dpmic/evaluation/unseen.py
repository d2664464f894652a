"""Relationships that nothing was tuned or fitted on, to check what was fitted to the 21 functions.

Curves: like those functions, they are mixtures of 100 round Gaussians along a curve, restricted to
the unit square. Not all of the curves are graphs of functions.

Margins: MIC* and MICe depend only on ranks. MICr and noisy histograms cut bounds into parts of
equal width, so their scores depend on how records fill their bounds, which is not known in advance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmic.evaluation.relationships import NoisyFunction

Floats = NDArray[np.float64]

SIGMA = (0.01, 0.03, 0.06, 0.12, 0.2, 0.35, 0.8)
POINTS = 100


def _wave(t: Floats, periods: float) -> Floats:
    return np.asarray(0.5 + 0.4 * np.sin(2 * np.pi * periods * t))


def _graph(function: Callable[[Floats], Floats]) -> Callable[[Floats], tuple[Floats, Floats]]:
    return lambda t: (t, function(t))


def _cross(t: Floats) -> tuple[Floats, Floats]:
    along = (2 * t) % 1
    return along, np.where(t < 0.5, along, 1 - along)


def _parallel(t: Floats) -> tuple[Floats, Floats]:
    along = (2 * t) % 1
    return along, along / 2 + np.where(t < 0.5, 0.0, 0.5)


def _spiral(t: Floats) -> tuple[Floats, Floats]:
    angle, radius = 4 * np.pi * np.sqrt(t), 0.45 * np.sqrt(t)
    return 0.5 + radius * np.cos(angle), 0.5 + radius * np.sin(angle)


CURVES: dict[str, Callable[[Floats], tuple[Floats, Floats]]] = {
    "root": _graph(np.sqrt),
    "logistic": _graph(lambda t: 1 / (1 + np.exp(-12 * (t - 0.5)))),
    "reciprocal": _graph(lambda t: 0.05 / (t + 0.05)),
    "three steps": _graph(lambda t: 0.1 + 0.4 * np.minimum(np.floor(3 * t), 2)),
    "sine, 2 periods": _graph(lambda t: _wave(t, 2)),
    "sine, 6 periods": _graph(lambda t: _wave(t, 6)),
    "triangle, 3 teeth": _graph(lambda t: 0.1 + 0.8 * np.abs((6 * t) % 2 - 1)),
    "damped sine": _graph(lambda t: 0.5 + 0.45 * np.exp(-3 * t) * np.sin(10 * np.pi * t)),
    "circle": lambda t: (0.5 + 0.4 * np.cos(2 * np.pi * t), 0.5 + 0.4 * np.sin(2 * np.pi * t)),
    "cross": _cross,
    "parallel lines": _parallel,
    "spiral": _spiral,
}


def unseen(sigma: tuple[float, ...] = SIGMA) -> tuple[NoisyFunction, ...]:
    """Return every curve with every amount of noise.

    Examples
    --------
    >>> len(unseen()), unseen((0.1,))[0].name
    (84, 'root, sigma = 0.1')
    """
    t = (np.arange(POINTS) + 0.5) / POINTS
    points = {name: [tuple(axis.tolist()) for axis in curve(t)] for name, curve in CURVES.items()}
    return tuple(
        NoisyFunction(f"{name}, sigma = {width}", float("nan"), x, y, width)
        for name, (x, y) in points.items()
        for width in sigma
    )


def _bell(x: Floats, width: float) -> Floats:
    """Make a uniform margin normal, with this standard deviation."""
    from scipy.special import ndtri

    return np.asarray(np.clip(0.5 + width * ndtri(np.clip(x, 1e-9, 1 - 1e-9)), 0.0, 1.0))


MARGINS: Mapping[str, Callable[[Floats], Floats]] = {
    "even": lambda x: x,
    "bell": lambda x: _bell(x, 0.1),
    "wide bell": lambda x: _bell(x, 0.15),
    "skewed": lambda x: np.expm1(4 * x) / np.expm1(4),
    "skewed to the right": lambda x: 1 - np.expm1(3 * (1 - x)) / np.expm1(3),
    "half": lambda x: 0.25 + 0.5 * x,
}
"""Increasing maps of [0, 1] to itself: "half" means bounds twice as wide as the records."""

FITTED_MARGINS = (("even", "even"), ("bell", "bell"), ("skewed", "bell"))
UNSEEN_MARGINS = (("even", "even"), ("half", "half"), ("wide bell", "skewed to the right"))


@dataclass(frozen=True)
class Reshaped:
    """A relationship whose samples have one of several pairs of margins, at random."""

    base: NoisyFunction
    margins: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The name of the relationship."""
        return self.base.name

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw n independent points."""
        across, up = self.margins[rng.integers(len(self.margins))]
        x, y = self.base.sample(n, rng)
        return MARGINS[across](x), MARGINS[up](y)
