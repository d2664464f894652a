"""A drop-in for minepy 1.2: the same names, defaults, return shapes and numbers.

Change ``from minepy import MINE`` to ``from dpmic.compat.minepy import MINE``. Data are read as
minepy reads them, by numpy's conversion to float64. What differs, on purpose: where minepy's
number depends on the order of the samples (NaN) or on memory that is not its own (B below 4),
there is an error; where it is defined but means nothing, a ``RuntimeWarning``; ``gmic(0)`` is the
geometric mean.
"""

from dpmic.compat.minepy.mine import MINE, cstats, pstats

__all__ = ["MINE", "cstats", "pstats"]

__version__ = "1.2.6"
"""Of the minepy whose numbers these are, for scripts that ask; ours is ``dpmic.__version__``."""
