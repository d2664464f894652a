"""Columns of arrays and frames in memory, bounds and people by name, and frames of results."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol, Self, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate
from dpmic._format import plural
from dpmic._validate import Categories, Domain, Interval, label
from dpmic.data._columns import (
    LEAST_RECORDS,
    PLACEHOLDERS,
    column,
    is_missing,
    not_a_column,
    plain_values,
)
from dpmic.data._variables import Variable, variable
from dpmic.errors import (
    DependencyError,
    InputError,
    ParameterError,
    RefusedValueError,
    did_you_mean,
    safe_repr,
    with_code,
)

Missing = Literal["raise", "drop"]
Domains = tuple[Domain | None, Domain | None]

FORMAT = b"dpmic.format"
"""The key of an Arrow table's metadata that holds how it was read."""

_LABELS = (int, np.integer, tuple)  # pandas's labels of columns, besides text


@dataclass(frozen=True, eq=False)
class Pair:
    """Two columns of the same records, complete and finite, with their names.

    A nominal column holds positions in its ``categories``, one of ``dates`` days since 1970.
    """

    x: NDArray[np.float64] = field(repr=False)
    y: NDArray[np.float64] = field(repr=False)
    names: tuple[str, str]
    categories: tuple[Categories | None, Categories | None] = (None, None)
    dates: tuple[bool, bool] = (False, False)

    @property
    def variables(self) -> tuple[Variable, Variable]:
        """Both columns as variables."""
        x, y = map(Variable, (self.x, self.y), self.categories, (False, False), self.dates)
        return x, y

    def spread(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return where a figure draws the points: those of a category spread evenly around it."""
        x, y = (
            own.values
            if own.categories is None
            else own.values + 0.7 * (np.arange(own.values.size) * step % 1 - 0.5)
            for own, step in zip(self.variables, (0.618034, 0.754878), strict=True)
        )
        return x, y


@dataclass(frozen=True, eq=False)
class Source:
    """Columns in memory that were found but not yet read, with their names.

    ``named`` says whether the names are the columns' own; ``format`` is how they were read from a
    file, as for streams.
    """

    columns: tuple[Any, ...] = field(repr=False)
    names: tuple[str, ...]
    named: bool
    format: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def n(self) -> int:
        """The number of records, counted once, without looking at any value."""
        return _length(self.columns[0], self.names[0])

    def select(self, places: Sequence[int]) -> Source:
        """Return some of the columns."""
        columns = tuple(self.columns[i] for i in places)
        return replace(self, columns=columns, names=tuple(self.names[i] for i in places))

    def take(self, rows: NDArray[np.int64]) -> Source:
        """Return the records at some positions, still unread; columns must have one length."""
        for values, name in zip(self.columns, self.names, strict=True):
            if _length(values, name) != self.n:
                raise InputError(
                    f"column {name}",
                    "it does not hold a value for each record",
                    "pass plain arrays",
                )
        return replace(self, columns=tuple(_take(values, rows) for values in self.columns))


def find(*columns: Any, data: Any = None, roles: Sequence[str] = ("x", "y")) -> Source:
    """Find columns by their labels only; ``roles`` are the names of the arguments."""
    if data is not None:
        frame, labels = _open(data)
        picked = [_pick(labels, wanted, role) for wanted, role in zip(columns, roles, strict=True)]
        texts = list(map(str, labels))
        for label in picked:
            check_unique(str(label), texts.count(str(label)))  # 1 and "1" have the same name
        named = tuple(frame[label] for label in picked), tuple(map(str, picked))
        return Source(*named, True, _format_of(frame))
    names = [series_name(values) for values in columns]
    called = (name or role for name, role in zip(names, roles, strict=True))
    return Source(columns, tuple(called), all(names))


def find_all(data: Any, single: str | None = None) -> Source:
    """Find all columns of a frame, or of a matrix with one row per record.

    The columns of a matrix are named by position: "0", "1" and so on. If ``single`` is given, a
    series is accepted as one column, with that name if it has none of its own.
    """
    if single is not None and _is_series(data):
        return Source((data,), (series_name(data) or single,), bool(series_name(data)))
    if isinstance(data, np.ndarray):
        if data.ndim != 2 or not data.shape[1]:
            raise InputError(
                f"an array of shape {data.shape}",
                "a table has one row per record and one column per variable",
                "pass an array with two dimensions",
            )
        return Source(tuple(data.T), tuple(map(str, range(data.shape[1]))), False)
    frame, labels = _open(data, "the table", "pass a DataFrame or a two-dimensional numpy array")
    if not labels:
        raise InputError("the table", "it has no columns", "pass a table with columns")
    for name, count in Counter(map(str, labels)).items():
        check_unique(name, count)
    named = tuple(frame[label] for label in labels), tuple(map(str, labels))
    return Source(*named, True, _format_of(frame))


def refuse_single(names: tuple[str, ...]) -> None:
    """Refuse a table without pairs."""
    count = len(names)
    if count < 2:
        raise InputError(
            f"{count} column" + "s" * (not count),
            "a pair needs two columns",
            "pass a table, and bounds if any are given, of at least two columns",
        )


def read_all(
    source: Source, *, missing: Missing = "raise", categories: bool = True
) -> tuple[NDArray[np.float64], ...]:
    """Read columns of numbers, all of one length; with "drop", missing values stay NaN."""
    read = tuple(
        column(values, name, categories=categories)
        for values, name in zip(source.columns, source.names, strict=True)
    )
    _check_columns(read, source.names, missing)
    return read


def read_variables(
    source: Source, domains: Sequence[Domain | None] | None = None, *, missing: Missing = "raise"
) -> tuple[Variable, ...]:
    """Read columns of any kind, all of one length, without privacy; "drop" leaves NaN.

    A domain, if given, decides whether a column is numeric or nominal.
    """
    each = zip(source.columns, source.names, domains or [None] * len(source.names), strict=True)
    read = tuple(variable(*own) for own in each)
    _check_columns([own.values for own in read], source.names, missing)
    return read


def _check_columns(
    read: Sequence[NDArray[np.float64]], names: tuple[str, ...], missing: Missing
) -> None:
    """Refuse columns of different lengths and, unless they are dropped, missing values."""
    for values, name in zip(read, names, strict=True):
        if values.size != read[0].size:
            raise InputError(
                f"{names[0]}, {name}",
                f"they differ in length: {read[0].size} and {values.size}",
                "pass one value of each per record",
            )
        if missing == "raise" and np.count_nonzero(np.isnan(values)):  # faster than any()
            gaps = np.flatnonzero(np.isnan(values))
            raise RefusedValueError(
                name,
                f"{gaps.size:,} of {values.size:,} values {'is' if gaps.size == 1 else 'are'} "
                f"missing, the first in row {gaps[0] + 1}",
                with_code('pass `missing="drop"`, or correct them'),
                name,
            )


def read(source: Source, *, missing: Missing = "raise", domains: Domains | None = None) -> Pair:
    """Read two columns that were found; see :func:`pair` and :func:`column`."""
    x, y = read_variables(source, domains, missing=missing)
    n = x.values.size
    if missing == "drop":
        complete = ~(np.isnan(x.values) | np.isnan(y.values))
        if not complete.all():
            x, y = x.at(complete), y.at(complete)
    if x.values.size < LEAST_RECORDS:
        left = f"{x.values.size} of {n:,} records are complete"
        raise InputError(
            plural(n, "record") if x.values.size == n else left,
            f"a score needs at least {LEAST_RECORDS} records",
            "pass more data",
        )
    names = source.names[0], source.names[1]
    return Pair(x.values, y.values, names, (x.categories, y.categories), (x.dates, y.dates))


def pair(
    x: Any,
    y: Any,
    *,
    data: Any = None,
    missing: Missing = "raise",
    domains: Domains | None = None,
) -> Pair:
    """Read two columns of the same records into new arrays.

    They are arrays or series, matched by position, or labels of columns in `data`, an eager frame
    of any library that narwhals knows. A `missing` value is an error, or drops its record.
    `domains` are the possible ranges of the columns, if known.

    Examples
    --------
    >>> columns = pair([1, 2, None, 4, 5], [True, False, True, True, False], missing="drop")
    >>> columns.x, columns.y
    (array([1., 2., 4., 5.]), array([1., 0., 1., 0.]))
    """
    _validate.choice(missing, "missing", Missing)
    return read(find(x, y, data=data), missing=missing, domains=domains)


def first_rows(person: Any, data: Any, n: int, most: int = 1) -> NDArray[np.int64]:
    """Return the positions, among n, of each person's first ``most`` rows, in order.

    Only the identifiers are looked at, as text, so that 7 and "7" are one person. None may be
    missing or a placeholder such as ``-``, which would make one person of several.
    """
    name = "person"
    if data is not None:
        frame, labels = _open(data)
        column = _pick(labels, person, name)
        name, person = str(column), frame[column]
    if _length(person, name) != n:
        raise InputError(
            f"column {name}", "it needs one value per row", "pass one value for each record"
        )
    used: Counter[str] = Counter()
    kept = []
    for row, value in enumerate(plain_values(person, name)):
        who = label(value)
        if is_missing(value) or who in PLACEHOLDERS:
            raise InputError(
                f"column {name}",
                "a row does not say whose it is",
                with_code(
                    "give every row a person; no person may be called - or the like or, in a "
                    "file, like the missing values (`na=...`)"
                ),
            )
        if used[who] < most:
            kept.append(row)
        used[who] += 1
    return np.array(kept, np.int64)


def _length(values: Any, name: str) -> int:
    """Return the number of values, without looking at any."""
    if isinstance(values, str):
        raise not_a_column(values, name)
    try:
        return len(values)
    except TypeError:
        raise not_a_column(values, name) from None


def _take(values: Any, rows: NDArray[np.int64]) -> Any:
    """Return the values at some positions, with the engine's own method if it has one."""
    import narwhals as nw

    if isinstance(values, (list, tuple, range)):
        return [values[row] for row in rows]
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return series[rows.tolist()].to_native()
    if isinstance(values, np.ndarray):
        return values[rows]  # take would flatten a matrix, which is refused later
    return values.take(rows) if hasattr(values, "take") else np.asarray(values)[rows]


def _is_series(data: Any) -> bool:
    """Return whether this is a column of any engine; arrays count as tables."""
    import narwhals as nw

    native = nw.to_native(data, pass_through=True)
    if isinstance(native, np.ndarray):
        return False
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None and isinstance(native, pyarrow.Array):
        return True
    return nw.dependencies.is_into_series(native)


def check_unique(name: str, count: int) -> None:
    """Refuse a name that several columns have."""
    if count > 1:
        raise InputError(
            f"column {safe_repr(name)}",
            f"{count} columns have this name",
            "rename them or drop all but one",
        )


def series_name(values: Any) -> str:
    """Return the name of a series, or an empty text if it has none."""
    name = getattr(values, "name", None)
    return str(name) if isinstance(name, (str, int, tuple)) else ""


def _open(
    data: Any,
    role: str = "data",
    remedy: str = "pass pandas.DataFrame(data), or arrays x and y",
) -> tuple[Any, list[Hashable]]:
    """Return an eager frame, still native (narwhals refuses repeated labels), and its labels."""
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow and isinstance(data, pyarrow.Table):
        return data, data.column_names
    import narwhals as nw

    frame = nw.to_native(data, pass_through=True)
    if pyarrow and isinstance(frame, pyarrow.RecordBatch):
        frame = pyarrow.Table.from_batches([frame])
    if nw.dependencies.is_into_dataframe(frame):
        return frame, list(frame.column_names if hasattr(frame, "column_names") else frame.columns)
    what = f"{role} has type {type(frame).__name__}"
    if isinstance(frame, os.PathLike) or (isinstance(frame, str) and os.path.exists(frame)):
        raise InputError(what, "this needs records in memory, not a path", "read the file first")
    if isinstance(nw.from_native(frame, pass_through=True), nw.LazyFrame):
        remedy = "collect them first: .collect(), .compute(), .toPandas() or .arrow()"
        raise InputError(what, "its rows are not computed yet", remedy)
    raise InputError(what, "this is not a frame", remedy)


def with_format(table: Any, facts: Mapping[str, Any]) -> Any:
    """Return an Arrow table that remembers how it was read from a file, if that was stated."""
    known = dict(table.schema.metadata or {})
    known.pop(FORMAT, None)  # of a Parquet file that was written from such a table
    if facts:
        known[FORMAT] = json.dumps(facts)
    return table.replace_schema_metadata(known)


def _format_of(frame: Any) -> dict[str, Any]:
    """Return what :func:`with_format` stored in a table."""
    pyarrow = sys.modules.get("pyarrow")
    known = isinstance(frame, pyarrow.Table) and frame.schema.metadata if pyarrow else None
    return dict(json.loads(known[FORMAT])) if known and FORMAT in known else {}


def _pick(labels: list[Hashable], wanted: Any, role: str) -> Any:
    """Return the only label that equals `wanted`."""
    found = [
        label
        for label in labels
        if isinstance(wanted, str if isinstance(label, str) else _LABELS) and label == wanted
    ]
    check_unique(str(wanted), len(found))
    if found:
        return found[0]
    if not isinstance(wanted, str):
        raise InputError(
            f"{role} has type {type(wanted).__name__}",
            "with data=, x and y must be column names",
            "pass two names, or leave out data=",
        )
    remedy = did_you_mean(wanted, list(map(str, labels)))
    raise InputError(f"{role} = {safe_repr(wanted)}", "there is no such column", remedy)


class Columns(Protocol):
    """Columns with names, in memory or not."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""

    def select(self, places: Sequence[int]) -> Self:
        """Return some of the columns."""


Chosen = TypeVar("Chosen", bound=Columns)


class Unlisted(tuple[str, ...]):
    """Names that errors do not list: a text file's first line may be a record."""


def bounded(source: Chosen, bounds: Any) -> tuple[Chosen, tuple[Interval, ...]]:
    """Return the columns that have bounds, with their bounds; no value is looked at.

    Bounds by name select the columns they name, in the order of the table. A sequence needs one
    interval per column.
    """
    chosen, given = _with_bounds(source, bounds)
    return chosen, tuple(map(_validate.interval, given, chosen.names))


def with_domains(source: Chosen, bounds: Any) -> tuple[Chosen, tuple[Domain, ...]]:
    """Return the same, where a column may have a list of categories instead of bounds."""
    chosen, given = _with_bounds(source, bounds)
    return chosen, tuple(map(_validate.domain, given, chosen.names))


def _with_bounds(source: Chosen, bounds: Any) -> tuple[Chosen, list[Any]]:
    """Return the columns that have bounds, and the bounds of each as given."""
    names = source.names
    if isinstance(bounds, Mapping):
        given = {position(name, names, "bounds of"): ends for name, ends in bounds.items()}
        if len(given) < len(bounds):
            reason = "two of the names mean the same column"
            raise ParameterError("bounds", reason, "name each column once")
    else:
        given = dict(enumerate(_in_order(bounds, len(names))))
    places = sorted(given)
    return source.select(places), [given[i] for i in places]


def position(wanted: Any, names: tuple[str, ...], role: str, what: str = "column") -> int:
    """Return the position of a column; a column whose name is not text is named by position.

    Errors call the name by its ``role``, and the kind of thing it names ``what``.
    """
    called = str(wanted) if isinstance(wanted, str | int | np.integer | tuple) else None
    if called in names:
        check_unique(called, names.count(called))
        return names.index(called)
    remedy = did_you_mean(called or "", names)
    if isinstance(names, Unlisted):
        width = f"{len(names)} column{'s' * (len(names) > 1)}"
        remedy = (
            "check its spelling, or look at the first line: it must be a header, and was read as "
            f"{width}"
        )
    raise InputError(f"{role} {safe_repr(wanted)}", f"there is no such {what}", remedy)


def _in_order(bounds: Any, width: int) -> Sequence[Any]:
    """Return one interval per column."""
    members = bounds.tolist() if isinstance(bounds, np.ndarray) else bounds
    if not isinstance(members, Sequence) or isinstance(members, str):
        raise ParameterError(
            f"bounds = {safe_repr(bounds)}",
            "every column that takes part needs bounds, from domain knowledge",
            "pass {'age': (0, 120), ...}, or one interval per column",
        )
    if len(members) == 2 and all(isinstance(end, int | float) for end in members):
        raise ParameterError(
            f"bounds = {safe_repr(bounds)}",
            "this is one interval, but every column needs one",
            f"pass [{safe_repr(tuple(members))}] * {width}, or {{'age': (0, 120), ...}}",
        )
    if len(members) != width:
        raise ParameterError(
            f"bounds of {len(members)} columns",
            f"the table has {width}",
            "pass one interval per column, or {'age': (0, 120), ...} for some of them",
        )
    return members


Backend = Literal["pandas", "polars", "pyarrow"]


def build(columns: Mapping[str, Sequence[Any]], backend: Backend | None = None) -> Any:
    """Return a frame of plain values, by default of the first installed backend.

    pyarrow is always installed.
    """
    import narwhals as nw

    if backend is not None:
        _validate.choice(backend, "backend", Backend)
        if importlib.util.find_spec(backend) is None:
            raise DependencyError(
                f"backend = {backend!r}", "it is not installed", f"pip install {backend}"
            )
    chosen = backend or next(name for name in get_args(Backend) if importlib.util.find_spec(name))
    plain = {name: list(values) for name, values in columns.items()}
    return nw.from_dict(plain, backend=chosen).to_native()
