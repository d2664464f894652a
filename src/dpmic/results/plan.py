"""What releases, screenings and matrices would err by: nothing was spent or looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal, get_args

from dpmic._format import format_ceil, format_floor
from dpmic.data import Backend, build
from dpmic.parameters.value_noise import Kind
from dpmic.results._base import PLAIN, Fact, Form, Result, as_metadata, flatten, html_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Quantity = Literal["value", "estimate"]

_A = {"value": "a value", "estimate": "an estimate"}
HEADS = ("mechanism", "bounds", "noise scale", "error", "(90%)")


@dataclass(frozen=True, eq=False, repr=False)
class Expected(Result):
    """What a default release by one mechanism would err by, at one n and epsilon.

    Attributes
    ----------
    mechanism : str
        Its name, as :func:`dpmic.release` takes it.
    needs_bounds : bool
        Whether bounds must be known.
    n, epsilon : int, float or None
        Where: as given, or the smallest that reaches the target error; None if none does.
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
    curve: tuple[tuple[float, float], ...]
    note: str = ""

    def facts(self) -> list[Fact]:
        """Return every number but the curve."""
        return [Fact(name, _text(value)) for name, value in self.record().items()]

    def record(self) -> dict[str, Any]:
        """Return the numbers as one flat row, without the curve."""
        return {name: value for name, value in self.to_dict().items() if name != "curve"}

    def _sound(self) -> bool:
        return all(len(point) == 2 for point in self.curve) and isinstance(self.mechanism, str)

    def _summary(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.record().items())


def _expected(rows: Any) -> tuple[Expected, ...]:
    return tuple(Expected.from_dict(row) for row in rows)


ROWS = as_metadata(Form(PLAIN.keep, PLAIN.write, _expected))


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Result):
    """The expected error of every mechanism; ``plan["capped-laplace"]`` is one row.

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
    of: Quantity
    rows_per_person: int
    guess: float
    guess_upper: float
    rows: tuple[Expected, ...] = field(metadata=ROWS)

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
        records = [row.record() for row in self.rows]
        return build({name: [record[name] for record in records] for name in records[0]}, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the expected error against epsilon, or n where that was sought; needs matplotlib."""
        from dpmic.plots import plan

        return plan(self, ax)

    @property
    def given(self) -> str:
        """What is known of the release, in words."""
        return _given(self.n, self.epsilon, self.rows_per_person)

    @property
    def title(self) -> str:
        """What the plan is for."""
        if self.error is None:
            return f"Plan for {self.given}"
        return (
            f"Plan for {self.given}: an expected error of the {self.of} of at most {self.error:g}"
        )

    def table(self) -> list[list[str]]:
        """Return the head and one line for each mechanism, and one for the constant."""
        extra = [] if self.sought == "error" else [f"smallest {self.sought}"]
        lines = [[HEADS[0], *extra, *HEADS[1:]]]
        for row in self.rows:
            found = {"n": _size(row.n), "epsilon": _loss(row.epsilon), "error": ""}[self.sought]
            errors = getattr(row, self.of), getattr(row, f"{self.of}_upper")
            bounds = "needed" if row.needs_bounds else "not needed"
            numbers = map(_digits, (row.scale, *errors))
            lines.append([row.mechanism, *([found] if extra else []), bounds, *numbers])
        guess = _digits(self.guess), _digits(self.guess_upper)
        lines.append(["always 0.5", *(["-"] if extra else []), "not needed", "-", *guess])
        return lines

    def remarks(self) -> list[str]:
        """Return the remarks below the table."""
        return [
            f"Error: the expected distance of a release's {self.of} from MIC*. (90%): the error "
            "that 90% of releases do not exceed.",
            "Simulated on relationships of all strengths with known bounds. Nothing was spent.",
            *(f"{row.mechanism}: " + row.note + "." for row in self.rows if row.note),
        ]

    def facts(self) -> list[Fact]:
        """Return the expected error of each mechanism."""
        return [
            Fact(row.mechanism, _digits(getattr(row, self.of)), f"error of the {self.of}")
            for row in self.rows
        ]

    def record(self) -> dict[str, Any]:
        """Return what was asked, and a flat row for each mechanism."""
        asked = {name: getattr(self, name) for name in ("n", "epsilon", "error", "of")}
        return {**asked, "rows": [row.record() for row in self.rows]}

    def _sound(self) -> bool:
        asked = sum(given is None for given in (self.n, self.epsilon, self.error)) == 1
        return asked and self.of in get_args(Quantity) and len(self.rows) > 0

    def _summary(self) -> str:
        return self.title

    def __repr__(self) -> str:
        return "\n".join([self.title, *_aligned(self.table()), *self.remarks()])

    def _repr_html_(self) -> str:
        head, *lines = self.table()
        heads = "".join(f'<th scope="col">{escape(text)}</th>' for text in head)
        body = "".join(
            f'<tr><th scope="row" style="text-align:left">{escape(first)}</th>'
            + "".join(f"<td>{escape(text)}</td>" for text in rest)
            + "</tr>"
            for first, *rest in lines
        )
        return (
            f"<table><caption>{escape(self.title)}</caption>"
            f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
            f"{_paragraphs(self.remarks())}"
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TablePlan(Result):
    """What a screening, or a matrix of all pairs, would be worth.

    Attributes
    ----------
    n, epsilon, rows_per_person
        As asked.
    delta : float
        What it costs besides; 0 where none is spent.
    candidates : int
        The number of pairs.
    top : int or None
        How many are selected; None where all are published.
    mechanism, parameters : str, mapping
        What would score a pair, and on which grids.
    sensitivity : float
        The most that one person's rows can change a score.
    selection_epsilon, values_epsilon : float
        What the selection would cost, 0 where there is none, and what the values would.
    noise : {"laplace", "cube", "gaussian"}
        The kind of noise of the values.
    mean_noise, half_width : float
        The mean absolute noise of a value, and what 95% of it stays within.
    of : {"value", "estimate"}
        Of which number ``error`` speaks.
    error, error_upper : float or None
        The expected distance of a value from MIC*, and what 90% of values do not exceed: that of a
        single release with as much noise on average. None where it was not simulated.
    unrelated : float or None
        The median score of unrelated pairs at this n: above 0, more so for small n; 0 where it was
        not simulated, as the note says. None for a matrix.
    chance : float or None
        The probability that a pair that scores 0.5 is selected, where all others score
        ``unrelated``. None for a matrix.
    note : str
        What else there is to know; often empty.
    """

    n: int
    epsilon: float
    delta: float
    candidates: int
    top: int | None
    rows_per_person: int
    mechanism: str
    parameters: Mapping[str, Any]
    sensitivity: float
    selection_epsilon: float
    values_epsilon: float
    noise: Kind
    mean_noise: float
    half_width: float
    of: Quantity
    error: float | None
    error_upper: float | None
    unrelated: float | None
    chance: float | None
    note: str = ""

    @property
    def title(self) -> str:
        """What the plan is for."""
        pairs = f"all {self.candidates:,} pairs"
        if self.candidates == 1:
            pairs = "the only pair"
        elif self.top is not None:
            pairs = f"the {self.top:,} strongest of {self.candidates:,} pairs"
        given = _given(self.n, self.epsilon, self.rows_per_person)
        return f"Plan for {given}: {pairs}"

    def facts(self) -> list[Fact]:
        """Return how pairs are scored, what the parts cost, and what comes out."""
        error = "not simulated"
        if self.error is not None:
            error = f"expected, from MIC*; 90% are within {_digits(self.error_upper)}"
        stays = f"95% of it stays within this ({self.noise} noise)"
        facts = [
            Fact("mechanism", self.mechanism, self._grids()),
            Fact("sensitivity", _digits(self.sensitivity), "of a score to one person's rows"),
            Fact("epsilon of values", format_ceil(self.values_epsilon, 3)),
            Fact("noise of a value", _digits(self.half_width), stays),
            Fact("mean noise", _digits(self.mean_noise)),
            Fact(f"error of {_A[self.of]}", _digits(self.error), error),
        ]
        if self.delta:
            facts.insert(3, Fact("delta", format_ceil(self.delta)))
        if self.unrelated is None:
            return facts
        label, sure, condition = self.chance_in_words()
        selection = Fact("epsilon of selection", format_ceil(self.selection_epsilon, 3))
        chance = Fact(label, sure, f"probability of being selected, {condition}")
        return [*facts[:2], selection, *facts[2:], chance]

    def chance_in_words(self) -> tuple[str, str, str]:
        """Return whose chance it is, the chance, and on which condition; for a screening."""
        assert self.chance is not None
        assert self.unrelated is not None
        certain = not self.selection_epsilon
        sure = ">0.999" if self.chance > 0.999 and not certain else format_floor(self.chance, 3)
        condition = f"if all other pairs are unrelated (score {self.unrelated:.2g})"
        return "a pair that scores 0.5", sure, condition

    def chance_sentence(self) -> tuple[str, str]:
        """Return whose chance it is, and the chance on its condition in words."""
        label, chance, condition = self.chance_in_words()
        sure = chance.replace(">", "above ")
        return label, f"is selected with probability {sure}, {condition}"

    def remarks(self) -> list[str]:
        """Return the remarks below the facts."""
        return ["Nothing was spent.", *(["Note: " + self.note + "."] if self.note else [])]

    def record(self) -> dict[str, Any]:
        """Return the numbers as one flat row."""
        return {**self.to_dict(), "parameters": self._grids()}

    def _grids(self) -> str:
        return ", ".join(f"{name} = {text}" for name, text in flatten(self.parameters).items())

    def _sound(self) -> bool:
        numbers = self.n > 0 < self.epsilon and 1 <= (self.top or 1) <= self.candidates
        selected = (self.top is None) == (self.chance is None) == (self.unrelated is None)
        return numbers and selected and self.of in get_args(Quantity)

    def _summary(self) -> str:
        return self.title

    def __repr__(self) -> str:
        facts = [[label, text, meaning] for label, text, meaning in self.facts()]
        return "\n".join([self.title, *_aligned(facts, left=(0, 2)), *self.remarks()])

    def _repr_html_(self) -> str:
        return html_table([Fact("plan", self.title), *self.facts()]) + _paragraphs(self.remarks())


def _given(n: int | None, epsilon: float | None, rows: int) -> str:
    known = []
    if n is not None:
        known.append(f"n = {n:,}")
    if epsilon is not None:
        known.append(f"epsilon = {format_ceil(epsilon)}")
    if rows > 1:
        known.append(f"up to {rows} rows for each person")
    return ", ".join(known)


def _aligned(lines: Sequence[Sequence[str]], left: tuple[int, ...] = (0,)) -> list[str]:
    """Return lines of text with aligned columns, to the right but for some."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if i in left else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def _paragraphs(texts: Sequence[str]) -> str:
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _digits(number: float | None) -> str:
    return "-" if number is None else f"{number:.3g}"


def _size(n: int | None) -> str:
    return "none" if n is None else f"{n:,}"


def _loss(epsilon: float | None) -> str:
    return "none" if epsilon is None else format_ceil(epsilon)
