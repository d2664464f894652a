"""Bias, variance and WSUM are those of the values, and the values are made once."""

import shutil

import numpy as np
import pytest

from dpmic.evaluation import plans, synthetic
from dpmic.evaluation.jobs import Run
from dpmic.evaluation.plans import plan, rows
from dpmic.evaluation.relationships import noisy
from dpmic.evaluation.scoring import SQUARE
from dpmic.evaluation.tables import CONTENDERS
from dpmic.evaluation.tuning import mic_stars, weights, wsum

N, ITERATIONS, EPSILONS = 25, 3, (1.0, 0.1)
COLUMNS = ["mechanism", "n", "epsilon", "distribution", "mic_star", "bias", "variance", "error"]


@pytest.fixture(scope="module")
def three():
    return [noisy(12, 0.9), noisy(5, 0.4), noisy(20, 0.6)]


@pytest.fixture(scope="module")
def stars(three, tmp_path_factory):
    """A folder in which MIC* of the three is known already: it takes longest."""
    folder = tmp_path_factory.mktemp("stars")
    mic_stars(Run(folder), three)
    return folder


@pytest.fixture
def run(stars, tmp_path):
    """Make a run that knows MIC* and nothing else."""

    def make(name="run", **options):
        folder = tmp_path / name
        if not folder.exists():
            shutil.copytree(stars, folder)
        return Run(folder, **options)

    return make


def measured(run, three, *, sizes=(N,), epsilons=EPSILONS, iterations=ITERATIONS):
    return synthetic.measure(run, three, sizes, epsilons, iterations)


@pytest.mark.slow
class TestTables:
    def test_a_row_for_each_contender_n_epsilon_and_distribution(self, run, three):
        table, sums = measured(run(), three, sizes=(25, 40), iterations=1)
        keys = [contender.key for contender in CONTENDERS]
        assert len(table) == len(keys) * 2 * 2 * 3
        assert len(sums) == len(keys) * 2 * 2
        assert {tuple(row) for row in table} == {tuple(COLUMNS)}
        assert {tuple(row) for row in sums} == {("mechanism", "n", "epsilon", "wsum")}
        named = {tuple(row[c] for c in COLUMNS[:4]) for row in table}
        assert named == {
            (key, n, epsilon, q.name)
            for key in keys
            for n in (25, 40)
            for epsilon in EPSILONS
            for q in three
        }

    def test_only_plain_numbers(self, run, three):
        for table in measured(run(), three, iterations=1):
            kinds = {type(value) for row in table for value in row.values()}
            assert kinds == {str, int, float}

    def test_bias_variance_and_error_by_hand(self, run, three, monkeypatch):
        """Values are made up, one number for each contender, distribution and iteration."""
        named = [row for entries in plan(N, EPSILONS) for row in rows(entries)]
        made = np.random.default_rng(8).random((3, len(named), ITERATIONS))

        def values(*given):
            return made[:, [named.index(row) for row in rows(given[-1])]]

        monkeypatch.setattr(synthetic, "_values", values)
        table, sums = measured(run(), three)
        targets = dict(zip([q.name for q in three], mic_stars(run(), three), strict=True))
        by_name = {(r["mechanism"], r["epsilon"], r["distribution"]): r for r in table}
        for i, (key, epsilon) in enumerate(named):
            for j, q in enumerate(three):
                row = by_name[key, epsilon, q.name]
                values = made[j, i].tolist()
                target = targets[q.name]
                mean = sum(values) / ITERATIONS
                assert row["mic_star"] == target
                assert row["bias"] == pytest.approx(mean - target)
                assert row["variance"] == pytest.approx(
                    sum((value - mean) ** 2 for value in values) / ITERATIONS
                )
                assert row["error"] == pytest.approx(
                    sum(abs(value - target) for value in values) / ITERATIONS
                )
            (total,) = (r["wsum"] for r in sums if (r["mechanism"], r["epsilon"]) == (key, epsilon))
            own = [by_name[key, epsilon, q.name]["error"] for q in three]
            stars = [targets[q.name] for q in three]
            assert total == pytest.approx(float(wsum(own, stars)))
            assert total == pytest.approx(
                sum(w * e for w, e in zip(weights(stars), own, strict=True))
            )

    def test_the_constant_and_the_floors(self, run, three):
        table, _ = measured(run(), three)
        for row in table:
            if row["mechanism"] == "constant":
                assert row["bias"] == pytest.approx(0.5 - row["mic_star"])
                assert row["error"] == pytest.approx(abs(row["bias"]))
                assert row["variance"] == pytest.approx(0, abs=1e-30)
            if row["mechanism"] == "mice":
                assert 0 < row["variance"] < 0.1  # of samples, not of noise
            assert row["error"] >= abs(row["bias"]) - 1e-12
            assert row["error"] <= 1

    def test_floors_do_not_depend_on_epsilon(self, run, three):
        table, _ = measured(run(), three)
        floors = [
            [r["bias"] for r in table if r["mechanism"] == "mice" and r["epsilon"] == e]
            for e in EPSILONS
        ]
        assert floors[0] == floors[1]


@pytest.mark.slow
class TestValues:
    def test_each_iteration_has_a_sample_of_its_own(self, three, monkeypatch):
        seen = []

        def note(entries, points, bounds, runs, rng):
            seen.append(points)
            assert (bounds, runs) == (SQUARE, 1)
            return plans.outputs(entries, points, bounds, runs, rng)

        monkeypatch.setattr(synthetic, "outputs", note)
        entries, _ = plan(N, EPSILONS)
        rng = np.random.default_rng(1)
        found = synthetic._task(rng, three[0], N, 4, entries)["values"]
        assert found.shape == (len(rows(entries)), 4)
        assert len({points[0].tobytes() for points in seen}) == 4
        floor = rows(entries).index(("mice", 1.0))
        assert np.unique(found[floor]).size > 1


@pytest.mark.slow
class TestRuns:
    def test_one_and_two_workers(self, run, three):
        one = measured(run("one"), three)
        two = measured(run("two", workers=2), three)
        assert one == two

    def test_another_seed(self, run, three, tmp_path):
        one, _ = measured(run("one"), three[:1])
        two, _ = measured(Run(tmp_path / "two", seed=1), three[:1])
        assert [r["mic_star"] for r in one] == [r["mic_star"] for r in two]
        assert [r["bias"] for r in one] != [r["bias"] for r in two]

    def test_a_second_run_makes_nothing_anew(self, run, three, monkeypatch):
        one = measured(run(), three)
        files = {path: path.stat().st_mtime_ns for path in run().folder.iterdir()}
        assert len(files) == 3 + 3 * 2  # MIC*, and two groups of contenders

        def never(*_):
            raise AssertionError("made again")

        monkeypatch.setattr(synthetic, "_task", never)
        assert measured(run(), three) == one
        assert {path: path.stat().st_mtime_ns for path in run().folder.iterdir()} == files

    @pytest.mark.parametrize(
        "change",
        [{"sizes": (26,)}, {"iterations": 4}, {"epsilons": (1.0, 0.2)}, {"epsilons": (0.1, 1.0)}],
        ids=str,
    )
    def test_another_question_is_another_result(self, run, three, change):
        measured(run(), three)
        before = set(run().folder.iterdir())
        measured(run(), three, **change)
        assert len(set(run().folder.iterdir()) - before) == 3 * 2

    def test_more_distributions_keep_what_is_known(self, run, three):
        few, _ = measured(run(), three[:2])
        all_, _ = measured(run(), three)
        assert [r for r in all_ if r["distribution"] != three[2].name] == few
