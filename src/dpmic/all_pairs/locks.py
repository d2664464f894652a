"""One process at a time: a lock that dies with its process."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from dpmic import _io

__all__ = ["release", "take"]

NAME = "lock"


def take(folder: Path) -> BinaryIO:
    """Make a folder, unless it is there, and lock it until the returned file is released.

    Raises
    ------
    BlockingIOError
        If it is locked already, by this process or by another.
    """
    path = folder / NAME
    while True:
        folder.mkdir(exist_ok=True)
        try:
            file = path.open("ab")
        except FileNotFoundError:  # another process has just removed the folder
            continue
        try:
            _lock(file)
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except FileNotFoundError:
            pass  # another process has removed the lock that it held
        except BaseException:
            file.close()
            raise
        file.close()


def release(file: BinaryIO, folder: Path) -> None:
    """Give up the lock, and remove the folder if there is nothing in it."""
    if sys.platform == "win32":
        file.close()  # an open file cannot be removed there
    with suppress(OSError):
        (folder / NAME).unlink()
        folder.rmdir()
    file.close()


def _lock(file: BinaryIO) -> None:
    try:
        _io.lock(file.fileno())
    except BlockingIOError:
        raise
    except OSError:
        pass  # a file system without locks: what two processes add is then the same twice
