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
        help="A table: CSV or TSV (also .gz or .zst), Excel, SPSS, Stata, SAS, Parquet, Feather or "
        "Arrow, or a folder of such files. - reads CSV or TSV from stdin.",
    ),
]
X = Annotated[str, typer.Argument(metavar="X", help="The name of a column.")]
Y = Annotated[str, typer.Argument(metavar="Y", help="The name of another column.")]

Alpha = Annotated[float, typer.Option(help="Grids have at most max(n^alpha, 4) cells.")]
Cells = Annotated[float | None, typer.Option("--B", help="Grids have at most this many cells.")]
C = Annotated[float, typer.Option(help="Candidate cuts per column of a grid: more is slower.")]
DeviceOption = Annotated[
    Device,
    typer.Option("--device", help="Compute on the CPU, on a GPU, or on a GPU if there is one."),
]
MissingOption = Annotated[
    Missing | None,
    typer.Option("--missing", help="Drop records with missing values (default), or stop (raise)."),
]
Nominal = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B,...", help="Columns whose numbers are codes of categories."),
]
Seed = Annotated[
    int | None, typer.Option(min=0, help="Seed of the permutations, for reproducible p-values.")
]
Bounds = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=LOW:HIGH",
        help="The possible range of a column, from domain knowledge, never from the data; "
        "repeatable.",
    ),
]
BoundsFile = Annotated[
    Path | None,
    typer.Option(
        metavar="TOML", help="A file with the bounds in a table [bounds]: age = [0, 120]."
    ),
]

AxesOption = Annotated[
    Axes | None,
    typer.Option(
        "--axes",
        help="any (default): values that start near 0, bounds of any width; wide: also values far "
        "from 0, such as years; linear: tight bounds.",
    ),
]
Cap = Annotated[
    float | None, typer.Option(help="The most that one record can contribute, in bits: 3.5 to 8.")
]

AsJson = Annotated[bool, typer.Option("--json", help="Print the complete result as JSON.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print the result as CSV.")]
Report = Annotated[
    Path | None, typer.Option(metavar="HTML", help="Also write a report, one HTML file.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Overwrite an existing report.")]

Epsilon = Annotated[
    float, typer.Option(help="The privacy loss: less protects more, with more noise.")
]
OneRow = Annotated[
    bool, typer.Option("--one-row-per-person", help="Promise that nobody has two rows.")
]
Person = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="The column that identifies the person; only the first row of each is used.",
    ),
]
AllowLarge = Annotated[
    bool, typer.Option("--allow-large-epsilon", help="Allow epsilon above 10 (weak protection).")
]
AllowNoisy = Annotated[
    bool, typer.Option("--allow-noisy", help="Publish even if noise hides the values.")
]
Estimate = Annotated[
    bool, typer.Option("--estimate", help="Also show the estimate of MIC*, with its interval.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Publish without asking for confirmation.")]


@dataclass(frozen=True)
class Written:
    """Options about the format of FILE."""

    sep: Annotated[
        str | None,
        typer.Option(metavar="CHAR", help="The separator of columns: ',', ';', '|' or tab."),
    ] = None
    decimal: Annotated[
        str | None, typer.Option(metavar="CHAR", help="The decimal mark: . or ,")
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The encoding, such as utf-8, utf-16 or cp1252."),
    ] = None
    na: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B,...", help="Values that mean missing, such as -9; repeatable."),
    ] = None
    sheet: Annotated[
        str | None, typer.Option(metavar="NAME", help="The sheet of an Excel workbook.")
    ] = None

    @property
    def dialect(self) -> Dialect:
        """The format, as the reader takes it."""
        from dpmic.data import Dialect

        spellings = [value for line in csv.reader(self.na or ()) for value in line]
        return Dialect(self.sep, self.decimal, self.encoding, spellings, self.sheet)


@dataclass(frozen=True)
class Unit:
    """Options about the privacy unit."""

    one_row: OneRow = False
    person: Person = None
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows-per-person",
            min=1,
            help="Use at most this many rows per person; the noise grows in proportion. Without "
            "--person, promise that there are no more.",
        ),
    ] = None


Fill = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Replace missing values of a column, such as cigarettes=0; repeatable.",
    ),
]


@dataclass(frozen=True)
class Records:
    """Options of private commands about categories and missing values."""

    categories: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=A,B,...",
            help="A nominal column and its possible values, from domain knowledge; 'other' "
            "collects the rest; repeatable.",
        ),
    ] = None
    missing: Annotated[
        PrivateMissing,
        typer.Option(
            help="Refuse missing values, drop their records (recommended), or fill in at random."
        ),
    ] = PrivateMissing.refuse
    complete: Annotated[
        float | None,
        typer.Option(
            help="With --missing drop: the share of complete records you promise; default 0.8."
        ),
    ] = None
    fill: Fill = None

    @property
    def terms(self) -> dict[str, Any]:
        """The terms, as the query takes them."""
        from dpmic.cli import _inputs

        return {
            "categories": _inputs.categories(self.categories),
            "missing": _inputs.missing(self.missing.value, self.fill),
            "complete": self.complete,
        }


@dataclass(frozen=True)
class Grouping:
    """Options of private commands about groups."""

    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="One result per category of this column; needs --at-least."
        ),
    ] = None
    at_least: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GROUP=N", help="People you promise are in a group, or N for all; repeatable."
        ),
    ] = None

    @property
    def terms(self) -> dict[str, Any]:
        """The terms, as the query takes them."""
        from dpmic.cli import _inputs

        return {"by": self.by, "at_least": _inputs.at_least(self.at_least)}

    def check(self, estimate: bool) -> None:
        """Refuse, before anything is spent, what groups do not have."""
        if self.by is not None and estimate:
            reason = "it was not measured for groups, whose sizes are private"
            raise ParameterError("--estimate", reason, "leave it out")


@dataclass(frozen=True)
class Account:
    """Options about the privacy budget."""

    ledger: Annotated[
        Path | None,
        typer.Option(
            "--ledger",
            metavar="LEDGER",
            help="The people's privacy budget; needs --dataset. Repeating a query about the same "
            "dataset is free.",
        ),
    ] = None
    dataset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A name for the data, such as 'visits 2024'; corrected data needs a new name.",
        ),
    ] = None
    name: Annotated[str | None, typer.Option(hidden=True)] = None  # deprecated
    allow_large_epsilon: AllowLarge = False


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command for typer, which reads its options from the parameters of a function.

    A parameter whose type is a dataclass, such as :class:`Unit`, becomes one option per field, so
    that commands share options.
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
