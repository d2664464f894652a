import bisect

import numpy as np
import pytest

from dpmic.evaluation.grid_figure import grid_figure


@pytest.fixture(scope="module")
def figure():
    return grid_figure()


def counted(points, columns, rows):
    """Count by definition: a value lies in the cell of the number of cuts not above it."""
    table = np.zeros((len(rows) + 1, len(columns) + 1), int)
    for x, y in points:
        table[len(rows) - bisect.bisect(rows, y), bisect.bisect(columns, x)] += 1
    return table.tolist()


def test_points_lie_in_the_unit_square(figure):
    assert len(set(figure["points"])) == 8
    assert all(0 <= value <= 1 for point in figure["points"] for value in point)


def test_matrices_hold_every_point(figure):
    for name in ("mass_counts", "range_counts"):
        assert np.shape(figure[name]) == (3, 4)
        assert np.sum(figure[name]) == 8


@pytest.mark.slow
def test_parts_of_equal_mass(figure):
    assert np.sum(figure["mass_counts"], axis=0).tolist() == [2, 2, 2, 2]


def test_parts_of_equal_width(figure):
    assert figure["range_cuts"] == [0.25, 0.5, 0.75]
    assert np.sum(figure["range_counts"], axis=0).tolist() == [4, 2, 1, 1]


def test_grids_differ_in_columns_alone(figure):
    assert len(figure["mass_cuts"]) == 3
    assert figure["mass_counts"] != figure["range_counts"]
    rows = [np.sum(figure[name], axis=1).tolist() for name in ("mass_counts", "range_counts")]
    assert rows[0] == rows[1]


def test_counts_by_definition(figure):
    for kind in ("mass", "range"):
        expected = counted(figure["points"], figure[f"{kind}_cuts"], figure["row_cuts"])
        assert figure[f"{kind}_counts"] == expected


def test_no_cut_touches_a_point(figure):
    x, y = np.array(figure["points"]).T
    assert not np.isin(x, figure["mass_cuts"] + figure["range_cuts"]).any()
    assert not np.isin(y, figure["row_cuts"]).any()


def test_only_plain_numbers(figure):
    for name in ("mass_counts", "range_counts"):
        assert all(type(value) is int for row in figure[name] for value in row)
    for name in ("mass_cuts", "range_cuts", "row_cuts"):
        assert all(type(value) is float for value in figure[name])
