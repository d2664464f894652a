# %% [markdown]
# # Do my minepy scripts still work?
#
# Yes: change the import. `dpmic.compat.minepy` has minepy's names, defaults and numbers. This is
# the first example of minepy's documentation, a wave on a slope without and with noise, with the
# values that the documentation prints.

# %%
import matplotlib.pyplot as plt
import numpy as np

import dpmic
from dpmic.compat.minepy import MINE, cstats, pstats  # was: from minepy import ...
from dpmic.plots import style

x = np.linspace(0, 1, 1000)
clean = np.sin(10 * np.pi * x) + x
noisy = clean + np.random.RandomState(0).uniform(-1, 1, x.size)

mine = MINE(alpha=0.6, c=15, est="mic_approx")
for name, y in {"without noise": clean, "with noise": noisy}.items():
    mine.compute_score(x, y)
    print(f"{name}: MIC {mine.mic():.6f}, MAS {mine.mas():.6f}, TIC {mine.tic():.6f}")
print("minepy's own: MIC 1.000000, MAS 0.726072, TIC 67.661230")
print("              MIC 0.505717, MAS 0.365400, TIC 28.749833")

# %% [markdown]
# The functions for whole tables are there too. `pstats` scores all pairs of rows, `cstats` each
# row of one table with each of another:

# %%
draw = np.random.RandomState(0)
first, second = draw.rand(8, 320), draw.rand(4, 320)
mic, tic = cstats(first, second, alpha=9, c=5, est="mic_e")
print(mic.round(4)[:2])
print("minepy's own: [0.0175 0.011  0.0149 0.0296] [0.0129 0.0268 0.0274 0.0222]")
print(f"{pstats(first, alpha=9, c=5, est='mic_e')[0].size} pairs of 8 rows")

# %% [markdown]
# dpmic's own `Score` draws the points and the grid, which minepy never showed:

# %%
with style():
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for ax, y in zip(axes, (clean, noisy)):
        dpmic.mic(x, y).plot(x, y, ax)

# %% [markdown]
# **What to see.** The numbers agree with those that minepy prints. Noise halves the MIC, yet it
# stays far above what unrelated columns score. The [guide for users of
# minepy](../guides/minepy.md) lists the few odd inputs that are treated differently.
