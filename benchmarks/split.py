"""Is the default split of a screening a good one? On real tables, with simulated noise.

    python benchmarks/split.py

For every table, epsilon and top that is not refused: the share of epsilon for the selection with
the least error, and the errors of the default split and of splits by other hypotheses. The error
is what the selection loses in mean score, plus the mean distance of a value from its score. It
needs statsmodels, for Fair's survey, and the data folder of the evaluation. Some minutes on one
core; seeded.
"""

import functools
import itertools

import numpy as np

from dpmic.cli.demo import BOUNDS, fair_survey
from dpmic.evaluation.collections import baseball, spellman4381
from dpmic.privacy import screen
from dpmic.privacy._auto import Records
from dpmic.privacy._guards import hides
from dpmic.privacy._joint_noise import of_value
from dpmic.privacy._pairs import PairOptions
from dpmic.privacy.query import Terms

SHARES = np.arange(10, 91, 5) / 100
RUNS = 1000
POWERS = (1, 2, 3, 5)
"""Hypotheses: scores are powers of numbers that are spread evenly over [0, 1]."""


def tables():
    """Yield names, columns and intervals; of baseball every fifth column."""
    fair = fair_survey()
    yield "Fair's survey", [fair[name].to_numpy(float) for name in BOUNDS], list(BOUNDS.values())
    for collection, every in ((spellman4381(), 1), (baseball(), 5)):
        columns = collection.columns[::every]
        yield collection.name, [c.values for c in columns], [c.interval for c in columns]


class Screened:
    """One table, with its exact scores by mechanism and grids."""

    def __init__(self, columns, intervals):
        self.columns, self.intervals, self.known = columns, intervals, {}
        self.pairs = list(itertools.combinations(range(len(columns)), 2))

    def noises(self, epsilon, top, split=None):
        """Calibrate a screening as ``dpmic.screen`` does."""
        terms = Terms(epsilon=epsilon, allow_noisy=True)
        records = Records(self.columns[0].size)
        return screen.calibrate(records, terms, PairOptions(), len(self.pairs), top, split)

    def scores(self, noises):
        """Return the exact scores of all pairs."""
        key = noises.mechanism.name, str(noises.setting.limits)
        if key not in self.known:
            given = self.columns, self.intervals, self.pairs, noises.setting.limits
            self.known[key] = np.array(noises.mechanism.scores(*given))
        return self.known[key]


def error(scores, noises):
    """Return what the selection loses in mean score, plus the mean error of a value."""
    rng, added = np.random.default_rng(0), of_value(noises.values)
    left, rows = np.tile(scores, (RUNS, 1)), np.arange(RUNS)
    chosen = []
    for _ in range(noises.top):  # permute-and-flip is the maximum with exponential noise
        drawn = noises.selection.scale * rng.standard_exponential(left.shape)
        chosen.append(np.argmax(left + drawn, axis=1))
        left[rows, chosen[-1]] = -np.inf
    found = scores[np.stack(chosen)]
    unit = 2 * added.mean / (added.size + 1)
    radius = unit * rng.gamma(noises.top + 1, size=RUNS)
    noisy = found + radius * rng.uniform(-1, 1, found.shape)
    loss = np.sort(scores)[-noises.top :].mean() - found.mean()
    return loss + np.abs(np.clip(noisy, 0, 1) - found).mean()


@functools.cache
def by_hypothesis(candidates, top, epsilon, n, power):
    """Return the share with the least error where scores are powers of evenly spread ones."""
    scores = ((np.arange(candidates) + 0.5) / candidates) ** power
    records, terms = Records(n), Terms(epsilon=epsilon, allow_noisy=True)
    noises = [screen.calibrate(records, terms, PairOptions(), candidates, top, a) for a in SHARES]
    return SHARES[int(np.argmin([error(scores, one) for one in noises]))]


def main():
    """Print a row for each screening, and how much worse each way to split is than the best."""
    print("table | epsilon | top | best share | error | default share | error |", *POWERS)
    worse = {name: [] for name in ("default", "half", *POWERS)}
    for name, columns, intervals in tables():
        table, n = Screened(columns, intervals), columns[0].size
        for epsilon, top in itertools.product((0.1, 0.3, 1.0, 3.0), (1, 5, 10)):
            default = table.noises(epsilon, top)
            if hides(of_value(default.values)):
                continue

            def at(share, epsilon=epsilon, top=top, table=table):
                noises = table.noises(epsilon, top, float(share))
                return error(table.scores(noises), noises)

            errors = {share: at(share) for share in SHARES}
            best = min(errors, key=errors.get)
            tried = {"default": at(default.split), "half": at(0.5)}
            for power in POWERS:
                tried[power] = at(by_hypothesis(len(table.pairs), top, epsilon, n, power))
            for kind, found in tried.items():
                worse[kind].append((found - errors[best], found / errors[best]))
            numbers = f"{best:.2f} | {errors[best]:.2g} | {default.split:.2f}"
            others = ", ".join(f"{tried[power]:.2g}" for power in POWERS)
            said = f"{numbers} | {tried['default']:.2g} | {others}"
            print(f"{name} | {epsilon:g} | {top} | {said}", flush=True)
    for kind, pairs in worse.items():
        more, times = np.array(pairs).T
        mean, most = f"{more.mean():.2g}", f"{more.max():.2g}"
        print(f"{kind}: more by {mean}, at most {most}; {times.max():.2g} times at most")


if __name__ == "__main__":
    main()
