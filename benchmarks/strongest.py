"""The strongest pairs of real tables: how well private calls find and score them.

    python benchmarks/strongest.py

Figures of docs/results.md. On Spellman4381 with the paper's bounds: how many of the five
strongest pairs a selection with all of epsilon = 0.3 finds, for each cap and for a default
screening whose selection gets as much (simulated and seeded, with exact scores). On the same pairs
and on Baseball's: the median error of a release with cap=4 against MICe (simulated noise). On
Fair's survey: errors of real default calls at epsilon = 1 against MICe. It needs statsmodels and
the data folder of the evaluation. Some minutes on one core.
"""

import itertools
import statistics
import warnings

import numpy as np
from split import Screened
from synthetic import scores as exact_scores

import dpmic
from dpmic.cli.demo import BOUNDS, fair_survey
from dpmic.errors import BoundsReminder, NoiseWarning
from dpmic.evaluation.collections import baseball, spellman4381
from dpmic.evaluation.scoring import micc
from dpmic.privacy import CappedLaplace, screen
from dpmic.privacy._auto import Records
from dpmic.privacy._pairs import PairOptions
from dpmic.privacy.query import Terms
from dpmic.statistics.family import mice

TOP = 5
EPSILON = 0.3
CAPS = (3.5, 4.0, 4.5, 5.0)
SELECTIONS, SCREENINGS, MATRICES, DRAWS = 300, 60, 40, 100


def selected(scores, scale, rng):
    """Select by permute-and-flip, which takes the maximum with exponential noise, one by one."""
    left, chosen = scores.copy(), []
    for _ in range(TOP):
        chosen.append(int(np.argmax(left + scale * rng.standard_exponential(left.size))))
        left[chosen[-1]] = -np.inf
    return set(chosen)


def recalls():
    """Print the share of the truly strongest pairs that selections find."""
    collection = spellman4381()
    columns = [column.values for column in collection.columns]
    intervals = [column.interval for column in collection.columns]
    table, n = Screened(columns, intervals), columns[0].size
    true = np.array([mice(columns[i], columns[j]).mic for i, j in table.pairs])
    strongest = set(np.argsort(-true)[:TOP].tolist())
    default = default_cap(n, len(table.pairs))
    for cap in sorted({*CAPS, default}):
        mechanism = CappedLaplace(EPSILON, ((0, 1), (0, 1)), cap=cap, axes="linear")
        setting = mechanism.setting(n)
        scores = np.array(mechanism.scores(columns, intervals, table.pairs, setting.limits))
        rng, scale = np.random.default_rng(0), 2 * TOP * cap / n / EPSILON
        found = [len(selected(scores, scale, rng) & strongest) / TOP for _ in range(SELECTIONS)]
        note = ", the default" if cap == default else ""
        print(f"Spellman4381, cap {cap:g}{note}: {np.mean(found):.0%} found", flush=True)


def default_cap(n, candidates):
    """Return the cap of a default screening whose selection gets EPSILON."""
    low, high = EPSILON, 10 * EPSILON
    while high - low > 1e-4:
        middle = (low + high) / 2
        noises = calibrated(n, candidates, middle)
        low, high = (middle, high) if noises.split * middle < EPSILON else (low, middle)
    return calibrated(n, candidates, high).setting.limits.cap


def calibrated(n, candidates, epsilon):
    """Calibrate a screening as ``dpmic.screen`` does."""
    terms = Terms(epsilon=epsilon, allow_noisy=True)
    return screen.calibrate(Records(n), terms, PairOptions(), candidates, TOP, None)


def distances():
    """Print the median distance of a release with cap=4 from MICe, over the pairs of a table."""
    cap = 4.0
    for collection, axes in itertools.product((spellman4381(), baseball()), ("linear", "any")):
        every = 10 if axes == "any" and len(collection) > 1000 else 1
        pairs = [collection[i] for i in range(0, len(collection), every)]
        scores = np.array([micc((pair.x, pair.y), pair.bounds, (cap,), axes) for pair in pairs])
        true = np.array([mice(pair.x, pair.y).mic for pair in pairs])
        rng = np.random.default_rng(0)
        for epsilon in (1.0, 0.1):
            noise = rng.laplace(0, cap / collection.n / epsilon, (len(pairs), DRAWS))
            off = np.abs(np.clip(scores + noise, 0, 1) - true[:, None]).mean(axis=1)
            which = f"{collection.name}, axes={axes}, epsilon {epsilon:g}, cap {cap:g}"
            print(f"{which}: error {np.median(off):.4f} ({len(pairs)} pairs)", flush=True)


def releases():
    """Print the errors of real screenings and matrices of Fair's survey."""
    table = fair_survey()[list(BOUNDS)]
    true = {frozenset(pair): score for pair, score in exact_scores(table).items()}
    strongest = set(sorted(true, key=true.get)[-TOP:])

    def error(result):
        published = zip(result.pairs, result.values, strict=True)
        return statistics.mean(abs(value - true[frozenset(pair)]) for pair, value in published)

    screened = [dpmic.screen(table, bounds=BOUNDS, epsilon=1.0, top=TOP) for _ in range(SCREENINGS)]
    found = [len(strongest & set(map(frozenset, result.pairs))) for result in screened]
    whole = [dpmic.release_pairwise(table, bounds=BOUNDS, epsilon=1.0) for _ in range(MATRICES)]
    for name, results in (("screen", screened), ("release_pairwise", whole)):
        errors = [error(result) for result in results]
        spread = statistics.stdev(errors) / len(errors) ** 0.5
        print(f"Fair, {name}: error {statistics.mean(errors):.4f} +- {spread:.4f}")
    print(f"Fair, screen: {statistics.mean(found):.1f} of the {TOP} strongest found")


if __name__ == "__main__":
    warnings.simplefilter("ignore", BoundsReminder)
    warnings.simplefilter("ignore", NoiseWarning)
    recalls()
    distances()
    releases()
