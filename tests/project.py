"""Where the project and its tests are."""

from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent

SURE = 1 - 1e-6
"""The confidence of audits that must not disprove: a test may not fail by chance."""
