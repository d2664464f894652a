"""Before anything is spent: whose privacy, at what cost, and consent."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from dpmic._format import format_ceil, format_remainder
from dpmic._progress import working
from dpmic.cli import _options as o
from dpmic.cli import _output
from dpmic.cli._output import KEPT, LOST, Answer, Printing
from dpmic.cli._shell import Declined, Stopped, for_the_shell, repeated
from dpmic.errors import InputError, Message, ParameterError, with_code

if TYPE_CHECKING:
    from dpmic import results
    from dpmic.privacy.ledger import Ledger
    from dpmic.privacy.query import Query, Terms
    from dpmic.results import PrivacyUnit

Published = TypeVar("Published", bound="results.Published")

PERSON = with_code("`person=COLUMN`")
WAYS = "`one_row_per_person=True`, `person=COLUMN`"
QUESTION = """\
Whose privacy is protected? Say how rows belong to people:
  1  Each row is a different person.
  2  A column identifies the person. Only the first row of each person is used.
"""
NOTHING: Mapping[str, str] = MappingProxyType({})
UNTRACKED = with_code(
    "this spending is not tracked; to track it, add `ledger=FILE` and `dataset=NAME`"
)
SEVERAL = "  3  A person may have several rows, and you know how many at most.\n"


@dataclass(frozen=True)
class Consent:
    """The terms of a private command, and whether the user must still confirm.

    ``answered`` has the answers about the privacy unit, as options of a command. ``job`` is the
    text of the job file, if there is one; ``spell`` spells options for the command or the file.
    """

    terms: Terms
    yes: bool
    answered: tuple[str, ...]
    job: str | None = None
    spell: Callable[[str], str] = for_the_shell

    @classmethod
    def sought(
        cls,
        unit: o.Unit,
        account: o.Account,
        yes: bool,
        *,
        several: bool = True,
        job: str | None = None,
        spell: Callable[[str], str] = for_the_shell,
        **terms: Any,
    ) -> Consent:
        """Find the privacy unit and open the ledger, before any data is read.

        ``several`` allows more than one row per person; ``terms`` are the terms that not all
        private commands have.
        """
        from dpmic.privacy.query import Terms

        charged = {**vars(account), "ledger": account.ledger and opened(account.ledger)}
        protected, answered = _unit(unit, several)
        if account.ledger is None and not yes and not _asking():
            raise _nobody()
        checked = Terms(person=protected.person, rows_per_person=protected.rows, **charged, **terms)
        if yes and protected.person is None:
            _output.note(f"note: protects {protected.planned(spell(PERSON))}")
        if yes and account.ledger is None:
            _output.note(f"note: without a ledger {spell(UNTRACKED)}")
        return cls(checked, yes, answered, job, spell)

    def publish(
        self,
        out: Printing,
        doing: str,
        query: Query[Published],
        answer: Callable[[Published], Answer],
        *,
        expected: Mapping[str, str] = NOTHING,
        estimate: bool = False,
    ) -> None:
        """Show the plan, ask for consent, run the query and deliver the result.

        ``expected`` adds rows to the plan about the expected error.
        """
        self._ask(query, expected)
        ledger = self.terms.ledger
        try:
            with working(doing), before_charge(query):
                result = query.run()
            if result.replayed is not None:
                _output.note(
                    f"note: the ledger already has this answer about {result.dataset!r}, from "
                    f"{result.drawn_on}; nothing was spent. Corrected or other data needs "
                    f"another {'dataset' if self.job else '--dataset'} name."
                )
            after = LOST if ledger is None else KEPT
            out.give(answer(result), lambda: self._page(result, estimate), after)
        except KeyboardInterrupt:
            if ledger is None:
                raise
            raise Stopped(
                "stopped; if epsilon was charged, the same command finishes for free"
            ) from None

    def _page(self, result: Any, estimate: bool) -> str:
        """Return the report of a published result."""
        from dpmic.report import page

        answered, job = self.answered, self.job
        if job is not None and answered:  # not in the file
            option, *values = answered
            entry = f"{option.strip('-').replace('-', '_')}={''.join(values) or True}"
            job = f"{job.rstrip()}\n\n# Answered when asked: {self.spell(Message((entry, True)))}\n"
            answered = ()
        ledger, command = self.terms.ledger, repeated(answered)
        return page(result, ledger=ledger, command=command, estimate=estimate, job=job)

    def _ask(self, query: Query[Any], expected: Mapping[str, str]) -> None:
        """Show the plan and ask for consent; raise :class:`Declined` if the user says no."""
        entry = query.stored()
        if self.yes or (entry is not None and entry.answer is not None):
            return  # nothing is drawn, and nothing spent
        query.check()
        if not _asking():
            raise _nobody()
        show(query, expected, self.spell, err=True)
        if _answer(f"Publish it and spend {_cost(query)}? [y/N] ").lower() not in ("y", "yes"):
            raise Declined("nothing was spent")


@contextmanager
def before_charge(query: Query[Any] | None = None) -> Iterator[None]:
    """Add to errors about the data that nothing was spent, unless the ledger has an entry."""
    try:
        yield
    except InputError as error:
        if query is None or query.stored() is None:
            stop = "" if error.remedy.endswith("?") else "."
            error.remedy += f"{stop} Nothing was spent"
        raise


def show(
    query: Query[Any],
    expected: Mapping[str, str],
    spell: Callable[[str], str] = for_the_shell,
    *,
    err: bool = False,
) -> None:
    """Show the plan of a query."""
    rows = _shown(query, expected, spell)
    _output.table("Plan (nothing is spent yet)", (), rows, err=err)


def _shown(
    query: Query[Any], expected: Mapping[str, str], spell: Callable[[str], str]
) -> list[tuple[str, str]]:
    """Return the rows of the plan, all of them public."""
    rows = [
        ("publishes", query.publishes),
        ("protects", query.unit.planned(spell(PERSON))),
        ("n", f"{query.n:,} (public)"),
        ("costs", _cost(query)),
    ]
    if query.noise_in_words is not None:
        rows.append(("noise", query.noise_in_words))
    promised = ((name, spell(words)) for name, words in query.promises.items())
    return [*rows, *expected.items(), *promised, ("ledger", spell(_budget(query)))]


def _cost(query: Query[Any]) -> str:
    """Return in words what a query costs."""
    cost = f"epsilon = {format_ceil(query.epsilon)}"
    return cost if not query.delta else f"{cost}, delta = {format_ceil(query.delta)}"


def expected_error(value: float | None, upper: float | None) -> dict[str, str]:
    """Return a row on the expected distance of a value from MIC*, where it is known."""
    if value is None or upper is None:
        return {}
    on_average = f"{value:.2g} from the value in the whole population, on average"
    return {"expected error": f"{on_average}; at most {upper:.2g} in 90% of cases"}


def _budget(query: Query[Any]) -> str:
    """Return in words what the ledger has left, before and after."""
    if query.terms.ledger is None:
        return "none: " + UNTRACKED
    balance = query.terms.ledger.balance()
    after = max(balance.remaining - query.epsilon, 0.0)
    return (
        f"epsilon {format_remainder(balance.remaining, balance.total)} of {balance.total:.6g} "
        f"left, {format_remainder(after, balance.total)} after this"
    )


def _nobody() -> ParameterError:
    return ParameterError(
        "your consent",
        "there is no terminal to ask for it",
        "add --yes to publish without asking",
    )


def _asking() -> bool:
    """Return whether there is a terminal for prompts."""
    streams = (sys.stdin, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams)


def answer_to(question: str) -> str | None:
    """Ask in a terminal; return None without one."""
    return _answer(question) if _asking() else None


def _answer(question: str) -> str:
    """Ask on stderr: stdout is for the result."""
    typer.echo(question, nl=False, err=True)
    line = sys.stdin.readline()
    if not line:
        typer.echo(err=True)
        raise Declined("no answer, so nothing was spent")
    return line.strip()


def _unit(given: o.Unit, several: bool) -> tuple[PrivacyUnit, tuple[str, ...]]:
    """Return the privacy unit, and the answers if it had to be asked for. It is never assumed."""
    from dpmic.results import PrivacyUnit

    limited = given.person is not None or given.rows is not None
    if given.one_row and limited:
        raise ParameterError(
            "the privacy unit",
            "it is given more than once",
            with_code(f"pass one of {_ways(several)}"),
        )
    if given.one_row or limited:
        return PrivacyUnit(given.person, given.rows or 1), ()
    if not _asking():
        raise ParameterError(
            "the privacy unit",
            "the options do not say how many rows one person can have",
            with_code(f"pass {_ways(several)}"),
        )
    chosen = _answer(
        QUESTION + (SEVERAL if several else "") + f"Answer {'1, 2 or 3' if several else '1 or 2'}: "
    )
    one = PrivacyUnit(), ("--one-row-per-person",)
    if chosen == "1":
        return one
    if chosen == "2":
        column = _answer("Which column identifies the person? ")
        return PrivacyUnit(person=column), ("--person", column)
    if chosen == "3" and several:
        most = _rows(_answer("How many rows does one person have at most? "))
        return one if most == 1 else (PrivacyUnit(rows=most), ("--rows-per-person", str(most)))
    raise Declined("this is not one of the answers, so nothing was spent")


def _rows(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ParameterError(text, "this is not a number of rows", "answer 1 or more")
    return int(text)


def _ways(several: bool) -> str:
    return f"{WAYS} or `rows_per_person=N`" if several else WAYS.replace(", ", " or ")


def opened(path: Path) -> Ledger:
    """Open an existing ledger: a mistyped name must not create another budget."""
    from dpmic.privacy.ledger import Ledger, is_there

    if not is_there(path):
        raise InputError(
            str(path),
            "there is no such ledger",
            f"check the name, or create it: dpmic ledger create {path} --epsilon 3",
        )
    return Ledger(path)
