"""Results as one self-contained HTML file.

A page holds results and, for a scatter plot, the points it is given. A private page holds what was
published and nothing else, so it may be published, too.
"""

from dpmic.report._assembly import page
from dpmic.report._saving import refuse_unwritable, save

__all__ = ["page", "refuse_unwritable", "save"]
