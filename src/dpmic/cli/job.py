"""``dpmic init``, ``check``, ``rehearse`` and ``run``: one file that says what to publish."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpmic._progress import working
from dpmic.cli import _answers, _inputs, _output, release, screen
from dpmic.cli import _options as o
from dpmic.cli._output import Answer, Delivery
from dpmic.cli._shell import repeated
from dpmic.cli._spending import Consent, answer_to, show
from dpmic.errors import ParameterError

if TYPE_CHECKING:
    from dpmic.job import Job
    from dpmic.privacy.query import Query, Terms

EXAMPLE_INIT = "dpmic init visits.csv"
EXAMPLE_CHECK = "dpmic check visits.dpmic.toml"
EXAMPLE_REHEARSE = "dpmic rehearse visits.dpmic.toml --people 5000"
EXAMPLE = "dpmic run visits.dpmic.toml"

ENDING = ".dpmic.toml"
PEOPLE = "--people"

JobFile = Annotated[
    Path, typer.Argument(metavar="JOB", help="A job file, such as dpmic init writes.")
]
People = Annotated[
    int | None,
    typer.Option(PEOPLE, help="About how many people there are, if the job file does not say it."),
]


def init(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The table; its header is read.")],
    out: Annotated[
        Path | None, typer.Option(metavar="JOB", help="The job file; by default FILE.dpmic.toml.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Overwrite an existing job file.")
    ] = False,
    *,
    written: o.Written,
) -> None:
    """Write a job file for a table, to be filled in.

    Only the names of the columns are read, never a record.
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
    if any("';'" in line for line in notes) and written.decimal is None:
        _output.note('if its numbers have decimal commas, write decimal = "," below [data]')
    _output.say(f'{path}: replace every "?", then: dpmic check {path}')


def check(job: JobFile, people: People = None) -> None:
    """Say what a job file lacks, and show the plan.

    Everything that is missing or wrong is listed with its line. Of the table only the header is
    read, and nothing is spent.
    """
    from dpmic.job import Job, for_the_file, speaking_of_keys

    loaded = Job.load(job)
    loaded.refuse(loaded.check())
    if people is None and loaded.get("data", "people") is None:
        _output.say(
            f"{job}: nothing is missing. For the noise and the expected error add people = 5000 "
            f"below [data], or {PEOPLE} 5000."
        )
    else:
        with speaking_of_keys():
            # One row each: more records would only have less noise.
            query = loaded.query(loaded.made_up(people, rows=1))
            query.check()
        _plan(loaded, query, people, for_the_file)
    _output.say(f"Next: dpmic rehearse {job}, then dpmic run {job}")


def _plan(job: Job, query: Query[Any], people: int | None, spell: Any) -> None:
    """Show a query that was prepared with made-up columns: it has the noise of the real one."""
    show(query, {**_expected(job, query), **job.promises(job.number_of_people(people))}, spell)


def rehearse(
    job: JobFile,
    people: People = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="HTML", help="The page; by default beside the real report."),
    ] = None,
    overwrite: o.Overwrite = False,
) -> None:
    """Run a job on made-up data, to see its report and noise.

    Made-up columns follow the bounds and categories of the job file. The table is not opened, the
    ledger is not touched, and nothing is spent.
    """
    from dpmic.job import Job, speaking_of_keys

    loaded = Job.load(job)
    loaded.refuse(loaded.entries.problems)
    out = Delivery(report=report or _beside(loaded.at("report", "file")), overwrite=overwrite)
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
            "No record was read and nothing was spent. The columns were made up, so the values "
            "mean nothing; their noise, and the cost if it were real, are those of the job.",
            f"It took {took:.1f} s, without reading the table.",
        ],
    )
    out.give(marked, page)


def _beside(report: Path | None) -> Path | None:
    """Return the name of a rehearsal's page."""
    return report and report.with_name(f"{report.stem}.rehearsal{report.suffix}")


def _people(job: Job, given: int | None) -> int:
    """Return how many people to make up: as an option or the file says, or somebody answers."""
    if given is None and job.get("data", "people") is None:
        answer = answer_to("About how many people are there? ")
        if answer is None:
            remedy = f"add {PEOPLE} 5000, or people = 5000 below [data]"
            raise ParameterError("people", "it is not known how many there are", remedy)
        digits = answer.replace(",", "").replace("_", "")
        if not digits.isdecimal():
            raise ParameterError(answer, "this is not a number of people", "answer 5000")
        given = int(digits)
    return job.number_of_people(given)


def run(job: JobFile, yes: o.Yes = False, *, out: Delivery) -> None:
    """Publish what a job file asks for, and write its report.

    The plan is shown, and nothing is spent before you agree. What the file does not say about
    the privacy unit is asked, too.
    """
    from dpmic.job import Job, for_the_file, is_about_unit, speaking_of_keys

    loaded = Job.load(job)
    if out.report is None:
        out = replace(out, report=loaded.at("report", "file"))
    out.check(job, loaded.at("data", "file"), loaded.at("privacy", "ledger"))
    loaded.refuse([problem for problem in loaded.check() if not is_about_unit(problem)])
    with speaking_of_keys():
        terms, _ = loaded.asked()
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
        consent.publish(
            out,
            "publishing",
            query,
            lambda result: _answer(loaded, result),
            expected={**_expected(loaded, query), **loaded.promises(query.n)},
            estimate=loaded.get("report", "estimate", False),
        )


def _table(job: Job, terms: Terms) -> Any:
    """Load the columns that the job needs, or open a file that is too large for that."""
    ranked = job.ask == "test" or job.get("question", "mechanism") == "mice-laplace"
    counts = not ranked and job.get("question", "axes") != "wide"
    file, written = str(job.at("data", "file")), o.Written(**job.written)
    return _inputs.private(file, job.ends, terms, written, counts=counts)


def _answer(job: Job, result: Any) -> Answer:
    """Answer with a result as the command for such a question does."""
    estimate = job.get("report", "estimate", False)
    if job.get("groups", "by") is not None:
        return _answers.groups(result)
    if job.ask in ("strongest pairs", "all pairs"):
        return _answers.pairs(result, estimate)
    return _answers.published(result, **({"estimate": True} if estimate else {}))


def _expected(job: Job, query: Any) -> dict[str, str]:
    """Return what values will be worth, where simulations of default options tell."""
    get = job.get
    if get("groups", "by") is not None:
        return {}
    if any(get("question", key) for key in ("mechanism", "axes", "cap", "B", "c", "split")):
        return {}
    if job.ask == "one pair":
        return release.expected_of(query)
    if job.ask == "test":
        return {}
    return screen.expected_of(query, get("question", "top"), get("question", "delta", 0.0))
