"""The values of chosen pairs, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from dpmic._format import format_ceil
from dpmic.plots.axes import literal, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dpmic.results import Screening

__all__ = ["bars", "screening"]


def screening(found: Screening, ax: Axes | None) -> Axes:
    """Draw the values of a screening, the largest on top, with the intervals of their noise."""
    labels = [f"{literal(first)}, {literal(second)}" for first, second in found.pairs]
    if found.target is not None:
        labels = [literal(second) for _, second in found.pairs]
    ax = bars(labels, found.values, found.interval(0.95), ax)
    what = f"{len(found.pairs)} of {found.candidates} pairs"
    if found.target is not None:
        what += f" with {literal(found.target)}"
    ax.set_title(f"{what}, epsilon = {format_ceil(found.epsilon)}")
    return ax


def bars(
    labels: Sequence[str],
    values: Sequence[float],
    intervals: Sequence[tuple[float, float]],
    ax: Axes | None,
) -> Axes:
    """Draw horizontal bars, the first on top, each with an interval."""
    if ax is None:
        ax = new_axes()
        figure = cast("Figure", ax.get_figure())
        figure.set_size_inches(6.4, 1.4 + 0.32 * len(labels))
        figure.set_layout_engine("constrained")  # room for long names
    places = range(len(labels))
    ax.barh(places, values, height=0.7, color="tab:blue", alpha=0.35)
    for place, value, (low, high) in zip(places, values, intervals, strict=True):
        ax.plot([low, high], [place, place], color="tab:blue", linewidth=1.5)
        ax.plot([value], [place], "o", color="tab:blue", markersize=4)
    ax.set_yticks(list(places), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_xlim(0, 1)
    ax.set_xlabel("MIC, with the 95% interval of its noise")
    return ax
