# %% [markdown]
# # What does epsilon do to a published score?
#
# Epsilon sets how much noise protects each person: a smaller epsilon means stronger protection and
# a noisier score. Here the same score is released 50 times at each of seven values of epsilon.
# (Only for a demonstration. Each release spends its epsilon, so on a sensitive table you would
# choose one and release once.)

# %%
import matplotlib.pyplot as plt
import numpy as np
import statsmodels.api as sm

import dpmic
from dpmic.plots import style

answers = sm.datasets.fair.load_pandas().data
bounds = ((16, 50), (0, 30))  # from what the questions allow
x, y = answers["age"], answers["yrs_married"]
losses = [0.01, 0.03, 0.1, 0.3, 1, 3, 10]
draws = {
    epsilon: [
        dpmic.release(x, y, bounds=bounds, epsilon=epsilon, allow_noisy=True) for _ in range(50)
    ]
    for epsilon in losses
}

# %% [markdown]
# The data are public, so we may also compute what each release would have been without noise. It
# changes a little with epsilon, since the mechanism limits what one record weighs (`cap`) in
# proportion to the noise.

# %%
exact = [
    dpmic.micc(x, y, bounds=bounds, cap=draws[epsilon][0].parameters["cap"]).mic
    for epsilon in losses
]
rng = np.random.default_rng(0)
with style():
    figure, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    for epsilon in losses:
        values = [published.value for published in draws[epsilon]]
        spread = epsilon * np.exp(rng.uniform(-0.12, 0.12, 50))
        ax.plot(spread, values, ".", color="#0072B2", alpha=0.5, markersize=6, markeredgewidth=0)
    ax.plot(losses, exact, "_", color="#D55E00", markersize=26, markeredgewidth=2)
    ax.annotate("without noise", (losses[-1], exact[-1]), (0, 12), textcoords="offset points",
                color="#D55E00", ha="center")  # fmt: skip
    ax.set(xscale="log", ylim=(0, 1), xlabel="epsilon", ylabel="published MIC")
    ax.set_xticks(losses, [f"{epsilon:g}" for epsilon in losses])
    ax.set_title("age and yrs_married, 6,366 records, 50 releases each")

# %%
for epsilon in losses:
    half = np.mean([np.subtract(*published.interval()[::-1]) / 2 for published in draws[epsilon]])
    print(f"epsilon {epsilon:>5g}: the interval is {half:.4f} to each side")

# %% [markdown]
# **What to see.** At epsilon 0.01 the 50 values scatter widely; from 0.3 on they are hard to tell
# apart. Every release states its own interval, so you know beforehand which case you are in: see
# [planning](../guides/planning.md) and [how to choose epsilon](../guides/choosing-epsilon.md).
