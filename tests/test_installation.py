"""One wheel for every platform, without a compiler."""

import subprocess
import sys
import zipfile

import pytest
from project import ROOT

pytestmark = pytest.mark.full


def test_the_wheel_is_pure_python_and_typed(tmp_path):
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(tmp_path)]
    subprocess.run([*build, str(ROOT)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "dpmic/py.typed" in names
    assert "dpmic/_kernels/segmentation.py" in names
    assert "dpmic/parameters/tuned.json" in names
    assert "dpmic/parameters/errors.json" in names
    assert not any(name.startswith(("tests", "docs")) for name in names)
