"""Errors for people: the value, the reason and the remedy, in one line."""

from __future__ import annotations

__all__ = [
    "BoundsReminder",
    "BudgetError",
    "DependencyError",
    "DpmicError",
    "InputError",
    "LedgerError",
    "NoiseWarning",
    "ParameterError",
    "RefusedValueError",
]


class DpmicError(Exception):
    """Base of every error that dpmic raises on purpose.

    Parameters
    ----------
    value : str
        What was wrong, as the caller wrote it: ``"alpha = 1.5"``.
    reason : str
        Why it cannot be used, without a final full stop.
    remedy : str
        What to do instead, without a final full stop.

    Examples
    --------
    >>> print(DpmicError("alpha = 1.5", "alpha must lie in (0, 1]", "pass B=... for a fixed limit"))
    alpha = 1.5: alpha must lie in (0, 1]; pass B=... for a fixed limit.
    """

    def __init__(self, value: str, reason: str, remedy: str) -> None:
        super().__init__(value, reason, remedy)
        self.value = value
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.value}: {self.reason}; {self.remedy}."


class InputError(DpmicError, ValueError):
    """The data cannot be scored."""


class RefusedValueError(InputError):
    """A single value cannot be scored, though its column's type could be.

    The message may hold the value; private code catches this and names ``column`` alone.
    """

    def __init__(self, value: str, reason: str, remedy: str, column: str) -> None:
        super().__init__(value, reason, remedy)
        self.column = column
        self.args = (value, reason, remedy, column)


class ParameterError(DpmicError, ValueError):
    """An option lies outside its range."""


class DependencyError(DpmicError, ImportError):
    """An optional package is not installed."""


class LedgerError(DpmicError):
    """The ledger refuses or cannot be used."""


class BudgetError(LedgerError):
    """The budget does not allow it."""


class BoundsReminder(UserWarning):
    """Bounds must not come from the data; said once, whatever they are."""


class NoiseWarning(UserWarning):
    """The noise will be too large for values to mean anything; known before data is read."""
