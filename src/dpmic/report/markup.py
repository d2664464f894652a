"""The pieces of a page. Every text is escaped here, since anybody may have named the columns."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from dpmic._format import visible


@dataclass(frozen=True, slots=True)
class Part:
    """A heading, and markup beneath it; ``kind`` is a class of the style sheet."""

    heading: str
    markup: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Content:
    """What a page shows of one kind of result. Texts are plain, except the markup of parts.

    Attributes
    ----------
    title : str
        What the page is called unless the caller names it.
    parts : tuple of Part
        The numbers and figures.
    reading : tuple of str
        How to read them, in plain words.
    """

    title: str
    parts: tuple[Part, ...]
    reading: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its heading, and how its cells are aligned and sorted."""

    name: str
    numeric: bool = True
    order: str | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its markup, and the number it is sorted by; without one it goes last."""

    markup: str
    number: float | None = None


def decimals(value: float) -> str:
    """Write a score."""
    return f"{value:.4f}"


def text(words: str) -> str:
    r"""Escape a text, and write characters that nobody sees as Python would.

    Examples
    --------
    >>> text("<b>&\u202e")
    '&lt;b&gt;&amp;\\u202e'
    """
    return escape(visible(words))


def shorten(name: str, longest: int) -> str:
    """Cut a name to a width in characters, of which those of Chinese and others take two."""
    seen = visible(name)
    room = longest
    for place, letter in enumerate(seen):
        room -= 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if room < 0:
            return f"{seen[: max(place - 1, 1)]}\u2026"
    return seen


def pair(first: str, second: str) -> str:
    """Return two columns' names; neither can change the direction of what follows."""
    one, other = (f"<bdi>{text(name).replace('_', '_<wbr>')}</bdi>" for name in (first, second))
    return f"{one} <span class='and'>and</span> {other}"


def paragraphs(*sentences: str) -> str:
    """Return paragraphs of plain text."""
    return "".join(f"<p>{text(words)}</p>" for words in sentences)


def facts(rows: Mapping[str, str]) -> str:
    """Return names and what they are, as a list of two columns."""
    return f"<dl class='facts'>{_terms(rows)}</dl>"


def cards(rows: Mapping[str, str]) -> str:
    """Return a few numbers that are to be seen first."""
    return f"<dl class='cards'>{_terms(rows)}</dl>"


def table(caption: str, columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> str:
    """Return a table that the page's script makes sortable; without it, it stands as it is."""
    heads = "".join(map(_head, columns))
    body = "".join(f"<tr>{_row(columns, cells)}</tr>" for cells in rows)
    return (
        f"<div class='scroll' role='region' tabindex='0' aria-label='{text(caption)}'>"
        f"<table class='sortable'><caption>{text(caption)}</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _terms(rows: Mapping[str, str]) -> str:
    return "".join(
        f"<div><dt>{text(name)}</dt><dd>{text(words)}</dd></div>" for name, words in rows.items()
    )


def _head(column: Column) -> str:
    order = f" aria-sort='{column.order}'" if column.order else ""
    kind = " class='number'" if column.numeric else ""
    return f"<th scope='col'{kind}{order}>{text(column.name)}</th>"


def _row(columns: Sequence[Column], cells: Sequence[Cell]) -> str:
    first, *rest = cells
    others = (_number(cell) for _, cell in zip(columns[1:], rest, strict=True))
    return f"<th scope='row'>{first.markup}</th>{''.join(others)}"


def _number(cell: Cell) -> str:
    key = "" if cell.number is None else f" data-number='{cell.number!r}'"
    return f"<td class='number'{key}>{cell.markup}</td>"
