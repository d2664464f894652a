"""The ``dpmic`` command: parse, call, print. No arithmetic."""

from dpmic.cli._application import app, main

__all__ = ["app", "main"]
