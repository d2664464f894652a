"""Count tables as bytes: a version, a header, the counts, and a checksum of all of it."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpmic.errors import InputError

__all__ = ["counts", "packed", "understood", "unpacked"]

Result = TypeVar("Result")

MAGIC = b"dpmic count table\n"
VERSION = 1
HEAD = struct.Struct("<HQ")  # the version, and the length of the header
DIGEST = hashlib.sha256().digest_size

REMEDY = "read it from where it was written, or count the records again"


def packed(facts: dict[str, Any], counts: NDArray[np.int64]) -> bytes:
    """Write counts with what they are counts of."""
    header = json.dumps(facts).encode()
    body = zlib.compress(np.ascontiguousarray(counts, "<i8").data, level=1)
    text = MAGIC + HEAD.pack(VERSION, len(header)) + header + body
    return text + hashlib.sha256(text).digest()


def unpacked(data: bytes) -> tuple[Any, bytes]:
    """Read the header of what :func:`packed` wrote, or refuse it; and return the counts' bytes."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InputError(f"data of type {type(data).__name__}", "these are no bytes", REMEDY)
    text = bytes(data)
    if not text.startswith(MAGIC) or len(text) < len(MAGIC) + HEAD.size + DIGEST:
        raise InputError("these bytes", "they are no count table", REMEDY)
    version, length = HEAD.unpack_from(text, len(MAGIC))
    if version != VERSION:
        raise InputError(
            f"a count table of version {version}",
            f"this dpmic reads version {VERSION}",
            "read it with the dpmic that wrote it",
        )
    if hashlib.sha256(text[:-DIGEST]).digest() != text[-DIGEST:]:
        raise InputError("a count table", "it was damaged: its checksum is wrong", REMEDY)
    begin = len(MAGIC) + HEAD.size
    facts = understood(lambda: json.loads(text[begin : begin + length]))
    return facts, text[begin + length : -DIGEST]


def understood(read: Callable[[], Result]) -> Result:
    """Read a part of a header, or refuse what nobody wrote: a checksum keeps out no forger."""
    try:
        return read()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"its header is not one of ours ({type(error).__name__})"
    raise InputError("a count table", reason, REMEDY)


def counts(
    body: bytes, n: int, shape: tuple[int, ...], starts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Read the counts of n records: each record lies in one cell of each table."""
    size = 8 * int(np.prod(shape))
    try:
        raw = zlib.decompressobj().decompress(body, size + 1)
    except zlib.error:
        raw = b""
    if len(raw) == size:
        found = np.frombuffer(bytearray(raw), "<i8").astype(np.int64, copy=False).reshape(shape)
        # With the largest checked first no sum can wrap.
        if found.min(initial=0) >= 0 and found.max(initial=0) <= n:
            sums = np.add.reduceat(found, starts[:-1], axis=1)
            if (sums == n).all():
                return found
    raise InputError("a count table", f"its counts are not those of {n} records", REMEDY)
