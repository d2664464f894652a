"""From results back to the frames that people work with."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from dpmic import _validate
from dpmic.errors import DependencyError

__all__ = ["Backend", "build"]

Backend = Literal["pandas", "polars", "pyarrow"]


def build(columns: Mapping[str, Sequence[Any]], backend: Backend | None = None) -> Any:
    """Return a frame of named columns.

    Parameters
    ----------
    columns : mapping of str to sequence
        Plain values, all columns of one length.
    backend : {"pandas", "polars", "pyarrow"}, optional
        By default the first of these that is installed; pyarrow always is.
    """
    import narwhals as nw

    if backend is not None:
        _validate.choice(backend, "backend", Backend)
        if importlib.util.find_spec(backend) is None:
            raise DependencyError(
                f"backend = {backend!r}", "it is not installed", f"pip install {backend}"
            )
    chosen = backend or next(name for name in get_args(Backend) if importlib.util.find_spec(name))
    plain = {name: list(values) for name, values in columns.items()}
    return nw.from_dict(plain, backend=chosen).to_native()
