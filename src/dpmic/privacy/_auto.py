"""The choice of a mechanism: a function of public facts (n, epsilon, options, kind of source).

An option or a count table may decide. Otherwise it is capped information, unless the simulated
error of MICr is clearly smaller at that n and epsilon (:mod:`dpmic.parameters.expected`), which it
is nowhere in the present table. Beyond 2^31 - 1 records it is MICr.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any

from dpmic.errors import ParameterError, safe_repr, with_code
from dpmic.parameters import expected
from dpmic.privacy._gaps import Size
from dpmic.privacy._geometric import MICrGeometric
from dpmic.privacy._guards import open_privately
from dpmic.privacy._laplace import CappedLaplace, MICeLaplace, MICrLaplace
from dpmic.privacy._mechanism import Mechanism
from dpmic.privacy.query import TERMS, Terms
from dpmic.privacy.sensitivity import MAX_CAPPED_N
from dpmic.statistics import sources
from dpmic.statistics.fixed_grids import CappedGrids
from dpmic.statistics.sources import Counting, Found

MECHANISMS: dict[str, type[Any]] = {
    kind.name: kind for kind in (CappedLaplace, MICrLaplace, MICeLaplace, MICrGeometric)
}

LISTED = ", or list the values of a column of names: `categories=...`"
"""The remedy for a column that needs no bounds because its values are names."""

MICR_OPTIONS = {"B", "c", "master", "statistic"}
"""Options of MICr that capped information lacks; "auto" chooses between the two."""


@dataclass(frozen=True)
class Records:
    """Records of which only the number is known, as in a plan; assumed to be in memory."""

    n: int


def resolve(
    mechanism: Any,
    options: dict[str, Any],
    source: Found | Records,
    epsilon: float,
    size: Size | None = None,
) -> str:
    """Return the name of the mechanism to use; ``epsilon`` is that of one score and row."""
    if not isinstance(mechanism, str):
        return ""  # refused by its type
    if mechanism != "auto":
        return mechanism
    if isinstance(source, Counting) and source.grids is not None:
        capped = isinstance(source.grids.family, CappedGrids)
        return CappedLaplace.name if capped else MICrLaplace.name
    capped = "cap" in options or options.get("axes") == "wide"
    uncapped = sorted(MICR_OPTIONS & options.keys())
    if capped and uncapped:
        own = "cap" if "cap" in options else "axes='wide'"
        raise ParameterError(
            f"{own} and {uncapped[0]}",
            f"{own} belongs to {CappedLaplace.name}, {uncapped[0]} to {MICrLaplace.name}",
            "leave one of the two out",
        )
    if uncapped:
        return MICrLaplace.name
    if capped:
        return CappedLaplace.name
    if isinstance(source, Counting) and source.once:
        return CappedLaplace.name  # its grids do not depend on n
    n = open_privately(lambda: source.n) if size is None else size.least
    return default_for(max(n, CappedLaplace.least_n), epsilon)  # fewer are refused later


def default_for(n: int, epsilon: float) -> str:
    """Return the default mechanism for n records; ``epsilon`` is that of one score and row.

    Examples
    --------
    >>> default_for(1000, 1.0)
    'capped-laplace'
    """
    return expected.best_laplace(n, epsilon) if n <= MAX_CAPPED_N else MICrLaplace.name


def choose(
    mechanism: Any,
    source: Found | Records,
    terms: Terms,
    bounds: Any,
    options: dict[str, Any],
    size: Size | None = None,
) -> Mechanism:
    """Return the mechanism to use, or refuse it; a count table has grids of its own.

    If the number of records may be private, only the public ``size`` is used.
    """
    name = resolve(mechanism, options, source, terms.epsilon / terms.rows_per_person, size)
    kind = MECHANISMS.get(name)
    if kind is None:
        names = ", ".join(map(repr, ("auto", *MECHANISMS)))
        raise ParameterError(
            f"mechanism = {safe_repr(mechanism)}",
            "there is no such mechanism",
            f"pass one of {names}",
        )
    if terms.categories and not kind.floors:
        raise ParameterError(
            "categories",
            "nominal columns are proved for capped-laplace and micr-laplace alone",
            with_code("leave out the mechanism, or the column"),
        )
    own = dict.fromkeys(kind.__dataclass_fields__)
    if not kind.needs_bounds and terms.gaps.rule != "scatter":
        del own["bounds"]
    if kind.needs_bounds and isinstance(source, Counting):
        bounds = source.bounds(bounds)
    given = options if bounds is None else {**options, "bounds": in_order(bounds, source)}
    unknown = sorted(given.keys() - own.keys())
    if unknown:
        raise ParameterError(
            f"{unknown[0]} = {safe_repr(given[unknown[0]])}",
            f"{name} has no such option",
            f"its options are {', '.join(own)}",
        )
    if kind.needs_bounds:
        given = {"bounds": None, **given}  # the mechanism refuses None
    shared = {option: getattr(terms, option) for option in TERMS}
    chosen: Mechanism = kind(**shared, **{**_of_table(source, own.keys()), **given})
    return chosen


def _of_table(source: Found | Records, own: Set[str]) -> dict[str, Any]:
    """Return the options of a mechanism that a count table decides."""
    if not isinstance(source, Counting) or source.grids is None:
        return {}
    facts = {"axes": "linear", **source.grids.family.facts()}
    facts.pop("statistic", None)  # a table means its grids, a mechanism what it publishes
    return {name: value for name, value in facts.items() if name in own}


def in_order(bounds: Any, source: Found | Records) -> Any:
    """Return bounds that are given by name in the order x, y."""
    return bounds if isinstance(source, Records) else sources.in_order(bounds, source.names, LISTED)
