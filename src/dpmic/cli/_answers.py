"""Every result as an answer: what people see, and the lines of CSV."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpmic._format import format_ceil, format_chance, plural
from dpmic.cli._output import Answer
from dpmic.cli._shell import for_the_shell

if TYPE_CHECKING:
    from dpmic import results
    from dpmic.results import Fact, Pairwise

AT_ONCE = 10_000
"""Lines of CSV that are made at a time."""

PAIR_HEADS = ("x", "y", "MIC", "noise from", "to (95%)")
ESTIMATE_HEADS = ("estimate", "from", "to (95%)")
PAIR_FIELDS = ("x", "y", "value", "low", "high")
ESTIMATE_FIELDS = ("estimate", "estimate_low", "estimate_high")


def score(result: results.Score, x: str, y: str) -> Answer:
    """Answer how strongly two columns depend on each other."""
    return _facts(result, f"{x} and {y}", result.facts(x, y), {"x": x, "y": y, **result.record()})


def test(result: results.IndependenceTest, x: str, y: str) -> Answer:
    """Answer whether two columns are independent."""
    record = {"x": x, "y": y, **result.record()}
    return _facts(result, f"Are {x} and {y} independent?", result.facts(), record)


def published(result: Any, **options: bool) -> Answer:
    """Answer with the facts of a published result, and its guarantee below."""
    title = f"{result.title} (private)"
    answer = _facts(result, title, result.facts(**options), result.record(**options))
    return replace(answer, below=[result.headline(), result.guarantee])


def bounds(result: results.BoundsEstimate) -> Answer:
    """Answer with a published range, and how a file of bounds has it."""
    answer = published(result)
    if not result.found:
        return answer
    ends = f"{json.dumps(result.name)} = [{result.low!r}, {result.high!r}]"
    return replace(answer, below=[*answer.below, f"For a file of bounds: {ends}"])


def audit(result: results.AuditBound) -> Answer:
    """Answer what an attack has shown."""
    record = result.record()
    answer = _facts(result, result.title, result.facts(), record)
    return replace(answer, json=lambda: json.dumps(record))


def _facts(
    result: results.Result, title: str, facts: Sequence[Fact], record: dict[str, Any]
) -> Answer:
    """Answer with the facts of a result; its record is one line of CSV."""
    return Answer(
        title=title,
        heads=(),
        rows=facts,
        json=result.to_json,
        fields=list(record),
        records=lambda: [list(record.values())],
    )


def matrix(result: Pairwise, top: int | None) -> Answer:
    """Answer with pairs: people see the strongest, programs all unless they ask for less."""
    from dpmic.results.pairwise import MOST_LISTED, strongest

    fields = list(result.columns(0, 0))
    positions = strongest(result.mic, top or MOST_LISTED).tolist()
    rows = list(_pairs(result, positions))
    columns = len(result.names) + len(result.others or ())
    each = {"column": columns, "pair": result.mic.size, "row": result.n}
    size = ", ".join(plural(count, noun) for noun, count in each.items())
    which = {0: "None", 1: "The strongest"}.get(len(rows), f"The {len(rows)} strongest")
    scored = "has a score" if not rows else f"of all pairs, by {result.statistic}"
    return Answer(
        title=f"{which} {scored} ({size})",
        heads=fields,
        rows=[[_cell(*named) for named in zip(fields, row, strict=True)] for row in rows],
        json=lambda: _json(result, positions) if top else result.to_json(),
        fields=fields,
        records=lambda: _pairs(result, positions) if top else _all_pairs(result),
    )


def _json(result: Pairwise, positions: Sequence[int]) -> str:
    """Return some pairs only, each with the names of its columns."""
    fields = list(result.columns(0, 0))
    lines = (
        [None if value != value else value for value in line] for line in _pairs(result, positions)
    )
    pairs = [dict(zip(fields, line, strict=True)) for line in lines]  # JSON has no NaN
    return json.dumps({"statistic": result.statistic, "n": result.n, "pairs": pairs})


def _pairs(result: Pairwise, positions: Sequence[int]) -> Iterator[list[Any]]:
    for position in positions:
        yield from _lines(result, position, position + 1)


def _all_pairs(result: Pairwise) -> Iterator[list[Any]]:
    for start in range(0, result.mic.size, AT_ONCE):
        yield from _lines(result, start, min(start + AT_ONCE, result.mic.size))


def _lines(result: Pairwise, start: int, stop: int) -> Iterator[list[Any]]:
    """Yield some pairs, with the names of their columns."""
    columns = [values.tolist() for values in result.columns(start, stop).values()]
    others = result.others or result.names
    for x, y, *numbers in zip(*columns, strict=True):
        yield [result.names[x], others[y], *numbers]


def pairs(result: results.Screening | results.PairwiseRelease, estimate: bool = False) -> Answer:
    """Answer with the published scores of several pairs, the largest first."""
    from dpmic.results.uncertainty import NAMED_BEFOREHAND, NOISE_COVERS

    heads: Sequence[str] = PAIR_HEADS
    fields: Sequence[str] = PAIR_FIELDS
    guesses: Sequence[tuple[float | None, ...]] = [()] * len(result.values)
    below = [result.headline(), f"Noise interval: {NOISE_COVERS}.", result.guarantee]
    if estimate:
        known = result.known_estimates()
        guesses, heads = known.rows, (*heads, *ESTIMATE_HEADS)
        fields = (*fields, *ESTIMATE_FIELDS)
        below.insert(2, f"Estimates of MIC*: {known.note}. {NAMED_BEFOREHAND}")
    lines: list[tuple[Any, ...]] = [
        (*pair, value, *ends, *guess)
        for pair, value, ends, guess in zip(
            result.pairs, result.values, result.interval(), guesses, strict=True
        )
    ]
    lines.sort(key=lambda line: -line[2])
    return Answer(
        title=f"Private scores of pairs, for epsilon = {format_ceil(result.epsilon)} in total",
        heads=heads,
        rows=[list(map(_short, row)) for row in lines],
        below=below,
        json=result.to_json,
        fields=fields,
        records=lambda: lines,
    )


def demonstrated(result: results.Screening, exact: Mapping[tuple[str, str], float]) -> Answer:
    """Answer with published scores of public data, and the exact ones beside them."""
    answer = pairs(result)
    rows = [[*row, _short(exact[row[0], row[1]])] for row in answer.rows]
    note = "Exact values may be shown here because the data are public; never show yours."
    return replace(answer, heads=(*answer.heads, "exact"), rows=rows, below=[*answer.below, note])


def groups(result: results.Groups) -> Answer:
    """Answer with what was published of each group."""
    from dpmic.results.uncertainty import NOISE_COVERS

    lines = [tuple(row.values()) for row in result.rows()]
    cost = format_ceil(result.epsilon)
    return Answer(
        title=f"Private scores by {result.by}, for epsilon = {cost} in total",
        heads=(result.by, *PAIR_HEADS),
        rows=[list(map(_short, row)) for row in lines],
        below=[result.headline(), f"Noise interval: {NOISE_COVERS}.", result.guarantee],
        json=result.to_json,
        fields=("group", *PAIR_FIELDS),
        records=lambda: lines,
    )


def plan(result: results.Plan | results.TablePlan) -> Answer:
    """Answer what every mechanism would err by, or what a table would be worth."""
    from dpmic.results import TablePlan

    below, record = [for_the_shell(remark) for remark in result.remarks()], result.record()
    if isinstance(result, TablePlan):
        return replace(_facts(result, result.title, result.facts(), record), below=below)
    head, *lines = result.table()
    return Answer(
        title=result.title,
        heads=head,
        rows=lines,
        below=below,
        json=lambda: json.dumps(record),
        fields=list(record["rows"][0]),
        records=lambda: [list(row.values()) for row in record["rows"]],
    )


def _cell(field: str, value: Any) -> str:
    """Write a cell of a column; p- and q-values are never understated."""
    return format_chance(value) if field in ("pvalue", "qvalue") else _short(value)


def _short(value: Any) -> str:
    if value is None or value != value:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
