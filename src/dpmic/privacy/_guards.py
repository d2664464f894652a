"""Guards around private data: how it is read, what errors may say, and what noise is refused.

Errors leave without records, refusals of a column name it alone, and warnings and refusals about
noise follow from what is public.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpmic._validate import Categories, Days, Domain
from dpmic.data import Pair, Source, coded, column, declares_dates
from dpmic.errors import (
    BoundsReminder,
    DpmicError,
    InputError,
    NoiseWarning,
    ParameterError,
    RefusedValueError,
    UnreadableError,
    with_code,
)
from dpmic.parameters.value_noise import ValueNoise
from dpmic.privacy._gaps import Gaps

Result = TypeVar("Result")
Given = ParamSpec("Given")

MOST_IN_MEMORY = 2**31 - 1

MAX_HALF_WIDTH = 0.25
"""Above this half width of its 95% interval a value in [0, 1] says next to nothing."""

UNRELATED = 0.1
"""The probability that ``noise_in_words`` speaks of."""

DROP = with_code("for missing values pass `missing='drop'`; for text its `categories=...`")
FILL = with_code(
    "for missing values name a value: `fill=...` as an option, missing={...} in Python; text "
    "cannot be tested"
)
"""What to do about missing values: drop their records, or where that is not proved, fill them."""

_reminded = False
_warned: set[str] = set()


def private(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Strip what could hold records from every error of a function.

    Every function that people hand records to for a release is decorated with this. It runs under
    numpy's usual arithmetic: a program may have turned underflow and the like into errors, which
    would then depend on the data, or come between a draw and its storage. Whatever fails
    inside, a traceback that prints local variables, a debugger or a crash reporter would show
    records, counts or the exact score: so an error leaves without the frames that it went
    through, its cause and its context. Its words are the business of :func:`open_privately`.
    """

    @wraps(function)
    def called(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            with np.errstate(all="ignore"):
                return function(*args, **kwargs)
        except BaseException as error:
            failure = error
        del args, kwargs
        failure.__context__ = failure.__cause__ = None
        try:
            raise failure.with_traceback(None)
        finally:
            del failure  # else it would hold itself, by this frame

    return called


def private_columns(
    source: Source,
    domains: Sequence[Domain | None] | None = None,
    gaps: Gaps | None = None,
    remedy: str = DROP,
) -> tuple[NDArray[np.float64], ...]:
    """Read columns of finite numbers or categories, or refuse naming the column alone.

    The domain of every mechanism is numbers that float64 holds exactly and finitely, or categories
    of a public list, since a record's cell may depend on that record alone. A refusal is meant for
    the data steward; it holds no value, count or position. NaN is left where records are dropped.
    """
    each = (None,) * len(source.names) if domains is None else domains
    rule = gaps or Gaps()

    def read() -> tuple[NDArray[np.float64], ...]:
        if source.n > MOST_IN_MEMORY:
            raise InputError(
                f"n = {source.n}",
                "records in memory are counted in 32-bit integers",
                "pass them in parts, as a dpmic.CountTable",
            )
        columns = []
        for values, name, domain in zip(source.columns, source.names, each, strict=True):
            if isinstance(domain, Categories):
                found = coded(values, name, domain)
            else:
                found = column(values, name, categories=False)
            if found.size != source.n:  # how many there are may be private
                raise InputError(
                    f"column {name}",
                    "it does not hold a value for each record",
                    "pass plain arrays",
                )
            columns.append(rule.settled(found, name, domain))
        return tuple(columns)

    return read_privately(read, remedy)


def refuse_other_kinds(source: Any, domains: Sequence[Domain | None]) -> None:
    """Refuse dates as bounds of numbers, and numbers as those of dates, by declared types alone."""
    if not isinstance(source, Source):
        return
    for values, name, domain in zip(source.columns, source.names, domains, strict=True):
        if not isinstance(domain, tuple):
            continue
        dates, declared = isinstance(domain[0], Days), declares_dates(values)
        if declared is not None and declared != dates:
            kinds = ("numbers", "dates") if dates else ("dates", "numbers")
            raise ParameterError(
                f"bounds of {name}",
                f"the column holds {kinds[0]}, and its bounds are {kinds[1]}",
                "write both ends as dates, such as 2024-12-31" if declared else "write numbers",
            )


def open_privately(call: Callable[[], Result]) -> Result:
    """Open or read data; an error repeats no words of others, nor says which part it is about."""
    try:
        return call()
    except UnreadableError:
        pass
    except DpmicError:
        raise
    except Exception:  # of foreign code, whose words we do not know
        pass
    # Raised outside the handler, so that not even the exception's context holds a value.
    raise InputError(
        "the data",
        "a part of them cannot be read",
        "find out which without privacy, as by dpmic.CountTable.of",
    )


def read_privately(read: Callable[[], Result], remedy: str = DROP) -> Result:
    """Read or count records, or refuse naming a column alone; what to do about missing values."""
    try:
        return open_privately(read)
    except RefusedValueError as refused:
        column = refused.column
    # Raised outside the handler, so that not even the exception's context holds a value.
    raise InputError(
        f"column {column}",
        "it has missing, infinite or non-numeric values, integers too large for float64, or "
        "another type in some part of the data",
        "leave it out, or correct these records where they come from, each by itself; " + remedy,
    )


def private_pair(
    source: Source,
    domains: Sequence[Domain | None] | None = None,
    gaps: Gaps | None = None,
    remedy: str = DROP,
) -> Pair:
    """Read two columns by :func:`private_columns`."""
    x, y = private_columns(source, domains, gaps, remedy)
    return Pair(x, y, (source.names[0], source.names[1]))


def remind_of_bounds() -> None:
    """Say once in a process where bounds must come from, whatever they and the data are."""
    global _reminded
    if not _reminded:
        _reminded = True
        warnings.warn(
            "bounds must come from what the columns mean, never from the data itself: "
            "a minimum or maximum of the data would not be protected",
            BoundsReminder,
            stacklevel=depth_of_caller(),
        )


@contextmanager
def without_reminder() -> Iterator[None]:
    """Leave the reminder of bounds out where their source is written down, as in a job file."""
    global _reminded
    before, _reminded = _reminded, True
    try:
        yield
    finally:
        _reminded = before


def warn_of_noise(reason: str, remedy: str) -> None:
    """Say once in a process that so much noise leaves little of a result."""
    message = f"{reason}; {remedy}"
    if message not in _warned:
        _warned.add(message)
        warnings.warn(message, NoiseWarning, stacklevel=depth_of_caller())


def noise_in_words(noise: ValueNoise) -> str:
    """Say what noise of a value in [0, 1] means for somebody who reads the value.

    Examples
    --------
    >>> print(noise_in_words(ValueNoise("laplace", 0.14)))
    95% of values are within 0.42 of the score, and noise alone lifts one in ten values by 0.23
    or more
    """
    half = noise.half_width(0.95)
    seen = noise.half_width(1 - 2 * UNRELATED)  # it is symmetric
    return (
        f"95% of values are within {half:.2g} of the score, and noise alone lifts one in ten "
        f"values {f'by {seen:.2g} or more' if seen < 1 else 'to 1'}"
    )


def hides(noise: ValueNoise) -> bool:
    """Return whether noise hides values in [0, 1]."""
    return noise.half_width(0.95) > MAX_HALF_WIDTH


def refuse_noisy_value(noise: ValueNoise, allowed: bool, remedy: str) -> None:
    """Refuse values in [0, 1] that noise hides, unless that is allowed."""
    if not allowed and hides(noise):
        raise ParameterError(
            "the noise is too large",
            noise_in_words(noise),
            remedy + with_code(", or `allow_noisy=True` to publish anyway"),
        )


def depth_of_caller() -> int:
    """Return how many frames above the warning the first line outside this package is."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("dpmic"):
        depth, frame = depth + 1, frame.f_back
    return depth
