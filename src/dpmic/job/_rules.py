"""Rules that entries of a job file must follow together; each notes every problem it finds."""

from __future__ import annotations

from collections.abc import Sequence

from dpmic import _validate
from dpmic._validate import Categories
from dpmic.errors import DpmicError, ParameterError, did_you_mean, safe_repr
from dpmic.job._entries import (
    ASKS,
    KEYS,
    NEEDED,
    OFF,
    WAYS,
    Column,
    Entries,
    EntryError,
    for_the_file,
    key_of,
)
from dpmic.privacy.release import MECHANISMS

UNIT = ("privacy", "person")
"""The entry that a missing privacy unit is reported for."""

UNIT_REMEDY = (
    "name the column that identifies people, which needs no line below [columns], or write "
    "one_row_per_person = true instead"
)


def apply(entries: Entries) -> None:
    """Apply every rule and sort the problems as the file is written."""
    for rule in (_data, _unit, _price, _question, _columns, _pairs, _gaps, _groups, _shown, _open):
        rule(entries)
    entries.problems.sort(key=entries.place_of)


def is_about_unit(problem: DpmicError) -> bool:
    """Return whether a problem is that the privacy unit is missing."""
    return isinstance(problem, EntryError) and problem.remedy.startswith(UNIT_REMEDY)


def variables(entries: Entries) -> list[str]:
    """Return the columns that are scored."""
    ask = entries.get("question", "ask")
    if ask in ("one pair", "test"):
        named = (entries.get("question", axis) for axis in ("x", "y"))
        return [name for name in named if name is not None]
    aside = entries.get("privacy", "person"), entries.get("groups", "by")
    known = entries.columns.items()
    return [name for name, column in known if column.domain is not None and name not in aside]


def candidates(entries: Entries) -> int:
    """Return the number of candidate pairs."""
    count = len(variables(entries))
    if entries.get("question", "target") is not None:
        return count - 1
    return count * (count - 1) // 2


def needs_domains(entries: Entries) -> bool:
    """Return whether columns need bounds or categories, as calls on ranks do to scatter alone."""
    if entries.get("missing", "rule") == "scatter":
        return True
    kind = MECHANISMS.get(entries.get("question", "mechanism"))
    return entries.get("question", "ask") != "test" and (kind is None or kind.needs_bounds)


def _needed(entries: Entries, table: str, key: str, remedy: str) -> bool:
    """Note a required key without a value; return whether it has one."""
    if entries.get(table, key) is not None:
        return True
    if not _known(entries, table, key):
        there = (table, key) in entries.lines
        reason = "it is not filled in" if there else "it is missing"
        entries.wrong((table, key), reason, remedy if there else f"{remedy}, below [{table}]")
    return False


def _data(entries: Entries) -> None:
    _needed(entries, "data", "file", 'write file = "visits.csv"')
    if entries.get("privacy", "ledger") is not None:
        remedy = 'give the data a name for the ledger: dataset = "visits 2024"'
        _needed(entries, "data", "dataset", remedy)


def _unit(entries: Entries) -> None:
    person, one = entries.get(*UNIT), entries.get("privacy", "one_row_per_person", False)
    rows = entries.get("privacy", "rows_per_person")
    if one and (person is not None or rows is not None):
        other = "person" if person is not None else "rows_per_person"
        reason = f"{other} allows several rows per person"
        entries.wrong(("privacy", "one_row_per_person"), reason, f"{OFF} of one of the two")
    if not one and person is None and rows is None:
        _needed(entries, *UNIT, UNIT_REMEDY)
    if rows is not None and rows > 1 and entries.get("question", "ask") == "test":
        reason = "a test needs independent rows, and rows of one person are not"
        entries.wrong(("privacy", "rows_per_person"), reason, "write rows_per_person = 1")
    if person is not None and entries.columns.get(person, Column()).domain is not None:
        reason = "this column identifies the person, so it is not scored"
        entries.wrong(("columns", person), reason, f'write {key_of(person)} = "ignore"')


def _price(entries: Entries) -> None:
    if _needed(entries, "privacy", "epsilon", "write epsilon = 1"):
        large = entries.get("privacy", "allow_large_epsilon", False)
        try:
            _validate.epsilon(entries.get("privacy", "epsilon"), allow_large=large)
        except ParameterError as error:
            remedy = for_the_file(error.remedy)
            entries.wrong(("privacy", "epsilon"), error.reason, remedy, error.value)


def _question(entries: Entries) -> None:
    if not _needed(entries, "question", "ask", f"write ask = {' or '.join(_asks())}"):
        return
    ask = entries.get("question", "ask")
    own = ASKS[ask]
    for key in KEYS["question"]:
        if key in own and key in NEEDED:
            example = "5" if key == "top" else '"age"'
            _needed(entries, "question", key, f"write {key} = {example}")
        elif key != "ask" and key not in own and entries.get("question", key) is not None:
            entries.wrong(("question", key), f"ask = {safe_repr(ask)} does not use it", OFF)
    mechanism = entries.get("question", "mechanism", "auto")
    single = {name for name, kind in MECHANISMS.items() if kind.counts or not kind.needs_bounds}
    if ask in ("strongest pairs", "all pairs") and mechanism in single:
        reason = "this mechanism cannot score the pairs of a table"
        entries.wrong(("question", "mechanism"), reason, f"{OFF} to use the default")


def _asks() -> list[str]:
    return [f'"{ask}"' for ask in ASKS]


def _columns(entries: Entries) -> None:
    """Scored columns need bounds or categories; for all pairs, every column must be filled in."""
    ask = entries.get("question", "ask")
    if ask is None:
        return
    if ask in ("strongest pairs", "all pairs"):
        for name, column in entries.columns.items():
            if column.open and name != entries.get(*UNIT):
                entries.wrong(("columns", name), "it is not filled in", WAYS)
    for axis in ("x", "y", "target"):
        name = entries.get("question", axis)
        if axis in ASKS[ask] and name is not None:
            _named(entries, axis, name)


def _named(entries: Entries, axis: str, name: str) -> None:
    """Check a column that the question names."""
    column = entries.columns.get(name)
    if column is None:
        remedy = (
            did_you_mean(name, list(entries.columns)) if entries.columns else "add a line for it"
        )
        shown = f"{axis} = {safe_repr(name)}"
        entries.wrong(("question", axis), "there is no such column below [columns]", remedy, shown)
    elif entries.get("question", "ask") == "test" and isinstance(column.domain, Categories):
        shown = f"{axis} = {safe_repr(name)}"
        reason = "a test ranks numbers and dates; categories have no order"
        entries.wrong(("question", axis), reason, "name another column", shown)
    elif column.domain is None and needs_domains(entries) and not _known(entries, "columns", name):
        entries.wrong(("columns", name), f"the question uses it as {axis}", WAYS)


def _known(entries: Entries, *place: str) -> bool:
    """Return whether a problem with an entry is noted already."""
    return any(problem.key == ".".join(map(key_of, place)) for problem in entries.problems)


def _pairs(entries: Entries) -> None:
    """Check that there are enough pairs."""
    ask = entries.get("question", "ask")
    if ask in ("one pair", "test"):
        names = variables(entries)
        if len(names) == 2 and len(set(names)) == 1:
            reason = "x and y are the same column"
            entries.wrong(("question", "y"), reason, "name two different columns")
        return
    if ask is None or any(p.key.startswith("columns.") for p in entries.problems):
        return
    scored = variables(entries)
    if len(scored) < 2:
        reason = "a pair needs two columns with bounds or categories"
        entries.wrong(("columns",), reason, WAYS, "[columns]")
        return
    top, count = entries.get("question", "top"), candidates(entries)
    if top is not None and top > count:
        reason = "there is only one pair" if count == 1 else f"there are only {count} pairs"
        entries.wrong(
            ("question", "top"),
            reason,
            f"write top = {count}" if count == 1 else f"write top = {count} or less",
            f"top = {top}",
        )


def _gaps(entries: Entries) -> None:
    if ("missing", "rule") in entries.open:
        remedy = 'write rule = "drop" if values may be missing, or rule = "refuse" if none are'
        entries.wrong(("missing", "rule"), "it is not filled in", remedy)
    rule = entries.get("missing", "rule", "refuse")
    if rule == "drop" and entries.get("question", "ask") == "test":
        reason = "a test cannot drop records, because their number must stay public"
        remedy = (
            'write ask = "one pair", which can, or rule = "scatter" or "fill", with which the test '
            "never claims a relation"
        )
        entries.wrong(("missing", "rule"), reason, remedy)
    if rule != "drop" and entries.get("missing", "complete") is not None:
        reason = f"it applies only to dropped records, and the rule is {safe_repr(rule)}"
        entries.wrong(("missing", "complete"), reason, f'{OFF}, or write rule = "drop"')
    filled = [name for name, column in entries.columns.items() if column.fill is not None]
    if rule != "fill":
        for name in filled:
            reason = f"it has a value for missing ones, but the rule is {safe_repr(rule)}"
            entries.wrong(("columns", name), reason, 'write rule = "fill" below [missing]')
    elif not filled:
        remedy = "add one, such as age = { bounds = [0, 120], missing = 0 }"
        entries.wrong(("missing", "rule"), "no column has a value for missing ones", remedy)


def _groups(entries: Entries) -> None:
    by, sizes = entries.get("groups", "by"), entries.get("groups", "at_least")
    if by is None and sizes is None:
        return
    if entries.get("question", "ask") == "test":
        entries.wrong(("groups", "by"), "a test cannot be run by group", OFF)
        return
    if entries.get("question", "ask") == "all pairs":
        remedy = f'write ask = "strongest pairs", or {OFF}'
        entries.wrong(("groups", "by"), "all pairs cannot be published by group", remedy)
        return
    if not _needed(entries, "groups", "by", 'name the column that forms groups: by = "ward"'):
        return
    column = entries.columns.get(by)
    if column is None or not isinstance(column.domain, Categories):
        reason = "groups are categories of a column, and this column has none"
        remedy = f'write {key_of(by)} = {{ categories = ["a", "b"] }} below [columns]'
        entries.wrong(("groups", "by"), reason, remedy, f"by = {safe_repr(by)}")
        return
    remedy = "promise the least size of each group: at_least = 300, or { a = 300, b = 200 }"
    if _needed(entries, "groups", "at_least", remedy) and isinstance(sizes, dict):
        _promised(entries, list(sizes), column.domain)


def _promised(entries: Entries, named: Sequence[str], groups: Categories) -> None:
    """Check that the groups with promised sizes exist."""
    for name in named:
        if _validate.label(name) not in groups.labels:
            remedy = did_you_mean(name, groups.labels, "categories")
            shown = f"at_least of {safe_repr(name)}"
            entries.wrong(("groups", "at_least"), "there is no such group", remedy, shown)


def _shown(entries: Entries) -> None:
    scored = [entries.columns[name] for name in variables(entries) if name in entries.columns]
    complete = entries.get("missing", "rule", "refuse") == "refuse"
    if entries.get("report", "estimate") and entries.get("question", "ask") == "test":
        entries.wrong(("report", "estimate"), "a test has no estimate of MIC*", OFF)
    elif entries.get("report", "estimate") and entries.get("groups", "by") is not None:
        entries.wrong(("report", "estimate"), "groups have no estimate of MIC*", OFF)
    elif entries.get("report", "estimate") and not (
        complete and all(isinstance(own.domain, tuple | None) for own in scored)
    ):
        reason = "the estimate of MIC* is known only for numbers and dates without missing values"
        entries.wrong(("report", "estimate"), reason, OFF)


def _open(entries: Entries) -> None:
    """Note every unfilled entry that has no other problem."""
    for place in entries.open:
        if not _known(entries, *place):
            entries.wrong(place, "it is not filled in", f"fill it in, or {OFF}")
