# %% [markdown]
# # Which relations does correlation miss?
#
# Pearson's correlation measures how close a relation is to a line. The Maximal Information
# Coefficient (MIC) scores any relation from 0 to 1. Where the two disagree, something other than a
# line is going on.

# %%
import matplotlib.pyplot as plt
import statsmodels.api as sm
from sklearn.datasets import load_wine

import dpmic
from dpmic.plots import style

economy = sm.datasets.macrodata.load_pandas().data  # United States, by quarter, 1959 to 2009
economy = economy.rename(columns={"cpi": "price index", "tbilrate": "interest rate"})
scores = dpmic.pairwise(economy, pearson=True)
table = scores.to_frame().sort_values("nonlinearity", ascending=False)
table[["x", "y", "mic", "pearson"]].head(4).round(2)

# %% [markdown]
# `nonlinearity` is MIC less the square of Pearson's correlation, so the pairs on top are those
# that a line describes worst. Here is one of them, and a pair of measurements from another table:

# %%
wine = load_wine(as_frame=True).data
with style():
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
    for ax, (x, y, data) in zip(
        axes,
        [
            ("price index", "interest rate", economy),
            ("flavanoids", "color_intensity", wine),
        ],
    ):
        dpmic.mice(x, y, data=data).plot(x, y, ax, data=data)
        print(f"{x} and {y}: Pearson's correlation {data[x].corr(data[y]):.2f}")

# %% [markdown]
# **What to see.** Interest rates rose with prices until 1980 and have fallen since. A line through
# the points is almost flat, and the MIC is 0.6. Wines with few flavanoids are strong in colour, as
# are those with many; those between are pale. The thin lines are the grid that gives the score: it
# separates the points above from those below. Quarters follow one another, so their records are
# not independent. The score still describes the curve, but a [p-value](../guides/significance.md)
# would be too small.
