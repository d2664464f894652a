"""What scores the pairs of a tile: the kernels of the CPU, or those of a GPU.

Everything else, from reading to results, is the same for both. A device takes cut axes and pairs
of them, and returns MIC and TIC. It never sees private work: `privacy` cannot import this package.
"""

from __future__ import annotations

import math
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from threading import Lock
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpmic import _kernels, _validate
from dpmic._kernels import cuda
from dpmic._kernels.cuda import first_line
from dpmic.errors import DependencyError, DpmicError, with_code
from dpmic.statistics.grids import Steps
from dpmic.statistics.records import Columns, CutAxes, Masters
from dpmic.statistics.search import matrices, most_at_once, xlogx_table

Device = Literal["cpu", "cuda", "auto"]
Exact = bool | int | Literal["significant"]
Floats = NDArray[np.float64]
Pairs = NDArray[np.int64]

CLOSE = 4e-5
"""Steps whose best float32 entry is this close to the largest are searched again in float64, and
pairs whose float32 score is this close to the k-th. Neither can be missed if float32 is off by less
than half of this; it was off by 3.5e-6 at most, with 100,000 records."""

TIC_ERROR = 2e-6
"""A float32 TIC may be off by so much for each entry that it adds. No p-value is too small if that
is true. It is measured, not proved: a TIC was off by at most 2e-7 for each of its entries, a
single entry by 1.9e-6."""


TILE_BYTES, TILE_COLUMNS, TILE_TIME = 2**30, 512, 0.2
"""Of a tile on a GPU: the most bytes of cut columns, the most columns, the target time in seconds.
Many pairs keep a GPU busy; the first ones wait until the columns of their tile are cut."""

MOST_RECORDS, MOST_TESTED = 2**23 - 1, 2**13
"""The most records whose counts the GPU's source turns into float32; and the most for p-values of a
GPU. The null shrinks like 1 / n, and what rounding is allowed for would weaken a test of more."""

PERMUTED, DRAWN = 2**32, 2**27
"""The most bytes of permutations, of all pairs and of a single one: they are in main memory and in
that of the GPU."""


class GpuError(DpmicError):
    """A GPU failed, or its memory is full."""


class Processor(Protocol):
    """What scores the pairs of a tile."""

    optional: bool  # whether the CPU takes its place if it fails
    exact: bool  # whether scores are bit-identical to those of float64

    def tile(self, plan: Steps, n: int, seconds: float) -> int:
        """Return the most columns on each side of a tile, whose pairs take this long each.

        0 means that not even one column of n records fits.
        """

    def seconds(self, lookups: float, counted: float) -> float:
        """Estimate the time per pair from the values of f and how often a record is counted."""

    def tic_error(self, plan: Steps) -> float:
        """Return by how much a TIC may differ from that of float64."""

    def loaded(self, key: object, cut: Callable[[], CutAxes]) -> Any:
        """Return columns in the device's memory; they may be kept under the key."""

    def largest(self, left: Any, right: Any, pairs: Pairs, plan: Steps, n: int) -> Floats:
        """Return the MIC of each pair."""

    def totals(
        self, left: Any, right: Any, pairs: Pairs, plan: Steps, n: int
    ) -> tuple[Floats, Floats]:
        """Return the MIC and the TIC of each pair."""


class Draws(NamedTuple):
    """The number of permutations, and their seed."""

    permutations: int
    seed: int

    def orders(self, n: int) -> Iterator[NDArray[np.int64]]:
        """Yield random orders of n records."""
        generator = np.random.default_rng(self.seed)
        return (generator.permutation(n) for _ in range(self.permutations))


class Cpu:
    """The kernels of the CPU, in float64."""

    optional, exact = False, True

    def tile(self, plan: Steps, n: int, seconds: float) -> int:
        """Return the most columns on each side of a tile, few enough to list the pairs."""
        return min(most_at_once(plan, n), 256)

    def seconds(self, lookups: float, counted: float) -> float:
        """Estimate the time per pair."""
        return lookups * 0.5e-9 + counted * 3e-9 + 20e-6

    def tic_error(self, plan: Steps) -> float:
        """Return 0: it is that of float64."""
        return 0.0

    def loaded(self, key: object, cut: Callable[[], CutAxes]) -> CutAxes:
        """Cut columns; nothing is kept."""
        return cut()

    def largest(self, left: CutAxes, right: CutAxes, pairs: Pairs, plan: Steps, n: int) -> Floats:
        """Return the MIC of each pair, by a search that skips what cannot win.

        Its time depends on the data, so private code must not use it
        (``tests/test_architecture.py``). Steps with more rows than columns are not supported.
        """
        layout = plan.layout
        logs = np.log2(np.maximum(np.arange(layout.rows.max() + 1), 1))
        found: Floats = _kernels.largest(
            left, right, pairs, layout.starts, layout.rows, logs, xlogx_table(n)
        )
        return found

    def totals(
        self, left: CutAxes, right: CutAxes, pairs: Pairs, plan: Steps, n: int
    ) -> tuple[Floats, Floats]:
        """Return the MIC and the TIC of each pair."""
        found = matrices(left, right, pairs, plan, n, fast=True)
        return np.nanmax(found, (1, 2)), np.nansum(found, (1, 2))


class OnDevice(NamedTuple):
    """Columns in the GPU's memory and, if float64 decides, also in main memory."""

    loaded: Any
    cut: CutAxes | None


class Gpu:
    """The kernels of a GPU, in float32; with ``exact``, float64 decides.

    If it is ``optional``, the CPU takes its place where it fails.
    ``kernels`` are those of `dpmic._kernels.cuda`, or a stand-in for tests.
    """

    def __init__(self, *, exact: bool = False, optional: bool = False, kernels: Any = None) -> None:
        self.exact, self.optional, self._kernels = exact, optional, kernels or cuda
        self._known: OrderedDict[object, OnDevice] = OrderedDict()
        self._orders: dict[object, Any] = {}
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return _gpu, (self.exact, self.optional)

    def tile(self, plan: Steps, n: int, seconds: float) -> int:
        """Return the most columns on each side of a tile."""
        if n > MOST_RECORDS:
            return 0
        by_time = max(int(math.sqrt(TILE_TIME / seconds)), 1)
        return min(most_at_once(plan, n, TILE_BYTES), TILE_COLUMNS, by_time)

    def seconds(self, lookups: float, counted: float) -> float:
        """Estimate the time per pair."""
        return lookups * 4e-13 + counted * 2e-12 + 1e-8

    def tic_error(self, plan: Steps) -> float:
        """Return by how much a TIC may be off, over all entries of both orientations."""
        return TIC_ERROR * 2 * int(np.sum(plan.layout.rows - 1))

    @cached_property
    def _budget(self) -> int:
        """Bytes of the GPU's memory for columns; the rest is for the search."""
        return int(self._kernels.free_memory()) // 2

    def loaded(self, key: object, cut: Callable[[], CutAxes]) -> OnDevice:
        """Return columns in the GPU's memory; the least recently used ones make room."""
        if key not in self._known:
            axes = cut()
            with _failures():
                self._known[key] = OnDevice(self._kernels.load(axes), axes if self.exact else None)
                budget = self._budget
            if self.exact:  # they are also in main memory, in twice as many bytes
                budget = min(budget, TILE_BYTES)
            while sum(own.loaded.nbytes for own in self._known.values()) > budget:
                if len(self._known) <= 2:  # the two sides of a tile
                    break
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]

    def largest(self, left: OnDevice, right: OnDevice, pairs: Pairs, plan: Steps, n: int) -> Floats:
        """Return the MIC of each pair."""
        layout = plan.layout
        task = left.loaded, right.loaded, pairs, layout.starts, layout.rows
        with _failures():
            if not self.exact:
                found: Floats = self._kernels.largest(*task)
                return found
            bits = self._kernels.entries(*task)
        return _decided(bits, left.cut, right.cut, pairs, plan, n)

    def totals(
        self, left: OnDevice, right: OnDevice, pairs: Pairs, plan: Steps, n: int
    ) -> tuple[Floats, Floats]:
        """Return the MIC and the TIC of each pair."""
        layout = plan.layout
        with _failures():
            mic, tic = self._kernels.totals(
                left.loaded, right.loaded, pairs, layout.starts, layout.rows, layout.columns
            )
        return mic, tic

    def pvalues(
        self, left: OnDevice, right: OnDevice, pairs: Pairs, plan: Steps, n: int, draws: Draws
    ) -> Floats:
        """Return p-values by TIC; the observed TIC itself counts once.

        All pairs share the same permutations, each of which is valid for any of them.
        """
        layout, orders = plan.layout, self._permutations(draws, n)
        with _failures():
            counts = self._kernels.reached(
                left.loaded,
                right.loaded,
                pairs,
                layout.starts,
                layout.rows,
                layout.columns,
                orders,
                2 * self.tic_error(plan),
            )
        pvalues: Floats = (1 + counts) / (1 + draws.permutations)
        return pvalues

    def null(
        self, x: CutAxes, y: CutAxes, plan: Steps, n: int, permutations: int, draws: Generator
    ) -> Floats:
        """Return the TICe of one pair for random orders of the right variable's records."""
        layout, most = plan.layout, max(DRAWN // (4 * n), 1)
        found = []
        with _failures():
            axes = self._kernels.load(x), self._kernels.load(y)
            for first in range(0, permutations, most):
                count = min(most, permutations - first)
                drawn = (draws.permutation(n) for _ in range(count))
                orders = self._kernels.permutations(drawn, count, n)
                found.append(
                    self._kernels.null(*axes, layout.starts, layout.rows, layout.columns, orders)
                )
        return np.concatenate(found)

    def _permutations(self, draws: Draws, n: int) -> Any:
        """Return random orders of records in the GPU's memory; one thread draws them for all."""
        with self._lock:
            if (draws, n) not in self._orders:
                if 4 * n * draws.permutations > min(PERMUTED, self._budget):
                    reason = f"{draws.permutations:,} permutations of {n:,} records do not fit"
                    remedy = with_code("pass `pooled=True`, fewer, or `device='cpu'`")
                    raise GpuError("device = 'cuda'", reason, remedy)
                with _failures():
                    self._orders[draws, n] = self._kernels.permutations(
                        draws.orders(n), draws.permutations, n
                    )
            return self._orders[draws, n]


def _gpu(exact: bool, optional: bool) -> Gpu:
    return Gpu(exact=exact, optional=optional)


def _decided(
    bits: Floats, left: CutAxes | None, right: CutAxes | None, pairs: Pairs, plan: Steps, n: int
) -> Floats:
    """Return the MIC, decided in float64 among the steps that float32 leaves as candidates."""
    assert left is not None
    assert right is not None
    layout, mic = plan.layout, np.zeros(len(pairs))
    logs = np.log2(np.maximum(np.arange(bits.shape[-1]), 2))
    by_step = np.minimum(bits / logs, 1.0).max(axis=(0, 3))  # [pair, step]
    close = by_step >= by_step.max(axis=1, keepdims=True) - CLOSE
    one, f = np.array([0, 1]), xlogx_table(n)
    for step in np.flatnonzero(close.any(axis=0)).tolist():
        own = np.flatnonzero(close[:, step])
        group = int(np.searchsorted(layout.starts, step, side="right")) - 1
        axes = _of_step(left, step, group), _of_step(right, step, group)
        rows = layout.rows[step : step + 1]
        found = _kernels.largest(
            *axes, pairs[own], one, rows, np.log2(np.maximum(np.arange(rows[0] + 1), 1)), f
        )
        mic[own] = np.maximum(mic[own], found)
    return mic


def _of_step(cut: CutAxes, step: int, group: int) -> CutAxes:
    """Return axes that are cut for one step only."""
    (parts, sizes, edges, offsets), masters = cut
    at, ends = [group], [step, step + 1]  # indexing by lists copies the arrays
    columns = Columns(parts[:, at], sizes[:, at], edges, offsets[:, ends])
    return CutAxes(columns, Masters(masters.parts[:, at], masters.sizes[:, at]))


@contextmanager
def _failures() -> Iterator[None]:
    """Turn a lack of GPU memory, and whatever else CUDA reports, into an error with a remedy."""
    try:
        yield
    except MemoryError as error:
        reason = f"the memory of the GPU is full ({first_line(error)})"
        remedy = with_code("stop other programs that use it, or pass `device='cpu'`")
        raise GpuError("device = 'cuda'", reason, remedy) from None
    except RuntimeError as error:  # of CUDA's driver, runtime or compiler
        reason = f"the GPU failed ({first_line(error)})"
        remedy = with_code("check it with nvidia-smi, or pass `device='cpu'`")
        raise GpuError("device = 'cuda'", reason, remedy) from error


class Origin(NamedTuple):
    """Which device made scores, and which of them are exact; None is the CPU, whose scores all are.

    Files say it. A part has fewer exact scores than the file, for which the CPU scores pairs again.
    """

    device: str | None = None
    exact: Exact = False

    def of_part(self) -> dict[str, Any]:
        """Return what a part of a file says."""
        return self._replace(exact=self.exact is True).of_file()

    def of_file(self) -> dict[str, Any]:
        """Return what a finished file says."""
        if self.device is None:
            return {}
        return {"device": self.device, **({"exact": self.exact} if self.exact else {})}

    def __str__(self) -> str:
        if self.exact is True:
            return "its p-values are a GPU's"
        if not self.exact:
            return "its scores are a GPU's, and they are not exact"
        which = "significant" if self.exact == "significant" else f"{self.exact} strongest"
        return f"its scores are a GPU's, and only those of the {which} pairs are exact"

    def suffices(self, other: Origin) -> bool:
        """Return whether these scores are all that a call asks for which would make the other."""
        if self.device is None:
            return True
        if self.device != other.device:
            return False
        if other.exact is False or self.exact is True:
            return True
        if other.exact is True or self.exact is False:
            return False
        if isinstance(self.exact, str) or isinstance(other.exact, str):
            return self.exact == other.exact
        return self.exact >= other.exact


def processor(device: Any, exact: Exact = False, *, idle: bool = False) -> Processor:
    """Return the device; "auto" is the CPU if there is no GPU, with a line on stderr.

    ``idle`` means that nothing is left to be scored, so that a GPU need not be there.
    """
    _validate.choice(device, "device", Device)
    if device == "cpu":
        return Cpu()
    problem = None if idle else cuda.problem()
    if problem is None:
        return Gpu(exact=exact is True, optional=device == "auto")
    reason, remedy = problem
    if device == "auto":
        return in_place_of_gpu(reason)
    kind = DependencyError if "CuPy" in reason else DpmicError
    raise kind("device = 'cuda'", reason, with_code(f"{remedy}, or pass `device='cpu'`"))


def in_place_of_gpu(reason: str) -> Processor:
    """Return the CPU, and say on stderr why it is used."""
    print(f"dpmic: {reason}; using the CPU", file=sys.stderr)
    return Cpu()
