"""What all published results share: a guarantee in words, and a JSON text that reads back."""

from __future__ import annotations

import dataclasses
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Self

from dpmic._format import format_ceil
from dpmic.errors import InputError

__all__ = ["Published", "PublishedPair"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Published(ABC):
    """Something differentially private, with what it cost.

    A subclass lists what was drawn, says in ``guarantee`` what that is, and tells in ``_sound``
    whether its fields can be what they claim. Fields are numbers, texts, or tuples and mappings
    of these.

    Attributes
    ----------
    epsilon : float
        What it cost: the proved privacy loss for the unit in ``guarantee``.
    n : int
        The number of records, which is public.
    parameters : dict
        What else fixed the computation; all public and chosen without looking at the data.
    rows_per_person : int
        How many rows one person may have.
    person : str or None
        The column of identifiers, where only the first ``rows_per_person`` rows of each person
        were used.
    dataset : str or None
        The data it belongs to, as the caller named them.
    replayed : str or None
        When a ledger gave this answer before (ISO 8601, UTC): it was drawn then, and cost nothing
        now. None for a fresh draw.
    """

    epsilon: float
    n: int
    parameters: Mapping[str, Any]
    rows_per_person: int
    person: str | None
    dataset: str | None = dataclasses.field(default=None, compare=False)
    replayed: str | None = dataclasses.field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    @property
    def drawn_on(self) -> str | None:
        """The time of ``replayed`` as people write it."""
        if self.replayed is None:
            return None
        return f"{datetime.fromisoformat(self.replayed).astimezone(UTC):%Y-%m-%d %H:%M} UTC"

    @property
    def _cost(self) -> str:
        """Epsilon for texts and tables, which also say where a ledger gave the answer again."""
        again = "" if self.replayed is None else f" (stored answer of {self.drawn_on})"
        return f"{format_ceil(self.epsilon)}{again}"

    def _promise(self, what: str, delta: float = 0.0) -> str:
        """Return the sentence that may be printed beside the result."""
        epsilon = format_ceil(self.epsilon)
        unit, others = "one record is", "any other"
        if self.person is not None:
            unit = f"one person (by {self.person}; of each only the first record is used) is"
        if self.rows_per_person > 1:
            unit = f"all of one person's records, at most {self.rows_per_person}, are"
            others = "as many others"
        if self.rows_per_person > 1 and self.person is not None:
            used = f"(by {self.person}; of each only the first {self.rows_per_person} are used)"
            unit = f"all of one person's records {used} are"
        cost = f"epsilon = {epsilon}"
        bound = (
            f"no published result becomes more than exp({epsilon}) times as likely or as unlikely"
        )
        if delta:
            rest = format_ceil(delta)
            cost += f" and delta = {rest}"
            bound = (
                "no set of published results becomes more probable than "
                f"exp({epsilon}) times what it was plus {rest}"
            )
        public = "".join(f", {name} = {_plain(v)}" for name, v in self.parameters.items())
        return (
            f"{what} differentially private with {cost}: if {unit} replaced by {others}, "
            f"{bound}; public are n = {self.n}{public}."
        )

    @property
    @abstractmethod
    def guarantee(self) -> str:
        """The sentence that may be printed beside the result."""

    @abstractmethod
    def _sound(self) -> bool:
        """Tell whether the fields can be what they claim; may raise TypeError or ValueError."""

    @abstractmethod
    def _drawn_length(self) -> tuple[int, int]:
        """Return how many characters what was drawn takes in JSON, and how many it may take."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists that ``json.dumps`` takes and ``from_dict`` reads."""
        return {
            field.name: _listed(getattr(self, field.name)) for field in dataclasses.fields(self)
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Rebuild a result from ``to_dict`` or from parsed JSON."""
        try:
            rebuilt = cls(**fields)
            sound = 0 < rebuilt.epsilon < math.inf and rebuilt._sound()
        except (KeyError, TypeError, ValueError):
            sound = False
        if not sound:
            name = cls.__name__
            raise InputError(f"this {name}", "it is not complete", "pass what to_dict returned")
        return rebuilt

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

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PublishedPair(Published):
    """Something about two columns, with Laplace noise.

    Attributes
    ----------
    names : (str, str)
        What the two variables are called.
    sensitivity, scale, granularity : float
        The largest change that one person can cause, the scale of the Laplace noise, and the
        spacing of the grid on which outputs lie.
    """

    names: tuple[str, str]
    sensitivity: float
    scale: float
    granularity: float

    def __post_init__(self) -> None:
        super().__post_init__()
        first, second = self.names
        object.__setattr__(self, "names", (first, second))

    def _sound(self) -> bool:
        first, second = self.names
        numbers = (self.sensitivity, self.scale, self.granularity)
        return isinstance(first + second, str) and all(0 < v < math.inf for v in numbers)


def _listed(value: Any) -> Any:
    """Return tuples as lists and mappings as dicts, all the way down."""
    if isinstance(value, Mapping):
        return {key: _listed(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_listed(member) for member in value]
    return value


def _plain(value: Any) -> str:
    """Write a parameter as a person would."""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_plain(v)}" for name, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_plain(v) for v in value) + "]"
    return str(value)
