"""Before anything is spent: whose privacy, at which cost, and whether that is meant."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from dpmic._format import format_ceil, format_floor
from dpmic._progress import working
from dpmic.cli import _output
from dpmic.cli._output import KEPT, LOST, Answer, Delivery
from dpmic.cli._shell import Declined, Stopped, repeated
from dpmic.errors import InputError, ParameterError

if TYPE_CHECKING:
    from dpmic import results
    from dpmic.privacy.charge import Account
    from dpmic.privacy.ledger import Ledger
    from dpmic.privacy.preview import Preview

__all__ = ["Consent", "Unit", "opened"]

Published = TypeVar("Published", bound="results.Published")

WAYS = "--one-row-per-person, --person COLUMN"
QUESTION = """\
Whom must this protect?
  1  each row is another person
  2  a column names the person; of each only the first row is used
"""
TRUSTED = "not checked, dpmic takes your word; --person COLUMN enforces it"
UNTRACKED = "none, so this spending is not tracked; add --ledger FILE --dataset NAME"
SEVERAL = "  3  a person has several rows, at most a number that is known\n"


@dataclass(frozen=True)
class Unit:
    """What one person is in a table, and whether that had to be asked for."""

    person: str | None = None
    rows: int = 1
    asked: bool = False

    @property
    def words(self) -> str:
        """The unit in words."""
        if self.person is not None and self.rows > 1:
            return (
                f"a person, by {self.person}; the first {self.rows} rows of each are used, and how "
                "many of them a person has is not protected"
            )
        if self.person is not None:
            return f"a person, by {self.person}; the first row of each is used"
        if self.rows > 1:
            return f"a person, with at most {self.rows} rows ({TRUSTED})"
        return f"a person, who has one row ({TRUSTED})"

    @property
    def options(self) -> tuple[str, ...]:
        """What was answered to questions, as options of a command."""
        if not self.asked:
            return ()
        if self.person is not None:
            return "--person", self.person
        if self.rows > 1:
            return "--rows-per-person", str(self.rows)
        return ("--one-row-per-person",)


@dataclass(frozen=True)
class Consent:
    """What was agreed on: the unit, where it is charged, and whether to spend unasked."""

    unit: Unit
    account: Account
    yes: bool

    @property
    def ledger(self) -> Ledger | None:
        """What is spent from."""
        return self.account.ledger

    @property
    def charged(self) -> dict[str, Any]:
        """Where the release is charged, as it takes it."""
        return {name: getattr(self.account, name) for name in ("ledger", "dataset", "name")}

    @classmethod
    def sought(
        cls,
        one_row: bool,
        person: str | None,
        rows: int | None,
        charged: tuple[Path | None, str | None, str | None],
        yes: bool,
        *,
        several: bool = True,
    ) -> Consent:
        """Find the unit and open the ledger, before data is read.

        ``charged`` is a ledger's file, the dataset and the deprecated name; ``several`` tells
        whether more than one row of a person may count.
        """
        if not yes and not _asking():
            raise ParameterError(
                "--yes", "nobody can be asked here whether to spend", "add it if that is meant"
            )
        from dpmic.privacy.charge import account

        ledger, dataset, name = charged
        checked = account(None if ledger is None else opened(ledger), dataset, name)
        unit = _unit(one_row, person, rows, several)
        if yes and unit.person is None:
            _output.note(f"note: protects {unit.words}")
        if yes and ledger is None:
            _output.note(f"note: ledger: {UNTRACKED}")
        return cls(unit, checked, yes)

    def publish(
        self,
        out: Delivery,
        doing: str,
        call: Callable[[], Published],
        answer: Callable[[Published], Answer],
        estimate: bool = False,
    ) -> None:
        """Publish, which spends, and hand the result over, with the estimate where it is asked."""
        try:
            with working(doing):
                result = call()
            if result.replayed is not None:
                _output.note(
                    f"note: this is the answer of {result.drawn_on} for the dataset "
                    f"{result.dataset!r}, from the ledger; nothing was spent. Corrected or other "
                    "data needs another --dataset."
                )
            after = LOST if self.ledger is None else KEPT
            out.give(answer(result), lambda: self._page(result, estimate), after)
        except KeyboardInterrupt:
            if self.ledger is None:
                raise
            raise Stopped(
                "stopped; if it was charged, the same command finishes it at no cost"
            ) from None

    def _page(self, result: Any, estimate: bool) -> str:
        """Return the report of a published result."""
        from dpmic.report import page

        command = repeated(self.unit.options)
        return page(result, ledger=self.ledger, command=command, estimate=estimate)

    def ask(self, view: Preview, what: str, error: str | None = None) -> None:
        """Show what would be done and ask; a refusal raises :class:`Declined`."""
        if self.yes:
            return
        rest = None if self.ledger is None else view.rest(self.ledger)
        if self.ledger is not None and rest is None:
            return  # costs nothing: the ledger has the answer, or refuses
        _output.table("The plan; nothing is spent yet", (), self._rows(view, what, error), err=True)
        if _answer("Spend it? [y/N] ").lower() not in ("y", "yes"):
            raise Declined("nothing was spent")

    def _rows(self, view: Preview, what: str, error: str | None) -> list[tuple[str, str]]:
        """Return what is known beforehand, all of it public."""
        price = f"epsilon = {format_ceil(view.epsilon)}"
        if view.delta:
            price += f", delta = {format_ceil(view.delta)}"
        rows = [
            ("publishes", what),
            ("protects", self.unit.words),
            ("n, public", f"{view.n:,}"),
            ("costs", price),
        ]
        if view.noise is not None:
            rows.append(("noise", view.noise))
        if error is not None:
            rows.append(("expected error", error))
        rows.append(("ledger", self._book(view)))
        return rows

    def _book(self, view: Preview) -> str:
        if self.ledger is None:
            return UNTRACKED
        now, rest = self.ledger.remaining, view.rest(self.ledger) or 0.0
        return (
            f"{format_floor(now)} of {self.ledger.total:.6g} left, {format_floor(rest)} after this "
            "(unless it was asked before, which costs nothing)"
        )


def _asking() -> bool:
    """Tell whether somebody can be asked."""
    streams = (sys.stdin, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams)


def _answer(question: str) -> str:
    """Ask on stderr, so that stdout has the result alone."""
    typer.echo(question, nl=False, err=True)
    line = sys.stdin.readline()
    if not line:
        typer.echo(err=True)
        raise Declined("no answer, so nothing was spent")
    return line.strip()


def _unit(one_row: bool, person: str | None, rows: int | None, several: bool) -> Unit:
    """Return the unit of privacy from options, or ask for it; it is never assumed."""
    given = [one_row, person is not None or rows is not None]
    if sum(given) > 1:
        raise ParameterError(
            "the unit of privacy", "it was given more than once", f"pass one of {_ways(several)}"
        )
    if any(given):
        return Unit(person, rows or 1)
    if not _asking():
        raise ParameterError(
            "the unit of privacy",
            "it is not known how many rows a person may have",
            f"pass {_ways(several)}",
        )
    chosen = _answer(QUESTION + (SEVERAL if several else "") + "Your answer: ")
    if chosen == "1":
        return Unit(asked=True)
    if chosen == "2":
        return Unit(person=_answer("Which column names the person? "), asked=True)
    if chosen == "3" and several:
        return Unit(rows=_rows(_answer("At most how many rows has a person? ")), asked=True)
    raise Declined("no such answer, so nothing was spent")


def _rows(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ParameterError(text, "this is no number of rows", "pass 1 or more")
    return int(text)


def _ways(several: bool) -> str:
    return f"{WAYS} or --rows-per-person N" if several else WAYS.replace(", ", " or ")


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
