"""A drop-in for minepy 1.2, with the same names, defaults, return shapes and numbers.

Change ``from minepy import MINE`` to ``from dpmic.compat.minepy import MINE``. Data are read as
minepy reads them, by numpy's conversion to float64. It differs on purpose in three cases. If
minepy's number depends on the order of the samples (NaN) or on memory outside its arrays (B below
4), there is an error. If a number is defined but meaningless, there is a ``RuntimeWarning``. And
``gmic(0)`` is the geometric mean.
"""

from dpmic.compat.minepy.mine import MINE, cstats, pstats

__all__ = ["MINE", "cstats", "pstats"]

__version__ = "1.2.6"
"""The minepy version whose numbers these are, for scripts that check it."""
