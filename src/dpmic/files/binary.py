"""Parquet and Arrow files: only the wanted columns are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dpmic.errors import InputError
from dpmic.files.asked import Asked, Tell

__all__ = ["read_arrow", "read_parquet"]


def read_parquet(path: str, asked: Asked, tell: Tell) -> Any:
    """Read the wanted columns of a Parquet file."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        wanted = list(asked.found(file.schema_arrow.names))
        total = file.metadata.num_rows
        return _collected(file.iter_batches(columns=wanted), wanted, total, tell)


def read_arrow(path: str, asked: Asked, tell: Tell) -> Any:
    """Read the wanted columns of an Arrow file, which Feather is another name of."""
    import pyarrow as pa

    with pa.OSFile(path) as file:
        try:
            names = pa.ipc.open_file(file).schema.names
        except pa.ArrowInvalid:
            raise InputError(
                path, "it is no Arrow file", "write it by pyarrow.feather or DataFrame.to_feather"
            ) from None
        places = asked.found(names)
        options = pa.ipc.IpcReadOptions(included_fields=list(places.values()))
        source = pa.ipc.open_file(file, options=options)
        batches = (source.get_batch(i) for i in range(source.num_record_batches))
        return _collected(batches, list(places), None, tell)


def _collected(batches: Iterator[Any], wanted: list[str], total: int | None, tell: Tell) -> Any:
    import pyarrow as pa

    kept, done = [], 0
    for batch in batches:
        kept.append(batch.select(wanted))
        done += batch.num_rows
        tell(done, total)
    return pa.Table.from_batches(kept) if kept else pa.table({name: [] for name in wanted})
