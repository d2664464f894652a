"""The later steps: epsilon with its plan, the rehearsal, consent, the result and the ledger."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpmic._format import format_ceil, format_remainder
from dpmic.app import _outcome
from dpmic.app._frame import Page, code, downloads, field, form, listing
from dpmic.app._session import Change, Prepared, Session
from dpmic.app._steps import SEEN, UNDECIDED, home, lacking, raw
from dpmic.app._task import Task
from dpmic.errors import DpmicError, ParameterError, spell
from dpmic.job import Job, as_entry, edited
from dpmic.privacy.ledger import Ledger, is_there
from dpmic.privacy.plan import plan_of
from dpmic.report.markup import facts, paragraphs, text
from dpmic.results import TablePlan

LEAST, MOST = 0.05, 5.0
"""The ends of the slider; the number beside it takes any epsilon."""

SMALL = "min='0' max='0.25' low='0.05' high='0.15' optimum='0'"
"""Bars of noise and error, the smaller the better; noise above 0.25 is refused."""

LARGE = "min='0' max='1' low='0.5' high='0.9' optimum='1'"
"""Bars of chances."""

FOUND = "chance to find a relation of 0.5"

UNCHARGED: Change = {("privacy", "ledger"): None, ("data", "dataset"): None}
"""A plan needs no ledger, which people may name after they have seen it."""

ENFORCED = "a column that identifies the person"
UNTRACKED = (
    "There is no ledger, so this spending is not tracked, and the result is kept only until this "
    "window is stopped. Name a ledger on the page Epsilon."
)
KEEP = "with it, an interrupted run is finished at no cost."
FREE = {
    "stored": (
        "Show the answer",
        "The ledger has the answer to exactly this query already. Showing it again costs nothing.",
    ),
    "charged": (
        "Finish, at no cost",
        "This query is already charged, and has no answer yet. Finishing it costs nothing.",
    ),
}
"""The button and the words for a query that the ledger has."""


# Epsilon


def epsilon(session: Session) -> Page:
    """Show the slider, the plan that belongs to it, and the ledger."""
    content = raw(session)
    privacy, data = content.get("privacy", {}), content.get("data", {})
    now = privacy.get("epsilon", 1.0)
    slider = (
        "<div class='field'><label for='slider'>Epsilon: smaller values protect more, "
        "and add more noise</label>"
        f"<input type='range' id='slider' min='{LEAST}' max='{MOST}' step='{LEAST}' "
        f"value='{text(str(now))}' data-plan='plan' data-number='epsilon'></div>"
    )
    inner = slider + field("epsilon", "Epsilon as a number", now, inputmode="decimal")
    inner += f"<div id='plan' aria-live='polite'>{plan(session, str(now))}</div>"
    inner += "<fieldset><legend>Ledger</legend>"
    inner += field(
        "ledger",
        "Ledger file, with the privacy budget of these people",
        privacy.get("ledger"),
        hint="one ledger for everything that is published about them; empty for none",
    )
    inner += field(
        "dataset",
        "Name of the dataset in the ledger",
        "" if data.get("dataset") == UNDECIDED else data.get("dataset"),
        hint="such as visits 2024; corrected or other data needs another name",
    )
    ledger = session.job.at("privacy", "ledger")
    if ledger is not None and _makeable(ledger):
        inner += field(
            "total",
            "Create this ledger with a total epsilon of",
            "",
            hint=f"{ledger.name} does not exist yet; its total cannot be changed later",
            inputmode="decimal",
        )
    inner += "</fieldset>"
    body = form(session.own("epsilon"), inner, "Save and go on")
    found = lacking(session.job, "epsilon")
    return Page("epsilon", "Epsilon and the plan", found.hint + body, found.wrong)


def _makeable(ledger: Path) -> bool:
    """Return whether there is no such ledger; where nobody can tell, the page says why."""
    with suppress(DpmicError):
        return not is_there(ledger)
    return False


def apply_epsilon(given: dict[str, str], session: Session) -> None:
    """Write epsilon, the ledger and the dataset into the job, and make a ledger if asked."""
    session.change(
        {
            ("privacy", "epsilon"): _epsilon(given.get("epsilon", "")),
            ("privacy", "ledger"): given.get("ledger", "").strip() or None,
            ("data", "dataset"): given.get("dataset", "").strip() or None,
        }
    )
    if given.get("total", "").strip():
        session.make_ledger(_epsilon(given["total"]))


def _epsilon(written: str) -> float:
    try:
        return float(written.replace(",", "."))
    except ValueError:
        raise ParameterError(f"epsilon = {written!r}", "it is not a number", "write 1.0") from None


def plan(session: Session, written: str) -> str:
    """Return the plan for an epsilon: the noise, the expected error, and what would remain."""
    try:
        value = _epsilon(written)
        changes = {("privacy", "epsilon"): value, **UNCHARGED}
        job = Job.of(edited(session.text, changes), session.job.path)
        first = [p for p in job.entries.problems if home(p) != "epsilon"]
        if first:
            return paragraphs("The plan needs the earlier steps; something is missing there.")
        query, refusal = session.planned(job)
        ledger = session.ledger()
    except DpmicError as error:
        return paragraphs(error.spelled(as_entry))
    rows = {"people (about)": f"{job.number_of_people():,}", **_about(query)}
    del rows["n, public"]  # counted later
    rows |= _expected(job, query)
    refused = f"<p class='promise exposed'>{text(refusal)}</p>" if refusal else ""
    rows["ledger"] = _left(ledger, query.epsilon)
    if ledger is not None and any(not entry.answered for entry in ledger.history()):
        rows["interrupted"] = "a query in it was charged and has no answer: see the page Ledger. "
        rows["interrupted"] += "Its own job finishes it at no cost, however little is left"
    return refused + _meters(job, query) + facts(rows)


def _about(query: Any) -> dict[str, str]:
    """Return what is known of a query beforehand; all of it is public."""
    price = f"epsilon = {format_ceil(query.epsilon)}"
    if query.delta:
        price += f", delta = {format_ceil(query.delta)}"
    rows = {
        "publishes": query.publishes,
        "protects": query.unit.planned(ENFORCED),
        "n, public": f"{query.n:,}",
        "costs": price,
    }
    if query.noise_in_words is not None:
        rows["noise"] = query.noise_in_words
    return rows


def _planned(job: Job, query: Any) -> Any:
    """Return the plan of a query, with the errors that simulations tell; None for a test."""
    if job.ask == "test":
        return None
    planned = plan_of(query, simulated=job.usual)
    return planned if isinstance(planned, TablePlan) else planned.rows[0]


def _expected(job: Job, query: Any) -> dict[str, str]:
    """Return what the values will be worth."""
    planned, shown = _planned(job, query), {}
    if isinstance(planned, TablePlan):
        shown["expected error"] = _error(planned.error, planned.error_upper)
        if planned.selection_epsilon:  # else every pair is published
            shown.update([planned.chance_sentence()])
    elif planned is not None:
        shown["expected error"] = _error(planned.value, planned.value_upper)
    return {**shown, **{name: spell(words, as_entry) for name, words in query.promises.items()}}


def _error(value: float | None, upper: float | None) -> str:
    if value is None or upper is None:
        return "not simulated for so little data or so small an epsilon"
    on_average = f"{value:.2g} from the value in the whole population, on average"
    return f"{on_average}; at most {upper:.2g} in 90% of cases"


def _meters(job: Job, query: Any) -> str:
    """Draw the noise, the expected error and the chance of a strong pair."""
    planned, said = _planned(job, query), {}
    drawn: dict[str, tuple[float | None, str]] = {}
    if isinstance(planned, TablePlan):
        drawn["noise of a value, 95%"] = planned.half_width, SMALL
        drawn["expected error"] = planned.error, SMALL
        drawn[FOUND] = planned.chance, LARGE
        if planned.chance is not None:
            said[FOUND] = planned.chance_in_words()[1]
    elif planned is not None:
        drawn["expected error"] = planned.value, SMALL
        drawn["error in 90% of cases, at most"] = planned.value_upper, SMALL
    return "".join(
        f"<p class='gauge'><label for='gauge{place}'>{text(name)}</label> "
        f"<meter id='gauge{place}' {scale} value='{value:.4f}'></meter> "
        f"<span class='number'>{text(said.get(name, f'{value:.2g}'))}</span></p>"
        for place, (name, (value, scale)) in enumerate(drawn.items())
        if value is not None
    )


def _left(ledger: Ledger | None, price: float) -> str:
    """Say what the ledger has left, and would have."""
    if ledger is None:
        return "none yet, so this spending would not be tracked"
    now = ledger.balance()
    left = f"{format_remainder(now.remaining, now.total)} of {now.total:.6g} left"
    if not price:
        return left
    if price > now.remaining:
        return f"{left}: too little for this"
    return f"{left}, {format_remainder(now.remaining - price, now.total)} after this"


# Work that takes a while


def how_far(task: Task) -> str:
    """Return how far a piece of work is."""
    shown, drawn = f"{task.what}, for {task.seconds:.0f} s so far", ""
    if task.done is not None and task.done[2]:
        what, done, total = task.done
        shown = f"{what}: {done:,} of {total:,}, for {task.seconds:.0f} s so far"
        drawn = f"<progress max='{total}' value='{done}' aria-label='{text(what)}'></progress>"
    return f"<p>{text(shown)}</p>{drawn}"


def progress(session: Session, task: Task, place: str) -> str:
    """Return how far a piece of work is, and a way to stop it."""
    body = f"<div id='progress' data-of='{place}' role='status'>{how_far(task)}</div>"
    if task.stoppable:
        hidden = f"<input type='hidden' name='what' value='{place}'>"
        return body + form(session.own("stop"), hidden, "Stop")
    return body + paragraphs(
        "A query that has begun to spend cannot be stopped here. You can close this page."
    )


def rehearsal(session: Session) -> Page:
    """Show the report on made-up data."""
    task, title = session.rehearsal, "Rehearsal on made-up data"
    said = paragraphs(
        "The rehearsal makes up columns within the bounds and categories of the job. It reads no "
        "record and spends nothing. Its values mean nothing; noise and report are real."
    )
    again = form(session.own("rehearsal"), "", "Rehearse" if task is None else "Rehearse again")
    if task is None:
        return Page("rehearsal", title, said + again, lacking(session.job).all)
    if task.state == "running":
        return Page("rehearsal", title, progress(session, task, "rehearsal"), waiting=True)
    if task.state != "done":
        failed = [task.error or "The rehearsal was stopped."]
        return Page("rehearsal", title, said + again, failed)
    done: _outcome.Outcome = task.result
    body = f"{again}<p><a href='consent'>Next: Consent</a></p>{_outcome.inside(done.report)}"
    notes = [] if done.job is session.current else ["The job was changed after this rehearsal."]
    return Page("rehearsal", title, body, notes)


# Consent


def consent(session: Session) -> Page:
    """Show exactly what would run, and ask."""
    task, title = session.preparation, "Consent"
    found = lacking(session.job).all
    if found:
        return Page("consent", title, paragraphs("Nothing can be spent yet."), found)
    if task is not None and task.state == "running":
        return Page("consent", title, progress(session, task, "consent"), waiting=True)
    prepare = form(session.own("consent"), "", "Read the table and show the plan")
    said = paragraphs(
        "This reads the table, counts the records and prepares the query. Nothing is spent yet."
    )
    for number, run in enumerate(session.runs, 1):
        if run.about is session.current:
            words = "This job was run: see its result."
            said = f"<p><a href='result?run={number}'>{words}</a></p>" + said
    prepared = session.prepared
    if prepared is not None:
        return Page("consent", title, _asking(session, prepared))
    failed = []
    if task is not None and task.about is session.current:
        failed = [task.error or "It was stopped."]
    return Page("consent", title, said + prepare, failed)


def _asking(session: Session, prepared: Prepared) -> str:
    """Return the query, what will be printed beside its result, and the button that spends."""
    query, job = prepared.query, prepared.job
    ledger, dataset = query.terms.ledger, query.terms.dataset
    cost = format_ceil(query.epsilon)
    label, notes = f"Spend epsilon = {cost} and publish", ""
    rows = {"table": _whole_name(job)} | ({"dataset": dataset} if dataset else {})
    rows |= _about(query) | _expected(job, query)
    if ledger is not None:
        rows["ledger"] = str(ledger.path)
        rows["budget"] = _left(ledger, query.epsilon if prepared.state == "new" else 0)
        notes = f"<p><a href='job.toml' download>Keep the job file</a>: {KEEP}</p>"
    if prepared.state != "new":
        label, words = FREE[prepared.state]
        notes = paragraphs(words)
    elif ledger is None:
        notes = _exposed(UNTRACKED) + _again(session, prepared)
    if prepared.explored:
        notes = _exposed(SEEN) + notes
    if prepared.notes:
        notes = f"<p class='hint'>{text('. '.join(prepared.notes))}.</p>" + notes
    hidden = f"<input type='hidden' name='nonce' value='{prepared.nonce}'>"
    shown = "<section class='promise' aria-labelledby='promise'><h2 id='promise'>Guarantee, as it "
    shown += f"will be printed</h2>{paragraphs(prepared.guarantee)}</section>"
    return shown + facts(rows) + notes + form("spend", hidden, label)


def _whole_name(job: Job) -> str:
    """Return which table a job is about, with its folder."""
    if job.table is not None:
        return f"{job.table.name}, uploaded"
    return os.path.abspath(job.at("data", "file") or "")


def _exposed(said: str, link: str = "") -> str:
    return f"<p class='promise exposed'>{text(said)}{link}</p>"


def _again(session: Session, prepared: Prepared) -> str:
    """Say what was spent on a table in this window before, where no ledger counts it."""
    query = prepared.query
    before = session.untracked_before(prepared.job)
    if not before:
        return ""
    same = [place for place, spent in before.items() if spent.key == query.key]
    said = "You published this job in this window already. Doing it again spends"
    if not same:
        said = "You published from this table in this window already. This spends"
    whole = format_ceil(query.epsilon + sum(spent.epsilon for spent in before.values()))
    said += f" another {format_ceil(query.epsilon)}, {whole} in all."
    place = (same or [*before])[-1] + 1
    return _exposed(said, f" <a href='result?run={place}'>See its result.</a>")


# The result


def result(session: Session, number: int) -> Page:
    """Show the report of one run, with all that makes it again; -1 if there is none."""
    if number < 0:
        said = paragraphs("Nothing was published in this window yet.")
        return Page("result", "Result", said + "<p><a href='consent'>To the consent</a></p>")
    task = session.runs[number]
    if task.state == "running":
        return Page("result", "Result", progress(session, task, "result"), waiting=True)
    others = _others(session, number)
    if task.state != "done":
        body = "<p><a href='epsilon'>To epsilon</a></p>" + others
        return Page("result", "Result", body, [*_belongs(session, task.about), task.error])
    done: _outcome.Outcome = task.result
    run = f"run={number + 1}"
    links = [(f"result.{kind}?{run}", words) for kind, words in _outcome.KINDS.items()]
    if not hasattr(done.result, "plot"):
        links = [link for link in links if not link[0].startswith("result.png")]
    links.append((f"job.toml?{run}", f"Job file, {done.job.path.name}"))
    body = f"{others}<h2>Files</h2>{downloads(links)}{_outcome.inside(done.report)}"
    body += "<section><h2>The same again</h2>"
    again = _outcome.commands(done.job)[-1]
    body += paragraphs(_home(done.job))
    body += code("In a terminal, in the folder of the job file:", again)
    body += code("In Python:", done.script) + "</section>"
    return Page("result", "Result", body, _belongs(session, done.job))


def _home(job: Job) -> str:
    """Say where a downloaded job file finds its table and its ledger."""
    names = [job.get("data", "file"), job.get("privacy", "ledger")]
    beside = " and ".join(name for name in names if name and not Path(name).is_absolute())
    said = f"Save the job file in {job.path.parent}{', beside ' if beside else ''}{beside}."
    return said if names[1] is None else f"{said} Do not create a second ledger."


def _belongs(session: Session, job: Job) -> list[str]:
    """Say which job a result belongs to, where it is not the one that the window works on."""
    now = session.current
    if now is None or now.path != job.path or now.table is not job.table:
        return [f"This is the result of {job.path.name}, which was begun earlier in this window."]
    if now.text != job.text:
        return ["The job was changed after this was published. Below is the one that ran."]
    return []


def _others(session: Session, number: int) -> str:
    """Return links to the other results of this window."""
    links = "".join(
        f"<li><a href='result?run={place + 1}'>{place + 1}. {text(run.about.path.name)}</a></li>"
        for place, run in enumerate(session.runs)
        if place != number
    )
    return f"<h2>Other results</h2><ul class='downloads'>{links}</ul>" if links else ""


def ledger_page(session: Session) -> Page:
    """Show what was spent so far, and what remains."""
    ledger = session.ledger()
    if ledger is None:
        said = "The job names no ledger, or it is not there yet. The page Epsilon makes one."
        return Page("ledger", "Ledger", paragraphs(said))
    return Page("ledger", "Ledger", _history(ledger))


def _history(ledger: Ledger) -> str:
    now = ledger.balance()
    rows = {
        "total, epsilon": f"{now.total:.6g}",
        "spent": format_ceil(now.spent),
        "left": format_remainder(now.remaining, now.total),
    }
    drawn = (
        f"<p class='gauge'><label for='spent'>Spent of {now.total:.6g}</label> <meter id='spent' "
        f"min='0' max='{now.total!r}' value='{now.spent!r}'></meter></p>"
    )
    lines = [
        (
            entry.time.partition("+")[0].replace("T", " "),
            entry.dataset or "",
            entry.words,
            format_ceil(entry.epsilon),
            "answered" if entry.answered else "pending: the same query again is free",
        )
        for entry in reversed(ledger.history())
    ]
    if not lines:
        return drawn + facts(rows) + paragraphs("Nothing was asked yet.")
    heads = ("time (UTC)", "dataset", "question", "epsilon", "state")
    shown = listing("Every query, the latest first.", heads, lines)
    return drawn + facts(rows) + shown
