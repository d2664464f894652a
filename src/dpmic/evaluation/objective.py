"""WSUM, the weighted error that the paper minimises, and expected errors in closed form."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["expected_error", "weights", "wsum"]

Floats = NDArray[np.float64]


def weights(mic_star: ArrayLike) -> Floats:
    """Return the weight of each distribution: the length of [0, 1] that is nearest to it.

    Interval ends are half-way between neighbouring values of MIC*, and 0 and 1 (the paper's
    appendix on tuning), so errors at every strength of dependence count alike.

    Examples
    --------
    >>> weights([0.5, 0.1, 0.2])
    array([0.65, 0.15, 0.2 ])
    """
    values = np.asarray(mic_star, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    ends = np.concatenate(([0.0], (ordered[1:] + ordered[:-1]) / 2, [1.0]))
    result = np.empty_like(values)
    result[order] = np.diff(ends)
    return result


def wsum(errors: ArrayLike, mic_star: ArrayLike) -> Floats:
    """Return the weighted sum over distributions, the first axis, of mean absolute errors."""
    return np.asarray(np.tensordot(weights(mic_star), np.asarray(errors), axes=1))


def expected_error(scores: ArrayLike, target: ArrayLike, scale: float) -> Floats:
    """Return E|V - target| for V = score + Laplace(scale), clipped to [0, 1].

    It is the integral of P(V <= u) from 0 to the target and of P(V > u) from there to 1, and
    A(z) = max(z, 0) + scale / 2 exp(-|z| / scale) is an antiderivative of the noise's
    distribution function. A scale of 0 means no noise.

    Examples
    --------
    >>> round(float(expected_error(0.5, 0.5, 0.01)), 4), float(expected_error(0.3, 0.5, 0.0))
    (0.01, 0.2)
    """
    s, t = np.asarray(scores, np.float64), np.asarray(target, np.float64)
    if scale == 0:
        return np.abs(s - t)

    def integral(z: Floats) -> Floats:
        return np.asarray(np.maximum(z, 0.0) + scale / 2 * np.exp(-np.abs(z) / scale))

    here = integral(t - s)
    return np.asarray(here - integral(-s) + (1 - t) - (integral(1 - s) - here))
