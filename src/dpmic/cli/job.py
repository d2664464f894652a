"""``dpmic init``, ``check``, ``rehearse`` and ``run``: publish what a job file asks for."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpmic._progress import working
from dpmic.cli import _answers, _inputs, _output, release, screen
from dpmic.cli import _options as o
from dpmic.cli._output import Answer, Delivery
from dpmic.cli._shell import repeated
from dpmic.cli._spending import Consent, answer_to, show
from dpmic.errors import MOST_LISTED, DpmicError, ParameterError, safe_repr

if TYPE_CHECKING:
    from dpmic.data import Dialect
    from dpmic.job import Job
    from dpmic.privacy.query import Terms

EXAMPLE_INIT = "dpmic init visits.csv"
EXAMPLE_CHECK = "dpmic check visits.dpmic.toml"
EXAMPLE_REHEARSE = "dpmic rehearse visits.dpmic.toml --people 5000"
EXAMPLE = "dpmic run visits.dpmic.toml"

ENDING = ".dpmic.toml"
PEOPLE = "--people"

JobFile = Annotated[
    Path, typer.Argument(metavar="JOB", help="A job file, as dpmic init writes it.")
]
People = Annotated[
    int | None,
    typer.Option(PEOPLE, help="About how many people there are, unless the job file says it."),
]


def init(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A table, of which only the header is read.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="JOB", help="The job file to write; default FILE.dpmic.toml."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Overwrite an existing job file.")
    ] = False,
    *,
    written: o.Written,
) -> None:
    """Write a job file for a table, for you to fill in.

    Reads only the names of the columns, never a record.
    """
    from dpmic.data import header
    from dpmic.job import save, template

    path = out or Path(Path(file).stem + ENDING)
    named = file if os.path.isabs(file) else os.path.relpath(file, path.parent)
    said = {key: value for key, value in vars(written).items() if value}
    notes: list[str] = []
    columns = header(file, written.dialect, notes.append)
    text = template(Path(named).as_posix(), columns, path, said)
    save(text, path, overwrite=overwrite)
    for line in notes:
        _output.note(line)
    if len(set(columns)) < len(columns):  # no name is printed: the first line may be a record
        _output.note(
            "some columns share a name, and the job ignores them; to use one, give it a name of "
            "its own in the table"
        )
    _note_commas(written.dialect, notes)
    _output.say(f'Wrote {path}. Replace every "?" in it, then run: dpmic check {path}')


def _note_commas(dialect: Dialect, notes: Sequence[str]) -> None:
    """Say how files separated by semicolons are often written, going by its header alone."""
    semicolons = dialect.sep == ";" or any("separated by ';'" in line for line in notes)
    if semicolons and dialect.decimal is None:
        _output.note('if the numbers have decimal commas, write decimal = "," below [data]')
    if semicolons and dialect.encoding is None and not any("UTF-16" in line for line in notes):
        _output.note('if the text is not UTF-8, write encoding = "cp1252" below [data]')


def _note_commas_of(job: Job) -> None:
    """Do so for the table of a job; a table that cannot be opened is a problem of its own."""
    from dpmic.data import Dialect, header

    notes: list[str] = []
    with suppress(DpmicError):
        dialect = Dialect(**job.written)
        header(str(job.at("data", "file")), dialect, notes.append)
        _note_commas(dialect, notes)


def check(job: JobFile, people: People = None) -> None:
    """Check a job file and show its plan.

    Lists everything that is missing or wrong, with line numbers. Reads only the header of the
    table. Nothing is spent.
    """
    from dpmic.job import Job, for_the_file, speaking_of_keys

    loaded = Job.load(job)
    _note_commas_of(loaded)
    loaded.refuse(loaded.check())
    if people is None and loaded.get("data", "people") is None:
        _output.say(
            f"{job} is complete. To see the noise and the expected error, write people = 5000 "
            f"below [data], or pass {PEOPLE} 5000."
        )
    else:
        with speaking_of_keys():
            # One row per person is enough: the noise follows from the number of people.
            query = loaded.query(loaded.made_up(people, rows=1))
            query.check()
        show(query, _expected(loaded, query), for_the_file)
    if unused := loaded.unused():
        more = f" and {len(unused) - MOST_LISTED} more" if len(unused) > MOST_LISTED else ""
        _output.say(f"Not used: {', '.join(map(safe_repr, unused[:MOST_LISTED]))}{more}")
    known = loaded.get("data", "people") is not None
    count = "" if known else f" {PEOPLE} {people or 'N'}"
    _output.say(f"Next: dpmic rehearse {job}{count}, then dpmic run {job}")


def rehearse(
    job: JobFile,
    people: People = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="HTML", help="The report to write; by default beside the real one."),
    ] = None,
    overwrite: o.Overwrite = False,
) -> None:
    """Run a job on made-up data, to see its report and its noise.

    The made-up columns follow the bounds and categories of the job file. The table and the ledger
    stay closed, and nothing is spent.
    """
    from dpmic.job import MADE_UP, Job, speaking_of_keys

    loaded = Job.load(job)
    loaded.refuse(loaded.entries.problems)
    place = report or _beside(loaded.at("report", "file"))
    again = _shows(place, f"<title>{MADE_UP.capitalize()}")
    out = Delivery(report=place, overwrite=overwrite or again)
    out.check(job, loaded.at("data", "file"), loaded.at("privacy", "ledger"))
    count = _people(loaded, people)
    with speaking_of_keys(), working("rehearsing"):
        query = loaded.rehearsal(count)
        begun = time.monotonic()
        result = query.run()
        took = time.monotonic() - begun
    estimate = loaded.get("report", "estimate", False)

    def page() -> str:
        from dpmic.report import page

        shown = {"job": loaded.text, "command": repeated(), "estimate": estimate}
        return page(result, rehearsal=True, **shown)

    answer = _answer(loaded, result)
    marked = replace(
        answer,
        title=f"Rehearsal on made-up data. {answer.title}",
        below=[
            "No record was read and nothing was spent. The data are made up, so the values mean "
            f"nothing. The noise and the cost are those of the real job for {count:,} people.",
            f"The computation took {took:.1f} s, without the time to read the real table.",
        ],
    )
    out.give(marked, page)


def _beside(report: Path | None) -> Path | None:
    """Return the file of a rehearsal's report."""
    return report and report.with_name(f"{report.stem}.rehearsal{report.suffix}")


def _shows(report: Path | None, words: str) -> bool:
    """Return whether there is an earlier report that has these words in it."""
    try:
        return report is not None and words in unescape(report.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


def _people(job: Job, given: int | None) -> int:
    """Return the number of people to make up: from the option, the file, or a prompt."""
    if given is None and job.get("data", "people") is None:
        answer = answer_to("About how many people are in the table? ")
        if answer is None:
            remedy = f"pass {PEOPLE} 5000, or write people = 5000 below [data]"
            raise ParameterError("people", "the number of people is not known", remedy)
        digits = answer.replace(",", "").replace("_", "")
        if not digits.isdecimal():
            raise ParameterError(answer, "this is not a number", "answer with digits, such as 5000")
        given = int(digits)
    return job.number_of_people(given)


def run(job: JobFile, yes: o.Yes = False, *, out: Delivery) -> None:
    """Publish what a job file asks for, and write the report.

    Shows the plan first. Nothing is spent before you agree. If the file does not say who is
    protected, the command asks.
    """
    from dpmic.job import Job, for_the_file, is_about_unit, speaking_of_keys

    loaded = Job.load(job)
    if out.report is None:
        out = replace(out, report=loaded.at("report", "file"))
    files = (job, loaded.at("data", "file"), loaded.at("privacy", "ledger"))
    again = replace(out, overwrite=out.overwrite or _shows(out.report, loaded.text))
    again.check(*files)
    loaded.refuse([problem for problem in loaded.check() if not is_about_unit(problem)])
    with speaking_of_keys():
        terms, _ = loaded.keywords()
        unit = o.Unit(
            loaded.get("privacy", "one_row_per_person", False),
            terms.pop("person", None),
            terms.pop("rows_per_person", None),
        )
        keys = ("ledger", "dataset", "allow_large_epsilon")
        account = o.Account(**{key: terms.pop(key) for key in keys if key in terms})
        several = loaded.ask != "test"
        texts: dict[str, Any] = {"job": loaded.text, "spell": for_the_file}
        consent = Consent.sought(unit, account, yes, several=several, **texts, **terms)
        query = loaded.prepare(consent.terms, _table(loaded, consent.terms))
        entry = query.stored()
        if entry is None or entry.answer is None:
            out.check(*files)
        else:  # the report of this answer may be written again
            out = again
        consent.publish(
            out,
            "publishing",
            query,
            lambda result: _answer(loaded, result),
            expected=_expected(loaded, query),
            estimate=loaded.get("report", "estimate", False),
        )


def _table(job: Job, terms: Terms) -> Any:
    """Load the columns of the job, or open a file that is too large to load."""
    ranked = job.ask == "test" or job.get("question", "mechanism") == "mice-laplace"
    counts = not ranked and job.get("question", "axes") != "wide"
    file, written = str(job.at("data", "file")), o.Written(**job.written)
    return _inputs.private(file, job.ends, terms, written, counts=counts)


def _answer(job: Job, result: Any) -> Answer:
    """Present a result as the command for the same question does."""
    estimate = job.get("report", "estimate", False)
    if job.get("groups", "by") is not None:
        return _answers.groups(result)
    if job.ask in ("strongest pairs", "all pairs"):
        return _answers.pairs(result, estimate)
    return _answers.published(result, **({"estimate": True} if estimate else {}))


def _expected(job: Job, query: Any) -> dict[str, str]:
    """Return the expected error of the values, where it was simulated (default options)."""
    get = job.get
    if get("groups", "by") is not None:
        return {}
    if not job.usual:
        return {}
    if job.ask == "one pair":
        return release.expected_of(query)
    if job.ask == "test":
        return {}
    return screen.expected_of(query, get("question", "top"), get("question", "delta", 0.0))
