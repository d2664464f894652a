"""Speed beside fast-mine (minepy's algorithm) and minepy itself, where they are installed.

Run with ``make bench``. One process, one thread, warm. Ours and the peers take turns, and the
least CPU time of each counts; on a busy machine trust the ratios. Pairs are of noise and of a
noisy sine, alpha = 0.6 and c = 15 unless a row says otherwise. The peers search masters of
c * floor(B / l) parts for every l, about 2.5 times the work of our default; the rows of the
drop-in search those. Commands run in processes of their own. ``--avx2`` forces the kernels for AVX2
on a processor with AVX-512, and leaves the commands out.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

import dpmic
from dpmic import _kernels
from dpmic._kernels import _native
from dpmic.compat import minepy as ours

try:
    import fast_mine
except ImportError:
    fast_mine = None
try:
    import minepy
except ImportError:
    minepy = None

Call = Callable[[], object]
Floats = np.ndarray

RESULTS = Path(__file__).parent / "results"

SIZES = {250: 24, 1000: 16, 10000: 6}
"""Records, and how many columns on the left meet as many on the right in one call."""

ENTRIES = {
    "AVX-512": {250: "90x", 1000: "150x", 10000: "160x"},
    "AVX2": {250: "60x", 1000: "100x", 10000: "110x"},
}
"""The goals for all entries of a pair, by instructions."""

SMALL = {20: 1, 142: 2, 1000: 3}
"""Records of small problems, and how many times as fast as minepy they are to be."""

LEAST_SECONDS = 0.02
"""What is shorter is repeated until it takes this long."""

ROUNDS = 7
COMMANDS = {"score": ("a", "b"), "matrix": (), "test": ("a", "b")}


@dataclass(frozen=True)
class Row:
    """Milliseconds of CPU time for a pair or a command: ours, and those of each peer."""

    what: str
    n: int
    kind: str
    ms: float
    peers: dict[str, float] = field(default_factory=dict)
    goal: str = ""


def least(calls: dict[str, Call]) -> dict[str, float]:
    """Return the least milliseconds of each, taking turns; the first call does not count."""
    repeats = {}
    for name, call in calls.items():
        call()
        once = max(_cpu(call, 1), 1e-6)
        repeats[name] = max(int(LEAST_SECONDS / once), 1)
    rounds = [{n: _cpu(call, repeats[n]) for n, call in calls.items()} for _ in range(ROUNDS)]
    return {name: 1000 * min(times[name] for times in rounds) for name in calls}


def _cpu(call: Call, repeats: int) -> float:
    start = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - start) / repeats


def tables(n: int, columns: int) -> dict[str, tuple[Floats, Floats]]:
    """Return columns that are independent, and columns with noisy sines of them all."""
    rng = np.random.default_rng(n)
    x, shape = rng.random((n, 1)), (n, columns)
    alike = x + rng.normal(0, 1e-3, shape)
    return {
        "noise": (rng.random(shape), rng.random(shape)),
        "sine": (alike, np.sin(9 * x) + rng.normal(0, 0.3, shape)),
    }


def peers(x: Floats, y: Floats, alpha: float = 0.6, c: float = 15.0) -> dict[str, Call]:
    """Return how each peer scores a pair."""
    calls: dict[str, Call] = {}
    if fast_mine is not None:
        problem = fast_mine.MineProblem(x, y, x.size)
        parameter = fast_mine.MineParameter(alpha, c, fast_mine.EST_MIC_E)
        calls["fast-mine"] = lambda: fast_mine.mine_compute_score(problem, parameter)
    if minepy is not None:
        mine = minepy.MINE(alpha=alpha, c=c, est="mic_e")
        calls["minepy"] = lambda: mine.compute_score(x, y)
    return calls


def rows(instructions: str) -> Iterator[Row]:
    """Measure all scores."""
    for n, columns in SIZES.items():
        for kind, (left, right) in tables(n, columns).items():
            yield from whole_tables(n, kind, (left, right), ENTRIES[instructions][n])
    for n in SMALL:
        for kind, (left, right) in tables(n, 10).items():
            yield from small_problems(n, kind, left.T.copy(), right.T.copy())


def whole_tables(n: int, kind: str, table: tuple[Floats, Floats], goal: str) -> Iterator[Row]:
    """Time for each pair of a table, for one call, and for the drop-in."""
    left, right = table
    x, y, pairs = left[:, 0].copy(), right[:, 0].copy(), left.shape[1] ** 2
    mine = ours.MINE(est="mic_e")
    box, grids = ((-0.01, 1.01), (-2, 2)), {"B": 60, "c": 5}
    by_range = {"statistic": "micr", "bounds": [[ends] * left.shape[1] for ends in box]}
    calls: dict[str, tuple[Call, int, str]] = {
        "`cross(tic=True)`, all entries, a pair": (
            lambda: dpmic.cross(left, right, tic=True, workers=1),
            pairs,
            goal,
        ),
        "`cross`, the maximum only, a pair": (
            lambda: dpmic.cross(left, right, workers=1),
            pairs,
            {250: "", 1000: "150x", 10000: "200x"}[n],
        ),
        "`mice(x, y)`, one call": (
            lambda: dpmic.mice(x, y),
            1,
            {250: "40x", 1000: "70x", 10000: ""}[n],
        ),
        "drop-in, `mic_e`, one call": (
            lambda: mine.compute_score(x, y),
            1,
            {250: "", 1000: "40x", 10000: ""}[n],
        ),
    }
    theirs = peers(x, y)
    times = least({what: call for what, (call, _, _) in calls.items()} | theirs)
    for what, (_, count, wanted) in calls.items():
        yield Row(what, n, kind, times[what] / count, {p: times[p] for p in theirs}, wanted)
    if n == 1000:
        few = peers(x, y, 60.0, 5.0)
        what = "`cross`, `micr`, B = 60, c = 5, a pair"
        call = lambda: dpmic.cross(left, right, tic=True, workers=1, **by_range, **grids)  # noqa: E731
        times = least({what: call} | few)
        yield Row(what, n, kind, times[what] / pairs, {p: times[p] for p in few}, "40x")


def small_problems(n: int, kind: str, left: Floats, right: Floats) -> Iterator[Row]:
    """Time of the drop-in with few cells, as mictools calls it."""
    few = {"alpha": 9, "c": 5}
    mine = ours.MINE(**few, est="mic_e")
    theirs = peers(left[0], right[0], 9.0, 5.0)
    one, goal = "drop-in, B = 9, c = 5, one call", f"{SMALL[n]}x"
    times = least({one: lambda: mine.compute_score(left[0], right[0])} | theirs)
    yield Row(one, n, kind, times[one], {p: times[p] for p in theirs}, goal)
    size = left.shape[0]
    for name, given, pairs in (
        ("pstats", (right,), size * (size - 1) // 2),
        ("cstats", (left, right), size**2),
    ):
        many = f"drop-in `{name}`, B = 9, c = 5, a pair"
        calls = {
            who: partial(getattr(library, name), *given, **few, est="mic_e")
            for who, library in ((many, ours), ("minepy", minepy))
            if library is not None
        }
        times = {who: ms / pairs for who, ms in least(calls).items()}
        yield Row(many, n, kind, times.pop(many), times, "10x")


def commands() -> Iterator[Row]:
    """CPU time of commands, at first and then."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = np.random.default_rng(0).random((442, 11)).round(6)
        head = ",".join("abcdefghijk")
        np.savetxt(folder / "t.csv", table, "%g", ",", header=head, comments="")
        for command, columns in COMMANDS.items():
            given = [command, "t.csv", *columns]
            first = _command(folder, *given)
            then = min(_command(folder, *given) for _ in range(3))
            yield Row(f"`dpmic {command}`, the first call", 442, "noise", first, goal="3 s")
            goal = "1 s" if command == "matrix" else ""
            yield Row(f"`dpmic {command}`, again", 442, "noise", then, goal=goal)
        demo = _command(folder, "demo")
        yield Row("`dpmic demo`, the first call", 6366, "survey", demo, goal="5 s")


def _command(folder: Path, *given: str) -> float:
    """Run a command in a folder; return milliseconds of CPU time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "dpmic", *given],
        cwd=folder,
        capture_output=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def processor() -> str:
    """Return the processor's name, and whether it has AVX-512, as Linux knows them."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or "unknown"
    names = re.findall(r"^model name\s*: (.*)$", text, re.MULTILINE)
    name = names[0] if names else platform.processor() or "unknown"
    return f"{name}, AVX-512" if " avx512f " in text else name


def table_of(found: list[Row]) -> str:
    """Return times and ratios as a table in Markdown, a line for each thing that was measured."""
    known = dict.fromkeys(peer for row in found for peer in row.peers)
    lines = [["", "n", "CPU ms, noise / sine", *(f"against {peer}" for peer in known), "goal"]]
    lines.append(["---"] * len(lines[0]))
    for what, n in dict.fromkeys((row.what, row.n) for row in found):
        own = [row for row in found if (row.what, row.n) == (what, n)]
        ratios = [
            " / ".join(f"{_figures(row.peers[p] / row.ms)}x" for row in own if p in row.peers)
            for p in known
        ]
        times = " / ".join(_figures(row.ms) for row in own)
        lines.append([what, str(n), times, *ratios, own[0].goal])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _figures(value: float) -> str:
    """Return a number with two figures, or all before the point."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def workers() -> None:
    """Print two threads against one, by the clock."""
    table, times = np.random.default_rng(0).random((1000, 100)), {1: [], 2: []}
    for count in (1, 2) * 3:
        start = time.perf_counter()
        dpmic.pairwise(table, workers=count)
        times[count].append(time.perf_counter() - start)
    one, two = min(times[1]), min(times[2])
    print(f"\npairwise, 100 columns x 1000: 1 worker {one:.2f} s, 2 workers", end=" ")
    print(f"{two:.2f} s, {one / two:.2f}x")


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


def use(variant: str) -> None:
    """Use the kernels for other instructions."""
    _native._use(variant)
    known = _kernels.__all__
    vars(_kernels).update({k: own for k, own in vars(_native).items() if k in known})


def main() -> None:
    name, parser = processor(), argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--avx2", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.avx2:
        use("v3")
        name = f"{name.partition(',')[0]}, AVX2 forced"
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    found = list(rows("AVX-512" if name.endswith("AVX-512") else "AVX2"))
    found += [] if given.avx2 else list(commands())
    run = {"processor": name, "rows": list(map(asdict, found))}
    (given.out or RESULTS / f"{slug}.json").write_text(json.dumps(run, indent=1) + "\n")
    print(f"{name}\n\n{table_of(found)}")
    if given.avx2:
        return
    workers()
    memory()


if __name__ == "__main__":
    main()
