"""The MINE statistics of a characteristic matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate
from dpmic.errors import ParameterError
from dpmic.statistics import summaries

__all__ = ["MineStatistics"]


class MineStatistics:
    """For results that have a ``matrix``."""

    @property
    def _matrix(self) -> NDArray[np.float64]:
        """The characteristic matrix, by whatever means the result has it."""
        matrix: NDArray[np.float64] = self.matrix  # type: ignore[attr-defined]
        return matrix

    @property
    def mic(self) -> float:
        """Maximal Information Coefficient: the largest entry, from 0 to 1."""
        return summaries.mic(self._matrix)

    @property
    def axes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers of rows k and of columns l along the matrix."""
        parts = np.arange(2, self._matrix.shape[0] + 2)
        return parts, parts

    def tic(self, *, normalised: bool = False) -> float:
        """Total Information Coefficient: the sum of the entries, or their mean."""
        return summaries.tic(self._matrix, normalised=normalised)

    @property
    def mas(self) -> float:
        """Maximum Asymmetry Score: how much it matters which variable has more parts."""
        return summaries.mas(self._matrix)

    @property
    def mev(self) -> float:
        """Maximum Edge Value: the largest entry with two rows or two columns."""
        return summaries.mev(self._matrix)

    def mcn(self, eps: float = 0.0) -> float:
        """Minimum Cell Number: log2 of the fewest cells that reach (1 - eps) MIC.

        The comparison forgives 1e-4, as minepy's does.
        """
        share = _validate.real(eps, "eps")
        if not 0 <= share <= 1:
            raise ParameterError(f"eps = {eps!r}", "eps is a share of MIC", "pass 0 <= eps <= 1")
        return summaries.mcn(self._matrix, share)

    def mcn_general(self) -> float:
        """Minimum Cell Number at eps = 1 - MIC: fewer cells suffice for a noisy relation."""
        return self.mcn(1 - self.mic)

    def gmic(self, p: float = -1.0) -> float:
        """Generalised mean, of order p, of the best score within each number of cells.

        Each entry is replaced by the largest one with at most as many cells (Luedtke and Tran
        2013); p = 0 is the geometric mean and p = inf the MIC.
        """
        return summaries.gmic(self._matrix, _validate.real(p, "p"))
