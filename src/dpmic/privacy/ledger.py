"""The privacy budget of a group of people, in one SQLite file that survives crashes.

A release asks, in this order: :meth:`Ledger.answer` (is there an answer?) and
:meth:`Ledger.check` (would it fit?) before data is read, :meth:`Ledger.spend` before noise is
drawn, and :meth:`Ledger.settle`, which draws it and keeps the answer.
"""

from __future__ import annotations

import math
import os
import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import NamedTuple

from dpmic import _validate
from dpmic.errors import BudgetError, LedgerError, ParameterError, shown
from dpmic.privacy.ledger_file import RESTORE, VERSION, place, transaction

__all__ = ["Entry", "Ledger"]

UNIT, UNIT_DELTA = 2**50, 2**62
"""Units in an epsilon and in a delta of 1. Integers add without rounding, also inside SQL."""


LEAST_REST = 1e-6
"""What is left after charges that filled a total, of which each is rounded, is nothing to spend."""


class Units(NamedTuple):
    """An amount, or several, of epsilon and delta."""

    epsilon: int
    delta: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A question charged at ``time`` (ISO 8601, UTC); without an answer it is pending."""

    time: str
    question: str
    epsilon: float
    delta: float
    answered: bool
    answer: str | None


class Ledger:
    """The privacy budget of a group of people: what was asked about them, and the answers.

    A ledger belongs to people, not to a file of data: losses add up over everything that is
    ever published about a person, so corrected or appended data about the same people spends
    from the same ledger. Questions are keyed by the names that the caller gives them, never by
    a hash of the data, which would itself tell something about the data.

    The file is the only memory: an older copy put in its place has forgotten the spends since,
    and a deleted one all of them. It needs a local disk (locks are unreliable on network drives,
    which are recognised on Linux and Windows) and a single name, so no hard links.

    Amounts are exact, in units of 2**-50 (2**-62 for delta). A charge is rounded up and the total
    down: ten charges of the float 0.1, which lies above 1/10, do not fit into 1.0. Epsilons add
    up, and so do deltas (basic composition). Threads and processes may share a ledger; no file
    stays open between calls.

    Parameters
    ----------
    path : str or path-like
        The file. It is created if it is absent and ``epsilon`` is given.
    epsilon : float, optional
        The total for the group. For an existing ledger, None or the total that it has.
    delta : float, optional
        The total of the deltas, for releases that have one; 0 for a new ledger if it is not given.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(f"{folder.name}/patients.ledger", epsilon=3.0)
    >>> ledger.spend("micr-laplace of age and weight", 0.5)
    >>> ledger.settle("micr-laplace of age and weight", lambda: '{"value": 0.31}')
    '{"value": 0.31}'
    >>> ledger.settle("micr-laplace of age and weight", lambda: "another draw")
    '{"value": 0.31}'
    >>> ledger.remaining
    2.5
    >>> folder.cleanup()
    """

    __slots__ = ("path",)

    def __init__(
        self,
        path: str | os.PathLike[str],
        epsilon: float | None = None,
        delta: float | None = None,
    ) -> None:
        total = None if epsilon is None else _total(epsilon, delta or 0.0)
        self.path = place(path)
        if total is None and not os.path.exists(self.path):
            raise LedgerError(str(self.path), "there is no such ledger", "pass epsilon to make it")
        with transaction(self.path, create=total) as connection:
            stored, _ = _amounts(connection)
            if total and total.epsilon != stored.epsilon:
                raise _other_total("epsilon", epsilon, self.path, _down(stored.epsilon, UNIT))
            if delta is not None and _units_delta(delta) // 1 != stored.delta:
                raise _other_total("delta", delta, self.path, _down(stored.delta, UNIT_DELTA))
            (state,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if state != "ok":
                raise LedgerError(str(self.path), "it is damaged", RESTORE)
            # The value stays, but it is a write: a folder that allows no journal shows now,
            # before data is read.
            connection.execute(f"PRAGMA user_version = {VERSION}")

    @property
    def total(self) -> float:
        """The epsilon of the group, rounded down."""
        return _down(self._read()[0].epsilon, UNIT)

    @property
    def spent(self) -> float:
        """The sum of all epsilons, rounded up."""
        return _up(self._read()[1].epsilon, UNIT)

    @property
    def remaining(self) -> float:
        """What is left of epsilon, rounded down: a charge of this much fits."""
        total, spent = self._read()
        return _down(total.epsilon - spent.epsilon, UNIT)

    @property
    def total_delta(self) -> float:
        """The delta of the group, rounded down."""
        return _down(self._read()[0].delta, UNIT_DELTA)

    @property
    def spent_delta(self) -> float:
        """The sum of all deltas, rounded up."""
        return _up(self._read()[1].delta, UNIT_DELTA)

    @property
    def remaining_delta(self) -> float:
        """What is left of delta, rounded down."""
        total, spent = self._read()
        return _down(total.delta - spent.delta, UNIT_DELTA)

    def answer(self, question: str) -> str | None:
        """Return the stored answer to exactly this question, or None."""
        with transaction(self.path) as connection:
            found = _find(connection, question)
        return found[1] if found else None

    def check(self, question: str, epsilon: float, delta: float = 0.0) -> None:
        """Raise what :meth:`spend` would raise now; nothing is written."""
        with transaction(self.path) as connection:
            self._price(connection, question, epsilon, delta)

    def spend(self, question: str, epsilon: float, delta: float = 0.0) -> None:
        """Charge a question, durably; one that was charged before costs nothing.

        Raises
        ------
        BudgetError
            If the charge does not fit; nothing is written.
        LedgerError
            If the question was charged with another loss, or the file cannot be used.
        """
        with transaction(self.path) as connection:
            price = self._price(connection, question, epsilon, delta)
            if price:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                insert = "INSERT INTO entries (time, question, units, units_delta)"
                connection.execute(f"{insert} VALUES (?, ?, ?, ?)", (now, question, *price))

    def settle(self, question: str, draw: Callable[[], str]) -> str:
        """Return the one answer to a charged question, drawing it if there is none yet.

        ``draw`` draws the noise and returns the answer, a JSON text. It must not use the ledger,
        which is locked meanwhile, nor show its draw to anybody; the length of the text should not
        depend on the draw, since a disk that is nearly full refuses the longer ones.
        """
        # The charge pays for one draw that leaves this method. It is drawn inside the transaction
        # that stores it, so that a second process waits for the lock and then finds the answer.
        # If draw() raises, the commit fails or the process dies, the transaction rolls back and
        # its draw is gone. Nobody has seen that one, so the question, still charged, may be drawn
        # again for free.
        with transaction(self.path) as connection:
            found = _find(connection, question)
            if found is None:
                raise LedgerError(
                    f"question {shown(question)}",
                    "it was never charged",
                    "call spend before settle",
                )
            if found[1] is None:
                # Answers are never overwritten, and what is not a text is none.
                update = "UPDATE entries SET answer = ?1 WHERE question = ?2 AND answer IS NULL"
                update += " AND typeof(?1) = 'text'"
                if connection.execute(update, (draw(), question)).rowcount != 1:
                    raise LedgerError("draw", "it returned no text", "return a JSON text")
        # Read back only after the commit: until then no variable holds the draw, which
        # a traceback that prints variables would release.
        text = self.answer(question)
        if text is None:
            raise LedgerError(str(self.path), "another file took its place just now", RESTORE)
        return text

    def history(self) -> list[Entry]:
        """Return every charged question, the oldest first."""
        with transaction(self.path) as connection:
            select = "SELECT time, question, units, units_delta, answer FROM entries ORDER BY id"
            rows = connection.execute(select).fetchall()
        return [
            Entry(time, name, _up(loss, UNIT), _up(delta, UNIT_DELTA), text is not None, text)
            for time, name, loss, delta, text in rows
        ]

    def _read(self) -> tuple[Units, Units]:
        with transaction(self.path) as connection:
            return _amounts(connection)

    def _price(
        self, connection: sqlite3.Connection, question: str, epsilon: float, delta: float
    ) -> Units | None:
        """Return the units to charge, None if that was done before, or refuse."""
        price = Units(math.ceil(_units(epsilon)), math.ceil(_units_delta(delta)))
        found = _find(connection, question)
        if found is None:
            self._fit(connection, "epsilon", price.epsilon, UNIT)
            self._fit(connection, "delta", price.delta, UNIT_DELTA)
            return price
        if found[0] != price:
            was = f"{_up(found[0].epsilon, UNIT)!r}"
            if found[0].delta or price.delta:
                was += f" and delta {_up(found[0].delta, UNIT_DELTA)!r}"
            raise LedgerError(
                f"epsilon = {epsilon!r}" + (f", delta = {delta!r}" if delta else ""),
                f"this question was charged {was}",
                "ask it with that epsilon, or give the question another name",
            )
        return None

    def _fit(self, connection: sqlite3.Connection, which: str, price: int, unit: int) -> None:
        """Refuse a charge that does not fit into what is left."""
        total, spent = (getattr(amount, which) for amount in _amounts(connection))
        if price <= total - spent:
            return
        rest = (total - spent) / unit
        remedy = "read answers in its history, for free"
        if rest > LEAST_REST * total / unit:
            remedy = f"pass at most {_validate.downwards(rest)}"
        if which == "delta" and not total:
            remedy = "pass delta=0, or make a ledger with a delta"
        raise BudgetError(
            f"{which} = {price / unit:.6g}",
            f"the ledger {self.path} has spent {spent / unit:.6g} of {total / unit:.6g}",
            remedy,
        )

    def __reduce__(self) -> tuple[type[Ledger], tuple[str]]:
        # Through __init__: on another machine the same path may be a network drive.
        return type(self), (str(self.path),)

    def __repr__(self) -> str:
        try:
            total, spent = self._read()
        except LedgerError as error:
            return f"Ledger({str(self.path)!r}, unusable: {error.reason})"
        amounts = (
            f"{_validate.upwards(_up(spent.epsilon, UNIT))} of {_down(total.epsilon, UNIT):.6g}"
        )
        if total.delta:
            share = _validate.upwards(_up(spent.delta, UNIT_DELTA)) if spent.delta else "0"
            amounts += f", delta {share} of {_down(total.delta, UNIT_DELTA):.6g}"
        return f"Ledger({str(self.path)!r}, spent {amounts})"


def _other_total(which: str, asked: object, path: object, stored: float) -> LedgerError:
    return LedgerError(
        f"{which} = {asked!r}",
        f"the ledger {path} has a total of {stored!r}",
        f"leave {which} out: the budget of a group is fixed once",
    )


def _units(epsilon: object) -> Fraction:
    return Fraction(_validate.epsilon(epsilon, allow_large=True)) * UNIT


def _units_delta(delta: object) -> Fraction:
    return Fraction(_validate.delta(delta)) * UNIT_DELTA


def _total(epsilon: object, delta: object) -> Units:
    """Return a total in units, rounded down; an integer of SQLite's has 63 bits and a sign."""
    units = math.floor(_units(epsilon))
    if not 0 < units < 2**63:
        raise ParameterError(
            f"epsilon = {epsilon!r}", "a ledger holds 2**-50 to 8192", "pass another total"
        )
    share = math.floor(_units_delta(delta))
    if delta and not share:
        raise ParameterError(
            f"delta = {delta!r}", "a ledger holds 0, or 2**-62 and more", "pass another delta"
        )
    return Units(units, share)


def _down(units: int, unit: int) -> float:
    """Return units as the largest number that is not above them."""
    nearest = units / unit
    # Both exact: a product with a power of two, and comparing a float with an integer.
    return nearest if nearest * unit <= units else math.nextafter(nearest, 0)


def _up(units: int, unit: int) -> float:
    """Return units as the smallest number that is not below them."""
    nearest = units / unit
    return nearest if nearest * unit >= units else math.nextafter(nearest, math.inf)


def _amounts(connection: sqlite3.Connection) -> tuple[Units, Units]:
    """Return the totals and the sums of all charges."""
    # Without a total nothing fits.
    total = "SELECT coalesce(sum(total), 0), coalesce(sum(total_delta), 0) FROM budget"
    spent = "SELECT coalesce(sum(units), 0), coalesce(sum(units_delta), 0) FROM entries"
    return Units(*connection.execute(total).fetchone()), Units(
        *connection.execute(spent).fetchone()
    )


def _find(connection: sqlite3.Connection, question: str) -> tuple[Units, str | None] | None:
    """Return the units and the answer of a question, or None if it was never charged."""
    # SQLite takes no lone surrogates, which are left over from file names and broken files.
    if not isinstance(question, str) or not re.fullmatch("[^\ud800-\udfff]+", question):
        raise ParameterError(
            f"question = {shown(question)}", "it is not a text", "name the question"
        )
    select = "SELECT units, units_delta, answer FROM entries WHERE question = ?"
    found: tuple[int, int, str | None] | None = connection.execute(select, (question,)).fetchone()
    return found and (Units(*found[:2]), found[2])
