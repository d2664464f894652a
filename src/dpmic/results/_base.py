"""What every result shares: fields declared once give JSON, equality, pickling and displays."""

from __future__ import annotations

import dataclasses
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from html import escape
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dpmic._format import format_value
from dpmic._validate import moment
from dpmic.errors import InputError


class Fact(NamedTuple):
    """One line of a display: what it is called, its text and perhaps what that means."""

    label: str
    text: str
    meaning: str = ""


class Result(ABC):
    """Something that was computed or published: frozen, and without the data it was made of.

    A subclass is a frozen dataclass (``eq=False``, so that arrays compare). It declares its
    fields, with a :class:`Form` where one is more than numbers, texts, tuples and mappings of
    these. It says in ``facts`` what people see of it.
    """

    def __post_init__(self) -> None:
        for name, form in _forms(type(self)).items():
            object.__setattr__(self, name, form.keep(getattr(self, name)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists that ``json.dumps`` takes and ``from_dict`` reads."""
        return {n: form.write(getattr(self, n)) for n, form in _forms(type(self)).items()}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Rebuild a result from ``to_dict`` or from parsed JSON."""
        forms = _forms(cls)
        problem = ""
        try:
            content = dict(fields)
            read = {name: forms.get(name, PLAIN).read(value) for name, value in content.items()}
            result = cls(**read)
            sound = result._sound()
        except (IndexError, KeyError, TypeError, ValueError) as error:
            sound, problem = False, f" ({error})"
        if not sound:
            raise InputError(
                f"this {cls.__name__}", f"it is not complete{problem}", "pass what to_dict returned"
            )
        return result

    def to_json(self) -> str:
        """Return the result as one line of JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Rebuild a result from ``to_json``."""
        try:
            fields = json.loads(text)
        except (TypeError, ValueError) as error:
            raise InputError("this text", f"it is not JSON ({error})", "pass to_json's") from None
        return cls.from_dict(fields)

    def _sound(self) -> bool:
        """Return whether the fields can be what they claim; may raise TypeError or ValueError."""
        return True

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_same(getattr(self, name), getattr(other, name)) for name in self._compared())

    def __hash__(self) -> int:
        values = (getattr(self, name) for name in self._compared())
        plain = (v.shape if isinstance(v, np.ndarray) else v for v in values)
        return hash((type(self), *(v for v in plain if not isinstance(v, Mapping))))

    @classmethod
    def _compared(cls) -> list[str]:
        return [field.name for field in dataclasses.fields(cls) if field.compare]  # type: ignore[arg-type]

    def __reduce__(self) -> tuple[Any, ...]:
        # Through __init__, since an unpickled array is writeable again.
        return type(self).from_dict, (self.to_dict(),)

    @abstractmethod
    def facts(self) -> list[Fact]:
        """Return what people see first: the numbers, and what each means."""

    def provenance(self) -> dict[str, str]:
        """Return how it was made: all that is needed to repeat it, in words."""
        return {}

    def record(self) -> dict[str, Any]:
        """Return the numbers as one flat row, such as a line of CSV."""
        return self.to_dict()

    def headline(self) -> str:
        """Return what was found in a sentence or two that anybody understands, if there is one."""
        return ""

    @abstractmethod
    def _summary(self) -> str:
        """Return the result in one line."""

    def _listing(self) -> Sequence[str]:
        """Return the lines below the summary."""
        return ()

    def __repr__(self) -> str:
        lines = "".join(f"\n  {line}" for line in self._listing())
        return f"{type(self).__name__}({self._summary()}){lines}"

    def _repr_html_(self) -> str:
        facts = self._html_facts()
        said = {"records (n)", *(fact.label for fact in facts)}
        rest = {name: text for name, text in self.provenance().items() if name not in said}
        made = ", ".join(f"{name} = {text}" for name, text in rest.items())
        leading, *more = self._html_sentences()
        folded = f"<details><summary>Technical details</summary><p>{escape(made)}</p></details>"
        return (
            (f"<p><strong>{escape(leading)}</strong></p>" if leading else "")
            + html_table(facts)
            + "".join(f"<p>{escape(sentence)}</p>" for sentence in more)
            + (folded if made else "")
        )

    def _html_facts(self) -> list[Fact]:
        """Return the table of a notebook."""
        return self.facts()

    def _html_sentences(self) -> Sequence[str]:
        """Return the sentence above the table of a notebook, and those below."""
        return (self.headline(),)


@dataclasses.dataclass(frozen=True, slots=True)
class Form:
    """How a field is kept, written as JSON and read from it."""

    keep: Callable[[Any], Any]
    write: Callable[[Any], Any]
    read: Callable[[Any], Any] = lambda value: value


def as_metadata(form: Form) -> Mapping[str, Form]:
    """Return what ``dataclasses.field(metadata=...)`` takes."""
    return MappingProxyType({"form": form})


class Owned(NamedTuple):
    """A new array whose maker gives it away, so that a result need not copy gigabytes."""

    array: NDArray[Any]


def read_only(values: object, dtype: type[Any] = np.float64) -> NDArray[Any]:
    """Return a read-only copy of numbers; a None of JSON becomes NaN."""
    array: NDArray[Any] = (
        np.asarray(values.array, dtype) if isinstance(values, Owned) else np.array(values, dtype)
    )
    array.setflags(write=False)
    return array


def plain(value: Any) -> Any:
    """Return tuples as lists, mappings and dataclasses as dicts, all the way down."""
    if isinstance(value, Result):
        return value.to_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [plain(member) for member in value]
    return value


def flatten(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Write parameters one to a line, as a person would.

    Examples
    --------
    >>> flatten({"bounds": {"age": [0.0, 120.0]}, "B": 64.0, "split": {"count": 0.2}})
    {'bounds of age': '0 to 120', 'B': '64', 'split, count': '0.2'}
    """
    rows: dict[str, str] = {}
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            link = " of " if name == "bounds" else ", "
            rows |= {f"{name}{link}{inner}": _written(v) for inner, v in value.items()}
        else:
            rows[name] = _written(round(value, 2) if name == "B" else value)  # cells are whole
    return rows


def html_table(facts: Sequence[Fact]) -> str:
    """Return the table that notebooks show; names of the user's columns may be among the texts."""
    wide = any(fact.meaning for fact in facts)
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(fact.label)}</th>'
        f"{_html_cells(fact, wide)}</tr>"
        for fact in facts
    )
    return f"<table><tbody>{rows}</tbody></table>"


def _html_cells(fact: Fact, wide: bool) -> str:
    if wide and not fact.meaning:
        return f'<td colspan="2" style="text-align:left">{escape(fact.text)}</td>'
    meaning = f"<td>{escape(fact.meaning)}</td>" if wide else ""
    return f"<td>{escape(fact.text)}</td>{meaning}"


def _written(value: Any) -> str:
    if isinstance(value, float):
        return format_value(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        texts = [member for member in value if isinstance(member, str)]
        ends = len(value) == 2 and all(moment(member) is not None for member in texts)
        return (" to " if ends else ", ").join(map(_written, value))
    return str(value)


def _frozen(value: Any) -> Any:
    """Return lists as tuples all the way down, and a mapping as a read-only copy."""
    if value is None or isinstance(value, (str, float, int)):
        return value  # first: whether something is a Mapping takes long to find out
    if isinstance(value, Mapping):
        return MappingProxyType(plain(value))
    if isinstance(value, list | tuple):
        return tuple(_frozen(member) for member in value)
    return value


def _same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other, equal_nan=True)
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return False
    return bool(one == other)


@cache
def _forms(kind: type[Result]) -> dict[str, Form]:
    """Return how each field of a kind of result is kept."""
    fields = dataclasses.fields(kind)  # type: ignore[arg-type] # subclasses are dataclasses
    return {field.name: field.metadata.get("form", PLAIN) for field in fields}


def _rows_to_last(matrix: NDArray[np.float64]) -> list[list[float | None]]:
    """Return each row up to its last entry, with None for a gap before it."""
    ends = (np.flatnonzero(~np.isnan(row)).max(initial=-1) + 1 for row in matrix)
    return [_without_nan(row[:end]) or [] for row, end in zip(matrix, ends, strict=True)]


def square(rows: Sequence[Sequence[float | None]]) -> NDArray[np.float64]:
    """Return a square matrix from the beginnings of its rows, with NaN elsewhere."""
    matrix = np.full((len(rows), len(rows)), np.nan)
    for i, row in enumerate(rows):
        matrix[i, : len(row)] = np.array(row, np.float64)
    return matrix


def _without_nan(values: NDArray[Any] | None) -> list[Any] | None:
    """Return an array as a list, with None for NaN, which JSON does not know."""
    if values is None:
        return None
    listed: list[Any] = values.tolist()
    for gap in np.flatnonzero(np.isnan(values)):
        listed[gap] = None
    return listed


def _or_none(values: object) -> NDArray[Any] | None:
    return None if values is None else read_only(values)


PLAIN = Form(_frozen, plain)
INFINITE = as_metadata(
    Form(lambda c: c, lambda c: "inf" if math.isinf(c) else c, float)  # JSON has no infinity
)
"""A number that may be infinite."""
MATRIX = as_metadata(Form(read_only, _rows_to_last, square))
"""A characteristic matrix, with NaN where there is no entry."""
NUMBERS = as_metadata(Form(_or_none, _without_nan))
"""An array of one axis, NaN where there is no number; or None."""
