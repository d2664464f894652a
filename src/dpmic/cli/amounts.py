"""Amounts of privacy in six digits: costs never understated, what is left never overstated."""

from __future__ import annotations

__all__ = ["cost", "left", "total"]


def cost(amount: float) -> str:
    """Write what is spent."""
    from dpmic import _validate

    return _validate.upwards(amount)


def total(amount: float) -> str:
    """Write what there was to begin with."""
    return f"{amount:.6g}"


def left(amount: float) -> str:
    """Write what is left."""
    from dpmic import _validate

    return _validate.downwards(amount)
