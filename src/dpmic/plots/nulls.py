"""What was observed, beside what chance gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmic._format import format_ceil
from dpmic.plots.axes import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpmic.results import IndependenceTest

__all__ = ["null"]

BARS = 50


def null(test: IndependenceTest, ax: Axes | None) -> Axes:
    """Draw a histogram of the permutations' statistic, and a line at the observed one."""
    if ax is None:
        ax = new_axes()
    ax.hist(test.null, BARS, color="tab:blue", alpha=0.35, label="permuted")
    ax.axvline(test.statistic, color="tab:red", label="observed")
    ax.set_xlabel("TICe")
    ax.set_ylabel("permutations")
    chance = format_ceil(test.pvalue, 3)
    ax.set_title(f"p = {chance} (n = {test.n}, {test.permutations:,} permutations)")
    ax.legend()
    return ax
