"""Results as figures, in one style. Sees results and, for a scatter, the points it is handed.

The methods ``plot`` of results call what is here; ``with dpmic.plots.style():`` draws other figures
to go with them.
"""

from dpmic.plots._figures import null, plan, release, scatter, screening
from dpmic.plots._heat_maps import heat_map, matrix, private_matrix
from dpmic.plots._style import style

__all__ = [
    "heat_map",
    "matrix",
    "null",
    "plan",
    "private_matrix",
    "release",
    "scatter",
    "screening",
    "style",
]
