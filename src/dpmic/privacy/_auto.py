"""Which mechanism scores a pair: a public function of n, epsilon, options and where data are.

Without wishes it is the one with the smaller error at that n and epsilon, by simulation
(:mod:`dpmic.parameters.tuned`): capped information, except where n epsilon is very large.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpmic.errors import ParameterError, safe_repr
from dpmic.parameters import tuned
from dpmic.privacy._geometric import MICrGeometric
from dpmic.privacy._laplace import CappedLaplace, MICeLaplace, MICrLaplace
from dpmic.privacy._mechanism import Mechanism
from dpmic.privacy.query import TERMS, Terms
from dpmic.statistics.capped import MOST_RECORDS
from dpmic.statistics.fixed_grids import CappedGrids
from dpmic.statistics.sources import Counting, Found

MECHANISMS: dict[str, type[Any]] = {
    kind.name: kind for kind in (CappedLaplace, MICrLaplace, MICeLaplace, MICrGeometric)
}

OF_MICR = {"B", "c", "master", "statistic"}
"""Options that only MICr has, of the two that "auto" chooses from."""


@dataclass(frozen=True)
class Records:
    """Records of which only the number is known, as in a plan; taken to be in memory."""

    n: int


def resolve(
    mechanism: Any, options: dict[str, Any], source: Found | Records, epsilon: float
) -> str:
    """Return the name of the mechanism that is meant; ``epsilon`` is that of one score and row."""
    if mechanism != "auto":
        return str(mechanism)
    if isinstance(source, Counting) and source.grids is not None:
        capped = isinstance(source.grids.family, CappedGrids)
        return CappedLaplace.name if capped else MICrLaplace.name
    if OF_MICR & options.keys():
        return MICrLaplace.name
    if "cap" in options or options.get("axes") == "wide":
        return CappedLaplace.name
    if isinstance(source, Counting) and source.once:
        return CappedLaplace.name  # whose grids do not depend on n
    return of_least_error(max(source.n, CappedLaplace.least_n), epsilon)  # fewer are refused later


def of_least_error(n: int, epsilon: float) -> str:
    """Return the mechanism that errs least on n records; ``epsilon`` is that of one score and row.

    Examples
    --------
    >>> of_least_error(1000, 1.0)
    'capped-laplace'
    """
    return tuned.best_laplace(n, epsilon) if n <= MOST_RECORDS else MICrLaplace.name


def options_of_table(source: Found | Records, mechanism: str) -> dict[str, Any]:
    """Return the options that a count table decides, of those that a mechanism has."""
    if not isinstance(source, Counting) or source.grids is None:
        return {}
    facts = {"axes": "linear", **source.grids.family.facts()}
    kind = MECHANISMS.get(mechanism)
    fields = getattr(kind, "__dataclass_fields__", {})
    return {name: value for name, value in facts.items() if name in fields and name != "statistic"}


def made(mechanism: Any, terms: Terms, bounds: Any, options: dict[str, Any]) -> Mechanism:
    """Return a mechanism from its name and options, or refuse them."""
    kind = MECHANISMS.get(mechanism) if isinstance(mechanism, str) else None
    if kind is None:
        known = " or ".join(repr(known) for known in ("auto", *MECHANISMS))
        raise ParameterError(
            f"mechanism = {safe_repr(mechanism)}", "it is not known", f"pass {known}"
        )
    if bounds is not None:
        options = {**options, "bounds": bounds}
    unknown = sorted(options.keys() - kind.__dataclass_fields__.keys())
    if unknown:
        raise ParameterError(
            f"{unknown[0]} = {safe_repr(options[unknown[0]])}",
            f"{mechanism} has no such option",
            f"pass some of {', '.join(kind.__dataclass_fields__)}",
        )
    if kind.needs_bounds:
        options = {"bounds": None, **options}  # None is refused with the reason
    shared = {option: getattr(terms, option) for option in TERMS}
    made: Mechanism = kind(**shared, **options)
    return made
