"""The searches of many pairs on a GPU. The only module that imports CuPy, and only on first use.

Arrays in, arrays out, as tiled.py has it, but in float32 and in another order of additions: entries
agree to about a millionth. ``search.cu`` is compiled for the sizes at hand, and CuPy keeps what was
compiled in its own cache.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.integer[Any]]
Cut = Any  # named tuples of arrays, described at `tiled.entries`

SOURCE = Path(__file__).with_name("search.cu")

WARPS = 8
"""The most warps of a block; each has steps of its own."""

REGISTERS = 120
"""The most sums of rows that a lane may hold: of more registers than 255 nothing would be fast."""

SHARED = 72 * 1024
"""Bytes of shared memory above which a block is split: three such blocks hide each other's waits."""

WORKSPACE = 2**29
"""Bytes of global memory for tables that fit nowhere else, and for the entries of pairs."""


class Loaded(NamedTuple):
    """Cut axes in the memory of the device, and the largest of their sizes."""

    arrays: tuple[Any, ...]
    header: Any  # where they are, as the struct Axes has it
    parts: Indices  # the most parts of each group's refinement
    columns: Indices  # the most columns of each step
    rows: Indices  # the most rows of each group's master
    n: int

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        return sum(array.nbytes for array in self.arrays)


@dataclass(frozen=True)
class Sizes:
    """How a group of steps, or a part of it, is searched: the constants of the kernel."""

    first: int
    last: int
    k_max: int
    lanes: int = 32
    chunks: int = 0  # 0: in global memory
    warps: int = 1
    split: bool = False
    table: int = 0  # words of shared memory, as the others
    edges: int = 0
    place: int = 0
    rows: int = 0  # of a step's table, columns and all records

    @property
    def shared(self) -> int:
        """Bytes of shared memory."""
        ends = self.lanes * self.chunks
        row = ends + (16 if self.lanes == 16 and ends % 32 == 0 else 0)
        own = self.rows * row * self.warps if self.k_max > 2 else 0
        return 4 * (self.table + self.edges + self.place + own)

    @property
    def options(self) -> tuple[str, ...]:
        """Compiler options."""
        constants = {"KM": self.k_max, "LANES": self.lanes, "CHUNKS": self.chunks}
        constants |= {"WARPS": self.warps, "SPLIT": int(self.split)}
        return tuple(f"-D{name}={value}" for name, value in constants.items())


def sizes_of(
    group: range, k_max: int, parts: int, columns: Sequence[int], rows: int, most: int
) -> list[Sizes]:
    """Say how the steps of a group are searched with at most so many bytes of shared memory.

    ``columns`` are those of each step of the group; ``parts`` and ``rows`` are those of its
    refinement and its master. Where a table is too large, steps are split into parts with tables
    of their own; a step that still does not fit is searched in global memory.
    """
    own = _sizes(group, k_max, parts, columns, rows, split=False)
    if own.chunks and own.shared <= min(most, SHARED):
        return [own]
    return list(_split(group, k_max, parts, columns, rows, most))


def _split(
    group: range, k_max: int, parts: int, columns: Sequence[int], rows: int, most: int
) -> Iterator[Sizes]:
    own = _sizes(group, k_max, parts, columns, rows, split=True)
    if own.chunks and own.shared <= min(most, SHARED if len(group) > 1 else most):
        yield own
    elif len(group) == 1:
        yield Sizes(group.start, group.stop, k_max)
    else:
        half = len(group) // 2
        yield from _split(group[:half], k_max, parts, columns[:half], rows, most)
        yield from _split(group[half:], k_max, parts, columns[half:], rows, most)


def _sizes(
    group: range, k_max: int, parts: int, columns: Sequence[int], rows: int, *, split: bool
) -> Sizes:
    lanes, chunks = _lanes(k_max, rows)
    counted = min(parts, 1 + sum(own - 1 for own in columns)) if split else parts
    rounds = -(-len(group) // WARPS)
    return Sizes(
        group.start,
        group.stop,
        k_max,
        lanes,
        chunks,
        -(-len(group) // rounds),
        split,
        table=_fours((counted + 1) * ((rows + 1) | 1)),
        edges=_fours(sum(columns) + len(columns)),
        place=_fours(parts + 1) if split else 0,
        rows=-(-(max(columns) + 1) // 2) * 2,
    )


def _lanes(k_max: int, rows: int) -> tuple[int, int]:
    """Return how many ends a warp tries at once, and how often; never where it has no room."""
    if k_max == 2:
        return 32, 1
    for lanes in (16, 32):
        chunks = -(-max(rows, k_max) // lanes)
        if chunks * k_max <= (REGISTERS if lanes == 32 else 50):
            return lanes, chunks
    return 32, 0


def _fours(words: int) -> int:
    """Round up to 16 bytes."""
    return -(-words // 4) * 4


def load(cut: Cut) -> Loaded:
    """Copy cut axes to the device."""
    cupy, (columns, masters) = _cupy(), cut
    most = max(int(columns.sizes.max()), int(masters.sizes.max()))
    part = np.uint16 if most <= 2**16 else np.int32
    host = (columns.parts.astype(part), columns.sizes, columns.edges, columns.offsets)
    host += (masters.parts.astype(part), masters.sizes)
    with _stream() as stream:
        arrays = tuple(
            cupy.asarray(np.ascontiguousarray(own, None if own.dtype == part else np.int32))
            for own in host
        )
        where = [own.data.ptr for own in arrays] + [columns.edges.shape[1]]
        header = cupy.asarray(np.array(where, np.int64))
        stream.synchronize()
    widths = np.diff(columns.offsets, axis=1).max(axis=0) - 1
    largest = columns.sizes.max(axis=0), widths, masters.sizes.max(axis=0)
    return Loaded(arrays, header, *largest, columns.parts.shape[2])


def largest(left: Loaded, right: Loaded, pairs: Indices, starts: Indices, k_max: Indices) -> Floats:
    """Return the largest normalised entry of each pair; arguments as `tiled.largest` has them."""
    cupy = _cupy()
    with _stream():
        scores = cupy.zeros(len(pairs), np.float32)
        _search(left, right, _pairs(pairs), (starts, k_max), scores=scores)
        return scores.get().astype(np.float64)


def entries(left: Loaded, right: Loaded, pairs: Indices, starts: Indices, k_max: Indices) -> Floats:
    """Return the largest information, [orientation, pair, step, k], as `tiled.entries` does."""
    with _stream():
        return _bits(left, right, _pairs(pairs), starts, k_max).get().astype(np.float64)


def totals(
    left: Loaded,
    right: Loaded,
    pairs: Indices,
    starts: Indices,
    k_max: Indices,
    columns: Sequence[int],
    shuffled: Any = None,
) -> tuple[Floats, Floats]:
    """Return the largest entry of each pair, and the sum of all entries.

    ``columns`` are those of each step, no fewer than its rows. With ``shuffled`` the records of
    one variable of each pair are taken in that order.
    """
    cupy, (steps, most) = _cupy(), (len(k_max), int(max(k_max)))
    at_once = max(WORKSPACE // (8 * steps * (most + 1)), 1)
    found = np.empty((2, len(pairs)), np.float32)
    with _stream():
        limits = _integers(k_max), _integers(columns)
        order = None if shuffled is None else _integers(shuffled)
        for first in range(0, len(pairs), at_once):
            own = _pairs(pairs[first : first + at_once])
            bits, both = (
                _bits(left, right, own, starts, k_max, order),
                cupy.empty((2, len(own)), "f"),
            )
            sizes = np.int32(steps), np.int32(most), np.int64(len(own))
            _function("summarise", _part(left))(
                (-(-len(own) // 4),),
                (32, 4),
                (bits, limits[1], limits[0], *sizes, both[0], both[1]),
            )
            found[:, first : first + at_once] = both.get()
    mic, tic = found.astype(np.float64)
    return mic, tic


def _bits(
    left: Loaded, right: Loaded, pairs: Any, starts: Indices, k_max: Indices, order: Any = None
) -> Any:
    """Return the information of some pairs on the device."""
    shape = 2, len(pairs), len(k_max), int(max(k_max)) + 1
    bits = _cupy().zeros(shape, np.float32)
    _search(left, right, pairs, (starts, k_max), bits=bits, order=order)
    return bits


def _search(
    left: Loaded,
    right: Loaded,
    pairs: Any,
    plan: tuple[Indices, Indices],
    *,
    scores: Any = None,
    bits: Any = None,
    order: Any = None,
) -> None:
    """Start the searches of every group of steps."""
    starts, k_max = plan
    limits, groups = _integers(k_max), len(starts) - 1
    most, shared = int(max(k_max)), _shared_memory()
    columns = np.maximum(left.columns, right.columns)
    parts, heights = np.maximum(left.parts, right.parts), np.maximum(left.rows, right.rows)
    for g in reversed(range(groups)):
        if heights[g] == 1:
            continue
        steps = range(int(starts[g]), int(starts[g + 1]))
        own = columns[steps.start : steps.stop].tolist()
        rows = int(max(k_max[steps.start : steps.stop]))
        for sizes in sizes_of(steps, rows, int(parts[g]), own, int(heights[g]), shared):
            given = (left.n, groups, len(k_max), g, sizes.first, sizes.last, most)
            task = left.header, right.header, pairs, order, limits, *map(np.int32, given)
            task += np.int64(len(pairs)), scores, bits
            if sizes.chunks:
                _launch(sizes, len(pairs), task, _part(left))
            else:
                cells = (max(own) + 1 + rows) * (int(heights[g]) + 1)
                _launch_long(sizes, len(pairs), task, cells, _part(left))


def _launch(sizes: Sizes, pairs: int, task: tuple[Any, ...], part: str) -> None:
    kernel = _function("search", part, *sizes.options)
    if sizes.shared > 48 * 1024 and kernel.max_dynamic_shared_size_bytes < sizes.shared:
        kernel.max_dynamic_shared_size_bytes = sizes.shared
    words = map(np.int32, (sizes.table, sizes.edges, sizes.place, sizes.rows))
    kernel((2 * pairs,), (32, sizes.warps), (*task, *words), shared_mem=sizes.shared)


def _launch_long(sizes: Sizes, pairs: int, task: tuple[Any, ...], cells: int, part: str) -> None:
    """Search in global memory, with as many blocks as there is room for."""
    items = 2 * pairs * (sizes.last - sizes.first)
    blocks = max(min(items, 2048, WORKSPACE // (4 * cells)), 1)
    space = _cupy().empty(blocks * cells, np.float32)
    _function("search_long", part)((blocks,), (128,), (*task, space, np.int64(cells)))


def _pairs(pairs: Indices) -> Any:
    return _cupy().asarray(np.ascontiguousarray(pairs, np.int32))


def _integers(values: Any) -> Any:
    return _cupy().asarray(np.asarray(values, np.int32))


def _part(axes: Loaded) -> str:
    """Return the type of a part, as the compiler has it."""
    return "unsigned short" if axes.arrays[0].dtype == np.uint16 else "int"


@lru_cache(maxsize=None)
def _function(name: str, part: str, *constants: str) -> Any:
    """Compile a kernel, or find it in CuPy's cache."""
    options = ("--std=c++17", f"-DPART={part}", *constants)
    return _cupy().RawModule(code=SOURCE.read_text(), options=options).get_function(name)


@lru_cache(maxsize=1)
def _cupy() -> Any:
    import cupy

    return cupy


@lru_cache(maxsize=1)
def _shared_memory() -> int:
    """Return how many bytes of shared memory a block may have."""
    limit = _cupy().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
    return int(limit)


_own = threading.local()


def _stream() -> Any:
    """Return the stream of this thread, in which transfers and kernels of others do not wait."""
    if not hasattr(_own, "stream"):
        _own.stream = _cupy().cuda.Stream(non_blocking=True)
    return _own.stream
