"""Words for strength: thresholds that were measured, and nothing called a relation by chance."""

import dataclasses
import re

import numpy as np
import polars as pl
import pytest
from report_kinds import results
from sweeps import sweep

import dpmic
from dpmic.parameters.chance import Unrelated
from dpmic.privacy.pairwise import prepare
from dpmic.privacy.query import Terms
from dpmic.results.relation import MODERATE, STRONG, Relation, ceiling, degree


@sweep(("correlation", "score"), [(0.5, MODERATE), (0.7, STRONG)])
def test_the_thresholds_are_what_correlations_score(correlation, score):
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(2, 5000))
    y = correlation * x + np.sqrt(1 - correlation**2) * noise
    assert dpmic.mice(x, y).mic == pytest.approx(score, abs=0.03)


def test_words_cover_the_interval_of_the_noise():
    known = Unrelated(0.01, 0.02)
    for value in np.linspace(0, 1, 41):
        for half in (0.0, 0.01, 0.1, 0.4):
            sentence = Relation(("a", "b"), value, half, known).sentence
            certain = value - half > known.most
            assert (" related: " in sentence) == certain
            if certain:
                assert degree(value - half, value + half) in sentence
            else:
                assert "Unrelated columns score up to 0.02." in sentence
            digits = 3 if half == 0.01 else 2  # two significant digits if the first is 1
            assert f"give or take {ceiling(half, digits)}" in sentence or not half


def test_a_sentence_names_columns_as_they_are():
    assert Relation(("pH", "b_c"), 0.5).sentence == "pH and b_c score 0.50."
    assert Relation(("x", "y"), 0.5, where="ward a").sentence == "In ward a, x and y score 0.50."
    assert Relation(("blood_pressure", "y"), 0.5).sentence.startswith("Blood_pressure and y ")


@sweep(
    ("half", "said"),
    [(0.29, "0.29"), (0.066, "0.07"), (0.0141, "0.015"), (0.0041, "0.005"), (1e-5, "0.0001")],
)
def test_noise_has_as_many_digits_as_it_deserves_and_the_value_as_many_decimals(half, said):
    value, noise = re.findall(r"0\.\d+", Relation(("x", "y"), 0.5, half).number)
    assert noise == said
    assert len(value) == len(noise)


def test_groups_with_several_pairs_are_not_thrown_together(rng):
    x, y = rng.uniform(size=(2, 900))
    wards = np.resize(["a", "b", "c"], 900)
    table = pl.DataFrame({"x": x, "y": x**2, "z": y, "ward": wards})
    by = {"by": "ward", "categories": {"ward": ["a", "b", "c"]}, "at_least": 300}
    terms = {"bounds": dict.fromkeys("xyz", (0, 1)), "epsilon": 10, "allow_noisy": True}
    said = dpmic.screen(table, top=2, **terms, **by).headline()
    assert re.match(r"In ward [abc], x and y are strongly related: ", said)
    assert " of the 6 pairs of the 3 groups score" in said


def test_unrelated_columns_are_seldom_called_related(rng):
    """At most 5%, by 4.5 deviations of 200 samples."""
    called = [
        " related: " in dpmic.mice(*rng.uniform(size=(2, 200))).headline() for _ in range(200)
    ]
    assert np.mean(called) < 0.05 + 4.5 * np.sqrt(0.05 * 0.95 / 200)


def test_other_settings_have_no_words_for_strength(rng):
    x, y = rng.uniform(size=(2, 300))
    for options in ({"B": 50}, {"c": 5}):
        score = dpmic.mice(x, y, **options)
        assert score.unrelated is None
        assert score.headline() == f"x and y score {score.mic:.2f}."
    assert dpmic.mice(x, y).unrelated is not None


def test_no_noise_is_called_a_relation_among_many_pairs():
    """Of 6 matrices with 1,225 unrelated pairs each; it fails by chance once in a million.

    No score exceeds ``most``, and each value's noise exceeds its margin with a probability of
    0.025 / 1225. So 0.15 pairs stand out on average, and five with a probability below 1e-6.
    """
    columns = np.random.default_rng(0).uniform(size=(3000, 50))
    terms = Terms(epsilon=1.5, allow_noisy=True)
    few = prepare(columns[:, :6], terms, bounds=[(0, 1)] * 6, delta=1e-6)
    scores = np.resize(few.compute(list(columns[:, :6].T)), 1225).tolist()
    query = prepare(columns, terms, bounds=[(0, 1)] * 50, delta=1e-6)
    found = [query.publish(scores) for _ in range(6)]
    assert found[0].noise == "gaussian"
    assert max(scores) < found[0].unrelated.most
    counts = [re.search(r"(\w+) of the 1,225 pairs", each.headline())[1] for each in found]
    assert sum(0 if count == "None" else int(count) for count in counts) < 5


def with_first(member, value):
    """Return a release, or a screening, whose first value is another."""
    if isinstance(member, dpmic.Release):
        return dataclasses.replace(member, value=value)
    return dataclasses.replace(member, values=(value, *[0.0] * (len(member.values) - 1)))


@sweep("kind", ["screening", "matrix", "groups"])
def test_a_relation_exceeds_what_the_noise_of_any_value_explains(kind):
    """Correcting each pair, or group, by itself is not enough."""
    result = results()[kind]
    relation = result.relations()[0]
    assert relation.margin > relation.half
    for short, related in ((relation.half, False), (relation.margin, True)):
        value = relation.unrelated.most + short + 1e-6
        if kind == "groups":
            members = (with_first(result.members[0], value), with_first(result.members[1], 0.0))
            said = dataclasses.replace(result, members=members).headline()
        else:
            said = with_first(result, value).headline()
        assert (" related: " in said) == related
        assert (kind == "groups") == said.lower().startswith("in half 0, ")
        assert relation.number.partition("give or take")[2] in said


def test_the_strongest_of_several_groups_is_compared_with_the_strongest_of_as_many():
    groups = results()["groups"]
    for relation, member in zip(groups.relations(), groups.members, strict=True):
        assert relation.unrelated.most > member.unrelated.most
        assert relation.half == member.relations()[0].margin < relation.margin


def test_several_rows_of_a_person_have_no_words_for_strength(rng):
    """Rows that repeat each other raise the scores of unrelated columns."""
    x, y = np.repeat(rng.uniform(size=(2, 500)), 4, axis=1)
    table, box = np.column_stack([x, y]), [(0, 1)] * 2
    usual = {"epsilon": 5.0, "rows_per_person": 4}
    counts = dpmic.release(x, y, bounds=box, mechanism="micr-geometric", **usual)
    assert counts.unrelated is None
    for named in ({}, {"person": np.repeat(np.arange(500), 4)}):
        for found in (
            dpmic.release(x, y, bounds=box, **usual, **named),
            dpmic.screen(table, bounds=box, top=1, **usual, **named),
            dpmic.release_pairwise(table, bounds=box, **usual, **named),
        ):
            assert found.unrelated is None
            assert " score 0." in found.headline()
            assert "elated" not in found.headline()
            assert "class='chance'" not in dpmic.report.page(found)
    once = {"epsilon": 5.0, "person": np.repeat(np.arange(500), 4)}
    assert dpmic.release(x, y, bounds=box, **once).unrelated is not None
