"""From a published value to a point estimate of MIC*: post-processing, at no cost of privacy.

Before anything is known, let the score of the data be anywhere between ``low``, what
independent variables score, and ``high``, what a noiseless relationship scores, all alike. Then
the value, score plus Laplace noise, leaves a Laplace density cut off at both ends; its median is
the best guess of the score in mean absolute error, and carried from [low, high] to [0, 1] it
estimates MIC*. Without noise this corrects the bias of few records; with nothing but noise it
is 0.5, the best constant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Calibration"]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Three fitted numbers: where scores of no and of full dependence lie, and their scatter.

    Where noise is large the ends need not be scores that occur, and may lie outside [0, 1].
    ``spread`` is added to the scale of the noise: scores of equal MIC* scatter by about that.
    """

    low: float = 0.0
    high: float = 1.0
    spread: float = 0.0

    def estimate(self, value: ArrayLike, scale: float) -> NDArray[np.float64]:
        """Return the median of MIC* given the published value and the scale of its noise.

        Examples
        --------
        >>> [round(float(Calibration().estimate(0.9, scale)), 3) for scale in (0.001, 0.1, 1e4)]
        [0.9, 0.88, 0.5]
        """
        width, b = self.high - self.low, scale + self.spread
        # It runs between a draw and its storage, where no error may depend on the value.
        with np.errstate(all="ignore"):
            return self._median(np.asarray(value, np.float64), width, b)

    def _median(self, value: NDArray[np.float64], width: float, b: float) -> NDArray[np.float64]:
        # Beyond an end the density inside is the same exponential wherever the value lies.
        inside = np.clip(value, self.low, self.high)
        if b > 0:
            # F, the distribution function of Laplace(value, b), is half of (F(low) + F(high))
            # at the median.
            shift = (np.expm1((self.low - inside) / b) - np.expm1((inside - self.high) / b)) / 2
            inside = inside - np.sign(shift) * b * np.log1p(-np.abs(shift))
        return np.asarray(np.clip((inside - self.low) / width, 0.0, 1.0))
