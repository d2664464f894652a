"""One query: what is asked, whose privacy it costs, how much, and in which order it runs.

Every private call is prepared from public facts alone (names, n, options, and identifiers of
people, to bound contributions) into an immutable :class:`Query`, and then run: ask the ledger,
check, read, charge, compute, draw, store. What can be refused is refused before a value is read,
bad values before budget is spent, and budget is spent before noise is drawn
(docs/decisions/0006). What a person consents to is the object that runs.
"""

from __future__ import annotations

import json
import os
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, NamedTuple, NoReturn, TypeVar

from dpmic import _validate
from dpmic._format import format_ceil
from dpmic.data import Source, find, first_rows, series_name
from dpmic.errors import ParameterError, safe_repr, with_code
from dpmic.privacy._gaps import Gaps, Size
from dpmic.privacy._guards import depth_of_caller, open_privately, private, without_reminder
from dpmic.privacy.ledger import Entry, Ledger
from dpmic.results import PrivacyUnit, Published
from dpmic.statistics.sources import Counting, Found

__all__ = [
    "LEAST_EPSILON",
    "TERMS",
    "Query",
    "Terms",
    "checked_epsilon",
    "checked_rows",
    "padded",
    "private",
    "without_reminder",
]

Chosen = TypeVar("Chosen", Source, Source | Counting)
Result = TypeVar("Result", bound=Published)

LEAST_EPSILON = 1e-9

TERMS = ("epsilon", "rows_per_person", "allow_large_epsilon", "allow_noisy")
"""The terms that a mechanism shares with all private calls."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What every private call takes, checked: how much privacy, whose rows, from which budget.

    Attributes
    ----------
    epsilon : float
        The privacy loss that was asked for; what a query costs lies a billionth below.
    person : str, array-like or None
        Who each row belongs to: a column's name, or the identifiers.
    rows_per_person : int
        How many rows of a person are used, or may exist where nobody can tell people apart.
    missing, complete
        What becomes of missing values: "refuse", "drop" with the share of complete records that is
        promised, "scatter", or a value for each column. Checked, they are ``gaps``.
    categories : mapping or None
        The values that nominal columns can have.
    by, at_least
        A column whose categories are groups, each published by itself, and how many people are
        promised to be in each.
    promised : int or None
        In the terms of one group: how many people are promised to be in it.
    ledger, dataset, name
        Where it is charged, for which data, and a deprecated name of the question.
    allow_large_epsilon, allow_noisy : bool
        Whether weak protection, and answers that noise hides, are allowed.
    """

    epsilon: float
    person: Any = field(default=None, repr=False)
    rows_per_person: int = 1
    missing: Any = "refuse"
    complete: float | None = None
    categories: Any = field(default=None, repr=False)
    by: Any = field(default=None, repr=False)
    at_least: Any = None
    promised: int | None = None
    ledger: Any = None  # a Ledger once it is checked
    dataset: str | None = None
    name: str | None = None
    allow_large_epsilon: bool = False
    allow_noisy: bool = False

    def __post_init__(self) -> None:
        """Check everything, in one order: the account, epsilon, the rows of a person."""
        ledger = _checked_ledger(self.ledger, self.dataset, self.name)
        epsilon = checked_epsilon(self.epsilon, allow_large=self.allow_large_epsilon)
        rows = checked_rows(self.rows_per_person)
        Gaps.checked(self.missing, self.complete)
        if self.at_least is not None and self.by is None:
            reason = "it is the size of groups, and there are none"
            raise ParameterError("at_least", reason, with_code("pass `by=...`"))
        object.__setattr__(self, "ledger", ledger)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "rows_per_person", rows)

    @property
    def gaps(self) -> Gaps:
        """What becomes of missing values."""
        return Gaps.checked(self.missing, self.complete)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of columns that a file has as text: of people, categories and groups."""
        named = (self.person, *(self.categories or ()), self.by)
        return tuple(dict.fromkeys(name for name in named if isinstance(name, str)))

    def columns(self, *columns: Any, data: Any) -> Bounded[Source]:
        """Find columns in memory, with bounded contributions, all of which count."""
        roles = ("x", "y")[: len(columns)]
        found = open_privately(lambda: find(*columns, data=data, roles=roles))
        open_privately(lambda: found.n)
        kept = self.bounded(found, data)
        if kept.size is not None and kept.size.private:
            raise private_number(self, "this call")
        return kept

    def bounded(self, source: Chosen, data: Any) -> Bounded[Chosen]:
        """Bound contributions: keep the first rows of each person, and name the identifiers.

        Without identifiers nothing is left out: the caller answers for the number of rows.
        """
        if isinstance(source, Counting):
            self._refuse_parts()
            return Bounded(source, None, None)
        if self.person is None:
            return Bounded(source, None, self._size(open_privately(lambda: source.n), 1))
        rows = self.rows_per_person
        first, people = open_privately(
            lambda: [first_rows(self.person, data, source.n, most) for most in (rows, 1)]
        )
        size = self._size(people.size, rows)
        kept = open_privately(lambda: source.take(first))
        if data is not None:
            return Bounded(kept, str(self.person), size)
        name = series_name(self.person)
        # A ledger must tell this query from the same one about other units.
        return Bounded(replace(kept, named=kept.named and bool(name)), name or "person", size)

    def _size(self, people: int, rows: int) -> Size:
        """Return what is public of so many people, each with a row at least."""
        filtered = self.promised is not None
        n = people if self.promised is None else self.promised
        return Size(n, self.gaps.promised(n), people * rows, self.gaps.dropped, filtered)

    def _refuse_parts(self) -> None:
        """Refuse what needs all records in memory."""
        if self.gaps.rule != "refuse":
            raise ParameterError(
                f"missing = {safe_repr(self.missing)}",
                "rows that come in parts are counted and not kept",
                "pass the columns in memory",
            )
        if self.categories is not None or self.by is not None:
            raise ParameterError(
                "categories",
                "rows that come in parts are counted on grids of numbers",
                "pass the columns in memory",
            )
        if self.person is not None:
            raise ParameterError(
                "person",
                "rows that come in parts are counted and not kept, so people cannot be told apart",
                with_code("keep one row for each person beforehand, or pass `rows_per_person=...`"),
            )


class Bounded(NamedTuple, Generic[Chosen]):
    """Columns with bounded contributions, what the identifiers are called, and their size.

    The size of rows that come in parts is known once they are counted.
    """

    source: Chosen
    person: str | None
    size: Size | None


def private_number(terms: Terms, what: str) -> ParameterError:
    """Return the refusal of a private number of records, which few scores are proved for."""
    scores = "which is proved for capped-laplace and micr-laplace alone"
    if terms.promised is not None:
        return ParameterError(
            "by",
            f"with {what} the number of records in a group would be private, {scores}",
            with_code("leave out the mechanism, or `by=...`"),
        )
    if terms.gaps.dropped:
        return ParameterError(
            "missing = 'drop'",
            f"with {what} the number of complete records would be private, {scores}",
            with_code(
                "pass `missing='scatter'` or a value for each column, or leave out the mechanism"
            ),
        )
    return ParameterError(
        f"rows_per_person = {terms.rows_per_person} with person",
        f"with {what} the number of rows would be private, {scores}",
        with_code("pass `rows_per_person=1`, or leave out the mechanism"),
    )


def checked_epsilon(epsilon: object, *, allow_large: bool) -> float:
    """Check a privacy loss."""
    checked = _validate.epsilon(epsilon, allow_large=allow_large)
    if checked < LEAST_EPSILON:
        raise ParameterError(
            f"epsilon = {epsilon!r}",
            "so small a loss publishes noise alone",
            with_code("pass `epsilon=1`"),
        )
    return checked


def checked_rows(rows: object) -> int:
    """Check a number of rows of a person."""
    return _validate.integer(rows, "rows_per_person", least=1, most=2**31)


def _checked_ledger(ledger: object, dataset: object, name: object) -> Ledger | None:
    """Check where a query is charged, and to which data it belongs."""
    for option, value in (("dataset", dataset), ("name", name)):
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise ParameterError(
                f"{option} = {safe_repr(value)}",
                "it is not a name",
                with_code(f"pass `{option}='visits 2024'`"),
            )
    if name is not None:
        warnings.warn(
            with_code("`name=...` is deprecated; pass `dataset=...` to name the data"),
            DeprecationWarning,
            stacklevel=depth_of_caller(),
        )
    if isinstance(ledger, str | os.PathLike):
        ledger = Ledger(ledger)
    if not isinstance(ledger, Ledger | None):
        raise ParameterError(
            f"ledger = {safe_repr(ledger)}",
            "it is not a Ledger",
            "pass dpmic.Ledger(path), or a path",
        )
    if ledger is not None and dataset is None:
        raise ParameterError(
            "dataset",
            "a ledger keeps answers, and must know which data each belongs to",
            with_code("pass `dataset='visits 2024'`, and another name for corrected or other data"),
        )
    return ledger


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Query(ABC, Generic[Result]):
    """What is asked, of whom, at which cost; fixed before a value is looked at.

    A subclass says what is published, what it costs, and how: ``read``, ``compute`` and
    ``publish``. Only ``publish`` adds noise to what is private, and only its result may be shown.

    Attributes
    ----------
    source : Source or Counting
        The columns, found and not read, contributions bounded. Its n is public.
    terms : Terms
        What was agreed on: epsilon, the unit, the account.
    person : str or None
        What the identifiers are called.
    size : Size or None
        What is public of the number of records; None where all of the source's count.
    """

    source: Found
    terms: Terms
    person: str | None
    size: Size | None = None

    result: ClassVar[type[Any]]
    """The kind of result."""

    @property
    def n(self) -> int:
        """The number of records, or of people, which is public."""
        return self.source.n if self.size is None else self.size.n

    @property
    def unit(self) -> PrivacyUnit:
        """Whom it protects."""
        return PrivacyUnit(self.person, self.terms.rows_per_person)

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """What it costs: the loss that is proved for the noise, at most that of the terms."""

    @property
    def delta(self) -> float:
        """What it costs besides; 0 for pure privacy."""
        return 0.0

    @property
    def noise_in_words(self) -> str | None:
        """What the noise of a value means, where that can be said."""
        return None

    @property
    @abstractmethod
    def publishes(self) -> str:
        """What would be published."""

    @property
    @abstractmethod
    def asked(self) -> dict[str, Any]:
        """What distinguishes it from other queries of the same columns, n, epsilon and person."""

    @property
    def key(self) -> str:
        """The text under which a ledger keeps the answer: names and options, never data."""
        if self.terms.name is None and not self.source.named:
            raise ParameterError(
                "ledger",
                "it identifies questions by column names, and arrays have none",
                "pass a frame, and the names of its columns (and of the one with identifiers)",
            )
        public = {
            **self.asked,
            "epsilon": self.terms.epsilon,
            "person": self.person,
            "name": self.terms.name,
            "columns": self.source.names,
            "n": self.n,
        }
        return json.dumps(public, sort_keys=True)

    @property
    def counted_facts(self) -> dict[str, Any]:
        """What is public of which records count, where not all of them do."""
        promised = (
            {} if self.size is None or not self.size.private else {"promised": self.size.least}
        )
        return {**self.terms.gaps.facts(), **promised}

    @property
    def facts(self) -> dict[str, Any]:
        """What every result says of itself besides what was drawn."""
        return {
            "epsilon": self.epsilon,
            "n": self.n,
            "rows_per_person": self.terms.rows_per_person,
            "person": self.person,
        }

    @abstractmethod
    def read(self) -> Any:
        """Read what ``compute`` needs, or refuse naming a column alone."""

    @abstractmethod
    def compute(self, private: Any) -> Any:
        """Compute what noise is added to: never to be shown."""

    @abstractmethod
    def publish(self, exact: Any) -> Result:
        """Draw the noise: the only step from private to public."""

    def stored(self) -> Entry | None:
        """Return the ledger's entry of exactly this query; once charged, it costs nothing."""
        ledger: Ledger | None = self.terms.ledger
        if ledger is None:
            return None
        return ledger.find(self.key, dataset=self.terms.dataset or "")

    def check(self) -> None:
        """Raise what charging it would raise now; nothing is written."""
        ledger: Ledger | None = self.terms.ledger
        if ledger is not None:
            ledger.check(self.key, self.epsilon, self.delta, dataset=self.terms.dataset or "")

    @private
    def run(self) -> Result:
        """Return the answer: with a ledger the one there is, without one a new draw each time."""
        ledger: Ledger | None = self.terms.ledger
        if ledger is None:
            published = self.publish(self.compute(self.read()))
            return replace(published, dataset=self.terms.dataset)
        entry = self.stored()
        if entry is not None and entry.answer is not None:
            return self._answer(entry, replayed=True)
        self.check()  # refused before a value is read
        records = self.read()
        key, dataset = self.key, self.terms.dataset or ""
        ledger.spend(key, self.epsilon, self.delta, dataset=dataset)  # before noise is drawn
        exact, drawn = self.compute(records), False

        def draw() -> str:
            nonlocal drawn
            drawn = True
            return padded(self.publish(exact))

        entry = ledger.settle(key, draw, dataset=dataset)
        return self._answer(entry, replayed=not drawn)  # another process may have drawn it

    def _answer(self, entry: Entry, *, replayed: bool) -> Result:
        """Return a stored answer with what the caller knows of it besides."""
        published: Result = self.result.from_json(entry.answer)
        when = entry.answered_at if replayed else None
        return replace(published, dataset=self.terms.dataset, replayed=when)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a query refers to private data; pickle what it publishes")

    def __repr__(self) -> str:
        cost = f"epsilon={format_ceil(self.epsilon)}"
        if self.delta:
            cost += f", delta={format_ceil(self.delta)}"
        return f"{type(self).__name__}({self.publishes}; n={self.n}, {cost})"


def padded(published: Published) -> str:
    """Write a result in a length that does not depend on what was drawn.

    A disk that is nearly full refuses longer texts, which could choose between draws.
    """
    drawn, most = published._drawn_length()
    return published.to_json() + " " * (most - drawn)
