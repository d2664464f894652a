"""Count tables as bytes: a version, a header, the counts, and a checksum of all of it."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic.errors import InputError

__all__ = ["check", "packed", "unpacked"]

MAGIC = b"dpmic count table\n"
VERSION = 1
HEAD = struct.Struct("<HQ")  # the version, and the length of the header
DIGEST = hashlib.sha256().digest_size

REMEDY = "read it from where it was written, or count the records again"


def packed(facts: dict[str, Any], counts: NDArray[np.int64]) -> bytes:
    """Write counts with what they are counts of."""
    header = json.dumps({**facts, "cells": counts.size}).encode()
    body = zlib.compress(np.ascontiguousarray(counts, "<i8").data, level=1)
    text = MAGIC + HEAD.pack(VERSION, len(header)) + header + body
    return text + hashlib.sha256(text).digest()


def unpacked(data: bytes) -> tuple[dict[str, Any], NDArray[np.int64]]:
    """Read what :func:`packed` wrote, or refuse it."""
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
    facts = json.loads(text[begin : begin + length])
    raw = zlib.decompress(text[begin + length : -DIGEST])
    return facts, np.frombuffer(raw, "<i8").astype(np.int64, copy=False)


def check(
    counts: NDArray[np.int64], n: int, shape: tuple[int, ...], starts: NDArray[np.int64]
) -> None:
    """Refuse counts that are not those of n records: each lies in one cell of each table."""
    right = counts.size == np.prod(shape) and counts.min(initial=0) >= 0
    if right:
        sums = np.add.reduceat(counts.reshape(shape), starts[:-1], axis=1)
        right = bool((sums == n).all())
    if not right:
        raise InputError("a count table", f"its counts are not those of {n} records", REMEDY)
