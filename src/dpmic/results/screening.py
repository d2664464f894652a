"""Published scores of several pairs: the strongest of a table, or all of them."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from dpmic._format import format_ceil, plural
from dpmic.data import Backend, build
from dpmic.errors import InputError
from dpmic.parameters.chance import Unrelated
from dpmic.parameters.value_noise import Kind, ValueNoise
from dpmic.results import uncertainty
from dpmic.results._base import Fact
from dpmic.results._published import Published, noise_facts
from dpmic.results.pairwise import listed, ranked, strongest
from dpmic.results.relation import Relation, standing_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Pairs = tuple[tuple[str, str], ...]

KINDS = {
    "laplace": "Laplace, independent for each value",
    "gaussian": "Gaussian, independent for each value",
    "cube": "cube: one random radius for all values, each moved uniformly within it",
}
"""Kinds of noise, in words."""


def _publishing(pairs: int) -> str:
    """Begin the guarantee of a result that holds every pair."""
    if pairs == 1:
        return "Publishing the MIC of this one pair is"
    return f"Publishing the MICs of all {pairs:,} pairs is, in total,"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ScoredPairs(Published):
    """Scores of pairs of columns, each with noise of the same scale.

    Attributes
    ----------
    values, estimates : tuple of float
        The published MIC of each pair, in [0, 1], and a guess of MIC* that follows from it at no
        further cost; see :meth:`estimate_interval`.
    target : str or None
        The column that every pair contains, if one was named.
    sensitivity : float
        The largest change of a score that one person can cause.
    scale, granularity : float
        The mean absolute noise of a value (of Gaussian noise the standard deviation), and the
        spacing of the grid on which values lie.
    noise : {"laplace", "gaussian", "cube"}
        The kind of noise. Cube noise has one random radius for all values, and moves each by a
        uniform number within it.
    """

    values: tuple[float, ...]
    estimates: tuple[float, ...]
    target: str | None
    sensitivity: float
    scale: float
    granularity: float
    noise: str = "laplace"  # of screenings that were stored before there was another

    if TYPE_CHECKING:  # a field of one subclass, and a property of the other

        @property
        def pairs(self) -> Pairs:
            """The pairs in the order of the values."""

    @property
    def mechanism(self) -> str:
        """What scored the pairs."""
        return "capped-laplace" if "cap" in self.parameters else "micr-laplace"

    @property
    def _noise(self) -> ValueNoise:
        return ValueNoise(cast("Kind", self.noise), self.scale, len(self.values))

    @property
    def half_width(self) -> float:
        """What the noise of a value exceeds with a probability of 5%."""
        return self._noise.half_width(0.95)

    def interval(self, level: float = 0.95) -> tuple[tuple[float, float], ...]:
        """Return the noise's interval for each pair, not the sample's.

        Each contains, with probability ``level`` or more, what its pair scores without noise.
        The values' noise is fresh, so that holds for selected pairs, too.
        """
        half = self._noise.half_width(uncertainty.level_of(level)) + 2 * self.granularity
        return tuple(uncertainty.noise_interval(value, half) for value in self.values)

    def estimate_interval(self, level: float = 0.95) -> tuple[tuple[float, float], ...]:
        """Return an interval for MIC* of each pair, noise and sampling error together.

        As :meth:`dpmic.Release.estimate_interval`, for each pair by itself: it holds for pairs
        that were named beforehand. Pairs selected for their strength among many tend to
        have scored above their MIC*, which no interval here corrects.
        """
        evidence = uncertainty.Evidence.of_noise(self, self.mechanism, self._noise)
        return tuple(
            evidence.interval(value, estimate, level)
            for value, estimate in zip(self.values, self.estimates, strict=True)
        )

    @property
    def unrelated(self) -> Unrelated | None:
        """What unrelated columns score at this n before noise; None where it is not known.

        Even the strongest of as many unrelated pairs as were looked at scores no more than
        ``most``, with a probability of 95%.
        """
        return self._unrelated(1)

    def _unrelated(self, groups: int) -> Unrelated | None:
        """Return what the strongest of unrelated pairs scores, of so many groups."""
        looked_at = groups * self._looked_at
        return uncertainty.unrelated(self, self.mechanism, self._noise, looked_at)

    @property
    def _looked_at(self) -> int:
        """From how many pairs the strongest come."""
        return len(self.values)

    def relations(self, groups: int = 1) -> tuple[Relation, ...]:
        """Return the score of each pair and its noise, to be put into words.

        The pairs are those of one of so many groups. A pair stands out where its score exceeds
        what unrelated columns score, with noise allowed for that holds for all values at once.
        """
        half = uncertainty.margin(self._noise, self.granularity, 1)
        margin = uncertainty.margin(self._noise, self.granularity, groups * len(self.values))
        known = self._unrelated(groups)
        return tuple(
            Relation((x, y), value, half, known, margin=margin)
            for (x, y), value in zip(self.pairs, self.values, strict=True)
        )

    def headline(self) -> str:
        """Return the leading pair in a sentence, and how many pairs stand out."""
        found = self.relations()
        leading = found[int(np.argmax(self.values))]
        if len(found) == 1 or leading.unrelated is None:
            return leading.sentence
        count = sum(relation.stands_out for relation in found)
        return f"{leading.sentence} {standing_out(count, len(found), self._kind)}."

    @property
    def _kind(self) -> str:
        return "pairs"

    def known_estimates(self) -> uncertainty.KnownEstimates:
        """Return the estimates with their intervals for a display, or why there are none."""
        return uncertainty.known_estimates(self.estimates, self.estimate_interval)

    def to_frame(self, backend: Backend | None = None, *, estimate: bool = False) -> Any:
        """Return a row for each pair: x, y, value, and low and high of its noise interval (95%).

        With ``estimate`` also the estimate of MIC*, estimate_low and estimate_high (95%).
        """
        ends = self.interval()
        columns: dict[str, Sequence[Any]] = {
            "x": [x for x, _ in self.pairs],
            "y": [y for _, y in self.pairs],
            "value": self.values,
            "low": [low for low, _ in ends],
            "high": [high for _, high in ends],
        }
        if estimate:
            ends = self.estimate_interval()
            columns["estimate"] = self.estimates
            columns["estimate_low"] = [low for low, _ in ends]
            columns["estimate_high"] = [high for _, high in ends]
        return build(columns, backend)

    def provenance(self) -> dict[str, str]:
        """Return how it was made, with the noise."""
        facts = noise_facts(self.sensitivity, self.scale)
        return super().provenance() | facts | {"noise": KINDS[self.noise]}

    def facts(self) -> list[Fact]:
        """Return the leading pairs, and what they cost."""
        numbers = [
            f"{value:.4f} (noise: {low:.4f} to {high:.4f})"
            for value, (low, high) in zip(self.values, self.interval(), strict=True)
        ]
        leading = [(f"{x}, {y}", numbers[i]) for i, (x, y) in self._leading()]
        return [*ranked(leading, len(self.values)), *self._price()]

    def _leading(self) -> list[tuple[int, tuple[str, str]]]:
        """Return the pairs of the largest values, with their positions."""
        pairs = self.pairs
        return [(i, pairs[i]) for i in strongest(np.array(self.values)).tolist()]

    def _listing(self) -> Sequence[str]:
        leading = [(f"{x}, {y}", f"{self.values[i]:.4f}") for i, (x, y) in self._leading()]
        return listed(leading, len(self.values))

    def _drawn(self) -> Sequence[float]:
        return *self.values, *self.estimates

    def _sound(self) -> bool:
        numbers = (self.sensitivity, self.scale, self.granularity)
        return (
            super()._sound()
            and self.noise in KINDS
            and 0 < len(self.values) == len(self.estimates) == len(self.pairs)
            and all(0 <= v <= 1 for v in (*self.values, *self.estimates))
            and all(0 < v < math.inf for v in numbers)
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Screening(ScoredPairs):
    """Pairs selected for their strength, and their values, the largest value first.

    It says nothing of the pairs that were not selected.

    Attributes
    ----------
    pairs : tuple of (str, str)
        The selected pairs.
    candidates : int
        How many pairs there were to select from.
    split : float
        The share of epsilon that was asked for the selection; 0 where all pairs are released.
    selection_epsilon, values_epsilon : float
        What the selection and the values cost; ``epsilon`` is the sum, rounded up.
    selection_scale : float
        The scale of the selection.
    """

    pairs: Pairs
    candidates: int
    split: float
    selection_epsilon: float
    values_epsilon: float
    selection_scale: float

    @property
    def guarantee(self) -> str:
        """The sentence that may be printed beside the result."""
        if len(self.pairs) == self.candidates:
            return self._promise(_publishing(self.candidates))
        selected = f"these {len(self.pairs)}" if len(self.pairs) > 1 else "this one"
        theirs = "their MICs" if len(self.pairs) > 1 else "its MIC"
        of = f"{self.candidates:,} pairs"
        return self._promise(f"Selecting {selected} of {of} and publishing {theirs} is, in total,")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the values as bars with their noise intervals; needs matplotlib."""
        from dpmic.plots import screening

        return screening(self, ax)

    def provenance(self) -> dict[str, str]:
        """Return how it was made, with what the selection and the values cost."""
        return super().provenance() | {
            "epsilon of the selection": format_ceil(self.selection_epsilon),
            "epsilon of the values": format_ceil(self.values_epsilon),
            "scale of the selection noise": f"{self.selection_scale:.6g}",
        }

    @property
    def _looked_at(self) -> int:
        return self.candidates

    @property
    def _kind(self) -> str:
        return "pairs" if len(self.pairs) == self.candidates else "selected pairs"

    def _leading(self) -> list[tuple[int, tuple[str, str]]]:
        return list(enumerate(self.pairs))  # all of them: they were selected

    def _drawn_length(self) -> tuple[int, int]:
        drawn, most = super()._drawn_length()
        drawn += sum(len(json.dumps(pair)) for pair in self.pairs)
        return drawn, most + len(self.pairs) * self._longest_pair()

    def _longest_pair(self) -> int:
        """Return the most characters that a candidate takes in JSON."""
        listed = self.parameters.get("categories", {})
        names = [*self.parameters["bounds"], *listed]  # of all columns, selected or not
        if self.target is not None:
            names.remove(self.target)
        lengths = sorted(len(json.dumps(name)) for name in names)
        other = lengths[-2] if self.target is None else len(json.dumps(self.target))
        return lengths[-1] + other + len("[, ]")

    def _sound(self) -> bool:
        costs = (self.selection_epsilon, self.selection_scale, self.split)
        return (
            super()._sound()
            and all(len(pair) == 2 for pair in self.pairs)
            and len(self.pairs) <= self.candidates
            and 0 < self.values_epsilon < math.inf
            and all(0 <= v < math.inf for v in costs)
        )

    def _summary(self) -> str:
        return (
            f"{len(self.pairs):,} of {plural(self.candidates, 'pair')}, {self._counted}, "
            f"epsilon={self._cost}, {self.noise} noise within {self.half_width:.4f} at 95%"
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PairwiseRelease(ScoredPairs):
    """The MIC of all pairs of columns, or of one column with all others, each with noise.

    Attributes
    ----------
    names : tuple of str
        The columns.
    delta : float
        What the probability of any set of results may exceed exp(epsilon) times another by; 0
        for pure privacy.
    """

    names: tuple[str, ...]
    delta: float

    @property
    def pairs(self) -> Pairs:
        """The pairs: all of them, or the target with each other column."""
        if self.target is None:
            return tuple(itertools.combinations(self.names, 2))
        return tuple((self.target, name) for name in self.names if name != self.target)

    @property
    def guarantee(self) -> str:
        """The sentence that may be printed beside the numbers."""
        return self._promise(_publishing(len(self.values)), self.delta)

    @property
    def protection(self) -> str:
        """The guarantee in plain words, for readers who do not know differential privacy."""
        return self._in_plain_words(self.delta)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The values, symmetric, by ``names``.

        NaN where nothing was released: the diagonal, and with a target all pairs without it.
        """
        matrix = np.full((len(self.names), len(self.names)), np.nan)
        place = {name: i for i, name in enumerate(self.names)}
        for (x, y), value in zip(self.pairs, self.values, strict=True):
            matrix[place[x], place[y]] = matrix[place[y], place[x]] = value
        return matrix

    def value(self, x: str, y: str) -> float:
        """Return the published number of a pair, in either order."""
        published = dict(zip(self.pairs, self.values, strict=True))
        for pair in ((x, y), (y, x)):
            if pair in published:
                return published[pair]
        raise InputError(f"{x!r}, {y!r}", "this pair was not released", "pass a pair of .pairs")

    def top(self, k: int) -> tuple[tuple[str, str, float], ...]:
        """Return the k largest published numbers with their pairs, at no further cost.

        Noise decides who leads: where only the strongest matter :func:`dpmic.screen` is better.
        """
        pairs, places = self.pairs, strongest(np.array(self.values), k)
        return tuple((*pairs[place], self.values[place]) for place in places)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the matrix as a heat map, or one column's values as bars; needs matplotlib."""
        from dpmic.plots import private_matrix

        return private_matrix(self, ax)

    def _sound(self) -> bool:
        known = self.target is None or self.target in self.names
        return known and 0 <= self.delta < 1 and super()._sound()

    def facts(self) -> list[Fact]:
        """Return the leading pairs, their noise, and what they cost."""
        *rows, epsilon, n = super().facts()
        delta = [Fact("delta", format_ceil(self.delta), "what it cost")] if self.delta else []
        return [*rows, epsilon, *delta, n]

    def provenance(self) -> dict[str, str]:
        """Return how it was made, with the noise."""
        delta = {"delta": format_ceil(self.delta)} if self.delta else {}
        return super().provenance() | delta

    def _summary(self) -> str:
        cost = f"epsilon={self._cost}"
        if self.delta:
            cost += f", delta={format_ceil(self.delta)}"
        return (
            f"{plural(len(self.values), 'pair')} of {len(self.names):,} columns, {self._counted}, "
            f"{cost}, {self.noise} noise within {self.half_width:.4f} at 95%"
        )
