"""One style for all figures: colours, letters, axes and titles.

The colours are those of Okabe and Ito (2008), which colour-blind readers tell apart. What matters
also differs in shape or in lightness, for print without colour.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from dpmic._format import calendar, format_ceil
from dpmic.errors import DependencyError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

    from dpmic import results

BLUE, VERMILION, GREEN, PURPLE, ORANGE = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE)
INK, MUTED, LINE, PALE = "#222222", "#666666", "#999999", "#DDDDDD"
SHADES = ("#F2F7FC", "#C6DCEF", "#7FB5DA", "#2F86BF", "#0B5A96", "#062F57")
"""From light to dark, so that greyscale print keeps their order."""

TITLE, TEXT, SMALL = 11, 9.5, 8.5
"""Sizes of letters, in points."""

STYLE: dict[str, Any] = {
    "font.size": TEXT,
    "axes.titlesize": TITLE,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": TEXT,
    "axes.labelcolor": INK,
    "axes.edgecolor": LINE,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.frameon": False,
}

STATISTICS = {"mice": "MICe", "micr": "MICr", "mic": "MIC"}

LONGEST = 28
"""Characters of a column's name that a figure has room for."""


@contextmanager
def style() -> Iterator[None]:
    """Draw in the style of dpmic's figures, and leave matplotlib's settings as they were.

    Examples
    --------
    >>> from matplotlib import pyplot
    >>> with style():
    ...     figure, (left, right) = pyplot.subplots(1, 2)
    """
    _pyplot()
    from matplotlib import rc_context

    with rc_context(STYLE):
        yield


def head(ax: Axes, title: str, below: str) -> None:
    """Write a title, and below it what else is known."""
    lines = below.count("\n") + 1
    ax.set_title(title, loc="left", pad=7 + 1.35 * TEXT * lines)
    ax.annotate(
        below, (0, 1), (0, 6), xycoords="axes fraction", textcoords="offset points", color=MUTED
    )


def cost(published: results.Release | results.Screening | results.PairwiseRelease) -> str:
    """Return what is public of a release: n, and what it cost."""
    paid = f"n = {published.n:,}, epsilon = {format_ceil(published.epsilon)}"
    delta = getattr(published, "delta", 0.0)
    return f"{paid}, delta = {format_ceil(delta)}" if delta else paid


def shades(first: int = 0, end: int = len(SHADES)) -> Colormap:
    """Return a scale of colours from light to dark, or a part of it."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("dpmic", SHADES[first:end])


def colour_bar(ax: Axes, drawn: Any, label: str, **options: Any) -> Any:
    """Draw the scale of colours to the right."""
    bar = cast("Figure", ax.get_figure()).colorbar(drawn, ax=ax, label=label, shrink=0.8, **options)
    bar.outline.set_visible(False)
    return bar


def literal(name: str) -> str:
    """Shorten a column's name, and keep matplotlib from reading it as mathematics."""
    if len(name) > LONGEST:
        name = f"{name[: LONGEST - 1]}\u2026"
    return name.replace("$", r"\$")


def mark_dates(axis: Axis, low: float, high: float) -> None:
    """Write dates along an axis of days since 1970."""
    places, labels = zip(*calendar(low, high), strict=True)
    axis.set_ticks(places, labels)


def new_axes(width: float = 6.4, height: float = 4.8) -> Axes:
    """Return the axes of a new figure, which has room for long names."""
    axes: Axes = _pyplot().subplots(figsize=(width, height), layout="constrained")[1]
    return axes


def _pyplot() -> Any:
    """Return matplotlib's pyplot, or say how to install it."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise DependencyError(
            "matplotlib", "figures need it and it is not installed", "pip install 'dpmic[plots]'"
        ) from None
    return pyplot
