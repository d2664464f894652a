"""Pages of published results. They hold what was published, and what was public before."""

from __future__ import annotations

import itertools

import numpy as np

from dpmic import _validate
from dpmic.report import words
from dpmic.report.charts import Bar, bars, figure
from dpmic.report.content import Content, Part, decimals, flat, plural
from dpmic.report.markup import Cell, Column, cards, pair, table
from dpmic.report.matrices import MOST, HeatMap, heat_map, strongest
from dpmic.report.planes import histogram
from dpmic.results import (
    BoundsEstimate,
    HistogramRelease,
    IndependenceRelease,
    PairwiseRelease,
    Release,
    Screening,
    leading,
)
from dpmic.results.pairs import ScoredPairs
from dpmic.results.published import Published, PublishedPair

__all__ = ["bounds", "counts", "independence", "matrix", "release", "screening"]

MOST_BARS, MOST_ROWS = 25, 300
LEGEND = (
    "Bar and dot: the published value. Line: the 95% interval of its noise. Diamond: the estimate."
)


def screening(result: Screening) -> Content:
    """Show the chosen pairs."""
    chosen, total = len(result.pairs), plural(result.candidates, "pair")
    title = f"The strongest {chosen} of {total}" if chosen < result.candidates else f"All {total}"
    if result.target is not None:
        title += f" with {result.target}"
    costs = {
        "epsilon for the choice": _validate.upwards(result.selection_epsilon),
        "epsilon for the values": _validate.upwards(result.values_epsilon),
        "scale of the choice": f"{result.selection_scale:.6g}",
    }
    chosen_words = (words.CHOSEN,) if chosen < result.candidates else (words.NOISY_CHOICE,)
    return Content(
        title=title,
        promise=result.guarantee,
        private=True,
        parts=_pairs(result),
        reading=(*_reading(result), *chosen_words, words.EPSILON),
        facts={**_facts(result), **_noise(result), **costs},
    )


def matrix(result: PairwiseRelease) -> Content:
    """Show every pair, as a matrix where no column was named."""
    title = f"All {plural(len(result.values), 'pair')}"
    parts = _pairs(result)
    if result.target is not None:
        title += f" with {result.target}"
    else:
        parts = (parts[0], _heat(result), *parts[1:])
    costs = {"noise": result.noise, "delta": _validate.upwards(result.delta)}
    return Content(
        title=title,
        promise=result.guarantee,
        private=True,
        parts=parts,
        reading=(*_reading(result), words.NOISY_CHOICE, words.EPSILON),
        facts={**_facts(result), **_noise(result), **costs},
    )


def release(result: Release) -> Content:
    """Show one number with its noise."""
    first, second = result.names
    low, high = result.interval()
    name = result.statistic.upper()
    numbers = {
        f"{name}, with noise": decimals(result.value),
        "estimate": decimals(result.estimate),
        "noise interval, 95%": f"{decimals(low)} to {decimals(high)}",
    }
    row = Bar(result.names, result.value, result.estimate, (low, high))
    told = f"{first} and {second}: {result.value:.4f}, noise from {low:.4f} to {high:.4f}."
    drawing = bars([row], f"The {name} on its scale", told)
    return Content(
        title=f"{name} of {first} and {second}",
        promise=result.guarantee,
        private=True,
        parts=(Part("The result", cards(numbers) + figure(drawing, LEGEND)),),
        reading=(words.MIC, words.CHANCE, *_noise_words(), words.EPSILON),
        facts={**_facts(result), **_noise(result), "mechanism": result.mechanism},
    )


def counts(result: HistogramRelease) -> Content:
    """Show a noisy histogram and the statistics that follow from it."""
    first, second = result.names
    numbers = {
        "estimate of the MIC": decimals(result.estimate),
        "MIC of the histogram": decimals(result.value),
        "TIC, normalised": decimals(result.tic(normalised=True)),
        "MAS": decimals(result.mas),
        "MEV": decimals(result.mev),
        "MCN": decimals(result.mcn()),
    }
    caption = (
        f"The counts of {first} and {second} in {result.m} by {result.m} cells, with noise, made "
        f"to add up to the {plural(result.n, 'record')}. The fuller the colour, the more records; "
        f"the fullest cell holds {max(map(max, result.histogram)):,}."
    )
    return Content(
        title=f"Histogram of {first} and {second}",
        promise=result.guarantee,
        private=True,
        parts=(
            Part("The result", cards(numbers)),
            Part("The noisy histogram", figure(histogram(result), caption) + _counts(result)),
        ),
        reading=(words.MIC, words.COUNTS, words.ESTIMATE, words.MINE, words.EPSILON),
        facts={**_facts(result), **_noise(result), "mechanism": result.mechanism},
    )


def bounds(result: BoundsEstimate) -> Content:
    """Show a range."""
    found = f"{result.low:.12g} to {result.high:.12g}"
    numbers = {f"range of {result.name}": found if result.found else "none found"}
    if result.found:
        numbers["records outside, at most"] = f"{result.outside:,} of {result.n:,}"
        numbers["with probability"] = f"{_validate.all_but(result.failure)} or more"
    return Content(
        title=f"Range of {result.name}",
        promise=result.guarantee,
        private=True,
        parts=(Part("The result", cards(numbers)),),
        reading=(words.OUTSIDE, words.EPSILON),
        facts=_facts(result),
    )


def independence(result: IndependenceRelease) -> Content:
    """Show a test's p-value."""
    first, second = result.names
    numbers = {
        "p-value": _validate.upwards(result.pvalue, 4),
        "Cramer's V of ranks, with noise": decimals(result.value),
    }
    return Content(
        title=f"Are {first} and {second} independent?",
        promise=result.guarantee,
        private=True,
        parts=(Part("The result", cards(numbers)),),
        reading=(
            words.PVALUE,
            "Cramer's V compares the ranks of the two columns, from 0 for no relation to 1; with "
            "its noise it may lie outside. It is no MIC.",
            words.EPSILON,
        ),
        facts={**_facts(result), **_noise(result)},
    )


def _pairs(result: ScoredPairs) -> tuple[Part, ...]:
    """Return the bars and the table of published pairs, the largest value first."""
    places = leading.largest(np.array(result.values), MOST_ROWS).tolist()
    named, ends = result._named(), result.interval()
    rows = [
        Bar(named[i], result.values[i], result.estimates[i], ends[i]) for i in places[:MOST_BARS]
    ]
    if result.target is not None:
        rows = [Bar(row.names[1:], row.value, row.estimate, row.ends) for row in rows]
    told = "; ".join(f"{', '.join(row.names)}: {row.value:.4f}" for row in rows)
    drawing = bars(rows, "The values of the pairs, with the intervals of their noise", told)
    cut = _cut(len(rows), len(named))
    columns = (
        Column("pair", numeric=False),
        Column("value", order="descending"),
        Column("estimate"),
        Column("noise interval, 95%"),
    )
    caption = f"Pairs, the largest value first. {_cut(len(places), len(named))}".strip()
    cells = (_cells(result, named[i], i, ends[i]) for i in places)
    return (
        Part("At a glance", figure(drawing, f"{LEGEND} {cut}".strip())),
        Part("Pairs and their values", table(caption, columns, cells)),
    )


def _cells(
    result: ScoredPairs, names: tuple[str, str], place: int, ends: tuple[float, float]
) -> tuple[Cell, ...]:
    value, estimate = result.values[place], result.estimates[place]
    low, high = ends
    return (
        Cell(pair(*names)),
        Cell(decimals(value), value),
        Cell(decimals(estimate), estimate),
        Cell(f"{decimals(low)} to&nbsp;{decimals(high)}", low),
    )


def _heat(result: PairwiseRelease) -> Part:
    whole = HeatMap(result.matrix, result.names, result.names)
    part = strongest(whole)
    drawing = heat_map(part, "Published values of all pairs")
    caption = "The published values, noise included: the fuller the colour, the larger."
    if len(part.rows) < len(whole.rows):
        caption += f" {MOST} of {len(whole.rows)} columns are shown, those of the largest values."
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


def _reading(result: ScoredPairs) -> tuple[str, ...]:
    several = (words.SEVERAL,) if len(result.values) > 1 else ()
    return (words.MIC, words.CHANCE, *_noise_words(), *several)


def _noise_words() -> tuple[str, ...]:
    return words.VALUE, words.ESTIMATE, words.INTERVAL


def _facts(result: Published) -> dict[str, str]:
    unit = "one record"
    if result.person is not None:
        unit = f"one person, by {result.person}; of each only the first record is used"
    if result.rows_per_person > 1:
        unit = f"one person, with at most {result.rows_per_person} records"
        if result.person is not None:
            unit += f", by {result.person}; further ones are not used"
    named = {"dataset": result.dataset, "drawn on": result.replayed}
    return {
        "records (n)": f"{result.n:,}",
        **{name: words for name, words in named.items() if words is not None},
        "epsilon": _validate.upwards(result.epsilon),
        "protected unit": unit,
        **flat(result.parameters),
    }


def _noise(result: ScoredPairs | PublishedPair) -> dict[str, str]:
    return {
        "sensitivity": f"{result.sensitivity:.6g}",
        "scale of the noise": f"{result.scale:.6g}",
    }
