"""Parquet and Arrow files: only the wanted columns are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dpmic.errors import InputError
from dpmic.files.asked import DATES, TEXT, Asked, Tell
from dpmic.files.numbers import trimmed

__all__ = ["read_arrow", "read_parquet"]


def read_parquet(path: str, asked: Asked, tell: Tell) -> Any:
    """Read the wanted columns of a Parquet file."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        _refuse_texts(file.schema_arrow, asked)
        wanted = list(asked.found(file.schema_arrow.names))
        total = file.metadata.num_rows
        table = _collected(file.iter_batches(columns=wanted), wanted, total, tell)
    return _labelled(table, asked)


def read_arrow(path: str, asked: Asked, tell: Tell) -> Any:
    """Read the wanted columns of an Arrow file, which Feather is another name of."""
    import pyarrow as pa

    with pa.OSFile(path) as file:
        try:
            schema = pa.ipc.open_file(file).schema
        except pa.ArrowInvalid:
            raise InputError(
                path, "it is no Arrow file", "write it by pyarrow.feather or DataFrame.to_feather"
            ) from None
        _refuse_texts(schema, asked)
        places = asked.found(schema.names)
        options = pa.ipc.IpcReadOptions(included_fields=list(places.values()))
        source = pa.ipc.open_file(file, options=options)
        batches = (source.get_batch(i) for i in range(source.num_record_batches))
        table = _collected(batches, list(places), None, tell)
    return _labelled(table, asked)


def _collected(batches: Iterator[Any], wanted: list[str], total: int | None, tell: Tell) -> Any:
    import pyarrow as pa

    kept, done = [], 0
    for batch in batches:
        kept.append(batch.select(wanted))
        done += batch.num_rows
        tell(done, total)
    return pa.Table.from_batches(kept) if kept else pa.table({name: [] for name in wanted})


def _refuse_texts(schema: Any, asked: Asked) -> None:
    """Refuse columns of text and dates if all are wanted; one that was named is refused later."""
    from pyarrow import types

    if asked.columns is not None:
        return
    reasons = {field.name: TEXT for field in schema if _is_text(field.type)}
    reasons |= {field.name: DATES for field in schema if types.is_temporal(field.type)}
    asked.refuse({name: reasons[name] for name in schema.names if name in reasons})


def _labelled(table: Any, asked: Asked) -> Any:
    """Return a table with names of people; what is no text is told apart by its declared type."""
    import pyarrow as pa
    from pyarrow import compute, types

    for name in asked.labels:
        column = table[name]
        if types.is_dictionary(column.type):
            column = compute.cast(column, column.type.value_type)
        if _is_text(column.type):
            named = trimmed(compute.cast(column, pa.large_string()))
            table = table.set_column(table.schema.get_field_index(name), name, named)
    return table


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))
