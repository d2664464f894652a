import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from project import ROOT

pytest_plugins = ["cpu_time", "pytester"]

settings.register_profile(
    "dpmic",
    deadline=None,  # the machine may be busy
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.load_profile("dpmic")


def pytest_addoption(parser):
    parser.addoption(
        "--engine",
        action="append",
        help="run tests/data/engines with this engine alone; may be repeated (default: all)",
    )


@pytest.fixture(autouse=True)
def close_figures():
    """Leave no figure open: matplotlib warns of the twenty-first."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def real_data():
    """The folder of the paper's real tables, which may not be copied into the project."""
    folder = Path(os.environ.get("DPMIC_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no folder {folder}: set DPMIC_DATA to run this test")
    return folder


@pytest.fixture
def rng():
    return np.random.default_rng(20220707)
