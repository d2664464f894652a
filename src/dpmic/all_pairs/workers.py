"""Who scores the pieces of work: threads of this process, or the workers of a Dask cluster."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic.all_pairs.work import Piece, Scored, Tile, Work
from dpmic.errors import DpmicError

TILE_SECONDS = 1.0
"""The target time of a tile on a cluster, in seconds: sending one takes milliseconds."""

STREAMS = 3
"""Threads that keep a GPU busy: some copy columns or pass on scores while others wait for it."""


def as_scored(work: Work, done: NDArray[np.bool_], threads: int | None) -> Iterator[Scored]:
    """Score the pairs that are not done, and yield scores as they are finished.

    If ``threads`` is None, the cluster of joblib's active backend does the work. Without a cluster,
    there is one thread for each core that this process may use.
    """
    parallel = sys.modules.get("joblib.parallel")  # unless it is imported, no backend is active
    if threads is None and parallel is not None:
        backend, _ = parallel.get_active_backend()
        if hasattr(backend, "client"):
            return _by_cluster(work, list(work.tiles(done, TILE_SECONDS)), backend)
    if threads is None and work.on_device and not work.device.exact:
        return _by_streams(work, done)
    pieces = chain.from_iterable(map(work.pieces, work.tiles(done)))
    return _by_threads(pieces, threads, done.size)


def _by_streams(work: Work, done: NDArray[np.bool_]) -> Iterator[Scored]:
    """Score the pairs of a GPU with few threads, and then those of the CPU with all."""
    pieces = chain.from_iterable(work.pieces(tile, alone=False) for tile in work.tiles(done))
    yield from _by_threads(_in_advance(pieces), STREAMS, done.size)
    if not all(own.all() for own in work.plain):
        pieces = chain.from_iterable(work.pieces(tile, together=False) for tile in work.tiles(done))
        yield from _by_threads(pieces, None, done.size)


def _in_advance(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Yield pieces that a thread of its own makes: a GPU does not wait while columns are cut."""
    with ThreadPoolExecutor(1) as pool:
        made = deque(pool.submit(next, pieces, None) for _ in range(STREAMS))
        try:
            while (piece := made.popleft().result()) is not None:
                made.append(pool.submit(next, pieces, None))
                yield piece
        finally:
            pool.shutdown(cancel_futures=True)


def _by_threads(pieces: Iterator[Piece], threads: int | None, most: int) -> Iterator[Scored]:
    """Share out pieces among at most ``threads`` threads; kernels release the GIL."""
    begun = list(islice(pieces, 2))  # before threads start, where an interrupt is simple
    pieces = chain(begun, pieces)
    if len(begun) < 2 or threads == 1:
        yield from (piece() for piece in pieces)
        return
    from joblib import Parallel, cpu_count, delayed

    threads = min(threads or int(cpu_count()), most)
    parallel = Parallel(n_jobs=threads, backend="threading", return_as="generator_unordered")
    results = parallel(delayed(piece)() for piece in pieces)
    try:
        for found in results:  # noqa: UP028 yield from would close it, and joblib warn
            yield found
    except GeneratorExit:
        with suppress(_Stopped):
            results.throw(_Stopped())
        raise


class _Stopped(BaseException):
    """Raised to make joblib stop the remaining work."""


def _by_cluster(work: Work, tiles: list[Tile], backend: Any) -> Iterator[Scored]:
    """Share out tiles among the workers of a cluster; each worker is sent the columns once.

    This uses the backend's own client. joblib's ``Parallel`` would do all the work in this process
    while a cluster has only one core, and would fail if columns are lost with their workers.
    """
    while tiles:
        backend.effective_n_jobs(-1)  # waits for the first worker
        with backend.retrieval_context():  # frees this worker's slot, if this runs on a worker
            left = yield from _sent(work, tiles, backend)
        if len(left) == len(tiles):
            raise DpmicError(
                "the workers of the cluster",
                "all of them ended before a pair was scored",
                "check their logs: they may need more memory",
            )
        tiles = left


def _sent(work: Work, tiles: list[Tile], backend: Any) -> Generator[Scored, None, list[Tile]]:
    """Send out tiles; return those lost because all workers with the columns ended."""
    from distributed import as_completed

    client = backend.client
    # Send the columns to one worker; the others copy them from each other with their first tile.
    # Dask would drop copies that are broadcast before a tile needs them.
    shared = client.scatter(work, hash=False)
    sent = client.map(_scored, tiles, work=shared, pure=False, **backend.submit_kwargs)
    waiting = dict(zip(sent, tiles, strict=True))
    try:
        for future, found in as_completed(sent, client.loop, with_results=True):
            if not future.cancelled():
                del waiting[future]
                future.release()
                yield found
    finally:
        if waiting:
            client.cancel(list(waiting))
    return list(waiting.values())


def _scored(tile: Tile, work: Work) -> Scored:
    return work.scored(tile)
