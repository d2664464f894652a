"""The privacy budget of a group of people, in one SQLite file that survives crashes.

A release calls, in this order: :meth:`Ledger.find` (is there an answer?) and :meth:`Ledger.check`
(is the budget enough?) before data is read, :meth:`Ledger.spend` before noise is drawn, and
:meth:`Ledger.draw_once`, which draws the noise and stores the answer. A question belongs to a
dataset: the same question about other data is a different one.
"""

from __future__ import annotations

import json
import math
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, NamedTuple

from dpmic import _validate
from dpmic._format import format_ceil, format_remainder
from dpmic.errors import BudgetError, LedgerError, ParameterError, safe_repr, with_code
from dpmic.privacy._ledger_file import RESTORE, VERSION, locked, place, transaction
from dpmic.privacy._ledger_file import patience as patience

__all__ = ["Balance", "Entry", "Ledger"]

UNIT, UNIT_DELTA = 2**50, 2**62
"""Units per epsilon of 1 and per delta of 1. Integers add without rounding, even in SQL."""


class Units(NamedTuple):
    """An amount of epsilon and delta, in units."""

    epsilon: int
    delta: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A question about a dataset, with its charge; pending if it has no answer.

    ``time`` is when it was charged, ``answered_at`` when its noise was drawn (ISO 8601, UTC).
    ``dataset`` is None in entries of older versions of dpmic.
    """

    time: str
    question: str
    epsilon: float
    delta: float
    answered: bool
    answer: str | None
    dataset: str | None
    answered_at: str | None

    @property
    def words(self) -> str:
        """The question for people: a query of dpmic in words, any other text as it is."""
        try:
            return _in_words(json.loads(self.question))
        except (ValueError, TypeError, LookupError, AttributeError):
            return self.question  # anybody may charge for anything, by Ledger.spend


PUBLISHED = {
    "pairwise": "the MIC of all pairs",
    "rank-tables": "a test of independence",
    "bounds": "a range",
    "micr-geometric": "a noisy histogram",
}
"""What mechanisms of one kind of result publish, in words."""


def _in_words(key: Any) -> str:
    """Return a query key in words."""
    groups = f", for each of {len(key['groups'])} groups by {key['by']}" if "groups" in key else ""
    asked = {**key.get("each", {}), **key}  # with groups, the query of each
    named = f"{asked['name']}: " if asked.get("name") else ""
    mechanism, top = asked["mechanism"], asked.get("top", 1)
    strongest = "the strongest pair" if top == 1 else f"the {top} strongest pairs"
    what = {"screen": strongest, **PUBLISHED}.get(mechanism) or asked["statistic"].upper()
    by = "" if mechanism == "screen" or mechanism in PUBLISHED else f" by {mechanism}"
    columns = (", " if len(asked["columns"]) > 2 else " and ").join(asked["columns"])
    return f"{named}{what} of {columns}{by}{groups} (n = {asked['n']:,})"


@dataclass(frozen=True, slots=True)
class Balance:
    """The amounts of a ledger at one moment; spent ones are rounded up, all others down."""

    total: float
    spent: float
    remaining: float
    total_delta: float
    spent_delta: float
    remaining_delta: float


class Ledger:
    """Keep the privacy budget of a group of people, with all questions and answers.

    A ledger belongs to people, not to a data file: privacy losses add up over everything ever
    published about a person, so corrected or appended data about the same people spends from the
    same ledger. Every question names its dataset. The same question about the same dataset has one
    answer and is charged once. Corrected data is a new dataset and is charged again. A dataset is
    identified by its name, never by a hash of its records, which would reveal something about them.

    The file is the only memory: if you restore an older copy, later charges are lost; if you delete
    the file, all are. An open ``Ledger`` object notices both. The file must be on a local disk,
    since locks are unreliable on network drives (these are detected on Linux and Windows), and must
    have no hard links. Beside it is an empty lock file, ``.lock``, with the same permissions: those
    of a new ledger are its owner's alone.

    Amounts are exact, in units of 2**-50 (2**-62 for delta). A charge is rounded up and the total
    down: ten charges of the float 0.1, which is slightly above 1/10, do not fit into 1. Epsilons
    add up, and so do deltas (basic composition). Threads, processes and forks may share a ledger;
    no file stays open between calls. Copy it only while no release is running.

    Parameters
    ----------
    path : str or path-like
        The file. It is created if it does not exist and ``epsilon`` is given.
    epsilon : float, optional
        The total for the group. For an existing ledger, omit it or pass the same total.
    delta : float, optional
        The total delta, for releases that have one; 0 by default.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(f"{folder.name}/patients.ledger", epsilon=3.0)
    >>> ledger.spend("MICr of age and weight", 0.5, dataset="visits 2024")
    >>> question, dataset = "MICr of age and weight", "visits 2024"
    >>> ledger.draw_once(question, lambda: '{"value": 0.31}', dataset=dataset).answer
    '{"value": 0.31}'
    >>> ledger.draw_once(question, lambda: "another", dataset=dataset).answer
    '{"value": 0.31}'
    >>> ledger.remaining
    2.5
    >>> folder.cleanup()
    """

    __slots__ = ("_seen", "path")

    def __init__(
        self,
        path: str | os.PathLike[str],
        epsilon: float | None = None,
        delta: float | None = None,
    ) -> None:
        total = None if epsilon is None else _total(epsilon, delta or 0.0)
        self.path = place(path)
        self._seen = (0, 0, 0)
        if total is None and not os.path.exists(self.path):
            raise LedgerError(
                str(self.path),
                "there is no such ledger",
                "check the path, or create it with dpmic.Ledger(path, epsilon=3)",
            )
        with locked(self.path), self._transaction(create=total) as connection:
            stored, _ = _amounts(connection)
            if total and total.epsilon != stored.epsilon:
                raise _other_total("epsilon", epsilon, self.path, stored.epsilon, UNIT)
            if delta is not None and _units_delta(delta) // 1 != stored.delta:
                raise _other_total("delta", delta, self.path, stored.delta, UNIT_DELTA)
            (state,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if state != "ok":
                raise LedgerError(str(self.path), "it is damaged", RESTORE)
            # This changes nothing, but it is a write: a folder that allows no journal fails now,
            # before data is read.
            connection.execute(f"PRAGMA user_version = {VERSION}")

    def balance(self) -> Balance:
        """Return all amounts at one moment."""
        with self._connection() as connection:
            total, spent = _amounts(connection)
        return Balance(
            total=_down(total.epsilon, UNIT),
            spent=_up(spent.epsilon, UNIT),
            remaining=_down(total.epsilon - spent.epsilon, UNIT),
            total_delta=_down(total.delta, UNIT_DELTA),
            spent_delta=_up(spent.delta, UNIT_DELTA),
            remaining_delta=_down(total.delta - spent.delta, UNIT_DELTA),
        )

    @property
    def total(self) -> float:
        """The total epsilon, rounded down."""
        return self.balance().total

    @property
    def spent(self) -> float:
        """The sum of all epsilons, rounded up."""
        return self.balance().spent

    @property
    def remaining(self) -> float:
        """The remaining epsilon, rounded down: a charge of this size fits."""
        return self.balance().remaining

    @property
    def total_delta(self) -> float:
        """The total delta, rounded down."""
        return self.balance().total_delta

    @property
    def spent_delta(self) -> float:
        """The sum of all deltas, rounded up."""
        return self.balance().spent_delta

    @property
    def remaining_delta(self) -> float:
        """The remaining delta, rounded down."""
        return self.balance().remaining_delta

    def find(self, question: str, *, dataset: str) -> Entry | None:
        """Return the entry of exactly this question about this dataset, or None."""
        with self._connection() as connection:
            row = _find(connection, dataset, question)
        return None if row is None else _entry(row)

    def answer(self, question: str, *, dataset: str) -> str | None:
        """Return the stored answer to exactly this question, or None."""
        entry = self.find(question, dataset=dataset)
        return None if entry is None else entry.answer

    def check(self, question: str, epsilon: float, delta: float = 0.0, *, dataset: str) -> None:
        """Raise the error that :meth:`spend` would raise now; write nothing."""
        with self._connection() as connection:
            self._price(connection, (dataset, question), epsilon, delta)

    def spend(self, question: str, epsilon: float, delta: float = 0.0, *, dataset: str) -> None:
        """Charge a question durably; charging it again costs nothing.

        Raises
        ------
        BudgetError
            If the budget is too small; nothing is written.
        LedgerError
            If the question was charged a smaller amount before, or the file cannot be used.
        """
        with self._connection() as connection:
            price = self._price(connection, (dataset, question), epsilon, delta)
            if price:
                insert = "INSERT INTO entries (time, dataset, question, units, units_delta)"
                connection.execute(
                    f"{insert} VALUES (?, ?, ?, ?, ?)", (_now(), dataset, question, *price)
                )
                connection.execute(
                    "UPDATE budget SET spent = spent + ?, spent_delta = spent_delta + ?, "
                    "charges = charges + 1",
                    price,
                )

    def draw_once(self, question: str, draw: Callable[[], str], *, dataset: str) -> Entry:
        """Return the entry of a charged question with its answer, drawn now if there is none.

        ``draw`` draws the noise and returns the answer as JSON text. It must not use the ledger,
        which is locked meanwhile, and must not show its draw. The length of the text should not
        depend on the draw, since a nearly full disk would refuse longer texts.
        """
        # The charge pays for one draw that leaves this method. The lock is held from reading the
        # entry until the draw is stored, so a second process waits and then finds the answer. If
        # draw() raises, the commit fails or the process dies, the draw is lost. Nobody has seen it,
        # so the question, still charged, may be drawn again for free.
        with locked(self.path) as alone:
            with self._transaction() as connection:
                row = _find(connection, dataset, question)
            if row is None:
                raise LedgerError(
                    f"question {safe_repr(question)}",
                    "it was never charged",
                    "call spend before draw_once",
                )
            if row.answer is None:
                unseen = _Unseen(draw)
                if not alone():
                    reason = "its lock file was deleted meanwhile, so nothing was released"
                    raise LedgerError(str(self.path), reason, "try again, which is free")
                with self._transaction() as connection:
                    # Answers are never overwritten, and must be text.
                    update = "UPDATE entries SET answer = ?1, answered_at = ?2 WHERE id = ?3"
                    update += " AND answer IS NULL AND typeof(?1) = 'text'"
                    stored = connection.execute(update, (unseen.text, _now(), row.id))
                    if stored.rowcount != 1:
                        raise LedgerError("draw", "it did not return a text", "return JSON text")
        # Read back after the commit: until then no printable object holds the draw.
        entry = self.find(question, dataset=dataset)
        if entry is None or entry.answer is None:
            raise LedgerError(str(self.path), "the file was replaced meanwhile", RESTORE)
        return entry

    def history(self) -> list[Entry]:
        """Return every charged question, oldest first."""
        with self._connection() as connection:
            rows = connection.execute(f"{SELECT} ORDER BY id").fetchall()
        return [_entry(_Row(*row)) for row in rows]

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Run one transaction on the locked ledger."""
        with locked(self.path), self._transaction() as connection:
            yield connection

    @contextmanager
    def _transaction(self, create: Units | None = None) -> Iterator[sqlite3.Connection]:
        """Run one transaction on a file that is consistent and not outdated."""
        with transaction(self.path, create) as connection:
            self._verify(connection)
            yield connection
            seen = _sums(connection)
        self._seen = seen

    def _verify(self, connection: sqlite3.Connection) -> None:
        """Refuse a file whose entries do not add up, or that had more entries before."""
        kept = connection.execute("SELECT spent, spent_delta, charges FROM budget").fetchone()
        found = _sums(connection)
        if kept is not None and kept != found:
            reason = "its charges do not add up to its recorded sum, so it was changed from outside"
            raise LedgerError(str(self.path), reason, RESTORE)
        if any(now < before for now, before in zip(found, self._seen, strict=True)):
            raise LedgerError(str(self.path), "it was replaced by an older copy", RESTORE)

    def _price(
        self, connection: sqlite3.Connection, key: tuple[str, str], epsilon: float, delta: float
    ) -> Units | None:
        """Return the units to charge, None if they are charged already, or refuse."""
        price = Units(math.ceil(_units(epsilon)), math.ceil(_units_delta(delta)))
        found = _find(connection, *key)
        if found is None:
            self._fit(connection, "epsilon", price.epsilon, UNIT)
            self._fit(connection, "delta", price.delta, UNIT_DELTA)
            return price
        if found.units < price.epsilon or found.units_delta < price.delta:
            was = _short(_up(found.units, UNIT))
            if found.units_delta or price.delta:
                was += f" and delta {_short(_up(found.units_delta, UNIT_DELTA))}"
            raise LedgerError(
                f"epsilon = {_short(epsilon)}" + (f", delta = {_short(delta)}" if delta else ""),
                f"this question was already charged {was}",
                "use that epsilon, or change the question",
            )
        return None

    def _fit(self, connection: sqlite3.Connection, which: str, price: int, unit: int) -> None:
        """Refuse a charge that exceeds the remaining budget."""
        total, spent = (getattr(amount, which) for amount in _amounts(connection))
        if price <= total - spent:
            return
        rest = format_remainder(_down(total - spent, unit), total / unit)
        remedy = f"pass at most {rest}"
        if rest == "0":
            remedy = "read earlier answers in its history, which is free"
        if which == "delta" and not total:
            remedy = with_code("pass `delta=0`, or use a ledger with a delta")
        raise BudgetError(
            f"{which} = {price / unit:.6g}",
            f"the ledger {self.path} has spent {spent / unit:.6g} of {total / unit:.6g}",
            remedy,
        )

    def __reduce__(self) -> tuple[type[Ledger], tuple[str]]:
        # Unpickle through __init__: on another machine the path may be a network drive.
        return type(self), (str(self.path),)

    def __repr__(self) -> str:
        try:
            now = self.balance()
        except LedgerError as error:
            return f"Ledger({str(self.path)!r}, unusable: {error.reason})"
        amounts = f"{format_ceil(now.spent)} of {now.total:.6g}"
        if now.total_delta:
            share = format_ceil(now.spent_delta) if now.spent_delta else "0"
            amounts += f", delta {share} of {now.total_delta:.6g}"
        return f"Ledger({str(self.path)!r}, spent {amounts})"


def is_there(path: str | os.PathLike[str]) -> bool:
    """Return whether there is a file at the place of a ledger.

    Raises
    ------
    LedgerError
        If nobody can tell: the name is too long, or a folder may not be read.
    """
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError as error:
        shown, reason = str(path)[:200], error.strerror or "it cannot be examined"
        raise LedgerError(f"ledger {shown!r}", reason, "check the name and the folder") from None
    return True


def _other_total(which: str, given: object, path: object, units: int, unit: int) -> LedgerError:
    stored = _down(units, unit)
    shown = f"{stored:.9g}"
    if math.floor(Fraction(float(shown)) * unit) != units:  # this text would be another total
        shown = repr(stored)
    return LedgerError(
        f"{which} = {_short(given)}",
        f"the ledger {path} has a total of {shown}, which cannot be changed",
        f"leave out {which}, pass exactly that total, or choose another file for another group of "
        "people",
    )


def _short(amount: object) -> str:
    """Write an amount exactly, and 1 as 1."""
    return repr(amount).removesuffix(".0")


def _units(epsilon: object) -> Fraction:
    return Fraction(_validate.epsilon(epsilon, allow_large=True)) * UNIT


def _units_delta(delta: object) -> Fraction:
    return Fraction(_validate.delta(delta)) * UNIT_DELTA


def _total(epsilon: object, delta: object) -> Units:
    """Return a total in units, rounded down; SQLite's integers have 63 bits and a sign."""
    units = math.floor(_units(epsilon))
    if not 0 < units < 2**63:
        raise ParameterError(
            f"epsilon = {epsilon!r}", "a total lies between 2**-50 and 8192", "pass another total"
        )
    share = math.floor(_units_delta(delta))
    if delta and not share:
        raise ParameterError(
            f"delta = {delta!r}", "a total delta is 0, or at least 2**-62", "pass another delta"
        )
    return Units(units, share)


def _down(units: int, unit: int) -> float:
    """Return units as a float, rounded down."""
    nearest = units / unit
    # Multiplying by a power of two and comparing a float with an integer are both exact.
    return nearest if nearest * unit <= units else math.nextafter(nearest, 0)


def _up(units: int, unit: int) -> float:
    """Return units as a float, rounded up."""
    nearest = units / unit
    return nearest if nearest * unit >= units else math.nextafter(nearest, math.inf)


def _amounts(connection: sqlite3.Connection) -> tuple[Units, Units]:
    """Return the totals and the sums of all charges; without a total, nothing can be spent."""
    total = "SELECT coalesce(sum(total), 0), coalesce(sum(total_delta), 0) FROM budget"
    return Units(*connection.execute(total).fetchone()), Units(*_sums(connection)[:2])


def _sums(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """Return the sums of all epsilons and deltas, and the number of charges."""
    sums = "SELECT coalesce(sum(units), 0), coalesce(sum(units_delta), 0), count(*) FROM entries"
    found: tuple[int, int, int] = connection.execute(sums).fetchone()
    return found


class _Row(NamedTuple):
    """An entry as it is stored."""

    id: int
    time: str
    dataset: str | None
    question: str
    units: int
    units_delta: int
    answer: str | None
    answered_at: str | None


SELECT = f"SELECT {', '.join(_Row._fields)} FROM entries"


class _Unseen:
    """A draw that is not stored yet; tracebacks with variables show only this object."""

    __slots__ = ("text",)

    def __init__(self, draw: Callable[[], str]) -> None:
        self.text = draw()


def _find(connection: sqlite3.Connection, dataset: str, question: str) -> _Row | None:
    """Return the entry of a question, or None if it was never charged."""
    for name, text in (("dataset", dataset), ("question", question)):
        # SQLite accepts no lone surrogates, which undecodable file names contain.
        if not isinstance(text, str) or not re.fullmatch("[^\ud800-\udfff]+", text):
            raise ParameterError(
                f"{name} = {safe_repr(text)}", "it is not a valid text", f"pass a text as {name}"
            )
    where = f"{SELECT} WHERE dataset = ? AND question = ?"
    found = connection.execute(where, (dataset, question)).fetchone()
    return None if found is None else _Row(*found)


def _entry(row: _Row) -> Entry:
    return Entry(
        time=row.time,
        question=row.question,
        epsilon=_up(row.units, UNIT),
        delta=_up(row.units_delta, UNIT_DELTA),
        answered=row.answer is not None,
        answer=row.answer,
        dataset=row.dataset,
        answered_at=row.answered_at,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
