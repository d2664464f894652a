"""Wheels with the compiled kernels, and without them where nothing can be compiled."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from project import ROOT

pytestmark = pytest.mark.full

PACKAGE = ROOT / "src" / "dpmic"
needs_compiler = pytest.mark.skipif(not shutil.which("c++"), reason="there is no C++ compiler")


def wheel(folder, *options, **environment):
    """Build a wheel of this checkout, and return its path."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder)]
    environment = {**os.environ, **environment}
    subprocess.run([*command, *options, str(ROOT)], check=True, env=environment)
    (built,) = folder.glob("*.whl")
    return built


def expected():
    """Return what a wheel has of the package: all but the sources of the extension."""
    files = subprocess.run(
        ["git", "ls-files", "src/dpmic"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    names = {name.removeprefix("src/") for name in files}
    return {name for name in names if not name.endswith((".cpp", ".hpp"))}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Return a wheel with the extension, and the folder it was compiled in."""
    folder = tmp_path_factory.mktemp("compiled")
    option = f"--config-settings=build-dir={folder / 'build'}"
    return wheel(folder, option, DPMIC_NATIVE="required"), folder / "build"


def test_package_data_are_expected():
    data = {Path(name).suffix for name in expected()}
    assert {".json", ".css", ".js", ".typed"} <= data


@needs_compiler
def test_the_wheel_has_the_extension_of_this_platform(compiled):
    built, _ = compiled
    names = set(zipfile.ZipFile(built).namelist())
    extensions = {name for name in names if name.startswith("dpmic/_kernels/_native.")}
    extensions = {name for name in extensions if not name.endswith(".pyi")}
    assert len(extensions) == 1
    assert extensions.pop().endswith((".so", ".pyd"))
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    assert built.stem.endswith(platform)
    if sys.version_info >= (3, 12) and not sysconfig.get_config_var("Py_GIL_DISABLED"):
        assert "-cp312-abi3-" in built.name
    rest = {name for name in names if ".dist-info/" not in name and "/_native." not in name}
    assert rest == {name for name in expected() if "/_native." not in name}


@needs_compiler
@pytest.mark.skipif(not shutil.which("nm"), reason="nm lists the symbols of an object")
def test_no_variant_gives_the_others_its_instructions(compiled):
    """The linker keeps one instance of a template, which must run on every processor.

    The instances of the baseline come first in the link, so they are kept. An instance that a newer
    variant alone has could be called by the code of the baseline, or by nanobind.
    """
    _, folder = compiled

    instances = {}
    for path in folder.glob("CMakeFiles/kernels_*.dir/**/kernels.cpp.o"):
        nm = subprocess.run(
            ["nm", "--defined-only", path], capture_output=True, text=True, check=True
        )
        symbols = [line.split()[-2:] for line in nm.stdout.splitlines()]
        variant = path.relative_to(folder).parts[1]
        instances[variant] = {name for kind, name in symbols if kind in {"W", "V", "u"}}
    baseline = instances.pop("kernels_baseline.dir")
    assert all(found <= baseline for found in instances.values()), instances


@needs_compiler
@pytest.mark.skipif(not shutil.which("objdump"), reason="objdump lists the instructions")
@pytest.mark.skipif("x86_64" not in sysconfig.get_platform(), reason="other instructions")
def test_nothing_in_float64_is_fused(compiled):
    """The proof of rounding assumes it; the search in float32 asks for what it fuses."""
    _, folder = compiled
    fused = {}
    for path in folder.glob("CMakeFiles/**/*.cpp.o"):
        dump = subprocess.run(["objdump", "-d", path], capture_output=True, text=True, check=True)
        found = set(re.findall(r"\bvfn?m(?:add|sub|addsub|subadd)\d+([sp][sdh])\b", dump.stdout))
        fused[str(path.relative_to(folder))] = found
    assert set().union(*fused.values()) == {"ps"}, fused


@pytest.mark.parametrize("environment", [{"CC": "false", "CXX": "false"}, {"DPMIC_NATIVE": "off"}])
def test_without_a_compiler_numpy_does_the_work(tmp_path, environment):
    built = wheel(tmp_path, **{"DPMIC_NATIVE": "auto", **environment})
    assert built.name.endswith("-py3-none-any.whl")
    names = set(zipfile.ZipFile(built).namelist())
    assert {name for name in names if ".dist-info/" not in name} == expected()
    # -S leaves out the folder of the installation, and with it the editable dpmic.
    zipfile.ZipFile(built).extractall(tmp_path / "site")
    paths = [str(tmp_path / "site"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}

    def python(code):
        command = [sys.executable, "-S", "-c", code]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    assert "ModuleNotFoundError" in python("import dpmic._kernels._native").stderr
    done = python("import dpmic; print(dpmic.mice(range(64), range(64)).mic, dpmic.__file__)")
    assert done.stdout.split() == ["1.0", str(tmp_path / "site" / "dpmic" / "__init__.py")], done


def test_where_the_extension_is_required_failing_to_compile_is_an_error(tmp_path):
    with pytest.raises(subprocess.CalledProcessError):
        wheel(tmp_path, DPMIC_NATIVE="required", CXX="false")
