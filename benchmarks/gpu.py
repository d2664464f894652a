"""What a GPU gives: agreement with the CPU, time for a pair, and a genome's table to disk.

    python benchmarks/gpu.py nvidia-h200            # benchmarks/results/nvidia-h200.json
    python benchmarks/gpu.py here --columns 2000    # a smaller table
    python benchmarks/gpu.py amd-epyc --host        # without a GPU: all but the kernels

Times are by the clock, warm, with transfers, the least of three but for the large table. Where
compute-sanitizer is installed, it looks for races and wrong accesses.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import dpmic
from dpmic._validate import Limits
from dpmic.all_pairs import devices
from dpmic.all_pairs.devices import TIC_ERROR, Draws
from dpmic.all_pairs.significance import PermutationPlan
from dpmic.statistics.grids import steps

RESULTS = Path(__file__).parent / "results"
SIZES = ((250, 6000), (1000, 4000), (4381, 1000))
LOGARITHMS = 16  # a clock, of each multiprocessor
SANITIZER_SECONDS = 220
KINDS = ("normal", "sine", "few", "binary", "constant", "rounded", "tails", "spike")

CHILD = """
import numpy, dpmic
dpmic.pairwise(numpy.load({table!r}), device="cuda", out={out!r})
"""


CHECKED = """
import numpy, dpmic
for n in (4, 250, 1000, 4381):
    x = numpy.random.default_rng(n).normal(size=(n, 4))
    x[:, 1] = numpy.round(x[:, 0])
    for options in ({}, {"tic": True}, {"pvalues": True, "permutations": 9}, {"c": numpy.inf}):
        if n < 1000 or "c" not in options:
            dpmic.pairwise(x, device="cuda", **options)
"""


BROKEN = """
import numpy, dpmic
from types import SimpleNamespace
from dpmic._kernels import cuda
place = "cumulate(table + i * stride + 1, rows, 1);"
before, counted, after = cuda.SOURCE.read_text().partition(place)
source = before + counted + after.replace("__syncthreads();", "", 1)
cuda.SOURCE = SimpleNamespace(name="broken", read_text=lambda: source)
dpmic.pairwise(numpy.random.default_rng(0).normal(size=(250, 4)), device="cuda")
"""


def machine():
    import cupy

    device = cupy.cuda.Device()
    facts = cupy.cuda.runtime.getDeviceProperties(device.id)
    cuda = cupy.cuda.runtime
    return {
        "gpu": facts["name"].decode(),
        "multiprocessors": facts["multiProcessorCount"],
        "clock_hz": 1000 * device.attributes["ClockRate"],
        "driver": cuda.driverGetVersion(),
        "cuda": cuda.runtimeGetVersion(),
        "cupy": cupy.__version__,
    }


def column(rng, base, kind):
    """Return a column of one kind: continuous, related to another one, or with ties."""
    n = base.size
    return {
        "normal": lambda: rng.normal(size=n),
        "sine": lambda: np.sin(6 * base) + rng.normal(0, 0.2, n),
        "few": lambda: rng.integers(0, 7, n).astype(float),
        "binary": lambda: (base > rng.normal()).astype(float),
        "constant": lambda: np.zeros(n),
        "rounded": lambda: np.round(4 * base),
        "tails": lambda: rng.standard_cauchy(n),
        "spike": lambda: np.where(rng.random(n) < 0.7, 0, base),
    }[kind]()


def agreement():
    """Random pairs with ties, constants and n from 4 to 100,000, against the CPU.

    Each size has kernels of its own, so that several processes compile and compare.
    """
    sizes = [*range(4, 16), 20, 33, 50, 64, 100, 128, 200, 250, 400, 700, 1000, 2000, 4381, 10000]
    sizes += [30_000, 100_000]
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        found = list(pool.map(compared, reversed(sizes)))
    upto = [own for own in found if own["n"] <= 10_000]
    return {
        "pairs": sum(own["pairs"] for own in found),
        "largest difference of MIC, n up to 10,000": max(own["mic"] for own in upto),
        "largest difference of MIC": max(own["mic"] for own in found),
        "largest mean difference of an entry, by TIC": max(own["entry"] for own in found),
        "pairs that exact=True has with other bits": sum(own["exact"] for own in found),
    }


def compared(n):
    """Compare all that a GPU scores of one table with the CPU."""
    rng, m = np.random.default_rng((19, n)), 30 if n <= 2000 else 12 if n <= 10_000 else 8
    base = rng.normal(size=n)
    x = np.stack([column(rng, base, KINDS[i % len(KINDS)]) for i in range(m)], axis=1)
    ours, theirs = dpmic.pairwise(x, tic=True, device="cuda"), dpmic.pairwise(x, tic=True)
    entries = sum(step.rows - 1 for step in steps(Limits(max(n**0.6, 4), 15, "reshef")))
    fast = dpmic.pairwise(x, device="cuda")
    exact = dpmic.pairwise(x, device="cuda", exact=True)
    strongest = dpmic.pairwise(x, device="cuda", exact=10)
    assert strongest.top(10) == exact.top(10)
    found = {
        "n": n,
        "pairs": theirs.mic.size,
        "mic": float(max(np.abs(own.mic - theirs.mic).max() for own in (ours, fast))),
        "entry": float(np.abs(ours.tic - theirs.tic).max() / (2 * entries)),
        "exact": int(np.count_nonzero(exact.mic != dpmic.pairwise(x).mic)),
    }
    print(found, flush=True)
    return found


def pvalues(permutations=199, seed=1):
    """p-values against the CPU's counts of the same permuted tables, and how many are small."""
    rng, found = np.random.default_rng(20), {"pairs": 0, "too small": 0, "too large": 0}
    plan = PermutationPlan.of(permutations, seed, pooled=False)
    options = {"pvalues": True, "device": "cuda"}
    for n in (4, 7, 30, 100, 1000, 4381):
        base = rng.normal(size=n)
        x, y = (
            np.stack([column(rng, base, kind) for kind in (*KINDS, "normal")], axis=1)
            for _ in range(2)
        )
        ours = dpmic.cross(x, y, permutations=permutations, rng=seed, **options).pvalues
        orders = [np.arange(n), *Draws(permutations, plan.seed).orders(n)]
        observed, *null = (dpmic.cross(x, y[own], tic=True, B=9, c=5).tic for own in orders)
        least, most = (
            (1 + np.sum(null >= observed - slack, axis=0)) / (1 + permutations)
            for slack in (1e-12, 4 * 8 * TIC_ERROR)  # of at most 8 entries
        )
        found["pairs"] += ours.size
        found["too small"] += int(np.count_nonzero(ours < least))
        found["too large"] += int(np.count_nonzero(ours > most))
        print(n, found, flush=True)
        pooled, theirs = (
            dpmic.cross(x, y, permutations=permutations, rng=seed, pooled=True, **options | own)
            for own in ({}, {"device": "cpu"})
        )
        found["too small"] += int(np.count_nonzero(pooled.pvalues < theirs.pvalues))
    independent = rng.normal(size=(2, 100, 100))
    some = dpmic.cross(*independent, permutations=999, rng=seed, **options).pvalues
    for level in (0.05, 0.01, 0.001):  # 10,000 pairs with the same permutations
        found[f"independent pairs with p <= {level}"] = float(np.mean(some <= level))
    return found


def table(n, m, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)) @ rng.normal(size=(4, m)) * 0.5 + rng.normal(size=(n, m))


def logarithms(n):
    """Values of x log2 x for a pair, all ends and starts counted, of both orientations."""
    found = 0
    for step in steps(Limits(max(n**0.6, 4), 15, "reshef")):
        rows = min(int(step.master), n)
        sums = 2 * rows if step.rows == 2 else rows * (rows + 1) // 2
        found += 2 * (step.columns + 1) * sums
    return found


def speed(facts):
    rows = []
    for n, m in SIZES:
        x, row = table(n, m), {"n": n, "columns": m, "pairs": m * (m - 1) // 2}
        for name, options in (("mic", {}), ("tic", {"tic": True})):
            times = []
            for _ in range(4):
                begun = time.perf_counter()
                dpmic.pairwise(x, device="cuda", **options)
                times.append(time.perf_counter() - begun)
            row[f"{name}, us a pair"] = 1e6 * min(times[1:]) / row["pairs"]
        ceiling = LOGARITHMS * facts["multiprocessors"] * facts["clock_hz"]
        rate = logarithms(n) / (1e-6 * row["mic, us a pair"])
        row |= {"logarithms a second": rate, "of the special-function ceiling": rate / ceiling}
        rows.append(row)
        print(row, flush=True)
    for name, m, pooled in (("own", 60, False), ("pooled", 4000, True)):
        x, options = table(1000, m), {"pvalues": True, "pooled": pooled, "rng": 1}
        times = []
        for _ in range(3):
            begun = time.perf_counter()
            found = dpmic.pairwise(x, device="cuda", **options)
            times.append(time.perf_counter() - begun)
        microseconds = 1e6 * min(times[1:]) / found.mic.size
        rows.append({"n": 1000, f"with p-values of 10,000 {name} permutations, us": microseconds})
        print(rows[-1], flush=True)
    x, y = table(1000, 2).T
    for B, c in ((9, 5), (63, 15)):
        row = {"n": 1000, "a single test of 10,000 permutations, B": B}
        for device in ("cpu", "cuda"):
            times = []
            for _ in range(3):
                begun = time.perf_counter()
                dpmic.independence_test(x, y, B=B, c=c, rng=1, device=device)
                times.append(time.perf_counter() - begun)
            row[f"{device}, seconds"] = min(times[1:])
        rows.append(row)
        print(row, flush=True)
    return rows


def large(columns, folder):
    """All pairs of a table of 1,000 records to disk."""
    x, out = table(1000, columns), Path(folder) / "large.parquet"
    begun = time.perf_counter()
    found = dpmic.pairwise(x, device="cuda", out=out)
    seconds = time.perf_counter() - begun
    size = out.stat().st_size
    some = np.random.default_rng(0).integers(0, columns, (20, 2))
    for i, j in some[some[:, 0] != some[:, 1]]:
        score = dpmic.mice(x[:, i], x[:, j]).mic
        assert abs(found.value(str(i), str(j)) - score) < 2e-6
    row = {"n": 1000, "columns": columns, "pairs": found.mic.size, "seconds": seconds}
    print(row, flush=True)
    return {**row, "bytes": size}


def killed(folder):
    """Kill a run and take it up: it has the numbers of one that goes through."""
    x, out = table(1000, 4000, seed=2), Path(folder) / "killed.parquet"
    np.save(Path(folder) / "x.npy", x)
    code = CHILD.format(table=str(Path(folder) / "x.npy"), out=str(out))
    child = subprocess.Popen([sys.executable, "-c", code])
    parts = out.with_name("killed.parquet.parts")
    while child.poll() is None and len(list(parts.glob("part-*"))) < 3:
        time.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    child.wait()
    kept = len(list(parts.glob("part-*")))
    found = dpmic.pairwise(x, device="cuda", out=out)
    equal = np.array_equal(found.mic, dpmic.pairwise(x, device="cuda").mic)
    return {"columns": 4000, "files that were kept": kept, "equal": bool(equal)}


def sanitizers():
    """Start compute-sanitizer's tools side by side, one of them for a source without a barrier."""
    program = shutil.which("compute-sanitizer")
    codes = dict.fromkeys(("memcheck", "racecheck", "initcheck", "synccheck"), CHECKED)
    codes["racecheck, without a barrier"] = BROKEN
    return {
        name: subprocess.Popen(
            [program, "--tool", name.partition(",")[0], sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, code in codes.items()
        if program
    }


def last_words(running, until):
    """Return the last line that each tool writes, if it has finished by then."""
    found = {}
    for tool, process in running.items():
        try:
            said = process.communicate(timeout=max(until - time.monotonic(), 1))[0]
        except subprocess.TimeoutExpired:
            process.kill()
            found[tool] = "not finished"
            continue
        lines = [line for line in said.splitlines() if line.startswith("=====")]
        found[tool] = lines[-1].strip("= ") if lines else f"exit {process.returncode}"
    return found


def sections(columns, folder):
    """Return what is measured, in this order; each section is saved when it is done."""
    running, until = sanitizers(), time.monotonic() + SANITIZER_SECONDS
    return {
        "agreement": agreement,
        "p-values": pvalues,
        "compute-sanitizer": lambda: last_words(running, until),
        "rows": lambda: speed(machine()),
        "killed and taken up": lambda: killed(folder),
        "large table": lambda: large(columns, folder),
    }


class Instant:
    """Kernels that take no time: what is left is the host's own."""

    scores = np.random.default_rng(0).random(2**21, np.float32).astype(float)

    def problem(self):
        return None

    def free_memory(self):
        return 2**36

    def load(self, cut):
        return cut.columns.parts.astype(np.uint16)

    def largest(self, left, right, pairs, *_):
        return self.scores[: len(pairs)]

    def totals(self, left, right, pairs, *_):
        return self.scores[: len(pairs)], self.scores[: len(pairs)]


def host(columns):
    """Time all that the host does for the pairs of a table, with and without p-values."""
    devices.cuda, found = Instant(), []
    x, pooled = table(1000, columns), {"pvalues": True, "pooled": True, "rng": 1}
    for name, options in (("to disk", {}), ("with pooled p-values, to disk", pooled)):
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            dpmic.pairwise(x, device="cuda", out=Path(folder) / "large.parquet", **options)
            seconds = time.perf_counter() - begun
        found.append({"n": 1000, "columns": columns, f"host alone, {name}, seconds": seconds})
        print(found[-1], flush=True)
    return {"cores": os.cpu_count(), "rows": found}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("machine")
    parser.add_argument("--columns", type=int, default=20_000)
    parser.add_argument("--host", action="store_true")
    given = parser.parse_args()
    file = RESULTS / (f"{given.machine}-host.json" if given.host else f"{given.machine}.json")
    if given.host:
        found = host(given.columns)
        file.write_text(json.dumps(found, indent=1) + "\n")
        return
    found = {"machine": machine()}
    with tempfile.TemporaryDirectory() as folder:
        for name, measured in sections(given.columns, folder).items():
            begun = time.perf_counter()
            found[name] = measured()
            print(f"{name}: {time.perf_counter() - begun:.0f} s", found[name], flush=True)
            file.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
