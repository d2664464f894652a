"""Without privacy: the scores of all pairs of an open table, and one pair with its points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import numpy as np

from dpmic._format import format_chance, plural
from dpmic.all_pairs.pairwise import pairwise
from dpmic.all_pairs.significance import independence_test
from dpmic.app import _outcome
from dpmic.app._frame import Page, downloads, field, form, select
from dpmic.app._publishing import progress
from dpmic.app._session import Session, for_a_terminal, identities
from dpmic.app._task import Task
from dpmic.data import load, pair, without_identifiers
from dpmic.errors import InputError, safe_repr
from dpmic.report import page
from dpmic.report.markup import Cell, Column, decimals, paragraphs, shorten, table, text
from dpmic.report.markup import pair as named
from dpmic.results import IndependenceTest, Pairwise, Score
from dpmic.results.pairwise import strongest
from dpmic.statistics.family import mice

MOST_COLUMNS = 30
"""Rows and columns of the matrix; the list has all pairs."""

MOST_LISTED = 500
BANDS = 10
PERMUTATIONS = 999
NAME = 24

EXPOSED = (
    "Nothing here is private: all numbers are computed from the records as they are, without "
    "noise. Do not publish them if the table holds anything sensitive."
)


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """The pairs of an open table, its columns in memory, and which were left out."""

    pairs: Pairwise
    table: Any
    left_out: str


@dataclass(frozen=True, eq=False, repr=False)
class Tested:
    """One pair: its score with the best grid, and a test of independence."""

    score: Score
    test: IndependenceTest
    names: tuple[str, str]
    points: Any

    @property
    def report(self) -> str:
        """The report, with the records as points."""
        x, y = self.names
        title = f"{x} and {y}"
        return page(self.test, title=title, points=self.points, others=(self.score,))


def begin(session: Session) -> None:
    """Score all pairs of the table."""
    source = session.source

    def work(task: Task) -> Scores:
        def reading(done: int, total: int | None) -> None:
            task.tell("bytes read", done, total)

        kept, said = without_identifiers(load(source, typed=True, tell=reading))
        scores = Scores(pairwise(kept, missing="drop"), kept, said)
        session.seen |= identities(source)
        return scores

    session.looks = {}
    session.scores = Task(
        "scoring all pairs", session.file, work, lambda code: for_a_terminal(code, "dpmic matrix")
    )


def overview(session: Session, query: Mapping[str, str]) -> Page:
    """Show the matrix and the list of pairs."""
    task, title = session.scores, f"All pairs of {session.file}"
    if task is None:
        return Page("explore", "Pairs", "<p><a href='.'>Choose a table first.</a></p>")
    if task.state == "running":
        return Page("explore", title, progress(session, task, "explore"), waiting=True)
    again = form(session.own("explore"), "", "Score the pairs again")
    if task.state != "done":
        return Page("explore", title, again, [task.error or "It was stopped."])
    scores: Scores = task.result
    body = f"<p class='promise exposed'>{text(EXPOSED)}</p>"
    if scores.left_out:
        body += paragraphs(f"Left out, because they look like identifiers: {scores.left_out}.")
    body += f"<section><h2>Matrix</h2>{_matrix(scores.pairs)}</section>"
    body += f"<section><h2>Pairs</h2>{_list(scores.pairs, query)}</section>"
    links = ((f"explore.{kind}", words) for kind, words in _outcome.KINDS.items())
    body += f"<section><h2>Files</h2>{downloads(links)}</section>"
    return Page("explore", title, body)


def _matrix(scores: Pairwise) -> str:
    """Return a table of links, in strong colours where scores are high; of the strongest pairs."""
    values, names = scores.matrix, scores.names
    filled = np.where(np.isnan(values), -1.0, values)
    shown = np.sort(np.argsort(-filled.max(axis=1), kind="stable")[:MOST_COLUMNS]).tolist()
    heads = "".join(
        f"<th scope='col'><span>{text(shorten(names[at], NAME))}</span></th>" for at in shown
    )
    rows = "".join(
        f"<tr><th scope='row'>{text(shorten(names[row], NAME))}</th>"
        f"{''.join(_square(scores, row, column) for column in shown)}</tr>"
        for row in shown
    )
    caption = "MICe of each pair: the stronger the colour, the higher the score."
    caption += " Each number opens its pair."
    if len(shown) < len(names):
        caption += f" Here are the {len(shown)} columns of the strongest pairs."
    return (
        "<div class='scroll' role='region' tabindex='0' aria-label='Matrix'>"
        f"<table class='matrix'><caption>{text(caption)}</caption><thead><tr><td></td>{heads}</tr>"
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def _square(scores: Pairwise, row: int, column: int) -> str:
    value = scores.matrix[row, column]
    if row == column or np.isnan(value):
        return "<td class='none'></td>"
    x, y = scores.names[row], scores.names[column]
    label = text(f"{x} and {y}: {value:.2f}")
    band = min(int(value * BANDS), BANDS - 1)
    return (
        f"<td class='band-{band}'><a href='{_address(x, y)}' aria-label='{label}'>{value:.2f}</a>"
        "</td>"
    )


def _address(x: str, y: str) -> str:
    return text(f"pair?{urlencode({'x': x, 'y': y})}")


def _list(scores: Pairwise, query: Mapping[str, str]) -> str:
    """Return the pairs that a filter lets through, the strongest first, and the filter."""
    wanted, least = query.get("column", ""), _number(query.get("least", ""))
    options = {"": "any column", **{name: name for name in scores.names}}
    fields = select("column", "With", options, wanted)
    fields += field("least", "MICe of at least", query.get("least", ""), inputmode="decimal")
    filtering = (
        f"<form method='get' action='explore' class='filter'>{fields}"
        "<p class='buttons'><button>Filter</button></p></form>"
    )
    places, rows = strongest(scores.mic, scores.mic.size), []
    columns = scores.columns()
    kept = 0
    for place in places.tolist():
        x, y = scores.names[columns["x"][place]], scores.names[columns["y"][place]]
        value = float(scores.mic[place])
        if value < least:
            break
        if wanted in ("", x, y):
            kept += 1
            if kept <= MOST_LISTED:
                link = f"<a href='{_address(x, y)}'>{named(x, y)}</a>"
                rows.append([Cell(link), Cell(decimals(value), value)])
    caption = f"{plural(kept, 'pair')}, the strongest first."
    if kept > MOST_LISTED:
        caption += f" The first {MOST_LISTED} are listed; the files have all."
    heads = [Column("pair", numeric=False), Column("MICe", order="descending")]
    return filtering + table(caption, heads, rows)


def _number(written: str) -> float:
    try:
        return float(written.replace(",", ".") or 0)
    except ValueError:
        return 0.0


def look(session: Session, x: str, y: str) -> Page:
    """Show one pair: points, the best grid, and the p-value."""
    scores = _scores(session)
    for name in (x, y):
        if name not in scores.pairs.names:
            raise InputError(safe_repr(name), "there is no such column", "choose one in the matrix")
    key = (x, y)
    task = session.looks.get(key)
    if task is None or task.state == "stopped":
        data = scores.table

        def work(_: Task) -> Tested:
            points = pair(x, y, data=data, missing="drop")
            test = independence_test(x, y, data=data, missing="drop", permutations=PERMUTATIONS)
            return Tested(mice(x, y, data=data, missing="drop"), test, key, points)

        task = session.looks[key] = Task(f"testing {x} and {y}", key, work)
        task.wait(0.5)  # a page less, where it is quick
    back = f"<p><a href='explore'>Back to all pairs of {text(session.file)}</a></p>"
    title = f"{x} and {y}"
    if task.state == "running":
        return Page("explore", title, back + progress(session, task, "explore"), waiting=True)
    if task.state != "done":
        return Page("explore", title, back, [task.error or "It was stopped."])
    found: Tested = task.result
    said = f"MICe = {decimals(found.score.mic)}, p = {format_chance(found.test.pvalue)}"
    query = urlencode({"x": x, "y": y})
    links = ((text(f"pair.{kind}?{query}"), words) for kind, words in _outcome.KINDS.items())
    body = f"{back}<p class='answer'>{text(said)}</p>{_outcome.inside(found.report)}"
    return Page("explore", title, f"{body}<section><h2>Files</h2>{downloads(links)}</section>")


def as_file(session: Session, kind: str) -> bytes:
    """Return all pairs as a file."""
    scores = _scores(session).pairs
    return _outcome.as_file(scores, kind, page(scores))


def pair_as_file(session: Session, kind: str, x: str, y: str) -> bytes:
    """Return one pair as a file; the figure has its points."""
    task = session.looks.get((x, y))
    if task is None or task.state != "done":
        raise InputError("the pair", "it was not looked at", "open it first")
    found: Tested = task.result
    if kind == "png":
        return _outcome.as_png(found.score, x, y, data=_scores(session).table)
    return _outcome.as_file(found.test, kind, found.report)


def _scores(session: Session) -> Scores:
    task = session.scores
    if task is None or task.state != "done":
        raise InputError("the pairs", "they are not scored", "choose a table on the first page")
    found: Scores = task.result
    return found
