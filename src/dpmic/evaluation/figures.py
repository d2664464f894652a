"""From tables to figures. This module draws rows of numbers, and computes nothing from data.

Figures are made without pyplot, so they need no display and are freed with their last reference.
Each contender has the same colour, line and marker in every figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from dpmic._io import atomic_write
from dpmic.errors import DependencyError
from dpmic.evaluation.printed import BINS, in_bin
from dpmic.evaluation.tables import CONTENDERS, Contender, Table, named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Groups = list[tuple[str, Table]]

BOXED = (
    *("mice-lap", "micr-lap", "micr-geom", "ours-capped", "ours-capped-estimate", "ours"),
    *("ours-mice", "noisy-table"),
)
TUNED = {
    "capped-laplace": "MICc-Lap (ours)",
    "micr-laplace": "MICr-Lap (ours)",
    "mice-laplace": "MICe-Lap (ours)",
    "micr-geometric": "noisy histogram (ours)",
}
LEAST_VARIANCE = 1e-6  # a log axis has no zero, and some estimates do not vary
WIDTH = 10.0  # inches: 1000 pixels at 100 dots per inch
DPI = 130


class Style(NamedTuple):
    """How a contender is drawn, as lines, boxes and points."""

    colour: str
    line: Any
    marker: str
    hatch: str = ""


# Okabe and Ito's palette and Tol's indigo, which are colour-blind safe;
# published mechanisms are dashed and hatched
STYLES = {
    "mice-lap": Style("#CC79A7", "--", "v", "////"),
    "micr-lap": Style("#D55E00", "--", "s", "////"),
    "micr-geom": Style("#E69F00", "--", "D", "////"),
    "ours-capped": Style("#332288", "-", "*"),
    "ours-capped-estimate": Style("#9182D6", "-", "<"),
    "ours": Style("#0072B2", "-", "o"),
    "ours-estimate": Style("#56B4E9", "-", "^"),
    "ours-mice": Style("#009E73", "-", "P"),
    "ours-mice-estimate": Style("#7ED4B3", "-", "X"),
    "noisy-table": Style("#8A8A8A", "-.", "h"),
    "constant": Style("#B9B9B9", "-.", ""),
    "mice": Style("#000000", ":", "1"),
    "micr": Style("#555555", ":", "2"),
}
_TICKS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_SHADES = ("#440154", "#0072B2", "#009E73", "#E69F00", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
_MARKERS = "os^DvPXh"
_STATISTICS = {
    "population": ("the distribution's range matrix", Style("#009E73", "-", "")),
    "micr-geom eps=1 (not eps-DP)": (
        f"MICr-Geom (published), epsilon = 1,\n{named('micr-geom').guarantee}",
        STYLES["micr-geom"],
    ),
    "micr-lap eps=0.1": ("MICr-Lap (ours), epsilon = 0.1", Style("#0072B2", (0, (4, 2)), "^")),
    "micr-lap eps=1": ("MICr-Lap (ours), epsilon = 1", STYLES["ours"]),
    "micr": ("MICr, no privacy", Style(STYLES["micr"].colour, "-", "2")),
}


def drawn(
    tables: Mapping[str, Table], example: Mapping[str, Any] | None = None
) -> Iterator[tuple[str, Figure]]:
    """Yield each figure that the tables allow, with its name in the page."""
    for name, draw in (("synthetic", synthetic_boxplots), ("wsum", wsum_curves)):
        rows = tables.get(name, [])
        for epsilon in _values(rows, "epsilon", largest_first=True):
            yield f"{name}-{epsilon:g}", draw(rows, epsilon)
    if tables.get("parameters_tuned"):
        yield "parameters", parameters(tables["parameters_tuned"])
    rows = tables.get("real", [])
    for collection in _values(rows, "collection"):
        for epsilon in _values(rows, "epsilon", largest_first=True):
            yield f"real-{collection}-{epsilon:g}", real_boxplots(rows, collection, epsilon)
    if tables.get("consistency"):
        yield "consistency", consistency(tables["consistency"])
    if tables.get("error_rate"):
        yield "error-rate", error_rate(tables["error_rate"])
    if example is not None:
        yield "grids", grids(example)


def synthetic_boxplots(rows: Table, epsilon: float) -> Figure:
    """Draw the paper's figures 2 and 5: bias and variance over all distributions, for each n."""
    rows = _at(rows, epsilon)
    groups = [(f"{n:,}", [row for row in rows if row["n"] == n]) for n in _values(rows, "n")]
    distributions = len({row["distribution"] for row in rows})
    title = f"Synthetic data, epsilon = {epsilon:g}: one box over {distributions} distributions"
    return _bias_and_variance(groups, title, "n", "MIC*")


def real_boxplots(rows: Table, collection: str, epsilon: float) -> Figure:
    """Draw bias and variance over the pairs of a collection, binned by their non-private MICe."""
    rows = [row for row in _at(rows, epsilon) if row["collection"] == collection]
    edges = BINS[collection]
    groups: Groups = [("", []) for _ in edges[1:]]
    for row in rows:
        groups[in_bin(collection, row["mice"])][1].append(row)
    for i, (_, members) in enumerate(groups):
        pairs = len({row["pair"] for row in members})
        close = "]" if i == len(groups) - 1 else ")"
        label = f"[{edges[i]:g}, {edges[i + 1]:g}{close}\n{pairs:,} pair{'s' * (pairs != 1)}"
        groups[i] = (label, members)
    title = f"{collection}, epsilon = {epsilon:g}: one box over the pairs of a bin"
    return _bias_and_variance(groups, title, "MICe without privacy", "MICe")


def wsum_curves(rows: Table, epsilon: float) -> Figure:
    """Draw WSUM against n for every contender."""
    rows = _at(rows, epsilon)
    figure = _new_figure(6.4)
    ax = figure.add_subplot()
    for contender in _present(rows, STYLES):
        mine = _sorted(row for row in rows if row["mechanism"] == contender.key)
        style = STYLES[contender.key]
        ax.plot(*_columns(mine, "n", "wsum"), label=_label(contender), **_line(style))
    ax.set(xscale="log", yscale="log", xlabel="n", ylabel="WSUM: weighted mean absolute error")
    ax.set_title(f"Distance from MIC*, epsilon = {epsilon:g} (lower is better)")
    sizes = _values(rows, "n")
    ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
    low, high = ax.get_ylim()
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    _grid(ax)
    _legend(figure, *ax.get_legend_handles_labels())
    return figure


def consistency(rows: Table) -> Figure:
    """Draw MICr, its private versions and the population's range matrix as n grows, with MIC*."""
    relationships = list(dict.fromkeys(row["relationship"] for row in rows))
    across = 2 if len(relationships) in (2, 4) else min(3, len(relationships))
    down = -(-len(relationships) // across)
    figure = _new_figure(2.9 * down + 1.2)
    axes = figure.subplots(down, across, squeeze=False, sharey=True).ravel()
    for ax, relationship in zip(axes, relationships, strict=False):
        mine = [row for row in rows if row["relationship"] == relationship]
        ax.axhline(mine[0]["mic_star"], color="black", linewidth=1.0, label="MIC*")
        for statistic, (label, style) in _STATISTICS.items():
            of = _sorted(row for row in mine if row["statistic"] == statistic)
            n, mean, low, high = _columns(of, "n", "mean", "low", "high")
            ax.plot(n, mean, label=label, **_line(style))
            ax.fill_between(n, low, high, color=style.colour, alpha=0.15, linewidth=0)
        ax.set(xscale="log", ylim=(0, 1.03), xlabel="n")
        ax.set_title(_literal(relationship), fontsize=10)
        _grid(ax)
    for ax in axes[len(relationships) :]:
        ax.set_axis_off()
    for ax in axes[::across]:
        ax.set_ylabel("mean, band 10% to 90%")
    _legend(figure, *axes[0].get_legend_handles_labels())
    return figure


def error_rate(rows: Table) -> Figure:
    """Draw how fast two matrices converge, one panel per comparison: fitted line and theorem."""
    figure = _new_figure(6.0)
    pairs = list(dict.fromkeys(row["compared"] for row in rows))
    axes = figure.subplots(1, len(pairs), squeeze=False, sharey=True)[0]
    for ax, compared in zip(axes, pairs, strict=True):
        shown = _sorted(row for row in rows if row["compared"] == compared)
        for i, relationship in enumerate(dict.fromkeys(row["relationship"] for row in shown)):
            mine = [row for row in shown if row["relationship"] == relationship]
            n, measured, fitted = _columns(mine, "n", "measured", "fitted")
            style = Style(_SHADES[i % len(_SHADES)], "", _MARKERS[i % len(_MARKERS)])
            label = _literal(f"{relationship}: fitted slope {mine[0]['slope']:.2f}")
            ax.plot(n, measured, label=label, **_line(style))
            ax.plot(n, fitted, color=style.colour, linewidth=1.2)
        # the line touches the data from above: the theorem has no constant
        n, measured, (exponent, *_) = _columns(shown, "n", "measured", "exponent")
        rate, label = n**exponent * np.log(n), f"proved: O(n^{exponent:g} log n)"
        ax.plot(n, rate * np.max(1.1 * measured / rate), "--", color="0.5", label=label)
        ax.set(xscale="log", yscale="log", xlabel="n")
        title = _literal(f"{compared}\n{shown[0]['theorem']}".replace("; ", ";\n"))
        ax.set_title(title, fontsize=9)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2, fontsize=8)
        _grid(ax)
    axes[0].set_ylabel("largest difference of an entry, mean")
    return figure


def parameters(rows: Table) -> Figure:
    """Draw the tuned B, c and, for MICe, the most columns against n; or the cap."""
    mechanisms = _values(rows, "mechanism", largest_first=True)
    figure = _new_figure(3.0 * len(mechanisms) + 0.8)
    axes = figure.subplots(len(mechanisms), 3, squeeze=False)
    epsilons = _values(rows, "epsilon")
    for across, mechanism in zip(axes, mechanisms, strict=True):
        own = [row for row in rows if row["mechanism"] == mechanism]
        quantities = ("cap", "", "") if own[0].get("cap") else ("B", "c", "lmax")
        for ax, quantity in zip(across, quantities, strict=True):
            mine = [row for row in own if row.get(quantity) is not None]
            if not mine:
                ax.set_axis_off()
                continue
            for i, epsilon in enumerate(epsilons):
                style = Style(_SHADES[i % len(_SHADES)], "-", _MARKERS[i % len(_MARKERS)])
                of = _sorted(_at(mine, epsilon))
                label = f"epsilon = {epsilon:g}"
                ax.plot(*_columns(of, "n", quantity), label=label, **_line(style))
            ax.set(xscale="log", xlabel="n", ylim=(0, None))
            ax.set_title(f"{TUNED.get(mechanism, mechanism)}: {quantity}", fontsize=10)
            _grid(ax)
    _legend(figure, *axes[0][0].get_legend_handles_labels())
    return figure


def grids(example: Mapping[str, Any]) -> Figure:
    """Draw the paper's figure 1: mass and range equipartitions of a few points, with counts.

    Parameters
    ----------
    example : mapping
        ``points`` in the unit square; ``mass_cuts``, ``range_cuts`` and ``row_cuts``; and
        ``mass_counts`` and ``range_counts``, with their rows from top to bottom.
    """
    figure = _new_figure(4.8)
    boxes: dict[str, Axes] = figure.subplot_mosaic(
        [["points", "mass", "range"], ["points", ".", "shares"]], width_ratios=(1.5, 1, 1)
    )
    pink, blue, green = "#D6487E", "#0072B2", "#009E73"
    ax = boxes["points"]
    ax.vlines(example["mass_cuts"], 0, 1, colors=pink, linestyles="--", linewidth=1.6)
    ax.vlines(example["range_cuts"], 0, 1, colors=blue, linewidth=1.6)
    ax.hlines(example["row_cuts"], 0, 1, colors=green, linewidth=1.6)
    ax.plot(*np.transpose(example["points"]), "o", color="black", markersize=6, zorder=3)
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="x", ylabel="y", aspect="equal")
    ax.set_title("Columns of equal mass (pink, dashed)\nand of equal range (blue), rows (green)")
    counts = np.asarray(example["range_counts"], dtype=float)
    _matrix(boxes["mass"], example["mass_counts"], "Counts, mass (pink)", pink)
    _matrix(boxes["range"], example["range_counts"], "Counts, range (blue)", blue)
    _matrix(boxes["shares"], counts / counts.sum(), "Range counts, normalised", blue)
    return figure


def save(figure: Figure, folder: Path, name: str) -> tuple[Path, Path]:
    """Write ``name.png`` and ``name.svg``; the same figure gives the same bytes."""
    import matplotlib

    folder.mkdir(parents=True, exist_ok=True)
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    # by default, identifiers inside the SVG are random and the date is today's
    with matplotlib.rc_context({"svg.hashsalt": "dpmic", "svg.fonttype": "path"}):
        with atomic_write(png) as file:
            figure.savefig(file, format="png", dpi=DPI, metadata={"Software": None})
        with atomic_write(svg) as file:
            figure.savefig(file, format="svg", metadata={"Date": None})
    return png, svg


def _bias_and_variance(groups: Groups, title: str, across: str, target: str) -> Figure:
    """Draw two panels over groups of rows, with a box per contender in each group."""
    figure = _new_figure(8.2)
    top, bottom = figure.subplots(2, 1, sharex=True)
    shown = _present([row for _, rows in groups for row in rows], BOXED)
    top.axhline(0, color="black", linewidth=0.8)
    handles = []
    for i, contender in enumerate(shown):
        mine = [[r for r in rows if r["mechanism"] == contender.key] for _, rows in groups]
        style, at = STYLES[contender.key], (i + 0.5) / len(shown) - 0.5
        _boxes(top, [[r["bias"] for r in rows] for rows in mine], at, len(shown), style)
        variances = [[max(r["variance"], LEAST_VARIANCE) for r in rows] for rows in mine]
        handles.append(_boxes(bottom, variances, at, len(shown), style))
    top.set(title=title, ylabel=f"bias with respect to {target}")
    variance = f"variance (log axis, from {LEAST_VARIANCE:g})"
    bottom.set(yscale="log", xlabel=across, ylabel=variance)
    bottom.set_xticks(range(len(groups)), [label for label, _ in groups])
    for ax in (top, bottom):
        _grid(ax, "y")
        ax.set_xlim(-0.5, len(groups) - 0.5)
        for between in range(1, len(groups)):
            ax.axvline(between - 0.5, color="0.85", linewidth=0.8)
    _legend(figure, handles, [_label(contender) for contender in shown])
    return figure


def _boxes(
    ax: Axes, samples: Sequence[Sequence[float]], at: float, members: int, style: Style
) -> Any:
    """Draw one contender's box in every group; return its handle for the legend."""
    full = [(place, sample) for place, sample in enumerate(samples) if sample]
    made = ax.boxplot(
        [sample for _, sample in full],
        positions=[place + 0.9 * at for place, _ in full],
        widths=0.72 / members,
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": f"{style.colour}66", "edgecolor": style.colour, "linewidth": 0.9},
        medianprops={"color": "black", "linewidth": 1.3},
        whiskerprops={"color": style.colour, "linewidth": 0.9},
        capprops={"color": style.colour, "linewidth": 0.9},
        flierprops={"marker": ".", "markersize": 2.5, "markerfacecolor": style.colour},
    )
    for points in made["fliers"]:
        points.set(markeredgecolor="none", alpha=0.6)
    for box in made["boxes"]:
        box.set_hatch(style.hatch)
    return made["boxes"][0]


def _matrix(ax: Axes, counts: Any, title: str, colour: str) -> None:
    values = np.asarray(counts, dtype=float)
    rows, columns = values.shape
    for (i, j), value in np.ndenumerate(values):
        ax.text(j + 0.5, rows - i - 0.5, f"{value:g}", ha="center", va="center")
    ax.set_xticks(range(columns + 1), [])
    ax.set_yticks(range(rows + 1), [])
    ax.tick_params(length=0)
    ax.grid(color=colour, linewidth=1.2)
    ax.set(xlim=(0, columns), ylim=(0, rows), aspect="equal")
    ax.spines[:].set_color(colour)
    ax.set_title(title, fontsize=10)


def _present(rows: Table, keys: Sequence[str] | Mapping[str, Style]) -> list[Contender]:
    there = {row["mechanism"] for row in rows}
    return [contender for contender in CONTENDERS if contender.key in there & set(keys)]


def _label(contender: Contender) -> str:
    """Return a contender's label, with a note if its epsilon does not hold."""
    if contender.broken:
        return f"{contender.label},\n{contender.guarantee}"
    return contender.label


def _at(rows: Table, epsilon: float) -> Table:
    return [row for row in rows if row["epsilon"] == epsilon]


def _values(rows: Table, column: str, largest_first: bool = False) -> list[Any]:
    return sorted({row[column] for row in rows}, reverse=largest_first)


def _sorted(rows: Iterable[dict[str, Any]]) -> Table:
    return sorted(rows, key=itemgetter("n"))


def _columns(rows: Table, *names: str) -> list[Any]:
    return [np.array([row[name] for row in rows], dtype=float) for name in names]


def _line(style: Style) -> dict[str, Any]:
    look = {"color": style.colour, "linestyle": style.line, "marker": style.marker}
    return look | {"markersize": 6, "linewidth": 1.6}


def _grid(ax: Axes, axis: Literal["both", "y"] = "both") -> None:
    ax.grid(axis=axis, color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)


def _legend(figure: Figure, handles: Any, labels: list[str]) -> None:
    columns = 4 if len(labels) == 4 else 3
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, handlelength=3)


def _literal(text: str) -> str:
    """Keep matplotlib from reading a name as mathematics."""
    return text.replace("$", r"\$")


def _new_figure(height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise DependencyError(
            "matplotlib", "it draws the figures and is not installed", "pip install 'dpmic[plots]'"
        ) from None
    return Figure(figsize=(WIDTH, height), dpi=100, layout="constrained", facecolor="white")
