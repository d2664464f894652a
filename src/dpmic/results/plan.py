"""What releases would err by: nothing was spent, nothing was looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from dpmic._format import format_ceil
from dpmic.data import Backend, build

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Expected", "Kind", "Plan"]

Kind = Literal["value", "estimate"]

HEADS = ("mechanism", "bounds", "noise scale", "error", "(90%)")


@dataclass(frozen=True, slots=True)
class Expected:
    """What a default release by one mechanism would err by, at one n and epsilon.

    Attributes
    ----------
    mechanism : str
        Its name, as :func:`dpmic.release` takes it.
    needs_bounds : bool
        Whether bounds must be known.
    n, epsilon : int, float or None
        Where: as given, or the smallest that reaches the wished error; None if none does.
    scale : float or None
        The scale of the noise there.
    value, estimate : float or None
        The expected distance of the value, and of the estimate, from MIC*.
    value_upper, estimate_upper : float or None
        What nine of ten releases do not exceed.
    curve : tuple of (float, float)
        The expected error against epsilon, or n where that was sought: straight lines on
        logarithmic axes.
    note : str
        What else there is to know; often empty.
    """

    mechanism: str
    needs_bounds: bool
    n: int | None
    epsilon: float | None
    scale: float | None
    value: float | None
    value_upper: float | None
    estimate: float | None
    estimate_upper: float | None
    curve: tuple[tuple[float, float], ...] = field(repr=False)
    note: str = ""


@dataclass(frozen=True, repr=False)
class Plan:
    """The expected error of every mechanism; ``plan["micr-laplace"]`` is one row.

    Attributes
    ----------
    n, epsilon, error : int, float or None
        As asked: None for what was sought.
    of : {"value", "estimate"}
        Of what ``error`` and the plot speak.
    rows_per_person : int
        How many rows one person may have.
    guess, guess_upper : float
        The errors of always guessing 0.5, which needs no data.
    rows : tuple of Expected
        One for each mechanism.
    """

    n: int | None
    epsilon: float | None
    error: float | None
    of: Kind
    rows_per_person: int
    guess: float
    guess_upper: float
    rows: tuple[Expected, ...]

    @property
    def sought(self) -> Literal["n", "epsilon", "error"]:
        """What was not given."""
        if self.n is None:
            return "n"
        return "epsilon" if self.epsilon is None else "error"

    def __getitem__(self, mechanism: str) -> Expected:
        for row in self.rows:
            if row.mechanism == mechanism:
                return row
        raise KeyError(mechanism)

    def to_frame(self, backend: Backend | None = None) -> Any:
        """Return one row for each mechanism, as a pandas, polars or pyarrow frame."""
        names = [name for name in Expected.__dataclass_fields__ if name != "curve"]
        return build({name: [getattr(row, name) for row in self.rows] for name in names}, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the expected error against epsilon, or n where that was sought; needs matplotlib."""
        from dpmic.plots.plans import plan

        return plan(self, ax)

    @property
    def given(self) -> str:
        """What is known of the release, in words."""
        known = []
        if self.n is not None:
            known.append(f"n = {self.n:,}")
        if self.epsilon is not None:
            known.append(f"epsilon = {format_ceil(self.epsilon)}")
        if self.rows_per_person > 1:
            known.append(f"up to {self.rows_per_person} rows for each person")
        return ", ".join(known)

    def _title(self) -> str:
        if self.error is None:
            return f"Plan for {self.given}"
        return (
            f"Plan for {self.given}: an expected error of the {self.of} of at most {self.error:g}"
        )

    def _table(self) -> list[list[str]]:
        """Return the head and one line for each mechanism, and one for the constant."""
        extra = [] if self.sought == "error" else [f"smallest {self.sought}"]
        lines = [[HEADS[0], *extra, *HEADS[1:]]]
        for row in self.rows:
            found = {"n": _whole(row.n), "epsilon": _loss(row.epsilon), "error": ""}[self.sought]
            errors = getattr(row, self.of), getattr(row, f"{self.of}_upper")
            bounds = "needed" if row.needs_bounds else "not needed"
            numbers = map(_digits, (row.scale, *errors))
            lines.append([row.mechanism, *([found] if extra else []), bounds, *numbers])
        guess = _digits(self.guess), _digits(self.guess_upper)
        lines.append(["always 0.5", *(["-"] if extra else []), "not needed", "-", *guess])
        return lines

    def _remarks(self) -> list[str]:
        """Return what is said below the table."""
        return [
            f"Error: the expected distance of a release's {self.of} from MIC*. (90%): the error "
            "that 90% of releases do not exceed.",
            "Simulated on relationships of all strengths with known bounds. Nothing was spent.",
            *(f"{row.mechanism}: " + row.note + "." for row in self.rows if row.note),
        ]

    def __repr__(self) -> str:
        lines = self._table()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = [
            "  ".join(
                text.ljust(width) if i == 0 else text.rjust(width)
                for i, (text, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self._title(), *shown, *self._remarks()])

    def _repr_html_(self) -> str:
        head, *lines = self._table()
        heads = "".join(f'<th scope="col">{escape(text)}</th>' for text in head)
        body = "".join(
            f'<tr><th scope="row" style="text-align:left">{escape(first)}</th>'
            + "".join(f"<td>{escape(text)}</td>" for text in rest)
            + "</tr>"
            for first, *rest in lines
        )
        remarks = "".join(f"<p>{escape(text)}</p>" for text in self._remarks())
        return (
            f"<table><caption>{escape(self._title())}</caption>"
            f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{remarks}"
        )


def _digits(number: float | None) -> str:
    return "-" if number is None else f"{number:.3g}"


def _whole(n: int | None) -> str:
    return "none" if n is None else f"{n:,}"


def _loss(epsilon: float | None) -> str:
    return "none" if epsilon is None else format_ceil(epsilon)
