"""Reading private columns: a domain check whose refusals say nothing of the values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic import frames
from dpmic.errors import InputError, RefusedValueError
from dpmic.frames import Pair

__all__ = ["private_pair"]


def private_pair(x: Any, y: Any, data: Any, rows: NDArray[np.int64] | None = None) -> Pair:
    """Read two columns of finite numbers, or refuse naming the column alone.

    The domain of every mechanism is finite numbers. A refusal is meant for the data steward; it
    holds no value, count or position. Records are never dropped, since that would make their
    number private; ``rows`` picks those that count by their position.
    """
    try:
        pair = frames.pair(x, y, data=data)
        return pair if rows is None else Pair(pair.x[rows], pair.y[rows], pair.names)
    except RefusedValueError as refused:
        column = refused.column
    # Raised outside the handler, so that not even the exception's context holds a value.
    raise InputError(
        f"column {column}",
        "the domain of a private release is finite numbers, and a value lies outside it",
        "clean or fill the column by a rule that looks at one record at a time",
    )
