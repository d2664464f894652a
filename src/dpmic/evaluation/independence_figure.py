"""The power of private tests of independence, drawn from their table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmic.evaluation.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["power"]

# Okabe and Ito's palette, which colour-blind readers can tell apart
STYLES = {
    "rank-tables": ("release_test", "#0072B2", "-", "o"),
    "dphsic": ("dpHSIC", "#D55E00", "--", "s"),
    "chi-square": ("noisy table, chi-square", "#E69F00", "--", "D"),
    "mice": ("MICe plus noise", "#009E73", ":", "^"),
}


def power(rows: Table) -> Figure:
    """Draw power over R^2, a panel for each n and epsilon."""
    from matplotlib.figure import Figure

    sizes, losses = (sorted({row[name] for row in rows}) for name in ("n", "epsilon"))
    figure = Figure(figsize=(10.0, 5.6), layout="constrained")
    panels = figure.subplots(len(losses), len(sizes), sharex=True, sharey=True, squeeze=False)
    for epsilon, across in zip(losses, panels, strict=True):
        for n, ax in zip(sizes, across, strict=True):
            here = [row for row in rows if (row["n"], row["epsilon"]) == (n, epsilon)]
            for test, (label, colour, line, marker) in STYLES.items():
                points = [(row["r_squared"], row["power"]) for row in here if row["test"] == test]
                if points:
                    ax.plot(
                        *zip(*points, strict=True),
                        label=label,
                        color=colour,
                        linestyle=line,
                        marker=marker,
                    )
            ax.axhline(0.05, color="black", linewidth=0.6)
            ax.set_title(f"n = {n:,}, epsilon = {epsilon:g}")
            ax.set_ylim(0, 1.02)
    figure.supxlabel("R^2 of the relationship")
    figure.supylabel("power at 0.05")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    return figure
