"""Arrays in, arrays out: the compiled kernels, or the plain ones where those could not be built."""

from __future__ import annotations

import sys

from dpmic._kernels import reference
from dpmic._kernels.reference import *  # noqa: F403

try:
    from dpmic._kernels._native import *  # noqa: F403
except ImportError as error:
    print(
        f"dpmic: no compiled kernels ({error}), so scores take 20 to 100 times as long; "
        "install a C++ compiler, then dpmic again",
        file=sys.stderr,
    )

__all__ = [*reference.__all__, "reference"]
