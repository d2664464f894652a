"""The arguments and options that several commands share."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from dpmic.errors import ParameterError

if TYPE_CHECKING:
    from dpmic.data import Dialect

Statistic = StrEnum("Statistic", ["mice", "micr", "mic"])
Device = StrEnum("Device", ["cpu", "cuda", "auto"])
Axes = StrEnum("Axes", {"any_": "any", "linear": "linear", "wide": "wide"})
PrivateMissing = StrEnum("PrivateMissing", ["refuse", "drop", "scatter"])
Missing = StrEnum("Missing", {"raise_": "raise", "drop": "drop"})

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="CSV or TSV, also .gz or .zst, Excel, SPSS, Stata, SAS, Parquet, Feather or Arrow, or "
        "a folder of such files; - is CSV or TSV on stdin.",
    ),
]
X = Annotated[str, typer.Argument(metavar="X", help="A column's name.")]
Y = Annotated[str, typer.Argument(metavar="Y", help="Another column's name.")]

Alpha = Annotated[float, typer.Option(help="At most max(n^alpha, 4) cells in a grid.")]
Cells = Annotated[float | None, typer.Option("--B", help="At most so many cells in a grid.")]
C = Annotated[float, typer.Option(help="Master parts for each part.")]
DeviceOption = Annotated[
    Device, typer.Option("--device", help="The CPU, a GPU, or a GPU if there is one.")
]
MissingOption = Annotated[
    Missing | None,
    typer.Option("--missing", help="Drop records with missing values (default), or refuse them."),
]
Nominal = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B,...", help="Columns of numbers that are names, such as codes."),
]
Seed = Annotated[int | None, typer.Option(min=0, help="Same seed, same permutations.")]
Bounds = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=LOW:HIGH",
        help="The range a column can have, from what it means, never from the data; repeatable.",
    ),
]
BoundsFile = Annotated[
    Path | None, typer.Option(metavar="TOML", help="A file with a [bounds] table: age = [0, 120].")
]

AxesOption = Annotated[
    Axes | None,
    typer.Option(
        "--axes",
        help="any (the default): for values that start near 0, however wide the bounds; wide: also "
        "for values far from 0, such as years; linear: for bounds that fit.",
    ),
]
Cap = Annotated[
    float | None, typer.Option(help="The most bits that one record may weigh, 3.5 to 8.")
]

AsJson = Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print it as CSV.")]
Report = Annotated[
    Path | None, typer.Option(metavar="HTML", help="Write a self-contained page too.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Overwrite an existing report.")]

Epsilon = Annotated[float, typer.Option(help="The privacy loss; a smaller one protects more.")]
OneRow = Annotated[bool, typer.Option("--one-row-per-person", help="Each row is another person.")]
Person = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Names the person; of each only the first row is used."),
]
AllowLarge = Annotated[
    bool, typer.Option("--allow-large-epsilon", help="Allow epsilon above 10 (weak protection).")
]
AllowNoisy = Annotated[
    bool, typer.Option("--allow-noisy", help="Publish even values that noise hides.")
]
Estimate = Annotated[
    bool, typer.Option("--estimate", help="Show the estimate of MIC* with its own interval, too.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Spend without being asked.")]


@dataclass(frozen=True)
class Written:
    """How FILE is written, as far as options say it."""

    sep: Annotated[
        str | None,
        typer.Option(metavar="CHAR", help="What separates values: ',', ';', '|' or tab."),
    ] = None
    decimal: Annotated[
        str | None, typer.Option(metavar="CHAR", help="The decimal mark of numbers: . or ,")
    ] = None
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Such as utf-8, utf-16 or cp1252 (Latin-1).")
    ] = None
    na: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,...", help="Also mean that a value is missing, such as -9; repeatable."
        ),
    ] = None
    sheet: Annotated[
        str | None, typer.Option(metavar="NAME", help="A sheet of an Excel workbook.")
    ] = None

    @property
    def dialect(self) -> Dialect:
        """What the reader is told."""
        from dpmic.data import Dialect

        spellings = [value for line in csv.reader(self.na or ()) for value in line]
        return Dialect(self.sep, self.decimal, self.encoding, spellings, self.sheet)


@dataclass(frozen=True)
class Unit:
    """How many rows a person may have, as far as options say it."""

    one_row: OneRow = False
    person: Person = None
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows-per-person",
            min=1,
            help="At most so many rows of a person; the noise grows with them. With --person the "
            "first so many of each are used.",
        ),
    ] = None


Fill = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="A value that a missing one of this column means, such as 0 cigarettes; repeatable.",
    ),
]


@dataclass(frozen=True)
class Records:
    """Which records of a private command count: gaps, categories, groups."""

    categories: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=A,B,...",
            help="A nominal column and all values that it can have, from what it means; "
            "'other' takes the rest; repeatable.",
        ),
    ] = None
    missing: Annotated[
        PrivateMissing,
        typer.Option(help="Missing values: refuse, drop (the advice) or scatter at random."),
    ] = PrivateMissing.refuse
    complete: Annotated[
        float | None,
        typer.Option(help="With --missing drop: the share of complete records you promise (0.8)."),
    ] = None
    fill: Fill = None

    @property
    def terms(self) -> dict[str, Any]:
        """What the query is told."""
        from dpmic.cli import _inputs

        return {
            "categories": _inputs.categories(self.categories),
            "missing": _inputs.missing(self.missing.value, self.fill),
            "complete": self.complete,
        }


@dataclass(frozen=True)
class Grouping:
    """The groups of a private command."""

    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="One result for each category of this column; needs --at-least."
        ),
    ] = None
    at_least: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GROUP=N", help="People you promise to be in a group, or N in each; repeatable."
        ),
    ] = None

    @property
    def terms(self) -> dict[str, Any]:
        """What the query is told."""
        from dpmic.cli import _inputs

        return {"by": self.by, "at_least": _inputs.at_least(self.at_least)}

    def check(self, estimate: bool) -> None:
        """Refuse, before anything is spent, what groups do not have."""
        if self.by is not None and estimate:
            reason = "it was not measured for groups, whose sizes are private"
            raise ParameterError("--estimate", reason, "leave it out")


@dataclass(frozen=True)
class Account:
    """What is charged, and for which data."""

    ledger: Annotated[
        Path | None,
        typer.Option(
            "--ledger",
            metavar="LEDGER",
            help="The people's budget; needs --dataset. Asking the same again about the same "
            "dataset is free.",
        ),
    ] = None
    dataset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The name of the data, such as 'visits 2024'; corrected data needs a new one.",
        ),
    ] = None
    name: Annotated[str | None, typer.Option(hidden=True)] = None  # deprecated
    allow_large_epsilon: AllowLarge = False


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command for typer, which reads options off the parameters of a function.

    A parameter whose type is a dataclass, such as :class:`Unit`, becomes an option for each of its
    fields, so that commands share them.
    """
    groups: dict[str, Any] = {}
    parameters: list[Parameter] = []
    types = get_type_hints(command, include_extras=True)
    for name, parameter in signature(command).parameters.items():
        if is_dataclass(types[name]):
            groups[name] = types[name]
            inner = get_type_hints(types[name], include_extras=True)
            options = signature(groups[name]).parameters.values()
            parameters += [option.replace(annotation=inner[option.name]) for option in options]
        else:
            parameters.append(parameter.replace(annotation=types[name]))

    @wraps(command)
    def called(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    keywords = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in parameters]
    called.__signature__ = Signature(keywords)  # type: ignore[attr-defined]
    return called
