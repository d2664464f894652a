"""What the window knows: one job file or one open table, and the work that belongs to it."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dpmic._format import plural
from dpmic.app._outcome import Outcome
from dpmic.app._task import Task
from dpmic.data import Dialect, Uploaded, header
from dpmic.errors import DpmicError, InputError, ParameterError
from dpmic.job import Job, as_entry, edited, speaking_of_keys, template
from dpmic.privacy.ledger import Balance, Ledger, is_there
from dpmic.privacy.query import Query, Terms

ENDING = ".dpmic.toml"
FORMAT = re.compile(r".*Dialect\((\w+)=(.*)\)\)")
MOST_MADE_UP = 1_000_000
"""People up to which the plan follows the slider: it needs as many made-up records."""

Change = Mapping[tuple[str, str], Any]
State = Literal["new", "charged", "stored"]
"""What the ledger has of a query: nothing, its charge, or its answer; only a new one costs."""


@dataclass(frozen=True, eq=False, repr=False)
class Prepared:
    """A query that waits for consent, the job it comes from, and the guarantee of its result.

    The form of the page Consent sends ``nonce`` back; it is good for one run. ``notes`` say what
    was recognised in the file, and ``explored`` whether this window had its exact scores.
    """

    job: Job
    query: Query[Any]
    guarantee: str
    state: State
    notes: Sequence[str]
    explored: bool
    nonce: str


class Untracked(NamedTuple):
    """What a run without a ledger has spent, and on which table."""

    table: object
    key: str
    epsilon: float


@dataclass
class Session:
    """The state of the window; all its tabs share it.

    Attributes
    ----------
    folder : Path
        Where relative names begin.
    file, table : str, Uploaded or None
        The table as somebody named it, and its content if it was uploaded.
    current : Job or None
        The job that is being made. A change makes another one, so work keeps the job it is about.
    rehearsal, preparation, scores : Task or None
        The latest of each; ``about`` is the job, or the name of the open table.
    begun : int
        How often somebody has started over; forms send it back.
    seen : set
        The tables whose exact scores this window has had, by their places and contents.
    runs : list of Task
        All that was published since the window was opened, whatever was begun later.
    untracked : dict
        What those of them have spent that had no ledger, by their places.
    downloaded : set of int
        The places of the runs of which a file was downloaded.
    lock : RLock
        Held by one tab at a time, while it reads or changes the state.
    """

    folder: Path
    file: str = ""
    table: Uploaded | None = None
    current: Job | None = None
    rehearsal: Task | None = None
    preparation: Task | None = None
    scores: Task | None = None
    looks: dict[tuple[str, str], Task] = field(default_factory=dict)
    runs: list[Task] = field(default_factory=list)
    untracked: dict[int, Untracked] = field(default_factory=dict)
    downloaded: set[int] = field(default_factory=set)
    begun: int = 0
    seen: set[object] = field(default_factory=set)
    said: str = ""
    noted: str = ""
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    _used: dict[str, int] = field(default_factory=dict)
    _made: tuple[Any, Any] | None = None

    @property
    def mode(self) -> Literal["", "private", "open"]:
        """Whether a job is made, or an open table is looked at: never both."""
        if self.current is not None:
            return "private"
        return "" if self.scores is None else "open"

    # The beginning

    def begin(self, name: str) -> None:
        """Take a file that somebody names: a job file, or a table."""
        path = self.folder / name
        if self.current is not None and self.current.path == path:
            return  # a second click
        self.refuse_another()
        if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
            raise InputError(name, "this is neither a file nor a folder", "choose a table")
        if name.endswith(".toml"):
            job = Job.load(path)
            self.start_over()
            self.current = job
            return
        header(str(path))
        self.start_over()
        self.file = name

    def take(self, table: Uploaded) -> None:
        """Take an uploaded table, or a job file that was uploaded."""
        self.refuse_another()
        if table.name.endswith(".toml"):
            text = table.content.decode("utf-8", "replace")
            job = _about(Job.of(text, self.folder / table.name, self.table))
            self.start_over()
            self.current = job
            return
        header(table)
        self.start_over()
        self.file, self.table = table.name, table

    def refuse_another(self) -> None:
        """Refuse a beginning in a window that is at work, such as from an old tab."""
        if self.mode:
            reason = "this window is working on it"
            raise ParameterError(self.about, reason, "start over before you begin another")

    @property
    def about(self) -> str:
        """The name of what the window works on."""
        return self.file if self.current is None else self.current.path.name

    def start_over(self) -> None:
        """Forget the table and the job; what was published stays, and a run that has begun."""
        for task in (self.rehearsal, self.preparation, self.scores, *self.looks.values()):
            if task is not None:
                task.stop()
        self.rehearsal = self.preparation = self.scores = None
        self.file, self.table, self.current, self._made, self.looks = "", None, None, None, {}
        self.said = self.noted = ""
        self.begun += 1

    def own(self, place: str) -> str:
        """Return the address of a form that changes this job, and no other that is begun later."""
        return f"{place}?of={self.begun}"

    def make_job(self) -> None:
        """Begin a job file for the table, from its header alone."""
        if self.current is not None:
            return  # a second click
        self.refuse_another()
        notes: list[str] = []
        names = header(self.source, note=notes.append)
        path = self.folder / (Path(self.file).stem + ENDING)
        text = template(Path(self.file).as_posix(), names, path)
        self.current = Job.of(text, path, self.table)
        self.noted = ". ".join(notes)

    @property
    def source(self) -> str | Uploaded:
        """The table: in memory, or where it is."""
        if self.table is None and not self.file:
            raise InputError("the table", "none was chosen", "choose one on the first page")
        return self.table or str(self.folder / self.file)

    @property
    def explored(self) -> bool:
        """Whether the exact scores of the job's table were seen in this window."""
        with suppress(ValueError):  # a name that no file can have
            return _place(self.job) in self.seen
        return False

    # The job

    @property
    def job(self) -> Job:
        """The job as it stands."""
        if self.current is None:
            raise InputError("the job", "none was begun", "begin on the first page")
        return self.current

    @property
    def text(self) -> str:
        """The job file."""
        return self.job.text

    def names(self, note: Callable[[str], None] | None = None) -> tuple[str, ...]:
        """Return the columns of the header, and those that the job names besides."""
        job = self.job
        try:
            file = job.table or str(job.at("data", "file"))
            found = header(file, Dialect(**job.written), note)
        except DpmicError:
            found = ()
        return tuple(dict.fromkeys((*found, *job.entries.columns)))

    def change(self, changes: Change) -> None:
        """Change entries of the job."""
        self.rewrite(edited(self.text, changes))

    def rewrite(self, text: str) -> None:
        """Replace the whole text of the job by one that is TOML."""
        if text != self.text:
            self.current = _about(Job.of(text, self.job.path, self.job.table))

    def ledger(self) -> Ledger | None:
        """Return the budget that the job names, if it is there."""
        path = self.job.at("privacy", "ledger")
        return Ledger(path) if path is not None and is_there(path) else None

    def make_ledger(self, epsilon: float) -> None:
        """Make the budget that the job names; one that is there is never changed."""
        path = self.job.at("privacy", "ledger")
        if path is None:
            raise ParameterError("the ledger", "it has no name", "name it first")
        if not is_there(path):
            Ledger(path, epsilon)
        elif Ledger(path).total != epsilon:  # else a second click
            raise ParameterError(str(path), "this file exists", "choose another name")

    # The work

    def planned(self, job: Job) -> tuple[Query[Any], str]:
        """Prepare the query of a job on made-up data: it has the noise of the real one.

        Beside it stands why the job would be refused for its noise, if it would be.
        """
        if job.number_of_people() > MOST_MADE_UP:
            reason = "of so many the noise is next to nothing, and a plan takes long"
            raise ParameterError("the plan", reason, "rehearse the job instead")
        shape = edited(job.text, {("privacy", "epsilon"): 1.0})
        known, made = self._made or (None, None)
        if known != shape:
            made = job.made_up(rows=1)  # one row each: more records would only have less noise
            self._made = (shape, made)
        try:
            return _free(job, made), ""
        except ParameterError as error:
            return _free(job, made, allow_noisy=True), error.spelled(as_entry)

    def rehearse(self) -> None:
        """Run the job on made-up data."""
        job = self.job
        job.refuse(job.entries.problems)
        if self.rehearsal is None or self.rehearsal.state != "running":

            def work(task: Task) -> Outcome:
                query = job.rehearsal()
                task.refuse_stopped()
                return Outcome(job, _run(query), rehearsal=True)

            self.rehearsal = Task("rehearsing", job, work, as_entry)

    def prepare(self) -> None:
        """Read the table and prepare the query, which spends nothing."""
        notes: list[str] = []
        job, names, seen = self.job, self.names(notes.append), self.seen
        job.refuse(job.check())

        def work(task: Task) -> Prepared:
            query = job.query()
            task.refuse_stopped()
            state = _state(query)
            if state != "stored":
                query.check()
            guarantee = _guarantee(job, query.n, names)
            explored = bool(seen) and not seen.isdisjoint(identities(_table(job)))
            nonce = secrets.token_urlsafe(16)
            return Prepared(job, query, guarantee, state, notes, explored, nonce)

        now = self.preparation
        if now is None or now.about is not job or now.state != "running":
            self.preparation = Task("preparing the query", job, work, as_entry)

    @property
    def prepared(self) -> Prepared | None:
        """The query that waits for consent, if it is that of the job as it stands."""
        task = self.preparation
        if task is None or task.about is not self.current:
            return None
        found: Prepared | None = task.result
        return found

    def spend(self, nonce: str) -> int:
        """Run the prepared query, once for each consent, whichever tab it comes from.

        Returns the place of the run in ``runs``. It keeps the job as it was consented to.
        """
        if nonce in self._used:
            return self._used[nonce]  # a second click, or another tab
        prepared = self.prepared
        if prepared is None or not _same(prepared.nonce, nonce):
            raise _changed()
        if self.publishing is not None:
            raise ParameterError("the query", "another one is running", "wait for its result")
        job, query = prepared.job, prepared.query
        if prepared.state != "new" and _state(query) == "new":  # another ledger is in its place
            self.preparation = None
            raise _changed()
        if query.terms.ledger is None:
            self.untracked[len(self.runs)] = Untracked(_place(job), query.key, query.epsilon)
        self._used[nonce] = len(self.runs)
        self.preparation = None

        def work(_: Task) -> Outcome:
            return Outcome(job, _run(query), _balance(query.terms.ledger))

        self.runs.append(Task("publishing", job, work, as_entry, stoppable=False))
        return self._used[nonce]

    def untracked_before(self, job: Job) -> dict[int, Untracked]:
        """Return what was spent without a ledger on the table of a job, by the places of runs."""
        return {
            place: spent
            for place, spent in self.untracked.items()
            if spent.table == _place(job) and self.runs[place].state != "failed"
        }

    @property
    def publishing(self) -> Task | None:
        """The run that has not ended."""
        return next((run for run in self.runs if run.state == "running"), None)

    def farewell(self) -> str:
        """Return what to say at the end."""
        run = self.publishing
        if run is None:
            done = {place for place in self.untracked if self.runs[place].state == "done"}
            lost = len(done - self.downloaded)
            said = f" Lost: {plural(lost, 'result')} without a ledger, never downloaded."
            return f"Stopped.{said if lost else ''}"
        if run.about.at("privacy", "ledger") is None:
            return "Stopped while publishing. There is no ledger, so count it as spent."
        return "Stopped while publishing. If it was charged, the same job finishes it at no cost."


def identities(table: str | Path | Uploaded) -> set[object]:
    """Return what a table that was read is known by: its place, and the hash of a file."""
    if isinstance(table, Uploaded):
        return {table.digest}
    known: set[object] = {os.path.realpath(table)}
    with suppress(OSError), open(table, "rb") as file:  # a folder is known by its place alone
        known.add(hashlib.file_digest(file, "sha256").hexdigest())
    return known


def _table(job: Job) -> Path | Uploaded:
    """Return the table of a job."""
    file = job.table or job.at("data", "file")
    return Path() if file is None else file


def _place(job: Job) -> object:
    """Return what the table of a job is known by, without reading it."""
    table = _table(job)
    return table.digest if isinstance(table, Uploaded) else os.path.realpath(table)


def before_a_job(code: str) -> str:
    """Spell the format of a file, which only a job can state, as a step in a terminal."""
    return for_a_terminal(code, "dpmic init", ", and open the job file that it writes")


def for_a_terminal(code: str, command: str, then: str = "") -> str:
    """Spell the format of a file as an option of a command, and other code as in a job file."""
    found = FORMAT.fullmatch(code)
    if found is None:
        return as_entry(code)
    return f"--{found[1]} {found[2]} to {command} in a terminal{then}"


def _about(job: Job) -> Job:
    """Refuse a job that names another file than the table that was uploaded for it."""
    named = job.get("data", "file")
    if job.table is None or named is None:
        return job
    name = re.split(r"[/\\]", named)[-1]
    if name != job.table.name:
        reason = f"The job is about {name}; you uploaded {job.table.name}"
        raise InputError(job.path.name, reason, f"start over and upload {name} first")
    return job


def _state(query: Query[Any]) -> State:
    """Return what the ledger has of a query."""
    entry = query.stored()
    if entry is None:
        return "new"
    return "stored" if entry.answered else "charged"


def _changed() -> ParameterError:
    reason = "it was changed after this page was shown, so nothing was spent"
    return ParameterError("the plan", reason, "read it again")


def _run(query: Query[Any]) -> Any:
    with speaking_of_keys():
        return query.run()


def _balance(ledger: Ledger | None) -> Balance | None:
    """Return what a ledger has right after a run, whose result nothing here may cost."""
    with suppress(DpmicError):
        return None if ledger is None else ledger.balance()
    return None


def _same(given: str, secret: str) -> bool:
    return secrets.compare_digest(given.encode(), secret.encode())


def _free(job: Job, made: Any, **other: Any) -> Query[Any]:
    """Prepare the query of a job on made-up columns, without a ledger."""
    terms, _ = job.keywords()
    terms |= {"ledger": None, "dataset": None, **other}
    with speaking_of_keys():
        return job.prepare(Terms(**terms), made)


def _guarantee(job: Job, n: int, order: Sequence[str]) -> str:
    """Return the guarantee of a job by running it on made-up records, as many as there are.

    It lists what is public, in the order of the columns in the file.
    """
    made = job.made_up(n, rows=1)
    known = [name for name in order if name in made.column_names]
    sentences: str = _free(job, made.select(known)).run().guarantee
    # The last sentence of a test is about its p-value, which nobody has drawn yet.
    return sentences.rpartition(" If ")[0] if job.ask == "test" else sentences
