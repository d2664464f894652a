"""A table is read back as it was written, and is never there in half."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmic.evaluation import tables


def test_round_trip(tmp_path):
    path = tmp_path / "deep" / "folder" / "t.csv"
    rows = [
        {"text": "F12, R2 = 0.5", "whole": 3, "real": 0.25, "none": None},
        {"text": 'she said "no"', "whole": -7, "real": 1e-34, "none": None},
        {"text": "two\nlines", "whole": 0, "real": 1e30, "none": None},
        {"text": "a ~ b; c%", "whole": 10**15, "real": -0.0625, "none": None},
        {"text": "Zürich ≤ ε", "whole": 1, "real": 0.1, "none": None},
    ]
    tables.write(path, rows)
    found = tables.read(path)
    assert found == rows
    assert all(type(row["whole"]) is int and type(row["real"]) is float for row in found)
    assert path.read_text(encoding="utf-8").splitlines()[0] == "text,whole,real,none"


def test_six_digits_are_kept(tmp_path):
    path = tmp_path / "t.csv"
    tables.write(path, [{"v": np.float64(1 / 3), "e": 123456.789, "whole": 80.0}])
    assert path.read_text() == "v,e,whole\n0.333333,123457,80\n"
    assert tables.read(path) == [{"v": 0.333333, "e": 123457, "whole": 80}]


def test_rows_of_different_columns(tmp_path):
    path = tmp_path / "t.csv"
    tables.write(path, [{"a": 1}, {"b": "x", "a": 2}, {"c": 0.5}])
    assert tables.read(path) == [
        {"a": 1, "b": None, "c": None},
        {"a": 2, "b": "x", "c": None},
        {"a": None, "b": None, "c": 0.5},
    ]


def test_no_rows(tmp_path):
    tables.write(tmp_path / "t.csv", [])
    assert tables.read(tmp_path / "t.csv") == []


def test_an_empty_text_is_nothing(tmp_path):
    tables.write(tmp_path / "t.csv", [{"a": "", "b": 1}])
    assert tables.read(tmp_path / "t.csv") == [{"a": None, "b": 1}]


names = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1).map(
    lambda text: f"pair {text}."  # so that it is not read as a number
)
cells = (
    st.none()
    | st.integers(-(10**15), 10**15)
    | names
    | st.floats(allow_nan=False).map(lambda value: float(f"{value or 0.0:.6g}"))
)


@pytest.mark.slow
@given(st.lists(st.fixed_dictionaries({"a": cells, "b, c": cells, "d": cells}), max_size=5))
def test_any_table(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("any") / "t.csv"
    tables.write(path, rows)
    assert tables.read(path) == rows
    again = path.with_name("again.csv")
    tables.write(again, tables.read(path))
    assert again.read_bytes() == path.read_bytes()


class Broken:
    """A text that cannot be written."""

    def __str__(self):
        raise RuntimeError("broken")


def test_a_table_that_cannot_be_written_leaves_the_old_one(tmp_path):
    path = tmp_path / "t.csv"
    tables.write(path, [{"a": 1}])
    with pytest.raises(RuntimeError, match="broken"):
        tables.write(path, [{"a": 2}, {"a": Broken()}])
    assert tables.read(path) == [{"a": 1}]
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch, step):
    path = tmp_path / "t.csv"
    tables.replace(path, "old")

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="no space left"):
        tables.replace(path, "new")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    tables.replace(path, "new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]
