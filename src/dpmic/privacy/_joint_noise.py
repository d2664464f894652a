"""The noise of several scores together: the kind of least expected size.

Replacing one person's rows changes each of P scores by at most Delta: Delta in L-infinity, P Delta
in L1 and sqrt(P) Delta in L2. The choice looks at Delta, P, epsilon and delta alone. Proofs:
docs/proofs/screening-and-matrices.md and docs/proofs/cube-noise.md.
"""

from __future__ import annotations

import math

from dpmic.parameters.value_noise import ValueNoise
from dpmic.privacy import noise

__all__ = ["JointNoise", "least_noise", "of_value"]

JointNoise = noise.LaplaceVector | noise.Cube | noise.Gaussian

MOST_EPSILON = 100
"""Above it nobody is protected and exp(epsilon) overflows, so delta is ignored."""

WORTH = 0.01
"""The least relative gain in noise for which delta is spent."""

# The target loss: a billionth below the requested one, as in a single release, so that thirty
# charges of 0.1 fit into 3 however their sum is rounded.
_AIM = 1 - 1e-9

_UP = 1 + 2**-50  # exceeds the rounding error of products and roots


def of_value(added: JointNoise) -> ValueNoise:
    """Return the distribution of the noise of one score."""
    return ValueNoise(added.kind, added.scale, added.size)


def least_noise(change: float, size: int, epsilon: float, delta: float = 0.0) -> JointNoise:
    """Return the noise of least expected size for scores that change by ``change`` each.

    Examples
    --------
    >>> [least_noise(0.01, size, 1.0, 1e-6).kind for size in (1, 2, 45, 100)]
    ['laplace', 'cube', 'cube', 'gaussian']
    """
    pure = _pure(change, size, epsilon)
    if not delta or epsilon > MOST_EPSILON:
        return pure
    other = _gaussian(change, size, epsilon * _AIM, delta * _AIM)
    worth = of_value(other).mean < of_value(pure).mean * (1 - WORTH)
    return other if worth else pure


def _pure(change: float, size: int, epsilon: float) -> JointNoise:
    """Return the noise that needs no delta.

    That is cube noise, calibrated in L-infinity, which is smaller than Laplace noise, calibrated in
    L1. Laplace noise is used for one score, and if scores move by so few steps of the grid that a
    radius takes long to draw: for 1,000 pairs and epsilon = 1, with more than 10^11 records.
    """
    cube = noise.calibrate_cube(change, epsilon, size)
    if size > 1 and cube.quick:
        return cube
    return noise.calibrate_vector(size * change * _UP, epsilon, size)


def _gaussian(change: float, size: int, epsilon: float, delta: float) -> noise.Gaussian:
    """Return Gaussian noise, calibrated in L2."""
    return noise.calibrate_gaussian(math.sqrt(size) * change * _UP, epsilon, delta, size)
