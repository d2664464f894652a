"""Every number of the evaluation that the paper prints or reads from its figures.

Lazarsfeld, Johnson and Adeniran, "Differentially Private Maximal Information Coefficients",
ICML 2022. Mechanisms are named by their keys in :mod:`dpmic.evaluation.tables`. The paper prints
its boxplots only as images; of them only what its text reads off is known.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from dpmic import _validate
from dpmic.errors import ParameterError
from dpmic.evaluation.tables import Table

Statistic = Literal[
    "median bias", "least bias", "largest bias", "largest unsigned bias", "median variance"
]

EPSILONS = (1.0, 0.1)
MECHANISMS = ("mice-lap", "micr-lap", "micr-geom")
"""The columns of both tables of medians, in order."""

# Appendix on experiments, "Tuning Parameters for MICr-Lap and MICr-Geom", table "tab:opt-BC".
PARAMETERS: Mapping[tuple[str, float], Mapping[int, tuple[int, int]]] = MappingProxyType(
    {
        ("micr-geom", 1.0): {
            25: (2, 12),
            250: (1, 40),
            500: (1, 40),
            1000: (1, 60),
            5000: (1, 150),
            10000: (1, 150),
        },
        ("micr-geom", 0.1): {
            25: (2, 6),
            250: (2, 10),
            500: (2, 20),
            1000: (2, 40),
            5000: (1, 40),
            10000: (1, 80),
        },
        ("micr-lap", 1.0): {
            25: (5, 8),
            250: (5, 40),
            500: (5, 60),
            1000: (5, 80),
            5000: (5, 150),
            10000: (5, 150),
        },
        ("micr-lap", 0.1): {
            25: (5, 6),
            250: (5, 40),
            500: (5, 80),
            1000: (5, 100),
            5000: (5, 125),
            10000: (5, 150),
        },
    }
)
"""The optimal (c, B) of a mechanism and an epsilon, by n.

The section on synthetic data says that the optimal B ranged from 12 to 150; the table also has 6,
8 and 10. We follow the table. MICe-Lap has no row: it always used B = n ** 0.6 and c = 15.
"""


@dataclass(frozen=True, slots=True)
class Median:
    """Medians over the data sets of a collection, each of 100 runs, measured against MICe.

    ``error`` is the mean unsigned error, which the paper prints only for some of them.
    """

    bias: float
    variance: float
    error: float | None = None


def _rows(
    epsilon: float, rows: Mapping[str, tuple[Median, Median, Median]]
) -> dict[tuple[str, str, float], Median]:
    """Key the rows of a table by collection, mechanism and epsilon."""
    return {
        (collection, mechanism, epsilon): median
        for collection, medians in rows.items()
        for mechanism, median in zip(MECHANISMS, medians, strict=True)
    }


MEDIANS: Mapping[tuple[str, str, float], Median] = MappingProxyType(
    {
        # Section "Real Data", table "tab:real-bv": bias (variance). The errors are from the text,
        # "Evaluation of Private Error": MICe-Lap, MICr-Lap and MICr-Geom on Spellman23, then
        # MICr-Lap and MICr-Geom on Spellman4381 and on Baseball.
        **_rows(
            1.0,
            {
                "Spellman23": (
                    Median(0.18, 0.23, 0.46),
                    Median(0.14, 0.17, 0.39),
                    Median(0.24, 0.01, 0.25),
                ),
                "Baseball": (
                    Median(0.30, 0.21),
                    Median(0.02, 0.02, 0.097),
                    Median(0.06, 9e-4, 0.068),
                ),
                "Spellman4381": (
                    Median(0.26, 0.17),
                    Median(-0.01, 4e-4, 0.016),
                    Median(0.02, 1e-4, 0.019),
                ),
            },
        ),
        # Appendix "Real Data Experiments", table "tab:real-bv:eps10"; no error is printed.
        **_rows(
            0.1,
            {
                "Spellman23": (Median(0.20, 0.24), Median(0.19, 0.24), Median(0.31, 0.05)),
                "Baseball": (Median(0.36, 0.24), Median(0.25, 0.18), Median(0.33, 0.01)),
                "Spellman4381": (Median(0.41, 0.24), Median(0.03, 0.01), Median(0.14, 8e-4)),
            },
        ),
    }
)
"""Both tables of medians on real data, by collection, mechanism and epsilon."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number that the text reads from a boxplot.

    If ``collection`` is None it is over all 189 distributions at ``n`` records. Otherwise it is
    over the data sets of the collection: those of one ``bin``, or all if that is None.
    """

    mechanism: str
    epsilon: float
    n: int
    statistic: Statistic
    value: float
    collection: str | None = None
    bin: int | None = None


BINS: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "Spellman4381": (0.0, 0.1, 0.2, 0.3, 0.4, 1.0),
        "Baseball": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
        "Spellman23": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    }
)
"""The edges of the MICe bins of each collection; the paper does not plot Spellman23."""


def in_bin(collection: str, mice: float) -> int:
    """Return the number of the bin of a score; 1 belongs to the last."""
    return bisect_right(BINS[collection][1:-1], mice)


SYNTHETIC: tuple[Figure, ...] = (
    # Section "Synthetic Data", "Bias/Variance Evaluation", on the figure "fig:synthetic-bv".
    Figure("micr-lap", 1.0, 5000, "median bias", 0.01),
    Figure("micr-lap", 1.0, 5000, "least bias", -0.1),
    Figure("micr-lap", 1.0, 5000, "largest bias", 0.02),
    Figure("micr-geom", 1.0, 5000, "median bias", 0.01),
    Figure("micr-geom", 1.0, 5000, "least bias", -0.37),
    Figure("micr-geom", 1.0, 5000, "largest bias", 0.04),
    Figure("micr-geom", 1.0, 250, "median variance", 0.003),
)
"""The numbers in the text about the synthetic boxplots; it gives none for epsilon 0.1."""

REAL: tuple[Figure, ...] = (
    # Section "Real Data", "Evaluation of Private Error", on the figure "fig:real-bw". First the
    # data sets of the lowest scores:
    Figure("micr-geom", 1.0, 4381, "median bias", 0.03, "Spellman4381", 0),
    Figure("micr-geom", 1.0, 337, "median bias", 0.09, "Baseball", 0),
    Figure("micr-lap", 1.0, 4381, "median bias", -0.01, "Spellman4381", 0),
    Figure("micr-lap", 1.0, 337, "median bias", 0.03, "Baseball", 0),
    # "outlier datasets with magnitudes of bias as large as 0.5":
    Figure("micr-lap", 1.0, 337, "largest unsigned bias", 0.5, "Baseball"),
    Figure("micr-geom", 1.0, 337, "largest unsigned bias", 0.5, "Baseball"),
    # "across all bins":
    Figure("micr-lap", 1.0, 4381, "least bias", -0.04, "Spellman4381"),
    Figure("micr-lap", 1.0, 4381, "largest bias", -0.002, "Spellman4381"),
    Figure("micr-geom", 1.0, 4381, "least bias", -0.04, "Spellman4381"),
    Figure("micr-geom", 1.0, 4381, "largest bias", 0.06, "Spellman4381"),
)
"""The numbers in the text about the binned boxplots; it gives none for epsilon 0.1."""


def interpolated(mechanism: str, n: int, epsilon: float) -> tuple[int, int]:
    """Return (c, B) for n records, by the paper's interpolation of its table.

    It is linear in n between two printed rows; c is rounded to the nearest integer (one half up),
    and B is rounded down. Outside 25 to 10,000 the nearest row holds. The column is that of the
    epsilon that is nearer on a log scale.

    Examples
    --------
    >>> interpolated("micr-lap", 337, 1.0), interpolated("micr-geom", 4381, 0.1)
    ((5, 46), (1, 40))
    """
    nearer = 1.0 if epsilon * epsilon >= 0.1 else 0.1
    if (mechanism, nearer) not in PARAMETERS:
        raise ParameterError(
            f"mechanism = {mechanism!r}",
            "the paper's table of optimal parameters has no column for it",
            "use 'micr-lap' or 'micr-geom'",
        )
    table = PARAMETERS[mechanism, nearer]
    known = sorted(table)
    n = min(max(n, known[0]), known[-1])
    above = max(bisect_left(known, n), 1)
    low, high = known[above - 1], known[above]
    width = high - low
    c, B = (
        start * (high - n) + end * (n - low)  # an integer number of width-ths
        for start, end in zip(table[low], table[high], strict=True)
    )
    return (2 * c + width) // (2 * width), B // width


def mice_limits(n: int) -> tuple[float, float]:
    """Return (c, B) of MICe-Lap, and of MICe itself: 15 and max(n ** 0.6, 4)."""
    return 15.0, _validate.cells(n, 0.6, None)


READ_OFF: Mapping[str, tuple[str, Callable[[Any], Any]]] = MappingProxyType(
    {
        "median bias": ("bias", np.median),
        "least bias": ("bias", np.min),
        "largest bias": ("bias", np.max),
        "largest unsigned bias": ("bias", lambda bias: np.max(np.abs(bias))),
        "median variance": ("variance", np.median),
    }
)


REASONS: dict[tuple[str | None, str, str], str] = {
    (None, "micr-lap", "least bias"): (
        "F9 with R^2 of 0.7 to 0.9 lies lower; the least of all others is -0.100"
    ),
    (None, "micr-geom", "least bias"): (
        "F9 with R^2 of 0.7 to 0.9 lies lower; the least of all others is -0.375"
    ),
    ("Spellman4381", "micr-lap", "least bias"): (
        "one pair, of MICe 0.72, has it; the least of all others is -0.038"
    ),
    ("Spellman4381", "micr-geom", "least bias"): (
        "the four pairs of MICe above 0.37 lie between -0.17 and -0.07; the least of all others "
        "is -0.047"
    ),
}
"""Why a number differs from the printed one."""


def quoted(synthetic: Table, real: Table) -> Table:
    """Return a row for each number that can be computed from the tables."""
    rows = []
    for figure in (*SYNTHETIC, *REAL):
        column, summary = READ_OFF[figure.statistic]
        own = [
            row[column] for row in (real if figure.collection else synthetic) if _of(figure, row)
        ]
        if own:
            rows.append(
                {
                    "data": figure.collection or "synthetic",
                    "bin": "all" if figure.bin is None else f"bin {figure.bin + 1}",
                    "n": figure.n,
                    "epsilon": figure.epsilon,
                    "mechanism": figure.mechanism,
                    "statistic": figure.statistic,
                    "printed": figure.value,
                    "measured": float(summary(own)),
                    "note": REASONS.get(
                        (figure.collection, figure.mechanism, figure.statistic), ""
                    ),
                }
            )
    return rows


def _of(figure: Figure, row: Mapping[str, Any]) -> bool:
    """Return whether a row of a table belongs to a number in the text."""
    if (row["mechanism"], row["epsilon"]) != (figure.mechanism, figure.epsilon):
        return False
    if figure.collection is None:
        return bool(row["n"] == figure.n)
    if row["collection"] != figure.collection:
        return False
    return figure.bin is None or in_bin(figure.collection, row["mice"]) == figure.bin
