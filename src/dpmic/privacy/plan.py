"""What releases would err by, before anything is spent: from n, epsilon and stored tables alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, cast, overload

from dpmic import _validate
from dpmic._format import format_ceil
from dpmic.errors import ParameterError, safe_repr, with_code
from dpmic.parameters import expected
from dpmic.parameters.expected import Surface
from dpmic.privacy._auto import of_least_error
from dpmic.privacy._guards import open_privately, private
from dpmic.privacy._laplace import CappedLaplace
from dpmic.privacy._mechanism import CalibratedMechanism, Mechanism
from dpmic.privacy.query import Terms, checked_rows
from dpmic.privacy.release import MECHANISMS
from dpmic.privacy.sensitivity import MAX_CAPPED_N
from dpmic.privacy.table_plan import plan_table
from dpmic.results.plan import Expected, Plan, Quantity, TablePlan
from dpmic.statistics import sources

__all__ = ["plan"]

MOST_N = 2**40
MOST_ERROR = 0.5
"""The constant 0.5 is never off by more."""
SQUARE = ((0.0, 1.0), (0.0, 1.0))  # the noise does not depend on the bounds


@overload
def plan(
    n: Any = None,
    epsilon: float | None = None,
    *,
    error: float | None = None,
    of: Quantity = "value",
    rows_per_person: int = 1,
    allow_large_epsilon: bool = False,
) -> Plan: ...
@overload
def plan(
    n: Any,
    epsilon: float,
    *,
    candidates: int,
    top: int | None = None,
    delta: float = 0.0,
    of: Quantity = "value",
    rows_per_person: int = 1,
    allow_large_epsilon: bool = False,
) -> TablePlan: ...
@private
def plan(
    n: Any = None,
    epsilon: float | None = None,
    *,
    error: float | None = None,
    candidates: int | None = None,
    top: int | None = None,
    delta: float = 0.0,
    of: Quantity = "value",
    rows_per_person: int = 1,
    allow_large_epsilon: bool = False,
) -> Plan | TablePlan:
    """Tell how far releases would be from MIC*, or what n or epsilon a target error needs.

    Give two of ``n``, ``epsilon`` and ``error``; or ``n``, ``epsilon`` and ``candidates``, the
    number of pairs of a screening or a matrix. Nothing is spent and no data are looked at:
    errors come from simulations of default releases, on 189 relationships of all strengths with
    known bounds. Data that fill little of their bounds err more.

    Parameters
    ----------
    n : int, table or stream, optional
        The number of records; or what :func:`dpmic.screen` takes, whose records are counted.
    epsilon : float, optional
        The privacy loss, at most 10 unless ``allow_large_epsilon=True``.
    error : float, optional
        The target: the expected distance from MIC*, at most 0.5.
    candidates : int, optional
        The number of pairs of a table: d (d - 1) / 2 for d columns, d - 1 with a target.
    top : int, optional
        Of the candidates so many are selected, by :func:`dpmic.screen`. Without it all are
        published, by :func:`dpmic.release_pairwise`.
    delta : float
        As for :func:`dpmic.release_pairwise`.
    of : {"value", "estimate"}
        Whether the error is that of a published value or of its estimate.
    rows_per_person : int
        How many rows one person may have; counts as epsilon divided by it.
    allow_large_epsilon : bool
        Allow epsilon above 10 (weak protection).

    Returns
    -------
    Plan
        A row for each mechanism: ``plan["capped-laplace"].value``. The note of one says that the
        default, ``mechanism="auto"``, takes it.
    TablePlan
        With ``candidates``: the noise and the error of a value, and the chance of a strong pair.

    Examples
    --------
    >>> import dpmic
    >>> planned = dpmic.plan(1000, 1.0)
    >>> round(planned["capped-laplace"].value, 2), round(planned["mice-laplace"].value, 2)
    (0.03, 0.12)
    >>> dpmic.plan(epsilon=1.0, error=0.05)["capped-laplace"].n in range(250, 400)
    True
    >>> planned = dpmic.plan(5000, 1.0, candidates=36, top=5)
    >>> planned.half_width < 0.1, planned.chance > 0.9
    (True, True)
    """
    if candidates is not None:
        terms = _terms(n, epsilon, error, rows_per_person, allow_large_epsilon)
        kind = cast(Quantity, _validate.choice(of, "of", Quantity))
        asked: dict[str, Any] = {"candidates": candidates, "top": top, "delta": delta}
        return plan_table(_records(n), terms, of=kind, **asked)
    _refuse_without_candidates(top, delta)
    large = bool(allow_large_epsilon)
    given = _Given(
        n=None if n is None else _records(n),
        epsilon=None if epsilon is None else _validate.epsilon(epsilon, allow_large=large),
        error=None if error is None else _target(error),
        of=cast(Quantity, _validate.choice(of, "of", Quantity)),
        rows=checked_rows(rows_per_person),
        allow_large=large,
    )
    known = expected.surfaces()
    tables = {name: known[name] for name in MECHANISMS if name in known}
    given.check(tables.values())
    guess, guess_upper = expected.constant()
    return Plan(
        n=given.n,
        epsilon=given.epsilon,
        error=given.error,
        of=given.of,
        rows_per_person=given.rows,
        guess=guess,
        guess_upper=guess_upper,
        rows=tuple(given.row(name, surface) for name, surface in tables.items()),
    )


_Place = tuple[int | None, float | None, str]
"""Where errors are read off, n and epsilon, with a remark; or why nowhere."""


@dataclass(frozen=True)
class _Given:
    """Two of n, epsilon and error; ``epsilon`` is for all rows of a person."""

    n: int | None
    epsilon: float | None
    error: float | None
    of: Quantity
    rows: int
    allow_large: bool

    def check(self, surfaces: Iterable[Surface]) -> None:
        """Refuse other than two of them, and what no table knows anything of."""
        given = {"n": self.n, "epsilon": self.epsilon, "error": self.error}
        named = [name for name, value in given.items() if value is not None]
        if len(named) != 2:
            raise ParameterError(
                " and ".join(named) or "nothing", "two make a plan", "give two of n, epsilon, error"
            )
        gaps = [self._gap(surface) for surface in surfaces]
        if all(gaps):
            raise min((gap for gap in gaps if gap), key=str)

    def row(self, mechanism: str, surface: Surface) -> Expected:
        """Return what is known of one mechanism: the place, the errors there, and the curve."""
        n, epsilon, note = self._place(surface)
        found: dict[str, Any] = dict.fromkeys(("scale", *expected.QUANTITIES))
        if mechanism == CappedLaplace.name and n is not None and n > MAX_CAPPED_N:
            note = f"it is proved for at most {MAX_CAPPED_N:,} records"
        elif n is not None and epsilon is not None and not self._gap(surface):
            found = asdict(surface.at(n, epsilon / self.rows))
            made = _made(mechanism, epsilon, self.rows)
            setting = made.setting(n)
            found["scale"] = setting.noise.scale
            chosen = of_least_error(n, epsilon / self.rows) == mechanism
            default = "what `mechanism='auto'` takes here" if chosen else ""
            remarks = default, surface.beyond(n, epsilon / self.rows), self._blind(found)
            unit = "the scale of its noise is in counts of records" if made.counts else ""
            notes = (note, *remarks, _refused(made, setting), unit)
            note = with_code("; ".join(filter(None, notes)))
        return Expected(
            mechanism=mechanism,
            needs_bounds=MECHANISMS[mechanism].needs_bounds,
            n=n,
            epsilon=epsilon,
            curve=() if self._gap(surface) else self._curve(surface, epsilon),
            note=note,
            **found,
        )

    def _gap(self, surface: Surface) -> ParameterError | None:
        """Return why a table knows nothing: less was not simulated, and would err more."""
        n, epsilon = int(surface.n[0]), float(surface.epsilon[0])
        if self.n is not None and self.n < n:
            reason = f"fewer than {n} records were not simulated"
            return ParameterError(f"n = {self.n}", reason, f"pass n of {n} or more")
        if self.epsilon is not None and self.epsilon / self.rows < epsilon:
            each = " for each row of a person" if self.rows > 1 else ""
            reason = f"less than {epsilon:g}{each} was not simulated"
            remedy = f"pass epsilon of {epsilon * self.rows:g} or more"
            return ParameterError(f"epsilon = {self.epsilon:g}", reason, remedy)
        return None

    def _place(self, surface: Surface) -> _Place:
        if gap := self._gap(surface):
            return self.n, self.epsilon, gap.reason
        if self.error is not None and self.epsilon is not None:
            return self._least_n(surface, self.error, self.epsilon)
        if self.error is not None and self.n is not None:
            return self._least_epsilon(surface, self.error, self.n)
        return self.n, self.epsilon, ""

    def _least_n(self, surface: Surface, error: float, epsilon: float) -> _Place:
        n = surface.least_n(self.of, error, epsilon / self.rows)
        note = ""
        if n is None:
            last, least = surface.along_n(self.of, epsilon / self.rows)[-1]
            note = f"no n up to {last:,.0f} reaches it; there the error is {least:.3g}"
        elif n == surface.n[0]:
            note = f"fewer than {n} records were not simulated"
        return n, epsilon, note

    def _least_epsilon(self, surface: Surface, error: float, n: int) -> _Place:
        each = surface.least_epsilon(self.of, error, n)
        if each is None:
            last, least = surface.along_epsilon(self.of, n)[-1]
            last *= self.rows
            return n, None, f"no epsilon reaches it; even at {last:g} the error is {least:.3g}"
        epsilon = each * self.rows
        if epsilon > _validate.MAX_EPSILON and not self.allow_large:
            needed = format_ceil(epsilon)
            return n, None, f"it takes epsilon = {needed}, above {_validate.MAX_EPSILON}"
        note = f"less than {epsilon:g} was not simulated" if each == surface.epsilon[0] else ""
        return n, epsilon, note

    def _blind(self, found: dict[str, Any]) -> str:
        """Say where always guessing 0.5 would be better."""
        worse = found[self.of] > expected.constant()[0]
        return f"its {self.of} would err more than always guessing 0.5" if worse else ""

    def _curve(self, surface: Surface, last: float | None) -> tuple[tuple[float, float], ...]:
        """Return the error against n where that is sought, else against epsilon up to the last."""
        if self.n is None:
            assert self.epsilon is not None
            return tuple(surface.along_n(self.of, self.epsilon / self.rows))
        curve = [(e * self.rows, error) for e, error in surface.along_epsilon(self.of, self.n)]
        most = _validate.MAX_EPSILON * self.rows
        if last is None or last <= most:
            return tuple(node for node in curve if node[0] <= most)
        return (*curve, (last, curve[-1][1])) if last > curve[-1][0] else tuple(curve)


def _records(n: Any) -> int:
    """Return the number of records, counted where data were passed."""

    def counted() -> object:
        if len(getattr(n, "shape", ())) == 2:
            return sources.find_all(n).n
        counting = sources.counting(n)
        return n if counting is None else counting.n  # numbers, and mistakes

    return _validate.integer(open_privately(counted), "n", least=1, most=MOST_N)


def _terms(n: Any, epsilon: float | None, error: object, rows: int, large: bool) -> Terms:
    """Check what a plan of a table needs besides its pairs."""
    if n is None or epsilon is None or error is not None:
        raise ParameterError(
            "candidates",
            "a table is planned for one n and one epsilon",
            "pass both, and no target error",
        )
    return Terms(epsilon=epsilon, rows_per_person=rows, allow_large_epsilon=bool(large))


def _refuse_without_candidates(top: object, delta: object) -> None:
    """Refuse options of tables where there is none."""
    for name, value in (("top", top), ("delta", delta or None)):
        if value is not None:
            raise ParameterError(
                f"{name} = {safe_repr(value)}",
                "it is about a table, and it is not known how many pairs that has",
                with_code("pass `candidates=36`, the number of pairs, too"),
            )


def _target(error: object) -> float:
    """Check a target error."""
    target = _validate.real(error, "error")
    if not 0 < target <= MOST_ERROR:
        raise ParameterError(
            f"error = {error!r}",
            f"it is a distance from MIC*; that of guessing {MOST_ERROR:g} is never larger",
            f"pass a number above 0 and at most {MOST_ERROR:g}",
        )
    return target


def _made(mechanism: str, epsilon: float, rows: int) -> Mechanism:
    """Return the mechanism of a default release."""
    kind = MECHANISMS[mechanism]
    options: dict[str, Any] = {"bounds": SQUARE} if kind.needs_bounds else {}
    made: Mechanism = kind(
        epsilon=epsilon, rows_per_person=rows, allow_large_epsilon=True, **options
    )
    return made


def _refused(mechanism: Mechanism, setting: CalibratedMechanism) -> str:
    """Say where a release would be refused for its noise."""
    try:
        mechanism.refuse_noisy(setting)
    except ParameterError:
        return "so noisy a release is refused unless you pass `allow_noisy=True`"
    return ""
