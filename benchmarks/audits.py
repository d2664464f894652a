"""Attack mechanisms a million times on each of two neighbours, and mutants with less noise.

``make audit`` writes docs/results/audit.txt. An attack can disprove an epsilon, never prove it.
"""

import argparse
import dataclasses
import platform
import time
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

import dpmic
from dpmic.privacy import CappedLaplace, MICeLaplace, MICrGeometric, MICrLaplace, pairwise, screen
from dpmic.privacy.audit import _worst_case
from dpmic.privacy.query import Terms

LOG = Path(__file__).parents[1] / "docs/results/audit.txt"
BOX = ((0, 1), (0, 1))
NOISY = {"allow_noisy": True}
MECHANISMS = {
    "capped-laplace, axes any": (CappedLaplace(1.0, BOX, **NOISY), 26),
    "capped-laplace, axes wide": (CappedLaplace(1.0, BOX, axes="wide", **NOISY), 26),
    "micr-laplace, axes any": (MICrLaplace(1.0, BOX, **NOISY), 25),
    "mice-laplace": (MICeLaplace(1.0, B=4, c=1, **NOISY), 6),
    "micr-geometric": (MICrGeometric(1.0, BOX, m=2, B=4, **NOISY), 25),
}


class Weakened:
    """A mechanism whose noise is a share of what it should be."""

    def __init__(self, mechanism, share):
        self.mechanism, self.share = mechanism, share
        self.name, self.epsilon = mechanism.name, mechanism.epsilon

    def draws(self, x, y, runs):
        """Return the outputs of independent runs."""
        setting = self.mechanism.setting(x.size)
        noise = dataclasses.replace(setting.noise, scale=setting.noise.scale * self.share)
        (score,) = self.mechanism.scores((x, y), self.mechanism.bounds, [(0, 1)], setting.limits)
        return np.clip([noise.add(score) for _ in range(runs)], 0, 1)


def against(n, width):
    """Put one record at odds with one pair in the first table, with all others in the second.

    One score falls by the cap where the others rise by it.
    """
    first = np.repeat((np.arange(n) >= n // 2)[:, None], width, axis=1).astype(float)
    second = first.copy()
    first[0, 1:-1] = 1.0
    second[0, 0] = 1.0
    return first, second


def corners(n, width):
    """Half of the records in each of two opposite corners, then one moved along the last axis.

    All pairs with the last column change by the cap: the worst for capped scores.
    """
    first = np.repeat((np.arange(n) >= n // 2)[:, None], width, axis=1).astype(float)
    second = first.copy()
    second[0, -1] = 1.0
    return first, second


class Table:
    """Pairs of the last column of a table; the log-likelihood ratio of what is published."""

    def __init__(self, top, share=1.0):
        self.top, self.share = top, share
        self.name, self.epsilon = "screen" if top else "release_pairwise", 1.0

    def query(self, matrix):
        """Return what is asked of a table."""
        terms = Terms(epsilon=1.0, allow_noisy=True)
        asked = {"bounds": [(0, 1)] * matrix.shape[1], "target": matrix.shape[1] - 1, "cap": 3.5}
        if self.top:
            return screen.prepare(matrix, terms, top=self.top, **asked)
        return pairwise.prepare(matrix, terms, **asked)

    def draws(self, matrix, _, runs):
        """Return a number for each run that tells the tables apart."""
        query = self.query(matrix)
        exact = [query.compute(list(own.T)) for own in corners(*matrix.shape)]
        scores = query.compute(list(matrix.T))
        if self.top:  # the value of the first pair, where it is selected
            drawn = (query.draw(scores) for _ in range(runs))
            return np.array(
                [values[found.index(0)] if 0 in found else -1.0 for found, values in drawn]
            )
        noise = query.noise
        if self.share < 1:
            noise = dataclasses.replace(noise, steps=int(noise.steps * self.share))
        values = np.array([noise.add(scores) for _ in range(runs)])
        first, second = (np.abs(values - own).max(axis=1) for own in exact)
        return second - first


def attacks():
    """Return (what is attacked, claimed, function of runs) for each attack."""
    for name, (mechanism, n) in MECHANISMS.items():
        yield name, lambda runs, m=mechanism, n=n: dpmic.audit(m, n=n, runs=runs)
    for name, sampler, tables in (
        ("release_pairwise, cube noise, 5 pairs", Table(0), corners(26, 6)),
        ("screen, 1 of 10 pairs", Table(1), against(26, 11)),
        ("release_pairwise with 10% less noise", Table(0, 0.9), corners(26, 6)),
        ("release_pairwise with 5% less noise", Table(0, 0.95), corners(26, 6)),
    ):
        neighbours = tuple((matrix, None) for matrix in tables)
        yield name, lambda runs, s=sampler, t=neighbours: dpmic.audit(s, neighbours=t, runs=runs)
    for name in ("capped-laplace, axes any", "micr-laplace, axes any"):
        mechanism, n = MECHANISMS[name]
        for share in (0.9, 0.95):
            yield (
                f"{name}, with {1 - share:.0%} less noise",
                lambda runs, m=mechanism, n=n, share=share: dpmic.audit(
                    Weakened(m, share), neighbours=_worst_case(m, n), runs=runs
                ),
            )


def attacked(name, attack, runs):
    """Run one attack, and say what it found in a line."""
    begin = time.time()
    bound = attack(runs)
    verdict = "DISPROVED" if bound.disproved else "not disproved"
    found = f"{name:50} {bound.claimed:7g} {bound.lower:8.4f}  {verdict:14}"
    line = f"{found} {time.time() - begin:6.0f} s"
    print(line, flush=True)
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", default="", help="attacks whose names contain this")
    given = parser.parse_args()
    if given.only and given.out is None:
        parser.error("--only needs --out: the log in docs/results has all attacks")
    work = (
        delayed(attacked)(name, attack, given.runs)
        for name, attack in attacks()
        if given.only in name
    )
    lines = Parallel(n_jobs=given.jobs, backend="loky")(work)
    head = [
        f"dpmic {dpmic.__version__}, Python {platform.python_version()}: {given.runs:,} runs",
        "on each of two neighbours; lower bounds on epsilon that hold with 99.9% confidence each.",
        "",
        f"{'attacked':50} {'claimed':>7} {'at least':>8}",
    ]
    (given.out or LOG).write_text("\n".join([*head, *lines]) + "\n")


if __name__ == "__main__":
    main()
