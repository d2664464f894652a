"""The page of ``dpmic demo``, which alone may show exact values beside published ones."""

from __future__ import annotations

from collections.abc import Mapping

from dpmic.report import _private
from dpmic.report import _words as words
from dpmic.report._assembly import (
    Page,
    column_part,
    frame,
    promise,
    reading,
    spending,
    technical,
)
from dpmic.report._meanings import described
from dpmic.report.markup import Part, paragraphs
from dpmic.results import Screening


def demonstration(
    result: Screening,
    exact: Mapping[tuple[str, str], float],
    *,
    reason: str,
    columns: Mapping[str, str],
    title: str,
    command: str,
) -> str:
    """Return the page of a screening of public data, with the exact values beside the noisy ones.

    For data that anybody may see, and for nothing else: exact values undo the protection. The page
    is therefore handled as one that is not private.

    Parameters
    ----------
    result : Screening
        What was published.
    exact : mapping
        The score of each selected pair without noise.
    reason : str
        Why they may be shown; it follows "because".
    columns : mapping
        What each column means.
    title, command : str
        As for :func:`page`.

    Returns
    -------
    str
        For :func:`save`.
    """
    content = _private.screening(result, False, exact)
    why = paragraphs(words.EXACT.format(reason=reason))
    notice = Part("Not private: exact values are shown", why, "promise exposed")
    noisy = Part(
        "Guarantee of the noisy values alone",
        paragraphs("This holds for the noisy values. The exact values beside them protect nobody.")
        + promise(result).markup,
    )
    made = technical(result, command, None, False)
    known = column_part(described(result, None, columns))
    rest = [*content.parts, noisy, *known, reading(content), spending(result, None), made]
    return frame(Page(title, result.headline(), private=False), result, [notice, *rest])
