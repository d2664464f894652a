"""Reading private columns, and keeping what was read out of errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpmic._validate import Bounds, Interval, Limits
from dpmic.data import Pair, Source, read_all
from dpmic.errors import DpmicError, InputError, RefusedValueError, UnreadableError
from dpmic.statistics.counts.sources import Counting

__all__ = [
    "opened",
    "private",
    "private_columns",
    "private_counts",
    "private_histogram",
    "private_pair",
]

Result = TypeVar("Result")
Given = ParamSpec("Given")

MOST_IN_MEMORY = 2**31 - 1


def private(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Strip what could hold records from every error of a function.

    Every function that people hand records to for a release is decorated with this. It runs under
    numpy's usual arithmetic: a program may have turned underflow and the like into errors, which
    would then depend on the data, or come between a draw and its storage. Whatever fails
    inside, a traceback that prints local variables, a debugger or a crash reporter would show
    records, counts or the exact score: so an error leaves without the frames that it went
    through, its cause and its context. Its words are the business of :func:`opened`.
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


def private_columns(source: Source) -> tuple[NDArray[np.float64], ...]:
    """Read columns of finite numbers, or refuse naming the column alone.

    The domain of every mechanism is numbers that float64 holds exactly and finitely. A refusal is
    meant for the data steward; it holds no value, count or position. Records are never dropped,
    since that would make their number private, and categories must have a list that is fixed
    beforehand, since a record's cell may depend on that record alone.
    """

    def read() -> tuple[NDArray[np.float64], ...]:
        if source.n > MOST_IN_MEMORY:
            raise InputError(
                f"n = {source.n}",
                "records in memory are counted in 32-bit integers",
                "pass them in parts, as a dpmic.CountTable",
            )
        columns = read_all(source, categories=False)
        if columns[0].size != source.n:
            raise InputError(
                f"n = {source.n}", f"the columns hold {columns[0].size} values", "pass plain arrays"
            )
        return columns

    return _reading(read)


def private_counts(
    source: Counting, intervals: tuple[Interval, ...], limits: Limits, target: str | None = None
) -> Counting:
    """Count the records of a stream by the same rules; errors name no file either."""
    return _reading(lambda: source.counted(intervals, limits, target))


def private_histogram(source: Counting, bounds: Bounds, m: int) -> NDArray[np.int64]:
    """Count the records of a stream in m x m cells, by the same rules."""
    return _reading(lambda: source.histogram(bounds, m))


def opened(call: Callable[[], Result]) -> Result:
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


def _reading(read: Callable[[], Result]) -> Result:
    """Read, or refuse naming a column alone."""
    try:
        return opened(read)
    except RefusedValueError as refused:
        column = refused.column
    # Raised outside the handler, so that not even the exception's context holds a value.
    raise InputError(
        f"column {column}",
        "it has missing, infinite or non-numeric values, integers too large for float64, or "
        "another type in some part of the data",
        "leave it out, or correct these records where they come from, each by itself; one constant "
        "in place of what is missing makes columns look dependent, and dropping records changes n",
    )


def private_pair(source: Source) -> Pair:
    """Read two columns by :func:`private_columns`."""
    x, y = private_columns(source)
    return Pair(x, y, (source.names[0], source.names[1]))
