"""Pages in files: complete or not there, and refused before anything is spent."""

from __future__ import annotations

import os
from pathlib import Path

from dpmic import _io
from dpmic.errors import ParameterError, safe_repr

MARK = "<meta name='generator' content='dpmic "
EXPOSED = "not private"
NEAR = 1_000
"""The generator is named within so many characters from the top."""


def generator(version: str, *, private: bool) -> str:
    """Return the tag that marks a page of dpmic, and one that shows records."""
    return f"{MARK}{version}{'' if private else f', {EXPOSED}'}'>"


def save(text: str, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write a page, completely or not at all. Only its owner may read one that is not private.

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
        The file that was written; a link stays a link.

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
    target = _file(path)
    refuse_unwritable(target, overwrite=overwrite)
    try:
        with _io.atomic_write(
            target, mode=_mode(text), may_replace=lambda: overwrite and _is_page(target)
        ) as file:
            file.write(text.encode())
    except FileExistsError:
        raise _taken(str(path)) from None
    except OSError as error:
        raise _unwritable(target, error) from None
    return target


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
    target = _file(path)
    name = str(path)
    if target.is_dir():
        raise ParameterError(name, "this is a folder", "pass a file in it")
    if target.exists() and not target.is_file():
        raise ParameterError(name, "this is not an ordinary file", "pass a file's name")
    if target.exists() and not _is_page(target):
        raise ParameterError(
            name, "this file exists, and it is not a page of dpmic", "choose another name"
        )
    if target.exists() and not overwrite:
        raise _taken(name)
    if not target.parent.is_dir():
        raise ParameterError(name, f"there is no folder {target.parent}", "make it first")
    trial = target.with_name(_io.temporary_name(target))
    try:
        trial.touch(exist_ok=False)
        trial.unlink()
    except OSError as error:
        raise _unwritable(target, error) from None


def _file(path: str | os.PathLike[str]) -> Path:
    """Return the file that a name stands for, behind links."""
    try:
        return Path(os.path.realpath(path))
    except (TypeError, ValueError):
        raise ParameterError(
            f"path = {safe_repr(path)}", "it is not a path", "pass a name"
        ) from None


def _mode(text: str) -> int:
    """Return the mode of a page's file: others must not read records."""
    return 0o600 if f", {EXPOSED}'>" in text[:NEAR] else 0o666


def _is_page(target: Path) -> bool:
    """Return whether a file is a page of dpmic."""
    try:
        with open(target, encoding="utf-8") as file:
            return MARK in file.read(NEAR)
    except (OSError, ValueError):  # of its characters
        return False


def _taken(name: str) -> ParameterError:
    return ParameterError(name, "this file exists", "choose another name, or delete it")


def _unwritable(target: Path, error: OSError) -> ParameterError:
    reason = error.strerror or type(error).__name__
    return ParameterError(str(target), f"it cannot be written ({reason})", "choose another")
