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
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from dpmic import _validate
from dpmic.errors import BudgetError, LedgerError, ParameterError

__all__ = ["Entry", "Ledger"]

UNIT = 2**50
"""Units in an epsilon of 1. Integers add without rounding, also inside SQL."""

TIMEOUT = 60.0
"""Seconds to wait for other transactions, which take milliseconds."""

APPLICATION, VERSION = 0x64706D69, 1  # "dpmi", and the version of the schema

SCHEMA = f"""
CREATE TABLE budget (total INTEGER NOT NULL CHECK (typeof(total) = 'integer'));
CREATE TABLE entries (id INTEGER PRIMARY KEY, time TEXT NOT NULL, question TEXT NOT NULL UNIQUE,
    units INTEGER NOT NULL CHECK (typeof(units) = 'integer' AND units > 0), answer TEXT);
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION}"""

# A commit is durable once its journal is deleted: EXTRA syncs the folder after that, and
# fullfsync makes macOS empty the drive's own cache.
SETTINGS = "PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA; PRAGMA fullfsync = ON"

NETWORK = re.compile(
    r"(fuse\.)?(9p|afs|beegfs|ceph|ceph-fuse|cifs|coda|davfs2?|gcsfuse|glusterfs|gpfs|lustre|ncpfs|nfs4?"
    r"|juicefs|rclone|s3fs|smb3|smbfs|sshfs|vboxsf|virtiofs|vmhgfs(-fuse)?)"
)
"""File systems of other machines, as Linux calls them."""

AGAIN = "then ask again: nothing was released, and asking a charged question again is free"
WRITABLE = f"make the file and its folder writable, {AGAIN}"
RESTORE = "pass another path, or restore the newest copy and charge again what it has forgotten"
REFUSALS = {
    sqlite3.SQLITE_BUSY: ("other processes kept it locked", f"wait until they are done, {AGAIN}"),
    sqlite3.SQLITE_READONLY: ("it is read-only", WRITABLE),
    sqlite3.SQLITE_CANTOPEN: ("it, or the journal beside it, cannot be opened", WRITABLE),
    sqlite3.SQLITE_FULL: ("the disk is full", f"free some space, {AGAIN}"),
    sqlite3.SQLITE_CORRUPT: ("it is damaged", RESTORE),
    sqlite3.SQLITE_NOTADB: ("it is damaged, or was never a ledger", RESTORE),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A question charged at ``time`` (ISO 8601, UTC); without an answer it is pending."""

    time: str
    question: str
    epsilon: float
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

    Amounts are exact, in units of 2**-50. A charge is rounded up and the total down: ten charges
    of the float 0.1, which lies above 1/10, do not fit into 1.0. Threads and processes may share
    a ledger; no file stays open between calls.

    Parameters
    ----------
    path : str or path-like
        The file. It is created if it is absent and ``epsilon`` is given.
    epsilon : float, optional
        The total for the group. For an existing ledger, None or the total that it has.

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

    def __init__(self, path: str | os.PathLike[str], epsilon: float | None = None) -> None:
        total = None if epsilon is None else _total(epsilon)
        self.path = _place(path)
        if total is None and not os.path.exists(self.path):
            raise LedgerError(str(self.path), "there is no such ledger", "pass epsilon to make it")
        with _transaction(self.path, create=total) as connection:
            stored, _ = _amounts(connection)
            if total not in (None, stored):
                raise LedgerError(
                    f"epsilon = {epsilon!r}",
                    f"the ledger {self.path} has a total of {_down(stored)!r}",
                    "leave epsilon out: the budget of a group is fixed once",
                )
            (state,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if state != "ok":
                raise LedgerError(str(self.path), "it is damaged", RESTORE)
            # The value stays, but it is a write: a folder that allows no journal shows now,
            # before data is read.
            connection.execute(f"PRAGMA user_version = {VERSION}")

    @property
    def total(self) -> float:
        """The budget of the group, rounded down."""
        return _down(self._read()[0])

    @property
    def spent(self) -> float:
        """The sum of all charges, rounded up."""
        return _up(self._read()[1])

    @property
    def remaining(self) -> float:
        """What is left, rounded down: a charge of this much fits."""
        total, spent = self._read()
        return _down(total - spent)

    def answer(self, question: str) -> str | None:
        """Return the stored answer to exactly this question, or None."""
        with _transaction(self.path) as connection:
            found = _find(connection, question)
        return found[1] if found else None

    def check(self, question: str, epsilon: float) -> None:
        """Raise what :meth:`spend` would raise now; nothing is written."""
        with _transaction(self.path) as connection:
            self._price(connection, question, epsilon)

    def spend(self, question: str, epsilon: float) -> None:
        """Charge a question, durably; one that was charged before costs nothing.

        Raises
        ------
        BudgetError
            If the charge does not fit; nothing is written.
        LedgerError
            If the question was charged with another epsilon, or the file cannot be used.
        """
        with _transaction(self.path) as connection:
            units = self._price(connection, question, epsilon)
            if units:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                insert = "INSERT INTO entries (time, question, units) VALUES (?, ?, ?)"
                connection.execute(insert, (now, question, units))

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
        with _transaction(self.path) as connection:
            found = _find(connection, question)
            if found is None:
                raise LedgerError(
                    f"question {question!r}", "it was never charged", "call spend before settle"
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
        with _transaction(self.path) as connection:
            select = "SELECT time, question, units, answer FROM entries ORDER BY id"
            rows = connection.execute(select).fetchall()
        return [Entry(t, name, _up(units), text is not None, text) for t, name, units, text in rows]

    def _read(self) -> tuple[int, int]:
        with _transaction(self.path) as connection:
            return _amounts(connection)

    def _price(self, connection: sqlite3.Connection, question: str, epsilon: float) -> int:
        """Return the units to charge, none if that was done before, or refuse."""
        units, (total, spent) = math.ceil(_units(epsilon)), _amounts(connection)
        charged, _ = _find(connection, question) or (0, None)
        if charged not in (0, units):
            raise LedgerError(
                f"epsilon = {epsilon!r}",
                f"this question was charged {_up(charged)!r}",
                "ask it with that epsilon, or give the question another name",
            )
        if not charged and units > total - spent:
            rest = _down(total - spent)
            raise BudgetError(
                f"epsilon = {epsilon!r}",
                f"the ledger {self.path} has spent {_up(spent)!r} of {_down(total)!r}",
                f"pass at most {rest!r}" if rest else "read answers in its history, for free",
            )
        return units - charged

    def __reduce__(self) -> tuple[type[Ledger], tuple[str]]:
        # Through __init__: on another machine the same path may be a network drive.
        return type(self), (str(self.path),)

    def __repr__(self) -> str:
        try:
            total, spent = self._read()
        except LedgerError as error:
            return f"Ledger({str(self.path)!r}, unusable: {error.reason})"
        amounts = f"{_validate.upwards(_up(spent))} of {_down(total):.6g}"
        return f"Ledger({str(self.path)!r}, spent {amounts})"


def _units(epsilon: object) -> Fraction:
    return Fraction(_validate.epsilon(epsilon, allow_large=True)) * UNIT


def _total(epsilon: object) -> int:
    """Return a total in units, rounded down; an integer of SQLite's has 63 bits and a sign."""
    units = math.floor(_units(epsilon))
    if not 0 < units < 2**63:
        raise ParameterError(
            f"epsilon = {epsilon!r}", "a ledger holds 2**-50 to 8192", "pass another total"
        )
    return units


def _down(units: int) -> float:
    """Return units as the largest epsilon that is not above them."""
    nearest = units / UNIT
    # Both exact: a product with a power of two, and comparing a float with an integer.
    return nearest if nearest * UNIT <= units else math.nextafter(nearest, 0)


def _up(units: int) -> float:
    """Return units as the smallest epsilon that is not below them."""
    nearest = units / UNIT
    return nearest if nearest * UNIT >= units else math.nextafter(nearest, math.inf)


def _place(path: str | os.PathLike[str]) -> Path:
    """Return the real path of a file that may be, or become, a ledger."""
    try:
        place = os.path.realpath(os.fsdecode(path))
    except (TypeError, ValueError):
        raise LedgerError(f"path = {path!r}", "it is not a path", "pass a file's path") from None
    folder = os.path.dirname(place)
    if os.path.isdir(place):
        raise LedgerError(place, "it is a folder", "pass the path of a file in it")
    if not os.path.isdir(folder):
        raise LedgerError(place, f"there is no folder {folder}", "make the folder first")
    if _is_remote(place, _mounts()):
        reason = "locks are unreliable on network drives, so the budget could be overspent"
        raise LedgerError(place, reason, "keep the ledger on a local disk")
    return Path(place)


def _mounts() -> str:
    """Return Linux's table of mounted file systems; elsewhere there is none."""
    try:
        return Path("/proc/self/mounts").read_text(errors="surrogateescape")
    except OSError:
        return ""


def _is_remote(place: str, mounts: str) -> bool:
    """Tell whether a real path is on another machine.

    On Windows it then begins with two backslashes, also on a drive with a letter.
    """
    longest, kind = "", ""
    for line in filter(None, mounts.split("\n")):
        _, point, here, *_ = line.split(" ")
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), point).rstrip("/")
        # Of several mounts on one point the last hides the others, hence >=.
        if f"{place}/".startswith(f"{point}/") and len(point) >= len(longest):
            longest, kind = point, here
    return place.startswith("\\\\") or NETWORK.fullmatch(kind) is not None


@contextmanager
def _transaction(path: Path, create: int | None = None) -> Iterator[sqlite3.Connection]:
    """Run one transaction on a connection of its own; any exception rolls it back.

    A connection each is safe with threads and forks. IMMEDIATE takes the write lock at once, so
    that what is read still holds when it is written. Nothing of ours may open the file by other
    means: closing it would drop the locks of this process (POSIX).
    """
    mode = "rw" if create is None else "rwc"  # a vanished ledger is not silently made anew
    try:
        # isolation_level=None: Python begins and commits nothing by itself.
        opened = sqlite3.connect(
            f"{path.as_uri()}?mode={mode}", uri=True, timeout=TIMEOUT, isolation_level=None
        )
        with closing(opened) as connection:
            connection.executescript(SETTINGS)
            connection.execute("BEGIN IMMEDIATE")
            try:
                _identify(connection, path, create)
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # SQLite may have rolled back already; if it cannot, the next opening does so.
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # higher bits are details
        reason, remedy = REFUSALS.get(code, ("it cannot be used", f"see to the disk, {AGAIN}"))
        raise LedgerError(str(path), f"{reason} ({error})", remedy) from None


def _identify(connection: sqlite3.Connection, path: Path, create: int | None) -> None:
    """Refuse what is not a ledger, after making one of an empty file if that is wished.

    The lock is held: of several processes that find no ledger, one makes it.
    """
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if create is not None and not tables:
        for statement in SCHEMA.split(";"):  # executescript would commit first
            connection.execute(statement)
        connection.execute("INSERT INTO budget VALUES (?)", (create,))
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise LedgerError(str(path), "it is not a ledger", "pass another path")
    if version != VERSION:
        reason = f"it has schema {version}, and this dpmic reads schema {VERSION}"
        raise LedgerError(str(path), reason, "use the version of dpmic that made it")


def _amounts(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the total and the sum of all charges, in units."""
    # Without a total nothing fits.
    (total,) = connection.execute("SELECT coalesce(sum(total), 0) FROM budget").fetchone()
    (spent,) = connection.execute("SELECT coalesce(sum(units), 0) FROM entries").fetchone()
    return total, spent


def _find(connection: sqlite3.Connection, question: str) -> tuple[int, str | None] | None:
    """Return the units and the answer of a question, or None if it was never charged."""
    # SQLite takes no lone surrogates, which are left over from file names and broken files.
    if not isinstance(question, str) or not re.fullmatch("[^\ud800-\udfff]+", question):
        raise ParameterError(f"question = {question!r}", "it is not a text", "name the question")
    select = "SELECT units, answer FROM entries WHERE question = ?"
    found: tuple[int, str | None] | None = connection.execute(select, (question,)).fetchone()
    return found
