"""Files shared by several processes: locks that end with their process, and atomic writes."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

LOCK = "lock"
"""The file that is locked in place of its folder."""


@contextmanager
def atomic_write(
    target: Path,
    *,
    folder: Path | None = None,
    mode: int = 0o666,
    may_replace: Callable[[], bool] = lambda: True,
) -> Iterator[BinaryIO]:
    """Write a file completely or not at all.

    The bytes go to a temporary file, which is flushed to disk and then renamed. If anything fails,
    even by Ctrl-C, the target stays as it was and the temporary file is removed.

    Parameters
    ----------
    target : Path
        The file to write. If it exists, its mode is kept.
    folder : Path, optional
        The folder of the temporary file, on the same file system; by default that of the target.
    mode : int
        The mode of a new file, before the umask.
    may_replace : callable
        Called just before the renaming. If it returns False, an existing file is kept.

    Raises
    ------
    FileExistsError
        If the file exists and may not be replaced.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "numbers.txt"
    ...     with atomic_write(target) as file:
    ...         _ = file.write(b"1 2 3")
    ...     target.read_text()
    '1 2 3'
    """
    temporary = (folder or target.parent) / temporary_name(target)
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if may_replace():
            _keep_mode(temporary, target)
            os.replace(temporary, target)
        else:
            _put_once(temporary, target)
        _sync(target.parent)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def temporary_name(target: Path) -> str:
    """Return an unused name, short enough for any file system."""
    return f".{target.name[:40]}.{secrets.token_hex(4)}.tmp"


def _keep_mode(temporary: Path, target: Path) -> None:
    with suppress(OSError):  # the file is new, or the drive has no modes
        temporary.chmod(stat.S_IMODE(target.stat().st_mode))


def _put_once(temporary: Path, target: Path) -> None:
    """Rename a file, but never over an existing one."""
    target.touch(exist_ok=False)  # reserves the name on any system, or raises
    try:
        os.replace(temporary, target)
    except OSError:
        target.unlink()
        raise


def _sync(folder: Path) -> None:
    """Flush a new name to disk, on systems that can open folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def lock_folder(folder: Path) -> BinaryIO:
    """Make a folder if needed, and lock it until :func:`unlock_folder`.

    On a file system without locks it stays unlocked: two processes then do the same work twice.

    Raises
    ------
    BlockingIOError
        If this process or another has locked it already.
    """
    path = folder / LOCK
    while True:
        folder.mkdir(exist_ok=True)
        try:
            file = path.open("ab")
        except FileNotFoundError:  # another process has just removed the folder
            continue
        try:
            _lock_if_possible(file)
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except FileNotFoundError:
            pass  # another process has removed the lock that it held
        except BaseException:
            file.close()
            raise
        file.close()


def unlock_folder(file: BinaryIO, folder: Path) -> None:
    """Release the lock, and remove the folder if it is empty."""
    if sys.platform == "win32":
        file.close()  # Windows cannot remove an open file
    with suppress(OSError):
        (folder / LOCK).unlink()
        folder.rmdir()
    file.close()


def _lock_if_possible(file: BinaryIO) -> None:
    try:
        lock(file.fileno())
    except BlockingIOError:
        raise
    except OSError:
        pass  # this file system has no locks


def lock(descriptor: int) -> None:
    """Lock an open file for this descriptor only.

    On POSIX systems this uses ``flock``. Unlike the record locks of ``fcntl``, such a lock
    survives when the same process opens and closes the file elsewhere.

    Raises
    ------
    BlockingIOError
        If this process or another has locked it already.
    OSError
        If the file system has no locks.
    """
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            raise BlockingIOError from None
        return
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def unlock(descriptor: int) -> None:
    """Release a lock, even if a forked child has inherited the descriptor."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        return
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_UN)
