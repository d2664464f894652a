"""Where the project and its tests are."""

from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
