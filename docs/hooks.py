"""What the site is built with, besides mkdocs.yml: how code blocks and docstrings are read."""

import re
from typing import Any

import griffe

import dpmic

PAGE = re.compile(r"docs/([\w/-]+)\.md")
NAMED = re.compile(r"`dpmic\.(\w+)[^`]*`")
ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod):`~?([\w.]+)`")
SHARED = re.compile(
    r"^(?P<indent> *)(?P<names>\**\w+(?:, \**\w+)+)(?P<type> : .*)?\n"
    r"(?P<text>(?:(?P=indent) {4}.*\n?)+)",
    re.MULTILINE,
)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Show what is typed at Python's prompt as that, and link the overview with the details."""
    if page.file.src_uri == "reference.md":
        markdown = NAMED.sub(_details, markdown)
    return markdown.replace("```python\n>>> ", "```pycon\n>>> ")


class Docstrings(griffe.Extension):
    """Docstrings as they are written for ``help()``, made ready for Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the text of a docstring before it is parsed."""
        if obj.docstring is not None:
            text = obj.docstring.value.replace("array-like", "array_like")  # no subtraction
            text = PAGE.sub(r"[\1](../\1.md)", text)
            obj.docstring.value = ROLE.sub(_link, SHARED.sub(_apart, text))


def _details(name: re.Match[str]) -> str:
    """Return the code of a function or a class as a link."""
    shown = name[1] in dpmic.__all__ and callable(getattr(dpmic, name[1]))
    return f"[{name[0]}][dpmic.{name[1]}]" if shown else name[0]


def _link(role: re.Match[str]) -> str:
    """Return a link to a public name, and any other name as code."""
    name = role[1].rpartition(".")[2]
    return f"[`{name}`][dpmic.{name}]" if name in dpmic.__all__ else f"`{name}`"


def _apart(entry: re.Match[str]) -> str:
    """Give each of several parameters its own entry: they have defaults of their own."""
    kind, text = entry["type"] or "", entry["text"].rstrip("\n")
    return "".join(
        f"{entry['indent']}{name}{kind}\n{text}\n" for name in entry["names"].split(", ")
    )
