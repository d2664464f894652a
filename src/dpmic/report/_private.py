"""Pages of published results. They hold what was published, and what was public before."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpmic._format import format_chance, format_complement, format_date, plural
from dpmic.report import _words as words
from dpmic.report._charts import (
    MOST_COLUMNS,
    Bar,
    HeatMap,
    bars,
    figure,
    heat_map,
    histogram,
    strongest_part,
)
from dpmic.report.markup import (
    Cell,
    Column,
    Content,
    Part,
    cards,
    decimals,
    pair,
    table,
    text,
)
from dpmic.results import (
    BoundsEstimate,
    Groups,
    HistogramRelease,
    IndependenceRelease,
    PairwiseRelease,
    Published,
    Release,
    Screening,
    uncertainty,
)
from dpmic.results.pairwise import strongest
from dpmic.results.relation import sentence_case, the_strongest
from dpmic.results.release import BIASED

Pairs = Screening | PairwiseRelease
MOST_BARS, MOST_ROWS = 25, 300
LEGEND = "Bar and dot: the published value. Line: the 95% interval of its noise."
ESTIMATED = "Diamond: the estimate of MIC*."
EXACT = "Diamond: the exact value, without noise."

Exact = Mapping[tuple[str, str], float]
"""The scores without noise, of public data alone."""


def screening(result: Screening, estimate: bool, exact: Exact | None = None) -> Content:
    """Show the selected pairs."""
    selected = len(result.pairs)
    title = _every(selected)
    if selected < result.candidates:
        title = the_strongest(selected, result.candidates)
    if result.target is not None:
        title += f" with {result.target}"
    about_order = words.SELECTED if selected < result.candidates else words.NOISY_ORDER
    return Content(
        title=title,
        parts=_pairs(result, estimate, exact),
        reading=(*_reading(result, estimate), about_order),
    )


def groups(result: Groups) -> Content:
    """Show every group in one figure and one table."""
    found = sorted(result.rows(), key=lambda row: -row["value"])
    several = len(found) > len(result)
    bars_of = [_group_bar(result.by, row, several) for row in _together(found[:MOST_BARS])]
    described = "; ".join(
        f"{', '.join(filter(None, (row.heading, *row.names)))}: {row.value:.4f}" for row in bars_of
    )
    known = [relation.unrelated for relation in result.relations()]
    most = max(each.most for each in known if each is not None) if all(known) else None
    title = "The values of the groups, with the intervals of their noise"
    legend = " ".join(filter(None, (LEGEND, _cut(len(bars_of), len(found)))))
    glance = figure(bars(bars_of, title, described, most), legend)
    first = result.members[0]
    pairs = len(result) * getattr(first, "candidates", 1)
    return Content(
        title=sentence_case(result.title),
        parts=(
            Part("At a glance", glance),
            Part("Groups and their values", _groups_table(result, found[:MOST_ROWS], several)),
        ),
        reading=(
            *_scale(most, pairs),
            *_noise_words(result, False),
            words.SEVERAL,
            words.GROUPS.format(them=result.privacy_unit.them),
        ),
    )


def _together(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Bring the rows of each group together, in the order in which the groups come first."""
    places = {group: i for i, group in enumerate(dict.fromkeys(row["group"] for row in rows))}
    return sorted(rows, key=lambda row: places[row["group"]])


def _group_bar(by: str, row: Mapping[str, Any], several: bool) -> Bar:
    """Return the bar of a group's value; where it has several, of a pair below its name."""
    group, ends = f"{by} {row['group']}", (row["low"], row["high"])
    if several:
        return Bar((row["x"], row["y"]), row["value"], ends, heading=group)
    return Bar((group,), row["value"], ends)


def _groups_table(result: Groups, rows: Sequence[Mapping[str, Any]], several: bool) -> str:
    """Return the values of all groups, the largest first, with those of a group together."""
    columns = [
        Column(result.by, numeric=False),
        Column("records, at least"),
        Column("pair"),
        Column("value", order=None if several else "descending"),
        Column("noise interval, 95%"),
    ]
    cells = (
        (
            Cell(text(row["group"])),
            Cell(f"{result[row['group']].n:,}", result[row["group"]].n),
            Cell(pair(row["x"], row["y"])),
            Cell(decimals(row["value"]), row["value"]),
            _ends(row["low"], row["high"]),
        )
        for row in _together(rows)
    )
    return table("Groups, that of the largest value first.", columns, cells)


def matrix(result: PairwiseRelease, estimate: bool) -> Content:
    """Show every pair, as a matrix where no column was named."""
    title = _every(len(result.values))
    parts = _pairs(result, estimate)
    if result.target is not None:
        title += f" with {result.target}"
    else:
        parts = (parts[0], _heat(result), *parts[1:])
    return Content(
        title=title, parts=parts, reading=(*_reading(result, estimate), words.NOISY_ORDER)
    )


def release(result: Release, estimate: bool) -> Content:
    """Show one number with its noise."""
    first, second = result.names
    low, high = result.interval()
    name = result.statistic.upper()
    numbers = {
        f"{name}, with noise": decimals(result.value),
        "noise interval, 95%": f"{decimals(low)} to {decimals(high)}",
    }
    guess = None
    if estimate:
        known = result.known_estimates()
        numbers |= _guess(known)
        guess = known.rows[0][0]
    row = Bar(result.names, result.value, (low, high), guess)
    described = f"{first} and {second}: {result.value:.4f}, noise from {low:.4f} to {high:.4f}."
    chance = result.unrelated
    drawing = bars([row], f"The {name} on its scale", described, chance and chance.most)
    legend = f"{LEGEND} {ESTIMATED}" if estimate else LEGEND
    return Content(
        title=f"{name} of {first} and {second}",
        parts=(Part("At a glance", cards(numbers) + figure(drawing, legend)),),
        reading=(*_scale(chance, 1), *_noise_words(result, estimate)),
    )


def counts(result: HistogramRelease, estimate: bool) -> Content:
    """Show a noisy histogram and the statistics that follow from it."""
    first, second = result.names
    numbers = {
        f"MIC of the histogram, {BIASED}": decimals(result.value),
        **(_guess(result.known_estimates()) if estimate else {}),
        "TIC, normalised": decimals(result.tic(normalised=True)),
        "MAS": decimals(result.mas),
        "MEV": decimals(result.mev),
        "MCN": decimals(result.mcn()),
    }
    guess = (words.ESTIMATE,) if estimate else ()
    caption = (
        f"The counts of {first} and {second} in {result.m} by {result.m} cells, with noise, made "
        f"to add up to the {plural(result.n, 'record')}. The stronger the colour, the more "
        f"records; the largest cell holds {max(map(max, result.histogram)):,}."
    )
    return Content(
        title=f"Histogram of {first} and {second}",
        parts=(
            Part("The result", cards(numbers)),
            Part("The noisy histogram", figure(histogram(result), caption) + _counts(result)),
        ),
        reading=(words.MIC, words.COUNTS, *guess, words.TIC, words.MINE),
    )


def bounds(result: BoundsEstimate) -> Content:
    """Show a range."""
    found = f"{result.low:.12g} to {result.high:.12g}"
    numbers = {f"range of {result.name}": found if result.found else "none found"}
    if result.found:
        numbers["records outside, at most"] = f"{result.outside:,} of {result.n:,}"
        numbers["with probability at least"] = format_complement(result.failure)
    return Content(
        title=f"Range of {result.name}",
        parts=(Part("The result", cards(numbers)),),
        reading=(words.OUTSIDE,),
    )


def independence(result: IndependenceRelease) -> Content:
    """Show a test's p-value."""
    first, second = result.names
    numbers = {
        "p-value": format_chance(result.pvalue),
        "Cramer's V of ranks, with noise": decimals(result.value),
    }
    return Content(
        title=f"Are {first} and {second} independent?",
        parts=(Part("The result", cards(numbers)),),
        reading=(
            words.FILLED_PVALUE if result.filled else words.PVALUE,
            "Cramer's V measures the association of the ranks of the two columns, from 0 for none "
            "to 1. Its noise may take it below 0 or above 1. It is not a MIC.",
        ),
    )


def _guess(known: uncertainty.KnownEstimates) -> dict[str, str]:
    """Return the estimate of MIC* with its interval, as cards."""
    ((guess, low, high),) = known.rows
    if guess is None or low is None or high is None:
        return {"estimate of MIC*": known.note}
    return {
        "estimate of MIC*": decimals(guess),
        "its interval, 95%": f"{decimals(low)} to {decimals(high)}",
    }


def _pairs(result: Pairs, estimate: bool, exact: Exact | None = None) -> tuple[Part, ...]:
    """Return the bars and the table of published pairs, the largest value first."""
    places = strongest(np.array(result.values), MOST_ROWS).tolist()
    named, ends = result.pairs, result.interval()
    known = result.known_estimates() if estimate else None
    guesses = known.rows if known else ((None, None, None),) * len(named)
    start = 0 if result.target is None else 1
    marks = [guess for guess, *_ in guesses] if exact is None else [exact[own] for own in named]
    rows = [Bar(named[i][start:], result.values[i], ends[i], marks[i]) for i in places[:MOST_BARS]]
    described = "; ".join(f"{', '.join(row.names)}: {row.value:.4f}" for row in rows)
    title = "The values of the pairs, with the intervals of their noise"
    drawing = bars(rows, title, described, result.unrelated and result.unrelated.most)
    mark = (ESTIMATED,) if estimate else (EXACT,) if exact is not None else ()
    legend = " ".join(filter(None, (LEGEND, *mark, _cut(len(rows), len(named)))))
    columns = [
        Column("pair", numeric=False),
        Column("value", order="descending"),
        Column("noise interval, 95%"),
    ]
    caption = f"Pairs, the largest value first. {_cut(len(places), len(named))}".strip()
    if known is not None:
        columns += [Column("estimate of MIC*"), Column("its interval, 95%")]
        caption += f" Estimates: {known.note}. {uncertainty.NAMED_BEFOREHAND}"
    if exact is not None:
        columns.append(Column("exact value"))
    cells = (
        (
            *(Cell(pair(*named[i])), Cell(decimals(result.values[i]), result.values[i])),
            _ends(*ends[i]),
            *(_estimated(*guesses[i]) if known else ()),
            *((Cell(decimals(exact[named[i]]), exact[named[i]]),) if exact is not None else ()),
        )
        for i in places
    )
    return (
        Part("At a glance", figure(drawing, legend)),
        Part("Pairs and their values", table(caption, columns, cells)),
    )


def _ends(low: float, high: float) -> Cell:
    return Cell(f"{decimals(low)} to&nbsp;{decimals(high)}", low)


def _estimated(guess: float | None, low: float | None, high: float | None) -> tuple[Cell, Cell]:
    if guess is None or low is None or high is None:
        return Cell("-"), Cell("-")
    return Cell(decimals(guess), guess), _ends(low, high)


def _heat(result: PairwiseRelease) -> Part:
    complete = HeatMap(result.matrix, result.names, result.names)
    part = strongest_part(complete)
    drawing = heat_map(part, "Published values of all pairs")
    caption = "The published values, noise included: the stronger the colour, the larger."
    if len(part.rows) < len(complete.rows):
        caption += f" {MOST_COLUMNS} of {len(complete.rows)} columns are shown, "
        caption += "those of the largest values."
    return Part("All pairs", figure(drawing, caption))


def _counts(result: HistogramRelease) -> str:
    """Return the histogram in numbers, smallest y first, for people who cannot see the figure."""
    first, second = result.names
    across, up = map(_cells, (result.x_edges, result.y_edges), result.dates)
    columns = [Column(f"{second}, by {first}", numeric=False), *map(Column, across)]
    rows = [
        (Cell(place), *(Cell(f"{count:,}", count) for count in counts))
        for place, counts in zip(up, result.histogram, strict=True)
    ]
    held = table(f"Counts of {first} across and {second} down, with noise.", columns, rows)
    return f"<details><summary>The counts as a table</summary>{held}</details>"


def _cells(edges: Sequence[float], dates: bool) -> list[str]:
    """Return from where to where each cell of an axis goes."""
    ends = [format_date(edge) if dates else f"{edge:.6g}" for edge in edges]
    return [f"{low} to {high}" for low, high in itertools.pairwise(ends)]


def _every(pairs: int) -> str:
    return "The only pair" if pairs == 1 else f"All {pairs:,} pairs"


def _cut(shown: int, total: int) -> str:
    return "" if shown == total else f"The {shown:,} largest of {total:,} are shown."


def _reading(result: Pairs, estimate: bool) -> tuple[str, ...]:
    several = (words.SEVERAL,) if len(result.values) > 1 else ()
    together = (words.TOGETHER,) if result.noise == "cube" else ()
    scale = _scale(result.unrelated, getattr(result, "candidates", len(result.values)))
    return (*scale, *_noise_words(result, estimate), *several, *together)


def _scale(known: object, pairs: int) -> tuple[str, ...]:
    """Say what a MIC means, and what unrelated columns score."""
    if known is None:
        return words.MIC, words.STRENGTH, words.CHANCE
    band = words.BAND if pairs == 1 else words.BANDS.format(pairs=f"{pairs:,}")
    return words.MIC, words.STRENGTH, f"{words.CHANCE} {band}"


def _noise_words(result: Published, estimate: bool) -> tuple[str, ...]:
    value = words.VALUE.format(each=result.privacy_unit.each)
    return value, words.INTERVAL, *((words.ESTIMATE,) if estimate else ())
