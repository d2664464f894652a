"""Errors on real data are distances from MICe of the same pair, and medians are over pairs."""

import numpy as np
import pytest

import dpmic
from dpmic.evaluation import real
from dpmic.evaluation.collections import Collection, Column
from dpmic.evaluation.jobs import Run
from dpmic.evaluation.plans import outputs, plan, rows
from dpmic.evaluation.printed import MEDIANS
from dpmic.evaluation.tables import CONTENDERS

EPSILONS, ITERATIONS = (1.0, 0.1), 4
GROUPS = 2  # of contenders, with results of their own
KEYS = [contender.key for contender in CONTENDERS]
COLUMNS = ["collection", "n", "pair", "mechanism", "epsilon", "mice", "bias", "variance", "error"]


def made_up(name="Baseball", n=30, seed=2, interval=(-0.1, 1.1)):
    """Three columns, one of few values, and all their pairs; it holds no real data."""
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    values = {"a": x, "b": (x - 0.4) ** 2, "few": np.round(2 * x) / 2}
    columns = tuple(Column(key, value, interval) for key, value in values.items())
    return Collection(name, n, columns, ((0, 1), (0, 2), (1, 2)))


def measured(run, collection, iterations=ITERATIONS, epsilons=EPSILONS, **options):
    return real.measure(run, collection, plan(collection.n, epsilons), iterations, **options)


@pytest.fixture
def table(tmp_path):
    return measured(Run(tmp_path), made_up())


class TestMeasure:
    def test_a_row_for_each_pair_contender_and_epsilon(self, table):
        assert {tuple(row) for row in table} == {tuple(COLUMNS)}
        named = [tuple(row[column] for column in COLUMNS[:5]) for row in table]
        assert len(named) == len(set(named))
        assert set(named) == {
            ("Baseball", 30, pair, key, epsilon)
            for pair in ("a ~ b", "a ~ few", "b ~ few")
            for key in KEYS
            for epsilon in EPSILONS
        }
        assert {type(v) for row in table for v in row.values()} == {str, int, float}

    def test_the_target_is_mice(self, table):
        for pair in made_up():
            expected = dpmic.mice(pair.x, pair.y, alpha=0.6, c=15).mic
            assert {r["mice"] for r in table if r["pair"] == pair.label} == {expected}

    def test_the_floors_and_the_constant(self, table):
        for row in table:
            assert 0 <= row["error"] <= 1
            assert abs(row["bias"]) <= row["error"] + 1e-12
            if row["mechanism"] == "mice":
                assert (row["bias"], row["error"]) == (0, 0)
            if row["mechanism"] in ("constant", "mice", "micr"):
                assert row["variance"] == 0
                assert row["error"] == pytest.approx(abs(row["bias"]))
            if row["mechanism"] == "constant":
                assert row["bias"] == pytest.approx(0.5 - row["mice"])

    def test_summaries_by_hand(self, monkeypatch):
        entries = plan(30, EPSILONS)[0]
        floor = rows(entries).index(("mice", 1.0))
        drawn = []

        def known(*given):
            drawn.append(outputs(*given))
            return drawn[-1]

        monkeypatch.setattr(real, "outputs", known)
        batch = list(made_up())
        found = real._task(np.random.default_rng(3), batch, ITERATIONS, entries)
        assert len(drawn) == 3
        for values, summary, mice in zip(drawn, found["summary"], found["mice"], strict=True):
            assert values.shape == (len(rows(entries)), ITERATIONS)
            assert mice == values[floor, 0]
            for own, (bias, variance, error) in zip(values.tolist(), summary, strict=True):
                mean = sum(own) / ITERATIONS
                assert bias == pytest.approx(mean - mice)
                assert variance == pytest.approx(sum((v - mean) ** 2 for v in own) / ITERATIONS)
                assert error == pytest.approx(sum(abs(v - mice) for v in own) / ITERATIONS)

    @pytest.mark.parametrize(("every", "kept"), [(2, ["a ~ b", "b ~ few"]), (3, ["a ~ b"])])
    def test_pairs_can_be_left_out(self, every, kept, tmp_path):
        table = measured(Run(tmp_path), made_up(), 2, (1.0,), every=every)
        assert list(dict.fromkeys(row["pair"] for row in table)) == kept

    def test_a_constant_column(self, tmp_path):
        still = Column("still", np.zeros(30), (-1.0, 1.0))
        whole = made_up()
        collection = Collection("c", 30, (whole.columns[0], still), ((0, 1),))
        table = measured(Run(tmp_path), collection, 2)
        assert {row["mice"] for row in table} == {0.0}


class TestRuns:
    def test_one_and_two_workers(self, tmp_path, monkeypatch):
        monkeypatch.setattr(real, "BATCH", 1)
        one = measured(Run(tmp_path / "one"), made_up())
        two = measured(Run(tmp_path / "two", workers=2), made_up())
        assert one == two
        assert len(list((tmp_path / "two").iterdir())) == 3 * GROUPS

    def test_a_second_run_makes_nothing_anew(self, tmp_path, table, monkeypatch):
        files = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
        assert len(files) == GROUPS

        def never(*_):
            raise AssertionError("made again")

        monkeypatch.setattr(real, "_task", never)
        assert measured(Run(tmp_path), made_up()) == table
        assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == files

    @pytest.mark.parametrize("change", [{"seed": 3}, {"interval": (-0.2, 1.1)}, {"n": 31}], ids=str)
    def test_other_data_are_not_taken_for_these(self, tmp_path, table, change):
        other = measured(Run(tmp_path), made_up(**change))
        assert len(list(tmp_path.iterdir())) == 2 * GROUPS
        assert [row["error"] for row in other] != [row["error"] for row in table]

    def test_one_changed_value_is_seen(self, tmp_path, table):
        changed = made_up()
        changed.columns[1].values[7] += 1e-12
        measured(Run(tmp_path), changed)
        assert len(list(tmp_path.iterdir())) == 2 * GROUPS

    def test_another_number_of_runs(self, tmp_path, table):
        measured(Run(tmp_path), made_up(), ITERATIONS + 1)
        assert len(list(tmp_path.iterdir())) == 2 * GROUPS


def row(collection, mechanism, epsilon, number):
    numbers = {"bias": number - 0.5, "variance": number / 10, "error": number}
    first = {"collection": collection, "n": 30, "pair": f"{number}", "mechanism": mechanism}
    return {**first, "epsilon": epsilon, "mice": 0.1, **numbers}


class TestMedians:
    def test_by_hand_and_beside_the_print(self):
        table = [
            *(row("Baseball", "micr-lap", 1.0, v) for v in (0.3, 0.1, 0.9)),
            *(row("Baseball", "micr-lap", 0.1, v) for v in (0.2, 0.4)),
            *(row("Baseball", "ours", 1.0, v) for v in (0.7, 0.8, 0.1)),
            *(row("Spellman4381", "micr-lap", 1.0, v) for v in (0.6,)),
        ]
        found = real.medians(table)
        assert [(r["collection"], r["mechanism"], r["epsilon"]) for r in found] == [
            ("Baseball", "micr-lap", 1.0),
            ("Baseball", "micr-lap", 0.1),
            ("Baseball", "ours", 1.0),
            ("Spellman4381", "micr-lap", 1.0),
        ]
        assert [r["error"] for r in found] == pytest.approx([0.3, 0.3, 0.7, 0.6])
        assert [r["bias"] for r in found] == pytest.approx([-0.2, -0.2, 0.2, 0.1])
        assert [r["variance"] for r in found] == pytest.approx([0.03, 0.03, 0.07, 0.06])
        prints = [
            tuple(r[f"printed_{what}"] for what in ("bias", "variance", "error")) for r in found
        ]
        assert prints == [
            (0.02, 0.02, 0.097),
            (0.25, 0.18, None),
            (None, None, None),
            (-0.01, 4e-4, 0.016),
        ]

    def test_every_printed_row_finds_its_place(self):
        table = [row(*key, 0.5) for key in MEDIANS]
        found = real.medians(table)
        assert len(found) == len(MEDIANS) == 18
        for r in found:
            print_ = MEDIANS[r["collection"], r["mechanism"], r["epsilon"]]
            assert (r["printed_bias"], r["printed_error"]) == (print_.bias, print_.error)
            assert r["n"] == 30
            assert isinstance(r["note"], str)

    def test_notes_are_of_printed_rows(self):
        assert set(real.NOTES) <= set(MEDIANS)

    def test_of_a_measured_table(self, table):
        found = real.medians(table)
        assert len(found) == len(KEYS) * 2
        for r in found:
            own = [
                s["error"]
                for s in table
                if (s["mechanism"], s["epsilon"]) == (r["mechanism"], r["epsilon"])
            ]
            assert r["error"] == sorted(own)[1]
            assert (r["printed_bias"] is None) == (
                r["mechanism"] not in ("mice-lap", "micr-lap", "micr-geom")
            )
