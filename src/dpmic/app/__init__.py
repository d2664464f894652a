"""A window for data stewards: a local page that leads from a table to a published report.

It is another face of the job file: every step changes its text, and the same query runs. It shows
what the library returns, and computes nothing itself.
"""

from dpmic.app._server import serve

__all__ = ["serve"]
