"""Guards of private data: reading it, errors that reveal nothing, and refusal of large noise.

Errors contain no records, a refused column is named and nothing else, and warnings and refusals
about noise depend only on public facts.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
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
from dpmic.privacy._gaps import Gaps, Size, fill_of

Result = TypeVar("Result")
Given = ParamSpec("Given")

MOST_IN_MEMORY = 2**31 - 1

MAX_HALF_WIDTH = 0.25
"""A value in [0, 1] with a wider 95% interval (half width) says next to nothing."""

UNRELATED = 0.1
"""The tail probability in ``noise_in_words``."""

UNUSABLE = "it has missing values, or some that are not finite float64 numbers"
UNLISTED = f"{UNUSABLE} or listed categories"
DROP = with_code("pass `missing='drop'` for missing values or `categories=...` for text")
"""Why a column is refused, also where categories can be listed, and what most calls offer."""

_reminded = False
_from_job: ContextVar[bool] = ContextVar("bounds come from a job file", default=False)
_warned: set[str] = set()


def private(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Strip everything that could hold records from the errors of a function.

    Decorates every function that takes records for a release. A traceback with local variables, a
    debugger or a crash reporter could show records, counts or the exact score, so an error leaves
    without its frames, cause and context. Its message is checked by :func:`open_privately`.

    The function runs under numpy's default error handling: otherwise a program that turns underflow
    into errors would make failure depend on the data, or interrupt between a draw and its storage.
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
            del failure  # this frame would keep a reference cycle

    return called


def refused_in_memory(name: str) -> InputError:
    """Return the error for a column in memory."""
    return _refused(name, UNLISTED, DROP)


def refused_in_parts(name: str) -> InputError:
    """Return the error for a column that is read in parts, such as the files of a folder."""
    reason = f"{UNLISTED}, or a file lacks it or has another type in it"
    return _refused(
        name, reason, "give every file the same types, " + DROP + " (with the columns in memory)"
    )


def refused_to_drop(name: str) -> InputError:
    """Return the error for a column of a call that takes numbers alone and drops no record."""
    remedy = with_code("pass `missing='scatter'` with `bounds=...`, or ") + fill_of(name)
    return _refused(name, UNUSABLE, remedy + " for missing values (text cannot be tested)")


def refused_as_it_is(name: str) -> InputError:
    """Return the error for a column of a call without a rule for missing values."""
    remedy = (
        "choose its range from domain knowledge; it may be far too wide at little cost. Do not "
        "drop the records first: n is published"
    )
    return InputError(f"column {name}", UNUSABLE, remedy)


def _refused(name: str, reason: str, remedy: str) -> InputError:
    # A correction that looks at other records, such as filling in an average, breaks the proofs.
    rest = ", correct records one by one at their source, or leave the column out"
    return InputError(f"column {name}", reason, remedy + rest)


def private_columns(
    source: Source,
    domains: Sequence[Domain | None] | None = None,
    gaps: Gaps | None = None,
    refused: Callable[[str], InputError] = refused_in_memory,
) -> tuple[NDArray[np.float64], ...]:
    """Read columns of finite numbers or categories, or refuse and name only the column.

    The domain of every mechanism is finite float64 numbers without loss, or categories of a public
    list, because the cell of a record may depend on that record alone. A refusal is for the data
    steward; it contains no value, count or position. NaN stays if records are to be dropped.
    """
    each = (None,) * len(source.names) if domains is None else domains
    rule = gaps or Gaps()

    def read() -> tuple[NDArray[np.float64], ...]:
        if source.n > MOST_IN_MEMORY:
            raise InputError(
                f"n = {source.n}",
                "records in memory are counted with 32-bit integers",
                "pass them in parts, as a dpmic.CountTable",
            )
        columns = []
        for values, name, domain in zip(source.columns, source.names, each, strict=True):
            if isinstance(domain, Categories):
                found = coded(values, name, domain)
            else:
                found = column(values, name, categories=False)
            if found.size != source.n:  # the number may be private
                raise InputError(
                    f"column {name}",
                    "it does not have one value per record",
                    "pass plain arrays",
                )
            columns.append(rule.filled(found, name, domain))
        return tuple(columns)

    return read_privately(read, refused)


def refuse_other_kinds(source: Any, domains: Sequence[Domain | None]) -> None:
    """Refuse dates as bounds of numbers and the reverse, by the declared types alone."""
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
                f"the column holds {kinds[0]}, but its bounds are {kinds[1]}",
                "write both ends as dates, such as 2024-12-31" if declared else "write numbers",
            )


def open_privately(call: Callable[[], Result]) -> Result:
    """Open or read data; errors of other libraries are replaced, and name no part of the data."""
    try:
        return call()
    except UnreadableError:
        pass
    except DpmicError:
        raise
    except Exception:  # of another library: its message may contain data
        pass
    # Raised outside the handler, so that not even the exception's context holds a value.
    raise InputError(
        "the data",
        "a part of it cannot be read",
        "find it without privacy, for example with dpmic.CountTable.of",
    )


def read_privately(
    read: Callable[[], Result], refused: Callable[[str], InputError] = refused_in_parts
) -> Result:
    """Read or count records, or refuse and name only the column."""
    try:
        return open_privately(read)
    except RefusedValueError as error:
        name = error.column
    # Raised outside the handler, so that not even the exception's context holds a value.
    raise refused(name)


def private_pair(
    source: Source,
    domains: Sequence[Domain | None] | None = None,
    gaps: Gaps | None = None,
    refused: Callable[[str], InputError] = refused_in_memory,
) -> Pair:
    """Read two columns by :func:`private_columns`."""
    x, y = private_columns(source, domains, gaps, refused)
    return Pair(x, y, (source.names[0], source.names[1]))


def remind_of_bounds() -> None:
    """Warn once per process that bounds must not come from the data, whatever they are."""
    global _reminded
    if not _reminded and not _from_job.get():
        warnings.warn(
            "choose bounds from domain knowledge, never from the data: the minimum or maximum of "
            "the data would not be protected",
            BoundsReminder,
            stacklevel=depth_of_caller(),
        )
        _reminded = True  # not if a filter has made an error of it


@contextmanager
def without_reminder() -> Iterator[None]:
    """Leave out the reminder about bounds: a job file already explains them."""
    token = _from_job.set(True)
    try:
        yield
    finally:
        _from_job.reset(token)


def warn_of_noise(reason: str, remedy: str) -> None:
    """Warn that the noise will hide most of what is published; each message once per process.

    If a filter turns the warning into an error, every call raises it.
    """
    message = f"{reason}; {remedy}"
    if message not in _warned:
        warnings.warn(message, NoiseWarning, stacklevel=depth_of_caller())
        _warned.add(message)


def noise_in_words(noise: ValueNoise) -> str:
    """Return in words what the noise means for a reader of a value in [0, 1].

    Examples
    --------
    >>> print(noise_in_words(ValueNoise("laplace", 0.14)))
    within 0.42 of the exact score in 95% of cases, 0.23 or more above it in 10% of cases
    """
    half = noise.half_width(0.95)
    if half >= 1:
        return "anywhere from 0 to 1, whatever the exact score"
    above = noise.half_width(1 - 2 * UNRELATED)  # it is symmetric
    within = f"within {half:.2g} of the exact score in 95% of cases"
    return f"{within}, {above:.2g} or more above it in {UNRELATED:.0%} of cases"


def hides(noise: ValueNoise) -> bool:
    """Return whether noise hides values in [0, 1]."""
    return noise.half_width(0.95) > MAX_HALF_WIDTH


def refuse_noisy_value(
    noise: ValueNoise, size: Size, counted: str, allowed: bool, remedy: str
) -> None:
    """Refuse values in [0, 1] that noise hides, unless allowed; n is ``counted`` in people, say."""
    if allowed or not hides(noise):
        return
    if size.filtered:
        promise = "promise more with `at_least=...`, if the group is certainly that large, "
        remedy = with_code(promise) + remedy
    raise ParameterError(
        f"the noise is too large for {size.n:,} {counted}",
        f"a value would be {noise_in_words(noise)}",
        remedy + with_code(", or `allow_noisy=True` to publish anyway"),
    )


def depth_of_caller() -> int:
    """Return the stack level of the first frame outside this package, for warnings."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("dpmic"):
        depth, frame = depth + 1, frame.f_back
    return depth
