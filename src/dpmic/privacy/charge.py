"""The order in which every release goes: ask, check, read, charge, compute, draw, store.

What can be refused is refused before a value is read, bad values before budget is spent, and
budget is spent before noise is drawn (docs/decisions/0006).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from dpmic.counts.sources import Found
from dpmic.errors import ParameterError, shown
from dpmic.privacy.domain import Sealed, shielded
from dpmic.privacy.ledger import Ledger

__all__ = ["Account", "Steps", "account", "padded"]

Private = TypeVar("Private")
Exact = TypeVar("Exact")


@dataclass(frozen=True)
class Steps(Generic[Private, Exact]):
    """What a release does with data; no step before ``publish`` may show what it returns.

    ``publish`` is the only step that draws noise. It returns a JSON text whose length does not
    depend on what was drawn (:func:`padded`).
    """

    read: Callable[[], Private]
    compute: Callable[[Private], Exact]
    publish: Callable[[Exact], str]


@dataclass(frozen=True)
class Account:
    """Where releases are charged, and under which name; without a ledger nowhere."""

    ledger: Ledger | None
    name: str | None

    def settle(
        self,
        source: Found,
        asked: dict[str, Any],
        epsilon: float,
        steps: Steps[Any, Any],
        delta: float = 0.0,
    ) -> str:
        """Return the one answer to a question, from the ledger if it was asked before.

        ``asked`` identifies the question by names and options, never by data; the name of the
        account, the columns' names and n are added here.
        """
        if self.ledger is None:
            private = Sealed(steps.read)
            return shielded(lambda: steps.publish(steps.compute(private.open())))
        ledger, question = self.ledger, self._question(source, asked)
        answer = ledger.answer(question)
        if answer is not None:
            return answer
        ledger.check(question, epsilon, delta)  # refused before a value is read
        private = Sealed(steps.read)
        ledger.spend(question, epsilon, delta)  # committed before noise is drawn

        def draw_and_store() -> str:
            exact = steps.compute(private.open())
            return ledger.settle(question, lambda: steps.publish(exact))

        return shielded(draw_and_store)

    def _question(self, source: Found, asked: dict[str, Any]) -> str:
        """Return the text under which the ledger keeps the answer."""
        if self.name is None and not source.named:
            raise ParameterError(
                "ledger", "an array has no name to keep the answer under", "pass name='...'"
            )
        public = {**asked, "name": self.name, "columns": source.names, "n": source.n}
        return json.dumps(public, sort_keys=True)


def account(ledger: object, name: object) -> Account:
    """Check where a release is charged."""
    if not isinstance(ledger, Ledger | None):
        raise ParameterError(
            f"ledger = {shown(ledger)}", "it is no Ledger", "pass dpmic.Ledger(path)"
        )
    if name is not None and (not isinstance(name, str) or not name):
        raise ParameterError(
            f"name = {shown(name)}", "it is no text", "pass a name such as 'age, 2026'"
        )
    return Account(ledger, name)


def padded(text: str, drawn: int, most: int) -> str:
    """Lengthen a text in which what was drawn took ``drawn`` characters of at most ``most``.

    A disk that is nearly full refuses longer texts, which could choose between draws.
    """
    return text + " " * (most - drawn)
