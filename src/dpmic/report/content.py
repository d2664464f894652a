"""What every kind of page is put together from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Content", "Part", "decimals", "plural"]


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
