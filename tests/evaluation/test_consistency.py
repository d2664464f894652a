import pickle
import re

import numpy as np
import pytest
from sweeps import sweep

from dpmic.evaluation import consistency, simulation
from dpmic.evaluation.consistency import (
    ALPHA,
    COMPARED,
    FITTED,
    FULL,
    GEOMETRIC,
    LAPLACE,
    QUICK,
    RELATIONSHIPS,
    Work,
    measure,
)
from dpmic.evaluation.jobs import Run
from dpmic.evaluation.relationships import noisy
from dpmic.evaluation.scoring import SQUARE, Choice, Perturbed
from dpmic.privacy import sensitivity
from dpmic.statistics.population import mic_star, range_matrix
from dpmic.statistics.search import Search

PLAN = {100: 2, 1000: 2, 20_000: 1}
COLUMNS = (
    ("relationship", "n", "statistic", "B", "mean", "low", "high", "mic_star", "error"),
    ("relationship", "compared", "n", "measured", "fitted", "slope", "exponent", "theorem"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("consistency")


@pytest.fixture(scope="module")
def tables(folder):
    return measure(Run(folder, seed=3), True, plan=PLAN)


def table(tables, **wanted):
    return [row for row in tables if all(row[k] == value for k, value in wanted.items())]


class TestPopulation:
    """The population's matrix is what a sample's comes to, and its largest entry comes to MIC*."""

    @sweep("number", RELATIONSHIPS.values())
    def test_is_the_limit_of_the_samples(self, number, rng):
        q, limits = noisy(number, 0.7), Choice(20.0, 5.0).limits
        population = range_matrix(q, SQUARE, limits)

        def largest(n):
            matrix = Search.by_range(*q.sample(n, rng), SQUARE, limits).matrix()
            np.testing.assert_array_equal(np.isnan(matrix), np.isnan(population))
            return np.nanmax(np.abs(matrix - population))

        few, many = (np.mean([largest(n) for _ in range(5)]) for n in (200, 20_000))
        assert many < 0.02
        assert many < few / 3

    @pytest.mark.slow
    @pytest.mark.parametrize("number", RELATIONSHIPS.values())
    def test_comes_to_mic_star(self, number):
        q = noisy(number, 0.7)
        star = mic_star(q)
        # Far apart: masters of similar B are not nested, and a larger B may lose a little.
        largest = [np.nanmax(range_matrix(q, SQUARE, Choice(B, 5.0).limits)) for B in (8, 60, 500)]
        assert largest == sorted(largest)
        assert star - 0.01 < largest[-1] < star + 0.005
        assert star - largest[0] > 5 * abs(star - largest[-1])


class TestWork:
    def test_cells_are_within_the_theorem(self):
        line = noisy(12, 0.7)
        assert ALPHA < 0.5
        cells = [Work("", line, n, 1).choice.B for n in (10, 10**6)]
        assert cells == pytest.approx([4, 10**2.7])

    def test_keys_name_all_that_matters(self):
        line, step = noisy(12, 0.7), noisy(17, 0.7)
        works = [(line, 100, 2), (step, 100, 2), (line, 101, 2), (line, 100, 3)]
        tasks = [Work("", *work).sampled(np.zeros(1)) for work in works]
        assert len({task.key for task in tasks}) == len(tasks)
        assert pickle.loads(pickle.dumps(tasks[0])) == tasks[0]

    @sweep("name", ["LAPLACE", "ALPHA", "C", "DRAWS", "GEOMETRIC_DRAWS"])
    def test_keys_name_every_setting(self, name, monkeypatch):
        work = Work("", noisy(12, 0.7), 100, 2)
        before = work.sampled(np.zeros(1)).key
        monkeypatch.setattr(consistency, name, {"other": 2.0} if name == "LAPLACE" else 0.5)
        assert work.sampled(np.zeros(1)).key != before


@pytest.mark.slow
class TestTables:
    def test_plans(self):
        assert set(QUICK) < set(FULL)
        assert (min(FULL), max(FULL)) == (10**2, 10**6)
        assert sum(n >= FITTED for n in QUICK) >= 2

    def test_rows(self, tables):
        for rows, columns in zip(tables, COLUMNS, strict=True):
            assert all(tuple(row) == columns for row in rows)
        assert len(tables[1]) == len(COMPARED) * len(RELATIONSHIPS) * len(PLAN)
        statistics = {"micr", *LAPLACE, GEOMETRIC, "population"}
        for label in RELATIONSHIPS:
            for n in PLAN:
                found = table(tables[0], relationship=label, n=n)
                assert {row["statistic"] for row in found} == statistics
                assert len(found) == len(statistics)
                assert {row["B"] for row in found} == {n**ALPHA}

    def test_values(self, tables):
        for row in tables[0]:
            assert 0 <= row["mean"] <= 1
            if row["statistic"] == "population":
                assert row["low"] is row["high"] is None
                assert row["error"] == abs(row["mean"] - row["mic_star"])
            else:
                assert 0 <= row["low"] <= row["high"] <= 1
                assert row["error"] >= abs(row["mean"] - row["mic_star"]) - 1e-12

    def test_what_is_not_private_says_so(self, tables):
        for rows, column in zip(tables, ("statistic", "compared"), strict=True):
            marked = [row[column] for row in rows if "geom" in row[column].lower()]
            assert marked
            assert all(re.search(r"not eps(ilon)?-DP", name) for name in marked)

    def test_error_falls(self, tables):
        """Everything comes nearer to MIC*, and the matrix nearer to the population's."""
        for label in RELATIONSHIPS:
            for statistic in ("micr", *LAPLACE, "population"):
                found = table(tables[0], relationship=label, statistic=statistic)
                errors = [row["error"] for row in found]
                assert errors[-1] < errors[0]
            for compared in COMPARED:
                rates = table(tables[1], relationship=label, compared=compared)
                assert rates[-1]["measured"] < rates[0]["measured"]
                assert {row["slope"] for row in rates} == {rates[0]["slope"]}

    def test_slope_is_that_of_a_power_of_large_n(self):
        sizes = (100, 1000, 10_000, 100_000)
        works = [Work(label, noisy(12, 0.7), n, 1) for label in RELATIONSHIPS for n in sizes]
        samples = [
            {"deviation": np.array([w.n**-0.4]), "added": np.array([[5 / w.n, 1 / w.n]])}
            for w in works
        ]
        # far off the line, and too small to count
        samples[0] = {name: 100 * of for name, of in samples[0].items()}
        rows = list(consistency._rates(works, samples))
        slopes = [-0.4] * len(works) + [-1.0] * len(works)
        assert [row["slope"] for row in rows] == pytest.approx(slopes)
        for row in rows:
            if row["n"] < FITTED:
                assert row["fitted"] is None
            else:
                assert row["fitted"] == pytest.approx(row["measured"])

    def test_the_exponents_are_those_of_the_text(self):
        for proved in COMPARED.values():
            assert f"with these masters O(n^{proved.exponent:.3f} log n)" in proved.theorem
        assert [proved.exponent for proved in COMPARED.values()] == pytest.approx([-0.275, -0.55])

    def test_the_noise_is_that_of_the_published_mechanism(self):
        """At epsilon = 1 and c = 1 it moves an entry as far as on another sample."""
        work = Work("", noisy(13, 0.7), 1000, 20)
        assert work.published == Perturbed("micr-geom", 1.0, 1000**ALPHA, 1.0)
        population = range_matrix(work.distribution, SQUARE, work.choice.limits)
        found = work.sampled(population).run(0)
        assert found["added"].shape == found[GEOMETRIC].shape == (20, consistency.GEOMETRIC_DRAWS)
        x, y = work.distribution.sample(1000, np.random.default_rng(1))
        limits = Choice(work.choice.B, 1.0).limits
        rng = np.random.default_rng(2)
        search = Search.by_range(x, y, SQUARE, limits)
        expected = simulation.published_deviation(search, 1.0, 200, rng)
        assert found["added"].mean() == pytest.approx(expected.mean(), rel=0.2)

    def test_private_values_carry_the_noise_of_ours(self, rng):
        """The spread is that of Laplace noise at our sensitivity; 30% more or less fails."""
        work = Work("", noisy(12, 0.7), 1000, 40)
        population = range_matrix(work.distribution, SQUARE, work.choice.limits)
        found = work.sampled(population).run(0)
        noise = found["micr-lap eps=1"] - found["micr"][:, None]
        assert noise.shape == (40, consistency.DRAWS)
        assert np.abs(noise).mean() == pytest.approx(sensitivity.micr(1000), rel=0.1)


@pytest.mark.slow
class TestResuming:
    def test_the_workers_do_not_matter(self, tables, tmp_path):
        assert measure(Run(tmp_path, seed=3, workers=2), True, plan=PLAN) == tables

    def test_the_seed_does(self):
        work = Work("", noisy(12, 0.7), 100, 2)
        task = work.sampled(work.population().run(0)["matrix"])
        first, same, other = (task.run(seed)["micr"].tolist() for seed in (3, 3, 4))
        assert first == same != other

    def test_nothing_is_computed_again(self, tables, folder, monkeypatch):
        def fail(*_):
            raise AssertionError("computed again")

        monkeypatch.setattr("dpmic.evaluation.jobs._one", fail)
        assert measure(Run(folder, seed=3), True, plan=PLAN) == tables

    def test_what_was_cut_short_goes_on(self, tables, folder, tmp_path):
        kept = sorted(folder.glob("*.npz"))[::2]
        for path in kept:
            (tmp_path / path.name).write_bytes(path.read_bytes())
        assert measure(Run(tmp_path, seed=3), True, plan=PLAN) == tables
