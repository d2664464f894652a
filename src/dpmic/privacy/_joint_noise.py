"""Which noise several scores get together: that of the least expected size.

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
"""Above it, where nobody is protected, delta is not looked at: exp(epsilon) overflows."""

WORTH = 0.01
"""By this share noise must shrink for delta to be spent at all."""

# The loss that is aimed at: a billionth below what was asked for, as in a single release, so that
# thirty charges of 0.1 fit into 3 whatever their sum rounds to.
_AIM = 1 - 1e-9

_UP = 1 + 2**-50  # more than products and roots of floats are rounded down


def of_value(added: JointNoise) -> ValueNoise:
    """Return how the noise of one of the scores is distributed."""
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

    That is cube noise, for L-infinity: smaller than Laplace noise, which one score has, too.
    Laplace noise, for L1, remains where scores move by so few steps of the grid that a radius
    would take long to draw: for 1,000 pairs and epsilon = 1 that takes more than 10^11 records.
    """
    cube = noise.calibrate_cube(change, epsilon, size)
    if size > 1 and cube.quick:
        return cube
    return noise.calibrate_vector(size * change * _UP, epsilon, size)


def _gaussian(change: float, size: int, epsilon: float, delta: float) -> noise.Gaussian:
    """Return Gaussian noise for L2."""
    return noise.calibrate_gaussian(math.sqrt(size) * change * _UP, epsilon, delta, size)
