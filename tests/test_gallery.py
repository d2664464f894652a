"""The gallery: pages and notebooks are those of their scripts, and every script runs."""

import importlib.util
import json
import re

import pytest
from project import ROOT

from dpmic.cli.demo import BOUNDS

GALLERY = ROOT / "docs" / "gallery"


@pytest.fixture(scope="module")
def build():
    """Return what builds the gallery: a script, and no module of a package."""
    spec = importlib.util.spec_from_file_location("gallery_build", GALLERY / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_script_is_an_example(build):
    scripts = {path.stem for path in GALLERY.glob("*.py")} - {"build"}
    assert scripts == set(build.EXAMPLES)
    for ending in ("md", "ipynb"):
        assert {path.stem for path in GALLERY.glob(f"*.{ending}")} - {"index"} == scripts


def test_pages_and_notebooks_are_current(build):
    """What scripts print and draw is left out: private examples draw fresh noise."""
    assert (GALLERY / "index.md").read_text() == build.index()
    for name in build.EXAMPLES:
        empty = [build.Output() for _ in build.cells(name)]
        page = (GALLERY / f"{name}.md").read_text()
        assert build.bare(page) == build.page(name, empty), name
        assert (GALLERY / f"{name}.ipynb").read_text() == build.notebook(name), name


def test_examples_have_a_question_code_a_figure_and_an_answer(build):
    for name in build.EXAMPLES:
        assert build.question(name).endswith("?")
        cells = build.cells(name)
        assert cells[0].prose
        assert cells[-1].prose
        assert cells[-1].text.startswith("**What to see.**")
        for cell in cells:
            if not cell.prose:
                compile(cell.text, name, "exec")
        page = (GALLERY / f"{name}.md").read_text()
        assert f"]({name}.png)" in page
    for figure in GALLERY.glob("*.png"):
        assert figure.stat().st_size < 80_000, figure


def test_examples_take_the_bounds_of_the_demo():
    for name, columns in (("survey", list(BOUNDS)[:-1]), ("epsilon", ["age", "yrs_married"])):
        text = (GALLERY / f"{name}.py").read_text()
        found = re.findall(r"\((\d+), (\d+)\)[,)]", text)[: len(columns)]
        assert [tuple(map(int, ends)) for ends in found] == [BOUNDS[own] for own in columns], name


def test_notebooks_are_complete(build):
    for name in build.EXAMPLES:
        book = json.loads((GALLERY / f"{name}.ipynb").read_text())
        assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
        assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
        code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
        assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.full
@pytest.mark.filterwarnings("default")
def test_every_example_runs(build, tmp_path):
    for library in ("matplotlib", "sklearn", "statsmodels"):
        pytest.importorskip(library)
    __import__("matplotlib").use("agg")
    for name in build.EXAMPLES:
        outputs = build.run(name, tmp_path)
        drawn = {figure for output in outputs for figure in output.figures}
        assert drawn == {path.name for path in GALLERY.glob(f"{name}*.png")}, name
        printed = [bool(output.text) for output in outputs]
        page = (GALLERY / f"{name}.md").read_text()
        assert page.count("```text") == sum(printed), name
        assert any(printed) == (name != "loose-bounds"), name
    assert {path.name for path in tmp_path.iterdir()} == {p.name for p in GALLERY.glob("*.png")}
