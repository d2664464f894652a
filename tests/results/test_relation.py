"""Words for strength: thresholds that were measured, and nothing called a relation by chance."""

import numpy as np
import pytest
from sweeps import sweep

import dpmic
from dpmic.parameters.chance import Unrelated
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
            assert f"give or take {ceiling(half, 3 if half < 0.005 else 2)}" in sentence or not half


def test_a_sentence_names_columns_as_they_are():
    assert Relation(("pH", "b_c"), 0.5).sentence == "pH and b_c score 0.50."
    assert Relation(("x", "y"), 0.5, where=" in ward a").sentence == "x and y in ward a score 0.50."
    assert Relation(("blood_pressure", "y"), 0.5).sentence.startswith("Blood_pressure and y ")


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
