"""The one table that notebooks show of a result."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

__all__ = ["table"]


def table(rows: Mapping[str, str]) -> str:
    """Return two columns, names and texts; column names of the user's may be among the texts."""
    cells = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
        f"<td>{escape(text)}</td></tr>"
        for name, text in rows.items()
    )
    return f"<table><tbody>{cells}</tbody></table>"
