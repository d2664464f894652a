"""Who does the work: threads of this process, or the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic.all_pairs.work import Found, Piece, Tile, Work
from dpmic.errors import DpmicError

__all__ = ["as_found"]

SECONDS = 1.0
"""About how long a worker of a cluster is left alone with a tile: it costs some milliseconds."""


def as_found(work: Work, done: NDArray[np.bool_], threads: int | None) -> Iterator[Found]:
    """Score the pairs that are not done; return what is found as it comes.

    So many threads do it; with None the cluster of joblib's active backend, or, where that has
    none, a thread for each core that this process may use.
    """
    if threads is None:
        from joblib import cpu_count
        from joblib.parallel import get_active_backend

        backend, _ = get_active_backend()
        if hasattr(backend, "client"):
            return _by_cluster(work, list(work.tiles(done, SECONDS)), backend)
        threads = int(cpu_count())
    pieces = chain.from_iterable(map(work.pieces, work.tiles(done)))
    return _by_threads(pieces, min(threads, done.size))


def _by_threads(pieces: Iterator[Piece], threads: int) -> Iterator[Found]:
    """Share out pieces among threads; kernels let them run at once."""
    first = next(pieces, None)  # here, where an interrupt comes alone
    if first is None:
        return
    pieces = chain([first], pieces)
    if threads == 1:
        yield from (piece() for piece in pieces)
        return
    from joblib import Parallel, delayed

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
    """Tells joblib that nobody wants the rest."""


def _by_cluster(work: Work, tiles: list[Tile], backend: Any) -> Iterator[Found]:
    """Share out tiles among the workers of a cluster, each of which is sent the columns once.

    The backend's own client is asked. joblib's ``Parallel`` would do all the work in this process
    where a cluster has one core so far, and fail where the columns are lost with their workers.
    """
    while tiles:
        backend.effective_n_jobs(-1)  # waits for a first worker
        with backend.retrieval_context():  # lets others work, where this is itself on a worker
            left = yield from _sent(work, tiles, backend)
        if len(left) == len(tiles):
            raise DpmicError(
                "the workers of the cluster",
                "all of them ended before a pair was scored",
                "look at their logs: they may need more memory",
            )
        tiles = left


def _sent(work: Work, tiles: list[Tile], backend: Any) -> Generator[Found, None, list[Tile]]:
    """Send out tiles; return those that went with all workers that had the columns."""
    from distributed import as_completed

    client = backend.client
    # To one worker; the others take it from one another when they come to their first tile. Dask
    # would drop again copies that are broadcast before there is a tile that waits for them.
    shared = client.scatter(work, hash=False)
    sent = client.map(_found, tiles, work=shared, pure=False, **backend.submit_kwargs)
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


def _found(tile: Tile, work: Work) -> Found:
    return work.found(tile)
