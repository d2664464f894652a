"""Speed beside fast-mine (minepy's algorithm), and minepy itself where it is installed.

Run with ``make bench``. One process, one thread, warm. Ours and the peer take turns and the least
time of each counts; on a busy machine trust the ratios. Pairs are of noise and of a noisy sine,
alpha = 0.6 and c = 15 unless a row says otherwise. The peer searches masters of c * floor(B / l)
parts for every l, about 2.5 times the work of our default; the rows of the drop-in search those.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import fast_mine
import numpy as np

import dpmic
from dpmic.compat.minepy import cstats

try:
    import minepy
except ImportError:
    minepy = None

Call = Callable[[], object]

SIZES = {250: 24, 1000: 16, 10000: 6}
"""Records, and how many columns on the left meet as many on the right in one call."""

ROUNDS = {250: 9, 1000: 9, 10000: 3}
WIDTH = 46


def seconds(call: Call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def least(n: int, *calls: Call) -> list[float]:
    """Return the least milliseconds of each, taking turns; the first call does not count."""
    for call in calls:
        call()
    rounds = [[seconds(call) for call in calls] for _ in range(ROUNDS[n])]
    return [1000 * min(times) for times in zip(*rounds, strict=True)]


def tables(n: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return columns that are independent, and columns with noisy sines of them all."""
    rng = np.random.default_rng(n)
    x, shape = rng.random((n, 1)), (n, SIZES[n])
    alike = x + rng.normal(0, 1e-3, shape)
    return {
        "noise": (rng.random(shape), rng.random(shape)),
        "sine": (alike, np.sin(9 * x) + rng.normal(0, 0.3, shape)),
    }


def peer(x: np.ndarray, y: np.ndarray, alpha: float = 0.6, c: float = 15.0) -> Call:
    if minepy is not None:
        mine = minepy.MINE(alpha=alpha, c=c, est="mic_e")
        return lambda: mine.compute_score(x, y)
    problem = fast_mine.MineProblem(x, y, x.size)
    parameter = fast_mine.MineParameter(alpha, c, fast_mine.EST_MIC_E)
    return lambda: fast_mine.mine_compute_score(problem, parameter)


def line(label: str, n: int, kind: str, ours: float, theirs: float) -> None:
    print(f"{label:<{WIDTH}} {n:>6} {kind:<6} {ours:9.3f} {theirs:10.2f} {theirs / ours:8.1f}x")


def main() -> None:
    print(f"peer: {'minepy' if minepy else 'fast-mine'}")
    print(f"{'':<{WIDTH}} {'n':>6} {'pair':<6} {'ms':>9} {'peer ms':>10} {'peer/ours':>9}")
    for n in SIZES:
        for kind, (left, right) in tables(n).items():
            tables_of_pairs(n, kind, left, right)
    for kind, (left, right) in tables(1000).items():
        single_calls(kind, *(np.ascontiguousarray(side[:, 0]) for side in (left, right)))
        by_range(kind, left, right)
    workers()
    memory()


def tables_of_pairs(n: int, kind: str, left: np.ndarray, right: np.ndarray) -> None:
    """Time for each pair, all entries of the matrix and the largest alone."""
    rows, columns, pairs = left.T.copy(), right.T.copy(), SIZES[n] ** 2
    full, largest, dropped, theirs = least(
        n,
        lambda: dpmic.cross(left, right, tic=True, workers=1),
        lambda: dpmic.cross(left, right, workers=1),
        lambda: cstats(rows[:2], columns[:2], est="mic_e"),
        peer(rows[0], columns[0]),
    )
    line("cross, all entries, a pair", n, kind, full / pairs, theirs)
    line("cross, the maximum only, a pair", n, kind, largest / pairs, theirs)
    line("drop-in cstats('mic_e'), peer's master, a pair", n, kind, dropped / 4, theirs)


def single_calls(kind: str, x: np.ndarray, y: np.ndarray) -> None:
    """Time of a call with everything that it does."""
    ours, theirs = least(1000, lambda: [dpmic.mice(x, y) for _ in range(20)], peer(x, y))
    line("mice(x, y), one call", 1000, kind, ours / 20, theirs)


def by_range(kind: str, left: np.ndarray, right: np.ndarray) -> None:
    """MICr with few cells, against the peer's MICe with as many."""
    x, y, pairs = left[:, 0].copy(), right[:, 0].copy(), SIZES[1000] ** 2
    box, grids = ((-0.01, 1.01), (-2, 2)), {"B": 60, "c": 5}
    options = {"statistic": "micr", "bounds": [[ends] * SIZES[1000] for ends in box], "workers": 1}
    together, alone, theirs = least(
        1000,
        lambda: dpmic.cross(left, right, tic=True, **options, **grids),
        lambda: [dpmic.micr(x, y, bounds=box, **grids) for _ in range(20)],
        peer(x, y, 60.0, 5.0),
    )
    line("micr, B = 60, c = 5, cross, a pair", 1000, kind, together / pairs, theirs)
    line("micr, B = 60, c = 5, one call", 1000, kind, alone / 20, theirs)


def workers() -> None:
    """Two threads against one."""
    table = np.random.default_rng(0).random((1000, 100))
    one, two = least(
        10000, lambda: dpmic.pairwise(table, workers=1), lambda: dpmic.pairwise(table, workers=2)
    )
    print(f"\npairwise, 100 columns x 1000: 1 worker {one / 1000:.2f} s, 2 workers", end=" ")
    print(f"{two / 1000:.2f} s, {one / two:.2f}x")


def memory() -> None:
    """Print the peak memory of one large pair beside that of a small one, in a new process."""
    script = """
import resource, numpy, dpmic
rng = numpy.random.default_rng(0)
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
dpmic.mice(rng.random(50), rng.random(50))
before = peak()
dpmic.mice(rng.random(10000), rng.random(10000))
print(f"mice, n = 10000: peak memory {peak():.0f} MB, {before:.0f} MB with n = 50")
"""
    subprocess.run([sys.executable, "-c", script], check=True)


if __name__ == "__main__":
    main()
