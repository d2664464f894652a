"""Arrays in, arrays out: the compiled kernels or, if they could not be built, the plain ones."""

from __future__ import annotations

import sys

from dpmic._kernels import reference
from dpmic._kernels.reference import *  # noqa: F403

try:
    from dpmic._kernels._native import *  # noqa: F403
except ImportError as error:
    print(
        f"dpmic: the compiled kernels are missing ({error}), so scores take 20 to 100 times as "
        "long; install a C++ compiler, then reinstall dpmic",
        file=sys.stderr,
    )

__all__ = [*reference.__all__, "reference"]
