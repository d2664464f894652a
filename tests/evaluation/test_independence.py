"""The power of private tests: simulated rightly, and the guide says what the tables hold."""

import math
import re

import numpy as np
import pytest
from project import ROOT
from scipy import stats

from dpmic.evaluation import tables
from dpmic.evaluation.independence import (
    EPSILONS,
    HSIC,
    STYLES,
    MICe,
    NoisyTable,
    RankTest,
    best,
    figure_of,
    levels,
    powers,
    tail,
    threshold,
)

GUIDE = (ROOT / "docs" / "guides" / "testing.md").read_text()
POWER, LEVEL = (
    tables.read(ROOT / "docs" / "results" / f"test_{name}.csv") for name in ("power", "level")
)


def test_tail_and_threshold():
    values = np.array([-3.0, -0.1, 0.0, 2.0])
    assert tail(values, 0.7) == pytest.approx(stats.laplace(scale=0.7).sf(values))
    rng = np.random.default_rng(0)
    null = rng.normal(size=50)
    least = threshold(null, 0.5)
    drawn = rng.choice(null, 200_000) + rng.laplace(0, 0.5, 200_000)
    assert np.mean(drawn >= least) == pytest.approx(0.05, abs=0.003)


@pytest.mark.parametrize("bandwidth", [1.0, 0.2])
def test_dphsic_against_its_definition(bandwidth):
    """sqrt(trace(K H L H)) / n with whole matrices, H = I - 1 / n."""
    rng = np.random.default_rng(1)
    x, y = rng.random((2, 60))
    test = HSIC(bandwidth)
    K, L = (np.exp(-(((v[:, None] - v) / bandwidth) ** 2)) for v in (x, y))
    H = np.eye(60) - 1 / 60
    exact = math.sqrt(np.trace(K @ H @ L @ H)) / 60
    first, second = test.features(x), test.features(y)
    second = second - second.mean(axis=0)
    assert np.linalg.norm(first.T @ second) / 60 == pytest.approx(exact, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "contender", [RankTest(), MICe(2), MICe(3), HSIC(0.2), NoisyTable(3)], ids=repr
)
def test_contenders_know_nothing_from_something(contender):
    rng = np.random.default_rng(2)
    independent = [tuple(rng.random((2, 300))) for _ in range(60)]
    line = [(x, x) for x, _ in independent[:5]]
    assert np.mean(contender.rejections(independent, 1.0, rng)) < 0.15
    assert np.mean(contender.rejections(line, 3.0, rng)) > 0.9


@pytest.mark.slow
def test_powers_and_best():
    rows = list(powers(60, contenders=(NoisyTable(2), NoisyTable(3))))
    assert len(rows) == 2 * len(EPSILONS) * 5
    assert all(0 <= row["power"] <= 1 for row in rows)
    kept = best(rows)
    assert len(kept) == len(EPSILONS) * 5
    pytest.importorskip("matplotlib")
    assert len(figure_of(kept).axes) == len(EPSILONS)


@pytest.mark.slow
def test_levels_in_short():
    row = levels(20, 1.0, 40)
    assert row["runs"] == 40
    assert row["at 0.01"] <= row["at 0.05"] <= row["at 0.5"] <= 40


def test_the_level_on_record_is_exact():
    for row in LEVEL:
        for alpha in (0.01, 0.05, 0.5):
            assert stats.binomtest(row[f"at {alpha}"], row["runs"], alpha).pvalue > 1e-3, row
        low, high = stats.binomtest(row["at 0.05"], row["runs"]).proportion_ci(0.95, "exact")
        shown = f"| {row['n']:,} | {row['epsilon']:g} | {row['runs']:,} | "
        line = next(text for text in GUIDE.splitlines() if text.startswith(shown))
        assert f"{row['at 0.05'] / row['runs']:.4f} ({low:.4f} to {high:.4f})" in line


def test_the_guide_shows_the_power_on_record():
    for test, (label, *_) in STYLES.items():
        shown = re.search(rf"^\| {re.escape(label)} \|(.*)\|$", GUIDE, re.MULTILINE)[1].split("|")
        keys = [(n, epsilon) for n in (100, 1000, 10_000) for epsilon in (0.1, 1)]
        for (n, epsilon), text in zip(keys, shown, strict=True):
            found = [r["power"] for r in POWER
                     if (r["n"], r["epsilon"], r["test"]) == (n, epsilon, test)]  # fmt: skip
            assert text.strip() == f"{np.mean(found):.2f}", (test, n, epsilon)


def test_ours_is_ahead_on_record():
    """At no n and epsilon is another mean power above ours by more than 0.01."""
    means = {}
    for row in POWER:
        means.setdefault((row["n"], row["epsilon"]), {}).setdefault(row["test"], []).append(
            row["power"]
        )
    for tests in means.values():
        ours = np.mean(tests.pop("rank-tables"))
        assert all(np.mean(found) <= ours + 0.01 for found in tests.values())
