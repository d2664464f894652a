"""Examples in the pages may write files, and may show the digits of one run."""

from pathlib import Path

import one_run
import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    """Compare what one run printed up to the noise (tests/one_run.py)."""
    if isinstance(item, pytest.DoctestItem):
        one_run.mark(item.dtest.examples)
        item.runner._checker = one_run.Checker(item.runner._checker)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each page a folder of its own."""
    monkeypatch.chdir(tmp_path)
