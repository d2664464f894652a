# %% [markdown]
# # Can I publish a picture of two columns, not only a number?
#
# A noisy histogram adds noise to the count of every cell. The picture and every MINE statistic of
# it then cost a single epsilon. More epsilon gives a sharper picture.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import dpmic
from dpmic.plots import style

points, _ = make_moons(5000, noise=0.08, random_state=0)
bounds = ((-1.5, 2.5), (-1, 1.5))
pictures = [
    dpmic.release(*points.T, bounds=bounds, epsilon=epsilon, mechanism="micr-geometric", m=24)
    for epsilon in (0.1, 0.5, 2)
]

# %% [markdown]
# The points are made up, so the exact counts may stand beside the three releases:

# %%
with style():
    figure, axes = plt.subplots(1, 4, figsize=(11.5, 3), layout="constrained", sharey=True)
    edges = [np.array(pictures[0].x_edges), np.array(pictures[0].y_edges)]
    exact, *_ = np.histogram2d(*points.T, bins=edges)
    shown = {"exact counts (not private)": exact.T}
    shown |= {f"epsilon = {one.epsilon:g}": np.array(one.histogram) for one in pictures}
    for ax, (title, counts) in zip(axes, shown.items()):
        ax.pcolormesh(*edges, counts, cmap="Blues", vmin=0, vmax=exact.max())
        ax.set_title(title)
    axes[0].set(xlabel="x", ylabel="y")

# %%
for one in pictures:
    print(f"epsilon {one.epsilon:g}: MIC {one.value:.2f}, of the noisy counts; TIC {one.tic():.1f}")

# %% [markdown]
# **What to see.** At epsilon 0.1 noise hides most of the picture, at 0.5 both moons appear, and at
# 2 it is close to the exact one. Noise in the counts biases the statistics, so the MIC of a
# histogram has no noise interval. If you need only the number, a plain
# [release](../guides/releasing.md) is far more accurate; see also the
# [guide](../guides/noisy-histogram.md).
