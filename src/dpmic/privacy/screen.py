"""Private screening: choose the strongest pairs of a table, then release their values.

Replacing one person's rows changes every pair's score by at most Delta, so the scores have
sensitivity Delta in the maximum norm, and those of the chosen pairs k Delta in the sum norm.
The choice and the values are two releases, whose losses add up. Proof:
docs/proofs/screening-and-matrices.md.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpmic import _validate
from dpmic.errors import ParameterError
from dpmic.privacy import noise, sensitivity, tables
from dpmic.privacy.charge import account, padded
from dpmic.privacy.domain import private
from dpmic.privacy.ledger import Ledger
from dpmic.privacy.mechanisms import MICrLaplace
from dpmic.privacy.reminders import refuse_noisy_value
from dpmic.privacy.split import best_split
from dpmic.privacy.tables import Question, Table
from dpmic.results import Screening

__all__ = ["screen"]

LEAST_SHARE = 0.001
"""Of epsilon, for the choice as well as for the values."""


@private
def screen(
    table: Any,
    *,
    bounds: Any = None,
    epsilon: float,
    top: int,
    target: str | int | None = None,
    split: float | None = None,
    B: float | None = None,
    c: float | None = None,
    person: Any = None,
    rows_per_person: int = 1,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    name: str | None = None,
    allow_large_epsilon: bool = False,
    allow_noisy: bool = False,
) -> Screening:
    """Choose the strongest pairs of a table and publish their MICr, under differential privacy.

    Of many pairs only the few that are chosen share the noise of the values, so it is far smaller
    than in :func:`dpmic.release_pairwise`.

    Parameters
    ----------
    table : frame, matrix, path, stream or CountTable
        A pandas, polars or pyarrow table, or a numpy array with a row for each record; or what is
        counted in one pass, as for :func:`dpmic.micr`. Rows that can be read only once need a
        ``B`` and a ``c``; a count table has bounds, B and c of its own.
    bounds : mapping or sequence
        ``{"age": (0, 120), ...}``: the named columns take part, others are ignored. Or an
        interval for each column. Chosen without looking at the data.
    epsilon : float
        The privacy loss of everything together, at most 10 unless ``allow_large_epsilon``.
    top : int
        How many pairs to choose. With as many as there are, all of epsilon is for the values.
    target : str, optional
        Only pairs of this column with others are candidates.
    split : float, optional
        The share of epsilon for the choice. By default the one, between a tenth and nine tenths,
        that minimises the expected error of a table whose scores are spread evenly over [0, 1].
    B, c : float, optional
        As for :func:`dpmic.release`; by default tuned for n and the noise of one value.
    person, ledger, dataset, name
        As for :func:`dpmic.release`.
    rows_per_person : int
        How many rows one person may have; the noise grows in proportion.
    allow_large_epsilon : bool
        Allow epsilon above 10 (weak protection).
    allow_noisy : bool
        Publish even where the noise of a value exceeds 0.25 with a probability of 5%; without it
        that is refused, before data is read.

    Returns
    -------
    Screening
        The chosen pairs with their values, the largest first. Pairs with a constant column score
        0 plus noise like any others.

    Examples
    --------
    >>> import numpy as np, dpmic
    >>> x = np.random.default_rng(7).uniform(-1, 1, (5000, 4))
    >>> x[:, 3] = x[:, 1] ** 2
    >>> found = dpmic.screen(x, bounds=[(-1, 1)] * 4, epsilon=1.0, top=1)
    >>> found.pairs, found.candidates
    ((('1', '3'),), 6)
    """
    whole = tables.stand_in(
        table,
        B,
        c,
        epsilon=epsilon,
        rows_per_person=rows_per_person,
        allow_large_epsilon=allow_large_epsilon,
        allow_noisy=allow_noisy,
    )
    charged = account(ledger, dataset, name)
    found = tables.find(table, whole, bounds=bounds, target=target, person=person)
    plan = _plan(found, whole, top, split)
    whole.remind()
    steps = plan.question.steps(lambda scores: _text(plan.publish(scores), found))
    return charged.settle(Screening, found.source, plan.asked, plan.epsilon, steps)


@dataclass(frozen=True)
class _Plan:
    """What a screening does; a function of n, the columns' names and the options alone."""

    question: Question
    top: int
    split: float
    selection: noise.TopK | None
    values: noise.LaplaceVector

    @property
    def selection_epsilon(self) -> float:
        """What the choice costs."""
        return 0.0 if self.selection is None else self.selection.epsilon

    @property
    def epsilon(self) -> float:
        """What everything costs: basic composition, rounded up."""
        if self.selection is None:
            return self.values.epsilon
        return math.nextafter(self.selection.epsilon + self.values.epsilon, math.inf)

    @property
    def asked(self) -> dict[str, Any]:
        """What a ledger tells questions apart by, besides the columns."""
        chosen = {"mechanism": "screen", "top": self.top, "split": self.split}
        return {**self.question.asked, **chosen}

    def draw(self, scores: Sequence[float]) -> tuple[list[int], list[float]]:
        """Choose, and add noise to what was chosen: the only step from private to public."""
        chosen = list(range(len(scores)))
        if self.selection is not None:
            chosen = self.selection.choose(scores)
        noisy = self.values.add([scores[i] for i in chosen])
        return chosen, [min(max(value, 0.0), 1.0) for value in noisy]

    def publish(self, scores: Sequence[float]) -> Screening:
        """Draw, and put the largest published value first."""
        drawn = sorted(zip(*self.draw(scores), strict=True), key=lambda row: (-row[1], row[0]))
        names, calibration = self.question.table.named_pairs, self.question.setting.calibration
        facts = self.question.facts
        values = [value for _, value in drawn]
        return Screening(
            pairs=tuple(names[i] for i, _ in drawn),
            values=tuple(values),
            estimates=tuple(calibration.estimate(values, self.values.scale).tolist()),
            candidates=len(names),
            split=self.split,
            selection_epsilon=self.selection_epsilon,
            values_epsilon=self.values.epsilon,
            epsilon=self.epsilon,
            selection_scale=0.0 if self.selection is None else self.selection.scale,
            scale=self.values.scale,
            **{**facts, "parameters": {**facts["parameters"], "top": self.top}},
        )


def _plan(table: Table, whole: MICrLaplace, top: object, split: object) -> _Plan:
    """Fix everything from what is public."""
    candidates, epsilon = len(table.pairs), whole.epsilon
    count = _validate.integer(top, "top", least=1)
    if count > candidates:
        raise ParameterError(
            f"top = {top!r}", f"there are {candidates} pairs", f"pass at most {candidates}"
        )
    share = _share(split, table, whole, count)
    # One of k values has the noise of a single release at a k-th of their epsilon.
    question = Question.tuned(table, whole, epsilon * (1 - share) / count)
    delta = question.setting.sensitivity
    selection = None
    if share:
        selection = noise.calibrate_top_k(delta, epsilon * share, count, candidates)
    together = count * delta * (1 + 2**-50)  # rounded up
    values = noise.calibrate_vector(together, epsilon * (1 - share), count)
    remedy = "pass a smaller top, more data or a larger epsilon"
    refuse_noisy_value("laplace", values.scale, whole.allow_noisy, remedy)
    return _Plan(question, count, share, selection, values)


def _share(split: object, table: Table, whole: MICrLaplace, top: int) -> float:
    """Return the share of epsilon for the choice; none where there is nothing to choose."""
    candidates = len(table.pairs)
    if top == candidates:
        if split is not None:
            raise ParameterError(
                f"split = {split!r}",
                f"with top = {top} of {top} pairs there is nothing to choose",
                "leave split out, or pass a smaller top",
            )
        return 0.0
    if split is None:
        one_row = sensitivity.micr(max(table.source.n, MICrLaplace.least_n))
        change = min(whole.rows_per_person * one_row, 1.0)
        return best_split(candidates, top, whole.epsilon, change)
    share = _validate.real(split, "split")
    if not LEAST_SHARE <= share <= 1 - LEAST_SHARE:
        raise ParameterError(
            f"split = {split!r}",
            "it is the share of epsilon for the choice, and both parts need some",
            f"pass a number from {LEAST_SHARE} to {1 - LEAST_SHARE}, or leave it out",
        )
    return share


def _text(published: Screening, table: Table) -> str:
    """Write a screening in a length that tells nothing of its pairs and values."""
    longest = max(len(json.dumps(pair)) for pair in table.named_pairs)
    drawn = sum(len(json.dumps(pair)) for pair in published.pairs)
    drawn += sum(len(repr(v)) for v in (*published.values, *published.estimates))
    return padded(published.to_json(), drawn, len(published.pairs) * (longest + 50))
