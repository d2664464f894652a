"""The distribution of the noise in one published value.

Cube noise has a random radius R, shared by all values, and moves each value by a uniform number
in [-R, R]. R has a gamma distribution of shape size + 1, so every tail is an incomplete gamma
function (docs/proofs/cube-noise.md). Laplace noise is cube noise of size 1. Real noise lies on a
grid, much finer than its scale; here it is continuous.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Kind = Literal["laplace", "gaussian", "cube", "none"]

RADII = 48
"""The number of radii that represent all radii in an integral."""


@dataclass(frozen=True, slots=True)
class ValueNoise:
    """The noise of one of ``size`` values that are published together.

    ``scale`` is the mean absolute noise or, for Gaussian noise, the standard deviation.
    """

    kind: Kind
    scale: float
    size: int = 1

    @property
    def mean(self) -> float:
        """The expected absolute noise."""
        return self.scale * (math.sqrt(2 / math.pi) if self.kind == "gaussian" else 1)

    def half_width(self, level: float) -> float:
        """Return the absolute value that noise does not exceed with probability ``level``.

        Examples
        --------
        >>> [round(ValueNoise(kind, 1.0).half_width(0.95), 3) for kind in ("laplace", "gaussian")]
        [2.996, 1.96]
        >>> round(ValueNoise("cube", 23.0, 45).half_width(0.95), 1)
        45.9
        """
        if self.kind == "gaussian":
            return self.scale * NormalDist().inv_cdf((1 + level) / 2)
        if self.kind == "laplace":
            return -self.scale * math.log1p(-level)  # P(|noise| > h) = exp(-h / scale)
        from scipy.optimize import brentq
        from scipy.special import gammainccinv

        most = gammainccinv(self.size + 1, 1 - level)  # considering only the radius
        return self._unit * float(brentq(lambda x: self._beyond(x) - (1 - level), 0.0, most))

    def mean_up_to(self, most: ArrayLike) -> Floats:
        """Return the expectation of min(|noise|, most), for cube noise.

        Examples
        --------
        >>> [round(float(ValueNoise("cube", 1.5, 2).mean_up_to(most)), 3) for most in (1, 100)]
        [0.764, 1.5]
        """
        from scipy.special import gammainc, gammaincc

        # Given R, it is R / 2, or a - a^2 / (2 R) if R is above a.
        a, size = np.asarray(most, np.float64) / self._unit, self.size
        below = (size + 1) / 2 * gammainc(size + 2, a)
        above = a * gammaincc(size + 1, a) - a * a / (2 * size) * gammaincc(size, a)
        return np.asarray(self._unit * (below + above))

    def after_half_normal(self, t: Floats, spread: Floats) -> Floats:
        """Return P(spread |Z| + noise <= t) for a standard normal Z."""
        from scipy.special import erf, ndtr, owens_t

        if self.kind == "none":
            return np.asarray(erf(np.maximum(t, 0.0) / spread / math.sqrt(2)))
        if self.kind == "gaussian":  # the sum is skew-normal
            z = t / np.hypot(spread, self.scale)
            return np.asarray(ndtr(z) - 2 * owens_t(z, spread / self.scale))
        if self.kind == "laplace":
            return _half_normal_and_laplace(t, spread, self.scale)
        return self._after_uniform(t, spread)

    @property
    def _unit(self) -> float:
        """The scale of the radius."""
        return 2 * self.scale / (self.size + 1)

    def _beyond(self, x: float) -> float:
        """Return P(|noise| > x units): the expectation of 1 - x / R over R above x."""
        from scipy.special import gammaincc

        return float(gammaincc(self.size + 1, x) - x / self.size * gammaincc(self.size, x))

    def _after_uniform(self, t: Floats, spread: Floats) -> Floats:
        """Average over radii: given R, noise is uniform and the integral has a closed form."""
        from scipy.special import gammaincinv

        nodes, weights = np.polynomial.legendre.leggauss(RADII)
        radii = self._unit * gammaincinv(self.size + 1, (nodes + 1) / 2)
        spread, t = spread[..., None], t[..., None]
        radii = np.maximum(radii, 1e-4 * spread)  # differences over less would be pure rounding
        each = _area(t + radii, spread) - _area(t - radii, spread)
        return np.asarray(np.clip((each / (2 * radii)) @ (weights / 2), 0.0, 1.0))


def _area(t: Floats, spread: Floats) -> Floats:
    """Return the integral of P(spread |Z| <= u) over u up to t."""
    from scipy.special import erf

    a = np.maximum(t, 0.0)
    lost = math.sqrt(2 / math.pi) * spread * -np.expm1(-((a / spread) ** 2) / 2)
    return np.asarray(a * erf(a / spread / math.sqrt(2)) - lost)


def _half_normal_and_laplace(t: Floats, spread: Floats, scale: float) -> Floats:
    """Return P(spread |Z| + Laplace noise <= t).

    In the integral over Z, each part is exp(...) times a normal tail; erfcx keeps it from
    overflowing.
    """
    from scipy.special import erf, erfcx, ndtr

    w, ratio, root = t / spread, spread / scale, math.sqrt(2)
    p = np.maximum(w, 0.0)
    bell, far = np.exp(-p * p / 2) / 2, erfcx(ratio / root) / 2
    near = np.where(
        p < ratio,
        bell * erfcx(np.abs(ratio - p) / root),
        np.exp(np.minimum(ratio * ratio / 2 - p * ratio, 0.0)) * ndtr(p - ratio),
    )
    positive = erf(p / root) - near + np.exp(-p * ratio) * far + bell * erfcx((p + ratio) / root)
    return np.asarray(np.where(w > 0, positive, np.exp(np.minimum(w, 0.0) * ratio) * far))
