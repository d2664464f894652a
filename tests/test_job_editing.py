"""Entries of a job file changed one by one; whatever else stands there stays."""

import datetime
import difflib
import tomllib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpmic.errors import ParameterError
from dpmic.job import edited, template

TEMPLATE = template("visits.csv", ["patient", "age", "blood pressure", 'a "b"'], "v.dpmic.toml")


def changed_lines(before, after):
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line for line in lines if line[0] in "-+"]


@pytest.mark.parametrize(
    ("place", "value", "line"),
    [
        (("data", "people"), 300, "people = 300"),
        (("privacy", "person"), "patient", 'person = "patient"'),
        (("columns", "age"), {"bounds": [0, 120.5]}, "{ bounds = [0, 120.5] }"),
        (("columns", 'a "b"'), "ignore", '"a \\"b\\""'),
        (("columns", "new"), {"categories": ["a, b", "c"]}, 'new = { categories = ["a, b", "c"] }'),
        (("groups", "at_least"), {"a b": 300}, 'at_least = { "a b" = 300 }'),
        (
            ("columns", "blood pressure"),
            {"bounds": [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]},
            "[2020-01-01, 2021-01-01]",
        ),
    ],
)
def test_one_entry_is_one_line(place, value, line):
    after = edited(TEMPLATE, {place: value})
    table, key = place
    assert tomllib.loads(after)[table][key] == value
    (*_, new) = changed = [own for own in changed_lines(TEMPLATE, after) if own[0] == "+"]
    assert len(changed) == 1
    assert line in new


def test_a_comment_stays_beside_its_entry():
    text = '[a]\nx = "# no comment"  # a comment # of two\n'
    assert edited(text, {("a", "x"): "#"}) == '[a]\nx = "#"             # a comment # of two\n'


def test_an_entry_is_taken_out_and_put_back():
    text = "[a]\nx = [\n  1, # one\n  2,\n]\ny = 1\n"
    out = edited(text, {("a", "x"): None})
    assert tomllib.loads(out) == {"a": {"y": 1}}
    assert tomllib.loads(edited(out, {("a", "x"): [3]})) == {"a": {"x": [3], "y": 1}}
    assert edited(text, {("a", "z"): None}) == text


def test_tables_are_made_where_there_are_none():
    assert tomllib.loads(edited("", {("a", "x"): True})) == {"a": {"x": True}}


@pytest.mark.parametrize("text", ["a.x = 1\n", "a = { x = 1 }\n", "[a.x]\ny = 1\n"])
def test_what_cannot_be_changed_line_by_line_is_refused(text):
    with pytest.raises(ParameterError, match="cannot be changed here"):
        edited(text, {("a", "x"): 2})


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.one_of(
    TEXTS,
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(TEXTS, max_size=3),
    st.fixed_dictionaries({"bounds": st.lists(st.integers(-5, 5), max_size=2)}),
)


@given(key=TEXTS.filter(bool), first=VALUES, second=VALUES)
@example(key="=", first="", second="x")
@example(key="#", first="#", second=["#"])
def test_any_value_of_any_name_can_be_written_twice(key, first, second):
    once = edited(TEMPLATE, {("columns", key): first})
    twice = edited(once, {("columns", key): second})
    assert tomllib.loads(twice)["columns"][key] == second
    assert once.count("\n") == twice.count("\n")
