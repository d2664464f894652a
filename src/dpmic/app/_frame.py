"""What every page has around it, and the pieces of a form. All texts are escaped here.

Every address is a single name, so links are relative and need not know the secret path before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files

from dpmic import __version__
from dpmic.app._session import Session
from dpmic.report.markup import paragraphs, text

STEPS = {
    "protect": "Whom to protect",
    "columns": "Columns",
    "question": "Question",
    "epsilon": "Epsilon",
    "rehearsal": "Rehearsal",
    "consent": "Consent",
    "result": "Result",
}
OPEN = {"explore": "Pairs"}
STATIC = {
    "report.css": ("dpmic.report", "style.css", "text/css"),
    "sort.js": ("dpmic.report", "sort.js", "text/javascript"),
    "app.css": ("dpmic.app", "app.css", "text/css"),
    "app.js": ("dpmic.app", "app.js", "text/javascript"),
}


@dataclass(frozen=True)
class Page:
    """One screen: its place, its heading, and markup beneath it.

    ``waiting`` says that the script is to look again until a piece of work has ended.
    """

    place: str
    title: str
    body: str
    problems: Sequence[str] = ()
    waiting: bool = False


@cache
def shipped(name: str) -> str:
    """Return a style sheet or a script."""
    package, file, _ = STATIC[name]
    return files(package).joinpath(file).read_text(encoding="utf-8")


def document(page: Page, session: Session) -> str:
    """Return a complete page."""
    said, noted = session.said, session.noted
    session.said = session.noted = ""
    problems = [said, *page.problems] if said else list(page.problems)
    note = f"<p class='hint' role='status'>{text(noted)}</p>\n" if noted else ""
    again = "<noscript><meta http-equiv='refresh' content='2'></noscript>" if page.waiting else ""
    return (
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        "<meta name='color-scheme' content='light dark'>\n<link rel='icon' href='data:,'>\n"
        f"{again}<title>{text(page.title)} - dpmic</title>\n"
        "<link rel='stylesheet' href='report.css'>\n"
        "<link rel='stylesheet' href='app.css'>\n"
        "<script src='app.js' defer></script>\n"
        "<script src='sort.js' defer></script>\n</head>\n<body>\n"
        "<a class='skip' href='#main'>Skip to the page</a>\n"
        f"{_navigation(page.place, session)}"
        f"<main id='main'>\n<h1>{text(page.title)}</h1>\n"
        f"{alert(problems)}{note}{page.body}</main>\n"
        f"<footer><p>dpmic {text(__version__)} runs on this computer. This page uses no "
        "network.</p></footer>\n</body>\n</html>\n"
    )


def _navigation(place: str, session: Session) -> str:
    """Return the steps, of which the current one is marked, and the links beside them."""
    steps = STEPS if session.mode == "private" else {}
    links = "".join(
        f"<li><a href='{url}'{_current(url == place)}>{text(title)}</a></li>"
        for url, title in steps.items()
    )
    aside = {".": "Start"}
    if session.mode == "private":
        aside |= {"job": "Job file", "ledger": "Ledger"}
    elif session.mode == "open":
        aside |= OPEN
    if session.mode != "private" and session.runs:
        aside |= {"result": "Result"}
    others = "".join(
        f"<li><a href='{url}'{_current(url == place)}>{title}</a></li>"
        for url, title in aside.items()
    )
    shown = f"<ol class='steps'>{links}</ol>" if links else ""
    return (
        f"<nav aria-label='Steps'><p class='brand'>dpmic</p>{shown}"
        f"<ul class='aside'>{others}</ul></nav>\n"
    )


def _current(here: bool) -> str:
    return " aria-current='page'" if here else ""


def alert(sentences: Sequence[str]) -> str:
    """Return what is missing or wrong, read aloud at once."""
    if not sentences:
        return ""
    listed = "".join(f"<li>{text(sentence)}</li>" for sentence in sentences)
    return f"<div class='promise exposed' role='alert'><ul>{listed}</ul></div>\n"


def sent(value: str) -> str:
    """Escape a value that a form sends back as it is, unlike a text to be read."""
    return escape(value.encode(errors="backslashreplace").decode()).replace("\r", "&#13;")


def form(action: str, inner: str, button: str, *, kind: str = "", plain: bool = False) -> str:
    """Return a form that changes something; a plain button is not what most people want."""
    look = "" if plain else " class='go'"
    encoding = f" enctype='{kind}'" if kind else ""
    return (
        f"<form method='post' action='{action}'{encoding}>{inner}"
        f"<p class='buttons'><button{look}>{text(button)}</button></p></form>\n"
    )


def field(name: str, label: str, value: object = "", *, hint: str = "", **attributes: str) -> str:
    """Return an input with its label, and a hint that a screen reader reads with it."""
    own = "".join(f" {key}='{text(said)}'" for key, said in attributes.items())
    described = f" aria-describedby='{name}-hint'" if hint else ""
    shown = "" if value is None else sent(str(value))
    note = f"<span class='hint' id='{name}-hint'>{text(hint)}</span>" if hint else ""
    return (
        f"<div class='field'><label for='{name}'>{text(label)}</label>"
        f"<input id='{name}' name='{name}' value='{shown}'{described}{own}>{note}</div>\n"
    )


def select(name: str, label: str, options: Mapping[str, str], chosen: object) -> str:
    """Return a list to choose from."""
    shown = "".join(
        f"<option value='{sent(value)}'{' selected' if value == chosen else ''}>{text(words)}"
        "</option>"
        for value, words in options.items()
    )
    return (
        f"<div class='field'><label for='{name}'>{text(label)}</label>"
        f"<select id='{name}' name='{name}'>{shown}</select></div>\n"
    )


def radios(name: str, legend: str, options: Mapping[str, tuple[str, str]], chosen: object) -> str:
    """Return a question with a few answers; below each may stand fields of its own, as markup."""
    rows = []
    for place, (value, (words, more)) in enumerate(options.items()):
        checked = " checked" if value == chosen else ""
        below = f"<div class='more'>{more}</div>" if more else ""
        rows.append(
            f"<div class='choice'><input type='radio' id='{name}-{place}' name='{name}' "
            f"value='{sent(value)}'{checked}><label for='{name}-{place}'>{text(words)}</label>"
            f"{below}</div>"
        )
    return f"<fieldset><legend>{text(legend)}</legend>{''.join(rows)}</fieldset>\n"


def downloads(links: Iterable[tuple[str, str]]) -> str:
    """Return links to files."""
    listed = "".join(f"<li><a href='{url}' download>{text(words)}</a></li>" for url, words in links)
    return f"<ul class='downloads'>{listed}</ul>\n"


def listing(caption: str, heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table of texts."""
    head = "".join(f"<th scope='col'>{text(name)}</th>" for name in heads)
    rows = "".join(
        f"<tr>{''.join(f'<td>{text(cell)}</td>' for cell in line)}</tr>" for line in lines
    )
    return (
        f"<div class='scroll' role='region' tabindex='0' aria-label='{text(caption)}'>"
        f"<table class='listing'><caption>{text(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>\n"
    )


def code(said: str, shown: str) -> str:
    """Return code, with what it is."""
    return f"{paragraphs(said)}<pre tabindex='0'><code>{text(shown)}</code></pre>\n"
