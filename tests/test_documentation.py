"""Documentation that cannot drift: exports, dependencies, commands and links."""

import re
import tomllib

import pytest
from conftest import ROOT

import dpmic

DOCS = ROOT / "docs"
PAGES = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_exports_are_sorted_documented_and_there():
    assert dpmic.__all__ == sorted(dpmic.__all__)
    reference = (DOCS / "reference.md").read_text()
    for name in dpmic.__all__:
        assert getattr(dpmic, name) is not None
        assert f"`dpmic.{name}" in reference, name
    assert set(re.findall(r"`dpmic\.(\w+)", reference)) <= {
        *dpmic.__all__,
        "compat",
        "evaluation",
        "feature_selection",
    }
    assert dir(dpmic) == dpmic.__all__
    with pytest.raises(AttributeError, match="nonsense"):
        dpmic.nonsense  # noqa: B018


def test_every_export_has_a_docstring_and_every_function_an_example():
    for name in dpmic.__all__:
        thing = getattr(dpmic, name)
        if callable(thing):
            assert thing.__doc__, name
        if callable(thing) and not isinstance(thing, type):
            assert ">>> " in thing.__doc__, name


def test_every_dependency_has_its_reason():
    reasons = (DOCS / "decisions" / "0002-dependencies.md").read_text()
    extras = PROJECT["optional-dependencies"].values()
    for requirement in [*PROJECT["dependencies"], *(r for extra in extras for r in extra)]:
        name = re.split(r"[\[<>=]", requirement)[0]
        assert name == "dpmic" or name in reasons, name


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_readme_commands_exist():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    commands = re.findall(r"^make ([a-z-]+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert commands == ["demo", "test"]
    assert set(commands) <= set(targets)


def test_the_version_is_the_projects():
    assert dpmic.__version__ == PROJECT["version"]


def test_decisions_are_numbered():
    numbers = sorted(path.name[:4] for path in (DOCS / "decisions").glob("*.md"))
    assert numbers == [f"{i:04}" for i in range(1, len(numbers) + 1)]
