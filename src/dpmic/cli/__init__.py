"""The ``dpmic`` command: parse, call, print. No arithmetic."""

from dpmic.cli.application import app, main

__all__ = ["app", "main"]
