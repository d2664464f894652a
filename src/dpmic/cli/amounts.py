"""Amounts in few digits: costs and p-values never understated, the rest never overstated."""

from __future__ import annotations

__all__ = ["chance", "cost", "left", "share", "total"]


def chance(pvalue: float) -> str:
    """Write a p-value."""
    from dpmic import _validate

    return _validate.upwards(pvalue, 4)


def cost(amount: float) -> str:
    """Write what is spent."""
    from dpmic import _validate

    return _validate.upwards(amount)


def share(miss: float) -> str:
    """Write the probability that a bound with some probability of failure holds."""
    from dpmic import _validate

    return _validate.all_but(miss)


def total(amount: float) -> str:
    """Write what there was to begin with."""
    return f"{amount:.6g}"


def left(amount: float) -> str:
    """Write what is left."""
    from dpmic import _validate

    return _validate.downwards(amount)
