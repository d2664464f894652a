"""Convert between Python, numpy and pyarrow without importing pandas.

If pandas is installed, pyarrow imports it, which takes a fifth of a second, to make arrays or
scalars from Python values and numpy arrays. The functions here avoid that for text and floats.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def words(texts: Sequence[str], kind: Any) -> Any:
    """Return texts as a pyarrow array of the given string type.

    Examples
    --------
    >>> import pyarrow as pa
    >>> words(["NA", "Ö"], pa.large_string()).to_pylist()
    ['NA', 'Ö']
    """
    import pyarrow as pa

    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers).cast(kind)


def floats(column: Any) -> NDArray[np.float64]:
    """Return a new array from a column for which :func:`is_float` is true; nulls become NaN.

    Examples
    --------
    >>> import pyarrow as pa
    >>> floats(pa.chunked_array([[1.0, None], [3.0]]))
    array([ 1., nan,  3.])
    """
    parts = [np.empty(0)]
    for chunk in column.chunks:
        numbers = _buffer(chunk, np.float64).copy()
        numbers[booleans(chunk.is_null())] = np.nan
        parts.append(numbers)
    return np.concatenate(parts)


def booleans(values: Any) -> NDArray[np.bool_]:
    """Return an array of booleans without nulls."""
    return _buffer(values.cast("uint8"), np.bool_)


def is_float(values: Any) -> bool:
    """Return whether this is a float64 column of a pyarrow table, as the text reader makes."""
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is None or not isinstance(values, pyarrow.ChunkedArray):
        return False
    return bool(values.type == pyarrow.float64())


def _buffer(array: Any, dtype: type[np.generic]) -> NDArray[Any]:
    """Return a view of an array's values; values of nulls are undefined."""
    if not len(array):
        return np.empty(0, dtype)
    start = array.offset * np.dtype(dtype).itemsize
    return np.frombuffer(array.buffers()[1], dtype, len(array), start)
