"""Private scores of all pairs, beside the scores of a private synthetic table (MST).

Run with ``make bench-synthetic`` (a minute for each table of MST). The table is Fair's survey, with
the bounds of ``dpmic demo``. The target is MICe of the real table. MST gets the same bounds and a
bin for each unit, all of it public; MICe depends on the order of values alone, so the numbers of
the bins are scored as they are. Private calls are made with their default options.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import dpmic
from dpmic.cli.demo import BOUNDS, fair_survey
from dpmic.errors import BoundsReminder, NoiseWarning

Bounds = Mapping[str, tuple[float, float]]
Scores = dict[tuple[str, str], float]
Synthesise = Callable[[pd.DataFrame, dict[str, int], float, bool], pd.DataFrame]

EPSILONS = (1.0, 0.3)
DELTA = 1e-6
TOP = 5

REPEATS_OF_OURS = 20
"""Ours takes a second or less, so its means need not be as rough as those of MST."""

PARTS = {"affairs": 10}
"""Bins for each unit, where it is not 1: a rate is not a count."""

RESULTS = Path(__file__).parent / "results" / "synthetic.json"


@dataclass(frozen=True)
class Row:
    """One run of one method: mean absolute errors, None where it does not publish the pairs."""

    method: str
    epsilon: float | None
    delta: float
    error_all: float | None
    error_strongest: float | None
    error_named: float
    found: int
    seconds: float


def bins_of(bounds: Bounds, parts: Mapping[str, int]) -> dict[str, int]:
    """Return how many bins each column has; the last is for its upper bound and what is above."""
    return {
        name: math.floor((high - low) * parts.get(name, 1)) + 1
        for name, (low, high) in bounds.items()
    }


def coded(table: pd.DataFrame, bounds: Bounds, parts: Mapping[str, int]) -> pd.DataFrame:
    """Return the number of each value's bin, counted from the lower bound."""
    return pd.DataFrame(
        {
            name: np.floor((table[name].clip(low, high) - low) * parts.get(name, 1)).astype(int)
            for name, (low, high) in bounds.items()
        }
    )


def scores(table: pd.DataFrame) -> Scores:
    """Return the MICe of every pair."""
    scored = dpmic.pairwise(table)
    pairs = math.comb(table.shape[1], 2)
    return {tuple(sorted((x, y))): mic for x, y, mic in scored.top(pairs)}


def published(result: dpmic.PairwiseRelease | dpmic.Screening) -> Scores:
    pairs = (tuple(sorted(pair)) for pair in result.pairs)
    return dict(zip(pairs, result.values, strict=True))


def strongest(of: Scores, top: int) -> list[tuple[str, str]]:
    return sorted(of, key=lambda pair: -of[pair])[:top]


def measures(values: Scores, truth: Scores, top: int = TOP) -> dict[str, float | int | None]:
    """Return the errors over all pairs, the truly strongest and those that the method names."""
    true_top, named = strongest(truth, top), strongest(values, top)
    complete = values.keys() == truth.keys()

    def error(pairs: Iterable[tuple[str, str]]) -> float:
        return float(np.mean([abs(values[pair] - truth[pair]) for pair in pairs]))

    return {
        "error_all": error(truth) if complete else None,
        "error_strongest": error(true_top) if complete else None,
        "error_named": error(named),
        "found": len(set(true_top) & set(named)),
    }


def timed(method: str, epsilon: float | None, delta: float, truth: Scores, call: Callable) -> Row:
    start = time.perf_counter()
    values = call()
    seconds = time.perf_counter() - start
    return Row(method, epsilon, delta, **measures(values, truth), seconds=seconds)


def synthetic_rows(
    codes: pd.DataFrame, truth: Scores, epsilon: float, repeats: int, synthesise: Synthesise
) -> Iterator[Row]:
    """Score tables by MST: private as it promises, and as private as ours."""
    bins = bins_of(BOUNDS, PARTS)
    for method, replace in (("MST", False), ("MST, a record replaced", True)):
        for _ in range(repeats):
            yield timed(
                method,
                epsilon,
                DELTA,
                truth,
                lambda replace=replace: scores(synthesise(codes, bins, epsilon, replace)),
            )


def our_rows(table: pd.DataFrame, truth: Scores, epsilon: float, repeats: int) -> Iterator[Row]:
    """Publish by each of our calls; the first of each compiles and does not count."""
    options = {"bounds": BOUNDS, "epsilon": epsilon, "allow_noisy": True}
    calls = {
        ("release_pairwise", 0.0): lambda: dpmic.release_pairwise(table, **options),
        ("release_pairwise", DELTA): lambda: dpmic.release_pairwise(table, delta=DELTA, **options),
        ("screen, top = 5", 0.0): lambda: dpmic.screen(table, top=TOP, **options),
    }
    for (method, delta), call in calls.items():
        call()
        for _ in range(repeats):
            yield timed(method, epsilon, delta, truth, lambda call=call: published(call()))


def mst(python: Path) -> Synthesise:
    """Return what draws a synthetic table with another Python, which has dpmm."""

    def synthesise(
        codes: pd.DataFrame, bins: dict[str, int], epsilon: float, replace: bool
    ) -> pd.DataFrame:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            codes.to_csv(folder / "codes.csv", index=False)
            (folder / "bins.json").write_text(json.dumps(bins))
            script = [str(python), str(Path(__file__).with_name("mst.py")), name]
            numbers = ["--epsilon", repr(epsilon), "--delta", repr(DELTA)]
            replaced = ["--replace"] if replace else []
            run = [*script, *numbers, *replaced]
            done = subprocess.run(run, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"benchmarks/mst.py failed:\n{done.stderr[-2000:]}")
            return pd.read_csv(folder / "synthetic.csv")[list(codes)]

    return synthesise


def processor() -> str:
    """Return the processor's name, as Linux knows it where it is Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def table_of(rows: list[Row]) -> str:
    """Return means over the repeats of each method, as a table in Markdown."""
    head = ["epsilon", "method", "delta", "runs", "all 36 pairs", "five strongest", "five named"]
    lines = [[*head, "found of 5", "seconds"], ["---"] * (len(head) + 2)]
    for epsilon, method, delta in dict.fromkeys((r.epsilon, r.method, r.delta) for r in rows):
        runs = [r for r in rows if (r.epsilon, r.method, r.delta) == (epsilon, method, delta)]
        errors = [
            "-" if getattr(runs[0], name) is None else f"{mean(runs, name):.3f}"
            for name in ("error_all", "error_strongest", "error_named")
        ]
        about = ["-" if epsilon is None else f"{epsilon:g}", method, f"{delta:g}", str(len(runs))]
        found, seconds = mean(runs, "found"), mean(runs, "seconds")
        lines.append([*about, *errors, f"{found:.1f}", f"{seconds:.{0 if seconds > 10 else 1}f}"])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def mean(rows: list[Row], name: str) -> float:
    return float(np.mean([getattr(row, name) for row in rows]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path, required=True, help="one that has dpmm")
    parser.add_argument("--repeats", type=int, default=3, help="tables of MST at each epsilon")
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    for known in (BoundsReminder, NoiseWarning):
        warnings.simplefilter("ignore", known)
    table = fair_survey()[list(BOUNDS)]
    truth, codes = scores(table), coded(table, BOUNDS, PARTS)
    rows = [timed("MST's bins, no noise", None, 0.0, truth, lambda: scores(codes))]
    for epsilon in EPSILONS:
        rows += our_rows(table, truth, epsilon, REPEATS_OF_OURS)
        rows += synthetic_rows(codes, truth, epsilon, asked.repeats, mst(asked.python))
    run = {"processor": processor(), "cores": cores(), "n": len(table)}
    asked.out.parent.mkdir(exist_ok=True)
    asked.out.write_text(json.dumps(run | {"rows": list(map(asdict, rows))}, indent=1) + "\n")
    print(f"{', '.join(f'{name}: {fact}' for name, fact in run.items())}\n\n{table_of(rows)}")


if __name__ == "__main__":
    main()
