"""How ``mice`` and ``mic`` score noiseless relationships, by n.

``write("docs/results")`` makes ``resolution.csv`` and ``resolution.svg`` in some minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmic.evaluation import tables
from dpmic.evaluation.tables import Table
from dpmic.statistics.family import mic, mice

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Points = tuple[Floats, Floats]


def _sine(periods: int) -> Callable[[Floats, Floats], Points]:
    return lambda u, v: (u, np.sin(2 * np.pi * periods * u))


RELATIONSHIPS: dict[str, Callable[[Floats, Floats], Points]] = {
    "line": lambda u, v: (u, u),
    "parabola": lambda u, v: (u, (2 * u - 1) ** 2),
    "sine, 1 period": _sine(1),
    "sine, 2 periods": _sine(2),
    "sine, 4 periods": _sine(4),
    "sine, 8 periods": _sine(8),
    "circle": lambda u, v: (np.cos(2 * np.pi * u), np.sin(2 * np.pi * u)),
    "independent": lambda u, v: (u, v),
}
"""Functions of two independent columns, uniform on [0, 1], that return points."""

SAMPLES = {
    **{50: 100, 100: 100, 200: 100, 500: 100, 1000: 100, 2000: 100},
    **{5000: 40, 10_000: 20, 20_000: 10, 50_000: 10},
}
"""The number of samples for each number of records."""

# Okabe and Ito's palette, which is colour-blind safe
COLOURS = ("#000000", "#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00", "#CC79A7", "#8A8A8A")
MARKERS = "os^DvPXh"
PANELS = {"mice": "mice: MICe, 2016", "mic": "mic: MIC, 2011"}


def measure(
    samples: Mapping[int, int] = SAMPLES,
    relationships: Sequence[str] = tuple(RELATIONSHIPS),
    *,
    seed: int = 0,
) -> Table:
    """Return the median scores of every relationship at every n, and the middle 90% of mice.

    Seed, n and number determine a sample, so a part of the table has the same numbers.
    """
    return [_row(name, n, count, seed) for name in relationships for n, count in samples.items()]


def _row(name: str, n: int, count: int, seed: int) -> dict[str, Any]:
    scores: dict[str, list[float]] = {"mice": [], "mic": []}
    for number in range(count):
        points = RELATIONSHIPS[name](*np.random.default_rng((seed, n, number)).uniform(size=(2, n)))
        scores["mice"].append(mice(*points).mic)
        scores["mic"].append(mic(*points).mic)
    low, high = (float(end) for end in np.quantile(scores["mice"], (0.05, 0.95)))
    medians = {statistic: float(np.median(values)) for statistic, values in scores.items()}
    return {"relationship": name, "n": n, "samples": count, **medians, "low": low, "high": high}


def draw(rows: Table) -> Figure:
    """Draw the scores against n, with one panel per statistic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.6), layout="constrained")
    panels = figure.subplots(1, len(PANELS), sharey=True)
    for ax, (statistic, title) in zip(panels, PANELS.items(), strict=True):
        for name, colour, marker in zip(RELATIONSHIPS, COLOURS, MARKERS, strict=True):
            points = [(row["n"], row[statistic]) for row in rows if row["relationship"] == name]
            if points:
                line = ":" if name == "independent" else "-"
                style = {"color": colour, "marker": marker, "linestyle": line, "markersize": 4.5}
                ax.plot(*zip(*points, strict=True), label=name, **style)
        ax.set(xscale="log", xlabel="n, records without noise", title=title, ylim=(0, 1.03))
        ax.grid(alpha=0.3)
    panels[0].set_ylabel("score, median")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center")
    return figure


def write(folder: str | Path, *, samples: Mapping[int, int] = SAMPLES, seed: int = 0) -> None:
    """Measure, and write table and figure."""
    from dpmic.evaluation.figures import save

    rows = measure(samples, seed=seed)
    tables.write(Path(folder) / "resolution.csv", rows)
    save(draw(rows), Path(folder), "resolution")
