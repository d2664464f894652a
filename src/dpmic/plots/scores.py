"""A score over its points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmic.plots.axes import literal, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpmic.data import Pair
    from dpmic.results import Score

__all__ = ["scatter"]


def scatter(score: Score, points: Pair, ax: Axes | None) -> Axes:
    """Draw points and the cuts of a score's best grid."""
    if ax is None:
        ax = new_axes()
    ax.plot(points.x, points.y, ".", color="tab:blue", markersize=4, alpha=0.6)
    for cut in score.grid.x:
        ax.axvline(cut, color="0.35", linewidth=0.8)
    for cut in score.grid.y:
        ax.axhline(cut, color="0.35", linewidth=0.8)
    ax.set_xlabel(literal(points.names[0]))
    ax.set_ylabel(literal(points.names[1]))
    ax.set_title(f"MIC = {score.mic:.3f} ({score.statistic}, n = {score.n})")
    return ax
