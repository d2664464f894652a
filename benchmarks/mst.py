"""Draw a private synthetic table by MST: McKenna, Miklau and Sheldon 2021, as dpmm implements it.

    python benchmarks/mst.py FOLDER --epsilon 1 --delta 1e-6 [--replace]

It reads ``codes.csv`` and ``bins.json`` in the folder and writes ``synthetic.csv`` there. It runs
in an environment of its own, whose requirements clash with ours, and so imports nothing of ours.
``benchmarks/synthetic.py`` calls it.

MST is private when a record is added or removed. With ``--replace`` it draws the noise that makes
the same epsilon and delta hold when a record is replaced, as in dpmic: two thirds of its rho are
for marginals with Gaussian noise, whose squared L2 sensitivity doubles, and a third is for
exponential mechanisms, whose sensitivity doubles. So rho grows by 2/3 * 2 + 1/3 * 4 = 8/3.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pandas as pd
from dpmm.models.base.mechanisms import cdp_rho
from dpmm.pipelines import MSTPipeline


def epsilon_for_replacing(epsilon: float, delta: float) -> float:
    """Return the largest epsilon whose rho is at most 3/8 of that of the one given."""
    low, high = 0.0, epsilon
    while high - low > 1e-6:
        middle = (low + high) / 2
        if cdp_rho(middle, delta) <= 3 / 8 * cdp_rho(epsilon, delta):
            low = middle
        else:
            high = middle
    return low


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--replace", action="store_true")
    asked = parser.parse_args()
    codes = pd.read_csv(asked.folder / "codes.csv")
    bins = json.loads((asked.folder / "bins.json").read_text())
    epsilon = asked.epsilon
    if asked.replace:
        epsilon = epsilon_for_replacing(epsilon, asked.delta)
    # The codes are discrete and their domain is public, so nothing is spent on finding bins.
    model = MSTPipeline(epsilon=epsilon, delta=asked.delta, disable_processing=True)
    model.fit(codes, bins)
    synthetic = model.generate(n_records=len(codes))
    synthetic.to_csv(asked.folder / "synthetic.csv", index=False)


if __name__ == "__main__":
    main()
