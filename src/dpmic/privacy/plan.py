"""The expected error of releases, from n, epsilon and stored simulations alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, cast, overload

from dpmic import _validate
from dpmic._format import format_ceil
from dpmic.errors import ParameterError, safe_repr, with_code
from dpmic.parameters import expected
from dpmic.parameters.expected import Surface
from dpmic.privacy._auto import default_for
from dpmic.privacy._guards import open_privately, private
from dpmic.privacy._laplace import CappedLaplace
from dpmic.privacy._mechanism import CalibratedMechanism, Mechanism
from dpmic.privacy.groups import GroupsQuery
from dpmic.privacy.pairwise import PairwiseQuery
from dpmic.privacy.query import Query, Terms, checked_rows
from dpmic.privacy.release import MECHANISMS, ReleaseQuery
from dpmic.privacy.screen import ScreenQuery
from dpmic.privacy.sensitivity import MAX_CAPPED_N
from dpmic.privacy.table_plan import UNSIMULATED, plan_of_table, plan_table
from dpmic.results.plan import Expected, Plan, Quantity, TablePlan
from dpmic.statistics import sources

__all__ = ["plan", "plan_of"]

MOST_N = 2**40
MOST_ERROR = 0.5
"""The error of the constant 0.5 is never larger."""
COUNTS = "its noise scale is a number of records"
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
    """Return the expected error of releases, or the n or epsilon for a target error.

    Give exactly two of ``n``, ``epsilon`` and ``error``; or ``n``, ``epsilon`` and ``candidates``,
    the number of pairs of a screening or a matrix. Nothing is spent and no data are read: errors
    come from simulations of default releases, on 189 relationships of all strengths with known
    bounds. The error is larger if the data fill little of their bounds.

    Parameters
    ----------
    n : int, table or stream, optional
        The number of records, or a table whose records are counted, as for :func:`dpmic.screen`.
    epsilon : float, optional
        The privacy loss, at most 10 unless ``allow_large_epsilon=True``.
    error : float, optional
        The target for the expected distance from MIC*, at most 0.5.
    candidates : int, optional
        The number of pairs of a table: d (d - 1) / 2 for d columns, d - 1 with a target.
    top : int, optional
        The number of pairs that :func:`dpmic.screen` selects. Without it all pairs are published,
        as by :func:`dpmic.release_pairwise`.
    delta : float
        As for :func:`dpmic.release_pairwise`.
    of : {"value", "estimate"}
        The error of a published value, or of its estimate of MIC*.
    rows_per_person : int
        The most rows of one person; m rows need m times the epsilon.
    allow_large_epsilon : bool
        Allow epsilon above 10 (weak protection).

    Returns
    -------
    Plan
        A row for each mechanism: ``plan["capped-laplace"].value`` is its expected error. A note
        marks the default, ``mechanism="auto"``.
    TablePlan
        With ``candidates``: the noise and the expected error of a value, and the chance that a
        strong pair is selected.

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
        pairs: dict[str, Any] = {"candidates": candidates, "top": top, "delta": delta}
        return plan_table(_records(n), terms, of=kind, **pairs)
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


def plan_of(query: Query[Any], *, simulated: bool) -> Plan | TablePlan:
    """Return the plan of a prepared query about scores: its own mechanism, options and noise.

    ``n`` is the number of records that surely count, from which the noise follows. Of groups, the
    plan is that of the group with the most noise, at the epsilon of a group. ``simulated`` says
    whether the options are the default ones, whose errors are known.
    """
    remarks = []
    if isinstance(query, GroupsQuery):
        group, query = query.noisiest
        size = f"{query.n:,} {query.unit.them} are promised, and each group gets half of epsilon"
        remarks = [f"shown is group {group}, which has the most noise: {size}"]
    least = query.n if query.size is None else query.size.least
    if least < query.n:
        remarks.append(f"{least:,} of {query.n:,} {query.unit.them} are promised to be complete")
    if isinstance(query, ReleaseQuery):
        planned: Any = _of_release(query, least, simulated, remarks)
    else:
        assert isinstance(query, ScreenQuery | PairwiseQuery)
        planned = plan_of_table(query, simulated=simulated)
        planned = replace(planned, note="; ".join(filter(None, [*remarks, planned.note])))
    return cast(Plan | TablePlan, planned)


def _of_release(query: ReleaseQuery, n: int, simulated: bool, remarks: list[str]) -> Plan:
    """Return the plan of one pair: a row for the mechanism of the query."""
    terms, made, setting = query.terms, query.mechanism, query.setting
    asked: dict[str, Any] = {"n": n, "epsilon": terms.epsilon}
    surface = expected.surfaces().get(made.name) if simulated else None
    if surface is None:
        own: dict[str, Any] = dict.fromkeys(("scale", *expected.QUANTITIES))
        own |= {"mechanism": made.name, "needs_bounds": made.needs_bounds, **asked}
        row = Expected(**own, curve=())
        unit = COUNTS if made.counts else ""
        remarks = [*remarks, UNSIMULATED, _refused(_without_consent(made), setting), unit]
    else:
        given = _Given(**asked, error=None, of="value", rows=terms.rows_per_person)
        row = given.row(made.name, surface)
        remarks = [*remarks, row.note]
    note = with_code("; ".join(filter(None, remarks)))
    guess, guess_upper = expected.constant()
    return Plan(
        **asked,
        error=None,
        of="value",
        rows_per_person=terms.rows_per_person,
        guess=guess,
        guess_upper=guess_upper,
        rows=(replace(row, scale=setting.noise.scale, note=note),),
    )


def _without_consent(mechanism: Any) -> Mechanism:
    """Return a mechanism that refuses too much noise."""
    return cast(Mechanism, replace(mechanism, allow_noisy=False))


_Place = tuple[int | None, float | None, str]
"""The n and epsilon at which to read the error, with a remark; None if there is none."""


@dataclass(frozen=True)
class _Given:
    """Two of n, epsilon and error; ``epsilon`` covers all rows of a person."""

    n: int | None
    epsilon: float | None
    error: float | None
    of: Quantity
    rows: int
    allow_large: bool = True

    def check(self, surfaces: Iterable[Surface]) -> None:
        """Refuse anything but two of them, and values that were not simulated."""
        given = {"n": self.n, "epsilon": self.epsilon, "error": self.error}
        named = [name for name, value in given.items() if value is not None]
        if len(named) != 2:
            raise ParameterError(
                ", ".join(named) or "no option",
                "a plan needs exactly two of n, epsilon and error",
                with_code("pass two of `n=5000`, `epsilon=1` and `error=0.05`"),
            )
        gaps = [self._gap(surface) for surface in surfaces]
        if all(gaps):
            raise min((gap for gap in gaps if gap), key=str)

    def row(self, mechanism: str, surface: Surface) -> Expected:
        """Return the row of one mechanism: n, epsilon, the errors there, and the curve."""
        n, epsilon, note = self._place(surface)
        found: dict[str, Any] = dict.fromkeys(("scale", *expected.QUANTITIES))
        if mechanism == CappedLaplace.name and n is not None and n > MAX_CAPPED_N:
            note = f"it is proved for at most {MAX_CAPPED_N:,} records"
        elif n is not None and epsilon is not None and not self._gap(surface):
            found = asdict(surface.at(n, epsilon / self.rows))
            made = _made(mechanism, epsilon, self.rows)
            setting = made.setting(n)
            found["scale"] = setting.noise.scale
            chosen = default_for(n, epsilon / self.rows) == mechanism
            default = "the default here (`mechanism='auto'`)" if chosen else ""
            remarks = default, surface.beyond(n, epsilon / self.rows), self._blind(found)
            unit = COUNTS if made.counts else ""
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
        """Return the refusal of an n or epsilon below the simulated range."""
        n, epsilon = int(surface.n[0]), float(surface.epsilon[0])
        if self.n is not None and self.n < n:
            reason = f"the simulations start at n = {n}"
            return ParameterError(f"n = {self.n}", reason, f"pass at least {n} records")
        if self.epsilon is not None and self.epsilon / self.rows < epsilon:
            each = " for each row of a person" if self.rows > 1 else ""
            reason = f"the simulations start at epsilon = {epsilon:g}{each}"
            remedy = f"pass at least {epsilon * self.rows:g}"
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
            note = f"no n up to {last:,.0f} reaches the target; the error there is {least:.3g}"
        elif n == surface.n[0]:
            note = f"the simulations start at n = {n}"
        return n, epsilon, note

    def _least_epsilon(self, surface: Surface, error: float, n: int) -> _Place:
        each = surface.least_epsilon(self.of, error, n)
        if each is None:
            last, least = surface.along_epsilon(self.of, n)[-1]
            last *= self.rows
            return n, None, f"no epsilon reaches the target; at {last:g} the error is {least:.3g}"
        epsilon = each * self.rows
        if epsilon > _validate.MAX_EPSILON and not self.allow_large:
            needed = format_ceil(epsilon)
            return n, None, f"the target needs epsilon = {needed}, above {_validate.MAX_EPSILON}"
        smallest = each == surface.epsilon[0]
        note = f"the simulations start at epsilon = {epsilon:g}" if smallest else ""
        return n, epsilon, note

    def _blind(self, found: dict[str, Any]) -> str:
        """Note that always guessing 0.5 would be better, if so."""
        worse = found[self.of] > expected.constant()[0]
        return f"always guessing 0.5 would err less than its {self.of}" if worse else ""

    def _curve(self, surface: Surface, last: float | None) -> tuple[tuple[float, float], ...]:
        """Return the error against n if n is sought, else against epsilon up to ``last``."""
        if self.n is None:
            assert self.epsilon is not None
            return tuple(surface.along_n(self.of, self.epsilon / self.rows))
        curve = [(e * self.rows, error) for e, error in surface.along_epsilon(self.of, self.n)]
        most = _validate.MAX_EPSILON * self.rows
        if last is None or last <= most:
            return tuple(node for node in curve if node[0] <= most)
        return (*curve, (last, curve[-1][1])) if last > curve[-1][0] else tuple(curve)


def _records(n: Any) -> int:
    """Return the number of records, counted if data were passed."""

    def counted() -> object:
        if len(getattr(n, "shape", ())) == 2:
            return sources.find_all(n).n
        counting = sources.counting(n)
        return n if counting is None else counting.n  # a number, or a mistake

    return _validate.integer(open_privately(counted), "n", least=1, most=MOST_N)


def _terms(n: Any, epsilon: float | None, error: object, rows: int, large: bool) -> Terms:
    """Check the terms of a table's plan."""
    if n is None or epsilon is None or error is not None:
        raise ParameterError(
            "candidates",
            "the plan of a table needs n and epsilon",
            "pass both, and leave out the target error",
        )
    return Terms(epsilon=epsilon, rows_per_person=rows, allow_large_epsilon=bool(large))


def _refuse_without_candidates(top: object, delta: object) -> None:
    """Refuse options of tables if there is none."""
    for name, value in (("top", top), ("delta", delta or None)):
        if value is not None:
            raise ParameterError(
                f"{name} = {safe_repr(value)}",
                "it applies to tables, and the number of pairs is not known",
                with_code("pass `candidates=36` too, the number of pairs"),
            )


def _target(error: object) -> float:
    """Check a target error."""
    target = _validate.real(error, "error")
    if not 0 < target <= MOST_ERROR:
        raise ParameterError(
            f"error = {error!r}",
            f"guessing {MOST_ERROR:g} is never further from MIC*",
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
    """Note that a release would be refused for its noise, if so."""
    try:
        mechanism.refuse_noisy(setting)
    except ParameterError:
        return "refused as too noisy unless you pass `allow_noisy=True`"
    return ""
