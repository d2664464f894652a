"""What ``mice``, ``mic`` and ``micr`` make of independent columns: the noise floor of displays.

``write("src/dpmic/parameters/chance.json")`` makes the table, in two minutes of CPU time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic import __version__
from dpmic.evaluation.tables import Table
from dpmic.statistics.family import mic, mice, micr

Floats = NDArray[np.float64]

SAMPLES = {
    **{25: 4000, 50: 4000, 100: 4000, 250: 2000, 500: 2000, 1000: 1000},
    **{2500: 400, 5000: 200, 10_000: 100, 25_000: 40},
}
"""Records, and how many samples of them."""

SLOW = 10_000
"""The largest n of ``mic``, which takes a second from here on."""

QUANTILES = {"median": 0.5, "q95": 0.95, "q99": 0.99}

STATISTICS: Mapping[str, Callable[[Floats, Floats], float]] = {
    "mice": lambda x, y: mice(x, y).mic,
    "mic": lambda x, y: mic(x, y).mic,
    "micr": lambda x, y: micr(x, y, bounds=((0, 1), (0, 1))).mic,
}


def measure(samples: Mapping[int, int] = SAMPLES, *, seed: int = 0) -> Table:
    """Return quantiles of the scores of two independent columns, uniform on [0, 1].

    A sample follows from the seed, n and its number, so a part of the table has the same numbers.

    Examples
    --------
    >>> [row["statistic"] for row in measure({25: 3})]
    ['mice', 'mic', 'micr']
    """
    return [
        _row(statistic, n, count, seed)
        for statistic in STATISTICS
        for n, count in samples.items()
        if statistic != "mic" or n <= SLOW
    ]


def _row(statistic: str, n: int, count: int, seed: int) -> dict[str, Any]:
    score = STATISTICS[statistic]
    values = [
        score(*np.random.default_rng((seed, n, number)).uniform(size=(2, n)))
        for number in range(count)
    ]
    quantiles = np.quantile(values, list(QUANTILES.values())).tolist()
    rounded = (float(f"{value:.4g}") for value in quantiles)
    known = dict(zip(QUANTILES, rounded, strict=True))
    return {"statistic": statistic, "n": n, "samples": count, **known}


def write(path: str | Path, *, samples: Mapping[int, int] = SAMPLES, seed: int = 0) -> None:
    """Measure, and write the table with its source."""
    source = {
        "command": f'dpmic.evaluation.chance.write("chance.json", seed={seed})',
        "columns": "two independent columns, uniform on [0, 1]",
        "settings": "default B and c; micr with the bounds [0, 1]",
        "version": __version__,
    }
    rows = ",\n".join(f"  {json.dumps(row)}" for row in measure(samples, seed=seed))
    text = f'{{\n "provenance": {json.dumps(source)},\n "rows": [\n{rows}\n ]\n}}\n'
    Path(path).write_text(text, encoding="utf-8")
