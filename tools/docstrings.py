"""Docstrings as they are written for ``help()``, made ready for the pages of the site."""

import importlib
import re
from typing import Any

import griffe

import dpmic

PAGE = re.compile(r"docs/([\w/-]+)\.md")
ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod):`~?([\w.]+)`")
SHARED = re.compile(
    r"^(?P<indent> *)(?P<names>\**\w+(?:, \**\w+)+)(?P<type> : .*)?\n"
    r"(?P<text>(?:(?P=indent) {4}.*\n?)+)",
    re.MULTILINE,
)


class Docstrings(griffe.Extension):
    """Turn names and pages into links, and give each parameter its own entry."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the text of a docstring before it is parsed."""
        if obj.docstring is not None:
            text = obj.docstring.value.replace("array-like", "array_like")  # not a subtraction
            text = PAGE.sub(r"[\1](../\1.md)", text)
            obj.docstring.value = ROLE.sub(_link, SHARED.sub(_apart, text))

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Show the value of a default that is a constant with a name."""
        for parameter in func.parameters:
            default = parameter.default
            if isinstance(default, griffe.ExprName) and default.name.isupper():
                module, _dot, name = default.canonical_path.rpartition(".")
                if module:  # found where it is defined
                    parameter.default = repr(getattr(importlib.import_module(module), name))


def _link(role: re.Match[str]) -> str:
    """Return a link to a public name, and any other name as code."""
    name = role[1].rpartition(".")[2]
    return f"[`{name}`][dpmic.{name}]" if name in dpmic.__all__ else f"`{name}`"


def _apart(entry: re.Match[str]) -> str:
    """Give each of several parameters its own entry: their defaults differ."""
    kind, text = entry["type"] or "", entry["text"].rstrip("\n")
    return "".join(
        f"{entry['indent']}{name}{kind}\n{text}\n" for name in entry["names"].split(", ")
    )
