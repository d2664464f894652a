"""What every kind of page is put together from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Content", "Part", "decimals", "flat", "plural"]


@dataclass(frozen=True, slots=True)
class Part:
    """A heading, and markup beneath it."""

    heading: str
    markup: str


@dataclass(frozen=True, slots=True)
class Content:
    """A page but for its frame: all texts are plain but for the markup of parts.

    Attributes
    ----------
    title : str
        What the page is called unless the caller names it.
    promise : str
        The sentences on top: the guarantee, or that there is none.
    private : bool
        Which of the two it is.
    parts : tuple of Part
        The numbers and figures.
    reading : tuple of str
        How to read them, in plain words.
    facts : dict
        All that is needed to repeat it.
    """

    title: str
    promise: str
    private: bool
    parts: tuple[Part, ...]
    reading: tuple[str, ...]
    facts: Mapping[str, str]


def decimals(value: float) -> str:
    """Write a score."""
    return f"{value:.4f}"


def plural(count: int, noun: str) -> str:
    """Write how many there are.

    Examples
    --------
    >>> plural(1, "pair"), plural(1200, "pair")
    ('1 pair', '1,200 pairs')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def flat(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Write parameters one to a line, as a person would.

    Examples
    --------
    >>> flat({"bounds": {"age": [0.0, 120.0]}, "B": 64.0, "split": {"count": 0.2}})
    {'bounds of age': '0 to 120', 'B': '64', 'split, count': '0.2'}
    """
    rows: dict[str, str] = {}
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            link = " of " if name == "bounds" else ", "
            rows |= {f"{name}{link}{inner}": _plain(v) for inner, v in value.items()}
        else:
            rows[name] = _plain(value)
    return rows


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.12g}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return (" to " if len(value) == 2 else ", ").join(map(_plain, value))
    return str(value)
