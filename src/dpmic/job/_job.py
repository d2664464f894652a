"""A job file as an object: check, plan, rehearse, query and run."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpmic._progress import reading
from dpmic._validate import Categories, Domain, moment
from dpmic.data import Dialect, Uploaded, header, is_table, load, position, with_format
from dpmic.errors import (
    DpmicError,
    InputError,
    LedgerError,
    ParameterError,
    did_you_mean,
    safe_repr,
)
from dpmic.job import _made_up, _rules
from dpmic.job._entries import KEYS, Entries, EntryError, speaking_of_keys
from dpmic.privacy import independence, pairwise, plan, release, screen
from dpmic.privacy.ledger import is_there
from dpmic.privacy.query import Query, Terms, private, without_reminder
from dpmic.results import Plan, Published, TablePlan

MADE_UP = "rehearsal on made-up data"
"""The dataset of every rehearsal, so that its result cannot pass for a real one."""

WRITTEN = ("sep", "decimal", "encoding", "na", "sheet")
"""The keys for the format of the data file."""

OWN_OPTIONS = ("cap", "B", "c", "split")
"""The keys that change how pairs are scored."""

UNIT_INTERVAL = (0.0, 1.0)
"""The domain of made-up columns that need no bounds."""

GAPS = 0.25
"""In made-up columns, the share of missing values among records that may be incomplete."""


@dataclass(frozen=True, eq=False, repr=False)
class Job:
    """A job file: what to publish about a table, whose privacy it protects, and at what cost.

    Relative paths in it start from its own folder. A job file contains no data, and
    :meth:`check`, :meth:`plan` and :meth:`rehearse` read no record.

    Attributes
    ----------
    path : Path
        The path, as given.
    text : str
        The text of the file, with comments; reports show it unchanged.
    table : Uploaded or None
        A table in memory, to be used instead of the file that the job names.

    Examples
    --------
    >>> import tempfile, dpmic
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name, "visits.dpmic.toml")
    >>> _ = path.write_text('''
    ... [data]
    ... file = "visits.csv"
    ... people = 5000
    ... [privacy]
    ... one_row_per_person = true
    ... epsilon = 1.0
    ... [question]
    ... ask = "strongest pairs"
    ... top = 1
    ... [columns]
    ... age = { bounds = [0, 120] }
    ... dose = { bounds = [0, 400] }
    ... weight = { bounds = [0, 300] }
    ... ''')
    >>> job = dpmic.Job.load(path)
    >>> job.plan().half_width < 0.1
    True
    >>> made = job.rehearse()
    >>> len(made.pairs), made.dataset
    (1, 'rehearsal on made-up data')
    >>> folder.cleanup()
    """

    path: Path
    text: str
    entries: Entries = field(repr=False)
    table: Uploaded | None = None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Job:
        """Read a job file; :meth:`check` lists what is missing or wrong in it.

        Raises
        ------
        InputError
            If the file cannot be read or is not TOML.
        """
        file = Path(path)
        try:
            text = file.read_text(encoding="utf-8-sig")
        except OSError as error:
            missing = isinstance(error, FileNotFoundError)
            reason = "there is no such file" if missing else error.strerror or "it cannot be read"
            raise InputError(str(file), reason, "check the name and the folder") from None
        except UnicodeDecodeError as error:
            raise _no_toml(file, error) from None
        except ValueError:  # a name that no file can have
            raise InputError(safe_repr(str(file)), "it is not a path", "check the name") from None
        return cls.of(text, file)

    @classmethod
    def of(cls, text: str, path: str | os.PathLike[str], table: Uploaded | None = None) -> Job:
        """Return the job that a text describes, as if it stood in the file ``path``."""
        try:
            entries = Entries.read(text)
        except ValueError as error:
            raise _no_toml(path, error, text) from None
        except RecursionError:
            raise _no_toml(path, ValueError("it is nested too deeply")) from None
        _rules.apply(entries)
        return cls(Path(path), text, entries, table)

    # The content of the file

    def get(self, table: str, key: str, default: Any = None) -> Any:
        """Return one entry, or the default if there is none."""
        return self.entries.get(table, key, default)

    def at(self, table: str, key: str) -> Path | None:
        """Return the file in an entry, relative to the folder of the job."""
        name = self.get(table, key)
        return None if name is None else self.path.parent / name

    @property
    def _source(self) -> str | Uploaded | None:
        """Where the records are."""
        file = self.at("data", "file")
        return self.table or (None if file is None else str(file))

    @property
    def ask(self) -> str:
        """The question."""
        return str(self.get("question", "ask"))

    @property
    def variables(self) -> list[str]:
        """The columns that are scored or form groups."""
        by = self.get("groups", "by")
        scored = _rules.variables(self.entries)
        return scored if by is None or by in scored else [*scored, by]

    @property
    def written(self) -> dict[str, Any]:
        """The entries for the format of the data file."""
        given = {key: self.get("data", key) for key in WRITTEN}
        return {key: value for key, value in given.items() if value is not None}

    @property
    def ends(self) -> dict[str, Any]:
        """The bounds of numeric and date columns; None for a column without bounds."""
        columns = {name: self.entries.columns[name] for name in self.variables}
        return {
            name: own.written if isinstance(own.domain, tuple) else None
            for name, own in columns.items()
            if not isinstance(own.domain, Categories)
        }

    def keywords(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the terms and the options of the private functions.

        The only place that translates keys of a job file to keywords.
        """
        get, columns = self.get, {name: self.entries.columns[name] for name in self.variables}
        bounded = {name: c.written for name, c in columns.items() if isinstance(c.domain, tuple)}
        nominal = {
            name: c.written for name, c in columns.items() if isinstance(c.domain, Categories)
        }
        keys = ("person", "epsilon", "allow_large_epsilon", "allow_noisy")
        terms = {key: get("privacy", key) for key in keys}
        terms |= {"rows_per_person": get("privacy", "rows_per_person")}
        terms |= {"ledger": self.at("privacy", "ledger"), "dataset": get("data", "dataset")}
        rule = get("missing", "rule", "refuse")
        if rule == "fill":
            rule = {name: c.fill for name, c in columns.items() if c.fill is not None}
        which = {
            "categories": nominal or None,
            "missing": None if rule == "refuse" else rule,
            "complete": get("missing", "complete"),
            "by": get("groups", "by"),
            "at_least": get("groups", "at_least"),
        }
        options = {key: get("question", key) for key in KEYS["question"] if key != "ask"}
        if _rules.needs_domains(self.entries):
            options["bounds"] = bounded or None
        given = {name: value for name, value in {**terms, **which}.items() if value is not None}
        return given, {name: value for name, value in options.items() if value is not None}

    # Problems

    def check(self) -> tuple[DpmicError, ...]:
        """Return everything that is missing or wrong, in the order of the file, with remedies.

        Reads the header of the data file, but no record.
        """
        found = (*self.entries.problems, *self._in_file(), *self._in_ledger())
        return tuple(sorted(found, key=self.entries.place_of))

    def refuse(self, problems: Sequence[DpmicError]) -> None:
        """Raise one error that lists all problems, if there are any."""
        if len(problems) == 1:
            raise problems[0]
        if problems:
            listed = "\n  ".join(map(str, problems)).removesuffix(".")
            reason = f"{len(problems)} entries are missing or wrong"
            raise ParameterError(str(self.path), reason, f"correct them:\n  {listed}")

    def _in_file(self) -> Iterator[DpmicError]:
        """Yield a problem for each column that the header lacks, or has twice if it is used."""
        file = self._source
        if file is None:
            return
        person = self.get("privacy", "person")
        try:
            with speaking_of_keys():
                names = header(file, Dialect(**self.written))
        except DpmicError as error:
            yield error
            return
        wanted = self.variables if person is None else [*self.variables, person]
        idle = [name for name in self.entries.columns if name not in {*wanted, *names}]
        left = self._not_mentioned(names)
        for name in [*idle, *wanted]:
            try:
                position(name, names, "column")
            except InputError as error:
                key = _rules.UNIT if name == person else ("columns", name)
                line = self.entries.lines.get(key)
                value = f"{error.value} of {file}"
                remedy = error.remedy
                if left and name not in names:
                    unmentioned = "columns that the job does not mention"
                    remedy = did_you_mean(name, left, unmentioned)
                if name == person:
                    remedy += " (the column that identifies people needs no line below [columns])"
                yield EntryError(value, error.reason, remedy, ".".join(key), line)

    def _not_mentioned(self, names: Sequence[str]) -> list[str]:
        """Return the columns of the table that the job leaves out, since one may be meant.

        A first line may be a record. One with two of the names in the job is a header.
        """
        mentioned = {*self.entries.columns, self.get("privacy", "person")}
        if len(mentioned.intersection(names)) < 2:
            return []
        return [name for name in dict.fromkeys(names) if name not in mentioned and name.strip()]

    def unused(self) -> list[str]:
        """Return the columns of the table that take no part; only for a job without problems."""
        file = self._source
        assert file is not None
        wanted = {*self.variables, self.get("privacy", "person")}
        names = dict.fromkeys(header(file, Dialect(**self.written)))
        return [name for name in names if name not in wanted and name.strip()]

    def _in_ledger(self) -> Iterator[DpmicError]:
        """Yield a problem if the ledger does not exist: a typo must not create another budget."""
        ledger, key = self.at("privacy", "ledger"), ("privacy", "ledger")
        line = self.entries.lines.get(key)
        try:
            if ledger is None or is_there(ledger):
                return
            remedy = f"check the name, or create it: dpmic ledger create {ledger} --epsilon 3"
            said = f"ledger {str(ledger)!r}", "there is no such ledger", remedy
        except LedgerError as error:
            said = error.value, error.reason, error.remedy
        yield EntryError(*said, ".".join(key), line)

    # Plan and query

    def plan(self, people: int | None = None) -> Plan | TablePlan:
        """Return the noise of this job's query, and its expected error where it was simulated.

        The plan has the mechanism, the grids and the number of records of the job: with
        ``rule = "drop"`` those that are promised to be complete, with groups those of the group
        with the most noise. Errors are known for default options; see :func:`dpmic.plan`.

        Parameters
        ----------
        people : int, optional
            The number of people; by default from the job file.

        Raises
        ------
        ParameterError
            For a test, which publishes no score that could err.
        """
        self.refuse(self.entries.problems)
        if self.ask == "test":
            raise ParameterError(
                'ask = "test"',
                "a plan has the expected error of a score, and a test publishes none",
                "run dpmic check to see its cost and its noise, or rehearse it",
            )
        # One row per person is enough: the noise follows from the number of people.
        query = self._without_ledger(self.made_up(people, rows=1), allow_noisy=True)
        with speaking_of_keys():
            return plan.plan_of(query, simulated=self.usual)

    @property
    def usual(self) -> bool:
        """Whether pairs are scored by default options, for which errors were simulated."""
        own = [self.get("question", key) for key in OWN_OPTIONS]
        return not any(own) and self.get("question", "axes", "any") == "any"

    @private
    def query(self, data: Any = None) -> Query[Any]:
        """Prepare the query; nothing is spent until it runs.

        Parameters
        ----------
        data : frame, optional
            The data, instead of the file in the job.

        Raises
        ------
        ParameterError
            If anything in the job file is missing or wrong.
        """
        self.refuse(self.check() if data is None else self.entries.problems)
        terms, _ = self.keywords()
        with speaking_of_keys():
            checked = Terms(**terms)
            return self.prepare(checked, self._read(checked) if data is None else data)

    def run(self, data: Any = None) -> Any:
        """Publish: charge the ledger of the job and return the result.

        Parameters
        ----------
        data : frame, optional
            As for :meth:`query`.

        Returns
        -------
        Release, Screening, PairwiseRelease or IndependenceRelease
            Depending on the question.
        """
        query = self.query(data)
        with speaking_of_keys():
            return query.run()

    def prepare(self, terms: Terms, data: Any) -> Query[Any]:
        """Prepare the query of this job under given terms."""
        _, options = self.keywords()
        prepare: Mapping[str, Callable[..., Query[Any]]] = {
            "one pair": release.prepare,
            "strongest pairs": screen.prepare,
            "all pairs": pairwise.prepare,
            "test": independence.prepare,
        }
        with without_reminder():
            if self.ask in ("strongest pairs", "all pairs"):
                return prepare[self.ask](data, terms, **options)
            x, y = options.pop("x"), options.pop("y")
            if self.ask == "test":
                options.setdefault("draws", 999)
            return prepare[self.ask](x, y, terms, data=data, **options)

    def _read(self, terms: Terms) -> Any:
        """Load the columns that are needed; errors contain no data."""
        ends, file = self.ends, self._source
        assert file is not None
        dates = [name for name, own in ends.items() if own and moment(own[0]) is not None]
        dialect = Dialect(**self.written)
        options: dict[str, Any] = {"labels": terms.labels, "dates": dates, "dialect": dialect}
        with reading() as tell:
            return load(file, list(ends), private=True, tell=tell, **options)

    # Rehearsal

    def number_of_people(self, given: int | None = None) -> int:
        """Return the number of people for plans and rehearsals: given, or from the file."""
        checked = self.get("data", "people") if given is None else given
        if checked is None:
            raise ParameterError(
                "people", "the number of people is not known", "write people = 5000 below [data]"
            )
        return int(KEYS["data"]["people"](checked, "people"))

    def made_up(self, people: int | None = None, *, rows: int | None = None) -> Any:
        """Return made-up columns that follow the bounds and categories; read no record.

        Each person has one to ``rows`` rows; by default the limit is that of the job file.
        """
        columns, by = self.entries.columns, self.get("groups", "by")
        domains: dict[str, Domain] = {
            name: columns[name].domain or UNIT_INTERVAL for name in self.variables
        }
        rule = self.get("missing", "rule", "refuse")
        share = GAPS * (1 - self.get("missing", "complete", 0.8))
        made = _made_up.columns(
            domains,
            self.number_of_people(people),
            rows=rows or self.get("privacy", "rows_per_person", 1),
            person=self.get("privacy", "person"),
            sizes={} if by is None else {by: self._sizes()},
            gaps={
                name: share
                for name in domains
                if rule in ("drop", "scatter")
                or (rule == "fill" and columns[name].fill is not None)
            },
        )
        return with_format(made, Dialect(**self.written).facts)  # part of the query key

    def rehearse(self, people: int | None = None) -> Published:
        """Run the job on made-up data: nothing is read, and nothing is spent.

        Parameters
        ----------
        people : int, optional
            The number of people to make up; by default from the job file.

        Returns
        -------
        Release, Screening, PairwiseRelease or IndependenceRelease
            With ``dataset="rehearsal on made-up data"``. The noise is real, the values are not.
        """
        query = self.rehearsal(people)
        with speaking_of_keys():
            result: Published = query.run()
        return result

    def rehearsal(self, people: int | None = None) -> Query[Any]:
        """Prepare the query of this job on made-up data, without a ledger."""
        self.refuse(self.entries.problems)
        return self._without_ledger(self.made_up(people))

    def _without_ledger(self, made_up: Any, **changed: Any) -> Query[Any]:
        """Prepare the query of this job on made-up columns."""
        terms, _ = self.keywords()
        terms |= {"ledger": None, "dataset": MADE_UP, **changed}
        with speaking_of_keys():
            return self.prepare(Terms(**terms), made_up)

    def _sizes(self) -> dict[str, int]:
        """Return the promised sizes of the groups."""
        promised = self.get("groups", "at_least")
        groups = self.entries.columns[self.get("groups", "by")].written
        return promised if isinstance(promised, dict) else dict.fromkeys(groups, promised)

    def __repr__(self) -> str:
        return f"Job({str(self.path)!r}: {self.ask})"


def _no_toml(path: str | os.PathLike[str], error: ValueError, text: str = "") -> InputError:
    if is_table(path):
        made = f"{Path(path).stem}.dpmic.toml"
        remedy = f"pass {made}; dpmic init {path} writes it, if there is none yet"
        return InputError(str(path), "this is a table, and a job file is expected", remedy)
    remedy = 'correct that line: write texts in "quotes" and lists in [brackets]'
    found = re.search(r"line (\d+)", str(error))
    line = text.split("\n")[int(found[1]) - 1] if found else ""
    if re.search(r"=\s*(True|False)\b", line):
        remedy = "write true and false in small letters"
    elif re.search(r"\d\.\d+\.\d", line):
        remedy = "write dates as 2023-01-01"
    elif re.search(r"\d,\d", line):
        remedy = "write decimals with a point, such as 0.5"
    return InputError(str(path), f"it is not valid TOML: {error}", remedy)
