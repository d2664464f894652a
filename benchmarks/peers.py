"""Speed beside fast-mine (minepy's algorithm), one thread, one process, warm: ratios.

Run with ``make bench``. Ours and the peer take turns and the least time of each counts; on a busy
machine trust the ratios. The peer's master is c * floor(B / l) for every l, about 2.5 times the
work of our default, so the drop-in, which searches the peer's own master, is shown too.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import fast_mine
import numpy as np

import dpmic
from dpmic.compat.minepy import MINE

Call = Callable[[], object]

SIZES = (250, 1000, 4000)
ROUNDS = 7
OURS_A_ROUND = 5


def seconds(call: Call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def milliseconds(ours: Call, theirs: Call) -> tuple[float, float]:
    ours()
    theirs()
    mine, peer = [], []
    for _ in range(ROUNDS):
        mine += [seconds(ours) for _ in range(OURS_A_ROUND)]
        peer.append(seconds(theirs))
    return 1000 * min(mine), 1000 * min(peer)


def pairs(n: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(n)
    x = rng.random(n)
    return {"noise": (x, rng.random(n)), "sine": (x, np.sin(9 * x) + rng.normal(0, 0.3, n))}


def calls(x: np.ndarray, y: np.ndarray) -> dict[str, tuple[Call, Call]]:
    drop_in = MINE(est="mic_e")
    problem = fast_mine.MineProblem(x, y, x.size)
    equi = fast_mine.MineParameter(0.6, 15.0, fast_mine.EST_MIC_E)
    approx = fast_mine.MineParameter(0.6, 15.0, fast_mine.EST_MIC_APPROX)

    def peer(parameter: object) -> Call:
        return lambda: fast_mine.mine_compute_score(problem, parameter)

    return {
        "mice": (lambda: dpmic.mice(x, y), peer(equi)),
        "micr": (lambda: dpmic.micr(x, y, bounds=((0, 1), (-2, 2))), peer(equi)),
        "MINE('mic_e') drop-in": (lambda: drop_in.compute_score(x, y), peer(equi)),
        "mic": (lambda: dpmic.mic(x, y), peer(approx)),
    }


def main() -> None:
    print("n     pair   call                        ms     peer ms   peer / ours")
    for n in SIZES:
        for name, (x, y) in pairs(n).items():
            for label, (ours, theirs) in calls(x, y).items():
                mine, peer = milliseconds(ours, theirs)
                row = f"{n:<5} {name:<6} {label:<22} {mine:7.2f} {peer:11.1f}"
                print(f"{row} {peer / mine:9.1f}x")


if __name__ == "__main__":
    main()
