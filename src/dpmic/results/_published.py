"""What all published results share: what they cost, whom they protect, and a guarantee in words."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from dpmic._format import format_ceil, format_factor, percent_ceil
from dpmic.results._base import Fact, Result, flatten

GUESS, LARGE_EPSILON = 0.01, 100.0
"""The probability of a guess before a result is seen; above this epsilon it becomes certainty."""

WEAK = 50.0
"""Protection is called weak where the probability of a result may change by a larger factor."""

LONGEST_NUMBER = 25
"""Characters of a float in JSON, and one to spare."""


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """Whom a guarantee protects: one record, or all records of a person that are used.

    Attributes
    ----------
    person : str or None
        The column of identifiers, where only the first ``rows`` records of each person are used.
    rows : int
        How many records a person may have.
    """

    person: str | None = None
    rows: int = 1

    @property
    def replacing(self) -> str:
        """The subject of a guarantee: whose records are replaced.

        Examples
        --------
        >>> for unit in (PrivacyUnit(), PrivacyUnit("patient"), PrivacyUnit("patient", 5)):
        ...     print(unit.replacing)
        replacing one record
        replacing one person's record (patient; only their first record counts)
        replacing all records of one person (patient; only the first 5 of each count)
        """
        if self.person is None:
            several = f"all records of one person, at most {self.rows},"
            return f"replacing {'one record' if self.rows == 1 else several}"
        if self.rows == 1:
            return f"replacing one person's record ({self.person}; only their first record counts)"
        first = f"only the first {self.rows} of each count"
        return f"replacing all records of one person ({self.person}; {first})"

    @property
    def anyone(self) -> str:
        """Whom or what the guarantee speaks of, in a word."""
        return "record" if self.person is None and self.rows == 1 else "person"

    @property
    def each(self) -> str:
        """What of the unit is in the data, as the object of a sentence.

        Examples
        --------
        >>> for unit in (PrivacyUnit(), PrivacyUnit("patient"), PrivacyUnit("patient", 5)):
        ...     print(unit.each)
        one record
        one person's record
        one person's records
        """
        if self.anyone == "record":
            return "one record"
        return f"one person's record{'s' if self.rows > 1 else ''}"

    @property
    def them(self) -> str:
        """The units in the plural."""
        return "records" if self.anyone == "record" else "people"

    @property
    def protected(self) -> str:
        """The unit for a list of facts."""
        if self.rows > 1:
            used = "" if self.person is None else f", by {self.person}; further ones are not used"
            return f"one person, with at most {self.rows} records{used}"
        if self.person is not None:
            return f"one person, by {self.person}; of each only the first record is used"
        return "one record; each is taken to be a different person's"

    def planned(self, enforced_by: str) -> str:
        """Return the unit for somebody who is about to spend, and what is not checked."""
        if self.person is not None and self.rows > 1:
            return f"a person, by {self.person}; the first {self.rows} rows of each are used"
        if self.person is not None:
            return f"a person, by {self.person}; the first row of each is used"
        rows = f"with at most {self.rows} rows" if self.rows > 1 else "who has one row"
        return f"a person, {rows} (not checked, dpmic takes your word; {enforced_by} enforces it)"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Published(Result):
    """Something differentially private. Nothing in it but public facts was ever un-noised.

    A subclass lists what was drawn, and says in ``guarantee`` what that is.

    Attributes
    ----------
    epsilon : float
        What it cost: the proved privacy loss for the unit in ``guarantee``.
    n : int
        The number of records, which is public. Of a group of :class:`Groups`, whose size is not
        published, the number that was promised.
    parameters : dict
        What else fixed the computation; all public and fixed without looking at the data.
    rows_per_person : int
        How many rows one person may have.
    person : str or None
        The column of identifiers, where only the first ``rows_per_person`` rows of each person
        were used.
    dataset : str or None
        The data it belongs to, as the caller named them.
    replayed : str or None
        When a ledger gave this answer before (ISO 8601, UTC): it was drawn then, and cost nothing
        now. None for a fresh draw.
    """

    epsilon: float
    n: int
    parameters: Mapping[str, Any]
    rows_per_person: int
    person: str | None
    dataset: str | None = field(default=None, compare=False)
    replayed: str | None = field(default=None, compare=False)

    @property
    @abstractmethod
    def guarantee(self) -> str:
        """The sentence that may be printed beside the result."""

    @property
    def protection(self) -> str:
        """The guarantee in plain words, for readers who do not know differential privacy."""
        return self._in_plain_words()

    def _in_plain_words(self, delta: float = 0.0) -> str:
        """Return what epsilon, and delta, mean for a guess that had a probability of 1%."""
        # Bayes' rule gives exactly this to somebody who knows all other records. Without that, a
        # result may change a guess about one record by what it says of the others.
        unit, factor = self.privacy_unit, math.exp(min(self.epsilon, LARGE_EPSILON))
        begun = f"The effect of any {unit.each} on this result is limited"
        if factor > WEAK:
            begun = f"The protection of any {unit.each} is weak"
        if delta:
            found = percent_ceil(min(GUESS * factor + delta, 1.0))
            return (
                f"{begun}: suppose someone who knows all other records uses this result to "
                f"test whether {unit.each} {'were' if unit.rows > 1 else 'was'} replaced. A test "
                f"with a false alarm in 1% of cases detects a replacement in at most {found} of "
                "cases."
            )
        sure = percent_ceil(GUESS * factor / (1 - GUESS + GUESS * factor))
        return (
            f"{begun}: someone who knows all other records, and is 1% sure of a guess about that "
            f"{unit.anyone}, is at most {sure} sure after seeing the result."
        )

    @property
    def group(self) -> str | None:
        """The group of records it belongs to, in words; None where it is about all of them."""
        group = self.parameters.get("group")
        return None if group is None else f"group {group} of {self.parameters['by']}"

    @property
    def _counted(self) -> str:
        """The number of records in a line of text; of a group, the promise."""
        return f"n={self.n}" if self.group is None else f"n>={self.n} promised"

    @property
    def privacy_unit(self) -> PrivacyUnit:
        """Whom the guarantee protects."""
        return PrivacyUnit(self.person, self.rows_per_person)

    @property
    def drawn_on(self) -> str | None:
        """The time of ``replayed`` as people write it."""
        if self.replayed is None:
            return None
        return f"{datetime.fromisoformat(self.replayed).astimezone(UTC):%Y-%m-%d %H:%M} UTC"

    def provenance(self) -> dict[str, str]:
        """Return how it was made: all that is public, in words."""
        named = {"dataset": self.dataset, "drawn on": self.drawn_on}
        return {
            "records (n)": f"{self.n:,}" if self.group is None else f"at least {self.n:,}",
            **{name: words for name, words in named.items() if words is not None},
            "epsilon": format_ceil(self.epsilon),
            "protected unit": self.privacy_unit.protected,
            **flatten(self.parameters),
        }

    def _price(self) -> list[Fact]:
        """Return the facts that close every list."""
        count = Fact("n", f"{self.n:,}", "public")
        if self.group is not None:
            count = Fact("n", f"at least {self.n:,}", "promised; the group's size is not published")
        return [Fact("epsilon", format_ceil(self.epsilon), "what it cost"), count]

    @property
    def _cost(self) -> str:
        """Epsilon in a line of text, which also says where a ledger gave the answer again."""
        again = "" if self.replayed is None else f" ({self._again})"
        return f"{format_ceil(self.epsilon)}{again}"

    @property
    def _again(self) -> str:
        return f"stored answer of {self.drawn_on}"

    def _promise(self, what: str, delta: float = 0.0) -> str:
        """Return the sentences that may be printed beside the result.

        They state (epsilon, delta)-differential privacy in full: for all sets S of results and
        both directions, P(S) is at most e^epsilon P'(S) + delta.
        """
        epsilon = format_ceil(self.epsilon)
        cost, results, rest = f"epsilon = {epsilon}", "any result", ""
        if delta:
            probability = format_ceil(delta)
            cost += f" and delta = {probability}"
            results = "any set of results"
            rest = f" and, beyond that, by at most {probability}"
        if self.group is not None:
            what = f"For {self.group}: {what[0].lower()}{what[1:]}"
        return (
            f"{what} differentially private with {cost}: {self.privacy_unit.replacing} changes "
            f"the probability of {results} by at most a factor of e^{epsilon} = "
            f"{format_factor(epsilon)}{rest}. Public: {self._public}.{self._promised}"
            f"{self._left_out}"
        )

    @property
    def _public(self) -> str:
        """What is public of the result, besides what was drawn."""
        people = "" if self.person is None else " people"
        known = {"n": f"{self.n}{people}"} if self.group is None else {}
        hidden = ("by", "group", "promised") if self.group is not None else ()
        known |= {k: _exact(v) for k, v in self.parameters.items() if k not in hidden}
        return ", ".join(f"{name} = {words}" for name, words in known.items())

    @property
    def _promised(self) -> str:
        """The sentence about the size of a group."""
        if self.group is None:
            return ""
        whom = "records" if self.person is None else "people"
        complete = self.parameters.get("promised", self.n)
        some = "" if complete == self.n else f" ({complete} complete records for each pair)"
        return (
            f" At least {self.n} {whom}{some} were promised for this group; its size is not "
            "published."
        )

    @property
    def _left_out(self) -> str:
        """The sentence about missing values, if there may be any."""
        rule = self.parameters.get("missing")
        if rule is None:
            return ""
        if rule == "drop":
            return " Each pair leaves out records with missing values; how many is not published."
        by = "a random value" if rule == "scatter" else "the value stated for its column"
        return f" Each missing value is replaced by {by}; how many there are is not published."

    @abstractmethod
    def _drawn(self) -> Sequence[float]:
        """Return the numbers that were drawn, or follow from what was."""

    def _drawn_length(self) -> tuple[int, int]:
        """Return how many characters what was drawn takes in JSON, and how many it may take."""
        drawn = self._drawn()
        return sum(len(repr(number)) for number in drawn), LONGEST_NUMBER * len(drawn)

    def _sound(self) -> bool:
        return 0 < self.epsilon < math.inf

    def _html_facts(self) -> list[Fact]:
        again = [] if self.replayed is None else [Fact("replayed", self._again)]
        return [*self.facts(), *again]

    def _html_sentences(self) -> Sequence[str]:
        return self.headline(), self.protection, self.guarantee


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PublishedPair(Published):
    """Something about two columns, with Laplace noise.

    Attributes
    ----------
    names : (str, str)
        What the two variables are called.
    sensitivity, scale, granularity : float
        The largest change that one person can cause, the scale of the Laplace noise, and the
        spacing of the grid on which outputs lie.
    """

    names: tuple[str, str]
    sensitivity: float
    scale: float
    granularity: float

    def provenance(self) -> dict[str, str]:
        """Return how it was made, with the noise."""
        return super().provenance() | noise_facts(self.sensitivity, self.scale)

    def _sound(self) -> bool:
        first, second = self.names
        numbers = (self.sensitivity, self.scale, self.granularity)
        named = isinstance(first + second, str)
        return super()._sound() and named and all(0 < v < math.inf for v in numbers)


def noise_facts(sensitivity: float, scale: float) -> dict[str, str]:
    """Return what is public of the noise."""
    return {"sensitivity": f"{sensitivity:.6g}", "scale of the noise": f"{scale:.6g}"}


def _exact(value: Any) -> str:
    """Write a parameter as a person would, with all its digits."""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_exact(v)}" for name, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_exact(v) for v in value) + "]"
    return str(value)
