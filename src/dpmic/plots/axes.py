"""What every figure starts from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmic.errors import DependencyError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["literal", "new_axes"]


LONGEST = 28
"""Characters of a column's name that a figure has room for."""


def literal(name: str) -> str:
    """Shorten a column's name, and keep matplotlib from reading it as mathematics."""
    if len(name) > LONGEST:
        name = f"{name[: LONGEST - 1]}\u2026"
    return name.replace("$", r"\$")


def new_axes() -> Axes:
    """Return the axes of a new figure, or say how to install matplotlib."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise DependencyError(
            "matplotlib", "figures need it and it is not installed", "pip install 'dpmic[plots]'"
        ) from None
    axes: Axes = pyplot.subplots()[1]
    return axes
