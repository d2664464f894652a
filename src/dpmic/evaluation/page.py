"""From tables and figures to one self-contained HTML page: our results beside the paper's.

What the page says about the numbers is derived from the tables each time, so it cannot claim what
they do not show.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from dpmic.evaluation.page_markup import (
    MISSING,
    Html,
    document,
    figure,
    link,
    number,
    plain,
    signed,
    table,
    there,
    who,
)
from dpmic.evaluation.tables import CONTENDERS, Table

LARGEST_SVG = 150_000  # bytes; a boxplot with many outliers is smaller as a PNG
# a median may differ by so much from the paper before the page must explain it
TOLERANCES = {"bias": 0.02, "error": 0.01}
OURS = "ours-capped"  # the default
# target WSUM of our mechanisms at (n, epsilon)
GOALS = {
    **{(250, 1.0): 0.068, (250, 0.1): 0.16, (1000, 1.0): 0.030, (1000, 0.1): 0.056},
    **{(5000, 1.0): 0.0125, (5000, 0.1): 0.023},
}
MEASURES = {"medians": "Median unsigned error", "wsum": "WSUM"}
BASELINES = [contender.key for contender in CONTENDERS if contender.group == "baseline"]
PUBLISHED = [contender.key for contender in CONTENDERS if contender.group == "published"]
TITLE = "Private MIC: the paper's evaluation, reproduced"
CAPTIONS = {
    "synthetic": "bias (top) and variance (bottom) over all distributions, as n grows; the "
    "paper's boxplots for synthetic data, with our mechanisms added",
    "wsum": "WSUM against n, for every mechanism, the constant, and MIC without privacy",
    "parameters": "The tuned B, c and most columns, or the cap, against n",
    "real": "bias (top) and variance (bottom) over the pairs, binned by their MICe without "
    "privacy; the paper's boxplots for Spellman4381 and Baseball, with our mechanisms added",
    "consistency": "MICr, its private versions, MICr-Geom as published (not epsilon-DP), and the "
    "distribution's range matrix as n grows, beside MIC*; the paper proves this convergence and "
    "does not plot it",
    "error-rate": "Largest difference of an entry between the matrices of the sample and of the "
    "distribution (left), and between those of MICr-Geom, which is not epsilon-DP, and MICr "
    "(right), with the line fitted from n = 1,000 on and the proved rate",
    "grids": "Columns of equal mass and of equal range for the same eight points, and their count "
    "matrices; the paper's first figure, with other points, since the paper does not list its own",
}
NOTES = (
    "MICr-Geom as published is not epsilon-DP: proved guarantee G x epsilon, where G is the "
    "number of master grids, 148 at B = 150 (each table's file gives it in every row). It draws "
    "fresh noise for every grid and returns a maximum over all of them, so their guarantees "
    "compose. It is shown as published, for comparison only; at the stated epsilon it adds less "
    "noise than an epsilon-DP mechanism would need.",
    "MICe-Lap and MICr-Lap as published are epsilon-DP with more noise than needed: their "
    "sensitivities are upper bounds. Our mechanisms use the exact sensitivity of MICr and a "
    "smaller proved bound for MICe.",
    "MICc-Lap, our default, releases capped information, whose sensitivity does not grow with "
    "log n. In the paper's evaluation bounds fit the data, so MICc-Lap and our MICr-Lap use "
    "linear axes there; bounds wider than the data have their own section.",
    "Points are assigned to cells correctly here. The published code moves on by at most one "
    "cell, so a point after an empty cell can get the wrong one; this may explain small "
    "differences from the printed tables.",
    "F3 and F4 are printed as 2(x - 0.05). We use 2x - 0.5, as the published results did: it "
    "stays near [0, 1].",
    "Bounds on real data come from its own smallest and largest values, as in the paper. That is "
    "not private for any mechanism, and is done only in this evaluation: a release needs bounds "
    "fixed before the data were seen.",
    "Value and estimate: the value is what a mechanism releases, score plus noise within [0, 1]; "
    "the estimate shrinks the value as far as its noise scale suggests. It does not look at the "
    "data again, so it costs no privacy.",
    "Our MICe spaces its parts evenly; the paper used minepy's. On every 110th pair of Baseball "
    "they differ by 0.004 on average and by at most 0.028.",
    "The noisy table gets the best of 2 to 32 parts. For small n its output hardly depends on "
    "the data and is nearly constant, and so is that of MICr-Geom with a large B.",
    "The estimate assumes that all strengths of dependence are equally likely, and aims at MIC*. "
    "The value can be closer if most pairs are weak, and if errors are measured against MICe of "
    "the same records, whose bias the estimate removes.",
    "Errors on synthetic data are measured against MIC*, on real data against MICe without "
    "privacy (alpha 0.6, c 15). The constant 0.5 ignores the data: a mechanism above it is worse "
    "than guessing.",
)


class Claim(NamedTuple):
    """Our mechanism beside the best published one at one place of a table."""

    table: str
    where: str
    value: float
    estimate: float | None
    rival: str
    published: float
    goal: float | None
    baseline: str
    blind: float | None


def page(
    tables: Mapping[str, Table], figures: Mapping[str, str], provenance: Mapping[str, str]
) -> str:
    """Return the page.

    Parameters
    ----------
    tables : mapping
        Rows by the name of their file, ``tables/NAME.csv``. Without a table, the page leaves out
        its part.
    figures : mapping
        Sources of images by name, from :func:`inlined`.
    provenance : mapping
        What made the tables: command, seed, iterations, version.
    """
    sections = [
        ("about", "What this page is", _about(provenance)),
        ("summary", "Summary", _summary(tables)),
        ("synthetic", "Synthetic data", _synthetic(tables, figures)),
        ("parameters", "Parameters", _parameters(tables, figures)),
        ("errors", "Errors of releases", _errors(tables.get("errors", []))),
        ("intervals", "Coverage of intervals", _intervals(tables.get("intervals", []))),
        ("real", "Real data", _real(tables, figures)),
        ("loose", "Bounds wider than the data", _loose(tables)),
        ("quoted", "Numbers in the paper's text", _quoted(tables.get("quoted", []))),
        ("consistency", "Consistency", _consistency(tables, figures)),
        ("grids", "First figure", _figures(figures, "grids")),
        ("notes", "Notes", _notes()),
    ]
    return document(TITLE, [section for section in sections if section[2]])


def inlined(folder: Path, name: str) -> str:
    """Return a saved figure as the source of an image: its SVG or, if that is large, its PNG."""
    svg = (folder / f"{name}.svg").read_bytes()
    if len(svg) <= LARGEST_SVG:
        return f"data:image/svg+xml;base64,{b64encode(svg).decode()}"
    return f"data:image/png;base64,{b64encode((folder / f'{name}.png').read_bytes()).decode()}"


def claims(tables: Mapping[str, Table]) -> list[Claim]:
    """Compare our default with the best published mechanism wherever a table has both."""
    found = []
    for name, place, column in (("medians", "collection", "error"), ("wsum", "n", "wsum")):
        scores: dict[tuple[float, Any], dict[str, float]] = {}
        rows = [row for row in tables.get(name, []) if there(row[column])]
        # collections stay in the table's order
        for row in sorted(rows, key=lambda r: (-r["epsilon"], r.get("n", 0))):
            at = scores.setdefault((row["epsilon"], row[place]), {})
            at[row["mechanism"]] = row[column]
        for (epsilon, spot), at in scores.items():
            rivals = [key for key in PUBLISHED if key in at]
            if OURS not in at or not rivals:
                continue
            rival = min(rivals, key=at.__getitem__)
            where = f"n = {number(spot)}" if place == "n" else str(spot)
            where, goal = f"{where}, epsilon = {epsilon:g}", GOALS.get((spot, epsilon))
            ours = at[OURS], at.get(f"{OURS}-estimate")
            simple = min((k for k in BASELINES if k in at), key=at.__getitem__, default="")
            claim = Claim(name, where, *ours, rival, at[rival], goal, simple, at.get(simple))
            found.append(claim)
    return found


def _about(provenance: Mapping[str, str]) -> str:
    listed = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(str(text))}</dd></div>"
        for name, text in provenance.items()
    )
    return (
        "<p>The evaluation of Lazarsfeld, Johnson and Adeniran, &ldquo;Differentially "
        "Private Maximal Information Coefficients&rdquo; (ICML 2022), reproduced and set "
        "beside the printed numbers, with our mechanisms added. All noise here is simulated "
        f"with a seed: nothing on this page is a private release.</p>\n<dl>{listed}</dl>"
    )


def _summary(tables: Mapping[str, Table]) -> str:
    found = claims(tables)
    if not found:
        return ""
    sections = [
        "<p>Is MICc-Lap (ours), the default, closer than every published mechanism, at a proved "
        "epsilon? Its value is what it releases; its estimate derives from the value and public "
        "facts.</p>",
        _count("value", [(claim, claim.value) for claim in found]),
        _count("estimate", [(c, c.estimate) for c in found if c.estimate is not None]),
        _beaten(found),
    ]
    for name, measure in MEASURES.items():
        rows = [_compared(claim) for claim in found if claim.table == name]
        heads = ["Where", "Ours: value", "Ours: estimate", "Lowest published", "Goal for ours"]
        # only WSUM has goals
        keep = slice(None) if name == "wsum" else slice(-1)
        caption = f"{measure}: ours against the best published mechanism"
        sections.append(
            table(name, caption, heads[keep], [row[keep] for row in rows]) if rows else ""
        )
    return "\n".join(sections)


def _compared(claim: Claim) -> list[Any]:
    ours = [_verdict(mine, claim.published) for mine in (claim.value, claim.estimate)]
    rival = Html(f"{number(claim.published)} {who(claim.rival)}")
    return [claim.where, *ours, rival, _goal(claim)]


def _count(what: str, pairs: Sequence[tuple[Claim, float]]) -> str:
    """Count the places where ours is lower, and list those where it is not."""
    if not pairs:
        return ""
    worse = [(claim, mine) for claim, mine in pairs if not mine < claim.published]
    summary = f"The {what} is lower in {len(pairs) - len(worse)} of {len(pairs)} comparisons."
    if not worse:
        return f"<p>{summary}</p>"
    listed = "".join(
        f"<li>{escape(claim.where)}: {MEASURES[claim.table]} {number(mine)}, against "
        f"{number(claim.published)} of {who(claim.rival)}</li>"
        for claim, mine in worse
    )
    return f'<p>{summary} It is <strong class="no">not lower</strong> at:</p><ul>{listed}</ul>'


def _beaten(found: Sequence[Claim]) -> str:
    """List where a simple baseline is closer than both our value and our estimate."""
    listed = ""
    for claim in found:
        best = min(v for v in (claim.value, claim.estimate) if v is not None)
        if claim.blind is not None and claim.blind < best:
            listed += (
                f"<li>{escape(claim.where)}: {MEASURES[claim.table]} {number(claim.blind)} of "
            )
            listed += f"{who(claim.baseline)}, against {number(best)}</li>"
    return f"<p>A simple baseline is lower than ours at:</p><ul>{listed}</ul>" if listed else ""


def _verdict(mine: float | None, published: float) -> Html:
    if mine is None:
        return MISSING
    if mine < published:
        return Html(f'{number(mine)} <span class="yes">lower</span>')
    return Html(f'{number(mine)} <strong class="no">not lower</strong>')


def _goal(claim: Claim) -> Html:
    if claim.goal is None:
        return MISSING
    ours = {"value": claim.value, "estimate": claim.estimate}
    by = [what for what, mine in ours.items() if mine is not None and mine <= claim.goal]
    verdict = f"met by the {' and the '.join(by)}" if by else '<strong class="no">not met</strong>'
    return Html(f"at most {claim.goal:g}: {verdict}")


def _synthetic(tables: Mapping[str, Table], figures: Mapping[str, str]) -> str:
    rows = tables.get("wsum", [])
    parts = [_wsum(rows, epsilon) for epsilon in _epsilons(rows)]
    if tables.get("synthetic"):
        parts.append(f"<p>Each distribution separately: {link('synthetic')}.</p>")
    if not any(parts):
        return ""
    return "\n".join([*parts, _figures(figures, "wsum"), _figures(figures, "synthetic")])


def _wsum(rows: Table, epsilon: float) -> str:
    """One contender per row, one n per column; the lowest with a valid epsilon is bold."""
    at = {(row["mechanism"], row["n"]): row for row in rows if row["epsilon"] == epsilon}
    sizes = sorted({n for _, n in at})
    shown = [c for c in CONTENDERS if any(key == c.key for key, _ in at)]
    private = [c.key for c in shown if c.keeps_epsilon]
    best = {n: min((at[k, n]["wsum"] for k in private if (k, n) in at), default=0) for n in sizes}
    body = []
    for contender in shown:
        cells: list[Any] = [who(contender.key, always=True)]
        for n in sizes:
            row = at.get((contender.key, n), {"wsum": None})
            text = str(number(row["wsum"]))
            if contender.key in private and row["wsum"] == best[n]:
                text = f"<strong>{text}</strong>"
            cells.append(Html(text))
        body.append(cells)
    caption = (
        f"WSUM, the weighted mean absolute error against MIC*, epsilon = {epsilon:g} "
        "(lower is better). Bold: the lowest of those whose epsilon holds"
    )
    return table("wsum", caption, ["Contender", *(f"n = {n:,}" for n in sizes)], body)


def _parameters(tables: Mapping[str, Table], figures: Mapping[str, str]) -> str:
    parts = []
    printed = tables.get("parameters_paper", [])
    for key in dict.fromkeys(row["mechanism"] for row in printed):
        parts.append(_printed([row for row in printed if row["mechanism"] == key], key))
    if tuned := tables.get("parameters_tuned"):
        named = {"mechanism": "Mechanism", "n": "n", "epsilon": "epsilon", "B": "B", "c": "c"}
        named |= {
            "lmax": "lmax",
            "cap": "cap",
            "wsum_value": "WSUM*, value",
            "wsum_estimate": "WSUM*, estimate",
        }
        parts.append(_figures(figures, "parameters"))
        caption = "Our tuned parameters. WSUM*: over the functions of even number only"
        parts.append(plain("parameters_tuned", caption, named, tuned))
    return "\n".join(parts)


def _errors(rows: Table) -> str:
    named = {"mechanism": "Mechanism", "n": "n", "epsilon": "epsilon", "value": "Value"}
    named |= {"value_upper": "Value, 90%", "estimate": "Estimate"}
    named |= {"estimate_upper": "Estimate, 90%"}
    caption = "Distance of default releases from MIC*: weighted mean, and 90% quantile"
    return plain("errors", caption, named, rows) if rows else ""


def _intervals(rows: Table) -> str:
    named = {name: name for name in rows[0]} if rows else {}
    caption = (
        "Share of intervals that contain MIC*, on functions left out of the fit and on other "
        "curves, by nominal level; mean width"
    )
    return plain("intervals", caption, named, rows) if rows else ""


def _printed(rows: Table, key: str) -> str:
    heads = ["n, epsilon", "(c, B) found here", "WSUM there", "(c, B) printed"]
    heads += ["WSUM there, measured here"]
    body = [
        [
            f"n = {number(row['n'])}, epsilon = {row['epsilon']:g}",
            *(_pair(row, ""), number(row["wsum"])),
            *(_pair(row, "printed_"), number(row["printed_wsum"])),
        ]
        for row in sorted(rows, key=lambda r: (-r["epsilon"], r["n"]))
    ]
    caption = Html(f"The paper's optimal parameters, searched again and as printed: {who(key)}")
    return table("parameters_paper", caption, heads, body)


def _real(tables: Mapping[str, Table], figures: Mapping[str, str]) -> str:
    medians = tables.get("medians", [])
    collections = list(dict.fromkeys(row["collection"] for row in medians))
    parts = [
        _medians([r for r in medians if r["collection"] == which], which, epsilon)
        for which in collections
        for epsilon in _epsilons(medians)
    ]
    if tables.get("real"):
        parts.append(f"<p>Each pair separately: {link('real')}.</p>")
    return "\n".join([*parts, _figures(figures, "real")]) if any(parts) else ""


def _loose(tables: Mapping[str, Table]) -> str:
    """One contender per row, one shape or collection per column."""
    parts = []
    for name, place, column, caption in (
        ("loose", "shape", "wsum", "WSUM by how both axes lie within their bounds"),
        ("end_to_end", "collection", "median_error", "Median error against MICe, stated bounds"),
        ("scales", "n", "wsum", "WSUM by n where bounds fit"),
    ):
        for epsilon in _epsilons(rows := tables.get(name, [])):
            at = {(r["mechanism"], r[place]): r for r in rows if r["epsilon"] == epsilon}
            places = list(dict.fromkeys(spot for _, spot in at))
            body = [
                [who(key, always=True), *(number(at[key, spot][column]) for spot in places)]
                for key in dict.fromkeys(key for key, _ in at)
            ]
            n = dict.fromkeys(f"n = {number(row['n'])}" for row in rows)
            heads = ["Contender", *map(str, places)]
            full = f"{caption}, epsilon = {epsilon:g} ({', '.join(n)})"
            parts.append(table(name, full, heads, body))
    return "\n".join(parts)


def _medians(rows: Table, collection: str, epsilon: float) -> str:
    heads = ["Mechanism", "Bias", "Bias, print", "Difference", "Variance", "Variance, print"]
    heads += ["Unsigned error", "Error, print", "Difference"]
    rows = [row for row in rows if row["epsilon"] == epsilon]
    body = [
        [
            who(row["mechanism"]),
            *(number(row["bias"]), number(row["printed_bias"]), _away(row, "bias")),
            *(number(row["variance"]), number(row["printed_variance"])),
            *(number(row["error"]), number(row["printed_error"]), _away(row, "error")),
        ]
        for row in rows
    ]
    caption = f"{collection}, epsilon = {epsilon:g}: medians over its pairs, against MICe"
    items = "".join(map(_remark, rows))
    remarks = f"<ul>{items}</ul>" if items else ""
    return table("medians", caption, heads, body) + remarks if rows else ""


def _far(row: Mapping[str, Any], what: str) -> bool:
    """Return whether a median differs from the paper by more than the tolerance."""
    by = _difference(row, what)
    return by is not None and abs(by) > TOLERANCES[what] + 1e-9  # allow for rounding


def _away(row: Mapping[str, Any], what: str) -> Html:
    by = signed(_difference(row, what))
    return Html(f'<strong class="no">{by} differs</strong>') if _far(row, what) else by


def _remark(row: Mapping[str, Any]) -> str:
    """Explain why a row differs from the paper; a note on a row that does not is shown too."""
    far = [f"{what} by {signed(_difference(row, what))}" for what in TOLERANCES if _far(row, what)]
    note = escape(str(row.get("note") or ""))
    if far:
        note = f"differs from the paper, {' and '.join(far)}: {note or 'no reason is recorded'}"
    return f"<li>{who(row['mechanism'])}: {note}</li>" if note else ""


def _quoted(rows: Table) -> str:
    heads = ["Data", "Over", "n", "epsilon", "Mechanism", "Statistic", "Print", "Measured here"]
    heads += ["Difference", "Why"]
    body = [
        [
            *(row["data"], row["bin"], number(row["n"]), f"{row['epsilon']:g}"),
            *(who(row["mechanism"]), row["statistic"]),
            *(number(row["printed"]), number(row["measured"])),
            *(signed(row["measured"] - row["printed"]), row["note"] or ""),
        ]
        for row in rows
    ]
    caption = "Numbers that the text reads from its boxplots, and the same from ours"
    return table("quoted", caption, heads, body) if rows else ""


def _consistency(tables: Mapping[str, Table], figures: Mapping[str, str]) -> str:
    parts = []
    first = {"relationship": "Relationship", "n": "n"}
    if rows := tables.get("consistency"):
        heads = {"statistic": "Statistic", "B": "B", "mean": "Mean", "low": "10%", "high": "90%"}
        heads |= {"mic_star": "MIC*", "error": "Mean distance from MIC*"}
        caption = "MICr, its private versions and MICr-Geom as n grows"
        parts.append(_figures(figures, "consistency"))
        parts.append(plain("consistency", caption, first | heads, rows))
    if rows := tables.get("error_rate"):
        heads = {"compared": "Compared", "measured": "Largest difference of an entry, mean"}
        heads |= {"slope": "Fitted slope", "theorem": "Theorem"}
        caption = "Two matrices entry by entry: measured rate and theorem"
        parts.append(_figures(figures, "error-rate"))
        parts.append(plain("error_rate", caption, first | heads, rows))
    return "\n".join(parts)


def _notes() -> str:
    return "<ul>" + "".join(f"<li>{escape(note)}</li>" for note in NOTES) + "</ul>"


def _figures(figures: Mapping[str, str], kind: str) -> str:
    parts = []
    for name, source in figures.items():
        if name != kind and not name.startswith(f"{kind}-"):
            continue
        where = name.removeprefix(kind).removeprefix("-").replace("-", ", epsilon = ")
        where = f"epsilon = {where}" if kind in ("wsum", "synthetic") else where
        parts.append(figure(source, f"{where}: {CAPTIONS[kind]}" if where else CAPTIONS[kind]))
    return "\n".join(parts)


def _difference(row: Mapping[str, Any], what: str) -> float | None:
    printed = row[f"printed_{what}"]
    return row[what] - printed if there(printed) and there(row[what]) else None


def _pair(row: Mapping[str, Any], prefix: str) -> str:
    return f"({number(row[f'{prefix}c'])}, {number(row[f'{prefix}B'])})"


def _epsilons(rows: Table) -> list[float]:
    return sorted({row["epsilon"] for row in rows}, reverse=True)
