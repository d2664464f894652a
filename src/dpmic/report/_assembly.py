"""From a result to one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

from dpmic import __version__
from dpmic._format import format_ceil, format_floor, format_remainder, format_value
from dpmic.data import Pair, pair
from dpmic.errors import ParameterError, safe_repr
from dpmic.report import _plain, _private
from dpmic.report import _words as words
from dpmic.report._charts import meter
from dpmic.report._meanings import described
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


PUBLISHABLE: dict[type[Any], str] = {
    Score: "dpmic.release returns",
    Pairwise: "dpmic.screen or dpmic.release_pairwise returns",
    IndependenceTest: "dpmic.release_test returns",
}
"""For each kind without privacy, what returns such a result with noise."""

ESTIMATED = ScoredPairs | Release

UNFOLDED = 3
"""Paragraphs that explain a page; further ones are folded."""


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
        If there is no page for this result, or if points or a ledger do not belong to it.

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
        columns = column_part(described(result, job), job)
        made = technical(result, command, job, rehearsal)
        if rehearsal:
            return _rehearsed(result, title, content, columns, made)
        page = Page(title or content.title, result.headline(), private=True)
        spent = spending(result, ledger)
        read = reading(content, caveats=_promises(result))
        rest = [*content.parts[1:], *columns, read, spent, made]
        return frame(page, result, [content.parts[0], promise(result), *rest])
    _refuse_jobs(job, rehearsal)
    if ledger is not None:
        reason = "a result that is not private spends nothing"
        raise ParameterError("ledger", reason, "pass a ledger with a private result")
    found = _pair(points)
    content = _plain_content(result, found, others)
    return _plain_page(result, title, content, found, technical(result, command, None, False))


@dataclass(frozen=True)
class Page:
    """What a page begins with: its title and a sentence.

    ``private`` is whether it holds nothing but published results.
    """

    title: str
    headline: str
    private: bool


def _rehearsed(
    result: Published, title: str | None, content: Content, columns: tuple[Part, ...], made: Part
) -> str:
    """Return the page of a rehearsal, whose values mean nothing."""
    said = words.REHEARSAL.format(people=_counted(result))
    named = title or f"{words.REHEARSED}: {content.title}"
    notice = Part(words.REHEARSED, paragraphs(said), "promise exposed")
    read = reading(content, caveats=_promises(result))
    rest = [*content.parts, *columns, read, made]
    return frame(Page(named, "", private=True), result, [notice, *rest])


def _plain_page(
    result: Result, title: str | None, content: Content, points: Pair | None, made: Part
) -> str:
    """Return the page of a result without privacy, which warns first."""
    seen = "" if points is None else ", and a figure shows the records"
    calls = next(calls for kind, calls in PUBLISHABLE.items() if isinstance(result, kind))
    said = words.EXPOSED.format(points=seen, calls=calls)
    notice = Part("Not private", paragraphs(said), "promise exposed")
    names = () if points is None or isinstance(result, Pairwise) else points.names
    headline = result.headline(*names)
    grid = () if points is None else (words.GRID,)
    parts = [notice, *content.parts, reading(content, grid), made]
    page = Page(title or content.title, headline, private=False)
    return frame(page, result, parts)


def promise(result: Published) -> Part:
    """Return the guarantee: in plain words, and as the sentence to print."""
    formal = f"<p class='formal'>{text(result.guarantee)}</p>"
    return Part("Guarantee", paragraphs(result.protection) + formal, "promise")


def column_part(columns: Mapping[str, str], job: str | None = None) -> tuple[Part, ...]:
    """Return what each column is, where that is known."""
    if not columns:
        return ()
    stated = "" if job is None else "; all of this is as stated in the job file"
    remark = f"Values outside bounds count as the nearest bound{stated}."
    return (Part("What each column is", facts(columns) + paragraphs(remark)),)


def reading(content: Content, more: Sequence[str] = (), caveats: Sequence[str] = ()) -> Part:
    """Return how to read the page: the first few paragraphs and caveats, and the others folded."""
    said = [*content.reading, *more]
    folded = ""
    if len(said) > UNFOLDED:
        folded = f"<details><summary>More on how to read it</summary>{paragraphs(*said[UNFOLDED:])}"
        folded += "</details>"
    return Part("How to read this", paragraphs(*said[:UNFOLDED], *caveats) + folded)


def _promises(result: Published) -> tuple[str, ...]:
    """Return what the scores rely on: promises about the records, which nobody checked."""
    parameters, them = result.parameters, result.privacy_unit.them
    said = []
    if parameters.get("missing") == "drop":
        share = f"{format_value(100 * parameters['complete'])}%"
        said.append(words.COMPLETE.format(share=share))
    if "by" in parameters:
        said.append(words.AT_LEAST.format(them=them))
    return tuple(said)


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


def spending(result: Published, ledger: Budget | None) -> Part:
    """Return what the result cost, and what the ledger still allows."""
    note = (
        "No ledger was used, so this spending is not tracked. Add by hand whatever else is "
        f"published about the same {result.privacy_unit.them}."
    )
    if result.replayed is not None:
        note = (
            f"This is the ledger's stored answer of {result.drawn_on} for the dataset "
            f"{result.dataset}, and showing it again cost nothing; changed data needs a new "
            "dataset name."
        )
    elif ledger is not None:
        note = "What was spent so far includes this result."
    unit = result.privacy_unit
    note = f"{words.EPSILON.format(each=unit.each, them=unit.them)} {note}"
    cost = {"this result, epsilon": format_ceil(result.epsilon)}
    delta = getattr(result, "delta", 0.0)
    if delta:
        cost["this result, delta"] = format_ceil(delta)
    if ledger is None:
        return Part("What was spent", facts(cost) + paragraphs(note))
    now = ledger.balance()
    cost |= {
        "spent so far, epsilon": f"{format_ceil(now.spent)} of {format_floor(now.total)}",
        "left, epsilon": format_remainder(now.remaining, now.total),
    }
    if now.total_delta:
        spent_delta = format_ceil(now.spent_delta)
        cost |= {
            "spent so far, delta": f"{spent_delta} of {format_floor(now.total_delta)}",
            "left, delta": format_remainder(now.remaining_delta, now.total_delta),
        }
    share = now.spent / now.total
    drawn = meter(share, f"{100 * share:.0f}% of the budget of epsilon is spent")
    return Part("What was spent, and what is left", drawn + facts(cost) + paragraphs(note))


def technical(result: Result, command: str | None, job: str | None, rehearsal: bool) -> Part:
    """Return all that is needed to repeat a result, folded."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    shown = facts({**result.provenance(), "version of dpmic": __version__, "date": now})
    if command is not None:
        shown += _code(_repeating(result, rehearsal), command)
    if job is not None:
        shown += _code("The job file:", job)
    summary = "Parameters, noise and how to repeat this"
    return Part("Technical details", f"<details><summary>{summary}</summary>{shown}</details>")


def _repeating(result: Result, rehearsal: bool) -> str:
    """Say what repeating a command gives."""
    if rehearsal:
        return "This command makes up the same data and draws fresh noise, at no cost."
    if not isinstance(result, Published):
        return "Repeat this with:"
    return (
        "This command repeats the query. With its ledger and dataset it shows this answer again "
        "at no cost; otherwise it draws fresh noise and is charged again."
    )


def _code(said: str, code: str) -> str:
    return f"{paragraphs(said)}<pre tabindex='0'><code>{text(code)}</code></pre>"


def frame(page: Page, result: Result, parts: Sequence[Part]) -> str:
    """Return the file; its policy allows the two inline pieces by their hashes only."""
    style, script = _shipped("style.css"), _shipped("sort.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    headline = f"<p class='headline'>{text(page.headline)}</p>" if page.headline else ""
    return (
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        f"{generator(__version__, private=page.private)}\n"
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        "<meta name='color-scheme' content='light dark'>\n"
        "<meta name='referrer' content='no-referrer'>\n<link rel='icon' href='data:,'>\n"
        f"<title>{text(page.title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"<header><h1>{text(page.title)}</h1>{headline}"
        f"{paragraphs(_summary(result, page))}</header>\n"
        f"<main>\n{''.join(map(_section, range(len(parts)), parts))}</main>\n"
        f"<footer><p>Made by dpmic {text(__version__)}.</p></footer>\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _section(number: int, part: Part) -> str:
    key = "promise" if part.kind else f"part{number}"
    kind = f"class='{part.kind}' " if part.kind else ""
    return (
        f"<section {kind}aria-labelledby='{key}'><h2 id='{key}'>{text(part.heading)}</h2>"
        f"{part.markup}</section>\n"
    )


def _summary(result: Result, page: Page) -> str:
    """Return what the result is of, in a line."""
    made = result.provenance()
    what = _counted(result)
    if isinstance(result, Published) and page.private:
        what += f", epsilon = {made['epsilon']}"
    if "dataset" in made:
        what += f", {made['dataset']}"
    return f"{what}, reported on {datetime.now(UTC):%Y-%m-%d}"


def _counted(result: Result) -> str:
    """Return how many records, or people, a result is of."""
    people = isinstance(result, Published) and result.person is not None
    return f"{result.provenance()['records (n)']} {'people' if people else 'records'}"


@cache
def _shipped(name: str) -> str:
    return files("dpmic.report").joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
