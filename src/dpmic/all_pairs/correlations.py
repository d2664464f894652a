"""Pearson's and Spearman's correlations, which show how much of a relation is linear."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpmic.data import Variable

Floats = NDArray[np.float64]


class Standardised(NamedTuple):
    """A column and its ranks, each with mean 0 and length 1; None if that is impossible."""

    values: Floats | None
    ranks: Floats | None

    @classmethod
    def of(cls, own: Variable) -> Standardised:
        """Prepare a column; nominal and constant columns have no correlation."""
        if own.categories is not None:
            return cls(None, None)
        from scipy.stats import rankdata

        return cls(_unit(own.values), _unit(rankdata(own.values)))

    def with_(self, other: Standardised) -> tuple[float, float]:
        """Return Pearson's and Spearman's correlations of two columns; NaN if there is none.

        Examples
        --------
        >>> x = np.arange(5.0)
        >>> one, other = (Standardised.of(Variable(v)) for v in (x, np.exp(x)))
        >>> [round(r, 2) for r in one.with_(other)]
        [0.89, 1.0]
        """
        return _dot(self.values, other.values), _dot(self.ranks, other.ranks)


def _unit(values: Floats) -> Floats | None:
    """Return values with mean 0 and length 1; None for a constant."""
    largest = np.abs(values).max()
    if largest == 0 or values.min() == values.max():
        return None
    scaled = values / largest  # so that squares of large values do not overflow
    centred = scaled - scaled.mean()
    length = np.sqrt(centred @ centred)
    return None if length == 0 else centred / length


def _dot(one: Floats | None, other: Floats | None) -> float:
    if one is None or other is None:
        return np.nan
    return float(np.clip(one @ other, -1.0, 1.0))
