"""From a result to one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

from dpmic import __version__
from dpmic._format import format_ceil, format_floor
from dpmic.data import Pair, pair
from dpmic.errors import ParameterError, safe_repr
from dpmic.report import _plain, _private
from dpmic.report import _words as words
from dpmic.report._charts import meter
from dpmic.report._saving import generator
from dpmic.report.markup import Content, Part, facts, paragraphs, text
from dpmic.results import (
    BoundsEstimate,
    Groups,
    HistogramRelease,
    IndependenceRelease,
    IndependenceTest,
    Pairwise,
    PairwiseRelease,
    Published,
    Release,
    Result,
    Score,
    ScoredPairs,
    Screening,
)

PRIVATE: dict[type[Any], Any] = {
    Screening: _private.screening,
    PairwiseRelease: _private.matrix,
    HistogramRelease: _private.counts,  # is a Release, too
    Release: _private.release,
    BoundsEstimate: _private.bounds,
    IndependenceRelease: _private.independence,
    Groups: _private.groups,
}


ESTIMATED = ScoredPairs | Release


class Budget(Protocol):
    """What a page says of a ledger."""

    def balance(self) -> Any:
        """Return what the group has, has spent and has left, of epsilon and of delta."""
        ...


def page(
    result: Any,
    *,
    title: str | None = None,
    points: Pair | tuple[Any, Any] | None = None,
    ledger: Budget | None = None,
    command: str | None = None,
    others: Sequence[Score] = (),
    estimate: bool = False,
    job: str | None = None,
    rehearsal: bool = False,
) -> str:
    """Return a result as one self-contained HTML file: figures, a sortable table, how to read it.

    The page asks for nothing on any network, and works without scripts (then it does not sort).
    Of a private result it holds what was published and nothing else, so it may be published.

    Parameters
    ----------
    result : Screening, PairwiseRelease, Release, HistogramRelease, BoundsEstimate, \
            IndependenceRelease, Groups, Pairwise, Score or IndependenceTest
        What is shown.
    title : str, optional
        What the page is called.
    points : (x, y), optional
        The two columns of a score, whose records a figure shows with the best grid; of a
        ``Pairwise`` those of one of its pairs. Refused with a private result.
    ledger : Ledger, optional
        The budget that a private result was taken from: the page says what is left.
    command : str, optional
        The command, or the call, that repeats it.
    others : sequence of Score
        The score of the pair in ``points``, where ``result`` is a ``Pairwise`` or a test.
    estimate : bool
        Whether to show, beside published MICs, the estimate of MIC* with its own interval.
    job : str, optional
        The text of the job file that asked for a private result; shown as it is.
    rehearsal : bool
        Whether the data were made up: the page then says so in place of the guarantee.

    Returns
    -------
    str
        For :func:`save`.

    Raises
    ------
    ParameterError
        If the result is of another kind, or points or a ledger do not belong to it.

    Examples
    --------
    >>> import dpmic
    >>> score = dpmic.mice([1, 2, 3, 4, 5], [2, 1, 4, 3, 5])
    >>> text = dpmic.report.page(score, title="Two columns")
    >>> text[:15], "<h1>Two columns</h1>" in text, "Nothing in this report is private" in text
    ('<!doctype html>', True, True)
    """
    if estimate and not isinstance(result, ESTIMATED):
        raise ParameterError("estimate", "only published MICs have one", "leave it out")
    if isinstance(result, Published):
        content = _private_content(result, points, others, estimate)
        notice = Notice("Guarantee", result.guarantee)
        if rehearsal:
            content = replace(content, title=f"{words.REHEARSED}: {content.title}")
            notice = Notice(words.REHEARSED, words.REHEARSAL, exposed=True)
        reading = paragraphs(*content.reading, words.EPSILON)
        spent = [] if rehearsal else [_spending(result, ledger)]
    else:
        _refuse_jobs(job, rehearsal)
        content = _plain_content(result, _pair(points), others)
        if ledger is not None:
            reason = "a result that is not private spends nothing"
            raise ParameterError("ledger", reason, "pass a ledger with a private result")
        seen = "" if points is None else ", and a figure shows the records"
        notice = Notice("Not private", words.EXPOSED.format(points=seen), exposed=True)
        grid = () if points is None else (words.GRID,)
        reading, spent = paragraphs(*content.reading, *grid), []
    parts = [*content.parts, Part("How to read this", reading), *spent]
    parts.append(_made(result, command, job, rehearsal))
    return _frame(title or content.title, result, notice, parts)


@dataclass(frozen=True)
class Notice:
    """What stands at the top of a page: a guarantee, or a warning."""

    heading: str
    words: str
    exposed: bool = False


def _refuse_jobs(job: str | None, rehearsal: bool) -> None:
    """Refuse options of private results where there is none."""
    for name, given in (("job", job is not None), ("rehearsal", rehearsal)):
        if given:
            raise ParameterError(name, "only a private result comes from a job", "leave it out")


def _pair(points: Any) -> Pair | None:
    """Return two columns with their names, complete records only."""
    if points is None or isinstance(points, Pair):
        return points
    if not isinstance(points, tuple) or len(points) != 2 or str in map(type, points):
        raise ParameterError(
            f"points = {safe_repr(points)}",
            "two columns are needed",
            "pass the columns themselves: points=(frame.age, frame.dose)",
        )
    return pair(*points, missing="drop")


def _private_content(
    result: Published, points: object, others: Sequence[object], estimate: bool
) -> Content:
    """Return the content of a published result, to which nothing can be added."""
    if points is not None or others:
        name = "points" if points is not None else "others"
        reason = "a private report holds what was published and nothing else"
        raise ParameterError(name, reason, "leave it out")
    for kind, show in PRIVATE.items():
        if isinstance(result, kind):
            options = (estimate,) if isinstance(result, ESTIMATED) else ()
            content: Content = show(result, *options)
            return content
    raise _unknown(result)


def _plain_content(result: object, points: Pair | None, others: Sequence[object]) -> Content:
    if not all(isinstance(other, Score) for other in others) or len(others) > 1:
        raise ParameterError("others", "one score is shown beside a table", "pass others=(score,)")
    beside: Any = others[0] if others else None
    if isinstance(result, Score):
        return _plain.score(result, points)
    if isinstance(result, Pairwise):
        return _plain.matrix(result, points, beside)
    if isinstance(result, IndependenceTest):
        return _plain.independence(result, points, beside)
    raise _unknown(result)


def _unknown(result: object) -> ParameterError:
    known: list[type[Any]] = [*PRIVATE, Pairwise, Score, IndependenceTest]
    listed = ", ".join(kind.__name__ for kind in known)
    return ParameterError(
        f"result = {safe_repr(result)}", "no page shows it", f"pass one of {listed}"
    )


def _spending(result: Published, ledger: Budget | None) -> Part:
    """Return what the result cost, and what the ledger still allows."""
    note = (
        "No ledger was used, so this spending is not tracked. Losses add up: add whatever else is "
        "published about the same people by hand."
    )
    if result.replayed is not None:
        note = (
            f"A ledger gave this answer before: it was drawn on {result.drawn_on} for the "
            f"dataset {result.dataset}. Showing it again cost nothing."
        )
    elif ledger is not None:
        note = "What was spent so far includes this result."
    cost = {"this result, epsilon": format_ceil(result.epsilon)}
    delta = getattr(result, "delta", 0.0)
    if delta:
        cost["this result, delta"] = format_ceil(delta)
    if ledger is None:
        return Part("What was spent", facts(cost) + paragraphs(note))
    now = ledger.balance()
    cost |= {
        "spent so far, epsilon": f"{format_ceil(now.spent)} of {format_floor(now.total)}",
        "left, epsilon": format_floor(now.remaining),
    }
    if now.total_delta:
        spent_delta = format_ceil(now.spent_delta)
        cost |= {
            "spent so far, delta": f"{spent_delta} of {format_floor(now.total_delta)}",
            "left, delta": format_floor(now.remaining_delta),
        }
    share = now.spent / now.total
    drawn = meter(share, f"{100 * share:.0f}% of the budget of epsilon is spent")
    return Part("What was spent, and what is left", drawn + facts(cost) + paragraphs(note))


def _made(result: Result, command: str | None, job: str | None, rehearsal: bool) -> Part:
    """Return all that is needed to repeat it."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    rows = {**result.provenance(), "version of dpmic": __version__, "date of this report": now}
    shown = ""
    if command is not None:
        shown += _code(_said(result, rehearsal), command)
    if job is not None:
        shown += _code("The job file, as it was:", job)
    return Part("How it was made", facts(rows) + shown)


def _said(result: Result, rehearsal: bool) -> str:
    """Return what repeating a command gives."""
    if rehearsal:
        return "This command makes up the same data and draws fresh noise, at no cost."
    if not isinstance(result, Published):
        return "Repeated with:"
    return (
        "This command asks the same question. With its ledger and dataset it shows this "
        "answer again for nothing; otherwise it draws fresh noise, and costs as much again."
    )


def _code(said: str, code: str) -> str:
    return f"{paragraphs(said)}<pre tabindex='0'><code>{text(code)}</code></pre>"


def _frame(title: str, result: Result, notice: Notice, parts: Sequence[Part]) -> str:
    """Return the file; its policy allows the two inline pieces by their hashes only."""
    style, script = _shipped("style.css"), _shipped("sort.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    private = isinstance(result, Published)
    kind = "promise exposed" if notice.exposed else "promise"
    body = "".join(
        f"<section aria-labelledby='part{i}'><h2 id='part{i}'>{text(part.heading)}</h2>"
        f"{part.markup}</section>\n"
        for i, part in enumerate(parts)
    )
    return (
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        f"{generator(__version__, private=private)}\n"
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        "<meta name='color-scheme' content='light dark'>\n"
        "<meta name='referrer' content='no-referrer'>\n<link rel='icon' href='data:,'>\n"
        f"<title>{text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"<header><h1>{text(title)}</h1>{paragraphs(_summary(result))}</header>\n<main>\n"
        f"<section class='{kind}' aria-labelledby='promise'><h2 id='promise'>{notice.heading}</h2>"
        f"{paragraphs(notice.words)}</section>\n{body}</main>\n"
        f"<footer><p>Made by dpmic {text(__version__)}.</p></footer>\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _summary(result: Result) -> str:
    """Return what is to be known first, in a line."""
    made = result.provenance()
    people = isinstance(result, Published) and result.person is not None
    what = f"{made['records (n)']} {'people' if people else 'records'}"
    if isinstance(result, Published):
        what += f", epsilon = {made['epsilon']}"
    if "dataset" in made:
        what += f", {made['dataset']}"
    return f"{what}, reported on {datetime.now(UTC):%Y-%m-%d}"


@cache
def _shipped(name: str) -> str:
    return files("dpmic.report").joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
