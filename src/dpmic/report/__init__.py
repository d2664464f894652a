"""Results to one self-contained HTML file. Sees results, and for a scatter the points it is handed.

A private page is made of what was published and of nothing else, so it may be published, too.
"""

from dpmic.report._assembly import page
from dpmic.report._saving import refuse_unwritable, save

__all__ = ["page", "refuse_unwritable", "save"]
