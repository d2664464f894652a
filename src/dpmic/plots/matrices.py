"""The values of all pairs, as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dpmic import _validate
from dpmic.plots.axes import literal, new_axes
from dpmic.plots.screenings import bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dpmic.results import PairwiseRelease

__all__ = ["matrix"]

READABLE = 12
"""Up to so many columns, cells have room for their numbers."""


def matrix(published: PairwiseRelease, ax: Axes | None) -> Axes:
    """Draw a heat map of all pairs, or bars for the pairs of one column."""
    cost = f"epsilon = {_validate.upwards(published.epsilon)}"
    if published.delta:
        cost += f", delta = {_validate.upwards(published.delta)}"
    if published.target is not None:
        rows = zip(published.pairs, published.values, published.interval(0.95), strict=True)
        pairs, values, ends = zip(*sorted(rows, key=lambda row: -row[1]), strict=True)
        ax = bars([literal(y) for _, y in pairs], values, ends, ax)
        ax.set_title(f"{literal(published.target)} with others, {cost}")
        return ax
    if ax is None:
        ax = new_axes()
        figure, side = cast("Figure", ax.get_figure()), 2.4 + 0.42 * len(published.names)
        figure.set_size_inches(max(side, 4.8) + 1, max(side, 4.8))
        figure.set_layout_engine("constrained")
    ax.set_facecolor("0.85")  # of what was not released
    image = ax.imshow(published.matrix, vmin=0, vmax=1, cmap="Blues")
    names, places = [literal(name) for name in published.names], range(len(published.names))
    ax.set_xticks(list(places), names, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(list(places), names)
    if len(names) <= READABLE:
        _write_numbers(published, ax)
    cast("Figure", ax.get_figure()).colorbar(image, ax=ax, label="MIC, with noise", shrink=0.8)
    within = f"95% of the noise lies within {published.half_width:.2g}"
    ax.set_title(f"{len(published.values)} pairs, {cost}\n{within}")
    return ax


def _write_numbers(published: PairwiseRelease, ax: Axes) -> None:
    """Write each value into its cells."""
    place = {name: i for i, name in enumerate(published.names)}
    for (x, y), value in zip(published.pairs, published.values, strict=True):
        colour = "white" if value > 0.6 else "black"
        for row, column in ((place[x], place[y]), (place[y], place[x])):
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour, size=8)
