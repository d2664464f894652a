"""Expected errors against what can be chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmic.plots.axes import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpmic.results import Plan

__all__ = ["plan"]


def plan(planned: Plan, ax: Axes | None) -> Axes:
    """Draw one line for each mechanism on log axes, and mark what was asked or found."""
    if ax is None:
        ax = new_axes()
    against = "n" if planned.sought == "n" else "epsilon"
    for row in planned.rows:
        if not row.curve:
            continue
        (line,) = ax.plot(*zip(*row.curve, strict=True), label=row.mechanism)
        place, error = getattr(row, against), getattr(row, planned.of)
        if place is not None and error is not None:
            ax.plot([place], [error], "o", color=line.get_color())
    ax.axhline(planned.guess, color="0.5", linestyle="--", label="always 0.5")
    if planned.error is not None:
        ax.axhline(planned.error, color="0.5", linestyle=":", label=f"target: {planned.error:g}")
    _decades(ax)
    ax.set_xlabel(against)
    ax.set_ylabel(f"expected error of the {planned.of}")
    ax.set_title(planned.given)
    ax.legend()
    return ax


def _decades(ax: Axes) -> None:
    """Set both axes to logarithms, with numbers that are read as they stand."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.set_yscale("log")
    for axis, subs in ((ax.xaxis, (1.0,)), (ax.yaxis, (1.0, 2.0, 5.0))):
        axis.set_major_locator(LogLocator(subs=subs))
        axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.10g}"))
        axis.set_minor_formatter(NullFormatter())
