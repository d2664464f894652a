"""The one SQLite file of a ledger: where it may lie, and transactions that survive crashes."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from dpmic.errors import LedgerError

__all__ = ["RESTORE", "VERSION", "place", "transaction"]

TIMEOUT = 60.0
"""Seconds to wait for other transactions, which take milliseconds."""

APPLICATION, VERSION = 0x64706D69, 2  # "dpmi", and the version of the schema

SCHEMA = f"""
CREATE TABLE budget (total INTEGER NOT NULL CHECK (typeof(total) = 'integer'),
    total_delta INTEGER NOT NULL CHECK (typeof(total_delta) = 'integer'));
CREATE TABLE entries (id INTEGER PRIMARY KEY, time TEXT NOT NULL, question TEXT NOT NULL UNIQUE,
    units INTEGER NOT NULL CHECK (typeof(units) = 'integer' AND units > 0),
    units_delta INTEGER NOT NULL CHECK (typeof(units_delta) = 'integer' AND units_delta >= 0),
    answer TEXT);
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


def place(path: str | os.PathLike[str]) -> Path:
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
def transaction(path: Path, create: tuple[int, int] | None = None) -> Iterator[sqlite3.Connection]:
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


def _identify(connection: sqlite3.Connection, path: Path, create: tuple[int, int] | None) -> None:
    """Refuse what is not a ledger, after making one of an empty file if that is wished.

    The lock is held: of several processes that find no ledger, one makes it.
    """
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if create is not None and not tables:
        for statement in SCHEMA.split(";"):  # executescript would commit first
            connection.execute(statement)
        connection.execute("INSERT INTO budget VALUES (?, ?)", create)
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise LedgerError(str(path), "it is not a ledger", "pass another path")
    if version != VERSION:
        reason = f"it has schema {version}, and this dpmic reads schema {VERSION}"
        raise LedgerError(str(path), reason, "use the version of dpmic that made it")
