"""Documentation that cannot drift: exports, dependencies, commands, links, code and the site."""

import ast
import doctest
import functools
import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import one_run
import pytest
import typer
from project import ROOT
from sweeps import sweep

import dpmic
from dpmic import compat, feature_selection, privacy, report
from dpmic.cli import app
from dpmic.compat import minepy

DOCS = ROOT / "docs"
TUTORIAL = (DOCS / "tutorial.md").read_text()
PAGES = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
SITE = (ROOT / "mkdocs.yml").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

PRIVATE_COMMANDS = ("release", "screen", "bounds")
PRIVATE_CALLS = {
    f"dpmic.{name}"
    for name in ("release", "release_pairwise", "release_test", "screen", "estimate_bounds")
}
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)")


def prose(text):
    """Return a page without its code."""
    return re.sub(r"`[^`\n]+`", "", BLOCK.sub("", text))


def anchors(page):
    """Return the anchors of a page: its headings, and the names that the site documents there."""
    text = BLOCK.sub("", page.read_text())
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    names = re.findall(r"^::: ([\w.]+)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w\s-]", "", h).strip().lower().replace(" ", "-") for h in headings}
    return {*slugs, *names}


def test_exports_are_sorted_documented_and_there():
    assert dpmic.__all__ == sorted(dpmic.__all__)
    reference = (DOCS / "reference.md").read_text()
    for name in dpmic.__all__:
        assert getattr(dpmic, name) is not None
        assert f"`dpmic.{name}" in reference, name
    assert set(re.findall(r"`dpmic\.(\w+)", reference)) <= {
        *dpmic.__all__,
        "data",
        "evaluation",
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


def test_every_requirement_has_a_lowest_version_that_is_tested():
    """Which make test-lowest finds by one pattern; a requirement that it misses is not pinned."""
    (pattern,) = re.findall(r"grep -oE '\"(.*)\"'", (ROOT / "Makefile").read_text())
    extras = PROJECT["optional-dependencies"].values()
    for requirement in [*PROJECT["dependencies"], *(r for extra in extras for r in extra)]:
        exact = requirement.startswith("dpmic[") or "==" in requirement
        assert exact or re.fullmatch(pattern, requirement), requirement


@sweep("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target, anchor in LINK.findall(prose(page.read_text())):
        there = page.parent / target if target else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), f"{target}#{anchor}"
        # The site has pages and files of docs, and no folders.
        assert DOCS not in page.parents or (DOCS in there.resolve().parents and there.is_file())


def test_readme_commands_exist():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    commands = re.findall(r"^make ([a-z-]+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert commands == ["demo", "test"]
    assert set(commands) <= set(targets)


def commands(page):
    """Return the commands of a page, in blocks and in sentences."""
    text = page.read_text()
    blocks = "".join(code for language, code in BLOCK.findall(text) if language == "sh")
    written = re.findall(r"^dpmic .*", blocks.replace("\\\n", ""), re.MULTILINE)
    inline = re.findall(r"`(dpmic [^`]+)`", BLOCK.sub("", text))
    return [*written, *(line.replace("\n", " ") for line in inline)]


@functools.cache
def application():
    return typer.main.get_command(app)


@sweep("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_and_their_options_exist(page):
    for line in commands(page):
        words = shlex.split(line, comments=True)[1:]
        command = application()
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        assert not hasattr(command, "commands") or not words, line
        known = {option for param in command.params for option in param.opts} | {"--help"}
        assert {word for word in words if word.startswith("--")} <= known, line


@sweep("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_file_is_scored_without_noise_and_then_published_from(page):
    """Whoever looks first and publishes the best has published a choice made from the records."""
    seen, published = set(), set()
    for line in commands(page):
        command, *words = shlex.split(line, comments=True)[1:]
        files = {word for word in words if re.search(r"\.(csv|parquet)$", word)}
        if command in PRIVATE_COMMANDS or "--epsilon" in words:
            published |= files
        elif command in ("score", "matrix", "test"):
            seen |= files
    assert not seen & published


def test_the_tutorial_sees_people_through_private_calls_alone():
    """Whatever is charged to a ledger is written to a file and published from, and no more."""
    code = "".join(c for language, c in BLOCK.findall(TUTORIAL) if language == "python")
    examples = doctest.DocTestParser().get_examples(code)
    tree = ast.parse("".join(example.source for example in examples))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    private = [call for call in calls if ast.unparse(call.func) in PRIVATE_CALLS]
    charged = [call for call in private if "ledger" in {word.arg for word in call.keywords}]
    people = {
        node.id
        for call in charged
        for given in [*call.args, *(word.value for word in call.keywords if word.arg == "data")]
        for node in ast.walk(given)
        if isinstance(node, ast.Name)
    }
    allowed = [*private, *(c for c in calls if ast.unparse(c.func).endswith(".to_csv"))]
    inside = {id(node) for call in allowed for node in ast.walk(call)}
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in people]
    seen = [node for node in uses if isinstance(node.ctx, ast.Load) and id(node) not in inside]
    assert people
    assert not seen, [ast.unparse(node) for node in seen]


def test_the_version_is_the_projects():
    assert dpmic.__version__ == PROJECT["version"]


def test_decisions_are_numbered():
    numbers = sorted(path.name[:4] for path in (DOCS / "decisions").glob("*.md"))
    assert numbers == [f"{i:04}" for i in range(1, len(numbers) + 1)]


def test_every_page_is_in_the_navigation_once():
    listed = sorted(re.findall(r": ([\w/-]+\.md)$", SITE, re.MULTILINE))
    assert listed == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


def test_the_generated_reference_has_every_public_name():
    named = {
        name
        for page in (DOCS / "api").glob("*.md")
        for name in re.findall(r"^::: ([\w.]+)$", page.read_text(), re.MULTILINE)
    }
    modules = (privacy, report, feature_selection, compat, minepy)
    public = {f"{module.__name__}.{name}" for module in modules for name in module.__all__}
    public |= {f"dpmic.{name}" for name in dpmic.__all__}
    public -= {"dpmic.__version__", *(module.__name__ for module in modules)}
    assert public <= named


@sweep("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_python_blocks_are_doctests_that_end_before_their_fence(page):
    assert not re.search(r"^ +```", page.read_text(), re.MULTILINE), "an indented block is not run"
    for language, code in BLOCK.findall(page.read_text()):
        assert language, "a block says what it is: python, sh, text, toml, ..."
        if language == "python":
            assert code.startswith(">>> ")
            assert code.endswith("\n\n"), "or the fence would be taken for output"
        else:
            assert ">>> " not in code


def run_python(code, names):
    """Run a block as a doctest, keeping its names for the next one."""
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    example = doctest.DocTestParser().get_doctest(code, names, "tutorial", None, 0)
    said = []
    one_run.mark(example.examples)
    checker = one_run.Checker(doctest.OutputChecker())
    runner = doctest.DocTestRunner(checker, optionflags=options, verbose=False)
    runner.run(example, out=said.append, clear_globs=False)
    assert not runner.failures, "".join(said)
    names.update(example.globs)


@pytest.mark.slow
def test_the_tutorials_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for language, code in BLOCK.findall(TUTORIAL):
        if language == "python":
            run_python(code, names)
    assert names


@pytest.mark.full
def test_the_tutorial_runs_as_it_is_written(tmp_path, monkeypatch):
    """Python and commands in their order; a block of text is what the commands before it print."""
    monkeypatch.chdir(tmp_path)
    here = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}
    names, printed, commands = {}, "", 0
    for language, code in BLOCK.findall(TUTORIAL):
        if language == "python":
            run_python(code, names)
        elif language == "sh" and "pip install" not in code:
            done = subprocess.run(
                ["bash", "-euc", code], capture_output=True, text=True, env=environment, check=False
            )
            assert done.returncode == 0, f"{code}{done.stderr}"
            printed, commands = done.stdout, commands + 1
        elif language == "text":
            assert one_run.same_but_for_noise(code, printed), printed
    assert commands >= 5


@sweep("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_job_files_in_the_documentation_have_a_plan(page, tmp_path):
    for language, code in BLOCK.findall(page.read_text()):
        if language == "toml" and "[question]" in code:
            (tmp_path / "job.toml").write_text(code)
            job = dpmic.Job.load(tmp_path / "job.toml")
            assert job.plan() is not None
            assert len(job.check()) <= 2  # its data and its ledger are not there


def test_the_figure_of_the_home_page_shows_what_is_measured(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    relations = importlib.import_module("relations")
    drawn = relations.FIGURE.read_text()
    described = (DOCS / "index.md").read_text()
    for correlation, mic in relations.scores().values():
        assert f"correlation {correlation:.2f} · MIC {mic:.2f}" in drawn
        assert f"{correlation:.2f}" in described
        assert f"{mic:.2f}" in described


def test_the_picture_of_the_readme_ends_below_the_chart(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    parts = [f"<section class='a'>{name}</section>" for name in ("notice", "chart", "table")]
    page = f"<main><h1>title</h1>{''.join(parts)}<footer>dpmic</footer></main>"
    shown = importlib.import_module("report").upper_part(page)
    assert shown == f"<main><h1>title</h1>{parts[0]}{parts[1]}</main>"


@pytest.mark.full
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("zensical", reason="the site needs the extra docs")
    for name in ("docs", "src", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("mkdocs.yml", "CHANGELOG.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Warning" not in done.stdout + done.stderr
    for page in DOCS.rglob("*.md"):
        built = tmp_path / "site" / page.relative_to(DOCS).with_suffix(".html")
        text = built.read_text()
        # Nothing is fetched from a host, and nothing is left of the docstrings' own markup.
        assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=\"(https?:)?//", text)
        assert not re.search(r":(func|class|meth|mod|attr|data):", text)
        # A list needs an empty line before it, which other readers of Markdown do not ask for.
        assert not re.search(r"<p>(?:(?!</p>).)*\n\s*- ", text, re.DOTALL)
