"""What every figure starts from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmic.errors import DependencyError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["literal", "new_axes"]


def literal(name: str) -> str:
    """Keep matplotlib from reading a column's name as mathematics."""
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
