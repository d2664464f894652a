"""Files that several processes use: locks that end with their process, and atomic writes."""

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
"""The file in a folder that stands for the folder."""


@contextmanager
def atomic_write(
    target: Path,
    *,
    folder: Path | None = None,
    mode: int = 0o666,
    may_replace: Callable[[], bool] = lambda: True,
) -> Iterator[BinaryIO]:
    """Write a file completely or not at all.

    The bytes go to a temporary file, then to the disk, and only then get their name. When anything
    fails, Ctrl-C included, the target is as it was and the temporary file is removed.

    Parameters
    ----------
    target : Path
        The file. One that is replaced hands on its mode.
    folder : Path, optional
        Where the temporary file is, on the same file system; by default beside the target.
    mode : int
        The mode of a new file, less the umask.
    may_replace : callable
        Called last. Where it returns False, a file that has the name by then stays.

    Raises
    ------
    FileExistsError
        If the name is taken and may not be replaced.
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
    with suppress(OSError):  # there is no such file, or the drive has no modes
        temporary.chmod(stat.S_IMODE(target.stat().st_mode))


def _put_once(temporary: Path, target: Path) -> None:
    """Rename a file to a name that nobody has taken."""
    target.touch(exist_ok=False)  # takes the name, on any system, or raises
    try:
        os.replace(temporary, target)
    except OSError:
        target.unlink()
        raise


def _sync(folder: Path) -> None:
    """Bring a new name to the disk, where folders can be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def lock_folder(folder: Path) -> BinaryIO:
    """Make a folder if there is none, and lock it until :func:`unlock_folder`.

    A file system without locks is used without: what two processes then add is the same twice.

    Raises
    ------
    BlockingIOError
        If it is locked already, by this process or by another.
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
    """Give up the lock, and remove the folder if it is empty."""
    if sys.platform == "win32":
        file.close()  # an open file cannot be removed there
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
        pass  # no locks here


def lock(descriptor: int) -> None:
    """Lock an open file for this descriptor alone.

    On POSIX systems by ``flock``: unlike the record locks of ``fcntl``, it is not dropped when the
    same process opens and closes the file elsewhere.

    Raises
    ------
    BlockingIOError
        If it is locked already, by this process or by another.
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
    """Release a lock, also where a forked child has inherited the descriptor."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        return
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_UN)
