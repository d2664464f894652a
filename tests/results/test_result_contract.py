"""What every result does, from the fields it declares."""

import copy
import dataclasses
import json
import pickle

import numpy as np
import pytest
import report_kinds

import dpmic
from dpmic.results import AuditBound, Expected, PrivacyUnit, Published

AUDIT = AuditBound("micr-laplace", 1.0, 0.912345678, 0.999, 1000, "value > 0.5")
PUBLISHED = report_kinds.PRIVATE
TABLE_PLANS = {"plan of a screening": 5, "plan of a matrix": None}
NAMES = (*report_kinds.KINDS, "plan", "plan for n", "expected", *TABLE_PLANS, "audit")


def made(name):
    others = {
        "plan": lambda: dpmic.plan(n=1000, epsilon=1.0),
        "plan for n": lambda: dpmic.plan(epsilon=1.0, error=0.05, of="estimate"),
        "expected": lambda: dpmic.plan(n=1000, epsilon=1.0).rows[0],
        "audit": lambda: AUDIT,
    }
    if name in TABLE_PLANS:
        return dpmic.plan(n=1000, epsilon=1.0, candidates=36, top=TABLE_PLANS[name])
    return others[name]() if name in others else report_kinds.results()[name]


@pytest.mark.parametrize("name", NAMES)
def test_json_pickles_and_copies_give_the_same(name):
    result = made(name)
    kind = type(result)
    text = result.to_json()
    ways = (
        kind.from_json(text),
        kind.from_dict(result.to_dict()),
        pickle.loads(pickle.dumps(result)),
        copy.deepcopy(result),
        dataclasses.replace(result),
    )
    for again in ways:
        assert again == result
        assert hash(again) == hash(result)
        assert again.to_json() == text
        assert repr(again) == repr(result)
        for field in dataclasses.fields(again):
            value = getattr(again, field.name)
            assert not isinstance(value, np.ndarray) or not value.flags.writeable


@pytest.mark.parametrize("name", NAMES)
def test_incomplete_results_are_refused(name):
    result = made(name)
    kind = type(result)
    required = [
        field.name
        for field in dataclasses.fields(kind)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    for missing in required:
        fields = result.to_dict()
        del fields[missing]
        with pytest.raises(dpmic.InputError, match=f"this {kind.__name__}: it is not complete"):
            kind.from_dict(fields)
    for text in ("[]", "5", "null", json.dumps({**result.to_dict(), "more": 1})):
        with pytest.raises(dpmic.InputError, match="it is not complete"):
            kind.from_json(text)
    with pytest.raises(dpmic.InputError, match="it is not JSON"):
        kind.from_json("{")


@pytest.mark.parametrize("name", NAMES)
def test_displays_escape_names(name):
    html = made(name)._repr_html_()
    assert html.startswith(("<p><strong>", "<table>"))
    assert html.count("<details>") == html.count("</details>") == html.count("Technical details")
    assert "<script>" not in html
    assert html.count("<tr>") == html.count("</tr>")


@pytest.mark.parametrize(
    "change", [{"n": 7}, {"epsilon": 0.5}, {"parameters": {}}, {"person": "a"}]
)
@pytest.mark.parametrize("name", PUBLISHED)
def test_equality_is_of_all_fields_but_where_an_answer_was_kept(name, change):
    result = made(name)
    assert dataclasses.replace(result, **change) != result
    kept = dataclasses.replace(result, dataset="visits", replayed="2024-05-06T07:08:09+00:00")
    assert kept == result
    assert hash(kept) == hash(result)
    assert "2024-05-06 07:08 UTC" in repr(kept)


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_was_drawn_has_a_bound_that_does_not_depend_on_it(name):
    result = made(name)
    drawn, most = result._drawn_length()
    assert 0 < drawn <= most
    fields = {field.name for field in dataclasses.fields(result)}
    for value in (0.0, 1.0, 2.2250738585072014e-308, 0.30000000000000004):
        changes = {"value": value, "estimate": value, "pvalue": value}
        other = {name: changes[name] for name in fields & set(changes)}
        if "values" in fields:
            other["values"] = other["estimates"] = (value,) * len(result.values)
        again = dataclasses.replace(result, **other)
        assert again._drawn_length()[1] == most
        assert len(again.to_json()) - again._drawn_length()[0] == len(result.to_json()) - drawn


@pytest.mark.parametrize("target", [None, "b"])
def test_a_screening_knows_the_longest_pair_it_could_have_selected(target):
    names = ("a", "b", 'quo"ted', "\u00fcber", "a long one")
    fixed = {
        **{"epsilon": 1.0, "n": 100, "rows_per_person": 1, "person": None, "target": target},
        **{"sensitivity": 0.1, "scale": 0.1, "granularity": 1e-9, "candidates": 10, "split": 0.5},
        **{"selection_epsilon": 0.5, "values_epsilon": 0.5, "selection_scale": 0.1},
        "parameters": {"bounds": {name: [0.0, 1.0] for name in names}},
    }
    pairs = [(x, y) for i, x in enumerate(names) for y in names[i + 1 :]]
    pairs = [pair for pair in pairs if target in (None, *pair)]
    longest = max(len(json.dumps(pair)) for pair in pairs)
    for pair in pairs:
        found = dpmic.Screening(pairs=(pair,), values=(0.5,), estimates=(0.25,), **fixed)
        assert found._drawn_length() == (len(json.dumps(pair)) + 7, longest + 50)


def test_a_screening_lists_all_that_was_selected():
    found = made("screening")
    many = {"pairs": found.pairs * 9, "values": found.values * 9, "estimates": found.estimates * 9}
    more = dataclasses.replace(found, **many, candidates=27)
    assert repr(more).count("\n") == 27
    assert more._repr_html_().count("<tr>") == 27 + 2


def test_a_published_result_says_whom_it_protects():
    result = report_kinds.results()["release"]
    for person, rows in ((None, 1), ("id", 1), (None, 3), ("id", 3)):
        protects = dataclasses.replace(result, person=person, rows_per_person=rows)
        assert protects.privacy_unit == PrivacyUnit(person, rows)
        assert f": {protects.privacy_unit.replacing} changes the probability" in protects.guarantee
        assert protects.provenance()["protected unit"] == protects.privacy_unit.protected
        assumed = "one record; each is taken to be a different person's"
        assert (protects.privacy_unit.protected == assumed) == (
            (protects.person, protects.rows_per_person) == (None, 1)
        )


def test_whoever_is_about_to_spend_learns_what_is_not_checked():
    trusted = "(not checked, dpmic takes your word; --person COLUMN enforces it)"
    plans = {
        (None, 1): f"a person, who has one row {trusted}",
        (None, 3): f"a person, with at most 3 rows {trusted}",
        ("id", 1): "a person, by id; the first row of each is used",
        ("id", 3): "a person, by id; the first 3 rows of each are used",
    }
    for unit, words in plans.items():
        assert PrivacyUnit(*unit).planned("--person COLUMN") == words


def test_every_published_result_is_one():
    assert all(isinstance(made(name), Published) for name in PUBLISHED)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("plan", {"error": 0.1}),
        ("plan", {"rows": []}),
        ("plan", {"of": "both"}),
        ("plan of a screening", {"of": "both"}),
        ("plan of a screening", {"top": 37}),
        ("plan of a screening", {"chance": None}),
        ("plan of a screening", {"n": 0}),
        ("plan of a matrix", {"chance": 0.5}),
        ("audit", {"confidence": 1.5}),
        ("audit", {"lower": -1}),
        ("audit", {"event": 3}),
        ("expected", {"curve": [[1]]}),
    ],
)
def test_plans_and_audits_that_cannot_be_are_refused(name, change):
    result = made(name)
    with pytest.raises(dpmic.InputError, match="it is not complete"):
        type(result).from_dict({**result.to_dict(), **change})


def test_rows_of_a_plan_compare():
    one, *others = dpmic.plan(n=1000, epsilon=1.0).rows
    assert isinstance(one, Expected)
    assert one not in others
    assert "curve" not in repr(one)
