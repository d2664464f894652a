"""Before anything is spent: whose privacy, at which cost, and whether that is meant."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from dpmic._format import format_ceil, format_floor
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
Whom must this protect?
  1  each row is another person
  2  a column names the person; of each only the first row is used
"""
NOTHING: Mapping[str, str] = MappingProxyType({})
UNTRACKED = with_code("none, so this spending is not tracked; add `ledger=FILE` and `dataset=NAME`")
SEVERAL = "  3  a person has several rows, at most a number that is known\n"


@dataclass(frozen=True)
class Consent:
    """What was agreed on, and whether to spend unasked.

    ``answered`` are the answers about the unit, as options of a command. ``job`` is the text of
    the job file that asks, if one does; ``spell`` writes options as people gave them.
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
        """Find the unit and open the ledger, before data is read.

        ``several`` tells whether more than one row of a person may count; ``terms`` are those
        that are not options of all private commands.
        """
        if account.ledger is None and not yes and not _asking():
            raise _nobody()
        from dpmic.privacy.query import Terms

        charged = {**vars(account), "ledger": account.ledger and opened(account.ledger)}
        protected, answered = _unit(unit, several)
        checked = Terms(person=protected.person, rows_per_person=protected.rows, **charged, **terms)
        if yes and protected.person is None:
            _output.note(f"note: protects {protected.planned(spell(PERSON))}")
        if yes and account.ledger is None:
            _output.note(f"note: ledger: {spell(UNTRACKED)}")
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
        """Show a query and ask, run it, which spends, and hand the result over.

        ``expected`` are lines to show: what the result will be worth.
        """
        self._ask(query, expected)
        ledger = self.terms.ledger
        try:
            with working(doing):
                result = query.run()
            if result.replayed is not None:
                _output.note(
                    f"note: this is the answer of {result.drawn_on} for the dataset "
                    f"{result.dataset!r}, from the ledger; nothing was spent. Corrected or other "
                    f"data needs another {'dataset' if self.job else '--dataset'}."
                )
            after = LOST if ledger is None else KEPT
            out.give(answer(result), lambda: self._page(result, estimate), after)
        except KeyboardInterrupt:
            if ledger is None:
                raise
            raise Stopped(
                "stopped; if it was charged, the same command finishes it at no cost"
            ) from None

    def _page(self, result: Any, estimate: bool) -> str:
        """Return the report of a published result."""
        from dpmic.report import page

        answered, job = self.answered, self.job
        if job is not None and answered:  # the file does not say it
            option, *values = answered
            entry = f"{option.strip('-').replace('-', '_')}={''.join(values) or True}"
            job = f"{job.rstrip()}\n\n# Answered when asked: {self.spell(Message((entry, True)))}\n"
            answered = ()
        ledger, command = self.terms.ledger, repeated(answered)
        return page(result, ledger=ledger, command=command, estimate=estimate, job=job)

    def _ask(self, query: Query[Any], expected: Mapping[str, str]) -> None:
        """Show what would be run and ask; a refusal raises :class:`Declined`."""
        entry = query.stored()
        if self.yes or (entry is not None and entry.answer is not None):
            return  # nothing is drawn, and nothing spent
        query.check()
        if not _asking():
            raise _nobody()
        show(query, expected, self.spell, err=True)
        if _answer("Spend it? [y/N] ").lower() not in ("y", "yes"):
            raise Declined("nothing was spent")


def show(
    query: Query[Any],
    expected: Mapping[str, str],
    spell: Callable[[str], str] = for_the_shell,
    *,
    err: bool = False,
) -> None:
    """Show what would be run."""
    rows = _shown(query, expected, spell)
    _output.table("The plan; nothing is spent yet", (), rows, err=err)


def _shown(
    query: Query[Any], expected: Mapping[str, str], spell: Callable[[str], str]
) -> list[tuple[str, str]]:
    """Return what is known of a query beforehand, all of it public."""
    price = f"epsilon = {format_ceil(query.epsilon)}"
    if query.delta:
        price += f", delta = {format_ceil(query.delta)}"
    rows = [
        ("publishes", query.publishes),
        ("protects", query.unit.planned(spell(PERSON))),
        ("n, public", f"{query.n:,}"),
        ("costs", price),
    ]
    if query.noise_in_words is not None:
        rows.append(("noise", query.noise_in_words))
    return [*rows, *expected.items(), ("ledger", spell(_budget(query)))]


def expected_error(value: float | None, upper: float | None) -> dict[str, str]:
    """Say how far a value will be from MIC*, where simulations tell."""
    if value is None or upper is None:
        return {}
    words = f"{value:.2g} from MIC* on average, at most {upper:.2g} in 90% of cases"
    return {"expected error": words}


def _budget(query: Query[Any]) -> str:
    """Say what the ledger has left, and would have."""
    if query.terms.ledger is None:
        return UNTRACKED
    balance = query.terms.ledger.balance()
    after = max(balance.remaining - query.epsilon, 0.0)
    return (
        f"{format_floor(balance.remaining)} of {balance.total:.6g} left, {format_floor(after)} "
        "after this"
    )


def _nobody() -> ParameterError:
    return ParameterError(
        "--yes", "nobody can be asked here whether to spend", "add it if that is meant"
    )


def _asking() -> bool:
    """Tell whether somebody can be asked."""
    streams = (sys.stdin, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams)


def answer_to(question: str) -> str | None:
    """Ask where somebody can be asked; elsewhere there is no answer."""
    return _answer(question) if _asking() else None


def _answer(question: str) -> str:
    """Ask on stderr, so that stdout has the result alone."""
    typer.echo(question, nl=False, err=True)
    line = sys.stdin.readline()
    if not line:
        typer.echo(err=True)
        raise Declined("no answer, so nothing was spent")
    return line.strip()


def _unit(given: o.Unit, several: bool) -> tuple[PrivacyUnit, tuple[str, ...]]:
    """Return the privacy unit from options, or ask for it, and what was answered.

    It is never assumed.
    """
    from dpmic.results import PrivacyUnit

    limited = given.person is not None or given.rows is not None
    if given.one_row and limited:
        raise ParameterError(
            "the unit of privacy",
            "it was given more than once",
            with_code(f"pass one of {_ways(several)}"),
        )
    if given.one_row or limited:
        return PrivacyUnit(given.person, given.rows or 1), ()
    if not _asking():
        raise ParameterError(
            "the unit of privacy",
            "it is not known how many rows a person may have",
            with_code(f"pass {_ways(several)}"),
        )
    chosen = _answer(QUESTION + (SEVERAL if several else "") + "Your answer: ")
    one = PrivacyUnit(), ("--one-row-per-person",)
    if chosen == "1":
        return one
    if chosen == "2":
        column = _answer("Which column names the person? ")
        return PrivacyUnit(person=column), ("--person", column)
    if chosen == "3" and several:
        most = _rows(_answer("At most how many rows has a person? "))
        return one if most == 1 else (PrivacyUnit(rows=most), ("--rows-per-person", str(most)))
    raise Declined("no such answer, so nothing was spent")


def _rows(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ParameterError(text, "this is not a number of rows", "pass 1 or more")
    return int(text)


def _ways(several: bool) -> str:
    return f"{WAYS} or `rows_per_person=N`" if several else WAYS.replace(", ", " or ")


def opened(path: Path) -> Ledger:
    """Open a ledger that is there: a mistyped name must not make another budget."""
    from dpmic.privacy.ledger import Ledger

    if not path.exists():
        raise InputError(
            str(path),
            "there is no such ledger",
            f"make it for all that is ever published: dpmic ledger create {path} --epsilon 3",
        )
    return Ledger(path)
