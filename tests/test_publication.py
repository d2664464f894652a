"""The files that a release consists of agree with each other."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

from project import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_what_tests_read_is_in_the_source_archive():
    """A folder that is read stays in, with everything below it."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]
    kept = build["sdist"]["exclude"]
    text = Path(__file__).read_text()
    for path in re.findall(r'ROOT / "([\w./]+)"', text):
        top, ending = path.partition("/")[0], Path(path).suffix
        assert {f"!/{top}", f"!/*{ending}"} & set(kept), path


def test_one_version():
    citation = (ROOT / "CITATION.cff").read_text()
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert f"\nversion: {PROJECT['version']}\n" in citation
    assert newest[1] in {PROJECT["version"], "Unreleased"}
    assert version("dpmic") == PROJECT["version"]


def test_the_workflow_tests_every_python_that_is_promised():
    workflow = (ROOT / ".github/workflows/test.yml").read_text()
    tested = re.findall(r'"(3\.\d+)"', re.search(r"\n +python: \[.*\]", workflow)[0])
    promised = [
        name.rpartition(" ")[2]
        for name in PROJECT["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", name)
    ]
    assert tested == promised
    assert PROJECT["requires-python"] == f">={tested[0]}"


def test_commands_of_the_workflow_exist():
    workflow = (ROOT / ".github/workflows/test.yml").read_text()
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"run: make (\S+)", workflow):
        assert f"\n{target}:" in makefile
