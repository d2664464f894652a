"""``dpmic ledger``: make a budget, and see what was spent of it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpmic._format import format_ceil, format_floor
from dpmic.cli import _output
from dpmic.cli._options import spread
from dpmic.cli._output import Answer, Printing
from dpmic.cli._spending import opened

if TYPE_CHECKING:
    from dpmic.privacy.ledger import Balance, Entry, Ledger

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Make the budget of a group of people, and read it.",
)

Where = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger's file.")]
FIELDS = ("time", "dataset", "question", "epsilon", "delta", "answered", "answer", "answered_at")


@app.command(epilog="Example: dpmic ledger create people.ledger --epsilon 3")
def create(
    path: Where,
    epsilon: Annotated[float, typer.Option(help="For all that is ever published about them.")],
    delta: Annotated[float, typer.Option(help="The same for delta.")] = 0.0,
) -> None:
    """Make a ledger for a group of people. Its total is fixed once."""
    from dpmic.privacy.ledger import Ledger

    ledger = Ledger(path, epsilon, delta)
    _output.say(f"{ledger.path}: {_amounts(ledger.balance())}")


@app.command(epilog="Example: dpmic ledger show people.ledger --json")
@spread
def show(path: Where, *, out: Printing) -> None:
    """Show the budget, what was asked and what it cost; answers are in JSON and CSV."""
    out.check()
    ledger = opened(path)
    entries = ledger.history()
    _output.show(_answer(ledger, entries), out.form)


def _amounts(balance: Balance) -> str:
    """Return what was spent and what is left, in words."""
    text = f"epsilon {format_ceil(balance.spent)} of {balance.total:.6g} spent, "
    text += f"{format_floor(balance.remaining)} left"
    if balance.total_delta:
        text += (
            f"; delta {format_ceil(balance.spent_delta)} of {balance.total_delta:.6g} spent, "
            f"{format_floor(balance.remaining_delta)} left"
        )
    return text


def _answer(ledger: Ledger, entries: list[Entry]) -> Answer:
    balance = ledger.balance()
    history = [{field: getattr(entry, field) for field in FIELDS} for entry in entries]
    for line in history:
        line["question"], line["answer"] = _parsed(line["question"]), _parsed(line["answer"])
    return Answer(
        title=f"{ledger.path}: {_amounts(balance)}",
        heads=("time (UTC)", "question", "epsilon", "delta", "state"),
        rows=[_row(entry) for entry in entries],
        below=_remarks(entries),
        json=lambda: json.dumps({**asdict(balance), "history": history}),
        fields=FIELDS,
        records=lambda: [[getattr(entry, field) for field in FIELDS] for entry in entries],
    )


def _remarks(entries: list[Entry]) -> list[str]:
    if not entries:
        return ["Nothing was asked yet."]
    remarks = []
    if any(entry.dataset is None for entry in entries):
        remarks.append(
            "Entries without a dataset come from an older dpmic. They count as spent and are never "
            "replayed."
        )
    if not all(entry.answered for entry in entries):
        remarks.append("Pending questions are charged. Asking them again is free.")
    return remarks


def _row(entry: Entry) -> tuple[str, ...]:
    """Return a line for people."""
    when = entry.time.partition("+")[0].replace("T", " ")
    state = "answered" if entry.answered else "pending"
    question = entry.words
    if entry.dataset is not None:
        question = f"{entry.dataset}: {question}"
    return when, question, format_ceil(entry.epsilon), format_ceil(entry.delta), state


def _parsed(text: str | None) -> Any:
    """Return the value of a JSON text, and any other text as it is."""
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return text
