"""The figure of the home page: `python tools/relations.py` writes docs/assets/relations.svg."""

from pathlib import Path

import matplotlib as mpl
import numpy as np

import dpmic

FIGURE = Path(__file__).parents[1] / "docs" / "assets" / "relations.svg"
N = 500
INK, MUTED, POINTS = "#1f2937", "#6b7280", "#1d5fa8"


def relations() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return 500 made-up points of six relations."""
    rng = np.random.default_rng(1)
    x, noise = rng.uniform(-1, 1, N), rng.normal(0, 0.12, N)
    angle = rng.uniform(0, 2 * np.pi, N)
    return {
        "A line": (x, x + noise),
        "A parabola": (x, 2 * x**2 + noise),
        "A wave": (x, np.sin(5 * x) + noise),
        "A circle": (np.cos(angle) + noise / 2, np.sin(angle) + rng.normal(0, 0.06, N)),
        "A cross": (x, rng.choice([-1, 1], N) * x + noise / 2),
        "No relation": (x, rng.uniform(-1, 1, N)),
    }


def scores() -> dict[str, tuple[float, float]]:
    """Return the size of Pearson's correlation, and MIC, of each relation."""
    return {
        name: (abs(float(np.corrcoef(x, y)[0, 1])), dpmic.mice(x, y).mic)
        for name, (x, y) in relations().items()
    }


def draw() -> None:
    """Write the figure, with its text as text."""
    import matplotlib.pyplot as plt

    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "dpmic", "font.size": 11})
    figure, axes = plt.subplots(2, 3, figsize=(7.6, 4.6), layout="constrained")
    for ax, (name, (x, y)), (r, mic) in zip(
        axes.flat, relations().items(), scores().values(), strict=True
    ):
        ax.scatter(x, y, s=5, color=POINTS, alpha=0.6, linewidths=0, rasterized=True)
        ax.set_title(name, color=INK, fontsize=12, fontweight="bold")
        ax.set_xlabel(f"correlation {r:.2f} · MIC {mic:.2f}", color=INK)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color("#d1d5db")
    figure.savefig(FIGURE, metadata={"Date": None}, dpi=200, facecolor="white")
    plt.close(figure)


if __name__ == "__main__":
    draw()
