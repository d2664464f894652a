"""Locks on files that die with their process."""

from __future__ import annotations

import sys

__all__ = ["lock", "unlock"]


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
