# %% [markdown]
# # How do I publish from a survey without exposing anyone?
#
# A survey of 6,366 married women (Fair 1978) asked for their age, children, religion and work. We
# publish which answers are related, and how strongly. Differential privacy bounds what replacing
# one woman's answers can change: the probability of any result, by a factor that epsilon sets. The
# steps are always the same: fix the bounds, plan, release once, and print the guarantee.

# %%
import textwrap

import statsmodels.api as sm

import dpmic

answers = sm.datasets.fair.load_pandas().data
bounds = {  # from what the questions allow, not from the answers
    "rate_marriage": (1, 5),
    "age": (16, 50),
    "yrs_married": (0, 30),
    "children": (0, 6),
    "religious": (1, 4),
    "educ": (8, 20),
    "occupation": (1, 6),
    "occupation_husb": (1, 6),
}

# %% [markdown]
# The plan says what to expect and looks at nothing. With epsilon = 1 the noise on each of four
# values should be small:

# %%
dpmic.plan(n=6366, epsilon=1, candidates=28, top=4)

# %% [markdown]
# A ledger tracks what is spent: it refuses what would exceed the budget, and answers a repeated
# query from its records.

# %%
ledger = dpmic.Ledger("survey.ledger", epsilon=2)
found = dpmic.screen(answers, bounds=bounds, epsilon=1, top=4, ledger=ledger, dataset="fair-1978")
found.plot()

# %%
print(textwrap.fill(found.guarantee, 90))

# %% [markdown]
# The strongest pair deserves a second look, with what is left of the budget:

# %%
x, y = found.pairs[0]
published = dpmic.release(
    x, y, data=answers, bounds=(bounds[x], bounds[y]), epsilon=1, ledger=ledger, dataset="fair-1978"
)
low, high = published.interval()
print(f"MIC of {x} and {y}: {published.value:.3f}, noise interval {low:.3f} to {high:.3f}")
print(f"left of the budget: {ledger.remaining:.2f}")

# %% [markdown]
# **What to see.** Four of 28 pairs are named, with a 95% interval for the noise in each value. Age
# and years married lead by far. The second release has a narrower interval: all of its epsilon goes
# to one value. Nothing else about the survey was published, and the ledger keeps what was spent.
# For your own table, a [job file](../guides/job-file.md) takes you through the same steps.
