"""Errors for people: the value, the reason and the remedy, in one line."""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Callable, Sequence

__all__ = [
    "BoundsReminder",
    "BudgetError",
    "DependencyError",
    "DpmicError",
    "InputError",
    "LedgerError",
    "Message",
    "NoiseWarning",
    "ParameterError",
    "RefusedValueError",
    "UnreadableError",
    "did_you_mean",
    "safe_repr",
    "spell",
    "with_code",
]

LONGEST, FEW = 80, 4
"""The characters of a text, and the members of a sequence, that an error shows."""

MOST_LISTED = 10
"""Names that an error lists."""


def safe_repr(value: object) -> str:
    """Write an argument in an error; what may be data in the wrong place is named by its type.

    Examples
    --------
    >>> safe_repr(1.5), safe_repr(((0, 1), "a")), safe_repr([0.25] * 1000)
    ('1.5', "((0, 1), 'a')", 'a list of 1000')
    """
    if isinstance(value, str) and len(value) <= LONGEST:
        return repr(value)
    if value is None or isinstance(value, numbers.Number | type):
        return repr(value)
    if isinstance(value, list | tuple) and len(value) <= FEW:
        inner = ", ".join(map(safe_repr, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    try:
        size = f" of {len(value)}"  # type: ignore[arg-type]
    except Exception:  # of the value's own code: an array without axes has no length
        size = ""
    kind = type(value).__name__
    return f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}{size}"


class Message(str):
    """Text that knows which of its pieces are Python code.

    It is what a Python user reads, and adding text keeps it one. The command line spells the
    pieces its own way, and cannot take the name of a column for one.

    Examples
    --------
    >>> with_code("pass `missing='drop'`, or correct ") + "age"
    "pass missing='drop', or correct age"
    """

    pieces: tuple[tuple[str, bool], ...]

    def __new__(cls, *pieces: tuple[str, bool]) -> Message:
        """Join pieces of text and of code; the second of each says which it is."""
        self = super().__new__(cls, "".join(text for text, _ in pieces))
        self.pieces = pieces
        return self

    def __reduce__(self) -> tuple[type[Message], tuple[tuple[str, bool], ...]]:
        return Message, self.pieces

    def __add__(self, other: str) -> Message:
        return Message(*self.pieces, *_pieces(other))

    def __radd__(self, other: str) -> Message:
        return Message(*_pieces(other), *self.pieces)


def with_code(text: str) -> Message:
    """Return a text of ours without its backticks, between which options and functions stand.

    Options are written ``name=value``, functions ``dpmic.name``. What a user has named is added
    with ``+``, since it may hold backticks.
    """
    return Message(*((piece, i % 2 == 1) for i, piece in enumerate(text.split("`"))))


def spell(text: str, speller: Callable[[str], str]) -> str:
    """Return a text with its code, if any, as ``speller`` writes it.

    Examples
    --------
    >>> spell(with_code("use `dpmic.plan` for ") + "dpmic.csv", str.upper)
    'use DPMIC.PLAN for dpmic.csv'
    """
    return "".join(speller(piece) if is_code else piece for piece, is_code in _pieces(text))


def _pieces(text: str) -> tuple[tuple[str, bool], ...]:
    return text.pieces if isinstance(text, Message) else ((text, False),)


def did_you_mean(wanted: str, known: Sequence[str], what: str = "columns") -> str:
    """Return a remedy for a name that is not known: those like it, or else what there is.

    Examples
    --------
    >>> did_you_mean("wieght", ["weight", "age"])
    "did you mean 'weight'"
    >>> did_you_mean("x", ["weight", "age"])
    "the columns are 'weight', 'age'"
    """
    close = difflib.get_close_matches(wanted, known)
    listed = ", ".join(map(safe_repr, close or known[:MOST_LISTED]))
    if close:
        return f"did you mean {listed}"
    return f"the {what} are {listed}" + ", ..." * (len(known) > MOST_LISTED)


class DpmicError(Exception):
    """Base of every error that dpmic raises on purpose.

    Parameters
    ----------
    value : str
        What is wrong, as the caller wrote it: ``"alpha = 1.5"``.
    reason : str
        Why it cannot be used, without a final full stop.
    remedy : str
        What to do instead, without a final full stop. See :func:`with_code`.

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
        return self.spelled(str)

    def spelled(self, speller: Callable[[str], str]) -> str:
        """Return the message with its code as ``speller`` writes it."""
        value, reason, remedy = (
            spell(text, speller) for text in (self.value, self.reason, self.remedy)
        )
        return f"{value}: {reason}; {remedy}."


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


class UnreadableError(InputError):
    """Rows could not be read from a file or an engine.

    The message may hold a file's name and the words of others, which private code does not repeat.
    """


class ParameterError(DpmicError, ValueError):
    """An option lies outside its range."""


class DependencyError(DpmicError, ImportError):
    """An optional package is not installed, or too old."""


class LedgerError(DpmicError):
    """The ledger refuses or cannot be used."""


class BudgetError(LedgerError):
    """The budget does not allow it."""


class BoundsReminder(UserWarning):
    """Bounds must not come from the data; said once, whatever they are."""


class NoiseWarning(UserWarning):
    """A private range will be rough; known before data is read."""
