"""A published value on its scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dpmic._format import format_ceil
from dpmic.plots.axes import literal, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dpmic.results import Release

__all__ = ["release"]


def release(published: Release, ax: Axes | None) -> Axes:
    """Draw a published value with its noise interval on [0, 1]."""
    if ax is None:
        ax = new_axes()
        figure = cast("Figure", ax.get_figure())
        figure.set_size_inches(6.4, 1.7)
        figure.set_layout_engine("constrained")
    low, high = published.interval(0.95)
    ax.plot([low, high], [0, 0], color="tab:blue", linewidth=6, alpha=0.3, solid_capstyle="butt")
    ax.plot([published.value], [0], "o", color="tab:blue")
    ax.set_xlim(0, 1)
    ax.set_yticks([])
    ax.set_xlabel(f"{published.statistic.upper()}, with the 95% interval of its noise")
    names = " and ".join(map(literal, published.names))
    ax.set_title(f"{names}, epsilon = {format_ceil(published.epsilon)}")
    return ax
