"""Pages of results without privacy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpmic._format import format_chance, plural
from dpmic.data import Pair
from dpmic.errors import InputError, ParameterError
from dpmic.report import _words as words
from dpmic.report._charts import (
    MOST_COLUMNS,
    HeatMap,
    figure,
    heat_map,
    null,
    scatter,
    strongest_part,
)
from dpmic.report.markup import Cell, Column, Content, Part, cards, decimals, pair, table
from dpmic.results import IndependenceTest, Pairwise, Score
from dpmic.results.pairwise import strongest
from dpmic.results.relation import ceiling

MOST_ROWS = 300
STATISTICS = {"mice": "MICe", "micr": "MICr", "mic": "MIC"}
VERSIONS = {"mice": (words.MICE,), "micr": (words.MICR,)}
HEADINGS = {"mic": "MIC", "tic": "TIC", "records": "records", "pvalue": "p", "qvalue": "q"}
ORDER = {"mic": "descending"}
FORMATS = {"tic": ".4g", "records": ",d"}
CHANCES = {"pvalue", "qvalue"}


def score(result: Score, points: Pair | None) -> Content:
    """Show the statistics of two columns, and their points if they are there."""
    names = (
        " of the two columns" if points is None else f" of {points.names[0]} and {points.names[1]}"
    )
    known = result.unrelated
    numbers = {
        "MIC": decimals(result.mic),
        **({"unrelated columns, up to": ceiling(known.most)} if known else {}),
        "TIC, normalised": decimals(result.tic(normalised=True)),
        "MAS, asymmetry": _defined(result.mas),
        "MEV, largest at the edge": _defined(result.mev),
        "MCN, log2 of cells": decimals(result.mcn()),
        "best grid": f"{result.grid.k} x {result.grid.l}",
    }
    return Content(
        title=f"{STATISTICS.get(result.statistic, result.statistic)}{names}",
        parts=(Part("At a glance", cards(numbers)), *_scatter(result, points)),
        reading=(_meaning(result), words.STRENGTH, words.CHANCE, words.TIC, words.MINE),
    )


def _meaning(result: Score | Pairwise) -> str:
    """Say what a score measures, and how its version of MIC differs."""
    return " ".join([words.MIC, *VERSIONS.get(result.statistic, ())])


def _defined(value: float) -> str:
    return "not defined" if math.isnan(value) else decimals(value)


def matrix(result: Pairwise, points: Pair | None, strong: Score | None) -> Content:
    """Show all pairs as a heat map and a table, and the points of one pair if they are there."""
    others = result.names if result.others is None else result.others
    complete = HeatMap(result.matrix, result.names, others)
    part = strongest_part(complete)
    name = STATISTICS.get(result.statistic, result.statistic)
    caption = f"{name} of each pair: the stronger the colour, the higher the score."
    if result.unrelated is not None:
        pairs = f"the strongest of {result.mic.size:,} unrelated pairs of numbers scores"
        unrelated = pairs if result.mic.size > 1 else "unrelated columns of numbers score"
        caption += f" By chance, {unrelated} up to {ceiling(result.unrelated.most)} (95%)."
    if part is not complete:
        caption += (
            f" Columns of the strongest pairs are shown, at most {MOST_COLUMNS} on each side."
        )
    reading = [_meaning(result), words.STRENGTH, words.CHANCE]
    reading += [words.TIC] if result.tic is not None else []
    reading += [words.PVALUES, words.QVALUES] if result.pvalues is not None else []
    return Content(
        title=f"{name} of {plural(result.mic.size, 'pair')}",
        parts=(
            Part("At a glance", figure(heat_map(part, f"{name} of all pairs"), caption)),
            Part("Pairs and their scores", _table(result)),
            *_scatter(strong, points),
        ),
        reading=tuple(reading),
    )


def independence(result: IndependenceTest, points: Pair | None, tested: Score | None) -> Content:
    """Show a test beside what unrelated columns give, and the points if they are there."""
    numbers = {
        "p-value": format_chance(result.pvalue),
        "TICe": f"{result.statistic:.4g}",
        "TICe of unrelated columns, median": f"{np.median(result.null):.4g}",
    }
    names = "the two columns" if points is None else f"{points.names[0]} and {points.names[1]}"
    caption = "Bars: TICe of shuffled, unrelated records. Line: TICe of the records as they are."
    chance = Part("Compared with unrelated columns", figure(null(result), caption))
    return Content(
        title=f"Are {names} independent?",
        parts=(Part("At a glance", cards(numbers)), chance, *_scatter(tested, points)),
        reading=(words.PVALUE, words.TICE),
    )


def _scatter(of: Score | None, points: Pair | None) -> tuple[Part, ...]:
    """Return the figure of points with the best grid, where there are points."""
    if points is None:
        return ()
    if of is None:
        raise ParameterError("points", "there is no score with their grid", "pass others=(score,)")
    if points.x.size != of.n:
        raise InputError(
            f"{points.x.size} points",
            f"the score is of {of.n} records",
            "pass the columns that were scored",
        )
    first, second = points.names
    return (Part(f"{first} and {second}", scatter(of, points)),)


def _table(result: Pairwise) -> str:
    places = strongest(result.mic, MOST_ROWS)
    numbers = {name: values[places] for name, values in result.columns().items()}
    others = result.names if result.others is None else result.others
    pairs = zip(numbers.pop("x").tolist(), numbers.pop("y").tolist(), strict=True)
    headings = [Column(HEADINGS[name], order=ORDER.get(name)) for name in numbers]
    rows = (
        (
            Cell(pair(result.names[x], others[y])),
            *(_cell(name, values[place]) for name, values in numbers.items()),
        )
        for place, (x, y) in enumerate(pairs)
    )
    caption = "Pairs, the strongest first."
    scored = int(np.count_nonzero(~np.isnan(result.mic)))
    if places.size < scored:
        caption += f" The {places.size:,} strongest of {scored:,} are listed."
    if scored < result.mic.size:
        gaps = plural(result.mic.size - scored, "pair")
        caption += f" {gaps} had too few records with both values, and no score."
    return table(caption, [Column("pair", numeric=False), *headings], rows)


def _cell(name: str, value: Any) -> Cell:
    if math.isnan(value):
        return Cell("\u2013")
    if name in CHANCES:
        return Cell(format_chance(value.item()), value.item())
    return Cell(format(value, FORMATS.get(name, ".4f")), value.item())
