"""Every result as an answer: what people see, and the lines of CSV."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dpmic._format import format_ceil, format_complement
from dpmic.cli._output import Answer
from dpmic.cli._shell import for_the_shell

if TYPE_CHECKING:
    from dpmic.results import (
        AuditBound,
        BoundsEstimate,
        IndependenceRelease,
        IndependenceTest,
        Pairwise,
        PairwiseRelease,
        Plan,
        Release,
        Score,
        Screening,
    )

__all__ = [
    "audit",
    "bounds",
    "matrix",
    "pairs",
    "plan",
    "private_test",
    "release",
    "score",
    "test",
]

AT_ONCE = 10_000
"""Lines of CSV that are made at a time."""

PRIVATE = ("value", "low", "high")
ESTIMATED = ("estimate", "estimate_low", "estimate_high")
ESTIMATE_HEADS = ("estimate", "from", "to (95%)")

MEANINGS = {
    "MIC": "strength, from 0 to 1",
    "TIC, normalised": "mean over all grids",
    "MAS": "how far from monotone",
    "MEV": "how close to a function",
    "MCN": "log2 of the cells needed",
}


def score(result: Score, x: str, y: str) -> Answer:
    """Answer how strongly two columns depend on each other."""
    total = result.tic(normalised=True)
    numbers = (result.mic, total, result.mas, result.mev, result.mcn())
    named = zip(MEANINGS.items(), numbers, strict=True)
    shape = f"{result.grid.k} x {result.grid.l}"
    return Answer(
        title=f"{x} and {y}",
        heads=(),
        rows=[
            *((name, f"{value:.4f}", meaning) for (name, meaning), value in named),
            ("grid", shape, f"rows on {y} x columns on {x}"),
            ("n", f"{result.n}", "records used"),
        ],
        json=result.to_json,
        fields=("x", "y", "mic", "tic", "mas", "mev", "mcn", "n", "statistic"),
        records=lambda: [(x, y, *numbers, result.n, result.statistic)],
    )


def matrix(result: Pairwise, top: int | None) -> Answer:
    """Answer with pairs: people see the strongest, programs all unless they ask for less."""
    from dpmic.results import leading

    fields = list(result.columns(0, 0))
    strongest = leading.largest(result.mic, top or leading.SHOWN).tolist()
    rows = list(_pairs(result, strongest))
    size = f"{len(result.names)} columns, {result.mic.size} pairs, {result.n} rows"
    return Answer(
        title=f"The {len(rows)} strongest of all pairs, by {result.statistic} ({size})",
        heads=fields,
        rows=[[_cell(*named) for named in zip(fields, row, strict=True)] for row in rows],
        json=lambda: _json(result, strongest) if top else result.to_json(),
        fields=fields,
        records=lambda: _pairs(result, strongest) if top else _all_pairs(result),
    )


def _json(result: Pairwise, places: Sequence[int]) -> str:
    """Return some pairs only, each with the names of its columns."""
    fields = list(result.columns(0, 0))
    lines = (
        [None if value != value else value for value in line] for line in _pairs(result, places)
    )
    pairs = [dict(zip(fields, line, strict=True)) for line in lines]  # JSON has no NaN
    return json.dumps({"statistic": result.statistic, "n": result.n, "pairs": pairs})


def _pairs(result: Pairwise, places: Sequence[int]) -> Iterator[list[Any]]:
    for place in places:
        yield from _lines(result, place, place + 1)


def _all_pairs(result: Pairwise) -> Iterator[list[Any]]:
    for start in range(0, result.mic.size, AT_ONCE):
        yield from _lines(result, start, min(start + AT_ONCE, result.mic.size))


def _lines(result: Pairwise, start: int, stop: int) -> Iterator[list[Any]]:
    """Yield some pairs, with the names of their columns."""
    columns = [values.tolist() for values in result.columns(start, stop).values()]
    for x, y, *numbers in zip(*columns, strict=True):
        yield [result.names[x], result.names[y], *numbers]


def test(result: IndependenceTest, x: str, y: str) -> Answer:
    """Answer whether two columns are independent."""
    numbers = (result.pvalue, result.statistic, result.permutations, result.n)
    return Answer(
        title=f"Are {x} and {y} independent?",
        heads=(),
        rows=[
            ("p-value", format_ceil(result.pvalue, 4), "how often chance gives as much"),
            ("TICe", f"{result.statistic:.4f}", "the statistic"),
            ("permutations", f"{result.permutations}", "compared with"),
            ("n", f"{result.n}", "records used"),
        ],
        json=result.to_json,
        fields=("x", "y", "pvalue", "statistic", "permutations", "n"),
        records=lambda: [(x, y, *numbers)],
    )


def private_test(result: IndependenceRelease) -> Answer:
    """Answer whether two columns are independent, privately."""
    x, y = result.names
    return Answer(
        title=f"Are {x} and {y} independent? (private)",
        heads=(),
        rows=[
            ("p-value", format_ceil(result.pvalue, 4), "exact, the noise included"),
            ("Cramer's V", f"{result.value:.4f}", "of ranks, with noise"),
            ("epsilon", format_ceil(result.epsilon), "what it cost"),
            ("n", f"{result.n}", "public"),
        ],
        below=[result.guarantee],
        json=result.to_json,
        fields=("x", "y", "pvalue", "value", "draws", "epsilon", "n"),
        records=lambda: [
            (x, y, result.pvalue, result.value, result.draws, result.epsilon, result.n)
        ],
    )


def release(result: Release, estimate: bool = False) -> Answer:
    """Answer with a published score; that of noisy counts has no noise interval."""
    from dpmic.results import HistogramRelease, noises
    from dpmic.results.histogram_release import BIASED

    x, y = result.names
    ends: tuple[float | None, float | None] = (None, None)
    if isinstance(result, HistogramRelease):
        rows = [("MIC", f"{result.value:.4f}", f"of the noisy counts, {BIASED}")]
    else:
        ends = result.interval()
        rows = [
            (result.statistic.upper(), f"{result.value:.4f}", "with noise"),
            ("noise interval", f"{ends[0]:.4f} to {ends[1]:.4f}", noises.COVERS),
        ]
    guess: tuple[float | None, ...] = ()
    if estimate:
        shown = result._shown_estimates()
        (guess,) = shown.rows
        if guess[0] is None:
            rows.append(("estimate", "-", shown.note))
        else:
            rows.append(("estimate", _short(guess[0]), "of MIC*, the value in the population"))
            rows.append(("its interval", f"{guess[1]:.4f} to {guess[2]:.4f}", shown.note))
    facts = (result.epsilon, result.n, result.mechanism)
    return Answer(
        title=f"{x} and {y} (private)",
        heads=(),
        rows=[
            *rows,
            ("epsilon", format_ceil(result.epsilon), "what it cost"),
            ("n", f"{result.n}", "public"),
        ],
        below=[result.guarantee],
        json=result.to_json,
        fields=("x", "y", *PRIVATE, *ESTIMATED[: len(guess)], "epsilon", "n", "mechanism"),
        records=lambda: [(x, y, result.value, *ends, *guess, *facts)],
    )


def pairs(result: Screening | PairwiseRelease, estimate: bool = False) -> Answer:
    """Answer with the published scores of several pairs, the largest first."""
    from dpmic.results import inference, noises

    heads: Sequence[str] = ("x", "y", "MIC", "noise from", "to (95%)")
    fields: Sequence[str] = ("x", "y", *PRIVATE)
    guesses: Sequence[tuple[float | None, ...]] = [()] * len(result.values)
    below = [f"Noise interval: {noises.COVERS}.", result.guarantee]
    if estimate:
        shown = result._shown_estimates()
        guesses, heads = shown.rows, (*heads, *ESTIMATE_HEADS)
        fields = (*fields, *ESTIMATED)
        below.insert(1, f"Estimates of MIC*: {shown.note}. {inference.FIXED}")
    lines: list[tuple[Any, ...]] = [
        (*pair, value, *ends, *guess)
        for pair, value, ends, guess in zip(
            result.pairs, result.values, result.interval(), guesses, strict=True
        )
    ]
    lines.sort(key=lambda line: -line[2])
    return Answer(
        title=f"Private scores of pairs, for epsilon = {format_ceil(result.epsilon)} together",
        heads=heads,
        rows=[[text if isinstance(text, str) else _short(text) for text in row] for row in lines],
        below=below,
        json=result.to_json,
        fields=fields,
        records=lambda: lines,
    )


def bounds(result: BoundsEstimate) -> Answer:
    """Answer with a published range, and how a file of bounds has it."""
    name = json.dumps(result.name)
    below = [result.guarantee]
    if result.found:
        below.append(f"For a file of bounds: {name} = [{result.low!r}, {result.high!r}]")
    likely = f"with probability {format_complement(result.failure)} or more"
    numbers = (result.low, result.high, result.outside, result.found, result.epsilon, result.n)
    return Answer(
        title=f"The range of {result.name} (private)",
        heads=(),
        rows=[
            ("range", f"{result.low:.12g} to {result.high:.12g}" if result.found else "none", ""),
            ("outside", f"{result.outside}", f"records at most, {likely}"),
            ("epsilon", format_ceil(result.epsilon), "what it cost"),
            ("n", f"{result.n}", "public"),
        ],
        below=below,
        json=result.to_json,
        fields=("column", "low", "high", "outside", "found", "epsilon", "n"),
        records=lambda: [(result.name, *numbers)],
    )


def plan(result: Plan) -> Answer:
    """Answer what every mechanism would err by."""
    head, *lines = result._table()
    fields = list(result.to_frame("pyarrow").column_names)
    rows = [[getattr(row, field) for field in fields] for row in result.rows]
    facts = {"n": result.n, "epsilon": result.epsilon, "error": result.error, "of": result.of}
    return Answer(
        title=result._title(),
        heads=head,
        rows=lines,
        below=[for_the_shell(remark) for remark in result._remarks()],
        json=lambda: json.dumps(
            {**facts, "rows": [dict(zip(fields, row, strict=True)) for row in rows]}
        ),
        fields=fields,
        records=lambda: rows,
    )


def audit(result: AuditBound) -> Answer:
    """Answer what an attack has shown."""
    content = {**result.to_dict(), "disproved": result.disproved}
    return Answer(
        title=f"{result.mechanism}: {result.verdict}",
        heads=(),
        rows=[
            ("claimed epsilon", f"{result.claimed:g}", ""),
            ("runs", f"{result.runs}", "on each of two neighbouring datasets"),
            ("event", "", result.event),
        ],
        json=lambda: json.dumps(content),
        fields=list(content),
        records=lambda: [list(content.values())],
    )


def _cell(field: str, value: Any) -> str:
    """Write a number of a column; p- and q-values are never understated."""
    if field in ("pvalue", "qvalue"):
        return format_ceil(value, 4)
    return value if isinstance(value, str) else _short(value)


def _short(number: float | None) -> str:
    if number is None:
        return "-"
    return f"{number:.4f}" if isinstance(number, float) else str(number)
