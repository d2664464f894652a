"""A page to a file: whole or not at all, and refused before anything is spent."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dpmic.errors import ParameterError, safe_repr

__all__ = ["generator", "refuse_unwritable", "save"]

MARK = "<meta name='generator' content='dpmic "
EXPOSED = "not private"
NEAR = 1_000
"""Among so many characters at the top of a page stands who made it."""


def generator(version: str, *, private: bool) -> str:
    """Return the tag by which a page of ours is known, and whether everybody may read it."""
    return f"{MARK}{version}{'' if private else f', {EXPOSED}'}'>"


def save(text: str, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write a page, whole or not at all. A page that is not private is its owner's to read.

    Parameters
    ----------
    text : str
        What :func:`page` returned.
    path : str or path-like
        The file; its folder must exist.
    overwrite : bool
        Whether an earlier page may be replaced. No other file ever is.

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
    refuse_unwritable(place, overwrite=overwrite)
    beside = _beside(place)
    try:
        with open(beside, "x", encoding="utf-8", newline="\n", opener=_opener(text)) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        _put(beside, place, overwrite)
    except FileExistsError:
        raise _taken(str(path)) from None
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
        Whether an earlier page may be replaced; no other file ever is.

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
    if place.exists() and not _is_page(place):
        raise ParameterError(
            name, "this file exists, and it is no page of dpmic", "choose another name"
        )
    if place.exists() and not overwrite:
        raise _taken(name)
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
        raise ParameterError(f"path = {safe_repr(path)}", "it is no path", "pass a name") from None


def _opener(text: str) -> Callable[[str, int], int]:
    """Return what makes the file: pages that can show records are not for everybody."""
    mode = 0o600 if f", {EXPOSED}'>" in text[:NEAR] else 0o666
    return lambda name, flags: os.open(name, flags, mode)


def _put(beside: Path, place: Path, overwrite: bool) -> None:
    """Give a finished file its name; a file that has it by now stays, unless it may go."""
    if overwrite and _is_page(place):
        with suppress(OSError):  # some drives have no modes
            beside.chmod(stat.S_IMODE(place.stat().st_mode))
        os.replace(beside, place)
        return
    place.touch(exist_ok=False)  # takes the name, on any system, or raises
    try:
        os.replace(beside, place)
    except OSError:
        place.unlink()
        raise


def _is_page(place: Path) -> bool:
    """Tell whether a file is a page of ours."""
    try:
        with open(place, encoding="utf-8") as file:
            return MARK in file.read(NEAR)
    except (OSError, ValueError):  # of its characters
        return False


def _beside(place: Path) -> Path:
    """Return a name in the same folder that nobody uses, short enough for any file system."""
    return place.with_name(f".{place.name[:40]}.{secrets.token_hex(4)}.part")


def _taken(name: str) -> ParameterError:
    return ParameterError(name, "this file exists", "choose another name, or delete it")


def _unwritable(place: Path, error: OSError) -> ParameterError:
    reason = error.strerror or type(error).__name__
    return ParameterError(str(place), f"it cannot be written ({reason})", "choose another")
