"""Who may import whom, read off the source."""

import ast
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from project import ROOT
from sweeps import sweep

import dpmic

SOURCE = Path(dpmic.__file__).parent
LOW = {"errors", "_kernels", "_format", "_validate"}

# module or folder: what of ours it may import (itself is always allowed)
ALLOWED = {
    "errors": set(),
    "_kernels": set(),
    "_io": set(),
    "_format": set(),
    "_progress": set(),
    "_validate": {"errors"},
    "data": LOW - {"_kernels"},
    "results": {"errors", "_format", "_io", "_validate", "data", "parameters", "plots"}
    | {"statistics"},
    "parameters": {"_format", "_validate"},
    "statistics": LOW | {"data", "results"},
    "all_pairs": LOW | {"_io", "_progress", "data", "statistics", "results"},
    "plots": {"errors", "_format", "_validate", "results", "data"},
    "report": {"__version__", "errors", "_format", "_io", "_validate", "results", "data"},
    "compat": LOW | {"data", "results", "statistics"},
    "feature_selection": LOW | {"data", "results", "statistics", "all_pairs"},
    "privacy": LOW | {"_io", "data", "statistics", "results", "parameters"},
    "job": LOW - {"_kernels"} | {"_io", "_progress", "data", "statistics", "results", "privacy"},
    # seeded simulations of mechanisms: privacy may not import them
    "evaluation": LOW | {"__version__", "_io", "statistics", "parameters", "privacy"},
    "app": {"__version__", "errors", "_format", "_progress", "data", "results", "statistics"}
    | {"all_pairs", "privacy", "report", "job"},
    "cli": {"__version__", "errors", "_format", "_progress", "_validate", "data", "results"}
    | {"statistics", "all_pairs", "privacy", "evaluation", "report", "job", "app"},
    "__main__": {"cli"},
    "__init__": {"errors", "results", "statistics", "all_pairs", "privacy"}
    | {"report", "compat", "feature_selection", "job"},
}
# the trusted base, reviewable alone: these see neither data nor each other
ALONE = {
    "sensitivity": {"errors", "_format", "_validate"},
    "noise": set(),
    "ledger": {"errors", "_format", "_validate", "privacy._ledger_file"},
    "_ledger_file": {"errors", "_io"},
}
ONLY_IN = {
    "numba": set(),  # of tests alone
    "cupy": {"_kernels"},
    "narwhals": {"data"},
    "matplotlib": {"plots", "results", "evaluation"},
    "joblib": {"statistics", "evaluation", "all_pairs"},
    "polars": {"data"},
    "duckdb": {"data"},
    "pyspark": {"data"},
    "dask": {"data"},
    "distributed": {"data", "all_pairs"},
    "pyreadstat": {"data"},
    "python_calamine": {"data"},
    "opendp": {"privacy"},
    "sqlite3": {"privacy"},
    "starlette": {"app"},
    "uvicorn": {"app"},
    "sklearn": set(),  # its score functions are plain functions
}
MODULES = sorted(SOURCE.rglob("*.py"))


def layer(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path):
    """Every module imported anywhere in a file, also inside functions and for type checking."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "dpmic":
                yield from (f"dpmic.{alias.name}" for alias in node.names)
            else:
                yield node.module


def parts(path):
    """Every name imported from a package of ours, such as privacy.noise."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("dpmic."):
            yield from (f"{node.module.removeprefix('dpmic.')}.{a.name}" for a in node.names)


@sweep("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports(path):
    mine = layer(path)
    for name in imports(path):
        top, _, rest = name.partition(".")
        if top == "dpmic":
            target = rest.partition(".")[0]
            assert target in ALLOWED[mine] | {mine}, f"{mine} imports {name}"
        elif top in ONLY_IN:
            assert mine in ONLY_IN[top], f"{mine} imports {name}"


@pytest.mark.parametrize("name", ALONE)
def test_the_trusted_base_stands_alone(name):
    mine = imports(SOURCE / f"privacy/{name}.py")
    ours = {name.removeprefix("dpmic.") for name in mine if name.startswith("dpmic")}
    assert ours <= ALONE[name]


def test_noise_comes_from_opendp_and_the_operating_system_alone():
    """On the private path numpy draws nothing, and nothing can be seeded."""
    for path in (SOURCE / "privacy").glob("*.py"):
        text = path.read_text()
        if path.name == "audit.py":  # the attack searches for its datasets with a seed
            continue
        assert "random" not in re.sub(r"urandom|\"\"\".*?\"\"\"|#.*", "", text, flags=re.S), path
        assert path.name == "noise.py" or "randbelow" not in text, path


def test_data_meets_noise_where_the_proofs_say():
    """Docs/decisions/0006; _pairs takes the spacing of published numbers, _gaps random points."""
    importers = {
        path.stem
        for path in MODULES
        if "dpmic.privacy.noise" in set(imports(path)) | {f"dpmic.{n}" for n in parts(path)}
    }
    assert importers == {
        "_gaps",
        "_laplace",
        "_geometric",
        "_joint_noise",
        "screen",
        "bounds",
        "independence",
        "_pairs",
    }
    assert "import GRANULARITY\n" in (SOURCE / "privacy/_pairs.py").read_text()


PRIVATE = ("privacy", "job", "evaluation")
PRUNING = {"largest", "entries", "equi", "clumped"}  # kernels that leave out what cannot win
RUN = {"prepare", "query", "task", "self"}  # have a run and are no Search, whose run prunes


def pruning(text):
    """Return every place of some code that lets a search leave out what cannot win."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.keyword(arg="fast", value=value) if ast.unparse(value) != "False":
                yield ast.unparse(node)
            case ast.Attribute(value=ast.Name("_kernels"), attr=name) if name in PRUNING:
                yield ast.unparse(node)
            case ast.Attribute(value=owner, attr="run"):
                if ast.unparse(owner).partition("(")[0] not in RUN:
                    yield ast.unparse(node)
            case ast.ImportFrom(module=str(module)) if module.startswith("dpmic._kernels"):
                yield ast.unparse(node)


def test_the_private_path_never_prunes():
    """A search that leaves out what cannot win tells of the data by its time.

    The same while private calls run: privacy/test_private_calls.py.
    """
    for path in MODULES:
        if layer(path) in PRIVATE:
            assert not list(pruning(path.read_text())), path
        if layer(path) in ("privacy", "job"):  # all pairs, and scores of one, prune
            pruned = ("dpmic.all_pairs", "dpmic.statistics.family")
            assert not any(name.startswith(pruned) for name in imports(path)), path
            assert "ClumpedSearch" not in path.read_text(), path
    users = {layer(path) for path in MODULES if "_kernels.largest" in path.read_text()}
    assert users == {"all_pairs"}


def test_the_private_path_never_uses_a_gpu():
    """Only `all_pairs` does, which `privacy` may not import."""
    users = {
        path
        for path in MODULES
        if "dpmic._kernels.cuda" in (*imports(path), *(f"dpmic.{name}" for name in parts(path)))
    }
    assert {layer(path) for path in users} == {"all_pairs"}
    assert "all_pairs" not in ALLOWED["privacy"] | ALLOWED["job"]


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        ("search.matrix(fast=True)", True),
        ("pair_matrices(axes, pairs, plan, fast=quick)", True),
        ("search.matrix(fast=False)", False),
        ("search.matrix()", False),
        ("Search.of(x, y, plan).run()", True),
        ("matrix, grid = search.run()", True),
        ("found = map(Search.run, searches)", True),
        ("return query.run()", False),
        ("return prepare(table, terms).run()", False),
        ("_kernels.largest(left, right, pairs, starts, rows, logs, f)", True),
        ("_kernels.equi(x, y, plan, logs, f, True)", True),
        ("from dpmic._kernels import entries", True),
        ("_kernels.informations(tables, rows, f)", False),
    ],
)
def test_pruning_is_seen(code, seen):
    assert bool(list(pruning(code))) == seen


def test_every_module_has_its_rule():
    assert {layer(path) for path in MODULES} == set(ALLOWED)


def test_modules_and_functions_stay_small():
    for path in MODULES:
        text = path.read_text()
        assert text.count("\n") <= 600, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                body = node.end_lineno - node.lineno - (ast.get_docstring(node) or "").count("\n")
                assert body <= 60, f"{path}: {node.name}"


def loaded_after(code):
    """Return the modules that a fresh interpreter has loaded after running some code."""
    program = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


HEAVY = {"numba", "scipy", "narwhals", "pyarrow", "pandas", "matplotlib", "opendp", "joblib"}
HEAVY |= {"pyreadstat", "python_calamine", "cupy"}
HEAVY = {"scipy", "narwhals", "pyarrow", "pandas", "matplotlib", "opendp", "joblib"}
HEAVY |= {"pyreadstat", "python_calamine"}


def test_import_is_light():
    assert not loaded_after("import dpmic") & (HEAVY | {"numpy", "typer"})


@pytest.mark.parametrize("name", ["feature_selection.mic_regression", "compat.minepy.MINE"])
def test_modules_come_with_the_package(name):
    assert "dpmic" in loaded_after(f"import dpmic\ndpmic.{name}")


def command(*words):
    """Return the code of a command, which goes on after it."""
    return f"from dpmic.cli import app\ntry: app({list(words)})\nexcept SystemExit: pass"


def test_help_is_light():
    assert not loaded_after(command("--help")) & (HEAVY | {"numpy", "rich", "pydantic"})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options", "fourth"),
    [("matrix", [], "4"), ("score", ["b", "c"], "NA"), ("test", ["b", "c"], "NA")],
)
def test_numbers_in_a_text_need_no_frames(tmp_path, name, options, fourth):
    """Pyarrow would import pandas to convert a value; one piece of work needs no threads."""
    file = tmp_path / "t.csv"
    rows = [f"{i / 7},{i % 5},{fourth if i == 3 else -i}" for i in range(20)]
    file.write_text("\n".join(["a,b,c", *rows]))
    loaded = loaded_after(command(name, str(file), *options))
    assert "pyarrow" in loaded
    assert not loaded & (HEAVY - {"scipy", "pyarrow"})


@pytest.mark.slow
def test_arrays_need_neither_frames_nor_files():
    code = "import dpmic\ndpmic.mice([1, 2, 3, 4], [1, 2, 3, 4])"
    assert not loaded_after(code) & (HEAVY - {"scipy"})


def walks():
    """Return the steps of every walk of the page about the architecture, by its title."""
    page = (ROOT / "docs" / "architecture.md").read_text().partition("## Five walks")[2]
    return {walk.partition("\n")[0]: walk for walk in page.split("### ")[1:]}


def defined(path):
    """Return every function and class of a module, methods after their class and a dot."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            methods = (part for part in node.body if isinstance(part, ast.FunctionDef))
            yield from (f"{node.name}.{method.name}" for method in methods)


def test_the_five_walks_lead_through_what_exists():
    assert len(walks()) == 5
    for title, walk in walks().items():
        steps = re.findall(r"^\d+\. ", walk, flags=re.M)
        assert 5 <= len(steps) <= 10, title
        named = re.findall(r"`([\w/]+\.py):([\w.]+)`", walk)
        assert len(named) >= len(steps), title
        for module, name in named:
            assert name in set(defined(SOURCE / module)), f"{title}: {module} has no {name}"


# One thing on several floors: asked on the command line, computed, handed back.
FLOORS = {"audit", "bounds", "independence", "ledger", "pairwise", "plan", "release", "score"}
FLOORS |= {"groups", "job", "screen", "significance"}


def test_modules_have_names_of_their_own():
    names = [path.stem.lstrip("_") for path in MODULES if layer(path) != "evaluation"]
    shared = {name for name in names if names.count(name) > 1}
    assert shared <= FLOORS | {"init__", "main__"}


def test_no_package_has_the_name_of_a_public_function():
    """Importing the package would hide the function."""
    packages = {layer(path) for path in MODULES}
    hidden = packages & set(dpmic.__all__)
    assert all(isinstance(getattr(dpmic, name), ModuleType) for name in hidden)


def test_private_modules_stay_in_their_package():
    for path in MODULES:
        for name in {*imports(path), *(f"dpmic.{part}" for part in parts(path))}:
            top, *rest = name.removeprefix("dpmic.").split(".")
            if name.startswith("dpmic.") and rest and rest[0].startswith("_"):
                private = (SOURCE / top / f"{rest[0]}.py").exists()
                assert layer(path) == top or not private, f"{path} imports {name}"
