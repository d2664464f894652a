"""A page to a file: whole or not at all, and refused before anything is spent."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from dpmic.errors import ParameterError, shown

__all__ = ["refuse_unwritable", "save"]


def save(text: str, path: str | os.PathLike[str]) -> Path:
    """Write a page. A file of that name is replaced in one step, or stays as it was.

    Parameters
    ----------
    text : str
        What :func:`page` returned.
    path : str or path-like
        The file; its folder must exist.

    Returns
    -------
    Path
        Where it stands.

    Raises
    ------
    ParameterError
        If it cannot be written; nothing is left behind.

    Examples
    --------
    >>> import dpmic, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     score = dpmic.mice([1, 2, 3, 4, 5], [2, 1, 4, 3, 5])
    ...     dpmic.report.save(dpmic.report.page(score), f"{folder}/report.html").name
    'report.html'
    """
    place = _file(path)
    refuse_unwritable(place, overwrite=True)
    beside = _beside(place)
    try:
        with open(beside, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, place)
    except OSError as error:
        raise _unwritable(place, error) from None
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
    return place


def refuse_unwritable(path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Raise unless a page could be saved there now; for use before anything is spent.

    Parameters
    ----------
    path : str or path-like
        The file.
    overwrite : bool
        Whether a file that is there may be replaced.

    Raises
    ------
    ParameterError
        If the name is taken, is that of a folder or a device, or its folder takes no file.
    """
    place = _file(path)
    name = str(path)
    if place.is_dir():
        raise ParameterError(name, "this is a folder", "pass a file in it")
    if place.exists() and not place.is_file():
        raise ParameterError(name, "this is no ordinary file", "pass a file's name")
    if place.exists() and not overwrite:
        raise ParameterError(name, "this file exists", "choose another name, or delete it")
    if not place.parent.is_dir():
        raise ParameterError(name, f"there is no folder {place.parent}", "make it first")
    beside = _beside(place)
    try:
        beside.touch(exist_ok=False)
        beside.unlink()
    except OSError as error:
        raise _unwritable(place, error) from None


def _file(path: str | os.PathLike[str]) -> Path:
    """Return the file that a name stands for, behind links."""
    try:
        return Path(os.path.realpath(path))
    except (TypeError, ValueError):
        raise ParameterError(f"path = {shown(path)}", "it is no path", "pass a name") from None


def _beside(place: Path) -> Path:
    """Return a name in the same folder that nobody uses, short enough for any file system."""
    return place.with_name(f".{place.name[:40]}.{secrets.token_hex(4)}.part")


def _unwritable(place: Path, error: OSError) -> ParameterError:
    reason = error.strerror or type(error).__name__
    return ParameterError(str(place), f"it cannot be written ({reason})", "choose another")
