"""The order in which every release goes: ask, check, read, charge, compute, draw, store.

What can be refused is refused before a value is read, bad values before budget is spent, and
budget is spent before noise is drawn (docs/decisions/0006).
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from dpmic.errors import ParameterError, safe_repr, with_code
from dpmic.privacy.ledger import Ledger
from dpmic.privacy.reminders import depth_of_caller
from dpmic.results import Published
from dpmic.statistics.counts.sources import Found

__all__ = ["Account", "Steps", "account", "padded"]

Private = TypeVar("Private")
Exact = TypeVar("Exact")
Kind = TypeVar("Kind", bound=Published)


@dataclass(frozen=True)
class Steps(Generic[Private, Exact]):
    """What a release does with data; no step before ``publish`` may show what it returns.

    ``publish`` is the only step that draws noise. It returns a JSON text whose length does not
    depend on what was drawn (:func:`padded`). ``load`` gets ready whatever the others need, so
    that nothing is found missing after budget was spent.
    """

    read: Callable[[], Private]
    compute: Callable[[Private], Exact]
    publish: Callable[[Exact], str]
    load: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Account:
    """Where releases are charged, and for which dataset; without a ledger nowhere."""

    ledger: Ledger | None
    dataset: str | None
    name: str | None

    def settle(
        self,
        kind: type[Kind],
        source: Found,
        asked: dict[str, Any],
        epsilon: float,
        steps: Steps[Any, Any],
        delta: float = 0.0,
    ) -> Kind:
        """Return the one answer to a question, from the ledger if it was asked before.

        ``asked`` identifies the question by names and options, never by data; the columns' names
        and n are added here.
        """
        if self.ledger is None:
            return self._published(kind, steps.publish(steps.compute(steps.read())))
        ledger, dataset, question = self.ledger, self.dataset or "", self._question(source, asked)
        entry = ledger.find(question, dataset=dataset)
        if entry is not None and entry.answer is not None:
            return self._published(kind, entry.answer, entry.answered_at)
        ledger.check(question, epsilon, delta, dataset=dataset)  # refused before a value is read
        private = steps.read()
        steps.load()
        ledger.spend(question, epsilon, delta, dataset=dataset)  # committed before noise is drawn
        exact, drawn = steps.compute(private), False

        def draw() -> str:
            nonlocal drawn
            drawn = True
            return steps.publish(exact)

        text = ledger.settle(question, draw, dataset=dataset)
        if drawn:
            return self._published(kind, text)
        stored = ledger.find(question, dataset=dataset)  # of another process, just now
        return self._published(kind, text, None if stored is None else stored.answered_at)

    def _published(self, kind: type[Kind], text: str, replayed: str | None = None) -> Kind:
        """Return an answer with what the caller knows of it besides."""
        return replace(kind.from_json(text), dataset=self.dataset, replayed=replayed)

    def _question(self, source: Found, asked: dict[str, Any]) -> str:
        """Return the text under which the ledger keeps the answer."""
        if self.name is None and not source.named:
            raise ParameterError(
                "ledger",
                "it identifies questions by column names, and arrays have none",
                "pass a frame, and the names of its columns (and of the one with identifiers)",
            )
        public = {**asked, "name": self.name, "columns": source.names, "n": source.n}
        return json.dumps(public, sort_keys=True)


def account(ledger: object, dataset: object, name: object) -> Account:
    """Check where a release is charged, and to which data it belongs."""
    for option, value in (("dataset", dataset), ("name", name)):
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise ParameterError(
                f"{option} = {safe_repr(value)}",
                "it is not a name",
                with_code(f"pass `{option}='visits 2024'`"),
            )
    if name is not None:
        warnings.warn(
            with_code("`name=...` is deprecated; pass `dataset=...` to name the data"),
            DeprecationWarning,
            stacklevel=depth_of_caller(),
        )
    if isinstance(ledger, str | os.PathLike):
        ledger = Ledger(ledger)
    if not isinstance(ledger, Ledger | None):
        raise ParameterError(
            f"ledger = {safe_repr(ledger)}",
            "it is not a Ledger",
            "pass dpmic.Ledger(path), or a path",
        )
    if ledger is not None and dataset is None:
        raise ParameterError(
            "dataset",
            "a ledger keeps answers, and must know which data each belongs to",
            with_code("pass `dataset='visits 2024'`, and another name for corrected or other data"),
        )
    return Account(ledger, dataset, name)  # type: ignore[arg-type] # checked above


def padded(text: str, drawn: int, most: int) -> str:
    """Lengthen a text in which what was drawn took ``drawn`` characters of at most ``most``.

    A disk that is nearly full refuses longer texts, which could choose between draws.
    """
    return text + " " * (most - drawn)
