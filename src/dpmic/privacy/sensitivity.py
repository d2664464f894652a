"""How much one record can change a score: proved bounds, rounded up.

Neighbours have the same number n of records and differ in one of them. Throughout,
f(m) = m log2 m with f(0) = 0, and g(m) = f(m) - f(m - 1), which is increasing and concave.
Every function names the page of its proof in :data:`PROOFS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from functools import lru_cache
from typing import TypeVar

from dpmic import _validate
from dpmic.errors import ParameterError, safe_repr, with_code

__all__ = ["PROOFS", "micc", "mice", "mice_paper", "micr", "micr_paper", "rounding"]

PROOFS = {
    "micr": "docs/proofs/micr-sensitivity.md",
    "mice": "docs/proofs/mice-sensitivity.md",
    "micc": "docs/proofs/capped-sensitivity.md",
    "maps": "docs/proofs/maps.md",
    "private number of records, categories": "docs/proofs/private-number.md",
    "micr, other statistics": "docs/proofs/other-statistics.md",
    "rounding": "docs/proofs/rounding.md",
}
"""The page, from the root of the repository, that proves what each function returns."""

MAX_N = 2**40
"""With more records, rounding would be as large as the change by one record."""

MAX_CAPPED_N = 2**31 - 1
"""With more records, the numbers of a capped score would not be exact."""

UNBOUNDED = {
    "mcn": "one record can move MCN across its range, at every n",
    "gmic": "one record can lift GMIC from 0 to 0.5 or more, since one small entry dominates it",
}
"""Refused statistics, with the reason (docs/proofs/other-statistics.md)."""

SHORTLIST = 1e-9
"""Bounds within this relative distance of the rough maximum are computed exactly."""

Number = TypeVar("Number", float, Decimal)

# 50 digits. Cancellation costs at most 15 of them for n <= 2**40, and _SLACK covers the rest.
_DIGITS = Context(prec=50)
_SLACK = Decimal("1." + 29 * "0" + "1")  # a sum would be rounded to 28 digits here
_LN2 = _DIGITS.ln(Decimal(2))


def micr(n: int, B: float | None = None, *, statistic: str = "mic", nominal: bool = False) -> float:
    """Return the sensitivity of MICr, or of another statistic of its matrix.

    - mic: g(n) / n = h2(1 / n), exactly: attained for all n, B and c
    - mev: g(n) / n, exactly
    - tic: the mean over k, l >= 2, k l <= B of Delta_kl (the normalised TIC)
    - mas: 2 max Delta_kl

    with Delta_kl = g(n) / n if min(k, l) = 2, else S(n) / (n log2 min(k, l)), where
    S(n) = g(ceil((n + 1) / 2)) + g(floor((n + 1) / 2)). None exceeds 1. Proofs:
    docs/proofs/micr-sensitivity.md and docs/proofs/other-statistics.md.

    Parameters
    ----------
    n : int
        The number of records, at least 2.
    B : float, optional
        The most cells in a grid; only "tic" and "mas" depend on it.
    statistic : {"mic", "mev", "tic", "mas"}
        "mcn" and "gmic" have no useful bound and are refused.
    nominal : bool
        Whether a column has three or more categories, whose rows cannot be merged. The sensitivity
        of MIC is then max(g(n), S(n) / log2 3) / n (docs/proofs/private-number.md); other
        statistics are refused.

    Examples
    --------
    >>> round(micr(1000), 5), round(micr(25), 5)
    (0.01141, 0.24229)
    >>> round(micr(1000, 80, statistic="tic"), 5)
    0.01085
    """
    records, cells = _records(n), None if B is None else _cells(n, B)
    if statistic in UNBOUNDED:
        raise ParameterError(
            f"statistic = {safe_repr(statistic)}",
            f"it has no useful sensitivity: {UNBOUNDED[statistic]}",
            "pass 'mic', 'mev', 'tic' or 'mas'",
        )
    if nominal:
        if statistic != "mic":
            raise ParameterError(
                f"statistic = {safe_repr(statistic)}",
                "with nominal columns, only MIC has a proved sensitivity",
                "pass 'mic'",
            )
        return _of_categories(records)
    if statistic in ("mic", "mev"):
        return _of_edge(records)
    if statistic not in ("tic", "mas"):
        raise ParameterError(
            f"statistic = {safe_repr(statistic)}",
            "there is no such statistic",
            "pass 'mic', 'mev', 'tic' or 'mas'",
        )
    if cells is None:
        raise ParameterError(
            "B = None", f"the sensitivity of {statistic} depends on B", "pass a B of at least 4"
        )
    return (_of_mean if statistic == "tic" else _of_asymmetry)(records, cells)


def mice(n: int, B: float, *, lmax: int | None = None) -> float:
    """Return a bound on the sensitivity of MICe with ties broken by priorities.

    The largest T(k, l) / (n log2 k) over 2 <= k <= l <= lmax with k l <= B, and at most 1. With
    m_j, floor(n / l) or ceil(n / l), the sizes of the l columns and M the largest,

        T(2, l) = sum_j g(m_j) + max(0, g(M - 1) - 2),
        T(k, l) = sum_j g(m_j) + (k - 1) g(M - 1)  for k >= 3.

    Proof: docs/proofs/mice-sensitivity.md. The priorities must not depend on the data; grouped
    ties have no such bound.

    Parameters
    ----------
    n : int
        The number of records, at least 2.
    B : float
        The most cells in a grid, at least 4.
    lmax : int, optional
        The most columns in a grid, at least 2; by default floor(B / 2). The bound falls with it.

    Examples
    --------
    >>> round(mice(1000, 1000**0.6), 3), round(mice(1000, 1000**0.6, lmax=12), 3)
    (0.204, 0.1)
    """
    records, cells = _records(n), _cells(n, B)
    columns = cells // 2
    if lmax is not None:
        columns = min(columns, _validate.integer(lmax, "lmax", least=2))
    return _of_ranks(records, cells, columns)


def micc(n: int, cap: float, *, most: int | None = None) -> float:
    """Return the sensitivity of the capped score, as computed in float64.

    (cap + 36 u) / n + 2**-51, where all numbers are multiples of u, at most 2**-15: one record
    contributes at most ``cap`` bits. It holds for all grids and maps.
    Proof: docs/proofs/capped-sensitivity.md.

    Parameters
    ----------
    n : int
        The number of records, from 2 to 2**31 - 1.
    cap : float
        The most that one record can contribute, in bits: 3.5 to 8.
    most : int, optional
        If the number of records is private: the largest possible number, while n is the promised
        one. It then covers adding, removing or replacing a record
        (docs/proofs/private-number.md).

    Examples
    --------
    >>> round(micc(1000, 4), 5), round(micr(1000) / micc(1000, 4), 2)
    (0.004, 2.85)
    """
    records, bits = _records(n), _validate.cap(cap)
    largest = records if most is None else max(_records(most), records)
    if largest > MAX_CAPPED_N:
        raise ParameterError(
            f"n = {n!r}",
            "the rounding proof covers fewer than 2**31 records",
            with_code("pass `mechanism='micr-laplace'`"),
        )
    with localcontext(_DIGITS):
        # Not below capped.unit_of(n): a bit more where n log2 n is a power of two.
        unit = Decimal(2) ** -min(24, 51 - math.ceil(_log2(largest) * largest).bit_length())
        weight = Decimal(bits) + 36 * unit
        return min(_up(weight / records + Decimal(2) ** -51), 1.0)


def micr_paper(n: int) -> float:
    """Return the published bound for MICr, (4 log2 n + 6) / n, for comparison.

    Lazarsfeld, Johnson and Adeniran, ICML 2022, for n >= 4.

    Examples
    --------
    >>> round(micr_paper(1000), 5), round(micr_paper(1000) / micr(1000), 2)
    (0.04586, 4.02)
    """
    records = _records(n)
    with localcontext(_DIGITS):
        return _up((4 * _log2(records) + 6) / records)


def mice_paper(n: int, B: float) -> float:
    """Return the published bound for MICe, B (2 log2 n + 4.8) / n, for comparison.

    Lazarsfeld, Johnson and Adeniran, ICML 2022, for n >= 6. The number of cells is an
    integer, so floor(B) replaces B.

    Examples
    --------
    >>> round(mice_paper(1000, 1000**0.6), 2)
    1.56
    """
    records, cells = _records(n), _cells(n, B)
    with localcontext(_DIGITS):
        return _up(cells * (2 * _log2(records) + Decimal("4.8")) / records)


def rounding(n: int, B: float) -> float:
    """Return a bound on the rounding error of a score in float64: |computed - exact|.

    2**-50 (floor(B) + 32) log2 n holds for every entry of a characteristic matrix of MICe or
    MICr, and for its MIC, MEV, MAS and normalised TIC. Proof: docs/proofs/rounding.md. The
    sensitivity of the computed score is at most that of the exact score plus twice this.

    Examples
    --------
    >>> rounding(1000, 1000**0.6) < 1e-12
    True
    """
    records, cells = _records(n), _cells(n, B)
    with localcontext(_DIGITS):
        return _up((cells + 32) * _log2(records) / 2**50)


def _records(n: object) -> int:
    """Return the number of records, an integer from 2 to MAX_N."""
    records = _validate.integer(n, "n", least=2)
    if records > MAX_N:
        raise ParameterError(
            f"n = {n!r}", "the rounding proof covers at most 2**40 records", f"pass at most {MAX_N}"
        )
    return records


def _cells(n: int, B: object) -> int:
    """Return the most cells in a grid; k l is an integer, so floor(B) is equivalent."""
    if B is None:
        raise ParameterError("B = None", "the bound depends on B", "pass a B of at least 4")
    return math.floor(_validate.cells(n, None, B))


@lru_cache(maxsize=1024)
def _of_edge(n: int) -> float:
    """Return g(n) / n, which is h2(1 / n)."""
    with localcontext(_DIGITS):
        return min(_up(_g(n) / n), 1.0)


@lru_cache(maxsize=1024)
def _of_categories(n: int) -> float:
    """Return max(g(n), S(n) / log2 3) / n."""
    with localcontext(_DIGITS):
        return min(_up(max(_of_entry(n, 2), _of_entry(n, 3))), 1.0)


@lru_cache(maxsize=1024)
def _of_mean(n: int, cells: int) -> float:
    """Return the mean of Delta_kl over all entries, 2 (floor(B / m) - m) + 1 for m = min(k, l)."""
    with localcontext(_DIGITS):
        count = {m: 2 * (cells // m - m) + 1 for m in range(2, math.isqrt(cells) + 1)}
        total = sum((size * _of_entry(n, m) for m, size in count.items()), Decimal(0))
        return min(_up(total / sum(count.values())), 1.0)


@lru_cache(maxsize=1024)
def _of_asymmetry(n: int, cells: int) -> float:
    """Return twice the largest Delta_kl; m = min(k, l) is at most sqrt(B)."""
    with localcontext(_DIGITS):
        largest = max(_of_entry(n, m) for m in range(2, math.isqrt(cells) + 1))
        return min(_up(2 * largest), 1.0)


def _of_entry(n: int, m: int) -> Decimal:
    """Return Delta_kl for m = min(k, l)."""
    if m == 2:
        return _g(n) / n
    return (_g((n + 2) // 2) + _g((n + 1) // 2)) / (n * _log2(m))


@lru_cache(maxsize=1024)
def _of_ranks(n: int, cells: int, most_columns: int) -> float:
    """Return the largest T(k, l) / (n log2 k): approximate all, then refine the largest."""
    grids = [(k, l) for l in range(2, most_columns + 1) for k in range(2, min(l, cells // l) + 1)]
    rough = [_moved(n, k, l, _rough_g) / (n * math.log2(k)) for k, l in grids]
    enough = max(rough) * (1 - SHORTLIST)
    with localcontext(_DIGITS):
        exact = max(
            _moved(n, k, l, _g) / (n * _log2(k))
            for (k, l), value in zip(grids, rough, strict=True)
            if value >= enough
        )
        return min(_up(exact), 1.0)


def _moved(n: int, k: int, l: int, g: Callable[[int], Number]) -> Number:
    """Return T(k, l): the most by which n times the information of k rows can change."""
    size, larger = divmod(n, l)
    most = size + 1 if larger else size
    columns = larger * g(size + 1) + (l - larger) * g(size)
    again = g(most - 1)
    return columns + (max(again - 2, g(1)) if k == 2 else (k - 1) * again)


@lru_cache(maxsize=8192)
def _rough_g(m: int) -> float:
    """Return g(m), with g(0) = 0, to a few units in the last place."""
    return math.log2(m) + (m - 1) * math.log1p(1 / (m - 1)) / math.log(2) if m > 1 else 0.0


def _g(m: int) -> Decimal:
    """Return g(m), with g(0) = 0."""
    return m * _log2(m) - (m - 1) * _log2(m - 1) if m > 1 else Decimal(0)


@lru_cache(maxsize=8192)
def _log2(m: int) -> Decimal:
    """Return log2 m, with relative error below 1e-48."""
    return _DIGITS.divide(_DIGITS.ln(Decimal(m)), _LN2)


def _up(value: Decimal) -> float:
    """Return a float not below the exact number that ``value`` approximates."""
    above = value * _SLACK
    nearest = float(above)
    return nearest if nearest >= above else math.nextafter(nearest, math.inf)
