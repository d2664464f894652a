"""Errors to act on: each gives the value, the reason and a remedy in one line."""

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
"""Errors show texts of up to ``LONGEST`` characters, and sequences of up to ``FEW`` members."""

MOST_LISTED = 10
"""The most names an error lists."""


def safe_repr(value: object) -> str:
    """Return an argument as an error may show it: large values, perhaps data, by type only.

    Examples
    --------
    >>> safe_repr(1.5), safe_repr(((0, 1), "a")), safe_repr([0.25] * 1000)
    ('1.5', "((0, 1), 'a')", 'a list of length 1000')
    """
    if isinstance(value, str) and len(value) <= LONGEST:
        return repr(value)
    if value is None or isinstance(value, numbers.Number | type):
        return repr(value)
    if isinstance(value, list | tuple) and len(value) <= FEW:
        inner = ", ".join(map(safe_repr, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    if isinstance(value, str):
        return f"a text of {len(value)} characters"
    try:
        size = f" of length {len(value)}"  # type: ignore[arg-type]
    except Exception:  # whatever the value's __len__ raises; a 0-d array has no length
        size = ""
    kind = type(value).__name__
    return f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}{size}"


class Message(str):
    """A message that knows which of its pieces are Python code.

    A Python user reads it as it is. The command line translates the pieces of code to its own
    options, and never mistakes the name of a column for code. Adding text gives a Message again.

    Examples
    --------
    >>> with_code("pass `missing='drop'`, or correct ") + "age"
    "pass missing='drop', or correct age"
    """

    pieces: tuple[tuple[str, bool], ...]

    def __new__(cls, *pieces: tuple[str, bool]) -> Message:
        """Join pieces (text, whether it is code)."""
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
    """Return a message in which backticks marked the code, without the backticks.

    Write options as ``name=value`` and functions as ``dpmic.name``. Add names that users chose
    with ``+``, because they may contain backticks.
    """
    return Message(*((piece, i % 2 == 1) for i, piece in enumerate(text.split("`"))))


def spell(text: str, speller: Callable[[str], str]) -> str:
    """Return a text in which ``speller`` has rewritten the code.

    Examples
    --------
    >>> spell(with_code("use `dpmic.plan` for ") + "dpmic.csv", str.upper)
    'use DPMIC.PLAN for dpmic.csv'
    """
    return "".join(speller(piece) if is_code else piece for piece, is_code in _pieces(text))


def _pieces(text: str) -> tuple[tuple[str, bool], ...]:
    return text.pieces if isinstance(text, Message) else ((text, False),)


def did_you_mean(wanted: str, known: Sequence[str], what: str = "columns") -> str:
    """Return a remedy for an unknown name: similar names or, failing that, the known ones.

    Examples
    --------
    >>> did_you_mean("wieght", ["weight", "age"])
    "did you mean 'weight'?"
    >>> did_you_mean("x", ["weight", "age"])
    "the columns are 'weight', 'age'"
    """
    close = difflib.get_close_matches(wanted, known)
    listed = ", ".join(map(safe_repr, close or known[:MOST_LISTED]))
    if close:
        return f"did you mean {listed}?"
    return f"the {what} are {listed}" + ", ..." * (len(known) > MOST_LISTED)


class DpmicError(Exception):
    """Base class of all errors that dpmic raises on purpose.

    Parameters
    ----------
    value : str
        The offending value, as the caller wrote it: ``"alpha = 1.5"``.
    reason : str
        Why it cannot be used, without a final full stop.
    remedy : str
        What to do instead, without a final full stop; see :func:`with_code`.

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
        """Return the message, with its code rewritten by ``speller``."""
        value, reason, remedy = (
            spell(text, speller) for text in (self.value, self.reason, self.remedy)
        )
        return f"{value}: {reason}; {remedy}{'' if remedy.endswith('?') else '.'}"


class InputError(DpmicError, ValueError):
    """The data cannot be scored."""


class RefusedValueError(InputError):
    """A single value cannot be scored, although the type of its column can.

    The message may show the value. Private code catches this error and names only ``column``.
    """

    def __init__(self, value: str, reason: str, remedy: str, column: str) -> None:
        super().__init__(value, reason, remedy)
        self.column = column
        self.args = (value, reason, remedy, column)


class UnreadableError(InputError):
    """Rows could not be read from a file or an engine.

    The message may quote a file name or another library, so private code does not repeat it.
    """


class ParameterError(DpmicError, ValueError):
    """An option has a value that is not allowed."""


class DependencyError(DpmicError, ImportError):
    """An optional package is missing or too old."""


class LedgerError(DpmicError):
    """The ledger refuses a release, or cannot be used."""


class BudgetError(LedgerError):
    """The privacy budget is too small."""


class BoundsReminder(UserWarning):
    """A reminder, given once per session, that bounds must not come from the data."""


class NoiseWarning(UserWarning):
    """A private range will be rough; dpmic knows this before it reads any data."""
