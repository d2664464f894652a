"""What the window knows: one job file or one open table, and the work that belongs to it."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dpmic.app._task import Task
from dpmic.data import Dialect, Uploaded, header
from dpmic.errors import DpmicError, InputError, ParameterError
from dpmic.job import Job, edited, for_the_file, speaking_of_keys, template
from dpmic.privacy.ledger import Ledger
from dpmic.privacy.query import Query, Terms

ENDING = ".dpmic.toml"
MOST_MADE_UP = 1_000_000
"""People up to which the plan follows the slider: it needs as many made-up records."""

Change = Mapping[tuple[str, str], Any]


@dataclass(frozen=True, eq=False, repr=False)
class Prepared:
    """A query that waits for consent, and what will be printed beside its result.

    The form of the page Consent sends ``nonce`` back; it is good for one run.
    """

    query: Query[Any]
    guarantee: str
    stored: bool
    nonce: str


@dataclass
class Session:
    """The state of the window; all its tabs share it.

    Attributes
    ----------
    folder : Path
        Where relative names begin: that of the job file.
    mode : {"", "private", "open"}
        Whether a job is made, or an open table is looked at. One process does not mix them
        unless somebody starts over.
    path, text : Path, str
        The job file: where it would be, and what stands in it.
    table : Uploaded or None
        A table that was uploaded.
    file : str
        The table as somebody named it.
    rehearsal, preparation, run : Task or None
        The latest of each; ``about`` is the text of the job.
    """

    folder: Path
    mode: Literal["", "private", "open"] = ""
    path: Path = Path("job.dpmic.toml")
    text: str = ""
    table: Uploaded | None = None
    file: str = ""
    rehearsal: Task | None = None
    preparation: Task | None = None
    run: Task | None = None
    scores: Task | None = None
    pairs: dict[tuple[str, str], Task] = field(default_factory=dict)
    said: str = ""
    noted: str = ""
    _used: set[str] = field(default_factory=set)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    _made: tuple[Any, Any] | None = None

    # The beginning

    def begin(self, name: str) -> None:
        """Take a file that somebody names: a job file, or a table."""
        path = self.folder / name
        if name.endswith(".toml"):
            job = Job.load(path)
            self.start_over()
            self.folder, self.path, self.text = path.parent, path, job.text
            self.mode = "private"
            return
        header(str(path))
        self.start_over()
        self.file = name

    def take(self, table: Uploaded) -> None:
        """Take an uploaded table, or a job file that was uploaded."""
        if table.name.endswith(".toml"):
            text = table.content.decode("utf-8", "replace")
            job, earlier = Job.of(text, self.folder / table.name), self.table
            self.start_over()
            self.path, self.text, self.mode, self.table = job.path, text, "private", earlier
            return
        header(table)
        self.start_over()
        self.file, self.table = table.name, table

    def start_over(self) -> None:
        """Forget the table and the job; a run that has begun goes on."""
        with self._lock:
            for task in (self.rehearsal, self.preparation, self.scores, *self.pairs.values()):
                if task is not None:
                    task.stop()
            self.mode, self.text, self.file = "", "", ""
            self.table = self.rehearsal = self.preparation = self.scores = self._made = None
            self.pairs = {}
            if self.run is not None and self.run.state != "running":
                self.run = None

    def make_job(self) -> None:
        """Begin a job file for the table, from its header alone."""
        notes: list[str] = []
        names = header(self.source, note=notes.append)
        self.path = self.folder / (Path(self.file).stem + ENDING)
        self.text = template(Path(self.file).as_posix(), names, self.path)
        self.mode, self.noted = "private", ". ".join(notes)

    @property
    def source(self) -> str | Uploaded:
        """The table: in memory, or where it is."""
        if self.table is None and not self.file:
            raise InputError("the table", "none was chosen", "choose one on the first page")
        return self.table or str(self.folder / self.file)

    # The job

    @property
    def job(self) -> Job:
        """The job as it stands."""
        return Job.of(self.text, self.path, self.table)

    def names(self) -> tuple[str, ...]:
        """Return the columns of the header, and those that the job names besides."""
        job = self.job
        try:
            file = job.table or str(job.at("data", "file"))
            found = header(file, Dialect(**job.written))
        except DpmicError:
            found = ()
        return tuple(dict.fromkeys((*found, *job.entries.columns)))

    def change(self, changes: Change) -> None:
        """Change entries of the job."""
        with self._lock:
            self.text = edited(self.text, changes)

    def rewrite(self, text: str) -> None:
        """Replace the whole text of the job by one that is TOML."""
        Job.of(text, self.path)
        self.text = text

    def ledger(self) -> Ledger | None:
        """Return the budget that the job names, if it is there."""
        path = self.job.at("privacy", "ledger")
        return Ledger(path) if path is not None and path.exists() else None

    def make_ledger(self, epsilon: float) -> None:
        """Make the budget that the job names; one that is there is never changed."""
        path = self.job.at("privacy", "ledger")
        if path is None:
            raise ParameterError("the ledger", "it has no name", "name it first")
        if path.exists():
            raise ParameterError(str(path), "this file exists", "choose another name")
        Ledger(path, epsilon)

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
        query = _free(job, made, allow_noisy=True)
        try:
            _free(job, made)
        except ParameterError as error:
            return query, error.spelled(for_the_file)
        return query, ""

    def rehearse(self) -> None:
        """Run the job on made-up data."""
        job = self.job
        query = job.rehearsal()
        with self._lock:
            if self.rehearsal is None or self.rehearsal.state != "running":
                self.rehearsal = Task("rehearsing", job.text, lambda _: query.run(), for_the_file)

    def prepare(self) -> None:
        """Read the table and prepare the query, which spends nothing."""
        job = self.job
        job.refuse(job.check())

        def work(task: Task) -> Prepared:
            query = job.query()
            task.refuse_stopped()
            entry = query.stored()
            stored = entry is not None and entry.answer is not None
            if not stored:
                query.check()
            guarantee = _guarantee(job, query.n, self.names())
            return Prepared(query, guarantee, stored, secrets.token_urlsafe(16))

        with self._lock:
            now = self.preparation
            if now is None or now.about != job.text or now.state != "running":
                self.preparation = Task("preparing the query", job.text, work, for_the_file)

    def spend(self, nonce: str) -> None:
        """Run the prepared query, once for each consent, whichever tab it comes from."""
        with self._lock:
            if nonce in self._used:
                return  # a second click, or another tab
            task = self.preparation
            prepared = None if task is None or task.about != self.text else task.result
            if prepared is None or not secrets.compare_digest(prepared.nonce, nonce):
                raise ParameterError(
                    "the plan",
                    "it was changed after this page was shown, so nothing was spent",
                    "read it again",
                )
            if self.run is not None and self.run.state == "running":
                raise ParameterError("the query", "another one is running", "wait for its result")
            self._used.add(nonce)
            self.preparation = None
            query = prepared.query

            def work(_: Task) -> Any:
                with speaking_of_keys():
                    return query.run()

            self.run = Task("publishing", self.text, work, for_the_file, stoppable=False)

    def farewell(self) -> str:
        """Return what to say at the end."""
        if self.run is not None and self.run.state == "running":
            if self.job.at("privacy", "ledger") is None:
                return "Stopped while publishing. There is no ledger, so count it as spent."
            return (
                "Stopped while publishing. If it was charged, the same job finishes it at no cost."
            )
        return "Stopped."


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
