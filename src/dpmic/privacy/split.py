"""How a screening divides its budget between choosing pairs and releasing their values.

Nothing may be learnt from the data for this, so the expected error is that of a hypothetical
table whose true scores are spread evenly over [0, 1]: a function of the number of candidates, of
``top``, and of the two scales of noise alone. How well it agrees with OpenDP's own choices is in
docs/guides/screening.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_split", "expected_error"]

Floats = NDArray[np.float64]

MOST_POINTS = 1_000
"""Of more candidates, this many stand for all: errors of half a thousandth do not matter."""

SHARES = np.arange(10, 91) / 100
"""A tenth at least for each part: true scores may lie closer together than the hypothesis."""


def expected_error(candidates: int, top: int, choice: float, noise: float) -> float:
    """Return the expected loss of the choice plus the expected error of a value.

    The loss is by how much the mean true score of the chosen pairs falls short of that of the
    ``top`` strongest; ``choice`` is the scale of the choice, ``noise`` that of the values.

    A choice by Gumbel noise of that scale takes candidate i with a probability near
    1 - exp(-t exp(score_i / choice)), where t makes these add up to ``top`` (successive
    sampling). Permute-and-flip, which OpenDP uses, loses no more than that with one pair
    (McKenna and Sheldon 2020), and as measured no more with several.

    Examples
    --------
    >>> round(expected_error(45, 5, 0.1, 0.05), 3)
    0.106
    """
    points = min(candidates, MOST_POINTS)
    each = candidates / points
    scores = (np.arange(points) + 0.5) / points
    chosen = each * _inclusion(scores, top / each, choice)
    strongest = 1 - top / candidates / 2  # the mean of the upper part of [0, 1]
    loss = strongest - float(chosen @ scores) / top
    return loss + float(chosen @ _clipped_error(scores, noise)) / top


def best_split(candidates: int, top: int, epsilon: float, sensitivity: float) -> float:
    """Return the share of epsilon for the choice, within SHARES, of least expected error.

    Examples
    --------
    >>> best_split(45, 5, epsilon=1.0, sensitivity=0.0114)
    0.63
    """
    # The noises as OpenDP's maps have it: 2 k Delta / scale for the choice, k Delta / scale for
    # the values.
    unit = top * sensitivity / epsilon
    errors = [expected_error(candidates, top, 2 * unit / a, unit / (1 - a)) for a in SHARES]
    return float(SHARES[int(np.argmin(errors))])


def _inclusion(scores: Floats, top: float, scale: float) -> Floats:
    """Return probabilities of being chosen that add up to ``top``."""
    logits = (scores - scores[-1]) / scale
    low, high = -50.0, -float(logits[0]) + 50.0
    for _ in range(60):  # the sum rises with t: bisect its logarithm
        middle = (low + high) / 2
        if _included(logits, middle).sum() < top:
            low = middle
        else:
            high = middle
    return _included(logits, high)


def _included(logits: Floats, log_t: float) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(-np.expm1(-np.exp(logits + log_t)))


def _clipped_error(scores: Floats, scale: float) -> Floats:
    """Return E|clip(score + Laplace noise, 0, 1) - score|."""
    return np.asarray(scale * (1 - (np.exp(-scores / scale) + np.exp((scores - 1) / scale)) / 2))
