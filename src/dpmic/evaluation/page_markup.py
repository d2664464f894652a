"""The page's HTML: tables, figures, numbers, and the only place where text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import isnan
from typing import Any

from dpmic.evaluation.figures import TUNED
from dpmic.evaluation.tables import Table, named

STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --soft: #57606a; --back: #fff; --line: #d5dae0;
  --band: #f5f7f9; --link: #0a5cad; --no: #a3300b; --yes: #0b6b4f; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e8ed; --soft: #a2abb6; --back: #14181d;
  --line: #353c45; --band: #1c2229; --link: #7db8f5; --no: #ff9e7a; --yes: #63d3ae; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 1rem; color: var(--text); background: var(--back);
  font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { margin-top: 3rem; font-size: 1.35rem; }
a { color: var(--link); } p, li, dl { max-width: 46rem; } li { margin: .4rem 0; }
nav ol { display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; padding: 0; list-style: none; }
dl div { display: flex; flex-wrap: wrap; gap: 0 1rem; border-top: 1px solid var(--line); }
dl div { padding: .25rem 0; } dt { flex: 0 0 9rem; color: var(--soft); }
dd { margin: 0; flex: 1 1 14rem; min-width: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin: 1.5rem 0 .5rem; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .3rem 0; color: var(--soft); caption-side: top; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
td { white-space: nowrap; } td:has(small.no) { white-space: normal; min-width: 13rem; }
td:last-child { white-space: normal; min-width: 5rem; }
thead th { border-bottom-width: 2px; vertical-align: bottom; }
tbody th { font-weight: 500; min-width: min(13rem, 38vw); position: sticky; left: 0;
  background: var(--back); }
tbody tr:nth-child(even) > * { background: var(--band); }
small { color: var(--soft); } .no, small.no { color: var(--no); } .yes { color: var(--yes); }
figure { margin: 2rem 0; } figcaption { color: var(--soft); font-size: .9rem; max-width: 46rem; }
figure .scroll { background: #fff; border: 1px solid var(--line); border-radius: 6px; }
img { display: block; width: 100%; min-width: 40rem; height: auto; padding: .5rem; }
summary { cursor: pointer; margin: 1rem 0; }
@media print { .scroll { overflow: visible; } img { min-width: 0; } }
"""


class Html(str):
    """Text that is HTML already; all other text is escaped."""

    __slots__ = ()


MISSING = Html("&ndash;")
"""The text of an empty cell."""


def document(title: str, sections: Sequence[tuple[str, str, str]]) -> str:
    """Return a page of (name, title, HTML) with a table of contents; it loads nothing."""
    contents = "".join(f'<li><a href="#{name}">{head}</a></li>' for name, head, _ in sections)
    body = "\n".join(
        f'<section id="{name}" aria-labelledby="{name}-title">'
        f'<h2 id="{name}-title">{head}</h2>\n{text}\n</section>'
        for name, head, text in sections
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<header><h1>{escape(title)}</h1></header>\n"
        f'<nav aria-label="Contents"><ol>{contents}</ol></nav>\n'
        f"<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def table(name: str, caption: str, heads: Sequence[str], body: Iterable[Sequence[Any]]) -> str:
    """Return a table whose first column names its rows, with a link to its file."""
    top = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    rows = "".join(
        f'<tr><th scope="row">{_cell(first)}</th>'
        + "".join(f"<td>{_cell(value)}</td>" for value in rest)
        + "</tr>\n"
        for first, *rest in body
    )
    return (
        f'<div class="scroll" tabindex="0"><table><caption>{_cell(caption)}. {link(name)}</caption>'
        f"<thead><tr>{top}</tr></thead>\n<tbody>{rows}</tbody></table></div>"
    )


def plain(name: str, caption: str, heads: Mapping[str, str], rows: Table) -> str:
    """Return a long table in folded form, with its columns as they are."""
    body = [[_shown(column, row.get(column)) for column in heads] for row in rows]
    shown = table(name, caption, list(heads.values()), body)
    return f"<details><summary>{escape(caption)}: {len(rows):,} rows</summary>{shown}</details>"


def figure(source: str, caption: str) -> str:
    """Return an image with its caption, which also describes it to people who cannot see it."""
    text = escape(caption)
    return (
        f'<figure><div class="scroll"><img src="{escape(source)}" alt="{text}"></div>'
        f"<figcaption>{text}.</figcaption></figure>"
    )


def link(name: str) -> str:
    """Return the link to a table's file."""
    return f'<a href="tables/{escape(name)}.csv">{escape(name)}.csv</a>'


def who(key: str, always: bool = False) -> Html:
    """Return a contender's label, with a note if its epsilon does not hold.

    Examples
    --------
    >>> print(who("ours"))
    MICr-Lap (ours)
    >>> print(who("ours", always=True))
    MICr-Lap (ours) <small>(epsilon-DP, proved)</small>
    """
    if key in TUNED:
        return Html(escape(TUNED[key]))
    contender = named(key)
    if not (contender.broken or always):
        return Html(escape(contender.label))
    colour = ' class="no"' if contender.broken else ""
    note = f"<small{colour}>({escape(contender.guarantee)})</small>"
    return Html(f"{escape(contender.label)} {note}")


def there(value: Any) -> bool:
    """Return whether a cell has a value: a file's empty cell may be read as nan."""
    return value is not None and not (isinstance(value, float) and isnan(value))


def number(value: float | None) -> Html:
    """Format a number so that it can be compared with its neighbours.

    Examples
    --------
    >>> [str(number(value)) for value in (0.0312, 4e-4, 1000, 0.0)]
    ['0.031', '4.0e-4', '1,000', '0.000']
    """
    if value is None or not there(value):
        return MISSING
    if abs(value) >= 1 and float(value).is_integer():
        return Html(f"{value:,.0f}")
    return Html(f"{value:.1e}".replace("e-0", "e-") if 0 < abs(value) < 0.001 else f"{value:.3f}")


def signed(value: float | None) -> Html:
    """Format a difference, always with its sign."""
    return MISSING if value is None else Html(f"{value:+.3f}")


def _shown(column: str, value: Any) -> Any:
    if column == "mechanism":
        return who(value)
    if column == "epsilon":
        return f"{value:g}"
    return value if isinstance(value, str) else number(value)


def _cell(value: Any) -> str:
    return value if isinstance(value, Html) else escape(str(value))
