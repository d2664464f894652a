"""Search many pairs on a GPU. Only this module imports CuPy, and only on first use.

Results have the shape of `reference.entries`, but are computed in float32 and added in another
order, so entries agree to about a millionth. ``search.cu`` is compiled for the sizes in use, and
CuPy caches what was compiled.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.integer[Any]]
Cut = Any  # named tuples of arrays, described in `reference.entries`

SOURCE = Path(__file__).with_name("search.cu")

WARPS = 8
"""The most warps of a block; each searches its own steps."""

REGISTERS = 120
"""The most sums of rows per lane: they must fit in 255 registers, or the kernel is slow."""

TRIAL = 'extern "C" __global__ void trial() {}'
"""A kernel that does nothing, to see whether one can be compiled."""

SHARED = 112 * 1024
"""Bytes of shared memory above which a block is split: two such blocks fit, and hide latency."""

SHORT = 2**16
"""The most parts of an axis that numbers of 16 bits can name."""

LONG = 128
"""Columns above which a sum over all of them is added in parts, to lose fewer digits."""

SMALL, STASH = 1024, 96
"""Words of shared memory for x log2 x of small counts, and for sums of each warp."""

WORKSPACE = 2**29
"""Bytes of global memory for tables that do not fit elsewhere, and for the entries of pairs."""


class Loaded(NamedTuple):
    """Cut axes in the device's memory, and the largest of their sizes."""

    arrays: tuple[Any, ...]
    header: Any  # their addresses, as the struct Axes
    parts: Indices  # the most parts of each group's refinement
    columns: Indices  # the most columns of each step
    rows: Indices  # the most rows of each group's master
    n: int

    @property
    def nbytes(self) -> int:
        """The memory they take."""
        return sum(array.nbytes for array in self.arrays)


@dataclass(frozen=True)
class Sizes:
    """How a group of steps, or a part of one, is searched: the constants of the kernel."""

    first: int
    last: int
    k_max: int
    chunks: int = 0  # 0 means in global memory
    kept: int = 0
    warps: int = 1
    split: bool = False
    long: bool = False
    blocks: int = 1
    unroll: int = 1
    small: int = 0  # words of shared memory, like the others
    table: int = 0
    edges: int = 0
    place: int = 0
    rows: int = 0  # of a step's table: its columns, and all records

    @property
    def shared(self) -> int:
        """Bytes of shared memory."""
        row = self.kept if self.kept % 32 else self.kept + 16
        own = (self.rows * row + STASH) * self.warps if self.k_max > 2 else 0
        return 4 * (self.small + self.table + self.edges + self.place + own)

    @property
    def kernel(self) -> str:
        """The name of the kernel."""
        return "search" if self.chunks else "search_long"

    @property
    def options(self) -> tuple[str, ...]:
        """Compiler options."""
        if not self.chunks:
            return ()
        constants = {"KM": self.k_max, "CHUNKS": self.chunks, "KEPT": self.kept}
        constants |= {"WARPS": self.warps, "SPLIT": int(self.split), "LONG": int(self.long)}
        constants |= {"BLOCKS": self.blocks, "UNROLL": self.unroll}
        return tuple(f"-D{name}={value}" for name, value in constants.items())


def sizes_of(
    group: range, k_max: int, parts: int, columns: Sequence[int], rows: int, n: int, most: int
) -> list[Sizes]:
    """Plan how the steps of a group are searched with at most so many bytes of shared memory.

    ``columns`` are those of each step of the group; ``parts`` and ``rows`` are those of its
    refinement and its master. If a table is too large, the steps are split into parts with their
    own tables. A step that still does not fit is searched in global memory.
    """
    own = _sizes(group, k_max, parts, columns, rows, n, split=False)
    if own.chunks and own.shared <= min(most, SHARED):
        found = [own]
    else:
        found = list(_split(group, k_max, parts, columns, rows, n, most))
    return [replace(own, blocks=_blocks(own, most)) for own in found]


def _blocks(sizes: Sizes, most: int) -> int:
    """Return how many blocks shared memory holds, so that registers do not hold fewer."""
    warps = 48 if sizes.k_max == 2 else 32  # more would leave too few registers to each
    return max(min((most + 1024) // (sizes.shared + 1024), warps // sizes.warps), 1)


def _split(
    group: range, k_max: int, parts: int, columns: Sequence[int], rows: int, n: int, most: int
) -> Iterator[Sizes]:
    own = _sizes(group, k_max, parts, columns, rows, n, split=True)
    if own.chunks and own.shared <= min(most, SHARED if len(group) > 1 else most):
        yield own
    elif len(group) == 1:
        yield Sizes(group.start, group.stop, k_max)
    else:
        half = len(group) // 2
        yield from _split(group[:half], k_max, parts, columns[:half], rows, n, most)
        yield from _split(group[half:], k_max, parts, columns[half:], rows, n, most)


def _sizes(
    group: range, k_max: int, parts: int, columns: Sequence[int], rows: int, n: int, *, split: bool
) -> Sizes:
    counted = min(parts, 1 + sum(own - 1 for own in columns)) if split else parts
    rounds = -(-len(group) // WARPS)
    return Sizes(
        group.start,
        group.stop,
        k_max,
        _chunks(k_max, rows),
        0 if k_max == 2 else -(-(max(rows, k_max) + 1) // 16) * 16,
        -(-len(group) // rounds),
        split,
        max(columns) > LONG,
        unroll=2 if max(columns) >= 16 else 1,
        small=_fours(min(2 * n // min(columns) + 1, SMALL)),
        table=_fours((counted + 1) * ((rows + 1) | 1)),
        edges=_fours(sum(columns) + len(columns)),
        place=_fours(parts + 1) if split else 0,
        rows=max(columns) + 1,
    )


def _chunks(k_max: int, rows: int) -> int:
    """Return how many chunks of 32 ends are tried; 0 if their sums do not fit in the registers."""
    chunks = -(-(max(rows, k_max) + 1) // 32)
    return 1 if k_max == 2 else chunks if chunks * k_max <= REGISTERS else 0


def _fours(words: int) -> int:
    """Round up to 16 bytes."""
    return -(-words // 4) * 4


def load(cut: Cut) -> Loaded:
    """Copy cut axes to the device."""
    cupy, (columns, masters) = _cupy(), cut
    most = max(int(columns.sizes.max()), int(masters.sizes.max()))
    part = np.uint16 if most <= SHORT else np.int32
    host: tuple[Any, ...] = (
        _padded(columns.parts, part),
        columns.sizes,
        columns.edges,
        columns.offsets,
    )
    host += (_padded(masters.parts, part), masters.sizes)
    with _stream() as stream:
        arrays = tuple(
            cupy.asarray(np.ascontiguousarray(own, None if own.dtype == part else np.int32))
            for own in host
        )
        header = _header(arrays)
        stream.synchronize()
    widths = np.diff(columns.offsets, axis=1).max(axis=0) - 1
    largest = columns.sizes.max(axis=0), widths, masters.sizes.max(axis=0)
    return Loaded(arrays, header, *largest, columns.parts.shape[2])


def _padded(parts: Indices, part: type[np.integer[Any]]) -> Indices:
    """Return the parts of records in another type, with some more: a GPU reads eight at a time."""
    n = parts.shape[-1]
    padded = np.zeros((*parts.shape[:-1], -(-n // 8) * 8), part)
    padded[..., :n] = parts
    return padded


def largest(left: Loaded, right: Loaded, pairs: Indices, starts: Indices, k_max: Indices) -> Floats:
    """Return the largest normalised entry of each pair, at most 1."""
    cupy = _cupy()
    with _stream():
        scores = cupy.zeros(len(pairs), np.float32)
        _search(left, right, _pairs(pairs), (starts, k_max), scores=scores)
        return np.asarray(scores.get(), np.float64)


def entries(left: Loaded, right: Loaded, pairs: Indices, starts: Indices, k_max: Indices) -> Floats:
    """Return the largest information, [orientation, pair, step, k], like `reference.entries`."""
    with _stream():
        bits = _bits(left, right, _pairs(pairs), starts, k_max)
        return np.asarray(bits.get(), np.float64)


def totals(
    left: Loaded,
    right: Loaded,
    pairs: Indices,
    starts: Indices,
    k_max: Indices,
    columns: Sequence[int],
) -> tuple[Floats, Floats]:
    """Return the largest entry of each pair, and the sum of all entries.

    ``columns`` are those of each step, no fewer than its rows.
    """
    at_once, found = _at_once(k_max), np.empty((2, len(pairs)), np.float32)
    with _stream():
        for first in range(0, len(pairs), at_once):
            own = _pairs(pairs[first : first + at_once])
            both = _summaries(left, right, own, (starts, k_max), columns)
            found[:, first : first + at_once] = both.get()
    mic, tic = found.astype(np.float64)
    return mic, tic


def reached(
    left: Loaded,
    right: Loaded,
    pairs: Indices,
    starts: Indices,
    k_max: Indices,
    columns: Sequence[int],
    orders: Any,
    slack: float,
) -> NDArray[np.int64]:
    """Count the orders of the right variable's records in which a pair reaches its observed sum.

    ``orders`` come from `permutations`. Sums up to ``slack`` below the observed one count too.
    """
    cupy, at_once = _cupy(), _at_once(k_max)
    counts = np.empty(len(pairs), np.int64)
    with _stream():
        for first in range(0, len(pairs), at_once):
            own = _pairs(pairs[first : first + at_once])
            task = left, right, own, (starts, k_max), columns
            _, observed = _summaries(*task)
            found = cupy.zeros(len(own), np.int64)
            for drawn in _drawn(*task, orders):
                found += (drawn >= observed - slack).sum(axis=0)
            counts[first : first + at_once] = found.get()
    return counts


def null(
    left: Loaded,
    right: Loaded,
    starts: Indices,
    k_max: Indices,
    columns: Sequence[int],
    orders: Any,
) -> Floats:
    """Return the sum of all entries of the first pair, for each order of its right records."""
    with _stream():
        task = left, right, _pairs(np.array([[0, 0]])), (starts, k_max), columns
        found = [drawn.get()[:, 0] for drawn in _drawn(*task, orders)]
        return np.concatenate(found).astype(np.float64)


def _drawn(
    left: Loaded,
    right: Loaded,
    pairs: Any,
    plan: tuple[Indices, Indices],
    columns: Sequence[int],
    orders: Any,
) -> Iterator[Any]:
    """Yield sums of entries, [order, pair], for as many orders at a time as fit in memory."""
    most = max(_at_once(plan[1]) // len(pairs), 1)
    for begin in range(0, len(orders), most):
        some = orders[begin : begin + most]
        yield _summaries(left, right, pairs, plan, columns, some)[1].reshape(len(some), -1)


def permutations(orders: Iterator[Indices], count: int, n: int) -> Any:
    """Copy so many orders of n records to the device, once for all pairs."""
    table = np.empty((count, n), np.int32)
    for row, own in zip(table, orders, strict=True):
        row[:] = own
    with _stream() as stream:
        on_device = _cupy().asarray(table)
        stream.synchronize()
    return on_device


def _at_once(k_max: Indices) -> int:
    """Return the number of pairs whose entries fit in memory."""
    return max(WORKSPACE // (8 * len(k_max) * (int(max(k_max)) + 1)), 1)


def _summaries(
    left: Loaded,
    right: Loaded,
    pairs: Any,
    plan: tuple[Indices, Indices],
    columns: Sequence[int],
    orders: Any = None,
) -> Any:
    """Return [largest or sum, pair] of entries; with several orders, all pairs repeat for each."""
    bits = _bits(left, right, pairs, *plan, orders)
    count, steps, width = bits.shape[1:]
    both = _cupy().empty((2, count), np.float32)
    sizes = np.int32(steps), np.int32(width - 1), np.int64(count)
    task = bits, _integers(columns), _integers(plan[1]), *sizes, both[0], both[1]
    _function("summarise", _part(left))((-(-count // 4),), (32, 4), task)
    return both


def _bits(
    left: Loaded, right: Loaded, pairs: Any, starts: Indices, k_max: Indices, orders: Any = None
) -> Any:
    """Return the information of some pairs on the device."""
    count = len(pairs) * (1 if orders is None else len(orders))
    bits = _cupy().zeros((2, count, len(k_max), int(max(k_max)) + 1), np.float32)
    _search(left, right, pairs, (starts, k_max), bits=bits, orders=orders)
    return bits


def _search(
    left: Loaded,
    right: Loaded,
    pairs: Any,
    plan: tuple[Indices, Indices],
    *,
    scores: Any = None,
    bits: Any = None,
    orders: Any = None,
) -> None:
    """Start the search of every group of steps, the longest first."""
    left, right = _alike(left, right)
    part, (starts, k_max) = _part(left), plan
    limits, count = _integers(k_max), len(pairs) * (1 if orders is None else len(orders))
    planned = list(_planned(left, right, starts, k_max))
    _compile({(own.kernel, part, *own.options) for _, own, _ in planned})
    for g, sizes, cells in planned:
        given = (left.n, len(starts) - 1, len(k_max), g, sizes.first, sizes.last, max(k_max))
        task = left.header, right.header, pairs, orders, limits, *map(np.int32, given)
        task += np.int64(count), np.int64(len(pairs)), scores, bits
        if sizes.chunks:
            _launch(sizes, count, task, part)
        else:
            _launch_long(sizes, count, task, cells, part)


def _planned(
    left: Loaded, right: Loaded, starts: Indices, k_max: Indices
) -> Iterator[tuple[int, Sizes, int]]:
    """Yield how each group is searched, and the cells of one step in global memory."""
    columns = np.maximum(left.columns, right.columns)
    parts, heights = np.maximum(left.parts, right.parts), np.maximum(left.rows, right.rows)
    for g in reversed(range(len(starts) - 1)):
        group, height = range(int(starts[g]), int(starts[g + 1])), int(heights[g])
        own, rows = columns[group.start : group.stop].tolist(), int(max(k_max[group]))
        cells = (max(own) + 1 + rows) * (height + 1)
        if height > 1:
            memory = _shared_memory()
            for sizes in sizes_of(group, rows, int(parts[g]), own, height, left.n, memory):
                yield g, sizes, cells


def _alike(left: Loaded, right: Loaded) -> tuple[Loaded, Loaded]:
    """Return both with parts of the same type, the wider one."""
    if left.arrays[0].dtype == right.arrays[0].dtype:
        return left, right
    return _widened(left), _widened(right)


def _widened(axes: Loaded) -> Loaded:
    wide = tuple(own.astype(np.int32) for own in axes.arrays)
    return axes._replace(arrays=wide, header=_header(wide))


def _header(arrays: tuple[Any, ...]) -> Any:
    """Return the addresses of the arrays, and the length of a row of edges."""
    where = [own.data.ptr for own in arrays]
    return _cupy().asarray(np.array([*where, arrays[2].shape[1]], np.int64))


def _launch(sizes: Sizes, pairs: int, task: tuple[Any, ...], part: str) -> None:
    kernel = _function(sizes.kernel, part, *sizes.options)
    words = map(np.int32, (sizes.small, sizes.table, sizes.edges, sizes.place, sizes.rows))
    kernel((2 * pairs,), (32, sizes.warps), (*task, *words), shared_mem=sizes.shared)


def _launch_long(sizes: Sizes, pairs: int, task: tuple[Any, ...], cells: int, part: str) -> None:
    """Search in global memory, with as many blocks as fit."""
    items = 2 * pairs * (sizes.last - sizes.first)
    blocks = max(min(items, 2048, WORKSPACE // (4 * cells)), 1)
    space = _cupy().empty(blocks * cells, np.float32)
    _function(sizes.kernel, part)((blocks,), (128,), (*task, space, np.int64(cells)))


def _pairs(pairs: Indices) -> Any:
    return _cupy().asarray(np.ascontiguousarray(pairs, np.int32))


def _integers(values: Any) -> Any:
    return _cupy().asarray(np.asarray(values, np.int32))


def _part(axes: Loaded) -> str:
    """Return the C type of a part."""
    return "unsigned short" if axes.arrays[0].dtype == np.uint16 else "int"


_compiled: set[tuple[str, ...]] = set()
_compiling = threading.Lock()


def _compile(kernels: set[tuple[str, ...]]) -> None:
    """Compile kernels side by side: each takes a compiler seconds."""
    with _compiling:
        missing = kernels - _compiled
        if missing:
            with ThreadPoolExecutor(min(len(missing), os.cpu_count() or 1)) as pool:
                list(pool.map(lambda own: _function(*own), missing))
        _compiled.update(missing)


@cache
def _function(name: str, part: str, *constants: str) -> Any:
    """Compile a kernel, or load it from CuPy's cache."""
    options = ("--std=c++17", f"-DPART={part}", *constants)
    module = _cupy().RawModule(code=SOURCE.read_text(), options=options)
    try:
        function = module.get_function(name)
        if name == "search":  # once for all threads, which may need different sizes
            function.max_dynamic_shared_size_bytes = _shared_memory()
        return function
    except (MemoryError, RuntimeError):
        raise
    except Exception as error:  # CuPy's errors of the compiler have no other common base
        raise RuntimeError(f"{SOURCE.name} does not compile: {first_line(error)}") from error


def problem() -> tuple[str, str] | None:
    """Return why no GPU can be used, and what to do about it; None if one can.

    It compiles a kernel: without CUDA's compiler, CuPy does everything else.
    """
    try:
        cupy = _cupy()
    except ImportError as error:
        remedy = 'install it: pip install "dpmic[cuda]"'
        return f"CuPy is not installed or cannot be loaded ({first_line(error)})", remedy
    try:
        if not cupy.cuda.runtime.getDeviceCount():
            raise RuntimeError("there is no device")
        cupy.zeros(1).get()
    except Exception as error:  # from the driver: missing, too old, no device, memory or permission
        remedy = "check that nvidia-smi lists a GPU, and that its driver is as new as CuPy's CUDA"
        return f"no GPU can be used ({first_line(error)})", remedy
    try:
        cupy.RawModule(code=TRIAL).get_function("trial")((1,), (1,), ())
    except Exception as error:  # from the compiler: missing, or newer than the driver
        remedy = "install a compiler as new as the driver: pip install 'cupy-cuda12x[ctk]'"
        return f"no kernel can be compiled for the GPU ({first_line(error)})", remedy
    return None


def first_line(error: Exception) -> str:
    """Return the first line of an error message."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def free_memory() -> int:
    """Return the free bytes of the device's memory."""
    return int(_cupy().cuda.runtime.memGetInfo()[0])


@lru_cache(maxsize=1)
def _cupy() -> Any:
    import cupy

    return cupy


@lru_cache(maxsize=1)
def _shared_memory() -> int:
    """Return the bytes of shared memory that a block may have."""
    limit = _cupy().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
    return int(limit)


_own = threading.local()


def _stream() -> Any:
    """Return this thread's stream, whose work does not wait for that of other threads."""
    if not hasattr(_own, "stream"):
        _own.stream = _cupy().cuda.Stream(non_blocking=True)
    return _own.stream
