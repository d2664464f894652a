"""A result as files: the report, JSON, CSV, PNG, and the script that makes it again."""

from __future__ import annotations

import csv
import io
import re
import shlex
import sys
import threading
from dataclasses import dataclass
from typing import Any

from dpmic.errors import ParameterError
from dpmic.job import Job
from dpmic.privacy.ledger import Balance
from dpmic.report import page
from dpmic.results import Groups, Pairwise, ScoredPairs

KINDS = {"html": "Report, HTML", "json": "JSON", "csv": "CSV", "png": "Figure, PNG"}
TYPES = {"html": "text/html", "json": "application/json", "csv": "text/csv", "png": "image/png"}

FORMULAS = ("=", "+", "-", "@", "\t", "\r")

_drawing = threading.Lock()  # matplotlib's figures are shared by all threads


@dataclass(frozen=True, eq=False, repr=False)
class Outcome:
    """What a job has published, with the job as it was then and the ledger right afterwards."""

    job: Job
    result: Any
    left: Balance | None = None
    rehearsal: bool = False

    def balance(self) -> Balance | None:
        """Return what the ledger had; the report asks for it as it would ask the ledger."""
        return self.left

    @property
    def report(self) -> str:
        """The report of ``dpmic run``, or of ``dpmic rehearse``."""
        return page(
            self.result,
            ledger=None if self.left is None else self,
            command=commands(self.job)[1 if self.rehearsal else 2],
            job=self.job.text,
            estimate=self.job.get("report", "estimate", False),
            rehearsal=self.rehearsal,
        )

    @property
    def script(self) -> str:
        """A Python script that makes the same result, and its report."""
        estimate = ", estimate=True" if self.job.get("report", "estimate", False) else ""
        return (
            "import dpmic\n\n"
            f"job = dpmic.Job.load({self.job.path.name!r})\n"
            "result = job.run()\n"
            f"report = dpmic.report.page(result, job=job.text{estimate})\n"
            f"dpmic.report.save(report, {stem(self.job.path.name) + '.html'!r})\n"
        )


def stem(name: str) -> str:
    """Return what files are called that belong to a job file or a table."""
    name = re.split(r"[/\\]", name)[-1]
    job = name.endswith(".toml")
    name = name.removesuffix(".toml").removesuffix(".dpmic") if job else name.partition(".")[0]
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "result"


def commands(job: Job) -> list[str]:
    """Return the commands that check, rehearse and run a job, in the folder of its file."""
    return [f"dpmic {verb} {shlex.quote(job.path.name)}" for verb in ("check", "rehearse", "run")]


def inside(whole: str) -> str:
    """Return what a report says, to be shown within a page of the window."""
    title = re.search(r"<h1>(.*?)</h1>", whole)
    main = re.search(r"<main>\n?(.*)</main>", whole, re.DOTALL)
    assert title is not None
    assert main is not None
    return f"<article aria-labelledby='report'><h2 id='report'>{title[1]}</h2>{main[1]}</article>\n"


def _harmless(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula: anyone may have named the columns.

    A text that begins like one gets an apostrophe before it; numbers stay.
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULAS) else cell


def as_csv(result: Any) -> str:
    """Return the numbers of a result as lines."""
    if isinstance(result, ScoredPairs | Pairwise):
        import pyarrow as pa
        from pyarrow import csv as arrow

        table, sink = result.to_frame("pyarrow"), pa.BufferOutputStream()
        for place, column in enumerate(table.itercolumns()):
            if column.type in (pa.string(), pa.large_string()):
                table = table.set_column(
                    place, table.column_names[place], [list(map(_harmless, column.to_pylist()))]
                )
        arrow.write_csv(table, sink)
        return str(sink.getvalue().to_pybytes().decode())
    rows = result.rows() if isinstance(result, Groups) else [result.record()]
    written = io.StringIO()
    writer = csv.DictWriter(written, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _harmless(cell) for key, cell in row.items()} for row in rows)
    return written.getvalue()


def as_png(result: Any, *columns: str, data: Any = None) -> bytes:
    """Return the figure of a result."""
    if not hasattr(result, "plot"):
        raise ParameterError("PNG", "such a result has no figure", "take the report")
    drawn = io.BytesIO()
    with _drawing:
        figure = (result.plot(*columns, data=data) if columns else result.plot()).figure
        try:
            figure.savefig(drawn, format="png", dpi=150, bbox_inches="tight")
        finally:
            sys.modules["matplotlib.pyplot"].close(figure)
    return drawn.getvalue()


def as_file(result: Any, kind: str, whole: str) -> bytes:
    """Return a result as one kind of file."""
    if kind == "html":
        return whole.encode()
    if kind == "json":
        return str(result.to_json()).encode()
    return as_csv(result).encode() if kind == "csv" else as_png(result)
