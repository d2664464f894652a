# %% [markdown]
# # What if my bounds are far too wide?
#
# Bounds say what a column can be, and must not come from the data. A careful guess is often too
# wide. Grids on a linear scale then put all records into one cell, and the score is lost. By
# default dpmic also tries logarithmic scales, so wide bounds cost little.

# %%
import matplotlib.pyplot as plt
import numpy as np
import statsmodels.api as sm

import dpmic
from dpmic.plots import style

answers = sm.datasets.fair.load_pandas().data
x, y = answers["age"], answers["yrs_married"]
factors = [1, 3, 10, 30, 100, 1000]


def values(axes, factor):
    """Release 20 times with bounds that are so many times too wide."""
    bounds = ((0, 45 * factor), (0, 25 * factor))
    return [dpmic.release(x, y, bounds=bounds, epsilon=0.1, axes=axes).value for _ in range(20)]


published = {axes: [values(axes, factor) for factor in factors] for axes in ("any", "linear")}

# %%
with style():
    figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
    for (axes, drawn), colour, marker in zip(published.items(), ["#0072B2", "#D55E00"], "os"):
        middle = np.median(drawn, axis=1)
        for factor, own in zip(factors, drawn):
            ax.plot([factor] * len(own), own, marker, color=colour, alpha=0.25, markersize=4)
        ax.plot(factors, middle, color=colour, linewidth=1.8)
        label = {"any": 'axes="any", the default', "linear": 'axes="linear"'}[axes]
        ax.annotate(
            label, (factors[-2], middle[-2]), (0, 10), textcoords="offset points", color=colour
        )
    ax.set(
        xscale="log", ylim=(0, 1), xlabel="times too wide", ylabel="published MIC, epsilon = 0.1"
    )
    ax.set_xticks(factors, [f"{factor:,}" for factor in factors])
    ax.set_title("age and yrs_married")

# %% [markdown]
# **What to see.** With linear grids the score falls once the bounds are 30 times too wide, and at
# 1,000 times nothing is left. With the default it stays. So choose bounds that surely hold every
# record, and round them up. If you know nothing of a column, `dpmic.estimate_bounds` finds a range
# privately: [choosing bounds](../guides/choosing-bounds.md).
