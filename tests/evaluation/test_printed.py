import pytest
from sweeps import sweep

from dpmic.errors import ParameterError
from dpmic.evaluation import printed
from dpmic.evaluation.printed import MEDIANS, PARAMETERS, REAL, SYNTHETIC, Median, interpolated
from dpmic.evaluation.tables import CONTENDERS

NS = (25, 250, 500, 1000, 5000, 10000)
COLLECTIONS = ("Spellman23", "Baseball", "Spellman4381")


def test_the_mechanisms_are_the_published_contenders():
    assert {c.key for c in CONTENDERS if c.group == "published"} == set(printed.MECHANISMS)
    for figure in (*SYNTHETIC, *REAL):
        assert figure.mechanism in printed.MECHANISMS


def test_tables_are_complete():
    tuned = {(m, e) for m in ("micr-lap", "micr-geom") for e in printed.EPSILONS}
    assert set(PARAMETERS) == tuned
    assert all(tuple(rows) == NS for rows in PARAMETERS.values())
    every = {(k, m, e) for k in COLLECTIONS for m in printed.MECHANISMS for e in printed.EPSILONS}
    assert set(MEDIANS) == every


def test_some_numbers():
    assert PARAMETERS["micr-geom", 1.0][25] == (2, 12)
    assert PARAMETERS["micr-geom", 0.1][5000] == (1, 40)
    assert PARAMETERS["micr-lap", 0.1][5000] == (5, 125)
    assert MEDIANS["Spellman23", "mice-lap", 1.0] == Median(0.18, 0.23, 0.46)
    assert MEDIANS["Baseball", "micr-lap", 1.0] == Median(0.02, 0.02, 0.097)
    assert MEDIANS["Baseball", "micr-geom", 1.0] == Median(0.06, 9e-4, 0.068)
    assert MEDIANS["Spellman4381", "micr-lap", 1.0] == Median(-0.01, 4e-4, 0.016)
    assert MEDIANS["Spellman4381", "micr-geom", 0.1] == Median(0.14, 8e-4, None)


def test_the_unsigned_errors():
    found = {key: median.error for key, median in MEDIANS.items() if median.error is not None}
    assert sorted(found.values()) == [0.016, 0.019, 0.068, 0.097, 0.25, 0.39, 0.46]
    assert {epsilon for _, _, epsilon in found} == {1.0}
    # a mean of |error| cannot be below the |mean error|, nor a median over data sets by much
    assert all(error >= abs(MEDIANS[key].bias) - 0.01 for key, error in found.items())


def test_figures_in_the_text_are_in_order():
    for figures in (SYNTHETIC, REAL):
        of = {(f.mechanism, f.collection, f.bin, f.statistic): f for f in figures}
        assert len(of) == len(figures)
        for (mechanism, collection, place, statistic), figure in of.items():
            if statistic == "least bias":
                largest = of[mechanism, collection, place, "largest bias"]
                assert figure.value < largest.value
                assert figure.n == largest.n


def test_figures_on_real_data_name_a_collection():
    size = {"Spellman4381": 4381, "Baseball": 337}
    assert all(size[figure.collection] == figure.n for figure in REAL)
    assert all(figure.collection is None for figure in SYNTHETIC)


@pytest.mark.parametrize(("mechanism", "epsilon"), PARAMETERS)
def test_printed_rows_are_kept(mechanism, epsilon):
    for n, parameters in PARAMETERS[mechanism, epsilon].items():
        assert interpolated(mechanism, n, epsilon) == parameters


@pytest.mark.parametrize(("mechanism", "epsilon"), PARAMETERS)
def test_nearest_row_outside(mechanism, epsilon):
    assert interpolated(mechanism, 23, epsilon) == PARAMETERS[mechanism, epsilon][25]
    assert interpolated(mechanism, 10**6, epsilon) == PARAMETERS[mechanism, epsilon][10000]


@sweep(
    ("mechanism", "n", "epsilon", "expected"),
    [
        ("micr-lap", 337, 1.0, (5, 46)),  # 40 + 20 * 87 / 250 = 46.96
        ("micr-lap", 4381, 0.1, (5, 121)),  # 100 + 25 * 3381 / 4000 = 121.1
        ("micr-geom", 337, 0.1, (2, 13)),  # 10 + 10 * 87 / 250 = 13.5
        ("micr-geom", 4381, 1.0, (1, 136)),  # 60 + 90 * 3381 / 4000 = 136.1
        ("micr-geom", 4381, 0.1, (1, 40)),  # c = 2 - 3381 / 4000 = 1.15
        ("micr-geom", 2999, 0.1, (2, 40)),  # c = 1.50025
        ("micr-geom", 3000, 0.1, (2, 40)),  # c = 1.5
        ("micr-geom", 3001, 0.1, (1, 40)),  # c = 1.49975
    ],
)
def test_between_rows(mechanism, n, epsilon, expected):
    assert interpolated(mechanism, n, epsilon) == expected


def test_no_table_for_mice():
    with pytest.raises(ParameterError, match="mice-lap.*use 'micr-lap' or 'micr-geom'"):
        interpolated("mice-lap", 100, 1.0)
