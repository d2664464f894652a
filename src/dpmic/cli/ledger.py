"""``dpmic ledger``: create a privacy budget, and show what was spent."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpmic._format import format_ceil, format_remainder
from dpmic.cli import _output
from dpmic.cli._options import spread
from dpmic.cli._output import Answer, Printing
from dpmic.cli._spending import opened

if TYPE_CHECKING:
    from dpmic.privacy.ledger import Balance, Entry, Ledger

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Create the privacy budget of a group of people, or show it.",
)

Where = Annotated[Path, typer.Argument(metavar="LEDGER", help="The file of the ledger.")]
FIELDS = ("time", "dataset", "question", "epsilon", "delta", "answered", "answer", "answered_at")


@app.command(epilog="Example: dpmic ledger create people.ledger --epsilon 3")
def create(
    path: Where,
    epsilon: Annotated[
        float, typer.Option(help="The total for everything ever published about these people.")
    ],
    delta: Annotated[float, typer.Option(help="The total delta.")] = 0.0,
) -> None:
    """Create a ledger for a group of people.

    The total cannot be changed later.
    """
    from dpmic.privacy.ledger import Ledger

    ledger = Ledger(path, epsilon, delta)
    _output.say(f"{ledger.path}: {_amounts(ledger.balance())}")


@app.command(epilog="Example: dpmic ledger show people.ledger --json")
@spread
def show(path: Where, *, out: Printing) -> None:
    """Show the budget and every query with its cost.

    --json and --csv include the answers.
    """
    out.check()
    ledger = opened(path)
    entries = ledger.history()
    _output.show(_answer(ledger, entries), out.form)


def _amounts(balance: Balance) -> str:
    """Return in words what was spent and what is left."""
    text = f"epsilon {format_ceil(balance.spent)} of {balance.total:.6g} spent, "
    text += f"{format_remainder(balance.remaining, balance.total)} left"
    if balance.total_delta:
        text += (
            f"; delta {format_ceil(balance.spent_delta)} of {balance.total_delta:.6g} spent, "
            f"{format_remainder(balance.remaining_delta, balance.total_delta)} left"
        )
    return text


def _answer(ledger: Ledger, entries: list[Entry]) -> Answer:
    balance = ledger.balance()
    history = [{field: getattr(entry, field) for field in FIELDS} for entry in entries]
    for line in history:
        line["question"], line["answer"] = _parsed(line["question"]), _parsed(line["answer"])
    return Answer(
        title=f"{ledger.path}: {_amounts(balance)}",
        heads=("time (UTC)", "query", "epsilon", "delta", "state"),
        rows=[_row(entry) for entry in entries],
        below=_remarks(entries),
        json=lambda: json.dumps({**asdict(balance), "history": history}),
        fields=FIELDS,
        records=lambda: [[getattr(entry, field) for field in FIELDS] for entry in entries],
    )


def _remarks(entries: list[Entry]) -> list[str]:
    if not entries:
        return ["No queries yet."]
    remarks = []
    if any(entry.dataset is None for entry in entries):
        remarks.append(
            "Entries without a dataset come from an older version of dpmic. They count as spent, "
            "but their answers are not used again."
        )
    if not all(entry.answered for entry in entries):
        remarks.append("Pending queries are charged but not answered. Run them again for free.")
    return remarks


def _row(entry: Entry) -> tuple[str, ...]:
    """Return one row of the table."""
    when = entry.time.partition("+")[0].replace("T", " ")
    state = "answered" if entry.answered else "pending"
    question = entry.words
    if entry.dataset is not None:
        question = f"{entry.dataset}: {question}"
    return when, question, format_ceil(entry.epsilon), format_ceil(entry.delta), state


def _parsed(text: str | None) -> Any:
    """Return the value of a JSON text, and any other text unchanged."""
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return text
