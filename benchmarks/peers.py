"""Speed beside fast-mine (minepy's algorithm), one thread, one process, warm: ratios.

Run with ``make bench``. Times are the least of several runs; on a busy machine trust the ratios.
The peer's master is c * floor(B / l) for every l, about 2.5 times the work of our default, so
the drop-in, which searches the peer's own master, is shown too.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import fast_mine
import numpy as np

import dpmic
from dpmic.compat.minepy import MINE

SIZES = (250, 1000, 4000)


def milliseconds(call: Callable[[], object], repeats: int) -> float:
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def pairs(n: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(n)
    x = rng.random(n)
    return {"noise": (x, rng.random(n)), "sine": (x, np.sin(9 * x) + rng.normal(0, 0.3, n))}


def peer(x: np.ndarray, y: np.ndarray, est: int) -> Callable[[], object]:
    problem = fast_mine.MineProblem(x, y, x.size)
    parameter = fast_mine.MineParameter(0.6, 15.0, est)
    return lambda: fast_mine.mine_compute_score(problem, parameter)


def calls(x: np.ndarray, y: np.ndarray) -> dict[str, Callable[[], object]]:
    drop_in = MINE(est="mic_e")
    return {
        "mice": lambda: dpmic.mice(x, y),
        "micr": lambda: dpmic.micr(x, y, bounds=((0, 1), (-2, 2))),
        "MINE('mic_e') drop-in": lambda: drop_in.compute_score(x, y),
        "mic": lambda: dpmic.mic(x, y),
    }


def main() -> None:
    print("n     pair   call                        ms     peer ms   peer / ours")
    for n in SIZES:
        for name, (x, y) in pairs(n).items():
            equi = milliseconds(peer(x, y, fast_mine.EST_MIC_E), 3)
            approx = milliseconds(peer(x, y, fast_mine.EST_MIC_APPROX), 2)
            for label, call in calls(x, y).items():
                ours, theirs = milliseconds(call, 10), approx if label == "mic" else equi
                row = f"{n:<5} {name:<6} {label:<22} {ours:7.2f} {theirs:11.1f}"
                print(f"{row} {theirs / ours:9.1f}x")


if __name__ == "__main__":
    main()
