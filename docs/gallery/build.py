"""Run the examples of the gallery, and write a page, a notebook and figures for each.

An example is a script in cells: ``# %% [markdown]`` begins prose, ``# %%`` begins code. Its first
heading is the question that it answers. Run ``make gallery`` for all, or name some:
``python docs/gallery/build.py shapes epsilon``.
"""

import ast
import contextlib
import io
import json
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
EXAMPLES = (
    "shapes",
    "genome",
    "features",
    "survey",
    "epsilon",
    "loose-bounds",
    "noisy-histogram",
    "minepy",
)
CELL = re.compile(r"^# %%( \[markdown\])?\n", re.MULTILINE)
SHARP, COLOURS = 125, 96
"""Dots per inch of a figure, and its colours: as few as keep it small and smooth."""


@dataclass(frozen=True)
class Cell:
    """A piece of a script: prose without its comment signs, or code."""

    prose: bool
    text: str


@dataclass(frozen=True)
class Output:
    """What a cell printed, and the names of the figures it drew."""

    text: str = ""
    figures: tuple[str, ...] = ()


def cells(name: str) -> list[Cell]:
    """Read the cells of an example."""
    _, *parts = CELL.split((HERE / f"{name}.py").read_text(encoding="utf-8"))
    found = []
    for mark, text in zip(parts[::2], parts[1::2], strict=True):
        if mark:
            text = re.sub(r"^# ?", "", text, flags=re.MULTILINE)
        found.append(Cell(bool(mark), text.strip("\n")))
    return found


def run(name: str, folder: Path) -> list[Output]:
    """Run an example, write its figures into a folder, and return what each cell gave.

    Files that it writes itself go to a temporary folder.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    given, drawn = [], 0
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as elsewhere:
        os.chdir(elsewhere)
        try:
            for cell in cells(name):
                text = "" if cell.prose else _execute(cell.text, f"{name}.py", names)
                figures = _save(folder, name, drawn)
                drawn += len(figures)
                given.append(Output(text, figures))
        finally:
            os.chdir(before)
    return given


def _execute(code: str, file: str, names: dict[str, Any]) -> str:
    """Run a cell, and return what it prints and the value that it ends with, as a notebook does."""
    body = ast.parse(code, file).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), file, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), file, "eval"), names)
            if value is not None and not type(value).__module__.startswith("matplotlib"):
                print(value)
    return printed.getvalue().rstrip()


def _save(folder: Path, name: str, drawn: int) -> tuple[str, ...]:
    """Write and close the open figures; few colours make small files."""
    from matplotlib import pyplot
    from PIL import Image

    files = []
    for number, figure in enumerate(map(pyplot.figure, pyplot.get_fignums()), drawn + 1):
        file = f"{name}.png" if number == 1 else f"{name}-{number}.png"
        raw = io.BytesIO()
        figure.savefig(raw, format="png", dpi=SHARP)
        picture = Image.open(raw).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        picture.save(folder / file, optimize=True)
        files.append(file)
    pyplot.close("all")
    return tuple(files)


def page(name: str, outputs: list[Output]) -> str:
    """Return an example as a page in Markdown."""
    parts = []
    for cell, output in zip(cells(name), outputs, strict=True):
        parts.append(cell.text if cell.prose else f"```py\n{cell.text}\n```")
        if output.text:
            parts.append(f"```text\n{output.text}\n```")
        parts += [f"![{question(name)}]({file})" for file in output.figures]
    parts.append(f"[Download this example as a notebook]({name}.ipynb)")
    return "\n\n".join(parts) + "\n"


def bare(text: str) -> str:
    """Return a page without outputs and figures: what follows from the script alone."""
    return re.sub(r"^(```text\n.*?^```|!\[.*?\]\(.*?\))\n\n", "", text, flags=re.M | re.S)


def notebook(name: str) -> str:
    """Return an example as a notebook that was not run yet."""
    written = []
    for number, cell in enumerate(cells(name)):
        kind = {"cell_type": "markdown"} if cell.prose else {"cell_type": "code"}
        empty = {} if cell.prose else {"execution_count": None, "outputs": []}
        source = cell.text.splitlines(keepends=True)
        written.append({**kind, "id": f"cell-{number}", "metadata": {}, "source": source, **empty})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {
        "cells": written,
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def question(name: str) -> str:
    """Return the question that an example answers."""
    return cells(name)[0].text.partition("\n")[0].removeprefix("# ")


def index() -> str:
    """Return the page that shows all examples."""
    rows = (
        f"## [{question(name)}]({name}.md)\n\n[![{question(name)}]({name}.png)]({name}.md)"
        for name in EXAMPLES
    )
    head = (
        "# Gallery\n\nEight questions, each answered with a short script and a figure. The data "
        "are simulated, or\ncome with statsmodels and scikit-learn, so every example runs as it "
        "stands, also as a notebook.\nPrivate examples draw fresh noise: your numbers will differ "
        "from those shown."
    )
    return "\n\n".join([head, *rows]) + "\n"


def build(names: list[str]) -> None:
    """Run examples, and write what they give beside them."""
    import matplotlib

    matplotlib.use("agg")
    for name in names:
        print(f"gallery: {name}", flush=True)
        (HERE / f"{name}.md").write_text(page(name, run(name, HERE)), encoding="utf-8")
        (HERE / f"{name}.ipynb").write_text(notebook(name), encoding="utf-8")
    (HERE / "index.md").write_text(index(), encoding="utf-8")


if __name__ == "__main__":
    build(sys.argv[1:] or list(EXAMPLES))
