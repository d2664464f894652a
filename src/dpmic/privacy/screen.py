"""Private screening: select the strongest pairs of a table, then publish their scores.

Replacing one person's rows changes every score by at most Delta, so the scores have sensitivity
Delta in L-infinity, and so have those of the selected pairs. The selection and the values are two
releases, and their losses add up. Proof: docs/proofs/screening-and-matrices.md.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate
from dpmic.errors import ParameterError
from dpmic.parameters.value_noise import ValueNoise
from dpmic.privacy import _pairs, groups, noise
from dpmic.privacy._auto import Records
from dpmic.privacy._guards import noise_in_words, private, refuse_noisy_value, remind_of_bounds
from dpmic.privacy._joint_noise import JointNoise, least_noise, of_value
from dpmic.privacy._laplace import CalibratedLaplace, FixedGridMechanism
from dpmic.privacy._pairs import PairOptions, Table
from dpmic.privacy.ledger import Ledger
from dpmic.privacy.query import Terms
from dpmic.results import Screening
from dpmic.statistics.maps import Axes

__all__ = [
    "ScreenNoise",
    "ScreenQuery",
    "best_split",
    "calibrate",
    "expected_error",
    "prepare",
    "screen",
]

Floats = NDArray[np.float64]

LEAST_SHARE = 0.001
"""The least share of epsilon for the selection, and for the values."""

MOST_POINTS = 1_000
"""More candidates are represented by this many, within half a thousandth."""

SHARES = np.arange(10, 91) / 100
"""At least a tenth for each part: true scores may be closer together than assumed."""


@private
def screen(
    table: Any,
    *,
    bounds: Any = None,
    categories: Mapping[str, Any] | None = None,
    epsilon: float,
    top: int,
    target: str | int | None = None,
    split: float | None = None,
    mechanism: str = "auto",
    axes: Axes | None = None,
    cap: float | None = None,
    B: float | None = None,
    c: float | None = None,
    missing: Any = "refuse",
    complete: float | None = None,
    by: Any = None,
    at_least: Mapping[str, int] | int | None = None,
    person: Any = None,
    rows_per_person: int = 1,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    name: str | None = None,
    allow_large_epsilon: bool = False,
    allow_noisy: bool = False,
) -> Any:  # Screening, or Groups with `by`
    """Select the strongest pairs of a table and publish their MIC, under differential privacy.

    Only the few selected pairs share the noise of the values, so it is far smaller than in
    :func:`dpmic.release_pairwise`.

    Parameters
    ----------
    table : frame, matrix, path, stream or CountTable
        A pandas, polars or pyarrow table, a numpy array with one row per record, or a source that
        is counted in one pass, as for :func:`dpmic.micr`. A count table has its own bounds and
        grids.
    bounds : mapping or sequence
        The possible ranges of the columns, from domain knowledge, never from the data:
        ``{"age": (0, 120), ...}``. Only these columns are scored. Or one interval per column.
    categories : mapping, optional
        The nominal columns to score, ``{"ward": ["a", "b", "c"]}``, as for :func:`dpmic.release`.
    epsilon : float
        The total privacy loss, at most 10 unless ``allow_large_epsilon``.
    top : int
        The number of pairs to select. If that is all pairs, the values get all of epsilon.
    target : str, optional
        Consider only the pairs of this column with others.
    split : float, optional
        The share of epsilon for the selection. The default, between 0.1 and 0.9, minimises the
        expected error for a table whose scores are spread evenly over [0, 1].
    mechanism : {"auto", "capped-laplace", "micr-laplace"}
        The mechanism that scores a pair, by default as for :func:`dpmic.release`.
    axes : {"any", "linear", "wide"}, optional
        How axes are cut, as for :func:`dpmic.release`; by default "any".
    cap, B, c : float, optional
        As for :func:`dpmic.release`; by default tuned for n and the noise of one value.
    missing, complete, by, at_least, person, rows_per_person
        As for :func:`dpmic.release`; each pair uses the records that have both of its values.
    ledger, dataset, name, allow_large_epsilon, allow_noisy
        As for :func:`dpmic.release`.

    Returns
    -------
    Screening or Groups
        The selected pairs with their values, largest first; with ``by``, those of each group. A
        pair with a constant column gets 0 plus noise, like any other.

    Examples
    --------
    >>> import numpy as np, dpmic
    >>> x = np.random.default_rng(7).uniform(-1, 1, (5000, 4))
    >>> x[:, 3] = x[:, 1] ** 2
    >>> found = dpmic.screen(x, bounds=[(-1, 1)] * 4, epsilon=1.0, top=1)
    >>> found.pairs, found.candidates
    ((('1', '3'),), 6)
    """
    terms = Terms(
        epsilon=epsilon,
        person=person,
        rows_per_person=rows_per_person,
        missing=missing,
        complete=complete,
        categories=categories,
        by=by,
        at_least=at_least,
        ledger=ledger,
        dataset=dataset,
        name=name,
        allow_large_epsilon=allow_large_epsilon,
        allow_noisy=allow_noisy,
    )
    own: dict[str, Any] = {"bounds": bounds, "target": target, "split": split}
    scored: dict[str, Any] = {"mechanism": mechanism, "axes": axes, "cap": cap, "B": B, "c": c}
    return prepare(table, terms, top=top, **own, **scored).run()


@private
def prepare(
    table: Any,
    terms: Terms,
    *,
    top: int,
    bounds: Any = None,
    target: str | int | None = None,
    split: float | None = None,
    **scored: Any,
) -> Any:
    """Prepare the query for a screening, from public facts; ``scored`` are PairOptions."""
    if terms.by is not None:
        given = {"top": top, "bounds": bounds, "target": target, "split": split, **scored}
        frame = None if isinstance(table, np.ndarray) else table
        return groups.prepare(lambda own: prepare(table, own, **given), terms, frame)
    options = PairOptions(**scored)
    found = _pairs.find(table, terms, options, bounds=bounds, target=target)
    noises = calibrate(found, terms, options, len(found.pairs), top, split)
    remedy = "pass more data or a larger epsilon"
    if noises.top > 1:
        remedy = "pass a smaller top, more data or a larger epsilon"
    added = of_value(noises.values)
    refuse_noisy_value(added, found.size, terms.counted, terms.allow_noisy, remedy)
    remind_of_bounds()
    return ScreenQuery(
        source=found.source,
        terms=terms,
        person=found.person,
        size=found.given,
        table=found,
        **vars(noises),
    )


@dataclass(frozen=True)
class ScreenNoise:
    """The mechanism of the pairs, the split of epsilon, and both noises."""

    mechanism: FixedGridMechanism
    setting: CalibratedLaplace
    top: int
    split: float
    selection: noise.TopK | None
    values: JointNoise


def calibrate(
    table: Table | Records,
    terms: Terms,
    options: PairOptions,
    candidates: int,
    top: int,
    split: float | None = None,
) -> ScreenNoise:
    """Return the noise of a screening, from public facts alone."""
    count = _validate.integer(top, "top", least=1)
    if count > candidates:
        reason, most = f"there are only {candidates} pairs", f"at most {candidates}"
        if candidates == 1:
            reason, most = "there is only one pair", "1"
        raise ParameterError(f"top = {top!r}", reason, f"pass {most}")
    # The best mechanism depends on the split, and the split, a little, on the mechanism.
    half = options.calibrated(table, terms, _of_one(terms.epsilon / 2, count))[1]
    share = _share(split, candidates, count, terms.epsilon, half.sensitivity)
    rest = terms.epsilon * (1 - share)
    mechanism, setting = options.calibrated(table, terms, _of_one(rest, count))
    change = setting.sensitivity
    selection = None
    if share:
        selection = noise.calibrate_top_k(change, terms.epsilon * share, count, candidates)
    return ScreenNoise(
        mechanism=mechanism,
        setting=setting,
        top=count,
        split=share,
        selection=selection,
        values=least_noise(change, count, rest),
    )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ScreenQuery(_pairs.TableQuery[Screening]):
    """A query for the strongest pairs of a table, with their MIC."""

    top: int
    split: float
    selection: noise.TopK | None
    values: JointNoise

    result = Screening

    @property
    def selection_epsilon(self) -> float:
        """The cost of the selection."""
        return 0.0 if self.selection is None else self.selection.epsilon

    @property
    def epsilon(self) -> float:
        """The total cost: basic composition, rounded up."""
        if self.selection is None:
            return self.values.epsilon
        return math.nextafter(self.selection.epsilon + self.values.epsilon, math.inf)

    @property
    def step_loss(self) -> float:
        """The privacy loss when one record is added, removed or replaced, rounded up."""
        one = self.setting.one_row
        added = 0.0 if self.selection is None else self.selection.loss(one)
        assert not isinstance(self.values, noise.Gaussian)  # a screening has no delta
        return math.nextafter(added + self.values.loss(one), math.inf)

    @property
    def noise_in_words(self) -> str:
        """The noise of a value in words."""
        return noise_in_words(of_value(self.values))

    @property
    def publishes(self) -> str:
        """What the query publishes."""
        if len(self.table.pairs) == 1:
            return "the MIC of the only pair"
        which = f"the {self.top} strongest" if self.top > 1 else "the strongest"
        return f"{which} of {len(self.table.pairs)} pairs, selected privately, with MIC"

    @property
    def key_facts(self) -> dict[str, Any]:
        """The options of a screening."""
        return {**super().key_facts, "mechanism": "screen", "top": self.top, "split": self.split}

    def draw(self, scores: Sequence[float]) -> tuple[list[int], list[float]]:
        """Select pairs and add noise to their scores: the only step from private to public."""
        selected = list(range(len(scores)))
        if self.selection is not None:
            selected = self.selection.choose(scores)
        noisy = self.values.add([scores[i] for i in selected])
        return selected, [min(max(value, 0.0), 1.0) for value in noisy]

    def publish(self, exact: Sequence[float]) -> Screening:
        """Draw the result, and sort it by published value."""
        drawn = sorted(zip(*self.draw(exact), strict=True), key=lambda row: (-row[1], row[0]))
        names, facts = self.table.named_pairs, self.facts
        values = [value for _, value in drawn]
        estimates = self.setting.calibration.estimate(values, of_value(self.values).mean)
        return Screening(
            pairs=tuple(names[i] for i, _ in drawn),
            values=tuple(values),
            estimates=tuple(estimates.tolist()),
            candidates=len(names),
            split=self.split,
            selection_epsilon=self.selection_epsilon,
            values_epsilon=self.values.epsilon,
            selection_scale=0.0 if self.selection is None else self.selection.scale,
            scale=self.values.scale,
            noise=self.values.kind,
            **{**facts, "parameters": {**facts["parameters"], "top": self.top}},
        )


def _of_one(epsilon: float, count: int) -> float:
    """Return the epsilon of a single release with the noise of one of several values."""
    return 1 / of_value(least_noise(1.0, count, epsilon)).mean


def _share(split: object, candidates: int, top: int, epsilon: float, change: float) -> float:
    """Return the share of epsilon for the selection, or 0 if all pairs are published."""
    if top == candidates:
        if split is not None:
            raise ParameterError(
                f"split = {split!r}",
                f"with top = {top} of {top} pairs there is nothing to select",
                "leave split out, or pass a smaller top",
            )
        return 0.0
    if split is None:
        return best_split(candidates, top, epsilon, change)
    share = _validate.real(split, "split")
    if not LEAST_SHARE <= share <= 1 - LEAST_SHARE:
        raise ParameterError(
            f"split = {split!r}",
            "it is the share of epsilon for the selection, and both parts need some",
            f"pass a number from {LEAST_SHARE} to {1 - LEAST_SHARE}, or leave it out",
        )
    return share


# The split of epsilon between the selection and the values.


def expected_error(candidates: int, top: int, selection: float, values: float) -> float:
    """Return the expected loss of the selection plus the expected error of a value.

    The loss is the difference between the mean true score of the ``top`` strongest pairs and that
    of the selected pairs. ``selection`` and ``values`` are the scales of the two noises; the second
    is cube noise. The data must not be used for this, so true scores are assumed to be spread
    evenly over [0, 1].

    Selection by Gumbel noise takes candidate i with a probability near
    1 - exp(-t exp(score_i / selection)), where t makes these add up to ``top`` (successive
    sampling). Permute-and-flip, which OpenDP uses, loses no more than that with one pair
    (McKenna and Sheldon 2020), and in our measurements with several (docs/guides/screening.md).

    Examples
    --------
    >>> round(expected_error(45, 5, 0.1, 0.05), 3)
    0.107
    """
    points = min(candidates, MOST_POINTS)
    each = candidates / points
    scores = (np.arange(points) + 0.5) / points
    selected = each * _inclusion(scores, top / each, selection)
    strongest = 1 - top / candidates / 2  # the mean of the upper part of [0, 1]
    loss = strongest - float(selected @ scores) / top
    # E|clip(score + noise, 0, 1) - score|: clipping limits noise to the score or 1 - score.
    added = ValueNoise("cube", values, top)
    error = (added.mean_up_to(scores) + added.mean_up_to(1 - scores)) / 2
    return loss + float(selected @ error) / top


def best_split(candidates: int, top: int, epsilon: float, sensitivity: float) -> float:
    """Return the share of epsilon for the selection, within SHARES, of least expected error.

    Examples
    --------
    >>> best_split(45, 5, epsilon=1.0, sensitivity=0.0114)
    0.67
    """
    # By OpenDP's map the selection costs 2 k Delta / scale; the mean cube noise of k values is
    # (k + 1) / 2 times Delta over its cost.
    unit = sensitivity / epsilon
    errors = [
        expected_error(candidates, top, 2 * top * unit / a, (top + 1) / 2 * unit / (1 - a))
        for a in SHARES
    ]
    return float(SHARES[int(np.argmin(errors))])


def _inclusion(scores: Floats, top: float, scale: float) -> Floats:
    """Return selection probabilities that add up to ``top``."""
    from scipy.optimize import brentq

    logits = (scores - scores[-1]) / scale

    def excess(log_t: float) -> float:  # rises with t
        return float(_included(logits, log_t).sum()) - top

    return _included(logits, brentq(excess, -50.0, -float(logits[0]) + 50.0))


def _included(logits: Floats, log_t: float) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(-np.expm1(-np.exp(logits + log_t)))
