"""What scores the pairs of a tile: the kernels of the CPU, or those of a GPU.

Everything else, from reading to results, is the same for both. A device takes cut axes and pairs
of them, and returns MIC and TIC. It never sees private work: `privacy` cannot import this package.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dpmic import _kernels, _validate
from dpmic._kernels import cuda
from dpmic._kernels.cuda import first_line
from dpmic.errors import DependencyError, DpmicError, ParameterError, with_code
from dpmic.statistics.grids import Steps
from dpmic.statistics.records import Columns, CutAxes, Masters
from dpmic.statistics.search import matrices, xlogx_table

Device = Literal["cpu", "cuda", "auto"]
Floats = NDArray[np.float64]
Pairs = NDArray[np.int64]

CLOSE = 2e-5
"""Steps whose best float32 entry is this close to the largest are searched again in float64.
This is about ten times the largest difference ever observed between the two."""

SLACK = 4e-6
"""Float32 TICs that differ by less, for each entry of their matrices, count as equal: so no p-value
is too small if neither TIC is off by more than half of this. That is measured, not proved: a TIC
was off by at most 1.8e-7 for each of its entries, a single entry by 1.9e-6."""


class GpuError(DpmicError):
    """A GPU failed, or its memory is full."""


class Processor(Protocol):
    """What scores the pairs of a tile."""

    optional: bool  # whether the CPU takes its place if it fails
    exact: bool  # whether scores are bit-identical to those of float64
    tests: bool  # whether it is a Gpu, which also computes p-values
    tile: int  # the most columns of a tile, whose pairs are listed

    def seconds(self, lookups: float, counted: float) -> float:
        """Estimate the time per pair from the values of f and how often a record is counted."""

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

    optional, exact, tests, tile = False, True, False, 256

    def seconds(self, lookups: float, counted: float) -> float:
        """Estimate the time per pair."""
        return lookups * 0.5e-9 + counted * 3e-9 + 20e-6

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

    tests, tile = True, 1024

    def __init__(self, *, exact: bool = False, optional: bool = False, kernels: Any = None) -> None:
        self.exact, self.optional, self._kernels = exact, optional, kernels or cuda
        self._known: OrderedDict[object, OnDevice] = OrderedDict()
        self._orders: dict[object, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _gpu, (self.exact, self.optional)

    def seconds(self, lookups: float, counted: float) -> float:
        """Estimate the time per pair."""
        return lookups * 6e-13 + counted * 2e-12 + 1e-8

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
        layout = plan.layout
        entries = 2 * int(np.sum(layout.rows - 1))  # at most, of both orientations
        with _failures():
            if (draws, n) not in self._orders:
                self._orders[draws, n] = self._kernels.permutations(draws.orders(n))
            counts = self._kernels.reached(
                left.loaded,
                right.loaded,
                pairs,
                layout.starts,
                layout.rows,
                layout.columns,
                self._orders[draws, n],
                SLACK * entries,
            )
        pvalues: Floats = (1 + counts) / (1 + draws.permutations)
        return pvalues


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


def processor(device: Any, *, exact: bool = False) -> Processor:
    """Return the device; "auto" is the CPU if there is no GPU, with a line on stderr."""
    _validate.choice(device, "device", Device)
    if device == "cpu":
        if exact:
            raise ParameterError("exact", "the CPU is always exact", "leave it out")
        return Cpu()
    problem = cuda.problem()
    if problem is None:
        return Gpu(exact=exact, optional=device == "auto")
    reason, remedy = problem
    if device == "auto":
        return in_place_of_gpu(reason)
    kind = DependencyError if "CuPy" in reason else DpmicError
    raise kind("device = 'cuda'", reason, with_code(f"{remedy}, or pass `device='cpu'`"))


def in_place_of_gpu(reason: str) -> Processor:
    """Return the CPU, and say on stderr why it is used."""
    print(f"dpmic: {reason}; using the CPU", file=sys.stderr)
    return Cpu()
