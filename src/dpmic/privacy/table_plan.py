"""The expected error of a screening or a matrix, from n, epsilon and the number of pairs alone.

Mechanism, split and noise are those of :func:`dpmic.screen` and :func:`dpmic.release_pairwise`:
the same functions calibrate them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpmic import _validate
from dpmic.errors import ParameterError, with_code
from dpmic.parameters import chance, expected
from dpmic.privacy import pairwise, screen
from dpmic.privacy._auto import Records
from dpmic.privacy._guards import hides
from dpmic.privacy._joint_noise import of_value
from dpmic.privacy._pairs import PairOptions
from dpmic.privacy.pairwise import PairwiseQuery
from dpmic.privacy.query import Terms
from dpmic.privacy.screen import ScreenNoise, ScreenQuery
from dpmic.results.plan import Quantity, TablePlan

__all__ = ["UNSIMULATED", "chance_of_selection", "plan_of_table", "plan_table"]

STRONG = 0.5
"""The score of the strong pair in a plan."""

UNSIMULATED = "errors were simulated for default options alone"

MOST_CANDIDATES = 10**7
"""The number of pairs of 4,472 columns."""


def plan_table(
    n: int, terms: Terms, *, candidates: Any, top: Any, delta: float, of: Quantity
) -> TablePlan:
    """Return the plan of a screening, or of a matrix without ``top``."""
    pairs = _validate.integer(candidates, "candidates", least=1, most=MOST_CANDIDATES)
    noises = _noises(n, terms, pairs, top, delta)
    return _planned(noises, n, terms, pairs, selected=top is not None, of=of)


def plan_of_table(query: ScreenQuery | PairwiseQuery, *, simulated: bool) -> TablePlan:
    """Return the plan of a prepared query, for the number of records that surely count.

    ``simulated`` says whether its grids are the default ones, whose errors are known.
    """
    pairs, n = len(query.table.pairs), query.setting.size.least
    mechanism, setting = query.mechanism, query.setting
    if isinstance(query, ScreenQuery):
        own: dict[str, Any] = {"top": query.top, "split": query.split}
        own |= {"selection": query.selection, "values": query.values}
    else:
        own = {"top": pairs, "split": 0.0, "selection": None, "values": query.noise}
    noises = ScreenNoise(mechanism=mechanism, setting=setting, **own)
    selected = isinstance(query, ScreenQuery)
    return _planned(noises, n, query.terms, pairs, selected=selected, simulated=simulated)


def _planned(
    noises: ScreenNoise,
    n: int,
    terms: Terms,
    pairs: int,
    *,
    selected: bool,
    of: Quantity = "value",
    simulated: bool = True,
) -> TablePlan:
    """Return the plan of calibrated noises."""
    change, added = noises.setting.sensitivity, of_value(noises.values)
    # The epsilon of a single release with the same mean noise, per row of a person.
    each = change / added.mean / terms.rows_per_person
    known = noises.mechanism.name if simulated else ""
    error, notes = _errors(known, n, each, of)
    chosen: dict[str, float | None] = {"unrelated": None, "chance": None}
    if selected:
        unrelated = chance.before_noise(known, n, each) if known else None
        if unrelated is None:
            notes.append("the score of unrelated pairs was not simulated; 0 is assumed")
        chosen = _chosen(noises, pairs, unrelated.median if unrelated else 0.0)
    if hides(added):
        notes.append("refused as too noisy unless you pass `allow_noisy=True`")
    return TablePlan(
        n=n,
        epsilon=terms.epsilon,
        delta=noises.values.delta,
        candidates=pairs,
        top=noises.top if selected else None,
        rows_per_person=terms.rows_per_person,
        mechanism=noises.mechanism.name,
        parameters=noises.mechanism.public_grids(noises.setting.limits),
        sensitivity=change,
        selection_epsilon=noises.selection.epsilon if noises.selection else 0.0,
        values_epsilon=noises.values.epsilon,
        noise=added.kind,
        mean_noise=added.mean,
        half_width=added.half_width(0.95),
        of=of,
        **error,
        **chosen,
        note=with_code("; ".join(notes)),
    )


def _noises(n: int, terms: Terms, candidates: int, top: Any, delta: float) -> ScreenNoise:
    """Calibrate a screening, or a matrix, which publishes all pairs without selection."""
    records, options = Records(n), PairOptions()
    if top is None:
        matrix = pairwise.calibrate(records, terms, options, candidates, delta)
        return ScreenNoise(
            mechanism=matrix.mechanism,
            setting=matrix.setting,
            top=candidates,
            split=0.0,
            selection=None,
            values=matrix.noise,
        )
    if delta:
        raise ParameterError(
            f"delta = {delta!r} with top = {top!r}",
            "a selection needs no delta",
            "leave out delta, or leave out top to publish every pair",
        )
    return screen.calibrate(records, terms, options, candidates, top)


def _errors(
    mechanism: str, n: int, epsilon: float, of: Quantity
) -> tuple[dict[str, float | None], list[str]]:
    """Return the error of a default release at that epsilon, with notes.

    An empty name stands for options other than the default ones.
    """
    surface = expected.surfaces().get(mechanism)
    unknown: dict[str, float | None] = {"error": None, "error_upper": None}
    if not mechanism:
        return unknown, [UNSIMULATED]
    if surface is None:
        return unknown, [f"the error of {mechanism} was not simulated"]
    if n < surface.n[0]:
        return unknown, [f"errors are known from n = {surface.n[0]:.0f} on"]
    if epsilon < surface.epsilon[0]:
        return unknown, ["errors with this much noise were not simulated"]
    found = surface.at(n, epsilon)
    error = getattr(found, of)
    blind = f"always guessing 0.5 would err less than the {of}s"
    notes = [surface.beyond(n, epsilon), blind if error > expected.constant()[0] else ""]
    return {"error": error, "error_upper": getattr(found, f"{of}_upper")}, [*filter(None, notes)]


def _chosen(noises: ScreenNoise, candidates: int, unrelated: float) -> dict[str, float | None]:
    """Return the chance to select one strong pair among unrelated ones, and their score."""
    chance = 1.0
    if noises.selection is not None:
        gap, chosen = STRONG - unrelated, noises.selection
        chance = chance_of_selection(gap, chosen.scale, candidates, chosen.k)
    return {"unrelated": unrelated, "chance": chance}


def chance_of_selection(gap: float, scale: float, candidates: int, top: int) -> float:
    """Return the probability to select a pair that scores ``gap`` more than all others.

    ``top`` is below the number of candidates, and ``scale`` is that of
    :class:`dpmic.privacy.noise.TopK`. The result is exact if all others have the same score.

    In each round, permute-and-flip visits the remaining candidates in random order and accepts each
    with probability p = exp(-(best score - its score) / scale). It accepts the best as soon as it
    reaches it: after i others with probability (1 - p)^i. Among r candidates, each i from 0 to
    r - 1 is equally likely, so the mean is (1 - (1 - p)^r) / (r p). A failed round selects one of
    the others.

    Examples
    --------
    >>> round(chance_of_selection(0.5, 0.1, 36, 5), 3), chance_of_selection(0.0, 0.1, 36, 9)
    (1.0, 0.25)
    """
    left = candidates - np.arange(top)
    with np.errstate(divide="ignore"):
        accepted = max(np.exp(-abs(gap) / scale), 1e-300)
        if gap >= 0:
            taken = -np.expm1(left * np.log1p(-accepted)) / (left * accepted)
        else:  # all others are accepted with certainty
            taken = accepted / left
        return float(-np.expm1(np.log1p(-np.minimum(taken, 1.0)).sum()))
