"""The paper's optimal parameters, interpolated.

Lazarsfeld, Johnson and Adeniran, ICML 2022, appendix, table of optimal parameters; the table
prints (c, B), and every MICr-Lap entry has c = 5.
"""

from __future__ import annotations

from bisect import bisect_left

from dpmic import _validate

__all__ = ["MICE_C", "MICR_C", "mice_B", "micr_B"]

MICR_C = 5
MICE_C = 15

_N = (25, 250, 500, 1000, 5000, 10000)
_MICR_B = {1.0: (8, 40, 60, 80, 150, 150), 0.1: (6, 40, 80, 100, 125, 150)}


def micr_B(n: int, epsilon: float) -> int:  # noqa: N802 - the paper's name
    """Return B of MICr-Lap for n records.

    Between two printed n it is interpolated linearly and rounded down; below 25 and above 10,000
    the nearest printed value holds. The column is that of the nearer epsilon on a log scale:
    epsilon = 1 from 0.1 ** 0.5 upwards.

    Examples
    --------
    >>> micr_B(1000, 1.0), micr_B(3000, 1.0), micr_B(1000, 0.1), micr_B(10**6, 1.0)
    (80, 115, 100, 150)
    """
    column = _MICR_B[1.0 if epsilon * epsilon >= 0.1 else 0.1]
    above = bisect_left(_N, n)
    if above == 0:
        return column[0]
    if above == len(_N):
        return column[-1]
    low, high = _N[above - 1], _N[above]
    rise = (column[above] - column[above - 1]) * (n - low)
    return column[above - 1] + rise // (high - low)


def mice_B(n: int) -> float:  # noqa: N802 - the paper's name
    """Return B of MICe-Lap for n records: max(n ** 0.6, 4), as the paper has it, and at most 5000.

    Examples
    --------
    >>> mice_B(32), mice_B(10**7)
    (8.0, 5000.0)
    """
    return min(max(_validate.snapped(n**0.6), 4.0), float(_validate.MAX_B))
