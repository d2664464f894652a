"""What was published of each group of records, under one guarantee."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dpmic.data import OTHER, Backend, build
from dpmic.errors import InputError, safe_repr
from dpmic.results._base import Fact, Form, as_metadata
from dpmic.results._published import Published
from dpmic.results.relation import Relation, standing_out
from dpmic.results.release import Release
from dpmic.results.screening import Screening

KINDS: Mapping[str, type[Published]] = {"Release": Release, "Screening": Screening}


def _written(members: tuple[Published, ...]) -> list[dict[str, Any]]:
    return [{"kind": type(member).__name__, **member.to_dict()} for member in members]


def _read(members: Sequence[Any]) -> tuple[Published, ...]:
    return tuple(_member(dict(fields)) for fields in members)


def _member(fields: dict[str, Any]) -> Published:
    return KINDS[fields.pop("kind")].from_dict(fields)


MEMBERS = as_metadata(Form(tuple, _written, _read))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Groups(Published):
    """The same query of every group: ``result["a"]`` is that of group a.

    Each member says what it would cost alone; ``epsilon`` is what all of them cost together. How
    many records a group has is not published: ``n`` of a member, in JSON too, is the number that
    was promised for the group.

    Attributes
    ----------
    labels : tuple of str
        The groups, which were public.
    members : tuple of Release or of Screening
        What was published of each.
    """

    labels: tuple[str, ...]
    members: tuple[Any, ...] = field(metadata=MEMBERS)

    def __getitem__(self, group: str) -> Any:
        """Return what was published of a group."""
        if group not in self.labels:
            known = ", ".join(self.labels)
            raise InputError(f"group {safe_repr(group)}", "there is no such group", f"pass {known}")
        return self.members[self.labels.index(group)]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the groups."""
        return iter(self.labels)

    def __len__(self) -> int:
        """How many groups there are."""
        return len(self.labels)

    def items(self) -> Iterator[tuple[str, Any]]:
        """Iterate over the groups, each with what was published of it."""
        return zip(self.labels, self.members, strict=True)

    @property
    def by(self) -> str:
        """The column that says which group a record is in."""
        return str(self.parameters["by"])

    @property
    def guarantee(self) -> str:
        """The sentence that may be printed beside the results."""
        return self._promise(
            f"Publishing these results of {self._every} groups by {self.by} is, in total,"
        )

    @property
    def _left_out(self) -> str:
        """The sentences about what took no part."""
        others = "" if OTHER in self.labels else ", or with another one than these,"
        return (
            f"{super()._left_out} Records without a value of {self.by}{others} took no part; how "
            "many there are is not published."
        )

    @property
    def _every(self) -> str:
        """How many groups there are, as a sentence counts them."""
        return "both" if len(self) == 2 else f"all {len(self)}"

    @property
    def title(self) -> str:
        """What the result is called."""
        first = self.members[0]
        what = first.title if isinstance(first, Release) else "the strongest pairs"
        return f"{what}, by {self.by}"

    def relations(self) -> list[Relation]:
        """Return the score of each pair of each group and its noise, to be put into words."""
        return [
            replace(relation, where=f"{self.by} {group}")
            for group, own in self.items()
            for relation in own.relations(len(self))
        ]

    def headline(self) -> str:
        """Return the strongest relation of a group in a sentence, and how the others compare."""
        found = self.relations()
        values = [relation.value for relation in found]
        leading = found[values.index(max(values))]
        if len({relation.names for relation in found}) == 1:
            return (
                f"{leading.sentence} The values of {self._every} groups lie between "
                f"{min(values):.2f} and {max(values):.2f}."
            )
        if not all(relation.unrelated for relation in found):
            return leading.sentence
        count = sum(relation.stands_out for relation in found)
        kind = f"pairs of the {len(self)} groups"
        return f"{leading.sentence} {standing_out(count, len(found), kind)}."

    def facts(self) -> list[Fact]:
        """Return the numbers of every group, and what they cost."""
        shown = [
            Fact(f"{group}: {fact.label}", fact.text, fact.meaning)
            for group, member in self.items()
            for fact in member.facts()
            if fact.label not in ("epsilon", "n")
        ]
        return [*shown, *self._price()]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each published value: group, x, y, value, and its noise interval."""
        found = []
        for group, member in self.items():
            if isinstance(member, Release):
                each = [(member.names, member.value, member.interval())]
            else:
                each = list(zip(member.pairs, member.values, member.interval(), strict=True))
            for (x, y), value, (low, high) in each:
                row = {"x": x, "y": y, "value": value, "low": low, "high": high}
                found.append({"group": group, **row})
        return found

    def to_frame(self, backend: Backend | None = None) -> Any:
        """Return a row for each value: group, x, y, value, and low and high of its noise (95%)."""
        rows = self.rows()
        return build({name: [row[name] for row in rows] for name in rows[0]}, backend)

    def _drawn(self) -> Sequence[float]:
        return [number for member in self.members for number in member._drawn()]

    def _drawn_length(self) -> tuple[int, int]:
        each = [member._drawn_length() for member in self.members]
        return sum(drawn for drawn, _ in each), sum(most for _, most in each)

    def _sound(self) -> bool:
        sound = len(self.labels) == len(self.members) >= 2
        return sound and super()._sound() and all(member._sound() for member in self.members)

    def _summary(self) -> str:
        return f"{len(self)} groups by {self.by}, n={self.n}, epsilon={self._cost}"

    def _listing(self) -> Sequence[str]:
        return [f"{group}: {member!r}" for group, member in self.items()]
