"""A result as files: the report, JSON, CSV, PNG, and the script that makes it again."""

from __future__ import annotations

import csv
import io
import re
import sys
import threading
from typing import Any

from dpmic.app._session import Session
from dpmic.errors import ParameterError
from dpmic.report import page
from dpmic.results import Groups, Pairwise, ScoredPairs

KINDS = {"html": "Report, HTML", "json": "JSON", "csv": "CSV", "png": "Figure, PNG"}
TYPES = {"html": "text/html", "json": "application/json", "csv": "text/csv", "png": "image/png"}

_drawing = threading.Lock()  # matplotlib's figures are shared by all threads


def stem(session: Session) -> str:
    """Return what files of a result are called."""
    name = session.path.name.removesuffix(".toml").removesuffix(".dpmic")
    if session.mode == "open":
        name = session.file.rpartition("/")[2].partition(".")[0]
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "result"


def report(session: Session) -> str:
    """Return the report of what was published."""
    assert session.run is not None
    published, about = session.run.result, str(session.run.about)
    ledger = session.ledger() if published.dataset is not None else None
    estimate = session.job.get("report", "estimate", False)
    command = f"dpmic run {session.path.name}"
    return page(published, ledger=ledger, command=command, job=about, estimate=estimate)


def inside(whole: str) -> str:
    """Return what a report says, to be shown within a page of the window."""
    title = re.search(r"<h1>(.*?)</h1>", whole)
    main = re.search(r"<main>\n?(.*)</main>", whole, re.DOTALL)
    assert title is not None
    assert main is not None
    return f"<article aria-labelledby='report'><h2 id='report'>{title[1]}</h2>{main[1]}</article>\n"


def script(session: Session) -> str:
    """Return a Python script that makes the same result, and its report."""
    return (
        "import dpmic\n\n"
        f"job = dpmic.Job.load({session.path.name!r})\n"
        "result = job.run()\n"
        "report = dpmic.report.page(result, job=job.text)\n"
        f"dpmic.report.save(report, {stem(session) + '.html'!r})\n"
    )


def as_csv(result: Any) -> str:
    """Return the numbers of a result as lines."""
    if isinstance(result, ScoredPairs | Pairwise):
        import pyarrow as pa
        from pyarrow import csv as arrow

        sink = pa.BufferOutputStream()
        arrow.write_csv(result.to_frame("pyarrow"), sink)
        return str(sink.getvalue().to_pybytes().decode())
    rows = result.rows() if isinstance(result, Groups) else [result.record()]
    written = io.StringIO()
    writer = csv.DictWriter(written, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
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
