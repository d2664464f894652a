"""Between Python and pyarrow without pandas.

Wherever pandas is installed pyarrow imports it, a fifth of a second, to make an array or a scalar
of Python's values, and to make a numpy array. Texts are read, and their numbers taken, without.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def words(texts: Sequence[str], kind: Any) -> Any:
    """Return texts as an array of a type of text.

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
    """Return a new array of what :func:`is_float`, with NaN for nulls.

    Examples
    --------
    >>> import pyarrow as pa
    >>> floats(pa.chunked_array([[1.0, None], [3.0]]))
    array([ 1., nan,  3.])
    """
    parts = [np.empty(0)]
    for chunk in column.chunks:
        numbers = _buffer(chunk, np.float64).copy()
        numbers[truths(chunk.is_null())] = np.nan
        parts.append(numbers)
    return np.concatenate(parts)


def truths(booleans: Any) -> NDArray[np.bool_]:
    """Return an array of booleans without nulls."""
    return _buffer(booleans.cast("uint8"), np.bool_)


def is_float(values: Any) -> bool:
    """Tell whether this is a column of a pyarrow table that is float64 already, as texts give."""
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is None or not isinstance(values, pyarrow.ChunkedArray):
        return False
    return bool(values.type == pyarrow.float64())


def _buffer(array: Any, dtype: type[np.generic]) -> NDArray[Any]:
    """Return the values of an array where they are; those of nulls may be anything."""
    if not len(array):
        return np.empty(0, dtype)
    start = array.offset * np.dtype(dtype).itemsize
    return np.frombuffer(array.buffers()[1], dtype, len(array), start)
