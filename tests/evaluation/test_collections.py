import csv

import numpy as np
import pytest

import dpmic
from dpmic.errors import InputError
from dpmic.evaluation import collections
from dpmic.evaluation.collections import COLLECTIONS, DROPPED, baseball, spellman23, spellman4381


def write(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A folder with two tables of the same form and a few numbers; it holds no real data."""
    monkeypatch.setenv("DPMIC_DATA", str(tmp_path))
    write(
        tmp_path / "spellman.csv",
        [["time", "40", "50", "60"], ["A", 0, 1, 2], ["B", -1, 3, 9], ["C", 5, 5, 5]],
    )
    write(
        tmp_path / "baseball.csv",
        [
            [*DROPPED, "G", "PA_PR", "HR"],
            ["Ann", 7, 1, 0, 2, 10, 0, 0.5],
            ["Bo", 9, 2, 1, 3, 20, 0, 1],
        ],
    )
    return tmp_path


@pytest.fixture
def real(real_data, monkeypatch):
    monkeypatch.setenv("DPMIC_DATA", str(real_data))
    return real_data


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


class TestSmall:
    def test_a_gene_against_its_place_in_time(self, small):
        collection = spellman23()
        assert (collection.n, len(collection)) == (3, 3)
        pair = collection[1]
        assert pair.label == "time ~ B"
        np.testing.assert_array_equal(pair.x, [1, 2, 3])
        np.testing.assert_array_equal(pair.y, [-1, 3, 9])
        assert pair.bounds == ((0, 4), pytest.approx((-1.1, 9.1)))

    def test_time_points_share_their_bounds(self, small):
        collection = spellman4381()
        assert [pair.label for pair in collection] == ["40 ~ 50", "40 ~ 60", "50 ~ 60"]
        np.testing.assert_array_equal(collection[1].x, [0, -1, 5])
        np.testing.assert_array_equal(collection[1].y, [2, 9, 5])
        assert all(pair.bounds == collection[0].bounds for pair in collection)
        assert collection[0].bounds[0] == collection[0].bounds[1] == pytest.approx((-1.1, 9.1))

    def test_statistics_have_their_own_bounds(self, small):
        collection = baseball()
        assert [pair.label for pair in collection] == ["G ~ PA_PR", "G ~ HR", "PA_PR ~ HR"]
        assert collection[1].bounds == (
            pytest.approx((9.9, 20.1)),
            pytest.approx((0.495, 1.005)),
        )

    def test_a_constant_has_an_interval(self, small):
        assert baseball()[0].bounds[1] == (-1, 1)
        assert spellman23()[2].bounds[1] == (4, 6)

    def test_shared_columns_cannot_be_changed(self, small):
        with pytest.raises(ValueError, match="read-only"):
            baseball()[0].x[0] = 1

    def test_index_outside(self, small):
        with pytest.raises(IndexError):
            baseball()[3]


class TestAbsent:
    @pytest.mark.parametrize("load", COLLECTIONS.values(), ids=list(COLLECTIONS))
    def test_no_tables(self, load, tmp_path, monkeypatch):
        monkeypatch.setenv("DPMIC_DATA", str(tmp_path))
        with pytest.raises(InputError) as caught:
            load()
        for word in (str(tmp_path), "DPMIC_DATA", "spellman.csv", "baseball.csv"):
            assert word in str(caught.value)

    def test_one_table(self, small):
        (small / "baseball.csv").unlink()
        with pytest.raises(InputError, match="it has no baseball.csv, which"):
            collections.folder()

    def test_default_folder(self, small, tmp_path, monkeypatch):
        project = tmp_path / "project"
        project.mkdir()
        monkeypatch.delenv("DPMIC_DATA")
        monkeypatch.chdir(project)
        with pytest.raises(InputError, match="shared"):
            collections.folder()
        (tmp_path / "shared" / "data").mkdir(parents=True)
        for name in collections.FILES:
            (small / name).rename(tmp_path / "shared" / "data" / name)
        assert len(baseball()) == 3

    @pytest.mark.parametrize("cell", ["", "n/a", "nan", "inf"])
    def test_no_number(self, small, cell):
        write(small / "spellman.csv", [["time", "40", "50"], ["A", 1, cell]])
        with pytest.raises(
            InputError, match="spellman.csv: it has a missing or infinite statistic"
        ):
            spellman23()

    @pytest.mark.parametrize("rows", [[["time", "40", "50"], ["A", 1]], [["time", "40", "50"]]])
    def test_too_short(self, small, rows):
        write(small / "spellman.csv", rows)
        with pytest.raises(InputError, match="missing"):
            spellman4381()

    @pytest.mark.parametrize("rows", [[], [["G", "PA"], [1, 2]]])
    def test_another_table(self, small, rows):
        write(small / "baseball.csv", rows)
        with pytest.raises(InputError, match="no column PLAYER"):
            baseball()


SHAPES = {"Spellman23": (23, 4381), "Baseball": (337, 8256), "Spellman4381": (4381, 253)}


class TestReal:
    @pytest.mark.parametrize("name", COLLECTIONS)
    def test_every_pair(self, real, name):
        collection = COLLECTIONS[name]()
        assert collection.name == name
        assert (collection.n, len(collection)) == SHAPES[name]
        assert len({pair.label for pair in collection}) == len(collection)
        for pair in collection:
            for values, (low, high) in zip((pair.x, pair.y), pair.bounds, strict=True):
                assert values.dtype == np.float64
                assert values.shape == (collection.n,)
                assert low < values.min()
                assert values.max() < high

    def test_first_and_last_gene(self, real):
        collection, rows = spellman23(), read(real / "spellman.csv")
        for place in (0, -1):
            gene, *series = rows[place].values()
            assert collection[place].label == f"time ~ {gene}"
            np.testing.assert_array_equal(collection[place].x, range(1, 24))
            assert collection[place].y.tolist() == [float(value) for value in series]
            assert collection[place].bounds[0] == (0, 24)

    def test_first_and_last_time_points(self, real):
        collection, rows = spellman4381(), read(real / "spellman.csv")
        for place, (x, y) in {0: ("40", "50"), -1: ("250", "260")}.items():
            assert collection[place].x.tolist() == [float(row[x]) for row in rows]
            assert collection[place].y.tolist() == [float(row[y]) for row in rows]
        assert collection[0].bounds[0] == pytest.approx((-4.63 - 0.0877, 4.14 + 0.0877))

    def test_first_and_last_statistics(self, real):
        collection, rows = baseball(), read(real / "baseball.csv")
        for place, (x, y) in {0: ("G", "PA"), -1: ("R3BI%", "OBI%")}.items():
            assert collection[place].label == f"{x} ~ {y}"
            assert collection[place].x.tolist() == [float(row[x]) for row in rows]
            assert collection[place].y.tolist() == [float(row[y]) for row in rows]
        assert collection[0].bounds[0] == pytest.approx((15 - 1.48, 163 + 1.48))

    def test_kept_and_dropped_statistics(self, real):
        header = list(read(real / "baseball.csv")[0])
        kept = [column.name for column in baseball().columns]
        assert len(kept) == 129
        assert [*DROPPED, *kept] == header

    def test_one_statistic_is_constant_and_scores_nothing(self, real):
        collection = baseball()
        constant = {c.name for c in collection.columns if np.ptp(c.values) == 0}
        assert constant == {"PA_PR"}
        pairs = [pair for pair in collection if "PA_PR" in pair.label.split(" ~ ")]
        assert len(pairs) == 128
        for pair in (pairs[0], pairs[-1]):
            assert dpmic.mice(pair.x, pair.y).mic == 0
            assert dpmic.micr(pair.x, pair.y, bounds=pair.bounds).mic == 0

    def test_no_gene_is_constant(self, real):
        assert min(np.ptp(column.values) for column in spellman23().columns) > 0
