"""A noisy histogram as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dpmic._format import format_ceil
from dpmic.plots.axes import literal, new_axes
from dpmic.results.histogram_release import BIASED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dpmic.results import HistogramRelease

__all__ = ["heat_map"]


def heat_map(published: HistogramRelease, ax: Axes | None) -> Axes:
    """Draw the consistent counts in units of the data."""
    if ax is None:
        ax = new_axes()
    from matplotlib.ticker import MaxNLocator  # after new_axes, which says how to install it

    cells = ax.pcolormesh(
        published.x_edges, published.y_edges, published.histogram, cmap="Blues", vmin=0
    )
    cast("Figure", ax.get_figure()).colorbar(
        cells, ax=ax, label="records, with noise", ticks=MaxNLocator(integer=True)
    )
    ax.set_xlabel(literal(published.names[0]))
    ax.set_ylabel(literal(published.names[1]))
    cost = f"epsilon = {format_ceil(published.epsilon)}"
    ax.set_title(f"MIC of the noisy counts = {published.value:.3f}, {BIASED}\n{cost}")
    return ax
