"""The interfaces of other libraries, with dpmic's computations."""

from dpmic.compat import minepy

__all__ = ["minepy"]
