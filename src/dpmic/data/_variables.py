"""A column as a variable, without privacy: numbers, or categories found in the data.

The type of a column decides: text, booleans and unordered categories are nominal. Private code
must not use this; there the categories are given (``_columns.coded``).
"""

from __future__ import annotations

import enum
import warnings
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmic._validate import BOOLEANS, MAX_CATEGORIES, Categories, Domain, label, moment
from dpmic.data._arrow import booleans, is_float, words
from dpmic.data._columns import (
    LEAST_RECORDS,
    MISSING,
    as_series,
    coded,
    column,
    declares_dates,
    is_missing,
    plain_values,
)
from dpmic.data._text import DATE
from dpmic.errors import InputError, safe_repr

if TYPE_CHECKING:
    import pyarrow

AS_TYPE = (
    "give the column a date type (pandas.to_datetime) or, in a text file, write dates as 2024-05-31"
)
"""What to do about dates that are text."""

NAMES = (str, bytes, enum.Enum)
BOOLEAN_TYPES = (bool, np.bool_)


@dataclass(frozen=True, eq=False)
class Variable:
    """A column that was read: numbers, or positions among categories; NaN means missing."""

    values: NDArray[np.float64]
    categories: Categories | None = None
    fixed: bool = False  # whether categories are kept even if none of the records has them
    dates: bool = False  # whether numbers are days since 1970

    def at(self, rows: NDArray[Any]) -> Variable:
        """Return some records, with the categories that occur among them."""
        values = self.values[rows]
        if self.categories is None or self.fixed:
            return replace(self, values=values)
        used, codes = np.unique(values, return_inverse=True)
        labels = tuple(self.categories.labels[int(code)] for code in used)
        return Variable(codes.astype(np.float64), Categories(labels))


def variable(values: Any, name: str, domain: Domain | None = None) -> Variable:
    """Read a column; ``domain`` is its possible range, if known.

    Examples
    --------
    >>> ward = variable(["b", "a", None, "b"], "ward")
    >>> ward.values, ward.categories
    (array([ 1.,  0., nan,  1.]), Categories(labels=('a', 'b')))
    >>> variable([1, 2, 2], "age").categories is None
    True
    """
    if isinstance(domain, Categories):
        return Variable(coded(values, name, domain), domain, fixed=True)
    if domain is None and is_nominal(values):
        return _nominal(values, name)
    return Variable(column(values, name), dates=_are_dates(values))


def gaps(values: Any) -> NDArray[np.bool_]:
    """Return which values of a pyarrow column are missing."""
    from pyarrow import compute, types

    absent = compute.is_null(values, nan_is_null=types.is_floating(values.type))
    if types.is_string(values.type) or types.is_large_string(values.type):
        known = words(sorted(MISSING), values.type)
        absent = compute.or_(absent, compute.is_in(compute.utf8_trim_whitespace(values), known))
    return booleans(absent.combine_chunks())


def no_variable(values: Any, name: str) -> str:
    """Return why a column is probably an identifier or free text; an empty text if it is not.

    Examples
    --------
    >>> import pyarrow as pa
    >>> no_variable(pa.chunked_array([[7, 8, 9, 10]]), "visit")
    'consecutive numbers'
    >>> no_variable(pa.chunked_array([["Ann", "Bob", "Eve"]]), "patient")
    'every text is different'
    """
    from pyarrow import types

    if is_nominal(values):
        texts = [value for value in plain_values(values, name) if not is_missing(value)]
        labels = set(map(label, texts))
        distinct, different = len(labels), 2 < len(texts) == len(labels)
        if not different and distinct <= MAX_CATEGORIES:
            return ""
        if _look_like_dates(labels):
            return f"texts that look like dates: {AS_TYPE}"
        return "every text is different" if different else f"{distinct:,} different texts"
    if types.is_temporal(values.type):
        return ""
    numbers = column(values, name)
    consecutive = numbers.size > 2 and bool(np.all(np.diff(numbers) == 1))
    return "consecutive numbers" if consecutive else ""


def without_identifiers(table: pyarrow.Table, kept: Collection[int] = ()) -> tuple[Any, str]:
    """Leave out columns for which :func:`no_variable` has a reason, unless they are ``kept``.

    Returns
    -------
    tuple
        The table, and which columns were left out and why, if any.
    """
    reasons = {
        name: reason
        for at, name in enumerate(table.column_names)
        if at not in kept and (reason := no_variable(table[at], name))
    }
    left = table.drop_columns(list(reasons))
    listed = ", ".join(f"{safe_repr(name)} ({reason})" for name, reason in reasons.items())
    if reasons and left.num_columns < 2:
        raise InputError(
            f"{left.num_columns} of {table.num_columns} columns left",
            f"a pair needs two columns, and these were left out: {listed}",
            "keep one by dpmic matrix --include NAME, or add columns",
        )
    return left, listed


def is_nominal(values: Any) -> bool:
    """Return whether the type of a column is nominal."""
    if isinstance(values, list | tuple):
        return _are_names(values)
    if isinstance(values, np.ndarray):
        return values.dtype.kind in "USTb" or (values.dtype.kind == "O" and _are_names(values))
    if isinstance(values, str | range) or is_float(values):
        return False
    import narwhals as nw

    native = as_series(values)
    if not nw.dependencies.is_into_series(native):
        return False
    dtype = nw.from_native(native, series_only=True).dtype
    if isinstance(dtype, nw.Enum):  # includes ordered categories of pandas
        return hasattr(native, "to_physical")
    if isinstance(dtype, nw.Object):
        return _are_names(native)
    own = native.type if hasattr(native, "type") else native.dtype  # pyarrow calls it type
    return dtype in (nw.String, nw.Boolean, nw.Categorical) and not getattr(own, "ordered", False)


def _look_like_dates(labels: Collection[str]) -> bool:
    """Return whether all texts look like dates."""
    return bool(labels) and all(map(DATE.match, labels))


def _are_dates(values: Any) -> bool:
    """Return whether a column holds dates: its type says so, or else its first value."""
    if is_float(values):
        return False
    if not isinstance(values, list | tuple | range):
        declared = declares_dates(values)
        if declared is not None:
            return declared
        values = plain_values(values, "")
    first = next((own for own in values if not is_missing(own)), None)
    return not isinstance(first, str) and moment(first) is not None


def _are_names(values: Any) -> bool:
    """Return whether all values are text, or all are booleans, apart from missing ones."""
    kinds = {type(value) for value in values if isinstance(value, str) or not is_missing(value)}
    same = (all(issubclass(kind, own) for kind in kinds) for own in (NAMES, BOOLEAN_TYPES))
    return bool(kinds) and any(same)


def _nominal(values: Any, name: str) -> Variable:
    """Find the categories of a column, ordered by name."""
    known: dict[Any, str | None] = {}
    texts = []
    each = values if isinstance(values, list | tuple | np.ndarray) else plain_values(values, name)
    for value in each:
        if value not in known:
            known[value] = None if is_missing(value) else label(value)
        texts.append(known[value])
    if not texts:
        raise InputError(name, "it is empty", f"pass at least {LEAST_RECORDS} records")
    labels = sorted({text for text in known.values() if text is not None})
    boolean = set(labels) <= set(BOOLEANS)
    if boolean:
        labels = list(BOOLEANS)
    what, dates = f"column {safe_repr(name)}", _look_like_dates(labels)
    other = 'leave it out, or merge rare values into a category such as "other"'
    if len(labels) > MAX_CATEGORIES:
        raise InputError(
            what,
            f"it has {len(labels):,} different texts, but a variable has at most {MAX_CATEGORIES}",
            AS_TYPE if dates else other,
        )
    if dates:
        text = f"{what}: its texts look like dates, but count as categories; {AS_TYPE}"
        warnings.warn(text, UserWarning, stacklevel=2)
    codes: dict[str | None, float] = {text: float(i) for i, text in enumerate(labels)}
    codes[None] = np.nan
    numbers = np.array([codes[text] for text in texts])
    return Variable(numbers, Categories(tuple(labels)), fixed=boolean)
