"""The private query: what it publishes, whose privacy it protects, its cost, and how it runs.

Every private call is first prepared from public facts (names, n, options, and identifiers of people
to bound contributions) as an immutable :class:`Query`. Then it runs: ask the ledger, check, read,
charge, compute, draw, store. Options are refused before a value is read, bad values before the
budget is charged, and the budget is charged before noise is drawn (docs/decisions/0006). The object
that a person consents to is the object that runs.
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
"""The terms that are also options of a mechanism."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The checked options of every private call: privacy loss, privacy unit, rules, budget.

    Attributes
    ----------
    epsilon : float
        The requested privacy loss; the cost of a query is a billionth less.
    person : str, array-like or None
        The person of each row: the name of a column, or the identifiers.
    rows_per_person : int
        The rows of a person that are used or, without identifiers, the most that a person has.
    missing, complete
        The rule for missing values: "refuse", "drop" with the promised share of complete records,
        "scatter", or a value for each column. ``gaps`` is the checked rule.
    categories : mapping or None
        The possible values of nominal columns.
    by, at_least
        A column whose categories form groups, and the promised size of each group.
    promised : int or None
        In the terms of one group: its promised size.
    ledger, dataset, name
        The ledger to charge, the name of the data, and a deprecated name of the question.
    allow_large_epsilon, allow_noisy : bool
        Allow weak protection, and values that noise hides.
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
            reason = "it is the size of groups, but there are none"
            raise ParameterError("at_least", reason, with_code("pass `by=...` too"))
        object.__setattr__(self, "ledger", ledger)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "rows_per_person", rows)

    @property
    def gaps(self) -> Gaps:
        """The rule for missing values."""
        return Gaps.checked(self.missing, self.complete)

    @property
    def counted(self) -> str:
        """What n counts: people where their rows are known, else records."""
        return "records" if self.person is None else "people"

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of columns to read as text: people, categories and groups."""
        named = (self.person, *(self.categories or ()), self.by)
        return tuple(dict.fromkeys(name for name in named if isinstance(name, str)))

    def columns(self, *columns: Any, data: Any) -> Bounded[Source]:
        """Find columns in memory and bound contributions; no record may be dropped."""
        roles = ("x", "y")[: len(columns)]
        found = open_privately(lambda: find(*columns, data=data, roles=roles))
        open_privately(lambda: found.n)
        kept = self.bounded(found, data)
        if kept.size is not None and kept.size.private:
            instead = "use `dpmic.release` with bounds from domain knowledge"
            raise private_number(self, "this call", instead)
        return kept

    def bounded(self, source: Chosen, data: Any) -> Bounded[Chosen]:
        """Bound contributions: keep the first rows of each person.

        Without identifiers all rows are kept: the caller promises the number per person.
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
        # The query key must distinguish this query from the same one about other units.
        return Bounded(replace(kept, named=kept.named and bool(name)), name or "person", size)

    def _size(self, people: int, rows: int) -> Size:
        """Return the public size of data about this many people, each with at least one row."""
        filtered = self.promised is not None
        n = people if self.promised is None else self.promised
        return Size(n, self.gaps.promised(n), people * rows, self.gaps.dropped, filtered)

    def _refuse_parts(self) -> None:
        """Refuse options that need all records in memory."""
        if self.gaps.rule != "refuse":
            raise ParameterError(
                f"missing = {safe_repr(self.missing)}",
                "rows that are read in parts are counted, not kept",
                "pass the columns in memory",
            )
        if self.categories is not None or self.by is not None:
            raise ParameterError(
                "categories",
                "rows that are read in parts are counted on grids of numbers",
                "pass the columns in memory",
            )
        if self.person is not None:
            raise ParameterError(
                "person",
                "rows that are read in parts are counted, not kept, so people cannot be matched",
                with_code("keep one row per person beforehand, or pass `rows_per_person=...`"),
            )


class Bounded(NamedTuple, Generic[Chosen]):
    """Columns with bounded contributions, the name of the identifiers, and the size.

    The size of rows that are read in parts is known once they are counted.
    """

    source: Chosen
    person: str | None
    size: Size | None


def private_number(
    terms: Terms, what: str, instead: str = "leave out the mechanism"
) -> ParameterError:
    """Return the refusal of a private number of records, which few mechanisms support."""
    scores = "and only capped-laplace and micr-laplace are proved for that"
    if terms.promised is not None:
        return ParameterError(
            "by",
            f"with {what} the number of records in a group would be private, {scores}",
            with_code("leave out the mechanism, or leave out `by=...`"),
        )
    if terms.gaps.dropped:
        return ParameterError(
            "missing = 'drop'",
            f"with {what} the number of complete records would be private, {scores}",
            with_code(f"pass `missing='scatter'` or a value for each column, or {instead}"),
        )
    return ParameterError(
        f"rows_per_person = {terms.rows_per_person} with person",
        f"with {what} the number of rows would be private, {scores}",
        with_code(f"pass `rows_per_person=1`, or {instead}"),
    )


def checked_epsilon(epsilon: object, *, allow_large: bool) -> float:
    """Check a privacy loss."""
    checked = _validate.epsilon(epsilon, allow_large=allow_large)
    if checked < LEAST_EPSILON:
        raise ParameterError(
            f"epsilon = {epsilon!r}",
            "such a small privacy loss publishes only noise",
            with_code("pass `epsilon=1`"),
        )
    return checked


def checked_rows(rows: object) -> int:
    """Check the most rows of a person."""
    return _validate.integer(rows, "rows_per_person", least=1, most=2**31)


def _checked_ledger(ledger: object, dataset: object, name: object) -> Ledger | None:
    """Check the ledger, the name of the data, and the deprecated name."""
    for option, value in (("dataset", dataset), ("name", name)):
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise ParameterError(
                f"{option} = {safe_repr(value)}",
                "it must be a name",
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
            "pass dpmic.Ledger(path) or a path",
        )
    if ledger is not None and dataset is None:
        raise ParameterError(
            "dataset",
            "a ledger keeps answers, so the data needs a name",
            with_code("pass `dataset='visits 2024'`, and a new name for corrected or other data"),
        )
    return ledger


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Query(ABC, Generic[Result]):
    """A private query, fixed before any value is read.

    A subclass defines what is published, at what cost, and how: ``read``, ``compute`` and
    ``publish``. Only ``publish`` adds noise, and only its result may be shown.

    Attributes
    ----------
    source : Source or Counting
        The columns, not read yet, with bounded contributions. Its n is public.
    terms : Terms
        The privacy loss, the privacy unit and the budget.
    person : str or None
        The name of the identifiers.
    size : Size or None
        The public facts about the number of records; None if all records of the source count.
    """

    source: Found
    terms: Terms
    person: str | None
    size: Size | None = None

    result: ClassVar[type[Any]]
    """The class of the result."""

    @property
    def n(self) -> int:
        """The public number of records, or of people."""
        return self.source.n if self.size is None else self.size.n

    @property
    def unit(self) -> PrivacyUnit:
        """The privacy unit."""
        return PrivacyUnit(self.person, self.terms.rows_per_person)

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """The cost: the proved privacy loss of the noise, at most that of the terms."""

    @property
    def delta(self) -> float:
        """The delta of the cost; 0 for pure privacy."""
        return 0.0

    @property
    def noise_in_words(self) -> str | None:
        """The noise of a value in words, if there is a simple description."""
        return None

    @property
    def promises(self) -> dict[str, str]:
        """What becomes of missing and unlisted values, and what is promised, in words."""
        gaps, said = self.terms.gaps, {}
        if self.terms.categories:
            said["categories"] = (
                "a value must be spelled exactly as in the list; any other counts as missing, or "
                'as "other" if that is listed'
            )
        if gaps.rule in ("scatter", "fill"):
            value = "a random value" if gaps.rule == "scatter" else "the value given for the column"
            said["missing values"] = f"each is replaced by {value}"
        elif gaps.dropped:
            share, usual = gaps.complete, ", the default" * (self.terms.complete is None)
            of, floor = (" of each group", "") if self.terms.by is not None else ("", "")
            if self.size is not None and not of:
                floor = f", at least {self.size.least:,}"
            said["missing values"] = with_code(
                "a record without both values of a pair does not count for that pair; you promise "
                f"that {100 * share:g}% or more{of} have both{floor} "
                f"(`complete={share:g}`{usual}). "
                "A promise above the truth lowers scores, and no message says so"
            )
        return said

    @property
    @abstractmethod
    def publishes(self) -> str:
        """What the query publishes."""

    @property
    @abstractmethod
    def key_facts(self) -> dict[str, Any]:
        """The part of the key besides columns, n, epsilon and person."""

    @property
    def key(self) -> str:
        """The query key, under which a ledger keeps the answer: names and options, never data."""
        if self.terms.name is None and not self.source.named:
            raise ParameterError(
                "ledger",
                "it identifies queries by column names, and arrays have none",
                "pass a frame and the names of its columns, also of the one with identifiers",
            )
        public = {
            **self.key_facts,
            "epsilon": self.terms.epsilon,
            "person": self.person,
            "name": self.terms.name,
            "columns": self.source.names,
            "n": self.n,
            # what else counts as missing, for example; absent if nothing was stated
            **({"format": self.source.format} if self.source.format else {}),
        }
        return json.dumps(public, sort_keys=True)

    @property
    def counted_facts(self) -> dict[str, Any]:
        """The public facts about dropped records, if records can be dropped."""
        promised = (
            {} if self.size is None or not self.size.private else {"promised": self.size.least}
        )
        return {**self.terms.gaps.facts(), **promised}

    @property
    def facts(self) -> dict[str, Any]:
        """The public facts of every result, apart from what was drawn."""
        return {
            "epsilon": self.epsilon,
            "n": self.n,
            "rows_per_person": self.terms.rows_per_person,
            "person": self.person,
        }

    @abstractmethod
    def read(self) -> Any:
        """Read what ``compute`` needs, or refuse and name only the column."""

    @abstractmethod
    def compute(self, private: Any) -> Any:
        """Compute the exact result: never to be shown."""

    @abstractmethod
    def publish(self, exact: Any) -> Result:
        """Add noise: the only step from private to public."""

    def stored(self) -> Entry | None:
        """Return the ledger's entry of exactly this query, or None."""
        ledger: Ledger | None = self.terms.ledger
        if ledger is None:
            return None
        return ledger.find(self.key, dataset=self.terms.dataset or "")

    def check(self) -> None:
        """Raise the error that charging would raise now; write nothing."""
        ledger: Ledger | None = self.terms.ledger
        if ledger is not None:
            ledger.check(self.key, self.epsilon, self.delta, dataset=self.terms.dataset or "")

    @private
    def run(self) -> Result:
        """Run the query. With a ledger, a stored answer is returned instead of a new draw."""
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

        entry = ledger.draw_once(key, draw, dataset=dataset)
        return self._answer(entry, replayed=not drawn)  # another process may have drawn it

    def _answer(self, entry: Entry, *, replayed: bool) -> Result:
        """Return a stored answer, with the name of the data and the time of a replay."""
        published: Result = self.result.from_json(entry.answer)
        when = entry.answered_at if replayed else None
        return replace(published, dataset=self.terms.dataset, replayed=when)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a query refers to private data; pickle its result instead")

    def __repr__(self) -> str:
        cost = f"epsilon={format_ceil(self.epsilon)}"
        if self.delta:
            cost += f", delta={format_ceil(self.delta)}"
        return f"{type(self).__name__}({self.publishes}; n={self.n}, {cost})"


def padded(published: Published) -> str:
    """Return a result as JSON, padded to a length that does not depend on the draw.

    A nearly full disk refuses longer texts, which could select between draws.
    """
    drawn, most = published._drawn_length()
    return published.to_json() + " " * (most - drawn)
