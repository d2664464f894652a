"""Results to figures. Sees results, and for a scatter the points it is handed; computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmic import _validate
from dpmic.errors import DependencyError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpmic.frames import Pair
    from dpmic.results import Release, Score

__all__ = ["release", "scatter"]


def scatter(score: Score, points: Pair, ax: Axes | None) -> Axes:
    """Draw points and the cuts of a score's best grid."""
    if ax is None:
        ax = _new_axes()
    ax.plot(points.x, points.y, ".", color="tab:blue", markersize=4, alpha=0.6)
    for cut in score.grid.x:
        ax.axvline(cut, color="0.35", linewidth=0.8)
    for cut in score.grid.y:
        ax.axhline(cut, color="0.35", linewidth=0.8)
    ax.set_xlabel(_literal(points.names[0]))
    ax.set_ylabel(_literal(points.names[1]))
    ax.set_title(f"MIC = {score.mic:.3f} ({score.statistic}, n = {score.n})")
    return ax


def release(published: Release, ax: Axes | None) -> Axes:
    """Draw a published value with its noise interval on [0, 1]."""
    if ax is None:
        ax = _new_axes()
    low, high = published.interval(0.95)
    ax.plot([low, high], [0, 0], color="tab:blue", linewidth=6, alpha=0.3, solid_capstyle="butt")
    ax.plot([published.value], [0], "o", color="tab:blue")
    ax.set_xlim(0, 1)
    ax.set_yticks([])
    ax.set_xlabel(f"{published.statistic.upper()}, with the 95% interval of its noise")
    names = " and ".join(map(_literal, published.names))
    ax.set_title(f"{names}, epsilon = {_validate.upwards(published.epsilon)}")
    return ax


def _literal(name: str) -> str:
    """Keep matplotlib from reading a column's name as mathematics."""
    return name.replace("$", r"\$")


def _new_axes() -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise DependencyError(
            "matplotlib", "figures need it and it is not installed", "pip install 'dpmic[plots]'"
        ) from None
    axes: Axes = pyplot.subplots()[1]
    return axes
