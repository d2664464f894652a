"""Pages of published results. They hold what was published, and what was public before."""

from __future__ import annotations

import itertools

import numpy as np

from dpmic._format import format_ceil, format_complement
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
from dpmic.report.markup import Cell, Column, Content, Part, cards, decimals, pair, plural, table
from dpmic.results import (
    BoundsEstimate,
    Groups,
    HistogramRelease,
    IndependenceRelease,
    PairwiseRelease,
    Release,
    Screening,
    uncertainty,
)
from dpmic.results.pairwise import strongest
from dpmic.results.release import BIASED

Pairs = Screening | PairwiseRelease
MOST_BARS, MOST_ROWS = 25, 300
LEGEND = "Bar and dot: the published value. Line: the 95% interval of its noise."
DIAMOND = "Diamond: the estimate of MIC*."


def screening(result: Screening, estimate: bool) -> Content:
    """Show the selected pairs."""
    selected, total = len(result.pairs), plural(result.candidates, "pair")
    title = (
        f"The strongest {selected} of {total}" if selected < result.candidates else f"All {total}"
    )
    if result.target is not None:
        title += f" with {result.target}"
    about_order = words.SELECTED if selected < result.candidates else words.NOISY_ORDER
    return Content(
        title=title,
        parts=_pairs(result, estimate),
        reading=(*_reading(result, estimate), about_order),
    )


def groups(result: Groups) -> Content:
    """Show each group, one after the other."""
    each = [
        (group, release(own, False) if isinstance(own, Release) else screening(own, False))
        for group, own in result.items()
    ]
    parts = tuple(
        Part(f"{result.by} {group} (at least {result[group].n:,}): {part.heading}", part.markup)
        for group, content in each
        for part in content.parts
    )
    reading = (*each[0][1].reading, words.GROUPS)
    return Content(title=f"{each[0][1].title}, by {result.by}", parts=parts, reading=reading)


def matrix(result: PairwiseRelease, estimate: bool) -> Content:
    """Show every pair, as a matrix where no column was named."""
    title = f"All {plural(len(result.values), 'pair')}"
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
    told = f"{first} and {second}: {result.value:.4f}, noise from {low:.4f} to {high:.4f}."
    drawing = bars([row], f"The {name} on its scale", told)
    return Content(
        title=f"{name} of {first} and {second}",
        parts=(Part("The result", cards(numbers) + figure(drawing, _legend(estimate))),),
        reading=(words.MIC, words.CHANCE, *_noise_words(estimate)),
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
        f"to add up to the {plural(result.n, 'record')}. The fuller the colour, the more records; "
        f"the fullest cell holds {max(map(max, result.histogram)):,}."
    )
    return Content(
        title=f"Histogram of {first} and {second}",
        parts=(
            Part("The result", cards(numbers)),
            Part("The noisy histogram", figure(histogram(result), caption) + _counts(result)),
        ),
        reading=(words.MIC, words.COUNTS, *guess, words.MINE),
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
        "p-value": format_ceil(result.pvalue, 4),
        "Cramer's V of ranks, with noise": decimals(result.value),
    }
    return Content(
        title=f"Are {first} and {second} independent?",
        parts=(Part("The result", cards(numbers)),),
        reading=(
            words.PVALUE,
            "Cramer's V compares the ranks of the two columns, from 0 for no relation to 1; with "
            "its noise it may lie outside. It is not a MIC.",
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


def _legend(estimate: bool) -> str:
    return f"{LEGEND} {DIAMOND}" if estimate else LEGEND


def _pairs(result: Pairs, estimate: bool) -> tuple[Part, ...]:
    """Return the bars and the table of published pairs, the largest value first."""
    places = strongest(np.array(result.values), MOST_ROWS).tolist()
    named, ends = result.pairs, result.interval()
    known = result.known_estimates() if estimate else None
    guesses = known.rows if known else ((None, None, None),) * len(named)
    start = 0 if result.target is None else 1
    rows = [
        Bar(named[i][start:], result.values[i], ends[i], guesses[i][0]) for i in places[:MOST_BARS]
    ]
    told = "; ".join(f"{', '.join(row.names)}: {row.value:.4f}" for row in rows)
    drawing = bars(rows, "The values of the pairs, with the intervals of their noise", told)
    cut = _cut(len(rows), len(named))
    columns = [
        Column("pair", numeric=False),
        Column("value", order="descending"),
        Column("noise interval, 95%"),
    ]
    caption = f"Pairs, the largest value first. {_cut(len(places), len(named))}".strip()
    if known is not None:
        columns += [Column("estimate of MIC*"), Column("its interval, 95%")]
        caption += f" Estimates: {known.note}. {uncertainty.NAMED_BEFOREHAND}"
    cells = (
        (
            *(Cell(pair(*named[i])), Cell(decimals(result.values[i]), result.values[i])),
            _ends(*ends[i]),
            *(_estimated(*guesses[i]) if known else ()),
        )
        for i in places
    )
    return (
        Part("At a glance", figure(drawing, f"{_legend(estimate)} {cut}".strip())),
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
    caption = "The published values, noise included: the fuller the colour, the larger."
    if len(part.rows) < len(complete.rows):
        caption += f" {MOST_COLUMNS} of {len(complete.rows)} columns are shown, "
        caption += "those of the largest values."
    return Part("All pairs", figure(drawing, caption))


def _counts(result: HistogramRelease) -> str:
    """Return the histogram in numbers, y upwards, for who cannot see the figure."""
    first, second = result.names
    places = [f"{low:.6g} to {high:.6g}" for low, high in itertools.pairwise(result.x_edges)]
    columns = [Column(f"{second}, by {first}", numeric=False), *map(Column, places)]
    rows = [
        (Cell(f"{low:.6g} to {high:.6g}"), *(Cell(f"{count:,}", count) for count in counts))
        for (low, high), counts in zip(
            itertools.pairwise(result.y_edges), result.histogram, strict=True
        )
    ]
    held = table(f"Counts of {first} across and {second} down, with noise.", columns, rows)
    return f"<details><summary>The counts as a table</summary>{held}</details>"


def _cut(shown: int, total: int) -> str:
    return "" if shown == total else f"The {shown:,} largest of {total:,} are shown."


def _reading(result: Pairs, estimate: bool) -> tuple[str, ...]:
    several = (words.SEVERAL,) if len(result.values) > 1 else ()
    together = (words.TOGETHER,) if result.noise == "cube" else ()
    return (words.MIC, words.CHANCE, *_noise_words(estimate), *several, *together)


def _noise_words(estimate: bool) -> tuple[str, ...]:
    return words.VALUE, words.INTERVAL, *((words.ESTIMATE,) if estimate else ())
