"""The first steps: what each shows of the job file, and how what is filled in changes that file."""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpmic.app import _outcome
from dpmic.app._frame import Page, code, downloads, field, form, radios, select, sent
from dpmic.app._session import Session
from dpmic.errors import DpmicError, ParameterError, safe_repr
from dpmic.job import EntryError, Job, for_the_file
from dpmic.report.markup import paragraphs, text

Form = Mapping[str, str]

UNDECIDED, IGNORE = "?", "ignore"
BELONGS = {
    "privacy.person": "protect",
    "privacy.one_row_per_person": "protect",
    "privacy.rows_per_person": "protect",
    "data.people": "protect",
    "privacy.epsilon": "epsilon",
    "privacy.ledger": "epsilon",
    "privacy.allow_large_epsilon": "epsilon",
    "data.dataset": "epsilon",
}
TABLES = {"columns": "columns", "missing": "columns", "question": "question"}
TABLES |= {"groups": "question"}

FIRST_LINE = (
    "In a text or a workbook, the names below are the words of the first line. If that line is a "
    "person's record, stop: add a line of names above it and begin again. Reports show the names."
)
KNOWLEDGE = (
    "Write what you know of each column, never what you saw in the records: the report shows it."
)
SPELLING = (
    "Spelling and capitals must match. Anything else counts as missing, unless one category is "
    "called other."
)
SEEN = (
    "You have seen exact scores of this table. Choices made from them are not covered by the "
    "guarantee."
)
KINDS = {
    UNDECIDED: "choose",
    "bounds": "numbers between",
    "dates": "dates between",
    "categories": "categories",
    IGNORE: "not used",
}
RULES = {
    UNDECIDED: "choose",
    "refuse": "no value is missing",
    "drop": "drop the records that lack a value of the pair",
    "scatter": "replace them by random values between the bounds",
    "fill": "replace them by a value that you name for each column",
}
UNFILLED = ("it is not filled in", "it is missing", "there is no such ledger")
LABELS = {
    "privacy.person": "what a person is",
    "privacy.epsilon": "epsilon",
    "privacy.ledger": "the total of the ledger, which does not exist yet",
    "data.dataset": "the name of the dataset",
    "missing.rule": "how to treat missing values",
    "question.ask": "what is to be published",
    "question.top": "how many pairs",
    "question.x": "the first column",
    "question.y": "the second column",
    "groups.at_least": "the least number of records in each group",
}
ASKS = {
    "strongest pairs": "The strongest pairs, and how strong they are",
    "all pairs": "All pairs",
    "one pair": "One pair: how strong is the relation",
    "test": "One pair: a test of independence",
}


def raw(session: Session) -> dict[str, dict[str, Any]]:
    """Return the entries of the job that fields can show, right or wrong."""
    content = tomllib.loads(session.text)
    tables = {table: own for table, own in content.items() if isinstance(own, dict)}
    return {
        table: {key: value for key, value in own.items() if _fits(table, key, value)}
        for table, own in tables.items()
    }


def _fits(table: str, key: str, value: Any) -> bool:
    """Return whether there is a field for such a value."""
    if table == "columns" and isinstance(value, dict):
        ends, listed = value.get("bounds", ["", ""]), value.get("categories", [])
        pair = isinstance(ends, list) and len(ends) == 2 and all(map(_single, ends))
        return pair and isinstance(listed, list) and _single(value.get("missing", ""))
    if key == "na":
        return isinstance(value, list)
    return _single(value) or (key == "at_least" and isinstance(value, dict))


def _single(value: Any) -> bool:
    return isinstance(value, str | int | float | datetime.date)


@dataclass(frozen=True)
class Lacking:
    """What is wrong on a page, in sentences, and what is only to be filled in still."""

    wrong: list[str]
    open: list[str]

    @property
    def all(self) -> list[str]:
        """Both as sentences."""
        still = f"Still to be filled in: {', '.join(self.open)}."
        return [*self.wrong, still] if self.open else self.wrong

    @property
    def hint(self) -> str:
        """What is still to be filled in, without alarm."""
        if not self.open:
            return ""
        return f"<p class='hint'>Still to be filled in: {text(', '.join(self.open))}.</p>"


def lacking(job: Job, place: str = "") -> Lacking:
    """Return what is missing or wrong on one page, or in the whole job."""
    wrong, unfilled = [], []
    for problem in job.check():
        if place not in ("", home(problem)):
            continue
        key = problem.key if isinstance(problem, EntryError) else ""
        if key and problem.reason in UNFILLED:
            unfilled.append(LABELS.get(key, key.removeprefix("columns.")))
        else:
            value = for_the_file(problem.value)
            shown = re.sub(r"^line \d+, ", "", value).removeprefix("columns.")
            said = f"{shown}: {for_the_file(problem.reason)}"
            remedy = "" if key.startswith("columns.") else f"; {for_the_file(problem.remedy)}"
            wrong.append(f"{said}{remedy}{'' if remedy.endswith('?') else '.'}")
    return Lacking(wrong, unfilled)


def home(problem: DpmicError) -> str:
    """Return the page on which a problem is to be solved."""
    key = problem.key if isinstance(problem, EntryError) else ""
    return BELONGS.get(key, TABLES.get(key.partition(".")[0], "job"))


# Whom to protect


def protect(session: Session) -> Page:
    """Show the privacy unit."""
    privacy, data = raw(session).get("privacy", {}), raw(session).get("data", {})
    person, rows = _known(privacy.get("person")), privacy.get("rows_per_person")
    unit = "one" if privacy.get("one_row_per_person") else "person" if person else ""
    if not unit and rows is not None:
        unit = "rows"
    names = {"": "choose", **{name: name for name in session.names()}}
    first = "the first rows of each person are used; 1 if left empty"
    named = select("person", "Column that identifies people", names, person)
    named += _number("used", "Rows used per person", rows if person else None, hint=first)
    most = _number("most", "Largest number of rows per person", None if person else rows)
    ways = {
        "one": ("Each row is a different person", ""),
        "person": ("A column identifies the person", named),
        "rows": ("A person can have several rows, and no column identifies people", most),
    }
    words = "About how many people are there? The plan and the rehearsal need it."
    inner = radios("unit", "What is a person in this table?", ways, unit)
    inner += _number("people", words, _known(data.get("people")))
    said = paragraphs(
        "Differential privacy protects people: replacing the records of one person barely "
        "changes how likely any result is. It must know which rows belong to one person."
    )
    if session.explored:
        said += f"<p class='promise exposed'>{text(SEEN)}</p>"
    body = said + form(session.own("protect"), inner, "Save and go on")
    found = lacking(session.job, "protect")
    return Page("protect", "Whom to protect", found.hint + body, found.wrong)


def apply_protect(given: Form, session: Session) -> None:
    """Write the privacy unit into the job."""
    unit, person = given.get("unit", ""), given.get("person", "")
    used, most = _count(given, "used"), _count(given, "most")
    people = _count(given, "people")
    changes: dict[tuple[str, str], Any] = {
        ("privacy", "one_row_per_person"): True if unit == "one" else None,
        ("privacy", "person"): (person or UNDECIDED) if unit == "person" else None,
        ("privacy", "rows_per_person"): {"person": used, "rows": most}.get(unit),
        ("data", "people"): people,
    }
    if unit == "rows" and most is None:
        raise ParameterError("rows of a person", "their number is missing", "write the most")
    if not unit:
        changes[("privacy", "person")] = UNDECIDED
    if unit == "person" and person:
        changes[("columns", person)] = IGNORE
    session.change(changes)


# Columns


def columns(session: Session) -> Page:
    """Show what each column can be, and what becomes of missing values."""
    content = raw(session)
    entries, missing = content.get("columns", {}), content.get("missing", {})
    person = content.get("privacy", {}).get("person")
    names = session.names()
    rows = [
        _column(place, name, entries.get(name, UNDECIDED))
        for place, name in enumerate(names)
        if name != person
    ]
    shares = _number(
        "complete",
        "Least share of records that have both values",
        missing.get("complete"),
        hint="0.8 if left empty",
        step="any",
    )
    inner = f"<div class='columns'>{''.join(rows)}</div>"
    inner += "<fieldset><legend>Missing values</legend>"
    inner += select("rule", "How to treat them", RULES, missing.get("rule", "refuse"))
    inner += f"<div class='for-drop'>{shares}</div></fieldset>"
    inner += _written(content.get("data", {}))
    file = str(session.job.table or session.job.get("data", "file", ""))
    said = paragraphs(f"{was_read(file)} {FIRST_LINE}") + paragraphs(KNOWLEDGE)
    if person in names:
        said += paragraphs(f"The column {person} names the person and takes no other part.")
    body = said + form(session.own("columns"), inner, "Save and go on")
    found = lacking(session.job, "columns")
    return Page("columns", "What the columns can be", found.hint + body, found.wrong)


def was_read(file: str) -> str:
    """Say how much of a table was read for the names of its columns."""
    if file.lower().endswith(".xlsx"):
        return "A workbook can only be read as a whole; only its first line was used."
    return "Only the header of the table was read: in a text, the first line."


def _written(data: Mapping[str, Any]) -> str:
    """Return the fields about how the file is written."""
    signs = {"": "a point, 1.5", ",": "a comma, 1,5"}
    marks = data.get("na", [])
    inner = select("decimal", "The decimal sign", signs, data.get("decimal", ""))
    inner += field(
        "na",
        "What else stands for a missing value",
        _listed(marks) if isinstance(marks, list) else "",
        hint="with commas, such as -9, unknown",
    )
    return f"<fieldset><legend>How the file is written</legend>{inner}</fieldset>"


def _column(place: int, name: str, entry: Any) -> str:
    """Return the fields of one column."""
    own = _fields(entry)
    legend = f"<legend><bdi>{text(name)}</bdi></legend>"
    hidden = f"<input type='hidden' name='name-{place}' value='{sent(name)}'>"
    ends = field(f"low-{place}", "From", own["low"])
    ends += field(f"high-{place}", "To", own["high"])
    words = "Categories, separated by commas"
    nominal = field(f"list-{place}", words, own["list"], hint=SPELLING)
    filled = field(f"fill-{place}", "Value that replaces missing ones", own["fill"])
    return (
        f"<fieldset class='column'>{legend}{hidden}"
        f"{select(f'kind-{place}', 'Values', KINDS, own['kind'])}<div class='for-ends'>{ends}</div>"
        f"<div class='for-list'>{nominal}</div><div class='for-fill'>{filled}</div>"
        "</fieldset>\n"
    )


def _fields(entry: Any) -> dict[str, str]:
    """Return what the fields of a column show."""
    own = {"kind": UNDECIDED, "low": "", "high": "", "list": "", "fill": ""}
    if entry == IGNORE:
        own["kind"] = IGNORE
    elif isinstance(entry, dict):
        ends = entry.get("bounds") or ["", ""]
        for key, end in (("low", ends[0]), ("high", ends[-1])):
            own[key] = str(_known(end) or "") if end != 0 else "0"
        own["list"] = _listed(entry.get("categories") or [])
        own["fill"] = str(entry.get("missing", ""))
        dates = any(isinstance(end, datetime.date) for end in ends)
        own["kind"] = "categories" if "categories" in entry else "dates" if dates else "bounds"
    return own


def apply_columns(given: Form, session: Session) -> None:
    """Write what the columns can be into the job; what was left as it was stays as written."""
    content = raw(session)
    rule = given.get("rule", UNDECIDED)
    share = given.get("complete", "").strip()
    changes: dict[tuple[str, str], Any] = {
        ("missing", "rule"): rule,
        ("missing", "complete"): _value(share) if share and rule == "drop" else None,
        ("data", "decimal"): given.get("decimal") or None,
    }
    marks = given.get("na", "")
    if not _same({"na": marks}, {"na": _listed(content.get("data", {}).get("na", []))}):
        changes["data", "na"] = _split(marks) or None
    single = []
    for key, name in given.items():
        if key.startswith("name-"):
            own = {field: given.get(f"{field}-{key[5:]}", "") for field in _fields(UNDECIDED)}
            shown = _fields(content.get("columns", {}).get(name, UNDECIDED))
            filled = rule == "fill"
            if not _same(own, shown) or (shown["fill"] and not filled):
                entry = changes["columns", name] = _entry(own, filled=filled)
                single += [text for text in _categories(entry)[:1] if ";" in text]
    session.change(changes)
    if single:
        raise ParameterError(
            safe_repr(single[0]), "this is one category", "separate them by commas"
        )


def _categories(entry: Any) -> list[str]:
    """Return the category of a column that has a single one."""
    listed = entry.get("categories", []) if isinstance(entry, dict) else []
    return listed if len(listed) == 1 else []


def _same(own: Mapping[str, str], shown: Mapping[str, str]) -> bool:
    """Return whether fields came back as they were shown; a field has no ends of lines."""

    def line(value: str) -> str:
        return re.sub(r"[\r\n]", "", value).strip()

    return all(line(own[key]) == line(shown[key]) for key in shown)


def _entry(own: Mapping[str, str], *, filled: bool) -> Any:
    """Return the line of a column as its fields have it; the job says what is wrong with it."""
    own = {key: value.strip() for key, value in own.items()}
    if own["kind"] in (UNDECIDED, IGNORE, ""):
        return own["kind"] or UNDECIDED
    entry: dict[str, Any] = {}
    if own["kind"] == "categories":
        entry["categories"] = _split(own["list"])
    else:
        entry["bounds"] = [_value(own["low"] or UNDECIDED), _value(own["high"] or UNDECIDED)]
    if filled and own["fill"]:
        entry["missing"] = _value(own["fill"])
    return entry


# The question


def question(session: Session) -> Page:
    """Show what is asked."""
    content = raw(session)
    asked, groups = content.get("question", {}), content.get("groups", {})
    known = [n for n, own in content.get("columns", {}).items() if isinstance(own, dict)]
    none = {"": "none", **{name: name for name in known}}
    both = {"": "choose", **{name: name for name in known}}
    inner = radios(
        "ask",
        "What is to be published?",
        {ask: (words, "") for ask, words in ASKS.items()},
        _known(asked.get("ask")),
    )
    top = _number("top", "How many pairs", asked.get("top"))
    inner += f"<div class='for-top'>{top}</div>"
    pair = select("x", "First column", both, asked.get("x", ""))
    pair += select("y", "Second column", both, asked.get("y", ""))
    inner += f"<div class='for-pair'>{pair}</div>"
    target = select("target", "Only pairs with this column", none, asked.get("target", ""))
    inner += f"<div class='for-pairs'>{target}</div>"
    lists = [n for n in known if "categories" in content["columns"][n]]
    grouped = select(
        "by",
        "One result for each category of",
        {"": "no column", **{name: name for name in lists}},
        groups.get("by", ""),
    )
    sizes = groups.get("at_least")
    if isinstance(sizes, dict):
        sizes = _listed([f"{group} = {size}" for group, size in sizes.items()])
    grouped += field(
        "at_least",
        "Least number of records in each group",
        sizes,
        hint="such as 300, or a = 300, b = 200",
    )
    inner += f"<div class='for-groups'><fieldset><legend>Groups</legend>{grouped}</fieldset></div>"
    body = form(session.own("question"), inner, "Save and go on")
    found = lacking(session.job, "question")
    return Page("question", "The question", found.hint + body, found.wrong)


def apply_question(given: Form, session: Session) -> None:
    """Write the question into the job."""
    ask = given.get("ask", UNDECIDED)
    single = ask in ("one pair", "test")

    def chosen(key: str, wanted: bool) -> str | None:
        return (given.get(key) or None) if wanted else None

    by = chosen("by", ask != "test")
    session.change(
        {
            ("question", "ask"): ask,
            ("question", "top"): _count(given, "top") if ask == "strongest pairs" else None,
            ("question", "x"): chosen("x", single),
            ("question", "y"): chosen("y", single),
            ("question", "target"): chosen("target", not single),
            ("groups", "by"): by,
            ("groups", "at_least"): _sizes(given.get("at_least", "")) if by else None,
        }
    )


def _sizes(written: str) -> Any:
    """Return promised sizes: of all groups, or of each."""
    if not written.strip():
        return None
    if written.strip().isdecimal():
        return _value(written.strip())
    sizes = {}
    for part in _split(written):
        group, _, size = part.rpartition("=")
        sizes[group.strip()] = _value(size.strip())
    return sizes


# The job file itself


def job_file(session: Session) -> Page:
    """Show the job file, to be downloaded or changed as a text."""
    said = paragraphs(
        f"Every step changes this text, {session.job.path.name}. Entries without a field in a step "
        "can be changed here. The report shows the text unchanged, with its comments."
    )
    lines = session.text.count("\n") + 2
    area = (
        "<div class='field'><label for='text'>The job file</label><textarea id='text' name='text' "
        f"rows='{min(lines, 40)}' spellcheck='false'>\n{_area(session.text)}</textarea></div>"
    )
    body = said + downloads([("job.toml", f"Download {session.job.path.name}")])
    body += form(session.own("job"), area, "Save the text")
    body += code(
        "In a terminal, in the folder of the downloaded file:",
        "\n".join(_outcome.commands(session.job)),
    )
    return Page("job", "The job file", body, lacking(session.job).all)


def _area(shown: str) -> str:
    """Return a text as a form sends it back, unlike one to be read."""
    return shown.replace("&", "&amp;").replace("<", "&lt;")


# Values of fields


def _number(name: str, label: str, value: Any, *, hint: str = "", step: str = "1") -> str:
    return field(name, label, value, hint=hint, inputmode="decimal" if step == "any" else "numeric")


def _known(value: Any) -> Any:
    """Return a value, or nothing where it is still to be filled in."""
    return None if value == UNDECIDED else value


PART = re.compile(r'\s*(?:"(?P<quoted>(?:[^"]|"")*)"(?P<rest>[^,]*)|(?P<plain>[^,]*))(?P<end>,|\Z)')
"""A value of a list; in quotes a comma belongs to it, and two quotes are one."""


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(_part, map(str, values)))


def _part(value: str) -> str:
    """Write a value of a list so that it is read as it is."""
    plain = value == value.strip() and value and not set(value) & set(',"')
    return value if plain else '"' + value.replace('"', '""') + '"'


def _split(written: str) -> list[str]:
    """Return the values of a list; one with a comma, a quote or a space at an end is quoted."""
    values: list[str] = []
    at = 0 if written.strip() else None
    while at is not None:
        found = PART.match(written, at)
        assert found is not None  # whatever is no quoted value is a plain one
        if found["quoted"] is None:
            values.append(found["plain"].strip())
        else:
            values.append(found["quoted"].replace('""', '"') + found["rest"].rstrip())
        at = found.end() if found["end"] else None
    return values


def _count(given: Form, name: str) -> int | None:
    """Return a field with a number of people or rows."""
    written = given.get(name, "").replace(",", "").replace(" ", "").replace("_", "")
    if not written:
        return None
    if not written.isdecimal() or len(written) > 12:
        raise ParameterError(safe_repr(given[name]), "it is not an integer", "write 5000")
    return int(written)


def _value(written: str) -> Any:
    """Return a number, a date or a text, as somebody has typed it."""
    kinds: tuple[Callable[[str], Any], ...] = (int, float, datetime.date.fromisoformat)
    for kind in kinds:
        try:
            return kind(written)
        except ValueError:
            continue
    return written


CHANGES: Mapping[str, Callable[[Form, Session], None]] = {
    "protect": apply_protect,
    "columns": apply_columns,
    "question": apply_question,
}
SHOWN: Mapping[str, Callable[[Session], Page]] = {
    "protect": protect,
    "columns": columns,
    "question": question,
    "job": job_file,
}
