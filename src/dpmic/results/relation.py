"""The first sentence of a display: how strongly columns are related, for anybody to understand.

The words follow fixed thresholds. Two columns with a normal distribution and a correlation of 0.5
score about ``MODERATE``, with one of 0.7 about ``STRONG``. Whatever unrelated columns may score as
well is not called a relation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpmic._format import format_pvalue
from dpmic.parameters.chance import Unrelated

MODERATE, STRONG = 0.15, 0.3
"""Scores from which a relation is called moderate and strong; below, it is weak."""

CONVINCING, SUGGESTIVE = 0.001, 0.05
"""P-values up to which there is strong evidence, and some evidence, of a relation."""


def degree(low: float, high: float) -> str:
    """Say how strong a relation is whose score lies from low to high.

    Examples
    --------
    >>> degree(0.56, 0.7), degree(0.1, 0.2), degree(0.1, 0.6)
    ('strongly', 'weakly to moderately', 'weakly to strongly')
    """
    least, most = _word(low), _word(high)
    return least if least == most else f"{least} to {most}"


def _word(score: float) -> str:
    if score < MODERATE:
        return "weakly"
    return "moderately" if score < STRONG else "strongly"


@dataclass(frozen=True)
class Relation:
    """A score of two columns, with what is needed to put it into words.

    ``half`` is half the width of the interval of its noise; 0 without privacy. ``margin`` is that
    of an interval that holds for all values published together; None where this is the only one.
    ``where`` names the group of records, such as "ward surgery".
    """

    names: tuple[str, str]
    value: float
    half: float = 0.0
    unrelated: Unrelated | None = None
    where: str = ""
    margin: float | None = None

    @property
    def stands_out(self) -> bool:
        """Whether the score exceeds what unrelated columns score, noise allowed for."""
        margin = self.half if self.margin is None else self.margin
        return self.unrelated is not None and self.value - margin > self.unrelated.most

    @property
    def sentence(self) -> str:
        """The sentence.

        Examples
        --------
        >>> by_chance = Unrelated(0.03, 0.05)
        >>> for value, half in ((0.63, 0.066), (0.2, 0.25), (0.04, 0.02), (0.2, 0)):
        ...     print(Relation(("age", "dose"), value, half, by_chance).sentence)
        Age and dose are strongly related: 0.63, give or take 0.07 from the privacy noise.
        It is unclear whether age and dose are related. They score 0.20, give or take 0.25 from \
the privacy noise. Unrelated columns score up to 0.05.
        Age and dose show no clear relation: 0.04, give or take 0.02 from the privacy noise. \
Unrelated columns score up to 0.05.
        Age and dose are moderately related: 0.20.
        >>> print(Relation(("age", "dose"), 0.7, 0.1, by_chance, where="ward surgery").sentence)
        In ward surgery, age and dose are strongly related: 0.70, give or take 0.10 from the \
privacy noise.
        """
        said = self._said
        return f"In {self.where}, {said}" if self.where else sentence_case(said)

    @property
    def _said(self) -> str:
        """The sentence, as it follows the name of a group."""
        subject = f"{self.names[0]} and {self.names[1]}"
        if self.unrelated is None:
            return f"{subject} score {self.number}."
        if self.stands_out:
            strength = degree(self.value - self.half, self.value + self.half)
            return f"{subject} are {strength} related: {self.number}."
        by_chance = f"Unrelated columns score up to {ceiling(self.unrelated.most)}."
        if self.value <= self.unrelated.most:
            return f"{subject} show no clear relation: {self.number}. {by_chance}"
        return f"it is unclear whether {subject} are related. They score {self.number}. {by_chance}"

    @property
    def number(self) -> str:
        """The score with its noise, which has one significant digit, or two if the first is 1."""
        if not self.half:
            return f"{self.value:.2f}"
        digits = min(max(-math.floor(math.log10(self.half / 2)), 2), 4)
        half = ceiling(self.half, digits)
        return f"{self.value:.{digits}f}, give or take {half} from the privacy noise"


def standing_out(count: int, total: int, kind: str) -> str:
    """Say how many pairs score more than unrelated columns.

    Examples
    --------
    >>> [standing_out(count, 5, "pairs") for count in (0, 1, 5)]  # doctest: +NORMALIZE_WHITESPACE
    ['None of the 5 pairs scores clearly more than unrelated columns',
     '1 of the 5 pairs scores clearly more than unrelated columns',
     'All 5 pairs score clearly more than unrelated columns']
    >>> standing_out(0, 2, "pairs")
    'Neither of the 2 pairs scores clearly more than unrelated columns'
    """
    none, every = ("Neither", "Both") if total == 2 else ("None", f"All {total:,}")
    some = f"{count:,}" if count else none
    shown = every if count == total else f"{some} of the {total:,}"
    return f"{shown} {kind} score{'s' if count < 2 else ''} clearly more than unrelated columns"


def the_strongest(selected: int, total: int) -> str:
    """Name pairs that were selected for their strength.

    Examples
    --------
    >>> the_strongest(1, 3), the_strongest(5, 1225)
    ('The strongest of 3 pairs', 'The strongest 5 of 1,225 pairs')
    """
    some = "" if selected == 1 else f" {selected}"
    return f"The strongest{some} of {total:,} pairs"


def ceiling(value: float, digits: int = 2) -> str:
    """Round up to some decimals.

    Examples
    --------
    >>> ceiling(0.061), ceiling(0.07), ceiling(0.0004, 3)
    ('0.07', '0.07', '0.001')
    """
    return f"{math.ceil(round(value * 10**digits, 9)) / 10**digits:.{digits}f}"


def sentence_case(name: str) -> str:
    """Begin a sentence with the name of a column; an abbreviation such as pH stays as it is.

    Examples
    --------
    >>> sentence_case("age"), sentence_case("pH"), sentence_case("x")
    ('Age', 'pH', 'x')
    """
    word = name.split("_")[0].split(" ")[0]
    return name[0].upper() + name[1:] if len(word) > 1 and word.islower() else name


def evidence(first: str, second: str, pvalue: float) -> str:
    """Say what a test shows.

    Examples
    --------
    >>> evidence("age", "dose", 0.00005)
    'There is strong evidence that age and dose are related (p < 0.0001).'
    """
    if pvalue > SUGGESTIVE:
        shown = "no clear evidence"
    else:
        shown = "strong evidence" if pvalue <= CONVINCING else "some evidence"
    return f"There is {shown} that {first} and {second} are related ({format_pvalue(pvalue)})."
