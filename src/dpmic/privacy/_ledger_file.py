"""The SQLite file of a ledger: where it may be, and transactions that survive crashes."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from dpmic import _io
from dpmic.errors import LedgerError

TIMEOUT = 60.0
"""Seconds to wait for other processes, which lock a ledger for milliseconds."""

_patience: ContextVar[float] = ContextVar("patience", default=TIMEOUT)

PAUSE = 0.005
"""Seconds between two attempts to lock."""

APPLICATION, VERSION = 0x64706D69, 3  # "dpmi", and the version of the schema
MAGIC = b"SQLite format 3\0"

# budget.spent, spent_delta and charges repeat the sums over the entries: a difference between the
# two shows that a page was overwritten from outside.
SCHEMA = """
CREATE TABLE budget (total INTEGER NOT NULL CHECK (typeof(total) = 'integer'),
    total_delta INTEGER NOT NULL CHECK (typeof(total_delta) = 'integer'),
    spent INTEGER NOT NULL CHECK (typeof(spent) = 'integer'),
    spent_delta INTEGER NOT NULL CHECK (typeof(spent_delta) = 'integer'),
    charges INTEGER NOT NULL CHECK (typeof(charges) = 'integer'));
CREATE TABLE entries (id INTEGER PRIMARY KEY, time TEXT NOT NULL, question TEXT NOT NULL,
    units INTEGER NOT NULL CHECK (typeof(units) = 'integer' AND units > 0),
    units_delta INTEGER NOT NULL CHECK (typeof(units_delta) = 'integer' AND units_delta >= 0),
    answer TEXT, dataset TEXT, answered_at TEXT, UNIQUE (dataset, question))"""

# Schema 2 had no datasets. Its entries get none, so that they count as spent but are not replayed.
UPGRADE = f"""
ALTER TABLE budget RENAME TO budget2;
ALTER TABLE entries RENAME TO entries2;
{SCHEMA};
INSERT INTO budget SELECT total, total_delta,
    (SELECT coalesce(sum(units), 0) FROM entries2),
    (SELECT coalesce(sum(units_delta), 0) FROM entries2),
    (SELECT count(*) FROM entries2) FROM budget2;
INSERT INTO entries SELECT id, time, question, units, units_delta, answer, NULL, NULL
    FROM entries2;
DROP TABLE budget2;
DROP TABLE entries2"""

# A commit is durable once its journal is deleted: EXTRA then syncs the folder, and fullfsync makes
# macOS flush the cache of the drive.
SETTINGS = "PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA; PRAGMA fullfsync = ON"

NETWORK = re.compile(
    r"(fuse\.)?(9p|afs|beegfs|ceph|ceph-fuse|cifs|coda|davfs2?|gcsfuse|glusterfs|gpfs|lustre|ncpfs|nfs4?"
    r"|juicefs|rclone|s3fs|smb3|smbfs|sshfs|vboxsf|virtiofs|vmhgfs(-fuse)?)"
)
"""Network file systems, by their Linux names."""

AGAIN = "then try again: nothing was released, and a query that was charged is not charged again"
WRITABLE = f"make the file and its folder writable, {AGAIN}"
RESTORE = "pass another path, or restore the newest backup and charge what it lacks again"
REFUSALS = {
    sqlite3.SQLITE_BUSY: ("another process keeps it locked", f"wait until it is done, {AGAIN}"),
    sqlite3.SQLITE_READONLY: ("it is read-only", WRITABLE),
    sqlite3.SQLITE_CANTOPEN: ("it or its journal cannot be opened", WRITABLE),
    sqlite3.SQLITE_FULL: ("the disk is full", f"free some space, {AGAIN}"),
    sqlite3.SQLITE_ERROR: ("it does not have the tables of a ledger", RESTORE),
    sqlite3.SQLITE_CORRUPT: ("it is damaged", RESTORE),
    sqlite3.SQLITE_NOTADB: ("it is damaged or not a ledger", RESTORE),
}


def place(path: str | os.PathLike[str]) -> Path:
    """Return the real path of a file that is, or may become, a ledger."""
    try:
        place = os.path.realpath(os.fsdecode(path))
    except (TypeError, ValueError):
        raise LedgerError(f"path = {path!r}", "it is not a path", "pass a file's path") from None
    folder = os.path.dirname(place)
    if os.path.isdir(place):
        raise LedgerError(place, "it is a folder", "pass the path of a file in it")
    if not os.path.isdir(folder):
        raise LedgerError(place, f"there is no folder {folder}", "make the folder first")
    if os.path.isfile(place) and os.stat(place).st_nlink > 1:
        reason = "it has a hard link, a second name under which it could be overspent"
        raise LedgerError(place, reason, "remove one of the two names")
    if os.path.exists(place) and not _may_be_ledger(place):
        raise LedgerError(place, "it is not a ledger", "pass another path")
    if _is_remote(place, _mounts()):
        reason = "locks are unreliable on network drives, so the budget could be overspent"
        raise LedgerError(place, reason, "keep the ledger on a local disk")
    return Path(place)


def _may_be_ledger(place: str) -> bool:
    """Return whether a file begins like a ledger; anything else must not be opened by SQLite.

    Opening a database can change it, if another program has begun a transaction or keeps a log.
    """
    if not os.path.isfile(place):
        return False
    try:
        with _in_transaction, open(place, "rb") as file:  # closing it releases SQLite's locks
            begun = file.read(100)
    except OSError:  # SQLite says why
        return True
    if not any(begun):
        return True  # to become a ledger, or its creation was interrupted
    return begun.startswith(MAGIC) and begun[68:72] == APPLICATION.to_bytes(4, "big")


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Wait less than a minute for a ledger that another process keeps locked."""
    token = _patience.set(seconds)
    try:
        yield
    finally:
        _patience.reset(token)


def _mounts() -> str:
    """Return the table of mounted file systems on Linux, and nothing elsewhere."""
    try:
        return Path("/proc/self/mounts").read_text(errors="surrogateescape")
    except OSError:
        return ""


def _is_remote(place: str, mounts: str) -> bool:
    """Return whether a real path is on a network drive.

    On Windows such a path begins with two backslashes, even on a drive with a letter.
    """
    longest, kind = "", ""
    for line in filter(None, mounts.split("\n")):
        _, point, here, *_ = line.split(" ")
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), point).rstrip("/")
        # The last of several mounts on one point hides the others, hence >=.
        if f"{place}/".startswith(f"{point}/") and len(point) >= len(longest):
            longest, kind = point, here
    return place.startswith("\\\\") or NETWORK.fullmatch(kind) is not None


# A forked child must inherit neither an open SQLite connection, whose locks it would believe its
# own, nor the descriptor of a lock, which it would hold after its parent's death.
_in_transaction = threading.RLock()
_open_locks: set[int] = set()


def _after_fork_in_child() -> None:
    for descriptor in _open_locks:
        os.close(descriptor)
    _open_locks.clear()
    _in_transaction.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_in_transaction.acquire,
        after_in_parent=_in_transaction.release,
        after_in_child=_after_fork_in_child,
    )


@contextmanager
def locked(path: Path) -> Iterator[Callable[[], bool]]:
    """Reserve a ledger for this thread, by a lock on a file beside it.

    SQLite uses POSIX record locks, which anything that opens and closes the ledger in this process
    (such as a backup) releases. This lock survives that. The yielded function returns whether the
    lock still excludes others, that is, whether its file still exists.
    """
    beside, descriptor = f"{path}.lock", _locked_file(path)
    try:
        yield lambda: _is_file(descriptor, beside)
    finally:
        _io.unlock(descriptor)
        _close(descriptor)


def _locked_file(path: Path) -> int:
    """Open and lock the lock file of a ledger."""
    end = time.monotonic() + min(TIMEOUT, _patience.get())
    while True:
        descriptor = _lock_file(path)
        try:
            _wait(descriptor, path, end)
            if _is_file(descriptor, f"{path}.lock"):
                return descriptor
        except BaseException:
            _close(descriptor)
            raise
        _close(descriptor)  # deleted meanwhile: others lock the new file


def _lock_file(path: Path) -> int:
    """Open the lock file, with the permissions of the ledger. It is never deleted."""
    beside = f"{path}.lock"
    flags = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        with _in_transaction:  # no fork before the descriptor is noted
            try:
                descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | flags, 0o600)
            except PermissionError:  # another owner: it can still be locked
                descriptor = os.open(beside, os.O_RDONLY | flags)
            _open_locks.add(descriptor)
    except OSError as error:
        reason = f"its lock file {beside} cannot be opened ({error.strerror})"
        remedy = f"let every user of the ledger read and write that file, {AGAIN}"
        raise LedgerError(str(path), reason, remedy) from None
    with suppress(OSError, AttributeError):  # another owner, no ledger yet, or no modes
        os.fchmod(descriptor, stat.S_IMODE(os.stat(path).st_mode))
    return descriptor


def _close(descriptor: int) -> None:
    _open_locks.discard(descriptor)
    os.close(descriptor)


def _is_file(descriptor: int, path: str) -> bool:
    """Return whether an open file still has its name."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _wait(descriptor: int, path: Path, end: float) -> None:
    """Lock the open file, or give up when the time is over."""
    while True:
        try:
            return _io.lock(descriptor)
        except BlockingIOError:
            if time.monotonic() > end:
                raise LedgerError(str(path), *REFUSALS[sqlite3.SQLITE_BUSY]) from None
        except OSError as error:
            reason = f"its folder does not support file locks ({error.strerror})"
            raise LedgerError(str(path), reason, "keep the ledger on a local disk") from None
        time.sleep(PAUSE)


@contextmanager
def transaction(path: Path, create: tuple[int, int] | None = None) -> Iterator[sqlite3.Connection]:
    """Run one transaction, inside :func:`locked`; any exception rolls it back.

    One connection per transaction is safe with threads, and a fork waits for its end. IMMEDIATE
    also takes SQLite's write lock, for programs that know only that one.
    """
    mode = "rw" if create is None else "rwc"  # a deleted ledger is not silently recreated
    waiting = min(TIMEOUT, _patience.get())
    try:
        if create is not None:
            _make_private(path)
        with (
            _in_transaction,
            # isolation_level=None: Python itself begins and commits nothing.
            closing(
                sqlite3.connect(
                    f"{path.as_uri()}?mode={mode}", uri=True, timeout=waiting, isolation_level=None
                )
            ) as connection,
        ):
            connection.executescript(SETTINGS)
            connection.execute("BEGIN IMMEDIATE")
            try:
                _identify(connection, path, create)
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # SQLite may have rolled back already; if it failed, the next opening does it.
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # higher bits are details
        reason, remedy = REFUSALS.get(code, ("it cannot be used", f"check the disk, {AGAIN}"))
        raise LedgerError(str(path), f"{reason} ({error})", remedy) from None


def _make_private(path: Path) -> None:
    """Make an empty file that only its owner can read, unless there is one."""
    with suppress(OSError):  # SQLite says why
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _identify(connection: sqlite3.Connection, path: Path, create: tuple[int, int] | None) -> None:
    """Refuse a file that is not a ledger; with ``create``, turn an empty file into one.

    The lock is held, so only one of several processes creates the ledger.
    """
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if create is not None and not tables:
        _run(connection, SCHEMA)
        connection.execute("INSERT INTO budget VALUES (?, ?, 0, 0, 0)", create)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise LedgerError(str(path), "it is not a ledger", "pass another path")
    if version == 2:
        _run(connection, UPGRADE)
    elif tables and version != VERSION:
        reason = f"it has schema {version}, but this version of dpmic reads schema {VERSION}"
        raise LedgerError(str(path), reason, "use the version of dpmic that created it")
    if version != VERSION:
        connection.execute(f"PRAGMA user_version = {VERSION}")


def _run(connection: sqlite3.Connection, statements: str) -> None:
    for statement in statements.split(";"):  # executescript would commit first
        connection.execute(statement)
