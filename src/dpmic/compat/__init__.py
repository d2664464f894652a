"""Interfaces of other libraries, computed by ours."""

from dpmic.compat import minepy

__all__ = ["minepy"]
