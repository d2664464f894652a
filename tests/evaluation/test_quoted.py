"""Numbers of the paper's text, read off tables whose answers are known."""

import pytest

from dpmic.evaluation import printed
from dpmic.evaluation.printed import READ_OFF, quoted


def synthetic(mechanism, n, biases, epsilon=1.0):
    return [
        {"mechanism": mechanism, "n": n, "epsilon": epsilon, "bias": bias, "variance": bias**2}
        for bias in biases
    ]


def real(mechanism, collection, biases, scores):
    same = {"mechanism": mechanism, "collection": collection, "epsilon": 1.0}
    return [
        {**same, "bias": bias, "variance": bias**2, "mice": mice}
        for bias, mice in zip(biases, scores, strict=True)
    ]


def answers(rows):
    return {(r["data"], r["bin"], r["mechanism"], r["statistic"]): r["measured"] for r in rows}


def test_synthetic_numbers_are_of_their_n_epsilon_and_mechanism():
    table = synthetic("micr-lap", 5000, [-0.5, 0.1, 0.3])
    table += synthetic("micr-lap", 1000, [9]) + synthetic("micr-lap", 5000, [9], epsilon=0.1)
    table += synthetic("ours", 5000, [9]) + synthetic("micr-geom", 250, [0.2, 0.1, 0.4])
    found = answers(quoted(table, []))
    assert found == {
        ("synthetic", "all", "micr-lap", "median bias"): 0.1,
        ("synthetic", "all", "micr-lap", "least bias"): -0.5,
        ("synthetic", "all", "micr-lap", "largest bias"): 0.3,
        ("synthetic", "all", "micr-geom", "median variance"): pytest.approx(0.04),
    }


def test_real_numbers_are_of_their_collection_and_bin():
    """0.2 begins the second bin of Baseball; its largest bias is taken without its sign."""
    table = real("micr-lap", "Baseball", [-0.6, 0.1, 0.2, 0.5], [0.1, 0.0, 0.19, 0.2])
    table += real("micr-lap", "Spellman4381", [-0.03, -0.01], [0.05, 0.1])
    found = answers(quoted([], table))
    assert found["Baseball", "bin 1", "micr-lap", "median bias"] == 0.1
    assert found["Baseball", "all", "micr-lap", "largest unsigned bias"] == 0.6
    assert found["Spellman4381", "bin 1", "micr-lap", "median bias"] == -0.03
    assert found["Spellman4381", "all", "micr-lap", "largest bias"] == -0.01
    assert not any(mechanism == "micr-geom" for _, _, mechanism, _ in found)


def test_every_printed_number_can_be_answered():
    assert {f.statistic for f in (*printed.SYNTHETIC, *printed.REAL)} == set(READ_OFF)


@pytest.mark.parametrize(
    ("collection", "mice", "number"),
    [("Baseball", 0, 0), ("Baseball", 0.2, 1), ("Baseball", 1, 4), ("Spellman4381", 0.39, 3)],
)
def test_bins(collection, mice, number):
    assert printed.in_bin(collection, mice) == number
